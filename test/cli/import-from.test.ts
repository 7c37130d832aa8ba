/** `import --from`: sessions where agents keep them, in a home of the test's own. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, mkdtempSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { faultMessage, memoryStore, readTranscript, type Transcript } from 'indelible'
import { continueSession } from '../../src/cli/continue.ts'
import { folder, indelible, main } from './indelible.ts'

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
      indelible(['import', '--from', program, ...more, ...store], { env }),
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

it('finds the sessions, appends what is new, and stores nothing twice', () => {
  const { write, add, from, list } = madeHome()
  write(project, lines(asks('u1', null, 'Look.'), says('a1', 'u1', 'A cat.')))
  write(
    '.claude/projects/-work/s1/subagents/agent-x.jsonl',
    lines({ ...asks('x1', null, 'Search.'), isSidechain: true, agentId: 'x' }),
  )
  const first = from('claude-code')
  expect([first.status, first.lines.slice(0, 2).toSorted()]).toEqual([
    0,
    ['s1.agent-x: 1 message stored, 1 in all', 's1: 2 messages stored, 2 in all'],
  ])
  const again = from('claude-code')
  expect([again.status, again.stdout, again.stderr]).toEqual([0, '', 'claude-code: 2 sessions, 2 of them unchanged\n'])
  add(project, lines(asks('u2', 'a1', 'Go on.'), says('a2', 'u2', 'So I do.')))
  expect(from('claude-code').stdout).toBe('s1: 2 messages appended, 4 in all\n')
  expect(from('claude-code').stdout).toBe('')
  expect(list()).toEqual(['s1 4', 's1.agent-x 1'])
})

it('an answer that is still being written waits; a conversation that was changed goes on in a fork', () => {
  const { write, add, from, list, show } = madeHome()
  write(
    project,
    lines(asks('u1', null, 'Look.'), says('a1', 'u1', 'A cat.'), asks('u2', 'a1', 'No.'), says('a2', 'u2', 'Yes.')),
    new Date(),
  )
  expect(from('claude-code').stdout).toBe('s1: 3 messages stored, 3 in all\n')
  add(project, lines(asks('u3', 'a1', 'And a dog?'), says('a3', 'u3', 'Two.')))
  expect(from('claude-code').stdout).toBe(
    's1-2: 2 messages appended to a fork, because earlier messages changed, 4 in all\n',
  )
  expect(list()).toEqual(['s1 3', 's1-2 4'])
  expect(show('s1')).toContain('"No."')
  expect(show('s1-2')).not.toContain('"No."')
  add(project, lines(asks('u4', 'a3', 'Thanks.')), new Date(old.getTime() + 5000))
  expect(from('claude-code').stdout).toBe('s1-2: 1 message appended, 5 in all\n')
})

it('of Codex, Gemini CLI, pi and opencode, too', () => {
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
  expect(['codex', 'gemini', 'pi', 'opencode'].map((program) => from(program).status)).toEqual([0, 0, 0, 0])
  expect(list()).toEqual(['codex-1 1', 'gemini-1 1', 'pi-1 1', 'ses_1 1', 'ses_2 1'])
  db.exec(`
    insert into message values ('m3', 'ses_2', 3, '{"role":"user"}');
    insert into part values ('p3', 'm3', 'ses_2', '{"type":"text","text":"so"}');
    update session set time_updated = 3 where id = 'ses_2'`)
  db.close()
  expect(from('opencode').stdout).toBe('ses_2: 1 message appended, 2 in all\n')
})

it('two imports at once append once', async () => {
  const store = memoryStore()
  const read = (text: string): Transcript => {
    const transcript = readTranscript(text)
    if (isLeft(transcript)) throw new Error(faultMessage(transcript.left))
    return transcript.right
  }
  const begun = [asks('u1', null, 'Look.'), says('a1', 'u1', 'A cat.')]
  const both = async (transcript: Transcript) =>
    Promise.all([1, 2].map(() => continueSession(store, 's1', transcript, { program: 'claude-code' })))
  expect((await both(read(lines(...begun)))).map(({ id, len }) => `${id} ${len}`)).toEqual(['s1 2', 's1 2'])
  const more = lines(...begun, asks('u2', 'a1', 'Go on.'), says('a2', 'u2', 'So I do.'))
  expect((await both(read(more))).map(({ id, len }) => `${id} ${len}`)).toEqual(['s1 4', 's1 4'])
  expect((await both(read(more))).map(({ done }) => done)).toEqual(['unchanged', 'unchanged'])
})

it('says what it can not do', () => {
  const { write, from } = madeHome()
  expect(from('codex').stderr).toMatch(/^codex: no sessions found in .*\.codex\n$/)
  expect([from('word').status, from('word').stderr]).toMatchObject([2, expect.stringContaining('--from takes one of')])
  expect(from('codex', 'a.jsonl').status).toBe(2)
  write(project, 'no json\n')
  write('.claude/projects/-work/s3.jsonl', lines({ ...asks('u1', null, 'Look.'), sessionId: 's3' }, { type: 'user' }))
  write('.claude/projects/-work/s2.jsonl', lines({ ...asks('u1', null, 'Look.'), sessionId: 's2' }))
  const some = from('claude-code')
  expect([some.status, some.stdout.split('\n').toSorted()]).toEqual([
    1,
    ['', 's2: 1 message stored, 1 in all', 's3: 1 message stored, 1 in all'],
  ])
  expect(some.stderr).toContain('s3.jsonl: 1 damaged line left out')
  expect(some.stderr).toContain('1 session of claude-code can')
})

it('--watch goes on until it is interrupted', async () => {
  const { env, store, write, add, list } = madeHome()
  write(project, lines(asks('u1', null, 'Look.')))
  const watching = spawn(process.execPath, [main, 'import', '--from', 'claude-code', '--watch', ...store], {
    env: { ...process.env, ...env },
  })
  let said = ''
  const until = async (text: string): Promise<void> => {
    while (!said.includes(text))
      said += String(((await once(watching.stdout, 'data')) as unknown as readonly [Buffer])[0])
  }
  await until('s1: 1 message stored, 1 in all')
  add(project, lines(says('a1', 'u1', 'A cat.'), asks('u2', 'a1', 'Go on.')), new Date())
  await until('s1: 2 messages appended, 3 in all')
  watching.kill('SIGINT')
  const [code] = (await once(watching, 'exit')) as unknown as readonly [number | null]
  expect(code).toBe(0)
  expect(list()).toEqual(['s1 3'])
})
