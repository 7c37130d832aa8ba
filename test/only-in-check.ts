/**
 * The tests that `npm test` leaves to `npm run check`: `only-in-check.txt` has their files and, indented, their names. They
 * kill processes and servers, read whole corpora, measure memory, or do with PostgreSQL what others do with SQLite: a
 * thirtieth of all tests takes two fifths of the time.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/run.ts'

/** Why a test is skipped. */
export const onlyInCheck = 'only in npm run check'

/** The names of the tests, by the paths of their files. */
export const testsOnlyInCheck: ReadonlyMap<string, ReadonlySet<string>> = (() => {
  const files = new Map<string, Set<string>>()
  let names = new Set<string>()
  for (const line of readFileSync(join(root, 'test/only-in-check.txt'), 'utf8').split('\n'))
    if (line.startsWith('  ')) names.add(line.trim())
    else if (line !== '') files.set(join(root, line), (names = new Set()))
  return files
})()

/** Whether this is `npm test`. */
export const isQuick: boolean = process.env['INDELIBLE_QUICK'] === 'yes'

/** Whether this run leaves a test to `npm run check`: `npm test` does, a run of single files does not. */
export const isOnlyInCheck = (path: string, name: string): boolean =>
  isQuick && testsOnlyInCheck.get(path)?.has(name) === true
