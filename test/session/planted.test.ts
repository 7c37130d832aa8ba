/** Texts planted in memory, in store files and in encrypted sessions, and erased. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { memoryStore, type Store } from 'indelible'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { indexStore } from 'indelible/search'
import { compactSqlite, sqliteStore } from 'indelible/store/sqlite'
import { contentOf, plantedCases, type PlantedPlace } from './planted-cases.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-planted-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

plantedCases('a memory store', async () => {
  const store = memoryStore()
  return { store, bytes: () => contentOf(store) }
})

const inFile = async (prepare: { readonly compact?: boolean; readonly index?: boolean }): Promise<PlantedPlace> => {
  const own = join(folder, String(files++))
  const path = join(mkdtempSync(own), 's.db')
  const open = (): Promise<Store> => Promise.resolve(sqliteStore({ path, durability: 'os' }))
  const store = await open()
  if (prepare.index === true) await indexStore(store)
  return {
    store,
    bytes: async () => {
      const again = await open()
      const content = await contentOf(again) // of compressed blocks, too
      const folderOf = join(path, '..')
      const bytes = readdirSync(folderOf).map((name) => readFileSync(join(folderOf, name)))
      await again.close()
      return Buffer.concat([content, ...bytes])
    },
    settle: async () => {
      await store.close()
      if (prepare.compact === true) await compactSqlite({ path })
      return open()
    },
  }
}
plantedCases('a store file', () => inFile({}))
plantedCases('a store file with an index', () => inFile({ index: true }))
plantedCases('a compacted store file', () => inFile({ compact: true }))

plantedCases('an encrypted store', async () => {
  const inner = memoryStore()
  const store = withKeys(inner, keyRing([newHostKey()]))
  return { store, bytes: async () => Buffer.concat([await contentOf(inner), await contentOf(store)]) }
})
