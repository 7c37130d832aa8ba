/** The calls of a record, and the requests that were answered with them: for an HTTP replay, and for a model. */
import type { Immutable } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { isInstruction } from '../conversations/compaction.ts'
import { CallTree, type CallNode, type Found, type ReplayCall } from './call-tree.ts'
import { Matching, type Ignored, type Settings } from './matching.ts'
import { missText } from './miss.ts'
import type { RecordedCall, RecordedRequestFacts } from './recorded-calls.ts'
import { folderOf, type WorkFolder } from './work-folder.ts'

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

/** Why a request was not answered from the record. */
type Missed = 'NotRecorded' | 'NotReplayable'

export class ReplayCalls {
  readonly #ignore: readonly Ignored[]
  /** How to record anew, for messages: a sentence without its point. */
  readonly #recordAnew: string
  readonly #matching: Matching
  /** The calls with all their settings, by message. */
  readonly #tree = new CallTree()
  /** The calls of which only the messages are known, by the parts of these. */
  readonly #loose = new CallTree()
  readonly #all: ReplayCall[] = []
  /** Where a request continues that names a response, or a conversation that the provider has. */
  readonly #after = new Map<string, CallNode>()
  readonly #missed: { readonly tag: Missed; readonly text: string }[] = []

  constructor(ignore: readonly Ignored[], recordAnew: string) {
    this.#ignore = ignore
    this.#recordAnew = recordAnew
    this.#matching = new Matching(ignore)
  }

  add(call: RecordedCall): void {
    const { request, response } = call
    const folder = this.folderOf(request)
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

  /**
   * The next recorded call that is equal to a request.
   *
   * @param name the request in a sentence
   * @returns the call; or a text that names the nearest one, and how it differs
   */
  take(request: RecordedRequestFacts, name: string): ReplayCall | string {
    const folder = this.folderOf(request)
    const settings = this.#matching.settings(request, folder)
    const found = this.#find(request, settings, folder)
    if (found._tag === 'Found') return found.call
    return missText({
      call: { messages: request.messages, settings, folder, name },
      found,
      matching: this.#matching,
      ignore: this.#ignore,
      recordAnew: this.#recordAnew,
    })
  }

  #find(request: RecordedRequestFacts, settings: Settings, folder: WorkFolder | undefined): Found {
    const looseCall = (): Found => this.#loose.take(settings, this.#partIdentities(request.messages, folder))
    if (isLoose(request)) return looseCall()
    const from = request.previous === undefined ? undefined : this.#after.get(request.previous)
    const found = this.#tree.take(settings, this.#identities(request.messages, folder), from)
    if (found._tag === 'Found') return found
    const loose = looseCall()
    if (loose._tag !== 'NotFound') return loose
    return found._tag === 'AskedAgain' || found.nearest !== undefined ? found : loose
  }

  /** The folder that a request names, if folders are not compared. */
  folderOf(request: Pick<RecordedRequestFacts, 'system' | 'messages'>): WorkFolder | undefined {
    return this.#ignore.includes('folder') ? folderOf(request) : undefined
  }

  /** Note a request that was not answered. */
  miss(tag: Missed, text: string): void {
    this.#missed.push({ tag, text })
  }

  get missed(): number {
    return this.#missed.length
  }

  /** The calls that nobody asked for, by their names. */
  get unused(): readonly string[] {
    return this.#all.filter(({ isAsked }) => !isAsked).map(({ name }) => name)
  }

  /** What was wrong, if anything was. */
  fault(): ReplayFault | undefined {
    for (const tag of ['NotRecorded', 'NotReplayable'] as const) {
      const texts = this.#missed.flatMap((miss) => (miss.tag === tag ? [miss.text] : []))
      if (texts.length > 0) return { _tag: tag, count: texts.length, texts: texts.slice(0, 10) }
    }
    const { unused } = this
    return unused.length > 0 ? { _tag: 'NotAsked', calls: unused } : undefined
  }

  #identities(messages: readonly Immutable<Message>[], folder: WorkFolder | undefined): readonly string[] {
    return this.#matching.messages(messages).map((message) => this.#matching.identity(message, folder))
  }

  /** Identities of parts, since programs and formats group them into messages in their own ways. Instructions don't count. */
  #partIdentities(messages: readonly Immutable<Message>[], folder: WorkFolder | undefined): readonly string[] {
    return partsOf(messages as readonly Message[]).map((part) => this.#matching.identity(part, folder))
  }
}

const isLoose = ({ api, model, system, tools, parameters }: RecordedRequestFacts): boolean =>
  [api, model, system, tools, parameters].every((value) => value === undefined)

const knownParts = new WeakMap<Message, readonly Message[]>()

/** Each part as a message of its own, without reasoning and empty texts. */
const partsOf = (messages: readonly Message[]): readonly Message[] =>
  messages.flatMap((message) => {
    const known = knownParts.get(message)
    if (known !== undefined) return known
    const role = message.role === 'tool' ? 'user' : message.role
    const parts = isInstruction(message)
      ? []
      : message.content
          .filter((part) => part.type !== 'reasoning' && !(part.type === 'text' && part.text === ''))
          .map((part): Message => ({ role, content: [part] }))
    knownParts.set(message, parts)
    return parts
  })
