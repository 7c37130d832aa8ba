/** LangGraph's own validation of checkpointers, on every store. It registers its tests itself. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { deltaChannelHistoryTests, validate } from '@langchain/langgraph-checkpoint-validation'
import { afterAll } from 'vitest'
import { memoryStore, type Store } from 'indelible'
import { IndelibleSaver } from '@indelible/langgraph'
import { sqliteStore } from 'indelible/store/sqlite'
import { postgresStore } from '@indelible/postgres'
import { startPostgres } from '../../packages/postgres/test/postgres-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-langgraph-'))
const server = await startPostgres()
let count = 0
const stores = new WeakMap<IndelibleSaver, Store>()

const places: readonly (readonly [name: string, open: () => Promise<Store>])[] = [
  ['memory', async () => memoryStore()],
  ['SQLite', async () => sqliteStore({ path: join(folder, 'threads.db'), durability: 'os', scope: `${count++}` })],
  ...(server === undefined
    ? []
    : [
        [
          'PostgreSQL',
          async () =>
            postgresStore({
              connectionString: server.url,
              schema: `langgraph ${process.pid}`,
              scope: `${count++}`,
              connections: 2,
            }),
        ] as const,
      ]),
]

for (const [name, open] of places) {
  const initializer = {
    checkpointerName: `IndelibleSaver, ${name}`,
    createCheckpointer: async () => {
      const store = await open()
      const saver = new IndelibleSaver(store)
      stores.set(saver, store)
      return saver
    },
    destroyCheckpointer: async (saver: IndelibleSaver) => {
      await stores.get(saver)?.close()
    },
  }
  validate(initializer)
  deltaChannelHistoryTests(initializer)
}

afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})
