/** Stores for the adapters' tests: in memory, in a file, and in PostgreSQL. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { FaultError, memoryStore, orThrow, verifySession, type Store } from 'indelible'
import { memoryDriver, storeOf } from 'indelible/store/driver'
import { sqliteStore } from 'indelible/store/sqlite'
import { faultyDriver, injectFaults } from '@indelible/testing'

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

const isWrite = /^(create|update|append|fork|remove|lease|putBlocks|erase)$/

/**
 * Work over a store that fails from one of its steps on, each of them in turn, in everything or only where it writes, as a
 * full disk does: the work ends with the fault of the store.
 */
export const eachStepFails = async (work: (store: Store) => Promise<unknown>): Promise<void> => {
  const others: string[] = []
  for (const which of [/./, isWrite])
    for (let at = 0, isWhole = false; !isWhole; at++) {
      const steps: string[] = []
      const later = async <T>(step: string, does: () => Promise<T>): Promise<T> => {
        if (which.test(step) && steps.push(step) > at) throw new Error('the disk is full')
        return does()
      }
      const faults = { ...injectFaults({ seed: 1 }), later }
      const store = orThrow(storeOf(faultyDriver(memoryDriver(), faults)))
      const outcome = await work(store).then(
        () => 'done',
        (error: unknown) =>
          error instanceof FaultError ? (error.fault as { readonly _tag: string })._tag : String(error),
      )
      isWhole = steps.length === at
      if (outcome !== (isWhole ? 'done' : 'Io')) others.push(`${at} ${steps[at]}: ${outcome}`)
    }
  expect(others).toEqual([])
}
