/** An answer whose calls are not all answered: where a run ended for an approval, or died, and another one goes on. */
import type { ToolCallPart, ToolResultPart } from '../message/index.ts'
import type { ModelResponse } from './response.ts'

/** A step that waits. Plain JSON data: it can be kept for days. */
export interface OpenAnswer {
  /** The id of the step: that of the delta that it becomes. */
  readonly step: string
  /** The model's answer. */
  readonly response: ModelResponse
  /** The results that there are. */
  readonly results: readonly ToolResultPart[]
  /** The calls that wait for an approval. */
  readonly calls: readonly ToolCallPart[]
  /** Of these calls, the ids of those that a run had started when it died: they may have had effects. Default: none. */
  readonly started?: readonly string[]
}

/** What was decided about calls that wait. */
export interface Decisions {
  /** Ids of calls that may be run now. Default: none. */
  readonly approve?: readonly string[]
  /** Ids of calls that are not run, with a reason for the model where there is one. Default: none. */
  readonly deny?: readonly (string | Denial)[]
}

/** A call that is not run. */
export interface Denial {
  /** The id of the call. */
  readonly id: string
  /** What the model reads. Default: that somebody decided against it. */
  readonly reason?: string
}

/** What the model reads of a call that was denied; undefined: it was not. */
export const denialOf = (id: string, { deny = [] }: Decisions): string | undefined => {
  const found = deny.find((one) => (typeof one === 'string' ? one : one.id) === id)
  if (found === undefined) return undefined
  return typeof found === 'object' && found.reason !== undefined
    ? `Not run: it was denied. ${found.reason}`
    : 'Not run: it was denied.'
}
