/** The command as a person runs it: a real process, its output, its exit code. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { widthOf } from '../src/terminal/screen.ts'
import { indelible } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-records-'))
const writeTestFile = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}
const lines = [
  {
    callId: 'c1',
    methodName: 'answer',
    programSource: 'const bad = context.conversationHistory.filter((r) => !r.outcomeSummary.ok)\nreturn bad.length',
  },
  { callId: 'c2', methodName: 'plain', programSource: 'return 1' },
  { historyAccessDetected: true, historyQueryPatterns: ['map', 'filter'] },
  { msg: 'started' },
].map((entry) => JSON.stringify(entry))
const log = writeTestFile('calls.jsonl', `\ufeff${lines.slice(0, 2).join('\n')}\n\n${lines.slice(2).join('\r\n')}\n`)

describe('indelible records', () => {
  it('prints how often, by which patterns, and which lines', () => {
    const { status, stdout, stderr } = indelible(['records', log])
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^calls\.jsonl: 4 entries$/m)
    expect(stdout).toMatch(/^history used {3}2 of 3 observed calls \(67 %\)$/m)
    expect(stdout).toMatch(/^call records {3}0 valid, 2 repaired$/m)
    expect(stdout).toMatch(/^left out {7}1, neither a record nor log fields$/m)
    expect(stdout).toMatch(/^filter +2 {2}▪+$/m)
    expect(stdout).toMatch(/^line 1 {2}answer {2}filter\n {6}1 {2}const bad = context/m)
    expect(stdout).toMatch(/^line 4 {2}filter map$/m)
    expect(stdout).toMatch(/^line 5: has no callId/m)
  })
  it.each([30, 50, 100])('fits %i columns', (columns) => {
    for (const line of indelible(['records', log], { columns }).stdout.split('\n').slice(1))
      expect(widthOf(line)).toBeLessThanOrEqual(columns)
  })
  it.each([
    [28, 4],
    [30, 4],
    [31, 5],
    [50, 24],
    [56, 30],
    [100, 30],
  ])('draws bars as wide as %i columns leave room for', (columns, room) => {
    const bars = [...indelible(['records', log], { columns }).stdout.matchAll(/^(\w+) +\d {2}(▪+)$/gm)]
    const half = Math.round(room / 2)
    expect(bars.map(([, name, bar = '']) => [name, bar.length])).toEqual([['filter', room], ['map', half], ['count', half]]) // oxfmt-ignore
  })
  it('--json prints the summary for programs', () => {
    const { status, stdout } = indelible(['records', '--json', log])
    expect(status).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      entries: 4,
      observed: 3,
      using: 2,
      patterns: [
        { pattern: 'filter', calls: 2 },
        { pattern: 'map', calls: 1 },
        { pattern: 'count', calls: 1 },
      ],
      evidence: [{ place: 'line 1' }, {}, { place: 'line 4' }],
      skipped: [{ place: 'line 5' }],
    })
  })
  it('reads a JSON array, from standard input too, and other names', () => {
    const input = JSON.stringify([{ methodName: 'a', programSource: 'return history.slice(-3)' }])
    expect(indelible(['records', '-', '--name', 'history'], { input }).stdout).toMatch(
      /^standard input: 1 entry\n[^]*entry 0 {2}a {2}slice\n/,
    )
    expect(indelible(['records', '-'], { input }).stdout).toMatch(/0 of 1 observed call \(0 %\)/)
    expect(indelible(['records', '-'], { input: '[]' }).stdout).toMatch(
      /0 entries\n\nhistory used {3}0 of 0 observed calls\n/,
    )
  })
  it('lists lines that are not JSON and reads the others', () => {
    const torn = writeTestFile('torn.jsonl', `${lines[0]}\n\n{"callId": c2}\n${lines[1]}\n{"callId"`)
    const { status, stdout, stderr } = indelible(['records', torn])
    expect([status, stdout]).toEqual([1, expect.stringMatching(/^torn\.jsonl: 2 entries\n/)])
    expect(stderr).toMatch(/torn\.jsonl: 2 damaged lines\n$/)
    expect(stdout).toMatch(
      /\n\ndamage: 2 lines\n {2}line {5}3 {2}is not JSON at column 12: expected a value, found "c2"\n {2}line {5}5 {2}is cut off\n$/,
    )
    expect(JSON.parse(indelible(['records', torn, '--json']).stdout)).toMatchObject({
      entries: 2,
      damage: [{ line: 3 }, { line: 5, reason: 'is cut off' }],
    })
  })
  it('reports a single repair, and none where nothing was repaired', () => {
    const whole = {
      ...{ callId: 'c', timestamp: '2026-01-01T00:00:00.000Z', speaker: 'user', methodName: 'm' },
      ...{ args: [], kwargs: {}, outcomeSummary: { ok: true, status: 'ok', errorType: null, retriable: false } },
    }
    const { args: _, ...lacking } = whole
    const repairs = (record: object): string | undefined =>
      /^repaired: [^]*/m.exec(indelible(['records', '-'], { input: JSON.stringify([record]) }).stdout)?.[0]
    expect([repairs(lacking), repairs(whole)]).toEqual([
      'repaired: 1 field of the records\n       1 × args is missing: []\n           at entry 0\n',
      undefined,
    ])
  })
  it('reports repairs, each kind once', () => {
    const { stdout } = indelible(['records', log])
    const said = stdout.slice(stdout.indexOf('repaired: '))
    expect(said).toMatch(/^repaired: \d+ fields of the records\n/)
    expect(said).toMatch(/^ +2 × .+\n +at line 1, line 2$/m)
    const whole = { callId: 'c', methodName: 'm', arguments: [], startedAt: 'x' }
    expect(indelible(['records', '-'], { input: JSON.stringify([whole]) }).stdout).not.toContain('[object')
  })
  it('--evidence limits the evidence', () => {
    expect(indelible(['records', log, '--evidence', '1']).stdout).toMatch(/^2 more lines of evidence: --evidence N$/m)
    expect(indelible(['records', log, '--evidence', '0']).stdout).not.toMatch(/const bad/)
  })
  it('writes none of a log’s escape sequences', () => {
    const hostile = 'a\u001b[2J\u001b]0;x\u0007b'
    const path = writeTestFile(
      'hostile.jsonl',
      JSON.stringify({ callId: hostile, methodName: hostile, programSource: `conversationHistory.map("${hostile}")` }),
    )
    expect(indelible(['records', path]).stdout).not.toContain('\u001b')
  })
  it.each<readonly [string, readonly string[], RegExp]>([
    ['no file', ['records'], /records needs a FILE/],
    ['two files', ['records', 'a', 'b'], /takes one FILE, but got 2: a, b/],
    ['an unknown option', ['records', 'a', '--nme', 'x'], /records: there is no option --nme; did you mean --name/],
    ['no number', ['records', 'a', '--evidence', 'all'], /--evidence takes a whole number, not "all"/],
    ['a negative number', ['records', 'a', '--evidence', '-1'], /--evidence takes a whole number from 0/],
    ['no name', ['records', 'a', '--name', ','], /--name takes at least one name/],
  ])('exits with 2 for misuse: %s', (_name, args, message) => {
    const { status, stdout, stderr } = indelible(args)
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/Try: indelible records --help\n$/)
  })
  it.each<readonly [string, () => string, RegExp]>([
    ['no such file', () => join(folder, 'none'), /none: does not exist/],
    [
      'no line that is JSON',
      () => writeTestFile('a.jsonl', `nothing\n\n{"callId": c2}\n`),
      /a\.jsonl: line 1, column 1: not JSON: expected a value, found "nothing"/,
    ],
    [
      'an array in lines, one of them no JSON',
      () => writeTestFile('e.json', '[\n{"callId": "c1"}\n]'.replace('}', '},')),
      /e\.json: line 3, column 1: not JSON/,
    ],
    [
      'an array that is not JSON',
      () => writeTestFile('b.json', '[\n  {"callId": "c1"},\n]'),
      /b\.json: line 3, column 1: not JSON: expected a value, found "\]"/,
    ],
    ['not UTF-8', () => writeTestFile('c.jsonl', new Uint8Array([0x7b, 0xff])), /c\.jsonl: byte 1 is not UTF-8/],
  ])('exits with 1 for an unreadable file: %s', (_name, path, message) => {
    const { status, stdout, stderr } = indelible(['records', path()])
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/\n\s+at /)
  })
  it('prints help', () => {
    for (const args of [
      ['records', '--help'],
      ['help', 'records'],
    ])
      expect(indelible(args).stdout).toMatch(/^Usage: indelible records/)
    for (const line of indelible(['records', '--help']).stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(80)
  })
})
