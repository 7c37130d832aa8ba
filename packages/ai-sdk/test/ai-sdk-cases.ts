/** What chats of the AI SDK over a store must do, on any store. */
import { setTimeout } from 'node:timers/promises'
import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import * as fc from 'fast-check'
import { isLeft, right } from 'fp-ts/lib/Either.js'
import { expect, it, vi } from 'vitest'
import {
  assistant,
  orThrow,
  settle,
  text,
  textOf,
  toolCall,
  user,
  type Message,
  type Part,
  type Store,
} from 'indelible'
import { aiUiMessages } from '@indelible/codecs/ai-sdk'
import { chatStore, chatStreams, toUIMessageStream } from '@indelible/ai-sdk'
import { run, scriptedModel, sessionHandler, tool, turn, type Model } from 'indelible/run'
import { ownStore, storeTask, streamLogOf, streamLogs } from '../../../src/store/internal.ts'
import { verified, type Place } from '../../../test/session/adapter-stores.ts'

const approval = { id: 'a', reason: 'because' }
const part = fc.oneof(
  fc.string().map((text) => ({ type: 'text', text, state: 'done' })),
  fc.string().map((text) => ({ type: 'text', text, state: 'streaming' })),
  fc.constant({ type: 'step-start' }),
  fc.constant({ type: 'reasoning', text: 'hm', state: 'done', providerMetadata: { openai: { itemId: 'r' } } }),
  fc.constant({ type: 'data-weather', id: 'd', data: { city: 'Rome' } }),
  fc.constant({ type: 'source-url', sourceId: '1', url: 'https://example.com' }),
  fc
    .record({
      id: fc.constantFrom('1', '2', '3'),
      dynamic: fc.boolean(),
      state: fc.constantFrom<object>(
        { state: 'input-streaming', rawInput: '{"a', inputEncoding: 'json' },
        { state: 'input-streaming' },
        { state: 'input-available', input: { a: 1 } },
        { state: 'approval-requested', input: {}, approval },
        { state: 'approval-responded', input: {}, approval: { ...approval, approved: true } },
        { state: 'approval-responded', input: {}, approval: { ...approval, approved: false } },
        { state: 'output-available', input: {}, output: { rows: [1] } },
        { state: 'output-available', input: {}, output: 'text', preliminary: true },
        { state: 'output-error', input: {}, errorText: 'no' },
        { state: 'output-denied', input: {}, approval: { ...approval, approved: false, reason: 'no' } },
      ),
    })
    .map(({ id, dynamic, state }) =>
      Object.assign(
        dynamic ? { type: 'dynamic-tool', toolName: 'look' } : { type: 'tool-look' },
        { toolCallId: id },
        state,
      ),
    ),
)
const message = fc.record({
  id: fc.string({ minLength: 1, maxLength: 4 }),
  role: fc.constantFrom('user', 'assistant', 'assistant', 'system'),
  metadata: fc.option(fc.constant({ sent: 1 }), { nil: undefined }),
  parts: fc.array(part, { maxLength: 5 }),
})

/** What happens to a chat: it grows, its last message grows or changes, it is cut and goes on otherwise. */
const deed = fc.oneof(
  { weight: 3, arbitrary: message.map((added) => (chat: UIMessage[]) => [...chat, added as UIMessage]) },
  {
    weight: 3,
    arbitrary: part.map((added) => (chat: UIMessage[]) => {
      const last = chat.at(-1)
      return last === undefined ? chat : [...chat.slice(0, -1), { ...last, parts: [...last.parts, added as never] }]
    }),
  },
  fc.tuple(fc.nat(3), message).map(([count, added]) => (chat: UIMessage[]) => [
    ...chat.slice(0, Math.max(0, chat.length - count)),
    added as UIMessage,
  ]),
  fc.constant((chat: UIMessage[]) => [...chat]),
)

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const chunksOf = async (stream: ReadableStream<UIMessageChunk>): Promise<UIMessageChunk[]> => {
  const chunks: UIMessageChunk[] = []
  for await (const chunk of stream as unknown as AsyncIterable<UIMessageChunk>) chunks.push(chunk)
  return chunks
}

const streamOf = (chunks: Iterable<UIMessageChunk>): ReadableStream<UIMessageChunk> =>
  new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })

const uiMessage = (id: string, role: 'user' | 'assistant', text: string): UIMessage => ({
  id,
  role,
  parts: [{ type: 'text', text }],
})

export const aiSdkCases = ({ fresh }: Place, runs: number): void => {
  it('returns every snapshot of generated chats, with one record each', async () => {
    const store = await fresh()
    let chats = 0
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 8 }), async (deeds) => {
        const { createChat, loadChat, saveChat, openChat } = chatStore(store)
        const chatId = await createChat({ id: `chat ${chats++}` })
        let chat: UIMessage[] = []
        let ever = 0
        for (const done of deeds) {
          chat = done(chat)
          await saveChat({ chatId, messages: chat })
          expect(await loadChat(chatId)).toEqual(asJson(chat))
          const { len } = await openChat(chatId)
          expect(len).toBeGreaterThanOrEqual(ever)
          ever = len
        }
        const before = (await openChat(chatId)).head()
        await saveChat({ chatId, messages: chat })
        expect((await openChat(chatId)).head()).toEqual(before) // what is there is not appended again
        await verified(store, chatId)
      }),
      { numRuns: runs },
    )
  })

  it('replaces the tail for a growing message; regenerated and removed messages stay in the verified record', async () => {
    const store = await fresh()
    const { createChat, saveChat, openChat, loadChat } = chatStore(store)
    const chatId = await createChat({ metadata: { user: 'ada' } })
    const turn = (...parts: readonly string[]): UIMessage => ({
      id: 'a',
      role: 'assistant',
      parts: parts.flatMap((text) => [
        { type: 'step-start' as const },
        { type: 'text' as const, text, state: 'done' as const },
      ]),
    })
    await saveChat({ chatId, messages: [uiMessage('u', 'user', 'hi'), turn('one')] })
    await saveChat({ chatId, messages: [uiMessage('u', 'user', 'hi'), turn('one', 'two')] })
    expect((await openChat(chatId)).len).toBe(3) // the step that was there stayed
    await saveChat({ chatId, messages: [uiMessage('u', 'user', 'hi'), turn('one', 'other')] })
    await saveChat({ chatId, messages: [uiMessage('u2', 'user', 'anew')] })
    expect((await loadChat(chatId)).map(({ id }) => id)).toEqual(['u2'])
    const session = await openChat(chatId)
    expect(session.view().toArray().map(textOf)).toEqual(['hi', 'one', 'two', 'other', 'anew'])
    expect(session.metadata()).toEqual({ 'ai-sdk': 'chat', user: 'ada' })
    await verified(store, chatId)
    await expect(loadChat('nowhere')).rejects.toThrow('nowhere')
    await expect(saveChat({ chatId, messages: [{ id: 'x', role: 'data', parts: [] } as never] })).rejects.toThrow(
      '[0].role should be one of system, user, assistant',
    )
    const { len } = await openChat(chatId)
    for (const id of ['', 'same']) {
      const twice = { chatId, messages: [uiMessage(id, 'user', 'one'), uiMessage(id, 'assistant', 'two')] }
      await expect(saveChat(twice)).rejects.toThrow(`messages[1] has the id "${id}" of messages[0]`)
    }
    expect((await openChat(chatId)).len).toBe(len)
  })

  it('requests of a chat that overlap both stay if each passes what it loaded; one that replaces what changed is refused', async () => {
    const { loadChat, saveChat, openChat } = chatStore(await fresh())
    const said = (id: string, role: 'user' | 'assistant' = 'user'): UIMessage => uiMessage(id, role, id)
    const shown = async (): Promise<string> => (await loadChat('c')).map(({ id }) => id).join()
    await saveChat({ chatId: 'c', messages: [said('q'), said('a', 'assistant')] })
    const loaded = await loadChat('c')
    const exchange = (tab: number): UIMessage[] => [...loaded, said(`q${tab}`), said(`a${tab}`, 'assistant')]
    const [a, b] = [exchange(1), exchange(2)]
    await saveChat({ chatId: 'c', messages: a, loaded })
    await saveChat({ chatId: 'c', messages: b, loaded })
    expect(await shown()).toBe('q,a,q1,a1,q2,a2')
    const { len } = await openChat('c')
    await saveChat({ chatId: 'c', messages: a, loaded })
    await saveChat({ chatId: 'c', messages: loaded, loaded })
    expect((await openChat('c')).len).toBe(len)
    await saveChat({ chatId: 'c', messages: [...loaded, said('q3')], loaded })
    expect(await shown()).toBe('q,a,q1,a1,q2,a2,q3')
    const refused = [
      [loaded[0] as UIMessage, said('again', 'assistant')], // regenerates an answer that others have built on
      [...loaded, said('q1'), said('else', 'assistant')], // what another request answered
    ]
    for (const messages of refused)
      await expect(saveChat({ chatId: 'c', messages, loaded })).rejects.toMatchObject({
        fault: { _tag: 'ChatChanged', id: 'c' },
      })
    expect((await openChat('c')).len).toBe(len + 1)
    await saveChat({
      chatId: 'c',
      messages: [loaded[0] as UIMessage, said('again', 'assistant')],
      loaded: await loadChat('c'),
    })
    expect(await shown()).toBe('q,again')
    await expect(saveChat({ chatId: 'c', messages: a, loaded })).rejects.toThrow('another request changed chat "c"')
  })

  it('streams to a client what loadChat returns later', async () => {
    const store = await fresh()
    const { createChat, loadChat, openChat, saveChat } = chatStore(store)
    const chatId = await createChat()
    await saveChat({ chatId, messages: [uiMessage('u', 'user', 'look')] })
    const session = await openChat(chatId)
    const look = tool({
      name: 'look',
      description: 'looks',
      parameters: { type: 'object', properties: {} },
      run: async () => 'a cat',
    })
    const answer = run({
      model: scriptedModel([assistant('I look.', toolCall('c1', 'look', { at: 'a' })), assistant('A cat it is.')]),
      view: orThrow(settle(session.conversation())),
      tools: [look],
      handlers: [sessionHandler(session)],
    })
    let assembled: UIMessage | undefined
    for await (const message of readUIMessageStream({ stream: toUIMessageStream(answer) })) assembled = message
    expect(asJson(await loadChat(chatId))).toEqual([uiMessage('u', 'user', 'look'), asJson(assembled)])
    expect(assembled?.parts.map(({ type }) => type)).toEqual(['step-start', 'text', 'tool-look', 'step-start', 'text'])
    // What useChat sends back is what is stored: nothing is retracted, and the next message is appended.
    const { len } = session
    await saveChat({ chatId, messages: [...(await loadChat(chatId)), uiMessage('u2', 'user', 'thanks')] })
    expect((await openChat(chatId)).len).toBe(len + 1)
    expect(
      (await openChat(chatId))
        .notes()
        .toArray()
        .some(({ type }) => type === 'retraction'),
    ).toBe(false)
  })

  it('round-trips lone surrogates and bytes in metadata; saving again appends nothing', async () => {
    const { createChat, loadChat, openChat, saveChat } = chatStore(await fresh())
    const chatId = await createChat()
    const odd: UIMessage = {
      id: 'u',
      role: 'user',
      parts: [{ type: 'text', text: 'cut \ud83d' }],
      metadata: { thumbnail: new Uint8Array([0, 255, 7]), none: undefined, half: ['\udc00'] },
    }
    for (let time = 0; time < 2; time++) await saveChat({ chatId, messages: [odd, uiMessage('v', 'user', 'whole')] })
    expect(await loadChat(chatId)).toEqual([odd, uiMessage('v', 'user', 'whole')])
    expect((await openChat(chatId)).len).toBe(2)
    await expect(
      saveChat({ chatId, messages: [uiMessage('', 'user', 'a'), uiMessage('', 'user', 'b')] }),
    ).rejects.toThrow('saveChat: messages[1] has the id "" of messages[0]')
  })

  it('returns tool-role messages of older versions', async () => {
    const { loadChat, openChat, saveChat } = chatStore(await fresh())
    const messages = [
      uiMessage('u', 'user', 'go'),
      { id: 't', role: 'tool', parts: [{ type: 'text', text: 'done' }], content: 'done' },
      { id: 'e', role: 'tool', parts: [], metadata: { by: 1 } },
      uiMessage('v', 'user', 'and?'),
    ] as unknown as UIMessage[]
    for (let time = 0; time < 2; time++) await saveChat({ chatId: 'c', messages })
    expect(await loadChat('c')).toEqual(messages)
    expect((await openChat('c')).len).toBe(4)
  })

  it('gives a client the stored ids and reasoning, even if a model reuses call ids', async () => {
    const { createChat, loadChat, openChat, saveChat } = chatStore(await fresh())
    const chatId = await createChat()
    const session = await openChat(chatId)
    const look = tool({ name: 'look', parameters: { type: 'object' }, run: () => 'rain' })
    const thought = (text: string, ...more: readonly Part[]): Message => ({
      role: 'assistant',
      content: [{ type: 'reasoning', text, signature: `of ${text}` }, ...more],
    })
    const model = scriptedModel([
      thought('hm', toolCall('call_0', 'look', '{}')),
      assistant('It rains.'),
      { role: 'assistant', content: [text('Once more.'), ...thought('hm', toolCall('call_0', 'look', '{}')).content] },
      thought('so', text('It rains again.')),
    ])
    const client: UIMessage[] = []
    for (const id of ['u1', 'u2']) {
      const question = uiMessage(id, 'user', 'Does it rain?')
      const [input] = orThrow(aiUiMessages.decode([question])).messages
      const answer = turn(session, input ?? '', { model, tools: [look] })
      let assembled: UIMessage | undefined
      for await (const message of readUIMessageStream({ stream: toUIMessageStream(answer) })) assembled = message
      client.push(question, assembled as UIMessage)
      expect(asJson(await loadChat(chatId))).toEqual(asJson(client))
    }
    expect(JSON.stringify(client)).not.toContain('input-available')
    const { size } = session.head()
    await saveChat({ chatId, messages: client })
    expect((await openChat(chatId)).head().size).toBe(size)
  })

  it.each(['its answer', 'a tool'])('streams what loadChat returns later, also if %s is interrupted', async (what) => {
    const { createChat, loadChat, openChat } = chatStore(await fresh())
    const session = await openChat(await createChat())
    const aborted = (signal: AbortSignal): Promise<never> =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    const thought = (...more: readonly Part[]): Message => ({
      role: 'assistant',
      content: [{ type: 'reasoning', text: 'hm', signature: 's' }, ...more],
    })
    let asked = 0
    const model: Model = {
      name: 'm',
      async *stream(request, signal) {
        if (asked++ > 0) return yield* scriptedModel([thought(text('Yes.'))]).stream(request, signal)
        const call = toolCall('call_0', 'look', '{}')
        if (what === 'a tool') return yield* scriptedModel([thought(call)]).stream(request, signal)
        yield { type: 'block_start', index: 0, block: 'text' }
        yield { type: 'text_delta', index: 0, block: 'text', text: 'No' }
        await aborted(signal)
      },
    }
    const look = tool({ name: 'look', parameters: { type: 'object' }, run: (_, { signal }) => aborted(signal) })
    const answer = turn(session, 'Does it rain?', { model, tools: [look] })
    let assembled: UIMessage | undefined
    for await (const message of readUIMessageStream({ stream: toUIMessageStream(answer) })) {
      const isReady =
        what !== 'a tool' || message.parts.some((part) => 'state' in part && part.state === 'input-available')
      if (isReady && asked === 1) answer.interrupt({ behavior: 'discard', message: 'Look again.' })
      assembled = message
    }
    const stored = (await loadChat(session.id)).flatMap(({ role, parts }) => (role === 'assistant' ? parts : []))
    // The interrupt's message stands between two answers, whose steps count separately.
    const ids = what === 'a tool' ? { id: undefined } : {}
    const shown = (parts: readonly object[] = []): unknown => asJson(parts.map((part) => ({ ...part, ...ids })))
    expect(shown(assembled?.parts)).toEqual(shown(stored))
  })

  it('closes no block of a discarded answer in the answer after it', async () => {
    const { createChat, openChat } = chatStore(await fresh())
    const session = await openChat(await createChat())
    let asked = 0
    const model: Model = {
      name: 'm',
      async *stream(request, signal) {
        if (asked++ > 0) return yield* scriptedModel([assistant('Yes.')]).stream(request, signal)
        for (const index of [0, 1]) yield { type: 'block_start', index, block: 'text' }
        answer.interrupt({ behavior: 'discard', message: 'Look again.' })
        await new Promise((_, reject) => {
          if (signal.aborted) reject(signal.reason as Error)
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        })
      },
    }
    const answer = turn(session, 'Does it rain?', { model })
    const types: string[] = []
    for await (const { type } of toUIMessageStream(answer)) types.push(type)
    expect(types.join(' ')).toMatch(
      / text-start text-start reset-step text-start (text-delta )+text-end finish-step finish$/,
    )
  })

  it('saves any beginning of a chat that runs wrote, with another message, and stores only that one', async () => {
    const { createChat, loadChat, openChat, saveChat } = chatStore(await fresh())
    const tools = [tool({ name: 'look', parameters: { type: 'object' }, run: () => 'rain' })]
    const call = (id: string): Part => toolCall(id, 'look', '{}')
    for (const kept of [0, 1, 2, 3, 4]) {
      const chatId = await createChat()
      const session = await openChat(chatId)
      const answers = ['1', '2'].flatMap((run) => [
        assistant('I look.', call(`a${run}`), call(`b${run}`)),
        assistant(call(`c${run}`)),
        assistant('It rains.'),
      ])
      const model = scriptedModel(answers)
      for (const text of ['Look.', 'Again.']) await turn(session, text, { model, tools }).result()
      const messages = [...(await loadChat(chatId)).slice(0, kept), uiMessage('new', 'user', 'Else?')]
      await saveChat({ chatId, messages })
      expect(asJson(await loadChat(chatId))).toEqual(asJson(messages))
      expect((await openChat(chatId)).len).toBe(session.len + 1)
    }
  })

  it("resumes an abandoned stream at its reader's position and ends it for all readers", async () => {
    const store = ownStore(await fresh())
    const streams = chatStreams(store)
    expect(Object.isFrozen(streams)).toBe(true)
    const chunks: UIMessageChunk[] = [
      { type: 'start', messageId: 'm' },
      { type: 'text-start', id: '1' },
      ...Array.from({ length: 20 }, (_, index) => ({ type: 'text-delta' as const, id: '1', delta: `${index} ` })),
      { type: 'text-end', id: '1' },
      { type: 'finish' },
    ]
    let write!: (chunk: UIMessageChunk | undefined) => void
    const source = new ReadableStream<UIMessageChunk>({
      start: (controller) => {
        write = (chunk) => (chunk === undefined ? controller.close() : controller.enqueue(chunk))
      },
    })
    expect(await streams.resume('c')).toBeUndefined()
    const [started, cleared] = [vi.spyOn(globalThis, 'setInterval'), vi.spyOn(globalThis, 'clearInterval')]
    const first = (await streams.publish('c', source, { ttl: 600_000 })).getReader()
    for (const chunk of chunks.slice(0, 10)) write(chunk)
    for (const chunk of chunks.slice(0, 7)) expect(await first.read()).toEqual({ done: false, value: chunk })
    await first.cancel() // the client is gone, the answer goes on
    const again = await streams.resume('c', { from: 7 })
    const replayed = await streams.resume('c')
    for (const chunk of chunks.slice(10)) write(chunk)
    write(undefined)
    expect(await chunksOf(again as ReadableStream<UIMessageChunk>)).toEqual(chunks.slice(7))
    expect(await chunksOf(replayed as ReadableStream<UIMessageChunk>)).toEqual(chunks)
    expect(await streams.resume('c')).toBeUndefined()
    const [log] = orThrow(await streamLogs(store, 'c'))
    await expect.poll(() => store.leaseOf(log?.id ?? '')).toBeUndefined() // it is released, long before it would end
    // No timer keeps the process alive.
    const running = new Set<unknown>(started.mock.results.map(({ value }) => value as unknown))
    for (const [timer] of cleared.mock.calls) running.delete(timer)
    expect([started.mock.calls.length > 0, running.size]).toEqual([true, 0])
    started.mockRestore()
    cleared.mockRestore()
    const next = await streams.publish('c', streamOf(chunks.slice(0, 2)))
    expect(orThrow(await streamLogs(store, 'c')).at(-1)?.meta['indelible.stream']).toEqual({ ttl: 15_000 })
    expect(await chunksOf(next)).toEqual(chunks.slice(0, 2))
  })

  it('watches no stream for a reader that left', async () => {
    const store = ownStore(await fresh())
    let watched = 0
    const watch: Store['watch'] = (id, wake) =>
      storeTask(async () => {
        const found = await store.watch(id, wake)()
        if (isLeft(found)) return found
        watched += 1
        return right(() => {
          watched -= 1
          found.right()
        })
      }, 'store.watch')
    let end!: () => void
    const open = new ReadableStream<UIMessageChunk>({ start: (controller) => void (end = () => controller.close()) })
    const reader = (await chatStreams({ ...store, watch }).publish('c', open, { ttl: 600_000 })).getReader()
    const reading = reader.read()
    await expect.poll(() => watched).toBe(1)
    await reader.cancel()
    expect((await reading).done).toBe(true)
    await expect.poll(() => watched).toBe(0)
    end()
  })

  it('ends a stream whose source fails with an error', async () => {
    const streams = chatStreams(await fresh())
    for (const ttl of [0, Infinity, 2 ** 31])
      await expect(streams.publish('c', streamOf([]), { ttl })).rejects.toThrow('ttl')
    const failing = new ReadableStream<UIMessageChunk>({
      start: (controller) => controller.enqueue({ type: 'start' }),
      pull: (controller) => controller.error(new Error('down')),
    })
    const cut = { type: 'error', errorText: 'The answer was cut off.' }
    expect((await chunksOf(await streams.publish('c', failing))).at(-1)).toEqual(cut)
  })

  it('no stream of a chat ends another one, and a page that comes back gets the answer that is being given', async () => {
    const streams = chatStreams(await fresh())
    const text = (delta: string): UIMessageChunk[] => [
      { type: 'start', messageId: delta },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta },
      { type: 'text-end', id: '1' },
      { type: 'finish' },
    ]
    const title: UIMessageChunk[] = [{ type: 'data-title', data: 'Ships', transient: true }]
    const refused: UIMessageChunk[] = [{ type: 'error', errorText: 'busy' }]
    const controlled = (): {
      readonly stream: ReadableStream<UIMessageChunk>
      readonly write: (chunk: UIMessageChunk) => void
      readonly end: () => void
    } => {
      let controller!: ReadableStreamDefaultController<UIMessageChunk>
      const stream = new ReadableStream<UIMessageChunk>({ start: (given) => void (controller = given) })
      return { stream, write: (chunk) => controller.enqueue(chunk), end: () => controller.close() }
    }
    const [first, queued, named] = [controlled(), controlled(), controlled()]
    const ttl = 600_000
    const pages = [await streams.publish('c', named.stream, { ttl })]
    named.write(title[0] as UIMessageChunk)
    pages.push(await streams.publish('c', first.stream, { ttl }))
    const [start, ...rest] = text('Argo')
    first.write(start as UIMessageChunk)
    const reader = (pages[1] as ReadableStream<UIMessageChunk>).getReader()
    expect((await reader.read()).value).toEqual(start) // stored: it is the answer that is being given
    pages.push(await streams.publish('c', queued.stream, { ttl })) // waits for the first one
    expect(await chunksOf(await streams.publish('c', streamOf(refused), { ttl }))).toEqual(refused)
    expect(await chunksOf(await streams.publish('c', streamOf(text('again')), { ttl }))).toEqual(text('again'))
    const back = (await streams.resume('c')) as ReadableStream<UIMessageChunk>
    for (const chunk of rest) first.write(chunk)
    first.end()
    expect(await chunksOf(back)).toEqual(text('Argo'))
    reader.releaseLock()
    expect(await chunksOf(pages[1] as ReadableStream<UIMessageChunk>)).toEqual(rest)
    for (const chunk of text('Jason')) queued.write(chunk)
    queued.end()
    named.end()
    expect(await chunksOf(pages[2] as ReadableStream<UIMessageChunk>)).toEqual(text('Jason'))
    expect(await chunksOf(pages[0] as ReadableStream<UIMessageChunk>)).toEqual(title)
    expect(await streams.resume('c')).toBeUndefined()
  })

  it('removes an ended stream after its time, and no other one', async () => {
    const store = ownStore(await fresh())
    const streams = chatStreams(store)
    const bodies = async (): Promise<readonly string[]> => {
      const logs = orThrow(await streamLogs(store, 'c'))
      const rows = await Promise.all(logs.map(({ id }) => store.read(id, { from: 0 })))
      return rows.flat().map(({ body }) => body)
    }
    await chunksOf(await streams.publish('c', streamOf([{ type: 'start' }]), { ttl: 1 }))
    await expect.poll(bodies).toEqual([])
    await chunksOf(await streams.publish('c', streamOf([{ type: 'start' }]), { ttl: 30 }))
    await chunksOf(await streams.publish('c', streamOf([{ type: 'finish' }]), { ttl: 600_000 }))
    await expect.poll(bodies).toEqual(['{"type":"finish"}', '{"end":true}'])
  })

  it('ends a stream whose process died with an error', async () => {
    const store = ownStore(await fresh())
    // A publisher that stores one chunk and is gone: its lease is renewed no more.
    const dead = await store.create({
      id: streamLogOf('c', 'x'),
      meta: { 'indelible.stream': { ttl: 40 } },
      encrypt: false,
    })
    await store.append(dead.id, { expected: dead.head, rows: [{ kind: 'entry', body: '{"type":"start"}' }] })
    const { number } = await store.lease(dead.id, { holder: 'stream', ttl: 600_000 })
    const streams = chatStreams(store)
    const chunks = ((await streams.resume('c')) as ReadableStream<UIMessageChunk>).getReader()
    expect((await chunks.read()).value).toEqual({ type: 'start' })
    await store.renew(dead.id, { number, ttl: 1 })
    expect((await chunks.read()).value).toMatchObject({ type: 'error' })
    expect((await chunks.read()).done).toBe(true)
    await setTimeout(50)
    expect(await streams.resume('c')).toBeUndefined()
    expect(await store.info(dead.id)()).toMatchObject({ left: { _tag: 'NoSuchLog' } }) // it was removed
  })

  it('a stream that ended whole before its reader got on is not cut off', async () => {
    const store = ownStore(await fresh())
    const log = await store.create({
      id: streamLogOf('c', 'x'),
      meta: { 'indelible.stream': { ttl: 2 } },
      encrypt: false,
    })
    const { number } = await store.lease(log.id, { holder: 'stream', ttl: 600_000 })
    const rows = ['{"type":"start"}', '{"type":"finish"}'].map((body) => ({ kind: 'entry' as const, body }))
    const { head } = await store.append(log.id, { expected: log.head, rows })
    const stream = (await chatStreams(store).resume('c')) as ReadableStream<UIMessageChunk>
    await store.append(log.id, { expected: head, rows: [{ kind: 'note', body: '{"end":true}' }] })
    expect(await chatStreams(store).resume('c')).toBeUndefined()
    await store.release(log.id, number)
    await setTimeout(30) // the reader looks after its publisher meanwhile
    expect(await chunksOf(stream)).toEqual([{ type: 'start' }, { type: 'finish' }])
  })

  it('takes the log of a stream without its mark for an abandoned one', async () => {
    const store = ownStore(await fresh())
    for (const meta of [{}, { 'indelible.stream': null }, { 'indelible.stream': { ttl: '1' } }]) {
      await store.create({ id: streamLogOf('c', 'x'), meta, encrypt: false })
      expect(await chatStreams(store).resume('c')).toBeUndefined()
      await store.remove(streamLogOf('c', 'x')) // it is there: its time is the default
    }
  })

  it('migrates chats in and out', async () => {
    const chats = chatStore(await fresh())
    const old = ['1', '2', '3'].map((id) => ({
      id,
      messages: [uiMessage(`u${id}`, 'user', id), uiMessage('a', 'assistant', 'yes')],
    }))
    expect(await chats.importChats(old)).toBe(3)
    expect(await chats.importChats(old)).toBe(0)
    const back: unknown[] = []
    for await (const chat of chats.exportChats()) back.push(asJson(chat))
    expect(back).toEqual(asJson(old.toReversed()))
    await (await chats.openChat('1')).append(user('by our own hand'))
    expect((await chats.loadChat('1')).length).toBe(3)
  })
}
