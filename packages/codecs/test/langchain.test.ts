import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from '@langchain/core/messages'
import { load } from '@langchain/core/load'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  developer,
  faultMessage,
  file,
  image,
  mend,
  openCalls,
  reasoning,
  settle,
  system,
  toolCall,
  toolResult,
  user,
  type JsonObject,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { langchainMessages } from '@indelible/codecs/langchain'
import { expectLaw, expectLawUnderDamage, decodeOrFail, write } from '../../../test/codecs/law.ts'
import { readTranscript } from '@indelible/transcripts'

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** Made by LangChain itself. */
const live: readonly BaseMessage[] = [
  new SystemMessage('Be brief.'),
  new SystemMessage({ content: 'Later word.', additional_kwargs: { __openai_role__: 'developer' } }),
  new HumanMessage('hi'),
  new HumanMessage(''),
  new HumanMessage({ content: [{ type: 'text', text: 'a' }], id: 'h', name: 'ada' }),
  new HumanMessage({
    content: [
      { type: 'text', text: 'look', cache_control: { type: 'ephemeral' } },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=', detail: 'low' } },
      { type: 'image_url', image_url: 'https://example.com/a.png' },
      { type: 'file', mimeType: 'application/pdf', data: 'aGk=', metadata: { filename: 'a.pdf' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
    ],
  }),
  new AIMessage('yes'),
  new AIMessage({
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'c1', name: 'look', input: { a: 1 } },
    ],
    tool_calls: [
      { id: 'c1', name: 'look', args: { a: 1 }, type: 'tool_call' },
      { id: 'c2', name: 'look', args: {} },
    ],
    invalid_tool_calls: [{ id: 'c9', name: 'look', args: '{"a', error: 'cut off', type: 'invalid_tool_call' }],
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 } as never,
    additional_kwargs: { deep: { er: [1] } },
    response_metadata: { model_name: 'm' },
    id: 'ai',
  }),
  new AIMessage({
    content: [{ type: 'tool_use', id: 'c4', name: 'f', input: {} }, 'bare text'] as never,
    tool_calls: [
      { id: 'c3', name: 'f', args: {} },
      { id: 'c4', name: 'f', args: {} },
    ],
  }),
  new ToolMessage({ content: 'a cat', tool_call_id: 'c1', name: 'look', artifact: { raw: 1 }, status: 'success' }),
  new ToolMessage({ content: [{ type: 'text', text: 'none' }], tool_call_id: 'c2', status: 'error', id: 't' }),
  new AIMessageChunk({ content: 'chunk', tool_call_chunks: [{ id: 'x', name: 'f', args: '{', index: 0 }] }),
]

const constructors = asJson(live) as readonly JsonObject[]
const stored = asJson(mapChatMessagesToStoredMessages([...live])) as readonly JsonObject[]
const flat = stored.map(({ type, data }) => ({ ...(data as JsonObject), type: type as string }))

describe('the LangChain codec', () => {
  it('round-trips each of the three spellings', () => {
    for (const wire of [constructors, stored, flat]) {
      expectLaw(langchainMessages, wire)
      for (const message of wire) expectLaw(langchainMessages, [message])
    }
    expectLaw(langchainMessages, [{ type: 'ai', tool_calls: [], later: 1 }])
    expectLaw(langchainMessages, [{ type: 'human', content: null }])
    expectLaw(langchainMessages, [
      { lc: 1, type: 'constructor', id: ['langchain', 'schema', 'HumanMessage'], kwargs: {} },
    ])
  })
  it('round-trips randomly damaged input', () => {
    expectLawUnderDamage(langchainMessages, constructors)
    expectLawUnderDamage(langchainMessages, [...stored, ...flat])
  })

  it('reads texts, images and files', () => {
    const [message] = decodeOrFail(langchainMessages, constructors.slice(5, 6))
    expect(message?.content.map(({ type }) => type)).toEqual(['text', 'image', 'image', 'file', 'provider'])
    const at = { type: 'file', url: 'https://example.com/a.pdf' }
    const [named] = decodeOrFail(langchainMessages, [{ type: 'human', content: [at] }])
    expect(named?.content).toMatchObject([{ type: 'file', source: { type: 'url', url: at.url } }])
    const sound = { type: 'audio', mimeType: 'audio/wav', data: 'aGk=' }
    const [heard] = decodeOrFail(langchainMessages, [{ type: 'human', content: [sound] }])
    expect(heard?.content).toMatchObject([{ type: 'provider', raw: sound }])
  })

  it('reads a call once even if it is also among the content blocks', () => {
    const messages = decodeOrFail(langchainMessages, constructors.slice(7, 8))
    expect(messages[0]?.content.map(({ type }) => type)).toEqual(['reasoning', 'text', 'tool_call', 'tool_call'])
    expect(openCalls(messages).map(({ id }) => id)).toEqual(['c1', 'c2'])
    expect(settle(decodeOrFail(langchainMessages, [constructors[7], constructors[9], constructors[10]]))._tag).toBe(
      'Right',
    )
    const transcript = readTranscript(JSON.stringify(constructors))
    expect(transcript._tag === 'Right' && transcript.right.format).toBe('langchain')
  })

  it('writes a file by its URL or its bytes', () => {
    const url = 'https://example.com/a.pdf'
    const bytes = { mediaType: 'application/pdf', data: 'aGk=' }
    const message = user(file({ type: 'url', url }), file({ type: 'base64', ...bytes }))
    const content = [
      { type: 'file', url },
      { type: 'file', mimeType: bytes.mediaType, data: bytes.data },
    ]
    expect(write(langchainMessages, [message]).wire).toMatchObject([{ kwargs: { content } }])
  })

  it('writes any conversation as messages that LangChain loads', async () => {
    const { messages } = mend([
      system('Be brief.'),
      developer('Really.'),
      { ...user('look', image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' })), name: 'ada', id: 'u' },
      user(file({ type: 'base64', mediaType: 'application/pdf', data: 'aGk=' }, { name: 'a.pdf' })),
      assistant(reasoning('hm'), 'I look.', toolCall('1', 'look', { a: 1 }), toolCall('2', 'look', 'not json')),
      {
        role: 'tool',
        content: [...toolResult('1', 'a cat').content, ...toolResult('2', 'no', { isError: true }).content],
      },
      assistant('A cat.', refusal('no'), provider('x', 1)),
    ])
    const { wire, losses } = write(langchainMessages, messages)
    const loaded: readonly BaseMessage[] = await Promise.all(
      (wire as readonly unknown[]).map((message) => load<BaseMessage>(JSON.stringify(message))),
    )
    expect(loaded.map((message) => [message.type, message.text])).toEqual([
      ['system', 'Be brief.'],
      ['system', 'Really.'],
      ['human', 'look'],
      ['human', ''],
      ['ai', 'I look.'],
      ['tool', 'a cat'],
      ['tool', 'no'],
      ['ai', 'A cat.no'],
    ])
    const [, , , , said, , refused] = loaded
    expect(said instanceof AIMessage && said.tool_calls?.map(({ id, args }) => [id, args])).toEqual([
      ['1', { a: 1 }],
      ['2', {}],
    ])
    expect(refused instanceof ToolMessage && refused.status).toBe('error')
    expect(losses.map(({ position, path }) => `${position} ${path.join('.')}`)).toEqual([
      '4 content.0',
      '4 content.3.arguments',
      '6 content.1',
      '6 content.2',
    ])
  })

  it('reports unreadable input with its path', () => {
    const said = (wire: unknown): string => {
      const decoded = langchainMessages.decode(wire)
      return decoded._tag === 'Left' ? faultMessage(decoded.left) : 'fine'
    }
    expect(said({})).toMatch(/^the entry should be an array/)
    expect(said([{ type: 'remove', content: '' }])).toMatch(
      /^\[0\]\.type should be a human, AI, system or tool message, found "remove"/,
    )
    expect(said([{ type: 'ai', data: { content: '', tool_calls: [{ name: 'f', args: {} }] } }])).toMatch(
      /^\[0\]\.data\.tool_calls\[0\]\.id should be a string/,
    )
    expect(said([{ type: 'tool', content: '' }])).toMatch(/^\[0\]\.tool_call_id should be a string/)
  })
})

it.each([
  ['in the order of the list', ['a', 'b'], ['a', 'b'], ['a', 'look', 'b', 'look']],
  ['in another order', ['b', 'a'], ['a', 'b'], undefined],
  ['that the list has not', ['a', 'c'], ['a', 'b'], undefined],
  ['fewer than the list', ['a'], ['a', 'b'], ['a', 'look', 'b']],
])(
  'blocks of calls %s are read as one with the calls or beside them, and written back',
  (_, blocks, calls, together) => {
    const input = {}
    const wire = [
      {
        type: 'ai',
        content: blocks.flatMap((id) => [
          { type: 'tool_use', id, name: 'f', input },
          { type: 'text', text: 'look' },
        ]),
        tool_calls: calls.map((id) => ({ id, name: 'f', args: {} })),
      },
    ]
    expectLaw(langchainMessages, wire)
    const [message] = decodeOrFail(langchainMessages, wire)
    const said = message?.content.map((part) =>
      part.type === 'tool_call' ? part.id : part.type === 'text' ? part.text : part.type,
    )
    const beside = [...blocks.flatMap(() => ['provider', 'look']), ...calls]
    expect(said).toEqual(together === undefined ? beside : blocks.length < calls.length ? ['a', 'look', 'b'] : together)
  },
)
