/** SQLite files that other programs keep, made here as those make them. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { afterAll, describe, expect, it } from 'vitest'
import { faultMessage, settle, type Transcript } from 'indelible'
import { openTranscriptDatabase, readTranscriptDatabase } from 'indelible/transcript/sqlite'
import { outline } from './reading.ts'

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

describe('the database of opencode', () => {
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
    expect(JSON.stringify(first.messages)).toMatch(/"time_updated":99.*"time_updated":98/)
    const second = read(path, 1)
    expect([second.pick, outline(second.messages)]).toEqual([1, ['user: Search.']])
    expect(said(path, 2)).toBe('there is no conversation 2; the file has 2, numbered from 0')
    expect(readFileSync(path).equals(before)).toBe(true)
  })
  it('says which conversations it holds, and when they changed', () => {
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

describe('checkpoints of LangGraph', () => {
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
    db.exec("insert into writes values ('t1', '', '3', 'task', 0, 'messages', 'json', '[]')")
  })

  it('are read thread by thread, from the last', () => {
    const { format, messages: found, origin, damage, count } = read(path)
    expect([format, count, damage]).toEqual(['langgraph', 2, []])
    expect(outline(found)).toEqual(['user: Look.', 'assistant: I look. ▸ c1', 'tool: ◂ c1 no', 'assistant: A cat.'])
    expect(isRight(settle(found))).toBe(true)
    expect(found[2]?.content[0]).toMatchObject({ name: 'look', isError: true })
    expect(origin).toMatchObject({
      id: 't1',
      models: ['gpt'],
      usage: { input: 10, output: 2, cacheRead: 5 },
      metadata: { metadata: { step: 1 }, checkpoint: { channel_values: { topic: 'cats' } } },
      aside: { 'earlier checkpoint': 1, 'checkpoint of a subgraph': 1, 'checkpoint of another thread': 1, write: 1 },
    })
    expect(said(path, 1)).toContain('LangGraph for Python writes msgpack')
  })
})

it('no other file is one of these, and none is made', () => {
  const text = join(folder, 'a.txt')
  writeFileSync(text, 'no database at all, but a text that is longer than the header of one would be')
  expect(said(text)).toContain("a file that SQLite can't read (file is not a database)")
  expect(said(join(folder, 'nowhere.db'))).toContain("a file that SQLite can't read (unable to open database file)")
  expect(said(made('other.db', (db) => db.exec('create table a (b)')))).toContain('a database with the tables "a"')
})
