/** `indelible context --compare` as a person runs it. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { tokensOf } from '../src/terminal/command.ts'
import { widthOf } from '../src/terminal/screen.ts'
import { indelible as runCommand, type CommandEnded } from './indelible.ts'

const example = join(root, 'examples/coding-agent.json')

const indelible = (args: readonly string[], columns = 100): CommandEnded => runCommand(args, { columns })

describe('indelible context --compare', () => {
  it("prints dollars at a model's prices and names the source", () => {
    const { stdout, status } = indelible([
      'context',
      '--compare',
      example,
      '--budget',
      '800',
      '--model',
      'claude-opus-5-20260724',
    ])
    expect(status).toBe(0)
    expect(stdout).toMatch(/claude-opus-5-20260724: \$5 in, \$0\.5 cached, \$6\.25 written, \$25 out/)
    expect(stdout).toMatch(/policy +cacheable +cost +dollars/)
    expect(stdout).toMatch(/^paged .*\$0\.\d{3} /m)
    const unknown = indelible(['context', '--compare', example, '--model', 'gpt-99'])
    expect(unknown.status).toBe(2)
    expect(unknown.stderr).toContain('--model: the prices of "gpt-99" are unknown; expected one of claude-opus-5-5,')
  })
  it('prints a table per budget and a line per policy', () => {
    const { status, stdout, stderr } = indelible(['context', '--compare', example, '--budget', '800,16k'])
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(
      /^coding-agent\.json: openai-chat, 19 messages\n\nbudget 800 tokens, 7 calls\npolicy +cacheable +cost +faults +tokens +epochs +rereads +median +p99 +of window\n/,
    )
    for (const policy of ['paged', 'window'])
      expect(stdout).toMatch(new RegExp(`^${policy} +[\\d.]+ % +[\\d,]+ +0 `, 'm'))
    expect(stdout).toMatch(/\n\nbudget 16,000 tokens, 7 calls\n/)
  })
  it('--json prints one object a line', () => {
    const { stdout } = indelible([
      'context',
      '--compare',
      example,
      '--budget',
      '800',
      '--policy',
      'window,paged',
      '--json',
    ])
    const reports = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object)
    expect(reports).toMatchObject([
      { policy: 'window', budget: 800, calls: 7, faults: { silentLoss: 0 } },
      { policy: 'paged', budget: 800 },
    ])
  })
  it('accepts a session, too', () => {
    const store = ['--store', join(mkdtempSync(join(tmpdir(), 'indelible-replay-')), 's.db')]
    indelible(['import', example, ...store])
    const replayed = (args: readonly string[]) => {
      const { stdout } = indelible(['context', '--compare', ...args, '--budget', '800', '--policy', 'window', '--json'])
      const {
        median: _,
        p99: __,
        ...figures
      } = JSON.parse(stdout) as { readonly median: number; readonly p99: number; readonly policy: string }
      return figures
    }
    expect(replayed(['coding-agent', ...store])).toEqual(replayed([example]))
    expect(indelible(['context', '--compare', 'coding-agent', '--budget', '800', ...store]).stdout).toMatch(
      /^coding-agent: session, 19 messages/,
    )
    expect(indelible(['context', '--compare', 'nobody', ...store])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('this store has no session "nobody"') as string,
    })
  })
  it('reports for how many calls even the minimum does not fit', () => {
    expect(indelible(['context', '--compare', example, '--budget', '40', '--policy', 'paged']).stdout).toMatch(
      /^paged: the minimum does not fit for 7 of 7 calls, which are not counted$/m,
    )
  })
  it('shows as many columns as fit, and no part of one', () => {
    const heading = (columns: number): string =>
      indelible(['context', '--compare', example, '--budget', '800'], columns).lines.find((line) =>
        line.startsWith('policy'),
      ) ?? ''
    const whole = heading(200)
    expect(whole.split(/ {2,}/)).toEqual(['policy', 'cacheable', 'cost', 'faults', 'tokens', 'epochs', 'rereads', 'median', 'p99', 'of window']) // oxfmt-ignore
    const upTo = (last: string): string => whole.slice(0, whole.indexOf(last) + last.length)
    for (const [last, before] of [
      ['tokens', 'faults'],
      ['epochs', 'tokens'],
    ] as const)
      // oxfmt-ignore
      expect([heading(upTo(last).length), heading(upTo(last).length - 1)]).toEqual([upTo(last), upTo(before)])
  })
  it.each([
    ['1', 1],
    ['999999999999', 999_999_999_999],
    ['16k', 16_000],
    ['2K', 2000],
    ['1m', 1_000_000],
    ['1M', 1_000_000],
  ])('%s are %i tokens', (given, tokens) => expect(tokensOf(given)).toBe(tokens))
  it.each(['', 'k', '1.5k', '1kk', '-1', '1000000000000'])('"%s" is no number of tokens', (given) =>
    expect(() => tokensOf(given)).toThrow(`--budget: "${given}" is not a number of tokens`),
  )
  it.each([30, 60, 100])('fits %i columns', (columns) => {
    for (const line of indelible(['context', '--compare', example, '--budget', '800'], columns)
      .stdout.split('\n')
      .slice(1))
      expect(widthOf(line)).toBeLessThanOrEqual(columns)
  })
  it.each([
    [['context', '--compare', 'a', 'b'], 'context --compare takes one FILE or SESSION, but got 2: a, b'],
    [
      ['context', '--compare', example, '--budget', 'much'],
      '--budget: "much" is not a number of tokens; expected one like 32000 or 32k',
    ],
    [
      ['context', '--compare', example, '--policy', 'best'],
      '--policy: there is no policy "best"; expected paged, window',
    ],
  ])('refuses %j as misuse', (args, message) => {
    const { status, stderr } = indelible(args)
    expect([status, stderr]).toEqual([2, expect.stringContaining(message) as string])
  })
})

describe('a comparison', () => {
  it('reports that no budget was reached', () => {
    expect(indelible(['context', '--compare', example, '--budget', '16k']).stderr).toMatch(/^no budget was reached/)
    expect(indelible(['context', '--compare', example, '--budget', '800']).stderr).toBe('')
  })
})
