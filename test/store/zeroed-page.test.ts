/** One page of a SQLite file is zeros, as a disk may leave it: whoever reads the log hears of the same place. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { expect, it, onTestFinished } from 'vitest'
import { createSession, user } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { oneIn } from '../rounds.ts'
import { ok } from '../task-results.ts'

it('a zeroed page makes nodes and rows report the same damaged position', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-zeroed-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'whole.db')
  const store = await ok(sqliteStore({ path, durability: 'os' }))
  const session = await ok(createSession(store, { id: 'a' }))
  await ok(session.append(Array.from({ length: 300 }, (_, index) => user(`${index} ${'said '.repeat(30)}`))))
  await ok(store.close())
  const whole = readFileSync(path)
  const positions = Array.from({ length: 300 }, (_, index) => index)
  const named = new Set<number>()
  for (let at = 4096; at < whole.length; at += 4096 * oneIn(2)) {
    writeFileSync(path, Buffer.from(whole).fill(0, at, at + 4096))
    const opened = await sqliteStore({ path })()
    if (isLeft(opened)) continue
    const rows = placeIn(await opened.right.read('a')())
    expect([at, placeIn(await opened.right.nodes('a', positions)())]).toEqual([at, rows])
    if (typeof rows === 'number') named.add(rows)
    await opened.right.close()()
  }
  expect(named.size).toBeGreaterThan(5)
})

/** Where a log is damaged; else the kind of the fault, or nothing. */
const placeIn = (result: Either<{ readonly _tag: string; readonly position?: number }, unknown>): unknown =>
  isLeft(result) ? (result.left.position ?? result.left._tag) : undefined
