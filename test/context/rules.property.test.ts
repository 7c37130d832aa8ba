/** Rules survive: what is tagged as a constraint is readable in full in every context, however often it was compacted. */
import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHistory, textOf, user, type Message } from 'indelible'
import { deriveContext, manageHistory, paged, window, type DerivedContext, type Policy } from 'indelible/context'
import { rounds } from '../rounds.ts'
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

const rules = fc.array(fc.record({ at: fc.nat(long.length), text: rule }), { minLength: 1, maxLength: 4 })

/** The record with the rules in it, never between a call and its result. */
const recordWith = (given: readonly { readonly at: number; readonly text: string }[]) => {
  const history = createHistory<Message>()
  const waiting = given.map(({ at, text }, index) => ({ at, text: `${index}: ${text}` }))
  for (const [position, message] of [...long, user('The end.')].entries()) {
    if (message.role !== 'tool')
      for (const one of waiting.filter(({ at }) => at <= position)) {
        history.append(user(one.text), 'constraint')
        waiting.splice(waiting.indexOf(one), 1)
      }
    history.append(message)
  }
  return history.view()
}

const policies: readonly Policy[] = [paged(), window]

describe('a rule page', () => {
  it('is readable in full at every budget and after any number of compactions, or the minimum does not fit', () => {
    let [derives, compactions, refused] = [0, 0, 0]
    fc.assert(
      fc.property(rules, fc.constantFrom(...policies), fc.integer({ min: 300, max: 6000 }), (given, policy, budget) => {
        const view = recordWith(given)
        let previous: DerivedContext | undefined
        for (let length = 1; length <= view.length; length += 5) {
          const seen = view.slice(0, length)
          const derived = deriveContext(seen, { budget, policy, previous })
          derives += 1
          if (isLeft(derived)) {
            refused += 1
            expect(derived.left._tag).toBe('MinimumDoesNotFit')
            continue
          }
          previous = derived.right
          compactions = Math.max(compactions, previous.epoch)
          const said = new Set([...previous.messages].map(textOf))
          for (const [position, message] of [...seen].entries())
            if (seen.pages.at(position) === 'constraint' && !said.has(textOf(message)))
              expect.fail(`the rule at ${position} is not readable`)
        }
      }),
      { numRuns: rounds(15, 100) },
    )
    expect(compactions).toBeGreaterThan(3)
    expect(refused).toBeGreaterThan(0)
    expect(refused).toBeLessThan(derives / 2)
  })
  it('is readable in full in a managed history, where it fits', () => {
    fc.assert(
      fc.property(rules, fc.integer({ min: 3000, max: 9000 }), (given, maxTokens) => {
        const view = recordWith(given)
        const managed = manageHistory(view, { maxTokens })
        if (managed.overBudget) return
        const said = new Set([...managed.messages].map(textOf))
        for (const [position, message] of [...view].entries())
          if (view.pages.at(position) === 'constraint') expect(said).toContain(textOf(message))
      }),
      { numRuns: 20 },
    )
  })
})
