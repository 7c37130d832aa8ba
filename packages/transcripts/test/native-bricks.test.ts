/** Sessions that their own program can't continue any more: read, and written anew, they say all that they said. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { faultMessage, settle, type Message } from 'indelible'
import { readTranscript, writeNative, type NativeProgram } from '@indelible/transcripts'

const options = { id: '0b0f5e8a-6c1d-4f2e-9a3b-112233445566', now: 1_795_000_000_000, cwd: '/work' } as const
const timestamp = '2026-11-23T08:00:00.000Z'

const read = (lines: readonly (object | string)[]) => {
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n')
  const found = readTranscript(text)
  if (isLeft(found)) throw new Error(faultMessage(found.left))
  return found.right
}

const said = (messages: readonly Message[]): string =>
  messages
    .flatMap(({ content }) =>
      content.map((part) =>
        part.type === 'text'
          ? part.text
          : part.type === 'tool_call'
            ? `${part.name}(${part.arguments})`
            : part.type === 'tool_result'
              ? `= ${part.content.map((resultPart) => (resultPart.type === 'text' ? resultPart.text : resultPart.type)).join()}`
              : part.type,
      ),
    )
    .join(' | ')

/** What is read of a session, and of the one that is written for the same program. */
const healed = (program: NativeProgram, lines: readonly (object | string)[]): string => {
  const { messages } = read(lines)
  const native = writeNative(messages, program, options)
  const again = read(native.lines)
  expect(again.damage).toEqual([])
  expect(isLeft(settle(again.messages))).toBe(false)
  return said(again.messages)
}

const none = '= No result was recorded for this call.'

// Claude Code
const envelope = (uuid: string | undefined, parentUuid: string | null | undefined) => ({
  ...(uuid !== undefined && { uuid }),
  ...(parentUuid !== undefined && { parentUuid }),
  sessionId: 's',
  timestamp,
})
const asks = (uuid: string | undefined, parent: string | null | undefined, content: unknown) => ({
  ...envelope(uuid, parent),
  type: 'user',
  message: { role: 'user', content },
})
const says = (uuid: string | undefined, parent: string | null | undefined, ...content: readonly object[]) => ({
  ...envelope(uuid, parent),
  type: 'assistant',
  message: { id: `m_${String(uuid)}`, type: 'message', role: 'assistant', model: 'm', content },
})
const text = (value: string) => ({ type: 'text', text: value })
const use = (id: string) => ({ type: 'tool_use', id, name: 'look', input: {} })
const result = (id: string, content: string) => [{ type: 'tool_result', tool_use_id: id, content }]

it.each([
  ['null', null],
  ['absent', undefined],
])('Claude Code: each parent is %s', (_, parent) => {
  const lines = [
    asks('a', parent, 'one'),
    { ...envelope('x', parent), type: 'attachment', attachment: { type: 'hook' } },
    says('b', parent, use('t')),
    asks('c', parent, result('t', 'two')),
    says('d', parent, text('three')),
    asks('e', parent, 'four'),
  ]
  expect(healed('claude-code', lines)).toBe('one | look({}) | = two | three | four')
})

it('Claude Code: going back to the first message drops later ones', () => {
  const lines = [
    asks('a', null, 'one'),
    says('b', 'a', text('two')),
    asks('c', null, 'another'),
    says('d', 'c', text('three')),
  ]
  expect(healed('claude-code', lines)).toBe('another | three')
})

it('Claude Code: lines without uuid', () => {
  const lines = [asks(undefined, null, 'one'), says(undefined, null, text('two')), asks(undefined, null, 'three')]
  expect(healed('claude-code', lines)).toBe('one | two | three')
  expect(read(lines).damage.length).toBeGreaterThan(0)
})

it('Claude Code: an answer in the middle without its result, and a call id that is used twice', () => {
  const lines = [
    asks('a', null, 'one'),
    says('b', 'a', text('I look.'), use('t')),
    asks('c', 'b', 'two'),
    says('d', 'c', use('t')),
    asks('e', 'd', result('t', 'a cat')),
  ]
  expect(healed('claude-code', lines)).toBe(`one | I look. | look({}) | ${none} | two | look({}) | = a cat`)
})

// Codex
const item = (payload: object) => ({ timestamp, type: 'response_item', payload })
const words = (role: 'user' | 'assistant', value: string) =>
  item({ type: 'message', role, content: [{ type: role === 'user' ? 'input_text' : 'output_text', text: value }] })
const calls = (id: string) => item({ type: 'function_call', name: 'look', arguments: '{}', call_id: id })

it.each([
  ['is torn', '{"timestamp":"2026-11-23T08:00:00.000Z","type":"session_me'],
  [
    'names a parent that is gone',
    { timestamp, type: 'session_meta', payload: { id: 'x', timestamp, history_base: { thread_id: 'gone' } } },
  ],
  [
    'names a provider that is gone',
    { timestamp, type: 'session_meta', payload: { id: 'x', timestamp, model_provider: 'gone' } },
  ],
  ['is absent', calls('c0')],
])('Codex: the first line %s', (name, first) => {
  const lines = [first, words('user', 'one'), calls('c'), words('user', 'two'), words('assistant', 'three')]
  const before = name === 'is absent' ? `(start) | look({}) | ${none} | ` : ''
  expect(healed('codex', lines)).toBe(`${before}one | look({}) | ${none} | two | three`)
  expect(writeNative(read(lines).messages, 'codex', options).lines.join('')).not.toContain('gone')
})

// Gemini CLI
const header = { sessionId: 's', projectHash: 'h', startTime: timestamp, lastUpdated: timestamp }
const gemini = (id: string, type: 'user' | 'gemini', content: unknown, more: object = {}) => ({
  id,
  timestamp,
  type,
  content,
  ...more,
})
const answer = (id: string, output: string) => ({ functionResponse: { id, name: 'look', response: { output } } })
const toolCall = (id: string, ...answers: readonly object[]) => ({
  id,
  name: 'look',
  args: {},
  status: 'success',
  ...(answers.length > 0 && { result: answers }),
})

it('Gemini CLI: repeated results, as in every own session with a tool', () => {
  const lines = [
    header,
    gemini('1', 'user', [text('one')]),
    gemini('2', 'gemini', 'I look.', { toolCalls: [toolCall('c', answer('c', 'a cat'))] }),
    gemini('3', 'user', [answer('c', 'a cat')]),
    gemini('4', 'gemini', 'A cat.'),
  ]
  expect(healed('gemini', lines)).toBe('one | I look. | look({}) | = a cat | A cat.')
  expect(writeNative(read(lines).messages, 'gemini', options).lines.join('\n').split('"a cat"').length).toBe(2)
})

it('Gemini CLI: a torn header, a call without a result, and a result without a call', () => {
  const lines = [
    '{"sessionId":"s","projec',
    gemini('1', 'user', [text('one')]),
    gemini('2', 'gemini', 'I look.', { toolCalls: [toolCall('c')] }),
    gemini('3', 'user', [answer('gone', 'a dog')]),
    gemini('4', 'user', [text('two')]),
  ]
  expect(healed('gemini', lines)).toBe(`one | I look. | look({}) | ${none} | two`)
})

// pi
const entry = (id: string, parentId: string | null, message: object) => ({
  type: 'message',
  id,
  parentId,
  timestamp,
  message,
})
const assistantOf = (...content: readonly object[]) => ({
  role: 'assistant',
  content,
  api: 'a',
  provider: 'p',
  model: 'm',
})
const piHeader = { type: 'session', version: 3, id: 's', timestamp, cwd: '/gone' }

it('pi: a broken parent, a torn line in the middle, and a result without a call', () => {
  const lines = [
    piHeader,
    entry('1', null, { role: 'user', content: 'one' }),
    '{"type":"message","id":"2","parentId":"1","mess',
    entry('3', '2', { role: 'user', content: 'three' }),
    entry('4', 'gone', assistantOf(text('four'))),
    entry('5', '4', {
      role: 'toolResult',
      toolCallId: 'gone',
      toolName: 'look',
      content: [text('a dog')],
      isError: false,
    }),
    entry('6', '5', { role: 'user', content: 'six' }),
  ]
  expect(healed('pi', lines)).toBe('one | three | four | six')
  expect(writeNative(read(lines).messages, 'pi', options).lines[0]).toContain('"cwd":"/work"')
})

it('pi: system messages, written since 0.80, are notes', () => {
  const lines = [
    piHeader,
    entry('0', null, { role: 'system', content: '', sections: { preamble: 'You are pi.' }, toolsAdded: [] }),
    entry('1', '0', { role: 'user', content: 'one' }),
  ]
  const { damage, notes, messages } = read(lines)
  expect([damage, notes.length, said(messages)]).toEqual([[], 1, 'one'])
})

// opencode
const open = (id: string, role: 'user' | 'assistant', created: number, value: string, parentID?: string) => ({
  info: { id, role, sessionID: 's', time: { created }, ...(parentID !== undefined && { parentID }) },
  parts: [{ id: `prt_${id}`, type: 'text', text: value }],
})

it.each([
  ['an answer is older than its question', [4, 3, 2, 1]],
  ['all are the same', [0, 0, 0, 0]],
])('opencode: wrong times: %s', (_, times) => {
  const messages = [
    open('msg_1', 'user', times[0] as number, 'one'),
    open('msg_2', 'assistant', times[1] as number, 'two', 'msg_1'),
    open('msg_3', 'user', times[2] as number, 'three'),
    open('msg_4', 'assistant', times[3] as number, 'four', 'msg_3'),
  ]
  expect(healed('opencode', [{ info: { id: 's', version: '1' }, messages }])).toBe('one | two | three | four')
  const created = JSON.parse(
    writeNative(read([{ info: { id: 's' }, messages }]).messages, 'opencode', options).lines[0] as string,
  ) as {
    readonly messages: readonly { readonly info: { readonly time: { readonly created: number } } }[]
  }
  const written = created.messages.map(({ info }) => info.time.created)
  expect(written).toEqual([...new Set(written)].toSorted((a, b) => a - b))
})
