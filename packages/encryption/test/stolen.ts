/** A store as somebody without keys has it: every log as it is stored, to be changed and put into a store again. */
import { orThrow, type Store } from 'indelible'
import { type Row } from 'indelible/store'
import { memoryDriver, storeOf } from 'indelible/store/driver'
import { encryptedRow, ledgerId, ownStore, type TimedRow } from '../../../src/store/internal.ts'
import type { BlockId } from '../../../src/proof/internal.ts'
import type { Json, JsonObject } from '../../../src/json/index.ts'
import { ok } from '../../../test/task-results.ts'

export interface StolenLog {
  id: string
  meta: JsonObject
  rows: Row[]
  identities?: Json
}

export interface Stolen {
  readonly logs: StolenLog[]
  readonly blocks: readonly Uint8Array[]
}

/** Everything in a store. */
export const stolen = async (bare: Store): Promise<Stolen> => {
  const logs: StolenLog[] = []
  const ids = new Set<BlockId>()
  for (const { id, meta } of (await ok(bare.list({ limit: 1000 }))).logs) {
    const rows = (await ok(bare.read(id))).map(encryptedRow)
    for (const [block] of `${JSON.stringify(meta)}${JSON.stringify(rows)}`.matchAll(/(?<=")[0-9a-f]{64}(?=\\?")/g))
      ids.add(block as BlockId)
    const identities = (await ok(bare.identities(id))).map(({ log, from }) => [log, from])
    logs.push({ id, meta, rows, identities })
  }
  const blocks = await ok(bare.getBlocks([...ids]))
  return { logs, blocks: blocks.filter((bytes) => bytes !== undefined) }
}

/** A store of what was stolen, with its identities. The ledger comes first: it says which rows were erased. */
export const restored = async ({ logs, blocks }: Stolen): Promise<Store> => {
  const driver = memoryDriver()
  const store = orThrow(
    storeOf({
      ...driver,
      create: (scope, id, meta, first) => {
        const identities = logs.find((log) => log.id === id)?.identities
        return driver.create(scope, id, { ...meta, ...(identities && { 'indelible.log': identities }) }, first)
      },
    }),
  )
  await ok(store.putBlocks(blocks))
  for (const { id, meta, rows } of logs.toSorted((log) => (log.id === ledgerId ? -1 : 0))) {
    const { head } = await ok(ownStore(store).create({ id, meta, encrypt: false }))
    const stored = rows.map((row) => encryptedRow(row as TimedRow))
    if (stored.length > 0) await ok(ownStore(store).append(id, { expected: head, rows: stored }))
  }
  return store
}

/** The same with another log in the place of one. */
export const changed = async (
  bare: Store,
  id: string,
  change: (log: StolenLog, all: Stolen) => void,
): Promise<Store> => {
  const all = await stolen(bare)
  const copy = structuredClone(all) as Stolen
  change(copy.logs.find((log) => log.id === id) as StolenLog, all)
  return restored(copy)
}
