import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  developer,
  faultMessage,
  file,
  image,
  mend,
  reasoning,
  system,
  toolCall,
  toolResult,
  user,
  type JsonObject,
  type Message,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { toolResultPart } from '../../src/message/internal.ts'
import type { BlockId } from '../../src/proof/internal.ts'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { openaiChatReading } from '../../src/codecs/internal.ts'
import { itShared, readShared } from '../real-transcripts.ts'
import { expectLaw, expectLawUnderDamage, expectLawOfParts, decodeOrFail, write } from './law.ts'
import { withSmallStack } from '../small-stack.ts'

/** One of everything that the SDK's types allow, and much that they do not. */
const everything = [
  { role: 'developer', content: 'Be brief.', name: 'ops' },
  { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
  { role: 'system', content: '' },
  {
    role: 'user',
    name: 'ada',
    content: [
      { type: 'text', text: 'look', cache_control: { type: 'ephemeral' } },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'mp3' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,aGk=', filename: 'a.pdf' } },
      { type: 'file', file: { file_id: 'file-1' } },
      { type: 'video_url', video_url: { url: 'v' } },
    ],
  },
  { role: 'user', content: [] },
  { role: 'user', content: 'a\u0000\u2028"' },
  {
    role: 'assistant',
    content: null,
    refusal: null,
    annotations: [],
    tool_calls: [
      { type: 'function', id: 'c1', function: { name: 'f', arguments: '{ "a" : 1}' } },
      { type: 'custom', id: 'c2', custom: { name: 'sh', input: 'ls\n' } },
      { id: 'c3', index: 2, function: { name: 'g', arguments: { a: 1 }, strict: true } },
      { type: 'new_kind', id: 'c9', anything: [1] },
      { type: 'function', id: 'c8', function: { arguments: '{}' } },
      { type: 'function', id: 'c7', function: { name: null, arguments: '{}' } },
      { type: 'function', id: 'c6', function: { name: 'h' } },
      { type: 'function', id: 'c5', function: { name: 'h', arguments: null } },
    ],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'ok', name: 'f' },
  { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: 'ok' }] },
  {
    role: 'tool',
    tool_call_id: 'c3',
    content: [
      { type: 'image_url', image_url: { url: 'u' } },
      { type: 'text', text: 'b' },
    ],
  },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { type: 'function', id: 'x'.repeat(41), function: { name: 'a.b', arguments: '' } },
      { type: 'function', id: '', function: { name: 'f', arguments: '' } },
    ],
  },
  { role: 'tool', tool_call_id: 'x'.repeat(41), content: 'ok' },
  { role: 'tool', tool_call_id: '', content: [{ type: 'text', text: 'ok' }] },
  {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I ' },
      { type: 'refusal', refusal: 'will not' },
    ],
  },
  { role: 'assistant', content: '', refusal: 'no' },
  { role: 'assistant', refusal: 'no' },
  { role: 'assistant', audio: { id: 'audio_1' } },
  { role: 'assistant', content: 'so', reasoning_content: 'because', reasoning_details: [{ type: 'x' }] },
  { role: 'assistant', content: '', tool_calls: [] },
  { role: 'assistant', content: null, function_call: { name: 'old', arguments: '{}' } },
  { role: 'function', name: 'old', content: 'answer' },
  {
    role: 'assistant',
    content: null,
    function_call: { name: 'old', arguments: '{}' },
    extra: { deep: { __proto__: null } },
  },
  { role: 'function', name: 'old', content: null },
  { role: 'function', name: 'never asked', content: [{ type: 'text', text: 'x' }] },
] as const satisfies readonly JsonObject[]

describe('the OpenAI Chat codec', () => {
  it('round-trips every role, part and call, including unknown ones', () => {
    expectLaw(openaiChat, everything)
    expectLawOfParts(openaiChat, everything)
    for (const message of everything) expectLaw(openaiChat, [message])
  })
  it('round-trips randomly damaged input', () => expectLawUnderDamage(openaiChat, everything))

  it('reads everything that the message model can express', () => {
    const messages = decodeOrFail(openaiChat, everything)
    expect(messages.map(({ role }) => role)).toEqual(
      everything.map(({ role }) => (role === 'function' ? 'tool' : role)),
    )
    expect(messages[3]?.content.slice(1, 4)).toEqual([
      {
        type: 'image',
        source: { type: 'url', url: 'https://example.com/a.png' },
        meta: { 'openai-chat': { fields: { image_url: { detail: 'low' } } } },
      },
      { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'aGk=' } },
      { type: 'file', source: { type: 'base64', mediaType: 'audio/wav', data: 'aGk=' } },
    ])
    expect(messages[6]?.content.slice(0, 2)).toEqual([
      { type: 'tool_call', id: 'c1', name: 'f', arguments: '{ "a" : 1}' },
      { type: 'tool_call', id: 'c2', name: 'sh', arguments: 'ls\n', meta: { 'openai-chat': { as: 'custom' } } },
    ])
    expect(messages.slice(-5, -1).map(({ content: [part] }) => part)).toMatchObject([
      { type: 'tool_call', id: 'function_call_0', name: 'old' },
      { type: 'tool_result', callId: 'function_call_0', name: 'old' },
      { type: 'tool_call', id: 'function_call_1' },
      { type: 'tool_result', callId: 'function_call_1' },
    ])
  })

  it('reads files as file parts, except audio, which would be written as audio', () => {
    const withFile = (mediaType: string) => ({
      role: 'user',
      content: [{ type: 'file', file: { file_data: `data:${mediaType};base64,aGk=` } }],
    })
    const [pdf, wav] = decodeOrFail(openaiChat, [withFile('application/pdf'), withFile('audio/wav')])
    expect(pdf?.content).toMatchObject([{ type: 'file', source: { mediaType: 'application/pdf', data: 'aGk=' } }])
    expect(wav?.content).toMatchObject([{ type: 'provider' }])
  })

  it('writes conversations from other formats: one message per result, text before calls', () => {
    const messages: Message[] = [
      system('s'),
      developer('d'),
      user('u', image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' })),
      assistant('a', toolCall('1', 'f', '{}'), toolCall('2', 'g', 'not json')),
      { role: 'tool', content: [toolResultPart('1', 'one'), toolResultPart('2', 'two')] },
      { role: 'user', content: [{ type: 'text', text: 'x' }] },
      assistant(toolCall('3', 'h', '{}'), toolResultPart('3', 'by the provider'), 'then'),
      assistant(),
    ]
    const { wire, losses } = write(openaiChat, messages)
    expect(losses).toEqual([])
    expect(wire).toEqual([
      { role: 'system', content: 's' },
      { role: 'developer', content: 'd' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'u' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=' } },
        ],
      },
      {
        role: 'assistant',
        content: 'a',
        tool_calls: [
          { type: 'function', id: '1', function: { name: 'f', arguments: '{}' } },
          { type: 'function', id: '2', function: { name: 'g', arguments: 'not json' } },
        ],
      },
      { role: 'tool', tool_call_id: '1', content: 'one' },
      { role: 'tool', tool_call_id: '2', content: 'two' },
      { role: 'user', content: 'x' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ type: 'function', id: '3', function: { name: 'h', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: '3', content: 'by the provider' },
      { role: 'assistant', content: 'then' },
      { role: 'assistant', content: '' },
    ])
  })

  it("writes a message's results after all of its open calls", () => {
    const { wire } = write(openaiChat, [
      assistant(toolCall('1', 'f', '{}'), toolCall('2', 'f', '{}'), toolResultPart('2', 'b'), toolCall('3', 'f', '{}')),
      toolResult('1', 'a'),
      toolResult('3', 'c'),
    ])
    expect(
      (wire as JsonObject[]).map(({ role, tool_call_id: id = null, tool_calls: calls = [] }) => [
        role,
        id,
        (calls as JsonObject[]).map((call) => call['id']),
      ]),
    ).toEqual([
      ['assistant', null, ['1', '2', '3']],
      ['tool', '2', []],
      ['tool', '1', []],
      ['tool', '3', []],
    ])
  })

  it('writes call ids and names that the API accepts, the same for the result', () => {
    const id = `mcpr_${'x'.repeat(50)}`
    const { wire, losses } = write(openaiChat, [assistant(toolCall(id, 'my.tool', '{}')), toolResult(id, '')])
    const [call, answer] = wire as [
      { tool_calls: [{ id: string; function: { name: string } }] },
      { tool_call_id: string },
    ]
    expect(call.tool_calls[0].id).toMatch(/^mcpr_x{26}_[0-9a-f]{8}$/)
    expect(answer.tool_call_id).toBe(call.tool_calls[0].id)
    expect(call.tool_calls[0].function.name).toBe('my_tool')
    expect(losses.map(({ path }) => path.join('.'))).toEqual(['content.0.id', 'content.0.name'])
  })

  it('lists every loss with path and reason', () => {
    const messages: Message[] = [
      {
        ...assistant(
          reasoning('hm', { signature: 's' }),
          toolCall('1', 'f', '{}'),
          'after',
          provider('acme', 1),
          refusal('no'),
        ),
        id: 'msg_1',
      },
      toolResult(
        '1',
        [
          { type: 'image', source: { type: 'url', url: 'u' } },
          { type: 'text', text: 't' },
        ],
        { isError: true },
      ),
      user(
        refusal('n'),
        file({ type: 'url', url: 'u' }),
        file({ type: 'base64', mediaType: 'audio/wav', data: '' }, { name: 'n' }),
        toolCall('2', 'f', '{}'),
      ),
      { role: 'tool', content: [toolResultPart('2', 'x'), { type: 'text', text: 'said' }] },
      {
        ...system('s'),
        meta: { anthropic: { fields: { cache_control: {} } }, 'openai-responses': { as: 'x' }, 'com.example': 1 },
      },
    ]
    const { wire, losses } = write(openaiChat, messages)
    expect(losses.map(({ position, path, reason }) => `${position} ${path.join('.')}: ${reason}`)).toEqual([
      '0 id: chat messages have no id',
      '0 content.0: chat has no field for reasoning',
      '0 content.2: comes after a tool call; chat puts all content before the calls',
      '0 content.3: comes after a tool call; chat puts all content before the calls',
      '0 content.3: is known only to acme',
      '0 content.4: comes after a tool call; chat puts all content before the calls',
      '1 content.0.isError: chat cannot mark a result as an error; only the text shows it',
      '1 content.0.content.0: a chat tool message cannot hold an image',
      '2 content.0: only the assistant can refuse',
      '2 content.1: chat accepts a file only as bytes, not as a URL',
      '2 content.2.name: chat audio has no name',
      '2 role: a user message with content other than results: written as assistant',
      '3 role: a tool message with content other than results: written as user',
      '4 meta.anthropic: is known only to anthropic',
    ])
    expect((wire as JsonObject[])[1]).toEqual({ role: 'tool', tool_call_id: '1', content: 't' })
  })

  it('inlines given block contents and names the missing block', () => {
    const id = 'a'.repeat(64) as BlockId
    const { messages } = mend([user(image({ type: 'block', id }))])
    const missing = openaiChat.encode(messages)
    expect(missing._tag === 'Left' && faultMessage(missing.left)).toMatch(
      /^content\[0\]\.source of the message at position 0 is the stored block a{64}; encode\(\) needs its content/,
    )
    const result = openaiChat.encode(messages, { block: () => ({ data: 'aGk=', mediaType: 'image/png' }) })
    expect(result).toMatchObject({
      right: { wire: [{ content: [{ image_url: { url: 'data:image/png;base64,aGk=' } }] }] },
    })
  })

  it('reads and lists lone surrogates and out-of-range numbers', () => {
    const decoded = openaiChat.decode([{ role: 'user', content: 'cut \ud83d', n: Infinity, '\ud83d': 1 }])
    expect(decoded).toEqual({
      _tag: 'Right',
      right: {
        messages: [
          {
            role: 'user',
            content: [{ type: 'text', text: 'cut \ufffd' }],
            meta: { 'openai-chat': { fields: { n: null, '\ufffd': 1 } } },
          },
        ],
        losses: [
          {
            position: 0,
            path: ['content'],
            reason: 'has half a surrogate pair, which is no character: read as U+FFFD',
          },
          { position: 0, path: ['n'], reason: 'is a number out of range (Infinity): read as null' },
          { position: 0, path: ['\ufffd'], reason: 'is a key with half a surrogate pair: read as U+FFFD' },
        ],
      },
    })
  })

  it('reads and writes a message with more calls than a function may have arguments', () => {
    const calls = Array.from({ length: 16_000 }, (_, index) => ({
      type: 'function',
      id: `c${index}`,
      function: { name: 'f', arguments: '' },
    }))
    const back = withSmallStack(calls, () => {
      const decoded = openaiChat.decode([{ role: 'assistant', content: null, tool_calls: calls }])
      return write(openaiChat, decoded._tag === 'Right' ? decoded.right.messages : []).wire
    })
    expect(back).toMatchObject([{ tool_calls: { length: 16_000 } }])
  })

  it('reports unreadable input with its path', () => {
    const said = (wire: unknown): string => {
      const decoded = openaiChat.decode(wire)
      return decoded._tag === 'Left' ? faultMessage(decoded.left) : 'fine'
    }
    expect(said({})).toBe('the entry should be an array, found an empty object (read as openai-chat)')
    expect(said([{ role: 'robot' }])).toMatch(
      /^\[0\]\.role should be one of system, developer, user, assistant, tool, function, found "robot"/,
    )
    expect(said([{ role: 'tool', content: '' }])).toMatch(/^\[0\]\.tool_call_id should be a string, found nothing/)
    expect(said([{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 1 } }] }])).toMatch(
      /^\[0\]\.tool_calls\[0\]\.function\.name should be a string/,
    )
    expect(said([{ role: 'user', content: [{ type: 'text', text: 1 }] }])).toMatch(
      /^\[0\]\.content\[0\]\.text should be a string, found 1/,
    )
    expect(said([new Date()])).toBe('[0] is an instance of Date; expected plain JSON data (read as openai-chat)')
    expect(said([() => 1])).toMatch(/^\[0\] is a function; expected plain JSON data/)
    expect(
      said(
        new Proxy([], {
          get: () => {
            throw new Error('no')
          },
        }),
      ),
    ).toMatch(/expected plain JSON data/)
  })

  it('produces the types of the SDK', () => {
    const { messages } = mend([user('hi')])
    const encoded = openaiChat.encode(messages)
    const request: ChatCompletionMessageParam[] = encoded._tag === 'Right' ? encoded.right.wire : []
    expect(request).toEqual([{ role: 'user', content: 'hi' }])
    // @ts-expect-error only a settled sequence can become a request
    void openaiChat.encode([user('hi')])
  })

  itShared('gives back every real conversation, and every recorded answer', () => {
    const runs = JSON.parse(readShared('transcripts/tau-airline-gpt-4o.openai-chat.json')) as {
      readonly traj: unknown
    }[]
    for (const { traj } of runs) expectLaw(openaiChat, traj)
    const answer = JSON.parse(readShared('wire/openai-chat/openai-text.json')) as {
      readonly choices: { readonly message: unknown }[]
    }
    expectLaw(
      openaiChat,
      answer.choices.map(({ message }) => message),
    )
  })
})

it('a list that is read in pieces may have more messages than a call has arguments', () => {
  const list = Array.from({ length: 200_000 }, (_, index) => ({ role: 'user', content: `question ${index}` }))
  expect(openaiChatReading().read(list, true)).toHaveLength(200_000)
})
