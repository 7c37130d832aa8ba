/** Converting and checking a conversation, as a person does it. */
import { chmodSync, existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { allCodecs } from '@indelible/codecs'
import { root } from '../../../scripts/run.ts'
import { widthOf } from '../src/terminal/screen.ts'
import { lines } from '../../transcripts/test/reading.ts'
import { folder, indelible, writeTestFile } from './indelible.ts'
import { readTranscript } from '@indelible/transcripts'

const example = join(root, 'examples/coding-agent.json')
const said = (role: string, content: unknown) => ({ type: 'message', timestamp: 't', message: { role, content } })
const damaged = (): string =>
  writeTestFile(
    'damaged.jsonl',
    `${lines([
      { type: 'session', id: 's', timestamp: 't' },
      said('user', 'hi'),
      {
        ...said('assistant', [
          { type: 'thinking', thinking: 'hm' },
          { type: 'toolCall', id: 'c1', name: 'look', arguments: {} },
        ]),
        n: 1,
      },
      said('user', 'well?'),
    ])}{"type":"message","n":1e999,"n":2,"timestamp":"t","message":{"role":"user","content":"\\u202ego"}}\nnope\n{"type":"mess`,
  )

describe('indelible export FILE', () => {
  it('prints a request of the format, one entry per line, with the report on standard error', () => {
    const { status, stdout, stderr } = indelible(['export', damaged(), '--to', 'openai-chat'])
    expect(status).toBe(1)
    expect(stdout.split('\n')[1]).toBe('{"role":"user","content":"hi"},')
    expect(JSON.parse(stdout)).toMatchObject([
      { content: 'hi' },
      { tool_calls: [{ id: 'c1' }] },
      { role: 'tool', tool_call_id: 'c1' },
      { content: 'well?' },
      { role: 'user' },
    ])
    expect(stderr).toBe(
      [
        'damage: 2 lines',
        '  line     6  is not JSON at column 1: expected a value, found "nope"',
        '  line     7  is cut off',
        'changed while reading: 2 values',
        '       1 × n is 1e999, which is out of range: read as null',
        '           at line 5',
        '       1 × n occurs twice: the last one is used',
        '           at line 5',
        'repairs: 1 problem that a provider would refuse',
        '       1 × a call without a result: inserted an error result',
        '           at 1',
        "losses: 2 values that the format can't hold",
        '       1 × content: chat has no field for reasoning',
        '           at 1',
        '       1 × content.isError: chat cannot mark a result as an error; only the text shows it',
        '           at 2',
        'damaged.jsonl: 4 messages of pi-session, 5 entries of openai-chat written; 2 damaged lines, 1 repair, 2 losses',
        '',
      ].join('\n'),
    )
    const store = ['--store', `${damaged()}.db`]
    indelible(['import', damaged(), '--id', 'd', ...store])
    const exported = indelible(['export', 'd', '--to', 'openai-chat', '--out', `${damaged()}.json`, ...store])
    const reported = /^repairs: [^]*\n {11}at 2\n/m.exec(stderr)?.[0] ?? 'nothing'
    expect([exported.status, exported.stderr.slice(0, reported.length)]).toEqual([0, reported])
    expect(exported.stderr).toContain('as openai-chat, 2 losses')
  })
  it('--json prints the report as one object', () => {
    const report = JSON.parse(indelible(['export', damaged(), '--to', 'openai-responses', '--json']).stderr) as object
    expect(report).toMatchObject({
      format: 'pi-session',
      to: 'openai-responses',
      read: 4,
      damage: [{ line: 6 }, { line: 7 }],
      repairs: [{ problem: { _tag: 'UnansweredCall' } }],
      losses: [{ position: 1 }, {}],
    })
  })
  it('--strict stops at damage', () => {
    const { status, stdout, stderr } = indelible(['export', damaged(), '--to', 'openai-chat', '--strict'])
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^indelible: .*damaged\.jsonl: line 6 is not JSON at column 1: .*\(read as pi-session\)\n$/)
  })
  it.each(Object.keys(allCodecs))('writes %s that reads back as the same format', (to) => {
    const { status, stdout } = indelible(['export', example, '--to', to])
    expect(status).toBe(0)
    expect(readTranscript(stdout)).toMatchObject({ right: { format: to, damage: [], losses: [] } })
  })
  it('to indelible keeps the record as found, and converts back', () => {
    const { stdout, stderr } = indelible(['export', damaged(), '--to', 'indelible'])
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => Object.keys(JSON.parse(line) as object)[0]),
    ).toEqual(['indelible', 'message', 'message', 'message', 'message', 'head'])
    expect(stderr).toMatch(/no repairs, no losses\n$/)
    expect(indelible(['export', '-', '--to', 'indelible'], { input: stdout }).stdout).toBe(stdout)
  })
  it('--pick chooses a conversation', () => {
    const runs = writeTestFile(
      'runs.json',
      JSON.stringify([0, 1].map((n) => ({ task_id: n, traj: [{ role: 'user', content: `run ${n}` }] }))),
    )
    expect(JSON.parse(indelible(['export', runs, '--to', 'openai-chat', '--pick', '1']).stdout)).toEqual([
      { role: 'user', content: 'run 1' },
    ])
    expect(indelible(['export', runs, '--to', 'openai-chat', '--pick', '2'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('there is no conversation 2'),
    })
  })
  it('--out writes a complete file, overwrites only with --force, and never the input', () => {
    const out = join(folder, 'out.json')
    expect(indelible(['export', example, '--to', 'openai-chat', '--out', out])).toMatchObject({
      status: 0,
      stdout: '',
      stderr: expect.stringMatching(/written to .*out\.json; /),
    })
    const content = readFileSync(out, 'utf8')
    expect(content).toBe(indelible(['export', example, '--to', 'openai-chat']).stdout)
    expect(indelible(['export', damaged(), '--to', 'openai-chat', '--out', out])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/out\.json: already exists; --force overwrites it\n$/),
    })
    expect(readFileSync(out, 'utf8')).toBe(content)
    expect(indelible(['export', damaged(), '--to', 'openai-chat', '--out', out, '--force']).status).toBe(1)
    expect(readFileSync(out, 'utf8')).not.toBe(content)
    const input = writeTestFile('input.json', content)
    symlinkSync(input, join(folder, 'link.json'))
    for (const path of [input, join(folder, 'link.json'), join(folder, '.', 'input.json')])
      expect(indelible(['export', input, '--to', 'openai-chat', '--out', path, '--force'])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining('is also the input; choose another file'),
      })
    expect(readFileSync(input, 'utf8')).toBe(content)
    expect(
      indelible(['export', example, '--to', 'openai-chat', '--out', join(folder, 'none', 'out.json')]),
    ).toMatchObject({ status: 1, stderr: expect.stringContaining('does not exist') })
    expect(existsSync(join(folder, 'none'))).toBe(false)
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
    chmodSync(out, 0o644)
  })
  it.each<readonly [string, readonly string[], RegExp]>([
    ['no format', ['export', 'a'], /export needs --to FORMAT: one of /],
    ['an unknown format', ['export', 'a', '--to', 'xml'], /--to: "xml" is not a format; expected /],
    [
      'a page of a file',
      ['export', example, '--to', 'html'],
      /--to html writes a session, not a file: "indelible import /,
    ],
    ['an option of sessions', ['export', 'a', '--to', 'anthropic', '--from', '1'], /--from goes with a SESSION/],
    ['no file', ['show', '--check'], /show --check needs a FILE/],
    ['two files', ['show', '--check', 'a', 'b'], /check takes one FILE, but got 2: a, b/],
    ['a negative pick', ['show', '--check', 'a', '--pick', '-1'], /--pick takes a whole number from 0/],
  ])('exits with 2 for misuse: %s', (_name, args, message) => {
    expect(indelible(args)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(message) })
  })
  it('has help of at most 80 columns', () => {
    for (const command of ['export', 'show', 'context', 'list', 'prove', 'hold']) {
      const { stdout, lines } = indelible([command, '--help'])
      expect(stdout).toMatch(new RegExp(`^Usage: indelible ${command} `))
      for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
    }
  })
})

describe('indelible show --check', () => {
  it("reports a file's format and exits with 0 if nothing is damaged", () => {
    const { status, stdout, stderr } = indelible(['show', '--check', example])
    expect([status, stderr]).toEqual([0, ''])
    expect(stdout).toBe(
      'coding-agent.json: openai-chat, 19 messages\ndamage: none\npairing: every call has its result\n',
    )
  })
  it('does not report bookkeeping of a newer version as damage', () => {
    const entry = { sessionId: 's', timestamp: 't' }
    const claudeCode = [
      { ...entry, type: 'user', uuid: 'u', parentUuid: null, message: { role: 'user', content: 'hi' } },
      { ...entry, type: 'atis-latch', latched: true },
      { ...entry, type: 'tools-used', tools: ['Read'] },
    ]
    const codex = [
      { timestamp: 't', type: 'session_meta', payload: { id: 's' } },
      { timestamp: 't', type: 'brand_new_record', payload: { total: 1 } },
      { timestamp: 't', type: 'brand_new_record', total: 1 },
    ]
    for (const [name, session, messages] of [
      ['newer-claude-code.jsonl', claudeCode, 1],
      ['newer-codex.jsonl', codex, 0],
    ] as const) {
      const { status, stdout } = indelible(['show', '--check', '--json', writeTestFile(name, lines(session))])
      expect([status, JSON.parse(stdout)]).toMatchObject([0, { messages, notes: 2, damage: [], losses: [] }])
    }
  })
  it('compares the rows of an export with its root', () => {
    const store = ['--store', join(folder, 'exported.db')]
    const given = writeTestFile('given.json', JSON.stringify([{ role: 'user', content: 'Be careful.' }]))
    expect(indelible(['import', given, '--id', 's', ...store]).status).toBe(0)
    const { stdout: exported } = indelible(['export', 's', '--to', 'indelible', ...store])
    const whole = writeTestFile('exported.jsonl', exported)
    expect(indelible(['show', '--check', whole])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^root: the rows have the root that the file states$/m) as string,
    })
    const edited = writeTestFile('edited.jsonl', exported.replace('careful', 'careless'))
    const { status, stdout, stderr } = indelible(['show', '--check', edited])
    expect([status, stderr]).toEqual([1, `indelible: ${edited}: the file was changed after it was exported\n`])
    expect(stdout).toMatch(/^root: the rows have the root [0-9a-f]{64}/m)
    expect(JSON.parse(indelible(['show', '--check', edited, '--json']).stdout)).toMatchObject({
      root: 'differs',
      damage: [],
    })
    for (const args of [['show'], ['export', '--to', 'anthropic'], ['context', '--budget', '1000'], ['stats']]) {
      const changed = 'edited.jsonl: was changed after it was exported: its rows do not have the root that it states'
      expect(indelible([...args, edited])).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(changed) as string,
      })
      expect(indelible([...args, whole])).toMatchObject({
        status: 0,
        stderr: expect.not.stringContaining('root') as string,
      })
    }
    const untimed = exported.replaceAll(/,"at":\d+/g, '')
    expect(indelible(['show', '--check', writeTestFile('untimed.jsonl', untimed)])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^root: not compared: rows of the file have no time$/m) as string,
    })
    const attached = JSON.stringify({ type: 'image', source: { type: 'block', id: 'a'.repeat(64) } })
    const naming = exported.replace('"content":[', `"content":[${attached},`)
    expect(indelible(['show', '--check', writeTestFile('naming.jsonl', naming)])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('root: not compared: the file names stored files') as string,
    })
  })
  it('reads the database of another program', () => {
    const path = join(folder, 'threads.db')
    const db = new DatabaseSync(path)
    const checkpoint = { channel_values: { messages: [{ type: 'human', content: 'hi' }] } }
    db.exec(`
      create table checkpoints (thread_id text, checkpoint_ns text, checkpoint_id text, type text, checkpoint blob, metadata blob);
      create table writes (thread_id text);
      insert into checkpoints values ('t1', '', '1', 'json', '${JSON.stringify(checkpoint)}', '{}')`)
    db.close()
    expect(indelible(['show', '--check', path]).stdout).toMatch(/^threads\.db: langgraph, 1 message\n/)
    const notOne = indelible(['show', '--check', join(folder, 'sessions-none.db')])
    expect([notOne.status, notOne.stderr]).toMatchObject([1, expect.stringContaining('does not exist')])
  })
  it('reports damage, changed values and unpaired calls, and exits with 1 if a line is damaged', () => {
    const { status, stdout, stderr, lines } = indelible(['show', '--check', damaged()], { columns: 60 })
    expect(status).toBe(1)
    expect(stdout).toMatch(/^damaged\.jsonl: pi-session, 4 messages\n {2}id {7}s\n {2}version {2}1\n/)
    expect(stdout).toMatch(/^damage: 2 lines$/m)
    expect(stdout).toMatch(/^changed while reading: 2 values$/m)
    expect(stdout).toMatch(
      /^pairing: 1 fault, 1 repair would settle it\n {2}the call "c1" at position 1 has no result$/m,
    )
    expect(stderr).toMatch(/damaged\.jsonl: 2 damaged lines\n$/)
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(60)
  })
  it('--json prints the same for programs', () => {
    const { status, stdout } = indelible(['show', '--check', '--json', damaged()])
    expect(status).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      format: 'pi-session',
      messages: 4,
      count: 1,
      damage: [{ line: 6 }, { line: 7 }],
      losses: [{ line: 5 }, { line: 5 }],
      problems: [{ _tag: 'UnansweredCall', position: 1 }],
    })
  })
  it('exits with 0 for pairing problems only and 1 if nothing is readable', () => {
    const open = writeTestFile(
      'open.json',
      JSON.stringify([
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
      ]),
    )
    expect(indelible(['show', '--check', open]).status).toBe(0)
    expect(indelible(['show', '--check', writeTestFile('none.json', '{}')])).toMatchObject({ status: 1, stdout: '' })
  })
  it('show lists omitted lines and exits with 1', () => {
    expect(indelible(['show', damaged()])).toMatchObject({
      status: 1,
      stderr: 'damaged.jsonl: 2 damaged lines (lines 6, 7); "indelible show --check" says why\n',
    })
  })
})
