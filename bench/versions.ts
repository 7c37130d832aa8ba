/**
 * Two builds of the library beside each other: what a row takes on disk, appends, opening. Rounds alternate, and each
 * figure is the median of the rounds, with the median of the ratios of one round: the time on the clock, and that of the
 * processor, which says more where others work on the machine.
 *
 *     node versions.ts OLD/dist NEW/dist
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { argv } from 'node:process'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { createSession, openSession, Session, Store } from 'indelible'
import type { sqliteStore } from 'indelible/store/sqlite'
import { machine } from './measure.ts'
import { messageAt, source } from './messages.ts'

interface Build {
  readonly createSession: typeof createSession
  readonly openSession: typeof openSession
  readonly sqliteStore: typeof sqliteStore
}

type Durability = 'disk' | 'os'

const load = async (dist: string): Promise<Build> => {
  const from = (file: string): Promise<Build> => import(pathToFileURL(join(resolve(dist), file)).href) as Promise<Build>
  return { ...(await from('index.js')), ...(await from('store/sqlite/index.js')) }
}
const right = <T>(answer: { readonly _tag: 'Left' | 'Right' }): T => {
  if (answer._tag === 'Left') throw new Error(JSON.stringify(answer))
  return (answer as { readonly right: T } & typeof answer).right
}
const quick = argv.includes('--quick')
const [old, fresh] = await Promise.all(argv.slice(2, 4).map(load))
if (old === undefined || fresh === undefined) throw new Error('node versions.ts OLD/dist NEW/dist')
const folder = mkdtempSync(join(tmpdir(), 'indelible-versions-'))
let files = 0
const newPath = (): string => join(folder, `${files++}.db`)
const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? NaN
const startSession = async (build: Build, size: number, durability: Durability, erasable = false) => {
  const path = newPath()
  const store = right<Store>(await build.sqliteStore({ path, durability })())
  const session = right<Session>(await build.createSession(store, { id: 's', ...(erasable && { erasable }) })())
  for (let from = 0; from < size; from += 1000)
    right(await session.append(Array.from({ length: Math.min(1000, size - from) }, (_, at) => messageAt(from + at)))())
  return { path, store, session }
}

/** Rounds of all contenders, in turn, in nanoseconds for one operation. */
const compare = async (
  title: string,
  rounds: number,
  contenders: readonly (readonly [name: string, operations: number, work: () => unknown])[],
): Promise<void> => {
  const spent = contenders.map((): number[] => [])
  const busy = contenders.map((): number[] => [])
  for (let round = -1; round < rounds; round++) {
    const order = contenders.map((_, index) => (index + Math.max(0, round)) % contenders.length)
    for (const index of order) {
      const [, operations, work] = contenders[index] as (typeof contenders)[number]
      globalThis.gc?.()
      const [from, cpu] = [process.hrtime.bigint(), process.cpuUsage()]
      await work()
      const { user, system } = process.cpuUsage(cpu)
      if (round < 0) continue // it warms up
      spent[index]?.push(Number(process.hrtime.bigint() - from) / operations)
      busy[index]?.push(((user + system) * 1000) / operations)
    }
  }
  console.log(
    `\n${title}, ${rounds} rounds\n\n| | median | to the first | CPU | to the first |\n|---|---:|---:|---:|---:|`,
  )
  const cells = (values: readonly (readonly number[])[], index: number): string => {
    const own = values[index] as readonly number[]
    const ratios = own.map((value, round) => value / (values[0]?.[round] as number))
    return `${(median(own) / 1000).toFixed(2)} µs | ${median(ratios).toFixed(2)}×`
  }
  for (const [index, [name]] of contenders.entries())
    console.log(`| ${name} | ${cells(spent, index)} | ${cells(busy, index)} |`)
}

console.log(`${machine()}; ${source}`)

/** Bytes a row: a file of many rows, less the same file without them. */
const rows = quick ? 2000 : 20_000
console.log('\nBytes a row on disk\n\n| | bytes | to the first |\n|---|---:|---:|')
let first = 0
for (const [name, build, erasable] of [
  ['old', old, false],
  ['new', fresh, false],
  ['new, erasable', fresh, true],
] as const) {
  const { path, store } = await startSession(build, rows, 'os', erasable)
  right(await store.close()())
  const bytes = statSync(path).size / rows
  first ||= bytes
  console.log(`| ${name} | ${bytes.toFixed(1)} | ${(bytes / first).toFixed(3)}× |`)
}

const each = quick ? 20 : 200
for (const durability of ['disk', 'os'] as const) {
  const [a, b] = [await startSession(old, 1000, durability), await startSession(fresh, 1000, durability)]
  const db = new DatabaseSync(newPath())
  db.exec(
    `pragma journal_mode = wal; pragma synchronous = ${durability === 'disk' ? 'full' : 'normal'}; create table row (id integer primary key, body text not null) strict`,
  )
  const insert = db.prepare('insert into row (body) values (?)')
  const { head } = await b.store.info('s')
  let expected = head
  const log = right<{ readonly head: typeof head }>(await b.store.create({ id: 'log', encrypt: false })())
  expected = log.head
  await compare(`One durable append, '${durability}'`, quick ? 3 : 21, [
    [
      'bare prepared INSERT + COMMIT',
      each,
      () => {
        for (let at = 0; at < each; at++) {
          db.exec('begin immediate')
          insert.run(JSON.stringify(messageAt(at)))
          db.exec('commit')
        }
      },
    ],
    [
      'store.append, new',
      each,
      async () => {
        for (let at = 0; at < each; at++)
          expected = right<{ readonly head: typeof head }>(
            await b.store.append('log', {
              expected,
              rows: [{ kind: 'entry', body: JSON.stringify(messageAt(at)) }],
            })(),
          ).head
      },
    ],
    [
      'session.append, old',
      each,
      async () => {
        for (let at = 0; at < each; at++) right(await a.session.append(messageAt(at))())
      },
    ],
    [
      'session.append, new',
      each,
      async () => {
        for (let at = 0; at < each; at++) right(await b.session.append(messageAt(at))())
      },
    ],
  ])
}

const many = async (build: Build): Promise<readonly Session[]> => {
  const store = right<Store>(await build.sqliteStore({ path: newPath(), durability: 'os' })())
  return Promise.all(
    Array.from({ length: 64 }, async (_, at) => right<Session>(await build.createSession(store, { id: `s${at}` })())),
  )
}
const [before, after] = [await many(old), await many(fresh)]
const busy = (sessions: readonly Session[]) => (): Promise<unknown> =>
  Promise.all(
    sessions.map(async (session) => {
      for (let at = 0; at < 20; at++) right(await session.append(messageAt(at))())
    }),
  )
await compare(`One append of 64 sessions at once, 'os'`, quick ? 3 : 21, [
  ['old', 64 * 20, busy(before)],
  ['new', 64 * 20, busy(after)],
])

const large = quick ? 2000 : 100_000
const [small, big] = [await startSession(old, large, 'os'), await startSession(fresh, large, 'os')]
const texts = Array.from({ length: large }, (_, at) => JSON.stringify(messageAt(at)))
await compare(`Opening ${large.toLocaleString('en')} messages, for one of them`, quick ? 2 : 9, [
  ['JSON.parse of the same texts', large, () => texts.map((text) => JSON.parse(text) as unknown)],
  ['openSession, old', large, async () => right(await old.openSession(small.store, 's')())],
  ['openSession, new', large, async () => right(await fresh.openSession(big.store, 's')())],
])
rmSync(folder, { recursive: true, force: true })
