/**
 * Resumable streams: their chunks are rows of a log in the store, so that another request, even in
 * another process, can continue where a reader stopped.
 */
import { checkStore } from 'indelible/session/kit'
import type { UIMessageChunk } from 'ai'
import { isLeft, isObject, optionsOf, parseJson, type JsonObject } from 'indelible/json/kit'
import { amount, longestTimer } from 'indelible/task/kit'
import { followLog, type Head, type LogInfo, type Store } from 'indelible/store'
import { ownStore, streamLogOf } from 'indelible/store/kit'

/** The options of a published stream. */
export interface StreamOptions {
  /**
   * Milliseconds after which a stream whose process died counts as cut off, and after which an ended stream
   * is removed from the store. A reader that lags further behind gets an `error` chunk. Default: 15,000.
   */
  readonly ttl?: number
}

/** Where to resume reading. */
export interface ResumeOptions {
  /** The number of chunks the reader has. Default: 0, which replays the whole message, as `useChat` expects. */
  readonly from?: number
}

/** Streams of chats. Its functions throw a `FaultError` if the store fails. */
export interface ChatStreams {
  /**
   * Store the chunks of a chat's stream as they arrive, and return a stream that follows them. The
   * source is read to its end even if nobody reads. Replaces the chat's earlier stream.
   */
  readonly publish: (
    chatId: string,
    source: ReadableStream<UIMessageChunk>,
    options?: StreamOptions,
  ) => Promise<ReadableStream<UIMessageChunk>>
  /**
   * The chat's running stream from a chunk on; undefined (HTTP 204) if there is none.
   *
   * @param options the number of chunks to skip
   * @returns the stream; undefined if the chat has none
   */
  readonly resume: (chatId: string, options?: ResumeOptions) => Promise<ReadableStream<UIMessageChunk> | undefined>
}

/**
 * Resumable streams on a store, without Redis or a separate publisher.
 *
 * A stream ends with its source. If the publishing process dies, readers get an `error` chunk after
 * `ttl` milliseconds.
 *
 * In a store with keys, chunks are encrypted with the key of the chat's session, or with a separate key if the
 * store has no session of that id. A stream is removed `ttl` milliseconds after its end; if its process died
 * before that, the next `resume` or `publish` removes it. `eraseMessages` reports a stream that still exists.
 *
 * Cost    one append for all chunks that arrive while the previous append is stored
 *
 * @example
 * const streams = chatStreams(store)
 * return createUIMessageStreamResponse({ stream: await streams.publish(chatId, toUIMessageStream(answer)) }) // POST
 * const stream = await streams.resume(chatId) // GET
 * return stream ? createUIMessageStreamResponse({ stream }) : new Response(null, { status: 204 })
 */
export const chatStreams: (store: Store) => ChatStreams = (given: Store, ...more: readonly unknown[]) => {
  checkStore('chatStreams', given)
  if (isObject(more[0]))
    throw new TypeError('chatStreams takes only a store: pass `ttl` to publish, and `from` to resume')
  const store = ownStore(given)
  return Object.freeze<ChatStreams>({
    publish: async (chatId, source, options) => {
      const { ttl = 15_000 } = optionsOf('publish', options, { ttl: true })
      amount('ttl', ttl, { unit: 'milliseconds', least: 1, most: longestTimer })
      const id = streamLogOf(chatId)
      await store.remove(id)() // the earlier stream, if any
      const name = crypto.randomUUID()
      const { head } = await openStreamLog(store, chatId, { [mark]: { ttl, name } })
      const { number } = await store.lease(id, { holder: 'stream', ttl })
      void publishStream(store, id, head, source, { number, ttl, name })
      return reader(store, id, 0, ttl)
    },
    resume: async (chatId, options) => {
      const { from = 0 } = optionsOf('resume', options, { from: true })
      const id = streamLogOf(chatId)
      const log = await store.info(id)()
      if (isLeft(log)) return log.left._tag === 'NoSuchLog' ? undefined : void (await store.info(id))
      const { ttl, name } = markIn(log.right.meta)
      const [last] = await store.read(id, { from: -1 })
      if ((await store.leaseOf(id)) === undefined) {
        const isOld = store.now() - log.right.appended > ttl
        if (isOld) await removeStream(store, id, name) // its publisher died, or could not remove it
        return undefined
      }
      if (last?.kind === 'note') return undefined
      return reader(store, id, from, ttl)
    },
  })
}

/** The metadata key of a stream. */
const mark = 'indelible.stream'

const markIn = (meta: JsonObject): { readonly ttl: number; readonly name: string } => {
  const { ttl, name } = isObject(meta[mark]) ? meta[mark] : {}
  return { ttl: typeof ttl === 'number' ? ttl : 15_000, name: String(name) }
}

/** The log of a chat's stream. In a store with keys it uses the chat's key, so destroying that key destroys both. */
const openStreamLog = async (store: Store, chatId: string, meta: JsonObject): Promise<LogInfo> => {
  const id = streamLogOf(chatId)
  if (store.encryption !== undefined) {
    const forked = await store.fork(chatId, { id, at: 0, meta, sameKey: true })()
    if (!isLeft(forked)) return forked.right
    if (forked.left._tag !== 'NoSuchLog') return store.fork(chatId, { id, at: 0, meta, sameKey: true }) // throws
  }
  return store.create({ id, meta, encrypt: true })
}

/** Store a stream, and remove it some time after its end. */
const publishStream = async (
  store: Store,
  id: string,
  head: Head,
  source: ReadableStream<UIMessageChunk>,
  { name, ...times }: { readonly number: number; readonly ttl: number; readonly name: string },
): Promise<void> => {
  await storeChunks(store, id, head, source, times)
  const timer: unknown = setTimeout(() => void removeStream(store, id, name), times.ttl)
  ;(timer as { readonly unref?: () => void }).unref?.()
}

/** Remove a stream, unless another one has replaced it. */
const removeStream = async (store: Store, id: string, name: string): Promise<void> => {
  const log = await store.info(id)()
  if (!isLeft(log) && markIn(log.right.meta).name === name) await store.remove(id)()
}

/** Store every chunk. Chunks that arrive during an append are stored together by the next one. */
const storeChunks = async (
  store: Store,
  id: string,
  start: Head,
  source: ReadableStream<UIMessageChunk>,
  { number, ttl }: { readonly number: number; readonly ttl: number },
): Promise<void> => {
  let head = start
  let waiting: string[] = []
  let writing: Promise<boolean> | undefined
  const write = async (): Promise<boolean> => {
    while (waiting.length > 0) {
      const rows = waiting.map((body) => ({ kind: 'entry' as const, body }))
      waiting = []
      const appended = await store.append(id, { expected: head, rows, lease: { number } })()
      if (isLeft(appended)) return false // the log was removed or replaced: nobody follows it
      head = appended.right.head
    }
    writing = undefined
    return true
  }
  const renewal = setInterval(() => void store.renew(id, { number, ttl })(), ttl / 3)
  const chunks = source.getReader()
  try {
    for (;;) {
      const next = await chunks.read()
      if (next.done) break
      waiting.push(JSON.stringify(next.value))
      writing ??= write()
    }
  } catch {
    waiting.push(JSON.stringify(cutOffChunk))
  }
  const isWhole = await (writing ?? write()) // a running write also stores what was added since it began
  clearInterval(renewal)
  if (isWhole) await store.append(id, { expected: head, rows: [{ kind: 'note', body: '{"end":true}' }] })()
  await store.release(id, number)()
}

const cutOffChunk: UIMessageChunk = { type: 'error', errorText: 'The answer was cut off.' }

/** The chunks of a log from one on, until the stream ends or its publisher dies. */
const reader = (store: Store, id: string, from: number, ttl: number): ReadableStream<UIMessageChunk> => {
  const ended = new AbortController()
  const rows = followLog(store, id, { from, signal: ended.signal })[Symbol.asyncIterator]()
  const looking = setInterval(() => {
    void (async () => {
      const lease = await store.leaseOf(id)()
      if (!isLeft(lease) && lease.right !== undefined) return
      const last = await store.read(id, { from: -1 })()
      if (!isLeft(last) && last.right[0]?.kind === 'note') return // the end marker is about to arrive
      ended.abort()
    })()
  }, ttl / 2)
  const close = (): void => {
    clearInterval(looking)
    ended.abort()
  }
  return new ReadableStream<UIMessageChunk>({
    pull: async (controller) => {
      try {
        const next = await rows.next()
        if (next.done === true) controller.enqueue(cutOffChunk) // its publisher died
        else if (next.value.kind === 'entry') {
          const chunk = parseJson(next.value.body)
          if (!isLeft(chunk)) return controller.enqueue(chunk.right as UIMessageChunk)
        }
      } catch {
        controller.enqueue(cutOffChunk) // the log was removed, or the store closed
      }
      close()
      controller.close()
    },
    cancel: close,
  })
}
