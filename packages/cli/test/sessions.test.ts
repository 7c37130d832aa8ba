/** Which store, scope and session a command line means, and what it says where that is not clear. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, describe, expect, it } from 'vitest'
import { assistant, createSession, user } from 'indelible'
import { claudeSessionStore } from '@indelible/claude-agent'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../../scripts/run.ts'
import { didYouMean, nearest } from '../src/sources/advice.ts'
import { filterOf } from '../src/sources/list-filter.ts'
import { runCommandLine } from '../src/command-line.ts'
import { idStart, matchesIdPattern, shortIds } from '../src/sources/short-ids.ts'
import { widthOf } from '../src/terminal/screen.ts'
import { indelible, writeTestFile } from './indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-scopes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const example = join(root, 'examples/coding-agent.json')
const path = join(folder, 'sessions.db')
const store = ['--store', path]
const run = (...args: readonly string[]) => indelible(args)
const said = (name: string, ...texts: readonly string[]): string =>
  writeTestFile(
    `${name}.json`,
    JSON.stringify(texts.map((content, at) => ({ role: at % 2 ? 'assistant' : 'user', content }))),
  )

it('a session that lacks only blocks of its calls is incomplete, not damaged', async () => {
  const lacks = join(folder, 'lacks.db')
  const opened = await sqliteStore({ path: lacks })
  const session = await createSession(opened, { id: 's', messages: [user('a'), assistant('b')] })
  const sent = { api: 'openai-chat', at: 1, duration: 1, sent: [[0, 1]], tools: '1'.repeat(64) }
  await session.note({ type: 'receipt', len: 1, contextDigest: '0'.repeat(64), model: 'gpt-5.5', details: sent })
  await opened.close()
  expect(run('verify', '--all', '--store', lacks)).toMatchObject({
    status: 1,
    stdout: '1 session verified, 0 damaged, 1 incomplete\n',
    stderr: expect.stringMatching(/its record is good, but 1 block .*\n.*1 session of 1 is incomplete\n$/) as string,
  })
})

it('a session of the Claude Agent SDK says what reads it, and is not exported as an empty conversation', async () => {
  const claude = join(folder, 'claude.db')
  const opened = await sqliteStore({ path: claude })
  const sessions = claudeSessionStore(opened)
  const key = { projectKey: 'p', sessionId: 's' }
  await sessions.append(key, [{ type: 'user', uuid: '1', message: { role: 'user', content: 'Fix the build.' } }])
  const id = sessions.idOf(key)
  await opened.close()
  const sentence = `${id}: the Claude Agent SDK wrote this session: its lines are notes`
  expect(run('list', '--store', claude).stdout).toContain('Claude Agent SDK, kept as notes')
  for (const command of ['show', 'context']) expect(run(command, id, '--store', claude).stderr).toContain(sentence)
  const exported = run('export', id, '--to', 'openai-chat', '--store', claude)
  expect(exported).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(sentence) as string })
  expect(run('export', id, '--to', 'indelible', '--store', claude).status).toBe(0)
})

describe('scopes of a store', () => {
  it('keep sessions apart; the wrong scope gives a hint', () => {
    for (const scope of ['ann', 'bob'])
      expect(run('import', said('hello', `I am ${scope}.`), '--scope', scope, ...store).status).toBe(0)
    expect(run('append', 'hello', 'More.', '--scope', 'ann', ...store).status).toBe(0)
    expect(run('list', ...store).stderr).toBe(
      'no sessions in the scope "default", but in the scopes "ann", "bob": --scope NAME, or --all-scopes\n',
    )
    expect(run('show', 'hello', ...store)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('but one in the scope "ann": --scope ann') as string,
    })
    expect(run('verify', '--all', ...store)).toMatchObject({
      status: 0,
      stdout: 'no sessions verified, 0 damaged\n',
      stderr: 'not verified: the sessions in the scopes "ann", "bob"; --all-scopes verifies all\n',
    })
    const all = run('verify', '--all', '--all-scopes', ...store)
    expect(all).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /^hello: good, 2 messages.*\nhello: good, 1 message.*\n2 sessions verified, 0 damaged\n$/,
      ) as string,
      stderr: '',
    })
    for (const scope of ['ann', 'bob'])
      expect(run('verify', '--all', '--scope', scope, ...store)).toMatchObject({
        stdout: expect.stringMatching(/\n1 session verified, 0 damaged\n$/) as string,
        stderr: `not verified: the sessions in the scope "${scope === 'ann' ? 'bob' : 'ann'}"; --all-scopes verifies all\n`,
      })
    expect(run('show', 'hello', '--scope', 'bob', ...store).stdout).toContain('I am bob.')
  })
  it('without sessions are not listed', () => {
    const other = ['--store', join(folder, 'logs.db')]
    expect(run('import', said('only', 'I am ann.'), '--scope', 'ann', ...other).status).toBe(0)
    expect(run('ledger', 'update', '--scope', 'nobody', ...other).status).toBe(0) // a log, and no session
    expect(run('list', ...other).stderr).toMatch(/but in the scopes? "ann": /)
  })
  it('are listed with their sessions', () => {
    expect(
      run('list', '--scopes', '--json', ...store)
        .lines.slice(0, -1)
        .map((line) => JSON.parse(line) as object),
    ).toEqual([
      { scope: 'ann', sessions: 1, activity: expect.any(String) as string },
      { scope: 'bob', sessions: 1, activity: expect.any(String) as string },
    ])
    expect(run('list', '--scopes', ...store).stdout).toMatch(/^ +1 {2}20\d\d-\d\d-\d\d \d\d:\d\d {2}ann$/m)
    const all = run('list', '--all-scopes', '--sort', 'messages', ...store)
    expect(all.lines.map((line) => line.trim().split(/ {2,}/).slice(1))).toEqual([
      ['messages', 'scope', 'session', 'about'],
      ['2', 'ann', 'hello', 'I am ann.'],
      ['1', 'bob', 'hello', 'I am bob.'],
      [],
    ])
    expect(run('list', '--all-scopes', '--json', ...store).stdout).toContain('"scope":"bob"')
  })
  it('are copied one by one or all, each under its own name', () => {
    const [one, all] = [join(folder, 'one.db'), join(folder, 'all.db')]
    expect(run('copy', '--from', path, '--to', one)).toMatchObject({
      status: 0,
      stdout: '',
      stderr: expect.stringMatching(
        /nothing was copied\nnot copied: .*"ann", "bob"; --all-scopes copies all\n$/,
      ) as string,
    })
    expect(run('copy', '--from', path, '--to', one, '--scope', 'ann').stdout).toMatch(/^hello: 2 messages/)
    expect(run('copy', '--from', path, '--to', all, '--all-scopes').lines).toHaveLength(3)
    expect(run('show', 'hello', '--scope', 'bob', '--store', all).stdout).toContain('I am bob.')
    expect(run('list', '--scope', 'bob', '--store', one).stdout).toBe('')
  })
  it.each([
    [['list', '--all-scopes', '--scope', 'ann']],
    [['list', '--scope', '']],
    [['verify', 'hello', '--all-scopes']],
  ])('refuse %j', (args) => expect(run(...args, ...store).status).toBe(2))
})

it('copy says of each session whether it is new, there already, longer there, or another one, and copies the others', () => {
  const [from, to] = [join(folder, 'copy-from.db'), join(folder, 'copy-to.db')]
  const ids = ['one', 'two', 'three']
  for (const id of ids) run('import', said(id, `I am ${id}.`), '--store', from)
  const copied = run('copy', '--to', to, '--from', from)
  expect([copied.status, copied.stderr]).toEqual([0, ''])
  expect(copied.lines).toEqual([
    ...ids.map((id) => expect.stringMatching(new RegExp(`^${id}: 1 message, head [^,]+$`)) as string),
    '',
  ])
  run('append', 'two', 'Longer.', '--store', to)
  for (const store of [from, to]) run('append', 'three', `In ${store}.`, '--store', store)
  run('import', said('four', 'I am four.'), '--store', from)
  const env = { INDELIBLE_STORE: from }
  expect(indelible(['copy', '--to', to], { env })).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^four: 1 message, head [^,]+\n$/) as string,
    stderr: `two: the session in the other store is longer (2 rows, here 1); it was not changed
three: the other store has a different record with this id (2 rows); it was not changed. To keep both, fork one under another id
1 session was already copied
indelible: 2 sessions of 4 were not copied
`,
  })
  expect(run('copy', 'nobody', 'one', '--from', from, '--to', to)).toMatchObject({
    status: 1,
    stdout: expect.stringMatching(/^one: .*, already copied\n$/) as string,
    stderr: expect.stringMatching(
      /^--from: .*no session "nobody".*\nindelible: 1 session of 2 was not copied\n$/,
    ) as string,
  })
  const refused = [
    [[], 'copy needs both stores'],
    [['--from', from], 'copy needs both stores'],
    [['--from', '', '--to', to], 'copy needs both stores'],
    [['--from', from, '--to', ''], 'copy needs both stores'],
    [['--from', from, '--to', from], 'copy needs two stores'],
    [['one', '--all-scopes', '--from', from, '--to', to], 'copy --all-scopes takes no SESSION'],
    [['--scope', 'a', '--all-scopes', '--from', from, '--to', to], '--all-scopes and --scope exclude each other'],
  ] as const
  for (const [args, text] of refused)
    expect(run('copy', ...args)).toMatchObject({ status: 2, stderr: expect.stringContaining(text) as string })
})

describe('choice of the store', () => {
  it('is INDELIBLE_STORE without an option', () => {
    const env = { INDELIBLE_STORE: join(folder, 'env.db') }
    expect(indelible(['import', example, '--id', 'mine'], { env }).stderr).toBe(`store: ${env.INDELIBLE_STORE}\n`)
    expect(indelible(['show', 'mine'], { env }).status).toBe(0)
    expect(indelible(['list', ...store], { env }).stderr).toContain('"ann"')
    expect(indelible(['backup', join(folder, 'env-copy.db')], { env }).status).toBe(0)
    expect(existsSync(join(folder, 'env-copy.db'))).toBe(true)
  })
  it('distinguishes stores from conversations', () => {
    expect(run('show', path)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(
        `is a store of sessions, not a conversation; "indelible list --store ${path}"`,
      ) as string,
    })
    expect(run('list', '--store', example)).toMatchObject({
      status: 1,
      // The path is quoted where it has a space.
      stderr: expect.stringMatching(
        /is a conversation \(openai-chat\), not a store; "indelible show .*coding-agent\.json'?" prints it/,
      ) as string,
    })
    expect(run('list', '--store', folder).stderr).toContain('is a folder; expected a store file')
    expect(run('verify', example, ...store).stderr).toContain('is a file, but this command takes a SESSION')
    const other = join(folder, 'other')
    writeFileSync(other, 'neither')
    expect(run('list', '--store', other).stderr).toContain('is not a store of Indelible')
    const wiped = join(folder, 'wiped.db')
    writeFileSync(wiped, '')
    for (const args of [['list'], ['verify', '--all', '--deep']])
      expect(run(...args, '--store', wiped)).toMatchObject({
        status: 1,
        stderr: expect.stringContaining('wiped.db is empty, but a store never is') as string,
      })
    expect(statSync(wiped).size).toBe(0)
  })
})

describe('naming a session', () => {
  const own = ['--store', join(folder, 'names.db')]
  it('works by a unique id prefix', () => {
    for (const id of ['0f3c8a1d-1111-4222-8333-444455556666', '0f3c9a1d-1111-4222-8333-444455556666', 'notes'])
      run('import', said('named', `I am ${id}.`), '--id', id, ...own)
    expect(run('show', 'note', ...own).stdout).toContain('I am notes.')
    expect(run('show', '0f3c8', ...own).stdout).toContain('I am 0f3c8a1d')
    expect(run('append', '0f3c9a1d…', 'x', ...own).stdout).toMatch(
      /^0f3c9a1d-1111-4222-8333-444455556666: 1 message at 1/,
    )
    expect(run('show', '0f3c', ...own)).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /2 sessions of this store begin with "0f3c": 0f3c8\S+, 0f3c9\S+; write more of the id\n$/,
      ) as string,
    })
    expect(run('fork', 'notes', '--id', 'not', ...own).status).toBe(0)
    expect(run('show', 'not', ...own).lines[0]).toMatch(/^not: /) // the whole id comes before a beginning
  })
  it('requires the full id for removal', () => {
    expect(run('remove', 'note', '--yes', ...own)).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Nothing was changed') as string,
    })
  })
  it('suggests an id for a mistyped one', () => {
    expect(run('show', 'noets', ...own).stderr).toContain('has no session "noets"; did you mean "notes"?')
    expect(run('show', 'something else', ...own).stderr).toMatch(/"indelible list --store .*" shows its sessions/)
  })
  it('uses short ids on a terminal if unique', () => {
    const ids = [
      '0f3c8a1d-1111-4222-8333-444455556666',
      '0f3c8a1d-1111-9222-8333-444455556666',
      'aaaaaaaa-1111-4222-8333-444455556666',
      'bbbbbbbb-1111-4222-8333-444455556666',
      'bbbbbbbb-1111-4222-8333-444455556666.fork-1a2b3c4d',
      'bbbbbbbb-1111-4222-8333-444455556666.fork-9a2b3c4d',
      'chosen-and-not-that-long',
      'not-a-random-id-however-long-it-may-be',
    ]
    const shortAt = (columns: number) => ids.map(shortIds(ids, { shows: true, columns }))
    expect(shortAt(80)).toEqual([
      '0f3c8a1d-1111-4…',
      '0f3c8a1d-1111-9…',
      'aaaaaaaa…',
      'bbbbbbbb…6666',
      'bbbbbbbb…1a2b3c4d',
      'bbbbbbbb…9a2b3c4d',
      'chosen-and-not-that…',
      'not-a-random-id-how…',
    ])
    expect(shortAt(200).slice(6)).toEqual(ids.slice(6))
    for (const columns of [40, 80, 200])
      for (const [index, short] of shortAt(columns).entries())
        expect(ids.filter((id) => id === short || matchesIdPattern(short, id))).toEqual([ids[index]])
    expect(ids.map(shortIds(ids, { shows: false, columns: 40 }))).toEqual(ids)
  })
  it('accepts the id as lists show it', () => {
    const ids = ['cccccccc-1111-4222-8333-444455556666', 'cccccccc-1111-4222-8333-444455556666.fork-1a2b3c4d']
    for (const id of ids) run('import', said('one', id), '--id', id, ...own)
    const shown = indelible(['list', ...own], { terminal: 80 }).lines.flatMap((line) => /cccccccc\S+/.exec(line) ?? [])
    expect(shown).toEqual(['cccccccc…3c4d', 'cccccccc…6666'])
    for (const [index, given] of shown.entries())
      expect(run('show', given, ...own).stdout).toContain(`${ids[1 - index]}: session`)
  })
})

describe('a session list', () => {
  const own = ['--store', join(folder, 'list.db')]
  it('is sorted, filtered and cut', () => {
    const titled = writeTestFile(
      'titled.jsonl',
      `{"type":"session","version":3,"id":"a","timestamp":"2020-01-02T03:04:05.000Z","cwd":"/"}\n{"type":"message","id":"1","parentId":null,"timestamp":"2020-01-02T03:04:06.000Z","message":{"role":"user","content":"Old words."}}\n`,
    )
    run('import', titled, ...own)
    run('import', said('b', 'One', 'Two', 'Three'), '--id', 'b', ...own)
    run('import', said('c', 'Uno'), '--id', 'c', ...own)
    const ids = (...args: readonly string[]) =>
      run('list', '--json', ...args, ...own).lines.flatMap((line) =>
        line === '' ? [] : [(JSON.parse(line) as { id: string }).id],
      )
    expect(ids()).toEqual(['c', 'b', 'a'])
    expect(ids('--sort', 'id')).toEqual(['a', 'b', 'c'])
    expect(ids('--sort', 'messages', '--limit', '1')).toEqual(['b'])
    expect(ids('--where', 'messages<3')).toEqual(['c', 'a'])
    expect(ids('--where', 'messages<3', '--where', 'from.format=pi-session')).toEqual(['a'])
    expect(ids('--where', 'activity<2021')).toEqual(['a'])
    expect(ids('--where', 'from.format~CHAT')).toEqual(['c', 'b'])
    expect(run('list', ...own).lines[3]).toBe('2020-01-02 03:04         1  a        Old words.')
    run('append', 'a', 'New words.', ...own)
    expect(ids()[0]).toBe('a')
    expect(run('list', '--where', 'id=z', ...own).stderr).toBe('no session matches --where\n')
    expect(run('list', '--where', 'mesages=3', ...own).stderr).toBe(
      'no session matches --where; no session has the field "mesages"; did you mean "messages"?\n',
    )
    for (const bad of [
      ['--where', 'id'],
      ['--where', 'messages>x'],
      ['--sort', 'size'],
      ['--limit', '-1'],
    ])
      expect(run('list', ...bad, ...own).status).toBe(2)
  })
})

it('--where compares each field as it is described', () => {
  const info = {
    ...{
      id: 'a',
      len: 12,
      created: Date.UTC(2026, 0, 2),
      appended: Date.UTC(2026, 0, 3),
      head: { size: 12, root: '' },
    },
    metadata: { tags: ['red', 'Green'], deep: { est: 5 }, model: 'own', from: { title: 'Old', models: ['m1', 'm2'] } },
    forkedFrom: { id: 'parent', at: 3 },
  }
  const passes = (where: string | readonly string[], marks = {}, changed = {}, models = ['called']): boolean =>
    filterOf({ where: [where].flat() })({ ...info, ...changed }, marks, models)
  for (const where of [
    ...['id=a', 'title=Old', 'title~oLD', ' title = Old ', 'messages=12', 'messages>11', 'messages<13', 'messages>9'],
    ...['activity>2026-01-02T23', 'activity<2026-01-03T01', 'created=2026-01-02T00:00:00.000Z', 'created<2026-01-03'],
    ...[
      'model=own',
      'model=m1',
      'model=m2',
      'model=called',
      'fork=parent',
      'held=false',
      'encrypted=false',
      'erased=0',
      'erased<1',
    ],
    ...['tags=red', 'tags~green', 'deep.est=5', 'deep.est>4', 'deep={"est":5}', 'from.models~2', 'id~'],
  ])
    expect([where, passes(where)]).toEqual([where, true])
  for (const where of [
    ...['id=b', 'title=old', 'messages>12', 'messages<12', 'activity>2026-01-04', 'created>2026-01-03', 'model=m3'],
    ...[
      'fork=a',
      'held=true',
      'encrypted=true',
      'erased>0',
      'tags=green',
      'tags=re',
      'deep.est.more=5',
      'none~',
      'toString~',
    ],
  ])
    expect([where, passes(where)]).toEqual([where, false])
  expect([passes(['id=a', 'erased>1'], { erased: 2 }), passes(['id=a', 'erased>2'], { erased: 2 })]).toEqual([
    true,
    false,
  ])
  for (const mark of ['held', 'encrypted']) expect(passes(`${mark}=true`, { [mark]: true })).toBe(true)
  const plain = { metadata: {}, forkedFrom: undefined }
  expect(['title=', 'fork~', 'model~'].map((where) => passes(where, {}, plain, []))).toEqual([true, false, false])
  expect(passes([])).toBe(true)
  for (const where of ['id', '=a', '']) expect(() => filterOf({ where: [where] })).toThrow('--where takes FIELD=VALUE')
})

it('an id is meant by its beginning, or by its beginning and end around an ellipsis', () => {
  expect(['abc', 'ab…yz', 'ab...yz', 'ab…', ''].map(idStart)).toEqual(['abc', 'ab', 'ab', 'ab', ''])
  const meant = (given: string): readonly string[] =>
    ['abyz', 'abcyz', 'abzy', 'aby'].filter((id) => matchesIdPattern(given, id))
  expect(['ab', 'ab…yz', 'ab...z', 'aby…yz', '…y', 'x'].map(meant)).toEqual([
    ['abyz', 'abcyz', 'abzy', 'aby'],
    ['abyz', 'abcyz'],
    ['abyz', 'abcyz'],
    [],
    ['abzy', 'aby'],
    [],
  ])
})

it('suggestions are at most three, and say nothing of a word that is like none', () => {
  expect(nearest('fork', ['fork1', 'fork2', 'FORK3', 'fork4', 'folk'])).toEqual(['fork1', 'fork2', 'FORK3'])
  expect(nearest('abcdef', ['bacdfe', 'abcdefghi', 'xyz'])).toEqual(['abcdefghi'])
  expect(nearest('abcdef', ['bacdfe', 'abxdxf', 'abcxxx'])).toEqual(['bacdfe', 'abxdxf'])
  expect(didYouMean('lits', ['list', 'lit'], (name) => name)).toBe('; did you mean list or lit?')
  expect(didYouMean('lits', ['show'])).toBe('')
})

it('suggestions are the names with the fewest typing errors', () => {
  const names = ['list', 'show', 'spend', 'verify', 'fork', 'export', 'repair', 'replay']
  expect(['lsit', 'versify', 'forl', 'expotr', 'rep', 'x', ''].map((word) => nearest(word, names))).toEqual([
    ['list'],
    ['verify'],
    ['fork'],
    ['export'],
    ['repair', 'replay'],
    [],
    [],
  ])
})

describe('terminal output', () => {
  const own = ['--store', join(folder, 'terminal.db')]
  /** What the command shows in a terminal of 80 columns and 24 lines. */
  const shownTo = async (args: readonly string[], env: { readonly [name: string]: string } = {}) => {
    let out = ''
    let err = ''
    const sink = (add: (text: string) => void) => ({
      isTTY: true,
      columns: 80,
      rows: 24,
      write: (text: string, done?: () => void) => {
        add(text)
        done?.()
      },
    })
    const status = await runCommandLine([...args, ...own], {
      stdin: Readable.from([]),
      stdout: sink((text) => void (out += text)),
      stderr: sink((text) => void (err += text)),
      env: { ...process.env, ...env },
      cwd: '.',
      onInterrupt: () => () => undefined,
    })
    return { status, out, err }
  }
  it('has short heads and ids, and lines that fit', async () => {
    const id = '0f3c8a1d-1111-4222-8333-444455556666'
    run('import', said('terminal', 'Why? '.repeat(40)), '--id', id, ...own)
    expect((await shownTo(['prove', id])).out).toMatch(/^1:[0-9a-f]{12}…\n$/)
    expect((await shownTo(['prove', id, '--full'])).out).toMatch(/^1:[0-9a-f]{64}\n$/)
    const { out } = await shownTo(['list'])
    expect(out).toMatch(/ {2}0f3c8a1d… {2}Why\? Why\?/)
    for (const line of out.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(80)
  })
  it('pages a message longer than the screen, and no short one', async () => {
    run('import', said('long', 'line\n'.repeat(60)), '--id', 'long', ...own)
    run('import', said('short', 'a line'), '--id', 'short', ...own)
    const paged = join(folder, 'paged')
    const env = { PAGER: `cat > ${paged}` }
    expect(await shownTo(['show', 'long', '0'], env)).toMatchObject({ status: 0, out: '' })
    expect(
      readFileSync(paged, 'utf8')
        .split('\n')
        .filter((line) => line === 'line'),
    ).toHaveLength(60)
    expect((await shownTo(['show', 'short', '0'], env)).out).toContain('a line')
    expect((await shownTo(['show', 'long', '0'], { PAGER: join(folder, 'no-such-pager') })).out).toContain('line\nline')
  })
})
