/**
 * Every table of a store file held against every other, its own check sums, and the tree: what `check` finds, and with it
 * how `repair` rebuilds what the rest of the file proves.
 *
 * A piece of work at a time: an `undefined` is a place where somebody else may have a turn. Nothing of the file is being
 * read there.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Hash } from '../../proof/kit.ts'
import { Damaged } from '../port/damaged.ts'
import { checkBlocks, checkContents, checkMentions } from './check-blocks.ts'
import { Facts, findingsOf, isUnreadable, type Finding } from './check-facts.ts'
import { checkFile, checkSchema, checkSequences } from './check-file.ts'
import { checkHeads, checkLeases, checkLogs, checkOperations, checkScopes } from './check-logs.ts'
import { checkRows } from './check-rows.ts'
import { checkSegments, readSegments } from './check-segments.ts'

export type { Finding } from './check-facts.ts'

/** In this order: each part holds its table against those before it. */
const parts: readonly (readonly [table: string, part: (facts: Facts) => Iterable<Finding | undefined>])[] = [
  ['file', checkFile],
  ['schema', checkSchema],
  ['sequence', checkSequences],
  ['scope', checkScopes],
  ['segment', readSegments],
  ['log', checkLogs],
  ['row', checkRows],
  ['log', checkHeads],
  ['segment', checkSegments],
  ['operation', checkOperations],
  ['lease', checkLeases],
  ['block', checkBlocks],
  ['content', checkContents],
  ['mention', checkMentions],
]

export function* checkDatabase(db: DatabaseSync, hash: Hash): Generator<Finding | undefined> {
  const facts = new Facts(db, hash)
  for (const [table, part] of parts)
    try {
      yield* part(facts)
    } catch (error) {
      if (!(error instanceof Damaged) && !isUnreadable(error)) throw error
      yield findingsOf(table, undefined, `it can't be read: ${error instanceof Damaged ? error.reason : error.message}`)
    }
}
