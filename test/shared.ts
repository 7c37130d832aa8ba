/** Real transcripts and recorded provider bytes, where the machine has them. They are not part of the project. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'vitest'
import { root } from '../scripts/run.ts'

const folder = join(root, '../shared/data')

export const shared = (path: string): string => join(folder, path)

export const readShared = (path: string): string => readFileSync(shared(path), 'utf8')

/** A test that needs them; without them it is skipped, and says so in one line. */
export const itShared: typeof it.skip = existsSync(folder)
  ? it
  : (() => {
      process.stdout.write('left out: tests on real transcripts (../shared/data is not here)\n')
      return it.skip
    })()
