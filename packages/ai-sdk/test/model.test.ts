/** The adapter over the AI SDK's own `streamText`; behind it, in the place of a provider, the SDK's own scripted model. */
import { simulateReadableStream } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { faultMessage, createHistory, settle, system, user, type Message, type Settled, type View } from 'indelible'
import { run, tool, type Model, type ModelEvent } from 'indelible/run'
import { aiSdkModel } from '@indelible/ai-sdk'
import { modelContract, type ModelScene } from '@indelible/testing'

type Streamed =
  Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never

const usage = {
  inputTokens: { total: 9, noCache: 1, cacheRead: 8, cacheWrite: undefined },
  outputTokens: { total: 4, text: 4, reasoning: undefined },
}
const finish = (unified: 'stop' | 'tool-calls' | 'length'): Streamed => ({
  type: 'finish',
  usage,
  finishReason: { unified, raw: unified },
})
const text = (...pieces: readonly string[]): readonly Streamed[] => [
  { type: 'text-start', id: 't' },
  ...pieces.map((delta): Streamed => ({ type: 'text-delta', id: 't', delta })),
  { type: 'text-end', id: 't' },
]
const call = (id: string, ...pieces: readonly string[]): readonly Streamed[] => [
  { type: 'tool-input-start', id, toolName: 'read' },
  ...pieces.map((delta): Streamed => ({ type: 'tool-input-delta', id, delta })),
  { type: 'tool-input-end', id },
  { type: 'tool-call', toolCallId: id, toolName: 'read', input: pieces.join('') },
]
const reasoning: readonly Streamed[] = [
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'Look first.' },
  { type: 'reasoning-end', id: 'r', providerMetadata: { anthropic: { signature: 'sig' } } },
]

const speaking = (...answers: readonly (readonly Streamed[])[]): MockLanguageModelV4 => {
  let next = 0
  return new MockLanguageModelV4({
    modelId: 'm',
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [{ type: 'stream-start', warnings: [] }, ...(answers[next++] ?? [])],
        chunkDelayInMs: 0,
        initialDelayInMs: 0,
      }),
    }),
  })
}

const hello = [...text('Hello, ', 'world.'), finish('stop')]
const calls = [...text('Reading.'), ...call('c1', '{"path":', '"a"}'), ...call('c2', '{}'), finish('tool-calls')]

const scenes = async (scene: ModelScene): Promise<{ readonly model: Model }> => {
  if (scene === 'fails') return { model: aiSdkModel(new MockLanguageModelV4({ doStream: async () => { throw new Error('down') } })) } // oxfmt-ignore
  if (scene === 'hangs')
    return {
      model: aiSdkModel(
        new MockLanguageModelV4({
          doStream: async () => ({
            stream: new ReadableStream<Streamed>({
              start: (controller) =>
                text('Hello, ')
                  .slice(0, 2)
                  .forEach((part) => controller.enqueue(part)),
            }),
          }),
        }),
      ),
    }
  const parts = scene === 'calls' ? calls : scene === 'cut' ? hello.slice(0, 3) : hello
  return { model: aiSdkModel(speaking(parts, parts)) }
}

const start = (): Settled<View<Message>> => {
  const found = settle(createHistory<Message>({ from: [user('u')] }).view())
  if (isLeft(found)) throw new Error('not settled')
  return found.right
}

const read = tool({
  name: 'read',
  parameters: { type: 'object', properties: { path: { type: 'string' } } },
  run: (input) => JSON.stringify(input),
})

describe('the AI SDK model', () => {
  for (const { name, run: work } of modelContract('ai sdk', scenes)) it(name, work)

  it('accepts a call that comes complete without pieces', async () => {
    const whole: Streamed = { type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: '{"path":"a"}' }
    const stream = run({
      model: aiSdkModel(speaking([whole, finish('tool-calls')], hello)),
      view: start(),
      tools: [read],
    })
    const first: unknown[] = []
    for await (const runEvent of stream)
      if (runEvent.type === 'model_event' && runEvent.step === 0) first.push(runEvent.event)
    expect(first.slice(0, 2)).toMatchObject([
      { type: 'block_start', index: 0, block: 'tool_call', callId: 'c1', name: 'read' },
      { type: 'block_end', index: 0, block: 'tool_call', part: { id: 'c1', arguments: '{"path":"a"}' } },
    ])
  })

  it("streams, runs tools, and sends the SDK's model its own output back, signature included", async () => {
    const inner = speaking([...reasoning, ...calls], hello)
    const stream = run({
      model: aiSdkModel(inner),
      view: start(),
      tools: [read],
      parameters: { temperature: 0.5 },
    })
    const parts: unknown[] = []
    for await (const runEvent of stream)
      if (runEvent.type === 'model_event' && runEvent.step === 0 && runEvent.event.type === 'block_end')
        parts.push(runEvent.event.part)
    const ended = await stream.result()()
    if (isLeft(ended)) throw new Error(faultMessage(ended.left))
    expect(ended.right).toMatchObject({ stopReason: 'end_turn', usage: { input: 18, output: 8, cacheRead: 16 } })
    expect(ended.right.messages[1]?.content).toMatchObject([
      { type: 'reasoning', text: 'Look first.' },
      { type: 'text', text: 'Reading.' },
      { type: 'tool_call', id: 'c1', arguments: '{"path":"a"}' },
      { type: 'tool_call', id: 'c2', arguments: '{}' },
    ])
    expect(parts).toEqual(ended.right.messages[1]?.content)
    expect(ended.right.messages[2]).toMatchObject({ role: 'tool', content: [{ callId: 'c1' }, { callId: 'c2' }] })
    expect(inner.doStreamCalls[1]).toMatchObject({
      temperature: 0.5,
      tools: [{ name: 'read', inputSchema: { type: 'object' } }],
      prompt: [
        { role: 'user' },
        {
          role: 'assistant',
          content: [
            { type: 'reasoning', text: 'Look first.', providerOptions: { anthropic: { signature: 'sig' } } },
            { type: 'text' },
            { type: 'tool-call', toolCallId: 'c1', input: { path: 'a' } },
            { type: 'tool-call', input: {} },
          ],
        },
        { role: 'tool', content: [{ toolCallId: 'c1', toolName: 'read' }, { toolCallId: 'c2' }] },
      ],
    })
  })

  it('sends the `instructions` of a run in place of the leading system messages of its view', async () => {
    const inner = speaking(calls, hello, hello)
    const model = aiSdkModel(inner)
    const view = [system('You are old.'), system('And verbose.'), user('a'), system('Later.'), user('b')]
    const runResult = await run({ model, view, tools: [read], instructions: 'You are new.' }).result()
    expect(runResult.stopReason).toBe('end_turn')
    await run({ model, view }).result()
    const sent = inner.doStreamCalls.map(({ prompt }) =>
      prompt.flatMap(({ role, content }) => (role === 'system' ? [content] : [])),
    )
    const replaced = ['You are new.', 'Later.']
    expect(sent).toEqual([replaced, replaced, ['You are old.', 'And verbose.', 'Later.']])
    expect(inner.doStreamCalls[0]?.prompt.map(({ role }) => role)).toEqual(['system', 'user', 'system', 'user'])
  })

  it('runs tools even if the SDK finds the arguments invalid', async () => {
    const ended = await run({
      model: aiSdkModel(speaking([...call('c1', '{"path": '), finish('tool-calls')], hello)),
      view: start(),
      tools: [read],
    }).result()()
    if (isLeft(ended)) throw new Error(faultMessage(ended.left))
    expect(ended.right.messages.slice(1, 3)).toMatchObject([
      { content: [{ arguments: '{"path": ' }] },
      {
        content: [
          { isError: true, content: [{ text: expect.stringMatching(/^The arguments are not valid JSON/) as unknown }] },
        ],
      },
    ])
    expect(ended.right.stopReason).toBe('end_turn')
  })

  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['tool-calls', 'tool_calls'],
    ['content-filter', 'refusal'],
    ['error', 'other'],
  ] as const)('gives the end %s as %s, with the tokens that the provider counted', async (unified, reason) => {
    const counts = { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: 3 }
    const end: Streamed = {
      type: 'finish',
      usage: { inputTokens: counts, outputTokens: { total: undefined, text: undefined, reasoning: undefined } },
      finishReason: { unified, raw: unified },
    }
    const request = { messages: start(), tools: [{ name: 'read', parameters: {} }], stablePrefix: 0, parameters: {} }
    const inner = speaking([{ type: 'response-metadata', modelId: 'm-2026' }, ...text('so'), end])
    const events: ModelEvent[] = []
    for await (const event of aiSdkModel(inner).stream(request as never, new AbortController().signal))
      events.push(event)
    expect(events.at(-1)).toMatchObject({
      type: 'finish',
      message: { role: 'assistant', content: [{ type: 'text', text: 'so' }] },
      reason,
      usage: { input: 0, output: 0, cacheWrite: 3 },
      model: 'm-2026',
    })
    expect(inner.doStreamCalls[0]?.tools?.[0]).not.toHaveProperty('description')
  })

  it('has the name that it is given, or that of its model', () => {
    const model = speaking()
    const names = [{}, { model: 'of the request' }, { model: 'of the request', name: 'given' }]
    expect(names.map((name) => aiSdkModel(model, name).name)).toEqual(['m', 'of the request', 'given'])
    expect(aiSdkModel('openai/gpt-5').name).toBe('openai/gpt-5')
  })

  it('keeps metadata of texts and calls, and the results of tools that the provider ran out of the answer', async () => {
    const providerMetadata = { openai: { itemId: 'i' } }
    const inner = speaking([
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'so' },
      { type: 'text-end', id: 't', providerMetadata },
      { type: 'tool-call', toolCallId: 'c', toolName: 'read', input: '{ "a": 1 }', providerMetadata },
      finish('tool-calls'),
    ])
    const parts: unknown[] = []
    const stream = run({ model: aiSdkModel(inner), view: start(), tools: [read], limits: { maxSteps: 1 } })
    for await (const runEvent of stream)
      if (runEvent.type === 'model_event' && runEvent.event.type === 'block_end') parts.push(runEvent.event.part)
    const ended = await stream.result()()
    expect(parts).toHaveLength(2)
    for (const part of parts) expect(JSON.stringify(part)).toContain('"itemId":"i"')
    expect(isRight(ended) && ended.right.messages[1]).toEqual({ role: 'assistant', content: parts })
  })

  it('takes an answer as complete if its provider gives any reason for its end', async () => {
    const endOf = async (unified: 'stop' | 'other', raw: string | undefined): Promise<unknown> => {
      const end: Streamed = { type: 'finish', usage, finishReason: { unified, raw } }
      const ended = await run({ model: aiSdkModel(speaking([...text('so'), end])), view: start() }).result()()
      return isRight(ended) && ended.right.messages.at(-1)?.content
    }
    const said = [{ type: 'text', text: 'so' }]
    expect(await endOf('stop', undefined)).toEqual(said)
    expect(await endOf('other', 'of_its_own')).toEqual(said)
    expect(await endOf('other', undefined)).toBe(false) // `ai` says so of a stream that broke off
  })

  it('begins a block that the stream did not begin', async () => {
    const piece: Streamed = { type: 'tool-input-delta', id: 'x', delta: '{}' }
    const whole: Streamed = { type: 'tool-call', toolCallId: 'x', toolName: 'read', input: '{}' }
    const asked = { messages: start(), tools: [], stablePrefix: 0, parameters: {} }
    const found: string[] = []
    const model = aiSdkModel(speaking([piece, whole, finish('tool-calls')]))
    for await (const { type } of model.stream(asked, new AbortController().signal)) found.push(type)
    expect(found).toEqual(['block_start', 'arguments_delta', 'block_end', 'finish'])
  })

  it('reports a stream error as a fault and keeps the text on an interrupt', async () => {
    const failed = await run({
      model: aiSdkModel(speaking([...text('so').slice(0, 2), { type: 'error', error: new Error('overloaded') }])),
      view: start(),
    }).result()()
    expect(isLeft(failed) && faultMessage(failed.left)).toContain('overloaded')
    const stream = run({ model: (await scenes('hangs')).model, view: start() })
    for await (const event of stream)
      if (event.type === 'model_event' && event.event.type === 'text_delta')
        stream.interrupt({ behavior: 'savePartial' })
    const ended = await stream.result()()
    expect(isRight(ended) && ended.right.messages[1]?.content).toEqual([{ type: 'text', text: 'Hello, ' }])
  })
})
