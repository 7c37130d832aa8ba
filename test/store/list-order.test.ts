/** Lists of logs in memory and in a file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { memoryStore, orThrow } from 'indelible'
import { sqliteStore } from 'indelible/store/sqlite'
import { ok } from '../task-results.ts'
import { listProperties } from './list-model.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-list-order-'))
const file = ok(sqliteStore({ path: join(folder, 'list.db'), durability: 'os' }))
afterAll(async () => {
  await ok((await file).close())
  rmSync(folder, { recursive: true, force: true })
})
let scopes = 0

listProperties('memory', async () => memoryStore())
listProperties('SQLite', async () => orThrow((await file).scoped(`case ${scopes++}`)))
