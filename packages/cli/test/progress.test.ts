import { spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { createProgress } from '../src/terminal/progress.ts'
import { terminalOf } from '../src/terminal/output.ts'
import { runCommand } from './command-run.ts'
import { widthOf } from '../src/terminal/screen.ts'
import { generated } from '../../transcripts/test/generated.ts'
import { folder, indelibleProcess, main } from './indelible.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'

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
  it('is drawn for long work at most ten times a second, and cleared', () => {
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
  })
  it('shows the remaining time once it is no guess', () => {
    const facts = (steps: readonly (readonly [number, number])[]) =>
      drawn(1000, steps).flatMap((text) => /(\S+ \w+) left/.exec(text)?.[1] ?? [])
    expect(facts([[1900, 100]])).toEqual([])
    expect(facts([[2000, 100]])).toEqual(['18 s'])
    expect(facts([[2000, 0]])).toEqual([])
    expect(facts([[2000, 1000]])).toEqual([])
    expect(facts([[10_000, 10]])).toEqual(['17 min'])
    expect(facts([[100_000, 10]])).toEqual(['2.8 h'])
  })
  it.each([
    [99_000, '99 s'],
    [99_001, '2 min'],
    [120_001, '3 min'],
    [5_999_000, '100 min'],
    [5_999_001, '1.7 h'],
  ])('shows %i remaining milliseconds as %s', (elapsed, left) => {
    expect(drawn(1000, [[elapsed, 500]])[0]).toContain(` 500 B of 1.0 kB  ${left} left\u001b`)
  })
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [9940, '9.9 kB'],
    [10_000, '10 kB'],
    [999_999, '999 kB'],
    [1e6, '1.0 MB'],
    [2e9, '2.0 GB'],
    [3e12, '3.0 TB'],
    [4e15, '4000 TB'],
  ])('shows %i bytes as %s', (bytes, size) => {
    for (const total of [undefined, 0])
      expect(drawn(total, [[400, bytes]])[0]).toBe(`\rreading a.jsonl  ${size}\u001b[K`)
  })
  it('is one line per 5 seconds without a terminal', () => {
    const steps = Array.from({ length: 120 }, (_, at) => [at * 100, at * 5] as const)
    expect(drawn(1000, steps, {})).toEqual([
      'reading a.jsonl: 25 %, 250 B of 1.0 kB, 15 s left\n',
      'reading a.jsonl: 50 %, 500 B of 1.0 kB, 10 s left\n',
    ])
    expect(drawn(undefined, [[5000, 12_345_678]], {})).toEqual(['reading a.jsonl: 12 MB\n'])
    expect(drawn(1000, [[4999, 1]], {})).toEqual([])
  })
  it('is cleared for lines and redrawn below them', async () => {
    let time = 0
    const screen: string[] = []
    const sink = { isTTY: true, columns: 80, write: (text: string, done?: () => void) => [screen.push(text), done?.()] }
    const terminal = terminalOf({
      stdin: Readable.from([]),
      stdout: sink,
      stderr: sink,
      env: {},
      cwd: '.',
      onInterrupt: () => () => undefined,
      now: () => time,
    })
    const bar = terminal.progress('verifying', 10, 'rows')
    for (const done of [1, 2]) {
      time += 500
      bar.at(done)
      await terminal.print([`line ${done}`])
    }
    terminal.tell(['told'])
    bar.end()
    terminal.tell(['after'])
    expect(screen.map((text) => text.replaceAll(/[█░\s]+/g, ' ').trim())).toEqual([
      'verifying 10 % 1 rows of 10 rows\u001b[K',
      '\u001b[K',
      'line 1',
      'verifying 20 % 2 rows of 10 rows\u001b[K',
      '\u001b[K',
      'line 2',
      'told',
      'after',
    ])
  })
  describe('for long work', () => {
    /** A clock that moves by 6 seconds each time that it is read: each step of the work is seen. */
    const progressLines = async (...args: readonly string[]): Promise<readonly string[]> => {
      let time = 0
      const { stderr } = await runCommand({ args, env: { HOME: folder }, now: () => (time += 6000) })
      return stderr.split('\n').filter((line) => /\d %, /.test(line))
    }
    const store = ['--store', join(folder, 'long.db')]
    const file = join(folder, 'long.json')
    it('counts rows and bytes: import, verify, ledger, a search without an index, continue', async () => {
      const messages = Array.from({ length: 4100 }, (_, at) => ({
        role: at % 2 ? 'assistant' : 'user',
        content: `said ${at}`,
      }))
      writeFileSync(file, JSON.stringify(messages))
      const imported = await progressLines('import', file, ...store)
      expect(imported[0]).toMatch(/^reading long\.json: \d+ %, \d+ kB of \d+ kB/)
      expect(
        imported.filter((line) => /^storing long: \d+ %, [\d,]+ rows of 4,100 rows/.test(line)).length,
      ).toBeGreaterThan(3)
      expect((await progressLines('verify', 'long', ...store)).at(-1)).toBe(
        'verifying long: 100 %, 4,100 rows of 4,100 rows',
      )
      expect((await progressLines('verify', '--all', ...store)).at(-1)).toBe(
        'verifying 1 session: 100 %, 4,100 rows of 4,100 rows',
      )
      expect((await progressLines('search', 'said', '--limit', '2000', ...store)).at(-1)).toMatch(
        /^searching without an index: \d\d %, 2,\d+ rows of 4,100 rows, \d+ s left$/,
      )
      await progressLines('ledger', 'update', ...store)
      expect((await progressLines('ledger', 'verify', ...store)).at(-1)).toBe(
        'verifying sessions: 100 %, 4,100 rows of 4,100 rows',
      )
      mkdirSync(join(folder, '.codex'))
      const continued = await progressLines('continue', file, '--in', 'codex', '--print')
      expect(continued[0]).toMatch(/^reading long\.json: \d+ %, /)
    })
  })
  it.each([1, 20, 40, 79])('fits %i columns', (columns) => {
    const [bar = ''] = drawn(2e9, [[500, 1e9]], { isTTY: true, columns })
    expect(widthOf(bar.slice(1, -3))).toBeLessThanOrEqual(Math.max(0, columns - 1))
  })

  const hasTerminal = spawnSync('script', ['--version']).status === 0
  it(
    'is drawn on a terminal, fully cleared, and never written to a pipe',
    leftOutIf(!hasTerminal, 'there is no program script'),
    () => {
      const path = join(folder, 'long.jsonl')
      for (const piece of generated('pi-session', 1e6)) appendFileSync(path, piece)
      // Six seconds pass each time that the command asks for the time, so that work is long.
      const clock = 'let time = 0; Date.now = () => (time += 6000)'
      const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(clock)}` }
      try {
        const command = [process.execPath, main, 'show', '--check', path].map((word) => `'${word}'`).join(' ')
        const { stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
          encoding: 'utf8',
          env: { ...process.env, ...env },
        })
        const [before, ...drawn] = stdout.split('\r')
        expect(before).toBe('')
        expect(drawn[0]).toMatch(/^reading long\.jsonl {2}[█░]{24} +\d+ % {2}[\d.]+ [kM]B of 1\.0 MB/)
        expect(drawn.find((part) => part.startsWith('\u001b[Klong.jsonl'))).toMatch(
          /long\.jsonl: pi-session, [\d,]+ messages/,
        )
        const piped = indelibleProcess(['show', '--check', path], { env })
        expect(piped.stderr).toMatch(/^reading long\.jsonl: \d+ %/)
        expect(piped.stdout + piped.stderr).not.toMatch(/[█░\r]/)
      } finally {
        rmSync(path)
      }
    },
  )
})
