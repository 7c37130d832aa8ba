/**
 * The logs of the library itself: the ledger, keys, streams, imports. Their ids begin with `indelible.`, and so do the
 * members of metadata that the library writes. No public call changes either; the library's own calls carry a mark.
 */
import { jsonEqual, type Json, type JsonObject } from '../../json/index.ts'
import type { StoreFaultOf } from '../fault.ts'

/** How the ids of the library's own logs begin. */
const beginning = 'indelible.'

const mark: unique symbol = Symbol('indelible: a call of its own')

/** The mark of a call that may change the library's own logs. A store that wraps another one passes it on. */
export interface OwnCall {
  readonly [mark]?: true
}

/** The mark, for calls of the library. */
export const ownCall: OwnCall = Object.freeze({ [mark]: true as const })

/** Whether a call is the library's own. */
export const isOwnCall = (call: OwnCall): boolean => call[mark] === true

/** What a session has in its metadata. */
export const sessionMember = 'indelible.session'
/** What a log has in its metadata that will be a session. */
export const partialMember = 'indelible.partial'

/** Whether metadata is that of a session, or of a log that will be one. */
export const isSessionMeta = (meta: JsonObject): boolean =>
  Object.hasOwn(meta, sessionMember) || Object.hasOwn(meta, partialMember)

/**
 * Whether an id is that of one of the library's own logs.
 *
 * @param id the id of a log
 * @returns true if it begins with `indelible.`
 */
export const isOwnId = (id: string): boolean => id.startsWith(beginning)

/**
 * Why a call may not change the log of this id.
 *
 * @param call what the call was given. Default: nothing, it is a public one
 * @returns `InvalidId` if the log is the library's own and the call is not; else undefined
 */
export const againstOwnId = (id: unknown, call: OwnCall = {}): StoreFaultOf<'InvalidId'> | undefined =>
  typeof id === 'string' && isOwnId(id) && !isOwnCall(call)
    ? {
        _tag: 'InvalidId',
        what: 'log',
        reason: `${JSON.stringify(id)} begins with ${JSON.stringify(beginning)}: such logs are the library's own, and no other call changes them`,
      }
    : undefined

/**
 * The first member of metadata of the library's own that an update would change.
 *
 * @param before the metadata
 * @param after the metadata that replaces it
 * @returns its name; undefined if they are equal
 */
export const changedOwnMember = (before: JsonObject, after: JsonObject): string | undefined =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].find(
    (name) => name.startsWith(beginning) && !sameMember(before, after, name),
  )

const sameMember = (one: JsonObject, other: JsonObject, name: string): boolean =>
  Object.hasOwn(one, name) && Object.hasOwn(other, name) && jsonEqual(one[name] as Json, other[name] as Json)

/** The fault for an update that would change a member of the library's own. */
export const ownMember = (name: string): StoreFaultOf<'InvalidMeta'> => ({
  _tag: 'InvalidMeta',
  path: [name],
  reason: `is a name that only this library gives (${beginning}…)`,
})
