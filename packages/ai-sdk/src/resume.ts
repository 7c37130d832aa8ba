/**
 * Resumable streams: their chunks are rows of a log in the store, so that another request, even in
 * another process, can continue where a reader stopped.
 */
import { checkStore } from 'indelible/internal/session'
import type { UIMessageChunk } from 'ai'
import { isLeft, isObject, optionsOf, parseJson, type JsonObject } from 'indelible/internal/json'
import { amount, FaultError, longestTimer } from 'indelible/internal/task'
import { followLog, type Head, type LogInfo, type Store } from 'indelible/store'
import { ownStore, storeFaultText, streamLogOf, streamLogs } from 'indelible/internal/store'

/** The options of a published stream. */
interface StreamOptions {
  /**
   * Milliseconds after which a stream whose process died counts as cut off, and after which an ended stream
   * is removed from the store. A reader that lags further behind gets an `error` chunk. Default: 15,000.
   */
  readonly ttl?: number
}

/** Where to resume reading. */
interface ResumeOptions {
  /** The number of chunks the reader has. Default: 0, which replays the whole message, as `useChat` expects. */
  readonly from?: number
}

/** Streams of chats. Its functions throw a `FaultError` if the store fails. */
export interface ChatStreams {
  /**
   * Store the chunks of a chat's stream as they arrive, and return a stream that follows them. The
   * source is read to its end even if nobody reads. A chat can have several streams at a time: none ends another.
   */
  readonly publish: (
    chatId: string,
    source: ReadableStream<UIMessageChunk>,
    options?: StreamOptions,
  ) => Promise<ReadableStream<UIMessageChunk>>
  /**
   * The chat's running stream from a chunk on; undefined (HTTP 204) if there is none. Of several, the oldest one whose
   * first chunk is a `start`: the answer that is being given, not one that waits for it, and not a title.
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
export const chatStreams: (store: Store) => ChatStreams = (base: Store, ...more: readonly unknown[]) => {
  checkStore('chatStreams', base)
  if (isObject(more[0]))
    throw new TypeError('chatStreams takes only a store: pass `ttl` to publish, and `from` to resume')
  const store = ownStore(base)
  return Object.freeze<ChatStreams>({
    publish: async (chatId, source, options) => {
      const { ttl = 15_000 } = optionsOf('publish', options, { ttl: true })
      amount('ttl', ttl, { unit: 'milliseconds', least: 1, most: longestTimer })
      const id = streamLogOf(chatId, crypto.randomUUID())
      const { head } = await openStreamLog(store, chatId, id, { [mark]: { ttl } })
      const { number } = await store.lease(id, { holder: 'stream', ttl })
      void publishStream(store, id, head, source, { number, ttl })
      void runningStreams(store, chatId).catch(() => undefined) // removes those whose publisher died
      return reader(store, id, 0, ttl)
    },
    resume: async (chatId, options) => {
      const { from = 0 } = optionsOf('resume', options, { from: true })
      const running = await runningStreams(store, chatId)
      const found = running.find(({ isAnswer }) => isAnswer) ?? running[0]
      return found && reader(store, found.id, from, found.ttl)
    },
  })
}

/** A stream that has not ended. */
interface RunningStream {
  readonly id: string
  readonly ttl: number
  /** Whether its first chunk starts a message. */
  readonly isAnswer: boolean
}

/** The streams of a chat that have not ended, the oldest first. Streams whose publisher died are removed. */
const runningStreams = async (store: Store, chatId: string): Promise<readonly RunningStream[]> => {
  const logs = await streamLogs(store, chatId)
  if (isLeft(logs)) throw new FaultError(logs.left, storeFaultText(logs.left))
  const running: RunningStream[] = []
  for (const { id, appended, created, meta } of logs.right) {
    const ttl = ttlIn(meta)
    const [first, last, lease] = await Promise.all([
      store.read(id, { from: 0, to: 1 })(),
      store.read(id, { from: -1 })(),
      store.leaseOf(id)(),
    ])
    const fault = [first, last, lease].find((answer) => isLeft(answer))
    if (fault !== undefined) {
      if (fault.left._tag === 'NoSuchLog') continue // it was removed meanwhile
      throw new FaultError(fault.left, storeFaultText(fault.left))
    }
    if (isLeft(first) || isLeft(last) || isLeft(lease)) continue
    if (lease.right === undefined) {
      if (store.now() - (appended ?? created) > ttl) await store.remove(id)()
    } else if (last.right[0]?.kind !== 'note')
      running.push({ id, ttl, isAnswer: first.right[0]?.body.startsWith('{"type":"start"') === true })
  }
  return running
}

/** The metadata key of a stream. */
const mark = 'indelible.stream'

const ttlIn = (meta: JsonObject): number => {
  const { ttl } = isObject(meta[mark]) ? meta[mark] : {}
  return typeof ttl === 'number' ? ttl : 15_000
}

/** The log of a chat's stream. In a store with keys it uses the chat's key, so destroying that key destroys both. */
const openStreamLog = async (store: Store, chatId: string, id: string, meta: JsonObject): Promise<LogInfo> => {
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
  times: { readonly number: number; readonly ttl: number },
): Promise<void> => {
  await storeChunks(store, id, head, source, times)
  const timer: unknown = setTimeout(() => void store.remove(id)(), times.ttl)
  ;(timer as { readonly unref?: () => void }).unref?.()
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
