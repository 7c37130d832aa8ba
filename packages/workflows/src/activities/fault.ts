/** The faults of activities, as data. */
import { sentencesOf, type Sentences } from 'indelible/internal/task'
import { contextSentences, type ContextFault } from 'indelible/internal/context'
import { pairingSentences, type PairingFault } from 'indelible/internal/message'
import { refsSentences, type RefsFault } from '../refs/fault.ts'
import { runSentences, type RunFault } from 'indelible/internal/run'
import type { StoreFault } from 'indelible/internal/store'

/** The stored failure of an action, so that every later attempt reports the first cause. It holds no content. */
export interface FailureNote {
  /** The `_tag` of the fault. */
  readonly tag: string
  /** The message of the failure. */
  readonly message: string
  /** The HTTP status of the model's provider. */
  readonly status?: number
}

/** A fault of an activity. */
export type ActivityFault =
  | RefsFault
  | StoreFault
  | RunFault
  | ContextFault
  | PairingFault
  /** The input of an activity has the wrong shape, or names a model, policy or function that is not registered. */
  | { readonly _tag: 'InvalidInput'; readonly reason: string }
  /** The action has failed permanently. Every later attempt throws the first failure again. */
  | { readonly _tag: 'FailedBefore'; readonly action: string; readonly failure: FailureNote }
  /** The workflow gave up the action before any attempt had failed. */
  | { readonly _tag: 'ActionEnded'; readonly action: string }
  /** A later attempt began, or the workflow gave up the action, while this attempt was running. */
  | { readonly _tag: 'Superseded'; readonly action: string }
  /** A function passed to the activities threw: one of a registry, an estimate, or `invocation`. */
  | { readonly _tag: 'Unexpected'; readonly cause: unknown }
  /** The action has already happened with other content. */
  | { readonly _tag: 'OtherAction'; readonly action: string }
  /** The sink or the engine refused an event. If it is `stream_end`, retry the action: its answer is stored. */
  | {
      readonly _tag: 'Unpublished'
      readonly action: string
      readonly event: 'stream_start' | 'model_event' | 'stream_end' | 'heartbeat'
      readonly cause: unknown
    }

/** A sentence for each fault, without conversation content. */
const activitySentences: Sentences<ActivityFault> = {
  ...contextSentences,
  ...pairingSentences,
  ...runSentences,
  ...refsSentences, // includes those of the store
  ModelFailed: ({ model, status }) => `${model} failed${status === undefined ? '' : ` with HTTP ${status}`}`,
  StreamEndedEarly: ({ model }) => `the answer of ${model} ended early`,
  InvalidAnswer: ({ model }) => `the answer of ${model} can't be recorded`,
  Io: ({ operation }) => `the store failed to ${operation}`,
  MalformedBlock: ({ id, position }) => `block ${id} does not contain the message at position ${position}`,
  InvalidInput: (fault) => fault.reason,
  OtherAction: (fault) =>
    `action ${JSON.stringify(fault.action)} has already happened with other content; use a new id for new content`,
  FailedBefore: (fault) => fault.failure.message,
  ActionEnded: (fault) =>
    `action ${JSON.stringify(fault.action)} has ended without a result; to try again, start another action with a new id`,
  Superseded: (fault) =>
    `a later attempt of action ${JSON.stringify(fault.action)} has begun, or the action was given up; this attempt no longer counts`,
  Unexpected: () => 'a function passed to the activities threw; onFailure received the error',
  Unpublished: (fault) =>
    `the event ${fault.event} of action ${JSON.stringify(fault.action)} could not be published; retry the action: if it had an answer, the answer is stored`,
}

/**
 * Describe a fault of an activity in a sentence for people, without conversation content.
 *
 * @returns what happened, and what to do next
 */
export const activityFaultMessage: (fault: ActivityFault) => string = sentencesOf(activitySentences)
