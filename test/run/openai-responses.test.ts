import { readdirSync } from 'node:fs'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { OpenAI } from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import {
  assistant,
  faultMessage,
  createHistory,
  settle,
  textOf,
  toolCall,
  toolResult,
  user,
  type Message,
  type Settled,
  type View,
} from 'indelible'
import { openaiResponses } from 'indelible/codecs/openai-responses'
import { run, tool, type ModelEvent, type RunOptions } from 'indelible/run'
import { openaiResponsesModel } from 'indelible/run/openai'
import { joinMessages } from '../../src/run/model/adapter.ts'
import { itShared, readShared, shared } from '../real-transcripts.ts'
import { foreignReplies, providerServer, type ProviderServer, type Reply, type Request } from './provider-server.ts'

let server: ProviderServer | undefined
afterEach(() => server?.close())

const model = async (reply: (request: Request) => Reply): Promise<ReturnType<typeof openaiResponsesModel>> => {
  server = await providerServer(reply)
  return openaiResponsesModel(
    new OpenAI({ apiKey: 'k', baseURL: `${server.url}/v1`, maxRetries: 0, logLevel: 'off' }),
    { model: 'gpt-x' },
  )
}

const view = (messages: readonly Message[]): Settled<View<Message>> => {
  const found = settle(createHistory<Message>({ from: messages }).view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
}

const reasoning = {
  id: 'rs_1',
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'Look first.' }],
  encrypted_content: 'enc',
}
const message = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Let me see. 🙂', annotations: [] }],
}
const call = {
  id: 'fc_1',
  type: 'function_call',
  call_id: 'call_1',
  name: 'read',
  arguments: '{"path":"a"}',
  status: 'completed',
}
const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } }
const output = [reasoning, search, message, call]

const response = (items: readonly unknown[], others: object = {}): object => ({
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  model: 'gpt-x-1',
  output: items,
  usage: { input_tokens: 9, output_tokens: 4, input_tokens_details: { cached_tokens: 8 } },
  ...others,
})
const events = (...said: readonly object[]): readonly string[] =>
  said.map((event, index) => JSON.stringify({ sequence_number: index, ...event }))

const calling = events(
  { type: 'response.created', response: response([], { status: 'in_progress' }) },
  { type: 'response.output_item.added', output_index: 0, item: { ...reasoning, summary: [], encrypted_content: null } },
  { type: 'response.reasoning_summary_text.delta', output_index: 0, item_id: 'rs_1', summary_index: 0, delta: 'Look ' },
  {
    type: 'response.reasoning_summary_text.delta',
    output_index: 0,
    item_id: 'rs_1',
    summary_index: 0,
    delta: 'first.',
  },
  { type: 'response.output_item.done', output_index: 0, item: reasoning },
  { type: 'response.output_item.added', output_index: 1, item: { ...search, status: 'in_progress' } },
  { type: 'response.web_search_call.searching', output_index: 1, item_id: 'ws_1' },
  { type: 'response.output_item.done', output_index: 1, item: search },
  { type: 'response.output_item.added', output_index: 2, item: { ...message, content: [], status: 'in_progress' } },
  {
    type: 'response.content_part.added',
    output_index: 2,
    content_index: 0,
    item_id: 'msg_1',
    part: { type: 'output_text', text: '', annotations: [] },
  },
  { type: 'response.output_text.delta', output_index: 2, content_index: 0, item_id: 'msg_1', delta: 'Let me ' },
  { type: 'response.output_text.delta', output_index: 2, content_index: 0, item_id: 'msg_1', delta: 'see. 🙂' },
  { type: 'response.content_part.done', output_index: 2, content_index: 0, item_id: 'msg_1', part: message.content[0] },
  { type: 'response.output_item.done', output_index: 2, item: message },
  { type: 'response.output_item.added', output_index: 3, item: { ...call, arguments: '', status: 'in_progress' } },
  { type: 'response.function_call_arguments.delta', output_index: 3, item_id: 'fc_1', delta: '{"path":' },
  { type: 'response.function_call_arguments.delta', output_index: 3, item_id: 'fc_1', delta: '"a"}' },
  { type: 'response.output_item.done', output_index: 3, item: call },
  { type: 'response.completed', response: response(output) },
)
const answer = { ...message, id: 'msg_2', content: [{ type: 'output_text', text: 'Done.', annotations: [] }] }
const saying = events({ type: 'response.completed', response: response([answer]) })

const read = tool({ name: 'read', parameters: { type: 'object' }, run: () => 'what it says' })

const decoded = (wire: unknown): readonly Message[] => {
  const found = openaiResponses.decode(wire)
  return isRight(found) ? found.right.messages : []
}

const end = async (options: Omit<RunOptions, 'view'>): Promise<string> => {
  const ended = await run({ view: view([user('u')]), ...options }).result()()
  return isLeft(ended) ? faultMessage(ended.left) : ended.right.stopReason
}

describe('the OpenAI Responses model', () => {
  it('streams an answer and sends reasoning, hosted items and results back unchanged', async () => {
    const replies = [calling, saying]
    const stream = run({
      model: await model(() => ({ events: replies.shift() ?? [], pieces: 11 })),
      view: view([user('u')]),
      tools: [read],
      parameters: { tools: [{ type: 'web_search' }] },
    })
    const events: ModelEvent[] = []
    for await (const event of stream) if (event.type === 'model_event') events.push(event.event)
    const ended = await stream.result()()
    if (isLeft(ended)) throw new Error(faultMessage(ended.left))
    expect(ended.right.messages.slice(1)).toEqual([
      ...decoded(output),
      toolResult('call_1', 'what it says', { name: 'read' }),
      ...decoded([answer]),
    ])
    expect(ended.right).toMatchObject({ stopReason: 'end_turn', usage: { input: 18, output: 8, cacheRead: 16 } })
    expect(events.map((event) => `${event.type} ${'index' in event ? event.index : ''} ${'text' in event ? event.text : ''}`.trim())).toEqual([
      'block_start 0', 'reasoning_delta 0 Look', 'reasoning_delta 0 first.', 'block_end 0',
      'block_start 1', 'block_end 1',
      'block_start 2', 'text_delta 2 Let me', 'text_delta 2 see. 🙂', 'block_end 2',
      'block_start 3', 'arguments_delta 3 {"path":', 'arguments_delta 3 "a"}', 'block_end 3',
      'finish', 'finish',
    ]) // oxfmt-ignore
    expect(events.find((event) => event.type === 'block_start' && event.index === 3)).toMatchObject({
      callId: 'call_1',
      name: 'read',
    })
    expect(server?.requests[1]?.body).toMatchObject({
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'web_search' }, { type: 'function', name: 'read' }],
      input: [
        { role: 'user', content: 'u' },
        ...output,
        { type: 'function_call_output', call_id: 'call_1', output: 'what it says' },
      ],
    })
  })

  it('collects streamed items if the end has none, and recognizes an answer at the token limit', async () => {
    const without = calling.map((event) =>
      event.includes('response.completed')
        ? JSON.stringify({ type: 'response.completed', response: response([]) })
        : event,
    )
    const ended = await run({
      model: await model(() => ({ events: without })),
      view: view([user('u')]),
      limits: { maxSteps: 1 },
    }).result()()
    expect(isRight(ended) && ended.right.messages[1]).toEqual(decoded(output)[0])
    await server?.close()
    const cut = events({
      type: 'response.incomplete',
      response: response([message], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }),
    })
    expect(await end({ model: await model(() => ({ events: cut })) })).toBe('max_tokens')
  })

  it('says that a response without any event of an answer may come from another server', async () => {
    for (const reply of foreignReplies) {
      expect(await end({ model: await model(() => reply) })).toContain('has no event of an answer; run again, and')
      await server?.close()
    }
  })

  it('reports a stream error, a failed response and an early end as faults', async () => {
    const output: string[] = []
    for (const last of [
      { type: 'error', code: 'x', message: 'overloaded', param: null },
      { type: 'error', error: { type: 'insufficient_quota', message: 'no quota' } },
      {
        type: 'response.failed',
        response: response([], { status: 'failed', error: { code: 'server_error', message: 'broke' } }),
      },
      { type: 'response.in_progress' },
    ]) {
      output.push(await end({ model: await model(() => ({ events: [...calling.slice(0, 12), ...events(last)] })) }))
      await server?.close()
    }
    expect(output).toEqual([
      expect.stringContaining('gpt-x failed: overloaded'),
      expect.stringContaining('no quota'),
      expect.stringContaining('gpt-x failed: broke'),
      expect.stringContaining('ended before it was complete (its first 14 characters'),
    ])
  })

  it('reads refusals, reasoning texts and custom calls', async () => {
    const refusal = { ...message, content: [{ type: 'refusal', refusal: 'No.' }] }
    const thought = { id: 'rs', type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] }
    const custom = { id: 'ct', type: 'custom_tool_call', call_id: 'c', name: 'f', input: 'x' }
    const said = events(
      { type: 'response.output_item.added', output_index: 0, item: { ...thought, content: [] } },
      {
        type: 'response.content_part.added',
        output_index: 0,
        content_index: 0,
        part: { type: 'reasoning_text', text: '' },
      },
      { type: 'response.reasoning_text.delta', output_index: 0, content_index: 0, delta: 'hm' },
      { type: 'response.content_part.done', output_index: 0, content_index: 0, part: thought.content[0] },
      { type: 'response.output_item.done', output_index: 0, item: thought },
      {
        type: 'response.content_part.added',
        output_index: 1,
        content_index: 0,
        part: { type: 'refusal', refusal: '' },
      },
      { type: 'response.refusal.delta', output_index: 1, content_index: 0, delta: 'No.' },
      { type: 'response.content_part.done', output_index: 1, content_index: 0, part: refusal.content[0] },
      { type: 'response.output_item.done', output_index: 1, item: refusal },
      { type: 'response.output_item.added', output_index: 2, item: { ...custom, input: '' } },
      { type: 'response.custom_tool_call_input.delta', output_index: 2, delta: 'x' },
      { type: 'response.output_item.done', output_index: 2, item: custom },
      { type: 'response.completed', response: response([], { usage: undefined }) },
    )
    const found: ModelEvent[] = []
    const messages = { messages: view([user('u')]), tools: [], stablePrefix: 0, parameters: {} }
    const one = await model(() => ({ events: said }))
    for await (const event of one.stream(messages, new AbortController().signal)) found.push(event)
    const output = found.map(({ type, ...event }) =>
      [type, ...['index', 'block', 'text', 'callId', 'name'].flatMap((name) => event[name as never] ?? [])].join(' '),
    )
    expect(output).toEqual([
      'block_start 0 reasoning',
      'reasoning_delta 0 reasoning hm',
      'block_end 0 reasoning',
      'block_start 1 refusal',
      'text_delta 1 refusal No.',
      'block_end 1 refusal',
      'block_start 2 tool_call c f',
      'arguments_delta 2 tool_call x',
      'block_end 2 tool_call',
      'finish',
    ])
    const [whole] = decoded([thought, refusal, custom])
    expect(found.flatMap((event) => (event.type === 'block_end' ? [event.part] : []))).toMatchObject(
      (whole?.content ?? []).map(({ type }) => ({ type })),
    )
    expect(found.at(-1)).toEqual({
      type: 'finish',
      message: whole,
      reason: 'tool_calls',
      usage: { input: 0, output: 0 },
      model: 'gpt-x-1',
    })
    expect(server?.requests[0]?.body).not.toHaveProperty('tools')
  })

  it.each([
    ['refusal', { status: 'incomplete', incomplete_details: { reason: 'content_filter' } }],
    ['other', { status: 'incomplete', incomplete_details: null }],
    ['end_turn', { status: 'completed', usage: { input_tokens: 1, output_tokens: 2, input_tokens_details: null } }],
  ])('gives the reason %s of an answer that ended so', async (reason, more) => {
    const [last] = events({ type: 'response.incomplete', response: response([message], more) })
    const one = await model(() => ({ events: [last as string] }))
    const ended = await run({ model: one, view: view([user('u')]) }).result()()
    expect(isRight(ended) && ended.right.steps[0]?.response).toMatchObject({ reason, message: decoded([message])[0] })
    if ('usage' in more) expect(isRight(ended) && ended.right.usage).toEqual({ input: 1, output: 2 })
  })

  it('begins each block that the server did not begin', async () => {
    const said = events(
      { type: 'response.reasoning_text.delta', output_index: 0, content_index: 0, delta: 'hm' },
      { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'So.' },
      { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{}' },
      { type: 'response.output_item.done', output_index: 2, item: call },
      { type: 'response.completed', response: response([message, call]) },
    )
    const found: string[] = []
    const asked = { messages: view([user('u')]), tools: [], stablePrefix: 0, parameters: {} }
    const one = await model(() => ({ events: said }))
    for await (const event of one.stream(asked, new AbortController().signal))
      found.push('index' in event ? `${event.type} ${event.index}` : event.type)
    expect(found).toEqual([
      ...['block_start 0', 'reasoning_delta 0', 'block_start 1', 'text_delta 1'],
      ...['block_start 2', 'arguments_delta 2', 'block_end 2', 'finish'],
    ])
  })

  it('says of a failed response without a reason that it failed', async () => {
    const last = { type: 'response.failed', response: response([], { status: 'failed', error: null }) }
    expect(await end({ model: await model(() => ({ events: events(last) })) })).toContain('the response failed')
  })

  it('keeps complete blocks and partial text on an interrupt', async () => {
    const stream = run({
      model: await model(() => ({ events: calling, pieces: 200, pause: 2 })),
      view: view([user('u')]),
    })
    for await (const event of stream)
      if (event.type === 'model_event' && event.event.type === 'text_delta')
        stream.interrupt({ behavior: 'savePartial' })
    const ended = await stream.result()()
    const partial = isRight(ended) ? ended.right.messages[1] : undefined
    expect(partial?.content.map(({ type }) => type)).toEqual(['reasoning', 'provider', 'text'])
    expect(partial === undefined ? '' : textOf(partial)).toBe('Let me ')
  })

  itShared(
    'decodes every recorded stream to the response that it ends with, and sends that back as it was',
    async () => {
      const names = readdirSync(shared('wire/openai-responses')).filter((name) => name.endsWith('.chunks.txt'))
      expect(names.length).toBeGreaterThan(15)
      for (const name of names) {
        const lines = readShared(`wire/openai-responses/${name}`)
          .split('\n')
          .filter((line) => line.trim() !== '')
        const last = lines
          .map(
            (line) =>
              parsed(line) as {
                readonly type: string
                readonly response?: { readonly id: string; readonly output: readonly unknown[] }
              },
          )
          .find(({ type }) => type === 'response.completed')
        const ended = await run({
          model: await model(() => ({ events: lines, pieces: 4096 })),
          view: view([user('u')]),
          limits: { maxSteps: 1 },
        }).result()()
        await server?.close()
        if (
          last?.response === undefined ||
          lines.some((line) => (parsed(line) as { readonly type: string }).type === 'broken')
        ) {
          expect([name, isLeft(ended) && ended.left._tag]).toEqual([name, 'ModelFailed'])
          continue
        }
        const said = isRight(ended) ? ended.right.response : undefined
        const expected = decoded(last.response.output)
        expect([name, said?.content]).toEqual([name, expected.flatMap(({ content }) => content)])
        const encoded = openaiResponses.encode(view(isRight(ended) ? ended.right.messages.slice(1) : []))
        if (isRight(encoded))
          expect(encoded.right.wire.slice(0, last.response.output.length)).toEqual(last.response.output)
      }
    },
  )
})

/** One of the recordings has a line that is not JSON: the client can't read it, and that is a fault too. */
const parsed = (line: string): unknown => {
  try {
    return JSON.parse(line)
  } catch {
    return { type: 'broken' }
  }
}

it('an answer of one message is that message; several become one', () => {
  const [a, b] = [{ ...assistant('a'), meta: { id: 1 } }, assistant(toolCall('c', 'look', '{}'))]
  expect(joinMessages([a])).toBe(a)
  expect(joinMessages([a, b])).toEqual({ role: 'assistant', content: [...a.content, ...b.content] })
  expect(joinMessages([])).toEqual({ role: 'assistant', content: [] })
  const result = toolResult('c', 'rain')
  expect(joinMessages([result])).toEqual({ role: 'assistant', content: result.content })
})
