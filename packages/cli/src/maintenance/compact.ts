/** `indelible compact`: frees the unused space of a store file. */
import { isLeft } from 'indelible/internal/json'
import { Unreadable, type Command } from '../terminal/command.ts'
import { faultText, wholeStoreOption } from '../sources/place.ts'
import { countText } from '../terminal/screen.ts'
import { storeFile } from '../sources/store.ts'

export const compact: Command = {
  name: 'compact',
  synopsis: 'compact',
  purpose: 'make the file of a store smaller',
  usage: ['compact [options]'],
  about: `Rewrites the file of a store without the space of removed sessions,
compresses long texts and attachments, and empties its write-ahead log.
Meanwhile other processes may read; writers wait. It needs free space of about
the size of the file. Exit code 1 if a reading process keeps the write-ahead log
from being emptied; its id is printed. PostgreSQL does this by itself
(autovacuum).`,
  options: {
    ...wholeStoreOption,
  },
  run: async ({ values, terminal }) => {
    const otherwise = 'compact makes a file smaller; PostgreSQL does this by itself (autovacuum)'
    const path = storeFile(values, terminal, otherwise)
    const { compactSqlite } = await import('indelible/store/sqlite')
    const done = await terminal.waiting('compacting the store', () => compactSqlite({ path })())
    if (isLeft(done)) throw new Unreadable(faultText(done.left))
    const { before, after, readers } = done.right
    await terminal.print([`${before} bytes before, ${after} after`])
    if (readers !== undefined)
      throw new Unreadable(
        `the write-ahead log was not emptied, because an earlier state of the store is still being read${readers.length === 0 ? '' : ` by ${countText(readers.length, 'process', 'processes')} (${readers.join(', ')})`}; end that and run compact again`,
      )
  },
}
