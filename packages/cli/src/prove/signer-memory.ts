/**
 * Remembers the last head that a key signed for each ledger, in a file next to the key: removing
 * checkpoints from a store then can't get a second history signed. It is a SQLite file, so
 * concurrent commands or a power failure do not damage it.
 */
import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { SignerMemory } from '@indelible/evidence'
import type { Head } from 'indelible/store'
import type { Terminal } from '../terminal/command.ts'
import { unwritable } from '../sources/input.ts'
import { syncFolder } from '../sources/key-file.ts'

/** The memory in a file, which is created if missing. Throws Unreadable. */
export const signerMemory = (name: string, terminal: Pick<Terminal, 'path'>): SignerMemory => {
  const path = terminal.path(name)
  const open = (): DatabaseSync => {
    const database = new DatabaseSync(path, { timeout: 10_000 })
    database.exec(`pragma synchronous = extra;
create table if not exists signed (origin text primary key, size integer not null, root text not null) strict`)
    return database
  }
  try {
    closeSync(openSync(path, 'a', 0o600))
    open().close()
    syncFolder(dirname(path))
  } catch (cause) {
    throw unwritable(name, cause)
  }
  const withDatabase = <T>(work: (database: DatabaseSync) => T): T => {
    const database = open()
    try {
      return work(database)
    } finally {
      database.close()
    }
  }
  return {
    read: async (origin) => withDatabase((database) => lastOf(database, origin)),
    advance: async (origin, from, { size, root }) =>
      withDatabase((database) => {
        database.exec('begin immediate')
        const last = lastOf(database, origin)
        if (last?.size !== from?.size || last?.root !== from?.root) return false
        database.prepare('insert or replace into signed values (?, ?, ?)').run(origin, size, root)
        database.exec('commit')
        return true
      }),
  }
}

const lastOf = (database: DatabaseSync, origin: string): Head | undefined => {
  const row = database.prepare('select size, root from signed where origin = ?').get(origin)
  return row === undefined ? undefined : { size: Number(row['size']), root: String(row['root']) }
}
