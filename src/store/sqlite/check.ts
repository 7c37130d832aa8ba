/**
 * Checks each table of a store file against the others, its check sums and the tree, and repairs what the rows give
 * or a check sum proves. Each table is checked against earlier ones, so one pass that repairs as it goes is enough.
 */
import { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../../json/index.ts'
import { portableSha256 as sha256, type Hash } from '../../proof/internal.ts'
import type { SignalLike } from '../../task/index.ts'
import type { StoreFault, StoreFaultOf } from '../fault.ts'
import { findingText, type StoreFinding, type StoreRepair } from '../port/check.ts'
import { Damaged } from '../port/damage-error.ts'
import { cancelled, Slices } from '../port/slices.ts'
import { Facts, findingOf, type Finding, type Findings, type Raw } from './check-facts.ts'
import { checkFile, checkSchema, checkSequences, integrityCheck } from './check-file.ts'
import { checkRows } from './check-rows.ts'
import * as tables from './check-tables.ts'
import { isDamage } from './fault.ts'
import { patiently, rollBack } from './open.ts'
import { formats } from './schema.ts'
import { fileOf, inThread, isSmall } from './thread.ts'

/** In this order: each part checks its table against earlier ones. */
const parts: readonly (readonly [table: string, part: (facts: Facts, integrity: readonly Raw[]) => Findings])[] = [
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

/** @param integrity the rows of `integrityCheck` */
export function* checkDatabase(db: DatabaseSync, hash: Hash, integrity: readonly Raw[]): Findings {
  const facts = new Facts(db, hash)
  const [format] = facts.all('pragma user_version').flatMap(Object.values)
  if (format !== BigInt(formats.length))
    return yield findingOf('file', undefined, `it has format ${String(format)}: open it for writing, then check it`)
  for (const [table, part] of parts)
    try {
      yield* part(facts, integrity)
    } catch (error) {
      if (!(error instanceof Damaged) && !isUnreadable(error)) throw error
      yield findingOf(table, undefined, `it can't be read: ${error instanceof Damaged ? error.reason : error.message}`)
    }
}

const isUnreadable = (error: unknown): error is Error =>
  error instanceof Error && (isDamage(error) || (error as NodeJS.ErrnoException).code === 'ERR_SQLITE_ERROR')

/** The file of a check. */
interface CheckedFile {
  /** As a thread opens it. */
  readonly file: string
  /** Opens a connection for reading. */
  readonly again: () => DatabaseSync
}

/**
 * The findings of a check, read through a separate connection in short pieces, because a long read
 * would keep the write-ahead log from being emptied. Pieces read at different times may contradict each
 * other. If others write meanwhile, only what is found twice is checked again in one transaction.
 */
export const checkStore = async (
  { file, again }: CheckedFile,
  signal: SignalLike | undefined,
): Promise<Either<StoreFault, readonly StoreFinding[]>> => {
  const db = again()
  const pass = (): Pass<StoreFinding> => inOnePass(db, file, signal, publicFinding)
  /** Changes when another connection has written. */
  const version = (): unknown => db.prepare('pragma data_version').get()?.['data_version']
  try {
    const before = version()
    const first = await pass()
    if (isLeft(first) || first.right.length === 0 || version() === before) return first
    const second = await pass()
    if (isLeft(second)) return second
    const texts = new Set(second.right.map(findingText))
    if (!first.right.some((found) => texts.has(findingText(found)))) return right([])
    db.exec('begin')
    return await pass()
  } finally {
    db.close()
  }
}

type Pass<T> = Promise<Either<StoreFaultOf<'Cancelled'>, readonly T[]>>

/** Checks the whole file once, in slices, and takes each finding before the next one is looked for. */
const inOnePass = async <T>(
  db: DatabaseSync,
  file: string,
  signal: SignalLike | undefined,
  take: (found: Finding) => T,
): Pass<T> => {
  const slices = new Slices()
  const taken: T[] = []
  const ended = cancelled(signal)
  if (ended !== undefined) return left(ended)
  const integrity = await integrityOf(db, file, signal)
  const abandoned = cancelled(signal)
  if (abandoned !== undefined) return left(abandoned)
  for (const found of checkDatabase(db, sha256, integrity)) {
    if (typeof found !== 'number') taken.push(take(found))
    const turn = slices.next(typeof found === 'number' ? found : 0)
    if (turn === undefined) continue
    await turn
    const stopped = cancelled(signal)
    if (stopped !== undefined) return left(stopped)
  }
  return right(Object.freeze(taken))
}

/** SQLite's report on the pages of the file. */
const integrityOf = async (db: DatabaseSync, file: string, signal: SignalLike | undefined): Promise<readonly Raw[]> => {
  try {
    return isSmall(fileOf(db))
      ? (db.prepare(integrityCheck).all() as unknown as readonly Raw[])
      : await inThread({ file, readOnly: true, statements: [integrityCheck] }, signal)
  } catch (error) {
    if (isUnreadable(error)) return [{ integrity_check: `it can't be read: ${error.message}` }]
    throw error
  }
}

const publicFinding = ({ rebuild, ...found }: Finding): StoreFinding =>
  Object.freeze({ ...found, repairable: rebuild !== undefined })

const repaired = ({ rebuild, ...found }: Finding): StoreRepair => Object.freeze({ ...found, done: rebuild?.() })

/**
 * Checks the file and repairs as it goes: each part is compared with what was repaired before. All in one transaction of
 * a separate connection, in slices: until it commits, other connections read the file as it was. Throws if the file is busy.
 */
export const repairStore = async (
  { path, wait }: { readonly path: string; readonly wait: number },
  signal: SignalLike | undefined,
): Promise<Either<StoreFault, readonly StoreRepair[]>> => {
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    db.exec('pragma synchronous = full')
    await patiently(wait, () => db.exec('begin immediate'))
    const repairs = await inOnePass(db, path, signal, repaired)
    if (!isLeft(repairs)) db.exec('commit')
    return repairs
  } finally {
    rollBack(db)
    db.close()
  }
}
