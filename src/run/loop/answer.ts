/** Prepares a model's answer: makes it recordable and decides whether its calls are run. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, jsonIn, left, right } from '../../json/index.ts'
import { decodeMessage, type Part, type ToolCallPart } from '../../message/index.ts'
import { withOwnCallId } from '../../message/internal.ts'
import { messageFaultText } from '../../message/fault.ts'
import { exceedsLimits, type Limits, type ReachedLimit, type SpentSoFar } from './limits.ts'
import type { FinishReason, ModelResponse } from '../model/response.ts'
import type { StopReason } from '../result.ts'

/**
 * The answer in recordable form: every call has a unique id, and truncated calls are dropped. A `Left` explains why
 * it can't be recorded. The answer's call ids are added to `callIds`, the ids in use.
 */
export const admitAnswer = (answer: ModelResponse, callIds: Set<string>): Either<string, ModelResponse> => {
  const decoded = decodeMessage(answer.message)
  if (isLeft(decoded)) return left(messageFaultText(decoded.left))
  const message = decoded.right
  if (message.role !== 'assistant') return left(`its role is ${message.role}`)
  const content = message.content.flatMap((part): readonly Part[] => {
    if (part.type !== 'tool_call') return [part]
    if (cutReasons.has(answer.reason) && jsonIn(part.arguments) === undefined) return []
    return [withOwnCallId(part, callIds)]
  })
  const same =
    content.length === message.content.length && content.every((part, index) => part === message.content[index])
  return right(
    Object.freeze({
      ...answer,
      message: same ? message : Object.freeze({ ...message, content: Object.freeze(content) }),
    }),
  )
}

/** Why a complete answer without calls ended. */
export const stopOf = ({ message, reason }: ModelResponse): StopReason =>
  // A model that declines in a part of its own (OpenAI's `refusal`) reports an ordinary end.
  cutReasons.get(reason)?.stop ?? (message.content.some(({ type }) => type === 'refusal') ? 'refusal' : 'end_turn')

/** The reasons after which an answer may lack its end. */
const cutReasons: ReadonlyMap<FinishReason, ReachedLimit> = new Map([
  ['max_tokens', { reason: 'Not run: the answer was cut off at its length limit.', stop: 'max_tokens' }],
  ['refusal', { reason: 'Not run: the answer ended as a refusal.', stop: 'refusal' }],
])

/** Why an answer's calls are not run and the run ends: the answer was truncated, or a limit is reached. */
export const callRefusal = (
  calls: readonly ToolCallPart[],
  { reason }: ModelResponse,
  spent: SpentSoFar,
  toolCalls: number,
  limits: Limits,
): ReachedLimit | undefined => {
  if (calls.length === 0) return undefined
  const cut = cutReasons.get(reason)
  if (cut !== undefined) return cut
  const { maxToolCalls } = limits
  const over = exceedsLimits(spent, limits)
  if (over !== undefined) return over
  if (toolCalls + calls.length > maxToolCalls)
    return {
      reason: `Not run: this run has reached its limit of ${maxToolCalls} tool ${maxToolCalls === 1 ? 'call' : 'calls'}.`,
      stop: 'max_tool_calls',
    }
  return undefined
}
