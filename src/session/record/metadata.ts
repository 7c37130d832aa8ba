/** A session's metadata: the caller's own, and the keys that mark a log as a session. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, ownField, present, right } from '../../json/index.ts'
import type { JsonObject } from '../../json/index.ts'
import type { LogInfo, StoreFaultOf } from '../../store/index.ts'
import { checkMeta, encryptionOf, isEncryptedLog, partialMember, sessionMember } from '../../store/internal.ts'
import { digestOf } from '../../proof/internal.ts'
import type { Redactor } from '../../redact/index.ts'
import type { NoSessionFault } from '../fault.ts'

/** The description of a session. */
export interface SessionInfo {
  /** The id of the session. */
  readonly id: string
  /** The number of messages. */
  readonly len: number
  /**
   * The input and output tokens of its receipts; of a fork, of those after the fork. An imported file's own figures are
   * not among them. Absent if it is encrypted.
   */
  readonly tokens?: number | undefined
  /** The size and root of its log. */
  readonly head: LogInfo['head']
  /** The time of creation, in milliseconds since 1970. */
  readonly created: number
  /** The time of its last own row, in milliseconds since 1970; `created` if it has none. */
  readonly appended: number
  /** Its metadata, without the library's own keys. */
  readonly metadata: JsonObject
  /** True if every row has a salt, so that nobody can find an erased text by guessing. */
  readonly erasable?: true | undefined
  /** True if it is encrypted. Without its key, `metadata` has only the key `clear`. */
  readonly encrypted?: true | undefined
  /** The session it was forked from, and the number of shared messages. Absent if it is not a fork. */
  readonly forkedFrom?: ForkPoint | undefined
}

/** The place of a fork in another session. */
export interface ForkPoint {
  /** The id of that session. */
  readonly id: string
  /** The number of messages that they share. */
  readonly at: number
}

/** The format of the rows that this version writes. */
const format = 1

const ownPrefix = 'indelible.'
const forkKey = 'indelible.fork'
const erasableKey = 'indelible.erasable'
/** The metadata key of the number of rows that a fork or an import has of another session. Their metadata is not its own. */
const inheritedKey = 'indelible.inherited'

/** Who may store the remaining rows: the import that made the log, or anyone who makes the same copy. */
type PartialOf = 'import' | 'copy'

/** The stored metadata of a session during its import or copy. */
export const partialMeta = <By extends PartialOf>(by: By): { readonly [partialMember]: By } => ({
  [partialMember]: by,
})

export const isPartial = ({ meta }: Pick<LogInfo, 'meta'>): boolean => Object.hasOwn(meta, partialMember)

export const isPartialOf = ({ meta }: Pick<LogInfo, 'meta'>, by: PartialOf): boolean =>
  isPartial({ meta }) && meta[partialMember] === by

/** Redacts metadata. Invalid metadata is returned unchanged, so that its check rejects it. */
export const redactedMeta = (redactor: Redactor | undefined, meta: JsonObject): JsonObject => {
  if (redactor === undefined) return meta
  const checked = checkMeta(meta)
  return isLeft(checked) ? meta : redactor.json(checked.right)
}

/**
 * The stored form of a session's metadata. It is checked before it is spread, because spreading a
 * string or a date gives an object.
 */
export const storedMeta = (
  value: unknown,
  forkedFrom?: ForkPoint,
  erasable = false,
  inherited = 0,
): Either<StoreFaultOf<'InvalidMeta'>, JsonObject> => {
  const checked = checkMeta(value)
  if (isLeft(checked)) return checked
  const metadata = checked.right
  const key = Object.keys(metadata).find((key) => key.startsWith(ownPrefix))
  if (key !== undefined)
    return left({ _tag: 'InvalidMeta', path: [key], reason: `is a name reserved for this library (${ownPrefix}…)` })
  return right({
    [sessionMember]: format,
    ...(forkedFrom && { [forkKey]: { ...forkedFrom } }),
    ...(erasable && { [erasableKey]: true }),
    ...(inherited > 0 && { [inheritedKey]: inherited }),
    ...metadata,
  })
}

/** The caller's own metadata. */
export const withoutOwnKeys = (meta: JsonObject): JsonObject =>
  Object.freeze(Object.fromEntries(Object.entries(meta).filter(([key]) => !key.startsWith(ownPrefix))))

/** The number of rows of a log whose metadata is that of another session. */
export const inheritedRows = ({ meta }: Pick<LogInfo, 'meta'>): number => {
  const found = ownField(meta, inheritedKey)
  return typeof found === 'number' ? found : 0
}

/** The session that a log's metadata describes. */
export const sessionInfo = ({
  id,
  entries,
  tokens,
  head,
  created,
  appended,
  meta,
}: LogInfo): Either<NoSessionFault, SessionInfo> => {
  if (isPartial({ meta })) return left({ _tag: 'UnfinishedSession', id, rows: head.size })
  const found = ownField(meta, sessionMember)
  if (typeof found !== 'number') return left({ _tag: 'NotASession', id })
  if (found > format) return left({ _tag: 'NewerSession', id, found, supported: format })
  const fork = ownField(meta, forkKey) as ForkPoint | undefined // only `storedMeta` writes it
  const isHidden = encryptionOf({ meta }) !== undefined // without the key, only `clear` is authenticated
  const isEncrypted = isEncryptedLog({ meta })
  return right(
    Object.freeze({
      id,
      len: entries,
      tokens: isEncrypted ? undefined : tokens,
      head,
      created,
      appended,
      metadata: isHidden ? Object.freeze(present({ clear: ownField(meta, 'clear') })) : withoutOwnKeys(meta),
      forkedFrom: fork,
      erasable: ownField(meta, erasableKey) === true ? true : undefined,
      encrypted: isEncrypted ? true : undefined,
    }),
  )
}

/** A name without secrets: the name itself, or one made of its digest, so that a retry with the same name still finds it. */
export const redactedName = (redactor: Redactor | undefined, name: string): string =>
  redactor === undefined || typeof name !== 'string' || redactor.quiet.text(name) === name
    ? name
    : `redacted-${digestOf(name)}`
