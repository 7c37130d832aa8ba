/** A store as somebody without keys has it: every log as it is stored, to be changed and put into a store again. */
import { memoryStore, type Store } from 'indelible'
import { encryptedRow, ledgerId, ownStore, type Row, type TimedRow } from 'indelible/store'
import type { BlockId } from '../../src/proof/index.ts'
import type { JsonObject } from '../../src/json/index.ts'
import { ok } from '../answers.ts'

export interface StolenLog {
  id: string
  meta: JsonObject
  rows: Row[]
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
    logs.push({ id, meta, rows })
  }
  const blocks = await ok(bare.getBlocks([...ids]))
  return { logs, blocks: blocks.filter((bytes) => bytes !== undefined) }
}

/** A store of what was stolen. The ledger comes first: it says which rows were erased. */
export const restored = async ({ logs, blocks }: Stolen): Promise<Store> => {
  const store = memoryStore()
  await ok(store.putBlocks(blocks))
  for (const { id, meta, rows } of logs.toSorted((one) => (one.id === ledgerId ? -1 : 0)))
    await ok(
      ownStore(store).create({ id, meta, rows: rows.map((row) => encryptedRow(row as TimedRow)), encrypt: false }),
    )
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
