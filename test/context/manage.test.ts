/** Managed histories: what is kept first, what is cut, what is pointed at, and that the laws hold. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, settle, system, toolCall, toolResult, user, type Json, type Message, type Note, type PageKind } from 'indelible'
import { manageHistory, type Mark } from 'indelible/context'
import { conversations, expectLawful, recordOf, tags } from './conversations.ts'

const marked = (message: Message, mark: Mark): Message => ({ ...message, meta: { indelible: mark as unknown as Json } })
const long = (name: string): string => Array.from({ length: 80 }, (_, line) => `${name} has something to say on line ${line} 🙂`).join('\n')
const read = (name: string): Message[] => [assistant(`Reading ${name}.`, toolCall(name, 'read', { path: name })), toolResult(name, long(name))]

const messages = [
  system('You fix bugs.'), // 0
  user('Fix the build.'), // 1
  ...read('a'), // 2, 3
  marked(user('Do not touch the vendored code.'), { mark: 'feedback' }), // 4
  ...read('b'), // 5, 6
  marked(assistant('Proposal: pin the version.'), { mark: 'proposal', id: 'p1' }), // 7
  ...read('c'), // 8, 9
  marked(assistant('Report: pinned.'), { mark: 'report', of: 'p1' }), // 10
  marked(user('3 tests fail.'), { mark: 'test_result' }), // 11
  ...read('d'), // 12, 13
  marked(user('1 test fails.'), { mark: 'test_result' }), // 14
  assistant('It is the leap year.'), // 15
  marked(assistant('The fix was too narrow.'), { mark: 'self_review' }), // 16
  ...read('e'), // 17, 18
  user('And now the docs.'), // 19
  assistant('Looking.', toolCall('z', 'read', { path: 'docs' })), // 20
  toolResult('z', 'short'), // 21
]
const view = recordOf(messages)

describe('manageHistory', () => {
  it('names what is kept: both halves of the last call, instructions, feedback, the latest of each kind with what follows, reports with proposals', () => {
    expect(manageHistory(view, { maxTokens: 100_000 }).retained).toEqual([0, 1, 4, 7, 10, 14, 15, 16, 17, 18, 19, 20, 21])
  })
  it('a record within the limit stays as it is', () => {
    const managed = manageHistory(view, { maxTokens: 100_000 })
    expect(managed.messages.toArray()).toEqual(view.toArray())
    expect(managed.overBudget).toBe(false)
  })
  it('cuts large answers first, oldest first, and keeps their head and tail', () => {
    const { tokens } = manageHistory(view, { maxTokens: 100_000 })
    const managed = manageHistory(view, { maxTokens: tokens - 800 })
    expectLawful(managed, view)
    expect(managed.residency.toArray().map((level, position) => (level === 'full' ? -1 : position)).filter((position) => position >= 0)).toEqual([2, 3, 5, 6])
    expect(JSON.stringify(managed.messages.at(3))).toMatch(/a has something to say on line 0.*characters left out; recall .*line 79/)
    expect(managed.overBudget).toBe(false)
  })
  it('then points at what is not to be kept, oldest first', () => {
    const managed = manageHistory(view, { maxTokens: 1400 })
    expectLawful(managed, view)
    for (const position of managed.retained) expect(managed.residency.at(position)).toBe('full')
    expect(managed.residency.at(2)).toBe('pointer')
    expect(managed.overBudget).toBe(false)
  })
  it('says so when what is to be kept exceeds the limit by itself', () => {
    const managed = manageHistory(view, { maxTokens: 900 })
    expectLawful(managed, view)
    expect(managed.overBudget).toBe(true)
    expect(managed.tokens).toBeLessThanOrEqual(900)
    const least = manageHistory(view, { maxTokens: 10 })
    expect(least.overBudget).toBe(true)
    expect(settle(least.messages)._tag).toBe('Right')
    expect(least.tokens).toBeGreaterThan(10)
  })
  it('limits by characters, of everything that messages say', () => {
    const managed = manageHistory(view, { maxChars: 6000 })
    const said = (message: Message): number => JSON.stringify(message.content).length
    expect(managed.tokens).toBeLessThanOrEqual(6000)
    expect([...managed.messages].reduce((sum, message) => sum + said(message), 0)).toBeLessThan(12_000)
    expect(managed.overBudget).toBe(false)
  })
  it('needs a limit', () => {
    expect(() => manageHistory(view, {} as { maxTokens: number })).toThrow('manageHistory needs a limit: maxTokens or maxChars')
  })
  it('what follows a test result ends at the next message with a mark, in meta or as a page', () => {
    const result = marked(user('2 tests fail.'), { mark: 'test_result' })
    const followed = (message: Message, page?: PageKind, notes: readonly Note[] = []): readonly number[] => {
      const messages = [user('Fix it.'), result, assistant('a'), message, assistant('b'), assistant('c'), user('d')]
      return manageHistory(recordOf(messages, [undefined, undefined, undefined, page]), { maxTokens: 1000, notes }).retained
    }
    expect(followed(user('m'))).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(followed(marked(user('m'), { mark: 'feedback' }))).toEqual([0, 1, 2, 3, 6])
    expect(followed(marked(user('m'), { mark: 'proposal', id: 'p' }))).toEqual([0, 1, 2, 6])
    expect(followed(user('m'), 'constraint')).toEqual([0, 1, 2, 3, 6])
    expect(followed(user('m'), 'preference')).toEqual([0, 1, 2, 3, 6])
    expect(followed(user('m'), 'plan')).toEqual([0, 1, 2, 3, 4, 5, 6])
    expect(followed(user('m'), undefined, [{ type: 'pin', position: 3 }])).toEqual([0, 1, 2, 3, 6])
    expect(followed(user('m'), 'constraint', [{ type: 'page', position: 3, kind: 'plan' }])).toEqual([0, 1, 2, 3, 4, 5, 6])
  })
  it('keeps the latest of each of the three kinds, and not those before', () => {
    for (const mark of ['test_result', 'self_review', 'summary'] as const) {
      const said = marked(assistant('said'), { mark })
      const ends = marked(assistant('p'), { mark: 'proposal', id: 'p' })
      const managed = manageHistory(recordOf([user('Fix it.'), said, assistant('a'), said, assistant('b'), ends, assistant('c'), user('d')]), { maxTokens: 1000 })
      expect([mark, managed.retained]).toEqual([mark, [0, 3, 4, 7]])
    }
  })
  it('keeps every page that is a rule or a preference, and every instruction at the beginning', () => {
    const messages = [system('a'), system('b'), system('c'), assistant('d'), user('Fix it.'), assistant('e'), assistant('f'), system('g'), marked(assistant('h'), { mark: 'proposal', id: 'p' }), user('i')]
    const managed = manageHistory(recordOf(messages, [undefined, undefined, undefined, undefined, undefined, 'constraint', 'preference']), { maxTokens: 1000, notes: [{ type: 'pin', position: 8 }] })
    expect(managed.retained).toEqual([0, 1, 2, 4, 5, 6, 8, 9])
  })
  it('keeps with a report the nearest proposal of its id before it', () => {
    const proposal = (id: string): Message => marked(assistant(`proposal ${id}`), { mark: 'proposal', id })
    const report = (of: string): Message => marked(user(`report of ${of}`), { mark: 'report', of })
    const retained = (...messages: Message[]): readonly number[] => manageHistory(recordOf([user('Fix it.'), ...messages, assistant('x'), user('y')]), { maxTokens: 1000 }).retained
    expect(retained(proposal('p'), report('p'), proposal('p'), report('p'))).toEqual([0, 1, 2, 3, 4, 6])
    expect(retained(proposal('p'), proposal('p'), report('p'))).toEqual([0, 2, 3, 5])
    expect(retained(proposal('p'), proposal('q'), report('p'), report('r'))).toEqual([0, 1, 3, 4, 6])
    expect(retained(report('p'), proposal('p'))).toEqual([0, 1, 4])
  })
  it('keeps calls and their results together', () => {
    const asking = assistant(toolCall('a', 'read', {}), toolCall('b', 'read', {}))
    const retained = (...messages: Message[]): readonly number[] => manageHistory(recordOf([user('Fix it.'), assistant('hm'), ...messages]), { maxTokens: 1000 }).retained
    expect(retained(asking, toolResult('a', '1'), toolResult('b', '2'))).toEqual([0, 2, 3, 4])
    expect(retained(asking, toolResult('a', '1'), marked(toolResult('b', '2'), { mark: 'feedback' }), assistant('x'), user('y'))).toEqual([0, 2, 3, 4, 6])
    expect(retained(marked(asking, { mark: 'feedback' }), toolResult('a', '1'), toolResult('b', '2'), assistant('x'), user('y'))).toEqual([0, 2, 3, 4, 6])
    expect(retained(asking, toolResult('b', '2'), user('meanwhile'), assistant('x'), toolResult('a', 'late'))).toEqual([0, 2, 3, 6])
    expect(retained(assistant(toolCall('a', 'read', {})))).toEqual([0, 2])
  })
  it('marks can be read from anywhere', () => {
    const managed = manageHistory(recordOf([user('a'), assistant('b'), user('c'), assistant('d')]), { maxTokens: 100, markOf: ({ content }) => (JSON.stringify(content).includes('"b"') ? { mark: 'feedback' } : undefined) })
    expect(managed.retained).toEqual([0, 1, 3])
  })
  it('what is no mark is none', () => {
    const odd = (mark: Json): Message => ({ ...assistant('x'), meta: { indelible: mark } })
    const managed = manageHistory(recordOf([user('a'), odd({ mark: 'gossip' }), odd('feedback'), odd({ mark: 'report' }), odd(null), assistant('d')]), { maxTokens: 100 })
    expect(managed.retained).toEqual([0, 5])
  })
})

it('the laws of contexts hold for managed histories, and managing twice changes nothing', () => {
  const mark = fc.constantFrom<Mark | undefined>(undefined, { mark: 'feedback' }, { mark: 'test_result' }, { mark: 'summary' }, { mark: 'report', of: 'p' }, { mark: 'proposal', id: 'p' })
  fc.assert(
    fc.property(conversations({ damaged: true }), tags, fc.array(mark, { maxLength: 40 }), fc.integer({ min: 1, max: 6000 }), fc.boolean(), (messages, tags, marks, limit, chars) => {
      const view = recordOf(messages.map((message, index) => (marks[index] === undefined ? message : marked(message, marks[index]))), tags)
      const options = chars ? { maxChars: 5 * limit } : { maxTokens: limit }
      const managed = manageHistory(view, options)
      expectLawful(managed, view)
      if (managed.tokens > (options.maxChars ?? limit)) expect(managed.overBudget).toBe(true)
      else expect(manageHistory(recordOf(managed.messages.toArray()), options).messages.toArray()).toEqual(managed.messages.toArray())
    }),
    { numRuns: 200 },
  )
})
