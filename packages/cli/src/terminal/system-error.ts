/** Errors of the operating system, in words. */
import { Unreadable } from './command.ts'

/** A code such as ENOSPC in words, to stand after a path. */
export const codeText = (code: string): string => reasons[code] ?? `can't be used (${code})`

/** What the operating system refused, with its path; undefined for any other error. */
export const systemError = (error: unknown): Unreadable | undefined => {
  const { code, syscall, path } = error as NodeJS.ErrnoException
  return code === undefined || syscall === undefined || path === undefined
    ? undefined
    : new Unreadable(`${path}: ${codeText(code)}`)
}

const reasons: { readonly [code: string]: string } = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EISDIR: 'is a folder; expected a file',
  EACCES: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EINVAL: 'is not a path',
  ELOOP: 'is a link to itself',
  ENAMETOOLONG: 'the name is too long',
}
