/** Contexts of conversations: of what retractions leave of a record, by the positions of the record. */
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { assistant, createHistory, textOf, toolCall, toolResult, user, type Message, type View } from 'indelible'
import { omitRanges, type Range } from 'indelible/history'
import { foldPages, rangeDigest, type Note } from '../../src/notes/internal.ts'
import type { PageKind } from 'indelible/pages'
import { deriveContext, lexicalSearch, prepareSummaries, recall, type DerivedContext } from 'indelible/context'
import { conversations, expectLawful, recordOf } from './conversations.ts'
import { rounds } from '../rounds.ts'

const budgets = fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 400, max: 6000 }))
const range = fc.tuple(fc.nat(40), fc.nat(6)).map(([from, count]): Range => ({ from, to: from + count }))

/** What a record goes through: messages come, ranges are retracted, pages are pinned and summed up. */
const deeds = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.integer({ min: 1, max: 6 }).map((more) => ({ more })) },
    { weight: 2, arbitrary: range.map((retract) => ({ retract })) },
    { weight: 1, arbitrary: fc.nat(40).map((pin) => ({ pin })) },
    { weight: 1, arbitrary: range.map((sum) => ({ sum })) },
  ),
  { maxLength: 25 },
)

it('each context of a conversation obeys every rule and equals the one derived at once', () => {
  fc.assert(
    fc.property(conversations({ damaged: true }), deeds, budgets, (messages, deeds, budget) => {
      const record = recordOf(messages)
      const notes: Note[] = []
      const retracted: Range[] = []
      let len = 0
      let previous: DerivedContext | undefined
      for (const deed of deeds) {
        const now = omitRanges(record.slice(0, len), retracted)
        if ('more' in deed) len = Math.min(len + deed.more, record.length)
        else if ('retract' in deed)
          retracted.push({ from: Math.min(deed.retract.from, len), to: Math.min(deed.retract.to, len) })
        else if ('pin' in deed && deed.pin < len) notes.push({ type: 'pin', position: deed.pin })
        else if ('sum' in deed && deed.sum.from < deed.sum.to && deed.sum.to <= len) {
          const said = now.slice(now.before(deed.sum.from), now.before(deed.sum.to))
          notes.push({ type: 'summary', ...deed.sum, sourceDigest: rangeDigest(said), text: 'short', model: 'me' })
        }
        const view = omitRanges(record.slice(0, len), retracted)
        const seen = [...notes]
        const derived = deriveContext(view, { budget, notes: seen, previous })
        const atOnce = deriveContext(view, { budget, notes: seen })
        expect(derived._tag).toBe(atOnce._tag)
        if (isLeft(derived) || isLeft(atOnce)) continue
        const context = derived.right
        const [a, b] = [context, atOnce.right].map((of) => [of.messages, of.sources, of.residency])
        expect(JSON.stringify(a)).toBe(JSON.stringify(b))
        const folded = foldPages(seen)
        expectLawful(context, view, (position) => folded.get(position) ?? (record.pages.at(position) as PageKind))
        previous = context
        // Nothing that is only pointed at is out of reach.
        for (const { from, to } of context.dropped)
          for (let position = from; position < to; position++)
            expect(isRight(recall(view, { position }))).toBe(
              view.positionAt(view.before(position)) === position && view.before(position) < view.length,
            )
      }
    }),
    { numRuns: rounds(40, 400) },
  )
})

it('retracted messages appear in no context, which equals that of the remaining messages where they fit', () => {
  fc.assert(
    fc.property(conversations({ damaged: true }), fc.array(range, { maxLength: 4 }), (messages, ranges) => {
      const view = omitRanges(recordOf(messages), ranges)
      const alone = createHistory({ from: view }).view()
      const [context, other] = [view, alone].map((one) => deriveContext(one, { budget: 1e9 }))
      expect(context?._tag).toBe(other?._tag)
      if (context === undefined || other === undefined || isLeft(context) || isLeft(other)) return
      const strays = (of: DerivedContext): readonly Message[] =>
        of.messages.toArray().filter((message) => !textOf(message).includes('does not directly follow its call'))
      expect(strays(context.right)).toEqual(strays(other.right))
    }),
  )
})

const talk = (turns: number): View<Message> => {
  const history = createHistory<Message>()
  for (let turn = 0; turn < turns; turn++) {
    history.append(user(`question ${turn}: ${'what about it? '.repeat(30)}`))
    history.append(assistant(`answer ${turn}: ${'this and that. '.repeat(60)}`))
  }
  return history.view()
}

const right = (view: View<Message>, notes: readonly Note[], budget: number): DerivedContext => {
  const derived = deriveContext(view, { budget, notes })
  if (isLeft(derived)) throw new Error('it fits')
  return derived.right
}

it('a pin applies by record position and is inactive while its message is retracted', () => {
  const record = talk(40)
  const notes: Note[] = [{ type: 'pin', position: 30 }]
  const view = omitRanges(record, [{ from: 2, to: 8 }])
  const hasMessage = ({ sources }: DerivedContext): boolean =>
    [...sources].some((source) => source.type === 'clone' && source.position === 30)
  expect(hasMessage(right(view, notes, 4000))).toBe(true)
  expect(hasMessage(right(view, [], 4000))).toBe(false)
  const rests = omitRanges(record, [{ from: 30, to: 31 }])
  expect(right(rests, notes, 4000).messages.toArray()).toEqual(right(rests, [], 4000).messages.toArray())
})

it('a summary replaces its range until one of its messages is retracted', () => {
  const record = talk(40)
  const view = omitRanges(record, [{ from: 4, to: 6 }])
  const sums = (of: View<Message>, from: number, to: number): boolean => {
    const said = view.slice(view.before(from), view.before(to))
    const note: Note = { type: 'summary', from, to, sourceDigest: rangeDigest(said), text: 'In short.', model: 'me' }
    return [...right(of, [note], 4000).sources].some(
      (source) => source.type === 'summary' && source.from === from && source.to === to,
    )
  }
  expect(sums(view, 2, 20)).toBe(true)
  expect(sums(omitRanges(view, [{ from: 10, to: 11 }]), 2, 20)).toBe(false)
})

it('searches and summaries use positions of the record', async () => {
  const record = talk(40)
  const view = omitRanges(record, [
    { from: 3, to: 10 },
    { from: 60, to: 64 },
  ])
  const search = lexicalSearch()
  const found = recall(view, { query: 'question 12' }, { search, around: 1 })
  expect(isRight(found) && found.right.map(({ position }) => position)).toContain(24)
  for (const { position, message } of isRight(found) ? found.right : []) expect(message).toBe(record.at(position))
  const other = recall(view, { query: 'question 2' }, { search })
  expect(isRight(other) && other.right.map(({ position }) => position)).not.toContain(4)
  expect(recall(view, { position: 4 })).toMatchObject({ left: { _tag: 'NoMatch', length: 80 } })
  expect(isRight(recall(record, { position: 4 }))).toBe(true)

  const prepared = await prepareSummaries(view, [])
  expect(prepared.length).toBeGreaterThan(0)
  for (const { from, to, sourceDigest } of prepared)
    expect(rangeDigest(view.slice(view.before(from), view.before(to)))).toBe(sourceDigest)
})

it("a retracted message inside a marker's range is not shown", () => {
  const record = recordOf([
    user('Fix the build.'),
    assistant(toolCall('a', 'run', '{"x": 1}')),
    assistant('Looking.', toolCall('b', 'read', '{}')),
    toolResult('b', 'It says nothing about that. '.repeat(20)),
    ...talk(6),
  ])
  const view = omitRanges(record, [{ from: 2, to: 3 }])
  const levels = [500, 700, 900, 1100].map((budget) => right(view, [], budget).residency.toArray().slice(1, 3))
  expect(levels.map(([call]) => call)).toContain('structured')
  for (const [, gone] of levels) expect(gone).toBe('pointer')
})
