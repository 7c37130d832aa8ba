/** An answer whose calls are not all answered: where a run ended for an approval, or died, and another one goes on. */
import type { ToolCallPart, ToolResultPart } from '../message/index.ts'
import { rangeDigest } from '../notes/kit.ts'
import type { ModelResponse } from './response.ts'

/** A call that waits for an approval. */
export interface WaitingCall extends ToolCallPart {
  /** The token that approves or denies this call of this step, and no other call: for `approve` and `deny`. */
  readonly approval: string
}

/** A step that waits. Plain JSON data: it can be kept for days. */
export interface OpenAnswer {
  /** The id of the step: that of the delta that it becomes. */
  readonly step: string
  /** The model's answer. */
  readonly response: ModelResponse
  /** The results that there are. */
  readonly results: readonly ToolResultPart[]
  /** The calls that wait for an approval, each with its token. */
  readonly calls: readonly WaitingCall[]
  /** Of these calls, the ids of those that a run had started when it died: they may have had effects. Default: none. */
  readonly started?: readonly string[]
}

/** Decisions about waiting calls: the tokens (`approval`) of the calls in `open` of a result. */
export interface Decisions {
  /** Tokens of calls that may be run now. A token of another step decides nothing. Default: none. */
  readonly approve?: readonly string[]
  /** Tokens of calls that are not run, with a reason for the model where there is one. Default: none. */
  readonly deny?: readonly (string | Denial)[]
}

/** A call that is not run. */
export interface Denial {
  /** The token of the call. */
  readonly approval: string
  /** The reason that the model reads. Default: only that the call was denied. */
  readonly reason?: string
}

const prefix = 'approval_'

/** The token of a call: of its step and of all that would be run, because a model may use one id again. */
export const approvalOf = (step: string, { id, name, arguments: input }: ToolCallPart): string =>
  prefix + rangeDigest([step, id, name, input])

/** A call with its token. */
export const waitingCall = (step: string, call: ToolCallPart): WaitingCall =>
  Object.freeze({ ...call, approval: approvalOf(step, call) })

/** A copy of decisions. Throws TypeError, on one that is not a token: the id of a call may be that of another call. */
export const decisionsOf = ({ approve = [], deny = [] }: Decisions): Required<Decisions> => {
  const token = (name: string, given: unknown): void => {
    if (typeof given !== 'string' || !given.startsWith(prefix))
      throw new TypeError(
        `${name} takes the token of a waiting call (result.open.calls[…].approval), not ${JSON.stringify(given)}`,
      )
  }
  for (const one of approve) token('approve', one)
  for (const one of deny) token('deny', typeof one === 'object' ? one?.approval : one)
  return { approve: [...approve], deny: [...deny] }
}

/** The text that the model reads for a denied call; undefined if it was not denied. */
export const denialOf = (token: string, { deny = [] }: Decisions): string | undefined => {
  const found = deny.find((one) => (typeof one === 'string' ? one : one.approval) === token)
  if (found === undefined) return undefined
  return typeof found === 'object' && found.reason !== undefined
    ? `Not run: this call was denied. Reason: ${found.reason}`
    : 'Not run: this call was denied.'
}
