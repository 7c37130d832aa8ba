/** Checks and repairs a store file. */
import type { DatabaseSync } from 'node:sqlite'
import type { Either } from 'fp-ts/lib/Either.js'
import { right } from '../../json/index.ts'
import { portableSha256 as sha256 } from '../../proof/internal.ts'
import type { StoreFault } from '../fault.ts'
import { findingText, type StoreFinding, type StoreRepair } from '../port/check.ts'
import { nextTurn, sliceRows } from '../port/slices.ts'
import { checkDatabase, type Finding } from './check.ts'

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
      if (found !== undefined) findings.push(findingOf(found))
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

const findingOf = ({ rebuild, ...found }: Finding): StoreFinding =>
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
