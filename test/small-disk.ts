/** A disk of few bytes, for what happens when it is full. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A folder on such a disk. */
export interface SmallDisk {
  readonly path: string
  readonly remove: () => void
}

/** Mount one of so many bytes, such as `512k`; undefined: this user can't, or there is no `mount`. */
export const smallDisk = (size: string): SmallDisk | undefined => {
  const path = mkdtempSync(join(tmpdir(), 'indelible-disk-'))
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', path]).status !== 0) {
    rmSync(path, { recursive: true })
    return undefined
  }
  return {
    path,
    remove: () => {
      spawnSync('umount', ['-l', path])
      rmSync(path, { recursive: true, force: true })
    },
  }
}
