/** Settles a step that waits for approvals which nobody gives any more. */
import type { Message, ToolResultPart } from '../message/index.ts'
import { callsOf, interruptedTool, notRunText, otherMessageSaid, resultMessages } from '../message/internal.ts'
import { checkStep, type OpenAnswer } from './open-answer.ts'
import { errorResult } from './tools/invoke.ts'

/**
 * The messages of a step that waits for approval, when the user says something else instead. Append them to the
 * messages before the step, and the user's message after them.
 *
 * The results of finished tools are kept. Each waiting call gets an error result that says it was not run. Afterwards
 * `run` refuses this `open`, because the record has its step.
 *
 * Cost    O(parts of the step)
 * @param open `open` of a run's result
 * @returns the model's answer and the results of its calls, settled; frozen
 * @throws TypeError if `open` is not from a result
 * @example
 * history.append(...) // each of settleOpen(result.open), then user('never mind')
 */
export const settleOpen = (open: OpenAnswer): readonly Message[] => {
  checkStep('settleOpen', open)
  return Object.freeze([open.response.message, ...resultMessages(settledResults(open), false)])
}

/** The results of the step's calls, in call order, without a decision about those that wait. */
export const settledResults = ({ response, results, started = [] }: OpenAnswer): readonly ToolResultPart[] => {
  const finished = new Map(results.map((result) => [result.callId, result]))
  return callsOf(response.message).map(
    (call) =>
      finished.get(call.id) ??
      errorResult(call, started.includes(call.id) ? interruptedTool : notRunText(otherMessageSaid)),
  )
}
