/**
 * One session, and writers (eight) that append to it without a pause, by `rebase`, for some seconds: handles of one process,
 * each with a store of its own, or processes. Fair are writers that do as much as each other and wait as long as each other:
 * "between" is how many appends of others stand between two of one writer, where an even share is one less than the writers.
 * The first second is listed separately: each writer then opens a second connection, and each connection plans its statements.
 *
 *     node contention.ts [SECONDS [ROUNDS [WRITERS]]] [memory] [sqlite] [postgresql]
 */
import { fork } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { orThrow, textOf, user } from 'indelible'
import { createSession, openSession, type Session } from 'indelible/session'
import { memoryStore, type Store } from 'indelible/store'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { startPostgres } from '../packages/postgres/test/postgres-server.ts'
import { machine } from './measure.ts'

interface Figures {
  /** Appends that were acknowledged. */
  readonly count: number
  /** Milliseconds that they took on average. */
  readonly mean: number
  /** Milliseconds that the slowest of those took that began in the first second, and later. */
  readonly first: number
  readonly longest: number
  /** How often the message of the most refused one was made. */
  readonly tries: number
}

const numbers = process.argv
  .slice(2)
  .filter((argument) => /^[\d.]+$/.test(argument))
  .map(Number)
const [seconds = 3, rounds = 3, writers = 8] = numbers
const only = process.argv.slice(2).filter((argument) => /^[a-z]+$/.test(argument))

const write = async (session: Session, name: string, milliseconds: number): Promise<Figures> => {
  const until = performance.now() + milliseconds
  const began = performance.now()
  let [count, first, longest, tries] = [0, 0, 0, 0]
  for (let called = performance.now(); called < until; called = performance.now()) {
    let made = 0
    await orThrow(
      session.rebase(() => {
        made += 1
        return user(`${name} ${count}`)
      }),
    )
    count += 1
    const took = performance.now() - called
    if (called < began + 1000) first = Math.max(first, took)
    else longest = Math.max(longest, took)
    tries = Math.max(tries, made)
  }
  return { count, mean: (performance.now() - began) / Math.max(1, count), first, longest, tries }
}

const openStore = (address: string): Promise<Store> =>
  orThrow(
    address.startsWith('postgres:')
      ? postgresStore({ connectionString: address, schema: 'contention', connections: 4 })
      : sqliteStore({ path: address }),
  )

const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return ((sorted[(sorted.length - 1) >> 1] ?? NaN) + (sorted[sorted.length >> 1] ?? NaN)) / 2
}

/** Each opens the store, and begins when all have done so. */
const inProcesses = async (address: string, id: string): Promise<readonly Figures[]> => {
  const children = Array.from({ length: writers }, (_, index) =>
    fork(fileURLToPath(import.meta.url), ['writer', address, id, String(index), String(seconds)]),
  )
  const nextMessage = (child: (typeof children)[number]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`a writer ended with ${code}`)))
    })
  await Promise.all(children.map(nextMessage))
  const figures = children.map(nextMessage)
  for (const child of children) child.send('begin')
  return (await Promise.all(figures)) as readonly Figures[]
}

const inHandles = async (stores: readonly Store[], id: string): Promise<readonly Figures[]> => {
  const sessions = await Promise.all(stores.map((store) => orThrow(openSession(store, id))))
  return Promise.all(sessions.map((session, index) => write(session, String(index), seconds * 1000)))
}

if (process.argv[2] === 'writer') {
  const [address = '', id = '', name = '', given = ''] = process.argv.slice(3)
  const store = await openStore(address)
  const session = await orThrow(openSession(store, id))
  const begin = new Promise((resolve) => process.once('message', resolve))
  process.send?.('ready')
  await begin
  const figures = await write(session, name, Number(given) * 1000)
  await orThrow(store.close())
  process.send?.(figures, () => process.exit(0))
} else {
  console.log(`${machine()}; ${writers} writers, ${seconds} s, ${rounds} rounds.\n`)
  console.log(
    '| store | writers | appends/s | appends of a writer: most, median, fewest | mean wait | longest wait of a writer after the first second: most, median | longest / mean, in the first second and after it | between, most | tries of each writer, most |',
  )
  console.log('|---|---|---:|---:|---:|---:|---:|---:|---:|')
  const isSelected = (name: string): boolean => only.length === 0 || only.includes(name.toLowerCase())
  /** The most appends of others between two of one writer. */
  const between = async (store: Store, id: string): Promise<number> => {
    const behind = new Map<string, number>()
    let most = 0
    for (const [at, message] of [...(await orThrow(openSession(store, id))).view()].entries()) {
      const [name = ''] = textOf(message).split(' ')
      most = Math.max(most, at - (behind.get(name) ?? -1) - 1)
      behind.set(name, at)
    }
    return most
  }
  type Run = (round: number) => Promise<{ readonly figures: readonly Figures[]; readonly most: number }>
  const show = async (name: string, run: Run): Promise<void> => {
    for (let round = 0; round < rounds; round++) {
      const { figures, most } = await run(round)
      const [counts, waits] = [figures.map(({ count }) => count), figures.map(({ longest }) => longest)]
      const first = Math.max(...figures.map((figure) => figure.first))
      const total = counts.reduce((sum, count) => sum + count, 0)
      const mean = figures.reduce((sum, figure) => sum + figure.mean * figure.count, 0) / total
      console.log(
        `| ${name} | ${(total / seconds).toFixed(0)} | ${Math.max(...counts)}, ${median(counts)}, ${Math.min(...counts)} | ${mean.toFixed(1)} ms | ${Math.max(...waits).toFixed(0)} ms, ${median(waits).toFixed(0)} ms | ${(first / mean).toFixed(1)}, ${(Math.max(...waits) / mean).toFixed(1)} | ${most} | ${figures.map(({ tries }) => tries).join(' ')} |`,
      )
    }
  }
  const both = async (name: string, address: (round: string) => string): Promise<void> => {
    if (!isSelected(name)) return
    await show(`${name} | handles`, async (round) => {
      const stores: Store[] = []
      for (let index = 0; index < writers; index++) stores.push(await openStore(address(`h${round}`)))
      await orThrow(createSession(stores[0] as Store, { id: `h${round}` }))
      const figures = await inHandles(stores, `h${round}`)
      const most = await between(stores[0] as Store, `h${round}`)
      for (const store of stores) await orThrow(store.close())
      return { figures, most }
    })
    await show(`${name} | processes`, async (round) => {
      const store = await openStore(address(`p${round}`))
      await orThrow(createSession(store, { id: `p${round}` }))
      const figures = await inProcesses(address(`p${round}`), `p${round}`)
      const most = await between(store, `p${round}`)
      await orThrow(store.close())
      return { figures, most }
    })
  }
  if (isSelected('memory'))
    await show('memory | handles', async () => {
      const store = memoryStore()
      await orThrow(createSession(store, { id: 's' }))
      const stores = Array.from({ length: writers }, () => store)
      return { figures: await inHandles(stores, 's'), most: await between(store, 's') }
    })
  const folder = mkdtempSync(join(tmpdir(), 'indelible-contention-'))
  await both('SQLite', (name) => join(folder, `${name}.db`))
  rmSync(folder, { recursive: true, force: true })
  const server = isSelected('PostgreSQL') ? await startPostgres(true) : undefined
  if (server !== undefined) {
    await both('PostgreSQL', () => server.url)
    await server.stop()
  }
}
