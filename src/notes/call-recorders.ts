/** How a run writes a history of call records. The package of call records adds each log that it creates. */
import type { JsonObject } from '../json/index.ts'
import type { SignalLike } from '../task/index.ts'

/** What the prompt says of the records: where the code reads them, and how their keys are written. */
interface CallLogKeys {
  readonly where: string
  readonly keys: 'camelCase' | 'snake_case'
}

/** A call to record. The package of call records has the same shape. */
interface RecordedCall {
  readonly callId: string
  readonly methodName: string
  readonly args?: readonly string[]
  readonly kwargs?: JsonObject
  readonly speaker: 'agent'
  readonly traceId: string
  readonly programSource?: string
  readonly fields: { readonly toolCallId: string }
  readonly signal: SignalLike
  readonly summarize: (output: unknown) => FailureSummary
}

/** How a call failed that returned its failure; empty for a success. */
// oxlint-disable-next-line typescript/consistent-type-definitions -- an interface has no implicit index signature
export type FailureSummary = {
  readonly status?: string
  readonly ok?: boolean
  readonly errorType?: string
  readonly errorMessage?: string
}

/** What a run needs of a call log. */
interface CallRecorder {
  readonly recordCall: <T>(call: RecordedCall, body: () => Promise<T>) => Promise<T>
  /** The part of the system prompt about the log. */
  readonly guidance: (keys: CallLogKeys) => string
  /** The latest calls, in a few lines. */
  readonly preview: (keys: CallLogKeys) => string
}

/** The recorders of call logs. `@indelible/records` adds each log that it creates. */
export const callRecorders: WeakMap<object, CallRecorder> = new WeakMap()
