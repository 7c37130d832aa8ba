import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { settle } from 'indelible'
import { sourceTimeOf } from '@indelible/transcripts'
import { valuesOfText } from '../src/text/values.ts'
import { lines, outline, read } from './reading.ts'
import { rounds } from '../../../test/rounds.ts'

const session = (id: string, created: number, more: object = {}) => ({
  id,
  slug: 'quick-fox',
  version: '1.1.53',
  projectID: 'p1',
  directory: '/work',
  title: `Session ${id}`,
  time: { created, updated: created + 1000 },
  ...more,
})
const turn = (id: string, role: string, created: number, more: object = {}, sessionID = 's1') => ({
  id,
  sessionID,
  role,
  time: { created },
  ...(role === 'assistant' && {
    modelID: 'gpt',
    tokens: { input: 10, output: 2, reasoning: 1, cache: { read: 5, write: 3 } },
  }),
  ...more,
})
const part = (id: string, messageID: string, type: string, more: object, sessionID = 's1') => ({
  id,
  sessionID,
  messageID,
  type,
  ...more,
})
const text = (id: string, messageID: string, value: string, sessionID = 's1') =>
  part(id, messageID, 'text', { text: value }, sessionID)
const tool = (id: string, messageID: string, callID: string, state: object) =>
  part(id, messageID, 'tool', { callID, tool: 'read', state })
const done = (output: string) => ({ status: 'completed', input: { at: 'a' }, output, title: '', metadata: {} })

const turns = [
  { info: turn('m1', 'user', 1), parts: [text('p1', 'm1', 'Look.')] },
  {
    info: turn('m2', 'assistant', 2),
    parts: [
      part('p2', 'm2', 'step-start', {}),
      part('p3', 'm2', 'reasoning', { text: 'hm' }),
      text('p4', 'm2', 'I look.'),
      tool('p5', 'm2', 'c1', done('a cat')),
      tool('p6', 'm2', 'c2', { status: 'error', input: {}, error: 'no' }),
      part('p7', 'm2', 'step-finish', { reason: 'tool-calls' }),
    ],
  },
  { info: turn('m3', 'assistant', 3), parts: [text('p8', 'm3', 'A cat.')] },
]
const outlined = [
  'user: Look.',
  'assistant: I look. ▸ c1 ▸ c2',
  'tool: ◂ c1 a cat',
  'tool: ◂ c2 no',
  'assistant: A cat.',
]
const dump = (...values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value, undefined, 2)}\n`).join('')
const stored = [
  { id: 'p1', worktree: '/work', vcs: 'git' },
  ...turns.flatMap(({ parts }) => parts).toReversed(),
  text('q1', 'n1', 'Elsewhere.', 's2'),
  [{ file: 'a', additions: 1 }],
  ...turns.toReversed().map(({ info }) => info), // its files come in any order
  turn('n1', 'user', 9, {}, 's2'),
  session('s2', 20),
  session('s1', 10),
]

describe('an opencode session', () => {
  it("has each message's time: when a result arrived or a later step began", () => {
    const during = (start: number, end: number) => ({ ...done('x'), time: { start, end } })
    const parts = [
      tool('p2', 'm2', 'c1', during(20, 30)),
      tool('p3', 'm2', 'c2', done('y')),
      part('p4', 'm2', 'step-start', {}),
      tool('p5', 'm2', 'c3', during(40, 50)),
    ]
    const messages = [turns[0], { info: turn('m2', 'assistant', 10), parts }]
    const { messages: got } = read(JSON.stringify({ info: session('s1', 10), messages }))
    expect(got.map((message) => [message.role, sourceTimeOf(message)])).toEqual([
      ['user', 1],
      ['assistant', 10],
      ['tool', 30],
      ['tool', 10],
      ['assistant', 40],
      ['tool', 50],
    ])
  })

  it('from an export has one message per step followed by its results', () => {
    const exported = { info: session('s1', 10), messages: turns }
    for (const file of [JSON.stringify(exported), JSON.stringify(exported, undefined, 2)]) {
      const { format, messages, origin, damage, notes } = read(file)
      expect([format, damage, notes]).toEqual(['opencode', [], []])
      expect(outline(messages)).toEqual(outlined)
      expect(isRight(settle(messages))).toBe(true)
      expect(messages[1]?.meta?.['opencode']).toMatchObject({
        info: { modelID: 'gpt' },
        parts: [{ type: 'step-start' }, { type: 'step-finish' }],
      })
      expect(origin).toEqual({
        id: 's1',
        title: 'Session s1',
        version: '1.1.53',
        started: '1970-01-01T00:00:00.010Z',
        ended: '1970-01-01T00:00:01.010Z',
        models: ['gpt'],
        usage: { input: 36, output: 6, cacheRead: 10, cacheWrite: 6 },
        calls: [expect.objectContaining({ model: 'gpt' }), expect.anything()],
        uses: [{ model: 'gpt', day: '1970-01-01', calls: 2, input: 36, output: 6, cacheRead: 10, cacheWrite: 6 }],
        metadata: {
          slug: 'quick-fox',
          projectID: 'p1',
          directory: '/work',
          time: { created: 10, updated: 1010 },
        },
        aside: {},
      })
    }
  })
  it('from a storage dump is read per session, with values on one or many lines', () => {
    for (const file of [dump(...stored), lines(stored)]) {
      const first = read(file)
      expect([first.format, first.count, first.damage]).toEqual(['opencode', 2, []])
      expect(outline(first.messages)).toEqual(outlined)
      expect(first.origin.aside).toEqual({ project: 1, 'session diff': 1, 'value of another conversation': 3 })
      const second = read(file, { pick: 1 })
      expect([second.origin.id, outline(second.messages)]).toEqual(['s2', ['user: Elsewhere.']])
    }
  })
  it('of a fork counts only its own calls', () => {
    const [began, before] = [1_795_931_232_896, 1_795_931_231_008]
    const answers = [
      turn('msg_225d7dc97001cyHl0nYrN50o8g', 'assistant', before), // made again for the fork
      turn('msg_225d7dcd7001qAyMEV6Q4DF31n', 'assistant', began + 599),
    ]
    const dump = lines([session('s1', began), ...answers, ...answers.map(({ id }) => text(`p${id}`, id, 'A cat.'))])
    expect(read(dump).origin).toMatchObject({ copied: 1, usage: { input: 18, output: 3 } })
    // A session whose start was written late is no fork.
    const late = lines([session('s1', began), turn('msg_225d7d320001PtbJZgW60VWFiI', 'assistant', before)])
    expect(read(late).origin.copied).toBe(undefined)
    const named = lines([session('s1', began, { title: 'A cat (fork #2)' }), turn('m1', 'assistant', before)])
    expect(read(named).origin.copied).toBe(1)
  })

  it('from a truncated or incomplete dump', () => {
    const cut = read(dump(...stored).slice(0, -20))
    expect(outline(cut.messages)).toEqual(outlined)
    expect(cut.damage).toMatchObject([{ reason: 'is cut off' }])
    const torn = read(dump(...stored).replace('"Look."', '"Look.'))
    expect(outline(torn.messages)).toEqual(outlined.slice(1))
    expect(torn.damage.map(({ line }) => line)).toEqual([70])
    const orphan = read(dump(...stored, text('z', 'gone', 'a')))
    expect(orphan.damage.map(({ reason }) => reason)).toEqual(['is a part of message "gone", which is missing'])
  })
  it('keeps the fields of a call whose values are of another kind', () => {
    const states = [
      { status: 'completed', input: {}, output: 7, error: ['no'], attachments: 'none' },
      { status: 'completed', input: {}, output: 'a cat', error: 'late', attachments: 'none' },
    ]
    for (const [index, state] of states.entries()) {
      const parts = [tool('p1', 'm2', 'c1', state)]
      const { messages } = read(dump(session('s1', 10), turn('m1', 'user', 1), turn('m2', 'assistant', 2), ...parts))
      const kept = messages.flatMap(({ content }) => content).find(({ type }) => type === 'tool_call')?.meta
      const { output, ...others } = state
      const expected = { status: 'completed', ...(index === 0 && { output }), error: others.error, attachments: 'none' }
      expect(kept).toMatchObject({ opencode: { state: expected } })
    }
  })
  it('from any text of values has everything but white space, in order', () => {
    const piece = fc.constantFrom('{', '}', '[', ']', '"', '\\', '\n', ' ', 'a', '1', '{"a":1}', '\n[{"b":"]"}]\n')
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join('')
        const values = [...valuesOfText(text)]
        const bare = (part: string): string => part.replaceAll(/\s/g, '')
        expect(values.map((value) => bare(value.text)).join('')).toBe(bare(text))
        for (const { number, text: value } of values)
          expect(
            text
              .split('\n')
              .slice(number - 1)
              .join('\n'),
          ).toContain(value)
      }),
      { numRuns: rounds(250, 2000) },
    )
  })
  it('with several steps, an unfinished call, and an empty turn', () => {
    const { messages, notes } = read(
      JSON.stringify({
        info: session('s1', 10),
        messages: [
          {
            info: turn('m1', 'assistant', 1),
            parts: [
              part('a', 'm1', 'step-start', {}),
              tool('b', 'm1', 'c1', done('a cat')),
              part('c', 'm1', 'step-start', {}),
              tool('d', 'm1', 'c2', { status: 'running', input: {} }),
            ],
          },
          { info: turn('m2', 'assistant', 2, { error: { name: 'MessageAbortedError' } }), parts: [] },
        ],
      }),
    )
    expect(outline(messages)).toEqual(['assistant: ▸ c1', 'tool: ◂ c1 a cat', 'assistant: ▸ c2'])
    expect(notes).toMatchObject([{ position: 3, note: { content: { info: { error: {} }, parts: [] } } }])
  })
  it('with a compaction, whose summary is a note, and reverted turns', () => {
    const { messages, notes, origin } = read(
      JSON.stringify({
        info: session('s1', 10, { revert: { messageID: 'm6' } }),
        messages: [
          ...turns,
          { info: turn('m4', 'user', 4), parts: [part('x', 'm4', 'compaction', { auto: true })] },
          { info: turn('m5', 'assistant', 5, { summary: true }), parts: [text('y', 'm5', 'They looked.')] },
          { info: turn('m6', 'user', 6), parts: [text('z', 'm6', 'Forget it.')] },
        ],
      }),
    )
    expect(outline(messages)).toEqual(outlined)
    expect(notes).toMatchObject([
      { position: 5, note: { type: 'application', content: { parts: [{ type: 'compaction' }] } } },
      { position: 5, note: { type: 'application', content: { info: { summary: true } } } },
      { position: 5, note: { type: 'summary', from: 0, to: 5, text: 'They looked.' } },
    ])
    expect(origin.aside).toEqual({ 'item that was taken back': 1 })
  })
})
