/** What a process that runs for long keeps of ids that it meets once. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { isFull, rounds } from '../../../test/rounds.ts'
import { program } from '../../../test/programs.ts'

const ids = rounds(25_000, 100_000)

it(`the heap after ${ids} ids is at most 200 bytes for each above that after 1,000`, () => {
  const script = program('packages/recorder/test/bounds-process.ts')
  const args = ['--expose-gc', '--no-warnings', script, String(ids)]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as readonly [name: string, bytes: number])
  expect(found.length).toBe(isFull ? 5 : 1)
  expect(found.filter(([, bytes]) => bytes > ids * 200)).toEqual([])
}, 3_600_000)
