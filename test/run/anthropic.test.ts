import { Anthropic } from '@anthropic-ai/sdk'
import { readdirSync } from 'node:fs'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { afterEach, describe, expect, it } from 'vitest'
import {
  faultMessage,
  assistant,
  createHistory,
  settle,
  system,
  textOf,
  toolCall,
  user,
  type Message,
  type Settled,
  type View,
  toolResult,
} from 'indelible'
import { decodeResponse, type AnthropicConversation } from 'indelible/codecs/anthropic'
import { run, tool, type ModelEvent, type RunOptions } from 'indelible/run'
import { anthropicModel, type AnthropicOptions } from 'indelible/run/anthropic'
import { withBreakpoints } from '../../src/run/anthropic/breakpoints.ts'
import { itShared, readShared, shared } from '../real-transcripts.ts'
import { foreignReplies, providerServer, type ProviderServer, type Reply, type Request } from './provider-server.ts'

let server: ProviderServer | undefined
afterEach(() => server?.close())

const client = async (reply: (request: Request) => Reply): Promise<Anthropic> => {
  server = await providerServer(reply)
  return new Anthropic({ apiKey: 'k', baseURL: server.url, maxRetries: 0, logLevel: 'off' })
}
const model = async (
  reply: (request: Request) => Reply,
  options: Partial<AnthropicOptions> = {},
): Promise<ReturnType<typeof anthropicModel>> => anthropicModel(await client(reply), { model: 'claude-x', ...options })

const view = (messages: readonly Message[]): Settled<View<Message>> => {
  const found = settle(createHistory<Message>({ from: messages }).view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
}

const start = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude-x-1',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 3, cache_read_input_tokens: 90, cache_creation_input_tokens: 7, output_tokens: 1 },
  },
}
const block = (index: number, content: object, ...deltas: readonly object[]): readonly object[] => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]
const stop = (reason: string): readonly object[] => [
  { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage: { output_tokens: 12 } },
  { type: 'message_stop' },
]
const lines = (...events: readonly object[]): readonly string[] => events.map((event) => JSON.stringify(event))

const calling = lines(
  start,
  { type: 'ping' },
  ...block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'Look ' },
    { type: 'thinking_delta', thinking: 'first.' },
    { type: 'signature_delta', signature: 'c2ln' },
  ),
  ...block(
    1,
    { type: 'text', text: '' },
    { type: 'text_delta', text: 'Let me ' },
    { type: 'text_delta', text: 'see. 🙂' },
  ),
  ...block(
    2,
    { type: 'tool_use', id: 'toolu_1', name: 'read', input: {} },
    { type: 'input_json_delta', partial_json: '' },
    { type: 'input_json_delta', partial_json: '{"path"' },
    { type: 'input_json_delta', partial_json: ':"a"}' },
  ),
  ...block(3, { type: 'tool_use', id: 'toolu_2', name: 'read', input: {} }),
  ...stop('tool_use'),
)
const saying = lines(
  start,
  ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'Done.' }),
  ...stop('end_turn'),
)

const read = tool({
  name: 'read',
  description: 'Read.',
  parameters: { properties: { path: { type: 'string' } } },
  run: (input) => JSON.stringify(input),
})

const end = async (options: Omit<RunOptions, 'view'>): Promise<string> => {
  const ended = await run({ view: view([user('u')]), ...options }).result()()
  return isLeft(ended) ? faultMessage(ended.left) : ended.right.stopReason
}

describe('the Anthropic model', () => {
  it('counts what a cache read and wrote also where a server leaves out the rest of the input', async () => {
    const usage = { cache_read_input_tokens: 90, cache_creation_input_tokens: 7, output_tokens: 1 }
    const events = lines({ ...start, message: { ...start.message, usage } }, ...stop('end_turn'))
    const ended = await run({ model: await model(() => ({ events })), view: view([user('u')]) }).result()()
    if (isLeft(ended)) throw new Error(faultMessage(ended.left))
    expect(ended.right.usage).toEqual({ input: 97, output: 12, cacheRead: 90, cacheWrite: 7 })
  })
  it('streams an answer, sends results in one message, and sets cache breakpoints', async () => {
    const replies = [calling, saying]
    const stream = run({
      model: await model(() => ({ events: replies.shift() ?? [], pieces: 13 })),
      view: view([system('s'), user('u')]),
      tools: [read],
      parameters: { max_tokens: 100, tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    })
    const events: ModelEvent[] = []
    for await (const event of stream) if (event.type === 'model_event') events.push(event.event)
    const ended = await stream.result()()
    if (isLeft(ended)) throw new Error(faultMessage(ended.left))
    expect(ended.right.messages.slice(2)).toMatchObject([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'Look first.', signature: 'c2ln' },
          { type: 'text', text: 'Let me see. 🙂' },
          toolCall('toolu_1', 'read', '{"path":"a"}'),
          toolCall('toolu_2', 'read', '{}'),
        ],
      },
      {
        role: 'tool',
        content: [
          { callId: 'toolu_1', content: [{ text: '{"path":"a"}' }] },
          { callId: 'toolu_2', content: [{ text: '{}' }] },
        ],
      },
      assistant('Done.'),
    ])
    expect(ended.right).toMatchObject({
      stopReason: 'end_turn',
      usage: { input: 200, output: 24, cacheRead: 180, cacheWrite: 14 },
    })
    expect(events.map((event) => `${event.type} ${'index' in event ? event.index : ''} ${'text' in event ? event.text : ''}`.trim())).toEqual([
      'block_start 0', 'reasoning_delta 0 Look', 'reasoning_delta 0 first.', 'signature_delta 0 c2ln', 'block_end 0',
      'block_start 1', 'text_delta 1 Let me', 'text_delta 1 see. 🙂', 'block_end 1',
      'block_start 2', 'arguments_delta 2', 'arguments_delta 2 {"path"', 'arguments_delta 2 :"a"}', 'block_end 2',
      'block_start 3', 'block_end 3', 'finish',
      'block_start 0', 'text_delta 0 Done.', 'block_end 0', 'finish',
    ]) // oxfmt-ignore
    const cache_control = { type: 'ephemeral' }
    expect(server?.requests[0]?.body).toMatchObject({
      max_tokens: 100,
      system: [{ type: 'text', text: 's', cache_control }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'u', cache_control }] }],
    })
    expect(server?.requests[1]?.body).toMatchObject({
      tools: [{ name: 'web_search' }, { name: 'read', description: 'Read.', input_schema: { type: 'object' } }],
      messages: [
        { role: 'user', content: [{ text: 'u', cache_control }] },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Look first.', signature: 'c2ln' },
            { type: 'text' },
            { type: 'tool_use', input: { path: 'a' } },
            { type: 'tool_use', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'toolu_1' },
            { type: 'tool_result', tool_use_id: 'toolu_2', cache_control },
          ],
        },
      ],
    })
    expect(JSON.stringify(ended.right.messages)).not.toContain('cache_control')
  })

  it('joins the deltas of a block of a new kind, which no event shows', async () => {
    const deltas = ['so ', 'far'].map((content) => ({ type: 'compaction_delta', content }))
    const events = lines(start, ...block(0, { type: 'compaction', content: null }, ...deltas), ...stop('end_turn'))
    const stream = run({ model: await model(() => ({ events })), view: view([user('u')]) })
    const output: string[] = []
    for await (const event of stream) if (event.type === 'model_event') output.push(event.event.type)
    expect(output).toEqual(['block_start', 'block_end', 'finish'])
    expect((await stream.result()).messages[1]?.content).toMatchObject([
      { type: 'provider', raw: { type: 'compaction', content: 'so far' } },
    ])
  })

  const toldBy = async (...said: readonly object[]): Promise<readonly ModelEvent[]> => {
    const one = await model(() => ({ events: lines(...said) }))
    const asked = { messages: view([user('u')]), tools: [], stablePrefix: 0, parameters: {} }
    const found: ModelEvent[] = []
    for await (const event of one.stream(asked, new AbortController().signal)) found.push(event)
    await server?.close()
    return found
  }
  const shown = (events: readonly ModelEvent[]): readonly string[] =>
    events.map(({ type, ...event }) =>
      [type, ...['index', 'block', 'text', 'callId', 'name'].flatMap((name) => event[name as never] ?? [])].join(' '),
    )

  it.each([
    ['end_turn', 'end_turn'],
    ['stop_sequence', 'end_turn'],
    ['pause_turn', 'pause'],
    ['tool_use', 'tool_calls'],
    ['max_tokens', 'max_tokens'],
    ['model_context_window_exceeded', 'max_tokens'],
    ['refusal', 'refusal'],
    ['of_its_own', 'other'],
  ])('gives the reason %s as %s', async (output, reason) => {
    const [, last] = stop(output)
    const delta = { type: 'message_delta', delta: { stop_reason: output }, usage: { output_tokens: null } }
    const more = { type: 'message_delta', delta: { stop_reason: null }, usage: { input_tokens: 4 } }
    const found = await toldBy(start, ...block(0, { type: 'text', text: 'so' }), delta, more, last as object)
    expect(found.at(-1)).toEqual({
      type: 'finish',
      message: expect.objectContaining({ content: [{ type: 'text', text: 'so' }] }) as Message,
      reason,
      usage: { input: 101, output: 1, cacheRead: 90, cacheWrite: 7 },
      model: 'claude-x-1',
    })
  })

  it('starts over at a second start, with blocks of their own numbers', async () => {
    const found = await toldBy(
      start,
      ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'first' }),
      ...block(
        1,
        { type: 'tool_use', id: 'a', name: 'f', input: {} },
        { type: 'input_json_delta', partial_json: '{"a"' },
      ).slice(0, 2),
      { ...start, message: { ...start.message, model: 'claude-x-2', usage: { input_tokens: 1, output_tokens: 0 } } },
      ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'second' }),
      ...block(1, { type: 'tool_use', id: 'b', name: 'g', input: {} }, { type: 'input_json_delta', partial_json: '' }),
      ...stop('tool_use'),
    )
    expect(shown(found)).toEqual([
      'block_start 0 text',
      'text_delta 0 text first',
      'block_end 0 text',
      'block_start 1 tool_call a f',
      'arguments_delta 1 tool_call {"a"',
      'block_start 2 text',
      'text_delta 2 text second',
      'block_end 2 text',
      'block_start 3 tool_call b g',
      'arguments_delta 3 tool_call ',
      'block_end 3 tool_call',
      'finish',
    ])
    expect(found.at(-1)).toMatchObject({
      message: { content: assistant('second', toolCall('b', 'g', '{}')).content },
      usage: { input: 1, output: 12, cacheRead: 0, cacheWrite: 0 },
      model: 'claude-x-2',
    })
  })

  it('reads citations, hidden reasoning and tools that its provider runs', async () => {
    const found = await toldBy(
      start,
      ...block(0, { type: 'redacted_thinking', data: 'ZW5j' }),
      ...block(
        1,
        { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
        { type: 'input_json_delta', partial_json: '{"q":1}' },
      ),
      ...block(
        2,
        { type: 'text', text: '', citations: null },
        { type: 'citations_delta', citation: { at: 1 } },
        { type: 'text_delta', text: 'so' },
        { type: 'citations_delta', citation: { at: 2 } },
      ),
      ...stop('end_turn'),
    )
    expect(shown(found)).toEqual([
      'block_start 0 reasoning',
      'block_end 0 reasoning',
      'block_start 1 provider',
      'block_end 1 provider',
      'block_start 2 text',
      'text_delta 2 text so',
      'block_end 2 text',
      'finish',
    ])
    const parts = found.flatMap((event) => (event.type === 'block_end' ? [event.part] : []))
    const last = found.at(-1)
    expect(last?.type === 'finish' && last.message.content).toEqual(parts)
    expect(JSON.stringify(parts)).toContain('{"q":1}')
    expect(JSON.stringify(parts)).toContain('[{"at":1},{"at":2}]')
    expect(JSON.stringify(parts)).toContain('ZW5j')
  })

  it('has no end without a reason, and reads a block without a start', async () => {
    const text = block(0, { type: 'text', text: 'so' })
    expect(shown(await toldBy(start, ...text, { type: 'message_stop' }))).toEqual([
      'block_start 0 text',
      'block_end 0 text',
    ])
    const delta = { type: 'content_block_delta', index: 3, delta: { type: 'text_delta', text: 'so' } }
    const stop = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } }
    const found = await toldBy(start, delta, stop, { type: 'message_stop' })
    expect(shown(found)).toEqual(['block_start 0 text', 'text_delta 0 text so', 'finish'])
  })

  it('has its own breakpoints in place of those of the record, at most four', async () => {
    const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
    const own = (text: string): Message => ({
      role: 'user',
      content: [{ type: 'text', text, meta: { anthropic: { fields: mark } } }],
    })
    const history = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((text) => [own(text), assistant('yes')])
    // A tool's input with that key is data.
    const call = toolCall('t', 'http', '{"headers":{"cache_control":"no-cache"}}')
    const all = view([...history, own('g'), assistant(call), toolResult('t', 'done'), user('h')])
    const parameters = { tools: [{ type: 'web_search', name: 'web_search', cache_control: { type: 'ephemeral' } }] }
    const marksOf = (): readonly unknown[] => {
      const body: unknown = server?.requests[0]?.body
      const { messages, tools } = body as {
        messages: { content: unknown }[]
        tools: unknown[]
      }
      const blocks = [...tools, ...messages.flatMap(({ content }) => content)] as { [field: string]: unknown }[]
      return blocks.flatMap(({ cache_control: found, text, name }) =>
        found === undefined ? [] : [[text ?? name, found]],
      )
    }
    for (const [cache, expected] of [
      [true, ['web_search', 'h']],
      [false, ['web_search', 'e', 'f', 'g']],
    ] as const) {
      const request = { messages: all, tools: [], stablePrefix: 0, parameters }
      const anthropicModel = await model(() => ({ events: saying }), { cache })
      for await (const _ of anthropicModel.stream(request as never, new AbortController().signal));
      expect(marksOf().map((found) => (found as readonly unknown[])[0])).toEqual(expected)
      expect(JSON.stringify(server?.requests[0]?.body)).toContain('"input":{"headers":{"cache_control":"no-cache"}}')
      await server?.close()
    }
  })

  it('sets no cache breakpoint on an empty text or a turn without blocks, where Anthropic refuses it', () => {
    const withoutPlace: AnthropicConversation = {
      messages: [
        { role: 'user', content: [] },
        { role: 'user', content: [{ type: 'text', text: '' }] },
      ],
    }
    expect(withBreakpoints(structuredClone(withoutPlace), true)).toEqual(withoutPlace)
  })

  it('drops a call cut off at the token limit, continues after a pause, and ends on a refusal', async () => {
    const cut = lines(
      start,
      ...block(0, { type: 'text', text: '' }, { type: 'text_delta', text: 'so' }),
      ...block(
        1,
        { type: 'tool_use', id: 't', name: 'read', input: {} },
        { type: 'input_json_delta', partial_json: '{"pa' },
      ),
      ...stop('max_tokens'),
    )
    const limited = await run({
      model: await model(() => ({ events: cut })),
      view: view([user('u')]),
      tools: [read],
    }).result()()
    expect(isRight(limited) && [limited.right.stopReason, limited.right.messages[1]?.content]).toMatchObject([
      'max_tokens',
      [{ type: 'text', text: 'so' }],
    ])
    await server?.close()
    const replies = [
      lines(
        start,
        ...block(
          0,
          { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
          { type: 'input_json_delta', partial_json: '{"query":"x"}' },
        ),
        ...stop('pause_turn'),
      ),
      saying,
    ]
    const paused = await run({
      model: await model(() => ({ events: replies.shift() ?? [] })),
      view: view([user('u')]),
    }).result()()
    expect(isRight(paused) && paused.right.messages.slice(1).map(({ content }) => content[0])).toMatchObject([
      { type: 'provider', raw: { type: 'server_tool_use', input: { query: 'x' } } },
      { type: 'text' },
    ])
    await server?.close()
    expect(await end({ model: await model(() => ({ events: lines(start, ...stop('refusal')) })) })).toBe('refusal')
  })

  it('says that a response without any event of an answer may come from another server', async () => {
    for (const reply of foreignReplies) {
      expect(await end({ model: await model(() => reply) })).toContain('has no event of an answer; run again, and')
      await server?.close()
    }
  })

  it('reports a stream error and an early end as faults', async () => {
    const output: string[] = []
    for (const last of [
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      { type: 'ping' },
    ]) {
      output.push(await end({ model: await model(() => ({ events: [...calling.slice(0, 10), ...lines(last)] })) }))
      await server?.close()
    }
    expect(output).toEqual([
      expect.stringContaining('Overloaded'),
      expect.stringContaining('ended before it was complete'),
    ])
  })

  it('keeps complete thinking and partial text on an interrupt', async () => {
    const stream = run({
      model: await model(() => ({ events: calling, pieces: 150, pause: 2 })),
      view: view([user('u')]),
    })
    for await (const event of stream)
      if (event.type === 'model_event' && event.event.type === 'text_delta')
        stream.interrupt({ behavior: 'savePartial' })
    const ended = await stream.result()()
    const partial = isRight(ended) ? ended.right.messages[1] : undefined
    expect([partial?.content[0]?.type, partial === undefined ? '' : textOf(partial)]).toEqual(['reasoning', 'Let me '])
  })

  itShared("decodes every recorded stream to what the provider's own client makes of it", async () => {
    const names = readdirSync(shared('wire/anthropic-messages')).filter((name) => name.endsWith('.chunks.txt'))
    expect(names.length).toBeGreaterThan(20)
    for (const name of names) {
      const all = readShared(`wire/anthropic-messages/${name}`)
        .split('\n')
        .filter((line) => line.trim() !== '')
      const events = all.slice(0, all.findIndex((line) => line.includes('"message_stop"')) + 1) // some hold two answers
      const connected = await client(() => ({ events, pieces: 4096 }))
      const ended = await run({
        model: anthropicModel(connected, { model: 'claude-x' }),
        view: view([user('u')]),
        limits: { maxSteps: 1 },
      }).result()()
      if (isLeft(ended)) throw new Error(`${name}: ${faultMessage(ended.left)}`)
      // The beta client: the other one knows no input but that of `tool_use` and `server_tool_use`. It refuses a second
      // `message_start`; ours takes the answer that it begins.
      if (!name.includes('message-start')) {
        const final = await connected.beta.messages
          .stream({ model: 'claude-x', max_tokens: 1, messages: [{ role: 'user', content: 'u' }] })
          .finalMessage()
        const judged = decodeResponse({
          role: 'assistant',
          content: JSON.parse(JSON.stringify(final.content)) as unknown,
        })
        expect([name, isRight(judged) && judged.right.messages[0]?.content]).toEqual([
          name,
          ended.right.response?.content,
        ])
      }
      await server?.close()
    }
    const spliced = readShared('wire/anthropic-messages/spliced-message-start.chunks.txt')
      .split('\n')
      .filter((line) => line.trim() !== '')
    const ended = await run({
      model: await model(() => ({ events: spliced })),
      view: view([user('u')]),
      limits: { maxSteps: 1 },
    }).result()()
    expect(isRight(ended) && ended.right.response?.content).toMatchObject([
      { type: 'reasoning', signature: 'sig-second' },
      { type: 'tool_call', id: 'toolu_second', arguments: '{"value":"Sparkle Day"}' },
    ])
  })
})
