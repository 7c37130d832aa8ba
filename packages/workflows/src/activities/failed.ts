/** How what went wrong goes through the activities, up to where it leaves them. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from 'indelible/json/kit'
import type { ActivityFault } from './fault.ts'

/** A fault on its way out of an activity. Not an Error: it never leaves one. */
export class ActivityFailed {
  readonly fault: ActivityFault

  constructor(fault: ActivityFault) {
    this.fault = fault
  }
}

/** The engine has cancelled the activity: its own reason is what is thrown in the end. */
export class ActivityCancelled {
  readonly reason: unknown

  constructor(reason: unknown) {
    this.reason = reason
  }
}

/** What is there, or throws Failed. */
export const rightOrFail = <T>(answer: Either<ActivityFault, T>): T => {
  if (isLeft(answer)) throw new ActivityFailed(answer.left)
  return answer.right
}

/** What was thrown, as a fault: what is none was thrown by a function that the activities were given. */
export const faultOf = (error: unknown): ActivityFault =>
  error instanceof ActivityFailed ? error.fault : { _tag: 'Unexpected', cause: error }
