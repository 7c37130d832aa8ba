/** Finds the process that reads an old state of a store file and so keeps its write-ahead log from being emptied. */
import { readFileSync, statSync } from 'node:fs'

/** The bytes of the shared-memory file that readers lock. Source: https://sqlite.org/walformat.html#wal_locks */
const [firstRead, lastRead] = [123, 127]

/**
 * The processes with an open read transaction, from Linux's lock list.
 *
 * @param log the path of the write-ahead log
 * @returns their ids; undefined if the system has no such list
 */
export const readersOf = (log: string): readonly number[] | undefined => {
  try {
    const { ino } = statSync(`${log.slice(0, -'-wal'.length)}-shm`)
    const held = readFileSync('/proc/locks', 'utf8').matchAll(/^\d+: POSIX +\S+ +READ +(\d+) \S+:(\d+) (\d+) (\d+)$/gm)
    const readers = [...held].filter(
      ([, , file, from, to]) => Number(file) === ino && Number(from) <= lastRead && Number(to) >= firstRead,
    )
    return [...new Set(readers.map(([, process]) => Number(process)))]
  } catch {
    return undefined
  }
}
