/** What can go wrong in an activity, as data. */
import { absurd } from '../json/index.ts'
import type { ContextFault } from '../context/fault.ts'
import type { PairingFault } from '../message/fault.ts'
import type { RefsFault } from '../refs/fault.ts'
import type { RunFault } from '../run/fault.ts'
import type { StoreFault } from '../store/fault.ts'
import type { FailureNote } from './failure-note.ts'

/** What can go wrong in an activity. */
export type ActivityFault = RefsFault | StoreFault | RunFault | ContextFault | PairingFault | ActionFault

/** What activities alone can give. */
export type ActionFault =
  /** The input of an activity has the wrong shape, or names a model, policy or function that is not registered. */
  | { readonly _tag: 'InvalidInput'; readonly reason: string }
  /** The action has already failed for good. Every later attempt throws the first failure again. */
  | { readonly _tag: 'FailedBefore'; readonly action: string; readonly failure: FailureNote }
  /** The workflow gave the action up before any attempt of it had failed. */
  | { readonly _tag: 'ActionEnded'; readonly action: string }
  /** A later attempt of the action began, or the workflow gave the action up, while this attempt was running. */
  | { readonly _tag: 'Superseded'; readonly action: string }
  /** A function that you gave to the activities threw: one of a registry, an estimate, or `invocation`. */
  | { readonly _tag: 'Unexpected'; readonly cause: unknown }
  /** The action has already happened, with other content. */
  | { readonly _tag: 'OtherAction'; readonly action: string }
  /** The sink or the engine refused an event. If it is `stream_end`, retry the action: its answer is stored. */
  | {
      readonly _tag: 'Unpublished'
      readonly action: string
      readonly event: 'stream_start' | 'model_event' | 'stream_end' | 'heartbeat'
      readonly cause: unknown
    }

/**
 * A fault of activities as a sentence for people. It quotes nothing of a conversation.
 *
 * @param fault the fault
 * @returns what happened, and what to do next
 */
export const activityFaultText = (fault: ActionFault): string => {
  switch (fault._tag) {
    case 'InvalidInput':
      return fault.reason
    case 'OtherAction':
      return `action ${JSON.stringify(fault.action)} has already happened with other content; an action id stands for one content only, so use a new id`
    case 'FailedBefore':
      return fault.failure.message
    case 'ActionEnded':
      return `action ${JSON.stringify(fault.action)} has ended without a result; to try again, start another action with a new id`
    case 'Superseded':
      return `a later attempt of action ${JSON.stringify(fault.action)} has begun, or the action was given up; this attempt no longer counts`
    case 'Unexpected':
      return 'a function given to the activities threw; onFailure received the error'
    case 'Unpublished':
      return `the event ${fault.event} of action ${JSON.stringify(fault.action)} could not be published; retry the action: an answer that it had is stored`
    default:
      return absurd(fault)
  }
}
