/** The project that an agent works in: a repository, or a single folder. */
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { homeOf } from '../sources/home.ts'
import type { Terminal } from '../terminal/command.ts'

/** A project, as the sessions of which an answer may have. */
export interface Project {
  readonly folder: string
  /** Whether its subfolders belong to it: a repository's do, those of a home folder are projects of their own. */
  readonly isRepository: boolean
}

/** The repository that a folder is in, below the user's home or beside it; else the folder alone. Of a worktree, its main one. */
export const projectAt = (folder: string, env: Terminal['env']): Project => {
  const start = realPath(folder)
  const home = realPath(homeOf(env))
  for (let at = start; !isWithin(home, at); at = dirname(at)) {
    if (existsSync(join(at, '.git'))) {
      const main = mainWorktree(at)
      return { folder: isWithin(home, main) ? at : main, isRepository: true }
    }
    if (at === dirname(at)) break
  }
  return { folder: start, isRepository: false }
}

/** Whether a session that worked in `folder` belongs to the project. A repository in a subfolder is another project. */
export const belongsTo = ({ folder: root, isRepository }: Project, folder: string): boolean => {
  const real = realPath(folder)
  if (!isRepository) return real === root
  for (let at = real; at !== root; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return mainWorktree(at) === root
    if (at === dirname(at)) return false
  }
  return true
}

/**
 * The main worktree of a repository. The `.git` file of another worktree names it, but whoever made the folder wrote
 * that file, so it counts only if the repository that it names has this worktree in its own list.
 *
 * Source  https://git-scm.com/docs/gitrepository-layout, `worktrees/<id>/gitdir`
 */
const mainWorktree = (folder: string): string => {
  const file = join(folder, '.git')
  const link = /^gitdir: (.+)/.exec(shortText(file))?.[1]
  if (link === undefined) return folder
  const entry = realPath(resolve(folder, link.trimEnd()))
  const [list, repository] = [dirname(entry), dirname(dirname(entry))]
  if (basename(list) !== 'worktrees' || basename(repository) !== '.git') return folder
  const listed = shortText(join(entry, 'gitdir')).trimEnd()
  return listed !== '' && realPath(resolve(entry, listed)) === file ? dirname(repository) : folder
}

/** The text of a file. Empty if the path is no file, or if the file is 8 KiB or longer or can't be read. */
const shortText = (path: string): string => {
  try {
    const stats = statSync(path)
    return stats.isFile() && stats.size < 8192 ? readFileSync(path, 'utf8') : ''
  } catch {
    return ''
  }
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
