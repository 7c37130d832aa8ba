/** What a process that runs for long keeps of ids that it meets once. */
import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { isFull } from '../../../test/rounds.ts'
import { program } from '../../../test/programs.ts'

it('the heap after 100,000 ids is at most 20 MB above that after 1,000', () => {
  const script = program('packages/recorder/test/bounds-process.ts')
  const args = ['--expose-gc', '--no-warnings', script, isFull ? 'full' : 'some']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  expect([status, stderr]).toEqual([0, ''])
  const found = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as readonly [name: string, bytes: number])
  expect(found.length).toBe(isFull ? 5 : 1)
  expect(found.filter(([, bytes]) => bytes > 20_000_000)).toEqual([])
}, 3_600_000)
