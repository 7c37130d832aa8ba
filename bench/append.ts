/**
 * Processor time of one append on SQLite `os`, beside a bare `INSERT` in a transaction, and beside another version of the
 * library: the versions take turns in one process. 64 at once, too.
 *
 *     git worktree add ../before COMMIT && node append.ts ../../before
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type * as Library from '../src/index.ts'
import type * as Sqlite from '../src/store/sqlite/index.ts'
import { machine } from './measure.ts'
import { messageAt } from './messages.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
const appends = 512
const rounds = 25

type Work = () => Promise<unknown>

const bare = (): Work => {
  const db = new DatabaseSync(join(folder, 'bare.db'))
  db.exec('pragma journal_mode = wal; pragma synchronous = off; create table row (id integer primary key, body text)')
  const [begin, insert, commit] = ['begin immediate', 'insert into row (body) values (?)', 'commit'].map((sql) =>
    db.prepare(sql),
  )
  return async () => {
    for (let index = 0; index < appends; index++) {
      begin?.run()
      insert?.run(JSON.stringify(messageAt(index)))
      commit?.run()
    }
  }
}

let files = 0
const versionAt = async (root: string) => {
  const load = (file: string): Promise<unknown> => import(pathToFileURL(resolve(root, file)).href)
  const { createSession } = (await load('src/index.ts')) as typeof Library
  const { sqliteStore } = (await load('src/store/sqlite/index.ts')) as typeof Sqlite
  return async (together: number): Promise<Work> => {
    const store = await sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' })
    const sessions = await Promise.all(
      Array.from({ length: together }, (_, who) => createSession(store, { id: `s${who}` })),
    )
    return () =>
      Promise.all(
        sessions.map(async (session, who) => {
          for (let index = 0; index < appends / together; index++) await session.append(messageAt(who * 8 + index))
        }),
      )
  }
}

const roots = [fileURLToPath(new URL('..', import.meta.url)), ...process.argv.slice(2)]
const versions = await Promise.all(roots.map(versionAt))
console.log(`${machine()}\n\n| | bare INSERT | ${roots.map((_, at) => (at === 0 ? 'now' : 'before')).join(' | ')} |`)
console.log(`|---|${'--:|'.repeat(1 + roots.length)}`)
for (const together of [1, 64]) {
  const works = [bare(), ...(await Promise.all(versions.map((of) => of(together))))]
  const found = works.map((): number[] => [])
  for (let round = -5; round < rounds; round++)
    for (const [which, work] of works.entries()) {
      globalThis.gc?.()
      const from = process.cpuUsage()
      await work()
      const { user, system } = process.cpuUsage(from)
      if (round >= 0) found[which]?.push((user + system) / appends)
    }
  const cells = found.map((times) => {
    const sorted = times.toSorted((a, b) => a - b)
    return `${sorted[rounds >> 1]?.toFixed(1)} µs [${sorted[rounds >> 2]?.toFixed(1)} to ${sorted[rounds - (rounds >> 2) - 1]?.toFixed(1)}]`
  })
  console.log(`| ${together} at once | ${cells.join(' | ')} |`)
  rmSync(join(folder, 'bare.db'))
}
rmSync(folder, { recursive: true, force: true })
