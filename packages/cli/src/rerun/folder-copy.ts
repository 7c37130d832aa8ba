/** A copy of a folder, in which a program may change files. */
import { constants, rmSync } from 'node:fs'
import { copyFile, lstat, mkdir, mkdtemp, readdir, readlink, realpath, symlink, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, isAbsolute, join, relative, sep } from 'node:path'
import { Unreadable } from '../terminal/command.ts'

/** The most bytes and entries of a folder that is copied. */
const mostCopied: { readonly bytes: number; readonly entries: number } = { bytes: 2 ** 28, entries: 50_000 }

/** A copied folder. */
interface FolderCopy {
  readonly path: string
  readonly remove: () => void
}

/**
 * Copy a folder to a new place of the same name. Links into the folder lead into the copy; pipes and sockets are left out.
 *
 * @throws Unreadable if the folder is too large, or can't be read; nothing remains then
 */
export const copyFolder = async (folder: string, most: typeof mostCopied = mostCopied): Promise<FolderCopy> => {
  const entries = await entriesOf(folder, most)
  const place = await realpath(await mkdtemp(join(tmpdir(), 'indelible-rerun-')))
  const path = join(place, basename(folder) || 'folder')
  const remove = (): void => rmSync(place, { recursive: true, force: true, maxRetries: 5 })
  try {
    await mkdir(path)
    for (const { way, kind } of entries) {
      const [from, to] = [join(folder, way), join(path, way)]
      if (kind === 'folder') await mkdir(to, { recursive: true })
      else if (kind === 'link') await symlink(linkIn(folder, path, await readlink(from)), to)
      else {
        await copyFile(from, to, constants.COPYFILE_FICLONE)
        const { atime, mtime } = await lstat(from)
        await utimes(to, atime, mtime)
      }
    }
    return { path, remove }
  } catch (cause) {
    remove()
    throw new Unreadable(`${folder} can't be copied: ${(cause as Error).message}; --here runs the command in it`)
  }
}

interface Entry {
  /** The path from the folder. */
  readonly way: string
  readonly kind: 'file' | 'folder' | 'link'
}

const entriesOf = async (folder: string, most: typeof mostCopied): Promise<readonly Entry[]> => {
  const entries: Entry[] = []
  let bytes = 0
  const visit = async (way: string): Promise<void> => {
    for (const entry of await readdir(join(folder, way), { withFileTypes: true })) {
      const own = join(way, entry.name)
      const kind = entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'file'
      if (kind === 'file' && !entry.isFile()) continue
      entries.push({ way: own, kind })
      if (kind === 'file') bytes += (await lstat(join(folder, own))).size
      if (bytes > most.bytes || entries.length > most.entries)
        throw new Unreadable(
          `${folder} has more than ${bytes > most.bytes ? `${most.bytes / 2 ** 20} MiB` : `${most.entries} files`}, too much to copy for the rerun; start it in a smaller folder, or let the command change this one with --here`,
        )
      if (kind === 'folder') await visit(own)
    }
  }
  try {
    await visit('')
  } catch (cause) {
    if (cause instanceof Unreadable) throw cause
    throw new Unreadable(`${folder} can't be read: ${(cause as Error).message}; --here runs the command in it`)
  }
  return entries
}

/** Where a link of the copy leads. */
const linkIn = (folder: string, copy: string, target: string): string => {
  if (!isAbsolute(target)) return target
  const way = relative(folder, target)
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? target : join(copy, way)
}
