/**
 * The recorder: it is told what goes between a client and its provider, and keeps it as sessions. Whatever happens to it,
 * the traffic goes on.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, jsonEqual, right, type Json } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { ReceiptNote, Usage } from '../notes/index.ts'
import { digestOf, type BlockId } from '../proof/index.ts'
import { createSession, forkSession, openSession } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import { amount, reasonOf } from '../task/index.ts'
import { AnswerReader, type Answered } from './answer.ts'
import { cacheBreak } from './cache-break.ts'
import { recordedForm, type Redact } from './content.ts'
import { Conversation, type RecordFault, type SentBefore } from './conversation.ts'
import { chainOf, identityOf } from './identity.ts'
import { Places, type PlaceKey } from './places.ts'
import {
  asSent,
  detailsJson,
  sentOf,
  type CacheBreak,
  type CallDetails,
  type Sent,
  type SentEntries,
} from './receipt.ts'
import { apiOf, readAsked, type Asked, type ObservedRequest } from './wire.ts'

/** How a recorder works. */
export interface RecorderOptions {
  /** Where sessions are kept. The recorder does not close it. */
  readonly store: Store
  /**
   * The session of a request, by its id in the store, if the host knows it. Default: the one whose messages it continues,
   * or that the client names.
   */
  readonly sessionOf?: (request: ObservedRequest) => string | undefined
  /** Changes each message before it is recorded. Default: nothing is changed. */
  readonly redact?: Redact
  /** With false only lengths, digests and figures are recorded. Default: true. */
  readonly content?: boolean
  /** The share of conversations that are recorded, from 0 to 1; which ones is told by their first message. Default: 1. */
  readonly sample?: number
  /** Told what could not be recorded. Default: nobody. */
  readonly onNotice?: (notice: RecorderNotice) => void
  /** Bytes of a request or an answer in another encoding than text. Default: `gzip` and `deflate`, by the platform. */
  readonly decompress?: (encoding: string, bytes: Uint8Array) => Promise<Uint8Array>
}

/** What a recorder tells. */
export interface RecorderNotice {
  /** Names the notice. */
  readonly _tag: 'NotRecorded'
  /** The address that was called. */
  readonly url: string
  /** Why, in words. */
  readonly reason: string
}

/** What was recorded so far. */
export interface RecorderSummary {
  /** The sessions that calls were recorded in, in the order of their first call. */
  readonly sessions: readonly string[]
  /** How many calls were recorded. */
  readonly calls: number
  /** How many of them failed or broke off. */
  readonly failed: number
  /** How many requests went by that carry no conversation. */
  readonly passed: number
  /** How many calls could not be recorded. */
  readonly lost: number
  /** The tokens of all calls, as the providers counted them. */
  readonly usage: Required<Usage>
  /** Where cached prefixes ended. */
  readonly breaks: readonly (CacheBreak & { readonly session: string })[]
  /** Tokens by model. */
  readonly models: ReadonlyMap<string, Required<Usage>>
}

/** A call that is observed: tell it what goes by. None of this throws or waits. */
export interface ObservedCall {
  /** The body of the request, which was forwarded; or why it can't be seen. The answer may have come before. */
  readonly sent: (body: string | Uint8Array | Error) => void
  /** The status and the headers of the answer came. */
  readonly answered: (status: number, header: (name: string) => string | undefined) => void
  /** A piece of the body of the answer. It is copied, if it is kept. */
  readonly chunk: (bytes: Uint8Array) => void
  /** The answer is whole. */
  readonly end: () => void
  /** The connection broke, or the client gave up. */
  readonly fail: (reason: unknown) => void
}

/** A recorder. */
export interface Recorder {
  /** Begin to observe a request. Undefined: it carries no conversation, and is counted. */
  readonly observe: (request: ObservedRequest) => ObservedCall | undefined
  /** Everything that was told so far is stored, or was told to `onNotice`. */
  readonly settled: () => Promise<void>
  /** What was recorded so far. */
  readonly summary: () => RecorderSummary
}

/** Milliseconds after a request in which the answer goes first; then the request is recorded while its provider thinks. */
const beforeBegin = 20

/** How many sessions are kept open. */
const maxOpen = 500

/** Make a recorder. Several, also in other processes, may record into one store. */
export const createRecorder = (options: RecorderOptions): Recorder => {
  amount('sample', options.sample ?? 1, { unit: 'conversations in all', most: 1 })
  const keeper = new Keeper(options)
  return Object.freeze<Recorder>({
    observe: (request) => keeper.observe(request),
    settled: () => keeper.settled(),
    summary: () => keeper.summary(),
  })
}

/** A call whose request is recorded: where its answer goes. */
interface Begun {
  readonly asked: Asked
  readonly conversation: Conversation
  /** The length of the conversation that was sent. */
  readonly len: number
  readonly sent: Sent
  readonly now: SentBefore
  readonly blocks: Pick<CallDetails, 'system' | 'tools'>
  readonly broke: CacheBreak | undefined
  readonly digest: string
  readonly head: { readonly size: number; readonly root: string }
}

const noUsage: Required<Usage> = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

class Keeper {
  readonly #options: RecorderOptions
  readonly #store: Store
  readonly #places: Places
  /** By session id, the one that was used last at the end. */
  readonly #open = new Map<string, Conversation>()
  readonly #blocks = new Set<string>()
  readonly #sessions = new Set<string>()
  readonly #breaks: (CacheBreak & { readonly session: string })[] = []
  readonly #models = new Map<string, Required<Usage>>()
  #work: Promise<void> = Promise.resolve()
  #waiting = 0
  #calls = 0
  #failed = 0
  #passed = 0
  #lost = 0

  constructor(options: RecorderOptions) {
    this.#options = options
    this.#store = options.store
    this.#places = new Places(options.store)
  }

  observe(request: ObservedRequest): ObservedCall | undefined {
    const api = apiOf(request)
    if (api === undefined) {
      this.#passed++
      return undefined
    }
    const at = this.#store.now()
    let begun: Promise<Begun | undefined> = Promise.resolve(undefined)
    let begin = (): void => {}
    let reader: AnswerReader | undefined
    let encoded: { readonly encoding: string; readonly chunks: Uint8Array[] } | undefined
    let status: number | undefined
    let firstByte: number | undefined
    let over = false
    let seen = false
    let finishing: (() => void) | undefined
    const finish = (whole: boolean, reason?: unknown): void => {
      if (over) return
      over = true
      begin()
      const duration = Math.max(0, this.#store.now() - at)
      // Behind the request, in whatever order they are told: a provider may refuse one before it has read it.
      finishing = () =>
        void this.#later(request.url, async () => {
          const call = await begun
          if (call === undefined) return
          if (encoded !== undefined) reader?.take(await this.#plain(encoded.encoding, joined(encoded.chunks)))
          const answered = reader?.end(whole)
          // A client may stop reading when the stream has said that it is done.
          const failed = reason === undefined || answered?.whole === true ? undefined : reasonOf(reason)
          await this.#finish(call, answered, {
            at,
            duration,
            ...(firstByte !== undefined && { firstByte }),
            ...(status !== undefined && { status }),
            ...(failed !== undefined && { error: failed.slice(0, 500).toWellFormed() }),
          })
        })
      if (seen) finishing()
    }
    return {
      sent: (body) => {
        const copy = body instanceof Uint8Array ? body.slice() : body
        const work = async (): Promise<Begun | undefined> => {
          if (copy instanceof Error) throw copy
          const encoding = request.header('content-encoding')
          const bytes =
            typeof copy === 'string' || isIdentity(encoding) ? copy : await this.#plain(encoding as string, copy)
          const asked = readAsked(api, typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes), request)
          if (isLeft(asked)) throw new Error(asked.left)
          if (!this.#isSampled(asked.right)) {
            this.#passed++
            return undefined
          }
          return this.#begin(asked.right, this.#options.sessionOf?.(request))
        }
        const timer = setTimeout(() => begin(), beforeBegin)
        begin = () => {
          begin = () => {}
          clearTimeout(timer)
          begun = this.#later(request.url, work)
        }
        seen = true
        if (finishing === undefined) return
        begin()
        finishing()
      },
      answered: (given, header) => {
        status = given
        const encoding = header('content-encoding')
        reader = new AnswerReader(api, header('content-type'))
        if (!isIdentity(encoding)) encoded = { encoding: encoding as string, chunks: [] }
      },
      chunk: (bytes) => {
        if (firstByte === undefined) setTimeout(() => begin(), 0) // once the caller has it
        firstByte ??= Math.max(0, this.#store.now() - at)
        if (encoded !== undefined) encoded.chunks.push(bytes.slice())
        else reader?.take(bytes)
      },
      end: () => finish(true),
      fail: (reason) => finish(false, reason ?? 'the client gave up'),
    }
  }

  async settled(): Promise<void> {
    while (this.#waiting > 0) await this.#work
  }

  summary(): RecorderSummary {
    let usage = noUsage
    for (const one of this.#models.values()) usage = added(usage, one)
    return Object.freeze({
      sessions: Object.freeze([...this.#sessions]),
      calls: this.#calls,
      failed: this.#failed,
      passed: this.#passed,
      lost: this.#lost,
      usage,
      breaks: Object.freeze([...this.#breaks]),
      models: new Map(this.#models),
    })
  }

  /** Do it behind everything that was told before. What goes wrong is told. */
  #later<T>(url: string, work: () => Promise<T>): Promise<T | undefined> {
    this.#waiting++
    const done = this.#work.then(work).catch((cause: unknown) => {
      this.#lost++
      try {
        this.#options.onNotice?.({ _tag: 'NotRecorded', url, reason: reasonOf(cause) })
      } catch {
        // The traffic goes on, whatever whoever is told does.
      }
      return undefined
    })
    this.#work = done.then(() => void this.#waiting--)
    return done
  }

  /** Whether a conversation is one of those that are recorded: the same for each of its calls. */
  #isSampled({ messages, client, previous }: Asked): boolean {
    const { sample = 1 } = this.#options
    if (sample >= 1 || previous !== undefined) return sample > 0
    const [first] = messages
    const digest = digestOf(client ?? (first === undefined ? '' : identityOf(first)))
    return Number.parseInt(digest.slice(0, 8), 16) / 2 ** 32 < sample
  }

  #plain(encoding: string, bytes: Uint8Array): Promise<Uint8Array> {
    return (this.#options.decompress ?? decompressed)(encoding, bytes)
  }

  /** Record what a request says, and find where its answer goes. */
  async #begin(asked: Asked, named: string | undefined): Promise<Begun> {
    const { redact, content = true } = this.#options
    const given = asked.messages.map((message) => recordedForm(message, redact, content))
    for (let attempt = 1; ; attempt++) {
      const found = await this.#find(asked, given, named)
      const { conversation, from, taken } = found
      const news = given.slice(taken)
      const appended =
        news.length === 0 && from === conversation.len ? right(undefined) : await conversation.replaceFrom(from, news)
      if (isLeft(appended)) {
        if (isOver(appended.left)) this.#open.delete(conversation.session.id)
        if (attempt < 5 && (appended.left._tag === 'SessionConflict' || isOver(appended.left))) continue
        throw problem('append to', conversation.session.id, appended.left)
      }
      await this.#index(conversation, from, from + news.length)
      const blocks = {
        ...(asked.system !== undefined && { system: await this.#block(asked.system) }),
        ...(asked.tools !== undefined && { tools: await this.#block(asked.tools) }),
      }
      const entries = await this.#entries(conversation, given, from, taken)
      const { last } = conversation
      const sent = sentOf(entries, last?.note === undefined ? undefined : { note: last.note, entries: last.entries })
      const now: SentBefore = {
        entries,
        tools: asked.tools === undefined ? undefined : JSON.stringify(asked.tools),
        system: asked.system === undefined ? undefined : JSON.stringify(asked.system),
        messages: given.map((message) => digestOf(JSON.stringify(asSent(message)))),
      }
      const whole = asked.previous === undefined // else the provider has what came before
      const broke = whole ? cacheBreak(last, now) : undefined
      conversation.last = whole ? now : undefined
      const head = conversation.session.head()
      const digest = digestOf(JSON.stringify([asked.system ?? null, asked.tools ?? null, now.messages]))
      return { asked, conversation, len: conversation.len, sent, now, blocks, broke, digest, head }
    }
  }

  /** The conversation that a request continues, the index from which it appends, and how many of its messages are there. */
  async #find(
    asked: Asked,
    given: readonly Message[],
    named: string | undefined,
  ): Promise<{ readonly conversation: Conversation; readonly from: number; readonly taken: number }> {
    if (asked.previous !== undefined) {
      for (const { session, len } of await this.#placesOf(`r:${asked.previous}`)) {
        const conversation = await this.#opened(session)
        if (conversation === undefined || conversation.len < len) continue
        if (conversation.len === len) return { conversation, from: len, taken: 0 }
        return { conversation: await this.#forked(conversation, len, asked.client), from: len, taken: 0 }
      }
    }
    const chain = chainOf(given)
    if (named !== undefined) {
      const conversation = await this.#named(named, asked)
      const shared = conversation === undefined ? 0 : sharedFrom(0, conversation, chain)
      if (conversation !== undefined) return { conversation, from: shared, taken: shared }
    }
    const match = await this.#longest(chain, asked.client)
    if (match === undefined) return { conversation: await this.#fresh(asked, given), from: 0, taken: 0 }
    const { conversation, len } = match
    if (len === conversation.len) return { conversation, from: len, taken: len }
    if (asked.client !== undefined && conversation.client === asked.client)
      return { conversation, from: len, taken: len } // the client has rewound its own
    // Nothing was answered in what they share: two that begin alike.
    if (!given.slice(0, len).some(({ role }) => role === 'assistant'))
      return { conversation: await this.#fresh(asked, given), from: 0, taken: 0 }
    return { conversation: await this.#forked(conversation, len, asked.client), from: len, taken: len }
  }

  /** The longest recorded run of messages that a chain continues. Cost: O(log messages) look-ups. */
  async #longest(
    chain: readonly string[],
    client: string | undefined,
  ): Promise<{ readonly conversation: Conversation; readonly len: number } | undefined> {
    const messages = chain.length - 1
    // Nearly every call continues what is open here by a few messages.
    for (let len = messages; len > Math.max(0, messages - 8); len--)
      for (const conversation of [...this.#open.values()].toReversed())
        if (conversation.len === len && conversation.chainAt(len) === chain[len]) return { conversation, len }
    const marks = marksUpTo(messages)
    let best: readonly Conversation[] = []
    let low = -1
    let high = marks.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const found = await this.#at(chain, marks[middle] as number)
      if (found.length === 0) high = middle - 1
      else {
        low = middle
        best = found
      }
    }
    const shared = best.map((conversation) => ({
      conversation,
      len: sharedFrom(marks[low] as number, conversation, chain),
    }))
    const most = Math.max(0, ...shared.map(({ len }) => len))
    const longest = shared.filter(({ len }) => len === most)
    return (
      longest.find(({ conversation, len }) => conversation.len === len) ??
      longest.find(({ conversation }) => client !== undefined && conversation.client === client) ??
      longest[0]
    )
  }

  /** The conversations that have these first messages, the one that was recorded last first. */
  async #at(chain: readonly string[], len: number): Promise<readonly Conversation[]> {
    const fitting: Conversation[] = []
    const places = await this.#placesOf(`m:${chain[len] as string}`)
    for (const { session } of places.slice(0, maxCandidates)) {
      const conversation = await this.#opened(session)
      if (conversation?.chainAt(len) === chain[len]) fitting.push(conversation as Conversation)
    }
    return fitting
  }

  async #placesOf(key: PlaceKey): Promise<readonly { readonly session: string; readonly len: number }[]> {
    const found = await this.#places.find(key)
    if (isLeft(found)) throw problem('look up', key, found.left)
    return found.right
  }

  async #index(conversation: Conversation, from: number, to: number): Promise<void> {
    const session = conversation.session.id
    const keys = marksUpTo(to)
      .filter((len) => len > from)
      .map((len) => [`m:${conversation.chainAt(len) as string}`, { session, len }] as const)
    if (keys.length === 0) return
    const added = await this.#places.add(keys)
    if (isLeft(added)) throw problem('index', session, added.left)
  }

  #keep(conversation: Conversation): Conversation {
    const { id } = conversation.session
    this.#open.delete(id)
    this.#open.set(id, conversation)
    for (const [oldest, { session }] of this.#open) {
      if (this.#open.size <= maxOpen) break
      this.#open.delete(oldest)
      void session.close()()
    }
    return conversation
  }

  /** A session as it is now; undefined if it is gone or has ended. */
  async #opened(id: string): Promise<Conversation | undefined> {
    const open = this.#open.get(id)
    if (open !== undefined) return this.#keep(open)
    const session = await openSession(this.#store, id)()
    if (isLeft(session)) {
      if (session.left._tag === 'NoSuchLog' || session.left._tag === 'SessionSealed') return undefined
      throw problem('open', id, session.left)
    }
    const client = session.right.metadata()['client']
    return this.#keep(new Conversation(session.right, typeof client === 'string' ? client : undefined))
  }

  async #fresh(asked: Asked, given: readonly Message[], id: string = newId(asked)): Promise<Conversation> {
    const made = await this.#made(asked, given, id)
    if (isLeft(made)) throw problem('create', id, made.left)
    return made.right
  }

  async #made(asked: Asked, given: readonly Message[], id: string): Promise<Either<RecordFault, Conversation>> {
    const title = titleOf(given)
    const metadata = {
      recorder: asked.api,
      model: asked.model,
      ...(title !== undefined && { title }),
      ...(asked.client !== undefined && { client: asked.client }),
    }
    const session = await createSession(this.#store, { id, metadata })()
    return isLeft(session) ? session : right(this.#keep(new Conversation(session.right, asked.client)))
  }

  /** Undefined: it has ended. */
  async #named(id: string, asked: Asked): Promise<Conversation | undefined> {
    const known = await this.#opened(id)
    if (known !== undefined) return known
    const made = await this.#made(asked, asked.messages, id)
    if (!isLeft(made)) return made.right
    if (made.left._tag !== 'LogExists') throw problem('create', id, made.left)
    return this.#opened(id) // another process was quicker
  }

  async #forked(from: Conversation, len: number, client: string | undefined): Promise<Conversation> {
    const { id } = from.session
    const at = len === 0 ? 0 : from.positionAt(len - 1) + 1
    const to = `${id.replace(/\.fork-[0-9a-f]+$/, '')}.fork-${randomHex()}`
    const { client: _of, ...metadata } = from.session.metadata()
    const forked = await forkSession(this.#store, id, {
      id: to,
      at,
      metadata: { ...metadata, ...(client !== undefined && { client }) },
    })()
    if (isLeft(forked)) throw problem('fork', id, forked.left)
    const session = await openSession(this.#store, to)()
    if (isLeft(session)) throw problem('open', to, session.left)
    const conversation = this.#keep(new Conversation(session.right, client))
    const mark = marksUpTo(len).at(-1)
    if (mark !== undefined) await this.#index(conversation, mark - 1, mark) // what is said in it is looked for from there
    return conversation
  }

  /** What was sent, by positions where the record says the same. */
  async #entries(
    conversation: Conversation,
    given: readonly Message[],
    from: number,
    taken: number,
  ): Promise<SentEntries> {
    const entries: (number | BlockId)[] = []
    const before = from - taken // what a provider has of it, where the request names an earlier response
    for (let index = 0; index < before; index++) entries.push(conversation.positionAt(index))
    for (const [index, message] of given.entries()) {
      const recorded = conversation.at(before + index)
      const same =
        recorded !== undefined && jsonEqual(asSent(recorded) as unknown as Json, asSent(message) as unknown as Json)
      entries.push(
        same ? conversation.positionAt(before + index) : await this.#block(asSent(message) as unknown as Json),
      )
    }
    return entries
  }

  /** Keep JSON as a block, once. */
  async #block(value: Json): Promise<BlockId> {
    const text = JSON.stringify(value)
    const id = digestOf(text) as BlockId
    if (this.#blocks.has(id)) return id
    const put = await this.#store.putBlocks([new TextEncoder().encode(text)])()
    if (isLeft(put)) throw problem('put a block', id, put.left)
    if (this.#blocks.size > 10_000) this.#blocks.clear()
    this.#blocks.add(id)
    return id
  }

  /** Record an answer and the receipt of its call: behind what was sent, or in a fork where something else came there. */
  async #finish(
    begun: Begun,
    answered: Answered | undefined,
    told: Pick<CallDetails, 'at' | 'duration' | 'firstByte' | 'status' | 'error'>,
  ): Promise<void> {
    const { asked, len, sent, blocks, broke, digest, head } = begun
    const { redact, content = true } = this.#options
    const error = told.error ?? answered?.error
    const messages = (answered?.messages ?? []).map((message) => recordedForm(message, redact, content))
    const cut = answered !== undefined && !answered.whole && error === undefined
    const details: CallDetails = {
      api: asked.api,
      sent,
      ...blocks,
      ...(asked.client !== undefined && { client: asked.client }),
      ...(answered?.id !== undefined && { response: answered.id }),
      ...told,
      ...(answered?.stop !== undefined && { stop: answered.stop }),
      ...(error !== undefined && { error }),
      ...((cut || (told.error !== undefined && messages.length > 0)) && { cut: true as const }),
      ...(broke !== undefined && { broke }),
    }
    let { conversation } = begun
    for (let attempt = 1; ; attempt++) {
      const receipt: ReceiptNote = {
        type: 'receipt',
        len: begun.conversation.session.len,
        head,
        contextDigest: digest,
        model: answered?.model ?? asked.model,
        ...(Object.keys(asked.parameters).length > 0 && { parameters: asked.parameters }),
        ...(answered?.usage !== undefined && { usage: answered.usage }),
        details: detailsJson(details),
      }
      if (messages.length > 0 && conversation.len !== len)
        conversation = await this.#forked(conversation, len, asked.client)
      const note = conversation.session.notes().length
      const finished = await conversation.finish(messages, receipt)
      if (!isLeft(finished)) {
        if (conversation === begun.conversation) begun.now.note = note
        break
      }
      if (attempt === 5 || finished.left._tag !== 'SessionConflict')
        throw problem('append an answer to', conversation.session.id, finished.left)
    }
    const session = conversation.session.id
    await this.#index(conversation, len, len + messages.length)
    if (answered?.id !== undefined && messages.length > 0) {
      const added = await this.#places.add([[`r:${answered.id}`, { session, len: len + messages.length }]])
      if (isLeft(added)) throw problem('index', session, added.left)
    }
    this.#sessions.add(session)
    this.#calls++
    if (error !== undefined || cut) this.#failed++
    if (broke !== undefined) this.#breaks.push({ ...broke, session })
    if (answered?.usage !== undefined) {
      const model = answered.model ?? asked.model
      this.#models.set(model, added(this.#models.get(model) ?? noUsage, answered.usage))
    }
  }
}

/** Whether a session takes nothing more. */
const isOver = ({ _tag }: RecordFault): boolean => _tag === 'NoSuchLog' || _tag === 'SessionSealed'

/** The lengths at which conversations are found: a few short ones, then each sixteenth. From there on they are compared. */
const marksUpTo = (len: number): readonly number[] => {
  const marks = [1, 2, 4, 8].filter((mark) => mark <= len)
  for (let mark = 16; mark <= len; mark += 16) marks.push(mark)
  return marks
}

/** How many conversations that begin alike are looked at, the last ones first. */
const maxCandidates = 32

/** How many messages a chain shares with a conversation, of which it is known that they share `from`. */
const sharedFrom = (from: number, conversation: Conversation, chain: readonly string[]): number => {
  let shared = from
  while (shared + 1 < chain.length && conversation.chainAt(shared + 1) === chain[shared + 1]) shared++
  return shared
}

const added = (one: Required<Usage>, more: Usage): Required<Usage> => ({
  input: one.input + more.input,
  output: one.output + more.output,
  cacheRead: one.cacheRead + (more.cacheRead ?? 0),
  cacheWrite: one.cacheWrite + (more.cacheWrite ?? 0),
})

const problem = (what: string, where: string, fault: RecordFault): Error =>
  new Error(`could not ${what} ${JSON.stringify(where)}: ${fault._tag}`, { cause: fault })

const titleOf = (messages: readonly Message[]): string | undefined => {
  const asked = messages.find(({ role }) => role === 'user')
  const text = asked?.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join(' ')
  const line = text?.trim().split('\n')[0]
  return line === undefined || line === '' ? undefined : line.slice(0, 80).toWellFormed()
}

const newId = ({ client }: Asked): string => {
  const name = client?.replaceAll(/[^\w.:-]/g, '-').slice(0, 100)
  return name === undefined || name === '' ? `recorded-${randomHex()}` : `${name}-${randomHex()}`
}

declare const setTimeout: (work: () => void, milliseconds: number) => number
declare const clearTimeout: (timer: number) => void
declare const crypto: { readonly randomUUID: () => string }
declare const TextDecoder: new () => { decode: (bytes: Uint8Array) => string }
declare const TextEncoder: new () => { encode: (text: string) => Uint8Array }

const randomHex = (): string => crypto.randomUUID().slice(0, 8)

const isIdentity = (encoding: string | undefined): boolean =>
  encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity'

const joined = (chunks: readonly Uint8Array[]): Uint8Array => {
  const bytes = new Uint8Array(chunks.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.length
  }
  return bytes
}

const decompressed = async (encoding: string, bytes: Uint8Array): Promise<Uint8Array> => {
  const format = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate' }[encoding.toLowerCase()]
  if (format === undefined)
    throw new Error(`the encoding ${JSON.stringify(encoding)} can't be read here: give decompress`)
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream(format as 'gzip'))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}
