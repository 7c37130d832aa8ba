/** What can go wrong in an activity, as data. */
import { absurd } from '../json/index.ts'
import type { ContextFault } from '../context/fault.ts'
import type { PairingFault } from '../message/fault.ts'
import type { RefsFault } from '../refs/fault.ts'
import type { RunFault } from '../run/fault.ts'
import type { StoreFault } from '../store/fault.ts'

/** What can go wrong in an activity. */
export type ActivityFault = RefsFault | StoreFault | RunFault | ContextFault | PairingFault | ActionFault

/** What activities alone can give. */
export type ActionFault =
  /** What an activity was given is not what it takes. */
  | { readonly _tag: 'InvalidInput'; readonly reason: string }
  /** The action has ended without a result: it failed for good, or was given up. */
  | { readonly _tag: 'ActionEnded'; readonly action: string }
  /** A later attempt of the action has begun, or it was given up, while this one went on. */
  | { readonly _tag: 'Superseded'; readonly action: string }
  /** A function that the activities were given has thrown: a registry's, an estimate, `invocation`. */
  | { readonly _tag: 'Unexpected'; readonly cause: unknown }
  /** The action has happened before with something else. */
  | { readonly _tag: 'OtherAction'; readonly action: string }
  /** The sink, or the engine, did not take an event. If it is the end, the action is to be tried again; its answer is stored. */
  | {
      readonly _tag: 'Unpublished'
      readonly action: string
      readonly event: 'stream_start' | 'model_event' | 'stream_end' | 'heartbeat'
      readonly cause: unknown
    }

/** A fault of activities alone as a sentence for people. It repeats nothing of a conversation. */
export const activityFaultText = (fault: ActionFault): string => {
  switch (fault._tag) {
    case 'InvalidInput':
      return fault.reason
    case 'OtherAction':
      return `the action ${JSON.stringify(fault.action)} has happened with something else: an action names one content only`
    case 'ActionEnded':
      return `the action ${JSON.stringify(fault.action)} has ended without a result: what is tried after that is another action, with an id of its own`
    case 'Superseded':
      return `a later attempt of the action ${JSON.stringify(fault.action)} has begun, or it was given up: this one counts no more`
    case 'Unexpected':
      return 'a function that the activities were given has thrown; onFailure was told what'
    case 'Unpublished':
      return `an event (${fault.event}) of the action ${JSON.stringify(fault.action)} could not be published; if there is an answer, it is stored`
    default:
      return absurd(fault)
  }
}
