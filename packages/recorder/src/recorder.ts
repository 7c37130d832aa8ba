/**
 * The recorder: it observes the traffic between a client and its provider, and stores it as sessions. The traffic
 * continues even if the recorder fails.
 */
import { checkStore } from 'indelible/internal/session'
import { optionsOf, type OptionNames } from 'indelible/internal/json'
import { digestOf } from 'indelible/internal/proof'
import type { Store } from 'indelible/store'
import { amount, reasonOf } from 'indelible/internal/task'
import { decompressBytes, mostWaiting, type Decompress } from './answers/body.ts'
import { Calls, type RecordedRequest, type OnPlace } from './call.ts'
import type { ContentOptions } from './requests/content.ts'
import { setupLength } from './conversations/compaction.ts'
import { chainOf } from './messages/identity.ts'
import { observeCall, type ObservedCall, type Recording } from './observed-call.ts'
import { Tally, type RecorderSummary } from './summary.ts'
import { apiOf, shownUrl, type ParsedRequest, type ObservedRequest } from './requests/wire.ts'

/** The options of a recorder. */
export interface RecorderOptions extends ContentOptions {
  /** The store of the sessions. The recorder does not close it. */
  readonly store: Store
  /**
   * The session of a request, by its id in the store, if the host knows it. Default: the session
   * whose messages the request continues, or that the client names.
   */
  readonly sessionOf?: (request: ObservedRequest) => string | undefined
  /** The share of conversations to record, from 0 to 1, decided by how each begins. Default: 1. */
  readonly sample?: number
  /** Receives notices about calls that could not be recorded, and sessions that could not be read. Default: none. */
  readonly onNotice?: (notice: RecorderNotice) => void
  /** Decodes compressed requests and answers. Default: `gzip` and `deflate`, using the platform. */
  readonly decompress?: (encoding: string, bytes: Uint8Array) => Promise<Uint8Array>
  /**
   * `exact`: the events of streamed answers are recorded as they came, so that a replay streams the same pieces. They are
   * kept with their message, and erased with it. Default: only the messages, of which a replay makes events.
   */
  readonly answers?: 'exact'
  /** The time of an observation, in milliseconds since 1970. Default: the store's clock. */
  readonly now?: () => number
}

/** A notice of a recorder. `reason` is a sentence. */
export type RecorderNotice =
  /** A call is not recorded, or not completely. `url` has no password or query: Gemini's may hold a key. */
  | { readonly _tag: 'NotRecorded'; readonly url: string; readonly reason: string }
  /**
   * A session can't be read, because its key is missing or it is damaged, so the recorder can't tell whether a call
   * continues it. The call is recorded in another session, which `reason` names. Reported once for each session.
   */
  | { readonly _tag: 'SessionUnread'; readonly session: string; readonly reason: string }

/** A recorder. */
export interface Recorder {
  /**
   * Begin to observe a request. Undefined if it carries no conversation; it is only counted. `onPlace`
   * is called with the session id just before the call's receipt is appended to that session.
   */
  readonly observe: (request: ObservedRequest, onPlace?: (session: string) => void) => ObservedCall | undefined
  /** Resolves when every call that has ended so far is stored or reported to `onNotice`. */
  readonly settled: () => Promise<void>
  /**
   * Ends the open calls, and resolves when they are stored: answers as far as they came, marked as interrupted.
   * It waits for requests that are not reported as `sent`.
   */
  readonly close: () => Promise<void>
  /** The recordings so far. */
  readonly summary: () => RecorderSummary
}

/** Create a recorder. Several, even in different processes, may record into one store. */
export const createRecorder = (input: RecorderOptions): Recorder => {
  const options = optionsOf('createRecorder', input, optionNames)
  checkStore('createRecorder', options.store)
  if (options.answers !== undefined && options.answers !== 'exact')
    throw new TypeError(`createRecorder takes the answers exact, found ${JSON.stringify(options.answers)}`)
  amount('sample', options.sample ?? 1, { unit: 'conversations in all', most: 1 })
  const keeper = new Keeper(options)
  return Object.freeze<Recorder>({
    observe: (request, onPlace) => keeper.observe(request, onPlace),
    settled: () => keeper.settled(),
    close: () => keeper.close(),
    summary: () => keeper.summary(),
  })
}

const optionNames: OptionNames<RecorderOptions> = {
  store: true,
  sessionOf: true,
  sample: true,
  onNotice: true,
  decompress: true,
  answers: true,
  now: true,
  redact: true,
  content: true,
}

/** The milliseconds between two calls that began in the same one. */
const shortestTime = 2 ** -10

/** Records calls one after the other. */
class Keeper implements Recording {
  readonly calls: Calls
  readonly now: () => number
  readonly plain: Decompress
  readonly wantsEvents: boolean
  readonly #options: RecorderOptions
  readonly #tally = new Tally()
  readonly #open = new Set<ObservedCall>()
  #work: Promise<void> = Promise.resolve()
  #waiting = 0
  /** When the last call began. */
  #started = 0
  /** Bytes of waiting requests. */
  #held = 0

  constructor(options: RecorderOptions) {
    this.#options = options
    this.calls = new Calls(options.store, options, this.#tally, (unread) =>
      this.#tell({ _tag: 'SessionUnread', ...unread }),
    )
    this.now = options.now ?? (() => options.store.now())
    this.plain = options.decompress ?? decompressBytes
    this.wantsEvents = options.answers === 'exact'
  }

  startTime(): number {
    const time = this.now()
    const isSame = time <= this.#started && time > this.#started - 1
    return (this.#started = isSame ? this.#started + shortestTime : time)
  }

  hold(bytes: number): boolean {
    if (bytes > 0 && this.#held + bytes > mostWaiting) return false
    this.#held += bytes
    return true
  }

  release(bytes: number): void {
    this.#held -= bytes
  }

  observe(request: ObservedRequest, onPlace: OnPlace | undefined): ObservedCall | undefined {
    const api = apiOf(request)
    if (api === undefined) {
      this.#tally.passed()
      return undefined
    }
    const call = observeCall(api, request, this, onPlace)
    this.#open.add(call)
    void call.over.then(() => this.#open.delete(call))
    return call
  }

  async close(): Promise<void> {
    const open = [...this.#open]
    for (const call of open) call.fail('the recorder was closed before the answer ended')
    await Promise.all(open.map(({ over }) => over))
    await this.calls.conversations.keepSums()
  }

  async settled(): Promise<void> {
    while (this.#waiting > 0) await this.#work
  }

  summary(): RecorderSummary {
    return this.#tally.summary()
  }

  async begin(parsed: ParsedRequest, request: ObservedRequest): Promise<RecordedRequest | undefined> {
    if (await this.#isSampled(parsed)) return this.calls.begin(parsed, this.#options.sessionOf?.(request))
    this.#tally.passed()
    return undefined
  }

  #tell(notice: RecorderNotice): void {
    try {
      this.#options.onNotice?.(notice)
    } catch {
      // The traffic continues even if the callback throws.
    }
  }

  /** Failures are reported. */
  later<T>(url: string, of: 'request' | 'answer', work: () => Promise<T>): Promise<T | undefined> {
    this.#waiting++
    const done = this.#work.then(work).catch((cause: unknown) => {
      this.#tally.lost(of)
      this.#tell({ _tag: 'NotRecorded', url: shownUrl(url), reason: reasonOf(cause) })
      return undefined
    })
    this.#work = done.then(() => void this.#waiting--)
    return done
  }

  /** Whether a conversation is in the sample; the same for all its calls. */
  async #isSampled({ messages, client, previous }: ParsedRequest): Promise<boolean> {
    const { sample = 1 } = this.#options
    if (sample >= 1 || sample <= 0) return sample > 0
    if (previous !== undefined) return this.calls.conversations.hasResponse(previous)
    // By the first message that is no system text: that text is common to many conversations, and may change in one.
    const setup = setupLength(messages)
    const beginning = chainOf(setup === messages.length ? messages : messages.slice(setup, setup + 1)).at(-1)
    const digest = digestOf(client ?? beginning ?? '')
    return Number.parseInt(digest.slice(0, 8), 16) / 2 ** 32 < sample
  }
}
