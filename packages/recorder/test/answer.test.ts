/** What is read of an answer, whole, in pieces or broken off, in each provider's format. */
import { describe, expect, it } from 'vitest'
import { AnswerReader, type RecordedAnswer } from '../src/answers/answer.ts'
import { mostPlain } from '../src/answers/body.ts'
import { apis, type RecordedApi } from '../src/apis/index.ts'

const sse = 'text/event-stream; charset=utf-8'
/** The answer, read at once and byte by byte, which must be the same. */
const read = (api: RecordedApi, body: string, contentType?: string): Partial<RecordedAnswer> => {
  const answers = [Infinity, 1].map((size) => {
    const reader = new AnswerReader(apis.find(({ name }) => name === api) as never, contentType)
    const bytes = new TextEncoder().encode(body)
    for (let from = 0; from < bytes.length; from += size) reader.take(bytes.subarray(from, from + size))
    return reader.end()
  })
  expect(answers[1]).toEqual(answers[0])
  const { body: _body, isStream: _isStream, event: _event, ...rest } = answers[0] as RecordedAnswer
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
}
/** The text of a stream with these events. */
const events = (...all: readonly unknown[]): string =>
  all.map((value) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`).join('')

const said = (text: string, more: object = {}) => ({ role: 'assistant', content: [{ type: 'text', text }], ...more })
const interrupted = { indelible: { interrupted: true } }
const none = { messages: [], whole: false }

describe('an answer of Chat Completions', () => {
  const chunk = (delta: unknown, more: object = {}, choice: object = {}) => ({
    ...{ id: 'c1', model: 'm', ...more },
    choices: [{ index: 0, delta, ...choice }],
  })
  const usage = { prompt_tokens: 7, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 5 } }
  const call = (arguments_: string) => ({ type: 'tool_call', id: 'call', name: 'f', arguments: arguments_ })

  it.each<readonly [string, string, object]>([
    ['nothing', '', none],
    ['no JSON', '<html>', none],
    ['a list', '[]', none],
    ['an error', '{"error":{"message":"no"}}', { ...none, error: 'no' }],
    ['an error that is a text', '{"error":"no"}', { ...none, error: 'no' }],
    ['an error of another form', '{"error":{}}', { ...none, error: 'the provider gave an error without a message' }],
    ['no error', '{"error":null}', { messages: [], whole: true }],
    ['no choice', '{"choices":[]}', { messages: [], whole: true }],
    [
      'an unreadable message',
      '{"choices":[{"message":{"role":"nobody"}}]}',
      {
        messages: [
          {
            role: 'assistant',
            content: [{ type: 'provider', provider: 'unread openai-chat', raw: { role: 'nobody' } }],
          },
        ],
        ...{ whole: true, error: "the answer can't be read: UnexpectedWire" },
      },
    ],
    [
      'two choices',
      JSON.stringify({
        ...{ id: 'c1', model: 'm', usage },
        choices: ['a', 'b'].map((content) => ({ message: { role: 'assistant', content }, finish_reason: 'stop' })),
      }),
      {
        ...{ messages: [said('a')], whole: true, choices: 2, model: 'm', stop: 'stop', id: 'c1' },
        usage: { input: 7, output: 3, cacheRead: 5 },
      },
    ],
    [
      'half of its usage',
      '{"choices":[{"message":{"role":"assistant","content":"a"}}],"usage":{"prompt_tokens":7}}',
      { messages: [said('a')], whole: true },
    ],
    [
      'usage without details',
      '{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0}}',
      { messages: [], whole: true, usage: { input: 7, output: 0 } },
    ],
    [
      'counts that are none',
      '{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":0.5}}',
      { messages: [], whole: true },
    ],
  ])('with %s', (_, body, expected) => {
    expect(read('openai-chat', body)).toEqual(expected)
  })

  it.each<readonly [string, string, object]>([
    ['no event', '', none],
    [
      'a text in pieces',
      events(
        chunk({ role: 'assistant', content: 'he' }),
        chunk({ content: 'llo' }, { id: '', model: '' }),
        chunk({}, {}, { finish_reason: 'stop' }),
        { choices: [], usage },
        '[DONE]',
      ),
      {
        ...{ messages: [said('hello')], whole: true, model: 'm', stop: 'stop', id: 'c1' },
        usage: { input: 7, output: 3, cacheRead: 5 },
      },
    ],
    [
      'an end without an empty line',
      events(chunk({ role: 'assistant', content: 'a' }, {}, { finish_reason: 'stop' })).trimEnd(),
      { messages: [said('a')], whole: true, model: 'm', stop: 'stop', id: 'c1' },
    ],
    [
      'no reason to stop',
      events(chunk({ role: 'assistant', content: 'hel' }), chunk({ tool_calls: [{ id: 'call', function: { name: 'f', arguments: '{' } }] })), // oxfmt-ignore
      {
        ...{ ...none, model: 'm', id: 'c1' },
        messages: [{ role: 'assistant', content: [{ type: 'text', text: 'hel' }, call('{')], meta: interrupted }],
      },
    ],
    [
      'calls in pieces, by their index or as the last one',
      events(
        chunk({ tool_calls: [{ index: 1, id: 'call', type: 'function', function: { name: 'f', arguments: '{"a"' } }] }),
        chunk({ tool_calls: [{ index: 1, id: 'other', type: 'x', function: { arguments: ':1}' } }] }),
        chunk({ tool_calls: [{ index: 0, id: 'call', type: 'function', function: { name: 'f', arguments: '{}' } }] }),
        chunk({ tool_calls: [{ function: { arguments: ' ' } }, 'junk', { index: 10_000, id: 'far' }, { index: -1 }] }),
        chunk({ content: null, __proto__: 1 }, {}, { finish_reason: 'tool_calls' }),
      ),
      {
        messages: [
          {
            role: 'assistant',
            content: [
              ...[call('{} '), call('{"a":1}')],
              {
                type: 'provider',
                provider: 'openai-chat',
                raw: { id: 'far' },
                meta: { 'openai-chat': { as: 'tool_call' } },
              },
            ],
          },
        ],
        ...{ whole: true, model: 'm', stop: 'tool_calls', id: 'c1' },
      },
    ],
    [
      'other choices, which are counted',
      events(
        { choices: [{ index: 0, delta: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }] },
        { choices: [{ index: 2, delta: { content: 'c' } }, { index: 1, delta: { content: 'b' } }, { index: 2 }] },
        { choices: [{ delta: { content: '!' } }] },
      ),
      { messages: [said('a!')], whole: true, choices: 3, stop: 'stop' },
    ],
    [
      'an error after its beginning, and nothing after that',
      events(chunk({ role: 'assistant', content: 'a' }), { error: { message: 'overloaded' } }, chunk({ content: 'b' })),
      { ...none, messages: [said('a', { meta: interrupted })], model: 'm', id: 'c1', error: 'overloaded' },
    ],
    ['events that are no objects', events('x', '[]', '5', ': comment'), none],
  ])('that streams with %s', (_, body, expected) => {
    expect(read('openai-chat', body, sse)).toEqual(expected)
  })
})

describe('an answer of Responses', () => {
  const response = { id: 'r1', model: 'm', status: 'in_progress' }
  const item = (text: string, id = 'i1') => ({
    ...{ id, type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] },
  })
  const textsOf = (found: Partial<RecordedAnswer>) =>
    found.messages?.flatMap(({ content }) => content.map((part) => (part.type === 'text' ? part.text : part.type)))

  it.each<readonly [string, object, object]>([
    ['no output', {}, { whole: true }],
    ['a status', { ...response, status: 'completed' }, { whole: true, model: 'm', stop: 'completed', id: 'r1' }],
    [
      'the reason why it was cut, and its usage',
      {
        ...{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
        usage: { input_tokens: 7, output_tokens: 3, input_tokens_details: { cached_tokens: 0 } },
      },
      { whole: true, stop: 'max_output_tokens', usage: { input: 7, output: 3, cacheRead: 0 } },
    ],
    ['no reason', { status: 'incomplete', incomplete_details: null }, { whole: true, stop: 'incomplete' }],
    ['an error', { error: { message: 'no' }, status: 'failed' }, { whole: false, error: 'no', stop: 'failed' }],
  ])('with %s', (_, body, expected) => {
    expect(read('openai-responses', JSON.stringify(body))).toEqual({ messages: [], ...expected })
  })

  it.each<readonly [string, readonly object[], readonly string[], object]>([
    ['no response', [{ type: 'response.output_text.delta', item_id: 'i1', delta: 'a' }], ['a'], { whole: false }],
    [
      'an end',
      [
        { type: 'response.created', response },
        { type: 'response.output_item.done', output_index: 0, item: item('a') },
        { type: 'response.completed', response: { ...response, status: 'completed', output: [item('b')] } },
        { type: 'response.completed', response: { id: 'next' } },
      ],
      ['b'],
      { whole: true, model: 'm', stop: 'completed', id: 'r1' },
    ],
    [
      'an end without output',
      [
        { type: 'response.output_item.done', output_index: 1, item: item('b', 'i2') },
        { type: 'response.output_item.done', output_index: 0, item: item('a') },
        { type: 'response.output_item.done', item: item('c', 'i3') },
        { type: 'response.output_text.delta', item_id: 'i4', delta: 'open' },
        { type: 'response.incomplete', response: { ...response, status: 'incomplete', output: [] } },
      ],
      ['a', 'b', 'c', 'open'],
      { whole: true, model: 'm', stop: 'incomplete', id: 'r1' },
    ],
    [
      'items that are far apart',
      [
        { type: 'response.output_item.done', output_index: 9_999, item: item('b', 'i2') },
        { type: 'response.output_item.done', output_index: 10_000, item: item('c', 'i3') },
        { type: 'response.completed', response },
      ],
      ['b', 'c'],
      { whole: true, model: 'm', stop: 'in_progress', id: 'r1' },
    ],
    [
      'texts that broke off',
      [
        { type: 'response.created', response },
        { type: 'response.output_text.delta', item_id: 'i1', delta: 'a' },
        { type: 'response.output_item.done', output_index: 0, item: item('ab') },
        { type: 'response.output_text.delta', item_id: 'i2', delta: 'c' },
        { type: 'response.output_text.delta', output_index: 5, delta: 'e' },
        { type: 'response.output_text.delta', item_id: 'i2', delta: 'd' },
        { type: 'response.output_text.delta', item_id: 'i2', delta: 5 },
      ],
      ['ab', 'cd', 'e'],
      { whole: false, model: 'm', stop: 'in_progress', id: 'r1' },
    ],
    [
      'an error event',
      [
        { type: 'response.created', response },
        { type: 'error', message: 'no' },
      ],
      [],
      { whole: false, error: 'no', model: 'm', stop: 'in_progress', id: 'r1' },
    ],
    [
      'a failure',
      [{ type: 'response.failed', response: { ...response, status: 'failed', error: { message: 'bad' } } }],
      [],
      { whole: false, error: 'bad', model: 'm', stop: 'failed', id: 'r1' },
    ],
    [
      'a failure without a reason',
      [{ type: 'response.failed', response: { status: 'failed', error: null } }],
      [],
      { whole: false, error: 'the response failed', stop: 'failed' },
    ],
  ])('that streams with %s', (_, all, texts, expected) => {
    const { messages: _messages, ...found } = read('openai-responses', events(...all), sse)
    expect(found).toEqual(expected)
    expect(textsOf(read('openai-responses', events(...all), sse))).toEqual(texts)
  })
})

describe('an answer of Anthropic Messages', () => {
  const usage = { input_tokens: 7, output_tokens: 3, cache_read_input_tokens: 5, cache_creation_input_tokens: 2 }
  const message = { id: 'm1', type: 'message', role: 'assistant', model: 'm', content: [] as unknown[] }
  const start = { type: 'message_start', message: { ...message, usage: { ...usage, output_tokens: 1 } } }
  const block = (index: unknown, content_block: unknown) => ({ type: 'content_block_start', index, content_block })
  const delta = (index: unknown, type: string, more: object) => ({
    ...{ type: 'content_block_delta', index, delta: { type, ...more } },
  })
  const text = (index: unknown, more: string) => delta(index, 'text_delta', { text: more })
  const stop = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } }
  const end = { type: 'message_stop' }
  const begun = { model: 'm', id: 'm1', usage: { input: 14, output: 1, cacheRead: 5, cacheWrite: 2 } }
  const ended = { ...begun, whole: true, stop: 'end_turn', usage: { ...begun.usage, output: 3 } }
  const partsOf = (found: Partial<RecordedAnswer>) => found.messages?.flatMap(({ content }) => content)

  it.each<readonly [string, object, object]>([
    ['its usage', { ...message, usage, stop_reason: 'end_turn' }, ended],
    ['no cache', { ...message, usage: { input_tokens: 7, output_tokens: 3 } }, { whole: true, model: 'm', id: 'm1', usage: { input: 7, output: 3, cacheRead: 0, cacheWrite: 0 } }], // oxfmt-ignore
    ['half of its usage', { ...message, usage: { output_tokens: 3 } }, { whole: true, model: 'm', id: 'm1' }],
    ['an error', { type: 'error', error: { message: 'no' } }, { whole: false, error: 'no' }],
  ])('with %s', (_, body, expected) => {
    const { messages: _messages, ...found } = read('anthropic', JSON.stringify(body))
    expect(found).toMatchObject(expected)
  })

  it.each<readonly [string, readonly object[], readonly object[], object]>([
    [
      'an end but no beginning',
      [block(0, { type: 'text', text: '' }), text(0, 'a'), stop, end],
      [{ type: 'text', text: 'a' }],
      { whole: true, stop: 'end_turn' },
    ],
    [
      'texts in their order, also of blocks without a start or an index',
      [
        start,
        block(1, { type: 'text', text: '' }),
        block(0, { type: 'text', text: 'a' }),
        ...[block(2, 'x'), text(1, 'c'), text(0, 'b'), text(1, 'd'), text(7, 'e'), text(undefined, 'f')],
        ...[block('8', { type: 'text', text: 'g' }), text('8', 'h')],
        ...[{ type: 'content_block_delta', index: 0, delta: 'x' }, { type: 'ping' }, stop, end],
        { type: 'message_start', message: { id: 'next' } },
      ],
      [
        { type: 'text', text: 'ab' },
        { type: 'text', text: 'cd' },
        { type: 'text', text: 'ef' },
        { type: 'text', text: 'gh' },
      ],
      ended,
    ],
    [
      'calls, also without arguments or with broken ones',
      [
        start,
        ...['a', 'b', 'c'].map((id, index) => block(index, { type: 'tool_use', id, name: 'f', input: {} })),
        delta(0, 'input_json_delta', { partial_json: '{"x"' }),
        delta(0, 'input_json_delta', { partial_json: ':1}' }),
        delta(1, 'input_json_delta', { partial_json: '' }),
        delta(2, 'input_json_delta', { partial_json: '{"x' }),
        ...[stop, end],
      ],
      [
        { type: 'tool_call', id: 'a', name: 'f', arguments: '{"x":1}' },
        { type: 'tool_call', id: 'b', name: 'f', arguments: '{}' },
        { type: 'tool_call', id: 'c', name: 'f', arguments: '{"x' },
      ],
      ended,
    ],
    [
      'thinking and its signature',
      [
        start,
        block(0, { type: 'thinking', thinking: '', signature: '' }),
        ...[delta(0, 'thinking_delta', { thinking: 'h' }), delta(0, 'thinking_delta', { thinking: 'm' })],
        ...[
          delta(0, 'signature_delta', { signature: 'si' }),
          delta(0, 'signature_delta', { signature: 'g' }),
          stop,
          end,
        ],
      ],
      [expect.objectContaining({ type: 'reasoning', text: 'hm', signature: 'sig' })],
      ended,
    ],
    [
      'counts that a later event has as null',
      [start, { ...stop, usage: { output_tokens: 3, input_tokens: null, cache_read_input_tokens: null } }, end],
      [],
      ended,
    ],
    [
      'no end',
      [start, block(0, { type: 'text', text: 'a' })],
      [{ type: 'text', text: 'a' }],
      { ...begun, whole: false },
    ],
    [
      'an error',
      [start, { type: 'error', error: { message: 'overloaded' } }, { type: 'error', error: { message: 'x' } }, end],
      [],
      { ...begun, whole: false, error: 'overloaded' },
    ],
  ])('that streams with %s', (_, all, parts, expected) => {
    const found = read('anthropic', events(...all), sse)
    expect(partsOf(found)).toEqual(parts)
    const { messages: _messages, ...rest } = found
    expect(rest).toEqual(expected)
  })

  it('that streams citations has all of them', () => {
    const one = { type: 'char_location', cited_text: 'x', document_index: 0, start_char_index: 0, end_char_index: 1 }
    const cite = (citation: object) => delta(0, 'citations_delta', { citation })
    const all = [start, block(0, { type: 'text', text: 'a', citations: 'none' }), cite(one), cite({ ...one, cited_text: 'y' }), stop, end] // oxfmt-ignore
    expect(JSON.stringify(read('anthropic', events(...all), sse).messages)).toMatch(
      /"cited_text":"x".*"cited_text":"y"/,
    )
  })
})

describe('an answer of Gemini', () => {
  const chunk = (text: string, more: object = {}, candidate: object = {}) => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, ...candidate }],
    ...{ modelVersion: 'g', responseId: 'r', ...more },
  })
  const usageMetadata = {
    ...{ promptTokenCount: 7, toolUsePromptTokenCount: 2, candidatesTokenCount: 3, thoughtsTokenCount: 4 },
    cachedContentTokenCount: 5,
  }
  const whole = { messages: [said('ab')], whole: true, model: 'g', id: 'r', stop: 'STOP' }
  const two = [chunk('a'), chunk('b', { usageMetadata }, { finishReason: 'STOP' })]
  const withoutMeta = (found: Partial<RecordedAnswer>) => ({
    ...found,
    messages: found.messages?.map(({ role, content, meta }) => ({
      ...{ role, content },
      ...(meta?.['indelible'] !== undefined && { meta: { indelible: meta['indelible'] } }),
    })),
  })
  const usage = { input: 9, output: 7, cacheRead: 5 }

  it.each<readonly [string, string, string | undefined, object]>([
    ['one object', JSON.stringify(chunk('ab', {}, { finishReason: 'STOP' })), undefined, whole],
    ['one object without a reason', JSON.stringify(chunk('ab')), undefined, { messages: [said('ab')], whole: true, model: 'g', id: 'r' }], // oxfmt-ignore
    ['a list', ` [${two.map((one) => JSON.stringify(one)).join(',\n')}]`, undefined, { ...whole, usage }],
    ['events', events(...two), sse, { ...whole, usage }],
    [
      'events in the envelope of Code Assist',
      events(...two.map((response) => ({ response }))),
      sse,
      { ...whole, usage },
    ],
    [
      'a list that broke off',
      `[${JSON.stringify(chunk('a } " { \\'))},${JSON.stringify(chunk('b')).slice(0, -1)}`,
      undefined,
      { messages: [said('a } " { \\', { meta: interrupted })], whole: false, model: 'g', id: 'r' },
    ],
    [
      'events that broke off',
      events(chunk('a')),
      sse,
      { messages: [said('a', { meta: interrupted })], whole: false, model: 'g', id: 'r' },
    ],
    ['an empty list', '[]', undefined, none],
    ['an error', '{"error":{"message":"no"}}', undefined, { ...none, error: 'no' }],
    ['an error in a list', '[{"error":{"message":"no"}}]', undefined, { ...none, error: 'no' }],
    ['a refusal', '{"promptFeedback":{"blockReason":"SAFETY"}}', undefined, { messages: [], whole: true, stop: 'blocked: SAFETY' }], // oxfmt-ignore
    ['a refusal that has no reason', events({ promptFeedback: {} }), sse, none],
    [
      'usage only',
      events({ usageMetadata: { promptTokenCount: 7 } }),
      sse,
      { ...none, usage: { input: 7, output: 0 } },
    ],
  ])('with %s', (_, body, contentType, expected) => {
    expect(withoutMeta(read('gemini', body, contentType))).toEqual(expected)
  })
})

it('an answer beyond the limit of bytes is not read, with the reason', () => {
  const api = apis[0] as never
  const reader = new AnswerReader(api, undefined)
  const part = new Uint8Array(1)
  reader.take({ length: mostPlain + 1 } as Uint8Array)
  reader.take(part)
  expect(reader.end()).toMatchObject({
    ...{ ...none, error: `the answer can't be read: it is longer than ${mostPlain} bytes` },
  })
})

describe('a stream of a compatible server', () => {
  const contentOf = (api: RecordedApi, ...all: readonly unknown[]): object => {
    const { messages = [], usage, whole } = read(api, events(...all), sse)
    const [message] = messages
    return { content: message?.content, marked: message?.meta?.['indelible'], usage, whole, meta: message?.meta }
  }
  const delta = (more: object, choice: object = {}): object => ({ choices: [{ index: 0, delta: more, ...choice }] })
  const stop = {
    choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 7, completion_tokens: 3 } }],
  }

  it('has all items of lists, in order, and usage inside of a choice', () => {
    const picture = (data: string): object => ({
      type: 'image_url',
      image_url: { url: `data:image/png;base64,${data}` },
    })
    const thought = (index: number, text: string): object => ({ type: 'reasoning.text', index, text })
    expect(
      contentOf(
        'openai-chat',
        delta({ content: [{ type: 'text', text: 'one ' }], reasoning_details: [thought(0, 'a')] }),
        delta({
          content: [{ type: 'text', text: 'two' }, picture('AAAA')],
          reasoning_details: [thought(0, 'b'), thought(1, 'c')],
        }),
        delta({ content: ' three', images: [picture('BBBB')] }),
        delta({ images: [picture('CCCC'), picture('DDDD')] }),
        stop,
      ),
    ).toMatchObject({
      content: [{ type: 'text', text: 'one two' }, { type: 'image' }, { type: 'text', text: ' three' }],
      usage: { input: 7, output: 3 },
      meta: {
        'openai-chat': {
          fields: {
            images: ['BBBB', 'CCCC', 'DDDD'].map(picture),
            reasoning_details: [thought(0, 'ab'), thought(1, 'c')],
          },
        },
      },
    })
  })

  it('gives an id to calls without one, and keeps what is no call', () => {
    const call = (more: object): object => delta({ tool_calls: [more] })
    expect(
      contentOf(
        'openai-chat',
        call({ function: { name: 'f', arguments: '{"a":1}' } }),
        call({ function: { name: 'f', arguments: '{}' } }),
        stop,
      ),
    ).toMatchObject({
      content: [
        { type: 'tool_call', id: 'call-without-id-0', name: 'f', arguments: '{"a":1}' },
        { type: 'tool_call', id: 'call-without-id-1', name: 'f', arguments: '{}' },
      ],
    })
  })

  it('is complete at its mark of the end, and a message sent whole is one', () => {
    expect(contentOf('openai-chat', delta({ content: 'a' }), '[DONE]')).toMatchObject({
      content: [{ text: 'a' }],
      whole: true,
    })
    expect(
      contentOf('openai-chat', { choices: [{ message: { role: 'assistant', content: 'b' }, finish_reason: 'stop' }] }),
    ).toMatchObject({ content: [{ text: 'b' }] })
  })

  const item = (type: string, more: object = {}): object => ({
    type: 'response.output_item.added',
    output_index: 0,
    item: { id: 'i', type, status: 'in_progress', ...more },
  })
  it.each<readonly [string, readonly object[], object]>([
    [
      'the arguments of a call',
      [
        item('function_call', { call_id: 'c', name: 'f', arguments: '' }),
        { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"ci' },
      ],
      { type: 'tool_call', id: 'c', name: 'f', arguments: '{"ci' },
    ],
    [
      'a reasoning summary',
      [
        item('reasoning', { summary: [] }),
        { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'Hm' },
      ],
      { type: 'reasoning', summary: ['Hm'] },
    ],
    [
      'a refusal',
      [
        item('message', { role: 'assistant', content: [] }),
        { type: 'response.refusal.delta', output_index: 0, content_index: 0, delta: 'No' },
      ],
      { type: 'refusal', text: 'No' },
    ],
  ])('of Responses that is cut inside of %s is recorded up to there', (_, all, part) => {
    const created = { type: 'response.created', response: { id: 'r', status: 'in_progress', output: [] } }
    expect(contentOf('openai-responses', created, ...all)).toMatchObject({
      content: [part],
      marked: { interrupted: true },
      whole: false,
    })
  })

  it('of Anthropic with two blocks of one index has both, and zeros overwrite no counts', () => {
    const usage = {
      input_tokens: 7,
      output_tokens: 1,
      cache_read_input_tokens: 5,
      cache_creation: { ephemeral_1h_input_tokens: 2 },
    }
    const block = (text: string): readonly object[] => [
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
    ]
    expect(
      contentOf(
        'anthropic',
        { type: 'message_start', message: { role: 'assistant', content: [], usage } },
        ...[...block('a'), ...block('b')],
        {
          type: 'message_delta',
          delta: { stop_reason: 'end_turn' },
          usage: {
            output_tokens: 3,
            input_tokens: 0,
            cache_read_input_tokens: 0,
            cache_creation: { ephemeral_1h_input_tokens: 0 },
          },
        },
        { type: 'message_stop' },
      ),
    ).toMatchObject({
      content: [{ text: 'a' }, { text: 'b' }],
      usage: { input: 12, output: 3, cacheRead: 5 },
      meta: { 'anthropic-response': { usage: { cache_creation: { ephemeral_1h_input_tokens: 2 } } } },
    })
  })
})
