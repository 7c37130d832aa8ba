/**
 * The identity of a log: a random name that it gets at creation, and that no later log with its id has. A fork has the
 * identities of the logs whose rows it shares, and its own for its own rows. Drivers store them in the metadata.
 */
import { freezeResult, isArray, type Json, type JsonObject } from '../../json/index.ts'

declare const crypto: { readonly randomUUID: () => string }

/** An identity, and its first row. */
export interface LogIdentity {
  /** The identity: a random text. */
  readonly log: string
  /** The first row with this identity. Rows before it are shared with another log. */
  readonly from: number
}

const member = 'indelible.log'

export const newIdentities = (): readonly LogIdentity[] => [{ log: crypto.randomUUID(), from: 0 }]

/** The identities of a fork that shares the first `at` rows. */
export const forkedIdentities = (of: readonly LogIdentity[], at: number): readonly LogIdentity[] => [
  ...of.filter(({ from }) => from < at),
  { log: crypto.randomUUID(), from: at },
]

/** The identity of the row at a position; empty if altered metadata has none. */
export const identityAt = (identities: readonly LogIdentity[], position: number): string =>
  identities.findLast(({ from }) => from <= position)?.log ?? ''

/** The identities in stored metadata. */
export const identitiesIn = (meta: JsonObject): readonly LogIdentity[] => {
  const stored: unknown = Object.hasOwn(meta, member) ? meta[member] : undefined
  return isArray(stored)
    ? stored.flatMap((item) => {
        const [log, from] = isArray(item) ? (item as readonly unknown[]) : []
        return typeof log === 'string' && typeof from === 'number' ? [Object.freeze({ log, from })] : []
      })
    : []
}

/** Adds identities to metadata, for storage. */
export const withIdentities = (meta: JsonObject, identities: readonly LogIdentity[]): JsonObject => ({
  ...meta,
  [member]: identities.map(({ log, from }): Json => [log, from]),
})

/** Removes identities from stored metadata. */
export const withoutIdentities = (meta: JsonObject): JsonObject =>
  Object.hasOwn(meta, member) ? Object.fromEntries(Object.entries(meta).filter(([name]) => name !== member)) : meta

/** The description of a log for callers of the store: without identities, frozen. */
export const describeLog = <Log extends { readonly meta: JsonObject }>(log: Log): Log =>
  freezeResult({ ...log, meta: withoutIdentities(log.meta) })
