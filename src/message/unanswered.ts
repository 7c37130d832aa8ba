/**
 * The texts that a model reads in place of the result of a call that was interrupted, denied or never answered.
 *
 * They are recorded, and digests of contexts cover them: a change of one changes the contexts of existing records.
 */

/** A result that was never recorded, in the middle of a record; and at its end. */
export const noResult = 'No result was recorded for this call.'
export const noResultYet = 'Interrupted: no result has been recorded for this call.'

/** A call that had started and has no result. */
export const sideEffects = 'The tool may have had side effects.'

/** A call that was running when its run ended. */
export const interruptedTool: string = `The run was interrupted while this tool was running. ${sideEffects}`

/** A call that was interrupted; nobody knows whether it had started. */
export const interruptedCall = 'The run was interrupted before this tool gave a result.'

/** Calls that had not started when their run ended. */
export const waitedForApproval = 'Not run: the call was waiting for approval when the run ended.'
export const answerIncomplete = 'Not run: the run was interrupted before the answer was complete.'
export const neverStarted = 'Not run: the run was interrupted before this tool started.'

/** A call that never started. */
export const notRunText = (reason: string): string => `Not run. ${reason}`

/** A call that a dead run had started, and that was not run again. */
export const notRunAgainText = (reason: string): string => `Not run again. ${reason}\n${interruptedTool}`

/** Reasons for `notRunText` and `notRunAgainText`; with `sideEffects` behind it, for a call that had started. */
export const faultBeforeCall = 'The run ended with a fault before this call.'
export const answerBrokeOff = 'The answer broke off.'
export const otherMessageSaid = 'Something else was said instead of an approval.'
export const interruptedByUser = 'Interrupted by the user before it was finished.'
export const runCancelled = 'The run was cancelled.'
export const runStopped = 'Somebody asked the run to stop.'
export const runLost = (cause: string): string => `The session is held by another run. ${cause}`
export const runTimedOut = (milliseconds: number): string => `The run's limit of ${milliseconds} ms was reached.`
export const stepTimedOut = (milliseconds: number): string => `The step's limit of ${milliseconds} ms was reached.`
export const toolTimedOut = (milliseconds: number): string => `The tool was given up after ${milliseconds} ms.`

/**
 * A call that was denied.
 *
 * @param wasStarted whether a dead run had started it
 */
export const denialText = (reason: string | undefined, wasStarted: boolean): string => {
  const why = reason === undefined ? '' : ` Reason: ${reason}`
  return wasStarted
    ? `Not run again: this call was denied.${why}\n${interruptedTool}`
    : `Not run: this call was denied.${why}`
}
