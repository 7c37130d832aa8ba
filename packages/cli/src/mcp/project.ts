/** The project that an agent works in: a repository, or a single folder. */
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { homeOf } from '../sources/home.ts'
import type { Terminal } from '../terminal/command.ts'

/** A project, as the sessions of which an answer may have. */
export interface Project {
  readonly folder: string
  /** Whether its subfolders belong to it: a repository's do, those of a home folder are projects of their own. */
  readonly isRepository: boolean
}

/** The repository that a folder is in, below the user's home or beside it; else the folder alone. */
export const projectAt = (folder: string, env: Terminal['env']): Project => {
  const start = realPath(folder)
  const home = realPath(homeOf(env))
  for (let at = start; !isWithin(home, at); at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return { folder: at, isRepository: true }
    if (at === dirname(at)) break
  }
  return { folder: start, isRepository: false }
}

/** Whether a session that worked in `folder` belongs to the project. A repository in a subfolder is another project. */
export const belongsTo = ({ folder: root, isRepository }: Project, folder: string): boolean => {
  const real = realPath(folder)
  if (real === root) return true
  if (!isRepository || !isWithin(real, root)) return false
  for (let at = real; at !== root; at = dirname(at)) if (existsSync(join(at, '.git'))) return false
  return true
}

/** Whether a folder is another one, or below it. */
const isWithin = (folder: string, above: string): boolean =>
  folder === above || folder.startsWith(above.endsWith(sep) ? above : above + sep)

/** A folder without links, also if its last names no longer exist. */
const realPath = (folder: string): string => {
  const path = resolve(folder)
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPath(parent), path.slice(parent.length))
  }
}
