import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { mend, settle } from 'indelible'
import { anthropic } from 'indelible/codecs/anthropic'
import { refusal } from '../../../test/codecs/judges/anthropic.ts'
import { sourceTimeOf } from '@indelible/transcripts'
import { callUsageOf } from '@indelible/transcripts/internal'
import { lines, outline, read, said } from './reading.ts'

const envelope = (uuid: string, parentUuid: string | null, more: object = {}) => ({
  parentUuid,
  isSidechain: false,
  userType: 'external',
  cwd: '/work',
  sessionId: 's1',
  version: '2.1.0',
  gitBranch: 'main',
  uuid,
  timestamp: `2026-01-01T00:00:0${uuid.length % 10}Z`,
  ...more,
})
const asks = (uuid: string, parent: string | null, content: unknown, more: object = {}) => ({
  ...envelope(uuid, parent, more),
  type: 'user',
  message: { role: 'user', content },
})
const answers = (uuid: string, parent: string | null, id: string, block: object, more: object = {}) => ({
  ...envelope(uuid, parent, more),
  type: 'assistant',
  requestId: `req_${id}`,
  message: {
    id,
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-5',
    content: [block],
    stop_reason: null,
    usage: { input_tokens: 3, output_tokens: 5, cache_read_input_tokens: 7, cache_creation_input_tokens: 11 },
  },
})
const text = (value: string) => ({ type: 'text', text: value })
const use = (id: string) => ({ type: 'tool_use', id, name: 'Read', input: { file: 'a.ts' } })
const result = (uuid: string, parent: string, id: string) =>
  asks(uuid, parent, [{ type: 'tool_result', tool_use_id: id, content: `of ${id}` }], { toolUseResult: { stdout: id } })

it('each message of a Claude Code line has its time, also a text after a result', () => {
  const both = asks('r1', 'a1', [{ type: 'tool_result', tool_use_id: 't1', content: 'x' }, text('Go on.')])
  const { messages } = read(lines([asks('u1', null, 'Look.'), answers('a1', 'u1', 'msg_1', use('t1')), both]))
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  expect(messages.map(sourceTimeOf)).toEqual(Array(4).fill(Date.parse('2026-01-01T00:00:02Z')))
})

const session = [
  { type: 'summary', summary: 'Looking around', leafUuid: 'x' },
  { type: 'file-history-snapshot', messageId: 'm', snapshot: {}, isSnapshotUpdate: false },
  asks('u1', null, 'Look around.'),
  answers('a1', 'u1', 'msg_1', { type: 'thinking', thinking: 'hm', signature: 'sig' }),
  answers('a2', 'a1', 'msg_1', text('I look.')),
  answers('a3', 'a2', 'msg_1', use('t1')),
  { ...envelope('p1', 'a3'), type: 'progress', data: { type: 'hook_progress' } },
  result('r1', 'a3', 't1'),
  answers('a4', 'a3', 'msg_1', use('t2')),
  result('r2', 'a4', 't2'),
  { ...envelope('y1', 'r2'), type: 'system', subtype: 'informational', content: 'note' },
  answers('a5', 'y1', 'msg_2', text('Nothing here.')),
]

describe('a Claude Code session', () => {
  it('can be sent: empty content, which the API refuses, is removed', () => {
    const { messages } = read(
      lines([
        asks('u1', null, 'Look around.'),
        asks('u2', 'u1', [text(''), text('Please.')]),
        answers('a1', 'u2', 'msg_1', text('')),
        answers('a2', 'a1', 'msg_1', use('t1')),
        asks('r1', 'a2', [{ type: 'tool_result', tool_use_id: 't1', content: '', is_error: false }]),
        answers('a3', 'r1', 'msg_2', use('t2')),
        asks('r2', 'a3', [{ type: 'tool_result', tool_use_id: 't2', content: [text(' ')], is_error: true }]),
        asks('u3', 'r2', ''),
        asks('u4', 'u3', []),
        answers('a4', 'u4', 'msg_3', text('Nothing here.')),
      ]),
    )
    const written = anthropic.encode(mend(messages).messages)
    expect(isRight(written) && refusal({ model: 'm', max_tokens: 1, ...written.right.wire })).toBe(undefined)
    expect(isRight(written) && JSON.stringify(written.right.wire)).not.toContain('""')
  })
  it('is assembled: one message per answer with every result of its parallel calls', () => {
    const { format, messages, notes, origin, damage } = read(lines(session))
    expect(format).toBe('claude-code')
    expect(outline(messages)).toEqual([
      'user: Look around.',
      'assistant: I look. ▸ t1 ▸ t2',
      'tool: ◂ t1 of t1',
      'tool: ◂ t2 of t2',
      'assistant: Nothing here.',
    ])
    expect(isRight(settle(messages))).toBe(true)
    expect(damage).toEqual([])
    expect(messages[1]).toMatchObject({
      id: 'msg_1',
      content: [{ type: 'reasoning', text: 'hm', signature: 'sig' }, {}, {}, {}],
    })
    expect(messages[1]?.meta?.['claude-code']).toEqual({
      parentUuid: 'u1',
      uuid: 'a1',
      timestamp: '2026-01-01T00:00:02Z',
      requestId: 'req_msg_1',
      others: ['a2', 'a3', 'a4'].map((uuid, index) => ({
        parentUuid: ['a1', 'a2', 'a3'][index],
        uuid,
        timestamp: '2026-01-01T00:00:02Z',
      })),
    })
    expect(messages[2]?.meta?.['claude-code']).toMatchObject({ uuid: 'r1', toolUseResult: { stdout: 't1' } })
    expect(notes).toMatchObject([
      { position: 4, note: { type: 'application', namespace: 'claude-code', content: { subtype: 'informational' } } },
    ])
    expect(origin).toEqual({
      version: '2.1.0',
      id: 's1',
      title: 'Looking around',
      started: '2026-01-01T00:00:02Z',
      ended: '2026-01-01T00:00:02Z',
      models: ['claude-opus-5'],
      usage: { input: 42, output: 10, cacheRead: 14, cacheWrite: 22 },
      calls: [expect.objectContaining({ at: expect.any(Number) }), expect.anything()],
      uses: [
        { model: 'claude-opus-5', day: '2026-01-01', calls: 2, input: 42, output: 10, cacheRead: 14, cacheWrite: 22 },
      ],
      metadata: { cwd: '/work', gitBranch: 'main', userType: 'external', isSidechain: false },
      aside: { summary: 1, 'file-history-snapshot': 1, progress: 1 },
      callIds: [expect.any(String), expect.any(String)],
    })
  })
  it('counts the answers whose usage was written at the start of their stream, before their tokens', () => {
    const long = text('I read the file, and then I change it. '.repeat(4))
    const { origin, messages } = read(
      lines([
        asks('u1', null, 'Look.'),
        answers('a1', 'u1', 'msg_1', long),
        answers('a2', 'a1', 'msg_2', text('Done.')),
      ]),
    )
    expect(origin.uses).toMatchObject([{ calls: 2, undercounted: 1, output: 10 }])
    expect(messages.map((message) => callUsageOf(message)?.undercounted)).toEqual([undefined, true, undefined])
  })
  it('has the usage of the last line of an answer', () => {
    const long = text('I read the file, and then I change it. '.repeat(4))
    const last = answers('a2', 'a1', 'msg_1', use('t1'))
    const whole = { ...last, message: { ...last.message, usage: { ...last.message.usage, output_tokens: 60 } } }
    const { origin } = read(lines([asks('u1', null, 'Look.'), answers('a1', 'u1', 'msg_1', long), whole]))
    expect(origin.uses).toMatchObject([{ calls: 1, output: 60 }])
    expect(origin.uses?.[0]).not.toHaveProperty('undercounted')
  })
  it('is the path to its last entry: content before an edit is on another branch', () => {
    const { messages, origin } = read(
      lines([
        ...session,
        asks('u2', 'a5', 'Go on.'),
        answers('a6', 'u2', 'msg_3', text('Done.')),
        asks('u3', 'a5', 'Stop.'),
      ]),
    )
    expect(outline(messages).slice(5)).toEqual(['user: Stop.'])
    expect(origin.aside['item of another branch']).toBe(2)
    const early = read(lines([...session, asks('u9', null, 'Anew.')]))
    expect(outline(early.messages)).toEqual(['user: Anew.'])
  })
  it('has results of calls off the path, but none of calls on another branch', () => {
    const parallel = [
      asks('u1', null, 'Both.'),
      answers('a1', 'u1', 'msg_1', use('t1')),
      answers('a2', 'a1', 'msg_1', use('t2')),
      result('r2', 'a2', 't2'),
      result('r1', 'a1', 't1'),
      answers('a3', 'r1', 'msg_2', text('Done.')),
    ]
    expect(outline(read(lines(parallel)).messages)).toEqual([
      'user: Both.',
      'assistant: ▸ t1 ▸ t2',
      'tool: ◂ t2 of t2',
      'tool: ◂ t1 of t1',
      'assistant: Done.',
    ])
    expect(outline(read(lines([...parallel, asks('u2', null, 'Anew.')])).messages)).toEqual(['user: Anew.'])
    const branched = [
      asks('u1', null, 'Look.'),
      answers('a1', 'u1', 'msg_1', text('I look.')),
      { ...envelope('p1', 'u1'), type: 'progress', data: { type: 'hook_progress' } },
      result('r1', 'p1', 't1'),
      answers('a2', 'a1', 'msg_2', text('Done.')),
    ]
    expect(outline(read(lines(branched)).messages)).toEqual(['user: Look.', 'assistant: I look.', 'assistant: Done.'])
  })
  it('has side chains as separate conversations', () => {
    const aside = { isSidechain: true }
    const all = lines([
      asks('u1', null, 'Delegate.'),
      answers('a1', 'u1', 'msg_1', use('t1')),
      asks('s1', null, 'Find it.', aside),
      answers('s2', 's1', 'msg_s', text('Found.'), aside),
      asks('v1', null, 'Find more.', aside),
      result('r1', 'a1', 't1'),
      answers('s3', 's2', 'msg_t', text('All of it.'), aside),
      answers('a2', 'r1', 'msg_2', text('It is found.')),
    ])
    const main = read(all)
    expect([main.count, main.origin.aside]).toEqual([3, { 'line of another conversation': 4 }])
    expect(outline(main.messages)).toEqual([
      'user: Delegate.',
      'assistant: ▸ t1',
      'tool: ◂ t1 of t1',
      'assistant: It is found.',
    ])
    expect(outline(read(all, { pick: 1 }).messages)).toEqual([
      'user: Find it.',
      'assistant: Found.',
      'assistant: All of it.',
    ])
    expect(outline(read(all, { pick: 2 }).messages)).toEqual(['user: Find more.'])
    expect(said(all, { pick: 3 })).toBe('there is no conversation 3; the file has 3, numbered from 0')
    const agent = read(
      lines([
        asks('s1', null, 'Find it.', { ...aside, agentId: 'x' }),
        answers('s2', 's1', 'msg_s', text('Found.'), { ...aside, agentId: 'x' }),
      ]),
    )
    expect([agent.count, agent.origin.metadata['agentId'], outline(agent.messages)]).toEqual([
      1,
      'x',
      ['user: Find it.', 'assistant: Found.'],
    ])
  })
  it('continues after a compaction, whose summary is a note', () => {
    const { messages, notes } = read(
      lines([
        ...session,
        {
          ...envelope('b1', null, { logicalParentUuid: 'a5' }),
          type: 'system',
          subtype: 'compact_boundary',
          content: 'Conversation compacted',
          compactMetadata: { trigger: 'auto', preTokens: 9 },
        },
        asks('c1', 'b1', 'This session is being continued. They looked.', {
          isCompactSummary: true,
          isVisibleInTranscriptOnly: true,
        }),
        asks('u2', 'c1', 'Go on.'),
      ]),
    )
    expect(outline(messages).length).toBe(6)
    expect(notes.slice(1)).toMatchObject([
      { position: 5, note: { type: 'application', content: { subtype: 'compact_boundary' } } },
      { position: 5, note: { type: 'application', content: { isCompactSummary: true } } },
      { position: 5, note: { type: 'summary', from: 0, to: 5, text: 'This session is being continued. They looked.' } },
    ])
  })
  it('lists unreadable lines and continues', () => {
    const [...all] = session as object[]
    all.splice(4, 1, answers('a2', 'a1', 'msg_1', { type: 'text' }))
    all.splice(10, 0, { type: 'future-kind', sessionId: 's1' }, { type: 'user', sessionId: 's1', message: {} })
    const { messages, damage, notes, origin } = read(lines(all).replace('"uuid":"u1"', '"uuid":"u1'))
    expect(outline(messages)).toEqual([
      'assistant: ▸ t1 ▸ t2',
      'tool: ◂ t1 of t1',
      'tool: ◂ t2 of t2',
      'assistant: Nothing here.',
    ])
    expect(damage.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
      expect.stringMatching(/^3: is not JSON at column /),
      '5: message.content[0].text should be a string, found nothing',
      '12: uuid should be a string, found nothing',
    ])
    expect(notes).toMatchObject([
      { position: 3, note: { namespace: 'claude-code', content: { type: 'future-kind', sessionId: 's1' } } },
      { position: 3, note: { content: { subtype: 'informational' } } },
    ])
    expect(origin.aside['future-kind']).toBe(1)
  })
})

it('only a user line that holds no results begins anew where it has no parent', () => {
  const began = lines([
    asks('a', null, 'one'),
    answers('b', 'a', 'm1', { type: 'text', text: 'Yes.' }),
    asks('c', null, [{ type: 'text', text: 'two' }]),
  ])
  const answered = lines([
    asks('a', null, 'one'),
    answers('b', 'a', 'm1', { type: 'tool_use', id: 't', name: 'f', input: {} }),
    asks('c', null, [{ type: 'tool_result', tool_use_id: 't', content: 'ok' }]),
  ])
  expect([read(began).messages.length, read(began).damage]).toEqual([1, []])
  expect(read(answered).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  expect(read(answered).damage).toMatchObject([
    { line: 3, reason: 'has no parent; read as following the previous entry' },
  ])
})
