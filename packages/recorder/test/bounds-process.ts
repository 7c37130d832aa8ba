/** Prints the bytes of heap that so many ids leave behind, beside 1,000 of them: `bounds-process.ts COUNT`. Needs --expose-gc. With 100,000 of them: of slow ones, too. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStore } from 'indelible/store/sqlite'
import { eventsInStore } from '@indelible/workflows/activities'
import { withLedger } from '@indelible/evidence'
import { Places } from '../src/conversations/places.ts'
import { Tally } from '../src/summary.ts'
import type { Store } from 'indelible/store'

const count = Number(process.argv[2])
const folder = mkdtempSync(join(tmpdir(), 'indelible-bounds-'))

const heap = async (): Promise<number> => {
  for (let round = 0; round < 4; round++) {
    await new Promise((resolve) => setImmediate(resolve)) // what is let go of at the end of a turn
    globalThis.gc?.()
  }
  return process.memoryUsage().heapUsed
}

const measure = async <T>(
  name: string,
  make: (store: Store) => T,
  use: (made: T, id: number, store: Store) => unknown,
): Promise<void> => {
  const store = await sqliteStore({ path: join(folder, `${name}.db`), durability: 'os' })
  const made = make(store)
  const useUpTo = async (from: number, to: number): Promise<void> => {
    for (let id = from; id < to; id += 50)
      await Promise.all(Array.from({ length: 50 }, (_, next) => use(made, id + next, store)))
  }
  await useUpTo(0, 1000)
  const before = await heap()
  await useUpTo(1000, count)
  const bytes = (await heap()) - before
  await use(made, 0, store) // it is still in use
  await store.close()
  process.stdout.write(`${JSON.stringify([name, bytes])}\n`)
}

await measure(
  'figures',
  () => new Tally(),
  (tally, id) => {
    const usage = { input: 1, output: 1 }
    const part = { cause: 'tools', tokens: 1, known: 'proved', because: `reason ${id}` } as const
    const explained = { model: `m${id}`, number: 1, usage, parts: [part] }
    tally.called({ session: `recorded-${id}`, model: `m${id}`, failed: false, usage, explained })
  },
)
if (count >= 100_000) {
  await measure(
    'scopes',
    (store) => store,
    async (store, id) => {
      const scoped = store.scoped(`tenant-${id}`)
      if (scoped._tag === 'Right') await scoped.right.info('x')()
    },
  )
  await measure(
    'places',
    (store) => new Places(store),
    (places, id) => places.add([[`m:${id}`, { session: `recorded-${id}`, len: 1 }]]),
  )
  await measure(
    'events',
    (store) => eventsInStore(store),
    (events, id) => events.publish({ type: 'stream_end', action: `chat-${id}`, attempt: 1, outcome: 'done' } as never),
  )
  await measure(
    'ledger',
    (store) => withLedger(store, { every: 1000 }),
    async (ledger, id, store) => {
      const log = await store.create({ id: `x${id}-${Math.random()}`, encrypt: false })
      await ledger.append(log.id, { expected: log.head, rows: [{ kind: 'note', body: '{}' }] })
    },
  )
}
rmSync(folder, { recursive: true })
