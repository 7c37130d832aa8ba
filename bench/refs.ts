/**
 * Reference histories: persisting and hydrating 10,000 messages of 1 kB on each store, with the round trips that it
 * takes, and what a workflow then carries. `node refs.ts [messages]` takes another number of messages.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isLeft, type Either } from 'fp-ts/lib/Either.js'
import { assistant, memoryStore, user, type Message } from 'indelible'
import { blockCache, cachedBlocks, keyValueBlocks, type BlockStore } from 'indelible/store'
import { createPendingHistory, hydrate, persist, refsFaultMessage } from '@indelible/workflows/refs'
import { postgresStore } from '@indelible/postgres'
import { sqliteStore } from 'indelible/store/sqlite'
import { startPostgres } from '../packages/postgres/test/postgres-server.ts'
import { machine } from './measure.ts'

const count = Number(process.argv[2] ?? 10_000)
const messageText = (position: number): string => `message ${position}: `.padEnd(1000, 'words of a turn ')
const messages: readonly Message[] = Array.from({ length: count }, (_, position) =>
  (position % 2 === 0 ? user : assistant)(messageText(position)),
)

const must = <T>(answer: Either<Parameters<typeof refsFaultMessage>[0], T>): T => {
  if (isLeft(answer)) throw new Error(refsFaultMessage(answer.left))
  return answer.right
}

interface Bench {
  readonly name: string
  readonly store: BlockStore
  /** How often the store was asked, of what is behind the adapter. */
  readonly trips: () => number
  readonly end: () => Promise<unknown>
}

const countingStore = (inner: BlockStore): { readonly store: BlockStore; readonly trips: () => number } => {
  let trips = 0
  return {
    trips: () => trips,
    store: {
      ...inner,
      putBlocks: (blocks) => ((trips += 1), inner.putBlocks(blocks)),
      getBlocks: (ids) => ((trips += 1), inner.getBlocks(ids)),
    },
  }
}

const memory = async (): Promise<Bench> => ({
  name: 'memory',
  ...countingStore(memoryStore()),
  end: async () => undefined,
})

const sqlite = async (): Promise<Bench> => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
  const store = must(await sqliteStore({ path: join(folder, 'refs.db') })())
  return {
    name: 'sqlite',
    ...countingStore(store),
    end: async () => (await store.close()(), rmSync(folder, { recursive: true })),
  }
}

/** The server of DATABASE_URL, or one that is started here. */
const server = await startPostgres(true)

const postgres = async (): Promise<Bench> => {
  const store = must(
    await postgresStore({
      connectionString: server?.url ?? '',
      schema: 'indelible_bench_refs',
      scope: `bench-${Date.now()}`,
    })(),
  )
  return { name: 'postgres', ...countingStore(store), end: () => store.close()() }
}

/** A map, where every call takes as long as one to another machine does. */
const keyValue = (name: string, milliseconds: number) => async (): Promise<Bench> => {
  const map = new Map<string, Uint8Array>()
  let trips = 0
  const away = async <T>(work: () => T): Promise<T> => {
    trips += 1
    if (milliseconds > 0) await new Promise((resolve) => setTimeout(resolve, milliseconds))
    return work()
  }
  const store = keyValueBlocks({
    mget: (keys) => away(() => keys.map((key) => map.get(key))),
    mset: (entries) => away(() => entries.forEach(([key, value]) => map.set(key, value))),
  })
  return { name, store, trips: () => trips, end: async () => undefined }
}

const cached = async (): Promise<Bench> => {
  const { store, trips } = countingStore(memoryStore())
  return { name: 'memory, cached', store: cachedBlocks(store, blockCache()), trips, end: async () => undefined }
}

const timed = async <T>(work: () => Promise<T>): Promise<readonly [T, number]> => {
  globalThis.gc?.()
  const from = performance.now()
  const result = await work()
  return [result, performance.now() - from]
}

console.log(`${machine()}, ${count} messages of 1 kB\n`)
console.log('| store | persist | trips | persist 10 more | trips | hydrate | trips | bytes a message carried |')
console.log('|---|---:|---:|---:|---:|---:|---:|---:|')
for (const open of [
  memory,
  sqlite,
  ...(server === undefined ? [] : [postgres]),
  keyValue('key-value map', 0),
  keyValue('key-value, 1 ms away', 1),
  cached,
]) {
  const { name, store, trips, end } = await open()
  const pending = createPendingHistory({ scope: store.scope, from: messages })
  const [stored, persisting] = await timed(async () => must(await persist(store, pending)()))
  const tripsToPersist = trips()
  const going = stored.extend()
  for (let more = 0; more < 10; more++) going.append(user(`more ${messageText(more)}`))
  const [longer, goingOn] = await timed(async () => must(await persist(store, going)()))
  const tripsToGoOn = trips() - tripsToPersist
  const [hydrated, hydrating] = await timed(async () => must(await hydrate(store, longer.refHistory())()))
  if (hydrated.len !== count + 10) throw new Error('not all came back')
  const carried = JSON.stringify(longer).length / longer.len
  const cells = [
    name,
    `${persisting.toFixed(0)} ms`,
    tripsToPersist,
    `${goingOn.toFixed(1)} ms`,
    tripsToGoOn,
    `${hydrating.toFixed(0)} ms`,
    trips() - tripsToPersist - tripsToGoOn,
    carried.toFixed(1),
  ]
  console.log(`| ${cells.join(' | ')} |`)
  await end()
}
await server?.stop()
