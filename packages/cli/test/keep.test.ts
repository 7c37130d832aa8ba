/** `keep`: sessions where agents keep them, in a home of the test's own. */
import { spawnSync } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { zstdCompressSync } from 'node:zlib'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { faultMessage, memoryStore, orThrow } from 'indelible'
import { nothingErased } from '../src/keep/erased-messages.ts'
import { bringRows } from '../src/keep/session-rows.ts'
import { withResultFiles } from '../src/sources/claude-results.ts'
import { leftOutIf } from '../../../test/skipped-tests.ts'
import { folder, indelible, main } from './indelible.ts'
import { allBytes } from './keep-home.ts'
import { readTranscript, type Transcript } from '@indelible/transcripts'

const at = (uuid: string, parentUuid: string | null) => ({
  uuid,
  parentUuid,
  sessionId: 's1',
  version: '2.1.0',
  timestamp: 't',
})
const asks = (uuid: string, parent: string | null, content: string) => ({
  ...at(uuid, parent),
  type: 'user',
  message: { role: 'user', content },
})
const says = (uuid: string, parent: string, text: string) => ({
  ...at(uuid, parent),
  type: 'assistant',
  message: { id: `m_${uuid}`, type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text }] },
})
const lines = (...values: readonly object[]): string => values.map((value) => `${JSON.stringify(value)}\n`).join('')

const old = new Date('2026-01-01T00:00:00Z')

/** A home with a store, and what is done in it. */
const madeHome = () => {
  const home = mkdtempSync(join(folder, 'home-'))
  const env = { HOME: home }
  const store = ['--store', join(home, 'sessions.db')]
  const pathOf = (path: string): string => {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    return join(home, path)
  }
  return {
    home,
    env,
    store,
    write: (path: string, text: string, changed = old): void => {
      writeFileSync(pathOf(path), text)
      utimesSync(pathOf(path), changed, changed)
    },
    add: (path: string, text: string, changed = new Date(old.getTime() + 1000)): void => {
      appendFileSync(pathOf(path), text)
      utimesSync(pathOf(path), changed, changed)
    },
    from: (program: string, ...more: readonly string[]) =>
      indelible(['keep', '--only', program, ...more, ...store], { env }),
    show: (id: string) => indelible(['export', id, '--to', 'indelible', ...store], { env }).stdout,
    list: () =>
      indelible(['list', '--json', ...store], { env })
        .stdout.trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { readonly id: string; readonly len: number })
        .map(({ id, len }) => `${id} ${len}`)
        .toSorted(),
  }
}

const project = '.claude/projects/-work/s1.jsonl'

it('keep finds sessions, appends new messages and stores nothing twice', () => {
  const { write, add, from, list } = madeHome()
  write(project, lines(asks('u1', null, 'Look.'), says('a1', 'u1', 'A cat.')))
  write(
    '.claude/projects/-work/s1/subagents/agent-x.jsonl',
    lines({ ...asks('x1', null, 'Search.'), isSidechain: true, agentId: 'x' }),
  )
  const first = from('claude-code')
  expect([first.status, first.lines[0]]).toEqual([
    0,
    expect.stringMatching(/^Claude Code {2}2 sessions {2}\d+ B on disk {2}2 new$/),
  ])
  expect(list()).toEqual(['s1 2', 's1.agent-x 1'])
  const again = from('claude-code')
  expect([again.status, again.lines[0], again.stderr]).toEqual([0, expect.stringMatching(/on disk$/), ''])
  add(project, lines(asks('u2', 'a1', 'Go on.'), says('a2', 'u2', 'So I do.')))
  expect(from('claude-code').stdout).toContain('1 grown')
  expect(from('claude-code').lines[0]).toMatch(/on disk$/)
  expect(list()).toEqual(['s1 4', 's1.agent-x 1'])
})

it('keep has the last answer at once, and the longer one once it has grown; a changed conversation continues in a fork', () => {
  const { write, add, from, list, show } = madeHome()
  const begun = [asks('u1', null, 'Look.'), says('a1', 'u1', 'A cat.'), asks('u2', 'a1', 'No.')]
  write(project, lines(...begun, says('a2', 'u2', 'Ye')), new Date())
  from('claude-code')
  expect(list()).toEqual(['s1 4'])
  write(project, lines(...begun, says('a2', 'u2', 'Yes.')), new Date())
  from('claude-code')
  expect(list()).toEqual(['s1 5']) // the shorter answer is retracted
  expect(show('s1')).toContain('"type":"retraction","from":3,"to":4')
  add(project, lines(asks('u3', 'a1', 'And a dog?'), says('a3', 'u3', 'Two.')))
  expect(from('claude-code').stdout).toContain('earlier messages changed: continued in s1-2')
  expect(list()).toEqual(['s1 5', 's1-2 4'])
  expect(show('s1')).toContain('"No."')
  expect(show('s1-2')).not.toContain('"No."')
  add(project, lines(asks('u4', 'a3', 'Thanks.')), new Date(old.getTime() + 5000))
  from('claude-code')
  expect(list()).toEqual(['s1 5', 's1-2 5'])
})

it('keep works for Codex, Gemini CLI, pi and opencode', () => {
  const { home, write, from, list } = madeHome()
  write(
    '.codex/sessions/2026/01/01/rollout-2026-01-01.jsonl',
    lines(
      { timestamp: 't', type: 'session_meta', payload: { id: 'codex-1' } },
      {
        timestamp: 't',
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      },
    ),
  )
  write('.codex/history.jsonl', lines({ text: 'no session' }))
  write(
    '.gemini/tmp/work/chats/session-1.jsonl',
    lines({ sessionId: 'gemini-1', projectHash: 'x' }, { id: 'm', timestamp: 't', type: 'user', content: 'hi' }),
  )
  write(
    '.pi/agent/sessions/work/1.jsonl',
    lines(
      { type: 'session', id: 'pi-1', timestamp: 't' },
      { type: 'message', id: 'a', parentId: null, timestamp: 't', message: { role: 'user', content: 'hi' } },
    ),
  )
  mkdirSync(join(home, '.local/share/opencode'), { recursive: true })
  const db = new DatabaseSync(join(home, '.local/share/opencode/opencode.db'))
  db.exec(`
    create table session (id text, project_id text, title text, version text, time_created integer, time_updated integer);
    create table message (id text, session_id text, time_created integer, data text);
    create table part (id text, message_id text, session_id text, data text);
    insert into session values ('ses_1', 'p', 'A', '1', 1, 1), ('ses_2', 'p', 'B', '1', 2, 2);
    insert into message values ('m1', 'ses_1', 1, '{"role":"user"}'), ('m2', 'ses_2', 1, '{"role":"user"}');
    insert into part values ('p1', 'm1', 'ses_1', '{"type":"text","text":"hi"}'), ('p2', 'm2', 'ses_2', '{"type":"text","text":"ho"}')`)
  expect(['codex', 'gemini', 'pi'].map((program) => from(program).status)).toEqual([0, 0, 0])
  expect([from('opencode').status, from('opencode').lines[0]]).toEqual([0, 'opencode  2 sessions'])
  expect(list()).toEqual(['codex-1 1', 'gemini-1 1', 'pi-1 1', 'ses_1 1', 'ses_2 1'])
  db.exec(`
    insert into message values ('m3', 'ses_2', 3, '{"role":"user"}');
    insert into part values ('p3', 'm3', 'ses_2', '{"type":"text","text":"so"}');
    update session set time_updated = 3 where id = 'ses_2'`)
  db.close()
  expect(from('opencode').lines[0]).toBe('opencode  2 sessions    1 rewritten')
  expect(list()).toContain('ses_2 2')
})

it('two concurrent runs append once', async () => {
  const store = memoryStore()
  const read = (text: string): Transcript => {
    const transcript = readTranscript(text)
    if (isLeft(transcript)) throw new Error(faultMessage(transcript.left))
    return transcript.right
  }
  const begun = [asks('u1', null, 'Look.'), says('a1', 'u1', 'A cat.')]
  const both = async (transcript: Transcript) =>
    Promise.all([1, 2].map(() => bringRows(store, 's1', transcript, {}, nothingErased)))
  expect((await both(read(lines(...begun)))).map(({ id, len }) => `${id} ${len}`)).toEqual(['s1 2', 's1 2'])
  const more = lines(...begun, asks('u2', 'a1', 'Go on.'), says('a2', 'u2', 'So I do.'))
  expect((await both(read(more))).map(({ id, len }) => `${id} ${len}`)).toEqual(['s1 4', 's1 4'])
  expect((await both(read(more))).map(({ done }) => done)).toEqual(['unchanged', 'unchanged'])
})

it('keep reports what it cannot do, and keeps the bytes of what it cannot read', () => {
  const { home, env, store, write, from, list } = madeHome()
  expect(from('codex').stderr).toMatch(/^found no sessions of Codex \(.*\.codex\)\n$/m)
  expect([from('word').status, from('word').stderr]).toMatchObject([2, expect.stringContaining('--only takes one of')])
  expect(from('codex', 'a.jsonl').status).toBe(2)
  write(project, 'no json\n')
  write('.claude/projects/-work/s3.jsonl', lines({ ...asks('u1', null, 'Look.'), sessionId: 's3' }, { type: 'user' }))
  write('.claude/projects/-work/s2.jsonl', lines({ ...asks('u1', null, 'Look.'), sessionId: 's2' }))
  const some = from('claude-code')
  expect([some.status, list()]).toEqual([0, ['s1 0', 's2 1', 's3 1']])
  expect(some.stderr).toContain('s3.jsonl: 1 damaged line')
  expect(some.stdout).toContain("1 session can't be read yet; kept as bytes")
  expect(indelible(['restore', 's1', '--to', join(home, 'copy'), ...store], { env }).status).toBe(0)
  expect(readFileSync(join(home, 'copy/projects/-work/s1.jsonl'), 'utf8')).toBe('no json\n')
})

it.each([
  ['--from', '"indelible keep --only PROGRAM"'],
  ['--watch', '"indelible keep --install"'],
])('import %s answers with its new name', (option, successor) => {
  const { status, stderr } = indelible(['import', option])
  expect([status, stderr]).toEqual([2, expect.stringContaining(`"import ${option}" is now ${successor}`)])
})

it('forked Codex sessions get their base, also if it is compressed or a fork itself', () => {
  const { write, from, show, list, home } = madeHome()
  const [first, second, third, lost] = [1, 2, 3, 4].map((number) => `0000000${number}-0000-7000-8000-000000000000`)
  const pathOf = (id: string, end = ''): string =>
    `.codex/sessions/2026/11/23/rollout-2026-11-23T10-00-00-${id}.jsonl${end}`
  const meta = (id: string, more: object = {}) => ({
    timestamp: 't',
    type: 'session_meta',
    payload: { id, timestamp: 't', cwd: '/w', originator: 'codex_cli', cli_version: '0.169.0', ...more },
  })
  const said = (role: string, text: string) => ({
    timestamp: 't',
    type: 'response_item',
    payload: { type: 'message', role, content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }] },
  })
  const base = (thread: string | undefined, bytes: number) => ({
    history_base: { thread_id: thread, end_ordinal_exclusive: 3, end_byte_offset: bytes },
  })
  const own = lines(meta(first as string), said('user', 'one'), said('assistant', 'first é'))
  const forked = lines(meta(second as string, base(first, Buffer.byteLength(own))), said('user', 'two'))
  const path = join(home, pathOf(first as string, '.zst'))
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, zstdCompressSync(own + lines(said('user', 'not in the fork'))))
  utimesSync(path, old, old)
  write(pathOf(second as string), forked + lines(said('assistant', 'not in its fork')))
  write(
    pathOf(third as string),
    lines(meta(third as string, base(second, Buffer.byteLength(forked))), said('user', 'three')),
  )
  write(pathOf(lost as string), lines(meta(lost as string, base('gone', 10)), said('user', 'alone')))
  const { status, stderr } = from('codex')
  expect(stderr).toContain(`${lost}.jsonl: 1 damaged line`)
  const checked = indelible(['show', '--check', join(home, pathOf(lost as string))])
  expect(checked.stdout + checked.stderr).toContain('continues session gone, whose file was not found')
  expect(status).toBe(0)
  expect(list()).toEqual([`${first} 3`, `${second} 4`, `${third} 4`, `${lost} 1`])
  const texts = (id: string | undefined): readonly string[] =>
    show(id as string)
      .split('\n')
      .flatMap((line) => /"text":"([^"]*)"/.exec(line)?.[1] ?? [])
  expect(texts(second)).toEqual(['one', 'first é', 'two', 'not in its fork'])
  expect(texts(third)).toEqual(['one', 'first é', 'two', 'three'])
  expect(indelible(['show', '--check', join(home, pathOf(third as string))]).stdout).toContain('4 messages')
  expect(indelible(['show', '--check', path]).stdout).toContain('3 messages')
})

it('keep finds pi sessions by its environment and settings, and every opencode database', () => {
  const { home, env, store, write } = madeHome()
  const pi = (id: string): string =>
    lines(
      { type: 'session', version: 3, id, timestamp: '2026-01-01T00:00:00Z', cwd: '/w' },
      {
        type: 'message',
        id: 'a',
        parentId: null,
        timestamp: '2026-01-01T00:00:00Z',
        message: { role: 'user', content: id },
      },
    )
  write('agent/sessions/--w--/a.jsonl', pi('in-agent'))
  write('elsewhere/b.jsonl', pi('in-settings'))
  write('there/c.jsonl', pi('in-environment'))
  const imported = (program: string, more: object): readonly string[] =>
    indelible(['keep', '--only', program, '--json', ...store], { env: { ...env, ...more } })
      .stdout.split('\n')
      .flatMap((line) => (line === '' ? [] : (JSON.parse(line) as { stored: { id: string }[] }).stored))
      .map(({ id }) => id)
  const own = { PI_CODING_AGENT_DIR: join(home, 'agent') }
  expect(imported('pi', own)).toEqual(['in-agent'])
  write('agent/settings.json', JSON.stringify({ sessionDir: '~/elsewhere' }))
  expect(imported('pi', own)).toEqual(['in-settings'])
  expect(imported('pi', { ...own, PI_CODING_AGENT_SESSION_DIR: join(home, 'there') })).toEqual(['in-environment'])

  const database = (path: string, id: string): void => {
    mkdirSync(dirname(join(home, path)), { recursive: true })
    const db = new DatabaseSync(join(home, path))
    db.exec(`
      create table session (id text, project_id text, title text, version text, time_created integer, time_updated integer);
      create table message (id text, session_id text, time_created integer, data text);
      create table part (id text, message_id text, session_id text, data text);
      insert into session values ('${id}', 'p', 'A', '1', 1, 1);
      insert into message values ('m1', '${id}', 1, '{"role":"user"}');
      insert into part values ('p1', 'm1', '${id}', '{"type":"text","text":"hi"}')`)
    db.close()
  }
  const data = '.local/share/opencode'
  for (const [name, id] of [['opencode.db', 'ses_a'], ['opencode-dev.db', 'ses_b'], ['other.db', 'ses_c']] as const) database(join(data, name), id) // oxfmt-ignore
  expect(imported('opencode', {}).toSorted()).toEqual(['ses_a', 'ses_b'])
  expect(imported('opencode', { OPENCODE_DB: 'other.db' })).toEqual(['ses_c'])
})

it('results that Claude Code stores in files are imported, and no other file', async () => {
  const { home, write, from, show } = madeHome()
  const preview = (file: string): string =>
    `<persisted-output>\nOutput too large (60KB). Full output saved to: ${file}\n\nPreview:\nline 1\n</persisted-output>`
  const called = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: {} })
  const result = (id: string, file: string) => ({ type: 'tool_result', tool_use_id: id, content: preview(file) })
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [called('c1'), called('c2'), called('c3')],
  }
  const content = [
    result('c1', '/elsewhere/tool-results/c1.txt'),
    result('c2', '/elsewhere/tool-results/../../../../secret.txt'),
    result('c3', '/elsewhere/tool-results/c3.txt'),
  ]
  write('secret.txt', 'nothing of this')
  write('.claude/projects/-work/s1/tool-results/c1.txt', 'line 1\nand all the others\n')
  symlinkSync(join(home, 'secret.txt'), join(home, '.claude/projects/-work/s1/tool-results/c3.txt'))
  const answer = { ...at('b', 'a'), type: 'assistant', message }
  const text = lines(asks('a', null, 'go'), answer, {
    ...{ ...at('c', 'b'), type: 'user', message: { role: 'user', content } },
  })
  write(project, text)
  const transcript = orThrow(readTranscript(text))
  const behind = transcript.messages.findIndex(({ role }) => role === 'tool') + 1
  const stored = { result: 'c1', file: 'c1.txt', text: 'line 1\nand all the others\n' }
  for (const path of [project, '.claude/projects/-work/s1/subagents/agent-1.jsonl'])
    expect((await withResultFiles(join(home, path), transcript)).notes).toEqual([
      ...transcript.notes,
      { position: behind, note: { type: 'application', namespace: 'claude-code', content: stored, calls: ['c1'] } },
    ])
  const other = { ...transcript, format: 'codex' as const }
  expect(await withResultFiles(join(home, project), other)).toBe(other)
  const { status, stdout } = from('claude-code')
  expect([status, stdout]).toEqual([1, expect.stringMatching(/not kept: .*c3.txt: is a link to .*secret.txt/)])
  expect(show('s1')).toContain(String.raw`"result":"c1","file":"c1.txt","text":"line 1\nand all the others\n"`)
  expect(show('s1')).not.toContain('nothing of this')
})

it('an id that looks like a path is not followed but kept', () => {
  const { write, from, list } = madeHome()
  const hostile = { ...asks('a', null, 'hello'), sessionId: '../../../../tmp/hostile' }
  write('.claude/projects/-work/f.jsonl', lines(hostile))
  expect(from('claude-code').status).toBe(0)
  expect(list()).toEqual(['f 1'])
  const read = readTranscript(lines(hostile))
  expect(isLeft(read) ? read : [read.right.origin.id, read.right.origin.metadata['sessionId']]).toEqual([
    undefined,
    '../../../../tmp/hostile',
  ])
})

const noNobody = leftOutIf(process.getuid?.() !== 0, 'only root can be somebody without rights')
it('a folder or file without permissions is one line, and the others are kept', noNobody, () => {
  const { home, store, write } = madeHome()
  write(project, lines(asks('a', null, 'hello')))
  write('.claude/projects/-closed/s2.jsonl', lines(asks('a', null, 'hello')))
  write('.claude/projects/-work/s3.jsonl', lines(asks('a', null, 'hello')))
  chmodSync(join(home, '.claude/projects/-closed'), 0)
  chmodSync(join(home, '.claude/projects/-work/s3.jsonl'), 0)
  chmodSync(home, 0o777)
  chmodSync(dirname(home), 0o755)
  const args = [main, 'keep', '--only', 'claude-code', ...store]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: { HOME: home, PATH: process.env['PATH'] },
    uid: 65_534,
    gid: 65_534,
  })
  expect(stdout + stderr).toMatch(/^Claude Code {2}2 sessions .* 1 new$/m)
  expect(stdout.match(/^not kept: .*permission denied$/gm)).toHaveLength(2)
  expect([stderr, status]).toEqual(['', 1])
  const again = spawnSync(process.execPath, [main, 'list', ...store], { encoding: 'utf8', env: { HOME: home } })
  expect(again.stderr).toContain('not kept by the last run')
})

const inAgent = (name: string): string => `.claude/projects/-work/${name}.jsonl`
it("keep passes over empty files, keeps a workflow's journal beside its session, and exits with 0", () => {
  const { home, env, store, write, from } = madeHome()
  write(inAgent('s1'), lines(asks('u1', null, 'Look.')))
  write(inAgent('s2'), '')
  write('.claude/projects/-work/s1/subagents/workflows/w1/journal.jsonl', lines({ type: 'started', key: 'a' }))
  const { status, stdout } = from('claude-code')
  expect([status, stdout]).toEqual([
    0,
    expect.stringMatching(/^Claude Code {2}1 session .* 1 new\n.*1 session this week.*\n.*1 file empty\n/),
  ])
  indelible(['restore', 's1', '--to', join(home, 'copy'), ...store], { env })
  expect(existsSync(join(home, 'copy/projects/-work/s1/subagents/workflows/w1/journal.jsonl'))).toBe(true)
})

it("keep follows links inside a program's folder, reads a linked file once, and names other links", () => {
  const { home, write, from } = madeHome()
  write('.claude/projects/-work/s1.jsonl', lines(asks('u1', null, 'Look.')))
  write('elsewhere/s3.jsonl', lines(asks('u1', null, 'Look.')))
  symlinkSync(join(home, '.claude/projects/-work'), join(home, '.claude/projects/-other'))
  symlinkSync(join(home, 'nowhere.jsonl'), join(home, '.claude/projects/-work/s2.jsonl'))
  symlinkSync(join(home, 'elsewhere'), join(home, '.claude/projects/-third'))
  const { stdout, status } = from('claude-code')
  expect([status, stdout]).toEqual([1, expect.stringMatching(/^Claude Code {2}1 session .* 1 new$/m)])
  expect(stdout).toContain("s2.jsonl: is a link to something that can't be read")
  expect(stdout).toMatch(/-third: is a link to .*elsewhere, which is not in .*\.claude/)
})

it('keep follows no link out of the folder of opencode', () => {
  const { home, write, from } = madeHome()
  write('elsewhere/secret', 'I am Grace Hopper of 12 Main Street.')
  const session = (id: string): string => JSON.stringify({ id, version: '1.0', time: { created: 1, updated: 2 } })
  const message = JSON.stringify({ id: 'msg_1', sessionID: 'ses_1', role: 'user', time: { created: 1 } })
  write('.local/share/opencode/storage/session/p1/ses_1.json', session('ses_1'))
  write('.local/share/opencode/storage/message/ses_1/msg_1.json', message)
  mkdirSync(join(home, '.local/share/opencode/storage/part'), { recursive: true })
  const link = (path: string, to = 'elsewhere/secret'): void =>
    symlinkSync(join(home, to), join(home, '.local/share/opencode', path))
  const files = ['opencode.db', 'storage/session/p1/ses_2.json', 'storage/message/ses_1/msg_2.json']
  for (const file of files) link(file)
  write('elsewhere/parts/prt_1.json', JSON.stringify({ type: 'text', text: 'I am Grace Hopper of 12 Main Street.' }))
  const folders = ['storage/session/p2', 'storage/part/msg_1']
  for (const folder of folders) link(folder, 'elsewhere/parts')
  const { stdout, status } = from('opencode')
  expect([status, stdout]).toEqual([1, expect.stringMatching(/^opencode {2}1 session .* 1 new$/m)])
  const named = [...stdout.matchAll(/^not kept: (.*): is a link to .*elsewhere.*, which is not in .*opencode$/gm)]
  expect(named.map(([, path]) => path?.split('/opencode/')[1]).toSorted()).toEqual([...files, ...folders].toSorted())
  expect(allBytes(join(home, 'sessions.db'))).not.toContain('Grace Hopper')
})

it("import names a sub-agent's session after its own id, in any order of the files", () => {
  const { home, store, write } = madeHome()
  const side = { isSidechain: true, agentId: 'a1b2' }
  write(inAgent('s1'), lines(asks('u1', null, 'Look.')))
  write('.claude/projects/-work/s1/subagents/agent-a1b2.jsonl', lines({ ...asks('x1', null, 'Search.'), ...side }))
  const files = [join(home, '.claude/projects/-work/s1/subagents/agent-a1b2.jsonl'), join(home, inAgent('s1'))]
  const { stdout, status } = indelible(['import', ...files, ...store])
  expect([status, stdout.split('\n').map((line) => line.split(':')[0])]).toEqual([0, ['s1.agent-a1b2', 's1', '']])
})

it('keep reads the earlier JSON files of opencode, and names the tables of a later version', () => {
  const { home, write, from, list } = madeHome()
  const folderOf = (path: string): string => `.local/share/opencode/storage/${path}`
  write(
    folderOf('session/p1/ses_1.json'),
    JSON.stringify({ id: 'ses_1', projectID: 'p1', version: '1.0', title: 'A look', time: { created: 1, updated: 2 } }),
  )
  write(
    folderOf('message/ses_1/msg_1.json'),
    JSON.stringify({ id: 'msg_1', sessionID: 'ses_1', role: 'user', time: { created: 1 } }),
  )
  write(
    folderOf('part/msg_1/prt_1.json'),
    JSON.stringify({ id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1', type: 'text', text: 'Look.' }),
  )
  expect(from('opencode').status).toBe(0)
  expect(list()).toEqual(['ses_1 1'])
  const db = new DatabaseSync(join(home, '.local/share/opencode/opencode.db'))
  db.exec("create table session_v3 (id text); insert into session_v3 values ('a'), ('b')")
  db.exec(
    'create table session_message (id text, session_id text, type text, seq integer, time_updated integer, data text)',
  )
  db.close()
  const { status, stdout } = from('opencode')
  expect(status).toBe(0)
  expect(stdout).toContain("opencode.db: 2 rows of the table session_v3 can't be read")
  const file = join(home, 'alone.db')
  const alone = new DatabaseSync(file)
  alone.exec(`create table session (id text, title text, version text, time_created integer, time_updated integer);
    create table message (id text, session_id text, time_created integer, data text);
    create table part (id text, message_id text, session_id text, data text);
    create table session_v3 (id text);
    insert into session values ('ses_9', 'A', '1', 1, 1); insert into session_v3 values ('a');
    insert into message values ('m1', 'ses_9', 1, '{"role":"user"}');
    insert into part values ('p1', 'm1', 'ses_9', '{"type":"text","text":"hi"}')`)
  alone.close()
  for (const args of [
    ['show', file, '--check'],
    ['import', file, '--store', join(home, 'new.db')],
  ]) {
    const named = indelible(args)
    expect([args[0], named.status]).toEqual([args[0], 1])
    expect(named.stderr).toContain("alone.db: 1 row of the table session_v3 can't be read")
  }
})

it('an imported session is listed by the time of its conversation', () => {
  const { home, store, write, from } = madeHome()
  const timed = { ...asks('u1', null, 'Look.'), timestamp: '2026-01-01T00:00:00.000Z' }
  write(inAgent('s1'), lines(timed))
  indelible(['append', 'new', '--create', 'Hello.', ...store], { env: { HOME: home } })
  from('claude-code')
  const { lines: listed } = indelible(['list', '--json', ...store])
  const s1 = listed
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { readonly [field: string]: unknown })
    .find(({ session, id }) => (session ?? id) === 's1')
  expect(JSON.stringify(s1)).toContain('2026-01-01T00:00:00.000Z')
})

it('of two files of Gemini CLI with one id, the one with the conversation is continued, and the other is named', () => {
  const { home, write } = madeHome()
  const id = 'aaaaaaaa-0000-4000-8000-000000000001'
  const header = {
    sessionId: id,
    projectHash: 'p',
    startTime: '2026-01-01T00:00:00Z',
    lastUpdated: '2026-01-01T00:00:00Z',
  }
  const asked = { id: 'm1', timestamp: '2026-01-01T00:00:00Z', type: 'user', content: 'Look.' }
  const file = (minute: number): string => `.gemini/tmp/p/chats/session-2026-01-01T00-0${minute}-aaaaaaaa.jsonl`
  write(file(1), lines(header, asked))
  write(file(2), lines(header), new Date(old.getTime() + 5000))
  mkdirSync(join(home, '.claude'))
  const { stderr, status } = indelible(['continue', 'aaaaaaaa', '--in', 'claude-code', '--print', '--cwd', home], {
    env: { HOME: home },
  })
  expect(stderr).toContain(`${file(2)} has the same id and no messages`)
  expect(status).toBe(0)
})

it('Kimi and Cline keep the id of a session in its folder: each is one of its own, with its other files', () => {
  const { write, from, list } = madeHome()
  const kimi = (text: string): string =>
    lines(
      { type: 'metadata', protocol_version: '1.5' },
      { type: 'context.append_message', message: { role: 'user', content: [{ type: 'text', text }] }, time: 1e12 },
    )
  const ids = ['1', '2'].map((digit) => `${digit.repeat(8)}-1111-4111-8111-111111111111`)
  for (const id of ids) {
    const session = `.kimi-code/sessions/wd_work_a/session_${id}`
    write(`${session}/agents/main/wire.jsonl`, kimi(`main of ${id}`))
    write(`${session}/agents/agent-0/wire.jsonl`, kimi(`helper of ${id}`))
    write(`${session}/state.json`, '{}')
    write(`${session}/notify/state.json`, '{}')
  }
  write('.kimi-code/sessions/.index-cache/scan.json', '{}')
  expect(from('kimi').status).toBe(0)
  expect(list()).toEqual(ids.flatMap((id) => [`${id} 1`, `${id}.agent-agent-0 1`]))
  const cline = madeHome()
  for (const id of ids) {
    const file = { sessionId: id, agent: 'lead', messages: [{ role: 'user', content: 'hi', ts: 1e12 }] }
    cline.write(`.cline/data/sessions/${id}/${id}.messages.json`, JSON.stringify(file))
    cline.write(`.cline/data/sessions/${id}/${id}.json`, '{}')
  }
  expect(cline.from('cline-cli').status).toBe(0)
  expect(cline.list()).toEqual(ids.map((id) => `${id} 1`))
})

it('a session is as old as its conversation, also after it has grown; without times in its file, as old as the file', () => {
  const { write, from, store } = madeHome()
  const dated = (...entries: readonly object[]): string =>
    lines(...entries.map((entry, index) => Object.assign({}, entry, { timestamp: `2026-07-01T10:0${index}:00.000Z` })))
  const first = [asks('u1', null, 'Look.'), says('a1', 'u1', 'A cat.')]
  const listed = () =>
    indelible(['list', '--json', ...store])
      .stdout.trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { readonly appended: string }).appended)
      .toSorted()
  const timeless = (count: number) =>
    lines(
      { role: '_checkpoint', id: 0 },
      ...Array.from({ length: count }, (_, index) => ({ role: 'user', content: `M${index}` })),
    )
  write(project, dated(...first))
  write('.kimi-code/sessions/a/b/context.jsonl', timeless(1))
  from('claude-code')
  from('kimi')
  expect(listed()).toEqual([old.toISOString(), '2026-07-01T10:01:00.000Z'])
  write(project, dated(...first, asks('u2', 'a1', 'And?'), says('a2', 'u2', 'A dog.')), new Date(old.getTime() + 1000))
  write('.kimi-code/sessions/a/b/context.jsonl', timeless(2), new Date(old.getTime() + 1000))
  from('claude-code')
  from('kimi')
  expect(listed()).toEqual([new Date(old.getTime() + 1000).toISOString(), '2026-07-01T10:03:00.000Z'])
})
