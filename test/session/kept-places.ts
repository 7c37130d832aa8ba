/** Stores for the adapters' tests: in memory, in a file, and in PostgreSQL. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memoryStore, verifySession, type Store } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'

/** Where the stores of a suite are. */
export interface Place {
  readonly name: string
  /** A store with nothing in it. */
  readonly fresh: () => Promise<Store>
}

export const inMemory: Place = { name: 'memory', fresh: async () => memoryStore() }

/** In files of a folder, which is removed by `leave`. */
export const inFiles = (): Place & { readonly path: () => string; readonly leave: () => void } => {
  const folder = mkdtempSync(join(tmpdir(), 'indelible-adapters-'))
  let count = 0
  return {
    name: 'SQLite',
    path: () => join(folder, `${count}.db`),
    fresh: async () => sqliteStore({ path: join(folder, `${++count}.db`), durability: 'os' }),
    leave: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Fails unless the record is whole: every row is that of its head. */
export const verified = async (store: Store, id: string): Promise<void> => {
  await verifySession(store, id)
}
