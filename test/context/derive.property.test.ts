/** The laws of derived contexts, on random conversations: whole and damaged, with tags, pins, budgets and policies. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { assistant, user, type Message, type View } from 'indelible'
import { pairCalls } from 'indelible/message'
import { residencyLevels } from 'indelible/pages'
import {
  estimateTokens,
  deriveContext,
  paged,
  window,
  type DerivedContext,
  type DeriveOptions,
  type Policy,
} from 'indelible/context'
import { isSubstantive } from '../../src/context/kit.ts'
import { conversations, expectLawful, recordOf, tags } from './conversations.ts'
import { rounds } from '../rounds.ts'
import { Outputs } from '../outputs.ts'

const budgets = fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 400, max: 6000 }))
const policies: fc.Arbitrary<Policy> = fc.constantFrom(paged(), paged({ lowWater: 0.25 }), window)

const derive = (view: Parameters<typeof deriveContext>[0], options: DeriveOptions): DerivedContext | undefined => {
  const derived = deriveContext(view, options)
  if (!isLeft(derived)) return derived.right
  expect(derived.left.needed).toBeGreaterThan(derived.left.budget)
  return undefined
}

/** All that a context says of the record, and its messages. */
const jsonOf = (context: DerivedContext | undefined): string =>
  JSON.stringify(context && [context.messages, context.sources, context.residency])

it('every context obeys every rule for any record, tags, budget and policy', () => {
  const outputs = new Outputs()
  fc.assert(
    fc.property(conversations({ damaged: true }), tags, budgets, policies, (messages, tags, budget, policy) => {
      const view = recordOf(messages, tags)
      const context = derive(view, { budget, policy })
      outputs.add(jsonOf(context), context?.tokens, context?.stableTokens, context?.dropped)
      if (context !== undefined) expectLawful(context, view)
    }),
    { numRuns: rounds(60, 1000) },
  )
  outputs.expectToBe('968f1bf0670e3b00')
})

it('a budget of the tokens that a fault needs suffices', () => {
  let faults = 0
  fc.assert(
    fc.property(conversations({ damaged: true, maxLength: 40 }), tags, policies, (messages, tags, policy) => {
      const view = recordOf(messages, tags)
      const refused = deriveContext(view, { budget: 20, policy })
      if (!isLeft(refused)) return
      faults += 1
      const { needed } = refused.left
      expect(deriveContext(view, { budget: needed, policy })._tag).toBe('Right')
    }),
    { numRuns: rounds(60, 1000) },
  )
  expect(faults).toBeGreaterThan(10)
})

it('a larger budget never shows less of a message with window', () => {
  fc.assert(
    fc.property(conversations({ damaged: false, maxLength: 12 }), tags, (messages, tags) => {
      const view = recordOf([...messages, user('And what is next?')], tags)
      let before: readonly number[] = []
      for (let budget = 60; budget < 2000; budget += 40) {
        const context = derive(view, { budget, policy: window })
        if (context === undefined) continue
        const levels = [...context.residency].map((level) => residencyLevels.indexOf(level))
        for (const [position, level] of levels.entries())
          if (level > (before[position] ?? level)) expect.fail(`at ${budget}, position ${position} is shown less`)
        before = levels
      }
    }),
    { numRuns: rounds(9, 1000) },
  )
})

it("a context's token count is that of its messages", () => {
  fc.assert(
    fc.property(conversations({ damaged: true }), budgets, policies, (messages, budget, policy) => {
      const context = derive(recordOf(messages), { budget, policy })
      if (context !== undefined)
        expect(context.tokens).toBe([...context.messages].reduce((sum, message) => sum + estimateTokens(message), 0))
    }),
    { numRuns: rounds(50, 100) },
  )
})

it('a context derived step by step is byte-identical to one derived at once', () => {
  fc.assert(
    fc.property(
      conversations({ damaged: true }),
      tags,
      budgets,
      policies,
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }),
      (messages, tags, budget, policy, steps) => {
        const view = recordOf(messages, tags)
        let previous: DerivedContext | undefined
        let position = 0
        for (const step of [...steps, view.length]) {
          position = Math.min(position + step, view.length)
          const seen = view.slice(0, position)
          const context = derive(seen, { budget, policy, previous })
          const atOnce = derive(seen, { budget, policy })
          expect(jsonOf(context)).toBe(jsonOf(atOnce))
          if (context !== undefined) {
            expectLawful(context, seen)
            const prefixOf = (one: DerivedContext | undefined): string =>
              JSON.stringify(one?.messages.toArray().slice(0, context.stablePrefix))
            if (previous !== undefined) expect(prefixOf(context)).toBe(prefixOf(previous))
            previous = context
          }
        }
      },
    ),
    { numRuns: rounds(15, 1000) },
  )
})

it('between epochs each paged context extends the one before', () => {
  fc.assert(
    fc.property(
      conversations({ damaged: false, maxLength: 40 }),
      fc.integer({ min: 300, max: 4000 }),
      (messages, budget) => {
        const view = recordOf(messages)
        let previous: DerivedContext | undefined
        for (let position = 0; position <= view.length; position++) {
          // Where a model would be called: not amid results, nor after its own answer.
          if (view.at(position) !== undefined && view.at(position)?.role !== 'assistant') continue
          if (position > 0 && view.at(position - 1)?.role === 'assistant') continue
          const context = derive(view.slice(0, position), { budget, previous })
          if (context === undefined) continue
          if (previous?.epoch === context.epoch) expect(context.stablePrefix).toBe(previous.messages.length)
          previous = context
        }
      },
    ),
    { numRuns: rounds(40, 1000) },
  )
})

it('an earlier context never changes, whatever is derived from it', () => {
  fc.assert(
    fc.property(conversations({ damaged: true }), budgets, (messages, budget) => {
      const view = recordOf(messages)
      const kept: { readonly context: DerivedContext; readonly json: string }[] = []
      let previous: DerivedContext | undefined
      for (let position = 0; position <= view.length; position++) {
        const context = derive(view.slice(0, position), { budget, previous })
        if (context === undefined) continue
        kept.push({ context, json: jsonOf(context) })
        previous = context
      }
      for (const { context, json } of kept) expect(jsonOf(context)).toBe(json)
    }),
    { numRuns: rounds(30, 100) },
  )
})

it('any context can be continued: from a shorter view, a fork, or another policy or budget', () => {
  fc.assert(
    fc.property(
      conversations({ damaged: true }),
      conversations({ damaged: true, maxLength: 6 }),
      budgets,
      fc.nat(),
      fc.nat(),
      fc.nat(2),
      fc.constantFrom({}, { more: 100 }, { policy: window }),
      (messages, others, budget, cut, from, which, { more = 0, ...own }) => {
        const view = recordOf(messages)
        const shared = cut % (view.length + 1)
        const fork = recordOf([...messages.slice(0, shared), ...others])
        const early = derive(view.slice(0, from % (view.length + 1)), { budget })
        let previous: DerivedContext | undefined
        for (let length = 0; length <= view.length; length++)
          previous = derive(view.slice(0, length), { budget, previous }) ?? previous
        const target = [view, view.slice(0, shared), fork][which] as View<Message>
        const options = { ...own, budget: budget + more }
        const anew = jsonOf(derive(target, options))
        for (const one of [early, previous]) expect(jsonOf(derive(target, { ...options, previous: one }))).toBe(anew)
      },
    ),
    { numRuns: rounds(25, 1000) },
  )
})

/** Positions that a policy keeps, with the other half of their calls. */
const wholeUnits = (view: View<Message>, keeps: ReadonlySet<number>): ReadonlySet<number> => {
  const whole = new Set([...keeps].filter((position) => position < view.length))
  for (const position of whole)
    for (const { position: call, answer } of pairCalls(view)) {
      if (position === call && answer !== undefined) whole.add(answer.position)
      if (position === answer?.position) whole.add(call)
    }
  return whole
}

/** At each length, more than what is kept takes beside the least of all else: instructions, and what the user asks. */
const leastBeside = (view: View<Message>, whole: ReadonlySet<number>): readonly number[] => {
  const marker = 60
  const leasts = [marker]
  let [always, spoken, substantive] = [marker, -1, -1]
  const sizes = [...view].map((message) => estimateTokens(message) + marker)
  const isAlways = (position: number): boolean => whole.has(position) || view.at(position)?.role === 'system'
  for (const [position, message] of [...view].entries()) {
    if (isAlways(position)) always += sizes[position] as number
    if (message.role === 'user') spoken = position
    if (isSubstantive(message)) substantive = position
    const asked = [...new Set([spoken, substantive])].filter((at) => at !== -1 && !isAlways(at))
    leasts.push(asked.reduce((sum, at) => sum + (sizes[at] as number), always))
  }
  return leasts
}

it('kept messages stay whole where they fit beside the minimum of the rest', () => {
  const levels = fc.array(fc.constantFrom(...residencyLevels), { minLength: 1, maxLength: 40 })
  fc.assert(
    fc.property(
      conversations({ damaged: false, maxLength: 30 }),
      budgets,
      levels,
      fc.array(fc.nat({ max: 60 }), { maxLength: 6 }),
      fc.constantFrom('always', 'epochs'),
      (messages, budget, levels, kept, choose) => {
        const view = recordOf(messages)
        const keeps = new Set(kept)
        const policy: Policy = {
          name: 'keeping',
          choose,
          keeps,
          select: ({ candidates }) => candidates.map((_, index) => levels[index % levels.length] ?? 'full'),
        }
        const context = derive(view, { budget, policy })
        if (context === undefined) return
        expectLawful(context, view)
        // What fell at one compaction stays so: with epochs it must have fitted whenever there was one.
        const whole = wholeUnits(view, keeps)
        if (
          leastBeside(view, whole).some(
            (least, length) => least > budget && (choose === 'epochs' || length === view.length),
          )
        )
          return
        for (const position of whole) expect([position, context.residency.at(position)]).toEqual([position, 'full'])
      },
    ),
    { numRuns: rounds(50, 1000) },
  )
})

it('with epochs, content dropped for a large question does not return for a small one', () => {
  const kept = user('Keep this whole. '.repeat(80))
  const large = user('Why does src/a.ts say 1, 2; 3, 4; 5, 6? '.repeat(60))
  const view = recordOf([kept, large, assistant('Because.'), user('What is next to do?')])
  const residency = (choose: Policy['choose'], length: number): readonly unknown[] | undefined => {
    const select: Policy['select'] = ({ candidates }) => candidates.map(() => 'full')
    const policy: Policy = { name: 'keeping', choose, keeps: new Set([0]), select }
    return derive(view.slice(0, length), { budget: 560, policy })?.residency.toArray()
  }
  const leasts = leastBeside(view, new Set([0]))
  expect(leasts[4]).toBeLessThan(560)
  expect(residency('always', 4)?.[0]).toBe('full')
  expect(leasts[2]).toBeGreaterThan(560)
  expect(residency('epochs', 2)).toEqual(['structured', 'compressed'])
  expect(residency('epochs', 4)?.[0]).toBe('structured')
})

it('the active turn stays full where it fits beside the minimum of the rest', () => {
  const protectedKinds: ReadonlySet<unknown> = new Set(['bootstrap', 'constraint'])
  fc.assert(
    fc.property(
      conversations({ damaged: false, maxLength: 40 }),
      tags,
      budgets,
      policies,
      (messages, tags, budget, policy) => {
        const view = recordOf(messages, tags)
        const context = derive(view, { budget, policy })
        if (context === undefined) return
        // More than the least: every instruction and rule in full, with a marker before each and after the last.
        const marker = 60
        const sizes = [...view].map(estimateTokens)
        const active = sizes.slice(context.activeFrom).reduce((sum, size) => sum + size, 0)
        const rest = sizes
          .slice(0, context.activeFrom)
          .reduce(
            (sum, size, position) => sum + (protectedKinds.has(view.pages.at(position)) ? size + marker : 0),
            marker,
          )
        // A rule may be a call or a result: then all that belongs to it stays, which the sum above leaves out.
        const inCall = (position: number): boolean =>
          view.at(position)?.content.some(({ type }) => type === 'tool_call' || type === 'tool_result') === true
        fc.pre(
          [...view.pages].every(
            (kind, position) => !protectedKinds.has(kind) || position >= context.activeFrom || !inCall(position),
          ),
        )
        if (active + rest > budget) return
        for (let position = context.activeFrom; position < view.length; position++)
          expect([position, context.residency.at(position)]).toEqual([position, 'full'])
      },
    ),
    { numRuns: rounds(50, 1000) },
  )
})
