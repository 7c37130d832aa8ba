/** Turns errors of SQLite and the file system into store faults. */
import type { OpenStoreFault } from '../fault.ts'

/** SQLite's primary result code; undefined for any other error. */
export const codeOf = (error: unknown): number | undefined => {
  const code = (error as { readonly errcode?: unknown } | null)?.errcode
  return typeof code === 'number' ? code & 0xff : undefined
}

/** Whether the stored data is damaged, not just inaccessible: a corrupt page, or an integer too large for a number. */
export const isDamage = (error: unknown): boolean =>
  codeOf(error) === corrupt || (error as NodeJS.ErrnoException | null)?.code === 'ERR_OUT_OF_RANGE'

// https://sqlite.org/rescode.html
export const busy = 5
export const locked = 6
export const corrupt = 11
const readOnly = 8
export const full = 13
const noSharedMemory = 10 | (19 << 8) // the file of shared memory beside the store could not be extended
const cantOpen = 14
const notADatabase = 26

export const faultOf = (error: unknown, path: string, operation: string): OpenStoreFault => {
  const code = codeOf(error)
  const errno = (error as NodeJS.ErrnoException | null)?.code
  const extended = (error as { readonly errcode?: unknown } | null)?.errcode
  if (code === full || extended === noSharedMemory || errno === 'ENOSPC' || errno === 'EDQUOT')
    return { _tag: 'Full', path }
  if (code === readOnly || errno === 'EACCES' || errno === 'EPERM' || errno === 'EROFS')
    return { _tag: 'ReadOnly', path }
  if (code === notADatabase) return { _tag: 'NotAStore', path, found: 'a file that is not a SQLite database' }
  return { _tag: 'Io', operation: code === cantOpen ? `open ${path}` : operation, cause: error }
}
