/**
 * Opening and verifying a session in a SQLite file, beside `JSON.parse` of the same messages: processor time of one
 * message, and what an opened session keeps in memory. The contenders take turns. `--quick` for a small size.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSession, openSession, orThrow, verifySession, type Message } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'

const quick = process.argv.includes('--quick')
const collect = globalThis.gc
if (collect === undefined) throw new TypeError('run it with --expose-gc')

/** Processor time of one call, in nanoseconds an operation: the median of the rounds. */
type Work = () => unknown
const measure = async (works: ReadonlyMap<string, Work>, operations: number, rounds: number) => {
  const samples = new Map<string, number[]>()
  for (let round = -1; round < rounds; round++)
    for (const [name, work] of works) {
      collect()
      const from = process.cpuUsage()
      await work()
      const { user, system } = process.cpuUsage(from)
      if (round >= 0) samples.set(name, [...(samples.get(name) ?? []), ((user + system) * 1000) / operations])
    }
  return new Map([...samples].map(([name, all]) => [name, all.toSorted((a, b) => a - b)[all.length >> 1] ?? NaN]))
}

/** How much more the heap has while the result of a call is kept. */
const memoryOf = async (work: Work): Promise<number> => {
  collect()
  const before = process.memoryUsage().heapUsed
  const kept = await work()
  collect()
  const after = process.memoryUsage().heapUsed
  if (kept === undefined) throw new Error('nothing was kept')
  return after - before
}

const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
console.log(`${machine()}; ${source}`)
console.log(
  '\n| messages | JSON.parse | bytes | openSession | … and a read of all | verifySession | memory of an opened | … after a read | JSON.parse |',
)
console.log('|---:|---:|---:|---:|---:|---:|---:|---:|---:|')
for (const size of quick ? [1000, 10_000] : [1000, 100_000]) {
  const store = orThrow(await sqliteStore({ path: join(folder, `${size}.db`), durability: 'os' })())
  const session = await createSession(store, { id: 's' })
  const texts: string[] = []
  for (let from = 0; from < size; from += 1000) {
    const messages = Array.from({ length: 1000 }, (_, index) => messageAt(from + index))
    await session.append(messages)
    for (const message of messages) texts.push(JSON.stringify(message))
  }
  const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  const parse = (): readonly Message[] => texts.map((text) => JSON.parse(text) as Message)
  const open = async () => openSession(store, 's')
  const read = async () => {
    const opened = await openSession(store, 's')
    opened.view().toArray()
    return opened
  }
  const works = new Map<string, Work>([
    ['parse', parse],
    ['open', open],
    ['read', read],
    ['verify', () => verifySession(store, 's')],
  ])
  const times = await measure(works, size, quick ? 3 : size < 10_000 ? 25 : 7)
  const time = (name: string): number => times.get(name) ?? NaN
  const times_ = (name: string): string =>
    `${(time(name) / 1000).toFixed(2)} µs (${(time(name) / time('parse')).toFixed(2)} ×)`
  const memory = async (work: Work): Promise<string> => {
    const used = await memoryOf(work)
    return `${Math.round(used / size)} B (${(used / bytes).toFixed(2)} ×)`
  }
  const cells = [
    size.toLocaleString('en'),
    `${(time('parse') / 1000).toFixed(2)} µs`,
    Math.round(bytes / size),
    ...['open', 'read', 'verify'].map(times_),
    await memory(open),
    await memory(read),
    await memory(parse),
  ]
  console.log(`| ${cells.join(' | ')} |`)
  await session.close()
  await store.close()
}
rmSync(folder, { recursive: true, force: true })
