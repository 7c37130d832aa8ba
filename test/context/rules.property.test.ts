/** Rules survive: what is tagged as a constraint is readable in full in every context, however often it was compacted. */
import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, textOf, toolCall, toolResult, user, type Message } from 'indelible'
import { toolResultsOf } from 'indelible/message'
import { deriveContext, type DerivedContext } from 'indelible/context'
import type { Note } from '../../src/notes/internal.ts'
import { isFull, rounds } from '../rounds.ts'
import { readTranscript } from '@indelible/transcripts'

const recorded = readTranscript(readFileSync('examples/coding-agent.json', 'utf8'))
const conversation: readonly Message[] = isLeft(recorded) ? [] : recorded.right.messages
/** The conversation again and again, so that it is compacted many times. */
const long = Array.from({ length: 4 }, (_, round) =>
  conversation.filter(({ role }) => round === 0 || role !== 'system'),
).flat()

const sentence = fc.constantFrom(
  'Never push to main.',
  'Always answer in French.',
  'Do not touch the folder vendor/ without asking me.',
  '- prices are in cents,  never in euros',
  '    indented:  two  spaces',
  '',
)
/** From a few words to some pages, with blank lines and lines that repeat. */
const rule = fc
  .array(sentence, { minLength: 1, maxLength: 80 })
  .map((lines) => `Rule.\n${lines.join('\n')}\nThat is all.`)

/** A rule is what the user says, what a tool reads, or a result without a call, an extra one for instance. */
const places = ['message', 'result', 'stray'] as const
const rules = fc.array(
  fc.record({
    at: fc.nat(long.length),
    text: rule,
    place: fc.constantFrom(...places),
    how: fc.constantFrom('tagged', 'pinned'),
  }),
  { minLength: 1, maxLength: 4 },
)

/** The record with the rules in it, never between a call and its result, and the pins of those without a tag. */
const recordWith = (given: typeof rules extends fc.Arbitrary<infer Rules> ? Rules : never) => {
  const history = createHistory<Message>()
  const found: { readonly position: number; readonly text: string; readonly how: string }[] = []
  const waiting = given.map((one, index) => ({ ...one, text: `${index}: ${one.text}`, id: `rule_${index}` }))
  for (const [position, message] of [...long, user('The end.')].entries()) {
    if (message.role !== 'tool')
      for (const one of waiting.filter(({ at }) => at <= position)) {
        const { text, id, place, how } = one
        if (place === 'result') history.append(assistant(toolCall(id, 'read', { path: 'AGENTS.md' })))
        const message = place === 'message' ? user(text) : toolResult(id, text)
        found.push({ position: history.append(message, how === 'tagged' ? 'constraint' : undefined), text, how })
        waiting.splice(waiting.indexOf(one), 1)
      }
    history.append(message)
  }
  const notes = found.flatMap(({ position, how }): Note[] => (how === 'pinned' ? [{ type: 'pin', position }] : []))
  return { view: history.view(), notes, found }
}

/** The rules of a record that stand nowhere in a context. */
const missingIn = (
  context: DerivedContext,
  { found }: ReturnType<typeof recordWith>,
  length = Infinity,
): readonly number[] => {
  const output = [...context.messages].flatMap((message) =>
    [textOf(message)].concat(toolResultsOf(message).map(({ content }) => textOf(user(...content)))),
  )
  return found.flatMap(({ position, text }) =>
    position >= length || output.some((one) => one.includes(text)) ? [] : [position],
  )
}

describe('a rule page', () => {
  it('is readable in full at every budget and after any number of compactions, or the minimum does not fit', () => {
    let [derives, compactions, refused] = [0, 0, 0]
    fc.assert(
      fc.property(rules, fc.integer({ min: 300, max: 6000 }), (given, budget) => {
        const record = recordWith(given)
        const { view, notes } = record
        let previous: DerivedContext | undefined
        for (let length = 1; length <= view.length; length += isFull ? 5 : 6) {
          const seen = view.slice(0, length)
          const derived = deriveContext(seen, { budget, previous, notes })
          derives += 1
          if (isLeft(derived)) {
            refused += 1
            expect(derived.left._tag).toBe('MinimumDoesNotFit')
            continue
          }
          previous = derived.right
          compactions = Math.max(compactions, previous.epoch)
          expect(missingIn(previous, record, length)).toEqual([])
        }
      }),
      { numRuns: rounds(9, 100) },
    )
    expect(compactions).toBeGreaterThan(3)
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(derives / 2)
  })
})
