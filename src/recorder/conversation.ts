/** A session that the recorder appends to, with the chain of its messages. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, right, type Immutable } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import type { ReceiptNote } from '../notes/index.ts'
import type { Session } from '../session/index.ts'
import { chainOf, linked } from './identity.ts'
import type { SentEntries } from './receipt.ts'

/** What can go wrong with what is recorded. Told, never thrown at the caller of an API. */
export type RecordFault = { readonly _tag: string }

/** A session and what is known of it. */
export class Conversation {
  readonly session: Session
  /** What the client calls it. */
  readonly client: string | undefined
  /** The call before, to see where the cached prefix ended. */
  last: SentBefore | undefined
  #chain: string[]

  constructor(session: Session, client: string | undefined) {
    this.session = session
    this.client = client
    this.#chain = [...chainOf(session.conversation() as Iterable<Message>)]
  }

  /** How many messages the conversation has. */
  get len(): number {
    return this.#chain.length - 1
  }

  /** The chain of its first messages; undefined beyond its end. */
  chainAt(len: number): string | undefined {
    return this.#chain[len]
  }

  /** Where in the record the message at an index of the conversation stands. */
  positionAt(index: number): number {
    return this.session.conversation().positionAt(index) ?? this.session.len
  }

  /** The message at an index of the conversation. */
  at(index: number): Immutable<Message> | undefined {
    return this.session.conversation().at(index)
  }

  /** Append messages, from an index of the conversation on: what stood there is retracted. */
  async replaceFrom(from: number, messages: readonly Message[]): Promise<Either<RecordFault, void>> {
    const expectedHead = this.session.head()
    const done = await (from < this.len
      ? this.session.replaceTail(this.positionAt(from), messages, { expectedHead })()
      : this.session.append({ messages }, { expectedHead })())
    if (isLeft(done)) return this.#after(done)
    this.#chain.length = from + 1
    for (const message of messages) this.#chain.push(linked(this.#chain.at(-1) as string, message))
    return right(undefined)
  }

  /** Append an answer and the receipt of its call, as one. */
  async finish(messages: readonly Message[], receipt: ReceiptNote): Promise<Either<RecordFault, void>> {
    const done = await this.session.append({ messages, notes: [receipt] }, { expectedHead: this.session.head() })()
    if (isLeft(done)) return this.#after(done)
    for (const message of messages) this.#chain.push(linked(this.#chain.at(-1) as string, message))
    return right(undefined)
  }

  /** After a conflict: what another process has appended is here, too. */
  #after<F extends Either<RecordFault, never>>(fault: F): F {
    this.#chain = [...chainOf(this.session.conversation() as Iterable<Message>)]
    this.last = undefined
    return fault
  }
}

/** What a call was sent, as texts and digests. */
export interface SentBefore {
  readonly tools: string | undefined
  readonly system: string | undefined
  /** The digests of its messages, as they were written. */
  readonly messages: readonly string[]
  /** The same by where they stand. */
  readonly entries: SentEntries
  /** The index of its receipt among the notes, once that is written. */
  note?: number
}
