/**
 * Checks each table of a store file against the others, its checksums and the tree. Returns the
 * findings of `check`, with the repairs of `repair` for everything that the rows give or a checksum proves.
 * Each table is checked against earlier ones, so one pass that repairs as it goes is enough.
 *
 * The work is done in pieces. At each `undefined` other work may run; no read of the file is open
 * then.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Hash } from '../../proof/internal.ts'
import { Damaged } from '../port/damage-error.ts'
import { checkBlocks, checkContents, checkMentions } from './check-blocks.ts'
import { Facts, findingsOf, isUnreadable, type Finding } from './check-facts.ts'
import { checkFile, checkSchema, checkSequences } from './check-file.ts'
import { checkHeads, checkLeases, checkLogs, checkOperations, checkScopes } from './check-logs.ts'
import { checkRows } from './check-rows.ts'
import { formats } from './schema.ts'
import { checkSegments, proveSegments, readSegments } from './check-segments.ts'

export type { Finding } from './check-facts.ts'

/** In this order: each part checks its table against earlier ones. */
const parts: readonly (readonly [table: string, part: (facts: Facts) => Iterable<Finding | undefined>])[] = [
  ['file', checkFile],
  ['schema', checkSchema],
  ['sequence', checkSequences],
  ['scope', checkScopes],
  ['segment', readSegments],
  ['log', checkLogs],
  ['segment', proveSegments],
  ['row', checkRows],
  ['log', checkHeads],
  ['segment', checkSegments],
  ['operation', checkOperations],
  ['lease', checkLeases],
  ['mention', checkMentions],
  ['block', checkBlocks],
  ['content', checkContents],
]

export function* checkDatabase(db: DatabaseSync, hash: Hash): Generator<Finding | undefined> {
  const facts = new Facts(db, hash)
  const { user_version: format } = facts.one('pragma user_version')
  if (format !== BigInt(formats.length))
    return yield findingsOf('file', undefined, `it has format ${String(format)}: open it for writing, then check it`)
  for (const [table, part] of parts)
    try {
      yield* part(facts)
    } catch (error) {
      if (!(error instanceof Damaged) && !isUnreadable(error)) throw error
      yield findingsOf(table, undefined, `it can't be read: ${error instanceof Damaged ? error.reason : error.message}`)
    }
}
