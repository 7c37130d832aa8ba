import { spawnSync } from 'node:child_process'
import { appendFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createProgress } from '../src/terminal/progress.ts'
import { widthOf } from '../src/terminal/screen.ts'
import { generated } from '../../transcripts/test/generated.ts'
import { folder, indelible, main } from './indelible.ts'
import { leftOutIf } from '../../../test/left-out.ts'

const drawn = (
  total: number | undefined,
  steps: readonly (readonly [time: number, done: number])[],
  terminal: { readonly isTTY?: boolean; readonly columns?: number } = { isTTY: true, columns: 80 },
) => {
  let time = 0
  const written: string[] = []
  const progress = createProgress(
    'reading a.jsonl',
    total,
    { ...terminal, write: (text) => written.push(text) },
    () => time,
  )
  for (const [at, done] of steps) {
    time = at
    progress.at(done)
  }
  progress.end()
  progress.at(total ?? 0)
  return written
}

describe('the progress bar', () => {
  it('is drawn for work that takes a while, ten times a second at most, and is taken away', () => {
    expect(
      drawn(1000, [
        [0, 1],
        [399, 500],
        [400, 500],
        [450, 510],
        [500, 2000],
      ]),
    ).toEqual([
      '\rreading a.jsonl  ████████████░░░░░░░░░░░░  50 %  500 B of 1.0 kB\u001b[K',
      '\rreading a.jsonl  ████████████████████████ 100 %  2.0 kB of 1.0 kB\u001b[K',
      '\r\u001b[K',
    ])
    expect(drawn(1000, [[100, 1]])).toEqual([])
    expect(drawn(undefined, [[500, 12_345_678]])).toEqual(['\rreading a.jsonl  12 MB\u001b[K', '\r\u001b[K'])
    expect(drawn(1000, [[500, 1]], {})).toEqual([])
  })
  it.each([1, 20, 40, 79])('fits %i columns', (columns) => {
    const [bar = ''] = drawn(2e9, [[500, 1e9]], { isTTY: true, columns })
    expect(widthOf(bar.slice(1, -3))).toBeLessThanOrEqual(Math.max(0, columns - 1))
  })

  const hasTerminal = spawnSync('script', ['--version']).status === 0
  it(
    'is seen on a terminal, leaves nothing behind, and is never in a pipe',
    leftOutIf(!hasTerminal, 'there is no program script'),
    () => {
      const path = join(folder, 'long.jsonl')
      for (const piece of generated('pi-session', 40e6)) appendFileSync(path, piece)
      try {
        const command = [process.execPath, main, 'check', path].map((word) => `'${word}'`).join(' ')
        const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8', maxBuffer: 1 << 28 })
        const [before, ...drawn] = stdout.split('\r')
        expect(before).toBe('')
        expect(drawn[0]).toMatch(/^reading long\.jsonl {2}[█░]{24} +\d+ % {2}[\d.]+ [kM]B of 40 MB/)
        expect(drawn.find((part) => part.startsWith('\u001b[Klong.jsonl'))).toMatch(
          /long\.jsonl: pi-session, [\d,]+ messages/,
        )
        const piped = indelible(['check', path])
        expect(piped.stdout + piped.stderr).not.toMatch(/[█░\r]/)
      } finally {
        rmSync(path)
      }
    },
  )
})
