/** The command as a person runs it: a real process, its output, its exit code. */
import { DatabaseSync } from 'node:sqlite'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { assistant, createSession, openSession, orThrow, system, toolCall, toolResult, user } from 'indelible'
import type { Row } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { eraseMessages } from 'indelible/session'
import { scriptedModel, turn } from 'indelible/run'
import { recordingFetch } from '@indelible/recorder'
import { root } from '../../../scripts/run.ts'
import { readTranscript } from '@indelible/transcripts'
import { nothingErased } from '../src/keep/erased-messages.ts'
import { bringRows } from '../src/keep/session-rows.ts'
import { withOpened } from '../src/sources/place.ts'
import { Unreadable } from '../src/terminal/command.ts'
import { widthOf } from '../src/terminal/screen.ts'
import { itShared, shared } from '../../../test/real-transcripts.ts'
import { recordCalls } from '../../view/test/page/recorded.ts'
import { folder, indelible, writeTestFile } from './indelible.ts'

const example = join(root, 'examples/coding-agent.json')

describe('indelible show', () => {
  it('prints position, role, page kind, tokens and a line of content, calls with their results, and totals', () => {
    const { status, stdout, stderr } = indelible(['show', example])
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^coding-agent\.json: openai-chat, 19 messages\n/)
    expect(stdout).toMatch(/^ {2}0 {2}system {5}bootstrap +\d+ {2}You are a coding agent\./m)
    expect(stdout).toMatch(/^ {39}▸ run_tests \{"filter": "billing"\} → 4$/m)
    expect(stdout).toMatch(/^ {2}4 {2}tool {7}evidence .* ◂ run_tests .* \(\d+ lines\)$/m)
    expect(stdout).toMatch(/^bootstrap {12}1 /m)
    expect(stdout).toMatch(/^all +19 +[\d,]+$/m)
    expect(stdout).toMatch(/^open calls: none$/m)
  })
  it.each([30, 40, 72, 100, 200])('fits %i columns', (columns) => {
    const { lines } = indelible(['show', example], { columns })
    for (const line of lines.slice(1)) expect(widthOf(line)).toBeLessThanOrEqual(columns)
  })
  it('--json prints one object a line', () => {
    const { status, lines } = indelible(['show', '--json', example])
    expect(status).toBe(0)
    const entries = lines.slice(0, -1).map(
      (line) =>
        JSON.parse(line) as {
          position: number
          role: string
          page: string
          tokens: number
          calls?: unknown
          message: object
        },
    )
    expect(entries.map(({ position }) => position)).toEqual(Array.from({ length: 19 }, (_, index) => index))
    expect(entries[2]).toMatchObject({
      role: 'assistant',
      page: 'conversation',
      calls: [
        { id: 'call_01', name: 'list_files', answeredAt: 3 },
        { name: 'run_tests', answeredAt: 4 },
      ],
    })
    expect(entries[3]?.message).toMatchObject({ role: 'tool', content: [{ type: 'tool_result', callId: 'call_01' }] })
  })
  it('--kind, --from and --to select messages and keep positions', () => {
    const positions = (...args: readonly string[]) =>
      indelible(['show', '--json', example, ...args])
        .lines.slice(0, -1)
        .map((line) => (JSON.parse(line) as { position: number }).position)
    expect(positions('--kind', 'bootstrap')).toEqual([0])
    expect(positions('--kind', 'evidence,bootstrap', '--to', '5')).toEqual([0, 3, 4])
    expect(positions('--from', '16')).toEqual([16, 17, 18])
    expect(positions('--from', '-2')).toEqual([17, 18])
    expect(positions('--from', '-100', '--to', '2')).toEqual([0, 1])
    expect(positions('--from=-3', '--to=-1')).toEqual([16, 17])
    expect(positions('--from', '99')).toEqual([])
    expect(positions('--kind', 'plan')).toEqual([])
  })
  it('reads standard input', () => {
    const { stdout } = indelible(['show', '-'], { input: '[{"role":"user","content":"from a pipe"}]' })
    expect(stdout).toMatch(/^standard input: openai-chat, 1 message\n/)
    expect(stdout).toMatch(/from a pipe/)
  })
  it('marks an answer that was interrupted', async () => {
    const path = join(folder, 'interrupted.db')
    const store = await sqliteStore({ path })
    const cut = { ...assistant('I look at '.repeat(30)), meta: { indelible: { interrupted: true } } }
    await createSession(store, { id: 's', messages: [user('look'), cut, assistant('Done.')] })
    await store.close()
    const run = (...args: readonly string[]) => indelible(['show', 's', ...args, '--store', path])
    expect(run().stdout).toMatch(/ I look at .*…\n +interrupted\n +2 /)
    expect(run().stdout.match(/interrupted/g)).toHaveLength(1)
    expect(run('1').stdout).toMatch(/^1 {2}assistant .* {2}interrupted$/m)
    expect(run('2').stdout).not.toContain('interrupted')
  })
  it('lists unanswered calls', () => {
    const path = writeTestFile(
      'open.json',
      JSON.stringify([
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'deploy', arguments: '{}' } }],
        },
      ]),
    )
    expect(indelible(['show', path]).stdout).toMatch(
      /▸ deploy \{\} no result\n[^]*open calls: 1 without a result\n {7}0 {2}deploy {2}c1\n/,
    )
  })
  it("writes no escape sequence to a pipe, and no transcript's anywhere", () => {
    const hostile = 'a\u001b[2J\u001b]0;x\u0007b'
    const wire = [
      { role: 'user', content: hostile },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: hostile, type: 'function', function: { name: hostile, arguments: hostile } }],
      },
      { role: 'tool', tool_call_id: hostile, name: hostile, content: hostile },
      { role: 'tool', tool_call_id: 'none', name: hostile.repeat(50), content: hostile },
    ]
    const path = writeTestFile('escape.json', JSON.stringify(wire))
    expect(
      indelible(['show', writeTestFile('key.json', JSON.stringify([{ role: 'user', content: [{ [hostile]: 1 }] }]))])
        .stderr,
    ).not.toContain('\u001b')
    for (const env of [{}, { NO_COLOR: '1' }, { FORCE_COLOR: '1' }]) {
      const { stdout } = indelible(['show', path], { env })
      expect(stdout).toContain('ab')
      expect(stdout).not.toContain('\u001b[2J')
      if (!('FORCE_COLOR' in env)) expect(stdout).not.toContain('\u001b')
    }
  })
  it.each([
    ['1', [1]],
    ['1-2', [1, 2]],
    ['2-', [2, 3]],
    ['-1', [3]],
    ['-2-', [2, 3]],
    ['2-99', [2, 3]],
  ])('prints the messages of %s completely', (given, positions) => {
    const four = writeTestFile(
      'four.json',
      JSON.stringify([0, 1, 2, 3].map((n) => ({ role: 'user', content: `line ${n}\nmore` }))),
    )
    const shown = indelible(['show', four, given])
    expect(shown.stdout.match(/^line \d$/gm)).toEqual(positions.map((n) => `line ${n}`))
    expect(shown.stdout.match(/^more$/gm)).toHaveLength(positions.length)
    const json = indelible(['show', four, given, '--json']).lines.filter((line) => line !== '')
    expect(json.map((line) => (JSON.parse(line) as { readonly position: number }).position)).toEqual(positions)
    expect(indelible(['show', four, '4-5']).stderr).toContain(
      'there is no message 4: there are 4 messages, from 0 to 3',
    )
  })
  it.each<readonly [string, readonly string[], RegExp]>([
    ['an unknown command', ['shw'], /there is no command "shw"; did you mean "show"\?/],
    ['an option before the command', ['--json', 'show'], /there is no option --json before the COMMAND/],
    ['two files', ['show', 'a', 'b'], /show: N takes a position such as 3, 3-5, 3- or -1, not "b"/],
    ['a range that is none', ['show', 'a', '5-3'], /show: N-M takes the first and the last position/],
    ['an unknown option', ['show', 'a', '--frm', '3'], /show: there is no option --frm; did you mean --from\?/],
    ['an option without its value', ['show', 'a', '--pick'], /show: --pick takes a value: --pick N/],
    ['a flag with a value', ['show', 'a', '--json=1'], /show: --json takes no value/],
    ['a position that is no number', ['show', 'a', '--from', 'x'], /--from takes a whole number, not "x"/],
    ['a negative pick', ['show', 'a', '--pick', '-1'], /--pick takes a whole number from 0/],
    [
      'an unknown kind',
      ['show', 'a', '--kind', 'plan,gossip'],
      /--kind: "gossip" is not a page kind; expected bootstrap/,
    ],
  ])('exits with 2 for misuse: %s', (_name, args, message) => {
    const { status, stdout, stderr } = indelible(args)
    expect([status, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(message)
    expect(stderr).toMatch(/Try: indelible (show )?--help\n$/)
  })
  it.each<readonly [string, () => string, RegExp]>([
    ['no such file', () => join(folder, 'none'), /does not exist/],
    ['a folder', () => folder, /is a folder; expected a file/],
    [
      'an empty file',
      () => writeTestFile('empty.json', ''),
      /empty\.json: the text is empty; expected a conversation\n/,
    ],
    [
      'not JSON',
      () => writeTestFile('a.json', '[\n{"role": "user",}]'),
      /a\.json: line 2, column 17: not JSON: expected a key in double quotes, found "\}"/,
    ],
    [
      'not text',
      () => writeTestFile('b.json', new Uint8Array([0x5b, 0x22, 0xff, 0x22, 0x5d])),
      /b\.json: this is an array, not a conversation/,
    ],
    [
      'cut UTF-8',
      () => writeTestFile('c.json', new Uint8Array([0x22, 0xe2, 0x82])),
      /c\.json: line 1, column 3: not JSON: expected a closing quote, found the end/,
    ],
    [
      'no conversation',
      () => writeTestFile('d.json', '{"a": 1}'),
      /d\.json: this is an object with "a", not a conversation; expected/,
    ],
    [
      'a bad message',
      () => writeTestFile('e.json', '[{"role":"user","content":"a"},{"role":"user","content":{}}]'),
      /e\.json: \[1\]\.content should be a string, null or an array of parts, found an empty object/,
    ],
  ])('exits with 1 for an unreadable file: %s', (_name, path, message) => {
    const { status, stdout, stderr } = indelible(['show', path()])
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(message)
    expect(stderr).not.toMatch(/\n\s+at /)
  })
  it('names standard input in errors', () => {
    for (const command of [['show'], ['show', '--check'], ['prove', '--check']])
      expect(indelible([...command, '-'], { input: '{' })).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(/^indelible: standard input: /) as string,
      })
  })
  it('prints help and version', () => {
    for (const args of [['--help'], ['-h'], ['help']])
      expect(indelible(args).stdout).toMatch(/^Usage: indelible COMMAND/)
    for (const args of [
      ['show', '--help'],
      ['show', '-h'],
      ['help', 'show'],
    ])
      expect(indelible(args).stdout).toMatch(/^Usage: indelible show/)
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
    expect(indelible(['--version']).stdout).toBe(`${version}\n`)
    for (const line of [...indelible(['--help']).lines, ...indelible(['show', '--help']).lines])
      expect(line.length).toBeLessThanOrEqual(80)
  })

  itShared('reads the real transcripts', () => {
    const tau = indelible(['show', shared('transcripts/tau-airline-gpt-4o.openai-chat.json'), '--pick', '7'])
    expect(tau.stdout).toMatch(/tau-bench, conversation 7 of 50/)
    const pi = indelible(['show', shared('transcripts/coding-agent.pi-session.jsonl')])
    expect(pi.stdout).toMatch(/pi-session, 914 messages/)
    expect(pi.stdout).toMatch(/open calls: 18 without a result/)
    for (const line of pi.lines) expect(widthOf(line)).toBeLessThanOrEqual(100)
  })
})

describe('times in show', () => {
  const file = writeTestFile(
    'timed.jsonl',
    [
      { type: 'session', version: 3, id: 'x', timestamp: '2026-01-02T03:04:05.000Z', cwd: '/' },
      ...['2026-01-02T23:59:58.000Z', '2026-01-03T00:00:01.000Z'].map((timestamp, index) => ({
        type: 'message',
        id: `${index}`,
        parentId: index === 0 ? null : '0',
        timestamp,
        message: { role: 'user', content: `said ${index}` },
      })),
    ]
      .map((line) => JSON.stringify(line))
      .join('\n'),
  )
  const lines = (args: readonly string[], columns = 100) => indelible(['show', ...args], { columns }).lines

  it("are the file's, with a line per day, if there is room", () => {
    const shownAs = lines([file]).map((line) => line.trim().replaceAll(/ {2,}/g, ' '))
    expect(shownAs.slice(2, 7)).toEqual([
      expect.stringMatching(/^# time role page/),
      '2026-01-02',
      expect.stringMatching(/^0 23:59:58 user .*said 0$/),
      '2026-01-03',
      expect.stringMatching(/^1 00:00:01 user .*said 1$/),
    ])
    for (const columns of [30, 60, 75, 85])
      for (const line of lines([file], columns).slice(1)) expect(widthOf(line)).toBeLessThanOrEqual(columns)
    expect(lines([file], 70).join('\n')).not.toContain('23:59:58')
    expect(lines([example]).join('\n')).not.toContain('time')
  })
  it('of a session are those of its rows; imported rows have the file’s times', () => {
    const store = ['--store', join(folder, 'times.db')]
    expect(indelible(['import', file, '--id', 'x', ...store]).status).toBe(0)
    expect(indelible(['append', 'x', 'now', ...store]).status).toBe(0)
    const [first, , last] = lines(['x', '--json', ...store])
      .slice(0, 3)
      .map((line) => JSON.parse(line) as { at: number; sourceTime?: number })
    expect(first?.sourceTime).toBe(Date.parse('2026-01-02T23:59:58.000Z'))
    expect(first?.at).toBe(first?.sourceTime)
    expect(last).toMatchObject({ at: expect.any(Number) as number, message: { role: 'user' } })
    expect(last?.sourceTime).toBeUndefined()
    expect(lines(['x', ...store]).join('\n')).toMatch(/0 {2}23:59:58/)
    const [info] = indelible(['list', '--json', ...store]).lines.map(
      (line) => JSON.parse(line || '{}') as { appended?: string },
    )
    expect(info?.appended).toBe(new Date(last?.at ?? 0).toISOString())
    expect(indelible(['list', '--sort', 'size', ...store]).status).toBe(2)
  })
})

describe('show --call', () => {
  let path = ''
  let id = ''
  const show = (...args: readonly string[]) => indelible(['show', id, ...args, '--store', path], { columns: 120 })
  beforeAll(async () => {
    path = join(folder, 'calls.db')
    const store = await sqliteStore({ path })
    id = await recordCalls(store, [
      { input: 12_000, cached: 0 },
      { input: 13_500, cached: 12_000 },
      { input: 16_000, cached: 0, how: 'tools' },
      { input: 18_000, cached: 1_000, how: 'shortened' },
      { input: 18_500, cached: 17_000, how: 'beside' },
    ])
    await store.close()
  })
  it('prints what a call cost, why the cache broke, and what changed since the call before', () => {
    const { status, stdout, stderr } = show('--call', '3')
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^call 3 of 4, gpt-5\.5, \d{4}-\d\d-\d\d .* UTC, answered by message 6$/m)
    expect(stdout).toMatch(/^ {2}cost {5}\$0\.\d+ at list prices$/m)
    expect(stdout).toMatch(
      /^ {2}why {6}Nothing was cached (?:directly|\S+ s) after the last answer; the tool list changed: \+search\.[^]*^ {2}input {4}16,000 tokens: 0 cached \(0 %\), 16,000 not cached\n[^]*^ {2}cache {4}broke$/m,
    )
    expect(stdout).toMatch(
      /^compared with call 2:\n {2}tool search \(new\)\n[^]*"name": "search"[^]*\n {2}2 unchanged tools\n {2}4 unchanged messages\n {2}\+ assistant {2}heard 4\n {2}\+ user {2}Go on: step 1\.\n$/m,
    )
  })
  it('--calls prints a line for each call, with its cost and the cause of a break, and marks the dearest', () => {
    const { lines } = show('--calls')
    expect(lines.slice(2, 9)).toEqual([
      'call  message  model     input  cached  output    cost  cache break',
      '   1        2  gpt-5.5  12,000       0     150  $0.065',
      '   2        4  gpt-5.5  13,500  12,000     150  $0.018',
      '   3        6  gpt-5.5  16,000       0     150  $0.085  The tool list changed: +search.',
      ' * 4        8  gpt-5.5  18,000   1,000     150  $0.090  The client compacted the conversation.',
      '',
      '4 calls · 59.5K tokens in · 22 % cached · 600 out · $0.257 · 2 cache breaks',
    ])
    expect(lines.slice(9).join(' ')).toMatch(
      /^\* Call 4 cost most: \$0\.090, 35 % of all\. 15,000 tokens were sent again .* after the last answer; the client compacted the conversation\. $/,
    )
    const json = (...args: readonly string[]): readonly object[] =>
      show(...args, '--json')
        .lines.filter(Boolean)
        .map((line) => JSON.parse(line) as object)
    const {
      comparedWith: _,
      changed: __,
      messages: ___,
      ...third
    } = json('--call', '3')[0] as { [name: string]: unknown }
    expect(json('--calls').map((one) => 'dearest' in one && one.dearest)).toEqual([false, false, false, true])
    expect(json('--calls')[2]).toEqual({ ...third, dearest: false })
    const narrow = indelible(['show', id, '--calls', '--store', path], { columns: 40 })
    expect(narrow.stdout).toContain('\n   3  $0.085  sent again, tools changed\n')
    expect(show('--calls', '2').status).toBe(2)
  })
  it('of a session says with which command to look at its calls, where that lists any', async () => {
    expect(show().stdout).toMatch(new RegExp(`^what its model calls cost: "indelible show ${id} --calls --store .*calls\\.db"$`, 'm')) // oxfmt-ignore
    const other = join(folder, 'totals.db')
    const store = await sqliteStore({ path: other })
    const uses = [{ model: 'gpt-5.5', calls: 7, input: 50_000, output: 500 }]
    await createSession(store, { id: 'totals', metadata: { from: { uses } }, messages: [user('a'), assistant('b')] })
    await store.close()
    expect(indelible(['show', 'totals', '--store', other]).stdout).not.toContain('--calls')
    expect(indelible(['show', 'totals', '--calls', '--store', other]).status).toBe(1)
  })
  it('finds the call that cost most', () => {
    const costs = ['1', '2', '3', '4'].map((number) => {
      const [line] = show('--call', number, '--json').lines
      return JSON.parse(line ?? '') as { readonly call: number; readonly dollars: number }
    })
    const dearest = costs.toSorted((a, b) => b.dollars - a.dollars)[0]
    expect(show('--call', 'dearest').stdout).toContain(`\ncall ${String(dearest?.call)} of 4, `)
    expect(show('--call', 'cheapest')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--call takes a whole number or "dearest", not "cheapest"') as string,
    })
  })
  it('does not say which call cost most where a price is unknown', async () => {
    const other = join(folder, 'unpriced.db')
    const store = await sqliteStore({ path: other })
    const name = await recordCalls(store, [
      { input: 12_000, cached: 0 },
      { input: 14_000, cached: 1_000, how: 'unpriced' },
    ])
    await store.close()
    const { stdout } = indelible(['show', name, '--call', 'dearest', '--store', other], { columns: 300 })
    expect(stdout).toMatch(
      /^No list price is known for 1 of 2 calls: this is the one with most input that was not cached\.\ncall 2 of 2, acme-1/m,
    )
  })
  it('shows only the message that was edited, not those that follow it', () => {
    const { stdout } = show('--call', '4')
    expect(stdout).toMatch(/ {2}1 unchanged message\n {2}message 1 of the request\n[^]* {2}4 unchanged messages\n/)
    expect(stdout).not.toContain('message 2 of the request')
  })
  it('paints what was added green and what was removed red', () => {
    const paintedIn = (call: string, colour: 31 | 32): readonly string[] =>
      indelible(['show', id, '--call', call, '--store', path], { columns: 80, colour: true })
        .lines.filter((line) => line.startsWith(`\u001b[${colour}m `))
        .map((line) => line.slice(5).trim().slice(0, 1))
    expect(new Set(paintedIn('3', 32))).toEqual(new Set('+'))
    expect(paintedIn('3', 31)).toEqual([])
    expect(paintedIn('4', 32)).toEqual(['+', '+', '+'])
    expect(paintedIn('4', 31)).toEqual(['-'])
  })
  it('shows the difference in a long line, and the whole line with --full', () => {
    const shown = (...more: readonly string[]) =>
      indelible(['show', id, '--call', '4', ...more, '--store', path], { columns: 80 }).stdout
    expect(shown()).toMatch(/^ {4}- …the calendar, please\. Mind the rules .*…\n {4}\+ …the calendar, please\.$/m)
    const rules = 'Mind the rules of the project. '.repeat(10)
    expect(shown('--full')).toContain(`    - Add a test for leap years to the calendar, please. ${rules}\n`)
  })
  it.each([
    [36, ''],
    [37, '…'],
  ])('starts a long line before its difference if the first %i characters are equal, of 74', async (length, start) => {
    const other = join(folder, `long-${length}.db`)
    const store = await sqliteStore({ path: other })
    const question = 'leap-years-'.repeat(4).slice(0, length)
    const calls = [
      { input: 12_000, cached: 0 },
      { input: 13_000, cached: 0, how: 'shortened' },
    ] as const
    const name = await recordCalls(store, calls, question)
    await store.close()
    const { stdout } = indelible(['show', name, '--call', '2', '--store', other], { columns: 80 })
    expect(stdout).toContain(`    - ${start}${question.slice(start === '' ? 0 : 13)} Mind the rules`)
  })
  it('shows the form of a message that has the same content in another form', async () => {
    const other = join(folder, 'form.db')
    const store = await sqliteStore({ path: other })
    const name = await recordCalls(store, [
      { input: 12_000, cached: 0 },
      { input: 13_000, cached: 0, how: 'parts' },
    ])
    await store.close()
    const { stdout } = indelible(['show', name, '--call', '2', '--store', other], { columns: 300 })
    expect(stdout).toMatch(
      /^ {2}why {6}Nothing was cached .* after the last answer; message 1 is written differently\.$/m,
    )
    expect(stdout).toMatch(
      /^ {2}1 unchanged message\n {2}message 1 of the request, the same content in another form\n[^]*^ {4}\+ .*parts/m,
    )
  })
  it('names another model first', async () => {
    const other = join(folder, 'models.db')
    const store = await sqliteStore({ path: other })
    const name = await recordCalls(store, [
      { input: 12_000, cached: 0 },
      { input: 11_000, cached: 0, how: 'model' },
    ])
    await store.close()
    const { stdout } = indelible(['show', name, '--call', '2', '--store', other], { columns: 300 })
    expect(stdout).toMatch(
      /^ {2}why {6}Nothing was cached (?:directly|\S+ s) after the last answer; the previous call went to gpt-5\.5, and each model has its own cache; the tool list changed: -bash\.$/m,
    )
    expect(stdout).toMatch(/^compared with call 1:\n {2}model\n {4}- gpt-5\.5\n {4}\+ \S+\n/m)
  })
  it('--json has the same, and a negative number counts from the end', () => {
    const [line] = show('--call', '-2', '--json').lines
    expect(JSON.parse(line ?? '')).toMatchObject({
      ...{ call: 3, calls: 4, model: 'gpt-5.5', answer: 6, input: 16_000, cached: 0, uncached: 16_000, output: 150 },
      ...{ inputBy: { tools: 13_500, new: 2_500 }, cacheBreak: 'The tool list changed: +search.' },
      ...{ comparedWith: { call: 2 }, changed: [{ name: 'tool search', before: '' }] },
      messages: [{ same: 4 }, { after: { role: 'assistant' } }, { after: { role: 'user' } }],
    })
  })
  it('says of a fork’s first call that it is compared with a shared one', () => {
    const fork = indelible(['list', '--json', '--where', 'id~fork', '--store', path]).lines[0] ?? ''
    const { id: name } = JSON.parse(fork) as { readonly id: string }
    const { stdout } = indelible(['show', name, '--call', '-1', '--store', path], { columns: 200 })
    expect(stdout).toContain(
      `the last that this fork shares with ${id}; the call before may be another one of that session:`,
    )
  })
  it('says what cost most of a call: by its price, or without one by its tokens', async () => {
    const other = join(folder, 'answers.db')
    const store = await sqliteStore({ path: other })
    const name = await recordCalls(store, [
      { input: 3000, cached: 0 },
      { input: 3100, cached: 2900, output: 61 },
      { input: 3200, cached: 3000, output: 150 },
      { input: 3300, cached: 3100, output: 61, how: 'unpriced' },
    ])
    await store.close()
    const lines = indelible(['show', name, '--calls', '--json', '--store', other]).lines.filter(Boolean)
    expect(lines.map((line) => (JSON.parse(line) as { readonly why: string }).why)).toEqual([
      'The first call, 3,000 tokens.',
      'Mostly the answer, 61 tokens.',
      'Mostly the answer, 150 tokens.',
      'Mostly read again from the cache, 3,100 tokens.',
    ])
  })
  it('--sent prints the request of a call where it is known exactly, and says why where it is not', async () => {
    const sent = (name: string, number: number, store = path) =>
      indelible(['show', name, '--call', String(number), '--sent', '--store', store])
    const third = sent(id, 3)
    expect([third.status, third.stderr]).toEqual([0, ''])
    const { messages, tools, ...others } = JSON.parse(third.stdout) as {
      readonly messages: readonly { readonly role: string }[]
      readonly tools: readonly unknown[]
    }
    expect(others).toEqual({ call: 3, model: 'gpt-5.5', source: 'recorded' })
    expect(messages.map(({ role }) => role).join(' ')).toBe('system user assistant user assistant user')
    expect(messages[4]).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'heard 4' }] })
    expect(tools).toHaveLength(3)
    expect(show('--sent').status).toBe(2)

    const other = join(folder, 'sent.db')
    const store = await sqliteStore({ path: other })
    const run = await createSession(store, { id: 'run', messages: [user('Be brief.')] })
    await turn(run, 'How many?', { model: scriptedModel([assistant('Two.')]) }).result()
    const receipt = { type: 'receipt', len: 2, contextDigest: '0'.repeat(64), model: 'm' } as const
    await run.note(receipt)
    await run.close()
    const guided = await createSession(store, { id: 'guided', messages: [system('Old rules.')] })
    const model = scriptedModel([assistant('One.'), assistant('Two.')])
    await turn(guided, 'First?', { model, instructions: 'New rules.' }).result()
    await turn(guided, 'Second?', { model, instructions: '' }).result()
    await guided.close()
    const erased = await recordCalls(store, [{ input: 10, cached: 0 }], 'A question to erase')
    await eraseMessages(store, erased, [1], { reason: 'a request' })
    await store.close()
    expect(JSON.parse(sent('run', 1, other).stdout)).toMatchObject({
      ...{ call: 1, source: 'derived' },
      messages: [user('Be brief.'), user('How many?')],
    })
    expect(JSON.parse(sent('guided', 1, other).stdout)).toMatchObject({
      messages: [system('New rules.'), user('First?')],
    })
    expect(JSON.parse(sent('guided', 2, other).stdout)).toMatchObject({
      messages: [user('First?'), assistant('One.'), user('Second?')],
    })
    expect(sent('run', 2, other)).toMatchObject({
      ...{ status: 1, stdout: '' },
      stderr:
        'indelible: run: what was sent with call 2 is not known exactly: its messages were not recorded, and can’t be derived again from its receipt\n',
    })
    expect(sent(erased, 1, other).stderr).toContain('what is recorded has another digest: part of it is erased')
    const quiet = join(folder, 'quiet.db')
    const without = await sqliteStore({ path: quiet })
    const answer = { choices: [{ message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop' }] }
    const fetch = recordingFetch({
      store: without,
      content: false,
      fetch: () => Promise.resolve(Response.json(answer)),
    })
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'a secret' }] })
    await (await fetch('http://127.0.0.1/chat/completions', { method: 'POST', body })).text()
    await fetch.settled()
    const [figures = ''] = fetch.summary().sessions
    await without.close()
    expect(sent(figures, 1, quiet).stderr).toContain('texts were redacted or left out when it was recorded')
  })
  it('there is no such call', () => {
    expect(show('--call', '9')).toMatchObject({
      status: 1,
      stderr: `indelible: ${id}: there is no call 9: it has 4 calls\n`,
    })
    expect(show('--call', '0').status).toBe(2)
    expect(show('1', '--call', '1').status).toBe(2)
    const file = writeTestFile('calls.json', JSON.stringify([user('hi')]))
    expect(indelible(['show', file, '--call', '1']).stderr).toContain(
      `show --call and --calls take a SESSION: "indelible import ${file}" stores this file as one`,
    )
  })
  it.each([40, 80, 200])('fits %i columns', (columns) => {
    const { lines } = indelible(['show', id, '--call', '3', '--store', path], { columns })
    for (const line of lines.slice(1)) expect(widthOf(line)).toBeLessThanOrEqual(columns)
  })
})

describe('a session with an altered message', () => {
  let made = 0
  const altered = async (type: 'tool_call' | 'tool_result') => {
    const path = join(folder, `${type} ${made++}.db`)
    const store = await sqliteStore({ path })
    const call = [assistant(toolCall('c1', 'weather', '{"city":"Oslo"}')), toolResult('c1', 'it is cold')]
    await createSession(store, { id: 's', messages: [user('is it cold?'), ...call, assistant('Yes.')] })
    await store.close()
    const db = new DatabaseSync(path)
    db.exec(
      `update row set body = replace(replace(body, 'Oslo', 'Rome'), 'cold', 'warm') where body like '%"${type}"%'`,
    )
    db.close()
    return (...args: readonly string[]) => indelible([...args, '--store', path], { columns: 120 })
  }
  const reason = 'the row was altered after it was appended'
  const json = ({ lines }: ReturnType<typeof indelible>) =>
    lines.slice(0, -1).map((line) => JSON.parse(line) as { readonly [name: string]: unknown })

  it('a damaged call has no role and no page kind, and its result is not said to have no call', async () => {
    const run = await altered('tool_call')
    const shown = run('show', 's')
    expect(shown.stdout).toMatch(RegExp(`^ +1 .*damaged {3,}${reason}$`, 'm'))
    expect(shown.stdout).toMatch(/◂ c1 it is cold call may be in damaged 1$/m)
    expect(shown.stdout).toMatch(/^evidence +1 .*\nconversation +2 .*\ndamaged +1\nall +4 /m)
    expect(run('show', 's', '1-2').stdout).toMatch(
      /^1 {2}damaged [^]*◂ c1 {2}its call may be in message 1, which is damaged\n/m,
    )
    expect(json(run('show', 's', '--json'))[1]).toEqual({ position: 1, at: expect.any(Number), damaged: reason })
    expect(run('diff', 's', 's').stdout).not.toContain('user       [message')
    const context = run('context', 's', '--explain')
    expect(context.stdout).toMatch(/^1 damaged {2,}\d+ {2}\[message 1 is damaged/m)
    expect(context.stdout).toMatch(/^the call of the result in message 2 may be in message 1, which is damaged$/m)
    expect(context.stdout).toMatch(RegExp(`^ +1 {2}damaged +full +damaged: ${reason}$`, 'm'))
    expect(json(run('context', 's', '--json'))[0]).toMatchObject({ damaged: [{ position: 1, reason }] })
  })
  it('a call whose result is damaged is not said to have none', async () => {
    const run = await altered('tool_result')
    // Two damaged messages are not equal, even at one position.
    expect(run('diff', 's', 's').stdout).toContain('the same: the first 2 messages')
    expect(run('show', 's').stdout).toMatch(/▸ weather .* result may be in damaged 2$[^]*^open calls: none$/m)
    expect(run('show', 's', '1').stdout).toContain('▸ weather  its result may be in message 2, which is damaged')
    expect(json(run('show', 's', '--json'))[1]?.['calls']).toEqual([{ id: 'c1', name: 'weather' }])
    expect(run('context', 's').stdout).toMatch(/^the result of the call in message 1 may be in message 2, /m)
  })
  it('every command that prints it ends with 1, and says on standard error what is damaged', async () => {
    const run = await altered('tool_result')
    for (const args of [
      ['show'],
      ['show', '--json'],
      ['context'],
      ['export', '--to', 'openai-chat'],
      ['context', '--compare'],
    ]) {
      const { status, stderr, stdout } = run(args[0] as string, 's', ...args.slice(1))
      expect([args, status, stdout === '']).toEqual([args, 1, false])
      expect(stderr).toContain(`s: row 2 (message 2) is damaged: ${reason}`)
    }
    const found = run('search', 'warm', '--json')
    expect([found.status, json(found)]).toEqual([
      1,
      [{ session: 's', damaged: 'not all of its messages were searched' }],
    ])
    expect(found.stderr).toContain('s is damaged: not all of its messages were searched')
  })
  it('repair, and a backup of it, name the damage and end with 1; a repair that was possible ends with 0', async () => {
    const run = await altered('tool_result')
    expect(run('repair')).toMatchObject({
      status: 1,
      stdout: expect.stringMatching(
        /^log "s" .*its head is not that of its 4 rows: not repaired\n1 finding, 0 repaired\n$/,
      ) as string,
      stderr: "indelible: 1 finding can't be repaired: restore the store from a backup\n",
    })
    const to = join(folder, 'of-altered.db')
    expect(run('backup', to)).toMatchObject({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^log "s" .*its head is not that of its 4 rows\nindelible: .*of-altered\.db is a copy of a damaged store; "indelible repair --store .*" rebuilds/,
      ) as string,
    })
    const path = join(folder, 'repairable.db')
    const store = await sqliteStore({ path })
    await createSession(store, { id: 's', messages: [user('hi')] })
    await store.close()
    expect(indelible(['repair', '--store', path])).toMatchObject({ status: 0, stdout: 'no findings, 0 repaired\n' })
    const db = new DatabaseSync(path)
    db.exec('update log set entries = 0')
    db.close()
    expect(indelible(['verify', '--all', '--deep', '--store', path])).toMatchObject({
      status: 1,
      stdout: '1 session verified, 1 damaged\n',
      stderr: expect.stringMatching(
        /^log "s" .*\ns: damaged at row 1: .*\nindelible: 1 finding in the tables of the store: "indelible repair --store .*" rebuilds as much as possible\n$/,
      ) as string,
    })
    expect(indelible(['repair', '--store', path])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/\n1 finding, 1 repaired\n$/) as string,
      stderr: '',
    })
  })
})

describe('a session with a message that another program wrote, and that is none', () => {
  const made = async (name: string) => {
    const path = join(folder, name)
    const store = await sqliteStore({ path })
    const session = await createSession(store, { id: 's', messages: [user('the first')] })
    const row = (role: string): Row => ({
      kind: 'entry',
      body: `{"page":"plan","message":{"role":"${role}","content":[]}}`,
    })
    // So far behind the end that it is parsed only when it is read.
    const rows = [row('robot'), ...Array.from({ length: 200 }, () => row('user'))]
    await store.append('s', { expected: session.head(), rows })
    return { path, store }
  }
  it('is shown with a mark in its place, and named', async () => {
    const { path, store } = await made('robot.db')
    await store.close()
    const { stdout, stderr } = indelible(['show', 's', '--store', path], { columns: 200 })
    expect(stdout).toMatch(/ the first\n.* 1 .*damaged {2,}\S/)
    expect(stderr).toContain('s: row 1 (message 1) is damaged')
    const exported = indelible(['export', 's', '--to', 'openai-chat', '--store', path])
    expect(exported).toMatchObject({ status: 1, stdout: expect.stringContaining('[message 1 is damaged') as string })
    expect(exported.stderr).toContain('s: the export has placeholders for 1 damaged row')
  })
  it('is a fault in words where a command reads it otherwise', async () => {
    const { store } = await made('robot too.db')
    const read = withOpened({ store, name: 's' }, async () => (await openSession(store, 's')).view().at(0))
    await expect(read).rejects.toThrow(Unreadable)
    await expect(read).rejects.toThrow('is damaged at row 1')
  })
  it('is not continued by keep, which goes on with other conversations', async () => {
    const { store } = await made('robot imported.db')
    const transcript = orThrow(
      readTranscript('[{"role":"user","content":"the first"},{"role":"user","content":"more"}]'),
    )
    await expect(bringRows(store, 's', transcript, {}, nothingErased)).rejects.toThrow(Unreadable)
    await store.close()
  })
})
