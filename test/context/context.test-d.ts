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

describe('what infers', () => {
  it('deriving takes a view and gives a context or a fault', () => {
    expectTypeOf(deriveContext(view, { budget: 1000 })).toEqualTypeOf<Either<ContextFault, DerivedContext>>()
    expectTypeOf(deriveContext).parameter(0).toEqualTypeOf<View<Message>>()
  })
  it('its messages are settled, so that a codec takes them', () => {
    expectTypeOf(context.messages).toExtend<Settled<Sequence<Message>>>()
    expectTypeOf(context.residency.at(0)).toEqualTypeOf<ResidencyLevel | undefined>()
  })
  it('it is what a run asks for', () => {
    expectTypeOf((view: View<Message>, previous: ModelContext) =>
      deriveContext(view, { budget: 1000, previous }),
    ).toExtend<ContextFor>()
  })
  it('and a recall tool is one that a run takes', () => {
    expectTypeOf(recallTool(() => view)).toExtend<Tool>()
  })
  it('a policy is a value that anybody can write', () => {
    expectTypeOf({
      name: 'mine',
      choose: 'always' as const,
      select: ({ candidates }: Selection) => candidates.map(() => 'full' as const),
    }).toExtend<Policy>()
    expectTypeOf(paged()).toEqualTypeOf<Policy>()
  })
})

describe('what must not compile', () => {
  it('a handle: whoever derives may only read', () => {
    // @ts-expect-error a history can be appended to; give its view
    void (() => deriveContext(history, { budget: 1000 }))
    // @ts-expect-error an array may be changed by whoever else holds it
    void (() => deriveContext([], { budget: 1000 }))
  })
  it('no budget', () => {
    // @ts-expect-error without a budget nothing is enforced
    void (() => deriveContext(view, {}))
  })
  it('to change a context, or what a policy is shown', () => {
    // @ts-expect-error readonly
    void (() => (context.tokens = 0))
    // @ts-expect-error a sequence has no push
    void (() => context.messages.push())
    // @ts-expect-error readonly
    void (() => (selection.candidates[0] = selection.candidates[1]))
  })
})
