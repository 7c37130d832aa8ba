/** Real transcripts and recorded provider bytes, where the machine has them. They are not part of the project. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { it } from 'vitest'
import { faultMessage } from 'indelible'
import { root } from '../scripts/run.ts'
import { oneIn } from './rounds.ts'
import { leftOutIf } from './skipped-tests.ts'
import { readTranscript, type Transcript } from '@indelible/transcripts'

const folder = join(root, '../shared/data')

export const shared = (path: string): string => join(folder, path)

export const readShared = (path: string): string => readFileSync(shared(path), 'utf8')

const options = leftOutIf(!existsSync(folder), '../shared/data is not here')

/** A test that needs them. */
export const itShared: {
  (name: string, run: () => unknown): void
  readonly each: (cases: readonly string[]) => (name: string, run: (one: string) => unknown) => void
} = Object.assign((name: string, run: () => unknown): void => it(name, options, run as () => void), {
  each:
    (cases: readonly string[]) =>
    (name: string, run: (one: string) => unknown): void =>
      // A file without a test would fail.
      it.each(cases.length === 0 ? ['each file'] : cases)(name, options, run as (one: string) => void),
})

/**
 * Conversations of every real transcript: the name of its file, and its place in it. Files of a format that no
 * reader knows are left out until one does: JSON text after JSON text (opencode) is not even JSON until then. Any other
 * file that can't be read is an error.
 *
 * @param most how many of each file: each is read by reading the whole file again. Default: all, in a short run one in ten
 */
export function* realConversations(
  most: number = Infinity,
): Generator<readonly [name: string, pick: number, transcript: Transcript]> {
  for (const name of readdirSync(shared('transcripts')).filter((file) => !file.startsWith('README'))) {
    const text = readShared(`transcripts/${name}`)
    let count = 1
    for (let pick = 0; pick < count; pick += oneIn(10)) {
      const read = readTranscript(text, { pick })
      if (isLeft(read) && (read.left._tag === 'UnknownFormat' || read.left._tag === 'InvalidJson')) break
      if (isLeft(read)) throw new Error(`${name}, conversation ${pick}: ${faultMessage(read.left)}`)
      count = Math.min(read.right.count, most)
      yield [name, pick, read.right]
    }
  }
}
