/** A session that the recorder appends to, with the digests of its messages. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, type Immutable } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { rangeDigest, type ReceiptNote, type SummaryNote } from 'indelible/internal/notes'
import type { PageKind } from 'indelible/pages'
import {
  appendWithBlocks,
  sessionFaultText,
  type MessagesAndNotes,
  type PagedMessages,
} from 'indelible/internal/session'
import { openSession, type Session } from 'indelible/session'
import type { Store } from 'indelible/store'
import type { ExplainedCall } from 'indelible/usage'
import { ReceiptCalls, UsageExplainer } from 'indelible/internal/usage'
import { FaultError } from 'indelible/internal/task'
import type { BlockId } from 'indelible/internal/proof'
import { baseOf, isInstruction, noteOfBase, setupLength, type Base, type Compaction } from './compaction.ts'
import { chainOf, emptyChain, identityOf, extendChain, linkDigest } from '../messages/identity.ts'
import { detailsOf, type SentEntries } from './receipt.ts'

/** The faults of recording. They are reported, never thrown at the caller of an API. */
export type RecordFault = Parameters<typeof sessionFaultText>[0]

export const problem = (what: string, where: string, fault: RecordFault): Error =>
  new Error(`could not ${what} ${JSON.stringify(where)}: ${sessionFaultText(fault)}`, { cause: fault })

/** A stored session as a conversation. Its messages are read, and a damaged one is found then. */
export const openConversation = async (store: Store, id: string): Promise<Either<RecordFault, Conversation>> => {
  const session = await openSession(store, id)()
  if (isLeft(session)) return session
  const client = session.right.metadata()['client']
  try {
    return right(new Conversation(session.right, typeof client === 'string' ? client : undefined))
  } catch (error) {
    if (error instanceof FaultError) return left(error.fault as RecordFault)
    throw error
  }
}

/**
 * A session with its state. Its messages are those that the client sends: the conversation, or the
 * client's last compaction of it with the later messages.
 */
export class Conversation {
  readonly session: Session
  /** The client's name for it. */
  readonly client: string | undefined
  /** The client that created or continued it, so knows all of it. Undefined if none has since it was opened. */
  caller: string | undefined
  /** The previous call, to see where the cached prefix ended. */
  last: SentBefore | undefined
  /** The receipts that later ones can refer to, by shared values: their indexes among the notes. */
  readonly #receipts = new Map<string, number>()
  /** Explains the calls of the receipts so far. */
  readonly #usage = { explainer: new UsageExplainer(), receipts: new ReceiptCalls(), notes: 0 }
  #base: Base
  #chain: string[]
  /** The chain ends of messages that the client recently retracted. */
  readonly #left: string[] = []

  constructor(session: Session, client: string | undefined) {
    this.session = session
    this.client = client
    this.#base = baseOf(session)
    this.#chain = this.#linked()
  }

  get receipts(): ReadonlyMap<string, number> {
    return this.#receipts
  }

  /** Remember a written receipt. */
  wrote(alike: string, note: number): void {
    if (this.#receipts.has(alike)) return
    if (this.#receipts.size === 16) this.#receipts.clear()
    this.#receipts.set(alike, note)
  }

  /** What the last call paid for. Its number is that among the session's receipts. Cost: O(notes since the last time). */
  explainLastCall(): ExplainedCall | undefined {
    const notes = this.session.notes()
    const { explainer, receipts } = this.#usage
    let explained: ExplainedCall | undefined
    for (; this.#usage.notes < notes.length; this.#usage.notes++) {
      const note = notes.at(this.#usage.notes)
      if (note?.type === 'receipt')
        explained = explainer.next(receipts.next(this.#usage.notes, note as ReceiptNote, undefined))
    }
    return explained
  }

  get len(): number {
    return this.#chain.length - 1
  }

  /** Whether the first `len` messages include the client's whole compaction. */
  isCompactedIn(len: number): boolean {
    const { entries, setup = 0 } = this.#base
    return entries.length > setup && len >= entries.length
  }

  /** The number of system and developer messages at its beginning. */
  get setup(): number {
    const { setup = 0 } = this.#base
    let count = 0
    while (count < this.len && (count < setup || isInstruction(this.at(count) ?? { role: '' }))) count++
    return count
  }

  /** Whether a chain continues with messages that its client retracted. */
  hasLeft(chain: readonly string[]): boolean {
    return this.#left.some((end) => chain.includes(end))
  }

  /** The chains of all prefixes, from the empty one on. */
  get chain(): readonly string[] {
    return this.#chain
  }

  /** The chain of the first `len` messages; undefined beyond the end. */
  chainAt(len: number): string | undefined {
    return this.#chain[len]
  }

  /** The message at an index: its position in the record, or its block if it exists only in a compaction. */
  entryAt(index: number): number | BlockId {
    const { entries } = this.#base
    return entries[index] ?? this.#positionAt(index - entries.length)
  }

  /** The length of the record when it had the first `len` messages. */
  recordAt(len: number): number {
    const own = len - this.#base.entries.length
    return own <= 0 ? this.#base.from : this.#positionAt(own - 1) + 1
  }

  /** The message at an index; undefined if it exists only in a compaction. */
  at(index: number): Immutable<Message> | undefined {
    const entry = this.entryAt(index)
    return typeof entry === 'number' ? this.session.view().at(entry) : undefined
  }

  identityAt(index: number): string {
    return this.#base.identities[index] ?? identityOf(this.at(index) as Message)
  }

  /** Whether the message at an index ends a response. Cost: O(rows after it). */
  isAnswer(index: number, response: string): boolean {
    const position = this.entryAt(index)
    for (let row = this.session.head().size - 1; row >= 0; row--) {
      const [found] = this.session.at().rows(row, row + 1)
      if (found === undefined || (found.kind === 'entry' ? found.position : found.after) !== position) continue
      if (found.kind === 'entry') break
      const details = found.note.type === 'receipt' ? detailsOf(found.note as ReceiptNote, this.session) : undefined
      if (details?.response === response) return true
    }
    return false
  }

  /** Read what other processes appended. */
  async refresh(): Promise<void> {
    const { size } = this.session.head()
    await this.session.refresh()()
    if (this.session.head().size > size) this.#reload()
  }

  /** The position of a message, counted from the client's last compaction. */
  #positionAt(index: number): number {
    const conversation = this.session.conversation()
    return conversation.positionAt(conversation.before(this.#base.from) + index) ?? this.session.len
  }

  /** Append messages at an index of the conversation, retracting the messages there. */
  async replaceFrom(from: number, news: readonly Message[]): Promise<Either<RecordFault, void>> {
    const { entries, identities } = this.#base
    const messages = { messages: news, pages: this.#kindsFrom(from, news) }
    if (from < entries.length) {
      const cut = {
        entries: entries.slice(0, from),
        identities: identities.slice(0, from),
        from: this.session.len,
        setup: Math.min(this.setup, from),
      }
      return this.#rebase(cut, this.#base.from, messages, undefined)
    }
    const expectedHead = this.session.head()
    const done = await (from < this.len
      ? this.session.rewind(this.#positionAt(from - entries.length), { instead: messages, expectedHead })()
      : this.session.append(messages, { expectedHead })())
    if (isLeft(done)) return this.#after(done)
    if (from < this.len) {
      this.#left.push(this.#chain[this.len] as string)
      if (this.#left.length > 16) this.#left.shift()
    }
    this.#chain.length = from + 1
    for (const message of news) this.#chain.push(extendChain(this.#chain.at(-1) as string, message))
    return right(undefined)
  }

  /**
   * The page kinds of messages that replace those from an index on: one that is there unchanged keeps its kind, also
   * the kind that a note gave it.
   */
  #kindsFrom(from: number, messages: readonly Message[]): readonly (PageKind | undefined)[] {
    if (from >= this.len) return []
    const { pages } = this.session.at()
    const kinds = new Map<string, (PageKind | undefined)[]>() // by identity; of equal messages in order
    for (let index = this.len - 1; index >= from; index--) {
      const [entry, identity] = [this.entryAt(index), this.identityAt(index)]
      const kind = typeof entry === 'number' ? pages[entry] : undefined
      const same = kinds.get(identity)
      if (same === undefined) kinds.set(identity, [kind])
      else same.push(kind)
    }
    return messages.map((message) => kinds.get(identityOf(message))?.pop())
  }

  /**
   * Record a client's compaction: the new messages, the summary as a note, and the messages that
   * the client sends from now on.
   *
   * @param blocks the blocks of messages that exist only in the compaction, by index
   * @param stored the bytes of these blocks
   */
  async compact(
    { upTo, summary, places }: Compaction,
    messages: readonly Message[],
    blocks: ReadonlyMap<number, BlockId>,
    stored: readonly Uint8Array[] = [],
  ): Promise<Either<RecordFault, void>> {
    const { len } = this.session
    const news = messages.filter((_, index) => places[index] === 'new')
    // New messages at its end belong to the conversation again.
    const own = places.findLastIndex((place) => place !== 'new') + 1
    let next = len
    const entries = places
      .slice(0, own)
      .map((place, index) => (place === 'new' ? next++ : (blocks.get(index) ?? this.entryAt(place as number))))
    const from = upTo < this.len ? this.recordAt(upTo) : len
    const before = this.session.conversation().slice(0, this.session.conversation().before(from))
    const note: SummaryNote | undefined =
      summary === undefined || before.length === 0
        ? undefined
        : { type: 'summary', from: 0, to: from, sourceDigest: rangeDigest(before), text: summary }
    // Messages at its end that end the record as well continue from there.
    const record = this.session.conversation()
    let kept = 0
    const isKept = (): boolean =>
      next === len &&
      kept < own &&
      kept < before.length &&
      entries.at(-1 - kept) === record.positionAt(before.length - 1 - kept)
    while (isKept()) kept++
    const base: Base = {
      entries: entries.slice(0, own - kept),
      identities: messages.slice(0, own - kept).map(identityOf),
      setup: Math.min(setupLength(messages), own - kept),
      from: kept === 0 ? next : (record.positionAt(before.length - kept) ?? next),
    }
    return this.#rebase(base, from, news, note, stored)
  }

  /** Continue from the same messages as the conversation that this one is a fork of. */
  async adopt(store: Store, other: Conversation): Promise<Either<RecordFault, void>> {
    const base = other.#base
    const ids = base.entries.filter((entry) => typeof entry === 'string')
    const blocks = ids.length === 0 ? right([]) : await store.getBlocks(ids)()
    if (isLeft(blocks)) return blocks
    const stored = blocks.right.filter((bytes) => bytes !== undefined) // an erasure may have removed one
    return this.#rebase(base, this.session.len, [], undefined, stored)
  }

  /** Append messages and a new base. Messages of the record from a position on are retracted. */
  async #rebase(
    base: Base,
    from: number,
    messages: readonly Message[] | PagedMessages,
    summary: SummaryNote | undefined,
    stored: readonly Uint8Array[] = [],
  ): Promise<Either<RecordFault, void>> {
    const { len } = this.session
    const notes = [
      ...(this.session.conversation().before(len) > this.session.conversation().before(from)
        ? [{ type: 'retraction', from, to: len } as const]
        : []),
      ...(summary === undefined ? [] : [summary]),
      noteOfBase(base),
    ]
    const done = await this.#append({ messages, notes }, stored)
    if (isLeft(done)) return this.#after(done)
    this.#base = base
    this.#chain = this.#linked()
    return right(undefined)
  }

  /** Append an answer and the receipt of its call together, with the blocks that the receipt names. */
  async finish(
    messages: readonly Message[],
    receipt: ReceiptNote,
    stored: readonly Uint8Array[] = [],
  ): Promise<Either<RecordFault, void>> {
    const done = await this.#append({ messages, notes: [receipt] }, stored)
    if (isLeft(done)) return this.#after(done)
    for (const message of messages) this.#chain.push(extendChain(this.#chain.at(-1) as string, message))
    return right(undefined)
  }

  #append(input: MessagesAndNotes, stored: readonly Uint8Array[]): Promise<Either<RecordFault, unknown>> {
    return appendWithBlocks(this.session, input, stored, { expectedHead: this.session.head() })()
  }

  /** After a conflict the session includes what another process appended: read its state again. */
  #after<F extends Either<RecordFault, never>>(fault: F): F {
    this.#reload()
    return fault
  }

  #reload(): void {
    this.#base = baseOf(this.session)
    this.#chain = this.#linked()
    this.last = undefined
  }

  #linked(): string[] {
    const { identities, from } = this.#base
    const chain = [emptyChain]
    for (const identity of identities) chain.push(linkDigest(chain.at(-1) as string, identity))
    const conversation = this.session.conversation()
    const rest = conversation.slice(conversation.before(from)) as Iterable<Message>
    return [...chain, ...chainOf(rest, chain.at(-1)).slice(1)]
  }
}

/** The request of a call, as texts and digests. */
export interface SentBefore {
  readonly model: string
  readonly tools: string | undefined
  readonly system: string | undefined
  /** The digests of its messages, in order. */
  readonly messages: readonly string[]
  readonly entries: SentEntries
  /** The index of its receipt among the notes, once that is written. */
  note?: number
  /** Whether its receipt is erased with a message of its call. */
  isErasable?: true
}
