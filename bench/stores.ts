/** The SQLite store beside the naive ways to keep the same bytes: durable appends, forks, and how long others wait for a turn. */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import type { Head, Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
const right = <T>(found: Either<unknown, T>): T => {
  if (isLeft(found)) throw new Error(JSON.stringify(found.left))
  return found.right
}
const open = async (name: string, durability: 'disk' | 'os'): Promise<Store> =>
  right(await sqliteStore({ path: join(folder, name), durability })())
const body = (position: number): string => JSON.stringify({ message: messageAt(position) })
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN
const quick = process.argv.includes('--quick')
const micro = (milliseconds: number): string => `${(milliseconds * 1000).toFixed(0)} µs`

/** Fill a log up to a length, many rows an append. */
const filled = async (store: Store, id: string, length: number): Promise<Head> => {
  let { head } = right(await store.create({ id, encrypt: false })())
  for (let from = 0; from < length; from += 5000) {
    const rows = Array.from({ length: Math.min(5000, length - from) }, (_, index) => ({
      kind: 'entry' as const,
      body: body(from + index),
    }))
    head = right(await store.append(id, { expected: head, rows })()).head
  }
  return head
}

console.log(
  `${machine()}\n${source}; one row an append, each awaited. Medians of 300; ratios to the bare statement of the same row.\n`,
)
console.log('| durability | rows there | store | bare INSERT + COMMIT | raw write + fdatasync |')
console.log('|---|---:|---:|---:|---:|')
for (const durability of ['disk', 'os'] as const) {
  for (const length of quick ? [10, 1000] : [10, 1000, 100_000]) {
    const store = await open(`append-${durability}-${length}.db`, durability)
    let head = await filled(store, 'log', length)
    const bare = new DatabaseSync(join(folder, `bare-${durability}-${length}.db`))
    bare.exec(
      `pragma journal_mode = wal; pragma synchronous = ${durability === 'disk' ? 'full' : 'normal'}; create table row (id integer primary key, body text not null)`,
    )
    const insert = bare.prepare('insert into row (body) values (?)')
    bare.exec('begin')
    for (let position = 0; position < length; position++) insert.run(body(position))
    bare.exec('commit')
    const raw = openSync(join(folder, `raw-${durability}-${length}`), 'a')
    const [ours, theirs, bytes]: [number[], number[], number[]] = [[], [], []]
    for (let round = 0; round < 300; round++) {
      const text = body(length + round)
      let from = performance.now()
      head = right(await store.append('log', { expected: head, rows: [{ kind: 'entry', body: text }] })()).head
      ours.push(performance.now() - from)
      from = performance.now()
      insert.run(text)
      theirs.push(performance.now() - from)
      from = performance.now()
      writeSync(raw, `${text}\n`)
      if (durability === 'disk') fdatasyncSync(raw)
      bytes.push(performance.now() - from)
    }
    const base = median(theirs)
    const ratio = (values: readonly number[]): string =>
      `${micro(median(values))} (${(median(values) / base).toFixed(2)}×)`
    console.log(
      `| ${durability} | ${length.toLocaleString('en')} | ${ratio(ours)} | ${ratio(theirs)} | ${ratio(bytes)} |`,
    )
    closeSync(raw)
    bare.close()
    await store.close()()
  }
}

console.log('\n64 logs that append at once, each as soon as its last append is answered, for two seconds.\n')
console.log('| durability | appends a second | one append, median | p99 | longest turn of the event loop |')
console.log('|---|---:|---:|---:|---:|')
for (const durability of ['disk', 'os'] as const) {
  const store = await open(`many-${durability}.db`, durability)
  const logs = await Promise.all(
    Array.from({ length: 64 }, async (_, index) => ({
      id: `log ${index}`,
      head: right(await store.create({ id: `log ${index}`, encrypt: false })()).head,
    })),
  )
  const gaps: number[] = []
  let last = performance.now()
  let going = true
  const tick = (): void => {
    const now = performance.now()
    gaps.push(now - last)
    last = now
    if (going) setImmediate(tick)
  }
  tick()
  const latencies: number[] = []
  const end = performance.now() + 2000
  await Promise.all(
    logs.map(async ({ id, head }, index) => {
      let expected = head
      for (let count = 0; performance.now() < end; count++) {
        const from = performance.now()
        expected = right(
          await store.append(id, { expected, rows: [{ kind: 'entry', body: body(index + count) }] })(),
        ).head
        latencies.push(performance.now() - from)
      }
    }),
  )
  going = false
  const sorted = latencies.toSorted((a, b) => a - b)
  console.log(
    `| ${durability} | ${Math.round(latencies.length / 2).toLocaleString('en')} | ${(sorted[sorted.length >> 1] ?? NaN).toFixed(1)} ms | ${(sorted[Math.floor(sorted.length * 0.99)] ?? NaN).toFixed(1)} ms | ${gaps.reduce((most, gap) => Math.max(most, gap), 0).toFixed(1)} ms |`,
  )
  await store.close()()
}

console.log('\nA fork, acknowledged by the operating system. Medians of 50.\n')
console.log('| rows shared | fork |')
console.log('|---:|---:|')
for (const length of quick ? [10, 10_000] : [10, 1_000_000]) {
  const store = await open(`fork-${length}.db`, 'os')
  await filled(store, 'log', length)
  const spent: number[] = []
  for (let round = 0; round < 50; round++) {
    const from = performance.now()
    right(await store.fork('log', { id: `fork ${round}`, at: length - 1 })())
    spent.push(performance.now() - from)
  }
  console.log(`| ${length.toLocaleString('en')} | ${micro(median(spent))} |`)
  await store.close()()
}
rmSync(folder, { recursive: true, force: true })
