/**
 * Opening and verifying a session in a SQLite file, beside `JSON.parse` of the same messages, and beside the least that a
 * checked open can do: read the rows' columns, and hash each row and one node of the tree. Processor time of one message,
 * and what an opened session keeps in memory. The contenders take turns. `--quick` for a small size.
 */
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createSession, openSession, orThrow, verifySession, type Message } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'

const quick = process.argv.includes('--quick')
const collect = globalThis.gc
if (collect === undefined) throw new TypeError('run it with --expose-gc')

type Work = () => unknown

/** Processor time for one message, in nanoseconds: the median of the rounds, each of which handles 20,000 messages or more. */
const measure = async (works: ReadonlyMap<string, Work>, messages: number, rounds: number) => {
  const calls = Math.ceil(20_000 / messages)
  const samples = new Map<string, number[]>()
  for (let round = -1; round < rounds; round++)
    for (const [name, work] of works) {
      collect()
      const from = process.cpuUsage()
      for (let call = 0; call < calls; call++) await work()
      const { user, system } = process.cpuUsage(from)
      const spent = ((user + system) * 1000) / (calls * messages)
      if (round >= 0) samples.set(name, [...(samples.get(name) ?? []), spent])
    }
  return new Map([...samples].map(([name, all]) => [name, all.toSorted((a, b) => a - b)[all.length >> 1] ?? NaN]))
}

const memory = (): number => {
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** How many bytes more there are while the result of a call is kept. */
const memoryOf = async (work: Work): Promise<number> => {
  const before = memory()
  const kept = await work()
  const after = memory()
  if (kept === undefined) throw new Error('nothing was kept')
  return after - before
}

const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
console.log(`${machine()}; ${source}`)
console.log(
  '\n| messages | JSON.parse | bytes | rows and two hashes | openSession | … and a read of all | verifySession | memory of an opened | … after a read | JSON.parse |',
)
console.log('|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|')
for (const size of quick ? [1000, 10_000] : [1000, 100_000]) {
  const path = join(folder, `${size}.db`)
  const store = orThrow(await sqliteStore({ path, durability: 'os' })())
  const session = await createSession(store, { id: 's' })
  const texts: string[] = []
  for (let from = 0; from < size; from += 1000) {
    const messages = Array.from({ length: 1000 }, (_, index) => messageAt(from + index))
    await session.append(messages)
    for (const message of messages) texts.push(JSON.stringify(message))
  }
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const parse = (): readonly Message[] => texts.map((text) => JSON.parse(text) as Message)
  const database = new DatabaseSync(path, { readOnly: true })
  const rows = database.prepare('select id, body, at, salt, erased from row where id > ? order by id limit 1000')
  rows.setReturnArrays(true)
  const node = 'n'.repeat(65)
  const least = (): readonly unknown[] => {
    const bodies: unknown[] = []
    for (let last: unknown = 0, page = 1000; page === 1000;) {
      const found = rows.all(last as number) as unknown as readonly [id: number, body: string][]
      for (const [, body] of found) {
        hash('sha256', body, 'latin1')
        hash('sha256', node, 'latin1')
        bodies.push(body)
      }
      page = found.length
      last = found.at(-1)?.[0]
    }
    return bodies
  }
  const open = async () => openSession(store, 's')
  const read = async () => {
    const opened = await openSession(store, 's')
    opened.view().toArray()
    return opened
  }
  const works = new Map<string, Work>([
    ['parse', parse],
    ['least', least],
    ['open', open],
    ['read', read],
    ['verify', () => verifySession(store, 's')],
  ])
  const times = await measure(works, size, quick ? 3 : 7)
  const time = (name: string): number => times.get(name) ?? NaN
  const timeCell = (name: string): string =>
    `${(time(name) / 1000).toFixed(2)} µs (${(time(name) / time('parse')).toFixed(2)} ×)`
  const memoryCell = async (work: Work): Promise<string> => {
    const used = await memoryOf(work)
    return `${Math.round(used / size)} B (${(used / bytes).toFixed(2)} ×)`
  }
  const cells = [
    size.toLocaleString('en'),
    `${(time('parse') / 1000).toFixed(2)} µs`,
    Math.round(bytes / size),
    ...['least', 'open', 'read', 'verify'].map(timeCell),
    await memoryCell(open),
    await memoryCell(read),
    await memoryCell(parse),
  ]
  console.log(`| ${cells.join(' | ')} |`)
  database.close()
  await session.close()
  await store.close()
}
rmSync(folder, { recursive: true, force: true })
