import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { settle } from 'indelible'
import { lines, outline, read } from './reading.ts'

const item = (payload: object) => ({ timestamp: '2026-08-10T12:00:02.000Z', type: 'response_item', payload })
const event = (payload: object) => ({ timestamp: '2026-08-10T12:00:03.000Z', type: 'event_msg', payload })
const said = (role: string, text: string) =>
  item({ type: 'message', role, content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }] })
const call = (call_id: string) =>
  item({ type: 'function_call', call_id, name: 'exec_command', arguments: '{"cmd":"ls"}' })
const output = (call_id: string) => item({ type: 'function_call_output', call_id, output: 'ok' })

const rollout = [
  {
    timestamp: '2026-08-10T12:00:00.000Z',
    type: 'session_meta',
    payload: {
      id: 's1',
      timestamp: '2026-08-10T12:00:00.000Z',
      cwd: '/work',
      cli_version: '0.150.0',
      model_provider: 'openai',
    },
  },
  {
    timestamp: '2026-08-10T12:00:01.000Z',
    type: 'turn_context',
    payload: { cwd: '/work', model: 'gpt-5.5', approval_policy: 'never' },
  },
  said('developer', 'Be brief.'),
  said('user', '<environment_context>linux</environment_context>'),
  said('user', 'Look around.'),
  event({ type: 'user_message', message: 'Look around.' }),
  item({ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'x' }),
  call('c1'),
  call('c2'),
  output('c1'),
  event({ type: 'exec_command_end', call_id: 'c1' }),
  output('c2'),
  call('c3'),
  output('c3'),
  said('assistant', 'Nothing here.'),
  event({
    type: 'token_count',
    info: { last_token_usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 7 } },
  }),
]

describe('a Codex rollout', () => {
  it("is read item by item, with an answer's calls in one message", () => {
    const { format, messages, origin, damage, notes } = read(lines(rollout))
    expect(format).toBe('codex')
    expect(outline(messages)).toEqual([
      'developer: Be brief.',
      'user: <environment_context>linux</environment_context>',
      'user: Look around.',
      'assistant: ▸ c1 ▸ c2',
      'tool: ◂ c1 ok',
      'tool: ◂ c2 ok',
      'assistant: ▸ c3',
      'tool: ◂ c3 ok',
      'assistant: Nothing here.',
    ])
    expect(isRight(settle(messages))).toBe(true)
    expect([damage, notes]).toEqual([[], []])
    expect(origin).toEqual({
      version: '0.150.0',
      id: 's1',
      started: '2026-08-10T12:00:00.000Z',
      ended: '2026-08-10T12:00:03.000Z',
      models: ['gpt-5.5'],
      usage: { input: 100, output: 7, cacheRead: 60 },
      uses: [{ model: 'gpt-5.5', day: '2026-08-10', calls: 1, input: 100, output: 7, cacheRead: 60 }],
      metadata: { cwd: '/work', model_provider: 'openai' },
      aside: { turn_context: 1, 'event user_message': 1, 'event exec_command_end': 1, 'event token_count': 1 },
    })
  })
  it("counts an answer's tokens once if they are repeated", () => {
    const told = (last: number, total?: number) =>
      event({
        type: 'token_count',
        info: {
          last_token_usage: { input_tokens: last, cached_input_tokens: 0, output_tokens: 1 },
          ...(total !== undefined && { total_token_usage: { total_tokens: total } }),
        },
      })
    const { origin } = read(
      lines([...rollout.slice(0, -1), told(10, 11), told(10, 11), told(10, 22), told(10, 22), told(5), told(5)]),
    )
    expect(origin.uses).toEqual([{ model: 'gpt-5.5', day: '2026-08-10', calls: 4, input: 30, output: 4 }])
  })
  it('of the first version has items as lines', () => {
    const { format, messages, origin } = read(
      lines([
        { id: 's0', timestamp: '2025-06-01T00:00:00Z', instructions: null, git: { branch: 'main' } },
        { record_type: 'state' },
        ...rollout.slice(4, 5).map((line) => (line as { payload: unknown }).payload),
        { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'ok' },
      ]),
    )
    expect([format, origin.id, origin.metadata, origin.aside]).toEqual([
      'codex',
      's0',
      { instructions: null, git: { branch: 'main' } },
      { state: 1 },
    ])
    expect(outline(messages)).toEqual(['user: Look around.', 'assistant: ▸ c1', 'tool: ◂ c1 ok'])
  })
  it('omits rolled back turns', () => {
    const turn = (text: string) => [said('user', text), said('assistant', `${text}!`)]
    const back = (num_turns: number) => event({ type: 'thread_rolled_back', num_turns })
    const after = (...entries: readonly object[]) => outline(read(lines([rollout[0], ...entries])).messages)
    expect(after(...turn('a'), ...turn('b'), back(1), ...turn('c'))).toEqual([
      'user: a',
      'assistant: a!',
      'user: c',
      'assistant: c!',
    ])
    expect(after(...turn('a'), ...turn('b'), back(1), back(1), ...turn('c'))).toEqual(['user: c', 'assistant: c!'])
    expect(after(...turn('a'), ...turn('b'), back(1), ...turn('c'), back(2), ...turn('d'))).toEqual([
      'user: d',
      'assistant: d!',
    ])
    expect(after(said('user', '<environment_context>x'), ...turn('a'), back(9), ...turn('b'))).toEqual([
      'user: <environment_context>x',
      'user: b',
      'assistant: b!',
    ])
    expect(after(back(3), back(0), ...turn('a'))).toEqual(['user: a', 'assistant: a!'])
  })
  it("has a compaction's summary as a note, and all messages that it hid", () => {
    const { messages, notes } = read(
      lines([
        ...rollout,
        { timestamp: 't', type: 'compacted', payload: { message: 'We looked.', window: 1 } },
        said('user', 'Go on.'),
      ]),
    )
    expect(messages.length).toBe(10)
    expect(notes).toMatchObject([
      {
        position: 9,
        note: { type: 'application', namespace: 'codex', content: { timestamp: 't', payload: { window: 1 } } },
      },
      { position: 9, note: { type: 'summary', from: 0, to: 9, text: 'We looked.' } },
    ])
  })
  it('lists damaged lines and items, and keeps everything else', () => {
    const damaged = [
      ...rollout.slice(0, 7),
      item({ type: 'function_call', call_id: 7 }),
      item({ type: 'function_call', call_id: 'c9' }),
      { type: 'future', payload: {} },
      ...rollout.slice(7),
    ]
    const { messages, damage, notes, origin } = read(lines(damaged))
    expect(outline(messages).length).toBe(9)
    expect(damage.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
      '9: name should be a string, found nothing',
    ])
    expect(notes).toMatchObject([{ position: 9, note: { namespace: 'codex', content: { type: 'future' } } }])
    expect(origin.aside['future']).toBe(1)
  })
  it('counts the state of the program and the messages between its agents, which are none of the conversation', () => {
    const others = ['world_state', 'inter_agent_communication'].map((type) => ({ type, payload: { message: 'x' } }))
    const { messages, damage, losses, notes, origin } = read(lines([...rollout, ...others]))
    expect([outline(messages), damage, losses, notes]).toEqual([outline(read(lines(rollout)).messages), [], [], []])
    expect(origin.aside).toMatchObject({ world_state: 1, inter_agent_communication: 1 })
  })
})

describe('the file of a sub-agent', () => {
  const parent = '01a225d4-a0b1-7cb1-9d4e-b59679be4e0e'
  const own = '01a225d5-0d11-7300-b162-977ba6b67e09'
  const timestamp = '2026-11-29T05:44:09.234Z'
  const header = (more: object) => ({
    ...{ timestamp, ordinal: 0, type: 'session_meta' },
    payload: { id: own, forked_from_id: parent, parent_thread_id: parent, timestamp, ...more },
  })
  const line = (ordinal: number | undefined, type: string, payload: object, at: string = timestamp) => ({
    ...{ timestamp: at, type, payload, ...(ordinal !== undefined && { ordinal }) },
  })
  const counts = (input: number) => ({ input_tokens: input, cached_input_tokens: 0, output_tokens: 1 })
  const counted = (ordinal: number | undefined, input: number, at?: string) => {
    const info = { total_token_usage: counts(input), last_token_usage: counts(input) }
    return line(ordinal, 'event_msg', { type: 'token_count', info }, at)
  }
  const turn = (ordinal: number | undefined, turn_id: string, at?: string) =>
    line(ordinal, 'event_msg', { type: 'task_started', turn_id }, at)

  it('its header says where its own history begins, however soon it answers and however long the copy took', () => {
    const late = '2026-11-29T05:44:19.000Z'
    const file = lines([
      header({ subagent_history_start_ordinal: 3 }),
      counted(1, 100),
      counted(2, 200, late),
      counted(3, 7),
      counted(4, 8, late),
    ])
    expect(read(file).origin).toMatchObject({ usage: { input: 15, output: 2 }, copied: 2 })
  })

  it('without that, the turns before the session are copies', () => {
    const late = '2026-11-29T05:44:19.000Z'
    const file = lines([
      header({}),
      turn(undefined, '01a225d4-f701-7c72-a49c-4781e1df5f8a'),
      counted(undefined, 100),
      counted(undefined, 200, late),
      turn(undefined, '01a225d5-0d25-70a1-bc86-f545815183de'),
      counted(undefined, 7),
      counted(undefined, 8, late),
    ])
    expect(read(file).origin).toMatchObject({ usage: { input: 15, output: 2 }, copied: 2 })
  })

  it('a record of a call names its session, counts once beside its token_count, and has the call of a compaction', () => {
    const record = (thread_id: string, response_id: string, input: number) =>
      line(undefined, 'token_usage_record', { thread_id, response_id, usage: counts(input) })
    const file = lines([
      header({}),
      record(parent, 'r1', 100),
      record(own, 'r2', 7),
      counted(undefined, 7),
      record(own, 'r3', 50), // a compaction
      line(undefined, 'compacted', { message: 'short' }),
      record(own, 'r4', 7),
      counted(undefined, 7),
      record(own, 'r4', 7),
    ])
    expect(read(file).origin).toMatchObject({ usage: { input: 64, output: 3 }, copied: 1 })
  })
})
