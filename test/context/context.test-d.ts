/** What must infer of derived contexts, and what must not compile: code that derives can't reach a record to change it. */
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, expectTypeOf, it } from 'vitest'
import type { History, Message, ResidencyLevel, Sequence, Settled, View } from 'indelible'
import type { RunOptions, Tool } from 'indelible/run'
import {
  deriveContext,
  paged,
  recallTool,
  type ContextFault,
  type DerivedContext,
  type Policy,
  type Selection,
} from 'indelible/context'

declare const history: History<Message>
declare const view: View<Message>
declare const context: DerivedContext
declare const selection: Selection

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
  it('callers can write a policy', () => {
    expectTypeOf({
      name: 'mine',
      choose: 'always' as const,
      select: ({ candidates }: Selection) => candidates.map(() => 'full' as const),
    }).toExtend<Policy>()
    expectTypeOf(paged()).toEqualTypeOf<Policy>()
  })
})

describe('contexts: must not compile', () => {
  it('passing a handle instead of a view', () => {
    // @ts-expect-error a history can be appended to; give its view
    void (() => deriveContext(history, { budget: 1000 }))
    // @ts-expect-error an array may be changed by whoever else holds it
    void (() => deriveContext([], { budget: 1000 }))
  })
  it('omitting the budget', () => {
    // @ts-expect-error without a budget nothing is enforced
    void (() => deriveContext(view, {}))
  })
  it('changing a context or what a policy receives', () => {
    // @ts-expect-error readonly
    void (() => (context.tokens = 0))
    // @ts-expect-error a sequence has no push
    void (() => context.messages.push())
    // @ts-expect-error readonly
    void (() => (selection.candidates[0] = selection.candidates[1]))
  })
})
