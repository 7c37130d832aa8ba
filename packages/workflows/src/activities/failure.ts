/**
 * The errors that activities throw. Workflow engines retry errors by default, so each failure
 * states whether a retry is useful.
 *
 * Failures become part of a workflow's state, so they say what happened and where, without
 * conversation content: no provider text and no cause. `onFailure` receives those.
 */
import { activityFaultMessage, type ActivityFault, type FailureNote } from './fault.ts'

/**
 * The error of an activity: a `PermanentFailure` or a `RetryableFailure`. Both keep their names in minified code,
 * as `error.name` and as `error.constructor.name`, because engines match retry policies by one or the other.
 */
export abstract class ActivityFailure extends Error {
  abstract override readonly name: 'RetryableFailure' | 'PermanentFailure'
  /** Whether a retry may succeed. */
  abstract readonly retryable: boolean
  /** The `_tag` of the fault. */
  readonly tag: ActivityFault['_tag']
  /** The HTTP status of the model's provider, if there was one. */
  readonly status?: number
  /** The milliseconds after which to retry, if the provider said so (`retry-after`). */
  readonly retryAfter?: number

  constructor({ tag, message, status }: FailureNote, retryAfter?: number) {
    super(message)
    this.tag = tag as ActivityFault['_tag'] // stored from a fault
    if (status !== undefined) this.status = status
    if (retryAfter !== undefined) this.retryAfter = retryAfter
  }
}

/** A failure that a retry would repeat. Engines should not retry it. */
export class PermanentFailure extends ActivityFailure {
  /** The type of the failure for Temporal. It is a field, because a minifier would change the name of the class. */
  static override readonly name = 'PermanentFailure'
  override readonly name = 'PermanentFailure'
  override readonly retryable = false
}

/** A failure that a retry may avoid. */
export class RetryableFailure extends ActivityFailure {
  /** The type of the failure for Temporal. It is a field, because a minifier would change the name of the class. */
  static override readonly name = 'RetryableFailure'
  override readonly name = 'RetryableFailure'
  override readonly retryable = true
}

/** Converts a fault to the error that an activity throws. */
export const failureOf = (fault: ActivityFault): ActivityFailure => {
  if (fault._tag === 'FailedBefore') return new PermanentFailure(fault.failure)
  return isRetryable(fault)
    ? new RetryableFailure(failureNote(fault), fault._tag === 'ModelFailed' ? fault.retryAfter : undefined)
    : new PermanentFailure(failureNote(fault))
}

export const failureNote = (fault: ActivityFault): FailureNote =>
  fault._tag === 'FailedBefore'
    ? fault.failure
    : {
        tag: fault._tag,
        message: `${fault._tag}: ${activityFaultMessage(fault)}`,
        ...(fault._tag === 'ModelFailed' && fault.status !== undefined && { status: fault.status }),
      }

/**
 * Whether a retry may succeed: the store is unreachable or busy, or the model is overloaded (HTTP 408, 409, 429, 5xx),
 * unreachable or interrupted. A missing, malformed, refused or oversized value is not retryable, and neither is a
 * mistake of the program.
 *
 * @returns true if it may
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
    case 'InvalidAnswer': // another answer may be valid
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

/** Whether an error without a status is a bug: a built-in error class, unless `fetch` threw it. */
const isBug = (cause: unknown): boolean => {
  const isFetch = cause instanceof TypeError && (cause.cause !== undefined || /fetch|network/i.test(cause.message)) // for an unreachable host
  return !isFetch && (cause instanceof TypeError || cause instanceof RangeError || cause instanceof ReferenceError)
}
