/**
 * Recording a call: exactly one record when it has ended, however it ended. The caller gets what it would have got
 * without the record, also where recording fails.
 */
import { isRight } from 'fp-ts/lib/Either.js'
import type { History, Position } from '../history/index.ts'
import type { Json, JsonArray, JsonObject } from '../json/index.ts'
import { classOf, encodeValue } from './encode.ts'
import { positionOf, settingsOf, type Settings } from './log.ts'
import { fieldNames, isoTime, type CallRecord, type OutcomeSummary, type Speaker } from './record.ts'

/** A call that is to be made. Nothing in it need be JSON. */
export interface Call<T = unknown> {
  readonly methodName: string
  readonly args?: readonly unknown[]
  readonly kwargs?: { readonly [name: string]: unknown }
  /** Default: `user` for a call of its own, `tool` for one inside another. */
  readonly speaker?: Speaker
  /** Default: a new one. A call that has a record by this id gets no second one. */
  readonly callId?: string
  /** The call that this one is made in. Default: the current one of the log's scope, if it has a scope. */
  readonly parent?: CallContext
  /** Default: that of the parent. */
  readonly traceId?: string
  readonly programSource?: string
  readonly artifactHit?: boolean
  /** Fields of your own for the record. They can't replace any of its own. */
  readonly fields?: { readonly [name: string]: unknown }
  /** When it aborts, the call has ended, whether or not its body has: as `timeout` if its reason is a TimeoutError. */
  readonly signal?: Signal
  /** How a value counts, where failure is a value: what is given here replaces what would stand in the summary. */
  readonly summarize?: (value: T) => Partial<OutcomeSummary> & { readonly errorMessage?: string }
  /** Whether a call that threw may succeed when it is made again. Default: if the error has a `retriable` that is true. */
  readonly retriable?: (error: unknown) => boolean
}

/** The call that is being made, for its body. */
export interface CallContext {
  readonly callId: string
  readonly traceId?: string
  readonly depth: number
  readonly signal?: Signal
  /** Record a call inside this one, in the same log. */
  readonly recordCall: <T>(call: Omit<Call<T>, 'parent'>, body: (context: CallContext) => T | PromiseLike<T>) => Promise<T>
}

/** An `AbortSignal`, as far as it is needed here. */
export interface Signal {
  readonly aborted: boolean
  readonly reason: unknown
  readonly addEventListener: (type: 'abort', listener: () => void) => void
  readonly removeEventListener: (type: 'abort', listener: () => void) => void
}

/** How a call ended: with a value, or with what was thrown (which may be `undefined`). */
export type Outcome<T = unknown> = { readonly value: T } | { readonly error: unknown }

/** A call that has begun. */
export interface StartedCall<T = unknown> {
  readonly context: CallContext
  /** The call has ended: append its record, unless there is one by its id. Never throws; says what it did. */
  readonly finish: (outcome: Outcome<T>) => Finished
}

export type Finished =
  | { readonly appended: true; readonly position: Position }
  | { readonly appended: false; readonly reason: 'duplicate'; readonly position: Position }
  | { readonly appended: false; readonly reason: 'failed'; readonly error: unknown }

/**
 * Make a call and append its record when it has ended.
 *
 * What the body returns is returned, what it throws is thrown, unchanged. If `call.signal` aborts first, its reason is
 * thrown and the body's own end is ignored; if it has aborted before, the body is not run. However often the body
 * tries, it is one call.
 *
 * Cost    that of encoding the arguments, and of one append (bench: records)
 * @example
 * await recordCall(log, { methodName: 'search', args: ['open invoices'] }, async (context) =>
 *   context.recordCall({ methodName: 'fetch', args: [url] }, () => fetch(url)))
 */
export const recordCall = async <T>(
  log: History<CallRecord>,
  call: Call<T>,
  body: (context: CallContext) => T | PromiseLike<T>,
): Promise<T> => {
  const { context, finish } = startCall(log, call)
  const { scope } = settingsOf(log)
  let value: T
  try {
    const work = (): T | PromiseLike<T> => body(context)
    value = await unlessAborted(call.signal, () => (scope === undefined ? work() : scope.run(context, work)))
  } catch (error) {
    finish({ error })
    throw error
  }
  finish({ value })
  return value
}

/**
 * Begin a call whose end you see elsewhere: in a callback, an event, another turn. Arguments are kept as they are now.
 *
 * @example
 * const call = startCall(log, { methodName: 'deploy', args: ['staging'] })
 * socket.once('done', (report) => call.finish({ value: report }))
 * socket.once('error', (error) => call.finish({ error }))
 */
export const startCall = <T>(log: History<CallRecord>, call: Call<T>): StartedCall<T> => {
  const settings = settingsOf(log)
  const parent = call.parent ?? settings.scope?.getStore()
  const traceId = (call.traceId ?? parent?.traceId)?.toWellFormed()
  const callId = String(call.callId ?? settings.newId()).toWellFormed()
  const depth = parent === undefined ? 0 : parent.depth + 1
  const startedAt = settings.now()
  // Now and not at the end: the body may change them.
  const begun = {
    args: listOf(keep(call.args ?? [], 'args', settings)),
    kwargs: objectOf(keep(call.kwargs ?? {}, 'kwargs', settings)),
    fields: ownFields(call.fields, settings),
  }
  const context: CallContext = Object.freeze({
    callId,
    ...(traceId !== undefined && { traceId }),
    depth,
    ...(call.signal !== undefined && { signal: call.signal }),
    recordCall: <U>(inner: Omit<Call<U>, 'parent'>, body: (context: CallContext) => U | PromiseLike<U>) =>
      recordCall<U>(log, { ...inner, parent: context }, body),
  })

  const recordOf = (outcome: Outcome<T>): CallRecord => {
    const endedAt = settings.now()
    const { errorMessage, ...outcomeSummary } = summaryOf(outcome, call, settings)
    const contentRef = 'value' in outcome && outcomeSummary.ok ? settings.content?.put(outcome.value, { redact: settings.redact, path: ['content'] }) : undefined
    return {
      ...begun.fields,
      callId,
      timestamp: isoTime(endedAt),
      speaker: call.speaker ?? (parent === undefined ? 'user' : 'tool'),
      methodName: nameOf(call.methodName),
      args: begun.args,
      kwargs: begun.kwargs,
      outcomeSummary,
      ...(traceId !== undefined && { traceId }),
      ...(parent !== undefined && { parentCallId: parent.callId }),
      depth,
      startedAt: isoTime(startedAt),
      durationMs: Math.max(0, endedAt - startedAt),
      ...(outcomeSummary.errorType !== null && { errorType: outcomeSummary.errorType }),
      ...(errorMessage !== undefined && { errorMessage }),
      ...(call.programSource !== undefined && { programSource: textOf(keep(call.programSource, 'programSource', settings, sourceLength)) }),
      ...(call.artifactHit !== undefined && { artifactHit: call.artifactHit }),
      ...(contentRef !== undefined && (isRight(contentRef) ? { contentRef: contentRef.right } : { contentFault: contentRef.left._tag })),
    }
  }

  const append = (outcome: Outcome<T>): Finished => {
    try {
      const before = positionOf(log, callId)
      if (before !== undefined) return { appended: false, reason: 'duplicate', position: before }
      const position = log.append(recordOf(outcome))
      settings.appended?.()
      return { appended: true, position }
    } catch (error) {
      return { appended: false, reason: 'failed', error }
    }
  }

  return Object.freeze({
    context,
    finish: (outcome: Outcome<T>) => {
      const finished = Object.freeze(append(outcome))
      try {
        settings.telemetry?.({
          callId,
          methodName: call.methodName,
          historyRecordAppended: finished.appended,
          conversationHistorySize: log.len,
          ...(!finished.appended && { reason: finished.reason }),
          ...('error' in finished && { error: finished.error }),
        })
      } catch {
        // Whoever watches must not harm who is watched; and there is nobody to tell but the watcher.
      }
      return finished
    },
  })
}

/** The result of a work, or the reason of a signal that aborts before it is there. */
const unlessAborted = <T>(signal: Signal | undefined, work: () => T | PromiseLike<T>): T | PromiseLike<T> => {
  if (signal === undefined) return work()
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason)
    if (signal.aborted) return abort()
    signal.addEventListener('abort', abort)
    const begun = (async () => work())()
    void begun.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
    return undefined
  })
}

/** Program source is worth more room than other text: what reads it needs it whole. */
const sourceLength = 100_000

const keep = (value: unknown, field: string, { limits, redact }: Settings, length?: number): Json =>
  encodeValue(value, { limits: length === undefined ? limits : { ...limits, string: length, size: length + 2 }, redact, path: [field] }).value

const ownFields = (fields: Call['fields'], { limits, redact }: Settings): JsonObject =>
  fields === undefined ? {} : Object.fromEntries(Object.entries(objectOf(encodeValue(fields, { limits, redact }).value)).filter(([name]) => !fieldNames.has(name)))

type Summary = OutcomeSummary & { readonly errorMessage?: string }

const summaryOf = <T>(outcome: Outcome<T>, call: Call<T>, settings: Settings): Summary =>
  'value' in outcome ? summaryOfValue(outcome.value, call, settings) : summaryOfError(outcome.error, call, settings)

const summaryOfValue = <T>(value: T, { summarize }: Call<T>, settings: Settings): Summary => {
  const { status, ok: good, errorType, errorMessage, retriable, valueClass, ...others } = summarized(value, summarize)
  const ok = good !== false
  const kind = typeof valueClass === 'string' ? valueClass : kindOf(value)
  return {
    ...others,
    status: typeof status === 'string' ? status : ok ? 'ok' : 'error',
    ok,
    errorType: typeof errorType === 'string' ? errorType : null,
    retriable: retriable === true,
    ...(kind !== undefined && { valueClass: kind }),
    ...(typeof errorMessage === 'string' && { errorMessage: textOf(keep(errorMessage, 'errorMessage', settings)) }),
  }
}

/** What the caller says of a value; nothing, if it throws: then it stands as a value. */
const summarized = <T>(value: T, summarize: Call<T>['summarize']): JsonObject => {
  if (summarize === undefined) return {}
  try {
    const given: unknown = summarize(value)
    return typeof given === 'object' && given !== null ? objectOf(encodeValue(given).value) : {}
  } catch {
    return {}
  }
}

const summaryOfError = <T>(error: unknown, { signal, retriable }: Call<T>, settings: Settings): Summary => {
  const errorType = errorTypeOf(error)
  const message = messageOf(error)
  const aborted = errorType === 'AbortError' || (signal?.aborted === true && signal.reason === error)
  return {
    status: errorType === 'TimeoutError' ? 'timeout' : aborted ? 'aborted' : 'error',
    ok: false,
    errorType,
    retriable: isRetriable(error, retriable),
    ...(message !== undefined && { errorMessage: textOf(keep(message, 'errorMessage', settings)) }),
  }
}

/** The name of an error, the tag of a fault, or the type of whatever else was thrown. */
const errorTypeOf = (error: unknown): string => {
  try {
    const { name, message, _tag } = (error ?? {}) as { readonly name?: unknown; readonly message?: unknown; readonly _tag?: unknown }
    if (typeof _tag === 'string' && _tag !== '') return nameOf(_tag)
    if (typeof name === 'string' && name !== '' && typeof message === 'string') return nameOf(name)
    return kindOf(error) ?? 'undefined'
  } catch {
    return 'unreadable'
  }
}

const messageOf = (error: unknown): string | undefined => {
  try {
    if (typeof error !== 'object' || error === null) return error === undefined ? undefined : String(error)
    const { message } = error as { readonly message?: unknown }
    return typeof message === 'string' ? message : undefined
  } catch {
    return undefined
  }
}

const isRetriable = (error: unknown, retriable: Call['retriable']): boolean => {
  try {
    return retriable === undefined ? (error as { readonly retriable?: unknown } | null | undefined)?.retriable === true : retriable(error)
  } catch {
    return false
  }
}

/** What kind of value it is; undefined if there is none. */
const kindOf = (value: unknown): string | undefined => {
  if (value === undefined) return undefined
  if (typeof value !== 'object') return typeof value
  try {
    return value === null ? 'null' : classOf(value)
  } catch {
    return 'unreadable'
  }
}

const nameOf = (name: unknown): string => String(name).slice(0, 200).toWellFormed()
const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

// A redactor may have put something else where they stood.
const listOf = (value: Json): JsonArray => (Array.isArray(value) ? (value as JsonArray) : [value])
const objectOf = (value: Json): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : { value }
