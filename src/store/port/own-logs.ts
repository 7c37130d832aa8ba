/**
 * The library's own logs: the ledger, keys, streams, imports. Their ids start with `indelible.`, and so do
 * the library's own metadata keys. Public calls change neither; the library's own calls carry a mark.
 */
import { jsonEqual, type Json, type JsonObject, type OptionNames } from '../../json/index.ts'
import type { StoreFaultOf } from '../fault.ts'

/** The prefix of the ids of the library's own logs. */
const beginning = 'indelible.'

const mark: unique symbol = Symbol('indelible: a call of its own')

/** The mark of a call that may change the library's own logs. A wrapping store passes it on. */
export interface OwnCall {
  readonly [mark]?: true
}

/** The mark of the library's own calls. */
export const ownCall: OwnCall = Object.freeze({ [mark]: true as const })

export const ownNames: OptionNames<OwnCall> = { [mark]: true }

export const isOwnCall = (call: OwnCall): boolean => call[mark] === true

/** The metadata key of a session. */
export const sessionMember = 'indelible.session'
/** The metadata key of a log that will become a session. */
export const partialMember = 'indelible.partial'

/** The metadata key of the sums of a session's calls. It is encrypted with the metadata of the caller. */
export const sumsMember = 'indelible.usage'

/** Whether metadata is that of a session, or of a log that will become one. */
export const isSessionMeta = (meta: JsonObject): boolean =>
  Object.hasOwn(meta, sessionMember) || Object.hasOwn(meta, partialMember)

/**
 * Whether an id is reserved for the library's own logs.
 *
 * @returns true if it starts with `indelible.`
 */
export const isOwnId = (id: string): boolean => id.startsWith(beginning)

/**
 * The fault of a public call on one of the library's own logs.
 *
 * @param call the options of the call, with the mark if it is the library's own. Default: a public call
 * @returns `InvalidId` for a public call on an own log; otherwise undefined
 */
export const ownIdFault = (id: unknown, call: OwnCall = {}): StoreFaultOf<'InvalidId'> | undefined =>
  typeof id === 'string' && isOwnId(id) && !isOwnCall(call)
    ? {
        _tag: 'InvalidId',
        what: 'log',
        reason: `${JSON.stringify(id)} starts with ${JSON.stringify(beginning)}: such ids are reserved for the library's own logs`,
      }
    : undefined

/**
 * The library's own metadata key that an update would change.
 *
 * @param before the metadata
 * @param after the metadata that replaces it
 * @returns the first such key; undefined if there is none
 */
export const changedOwnMember = (before: JsonObject, after: JsonObject): string | undefined =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].find(
    (name) => name.startsWith(beginning) && !sameMember(before, after, name),
  )

const sameMember = (a: JsonObject, b: JsonObject, name: string): boolean =>
  Object.hasOwn(a, name) && Object.hasOwn(b, name) && jsonEqual(a[name] as Json, b[name] as Json)

/** The fault for an update that would change one of the library's own metadata keys. */
export const ownMember = (name: string): StoreFaultOf<'InvalidMeta'> => ({
  _tag: 'InvalidMeta',
  path: [name],
  reason: `is a name reserved for this library (${beginning}…)`,
})
