/**
 * What one append costs, in numbers that no busy machine changes: statements, transactions, digests, check sums, and pages that
 * are written. `npm run counts` fails where one is above its limit; where one is below, the limit is to be lowered here.
 */
import crypto from 'node:crypto'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import zlib from 'node:zlib'
import type { Store } from 'indelible'
import { Client } from 'pg'

interface Counts {
  /** Statements that were executed, those of transactions among them. */
  statements: number
  /** Calls of SHA-256. */
  digests: number
  /** Calls of CRC-32. */
  sums: number
  /** Pages of 4 KiB in SQLite's write-ahead log. */
  pages: number
}
type Limits = Readonly<Partial<Counts>>

const counts: Counts = { statements: 0, digests: 0, sums: 0, pages: 0 }

/** PostgreSQL notifies followers in batches, and looks for its search index every few seconds: how often depends on the time. */
const isByTime = (value: unknown): boolean =>
  /^select (?:pg_notify|count\(\*\) as tables)/.test(
    String((value as { readonly text?: unknown } | undefined)?.text ?? value),
  )

// Before the library is loaded: it takes these when it is.
const counting = <T extends object, K extends keyof T>(of: T, name: K, what: keyof Counts): void => {
  const real = of[name] as (...given: unknown[]) => unknown
  const counted = function (this: unknown, ...given: unknown[]): unknown {
    if (!isByTime(given[0])) counts[what] += 1
    return real.apply(this, given)
  }
  Object.defineProperty(of, name, { value: counted })
}
for (const name of ['run', 'get', 'all', 'iterate'] as const) counting(StatementSync.prototype, name, 'statements')
counting(DatabaseSync.prototype, 'exec', 'statements')
counting(Client.prototype as { query: unknown }, 'query', 'statements')
counting(crypto, 'hash', 'digests')
counting(crypto, 'createHash', 'digests')
counting(zlib, 'crc32', 'sums')
syncBuiltinESMExports()

const { createSession, memoryStore, user } = await import('indelible')
const { sqliteStore } = await import('indelible/store/sqlite')
const { postgresStore } = await import('@indelible/postgres')
const { startPostgres } = await import('../packages/postgres/test/postgres-server.ts')

/** Counted over so many rounds, after as many that fill caches: what happens once in a while counts as its part. */
const rounds = 200

let failed = false
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const measure = async (
  name: string,
  store: Store,
  together: number,
  limits: Limits,
  pages: () => number = () => 0,
): Promise<void> => {
  const sessions = await Promise.all(
    Array.from({ length: together }, (_, at) => createSession(store, { id: `${together} ${at}` })),
  )
  const round = (): Promise<unknown> =>
    Promise.all(sessions.map((session) => session.append(user('What is 6 times 7?'))))
  for (let warm = 0; warm < rounds; warm++) await round()
  Object.assign(counts, { statements: 0, digests: 0, sums: 0 })
  const before = pages()
  const some = Math.ceil(rounds / together)
  for (let at = 0; at < some; at++) await round()
  counts.pages = pages() - before
  const appends = some * together
  const cells = (['statements', 'digests', 'sums', 'pages'] as const).map((what) => {
    const limit = limits[what]
    if (limit === undefined) return ''
    const found = counts[what] / appends
    failed ||= found > limit
    const verdict =
      found > limit ? `, ABOVE ${limit}` : found < limit * 0.9 - 0.05 ? `, lower the limit of ${limit}` : ''
    return `${found.toFixed(2)}${verdict}`
  })
  print(`| ${[name, ...cells].join(' | ')} |`)
}

const folder = mkdtempSync(join(tmpdir(), 'indelible-counts-'))
print('| an append | statements | digests | check sums | pages |\n|---|--:|--:|--:|--:|')
await measure('memory', memoryStore(), 1, { digests: 5.7, sums: 0 })
for (const [together, limits] of [
  [1, { statements: 6.1, digests: 5.7, sums: 0, pages: 2.1 }],
  [64, { statements: 3.1, digests: 5, sums: 0, pages: 2.1 }],
] as const) {
  const path = join(folder, `${together}.db`)
  // Its clock stands still: each session is written once to the index of last use, which else is written every tenth of a second.
  const store = await sqliteStore({ path, durability: 'os', now: () => 1_700_000_000_000 })
  // While somebody reads, SQLite writes on and on: its log then has all pages.
  const reader = new DatabaseSync(path)
  reader.exec('begin; select count(*) from log')
  await measure(
    `SQLite, ${together} at once`,
    store,
    together,
    limits,
    () => (statSync(`${path}-wal`).size - 32) / (24 + 4096),
  )
  reader.close()
  await store.close()
}
const server = await startPostgres()
if (server === undefined) print('PostgreSQL was left out: there is none for this machine')
else {
  const store = await postgresStore({ connectionString: server.url, schema: 'counts' })
  await measure('PostgreSQL, 1 at once', store, 1, { statements: 1, digests: 6.7, sums: 0 })
  await measure('PostgreSQL, 64 at once', store, 64, { statements: 1 / 64, digests: 6, sums: 0 })
  await store.close()
  await server.stop()
}
rmSync(folder, { recursive: true, force: true })
process.exitCode = failed ? 1 : 0
