/** The packages of a folder with a package.json of its own. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Install what the lock file of a folder says, unless that was done before. Not by `npm ci`: it wants optional packages of
 * other platforms in the lock that a registry may not have.
 *
 * @returns undefined, or npm's output if it failed
 */
export const install = (folder: string): string | undefined => {
  const lock = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')
  const stamp = join(folder, 'node_modules/.lock-digest')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return undefined
  const args = ['install', '--no-save', '--prefer-offline', '--no-audit', '--no-fund', '--silent']
  const { status, stdout, stderr, error } = spawnSync('npm', args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: 15 * 60_000,
  })
  if (status !== 0) return `npm ${args.join(' ')}: ${String(error ?? '')}${stdout ?? ''}${stderr ?? ''}`.slice(-2000)
  writeFileSync(stamp, lock)
  return undefined
}
