/** The rows of a ledger, and their sum: entries, holds, erasures. */
import type { Either } from 'fp-ts/lib/Either.js'
import {
  type OptionNames,
  freezeResult,
  isArray,
  isLeft,
  isObject,
  left,
  parseJson,
  right,
  type JsonObject,
  ownField,
  ownFields,
  isCount,
} from '../../json/index.ts'
import { isLeaf } from './id.ts'
import type { StoreFaultOf } from '../fault.ts'
import type { LogIdentity } from './identity.ts'
import type { Head, Row, RowKind, StoredRow } from './row.ts'

/** The id of a scope's ledger. */
export const ledgerId = 'indelible.ledger'

/** The reason for an action, and who did it. */
export interface ActionReason {
  /** The reason, for the ledger. */
  readonly reason?: string
  /** The person, for the ledger. */
  readonly by?: string
}

/** The names of its fields. */
export const reasonNames: OptionNames<ActionReason> = { reason: true, by: true }

/** The reason and person in an object, if present. */
export const actionReasonOf = (action: { readonly [Name in keyof ActionReason]?: unknown }): ActionReason => {
  const { reason, by } = ownFields(action)
  return { ...(typeof reason === 'string' && { reason }), ...(typeof by === 'string' && { by }) }
}

/** An erased row, as the ledger records it. */
export interface ErasedRow {
  /** The identity of the row's log. A later log with the same id has another one. */
  readonly log: string
  /** Its position in the log of messages and notes. Logs that share the row have it at the same position. */
  readonly row: number
  /** Whether it is a message or a note. */
  readonly kind: RowKind
  /** Its index among the rows of its kind. For a message, that is its position in the session. */
  readonly index: number
  /** The row's leaf, unchanged by the erasure: 64 hexadecimal digits. */
  readonly leaf: string
  /** The leaf of the stub, so that the stub's role, page kind and call ids can't be changed either. */
  readonly stub: string
  /** Digests by which the program that erased the row recognizes a copy of it. */
  readonly digests?: readonly string[]
}

/** The content of a ledger row. Its time is that of the row. */
export type LedgerRow = ActionReason &
  /** `head`: the session had this head. `removed`: it was removed, or is being removed. */
  (
    | {
        readonly type: 'head' | 'removed'
        readonly id: string
        readonly head: Head
        /** Of a removed session: digests by which the program that removed it recognizes its files. */
        readonly digests?: readonly string[]
      }
    /** `held`: from this row on, the session can't be erased or removed until it is `released`. */
    | { readonly type: 'released'; readonly id: string; readonly head: Head }
    | { readonly type: 'held'; readonly id: string; readonly head: Head; readonly logs: readonly LogIdentity[] }
    /** `destroyed`: the key of the session was destroyed, or is being destroyed. */
    | { readonly type: 'destroyed'; readonly id: string; readonly head: Head; readonly key: string }
    /** Rows of a session with this head were erased. `copied`: in another store, with that store's claim about it. */
    | {
        readonly type: 'erased'
        readonly id: string
        readonly head: Head
        readonly rows: readonly ErasedRow[]
        readonly copied?: CopiedClaim
      }
  )

/** A ledger row in stored form: a note with a JSON body. */
export const ledgerRow = (content: LedgerRow, at: number): Row => {
  const { type, id, head } = content
  const { reason, by } = ownFields(content)
  const more =
    content.type === 'erased'
      ? { rows: content.rows, copied: ownField(content, 'copied') } // JSON omits undefined
      : content.type === 'destroyed'
        ? { key: content.key }
        : content.type === 'held'
          ? { logs: content.logs }
          : content.type === 'removed'
            ? { digests: ownField(content, 'digests') }
            : {}
  const because = type === 'head' ? {} : { reason, by }
  return { kind: 'note', body: JSON.stringify({ type, id, size: head.size, root: head.root, ...more, ...because }), at }
}

/** Read a ledger row. Undefined for a type that a newer version wrote. Errors: `NotALedger`. */
export const readLedgerRow = ({
  position,
  body,
}: Pick<StoredRow, 'position' | 'body'>): Either<StoreFaultOf<'NotALedger'>, LedgerRow | undefined> => {
  const notALedger = (reason: string): Either<StoreFaultOf<'NotALedger'>, never> =>
    left({ _tag: 'NotALedger', id: ledgerId, reason: `its row ${position} ${reason}` })
  const parsed = parseJson(body)
  if (isLeft(parsed) || !isObject(parsed.right)) return notALedger('is not a JSON object')
  const { type, id, size, root, reason, by, rows, copied, key, logs, digests } = ownFields(parsed.right)
  if (typeof type !== 'string') return notALedger('has no type')
  if (!isKnownType(type)) return right(undefined)
  if (typeof id !== 'string' || !isCount(size) || typeof root !== 'string' || !/^[0-9a-f]{64}$/.test(root))
    return notALedger('names no session and head')
  const head = Object.freeze({ size, root })
  const because = actionReasonOf({ reason, by })
  if (type === 'destroyed')
    return typeof key === 'string' ? right({ type, id, head, key, ...because }) : notALedger('names no key')
  if (type === 'held')
    return isArray(logs) && logs.every(isIdentity)
      ? right({ type, id, head, logs: freezeResult(logs as unknown as readonly LogIdentity[]), ...because })
      : notALedger('names no log')
  if (type === 'removed')
    return right({ type, id, head, ...because, ...(isTexts(digests) && { digests: freezeResult(digests) }) })
  if (type !== 'erased') return right({ type, id, head, ...(type === 'head' ? {} : because) })
  if (!isArray(rows) || !rows.every(isErasedRow)) return notALedger('names no erased rows')
  const erased = freezeResult(rows as unknown as readonly ErasedRow[])
  return right({ type, id, head, rows: erased, ...because, ...(isObject(copied) && { copied: copiedOf(copied) }) })
}

const types: ReadonlySet<string> = new Set<LedgerRow['type']>([
  'head',
  'removed',
  'held',
  'released',
  'destroyed',
  'erased',
])

const isKnownType = (type: string): type is LedgerRow['type'] => types.has(type)

const isIdentity = (value: unknown): boolean =>
  isObject(value) && typeof value['log'] === 'string' && isCount(value['from'])

const copiedOf = (copied: JsonObject): CopiedClaim =>
  Object.freeze({ ...(typeof copied['at'] === 'number' && { at: copied['at'] }), ...actionReasonOf(copied) })

const isErasedRow = (value: unknown): value is ErasedRow =>
  isObject(value) &&
  typeof value['log'] === 'string' &&
  isCount(value['row']) &&
  isCount(value['index']) &&
  (value['kind'] === 'entry' || value['kind'] === 'note') &&
  isLeaf(value['leaf']) &&
  isLeaf(value['stub']) &&
  (ownField(value, 'digests') === undefined || isTexts(value['digests']))

const isTexts = (value: unknown): value is readonly string[] =>
  isArray(value) && value.every((item) => typeof item === 'string')

/** The last ledger entry of a session. */
export interface LedgerEntry {
  /** The id of the session. */
  readonly id: string
  /** Its position in the ledger. */
  readonly row: number
  /** The time by the writer's clock, in milliseconds since 1970. */
  readonly at: number
  /** The head of the session at that time. */
  readonly head: Head
  /** Whether it records that the session was removed. */
  readonly removed: boolean
  /** Digests by which the program that removed it recognizes its files. */
  readonly digests?: readonly string[]
  /** The reason for the removal, if given. */
  readonly reason?: string
  /** The person who removed it, if given. */
  readonly by?: string
}

/** A hold: the session can't be erased or removed until it is released. */
export interface Hold extends ActionReason {
  /** The id of the session. */
  readonly id: string
  /** The identities of its rows. */
  readonly logs: readonly LogIdentity[]
  /** Its position in the ledger. */
  readonly row: number
  /** The time by the writer's clock, in milliseconds since 1970. */
  readonly at: number
}

/** The destruction of a key, as the ledger records it. */
export interface KeyDestroyed extends ActionReason {
  /** The id of the session that had the key. */
  readonly id: string
  /** The id of the key. */
  readonly key: string
  /** Its position in the ledger. */
  readonly row: number
  /** The time by the writer's clock, in milliseconds since 1970. */
  readonly at: number | undefined
}

/** Another store's claim about an erasure. */
export interface CopiedClaim extends ActionReason {
  /** The time of the erasure, in milliseconds since 1970. */
  readonly at?: number
}

/** An erasure, as the ledger records it. */
export interface Erasure extends ActionReason {
  /** The id of the session that was erased from. The entry also covers logs that share its rows. */
  readonly id: string
  /** Its position in the ledger. */
  readonly row: number
  /** The time by the writer's clock, in milliseconds since 1970. */
  readonly at: number
  /** The head of the session at that time. Erasing does not change it. */
  readonly head: Head
  /** The erased rows. */
  readonly rows: readonly ErasedRow[]
  /** Another store's claim about it, if the session was copied or imported. This store can't confirm it. */
  readonly copied?: CopiedClaim
}
