/** Every adapter passes the suite, each against a provider on loopback that plays the scenes in the provider's own words. */
import { Anthropic } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { OpenAI } from 'openai'
import { describe, expect, it } from 'vitest'
import { assistant, orThrow, settle, system, toolCall } from 'indelible'
import { run, scriptedModel, type Model } from 'indelible/run'
import { anthropicModel } from 'indelible/run/anthropic'
import { geminiModel } from 'indelible/run/gemini'
import { openaiChatModel, openaiResponsesModel } from 'indelible/run/openai'
import { modelContract, type ModelPlace, type ModelScene } from '@indelible/testing'
import { providerServer, type Reply } from './provider-server.ts'

/** How a provider says a text in two pieces, and two calls after a text. */
interface Words {
  readonly text: readonly object[]
  readonly calls: readonly object[]
}

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const chunk = (delta: object, finish_reason: string | null = null): object => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason }],
  ...(finish_reason !== null && { usage }),
})
const chat: Words = {
  text: [chunk({ role: 'assistant', content: 'Hello, ' }), chunk({ content: 'world.' }), chunk({}, 'stop')],
  calls: [
    chunk({ role: 'assistant', content: 'Reading.' }),
    chunk({
      tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'read', arguments: '{"path":' } }],
    }),
    chunk({ tool_calls: [{ index: 0, function: { arguments: '"a"}' } }] }),
    chunk({ tool_calls: [{ index: 1, id: 'c2', type: 'function', function: { name: 'read', arguments: '{}' } }] }),
    chunk({}, 'tool_calls'),
  ],
}

const said = (text: string): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
})
const called = (id: string, args: string): object => ({
  id: `fc_${id}`,
  type: 'function_call',
  call_id: id,
  name: 'read',
  arguments: args,
  status: 'completed',
})
const saying = (...pieces: readonly string[]): readonly object[] => [
  { type: 'response.output_item.added', output_index: 0, item: { ...said(''), content: [], status: 'in_progress' } },
  {
    type: 'response.content_part.added',
    output_index: 0,
    content_index: 0,
    part: { type: 'output_text', text: '', annotations: [] },
  },
  ...pieces.map((delta) => ({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta })),
  {
    type: 'response.content_part.done',
    output_index: 0,
    content_index: 0,
    part: { type: 'output_text', text: pieces.join(''), annotations: [] },
  },
  { type: 'response.output_item.done', output_index: 0, item: said(pieces.join('')) },
]
const calling = (output_index: number, id: string, args: string): readonly object[] => [
  { type: 'response.output_item.added', output_index, item: { ...called(id, ''), status: 'in_progress' } },
  { type: 'response.function_call_arguments.delta', output_index, delta: args },
  { type: 'response.output_item.done', output_index, item: called(id, args) },
]
const completed = (...output: readonly object[]): object => ({
  type: 'response.completed',
  response: { id: 'r', status: 'completed', model: 'm', output, usage: { input_tokens: 1, output_tokens: 1 } },
})
const responses: Words = {
  text: [...saying('Hello, ', 'world.'), completed(said('Hello, world.'))],
  calls: [
    ...saying('Reading.'),
    ...calling(1, 'c1', '{"path":"a"}'),
    ...calling(2, 'c2', '{}'),
    completed(said('Reading.'), called('c1', '{"path":"a"}'), called('c2', '{}')),
  ],
}

const start = {
  type: 'message_start',
  message: {
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  },
}
const block = (index: number, content: object, ...deltas: readonly object[]): readonly object[] => [
  { type: 'content_block_start', index, content_block: content },
  ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  { type: 'content_block_stop', index },
]
const text = (...pieces: readonly string[]): readonly object[] =>
  block(0, { type: 'text', text: '' }, ...pieces.map((piece) => ({ type: 'text_delta', text: piece })))
const use = (index: number, id: string, ...pieces: readonly string[]): readonly object[] =>
  block(
    index,
    { type: 'tool_use', id, name: 'read', input: {} },
    ...pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  )
const stop = (stop_reason: string): readonly object[] => [
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
]
const messages: Words = {
  text: [start, ...text('Hello, ', 'world.'), ...stop('end_turn')],
  calls: [start, ...text('Reading.'), ...use(1, 'c1', '{"path":', '"a"}'), ...use(2, 'c2'), ...stop('tool_use')],
}

const piece = (parts: readonly object[], finishReason?: string): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts }, ...(finishReason !== undefined && { finishReason }) }],
  usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
  modelVersion: 'm',
})
const contents: Words = {
  text: [piece([{ text: 'Hello, ' }]), piece([{ text: 'world.' }]), piece([{ text: '' }], 'STOP')],
  calls: [
    piece([{ text: 'Reading.' }]),
    piece([{ functionCall: { id: 'c1', name: 'read', args: { path: 'a' } } }]),
    piece([{ functionCall: { id: 'c2', name: 'read', args: {} } }]),
    piece([], 'STOP'),
  ],
}

const played = ({ text: hello, calls }: Words, scene: ModelScene): Reply => {
  const events = (scene === 'calls' ? calls : hello).map((event) => JSON.stringify(event))
  const begun = events.slice(0, -1) // its text, but not that it is whole
  switch (scene) {
    case 'cut':
      return { events: begun }
    case 'hangs':
      return { events: begun, hang: true }
    case 'fails':
      return { status: 500, body: { error: { message: 'down', type: 'api_error' } } }
    default:
      return { events }
  }
}

const withProvider =
  (words: Words, connect: (url: string) => Model) =>
  async (scene: ModelScene): Promise<ModelPlace> => {
    const server = await providerServer(() => played(words, scene))
    return { model: connect(server.url), leave: server.close }
  }

const quiet = { apiKey: 'k', maxRetries: 0, logLevel: 'off' } as const

const scripted = async (scene: ModelScene): Promise<ModelPlace> => {
  const hello = assistant('Hello, world.')
  if (scene === 'calls') {
    const line = assistant('Reading.', toolCall('c1', 'read', { path: 'a' }), toolCall('c2', 'read', {}))
    return { model: scriptedModel([line, line]) }
  }
  if (scene === 'text') return { model: scriptedModel([hello]) }
  if (scene === 'fails') return { model: scriptedModel([]) }
  return { model: scriptedModel([() => { throw new Error('cut') }], { pause: scene === 'hangs' ? 20_000 : 0 }) } // oxfmt-ignore
}

describe('the model contract', () => {
  const suites = [
    modelContract(
      'openai chat',
      withProvider(chat, (url) => openaiChatModel(new OpenAI({ ...quiet, baseURL: `${url}/v1` }), { model: 'm' })),
    ),
    modelContract(
      'openai responses',
      withProvider(responses, (url) =>
        openaiResponsesModel(new OpenAI({ ...quiet, baseURL: `${url}/v1` }), { model: 'm' }),
      ),
    ),
    modelContract(
      'anthropic',
      withProvider(messages, (url) => anthropicModel(new Anthropic({ ...quiet, baseURL: url }), { model: 'm' })),
    ),
    modelContract(
      'gemini',
      withProvider(contents, (baseUrl) =>
        geminiModel(new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl, retryOptions: { attempts: 1 } } }), {
          model: 'm',
        }),
      ),
    ),
    modelContract('scripted', scripted).filter(({ name }) => !name.includes('hangs')),
  ]
  for (const { name, run } of suites.flat()) it(name, run)

  it('detects faulty models', async () => {
    const wrong: Model = {
      name: 'wrong',
      async *stream() {
        yield { type: 'text_delta', index: 3, block: 'text', text: 'Hello' }
        yield { type: 'finish', message: assistant('Hello'), reason: 'end_turn', usage: { input: 0, output: 0 } }
      },
    }
    const failed: string[] = []
    for (const { name, run } of modelContract('wrong', async () => ({ model: wrong })))
      await run().catch(() => failed.push(name.slice(7)))
    // It has no calls, so it also has none whose results it would refuse.
    const all = modelContract('wrong', async () => ({ model: wrong })).map(({ name }) => name.slice(7))
    expect(failed).toEqual(all.filter((title) => title !== 'an answer with its results can be sent in a request'))
  })

  it('detects an answer that no record accepts', async () => {
    const answer = { ...assistant('Hello, world.'), meta: { at: NaN } }
    const model: Model = {
      name: 'wrong',
      async *stream() {
        yield { type: 'finish', message: answer, reason: 'end_turn', usage: { input: 0, output: 0 } }
      },
    }
    const [first] = modelContract('wrong', async () => ({ model }))
    await expect(first?.run()).rejects.toThrow("the message can't be recorded")
  })
})

it.each([
  ['Anthropic', anthropicModel(new Anthropic({ apiKey: 'k' }), { model: 'm' })],
  ['Gemini', geminiModel(new GoogleGenAI({ apiKey: 'k' }), { model: 'm' })],
])('%s is not asked with instructions only, which its API refuses', async (_, model) => {
  const ended = await run({ model, view: orThrow(settle([system('Be brief.')])) }).result()()
  expect(ended).toMatchObject({
    left: {
      _tag: 'ModelFailed',
      reason: 'nothing was sent: the context has only instructions; append a user message first',
    },
  })
})
