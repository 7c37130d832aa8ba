/** Managed histories: what is kept first, what is cut, what is pointed at, and that the laws hold. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  settle,
  system,
  toolCall,
  toolResult,
  user,
  type Json,
  type Message,
  type PageKind,
  type View,
} from 'indelible'
import { pairCalls } from 'indelible/message'
import type { Note } from 'indelible/internal/notes'
import { estimateTokens } from 'indelible/context'
import { manageHistory, markMessage, type MessageMark } from '@indelible/workflows/activities'
import { conversations, expectLawful, recordOf, tags } from '../../../../test/context/conversations.ts'
import { rounds } from '../../../../test/rounds.ts'

const long = (name: string): string =>
  Array.from({ length: 80 }, (_, line) => `${name} has something to say on line ${line} 🙂`).join('\n')
const read = (name: string): Message[] => [
  assistant(`Reading ${name}.`, toolCall(name, 'read', { path: name })),
  toolResult(name, long(name)),
]

const messages = [
  system('You fix bugs.'), // 0
  user('Fix the build.'), // 1
  ...read('a'), // 2, 3
  markMessage(user('Do not touch the vendored code.'), { mark: 'feedback' }), // 4
  ...read('b'), // 5, 6
  markMessage(assistant('Proposal: pin the version.'), { mark: 'proposal', id: 'p1' }), // 7
  ...read('c'), // 8, 9
  markMessage(assistant('Report: pinned.'), { mark: 'report', of: 'p1' }), // 10
  markMessage(user('3 tests fail.'), { mark: 'test_result' }), // 11
  ...read('d'), // 12, 13
  markMessage(user('1 test fails.'), { mark: 'test_result' }), // 14
  assistant('It is the leap year.'), // 15
  markMessage(assistant('The fix was too narrow.'), { mark: 'self_review' }), // 16
  ...read('e'), // 17, 18
  user('And now the docs.'), // 19
  assistant('Looking.', toolCall('z', 'read', { path: 'docs' })), // 20
  toolResult('z', 'short'), // 21
]
const view = recordOf(messages)

describe('manageHistory', () => {
  it('cuts large results first, the oldest first, to head and tail, and keeps the mark of what it cuts', () => {
    const marked = { ...(read('c')[1] as Message), meta: { indelible: { mark: 'summary' }, other: 1 } }
    const given = [
      system('You fix bugs.'),
      user('Fix the build.'),
      ...read('a'),
      ...read('b'),
      read('c')[0] as Message,
      marked,
      assistant('Done.'),
      user('And now?'),
    ]
    const view = recordOf(given)
    const whole = given.reduce((sum, message) => sum + estimateTokens(message), 0)
    const levels = (maxTokens: number): readonly string[] => manageHistory(view, { maxTokens }).residency.toArray()
    expect(levels(whole)).toEqual(given.map(() => 'full'))
    expect(levels(whole - 1)[3]).toBe('compressed')
    expect(levels(whole - 1)[5]).toBe('full')
    const small = manageHistory(view, { maxTokens: 900 })
    expect(small.tokens).toBeLessThanOrEqual(900)
    expect(small.residency.at(3)).toBe('pointer')
    expect(small.residency.at(7)).toBe('compressed') // kept: the latest summary
    expect(small.overBudget).toBe(true)
    const cut = small.messages.toArray().find(({ role, meta }) => role === 'tool' && meta !== undefined)
    expect(cut?.meta).toEqual({ indelible: { mark: 'summary' } })
    expect(JSON.stringify(cut)).toMatch(/line 0 .*characters omitted.*line 79/s)
  })
  it('reports the kept messages: both halves of the last call, instructions, feedback, the latest of each kind with its follow-ups, reports with proposals', () => {
    expect(Object.isFrozen(manageHistory(view, { maxTokens: 100_000 }).retained)).toBe(true)
    expect(manageHistory(view, { maxTokens: 100_000 }).retained).toEqual([
      0, 1, 4, 7, 10, 14, 15, 16, 17, 18, 19, 20, 21,
    ])
  })
  it('leaves a record within the limit unchanged', () => {
    const managed = manageHistory(view, { maxTokens: 100_000 })
    expect(managed.messages.toArray()).toEqual(view.toArray())
    expect(managed.overBudget).toBe(false)
  })
  it('then replaces messages that need not be kept with pointers, oldest first', () => {
    const managed = manageHistory(view, { maxTokens: 1900 })
    expectLawful(managed, view)
    for (const position of managed.retained) expect(managed.residency.at(position)).toBe('full')
    expect(managed.residency.at(2)).toBe('pointer')
    expect(managed.overBudget).toBe(false)
  })
  it('counts with the given estimator and reports what the previous context had too', () => {
    expect(manageHistory(view, { maxTokens: 100_000, estimate: () => 7 }).tokens).toBe(7 * messages.length)
    const previous = manageHistory(view.slice(0, 12), { maxTokens: 100_000 })
    expect(manageHistory(view, { maxTokens: 100_000, previous }).stablePrefix).toBe(12)
    expect(manageHistory(view, { maxTokens: 100_000 }).stablePrefix).toBe(0)
  })
  it('never splits a code point', () => {
    for (const output of ['🙂', 'a🙂', 'é🙂x'])
      for (const before of ['', '1', '12']) {
        const view = recordOf([
          user('Fix the build.'),
          assistant(toolCall('c', 'read', {})),
          toolResult('c', before + output.repeat(3000)),
          user('And the docs.'),
        ])
        const managed = manageHistory(view, { maxChars: 1300 })
        expect(managed.residency.at(2)).toBe('compressed')
        expect(JSON.stringify(managed.messages)).not.toContain('\\ud') // as JSON writes half of one
      }
  })
  it('reports when the kept messages alone exceed the limit', () => {
    const managed = manageHistory(view, { maxTokens: 900 })
    expectLawful(managed, view)
    expect(managed.overBudget).toBe(true)
    expect(managed.tokens).toBeLessThanOrEqual(900)
    const least = manageHistory(view, { maxTokens: 10 })
    expect(least.overBudget).toBe(true)
    expect(settle(least.messages)._tag).toBe('Right')
    expect(least.tokens).toBeGreaterThan(10)
  })
  it('can limit by characters of all message content', () => {
    const managed = manageHistory(view, { maxChars: 6000 })
    const said = (message: Message): number => JSON.stringify(message.content).length
    expect(managed.tokens).toBeLessThanOrEqual(6000)
    expect([...managed.messages].reduce((sum, message) => sum + said(message), 0)).toBeLessThan(12_000)
    expect(managed.overBudget).toBe(false)
  })
  it('requires a limit', () => {
    expect(() => manageHistory(view, {} as { maxTokens: number })).toThrow(
      'manageHistory needs a limit: maxTokens or maxChars',
    )
    expect(() => manageHistory(view, { maxTokens: NaN })).toThrow('maxTokens is NaN; expected a number of tokens')
    expect(() => manageHistory(view, { maxChars: -1 })).toThrow('maxChars is -1; expected a number of characters')
  })
  it("ends a test result's follow-ups at the next marked message, marked in meta or by page", () => {
    const result = markMessage(user('2 tests fail.'), { mark: 'test_result' })
    const followed = (message: Message, page?: PageKind, notes: readonly Note[] = []): readonly number[] => {
      const messages = [user('Fix it.'), result, assistant('a'), message, assistant('b'), assistant('c'), user('d')]
      return manageHistory(recordOf(messages, [undefined, undefined, undefined, page]), { maxTokens: 1000, notes })
        .retained
    }
    expect(followed(user('m'))).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(followed(markMessage(user('m'), { mark: 'feedback' }))).toEqual([0, 1, 2, 3, 6])
    expect(followed(markMessage(user('m'), { mark: 'proposal', id: 'p' }))).toEqual([0, 1, 2, 6])
    expect(followed(user('m'), 'constraint')).toEqual([0, 1, 2, 3, 6])
    expect(followed(user('m'), 'preference')).toEqual([0, 1, 2, 3, 6])
    expect(followed(user('m'), 'plan')).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(followed(user('m'), undefined, [{ type: 'pin', position: 3 }])).toEqual([0, 1, 2, 3, 6])
    expect(followed(user('m'), 'constraint', [{ type: 'page', position: 3, kind: 'plan' }])).toEqual([
      0, 1, 2, 3, 4, 5, 6,
    ])
  })
  it('keeps only the latest of each of the three kinds', () => {
    for (const mark of ['test_result', 'self_review', 'summary'] as const) {
      const message = markMessage(assistant('said'), { mark })
      const ends = markMessage(assistant('p'), { mark: 'proposal', id: 'p' })
      const managed = manageHistory(
        recordOf([user('Fix it.'), message, assistant('a'), message, assistant('b'), ends, assistant('c'), user('d')]),
        { maxTokens: 1000 },
      )
      expect([mark, managed.retained]).toEqual([mark, [0, 3, 4, 7]])
    }
  })
  it('keeps every rule and preference page and every leading instruction', () => {
    const messages = [
      system('a'),
      system('b'),
      system('c'),
      assistant('d'),
      user('Fix it.'),
      assistant('e'),
      assistant('f'),
      system('g'),
      markMessage(assistant('h'), { mark: 'proposal', id: 'p' }),
      user('i'),
    ]
    const managed = manageHistory(
      recordOf(messages, [undefined, undefined, undefined, undefined, undefined, 'constraint', 'preference']),
      { maxTokens: 1000, notes: [{ type: 'pin', position: 8 }] },
    )
    expect(managed.retained).toEqual([0, 1, 2, 4, 5, 6, 8, 9])
  })
  it('keeps the nearest earlier proposal with the same id beside a report', () => {
    const proposal = (id: string): Message => markMessage(assistant(`proposal ${id}`), { mark: 'proposal', id })
    const report = (of: string): Message => markMessage(user(`report of ${of}`), { mark: 'report', of })
    const retained = (...messages: Message[]): readonly number[] =>
      manageHistory(recordOf([user('Fix it.'), ...messages, assistant('x'), user('y')]), { maxTokens: 1000 }).retained
    expect(retained(proposal('p'), report('p'), proposal('p'), report('p'))).toEqual([0, 1, 2, 3, 4, 6])
    expect(retained(proposal('p'), proposal('p'), report('p'))).toEqual([0, 2, 3, 5])
    expect(retained(proposal('p'), proposal('q'), report('p'), report('r'))).toEqual([0, 1, 3, 4, 6])
    expect(retained(report('p'), proposal('p'))).toEqual([0, 1, 4])
  })
  it('keeps calls together with their results', () => {
    const asking = assistant(toolCall('a', 'read', {}), toolCall('b', 'read', {}))
    const retained = (...messages: Message[]): readonly number[] =>
      manageHistory(recordOf([user('Fix it.'), assistant('hm'), ...messages]), { maxTokens: 1000 }).retained
    expect(retained(asking, toolResult('a', '1'), toolResult('b', '2'))).toEqual([0, 2, 3, 4])
    expect(
      retained(
        asking,
        toolResult('a', '1'),
        markMessage(toolResult('b', '2'), { mark: 'feedback' }),
        assistant('x'),
        user('y'),
      ),
    ).toEqual([0, 2, 3, 4, 6])
    expect(
      retained(
        markMessage(asking, { mark: 'feedback' }),
        toolResult('a', '1'),
        toolResult('b', '2'),
        assistant('x'),
        user('y'),
      ),
    ).toEqual([0, 2, 3, 4, 6])
    expect(retained(asking, toolResult('b', '2'), user('meanwhile'), assistant('x'), toolResult('a', 'late'))).toEqual([
      0, 2, 3, 6,
    ])
    expect(retained(assistant(toolCall('a', 'read', {})))).toEqual([0, 2])
  })
  it("reads marks through a caller's markOf", () => {
    const managed = manageHistory(recordOf([user('a'), assistant('b'), user('c'), assistant('d')]), {
      maxTokens: 100,
      markOf: ({ content }) => (JSON.stringify(content).includes('"b"') ? { mark: 'feedback' } : undefined),
    })
    expect(managed.retained).toEqual([0, 1, 3])
  })
  it('ignores invalid marks', () => {
    const odd = (mark: Json): Message => ({ ...assistant('x'), meta: { indelible: mark } })
    const managed = manageHistory(
      recordOf([
        user('a'),
        odd({ mark: 'gossip' }),
        odd('feedback'),
        odd({ mark: 'report' }),
        odd(null),
        assistant('d'),
      ]),
      { maxTokens: 100 },
    )
    expect(managed.retained).toEqual([0, 5])
  })
})

const mark = fc.constantFrom<MessageMark | undefined>(
  undefined,
  undefined,
  { mark: 'feedback' },
  { mark: 'test_result' },
  { mark: 'self_review' },
  { mark: 'summary' },
  { mark: 'report', of: 'p' },
  { mark: 'proposal', id: 'p' },
)

interface Case {
  readonly view: View<Message>
  readonly limit: number
  readonly options:
    | { readonly maxTokens: number; readonly maxChars?: undefined }
    | { readonly maxChars: number; readonly maxTokens?: undefined }
}

/** What a message says, counted by hand. */
const charactersIn = ({ content }: Message): number =>
  content.reduce((sum, part) => {
    if (part.type === 'tool_call') return sum + part.name.length + 1 + part.arguments.length
    if (part.type === 'tool_result')
      return sum + part.content.reduce((sum, inner) => sum + (inner.type === 'text' ? inner.text.length : 0), 0)
    if (part.type === 'image') return sum + 'image https://example.com/a.png'.length
    return sum + ('text' in part ? part.text.length : 0)
  }, 0)

/** Marked and tagged records with a limit. */
const cases = (damaged: boolean): fc.Arbitrary<Case> =>
  fc
    .tuple(
      conversations({ damaged }),
      tags,
      fc.array(mark, { maxLength: 40 }),
      fc.integer({ min: 1, max: 6000 }),
      fc.boolean(),
    )
    .map(([messages, tags, marks, limit, chars]) => ({
      view: recordOf(
        messages.map((message, index) => (marks[index] === undefined ? message : markMessage(message, marks[index]))),
        tags,
      ),
      limit: chars ? 5 * limit : limit,
      options: chars ? { maxChars: 5 * limit } : { maxTokens: limit },
    }))

it("kept messages are whole unless `overBudget`, which is true only where they don't fit", () => {
  fc.assert(
    fc.property(cases(false), ({ view, limit, options }) => {
      const managed = manageHistory(view, options)
      const retained = new Set(managed.retained)
      for (const { position, answer } of pairCalls(view))
        if (answer !== undefined) expect(retained.has(answer.position)).toBe(retained.has(position))
      if (!managed.overBudget)
        for (const position of retained) expect([position, managed.residency.at(position)]).toEqual([position, 'full'])

      const sizeOf = (position: number): number =>
        (options.maxChars === undefined ? estimateTokens : charactersIn)(view.at(position) as Message)
      if (managed.epoch === 0)
        expect(managed.tokens).toBe([...view].reduce((sum, _, position) => sum + sizeOf(position), 0))
      const alone = managed.retained.reduce((sum, position) => sum + sizeOf(position), 0)
      if (alone > limit) expect(managed.overBudget).toBe(true)
      // More than the least of all else: a marker between any two, and each other instruction.
      const instructions = [...view.pages].map((kind, position) => kind === 'bootstrap' && !retained.has(position))
      const isOfCall = (position: number): boolean =>
        view.at(position)?.content.some(({ type }) => type === 'tool_call' || type === 'tool_result') === true
      if (instructions.some((is, position) => is && isOfCall(position))) return
      const marker = options.maxChars === undefined ? 60 : 250
      const others = instructions.reduce((sum, is, position) => sum + (is ? sizeOf(position) + marker : 0), 0)
      if (alone + others + marker * (retained.size + 1) <= limit) expect(managed.overBudget).toBe(false)
    }),
    { numRuns: rounds(80, 400) },
  )
})

it('managed histories obey the rules of contexts and report what did not fit', () => {
  fc.assert(
    fc.property(cases(true), ({ view, limit, options }) => {
      const managed = manageHistory(view, options)
      expectLawful(managed, view)
      if (managed.tokens > limit) expect(managed.overBudget).toBe(true)
    }),
    { numRuns: rounds(60, 200) },
  )
})

it('managing a managed history changes nothing where it fitted, and finds every mark again', () => {
  let cut = 0
  fc.assert(
    fc.property(cases(true), fc.double({ min: 0.1, max: 0.9, noNaN: true }), ({ view, options }, share) => {
      const whole = manageHistory(view, options.maxChars === undefined ? { maxTokens: 1e9 } : { maxChars: 1e9 }).tokens
      const limit = Math.floor(whole * share)
      const within = options.maxChars === undefined ? { maxTokens: limit } : { maxChars: limit }
      const managed = manageHistory(view, within)
      const saved = JSON.parse(JSON.stringify(managed.messages)) as readonly Message[]
      for (const [index, source] of [...managed.sources].entries()) {
        if (
          source.type === 'summary' ||
          source.type === 'synthetic' ||
          (source.type === 'representation' && source.level === 'pointer')
        )
          continue
        const position = source.type === 'clone' ? source.position : source.from
        expect([position, saved[index]?.meta?.['indelible']]).toEqual([
          position,
          view.at(position)?.meta?.['indelible'],
        ])
      }
      if (managed.tokens > limit) return
      cut += managed.epoch
      const again = manageHistory(recordOf(saved), within)
      expect(again.messages.toArray()).toEqual(saved)
      expect(again.dropped).toEqual([])
      expect(again.tokens).toBe(managed.tokens)
      expect(again.overBudget).toBe(false)
    }),
    { numRuns: rounds(80, 300) },
  )
  expect(cut).toBeGreaterThan(rounds(25, 100))
})

it("markMessage adds the mark to a message's meta and changes nothing else", () => {
  const message: Message = { ...user('x'), meta: { indelible: { callId: 'c' }, mine: 1 } }
  expect(markMessage(message, { mark: 'report', of: 'p' })).toEqual({
    ...user('x'),
    meta: { indelible: { callId: 'c', mark: 'report', of: 'p' }, mine: 1 },
  })
  expect(message.meta).toEqual({ indelible: { callId: 'c' }, mine: 1 })
})

it('markMessage refuses a mark that is no object', () => {
  for (const mark of ['feedback', undefined, null])
    expect(() => markMessage(user('x'), mark as never)).toThrow("expects a mark, such as { mark: 'feedback' }, found")
})
