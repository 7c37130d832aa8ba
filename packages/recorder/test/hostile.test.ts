/** Providers, clients and stores that do what they should not: the traffic goes on, and what can be recorded is. */
import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { decompress } from '../src/proxy/internal.ts'
import { decompressBytes } from '../src/answers/body.ts'
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { memoryStore, openSession, textOf, type Message, type Store } from 'indelible'
import { destroyKey, keyRing, newHostKey, withKeys } from '@indelible/encryption'
import {
  createRecorder,
  detailsOf,
  recordingFetch,
  type CallDetails,
  type Recorder,
  type RecorderOptions,
} from '@indelible/recorder'

import { startProxy } from '../src/proxy/index.ts'
import { left } from 'fp-ts/lib/Either.js'
import { storeTask } from '../../../src/store/internal.ts'
import { ok } from '../../../test/task-results.ts'

const question = (content: string) => ({ role: 'user', content })
const asked = (...messages: readonly object[]): string => JSON.stringify({ model: 'm', messages })

interface Recording {
  readonly recorder: Recorder
  readonly store: Store
  readonly notices: readonly string[]
}

const recording = (options: Partial<RecorderOptions> = {}): Recording => {
  const notices: string[] = []
  const store = options.store ?? memoryStore()
  return {
    store,
    notices,
    recorder: createRecorder({ onNotice: ({ reason }) => notices.push(reason), ...options, store }),
  }
}

/** One call: the body of the request, and the body of the answer. */
const call = async (
  { recorder }: Recording,
  request: string,
  answer: string,
  { type = 'application/json', path = '/chat/completions' }: { readonly type?: string; readonly path?: string } = {},
): Promise<void> => {
  const observed = recorder.observe({ method: 'POST', url: `http://x${path}`, header: () => undefined })
  observed?.sent(request)
  observed?.answered(200, (name) => (name === 'content-type' ? type : undefined))
  observed?.chunk(new TextEncoder().encode(answer))
  observed?.end()
  await recorder.settled()
}

const answerA = JSON.stringify({ choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: 'a' } }] })

describe('a hostile provider stream', () => {
  const streamed = async (events: readonly unknown[], path?: string, request = asked(question('hi'))) => {
    const made = recording()
    const text = events
      .map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`)
      .join('')
    await call(made, request, text, { type: 'text/event-stream', ...(path !== undefined && { path }) })
    return { calls: made.recorder.summary().calls, notices: made.notices }
  }
  const recorded = { calls: 1, notices: [] }

  it('never pollutes prototypes', async () => {
    const event = '{"choices":[{"delta":{"__proto__":{"polluted":"yes"},"constructor":{"polluted":"yes"}}}]}'
    expect(await streamed([event])).toEqual(recorded)
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect((Object as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it.each([
    ['no choice', { choices: [null, 7] }],
    ['no object', '7'],
    ['no call', { choices: [{ delta: { tool_calls: [null, 7, 'x'] } }] }],
    ['a call at no place', { choices: [{ delta: { tool_calls: [{ index: -1 }, { index: 0.5 }, { index: 'x' }] } }] }],
  ])('may be %s', async (_, event) => {
    expect(await streamed([event])).toEqual(recorded)
  })

  it('may have events that are not JSON objects; the others are recorded', async () => {
    const made = recording()
    const event = { choices: [{ index: 0, delta: { content: 'heard' }, finish_reason: 'stop' }] }
    // The last event needs no blank line, and no line end, after it.
    for (const end of ['\n\n', '\n', '']) {
      const text = `data: {"choices":\n\ndata: null\n\ndata: ${JSON.stringify(event)}${end}`
      await call(made, asked(question(`hi${end}`)), text, { type: 'text/event-stream' })
      const session = await ok(openSession(made.store, made.recorder.summary().sessions.at(-1) ?? ''))
      expect([...session.view()].map((message) => textOf(message as Message))).toEqual([`hi${end}`, 'heard'])
    }
  })

  it('may have citations that are not a list', async () => {
    const start = { type: 'message_start', message: { role: 'assistant' } }
    const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: 5 } }
    const delta = { type: 'content_block_delta', index: 0, delta: { type: 'citations_delta', citation: {} } }
    expect(await streamed([start, block, delta], '/messages')).toEqual(recorded)
  })

  it('may report half of its usage, which is unknown then', async () => {
    const made = recording()
    const message = { role: 'assistant', content: [{ type: 'text', text: 'a' }], usage: { input_tokens: 5 } }
    await call(made, asked(question('hi')), JSON.stringify(message), { path: '/messages' })
    expect(made.recorder.summary()).toMatchObject({ calls: 1, silent: 1, usage: { input: 0, output: 0 } })
  })

  // Lists with so many holes take minutes to walk through.
  const far = 4_000_000_000
  it.each([
    ['/chat/completions', [{ choices: [{ delta: { tool_calls: [{ index: far, id: 'a' }] } }] }]],
    [
      '/messages',
      [
        { type: 'message_start', message: { role: 'assistant' } },
        { type: 'content_block_start', index: far, content_block: { type: 'text', text: '' } },
      ],
    ],
    [
      '/responses',
      [
        { type: 'response.output_item.done', output_index: far, item: {} },
        { type: 'response.created', response: {} },
      ],
    ],
  ])('may name a far index: %s', async (path, events) => {
    const request = path === '/responses' ? '{"model":"m","input":"hi"}' : undefined
    expect(await streamed(events, path, request)).toEqual(recorded)
  })
})

describe('an odd answer', () => {
  type Wire = { readonly [field: string]: unknown }
  const message = (content: unknown): Wire => ({ role: 'assistant', content })
  const chat = (content: string, more: Wire = {}): Wire => ({
    choices: [{ index: 0, finish_reason: 'stop', message: message(content) }],
    ...more,
  })
  const block = (index: unknown, text: string): Wire => ({
    type: 'content_block_start',
    index,
    content_block: { type: 'text', text },
  })
  const delta = (index: unknown, text: string): Wire => ({
    type: 'content_block_delta',
    index,
    delta: { type: 'text_delta', text },
  })
  const start = (usage?: Wire): Wire => ({
    type: 'message_start',
    message: { ...message([]), id: 'a1', model: 'claude', ...(usage !== undefined && { usage }) },
  })
  const called = (more: Wire): Wire => ({ choices: [{ delta: { tool_calls: [more] } }] })
  const item = (id: string, text: string): Wire => ({
    type: 'message',
    id,
    role: 'assistant',
    content: [{ type: 'output_text', text, annotations: [] }],
  })
  const chunk = (text: string, more: Wire = {}): Wire => ({
    candidates: [{ content: { role: 'model', parts: [{ text }] }, ...more }],
  })
  const stop: Wire = { choices: [{ finish_reason: 'stop' }] }
  const noMessage = 'the provider gave an error without a message'

  it.each<readonly [string, path: string, answer: Wire | readonly Wire[], expected: Wire]>([
    ['whose error is a text', '/chat/completions', { error: 'overloaded' }, { error: 'overloaded' }],
    ['whose error has no message', '/chat/completions', { error: { code: 1 } }, { error: noMessage }],
    ['whose error is null', '/chat/completions', chat('a', { error: null }), { said: ['a'], stop: 'stop' }],
    ['whose error is long', '/chat/completions', { error: 'e'.repeat(600) }, { error: 'e'.repeat(500) }],
    [
      'with three choices',
      '/chat/completions',
      { choices: [chat('a'), chat('b'), chat('c')].flatMap(({ choices }) => choices) },
      { said: ['a'], choices: 3, stop: 'stop' },
    ],
    ['without a choice', '/chat/completions', { id: 'r', model: 'gpt' }, { response: 'r', model: 'gpt' }],
    [
      'with negative and broken counts',
      '/chat/completions',
      chat('a', { usage: { prompt_tokens: 1.5, completion_tokens: -1 } }),
      { said: ['a'], stop: 'stop' },
    ],
    [
      'with counts of zero',
      '/chat/completions',
      chat('a', { usage: { prompt_tokens: 0, completion_tokens: 0, prompt_tokens_details: { cached_tokens: 0 } } }),
      { said: ['a'], stop: 'stop', usage: { input: 0, output: 0, cacheRead: 0 } },
    ],
    [
      'streamed with several choices, an end without a delta, and its usage after it',
      '/chat/completions',
      [
        { id: 'r', model: 'gpt', choices: [{ delta: { role: 'assistant', content: 'a' } }] },
        { id: '', model: '', choices: [{ index: 1, delta: { content: 'x' } }, { delta: { content: 'b' } }] },
        stop,
        { choices: [{ finish_reason: null }], usage: { prompt_tokens: 3, completion_tokens: 1 } },
      ],
      { said: ['ab'], choices: 2, stop: 'stop', response: 'r', model: 'gpt', usage: { input: 3, output: 1 } },
    ],
    [
      'streamed with two errors',
      '/chat/completions',
      [stop, { error: { message: 'first' } }, { error: { message: 'second' } }],
      { error: 'first', stop: 'stop' },
    ],
    [
      'streamed with calls at their indexes, and pieces without one',
      '/chat/completions',
      [
        called({ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '{"a"' } }),
        called({ index: 1, id: 'd', type: 'function', function: { name: 'g', arguments: '' } }),
        called({ index: 0, id: 'again', function: { arguments: ':1}' } }),
        called({ function: { arguments: '{}' } }),
        stop,
      ],
      { said: ['f(c){"a":1} g(d){}'], stop: 'stop' },
    ],
    [
      'streamed with an only call that has no index',
      '/chat/completions',
      [called({ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }), stop],
      { said: ['f(c){}'], stop: 'stop' },
    ],
    [
      'streamed with counts at its start and null ones at its end',
      '/messages',
      [
        start({ input_tokens: 2, cache_read_input_tokens: 3, cache_creation_input_tokens: 4 }),
        start(),
        block(0, ''),
        delta(0, 'a'),
        delta(1, 'nowhere'),
        block('0', 'nowhere'),
        delta(0, 'b'),
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { input_tokens: null, output_tokens: 5 } },
        { type: 'message_delta', usage: 'none', delta: 'none' },
        { type: 'message_stop' },
      ],
      {
        said: ['ab nowhere nowhere'],
        stop: 'end_turn',
        response: 'a1',
        model: 'claude',
        usage: { input: 9, output: 5, cacheRead: 3, cacheWrite: 4 },
      },
    ],
    [
      'streamed with a call whose arguments broke off, one without, and no usage at its start',
      '/messages',
      [
        { type: 'message_delta', delta: {}, usage: { output_tokens: 5 } },
        start(),
        { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c', name: 'f', input: {} } },
        { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '' } },
        { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'd', name: 'g', input: {} } },
        { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
        { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 'e', name: 'h', input: {} } },
        { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a"' } },
        { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: ':1}' } },
        { type: 'message_delta', delta: {}, usage: { input_tokens: 1, output_tokens: 5 } },
        { type: 'message_stop' },
      ],
      {
        said: ['f(c){} g(d){"a" h(e){"a":1}'],
        response: 'a1',
        model: 'claude',
        usage: { input: 1, output: 5, cacheRead: 0, cacheWrite: 0 },
      },
    ],
    [
      'streamed with citations and a signature',
      '/messages',
      [
        start(),
        { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: 'h', signature: '' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'm' } },
        { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
        block(1, 'a'),
        { type: 'content_block_delta', index: 1, delta: { type: 'citations_delta', citation: { at: 1 } } },
        { type: 'content_block_delta', index: 1, delta: { type: 'citations_delta', citation: { at: 2 } } },
        { type: 'message_stop' },
      ],
      { said: ['(hm c2ln) a [{"at":1},{"at":2}]'], response: 'a1', model: 'claude' },
    ],
    ['streamed without a start', '/messages', [block(0, 'a'), { type: 'message_stop' }], { said: ['a'] }],
    [
      'streamed with an item out of place, and texts of others',
      '/responses',
      [
        { type: 'response.created', response: { id: 'r', status: 'in_progress', model: 'gpt', output: [] } },
        { type: 'response.output_item.done', output_index: 1, item: item('m2', 'two') },
        { type: 'response.output_item.done', output_index: 0, item: item('m1', 'one') },
        { type: 'response.output_item.done', item: item('m3', 'three') },
        { type: 'response.output_item.done', item: 'none' },
        { type: 'response.output_text.delta', item_id: 'm2', delta: 'two' },
        { type: 'response.output_text.delta', item_id: 'm4', delta: 'fo' },
        { type: 'response.output_text.delta', item_id: 'm4', delta: 7 },
        { type: 'response.output_text.delta', item_id: 'm4', delta: 'ur' },
        { type: 'response.output_text.delta', output_index: 9, delta: 'nine' },
      ],
      { said: ['one two three four nine'], cut: true, stop: 'in_progress', response: 'r', model: 'gpt' },
    ],
    [
      'streamed to an end without output, and then another answer',
      '/responses',
      [
        { type: 'response.output_item.done', output_index: 0, item: item('m1', 'one') },
        { type: 'response.output_text.delta', item_id: 'm2', delta: 'left out' },
        {
          type: 'response.incomplete',
          response: { id: 'r', status: 'incomplete', incomplete_details: { reason: 'content_filter' }, output: [] },
        },
        { type: 'response.completed', response: { id: 's', status: 'completed', output: [item('m9', 'nine')] } },
      ],
      { said: ['one left out'], stop: 'content_filter', response: 'r' },
    ],
    [
      'streamed to a failure without a reason',
      '/responses',
      [{ type: 'response.failed', response: { id: 'r', status: 'failed' } }],
      { error: 'the response failed', stop: 'failed', response: 'r' },
    ],
    [
      'with tool prompts, thoughts and no cache',
      '/m:generateContent',
      {
        ...chunk('a', { finishReason: 'STOP' }),
        usageMetadata: {
          promptTokenCount: 1,
          toolUsePromptTokenCount: 2,
          candidatesTokenCount: 4,
          thoughtsTokenCount: 8,
        },
      },
      { said: ['a'], stop: 'STOP', usage: { input: 3, output: 12 } },
    ],
    [
      'streamed with an error, in an envelope',
      '/m:streamGenerateContent',
      [{ response: chunk('a') }, { response: { error: { message: 'first' } } }, { error: { message: 'second' } }],
      { said: ['a'], error: 'first', cut: true },
    ],
    ['that was blocked for no reason', '/m:generateContent', { promptFeedback: { blockReason: 7 } }, {}],
  ])('%s is recorded as it is', async (_, path, answer, expected) => {
    const made = recording()
    const isStream = Array.isArray(answer)
    const body = isStream
      ? answer.map((event: Wire) => `data: ${JSON.stringify(event)}\n\n`).join('')
      : JSON.stringify(answer)
    const asks = { responses: { input: 'hi' }, m: { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] } }
    const request = { model: 'asked', ...(asks[/\w+/.exec(path)?.[0] as 'm'] ?? { messages: [question('hi')] }) }
    await call(made, JSON.stringify(request), body, { path, type: isStream ? 'text/event-stream' : 'application/json' })
    expect(made.notices).toEqual([])
    const session = await ok(openSession(made.store, made.recorder.summary().sessions[0] ?? ''))
    const output = [...session.view()].slice(1).map(({ content }) =>
      content
        .map((part) => {
          if (part.type === 'tool_call') return `${part.name}(${part.id})${part.arguments}`
          if (part.type === 'reasoning') return `(${part.text} ${JSON.stringify(part).match(/c2ln/)?.[0]})`
          const cited = /"citations":(\[[^\]]*\])/.exec(JSON.stringify(part))?.[1]
          return `${part.type === 'text' ? part.text : part.type}${cited === undefined ? '' : ` ${cited}`}`
        })
        .join(' '),
    )
    const [note] = [...session.notes()].flatMap((one) => (one.type === 'receipt' ? [one] : []))
    const { stop, response, error, cut, choices } = (note && detailsOf(note, session)) ?? ({} as Partial<CallDetails>)
    const { usage, model } = note ?? {}
    expect({ said: output, stop, response, error, cut, choices, usage, model }).toEqual({
      said: [],
      model: 'asked',
      ...expected,
    })
  })
})

describe('an odd call', () => {
  it('is recorded if the answer precedes the end of the request', async () => {
    const made = recording()
    const observed = made.recorder.observe({
      method: 'POST',
      url: 'http://x/chat/completions',
      header: () => undefined,
    })
    observed?.answered(413, () => undefined)
    observed?.end()
    observed?.sent(asked(question('too long')))
    await made.recorder.settled()
    expect(made.notices).toEqual([])
    expect(made.recorder.summary().calls).toBe(1)
  })

  it('is recorded with lone surrogates in its texts', async () => {
    const made = recording()
    const request =
      '{"model":"\\ud800","user":"\\ud800","prompt_cache_key":"\\ud800","messages":[{"role":"user","content":"x"}]}'
    const answer =
      '{"id":"\\ud800","model":"\\ud800","choices":[{"finish_reason":"\\ud800","message":{"role":"assistant","content":"a"}}]}'
    await call(made, request, answer)
    await call(made, asked(question('y')), JSON.stringify({ error: { message: `${'a'.repeat(499)}😀` } }))
    expect(made.notices).toEqual([])
    expect(made.recorder.summary().calls).toBe(2)
  })

  it('with a stream body fails as without a recorder, and is reported', async () => {
    const notices: string[] = []
    const store = memoryStore()
    const fetch = recordingFetch({
      store,
      onNotice: ({ reason }) => notices.push(reason),
      fetch: () => Promise.reject(new Error('no network')),
    })
    const body = new ReadableStream({ start: (controller) => controller.close() })
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit
    await expect(fetch('http://x/chat/completions', init)).rejects.toThrow('no network')
    await new Promise((resolve) => setTimeout(resolve, 0)) // a rejection that nobody handles fails the test run
    await fetch.settled()
    expect(notices).toEqual(['the body of the request is a stream, which is not recorded; pass it as text or bytes'])
  })
})

describe('a session that ends during recording', () => {
  const next = asked(question('1'), { role: 'assistant', content: 'a' }, question('2'))

  it.each([
    ['is removed', async (store: Store, id: string) => void (await ok(store.remove(id)))],
    ['is sealed', async (store: Store, id: string) => void (await ok((await ok(openSession(store, id))).seal()))],
  ])('%s: the conversation, also one with a name, continues in another session', async (_, end) => {
    const made = recording()
    const named = (body: string): string => body.replace('{', '{"prompt_cache_key":"mine",')
    await call(made, named(asked(question('1'))), answerA)
    const [first = ''] = made.recorder.summary().sessions
    await end(made.store, first)
    await call(made, named(next), answerA)
    expect(made.notices).toEqual([])
    const [, second = ''] = made.recorder.summary().sessions
    expect((await ok(openSession(made.store, second))).len).toBe(4)
  })

  it.each([
    ['answer', answerA, ['1', 'a']],
    ['error', '{"error":{"message":"overloaded"}}', ['1']],
  ])('between a request and its %s: a fork has both, and the next call continues there', async (_, answer, output) => {
    const { recorder, store, notices } = recording()
    const observed = recorder.observe({ method: 'POST', url: 'http://x/chat/completions', header: () => undefined })
    observed?.sent(asked(question('1')))
    const asking = await vi.waitFor(async () => {
      const [session] = (await ok(store.list({ by: 'entries' }))).logs
      expect(session?.entries).toBe(1)
      return session?.id as string
    }, 60_000)
    await ok((await ok(openSession(store, asking))).seal())
    observed?.answered(200, (name) => (name === 'content-type' ? 'application/json' : undefined))
    observed?.chunk(new TextEncoder().encode(answer))
    observed?.end()
    await recorder.settled()
    expect(notices).toEqual([])
    const [fork = ''] = recorder.summary().sessions
    expect(fork).toContain(`${asking}.fork-`)
    const session = await ok(openSession(store, fork))
    expect([...session.view()].map((one) => textOf(one as Message))).toEqual(output)
    expect([...session.notes()].map(({ type }) => type)).toEqual(['receipt'])
    await call({ recorder, store, notices }, output.length === 1 ? asked(question('1')) : next, answerA)
    expect((await ok(session.refresh())).messages).toHaveLength(output.length === 1 ? 1 : 2)
    expect(notices).toEqual([])
  })

  it('and is named by the host: the conversation continues in another session', async () => {
    const made = recording({ sessionOf: () => 'mine' })
    await call(made, asked(question('1')), answerA)
    await ok((await ok(openSession(made.store, 'mine'))).seal())
    await call(made, next, answerA)
    await call(made, next, answerA)
    expect(made.notices).toEqual([])
    expect(made.recorder.summary().calls).toBe(3)
  })

  it('one named by the host has each message once, and loses those that a call leaves out', async () => {
    const made = recording({ sessionOf: () => 'mine' })
    const said = async (): Promise<readonly string[]> => {
      const session = await ok(openSession(made.store, 'mine'))
      return [session.view(), session.conversation()].map((view) =>
        [...view].map((one) => textOf(one as Message)).join(' '),
      )
    }
    const a = { role: 'assistant', content: 'a' }
    await call(made, asked(question('1')), answerA)
    expect(await said()).toEqual(['1 a', '1 a'])
    await call(made, next, answerA)
    expect(await said()).toEqual(['1 a 2 a', '1 a 2 a'])
    await call(made, asked(question('1'), a, question('3')), answerA)
    expect(await said()).toEqual(['1 a 2 a 3 a', '1 a 3 a'])
    await call(made, asked(question('4')), answerA)
    expect(await said()).toEqual(['1 a 2 a 3 a 4 a', '4 a'])
    expect(made.notices).toEqual([])
  })

  it('two recorders create one session named by the host', async () => {
    const store = memoryStore()
    const two = [recording({ store, sessionOf: () => 'mine' }), recording({ store, sessionOf: () => 'mine' })]
    await Promise.all(two.map((made) => call(made, asked(question('1')), answerA)))
    expect(two.map(({ notices }) => notices)).toEqual([[], []])
    expect(two.map(({ recorder }) => recorder.summary().calls)).toEqual([1, 1])
  })
})

const other = { kind: 'note', body: '{"type":"application","namespace":"x","content":1}' } as const
it.each<readonly [string, number, (store: Store) => Store['append']]>([
  [
    'is tried again for a conflict, a hundred times',
    100,
    (store) => (id, append) => {
      void store.append(id, { expected: append.expected, rows: [other] })
      return store.append(id, append)
    },
  ],
  ['is not tried again for another fault', 1, (store) => (_, append) => store.append('is not there', append)],
])('an answer %s; then the loss is reported', async (_, tries, appendIn) => {
  const inner = memoryStore()
  let tried = 0
  const append: Store['append'] = (id, append) => {
    if (!append.rows.some(({ body }) => body.includes('"receipt"'))) return inner.append(id, append)
    tried += 1
    return appendIn(inner)(id, append)
  }
  const made = recording({ store: { ...inner, append } })
  await call(made, asked(question('1')), answerA)
  expect([tried, made.notices.length]).toEqual([tries, 1])
  expect(made.recorder.summary()).toMatchObject({ calls: 0, lost: 1, unanswered: 1 })
})

it('a call whose blocks can not be stored is reported, and leaves no receipt', async () => {
  const inner = memoryStore()
  const append: Store['append'] = (id, append) =>
    (append.blocks ?? []).length === 0
      ? inner.append(id, append)
      : storeTask(async () => left({ _tag: 'Io', operation: 'append', cause: new Error('disk') }), 'append')
  const made = recording({ store: { ...inner, append } })
  await call(made, JSON.stringify({ model: 'm', tools: [{ name: 'a' }], messages: [question('1')] }), answerA)
  expect(made.notices).toEqual([expect.stringMatching(/^could not append an answer to .*disk/)])
  expect(made.recorder.summary()).toMatchObject({ calls: 0, lost: 1 })
})

it('a session has the name of its conversation in its id, as far as an id can have it', async () => {
  const made = recording()
  const ids: string[] = []
  for (const name of ['a b/c.d:e-f_g', 'x'.repeat(200), '']) {
    await call(
      made,
      asked(question(`of ${name}`)).replace('{', `{"prompt_cache_key":${JSON.stringify(name)},`),
      answerA,
    )
    ids.push(made.recorder.summary().sessions.at(-1) ?? '')
  }
  const random = /^[0-9a-f]{8}$/
  expect(ids.map((id) => [id.slice(0, -8), random.test(id.slice(-8))])).toEqual([
    ['a-b-c.d:e-f_g-', true],
    [`${'x'.repeat(100)}-`, true],
    ['recorded-', true],
  ])
})

it('a title is the first line of the user, whatever the form of the message', async () => {
  const titles: unknown[] = []
  for (const content of [
    '  \n first line \nsecond',
    [
      { type: 'text', text: '' },
      { type: 'text', text: '<a-b>\nx\n</a-b>' },
      { type: 'text', text: 'said' },
    ],
    '<a>only this</a>',
    '<a>not</a> an element',
    `${'w'.repeat(79)} cut`,
    `${'w'.repeat(80)}`,
    `${'w'.repeat(70)} ${'v'.repeat(20)}`,
    `${'w'.repeat(70)} ${'v'.repeat(8)} cut`,
    `${'w'.repeat(78)}\u{1f642}\u{1f642}`,
    ' ',
  ]) {
    const made = recording()
    await call(made, asked({ role: 'system', content: 'rules' }, { role: 'user', content }), answerA)
    const [id = ''] = made.recorder.summary().sessions
    titles.push((await ok(openSession(made.store, id))).metadata()['title'])
  }
  expect(titles).toEqual([
    'first line',
    'said',
    '<a>only this</a>',
    '<a>not</a> an element',
    `${'w'.repeat(79)}…`,
    'w'.repeat(80),
    `${'w'.repeat(70)}…`,
    `${'w'.repeat(70)} ${'v'.repeat(8)}…`,
    `${'w'.repeat(78)}\ufffd…`,
    undefined,
  ])
})

describe('an unreadable session', () => {
  const system = { role: 'system', content: 'be brief' }
  const ring = keyRing([newHostKey()])
  const cases: readonly (readonly [string, (bare: Store, id: string) => Promise<unknown>, RegExp])[] = [
    ['as its key was destroyed', (bare, id) => ok(destroyKey(bare, id, ring)), /is encrypted and can't be read/],
    [
      'as it is damaged',
      async (bare, id) => {
        const { head: expected } = await ok(bare.info(id))
        return ok(bare.erase({ logs: [{ id, expected, rows: [{ position: 1, stub: 'none' }] }] }))
      },
      /is damaged at row 1: /,
    ],
    [
      'as another program wrote what is no message, and many messages behind it',
      async (bare, id) => {
        const { head: expected } = await ok(bare.info(id))
        const row = (role: string) =>
          ({ kind: 'entry', body: `{"page":"plan","message":{"role":"${role}","content":[]}}` }) as const
        return ok(
          bare.append(id, { expected, rows: [row('robot'), ...Array.from({ length: 200 }, () => row('user'))] }),
        )
      },
      /is damaged at row \d+: /,
    ],
  ]

  it.each(cases)('%s, is skipped by conversations that start like it, and reported once', async (_, harm, words) => {
    const bare = memoryStore()
    const before = recording({ store: words.source.includes('damaged') ? bare : withKeys(bare, ring) })
    await call(before, asked(system, question('0')), answerA)
    const [lost = ''] = before.recorder.summary().sessions
    await harm(bare, lost)
    const store = words.source.includes('damaged') ? bare : withKeys(bare, ring)
    const after = recording({ store })
    await call(after, asked(system, question('1')), answerA)
    await call(after, asked(system, question('1'), { role: 'assistant', content: 'a' }, question('2')), answerA)
    await call(after, asked(system, question('0')), answerA)
    const { calls, sessions } = after.recorder.summary()
    expect(calls).toBe(3)
    expect(sessions).not.toContain(lost)
    expect((await ok(openSession(store, sessions[0] as string))).conversation().length).toBe(5)
    expect(after.notices).toEqual([expect.stringMatching(words)])
    expect(after.notices[0]).toContain(`${JSON.stringify(lost)} is `)
    expect(after.notices[0]).toContain(`is recorded in the new session ${JSON.stringify(sessions[0])}`)
  })

  it("without its key is not found at all: the recorder's index is keyed", async () => {
    const bare = memoryStore()
    const before = recording({ store: withKeys(bare, ring) })
    await call(before, asked(system, question('0')), answerA)
    const after = recording({ store: bare })
    await call(after, asked(system, question('0')), answerA)
    expect(after.recorder.summary().sessions).not.toContain(before.recorder.summary().sessions[0])
    expect([after.notices, after.recorder.summary().calls]).toEqual([[], 1])
  })

  it('is not used when the host names it: the conversation continues in another session', async () => {
    const bare = memoryStore()
    await call(recording({ store: withKeys(bare, ring), sessionOf: () => 'mine' }), asked(question('0')), answerA)
    const after = recording({ store: bare, sessionOf: () => 'mine' })
    for (const n of [1, 2]) await call(after, asked(question('1'), ...Array(n - 1).fill(question('2'))), answerA)
    expect(after.notices).toEqual([expect.stringContaining('"mine" is encrypted')])
    expect(after.recorder.summary()).toMatchObject({ calls: 2, lost: 0 })
  })

  it('that becomes unreadable while recording: the conversation continues in another session', async () => {
    const bare = memoryStore()
    const made = recording({ store: withKeys(bare, ring) })
    await call(made, asked(question('1')), answerA)
    const [lost = ''] = made.recorder.summary().sessions
    await ok(destroyKey(bare, lost, ring))
    await call(made, asked(question('1'), { role: 'assistant', content: 'a' }, question('2')), answerA)
    const { calls, sessions } = made.recorder.summary()
    expect([calls, made.notices.length]).toEqual([2, 1])
    expect((await ok(openSession(made.store, sessions[1] as string))).len).toBe(4)
  })
})

it('an invalid sampling share is refused', () => {
  for (const sample of [NaN, -1, 1.1]) expect(() => createRecorder({ store: memoryStore(), sample })).toThrow(TypeError)
})

describe('the proxy', () => {
  const close: (() => unknown)[] = []
  afterEach(async () => {
    while (close.length > 0) await close.pop()?.()
  })
  const listening = (server: Server): Promise<number> =>
    new Promise((resolve) =>
      server.listen(0, '127.0.0.1', () => {
        close.push(() => server.close())
        resolve((server.address() as AddressInfo).port)
      }),
    )

  /** A proxy to a server that is a function of its sockets. */
  const proxyTo = async (serve: (socket: Socket, request: string) => void) => {
    const upstream = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', (bytes: Buffer) => serve(socket, bytes.toString('latin1')))
    })
    const made = recording()
    const proxy = await startProxy({
      host: '127.0.0.1',
      port: 0,
      token: '',
      upstreams: [{ name: 'u', url: `http://127.0.0.1:${await listening(upstream)}` }],
      recorderOf: () => made.recorder,
    })
    return { ...made, proxy }
  }
  /** What comes back until the connection closes. */
  const exchange = (port: number, request: string): Promise<string> =>
    new Promise((resolve) => {
      let text = ''
      const socket = connect(port, '127.0.0.1', () => socket.write(request))
      socket.on('data', (bytes: Buffer) => (text += bytes.toString('latin1')))
      socket.on('error', () => undefined)
      socket.on('close', () => resolve(text))
    })
  const body = asked(question('hi'))
  const post = (headers = ''): string =>
    `POST /u/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`
  const upgrade = 'GET /u/x HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'

  it.each([
    ['HTTP/1.1 099 Hm\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1.1 502 /],
    ['HTTP/1.1 200 O\x01K\r\nContent-Length: 0\r\n\r\n', /^HTTP\/1.1 200 O K\r\n/],
    ['HTTP/1.1 101 Hm\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', /^HTTP\/1.1 502 /],
    ['no HTTP at all\r\n\r\n', /^HTTP\/1.1 502 /],
  ])('answers whatever a provider sends: %j', async (answer, expected) => {
    const { proxy } = await proxyTo((socket) => socket.end(answer, 'latin1'))
    expect(await exchange(proxy.port, post())).toMatch(expected)
    await proxy.close()
  })

  it('forwards all headers, whatever their names', async () => {
    let request = ''
    const { proxy } = await proxyTo((socket, text) => {
      request = text
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    })
    await exchange(proxy.port, post('constructor: 1\r\n__proto__: 2\r\nX-A: 3\r\nx-a: 4\r\n'))
    const lines = request.split('\r\n')
    expect(lines).toEqual(expect.arrayContaining(['constructor: 1', '__proto__: 2', 'X-A: 3', 'X-A: 4']))
    await proxy.close()
  })

  it("passes on a provider's reason for refusing a WebSocket", async () => {
    const { proxy } = await proxyTo((socket) => socket.end('HTTP/1.1 401 No\r\nContent-Length: 2\r\n\r\nno'))
    expect(await exchange(proxy.port, upgrade)).toMatch(/^HTTP\/1.1 401 No\r\n[^]*\r\n\r\nno$/)
    await proxy.close()
  })

  it('refuses a WebSocket where posts are recorded, so that the client posts', async () => {
    let reached = 0
    const { proxy } = await proxyTo((socket) => {
      reached++
      socket.end('HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n')
    })
    const codex = upgrade.replace('/u/x', '/u/responses?x=1')
    expect(await exchange(proxy.port, codex)).toMatch(/^HTTP\/1.1 426 Upgrade Required\r\n/)
    expect(reached).toBe(0)
    await proxy.close()
  })

  it('survives a client that resets before its WebSocket opens', async () => {
    let gone: (() => void) | undefined
    const closed = new Promise<void>((resolve) => (gone = resolve))
    const { proxy } = await proxyTo((socket) => {
      socket.on('close', () => gone?.())
      client.resetAndDestroy()
    })
    close.push(() => proxy.close())
    const client = connect(proxy.port, '127.0.0.1', () => client.write(upgrade))
    await closed // the provider's side, too; an exception that nobody catches fails the test run
  })

  const switched = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n'

  it.each(['client', 'provider'] as const)(
    'tunnels a WebSocket from its first byte until its %s ends',
    async (side) => {
      let [heard, output] = ['', '']
      const ended = Promise.withResolvers<void>()
      const { proxy } = await proxyTo((provider) => {
        provider.write(`${switched}first`)
        provider.on('data', (bytes) => {
          heard += bytes.toString()
          if (heard === 'earlylate') (side === 'client' ? client : provider).destroy()
        })
        provider.on('close', () => client.on('close', ended.resolve).destroyed && ended.resolve())
      })
      const client = connect(proxy.port, '127.0.0.1', () => client.write(`${upgrade}early`))
      client.on('data', (bytes) => {
        if (output === '') client.write('late')
        output += bytes.toString()
      })
      await ended.promise
      expect([heard, output]).toEqual(['earlylate', expect.stringMatching(/^HTTP\/1.1 101 [^]*\r\n\r\nfirst$/)])
      await proxy.close()
    },
  )

  it('closes while a WebSocket is open', async () => {
    const { proxy } = await proxyTo((socket) => socket.write(switched))
    const socket = connect(proxy.port, '127.0.0.1', () => socket.write(upgrade))
    await new Promise((resolve) => socket.once('data', resolve))
    socket.on('error', () => undefined)
    await proxy.close()
  })
})

describe('a decompression bomb', () => {
  it('is not decompressed beyond the limit in any encoding', async () => {
    const plain = new Uint8Array(1 << 20)
    const packed = {
      gzip: gzipSync(plain),
      deflate: deflateSync(plain),
      br: brotliCompressSync(plain),
      zstd: zstdCompressSync(plain),
    }
    for (const [encoding, bytes] of Object.entries(packed)) {
      expect(bytes.length).toBeLessThan(10_000)
      expect((await decompress(encoding, bytes, 1 << 20)).length).toBe(1 << 20)
      await expect(decompress(encoding, bytes, (1 << 20) - 1)).rejects.toThrow()
    }
    // What stands behind both encodings is one bomb in another.
    await expect(decompress('gzip, gzip', gzipSync(packed.gzip), 1 << 19)).rejects.toThrow()
    for (const encoding of ['gzip', 'deflate'] as const) {
      expect((await decompressBytes(encoding, packed[encoding], 1 << 20)).length).toBe(1 << 20)
      await expect(decompressBytes(encoding, packed[encoding], (1 << 20) - 1)).rejects.toThrow('is longer than 1048575')
    }
  })
})
