/** Answers requests from recorded calls: each with its own answer, or with the reason why there is none. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, present, right } from 'indelible/internal/json'
import type { Api } from '../apis/index.ts'
import { formsOf, type ContentOptions, type Forms } from '../requests/content.ts'
import { RequestReader } from '../requests/request-reader.ts'
import { apiOf, shownUrl, type ObservedRequest, type ParsedRequest } from '../requests/wire.ts'
import type { FileRequest } from './file.ts'
import type { Ignored } from './matching.ts'
import { messagesText } from './miss.ts'
import type { RecordedCall, RecordedReply } from './recorded-calls.ts'
import { ReplayCalls, type ReplayFault } from './replay-calls.ts'
import { isSameFolder, type WorkFolder } from './work-folder.ts'

/** What a replay needs. */
export interface ReplaySource {
  /** The recorded calls; or the reason why they can't be read. */
  readonly calls: () => Promise<Either<string, readonly RecordedCall[]>>
  readonly ignore: readonly Ignored[]
  readonly redact: ContentOptions['redact']
  /** The form of requests in the record. Default: as a recorder writes them. */
  readonly forms?: Forms
  /** Whether requests that are missing are recorded, so that they are no fault. */
  readonly isRecorded?: true
  /** How to record anew, for messages: a sentence without its point. */
  readonly recordAnew: string
}

/** A request, and the recorded reply that it has. */
export type ReplayOutcome =
  | {
      readonly _tag: 'Replayed'
      readonly call: RecordedCall
      readonly reply: Extract<RecordedReply, { readonly _tag: 'Reply' | 'NoReply' }>
      readonly request: ReplayRequest
    }
  /** No call is equal, or its answer can't be given again. `text` has at most 20 lines. */
  | { readonly _tag: 'NotRecorded' | 'NotReplayable'; readonly text: string }
  /** The URL is none of a recorded API, or the replay is closed. */
  | { readonly _tag: 'Refused'; readonly text: string }

/** What the writer of a reply has to know of its request. */
export interface ReplayRequest {
  readonly api: Api
  readonly url: string
  readonly stream: boolean
  /** Whether a stream has the token counts in a chunk of their own. */
  readonly countsTokens: boolean
  /** The folder of the recording and that of the request, if folders are not compared. */
  readonly folders: { readonly recorded: WorkFolder; readonly now: WorkFolder } | undefined
}

/** The counts of a replay. */
export interface ReplaySummary {
  /** The number of requests that were answered from the record. */
  readonly answered: number
  /** The number of requests that had no answer there. */
  readonly missed: number
  /** The number of recorded calls that nobody asked for. */
  readonly unused: number
}

/** Answers from a record. */
export class Replay {
  readonly #source: ReplaySource
  readonly #calls: ReplayCalls
  readonly #reader: RequestReader
  #answered = 0
  #isClosed = false
  #loaded: Promise<Either<string, void>> | undefined

  constructor(source: ReplaySource) {
    this.#source = source
    this.#calls = new ReplayCalls(source.ignore, source.recordAnew)
    this.#reader = new RequestReader(source.forms ?? formsOf(present({ redact: source.redact })))
  }

  /** The reply for a request. Requests get their answers in the order of these calls. */
  async ask(request: ObservedRequest, body: string): Promise<ReplayOutcome> {
    const api = apiOf(request)
    if (api === undefined)
      return refused(
        `a replay contacts no server, and ${request.method} ${shownUrl(request.url)} is no call of a model`,
      )
    if (this.#isClosed) return refused('the replay is closed')
    const loaded = await this.load()
    if (isLeft(loaded)) return refused(loaded.left)
    if (this.#isClosed) return refused('the replay is closed')
    const parsed = this.#reader.parse(api, body, request)
    if (isLeft(parsed)) {
      this.#calls.miss('NotRecorded', `A call of ${api.name} can't be read: ${parsed.left}.`)
      return refused(parsed.left)
    }
    const parsedRequest = this.#reader.recorded(parsed.right)
    const { model, messages, stream, countsTokens } = parsedRequest
    const name = `A call of ${model} (${api.name}) with ${messagesText(messages.length)}`
    const call = this.#calls.take(factsOf(parsedRequest), name)
    if (typeof call === 'string') return this.#miss('NotRecorded', call)
    const reply = await call.answer()
    if (reply._tag === 'NotReplayable') {
      const text = `${call.name} can't be replayed: ${reply.reason}. To replace it, ${this.#source.recordAnew}.`
      return this.#miss('NotReplayable', text)
    }
    this.#answered++
    const folder = this.#calls.folderOf(parsedRequest)
    const isMoved = call.folder !== undefined && folder !== undefined && !isSameFolder(call.folder, folder)
    const folders = isMoved ? { recorded: call.folder, now: folder } : undefined
    return { _tag: 'Replayed', call, reply, request: { api, url: request.url, stream, countsTokens, folders } }
  }

  /** Read the record, once. */
  load(): Promise<Either<string, void>> {
    this.#loaded ??= this.#source.calls().then((calls) => {
      if (isLeft(calls)) return calls
      for (const call of calls.right) this.#calls.add(call)
      return right(undefined)
    })
    return this.#loaded
  }

  summary(): ReplaySummary {
    return Object.freeze({
      answered: this.#answered,
      missed: this.#calls.missed,
      unused: this.#calls.unused.length,
    })
  }

  /** End the replay. @returns what was wrong, if anything was */
  async close(): Promise<ReplayFault | undefined> {
    this.#isClosed = true
    const loaded = await this.load()
    if (isLeft(loaded)) return { _tag: 'UnreadRecord', reason: loaded.left }
    return this.#calls.fault()
  }

  #miss(tag: 'NotRecorded' | 'NotReplayable', text: string): ReplayOutcome {
    if (this.#source.isRecorded !== true) this.#calls.miss(tag, text)
    return { _tag: tag, text }
  }
}

const refused = (reason: string): ReplayOutcome => ({ _tag: 'Refused', text: `Refused: ${reason}.` })

/** A request as a source has them. */
export const factsOf = (request: ParsedRequest): FileRequest => {
  const { api, model, system = null, tools = null, parameters, messages, previous } = request
  return { api, model, parameters, messages, system, tools, ...present({ previous }) }
}
