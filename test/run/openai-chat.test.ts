import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { OpenAI } from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import {
  faultMessage,
  assistant,
  createHistory,
  mend,
  settle,
  system,
  textOf,
  toolCall,
  toolCallsOf,
  toolResult,
  user,
  type Message,
  type Settled,
  type View,
} from 'indelible'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { run, tool, type ModelEvent } from 'indelible/run'
import { openaiChatModel } from 'indelible/run/openai'
import { itShared, readShared } from '../real-transcripts.ts'
import { foreignReplies, providerServer, type ProviderServer, type Reply, type Request } from './provider-server.ts'

let server: ProviderServer | undefined
afterEach(() => server?.close())

const model = async (
  reply: (request: Request) => Reply,
  options: { readonly maxRetries?: number } = {},
): Promise<ReturnType<typeof openaiChatModel>> => {
  server = await providerServer(reply)
  return openaiChatModel(
    new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: options.maxRetries ?? 0, logLevel: 'off' }),
    { model: 'gpt-x' },
  )
}

const view = (messages: readonly Message[]): Settled<View<Message>> => {
  const found = settle(createHistory<Message>({ from: messages }).view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
}

const chunk = (delta: unknown, reason: string | null = null): string =>
  JSON.stringify({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'gpt-x-1',
    choices: [{ index: 0, delta, finish_reason: reason }],
  })
const usage = JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'gpt-x-1',
  choices: [],
  usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13, prompt_tokens_details: { cached_tokens: 8 } },
})

/** Two calls at once after a word and some reasoning. */
const calling = [
  chunk({ role: 'assistant', content: '', refusal: null }),
  chunk({ reasoning_content: 'hm' }),
  chunk({ reasoning_content: 'm' }),
  chunk({ content: 'Let me ' }),
  chunk({ content: 'see. 🙂' }),
  chunk({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'read', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"path":' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '"a"}' } }] }),
  chunk({ tool_calls: [{ index: 1, id: 'c2', type: 'function', function: { name: 'read', arguments: '{}' } }] }),
  chunk({}, 'tool_calls'),
  usage,
]
const saying = [chunk({ role: 'assistant', content: 'Done' }), chunk({ content: '.' }), chunk({}, 'stop'), usage]

const read = tool({
  name: 'read',
  description: 'Read a file.',
  parameters: { type: 'object' },
  run: (input) => `read ${JSON.stringify(input)}`,
})

describe('the OpenAI Chat model', () => {
  it('streams an answer, runs tools, and sends the record in its format', async () => {
    const replies = [calling, saying]
    const chat = await model(() => ({ events: replies.shift() ?? [], pieces: 7 }))
    const stream = run({
      model: chat,
      view: view([system('s'), user('u')]),
      tools: [read],
      parameters: { temperature: 0 },
    })
    const events: ModelEvent[] = []
    for await (const event of stream) if (event.type === 'model_event') events.push(event.event)
    const ended = await stream.result()()
    if (isLeft(ended)) throw new Error(faultMessage(ended.left))
    expect(ended.right).toMatchObject({ stopReason: 'end_turn', usage: { input: 18, output: 8, cacheRead: 16 } })
    expect(ended.right.steps[0]?.response.model).toBe('gpt-x-1')
    expect(ended.right.messages.slice(2)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hmm', meta: { 'openai-chat': { as: 'reasoning_content' } } },
          { type: 'text', text: 'Let me see. 🙂' },
          toolCall('c1', 'read', '{"path":"a"}'),
          toolCall('c2', 'read', '{}'),
        ],
      },
      toolResult('c1', 'read {"path":"a"}', { name: 'read' }),
      toolResult('c2', 'read {}', { name: 'read' }),
      assistant('Done.'),
    ])
    expect(events.slice(0, -4).map((event) => `${event.type} ${'index' in event ? event.index : ''} ${'text' in event ? event.text : ''}`.trim())).toEqual([
      'block_start 0', 'reasoning_delta 0 hm', 'reasoning_delta 0 m', 'block_end 0',
      'block_start 1', 'text_delta 1 Let me', 'text_delta 1 see. 🙂', 'block_end 1',
      'block_start 2', 'arguments_delta 2 {"path":', 'arguments_delta 2 "a"}', 'block_end 2',
      'block_start 3', 'arguments_delta 3 {}', 'block_end 3', 'finish',
      'block_start 0',
    ]) // oxfmt-ignore
    expect(server?.requests[1]?.body).toMatchObject({
      model: 'gpt-x',
      temperature: 0,
      stream: true,
      tools: [
        { type: 'function', function: { name: 'read', description: 'Read a file.', parameters: { type: 'object' } } },
      ],
    })
    const encoded = openaiChat.encode(view(ended.right.messages.slice(0, -1)))
    expect(isRight(encoded) && encoded.right.wire).toEqual(server?.requests[1]?.body['messages'])
  })

  it('reads a refusal, an answer at the token limit, and a filtered one', async () => {
    const replies = [
      [chunk({ role: 'assistant', refusal: 'I ' }), chunk({ refusal: 'will not.' }), chunk({}, 'stop')],
      [chunk({ content: 'so' }), chunk({}, 'content_filter')],
      [chunk({ content: 'so' }), chunk({}, 'length')],
    ]
    const chat = await model(() => ({ events: replies.shift() ?? [] }))
    const refused = await run({ model: chat, view: view([user('u')]) }).result()()
    expect(refused).toMatchObject({
      right: {
        stopReason: 'refusal',
        steps: [{ response: { message: { content: [{ type: 'refusal', text: 'I will not.' }] } } }],
      },
    })
    const filtered = await run({ model: chat, view: view([user('u')]) }).result()()
    expect(filtered).toMatchObject({ right: { stopReason: 'refusal', steps: [{ response: { reason: 'refusal' } }] } })
    const cut = await run({ model: chat, view: view([user('u')]) }).result()()
    expect(isRight(cut) && cut.right.stopReason).toBe('max_tokens')
  })

  it('keeps an answer whose usage is no number, and tells calls without an index apart by their ids', async () => {
    const call = (id: string, text: string): string =>
      chunk({ tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: text } }] })
    const rest = chunk({ tool_calls: [{ function: { arguments: '}' } }] })
    const counts = { prompt_tokens: null, completion_tokens: 'x', prompt_tokens_details: { cached_tokens: -1 } }
    const replies = [[call('x', '{"at":1'), rest, call('y', '{"at":2'), rest, call('x', ' '), chunk({}, 'tool_calls'), usage.replace(/"usage":.*/, `"usage":${JSON.stringify(counts)}}`)], saying] // oxfmt-ignore
    const chat = await model(() => ({ events: replies.shift() ?? [] }))
    const ended = await run({ model: chat, view: view([user('u')]), tools: [read] }).result()()
    if (isLeft(ended)) throw new Error(faultMessage(ended.left))
    expect(toolCallsOf(ended.right.messages[1] as Message)).toMatchObject([
      { id: 'x', arguments: '{"at":1} ' },
      { id: 'y', arguments: '{"at":2}' },
    ])
    expect(ended.right.usage).toEqual({ input: 9, output: 4, cacheRead: 8 })
  })

  it('counts the tokens that a compatible server wrote to its cache, and input without output', async () => {
    const counted = (counts: object): string => usage.replace(/"usage":.*/, `"usage":${JSON.stringify(counts)}}`)
    const written = { prompt_tokens: 9, completion_tokens: 4, prompt_tokens_details: { cache_write_tokens: 6 } }
    for (const [counts, expected] of [
      [written, { input: 9, output: 4, cacheWrite: 6 }],
      [{ prompt_tokens: 9 }, { input: 9, output: 0 }],
      [
        { prompt_tokens: 9, completion_tokens: 4, prompt_cache_hit_tokens: 7 },
        { input: 9, output: 4, cacheRead: 7 },
      ],
    ] as const) {
      const chat = await model(() => ({ events: [...saying.slice(0, -1), counted(counts)] }))
      const ended = await run({ model: chat, view: view([user('u')]) }).result()()
      if (isLeft(ended)) throw new Error(faultMessage(ended.left))
      expect(ended.right.usage).toEqual(expected)
    }
  })

  const bare = (choices: readonly object[], others: object = {}): string =>
    JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, choices, ...others })
  it.each<readonly [string, readonly string[], string, object]>([
    [
      'other choices, no model, no usage and an unknown reason',
      [
        bare([
          { index: 1, delta: { content: 'x' }, finish_reason: 'stop' },
          { index: 0, delta: { content: 'a' } },
        ]),
        bare([{ index: 0, delta: { content: '', refusal: null } }]),
        bare([{ index: 0, finish_reason: 'other_reason' }], { model: '', usage: null }),
      ],
      'block_start 0 text; text_delta 0 a; block_end 0 text',
      { message: assistant('a'), reason: 'other', usage: { input: 0, output: 0 } },
    ],
    [
      'a call in pieces whose later ones repeat its id, empty or not, and fields of its own',
      [
        bare([{ index: 0, delta: { tool_calls: [{ id: '', function: { name: 'f', arguments: '{' } }] } }]),
        bare([{ index: 0, delta: { tool_calls: [{ id: null, type: 'function', function: { arguments: '}' } }] } }]),
        bare([{ index: 0, delta: { tool_calls: [{ index: 0, id: 'c', function: { name: '', arguments: null } }] } }]),
        bare([{ index: 0, delta: {}, finish_reason: 'function_call' }], { model: 'm-1' }),
        bare([], { model: 'm-2', usage: { prompt_tokens: 3, completion_tokens: 2, prompt_tokens_details: {} } }),
      ],
      'block_start 0 tool_call f; arguments_delta 0 {; arguments_delta 0 }; block_end 0 tool_call',
      {
        message: assistant(toolCall('c', 'f', '{}')),
        reason: 'tool_calls',
        usage: { input: 3, output: 2 },
        model: 'm-2',
      },
    ],
    [
      'a custom call, and text again after it',
      [
        bare([{ index: 0, delta: { content: 'a' } }]),
        bare([
          {
            index: 0,
            delta: { tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 'f', input: 'x' } }] },
          },
        ]),
        bare([{ index: 0, delta: { tool_calls: [{ index: 0, custom: { input: 'y' } }] } }]),
        bare([{ index: 0, delta: { content: 'b' } }]),
        bare([{ index: 0, delta: {}, finish_reason: 'tool_calls' }]),
      ],
      'block_start 0 text; text_delta 0 a; block_end 0 text; block_start 1 tool_call f; arguments_delta 1 x; arguments_delta 1 y; text_delta 0 b; block_end 1 tool_call',
      { message: { content: [{ text: 'ab' }, { type: 'tool_call', id: 'c', name: 'f', arguments: 'xy' }] } },
    ],
    [
      'usage in the middle, and none in the chunks after it',
      [
        bare([{ index: 0, delta: { content: 'a' } }], { usage: { prompt_tokens: 3, completion_tokens: 2 } }),
        bare([{ index: 0, delta: { content: 'b' } }], { usage: null }),
        bare([{ index: 0, delta: {}, finish_reason: 'stop' }]),
      ],
      'block_start 0 text; text_delta 0 a; text_delta 0 b; block_end 0 text',
      { message: assistant('ab'), reason: 'end_turn', usage: { input: 3, output: 2 } },
    ],
    ['nothing', [bare([{ index: 0, delta: { role: 'assistant' } }])], '', {}],
  ])('reads %s', async (_, events, expected, finish) => {
    const chat = await model(() => ({ events }))
    const found: ModelEvent[] = []
    const request = { messages: view([user('u')]), tools: [], stablePrefix: 0, parameters: {} }
    for await (const event of chat.stream(request, new AbortController().signal)) found.push(event)
    expect(server?.requests[0]?.body).not.toHaveProperty('tools')
    const last = found.at(-1)
    const shown = found.flatMap((event) =>
      event.type === 'finish'
        ? []
        : [
            [
              event.type,
              event.index,
              'text' in event ? event.text : event.block,
              ...('name' in event ? [event.name] : []),
            ].join(' '),
          ],
    )
    expect(shown.join('; ')).toBe(expected)
    if (expected === '') expect(last).toBeUndefined()
    else expect(last).toMatchObject({ type: 'finish', ...finish })
    if (last?.type === 'finish' && 'usage' in finish) expect(last).toEqual({ type: 'finish', ...finish })
  })

  it('says that a response without any event of an answer may come from another server', async () => {
    for (const reply of foreignReplies) {
      const ended = await run({ model: await model(() => reply), view: view([user('u')]) }).result()()
      expect(isLeft(ended) && ended.left).toMatchObject({ _tag: 'StreamEndedEarly', empty: true })
      await server?.close()
    }
  })

  it('reports a stream cut anywhere as a fault or the whole answer, and marks a partial one', async () => {
    const lengths = calling.map((event) => Buffer.byteLength(`data: ${event}\n\n`))
    const boundaries = lengths.map((_, index) => lengths.slice(0, index).reduce((sum, length) => sum + length, 0))
    const anywhere = Array.from({ length: 30 }, (_, index) => 1 + index * 53)
    let cutAfter = 0
    let broken = true
    const chat = await model(() => ({ events: calling, cutAfter, broken }))
    const outcomes = new Set<string>()
    for (cutAfter of [...boundaries, ...boundaries, ...anywhere]) {
      broken = !broken
      const ended = await run({
        model: chat,
        view: view([user('u')]),
        tools: [read],
        limits: { maxSteps: 1 },
      }).result()()
      outcomes.add(isLeft(ended) ? ended.left._tag : 'whole')
      const { messages } = isLeft(ended) ? ended.left.partial : ended.right
      const cut = messages[1]?.meta?.['indelible']
      expect(cut).toEqual(isLeft(ended) && messages.length > 1 ? { interrupted: true } : undefined)
      expect(isLeft(ended) || messages.length === 4).toBe(true)
      expect(isRight(settle(createHistory<Message>({ from: messages }).view()))).toBe(true)
    }
    // Closed in good order after the reason came, it lacks only the count of tokens.
    expect(outcomes).toEqual(new Set(['ModelFailed', 'StreamEndedEarly', 'whole']))
  })

  it('reports a refused request with its status, and lets the client retry rate limits', async () => {
    const refused = await run({
      model: await model(() => ({
        status: 400,
        body: { error: { message: 'no such parameter', type: 'invalid_request_error' } },
      })),
      view: view([user('u')]),
    }).result()()
    expect(isLeft(refused) && faultMessage(refused.left)).toBe(
      'step 0: gpt-x failed with HTTP 400: 400 no such parameter',
    )
    await server?.close()
    const replies: Reply[] = [
      { status: 429, headers: { 'retry-after-ms': '10' }, body: { error: { message: 'slow down' } } },
      { events: saying },
      { status: 429, headers: { 'retry-after': '7' } },
    ]
    const again = await run({
      model: await model(() => replies.shift() ?? {}, { maxRetries: 2 }),
      view: view([user('u')]),
    }).result()()
    expect(isRight(again) && textOf(again.right.messages[1] as Message)).toBe('Done.')
    expect(server?.requests.length).toBe(2)
    await server?.close()
    const limited = await run({
      model: await model(() => replies.shift() ?? {}, { maxRetries: 0 }),
      view: view([user('u')]),
    }).result()()
    expect(limited).toMatchObject({ left: { status: 429, retryAfter: 7000 } })
  })

  it("ends a trickling response at the step's limit and keeps the text on an interrupt", async () => {
    const chat = await model(() => ({ events: calling, pieces: 3, pause: 20 }))
    const slow = await run({ model: chat, view: view([user('u')]), limits: { stepTimeout: 50 } }).result()()
    expect(isRight(slow) && slow.right.stopReason).toBe('timeout')
    await server?.close()
    const stream = run({
      model: await model(() => ({ events: calling, pieces: 80, pause: 2 })),
      view: view([user('u')]),
    })
    for await (const event of stream)
      if (event.type === 'model_event' && event.event.type === 'text_delta')
        stream.interrupt({ behavior: 'saveMarked' })
    const ended = await stream.result()()
    expect(isRight(ended) && ended.right.messages.slice(1).map((message) => textOf(message))).toEqual([
      'Let me [interrupted]',
    ])
  })

  it('reports what it cannot send of the record', async () => {
    const losses: string[] = []
    server = await providerServer(() => ({ events: saying }))
    const chat = openaiChatModel(new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1` }), {
      model: 'm',
      name: 'named',
      onLosses: (found) => losses.push(...found.map(({ reason }) => reason)),
    })
    const { messages } = mend([assistant(toolCall('c', 'f', '{}')), user('u')])
    expect(isRight(await run({ model: chat, view: messages }).result()())).toBe(true)
    expect([chat.name, losses]).toEqual(['named', ['chat cannot mark a result as an error; only the text shows it']])
  })

  itShared('decodes recorded streams to the message that was sent', async () => {
    for (const name of ['openai-text', 'azure-model-router.1']) {
      const events = readShared(`wire/openai-chat/${name}.chunks.txt`)
        .split('\n')
        .filter((line) => line.trim() !== '')
      const text = events
        .map(
          (event) =>
            (JSON.parse(event) as { readonly choices: { readonly delta?: { readonly content?: string } }[] }).choices[0]
              ?.delta?.content ?? '',
        )
        .join('')
      const ended = await run({
        model: await model(() => ({ events, pieces: 1000 })),
        view: view([user('u')]),
      }).result()()
      if (isLeft(ended)) throw new Error(faultMessage(ended.left))
      expect(ended.right.messages[1]).toEqual(assistant(text))
      expect(ended.right.messages.flatMap((message) => toolCallsOf(message))).toEqual([])
      await server?.close()
    }
  })
})
