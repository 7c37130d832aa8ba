/**
 * What an activity throws. Workflow engines try again what throws, unless they are told not to: so a failure says whether
 * it is worth it.
 *
 * Failures become part of a workflow's state, so a failure says what happened and where, and nothing of what was said: no
 * text of the provider's, no cause. Those are told to `onFailure`.
 */
import { contextFaultText } from '../context/fault.ts'
import { pairingFaultText } from '../message/fault.ts'
import { refsFaultText } from '../refs/fault.ts'
import { runFaultText } from '../run/fault.ts'
import { storeFaultText } from '../store/fault.ts'
import { activityFaultText, type ActivityFault } from './fault.ts'
import type { FailureNote } from './failure-note.ts'
import { retryAfterOf } from './retry-after.ts'

/**
 * An activity did not come to its end. What is thrown is a `PermanentFailure` or a `RetryableFailure`. Both keep their names
 * in minified code, as `error.name` and as `error.constructor.name`: engines match retry policies by one or the other.
 */
export abstract class ActivityFailure extends Error {
  abstract override readonly name: 'RetryableFailure' | 'PermanentFailure'
  /** Whether the same might go well the next time. */
  abstract readonly retryable: boolean
  /** The `_tag` of the fault. */
  readonly tag: ActivityFault['_tag']
  /** HTTP's, of the model's provider. */
  readonly status?: number
  /** Milliseconds after which to try again, where the provider said so (`retry-after`). */
  readonly retryAfter?: number

  constructor({ tag, message, status }: FailureNote, retryAfter?: number) {
    super(message)
    this.tag = tag as ActivityFault['_tag'] // noted from a fault
    if (status !== undefined) this.status = status
    if (retryAfter !== undefined) this.retryAfter = retryAfter
  }
}

/** The same would fail again: an engine should not retry it. */
export class PermanentFailure extends ActivityFailure {
  /** What Temporal takes the type of a failure from. Not the name of the class: a minifier would change it. */
  static override readonly name = 'PermanentFailure'
  override readonly name = 'PermanentFailure'
  override readonly retryable = false
}

/** The same might go well the next time. */
export class RetryableFailure extends ActivityFailure {
  /** What Temporal takes the type of a failure from. Not the name of the class: a minifier would change it. */
  static override readonly name = 'RetryableFailure'
  override readonly name = 'RetryableFailure'
  override readonly retryable = true
}

/** A fault as the error that an activity throws. */
export const failureOf = (fault: ActivityFault): ActivityFailure => {
  if (fault._tag === 'FailedBefore') return new PermanentFailure(fault.failure)
  return isRetryable(fault)
    ? new RetryableFailure(failureNote(fault), fault._tag === 'ModelFailed' ? retryAfterOf(fault.cause) : undefined)
    : new PermanentFailure(failureNote(fault))
}

/** A fault as data without content. */
export const failureNote = (fault: ActivityFault): FailureNote =>
  fault._tag === 'FailedBefore'
    ? fault.failure
    : {
        tag: fault._tag,
        message: `${fault._tag}: ${sentence(fault)}`,
        ...(fault._tag === 'ModelFailed' && fault.status !== undefined && { status: fault.status }),
      }

/**
 * Whether the same might go well the next time: a store that can't be reached or is busy, a model that is overloaded
 * (HTTP 408, 409, 429, 5xx), can't be reached, or broke off. Not: what is missing, malformed, refused or too large, nor
 * a mistake of the program.
 */
export const isRetryable = (fault: ActivityFault): boolean => {
  switch (fault._tag) {
    case 'ModelFailed':
      return fault.status === undefined
        ? !isBug(fault.cause)
        : fault.status === 408 || fault.status === 409 || fault.status === 429 || fault.status >= 500
    case 'Unexpected':
      return !isBug(fault.cause)
    case 'StreamEndedEarly':
    case 'InvalidAnswer': // another answer may do
    case 'Unpublished':
    case 'Io':
    case 'Busy':
    case 'Full':
    case 'Closed':
      return true
    default:
      return false
  }
}

/** What a provider's client throws without a status has not reached it, or broke off on the way; what the language throws is a mistake. */
const isBug = (cause: unknown): boolean => {
  const isFetch = cause instanceof TypeError && (cause.cause !== undefined || /fetch|network/i.test(cause.message)) // how fetch says that nobody answers
  return !isFetch && (cause instanceof TypeError || cause instanceof RangeError || cause instanceof ReferenceError)
}

const sentence = (fault: ActivityFault): string => {
  switch (fault._tag) {
    case 'ModelFailed':
      return `${fault.model} failed${fault.status === undefined ? '' : ` with HTTP ${fault.status}`}`
    case 'StreamEndedEarly':
      return `the answer of ${fault.model} ended before it was whole`
    case 'InvalidAnswer':
      return `the answer of ${fault.model} can't be recorded`
    case 'UnspecifiedModel':
    case 'UnknownModelType':
    case 'UnconfiguredModel':
    case 'MissingKey':
    case 'NoContext':
    case 'HandlerFailed':
    case 'ContextUnsettled':
      return runFaultText(fault)
    case 'Io':
      return `the store failed to ${fault.operation}`
    case 'InvalidInput':
    case 'OtherAction':
    case 'ActionEnded':
    case 'Superseded':
    case 'FailedBefore':
    case 'Unexpected':
    case 'Unpublished':
      return activityFaultText(fault)
    case 'Unsettled':
      return pairingFaultText(fault)
    case 'MinimumDoesNotFit':
      return contextFaultText(fault)
    case 'MalformedBlock':
      return `block ${fault.id} of the message at position ${fault.position} does not hold it`
    case 'OtherScope':
    case 'UnreadableHistory':
    case 'NewerRefs':
    case 'MalformedTree':
    case 'MissingKeys':
    case 'MalformedContent':
      return refsFaultText(fault)
    default:
      return storeFaultText(fault)
  }
}
