/** What infers: activities take and give JSON; the workflow's side takes refs and no content. */
import { describe, expectTypeOf, it } from 'vitest'
import type { BlockStore } from 'indelible/store'
import type { Message, Store } from 'indelible'
import type { PendingHistory, RefHistory, StoredHistory } from '@indelible/workflows/refs'
import {
  chatStep,
  historyActivities,
  type ChatStep,
  type HistoryActivities,
  type StreamResult,
} from '@indelible/workflows/activities'

declare const store: Store
declare const blocks: BlockStore
declare const activities: HistoryActivities
declare const refs: RefHistory
declare const stored: StoredHistory
declare const pending: PendingHistory
declare const message: Message
declare const declined: (work: () => unknown) => void

const options = { action: 'a', model: { name: 'm' } }

describe('inferred activity types', () => {
  it('accept any block store and are plain functions', () => {
    expectTypeOf(historyActivities({ store, registry: {} })).toEqualTypeOf<HistoryActivities>()
    expectTypeOf(historyActivities({ store: blocks, registry: {} })).toEqualTypeOf<HistoryActivities>()
    expectTypeOf(activities.stream).returns.toEqualTypeOf<Promise<StreamResult>>()
    expectTypeOf(chatStep(activities, refs, options)).toEqualTypeOf<Promise<ChatStep>>()
    expectTypeOf<keyof ChatStep>().toEqualTypeOf<
      'position' | 'seen' | 'reason' | 'usage' | 'calls' | 'model' | 'lost' | 'overBudget' | 'unpublished'
    >()
  })
})

describe('activities: must not compile', () => {
  it('content in a workflow', () => {
    // @ts-expect-error a chat step goes on with refs
    declined(() => chatStep(activities, stored, options))
    // @ts-expect-error pending content is no history of a workflow
    declined(() => activities.stream({ ...options, history: pending }))
    // @ts-expect-error messages are appended as refs
    declined(() => refs.append(message))
    // @ts-expect-error an action has an id
    declined(() => chatStep(activities, refs, { model: { name: 'm' } }))
    // @ts-expect-error the content is not in the result
    declined(async () => (await activities.stream({ ...options, history: refs })).message)
  })
})
