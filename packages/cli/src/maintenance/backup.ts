/** `indelible backup FILE`: copies a store while others write to it, and verifies the copy. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { isLeft } from 'indelible/internal/json'
import { findingText } from 'indelible/internal/store'
import { Misuse, Unreadable, type Command } from '../terminal/command.ts'
import { faultText, wholeStoreOption } from '../sources/place.ts'
import { storeFile } from '../sources/store.ts'

export const backup: Command = {
  name: 'backup',
  synopsis: 'backup FILE',
  purpose: 'copy a store while others write to it',
  usage: ['backup FILE [options]'],
  about: `Copies the whole store to FILE, as it is at one moment, and checks the copy
like "indelible verify --all --deep". Other processes may write meanwhile. FILE
must not exist. Use pg_dump for a store in PostgreSQL.`,
  options: {
    ...wholeStoreOption,
  },
  examples: ['indelible backup sessions-2026-01-31.db'],
  run: async ({ values, positionals, terminal }) => {
    const [to] = positionals
    if (to === undefined || positionals.length > 1) throw new Misuse('backup takes one FILE: the copy to make')
    const path = storeFile(values, terminal, 'backup copies a store in a file; use pg_dump for a store in PostgreSQL')
    if (!existsSync(dirname(terminal.path(to)))) throw new Unreadable(`${to}: its folder does not exist`)
    const { backupSqlite } = await import('indelible/store/sqlite')
    const bar = terminal.progress(`copying ${path}`, undefined, 'pages')
    const copied = await backupSqlite({ path, to: terminal.path(to), progress: bar.at })()
    bar.end()
    if (isLeft(copied)) throw new Unreadable(faultText(copied.left))
    terminal.tell(copied.right.map(findingText))
    if (copied.right.length > 0)
      throw new Unreadable(
        `${to} is a copy of a damaged store; "indelible repair --store ${to}" rebuilds as much as possible`,
      )
    await terminal.print([`${to}: copied and checked`])
  },
}
