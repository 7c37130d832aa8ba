/** A session's metadata: the caller's own, and beside it what makes a log a session. */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import type { JsonObject } from '../json/index.ts'
import type { LogInfo, StoreFault } from '../store/index.ts'
import type { SessionFault } from './fault.ts'

/** What can be known of a session without reading it. */
export interface SessionInfo {
  readonly id: string
  /** How many messages it has. */
  readonly len: number
  readonly head: LogInfo['head']
  /** Milliseconds since 1970. */
  readonly created: number
  readonly metadata: JsonObject
  /** What it was forked from, and how many messages it shares with that. */
  readonly forkedFrom?: ForkPoint
}

export interface ForkPoint {
  readonly id: string
  readonly at: number
}

/** The format of the rows that this version writes. */
const format = 1

const own = 'indelible.'
/** Under which key the format stands: what `listSessions` asks for. */
export const formatKey = 'indelible.session'
const forkKey = 'indelible.fork'
/** Under which key it stands that rows are still to come: such a log is no session yet. */
const partialKey = 'indelible.partial'

/** What is stored for a session while it is imported or copied. */
export const partialMeta: JsonObject = Object.freeze({ [partialKey]: true })

export const isPartial = ({ meta }: Pick<LogInfo, 'meta'>): boolean => Object.hasOwn(meta, partialKey)

/** What is stored for a session with this metadata. */
export const storedMeta = (metadata: JsonObject, forkedFrom?: ForkPoint): Either<StoreFault, JsonObject> => {
  const key = Object.keys(metadata).find((key) => key.startsWith(own))
  if (key !== undefined) return left({ _tag: 'InvalidMeta', path: [key], reason: `is a name that only this library gives (${own}…)` })
  return right({ [formatKey]: format, ...(forkedFrom && { [forkKey]: { ...forkedFrom } }), ...metadata })
}

/** What a log's metadata says of it as a session. */
export const sessionInfo = ({ id, entries, head, created, meta }: LogInfo): Either<SessionFault, SessionInfo> => {
  if (isPartial({ meta })) return left({ _tag: 'UnfinishedSession', id, rows: head.size })
  const found = Object.hasOwn(meta, formatKey) ? meta[formatKey] : undefined
  if (typeof found !== 'number') return left({ _tag: 'NotASession', id })
  if (found > format) return left({ _tag: 'NewerSession', id, found, supported: format })
  const fork = Object.hasOwn(meta, forkKey) ? (meta[forkKey] as unknown as ForkPoint) : undefined // only `storedMeta` writes it
  const metadata = Object.freeze(Object.fromEntries(Object.entries(meta).filter(([key]) => !key.startsWith(own))))
  return right(Object.freeze({ id, len: entries, head, created, metadata, ...(fork && { forkedFrom: fork }) }))
}
