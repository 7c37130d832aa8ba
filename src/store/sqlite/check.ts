/**
 * Checks each table of a store file against the others, its check sums and the tree, and repairs what the rows give
 * or a check sum proves. Each table is checked against earlier ones, so one pass that repairs as it goes is enough.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { right } from '../../json/index.ts'
import { portableSha256 as sha256, type Hash } from '../../proof/internal.ts'
import type { StoreFault } from '../fault.ts'
import { findingText, type StoreFinding, type StoreRepair } from '../port/check.ts'
import { Damaged } from '../port/damage-error.ts'
import { nextTurn, sliceRows } from '../port/slices.ts'
import { Facts, findingOf, type Finding, type Findings } from './check-facts.ts'
import { checkFile, checkSchema, checkSequences } from './check-file.ts'
import { checkRows } from './check-rows.ts'
import * as tables from './check-tables.ts'
import { isDamage } from './fault.ts'
import { formats } from './schema.ts'

/** In this order: each part checks its table against earlier ones. */
const parts: readonly (readonly [table: string, part: (facts: Facts) => Findings])[] = [
  ['file', checkFile],
  ['schema', checkSchema],
  ['sequence', checkSequences],
  ['scope', tables.checkScopes],
  ['segment', tables.readSegments],
  ['log', tables.readLogs],
  ['row', checkRows],
  ['log', tables.checkLogs],
  ['segment', tables.checkSegments],
  ['operation', tables.checkOperations],
  ['lease', tables.checkLeases],
  ['mention', tables.checkMentions],
  ['block', tables.checkBlocks],
]

export function* checkDatabase(db: DatabaseSync, hash: Hash): Findings {
  const facts = new Facts(db, hash)
  const [format] = facts.all('pragma user_version').flatMap(Object.values)
  if (format !== BigInt(formats.length))
    return yield findingOf('file', undefined, `it has format ${String(format)}: open it for writing, then check it`)
  for (const [table, part] of parts)
    try {
      yield* part(facts)
    } catch (error) {
      if (!(error instanceof Damaged) && !isUnreadable(error)) throw error
      yield findingOf(table, undefined, `it can't be read: ${error instanceof Damaged ? error.reason : error.message}`)
    }
}

const isUnreadable = (error: unknown): error is Error =>
  error instanceof Error && (isDamage(error) || (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR')

/**
 * The findings of a check, read through a separate connection in short pieces, because a long read
 * would keep the write-ahead log from being emptied. Pieces read at different times may contradict each
 * other. If others write meanwhile, only what is found twice is checked again in one transaction.
 */
export const checkStore = async (open: () => DatabaseSync): Promise<Either<StoreFault, readonly StoreFinding[]>> => {
  const db = open()
  const pass = async (): Promise<readonly StoreFinding[]> => {
    const findings: StoreFinding[] = []
    let turns = 0
    for (const found of checkDatabase(db, sha256)) {
      if (found !== undefined) findings.push(publicFinding(found))
      if (++turns % sliceRows === 0) await nextTurn()
    }
    return Object.freeze(findings)
  }
  /** Changes when another connection has written. */
  const version = (): unknown => db.prepare('pragma data_version').get()?.['data_version']
  try {
    const before = version()
    const first = await pass()
    if (first.length === 0 || version() === before) return right(first)
    const texts = new Set((await pass()).map(findingText))
    if (!first.some((found) => texts.has(findingText(found)))) return right([])
    db.exec('begin')
    return right(await pass())
  } finally {
    db.close()
  }
}

const publicFinding = ({ rebuild, ...found }: Finding): StoreFinding =>
  Object.freeze({ ...found, repairable: rebuild !== undefined })

/** Checks the file and repairs as it goes: each part is compared with what was repaired before. */
export const repairStore = (db: DatabaseSync): readonly StoreRepair[] => {
  const repairs: StoreRepair[] = []
  for (const finding of checkDatabase(db, sha256)) {
    if (finding === undefined) continue
    const { rebuild, ...found } = finding
    repairs.push(Object.freeze({ ...found, done: rebuild?.() }))
  }
  return Object.freeze(repairs)
}
