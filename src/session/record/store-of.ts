/** What a session handle was made of, for functions that receive a session. */
import type { Either } from 'fp-ts/lib/Either.js'
import { describe } from '../../json/index.ts'
import { defineGetter, getterFrom, sealClass } from '../../sequence/index.ts'
import type { Redactor } from '../../redact/index.ts'
import type { Store } from '../../store/index.ts'
import type { SessionFaultOf } from '../fault.ts'
import type { AppendOptions, MessagesAndNotes, SessionLease, SessionReader } from '../session.ts'
import type { LoadedRecord } from './loaded-record.ts'
import type { NoteBlock } from './rows.ts'
import type { AppendedMessages, WriteAnswer } from './step.ts'

export interface SessionParts {
  readonly store: Store
  readonly record: LoadedRecord
  /** Undefined if the handle can't append. */
  readonly open?: OpenParts
}

/** The store that an open session writes to, with the handle's lease added to everything that it writes. */
export interface WrittenStore {
  readonly store: Store
}

/** What only an open session has. */
interface OpenParts {
  /** `lease` is the last one that the handle took and has not released. */
  readonly leases: WrittenStore & { readonly lease: SessionLease | undefined }
  /** `alone` runs work after all earlier calls of the handle, and before all later ones. */
  readonly writer: {
    alone<F, T>(work: () => Promise<Either<F, T>>): Promise<Either<F | SessionFaultOf<'SessionClosed'>, T>>
  }
  /** Appends, and stores blocks with the notes that name them: an erasure or a removal of the notes removes the blocks. */
  readonly appending: {
    append(
      input: MessagesAndNotes,
      options: AppendOptions,
      blocks: readonly NoteBlock[],
    ): Promise<WriteAnswer<AppendedMessages>>
  }
}

/**
 * A handle, with what it was made of. All share one getter of `len`: with a function each, each handle would have a layout
 * of its own, which takes more memory than all of its methods.
 */
class Handle {
  readonly #parts: SessionParts

  constructor(parts: SessionParts, members: object) {
    this.#parts = parts
    Object.assign(this, members)
    defineGetter(this, 'len', len)
    Object.freeze(this)
  }

  /** Also of an object made with `Object.create(session)`. */
  get len(): number {
    return Handle.#handleIn(this).#parts.record.history.len
  }

  static #handleIn(value: object): Handle {
    for (let at: object | null = value; at !== null; at = Object.getPrototypeOf(at) as object | null)
      if (#parts in at) return at
    throw new TypeError('expected a session')
  }

  static parts(value: unknown): SessionParts | undefined {
    return typeof value === 'object' && value !== null && #parts in value ? value.#parts : undefined
  }
}
const len = getterFrom(Handle, 'len')
sealClass(Handle)

/** The members that all handles share. `len` is added to each, because it is a getter. */
export type Reading = { readonly [Key in Exclude<keyof SessionReader, 'len'>]: SessionReader[Key] }
type Rest<S> = { readonly [Key in Exclude<keyof S, keyof SessionReader>]: S[Key] }

/** The only function that makes a session, so every session has the brand. */
export const handleOf = <S extends SessionReader>(parts: SessionParts, reading: Reading, rest: Rest<S>): S =>
  new Handle(parts, { ...reading, ...rest }) as unknown as S

/** What a handle was made of; undefined if the value is not a handle. */
export const partsOf = (session: unknown): SessionParts | undefined => Handle.parts(session)

/** Throws TypeError if the value is not a store, which the compiler would have rejected. */
export const checkStore = (call: string, store: Store): void => {
  const value: unknown = store
  if (typeof value !== 'object' || value === null || !('append' in value))
    throw new TypeError(`${call} takes a store, such as memoryStore(), found ${describe(value)}`)
}

/** Throws TypeError if the value is not a handle. */
export const storeOfSession = (session: SessionReader): Store => {
  const made = partsOf(session)
  if (made === undefined) throw new TypeError('expected a session, or { store, id }')
  return made.store
}

/** The redactor that a session was opened with, if any. */
export const redactorOf = (session: object): Redactor | undefined => partsOf(session)?.record.redactor

/** The last lease that a handle took and has not released. It may be lost by now: see its `held`. */
export const leaseOfSession = (session: object): SessionLease | undefined => partsOf(session)?.open?.leases.lease
