/** Answers requests from recorded calls: each with its own answer, or with the reason why there is none. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, present, right, type Immutable } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Api } from '../apis/index.ts'
import { formsOf, type ContentOptions, type Forms } from '../content.ts'
import { RequestReader } from '../request-reader.ts'
import { apiOf, shownUrl, type ObservedRequest, type ParsedRequest } from '../wire.ts'
import { CallTree, type CallNode, type Found, type ReplayCall } from './call-tree.ts'
import { Matching, type Ignored, type Settings } from './matching.ts'
import { messagesText, missText, type Miss } from './miss.ts'
import type { RecordedCall, RecordedReply, RecordedRequestFacts } from './recorded-calls.ts'
import { folderOf, isSameFolder, type WorkFolder } from './work-folder.ts'

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

/** What was wrong in a replay. */
export type ReplayFault =
  /** Requests that no recorded call is equal to. `texts` says of the first ten how they differ. */
  | { readonly _tag: 'NotRecorded'; readonly count: number; readonly texts: readonly string[] }
  /** Requests whose recorded answers can't be given again. */
  | { readonly _tag: 'NotReplayable'; readonly count: number; readonly texts: readonly string[] }
  /** Recorded calls that nobody asked for, by their names. */
  | { readonly _tag: 'NotAsked'; readonly calls: readonly string[] }
  /** The record can't be read. */
  | { readonly _tag: 'UnreadRecord'; readonly reason: string }
  /** The file could not be written. */
  | { readonly _tag: 'NotWritten'; readonly reason: string }

/** Answers from a record. */
export class Replay {
  readonly #source: ReplaySource
  readonly #matching: Matching
  readonly #reader: RequestReader
  /** The calls with all their settings, by message. */
  readonly #tree = new CallTree()
  /** The calls of which only the messages are known, by the parts of these. */
  readonly #loose = new CallTree()
  readonly #all: ReplayCall[] = []
  /** Where a request continues that names a response, or a conversation that the provider has. */
  readonly #after = new Map<string, CallNode>()
  readonly #missed: { readonly tag: 'NotRecorded' | 'NotReplayable'; readonly text: string }[] = []
  #answered = 0
  #isClosed = false
  #loaded: Promise<Either<string, void>> | undefined

  constructor(source: ReplaySource) {
    this.#source = source
    this.#matching = new Matching(source.ignore)
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
      this.#missed.push({ tag: 'NotRecorded', text: `A call of ${api.name} can't be read: ${parsed.left}.` })
      return refused(parsed.left)
    }
    const parsedRequest = this.#reader.recorded(parsed.right)
    const folder = this.#folderOf(parsedRequest)
    const found = this.#find(parsedRequest, folder)
    if (found._tag !== 'Found') return this.#miss(parsedRequest, folder, found)
    const { call } = found
    const reply = await call.answer()
    if (reply._tag === 'NotReplayable') {
      const text = `${call.name} can't be replayed: ${reply.reason}. To replace it, ${this.#source.recordAnew}.`
      if (this.#source.isRecorded !== true) this.#missed.push({ tag: 'NotReplayable', text })
      return { _tag: 'NotReplayable', text }
    }
    this.#answered++
    const isMoved = call.folder !== undefined && folder !== undefined && !isSameFolder(call.folder, folder)
    const folders = isMoved ? { recorded: call.folder, now: folder } : undefined
    const { stream, countsTokens } = parsedRequest
    return { _tag: 'Replayed', call, reply, request: { api, url: request.url, stream, countsTokens, folders } }
  }

  /** Read the record, once. */
  load(): Promise<Either<string, void>> {
    this.#loaded ??= this.#source.calls().then((calls) => {
      if (isLeft(calls)) return calls
      for (const call of calls.right) this.#add(call)
      return right(undefined)
    })
    return this.#loaded
  }

  summary(): ReplaySummary {
    return Object.freeze({
      answered: this.#answered,
      missed: this.#missed.length,
      unused: this.#all.filter(({ isAsked }) => !isAsked).length,
    })
  }

  /** End the replay. @returns what was wrong, if anything was */
  async close(): Promise<ReplayFault | undefined> {
    this.#isClosed = true
    const loaded = await this.load()
    if (isLeft(loaded)) return { _tag: 'UnreadRecord', reason: loaded.left }
    for (const tag of ['NotRecorded', 'NotReplayable'] as const) {
      const texts = this.#missed.flatMap((miss) => (miss.tag === tag ? [miss.text] : []))
      if (texts.length > 0) return { _tag: tag, count: texts.length, texts: texts.slice(0, 10) }
    }
    const unused = this.#all.filter(({ isAsked }) => !isAsked).map(({ name }) => name)
    return unused.length > 0 ? { _tag: 'NotAsked', calls: unused } : undefined
  }

  #add(call: RecordedCall): void {
    const { request, response } = call
    const folder = this.#folderOf(request)
    const settings = this.#matching.settings(request, folder)
    const own: ReplayCall = { ...call, settings, folder, isAsked: false }
    this.#all.push(own)
    if (isLoose(request)) {
      this.#loose.add(own, this.#partIdentities(request.messages, folder))
      return
    }
    const from = request.previous === undefined ? undefined : this.#after.get(request.previous)
    const node = this.#tree.add(own, this.#identities(request.messages, folder), from)
    if (response === undefined) return
    this.#after.set(response.id, this.#tree.walk(node, this.#identities(response.messages, folder), true).node)
  }

  #find(parsed: ParsedRequest, folder: WorkFolder | undefined): Found {
    const settings = this.#matching.settings(factsOf(parsed), folder)
    const from = parsed.previous === undefined ? undefined : this.#after.get(parsed.previous)
    const found = this.#tree.take(settings, this.#identities(parsed.messages, folder), from)
    if (found._tag === 'Found') return found
    const loose = this.#loose.take(settings, this.#partIdentities(parsed.messages, folder))
    if (loose._tag !== 'NotFound') return loose
    return found._tag === 'AskedAgain' || found.nearest !== undefined ? found : loose
  }

  #miss(
    parsed: ParsedRequest,
    folder: WorkFolder | undefined,
    found: Exclude<Found, { readonly _tag: 'Found' }>,
  ): ReplayOutcome {
    const settings = this.#matching.settings(factsOf(parsed), folder)
    const name = `A call of ${parsed.model} (${parsed.api}) with ${messagesText(parsed.messages.length)}`
    const text = this.#textOf({ messages: parsed.messages, settings, folder, name }, found)
    if (this.#source.isRecorded !== true) this.#missed.push({ tag: 'NotRecorded', text })
    return { _tag: 'NotRecorded', text }
  }

  #textOf(call: Miss['call'], found: Exclude<Found, { readonly _tag: 'Found' }>): string {
    const { ignore, recordAnew } = this.#source
    return missText({ call, found, matching: this.#matching, ignore, recordAnew })
  }

  /** The folder that a request names, if folders are not compared. */
  #folderOf(request: Pick<RecordedRequestFacts, 'system' | 'messages'>): WorkFolder | undefined {
    return this.#source.ignore.includes('folder') ? folderOf(request) : undefined
  }

  #identities(messages: readonly Immutable<Message>[], folder: WorkFolder | undefined): readonly string[] {
    return this.#matching.messages(messages).map((message) => this.#matching.identity(message, folder))
  }

  /** Identities of parts, since programs and formats group them into messages in their own ways. Instructions don't count. */
  #partIdentities(messages: readonly Immutable<Message>[], folder: WorkFolder | undefined): readonly string[] {
    return partsOf(messages as readonly Message[]).map((part) => this.#matching.identity(part, folder))
  }
}

const refused = (reason: string): ReplayOutcome => ({ _tag: 'Refused', text: `Refused: ${reason}.` })

/** Settings of which nothing is known. */
export const anySettings: Settings = {
  ...{ api: undefined, model: undefined, system: undefined, tools: undefined, parameters: undefined },
}

/** A request as a source has them. */
const factsOf = ({ api, model, system, tools, parameters, messages }: ParsedRequest): RecordedRequestFacts => ({
  ...{ api, model, parameters, messages },
  ...{ system: system ?? null, tools: tools ?? null },
})

const isLoose = ({ api, model, system, tools, parameters }: RecordedRequestFacts): boolean =>
  [api, model, system, tools, parameters].every((value) => value === undefined)

const knownParts = new WeakMap<Message, readonly Message[]>()

/** Each part as a message of its own, without reasoning and empty texts. */
export const partsOf = (messages: readonly Message[]): readonly Message[] =>
  messages.flatMap((message) => {
    const known = knownParts.get(message)
    if (known !== undefined) return known
    const role = message.role === 'tool' ? 'user' : message.role
    const parts =
      message.role === 'system' || message.role === 'developer'
        ? []
        : message.content
            .filter((part) => part.type !== 'reasoning' && !(part.type === 'text' && part.text === ''))
            .map((part): Message => ({ role, content: [part] }))
    knownParts.set(message, parts)
    return parts
  })
