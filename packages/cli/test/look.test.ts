/** The commands that look at sessions, and those that say something about them: diff, stats, tree, show N, note, pin … */
import { mkdtempSync, rmSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSession, forkSession, memoryStore, user, type Message } from 'indelible'
import { checkGrowth, proveGrowth } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { Outputs } from '../../../test/outputs.ts'
import { runCommand } from './command-run.ts'
import { indelible, writeTestFile } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-look-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const path = join(folder, 'sessions.db')
const store = ['--store', path]
const run = (...args: readonly string[]) => indelible([...args, ...store])

const call = (id: string): Message => ({
  role: 'assistant',
  content: [{ type: 'tool_call', id, name: 'look', arguments: '{"where":"here","note":"two\\nlines"}' }],
})
const result = (id: string): Message => ({
  role: 'tool',
  content: [{ type: 'tool_result', callId: id, content: [{ type: 'text', text: 'found\nit' }] }],
})
const receipt = (model: string, at: string, input: number, more: object = {}) =>
  ({
    type: 'receipt',
    len: 1,
    contextDigest: 'd'.repeat(64),
    model,
    usage: { input, output: 100, cacheRead: input / 2 },
    details: { at: Date.parse(at), ...more },
  }) as const

beforeAll(async () => {
  const opened = await sqliteStore({ path })
  const session = await createSession(opened, { id: 'mine', metadata: { title: 'The fix' } })
  await session.append([user('Where is it?'), call('c1'), result('c1'), user('Thanks.')])
  await session.note(receipt('claude-opus-4-5', '2026-01-02T23:00:00Z', 1_000_000))
  await session.note(receipt('claude-opus-4-5', '2026-01-03T01:00:00Z', 2_000_000))
  await session.note(receipt('of-my-own', '2026-01-03T01:00:00Z', 10))
  const failing = await createSession(opened, { id: 'failing' })
  await failing.append(user('Hello?'))
  for (const status of [401, 401]) {
    const { usage: _, ...silent } = receipt('claude-opus-4-5', '2026-01-03T02:00:00Z', 0)
    await failing.note({ ...silent, details: { ...silent.details, status, error: 'invalid x-api-key' } })
  }
  const unfinished = await createSession(opened, { id: 'unfinished' })
  await unfinished.append(user('Go.'))
  await unfinished.note({
    type: 'journal',
    step: 's1',
    answer: { role: 'assistant', content: [{ type: 'tool_call', id: 'w', name: 'wipe', arguments: '{"all":true}' }] },
    started: ['w'],
  })
  await opened.close()
})

describe('show of one message', () => {
  it('prints it completely with its notes', () => {
    expect(run('note', 'mine', 'Look here.', '--at', '1')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^mine: noted at 1, head 8:/) as string,
    })
    expect(run('pin', 'mine', '1', '-1').stdout).toMatch(/^mine: 2 messages pinned, head 10:/)
    expect(run('pin', 'mine', '-1', '--off').stdout).toMatch(/^mine: 1 message no longer pinned/)
    expect(run('retag', 'mine', '2', 'plan').stdout).toMatch(/^mine: message 2 is plan, before evidence/)
    expect(run('show', 'mine', '1').lines).toEqual([
      expect.stringMatching(/^1 {2}assistant {2}constraint {2}\d+ tokens {2}20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC$/),
      'note: answer of claude-opus-4-5: 1,000,000 tokens in (500,000 from a cache), 100 out',
      'note: answer of claude-opus-4-5: 2,000,000 tokens in (1,000,000 from a cache), 100 out',
      'note: answer of of-my-own: 10 tokens in (5 from a cache), 100 out',
      'note: indelible.note: Look here.',
      'note: pinned',
      '',
      '▸ look  → 2',
      'where: here',
      'note:',
      '    two',
      '    lines',
      '',
    ])
    expect(run('show', 'mine', '2').stdout).toMatch(/^2 {2}tool {2}plan .*\n.*\n\n◂ look {2}← 1\nfound\nit\n$/)
    expect(JSON.parse(run('show', 'mine', '-1', '--json').stdout)).toMatchObject({ position: 3, role: 'user' })
  })
  it('works for a file; --full includes text written by programs', () => {
    const file = writeTestFile('one.json', JSON.stringify([{ role: 'user', content: 'hi', custom: 7 }]))
    expect(indelible(['show', file, '0']).stdout).not.toContain('custom')
    expect(indelible(['show', file, '0', '--full']).stdout).toContain('"custom": 7')
  })
  it('reports a missing or retracted one', () => {
    expect(run('show', 'mine', '4')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('there is no message 4: there are 4 messages, from 0 to 3') as string,
    })
    run('fork', 'mine', '--id', 'cut')
    run('rewind', 'cut', '--to', '3')
    expect(run('show', 'cut', '3').lines[0]).toMatch(/ retracted$/)
  })
  it.each([
    [['show', 'mine', 'x']],
    [['show', 'mine', '1', '2']],
    [['show', 'mine', '--full']],
    [['note', 'mine']],
    [['note', 'mine', 'x', '--namespace', '']],
    [['pin', 'mine']],
    [['retag', 'mine', '1']],
    [['retag', 'mine', '1', 'gossip']],
    [['rename', 'mine']],
    [['diff', 'mine']],
    [['list', '--tree', 'a', 'b']],
    [['spend', 'a', 'b']],
    [['spend', '--by', 'size']],
    [['spend', '--by', 'content,day']],
    [['prove', 'mine', '--consistency']],
    [['prove', 'mine', '1', '--head', `1:${'0'.repeat(64)}`]],
    [['prove', 'mine', '1', '--consistency', '--head', `1:${'0'.repeat(64)}`]],
    [['prove', 'mine', '--consistency', '--ledger', '--head', `1:${'0'.repeat(64)}`]],
    [['prove', 'mine', '--consistency', '--head', `0:${'0'.repeat(64)}`]],
  ])('refuses %j', (args) => expect(run(...args).status).toBe(2))
  it('writes no note about a missing message', () => {
    for (const args of [
      ['pin', 'mine', '99'],
      ['retag', 'mine', '99', 'plan'],
      ['note', 'mine', 'x', '--at', '99'],
    ])
      expect(run(...args)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('there is no message 99: there are 4 messages, from 0 to 3; nothing') as string,
      })
  })
})

describe('the end of a timeline', () => {
  it('reports failed model calls', () => {
    expect(run('show', 'failing').stdout).toContain('model calls: all 2 failed; the last: HTTP 401: invalid x-api-key')
    expect(run('show', 'mine').stdout).not.toContain('failed')
  })
  it('reports an unfinished run and how to continue', () => {
    const { stdout } = run('show', 'unfinished')
    expect(stdout).toContain('unfinished run: no process is working on it; not in the conversation yet: 1 step')
    expect(stdout).toContain('a complete answer; 1 call started, no results')
    expect(stdout).toContain('wipe {"all":true} was started and has no result; it may have had side effects')
    expect(stdout).toContain('"indelible append unfinished TEXT --interrupted --store ')
    expect(run('append', 'unfinished', 'Stop.', '--interrupted').status).toBe(0)
    expect(run('show', 'unfinished').stdout).not.toContain('unfinished run')
  })
})

describe('fork commands', () => {
  it('draw forks as trees', () => {
    run('fork', 'mine', '--at', '1', '--id', 'a')
    run('fork', 'a', '--id', 'b')
    expect(run('list', '--tree').lines).toEqual([
      'mine  4 messages  The fix',
      '├─ cut  from 4, 4 messages',
      '└─ a  from 1, 1 message',
      '   └─ b  from 1, 1 message',
      '',
    ])
    expect(run('list', '--tree', 'failing').lines[0]).toBe('failing  1 message')
    run('remove', 'a', '--yes')
    expect(
      run('list', '--tree', '--json')
        .lines.slice(-3, -1)
        .map((line) => JSON.parse(line) as object),
    ).toEqual([
      { id: 'a', depth: 0, removed: true },
      { id: 'b', depth: 1, parent: 'a', at: 1, messages: 1 },
    ])
  })
  it('draw every branch of a tree, and only the trees that have forks', async () => {
    const own = ['--store', join(folder, 'trees.db')]
    const opened = await sqliteStore({ path: join(folder, 'trees.db') })
    for (const id of ['root', 'alone', 'second']) await createSession(opened, { id, messages: [user('Hello.')] })
    for (const [of, id] of [
      ['root', 'a'],
      ['a', 'b'],
      ['b', 'c'],
      ['root', 'd'],
      ['second', 'e'],
    ] as const)
      // oxfmt-ignore
      await forkSession(opened, of, { id })
    await opened.close()
    const lines = (...args: readonly string[]): readonly string[] =>
      indelible(['list', '--tree', ...args, ...own]).lines.map((line) => line.replace(/(?<=\w) {2}.*/, ''))
    const root = ['root', '├─ a', '│  └─ b', '│     └─ c', '└─ d']
    expect(lines()).toEqual([...root, 'second', '└─ e', ''])
    for (const id of ['root', 'b', 'd']) expect(lines(id)).toEqual([...root, ''])
    expect(lines('alone')).toEqual(['alone', ''])
    const json = indelible(['list', '--tree', 'd', '--json', ...own]).lines.slice(0, -1)
    expect(json.map((line) => JSON.parse(line) as object)).toEqual([
      { id: 'root', depth: 0, messages: 1 },
      { id: 'a', depth: 1, parent: 'root', at: 1, messages: 1 },
      { id: 'b', depth: 2, parent: 'a', at: 1, messages: 1 },
      { id: 'c', depth: 3, parent: 'b', at: 1, messages: 1 },
      { id: 'd', depth: 1, parent: 'root', at: 1, messages: 1 },
    ])
  })
  it('report calls left open by a fork inside a turn', () => {
    expect(run('fork', 'mine', '--at', '2', '--id', 'open').stderr).toMatch(
      /^the fork ends inside a turn: 1 call without a result \(look\); --at 3 includes the results; "indelible append open TEXT --interrupted --store \S+" first appends error results\n$/,
    )
    expect(run('fork', 'mine', '--at', '3', '--id', 'whole').stderr).toBe('')
    const own = ['--store', join(folder, 'far.db')]
    // Far from the beginning, with several calls; and where one of them never got its result.
    const call = (id: string) => ({ id, type: 'function', function: { name: `do_${id}`, arguments: '{}' } })
    const long = [
      ...Array.from({ length: 205 }, (_, at) => ({ role: 'user', content: `${at}` })),
      { role: 'assistant', content: null, tool_calls: ['a', 'b', 'c', 'd'].map(call) },
      ...['b', 'a', 'd', 'c'].map((id) => ({ role: 'tool', tool_call_id: id, content: id })),
    ]
    for (const [id, said] of [
      ['far', long],
      ['half', long.slice(0, -1)],
    ] as const)
      indelible(['import', writeTestFile(`${id}.json`, JSON.stringify(said)), ...own])
    const advice = (session: string, at: string): string =>
      indelible(['fork', session, '--at', at, ...own])
        .stderr.split('; ', 2)
        .join()
    expect(advice('far', '207')).toBe(
      'the fork ends inside a turn: 3 calls without a result (do_a, do_c, do_d),--at 210 includes the results',
    )
    expect(advice('far', '206')).toMatch(/: 4 calls without a result \(do_a, do_b, do_c\),--at 210 includes/)
    expect(advice('half', '206')).toMatch(/: 4 calls without a result \(do_a, do_b, do_c\),"indelible append \S+ TEXT/)
    for (const at of ['5', '-5'])
      expect(run('fork', 'mine', '--at', at).stderr).toContain(
        'mine: has 4 messages, so --at takes 0 to 4, or -1 to -4',
      )
    const share = (at: string): number => {
      const { stdout } = indelible(['fork', 'far', '--at', at, '--id', `at${at}`, ...own])
      expect(stdout).toContain(`at${at}: `)
      return indelible(['show', `at${at}`, '--json', ...own]).lines.length - 1
    }
    expect(['0', '-210', '1', '-209', '210', '-1'].map(share)).toEqual([0, 0, 1, 1, 210, 209])
    // Only a terminal says which rows of a head are no messages.
    const verdict = (terminal: number | undefined): string =>
      indelible(['verify', 'far', ...own], { ...(terminal !== undefined && { terminal }) }).stdout
    for (const regExp of [
      /: good, 210 messages, head 210:\w+…\n$/,
      /…; 1 of its 211 rows is a note$/m,
      /…; 2 of .* are notes$/m,
    ]) {
      expect(verdict(400)).toMatch(regExp)
      indelible(['note', 'far', 'x', ...own])
    }
    expect(verdict(undefined)).not.toContain('note')
  })
  it("compare forks: where they diverge and each side's messages", () => {
    run('append', 'open', 'Stop.', '--interrupted')
    expect(run('diff', 'mine', 'open').lines).toEqual([
      '< mine: session, 4 messages, 8 notes (3 of them call records)',
      '> open: session, 4 messages',
      '',
      'the same: the first 2 messages',
      '     1  assistant  ▸ look {"where":"here","note":"two\\nlines"}',
      '<    2  tool       ◂ found it',
      '<    3  user       Thanks.',
      '>    2  tool       ◂ The run was interrupted before this tool gave a result.',
      '>    3  user       Stop.',
      '',
    ])
    const json = JSON.parse(run('diff', 'mine', 'open', '--json').stdout) as object
    expect(json).toMatchObject({ same: 2, sameAtEnd: 0, a: { differs: [{ position: 2 }, { position: 3 }] } })
    expect(run('diff', 'mine', 'open', '--limit', '1').stdout).toContain('< … and 1 more')
  })
  it('compare files: the same words are the same conversation, whatever the ids', () => {
    const as = (id: string, last: string) =>
      writeTestFile(
        `${last}.json`,
        JSON.stringify([
          { role: 'user', content: 'Where is it?' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: id, content: 'found it' },
          { role: 'user', content: last },
        ]),
      )
    const [one, two] = [as('x', 'One.'), as('y', 'Two.')]
    expect(indelible(['diff', one, one]).stdout).toContain('the same: 4 messages')
    expect(indelible(['diff', one, two]).stdout).toContain('the same: the first 3 messages')
    expect(indelible(['diff', one, two, '--exact']).stdout).toContain('the same: the first 1 message')
  })
  it('compare files: messages that were replaced, added or missing, between those that are the same', () => {
    const of = (name: string, ...words: readonly string[]) =>
      writeTestFile(name, JSON.stringify(words.map((content) => ({ role: 'user', content }))))
    const whole = of('whole.json', 'a', 'b', 'c', 'd', 'e')
    const difference = (other: string, ...more: readonly string[]): readonly string[] =>
      indelible(['diff', whole, other, ...more]).lines.slice(3, -1)
    expect(difference(of('replaced.json', 'a', 'x', 'e'))).toEqual([
      'the same: the first 1 message',
      '     0  user       a',
      '<    1  user       b',
      '<    2  user       c',
      '<    3  user       d',
      '>    1  user       x',
      'the same again: the last 1 message',
    ])
    expect(difference(of('missing.json', 'a', 'd', 'e'), '--limit', '1')).toEqual([
      'the same: the first 1 message',
      '     0  user       a',
      '<    1  user       b',
      '< … and 1 more',
      '> has no message here',
      'the same again: the last 2 messages',
    ])
    expect(difference(of('longer.json', 'a', 'b', 'c', 'd', 'e', 'f'))).toEqual([
      'the same: the first 5 messages',
      '     4  user       e',
      '< ends here',
      '>    5  user       f',
    ])
    expect(difference(of('later.json', 'z', 'a', 'b', 'c', 'd', 'e'))).toEqual([
      'they diverge at the first message',
      '< has no message here',
      '>    0  user       z',
      'the same again: the last 5 messages',
    ])
    expect(difference(of('other.json', 'y', 'z'), '--limit', '0')).toEqual([
      'they diverge at the first message',
      '< … and 5 more',
      '> … and 2 more',
    ])
    expect(
      JSON.parse(indelible(['diff', whole, of('aa.json', 'a', 'a', 'b', 'c', 'd', 'e'), '--json']).stdout),
    ).toMatchObject({
      ...{ same: 1, sameAtEnd: 4, a: { name: whole, messages: 5, differs: [] } },
      b: { messages: 6, differs: [{ position: 1, message: { role: 'user' } }] },
    })
    expect(indelible(['diff', '-', '-']).stderr).toContain('diff can read standard input once')
  })
})

describe('spend', () => {
  it('sums receipts by model and day at list prices, and reports unknown ones', () => {
    const { lines, stderr } = run('spend', 'mine', '--by', 'day,model')
    expect(lines.map((line) => line.trim().split(/ {2,}/))).toEqual([
      ['day', 'model', 'calls', 'input', 'cached', 'output', 'dollars'],
      ['2026-01-02', 'claude-opus-4-5', '1', '1,000,000', '50.0 %', '100', '$2.75'],
      ['2026-01-03', 'claude-opus-4-5', '1', '2,000,000', '50.0 %', '100', '$5.50'],
      ['2026-01-03', 'of-my-own', '1', '10', '50.0 %', '100', '?'],
      ['all', '3', '3,000,010', '50.0 %', '300', '$8.26 + ?'],
      [''],
    ])
    expect(stderr).toBe(
      'this version has no list price of of-my-own (its prices: modelPrices in indelible/context); for the cost at your own prices, --json prints the tokens\n',
    )
  })
  it('keeps costs on 40 columns and lists ids', () => {
    const narrow = (...args: readonly string[]) => indelible([...args, ...store], { columns: 40 }).lines
    expect(
      narrow('spend', 'mine', '--by', 'day,model')
        .slice(0, 2)
        .map((line) => line.split(/ {2,}/)),
    ).toEqual([
      ['day', 'model', 'dollars'],
      ['2026-01-02', 'claude-opus-4-5', '$2.75'],
    ])
    expect(indelible(['spend', 'mine', '--by', 'day,model', ...store], { columns: 40 }).stderr).toMatch(
      /^no room at 40 columns for: cached, calls, output, input; a wider terminal or --json has them\n/,
    )
    expect(narrow('list').find((line) => line.includes('unfinished'))).toMatch(/^\d{4}-\d\d-\d\d +\d {2}unfinished/)
  })
  it('counts each call of a store once, also in forks', () => {
    const [all] = run('spend', '--by', 'model', '--json').lines.map((line) => JSON.parse(line || '{}') as object)
    expect(all).toMatchObject({ model: 'claude-opus-4-5', calls: 2, failed: 2, input: 3_000_000 })
    expect(run('spend', 'cut', '--json', '--by', 'model')).toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(/^cut: without \d calls shared with mine\n/) as string,
    })
    expect(run('spend').stderr).toBe(
      '2 calls failed\nthis version has no list price of of-my-own (its prices: modelPrices in indelible/context); for the cost at your own prices, --json prints the tokens\n',
    )
  })
  it('marks the output and the cost of a file that counts fewer tokens than its answers hold', () => {
    const told = { sessionId: 's', version: '2.1.0', timestamp: '2026-01-01T00:00:00.000Z' }
    const message = {
      ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-4-5', stop_reason: null },
      content: [{ type: 'text', text: 'said '.repeat(40) }],
      usage: { input_tokens: 1_000_000, output_tokens: 1 },
    }
    const file = writeTestFile(
      'placeholder.jsonl',
      [
        { ...told, uuid: 'u', parentUuid: null, type: 'user', message: { role: 'user', content: 'Say it.' } },
        { ...told, uuid: 'a', parentUuid: 'u', type: 'assistant', message },
      ]
        .map((line) => JSON.stringify(line))
        .join('\n'),
    )
    run('import', file, '--id', 'placeholder')
    for (const args of [[file], ['placeholder', ...store]]) {
      const { stdout, stderr } = indelible(['spend', '--by', 'day,model', ...args])
      expect(stdout).toMatch(/ 1 \+ \? {2}\$5\.00 \+ \?\n/)
      expect(stderr).toBe(
        '1 answer may have more tokens than were counted: output and dollars are at least those shown\n',
      )
    }
    expect(indelible(['show', '--check', file]).stdout).toContain('at least 1 out')
  })
  it("counts a file's recorded usage by model and day", () => {
    const line = (id: string, day: string, model: string, usage: object) =>
      `${JSON.stringify({ type: 'message', id, parentId: null, timestamp: `${day}T00:00:00.000Z`, message: { role: 'assistant', content: [], model, usage } })}\n`
    const file = writeTestFile(
      'used.jsonl',
      `{"type":"session","version":3,"id":"used","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n${line('1', '2026-01-01', 'claude-opus-4-5', { input: 10, output: 5, cacheRead: 90, cacheWrite: 0 })}${line('2', '2026-01-02', 'o9', { input: 1, output: 1 })}`,
    )
    const figures = (args: readonly string[]) =>
      indelible(['spend', '--by', 'day,model', ...args, '--json'])
        .lines.slice(0, -1)
        .map((each) => JSON.parse(each) as object)
    const expected = [
      { day: '2026-01-01', model: 'claude-opus-4-5', calls: 1, input: 100, cacheRead: 90, output: 5 },
      { day: '2026-01-02', model: 'o9', calls: 1, input: 1, dollars: null, unpriced: 1 },
    ]
    expect(figures([file])).toMatchObject(expected)
    expect(indelible(['spend', '--by', 'day,model', file]).stdout).toMatch(/claude-opus-4-5 .* \$0\.00022\n/)
    run('import', file)
    expect(figures(['used', ...store])).toMatchObject(expected)
    run('fork', 'used', '--at', '1', '--id', 'part') // the file's figures are of the whole
    expect(figures(['part', ...store])).toEqual([])
    expect(indelible(['spend', writeTestFile('none.json', '[{"role":"user","content":"x"}]')])).toMatchObject({
      status: 0,
      stdout: '',
      stderr: expect.stringContaining('has no token counts of its calls') as string,
    })
  })
  it('lays out its table for any width: costs first, then tokens, then whole names', async () => {
    const long = 'a-model-of-a-provider-with-a-name-that-is-long-and-has-a-date-20260102'
    const line = (id: string, day: string, model: string, usage: object) =>
      `${JSON.stringify({ type: 'message', id, parentId: null, timestamp: `${day}T00:00:00.000Z`, message: { role: 'assistant', content: [], model, usage } })}\n`
    const header = '{"type":"session","version":3,"id":"wide","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}\n'
    const first = line('1', '2026-01-01', 'claude-opus-4-5', {
      input: 1_000_000,
      output: 5,
      cacheRead: 9_000_000,
      cacheWrite: 0,
    })
    const file = writeTestFile(
      'wide.jsonl',
      `${header}${first}${line('2', '2026-01-02', long, { input: 0, output: 1 })}`,
    )
    writeTestFile('single.jsonl', `${header}${first}`)
    const shown = async (columns: number, ...args: readonly string[]): Promise<readonly string[]> => {
      const { stdout } = await runCommand({
        args: ['spend', ...(args.includes('--by') ? [] : ['--by', 'day,model']), ...args],
        cwd: dirname(file),
        env: { COLUMNS: `${columns}` },
      })
      return stdout.split('\n').slice(0, -1)
    }
    expect(await shown(60, 'wide.jsonl')).toEqual([
      'day         model                   input  output    dollars',
      '2026-01-01  claude-opus-4-5    10,000,000       5      $9.50',
      '2026-01-02  a-model-…20260102           0       1          ?',
      'all                            10,000,000       6  $9.50 + ?',
    ])
    expect(await shown(40, 'wide.jsonl')).toEqual([
      'day         model                dollars',
      '2026-01-01  claude-opus-4-5        $9.50',
      '2026-01-02  a-model-…20260102          ?',
      'all                            $9.50 + ?',
    ])
    expect(await shown(90, 'single.jsonl')).toEqual([
      'day         model            calls       input  cached  output  dollars',
      '2026-01-01  claude-opus-4-5      1  10,000,000  90.0 %       5    $9.50',
    ])
    for (const columns of [40, 70, 100])
      for (const each of await shown(columns, `./././././././././././././././././wide.jsonl`, '--by', 'session,model'))
        expect(each).toMatch(/(dollars|\$9.50|\?)$/)
    const seen = new Outputs()
    for (let columns = 30; columns <= 150; columns += 12)
      for (const by of ['day,model', 'model', 'day', 'session,model', 'model,session,day']) {
        const lines = await shown(columns, 'wide.jsonl', '--by', by)
        expect(lines.filter((each) => each.length > columns)).toEqual([])
        seen.add(lines)
      }
    seen.expectToBe('a8b0d1268e93b797')
  })
  it('says so if no session has token counts', async () => {
    const silent = join(folder, 'silent.db')
    const opened = await sqliteStore({ path: silent })
    await createSession(opened, { id: 'x', messages: [user('Hello.')] })
    await opened.close()
    const told = (...args: readonly string[]): string => indelible(['spend', ...args, '--store', silent]).stderr
    expect([told(), told('x')]).toEqual([
      'no session has token counts of its calls\n',
      'x: has no token counts of its calls\n',
    ])
  })
})

describe('a proof of growth', () => {
  it('shows without the store that a record extends an earlier head', () => {
    const head = run('prove', 'failing').lines[0] as string
    run('append', 'failing', 'More.')
    const proof = writeTestFile('growth.json', run('prove', 'failing', '--consistency', '--head', head).stdout)
    expect(indelible(['prove', '--check', proof, '--head', head])).toMatchObject({
      status: 0,
      stdout: `the record with the head ${run('prove', 'failing').lines[0]} continues ${head}\n`,
    })
    expect(indelible(['prove', '--check', proof]).stdout).toMatch(
      / continues \d+:\w+; pass --head to compare one of them with a head that you know\n$/,
    )
    expect(run('prove', 'nobody', '--consistency', '--head', head)).toMatchObject({ status: 1, stdout: '' })
    expect(run('prove', 'mine', '--consistency', '--head', head)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('do not have that head: they were changed, or') as string,
    })
    const other = `${head.slice(0, -1)}${head.endsWith('0') ? '1' : '0'}`
    expect(indelible(['prove', '--check', proof, '--head', other]).status).toBe(1)
    // Also a head of as many rows as there are.
    const now = run('prove', 'failing').lines[0]?.split(':')[0]
    for (const size of [now, 1])
      expect(run('prove', 'failing', '--consistency', '--head', `${size}:${'0'.repeat(64)}`)).toMatchObject({
        status: 1,
        stderr: expect.stringMatching(
          new RegExp(`: its first ${size} rows? do(?:es)? not have that head: they were changed, or`),
        ) as string,
      })
    const [message] = [writeTestFile('message.json', run('prove', 'failing', '0').stdout)]
    run('note', 'failing', 'later')
    const later = run('prove', 'failing', '--full').stdout.trim()
    const [own = ''] = /(?<=the head )\d+:\w{64}/.exec(indelible(['prove', '--check', message]).stderr) ?? []
    const row = `the message is row 0 of the session with the head ${own}`
    expect(indelible(['prove', '--check', message])).toMatchObject({
      status: 0,
      stderr: `${row}; that head comes from the proof itself: pass --head to compare with one that you know\n`,
    })
    expect(indelible(['prove', '--check', message, '--head', own])).toMatchObject({ status: 0, stderr: `${row}\n` })
    // The advice names the shorter of the two records, whichever is the proof's.
    const advice = (proof: string, known: string): string | undefined =>
      /if the session grew in between, "indelible prove SESSION --consistency --head (\d+:\w{64})" proves/.exec(
        indelible(['prove', '--check', proof, '--head', known]).stderr,
      )?.[1]
    expect(advice(message, later)).toBe(own)
    expect(advice(writeTestFile('newer.json', run('prove', 'failing', '0').stdout), own)).toBe(own)
    expect(advice(message, own.replace(/\w{64}/, '0'.repeat(64)))).toBeUndefined()
    expect(
      advice(writeTestFile('bad.json', readFileSync(message, 'utf8').replace(/"row":\d+/, '"row":-1')), later),
    ).toBeUndefined()
    expect(run('prove', 'failing', '--consistency', '--head', `99:${'0'.repeat(64)}`).stderr).toContain(
      'but the head has 99: the session was truncated',
    )
    expect(run('verify', 'failing', '--head', `${head.slice(0, 14)}…`).stderr).toContain(
      '"indelible prove SESSION --full --store ',
    )
  })
  it('is refused after any change', async () => {
    const memory = memoryStore()
    const session = await createSession(memory, { id: 'x' })
    await session.append([user('a'), user('b'), user('c')])
    const before = session.head()
    for (let index = 0; index < 6; index++) await session.append(user(`${index}`))
    const proof = await proveGrowth(memory, 'x', before)
    expect(isLeft(checkGrowth(proof, before))).toBe(false)
    expect(isLeft(checkGrowth(proof, session.head()))).toBe(false)
    const bad = [
      { ...proof, path: proof.path.slice(1) },
      { ...proof, path: proof.path.map((hash) => hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))) },
      { ...proof, from: { ...proof.from, size: 2 } },
      { ...proof, head: { ...proof.head, size: 8 } },
      { ...proof, from: { size: 3, root: 'x' } },
      { ...proof, version: 2 },
      null,
    ]
    for (const each of bad) expect(checkGrowth(each)).toMatchObject({ left: { _tag: 'BadProof' } })
    expect(await proveGrowth(memory, 'x', { size: 0, root: '' })()).toMatchObject({ left: { _tag: 'Diverged' } })
  })
})

it('a position beyond the end is reported in messages', () => {
  expect(run('prove', 'mine', '99').stderr).toContain('mine: there is no message 99: it has 4 messages, from 0 to 3')
})

it('rename sets the title shown in lists', () => {
  expect(run('rename', 'mine', 'Another title').stdout).toBe('mine: Another title\n')
  expect(run('list', '--where', 'title=Another title').stdout).toContain('Another title')
  expect(run('rename', 'mine', '').stdout).toBe('mine: has no title of its own\n')
})

it('diff reads one of its conversations from standard input, and list names a field that no session has', () => {
  const conversation = JSON.stringify([{ role: 'user', content: 'hi' }])
  const [file, store] = [writeTestFile('one.json', conversation), join(folder, 'where.db')]
  for (const args of [
    ['-', file],
    [file, '-'],
  ])
    expect(indelible(['diff', ...args], { input: conversation }).stdout).toContain('the same: 1 message')
  const twice = indelible(['diff', '-', '-'], { input: conversation })
  expect([twice.status, twice.stderr]).toEqual([2, expect.stringContaining('diff can read standard input once')])
  indelible(['import', file, '--id', 's', '--store', store])
  const listed = (where: string): string => indelible(['list', '--store', store, '--where', where]).stderr
  expect(listed('id=other')).not.toContain('has the field')
  expect(listed('tea=green')).toContain('no session has the field "tea"')
})
