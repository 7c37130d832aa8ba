/** Giving the room back that a store file does not need any more: what was removed, what can be compressed, and what its write-ahead log has. */
import { realpathSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { isLeft, left, optionsOf, right } from '../../json/index.ts'
import { amount, type Task } from '../../task/index.ts'
import { storeTask, type StoreFault } from '../fault.ts'
import { busy, codeOf, faultOf, locked } from './fault.ts'
import { readersOf } from './long-reads.ts'
import { emptyLog, openDatabase, patiently, rollBack, untilDone } from './open.ts'
import { packBlocks } from './packed.ts'

/** The file to compact. */
export interface CompactOptions {
  /** The store file. */
  readonly path: string
  /**
   * How long to wait for another process that writes, in milliseconds, before `Busy`; and as long for the end of what others
   * read. Default: 5,000.
   */
  readonly wait?: number
}

/** The result of a compaction. */
export interface Compacted {
  /** Bytes of the file and its write-ahead log before. */
  readonly before: number
  /** Bytes of both after. */
  readonly after: number
  /**
   * The ids of the processes that read an earlier state, so that the write-ahead log could not be emptied. Absent if it was
   * emptied; empty where the system does not tell.
   */
  readonly readers?: readonly number[]
}

/**
 * Rewrite a store file without the room that removed logs have left, compress long texts and other blocks with zstd, and empty
 * its write-ahead log. Other processes may read meanwhile; those that write wait. Blocks that are stored later are compressed
 * by the next compaction.
 *
 * Cost    O(file), in this thread; as much room again on the disk while it lasts. Reading a compressed block costs two to
 *         three times its hash
 *
 * @param options the file
 * @returns its sizes; or `NoStore`, `Busy`, `Full`, `ReadOnly`
 */
export const compactSqlite = (options: CompactOptions): Task<StoreFault, Compacted> => {
  const { path: given, wait = 5000 } = optionsOf('compactSqlite', options, { path: true, wait: true })
  if (typeof given !== 'string') throw new TypeError('compactSqlite needs a path: the file of the store')
  amount('wait', wait, { unit: 'milliseconds' })
  return storeTask(async () => {
    const path = resolve(given)
    const opened = await openDatabase(path, { wait, create: false, readOnly: false })
    if (isLeft(opened)) return opened
    const { db, reading } = opened.right
    try {
      if (reading !== undefined) return left(reading.reason ?? { _tag: 'ReadOnly', path })
      const file = realpathSync(path) // of a link, the log stands beside what it leads to
      const sizes = (): number => sizeOf(file) + sizeOf(`${file}-wal`)
      const before = sizes()
      await packBlocks(db, (work) =>
        patiently(wait, () => {
          db.exec('begin immediate')
          try {
            const done = work()
            db.exec('commit')
            return done
          } finally {
            rollBack(db)
          }
        }),
      )
      await patiently(wait, () => db.exec('vacuum'))
      const emptied = await untilDone<StoreFault>(wait, async () => right(emptyLog(db)))
      if (isLeft(emptied)) return emptied
      const readers = emptied.right ? undefined : (readersOf(`${file}-wal`) ?? [])
      return right(Object.freeze({ before, after: sizes(), ...(readers && { readers: Object.freeze(readers) }) }))
    } catch (error) {
      const code = codeOf(error)
      return left(
        code === busy || code === locked ? { _tag: 'Busy', waited: wait } : faultOf(error, path, 'compact it'),
      )
    } finally {
      db.close()
    }
  }, 'compactSqlite')
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0
