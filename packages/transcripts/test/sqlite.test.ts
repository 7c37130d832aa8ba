/** SQLite files that other programs keep, made here as those make them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { encode, ExtData, ExtensionCodec } from '@msgpack/msgpack'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import { faultMessage, settle } from 'indelible'
import { openTranscriptDatabase, readTranscriptDatabase } from '@indelible/transcripts/sqlite'
import { outline } from './reading.ts'
import { oneIn } from '../../../test/rounds.ts'
import type { Transcript } from '@indelible/transcripts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-databases-'))
afterAll(() => rmSync(folder, { recursive: true }))

const made = (name: string, fill: (db: DatabaseSync) => void): string => {
  const path = join(folder, name)
  const db = new DatabaseSync(path)
  fill(db)
  db.close()
  return path
}
const read = (path: string, pick = 0): Transcript => {
  const transcript = readTranscriptDatabase(path, { pick })
  if (isLeft(transcript)) throw new Error(faultMessage(transcript.left))
  return transcript.right
}
const said = (path: string, pick = 0): string => {
  const transcript = readTranscriptDatabase(path, { pick })
  return isLeft(transcript) ? faultMessage(transcript.left) : 'read'
}

const later = (db: DatabaseSync): void => {
  db.exec(`
    create table session_v2 (id text primary key, directory text, title text, version text, time_created integer, time_updated integer);
    create table session_message (id text primary key, session_id text, type text, seq integer, time_created integer, time_updated integer, data text);
    insert into session_v2 values ('ses_9', '/work', 'Later', '2.0.12', 30, 40)`)
  const row = db.prepare('insert into session_message values (?, ?, ?, ?, 30, 40, ?)')
  const state = { status: 'completed', input: { at: 'a' }, content: [{ type: 'text', text: 'a cat' }] }
  row.run(
    'msg_b',
    'ses_9',
    'assistant',
    1,
    JSON.stringify({
      ...{ agent: 'build', model: { id: 'gpt', providerID: 'openai' }, time: { created: 31 } },
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'I look.' },
        { type: 'tool', id: 'c1', name: 'read', state },
      ],
      tokens: { input: 40, output: 5, reasoning: 2, cache: { read: 60, write: 0 } },
    }),
  )
  row.run('msg_a', 'ses_9', 'user', 0, JSON.stringify({ text: 'Look.', time: { created: 30 } }))
  row.run('msg_c', 'ses_9', 'model-switched', 2, JSON.stringify({ model: { id: 'gpt', providerID: 'openai' } }))
}
const earlier = (db: DatabaseSync): void =>
  db.exec(`
    create table session (id text primary key, project_id text, parent_id text, directory text, title text, version text, time_created integer, time_updated integer);
    create table message (id text primary key, session_id text, time_created integer, time_updated integer, data text);
    create table part (id text primary key, message_id text, session_id text, time_created integer, time_updated integer, data text);
    insert into session values ('ses_1', 'p1', null, '/work', 'Earlier', '1.2.0', 10, 20);
    insert into message values ('msg_1', 'ses_1', 1, 1, '{"role":"user","time":{"created":1}}');
    insert into part values ('prt_1', 'msg_1', 'ses_1', 1, 1, '{"type":"text","text":"Look."}')`)

describe('the later tables of the opencode database', () => {
  it.each([
    ['alone', [later], ['ses_9']],
    ['beside the earlier ones', [earlier, later], ['ses_1', 'ses_9']],
  ])('are read %s', (name, fills, ids) => {
    const path = made(`opencode-${name.length}.db`, (db) => fills.forEach((fill) => fill(db)))
    const opened = openTranscriptDatabase(path)
    if (isLeft(opened)) throw new Error(faultMessage(opened.left))
    const { conversations, unread } = opened.right
    opened.right.close()
    expect([conversations.map(({ id }) => id), unread]).toEqual([ids, {}])
    const { messages, origin, damage, notes } = read(path, ids.length - 1)
    expect(outline(messages)).toEqual(['user: Look.', 'assistant: I look. ▸ c1', 'tool: ◂ c1 a cat'])
    expect([origin.id, origin.title, origin.models, origin.usage, damage]).toEqual([
      'ses_9',
      'Later',
      ['gpt'],
      { input: 100, output: 7, cacheRead: 60 },
      [],
    ])
    expect(notes.length).toBe(1)
  })
  it('win over the earlier ones for a session that is in both, if they are newer', () => {
    const path = made('opencode-both.db', (db) => {
      earlier(db)
      later(db)
      db.exec("insert into session_message values ('msg_x', 'ses_1', 'user', 0, 50, 60, '{\"text\":\"Look again.\"}')")
    })
    expect(outline(read(path).messages)).toEqual(['user: Look again.'])
    expect(outline(read(path, 1).messages)[0]).toBe('user: Look.')
  })
  it('of a version that is not known are named with their rows', () => {
    const path = made('opencode-next.db', (db) => {
      earlier(db)
      db.exec("create table session_v3 (id text); insert into session_v3 values ('a'), ('b')")
    })
    const opened = openTranscriptDatabase(path)
    if (isLeft(opened)) throw new Error(faultMessage(opened.left))
    expect(opened.right.unread).toEqual({ session_v3: 2 })
    opened.right.close()
    const other = made('opencode-of-turns.db', (db) => {
      earlier(db)
      db.exec("create table turn (session_id text, content text); insert into turn values ('ses_1', 'Look.')")
      db.exec("create table todo (session_id text, content text); insert into todo values ('ses_1', 'Look.')")
    })
    const named = openTranscriptDatabase(other)
    expect(isLeft(named) ? named.left : named.right.unread).toEqual({ turn: 1 })
    if (!isLeft(named)) named.right.close()
    const alone = made('opencode-only-next.db', (db) =>
      db.exec("create table session_v3 (id text); insert into session_v3 values ('a')"),
    )
    expect(said(alone)).toContain('a database with the tables "session_v3" (1 row)')
  })
})

it('the database of Goose is read', () => {
  const path = made('sessions.db', (db) => {
    db.exec(`
      create table sessions (id text primary key, description text, working_dir text, created_at text, updated_at text, accumulated_input_tokens integer, accumulated_output_tokens integer);
      create table messages (id integer primary key, session_id text, role text, content_json text, created_timestamp integer);
      insert into sessions values ('s1', 'Looking', '/work', '2026-10-01', '2026-10-01', 100, 7)`)
    const row = db.prepare(
      "insert into messages (session_id, role, content_json, created_timestamp) values ('s1', ?, ?, 1790000000)",
    )
    row.run('user', JSON.stringify([{ type: 'text', text: 'Look.' }]))
    row.run('assistant', JSON.stringify([{ type: 'text', text: 'A cat.' }]))
  })
  const { messages, origin, damage } = read(path)
  expect(outline(messages)).toEqual(['user: Look.', 'assistant: A cat.'])
  expect([origin.id, origin.title, origin.usage, damage]).toEqual(['s1', 'Looking', { input: 100, output: 7 }, []])
})

it('the database of Crush is read', () => {
  const path = made('crush.db', (db) => {
    db.exec(`
      create table sessions (id text primary key, parent_session_id text, title text, prompt_tokens integer, completion_tokens integer, cost real, created_at integer, updated_at integer);
      create table messages (id text primary key, session_id text, role text, parts text, model text, created_at integer, updated_at integer);
      insert into sessions values ('s1', null, 'Looking', 100, 7, 0.1, 1790000000, 1790000000)`)
    const row = db.prepare("insert into messages values (?, 's1', ?, ?, 'm1', 1790000000, 1790000000)")
    row.run('m1', 'user', JSON.stringify([{ type: 'text', data: { text: 'Look.' } }]))
    row.run(
      'm2',
      'assistant',
      JSON.stringify([
        { type: 'text', data: { text: 'A cat.' } },
        { type: 'finish', data: { reason: 'end_turn' } },
      ]),
    )
  })
  const { messages, origin, damage } = read(path)
  expect(outline(messages)).toEqual(['user: Look.', 'assistant: A cat.'])
  expect([origin.id, origin.models, origin.usage, damage]).toEqual(['s1', ['m1'], { input: 100, output: 7 }, []])
})

describe('the opencode database', () => {
  const path = made('opencode.db', (db) => {
    db.exec(`
      create table project (id text primary key, worktree text);
      create table session (id text primary key, project_id text, parent_id text, slug text, directory text, title text,
        version text, permission text, revert text, time_created integer, time_updated integer);
      create table message (id text primary key, session_id text, time_created integer, time_updated integer, data text);
      create table part (id text primary key, message_id text, session_id text, time_created integer, time_updated integer, data text);
      create table todo (session_id text, content text, status text, position integer);
      insert into project values ('p1', '/work');
      insert into session values ('ses_1', 'p1', null, 'a-b', '/work', 'A look', '1.2.0', '[{"action":"ask"}]', null, 10, 20);
      insert into session values ('ses_2', 'p1', 'ses_1', 'c-d', '/work', 'Elsewhere', '1.2.0', null, null, 12, 12);
      insert into todo values ('ses_1', 'Look', 'done', 0)`)
    const message = db.prepare('insert into message values (?, ?, ?, 99, ?)')
    const part = db.prepare('insert into part values (?, ?, ?, 1, 98, ?)')
    message.run('msg_1', 'ses_1', 1, JSON.stringify({ role: 'user', time: { created: 1 } }))
    message.run('msg_2', 'ses_1', 2, JSON.stringify({ role: 'assistant', time: { created: 2 }, modelID: 'gpt' }))
    message.run('msg_3', 'ses_2', 3, JSON.stringify({ role: 'user', time: { created: 3 } }))
    part.run('prt_1', 'msg_1', 'ses_1', JSON.stringify({ type: 'text', text: 'Look.' }))
    part.run('prt_2', 'msg_2', 'ses_1', JSON.stringify({ type: 'text', text: 'I look.' }))
    const state = { status: 'completed', input: { at: 'a' }, output: 'a cat', title: '', metadata: {} }
    part.run('prt_3', 'msg_2', 'ses_1', JSON.stringify({ type: 'tool', callID: 'c1', tool: 'read', state }))
    part.run('prt_4', 'msg_3', 'ses_2', JSON.stringify({ type: 'text', text: 'Search.' }))
  })

  it('is read session by session', () => {
    const before = readFileSync(path)
    const first = read(path)
    expect([first, first.origin, first.messages].every(Object.isFrozen)).toBe(true)
    expect([first.format, first.count, first.damage, first.losses]).toEqual(['opencode', 2, [], []])
    expect(outline(first.messages)).toEqual(['user: Look.', 'assistant: I look. ▸ c1', 'tool: ◂ c1 a cat'])
    expect(isRight(settle(first.messages))).toBe(true)
    expect(first.origin).toMatchObject({
      id: 'ses_1',
      title: 'A look',
      version: '1.2.0',
      models: ['gpt'],
      metadata: { projectID: 'p1', permission: [{ action: 'ask' }], todos: [{ content: 'Look' }] },
      aside: { 'message of another conversation': 1, 'row of project': 1 },
    })
    expect(JSON.stringify(first.origin)).not.toContain('null')
    expect(JSON.stringify(first.messages)).toMatch(/"time_updated":99.*"time_updated":98/)
    const second = read(path, 1)
    expect([second.pick, outline(second.messages)]).toEqual([1, ['user: Search.']])
    expect(said(path, 2)).toBe('there is no conversation 2; the file has 2, numbered from 0')
    expect(readFileSync(path).equals(before)).toBe(true)
  })
  it('with one session leaves nothing aside', () => {
    const alone = made('opencode-alone.db', (db) => {
      db.exec(`
        create table session (id text primary key, title text, time_created integer, time_updated integer);
        create table message (id text primary key, session_id text, time_created integer, data text);
        create table part (id text primary key, message_id text, session_id text, data text);
        insert into session values ('ses_1', 'A look', 10, 20);
        insert into message values ('msg_1', 'ses_1', 1, '{"role":"user","time":{"created":1}}');
        insert into part values ('prt_1', 'msg_1', 'ses_1', '{"type":"text","text":"Look."}')`)
    })
    const { messages, origin } = read(alone)
    expect(outline(messages)).toEqual(['user: Look.'])
    expect(origin.aside).toEqual({})
    expect(JSON.stringify(origin)).not.toContain('todos')
  })
  it('of another shape is a fault, and an integer above 2^53 is its text', () => {
    const other = made('opencode-turns.db', (db) => {
      db.exec(`
        create table session (id text, title text, time_created integer, time_updated integer);
        create table message (id text, session_id text, time_created integer, data text);
        create table part (id text, message_id text, session_id text, data text);
        insert into session values ('s', 't', 1, 9007199254740993);
        insert into message values ('m', 's', 9007199254740993, '{"role":"user"}');
        insert into part values ('p', 'm', 's', '{"type":"text","text":"hi"}')`)
    })
    expect(JSON.stringify(read(other))).toMatch(/"hi".*"time_created":"9007199254740993"/)
    const db = new DatabaseSync(other)
    db.exec('alter table part rename column session_id to session')
    db.close()
    expect(said(other)).toContain('no such column: session_id')
  })

  it('lists its conversations with their last change', () => {
    const opened = openTranscriptDatabase(path)
    if (isLeft(opened)) throw new Error(faultMessage(opened.left))
    expect([opened.right.format, opened.right.conversations]).toEqual([
      'opencode',
      [
        { id: 'ses_1', title: 'A look', updated: '20' },
        { id: 'ses_2', title: 'Elsewhere', updated: '12' },
      ],
    ])
    opened.right.close()
  })
})

describe('LangGraph checkpoints', () => {
  const message = (name: string, kwargs: object) => ({
    lc: 1,
    type: 'constructor',
    id: ['langchain_core', 'messages', name],
    kwargs,
  })
  const messages = [
    message('HumanMessage', { content: 'Look.', id: 'h1' }),
    message('AIMessage', {
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'c1', name: 'look', input: {} },
      ],
      tool_calls: [{ name: 'look', args: { at: 'a' }, id: 'c1', type: 'tool_call' }],
      usage_metadata: { input_tokens: 10, output_tokens: 2, input_token_details: { cache_read: 5 } },
      response_metadata: { model_name: 'gpt' },
    }),
    message('ToolMessage', { content: 'no', tool_call_id: 'c1', name: 'look', status: 'error' }),
    message('AIMessageChunk', { content: 'A cat.' }),
  ]
  const checkpoint = (id: string, count: number) =>
    JSON.stringify({
      v: 4,
      id,
      ts: '2026-01-01T00:00:00Z',
      channel_values: { messages: messages.slice(0, count), topic: 'cats' },
    })
  const path = made('langgraph.db', (db) => {
    db.exec(`
      create table checkpoints (thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
        parent_checkpoint_id text, type text, checkpoint blob, metadata blob, primary key (thread_id, checkpoint_ns, checkpoint_id));
      create table writes (thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
        task_id text not null, idx integer not null, channel text not null, type text, value blob)`)
    const put = db.prepare('insert into checkpoints values (?, ?, ?, null, ?, ?, ?)')
    put.run('t1', '', '1', 'json', Buffer.from(checkpoint('1', 1)), Buffer.from('{"step":0}'))
    put.run('t1', '', '3', 'json', Buffer.from(checkpoint('3', 4)), Buffer.from('{"step":1}'))
    put.run('t1', 'inner', '4', 'json', Buffer.from(checkpoint('4', 1)), Buffer.from('{}'))
    put.run('t2', '', '2', 'msgpack', Buffer.from([0x83, 0xa1]), Buffer.from('{}'))
    put.run('t3', '', '5', 'msgpack+aes', Buffer.from([0x83, 0xa1]), Buffer.from('{}'))
    db.exec("insert into writes values ('t1', '', '3', 'task', 0, 'messages', 'json', '[]')")
  })

  it('are read thread by thread, from the last', () => {
    const { format, messages: found, origin, damage, count } = read(path)
    expect([format, count, damage]).toEqual(['langgraph', 3, []])
    expect(outline(found)).toEqual(['user: Look.', 'assistant: I look. ▸ c1', 'tool: ◂ c1 no', 'assistant: A cat.'])
    expect(isRight(settle(found))).toBe(true)
    expect(found[2]?.content[0]).toMatchObject({ name: 'look', isError: true })
    expect(origin).toMatchObject({
      id: 't1',
      models: ['gpt'],
      usage: { input: 10, output: 2, cacheRead: 5 },
      metadata: { metadata: { step: 1 }, checkpoint: { channel_values: { topic: 'cats' } } },
      aside: { 'earlier checkpoint': 1, 'checkpoint of a subgraph': 1, 'checkpoint of another thread': 2, write: 1 },
    })
    expect(said(path, 1)).toContain('damaged LangGraph msgpack')
    expect(said(path, 2)).toContain('of type "msgpack+aes"; only JSON and msgpack can be read')
  })
})

describe("checkpoints of LangGraph's Python SqliteSaver", () => {
  // As jsonplus.py spells them: an object is an extension of the type that its constructor takes.
  const codec = new ExtensionCodec()
  const written = (type: number, ...value: readonly unknown[]) =>
    new ExtData(type, encode(value, { extensionCodec: codec, useBigInt64: true }))
  const message = (name: string, fields: object) =>
    written(5, `langchain_core.messages.${name.toLowerCase()}`, `${name}Message`, { name: null, ...fields }, 'validate')
  const human = (content: string, id: string) => message('Human', { content, type: 'human', id })
  const answer = (id: string) =>
    message('AI', {
      content: [{ type: 'text', text: 'I look.' }],
      type: 'ai',
      id,
      tool_calls: [{ name: 'look', args: { at: 'a', n: 12345678901234567890n }, id: `c-${id}`, type: 'tool_call' }],
      invalid_tool_calls: [],
      usage_metadata: { input_tokens: 10, output_tokens: 2 },
      response_metadata: { model_name: 'claude' },
    })
  const result = (of: string, id: string) => message('Tool', { content: 'A cat.', type: 'tool', tool_call_id: of, id })
  const removal = (id: string) => message('Remove', { content: '', type: 'remove', id })
  const overwrite = (value: unknown) => written(2, 'langgraph.types', 'Overwrite', { value, type: '__overwrite__' })
  const snapshot = (messages: readonly unknown[]) => new ExtData(7, encode(messages, { extensionCodec: codec }))

  const bytes = (value: unknown): Buffer => Buffer.from(encode(value, { useBigInt64: true }))
  const saved = (
    name: string,
    checkpoints: readonly (readonly [id: string, parent: string | null, channels: object])[],
    writes: readonly (readonly [checkpoint: string, path: string, index: number, value: unknown])[] = [],
  ): string =>
    made(name, (db) => {
      db.exec(`
        create table checkpoints (thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
          parent_checkpoint_id text, type text, checkpoint blob, metadata blob, primary key (thread_id, checkpoint_ns, checkpoint_id));
        create table writes (thread_id text not null, checkpoint_ns text not null default '', checkpoint_id text not null,
          task_id text not null, task_path text not null default '', idx integer not null, channel text not null, type text, value blob)`)
      const put = db.prepare("insert into checkpoints values ('t', '', ?, ?, 'msgpack', ?, '{}')")
      for (const [id, parent, channels] of checkpoints)
        put.run(
          id,
          parent,
          bytes({
            v: 4,
            id,
            ts: '2026-01-01T00:00:00Z',
            channel_values: channels,
            channel_versions: { messages: '1' },
          }),
        )
      const write = db.prepare("insert into writes values ('t', '', ?, 'task', ?, ?, 'messages', 'msgpack', ?)")
      for (const [id, path, index, value] of writes) write.run(id, path, index, bytes(value))
    })

  it('are read, with Python-only values as text', () => {
    const seen = {
      when: written(3, 'datetime', 'datetime', '2026-05-01T00:00:00+00:00', 'fromisoformat'),
      kinds: written(0, 'builtins', 'set', [1, 2]),
      at: written(2, 'app', 'Place', { x: written(0, 'decimal', 'Decimal', '1.10') }),
      bytes: new Uint8Array([0, 255]),
      none: Number.NaN,
    }
    const messages = [human('Look.', 'h1'), answer('a1'), result('c-a1', 'r1')]
    const { messages: found, origin, damage, losses } = read(saved('python.db', [['1', null, { messages, seen }]]))
    expect([damage, losses]).toEqual([[], []])
    expect(origin.aside).toEqual({})
    expect(outline(found)).toEqual(['user: Look.', 'assistant: I look. ▸ c-a1', 'tool: ◂ c-a1 A cat.'])
    expect(found[1]?.content[1]).toMatchObject({ arguments: '{"at":"a","n":"12345678901234567890"}' })
    expect(origin).toMatchObject({
      id: 't',
      models: ['claude'],
      usage: { input: 10, output: 2 },
      metadata: {
        checkpoint: {
          channel_values: {
            seen: {
              when: { python: 'datetime.datetime', value: '2026-05-01T00:00:00+00:00' },
              kinds: { python: 'builtins.set', value: [1, 2] },
              at: { python: 'app.Place', args: { x: { python: 'decimal.Decimal', value: '1.10' } } },
              bytes: 'AP8=',
              none: 'NaN',
            },
          },
        },
      },
    })
  })

  it('with a delta channel combine the snapshot with later writes along the parents', () => {
    const path = saved(
      'python-delta.db',
      [
        ['1', null, {}],
        ['2', '1', { messages: snapshot([human('One.', 'h1'), human('Two.', 'h2')]) }],
        ['3', '2', {}],
        ['4', '2', {}], // of another fork
        ['5', '3', {}],
      ],
      [
        ['1', '', 0, human('never seen: before the snapshot', 'h0')],
        ['2', 'b', 0, [answer('a1')]],
        ['2', 'a', 1, removal('h1')],
        ['2', 'a', 0, human('Two, again.', 'h2')],
        ['3', '', 1, { role: 'assistant', content: 'It is a cat.' }],
        ['3', '', 0, [result('c-a1', 'r1')]],
        ['4', '', 0, human('of another fork', 'h4')],
        ['5', '', 0, human('not applied yet', 'h5')],
      ],
    )
    const { messages, origin } = read(path)
    expect(outline(messages)).toEqual([
      'user: Two, again.',
      'assistant: I look. ▸ c-a1',
      'tool: ◂ c-a1 A cat.',
      'assistant: It is a cat.',
    ])
    expect(origin.aside).toEqual({ 'earlier checkpoint': 4, write: 3 })
  })

  it('with an overwritten or emptied delta channel are read', () => {
    const all = message('Remove', { content: '', type: 'remove', id: '__remove_all__' })
    const chain: readonly (readonly [string, string | null, object])[] = [
      ['1', null, {}],
      ['2', '1', {}],
    ]
    const over = saved('python-over.db', chain, [
      ['1', '', 0, human('One.', 'h1')],
      ['1', '', 1, overwrite([human('Anew.', 'h2')])],
      ['1', '', 2, 'And on.'],
    ])
    expect(outline(read(over).messages)).toEqual(['user: Anew.', 'user: And on.'])
    const plain = saved('python-plain-over.db', chain, [
      ['1', '', 0, human('One.', 'h1')],
      ['1', '', 1, { __overwrite__: [human('Anew.', 'h2')] }],
    ])
    expect(outline(read(plain).messages)).toEqual(['user: Anew.'])
    const emptied = saved('python-emptied.db', chain, [
      ['1', '', 0, human('One.', 'h1')],
      ['1', '', 1, [all, human('Anew.', 'h2')]],
    ])
    expect(outline(read(emptied).messages)).toEqual(['user: Anew.'])
  })

  it('with circular parents are read without looping', () => {
    const path = saved(
      'python-circle.db',
      [
        ['1', '2', {}],
        ['2', '1', {}],
      ],
      [['1', '', 0, human('One.', 'h1')]],
    )
    expect(outline(read(path).messages)).toEqual(['user: One.'])
  })

  it('with random bytes are read or are a fault', () => {
    const path = saved('python-damaged.db', [['1', null, { messages: [human('Look.', 'h1'), answer('a1')] }]])
    const db = new DatabaseSync(path)
    db.exec('pragma synchronous = off; pragma journal_mode = memory')
    const whole = db.prepare('select checkpoint from checkpoints').get()?.['checkpoint'] as Uint8Array
    const update = db.prepare('update checkpoints set checkpoint = ?')
    let refused = 0
    for (let at = 0; at < whole.length; at += oneIn(9))
      for (const byte of [0xc1, 0xff, (whole[at] as number) ^ 1]) {
        const damaged = Uint8Array.from(whole)
        damaged[at] = byte
        update.run(damaged)
        if (isLeft(readTranscriptDatabase(path))) refused++
      }
    db.close()
    expect(refused).toBeGreaterThan(whole.length / 30)
  })
})

it('other files are not detected as databases, and none is created', () => {
  const text = join(folder, 'a.txt')
  writeFileSync(text, 'no database at all, but a text that is longer than the header of one would be')
  expect(said(text)).toContain("a file that SQLite can't read (file is not a database)")
  expect(said(join(folder, 'nowhere.db'))).toContain("a file that SQLite can't read (unable to open database file)")
  expect(said(made('other.db', (db) => db.exec('create table a (b)')))).toContain('a database with the tables "a"')
})
