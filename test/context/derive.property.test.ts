/** The guarantees of derived contexts, on random conversations: whole and damaged, with tags, budgets and what is kept. */
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import type { Message, View } from 'indelible'
import { pairCalls } from 'indelible/message'
import { pageKinds, residencyLevels, type ResidencyLevel } from 'indelible/pages'
import { deriveContext, estimateTokens, type DerivedContext, type DeriveOptions, type Keep } from 'indelible/context'
import { isSubstantive } from '../../src/context/internal.ts'
import { conversations, expectLawful, recordOf, tags } from './conversations.ts'
import { rounds } from '../rounds.ts'
import { Outputs } from '../outputs.ts'

const budgets = fc.oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 400, max: 6000 }))
const levelsOfAll: readonly ResidencyLevel[] = residencyLevels
/** What is kept: nothing, positions and kinds, or whatever a function answers. */
const keeps: fc.Arbitrary<Keep | undefined> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.array(fc.oneof(fc.nat({ max: 60 }), fc.constantFrom(...pageKinds)), { maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc.array(fc.constantFrom(undefined, ...levelsOfAll), { maxLength: 40 }).map(
      (levels): Keep =>
        (view) =>
          levels.slice(0, view.length),
    ),
  },
)

const derive = (view: Parameters<typeof deriveContext>[0], options: DeriveOptions): DerivedContext | undefined => {
  const derived = deriveContext(view, options)
  if (!isLeft(derived)) return derived.right
  expect(derived.left.needed).toBeGreaterThan(derived.left.budget)
  return undefined
}

/** All that a context says of the record, and its messages. */
const jsonOf = (context: DerivedContext | undefined): string =>
  JSON.stringify(context && [context.messages, context.sources, context.residency])

it('every context obeys every guarantee for any record, tags, budget and what is kept', () => {
  const outputs = new Outputs()
  fc.assert(
    fc.property(conversations({ damaged: true }), tags, budgets, keeps, (messages, tags, budget, keep) => {
      const view = recordOf(messages, tags)
      const context = derive(view, { budget, ...(keep && { keep }) })
      outputs.add(jsonOf(context), context?.tokens, context?.stableTokens, context?.dropped)
      if (context !== undefined) expectLawful(context, view)
    }),
    { numRuns: rounds(60, 4000) },
  )
  outputs.expectToBe('79de91920553ecfe')
})

it('a budget of the tokens that a fault needs suffices', () => {
  let faults = 0
  fc.assert(
    fc.property(conversations({ damaged: true, maxLength: 40 }), tags, (messages, tags) => {
      const view = recordOf(messages, tags)
      const refused = deriveContext(view, { budget: 20 })
      if (!isLeft(refused)) return
      faults += 1
      const { needed } = refused.left
      expect(deriveContext(view, { budget: needed })._tag).toBe('Right')
    }),
    { numRuns: rounds(60, 4000) },
  )
  expect(faults).toBeGreaterThan(10)
})

it("a context's token count is that of its messages", () => {
  fc.assert(
    fc.property(conversations({ damaged: true }), budgets, (messages, budget) => {
      const context = derive(recordOf(messages), { budget })
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
      keeps,
      fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 20 }),
      (messages, tags, budget, keep, steps) => {
        const view = recordOf(messages, tags)
        let previous: DerivedContext | undefined
        let position = 0
        for (const step of [...steps, view.length]) {
          position = Math.min(position + step, view.length)
          const seen = view.slice(0, position)
          const context = derive(seen, { budget, previous, ...(keep && { keep }) })
          const atOnce = derive(seen, { budget, ...(keep && { keep }) })
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
    { numRuns: rounds(15, 4000) },
  )
})

it('between epochs each context extends the one before', () => {
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
    { numRuns: rounds(40, 4000) },
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

it('any context can be continued: from a shorter view, a fork, or another budget or keep', () => {
  fc.assert(
    fc.property(
      conversations({ damaged: true }),
      conversations({ damaged: true, maxLength: 6 }),
      budgets,
      fc.nat(),
      fc.nat(),
      fc.nat(2),
      fc.constantFrom({}, { more: 100 }, { keep: ['evidence'] as const }),
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
    { numRuns: rounds(25, 4000) },
  )
})

/** The group of a position: its call and all results of it. */
const groupOf = (view: View<Message>, position: number): readonly number[] => {
  const own = new Set([position])
  for (const at of own)
    for (const { position: call, answer } of pairCalls(view)) {
      if (answer === undefined) continue
      if (at === call) own.add(answer.position)
      if (at === answer.position) own.add(call)
    }
  return [...own]
}

it('the first message of the user and the latest question are readable, and what is kept where it fits', () => {
  const isSpoken = ({ role, content }: Message): boolean =>
    role === 'user' &&
    content.some((part) => part.type !== 'tool_result' && !(part.type === 'text' && part.text.trim() === ''))
  let [contexts, kept] = [0, 0]
  fc.assert(
    fc.property(
      conversations({ damaged: false, maxLength: 40 }),
      fc.integer({ min: 400, max: 4000 }),
      fc.nat({ max: 40 }),
      (messages, budget, position) => {
        const view = recordOf(messages)
        const context = derive(view, { budget, keep: [position] })
        if (context === undefined) return
        contexts += 1
        const asked = [
          messages.findIndex(isSpoken),
          messages.findLastIndex(isSpoken),
          messages.findLastIndex(isSubstantive),
        ]
        for (const at of asked.filter((index) => index >= 0))
          expect([at, ['full', 'compressed', 'structured'].includes(context.residency.at(at) as string)]).toEqual([
            at,
            true,
          ])
        if (position >= view.length) return
        const group = groupOf(view, position)
        const always = [...[...view].entries()].filter(([, { role }]) => role === 'system')
        const size = (index: number): number => estimateTokens(view.at(index) as Message)
        const least = [...group, ...asked.filter((at) => at >= 0), ...[...always].map(([index]) => index)].reduce(
          (sum, at) => sum + size(at),
          0,
        )
        if (least > budget / 6) return
        kept += 1
        expect([position, ['full', 'compressed'].includes(context.residency.at(position) as string)]).toEqual([
          position,
          true,
        ])
      },
    ),
    { numRuns: rounds(60, 4000) },
  )
  expect(contexts).toBeGreaterThan(20)
  expect(kept).toBeGreaterThan(2)
})

it('an answer with signed reasoning is as it was recorded, or not there', () => {
  fc.assert(
    fc.property(conversations({ damaged: true }), budgets, (messages, budget) => {
      const view = recordOf(messages)
      const context = derive(view, { budget })
      for (const message of context?.messages ?? [])
        if (message.role === 'assistant' && message.content.some(({ type }) => type === 'reasoning'))
          expect(messages).toContainEqual(message)
      for (const [index, source] of [...(context?.sources ?? [])].entries())
        if (source.type === 'representation' && source.level !== 'pointer')
          expect(
            view
              .at(view.before(source.from))
              ?.content.some((part) => part.type === 'reasoning' && part.signature !== undefined),
            `${index}`,
          ).toBe(false)
    }),
    { numRuns: rounds(40, 4000) },
  )
})
