/** What infers, and the typestate: each wrong order does not compile. */
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, expectTypeOf, it } from 'vitest'
import {
  createPendingHistory,
  createRefHistory,
  hydrate,
  hydratePartial,
  parseHistoryJson,
  persist,
  type MessageRef,
  type ParsedHistory,
  type PartialHistory,
  type PendingHistory,
  type RefHistory,
  type RefHistoryJson,
  type HydrateFault,
  type HydratePartialFault,
  type ParseFault,
  type PersistFault,
  type StoredHistory,
} from '@indelible/workflows/refs'
import { user, type Task, type History, type Message, type View } from 'indelible'
import type { BlockId } from '../../../../src/proof/internal.ts'
import { type BlockStore } from 'indelible/store'
import type { Position } from 'indelible/internal/history'

declare const store: BlockStore
declare const refs: RefHistory
declare const pending: PendingHistory
declare const stored: StoredHistory
declare const partial: PartialHistory
declare const declined: (work: () => unknown) => void

describe('inferred ref types', () => {
  it("each step's result is the next step's input", () => {
    expectTypeOf(createRefHistory()).toEqualTypeOf<RefHistory>()
    expectTypeOf(createPendingHistory()).toEqualTypeOf<PendingHistory>()
    expectTypeOf(hydrate(store, refs)).toEqualTypeOf<Task<HydrateFault, StoredHistory>>()
    expectTypeOf(hydratePartial(store, refs)).toEqualTypeOf<Task<HydratePartialFault, PartialHistory>>()
    expectTypeOf(persist(store, pending)).toEqualTypeOf<Task<PersistFault, StoredHistory>>()
    expectTypeOf(stored.extend()).toEqualTypeOf<PendingHistory>()
    expectTypeOf(stored.refHistory()).toEqualTypeOf<RefHistory>()
    expectTypeOf(stored.toJSON()).toEqualTypeOf<RefHistoryJson>()
    expectTypeOf(parseHistoryJson(null)).toEqualTypeOf<Either<ParseFault, ParsedHistory>>()
  })
  it('content is readable as a view', () => {
    expectTypeOf(stored.view()).toEqualTypeOf<View<Message>>()
    expectTypeOf(pending.view()).toEqualTypeOf<View<Message>>()
    expectTypeOf(pending.append(user('x'))).toEqualTypeOf<Position>()
    expectTypeOf(refs.refs()).toEqualTypeOf<readonly MessageRef[]>()
  })
})

describe('refs: must not compile', () => {
  it('reading content before hydrating', () => {
    // @ts-expect-error a reference history has no view
    declined(() => refs.view())
    // @ts-expect-error nor messages to append: a message has content
    declined(() => refs.append(user('x')))
  })
  it('writing refs of unstored content', () => {
    // @ts-expect-error pending content has no refs: persist it first
    declined(() => pending.refHistory())
    // @ts-expect-error and no JSON
    declined(() => pending.toJSON())
    // @ts-expect-error a reference history is what a workflow carries
    declined((): RefHistory => pending)
  })
  it('persisting content that is not hydrated or has placeholders', () => {
    // @ts-expect-error refs have no content to be put
    declined(() => persist(store, refs))
    // @ts-expect-error placeholders are not content
    declined(() => persist(store, partial))
    // @ts-expect-error nor can they be continued
    declined(() => partial.extend())
    // @ts-expect-error or written
    declined(() => partial.refHistory())
    // @ts-expect-error or appended to
    declined(() => partial.append(user('x')))
  })
  it('hydrating twice, or a forged value', () => {
    // @ts-expect-error it has its content
    declined(() => hydrate(store, stored))
    // @ts-expect-error parseHistoryJson reads JSON
    declined(() => hydrate(store, { type: 'indelible.refs', version: 1, scope: 'default', refs: [] }))
    // @ts-expect-error a literal is no reference history
    declined((): RefHistory => ({
      scope: 'default',
      len: 0,
      append: refs.append,
      refs: refs.refs,
      toJSON: refs.toJSON,
    }))
    // @ts-expect-error a history of messages is not one of refs
    declined((): RefHistory => ({}) as History<Message>)
  })
  it('appending to a stored history, which would no longer be stored', () => {
    // @ts-expect-error extend gives what can be appended to
    declined(() => stored.append(user('x')))
    // @ts-expect-error stored is not pending
    declined((): PendingHistory => stored)
    // @ts-expect-error nor the other way round
    declined((): StoredHistory => pending)
  })
  it('changing a ref', () => {
    // @ts-expect-error refs are readonly
    declined(() => (refs.refs()[0] as MessageRef).blockIds.push('' as BlockId))
    // @ts-expect-error any text is no block id
    declined(() => refs.append({ blockIds: ['abc'], role: 'user' }))
  })
})
