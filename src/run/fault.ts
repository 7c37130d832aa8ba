import { contextSentences } from '../context/fault.ts'
import { historySentences } from '../history/fault.ts'
import { ownField } from '../json/index.ts'
import {
  type AnySentences,
  callbackFaultText,
  type CallbackThrew,
  reasonOf,
  sentencesOf,
  type Sentences,
} from '../task/index.ts'
import type { SessionFault } from '../session/index.ts'
import { sessionFaultText, sessionSentences } from '../session/fault.ts'
import { modelTypes, type NoModel } from './model/model-types.ts'
import type { RunResult } from './result.ts'
import type { LeaseSessionFault } from '../session/internal.ts'

/** Why a run ended without a result. `partial` has the messages and usage so far. */
export type RunFault = NoModel | RunFailure

/** Why a run failed after it started. `partial` has the result so far. */
export type RunFailure =
  /**
   * The model's client threw. `status` is the HTTP status, if any; `retryAfter` the milliseconds to wait before a
   * retry, if the provider said so; `partialText` is the text streamed so far.
   */
  | {
      readonly _tag: 'ModelFailed'
      readonly model: string
      readonly step: number
      readonly reason: string
      readonly status?: number
      readonly retryAfter?: number
      readonly partialText: string
      readonly cause: unknown
      readonly partial: RunResult
    }
  /** The model's stream ended before the provider reported completion; `empty` if it had no event of an answer. */
  | {
      readonly _tag: 'StreamEndedEarly'
      readonly model: string
      readonly step: number
      readonly partialText: string
      readonly empty?: true
      readonly partial: RunResult
    }
  /** The model's answer can't be recorded, or is not an answer. */
  | {
      readonly _tag: 'InvalidAnswer'
      readonly model: string
      readonly step: number
      readonly reason: string
      readonly partial: RunResult
    }
  /** No context could be derived for the next call. */
  | { readonly _tag: 'NoContext'; readonly step: number; readonly cause: unknown; readonly partial: RunResult }
  /** A handler refused an event: it could not apply a delta or store a note. */
  | {
      readonly _tag: 'HandlerFailed'
      readonly step: number
      readonly event: string
      readonly cause: unknown
      readonly partial: RunResult
    }
  /** `limits.stopWhen` threw. The steps so far are recorded. */
  | { readonly _tag: 'StopWhenThrew'; readonly step: number; readonly cause: unknown; readonly partial: RunResult }
  /** The context of the next call has no message. Nothing was sent: providers refuse such a request. */
  | { readonly _tag: 'NothingToAnswer'; readonly step: number; readonly partial: RunResult }

  /** Another run holds the session. Nothing was done. */
  | (Extract<SessionFault, { readonly _tag: 'SessionBusy' }> & { readonly partial: RunResult })

export const runSentences: Sentences<RunFault> = {
  ModelFailed: (fault) =>
    `step ${fault.step}: ${fault.model} failed${fault.status === undefined ? '' : ` with HTTP ${fault.status}`}: ${fault.reason}`,
  StreamEndedEarly: (fault) =>
    fault.empty === true
      ? `step ${fault.step}: the response of ${fault.model} has no event of an answer; run again, and if that repeats, check the base URL of its client: another server may be there`
      : `step ${fault.step}: the answer of ${fault.model} ended before it was complete${fault.partialText === '' ? '' : ` (its first ${fault.partialText.length} characters are recorded as interrupted)`}; run again`,
  InvalidAnswer: (fault) =>
    `step ${fault.step}: the answer of ${fault.model} can't be recorded: ${fault.reason}; run again`,
  NoContext: (fault) => `step ${fault.step}: no context could be derived: ${sentenceOfCause(fault.cause)}`,
  HandlerFailed: (fault) =>
    `step ${fault.step}: a handler refused the event ${fault.event}: ${sentenceOfCause(fault.cause)}`,
  StopWhenThrew: (fault) =>
    `step ${fault.step}: the run ended because \`limits.stopWhen\` threw: ${reasonOf(fault.cause)}; the steps so far are recorded`,
  NothingToAnswer: (fault) =>
    `step ${fault.step}: nothing was sent: the context has no message that the model could answer; append a user message first`,
  SessionBusy: (fault) => sessionFaultText(fault),
  UnspecifiedModel: (fault) =>
    `the name of the model is missing; ${fault.configured.length === 0 ? 'configure a provider and specify one of its models' : `specify one of a configured provider: ${fault.configured.join(', ')}`}`,
  UnknownModelType: (fault) =>
    fault.type === undefined
      ? `no provider can be inferred from the model name ${JSON.stringify(fault.name)}; pass its type: ${modelTypes.join(', ')}`
      : `model type ${JSON.stringify(fault.type)} is unknown; expected one of ${modelTypes.join(', ')}`,
  UnconfiguredModel: (fault) =>
    `${fault.name} needs the provider ${fault.type}, which is not configured${fault.configured.length === 0 ? '' : ` (configured: ${fault.configured.join(', ')})`}; add it to the registry`,
  MissingKey: (fault) =>
    `${fault.name} needs a key of ${fault.type}${fault.keyFrom === undefined ? '' : `; set ${fault.keyFrom}`}`,
}

/** The sentence for a context's or handler's fault; for any other error, its own message. */
const sentenceOfCause = (cause: unknown): string => {
  const tag =
    typeof cause === 'object' && cause !== null ? ownField(cause as { readonly _tag?: unknown }, '_tag') : undefined
  const sentence =
    typeof tag === 'string' ? (ownField(causes, tag) as ((fault: unknown) => string) | undefined) : undefined
  try {
    return sentence?.(cause) ?? reasonOf(cause)
  } catch {
    return reasonOf(cause) // a foreign fault that has one of our tags
  }
}

const causes: AnySentences = { ...contextSentences, ...historySentences(), ...sessionSentences }

/**
 * A run fault as a sentence.
 *
 * @returns the step, what happened, and what to do next
 */
export const runFaultText: (fault: RunFault) => string = sentencesOf(runSentences)

/** An input with this id was asked before with another message. Nothing was written. */
export interface InputMismatch {
  readonly _tag: 'InputMismatch'
  /** The session. */
  readonly session: string
  /** The id of the input. */
  readonly id: string
}

/** Decisions of `resume` name calls that don't wait. Nothing was run. */
export interface NotWaiting {
  readonly _tag: 'NotWaiting'
  /** The session. */
  readonly session: string
  /** The tokens of the calls. */
  readonly tokens: readonly string[]
}

/**
 * Why a turn or a resumed run has no result. If the run started, `partial` has the result so far. `CallbackThrew`: the
 * function `unfinished` threw, or returned no choice.
 */
export type TurnFault = RunFailure | LeaseSessionFault | InputMismatch | NotWaiting | CallbackThrew

export const turnSentences: Sentences<TurnFault> = {
  ...runSentences,
  ...sessionSentences,
  CallbackThrew: callbackFaultText,
  NotWaiting: ({ session, tokens }) =>
    `${tokens.length === 1 ? 'the call' : 'the calls'} ${tokens.join(', ')} of a decision ${tokens.length === 1 ? "doesn't" : "don't"} wait in session ${JSON.stringify(session)}: decided otherwise before, denied by a later input, or of another session; nothing was run; listWaiting(store) has the calls that wait`,
  InputMismatch: (fault) =>
    `input ${JSON.stringify(fault.id)} of session ${JSON.stringify(fault.session)} already has a different message; nothing was recorded; use a new id for the new message`,
}

export const turnFaultText: (fault: TurnFault) => string = sentencesOf(turnSentences)
