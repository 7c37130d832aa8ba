/** Writes the tool calls of a run into a call log, and tells the model where its code can read it. */
import { describe, isLeft, isObject, optionsOf, parseJson, type OptionNames } from '../../json/index.ts'
import type { History } from '../../history/index.ts'
import { callRecorders, type FailureSummary } from '../../notes/internal.ts'
import type { ToolCallPart } from '../../message/index.ts'
import { callCallback, choice } from '../../task/index.ts'

/** A log of `createCallLog` or `openCallLog` of `@indelible/records`. */
export type CallLog = Pick<History<never>, 'append' | 'len'>

/** Where a run writes its tool calls, and what the model reads about it. */
export interface CallLogging {
  /** The log. */
  readonly log: CallLog
  /**
   * The expression by which the code that the model writes reads the records, such as `context.conversationHistory`. Each
   * request then explains it after the system messages, and has a summary of the latest calls, at most 2,000 characters,
   * after the last user message of the start. Default: the model is not told.
   */
  readonly where?: string
  /** The keys of the records that the code reads, as `recordsToJson` writes them. Default: `camelCase`. */
  readonly keys?: 'camelCase' | 'snake_case'
  /**
   * Returns the code that a call executes, for its record; undefined if it executes none. Default: none does.
   */
  readonly programSource?: (call: ToolCallPart) => string | undefined
}

/** The calls of a run, as the loop uses them. */
export interface CallWriter {
  /** Runs a call and appends its record. `step` is the id of the step: a retry of the step is a retry of the call. */
  readonly record: <T>(
    step: string,
    call: ToolCallPart,
    signal: AbortSignal,
    summarize: (output: unknown) => FailureSummary,
    body: () => Promise<T>,
  ) => Promise<T>
  readonly guidance: string | undefined
  readonly preview: string | undefined
}

/** The writer of a run's calls. Throws a TypeError if it is not a call log. */
export const callWriterOf = (calls: CallLog | CallLogging | undefined, traceId: string): CallWriter | undefined => {
  if (calls === undefined) return undefined
  const isLog = callRecorders.has(Object(calls) as object)
  const {
    log,
    where,
    keys = 'camelCase',
    programSource,
  } = isLog ? ({ log: calls } as CallLogging) : optionsOf('run: calls', calls as CallLogging, loggingNames)
  const recorder = callRecorders.get(Object(log) as object)
  if (recorder === undefined)
    throw new TypeError(
      `run: \`calls\` has ${describe(log)}; expected a log, from createCallLog() or \`opened.log\` of openCallLog(…) of @indelible/records`,
    )
  if (where !== undefined && typeof where !== 'string')
    throw new TypeError(`run: \`calls.where\` is ${describe(where)}; expected an expression, as text`)
  choice('run: calls.keys', keys, ['camelCase', 'snake_case'])
  if (programSource !== undefined && typeof programSource !== 'function')
    throw new TypeError(`run: \`calls.programSource\` is ${describe(programSource)}; expected a function`)
  return {
    record: (step, call, signal, summarize, body) => {
      const source = programSource && callCallback('calls.programSource', () => programSource(call))
      const input = parseJson(call.arguments.trim() === '' ? '{}' : call.arguments)
      return recorder.recordCall(
        {
          callId: `${step}:${call.id}`,
          methodName: call.name,
          ...(isLeft(input) || !isObject(input.right) ? { args: [call.arguments] } : { kwargs: input.right }),
          speaker: 'agent',
          traceId,
          // A function that throws costs the record its code, and nothing else.
          ...(source?._tag === 'Right' && typeof source.right === 'string' && { programSource: source.right }),
          fields: { toolCallId: call.id },
          signal,
          summarize,
        },
        body,
      )
    },
    guidance: where === undefined ? undefined : recorder.guidance({ where, keys }),
    preview: where === undefined ? undefined : recorder.preview({ where, keys }),
  }
}

const loggingNames: OptionNames<CallLogging> = { log: true, where: true, keys: true, programSource: true }
