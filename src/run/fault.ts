/** What can go wrong in a run, as data. Each carries what the run had come to. */
import type { PairingFault } from '../message/index.ts'
import type { RunResult } from './result.ts'

export type RunFault =
  /** The model's client threw. `status` is that of HTTP, if it got so far. */
  | { readonly _tag: 'ModelFailed'; readonly model: string; readonly step: number; readonly reason: string; readonly status?: number; readonly cause: unknown; readonly partial: RunResult }
  /** The model's stream ended without saying that the answer is whole. */
  | { readonly _tag: 'StreamEndedEarly'; readonly model: string; readonly step: number; readonly partialText: string; readonly partial: RunResult }
  /** What the model answered can't be recorded, or is no answer. */
  | { readonly _tag: 'InvalidAnswer'; readonly model: string; readonly step: number; readonly reason: string; readonly partial: RunResult }
  /** No context could be derived for the next call. */
  | { readonly _tag: 'NoContext'; readonly step: number; readonly cause: unknown; readonly partial: RunResult }
  /** A handler refused an event: a delta that was not applied, a note that was not stored. */
  | { readonly _tag: 'HandlerFailed'; readonly step: number; readonly event: string; readonly cause: unknown; readonly partial: RunResult }
  /** What is to be sent is not settled. Only a `context` of the caller's own can bring this about. */
  | { readonly _tag: 'ContextUnsettled'; readonly step: number; readonly cause: PairingFault; readonly partial: RunResult }

/** A run fault as a sentence for people. */
export const runFaultText = (fault: RunFault): string => {
  switch (fault._tag) {
    case 'ModelFailed':
      return `step ${fault.step}: ${fault.model} failed${fault.status === undefined ? '' : ` with HTTP ${fault.status}`}: ${fault.reason}`
    case 'StreamEndedEarly':
      return `step ${fault.step}: the answer of ${fault.model} ended before it was whole${fault.partialText === '' ? '' : ` (after ${fault.partialText.length} characters)`}; nothing of it was recorded`
    case 'InvalidAnswer':
      return `step ${fault.step}: the answer of ${fault.model} can't be recorded: ${fault.reason}`
    case 'NoContext':
      return `step ${fault.step}: no context could be derived: ${reasonOf(fault.cause)}`
    case 'HandlerFailed':
      return `step ${fault.step}: a handler refused the event ${fault.event}: ${reasonOf(fault.cause)}`
    case 'ContextUnsettled':
      return `step ${fault.step}: the context to be sent is not settled (${fault.cause.problems.length} problems)`
  }
}

/** What was thrown or returned, as text. */
export const reasonOf = (cause: unknown): string => {
  if (cause instanceof Error) return cause.message
  if (typeof cause === 'object' && cause !== null && '_tag' in cause) return String(cause._tag)
  return String(cause)
}
