/** Carries faults through the activities to their boundary. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'indelible/internal/json'
import type { ActivityFault } from './fault.ts'

/** A fault thrown inside an activity. Not an Error, because it never leaves the activity. */
export class ActivityFailed {
  readonly fault: ActivityFault

  constructor(fault: ActivityFault) {
    this.fault = fault
  }
}

/** The engine cancelled the activity. The activity then throws the engine's reason. */
export class ActivityCancelled {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
}

/** The value of a Right. Throws ActivityFailed for a Left. */
export const rightOrFail = <T>(answer: Either<ActivityFault, T>): T => {
  if (isLeft(answer)) throw new ActivityFailed(answer.left)
  return answer.right
}

/** The fault of a thrown value. Anything but ActivityFailed was thrown by a caller's function. */
export const faultOf = (error: unknown): ActivityFault =>
  error instanceof ActivityFailed ? error.fault : { _tag: 'Unexpected', cause: error }
