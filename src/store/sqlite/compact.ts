/** Frees unneeded space in a store file: removed data, compressible blocks, the write-ahead log. */
import { realpathSync, statSync } from 'node:fs'
import { isLeft, left, optionsOf, right } from '../../json/index.ts'
import { amount, type SignalLike, type Task } from '../../task/index.ts'
import { storeTask, type StoreFault } from '../fault.ts'
import { cancelled } from '../port/slices.ts'
import { busy, codeOf, faultOf, locked } from './fault.ts'
import { readersOf } from './long-reads.ts'
import { filePath } from './file-path.ts'
import { emptyLog, openDatabase, patiently, rollBack, untilDone } from './open.ts'
import { packBlocks } from './packed.ts'
import { rewriteFile } from './thread.ts'

/** The options of `compactSqlite`. */
interface CompactOptions {
  /** The store file. */
  readonly path: string
  /**
   * How long to wait for another writing process, in milliseconds, before `Busy`, and as long for
   * readers to end. Default: 5,000.
   */
  readonly wait?: number
  /** Aborting this signal before the file is rewritten ends the compaction with `Cancelled`. Default: none. */
  readonly signal?: SignalLike
}

/** The result of a compaction. */
export interface CompactResult {
  /** The bytes of the file and its write-ahead log before. */
  readonly before: number
  /** The bytes of both afterwards. */
  readonly after: number
  /**
   * The ids of processes that read an earlier state and so kept the write-ahead log from being
   * emptied. Absent if it was emptied; empty if the system does not report them.
   */
  readonly readers?: readonly number[]
}

/**
 * Rewrite a store file without the space of removed logs, compress long texts and other blocks with
 * zstd, and empty the write-ahead log. Other processes can read meanwhile; writers wait. Blocks
 * stored later are compressed by the next compaction.
 *
 * Cost    O(file), and temporarily the same space again on disk. Blocks are compressed in slices; a file of more than 1 MiB is
 *         rewritten in another thread. Reading a compressed block costs two to three times its hash
 *
 * @returns its sizes; or `NoStore`, `Busy`, `Full`, `ReadOnly`, `Cancelled`
 */
export const compactSqlite = (options: CompactOptions): Task<StoreFault, CompactResult> => {
  const { path: input, wait = 5000, signal } = optionsOf('compactSqlite', options, optionNames)
  const path = filePath('compactSqlite', 'path', input)
  amount('wait', wait, { unit: 'milliseconds' })
  return storeTask(async () => {
    const opened = await openDatabase(path, { wait, create: false, readOnly: false })
    if (isLeft(opened)) return opened
    const { db, reading } = opened.right
    try {
      if (reading !== undefined) return left(reading.reason ?? { _tag: 'ReadOnly', path })
      const file = realpathSync(path) // the log is beside the file that a link points to
      const sizes = (): number => sizeOf(file) + sizeOf(`${file}-wal`)
      const before = sizes()
      const pack = (work: () => void): Promise<void> =>
        patiently(wait, () => {
          db.exec('begin immediate')
          try {
            const done = work()
            db.exec('commit')
            return done
          } finally {
            rollBack(db)
          }
        })
      await packBlocks(db, pack, () => signal?.aborted === true)
      const ended = cancelled(signal)
      if (ended !== undefined) return left(ended)
      emptyLog(db) // the log of a rewriting that fails can then be emptied even on a full disk
      await rewriteFile(db, wait)
      const emptied = await untilDone<StoreFault>(wait, async () => right(emptyLog(db)))
      if (isLeft(emptied)) return emptied
      const readers = emptied.right ? undefined : (readersOf(`${file}-wal`) ?? [])
      return right(Object.freeze({ before, after: sizes(), ...(readers && { readers: Object.freeze(readers) }) }))
    } catch (error) {
      try {
        emptyLog(db) // what was written there may have filled the disk
      } catch {
        // The fault below says why.
      }
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

const optionNames = { path: true, wait: true, signal: true } as const
