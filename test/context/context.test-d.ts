/** What must infer of derived contexts, and what must not compile: code that derives can't reach a record to change it. */
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, expectTypeOf, it } from 'vitest'
import type { History, Message, ResidencyLevel, Sequence, Settled, View } from 'indelible'
import type { RunOptions, Tool } from 'indelible/run'
import { deriveContext, recallTool, type Keep, type ContextFault, type DerivedContext } from 'indelible/context'

declare const history: History<Message>
declare const view: View<Message>
declare const context: DerivedContext

type ContextFor = NonNullable<RunOptions['context']>
type ModelContext = Parameters<ContextFor>[1]

describe('inferred context types', () => {
  it('deriveContext takes a view and gives a context or a fault', () => {
    expectTypeOf(deriveContext(view, { budget: 1000 })).toEqualTypeOf<Either<ContextFault, DerivedContext>>()
    expectTypeOf(deriveContext).parameter(0).toEqualTypeOf<View<Message>>()
  })
  it('the messages of a context are settled, so that a codec accepts them', () => {
    expectTypeOf(context.messages).toExtend<Settled<Sequence<Message>>>()
    expectTypeOf(context.residency.at(0)).toEqualTypeOf<ResidencyLevel | undefined>()
  })
  it("a derived context is accepted as a run's context", () => {
    expectTypeOf((view: View<Message>, previous: ModelContext) =>
      deriveContext(view, { budget: 1000, previous }),
    ).toExtend<ContextFor>()
  })
  it('a recall tool is accepted as a tool of a run', () => {
    expectTypeOf(recallTool(() => view)).toExtend<Tool>()
  })
  it('callers keep positions, kinds, or what a function of the view answers', () => {
    expectTypeOf([3, 'plan'] as const).toExtend<Keep>()
    expectTypeOf((seen: View<Message>) => seen.toArray().map(() => 'full' as const)).toExtend<Keep>()
  })
})

describe('contexts: must not compile', () => {
  it('passing a handle instead of a view', () => {
    // @ts-expect-error a history can be appended to; give its view
    void (() => deriveContext(history, { budget: 1000 }))
    // @ts-expect-error an array may be changed by whoever else holds it
    void (() => deriveContext([], { budget: 1000 }))
  })
  it('keeping what is neither a position nor a kind', () => {
    // @ts-expect-error no page kind
    void (() => deriveContext(view, { budget: 9, keep: ['evidense'] }))
  })
  it('omitting the budget', () => {
    // @ts-expect-error without a budget nothing is enforced
    void (() => deriveContext(view, {}))
  })
  it('changing a context', () => {
    // @ts-expect-error readonly
    void (() => (context.tokens = 0))
    // @ts-expect-error a sequence has no push
    void (() => context.messages.push())
  })
})
