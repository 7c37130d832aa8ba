/** Lines in any order, written again, torn, and joined: every message of every whole entry is read. */
import {
  assert,
  array,
  asyncProperty,
  boolean,
  constant,
  constantFrom,
  double,
  nat,
  oneof,
  property,
  record,
  type Arbitrary,
} from 'fast-check'
import { describe, expect, it } from 'vitest'
import { textOf } from 'indelible'
import { readTranscriptStream, type TranscriptEvent } from '@indelible/transcripts'
import type { JsonObject } from '../../../src/json/index.ts'
import { ParentFirst } from '../src/format/parent-first.ts'
import { rounds } from '../../../test/rounds.ts'
import { lines, outline, read } from './reading.ts'

type Line = (id: string, parent: string | null, isUser: boolean, text: string) => object

const timestamp = '2026-01-01T00:00:00.000Z'

/** The line of a message, by format. */
const formats: { readonly [format: string]: { readonly header: readonly object[]; readonly line: Line } } = {
  'claude-code': {
    header: [],
    line: (uuid, parentUuid, isUser, text) => ({
      ...{ parentUuid, isSidechain: false, sessionId: 's1', version: '2.1.0', timestamp, uuid },
      type: isUser ? 'user' : 'assistant',
      message: isUser
        ? { role: 'user', content: text }
        : {
            ...{
              id: `msg_${uuid}`,
              type: 'message',
              role: 'assistant',
              model: 'claude-opus-5',
              stop_reason: 'end_turn',
            },
            content: [{ type: 'text', text }],
            usage: { input_tokens: 3, output_tokens: 5 },
          },
    }),
  },
  'pi-session': {
    header: [{ type: 'session', version: 3, id: 's1', timestamp }],
    line: (id, parentId, isUser, text) => ({
      ...{ type: 'message', id, parentId, timestamp },
      message: { role: isUser ? 'user' : 'assistant', content: [{ type: 'text', text }] },
    }),
  },
  'qwen-code': {
    header: [],
    line: (uuid, parentUuid, isUser, text) => ({
      ...{ uuid, parentUuid, sessionId: 's1', timestamp, type: isUser ? 'user' : 'assistant', cwd: '/work' },
      message: { role: isUser ? 'user' : 'model', parts: [{ text }] },
    }),
  },
  'copilot-cli': {
    header: [{ type: 'session.start', data: { sessionId: 's1' }, id: 'e0', timestamp, parentId: null }],
    line: (id, parentId, isUser, content) => ({
      ...{ type: isUser ? 'user.message' : 'assistant.message', data: { content }, id, timestamp },
      parentId: parentId ?? 'e0',
    }),
  },
  droid: {
    header: [{ type: 'session_start', id: 's1', title: 'A look', cwd: '/work' }],
    line: (id, parentId, isUser, text) => ({
      ...{ type: 'message', id, timestamp, parentId },
      message: { role: isUser ? 'user' : 'assistant', content: [{ type: 'text', text }] },
    }),
  },
}

/** Formats whose entries have no ids: their order is the order of the conversation. */
const sequences: typeof formats = {
  codex: {
    header: [{ timestamp, type: 'session_meta', payload: { id: 's1', cli_version: '0.150.0', timestamp } }],
    line: (_id, _parent, isUser, text) => ({
      ...{ timestamp, type: 'response_item' },
      payload: {
        ...{ type: 'message', role: isUser ? 'user' : 'assistant' },
        content: [{ type: isUser ? 'input_text' : 'output_text', text }],
      },
    }),
  },
  'gemini-cli': {
    header: [{ sessionId: 's1', projectHash: 'p', startTime: timestamp, lastUpdated: timestamp }],
    line: (id, _parent, isUser, content) => ({ id, timestamp, type: isUser ? 'user' : 'gemini', content }),
  },
  goose: {
    header: [{ working_dir: '/work', message_count: 0, description: 'A look' }],
    line: (_id, _parent, isUser, text) => ({
      ...{ role: isUser ? 'user' : 'assistant', created: 1_790_000_000 },
      content: [{ type: 'text', text }],
    }),
  },
  kimi: {
    header: [{ type: 'metadata', protocol_version: '1.0' }],
    line: (_id, _parent, isUser, text) => ({
      ...{ type: 'context.append_message', time: 1_790_000_000_000 },
      message: { role: isUser ? 'user' : 'assistant', content: [{ type: 'text', text }] },
    }),
  },
  'kimi-cli': {
    header: [{ role: '_system_prompt', content: 'Be brief.' }],
    line: (_id, _parent, isUser, content) => ({ role: isUser ? 'user' : 'assistant', content }),
  },
  'claude-stream': {
    header: [{ type: 'system', subtype: 'init', session_id: 's1', cwd: '/work' }],
    line: (id, _parent, isUser, text) => ({
      ...{ type: isUser ? 'user' : 'assistant', session_id: 's1', parent_tool_use_id: null },
      message: {
        ...(!isUser && { id, model: 'm' }),
        role: isUser ? 'user' : 'assistant',
        content: [{ type: 'text', text }],
      },
    }),
  },
  'codex-exec': {
    header: [{ type: 'thread.started', thread_id: 's1' }],
    line: (id, _parent, _isUser, text) => ({ type: 'item.completed', item: { id, type: 'agent_message', text } }),
  },
  cursor: {
    header: [],
    line: (_id, _parent, isUser, text) => ({
      role: isUser ? 'user' : 'assistant',
      message: { content: [{ type: 'text', text }] },
    }),
  },
  'openai-chat': {
    header: [],
    line: (_id, _parent, isUser, content) => ({ role: isUser ? 'user' : 'assistant', content }),
  },
  anthropic: {
    header: [],
    line: (_id, _parent, isUser, text) => ({
      role: isUser ? 'user' : 'assistant',
      content: [{ type: 'text', text, ...(isUser && { cache_control: { type: 'ephemeral' } }) }],
    }),
  },
  indelible: {
    header: [{ indelible: 'export', version: 1, metadata: {} }],
    line: (_id, _parent, isUser, text) => ({
      message: { role: isUser ? 'user' : 'assistant', content: [{ type: 'text', text }] },
      page: 'conversation',
    }),
  },
}

const eventsOf = async (text: string): Promise<readonly TranscriptEvent[]> => {
  async function* source(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(text)
  }
  const events: TranscriptEvent[] = []
  for await (const event of readTranscriptStream(source())) events.push(event)
  return events
}

/** What an interrupted append left before a line: nothing, the previous line's end is missing, NULs, or a part of a line. */
const before = oneof(
  { weight: 6, arbitrary: constant({ kind: 'nothing', at: 0 }) },
  record({ kind: constantFrom('joined', 'NULs', 'torn'), at: double({ min: 0, max: 0.99, noNaN: true }) }),
)
const words = constantFrom('plain', 'quote " and {"key": 1}', 'open { [ and \\', '{"type":"user"}', 'ünï 𝄞')

interface Case {
  readonly parents: readonly number[]
  readonly places: readonly number[]
  readonly copies: readonly boolean[]
  readonly damage: readonly { readonly kind: string; readonly at: number }[]
  readonly words: readonly string[]
}
const size = 12
const list = <T>(one: Arbitrary<T>): Arbitrary<T[]> => array(one, { minLength: size, maxLength: size })
const cases: Arbitrary<Case> = record({
  parents: list(double({ min: 0, max: 1, noNaN: true })),
  places: list(nat()),
  copies: list(boolean()),
  damage: list(before),
  words: list(words),
})

/** The file, and the texts of its entries. */
const fileOf = (
  { header, line }: (typeof formats)[string],
  { places, copies, damage, words: said }: Case,
  parentOf: (index: number) => number | undefined,
  isShuffled: boolean,
): { readonly text: string; readonly texts: readonly string[]; readonly torn: number } => {
  const texts = said.map((one, index) => `${index} ${one}`)
  const idOf = (index: number): string => `id-${index}`
  const entries = texts.map((text, index) => {
    const parent = parentOf(index)
    return JSON.stringify(line(idOf(index), parent === undefined ? null : idOf(parent), index % 2 === 0, text))
  })
  const order = entries.map((entry, index) => ({ entry, index, place: isShuffled ? (places[index] ?? 0) : index }))
  order.sort((a, b) => a.place - b.place)
  let text = header.map((entry) => `${JSON.stringify(entry)}\n`).join('')
  let torn = 0
  for (const { entry, index } of order) {
    const { kind, at } = damage[index] ?? { kind: 'nothing', at: 0 }
    if (kind === 'joined' && text.endsWith('\n')) text = text.slice(0, -1)
    if (kind === 'NULs') text += '\0'.repeat(1 + Math.floor(at * 600))
    if (kind === 'torn') {
      const lost = JSON.stringify(line('lost', null, true, `lost ${said[index]}`))
      text += lost.slice(0, 1 + Math.floor(at * (lost.length - 1)))
    }
    if (kind === 'NULs' || kind === 'torn') torn += 1
    text += `${entry}\n`
    if (isShuffled && copies[index] === true) text += `${entry}\n`
  }
  return { text, texts, torn }
}

it('holds a bounded number of characters of entries whose parent has not come', () => {
  const read: number[] = []
  const tree = { link: ({ id }: JsonObject) => ({ id: id as string, parent: 'gone' }), has: () => false }
  const ordered = new ParentFirst(tree, (_entry, line) => read.push(line), 100)
  for (const line of [1, 2, 3]) ordered.add({ id: `e${line}` }, line, 40)
  expect(read).toEqual([1, 2, 3])
  ordered.add({ id: 'e4' }, 4, 40)
  expect(read).toEqual([1, 2, 3])
  ordered.end()
  expect(read).toEqual([1, 2, 3, 4])
})

describe.each(Object.entries(formats))('%s', (_name, format) => {
  it('gives every message of a tree in any order, once', async () => {
    await assert(
      asyncProperty(cases, async (one) => {
        const { text, texts, torn } = fileOf(
          format,
          one,
          (index) => (index === 0 ? undefined : Math.floor((one.parents[index] ?? 0) * (index - 0.01))),
          true,
        )
        const events = await eventsOf(text)
        const found = events.flatMap((event) => (event.type === 'message' ? [textOf(event.message)] : []))
        expect(found.toSorted()).toEqual(texts.toSorted())
        expect(events.filter(({ type }) => type === 'damage')).toHaveLength(torn)
      }),
      { numRuns: rounds(60, 2_000) },
    )
  })
  it('gives a chain in its order, whatever the order of the lines', () => {
    assert(
      property(cases, (one) => {
        const { text, texts } = fileOf(format, one, (index) => (index === 0 ? undefined : index - 1), true)
        expect(read(text).messages.map((message) => textOf(message))).toEqual(texts)
      }),
      { numRuns: rounds(60, 2_000) },
    )
  })
})

describe.each(Object.entries(sequences))('%s', (_name, format) => {
  it('gives every message of torn and joined lines', () => {
    assert(
      property(cases, (one) => {
        const { text, texts } = fileOf(format, one, () => undefined, false)
        const file = text + (_name === 'indelible' ? '{"head":{"size":12}}\n' : '')
        const found = read(file).messages.flatMap(({ content }) =>
          content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
        )
        expect(found).toEqual(texts)
      }),
      { numRuns: rounds(60, 2_000) },
    )
  })
})

describe('Claude Code', () => {
  const { line } = formats['claude-code'] as (typeof formats)[string]
  const ask = (id: string, parent: string | null, text: string) => line(id, parent, true, text)
  const answer = (id: string, parent: string | null, text: string) => line(id, parent, false, text)
  const session = { isSidechain: false, sessionId: 's1', version: '2.1.0', timestamp }
  const call = {
    ...(answer('a1', 'u1', '') as { readonly message: object }),
    message: {
      ...(answer('a1', 'u1', '') as { readonly message: object }).message,
      content: [{ type: 'tool_use', id: 't1', name: 'Bash', input: {} }],
    },
  }
  const result = {
    ...{ ...session, type: 'user', uuid: 'r1', parentUuid: 'a1' },
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: 'files' }] },
  }
  const hook = (uuid: string, parentUuid: string, attachment: object) => ({
    ...{ ...session, type: 'attachment', uuid, parentUuid },
    attachment,
  })
  const queued = { type: 'queued_command', prompt: 'use the zebra branch', commandMode: 'prompt' }
  const operation = (name: string, content?: string, more: object = {}) => ({
    ...{ type: 'queue-operation', operation: name, timestamp, sessionId: 's1', ...more },
    ...(content !== undefined && { content }),
  })
  const both = ['user: Q1', 'assistant: ▸ t1', 'tool: ◂ t1 files', 'user: use the zebra branch', 'assistant: OK']
  const words = 'use the zebra branch'

  it.each([
    ['an attachment', [result, hook('h1', 'r1', queued), answer('a2', 'h1', 'OK')]],
    ['a queue operation', [operation('enqueue', words), operation('remove'), result, answer('a2', 'r1', 'OK')]],
    ['a removal alone', [operation('remove', words), result, answer('a2', 'r1', 'OK')]],
    [
      'both',
      [
        operation('enqueue', words),
        result,
        hook('h1', 'r1', queued),
        operation('remove', undefined, { reason: 'absorbed_mid_turn' }),
        answer('a2', 'h1', 'OK'),
      ],
    ],
    [
      'both, the removal first',
      [
        operation('enqueue', words),
        operation('remove', words),
        result,
        hook('h1', 'r1', queued),
        answer('a2', 'h1', 'OK'),
      ],
    ],
    [
      'a queue operation and a message',
      [result, operation('enqueue', words), operation('dequeue'), ask('u2', 'r1', words), answer('a2', 'u2', 'OK')],
    ],
    [
      'all three',
      [
        operation('enqueue', words),
        result,
        hook('h1', 'r1', queued),
        operation('remove', words),
        ask('u2', 'h1', words),
        answer('a2', 'u2', 'OK'),
      ],
    ],
  ])('has a prompt that was typed while a tool ran once, where the model saw it: %s', (_kind, rest) => {
    const whole = [ask('u1', null, 'Q1'), call, ...rest]
    const { messages, damage } = read(lines(whole))
    expect(outline(messages)).toEqual(both)
    expect(damage).toEqual([])
    const withoutIds = whole.map((line) => Object.fromEntries(Object.entries(line).filter(([name]) => name !== 'uuid')))
    expect(outline(read(lines(withoutIds)).messages)).toEqual(both)
    expect(outline(read(lines(whole.slice(1))).messages)).toEqual(both.slice(1))
  })
  it('has a prompt that never reached the model as a note', () => {
    const { messages, notes } = read(
      lines([ask('u1', null, 'Q1'), operation('enqueue', 'one'), operation('popAll'), operation('enqueue', 'two')]),
    )
    expect(outline(messages)).toEqual(['user: Q1'])
    expect(notes.map(({ note }) => 'content' in note && note.content)).toMatchObject([
      { content: 'one' },
      { content: 'two' },
    ])
  })
  it('has two equal messages without an answer between them twice', () => {
    const { messages } = read(lines([ask('u1', null, 'go'), ask('u2', 'u1', 'go')]))
    expect(outline(messages)).toEqual(['user: go', 'user: go'])
  })
  it('has a later version of an answer in its place; the earlier one is retracted', () => {
    const { messages, notes, origin } = read(
      lines([
        ask('u1', null, 'Q1'),
        answer('a1', 'u1', 'R'),
        ask('u2', 'a1', 'Q2'),
        answer('a1', 'u1', 'R1'),
        answer('a2', 'u2', 'R2'),
      ]),
    )
    expect(outline(messages)).toEqual(['user: Q1', 'assistant: R', 'assistant: R1', 'user: Q2', 'assistant: R2'])
    expect(notes).toEqual([{ position: 3, note: { type: 'retraction', from: 1, to: 2 } }])
    expect(origin.usage).toEqual({ input: 6, output: 10 })
  })
  it('has the later lines of a file whose last line is a hook of an earlier one', () => {
    const { messages } = read(
      lines([
        ask('u1', null, 'Q1'),
        answer('a1', 'u1', 'R1'),
        ask('u2', 'a1', 'Q2'),
        answer('a2', 'u2', 'R2'),
        hook('h1', 'a1', { type: 'hook_success', content: 'ok' }),
      ]),
    )
    expect(outline(messages)).toEqual(['user: Q1', 'assistant: R1', 'user: Q2', 'assistant: R2'])
  })
  it('counts no call for an answer that Claude Code itself wrote', () => {
    const error = answer('a1', 'u1', 'API Error: 529') as { readonly message: object }
    const synthetic = { ...error, isApiErrorMessage: true, message: { ...error.message, model: '<synthetic>' } }
    const { messages, origin } = read(lines([ask('u1', null, 'Q1'), synthetic]))
    expect(outline(messages)).toEqual(['user: Q1', 'assistant: API Error: 529'])
    expect(origin.usage).toBe(undefined)
    expect(origin.models).toEqual([])
  })
  it('reads lines whose parent is missing, and names it', () => {
    const text = 'x'.repeat(1000)
    const { messages, damage } = read(
      lines([ask('u1', null, 'Q1'), ask('u2', 'gone', text), answer('a2', 'u2', 'R2'), ask('u3', 'a2', 'Q3')]),
    )
    expect(outline(messages)).toEqual(['user: Q1', `user: ${text}`, 'assistant: R2', 'user: Q3'])
    expect(damage).toEqual([
      { line: 2, reason: 'has the parent "gone", which is not in the file; read as following the previous entry' },
    ])
  })
})
