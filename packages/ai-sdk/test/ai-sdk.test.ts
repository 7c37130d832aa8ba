import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  convertToModelMessages,
  createUIMessageStreamResponse,
  jsonSchema,
  parseJsonEventStream,
  readUIMessageStream,
  simulateReadableStream,
  streamText,
  tool,
  toUIMessageStream as answerToUIMessageStream,
  uiMessageChunkSchema,
  validateUIMessages,
  type UIMessage,
  type UIMessageChunk,
} from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { left } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import {
  assistant,
  image,
  orThrow,
  settle,
  text,
  textOf,
  toolCall,
  toolResult,
  user,
  type Message,
  type Store,
} from 'indelible'
import { refusal } from 'indelible/message'
import { aiSdkModel, chatStore, chatStreams, toUIMessageStream } from '@indelible/ai-sdk'
import { run, scriptedModel, tool as runTool, toolOutput, turn, type Model } from 'indelible/run'
import { aiSdkCases } from './ai-sdk-cases.ts'
import { eachStepFails, inFiles, inMemory } from '../../../test/session/adapter-stores.ts'
import { ownStore, storeTask, streamLogOf } from '../../../src/store/internal.ts'
import { rounds } from '../../../test/rounds.ts'
import { program } from '../../../test/programs.ts'
import { pending } from 'indelible/session'

const files = inFiles()
afterAll(files.leave)

describe('ai-sdk, in memory', () => aiSdkCases(inMemory, rounds(15, 1000)))
describe('ai-sdk, in SQLite', () => aiSdkCases(files, rounds(5, 200)))

it('the chat store returns the fault of a store that fails at any step', () =>
  eachStepFails(async (store) => {
    const chats = chatStore(store)
    const messages: UIMessage[] = [{ id: 'u', role: 'user', parts: [{ type: 'text', text: 'hi' }] }]
    const chatId = await chats.createChat({ id: 'c' })
    await chats.saveChat({ chatId, messages })
    await chats.saveChat({ chatId, messages: [] })
    await chats.loadChat(chatId)
    await chats.importChats([{ id: 'd', messages }])
    for await (const chat of chats.exportChats()) expect(chat.messages.length).toBeLessThan(2)
  }))

it('an empty chat has no message left, not even a result that no chat shows', async () => {
  const { createChat, openChat, saveChat } = chatStore(await inMemory.fresh())
  const chatId = await createChat()
  await (await openChat(chatId)).append([toolResult('c', 'of no call'), user('hi')])
  await saveChat({ chatId, messages: [] })
  expect((await openChat(chatId)).conversation().length).toBe(0)
})

type Streamed =
  Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never

const finish = (unified: 'stop' | 'tool-calls'): Streamed => ({
  type: 'finish',
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: 1, text: 1, reasoning: undefined },
  },
  finishReason: { unified, raw: unified },
})

const speaking = (...answers: readonly (readonly Streamed[])[]): MockLanguageModelV4 => {
  let next = 0
  return new MockLanguageModelV4({
    doStream: async () => ({ stream: simulateReadableStream({ chunks: [...(answers[next++] ?? [])] }) }),
  })
}

it('a stored call waits for its approval and continues once approved', async () => {
  const store = await files.fresh()
  const { createChat, loadChat, saveChat, openChat } = chatStore(store)
  const chatId = await createChat()
  const model = speaking(
    [{ type: 'tool-call', toolCallId: 'c1', toolName: 'remove', input: '{"path":"a"}' }, finish('tool-calls')],
    [
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'Gone.' },
      { type: 'text-end', id: 't' },
      finish('stop'),
    ],
  )
  const removed: string[] = []
  const tools = {
    remove: tool({
      inputSchema: jsonSchema<{ path: string }>({ type: 'object', properties: { path: { type: 'string' } } }),
      execute: ({ path }) => {
        removed.push(path)
        return `removed ${path}`
      },
    }),
  }
  /** The route of the guide: load, add the message, answer, save. */
  const post = async (message: UIMessage | undefined): Promise<void> => {
    const messages = message === undefined ? await loadChat(chatId) : [...(await loadChat(chatId)), message]
    const result = streamText({
      model,
      tools,
      toolApproval: { remove: 'user-approval' },
      messages: await convertToModelMessages(await validateUIMessages({ messages })),
    })
    let saved: Promise<void> | undefined
    const stream = answerToUIMessageStream({
      stream: result.stream,
      originalMessages: messages,
      generateMessageId: () => 'answer',
      onEnd: ({ messages: all }) => {
        saved = saveChat({ chatId, messages: all })
      },
    })
    for await (const _ of stream as unknown as AsyncIterable<unknown>);
    await saved
  }
  await post({ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Clean up.' }] })
  expect(pending(await openChat(chatId)).calls.map(({ id }) => id)).toEqual(['c1'])
  const chat = await loadChat(chatId)
  const [, waiting] = chat
  const part = waiting?.parts.find(({ type }) => type === 'tool-remove') as { state: string; approval: { id: string } }
  expect([part.state, removed]).toEqual(['approval-requested', []])
  // What `addToolApprovalResponse` of useChat does, and sends.
  Object.assign(part, { state: 'approval-responded', approval: { id: part.approval.id, approved: true } })
  await saveChat({ chatId, messages: chat })
  await post(undefined)
  expect(removed).toEqual(['a'])
  const [, answered] = await loadChat(chatId)
  expect(answered?.parts.map((each) => ('state' in each ? `${each.type} ${each.state}` : each.type))).toEqual([
    'step-start',
    'tool-remove output-available',
    'step-start',
    'text done',
  ])
  const session = await openChat(chatId)
  expect(pending(session).calls).toEqual([])
  expect(settle(session.conversation())._tag).toBe('Right')
})

it.each([
  ['', []],
  [', also of a model that gives the id of a call late', ['callId']],
  [', also of a model that gives the name of a call late', ['name']],
])("a run's stream is a response that a useChat client reads%s", async (_, late) => {
  const scripted = scriptedModel([
    assistant('I look.', toolCall('c', 'nothing', {})),
    assistant('There is no such tool.'),
  ])
  const model: Model = {
    name: 'late',
    async *stream(...request) {
      for await (const event of scripted.stream(...request))
        yield event.type === 'block_start'
          ? (Object.fromEntries(Object.entries(event).filter(([name]) => !late.includes(name))) as typeof event)
          : event
    },
  }
  const answer = run({ model, view: orThrow(settle([user('hi')])) })
  const response = createUIMessageStreamResponse({ stream: toUIMessageStream(answer, { messageId: 'm' }) })
  const chunks = parseJsonEventStream({ stream: response.body as ReadableStream, schema: uiMessageChunkSchema })
  const stream = chunks.pipeThrough(
    new TransformStream({
      transform: (chunk, controller) => {
        if (!chunk.success) throw chunk.error
        controller.enqueue(chunk.value)
      },
    }),
  )
  let last: UIMessage | undefined
  for await (const message of readUIMessageStream({ stream })) last = message
  expect(last).toMatchObject({
    id: 'm',
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      { type: 'text', text: 'I look.', state: 'done' },
      { type: 'tool-nothing', toolCallId: 'c', state: 'output-error' },
      { type: 'step-start' },
      { type: 'text', text: 'There is no such tool.', state: 'done' },
    ],
  })
})

it('each run event is sent once, in order', async () => {
  const thought = { type: 'reasoning', text: 'hm', signature: 's' } as const
  const parts = assistant('Look', toolCall('c', 'nothing', { a: 1 }), toolCall('d', 'nothing', '')).content
  const answer = run({
    model: scriptedModel([{ role: 'assistant', content: [thought, ...parts] }, assistant('No.')]),
    view: orThrow(settle([user('hi')])),
  })
  const chunks: string[] = []
  for await (const { type, ...rest } of toUIMessageStream(answer) as unknown as AsyncIterable<UIMessageChunk>)
    chunks.push(`${type} ${JSON.stringify(rest)}`)
  expect(`\n${chunks.join('\n')}\n`).toMatchInlineSnapshot(`
    "
    start {"messageId":"msg-1"}
    start-step {}
    reasoning-start {"id":"0-0"}
    reasoning-delta {"id":"0-0","delta":"hm"}
    reasoning-end {"id":"0-0","providerMetadata":{"anthropic":{"signature":"s"}}}
    text-start {"id":"0-1"}
    text-delta {"id":"0-1","delta":"Look"}
    text-end {"id":"0-1"}
    tool-input-start {"toolCallId":"c","toolName":"nothing"}
    tool-input-delta {"toolCallId":"c","inputTextDelta":"{\\"a\\":1}"}
    tool-input-available {"toolCallId":"c","toolName":"nothing","input":{"a":1}}
    tool-input-start {"toolCallId":"d","toolName":"nothing"}
    tool-input-available {"toolCallId":"d","toolName":"nothing","input":{}}
    tool-output-error {"toolCallId":"c","errorText":"There is no tool \\"nothing\\". There are no tools."}
    tool-output-error {"toolCallId":"d","errorText":"There is no tool \\"nothing\\". There are no tools."}
    finish-step {}
    start-step {}
    text-start {"id":"1-0"}
    text-delta {"id":"1-0","delta":"No."}
    text-end {"id":"1-0"}
    finish-step {}
    finish {"finishReason":"stop"}
    "
  `)
})

it('a failed or cancelled run notifies its client', async () => {
  const types = async (stream: ReadableStream<{ type: string }>): Promise<string[]> => {
    const found: string[] = []
    for await (const { type } of stream as unknown as AsyncIterable<{ type: string }>) found.push(type)
    return found
  }
  const view = orThrow(settle([user('hi')]))
  const failed = run({ model: scriptedModel([]), view })
  const told: unknown[] = []
  const onError = (fault: unknown): string => `${told.push(fault)}`
  expect((await types(toUIMessageStream(failed, { onError }))).at(-1)).toBe('error')
  // A turn that can not begin has no result.
  const chats = chatStore(await inMemory.fresh())
  const chatId = await chats.createChat()
  await (await chats.openChat(chatId)).lease({ holder: 'another' })
  const busy = turn(await chats.openChat(chatId), user('hi'), { model: scriptedModel([]), id: 'u' })
  expect((await types(toUIMessageStream(busy, { onError }))).at(-1)).toBe('error')
  expect(told).toMatchObject([{ stopReason: 'error' }, { _tag: 'SessionBusy' }])
  const cancelled = run({ model: scriptedModel([assistant('a long answer')]), view })
  const stream = toUIMessageStream(cancelled)
  cancelled.cancel()
  expect((await types(stream)).at(-1)).toBe('abort')
})

it.each([
  ['stop', [assistant('so')], {}],
  ['content-filter', [assistant(refusal('no'))], {}],
  ['tool-calls', [assistant(toolCall('c', 'nothing', {}))], { maxSteps: 1 }],
  ['tool-calls', [assistant(toolCall('c', 'nothing', {}))], { maxToolCalls: 0 }],
  ['length', [assistant(toolCall('c', 'nothing', {}))], { maxTokens: 0 }],
  ['other', [assistant(toolCall('c', 'nothing', {}))], { stopWhen: () => true }],
] as const)('a run ends for its client with the reason %s', async (finishReason, lines, limits) => {
  const answer = run({ model: scriptedModel(lines), view: orThrow(settle([user('hi')])), limits })
  const chunks: UIMessageChunk[] = []
  for await (const chunk of toUIMessageStream(answer) as unknown as AsyncIterable<UIMessageChunk>) chunks.push(chunk)
  expect(chunks.slice(-2)).toEqual([{ type: 'finish-step' }, { type: 'finish', finishReason }])
})

it('a client is not told why a run failed, by default, and can cancel a run', async () => {
  const view = orThrow(settle([user('hi')]))
  const chunks: UIMessageChunk[] = []
  const failed = toUIMessageStream(run({ model: scriptedModel([]), view }))
  for await (const chunk of failed as unknown as AsyncIterable<UIMessageChunk>) chunks.push(chunk)
  expect(chunks.at(-1)).toEqual({ type: 'error', errorText: 'The answer failed.' })
  expect(chunks.filter(({ type }) => type === 'error')).toHaveLength(1)
  const left = run({ model: scriptedModel([assistant('a long answer')]), view })
  await toUIMessageStream(left).cancel()
  expect(await left.result()()).toMatchObject({ right: { stopReason: 'cancelled' } })
})

it('a route killed after a tool had finished continues with its result', async () => {
  const store = await files.fresh()
  const chats = chatStore(store)
  const chatId = await chats.createChat()
  const child = spawn(process.execPath, [program('packages/ai-sdk/test/ai-sdk-process.ts'), files.path(), chatId], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const [finished] = (await Promise.race([once(child.stdout, 'data'), ended])) as readonly unknown[]
  expect(String(finished)).toBe('finished')
  child.kill('SIGKILL')
  await ended

  const scripted = scriptedModel([assistant('A cat.'), assistant('Well.')])
  const sent: (readonly string[])[] = []
  const model: Model = {
    ...scripted,
    stream: (request, signal) => {
      sent.push([...request.messages].map((message) => `${message.role}: ${settledText(message)}`))
      return scripted.stream(request, signal)
    },
  }
  const session = await chats.openChat(chatId)
  const answer = turn(session, user('Well?'), { model, id: 'u2', whenBusy: 'wait', ttl: 1000 })
  await createUIMessageStreamResponse({ stream: toUIMessageStream(answer) }).text()
  const before = ['user: What is there?', 'assistant: I look.', 'tool: a cat']
  expect(sent).toEqual([before, [...before, 'assistant: A cat.', 'user: Well?']])
  const parts = (await chats.loadChat(chatId)).flatMap(({ parts }) => parts)
  expect(parts.filter(({ type }) => type === 'tool-look')).toMatchObject([
    { state: 'output-available', output: 'a cat' },
  ])
  expect(parts.at(-1)).toMatchObject({ type: 'text', text: 'Well.' })
})

/** What a message says, or the results in it. */
const settledText = (message: Message): string => textOf(message)

const chunksOf = async (stream: ReadableStream<UIMessageChunk> | undefined): Promise<UIMessageChunk[]> => {
  const chunks: UIMessageChunk[] = []
  for await (const chunk of stream as unknown as AsyncIterable<UIMessageChunk>) chunks.push(chunk)
  return chunks
}
const streamOf = (...chunks: readonly UIMessageChunk[]): ReadableStream<UIMessageChunk> =>
  new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
const cutOff: UIMessageChunk = { type: 'error', errorText: 'The answer was cut off.' }
const io = <A>(operation: string) => storeTask(async () => left({ _tag: 'Io', operation, cause: 'full' }), 'store') as A

it('the functions of the AI SDK name a wrong option, and chatStreams what it got in place of a store', async () => {
  const store = await inMemory.fresh()
  const wrong = { other: 1 } as never
  await expect(chatStore(store).createChat(wrong)).rejects.toThrow(
    new TypeError('createChat has no option "other". Its options: id, metadata'),
  )
  await expect(chatStreams(store).publish('c', streamOf(), wrong)).rejects.toThrow(
    new TypeError('publish has no option "other". Its options: ttl'),
  )
  await expect(chatStreams(store).resume('c', wrong)).rejects.toThrow(
    new TypeError('resume has no option "other". Its options: from'),
  )
  const answer = run({ model: scriptedModel([assistant('so')]), view: orThrow(settle([user('hi')])) })
  expect(() => toUIMessageStream(answer, wrong)).toThrow(
    new TypeError('toUIMessageStream has no option "other". Its options: messageId, originalMessages, onError'),
  )
  await answer.result()
  expect(() => aiSdkModel('openai/gpt-5', wrong)).toThrow(
    new TypeError('aiSdkModel has no option "other". Its options: model, name, onLosses'),
  )
  expect(() => chatStreams(undefined as never)).toThrow(
    new TypeError('chatStreams takes a store, such as memoryStore(), found nothing'),
  )
})

it('a stream goes on while its publisher lives, however often its reader looks', async () => {
  const inner = ownStore(await inMemory.fresh())
  const log = await inner.create({
    id: streamLogOf('c', 'x'),
    meta: { 'indelible.stream': { ttl: 2 } },
    encrypt: false,
  })
  const { number } = await inner.lease(log.id, { holder: 'stream', ttl: 600_000 })
  let looks = 0
  const leaseOf: Store['leaseOf'] = (id) => ((looks += 1), inner.leaseOf(id))
  const stream = (await chatStreams({ ...inner, leaseOf }).resume('c')) as ReadableStream<UIMessageChunk>
  const reading = chunksOf(stream)
  await expect.poll(() => looks).toBeGreaterThan(3)
  const { head } = await inner.append(log.id, {
    expected: log.head,
    rows: ['{"type":"start"}', '{"type":"finish"}'].map((body) => ({ kind: 'entry' as const, body })),
  })
  await inner.append(log.id, { expected: head, rows: [{ kind: 'note', body: '{"end":true}' }] })
  await inner.release(log.id, number)
  expect(await reading).toEqual([{ type: 'start' }, { type: 'finish' }])
})

it('a stream whose chunks cannot be stored is cut off, not ended', async () => {
  const inner = ownStore(await inMemory.fresh())
  const append: Store['append'] = (id, append) =>
    append.rows.some(({ body }) => body.includes('finish')) ? io('append') : inner.append(id, append)
  const chunks = await chunksOf(
    await chatStreams({ ...inner, append }).publish('c', streamOf({ type: 'start' }, { type: 'finish' }), { ttl: 30 }),
  )
  expect(chunks.at(-1)).toEqual(cutOff)
  expect(chunks).not.toContainEqual({ type: 'finish' })
})

it('chat streams return the fault of a store that fails', async () => {
  const inner = ownStore(await inMemory.fresh())
  const fails = { fault: { _tag: 'Io' } }
  for (const wrong of [{ create: () => io<never>('create') }, { lease: () => io<never>('lease') }])
    await expect(chatStreams({ ...inner, ...wrong }).publish('c', streamOf())).rejects.toMatchObject(fails)
  await inner.remove(streamLogOf('c', 'x'))()
  expect(await chatStreams(inner).resume('c')).toBeUndefined()
  await inner.create({ id: streamLogOf('c', 'x'), meta: {}, encrypt: false })
  for (const wrong of [
    { list: () => io<never>('list') },
    { read: () => io<never>('read') },
    { leaseOf: () => io<never>('leaseOf') },
  ])
    await expect(chatStreams({ ...inner, ...wrong }).resume('c')).rejects.toMatchObject(fails)
})

it("a client gets the texts of a tool's result, and its failures as errors", async () => {
  const picture = image({ type: 'url', url: 'https://example.com/a.png' })
  const look = runTool({
    name: 'look',
    parameters: { type: 'object' },
    run: () => toolOutput([text('a'), picture, text('b')]),
  })
  const chunks = await chunksOf(
    toUIMessageStream(
      run({
        model: scriptedModel([assistant(toolCall('c', 'look', '{}')), assistant('so')]),
        view: orThrow(settle([user('hi')])),
        tools: [look],
      }),
    ),
  )
  expect(chunks.filter(({ type }) => type.startsWith('tool-output'))).toEqual([
    { type: 'tool-output-available', toolCallId: 'c', output: 'a\nb' },
  ])
})
