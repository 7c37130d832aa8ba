/**
 * Records a call: exactly one record when it has ended, however it ended. The caller gets the same
 * result as without recording, even if recording fails.
 */
import {
  describe,
  hasField,
  isRight,
  optionsOf,
  ownField,
  ownFields,
  type Json,
  type JsonArray,
  type JsonObject,
  type OptionNames,
} from 'indelible/internal/json'
import type { History, Position } from 'indelible/history'
import { classOf, encodeValue } from './encode.ts'
import { callQuietly, listenTo, raceAbort, runOnceWithin, textFrom, timeFrom, tryRead } from './host-calls.ts'
import { eventOf, positionOf, settingsOf, type Settings } from './log.ts'
import { randomId } from './random-id.ts'
import { fieldNames, isoTime, speakers, type BegunRecord, type CallRecord, type OutcomeSummary } from './record.ts'
import { isStream, watchStream } from './stream.ts'
import type { Call, CallContext, Outcome } from './call-context.ts'

/** A call that `startCall` has begun. */
export interface StartedCall<T = unknown> {
  /** The context for inner calls. */
  readonly context: CallContext
  /**
   * End the call: append its record, unless its id has one. It never throws.
   *
   * @param outcome the returned value, or the thrown error
   * @returns whether the record was appended, and its position
   */
  readonly finish: (outcome: Outcome<T>) => FinishResult
}

/** The result of `finish`: the record was appended, the call had one already (`duplicate`), or it failed. */
export type FinishResult =
  /** The position of the record. */
  | { readonly appended: true; readonly position: Position }
  /** The position of the record. */
  | { readonly appended: false; readonly reason: 'duplicate'; readonly position: Position }
  /** The error of the append. */
  | { readonly appended: false; readonly reason: 'failed'; readonly error: unknown }

/**
 * Make a call and append its record when it has ended.
 *
 * The caller gets what the body returns or throws, unchanged. If `call.signal` aborts first, its
 * reason is thrown and the result of the body is ignored; if it was aborted before, the body does
 * not run. However often the body retries, it is one call. If the body returns a stream or an async
 * iterable, the call ends when that ends: with its error, as `aborted` if the reader stops early, or with
 * the reason of the signal, which the reader then gets.
 *
 * No function of the host (`newId`, `now`, `scope`, `telemetry`, the content store) can prevent the
 * body from running or lose the record, even if it throws. On a durable log (`openCallLog`) the
 * start is stored before the body runs, and the record before this resolves.
 *
 * Cost    that of encoding the arguments, and of one append (bench: records)
 * @param log a log of `createCallLog` or `openCallLog`, or any history of call records
 * @param call what is called, by whom, with which arguments
 * @param body makes the call; it receives the context for inner calls
 * @returns what the body returns
 * @throws what the body throws, or the reason of the signal; TypeError if `log` is not a log, the call has no
 *         `methodName`, or an option is unknown: then the body does not run
 * @example
 * await recordCall(log, { methodName: 'search', args: ['open invoices'] }, async (context) =>
 *   context.recordCall({ methodName: 'fetch', args: [url] }, () => fetch(url)))
 */
export const recordCall = <T>(
  log: History<CallRecord>,
  call: Call<T>,
  body: (context: CallContext) => T | PromiseLike<T>,
): Promise<T> => recordWithin(log, call, undefined, body)

const recordWithin = async <T>(
  log: History<CallRecord>,
  call: Call<T>,
  parent: CallContext | undefined,
  body: (context: CallContext) => T | PromiseLike<T>,
): Promise<T> => {
  checkCall('recordCall', log, call)
  const { context, finish, stored } = beginCall(log, call, parent)
  const { scope } = settingsOf(log)
  await stored()
  let value: T
  try {
    const run = scope === undefined ? undefined : (work: () => unknown) => scope.run(context, work)
    value = await raceAbort(ownField(context, 'signal'), () => runOnceWithin(run, () => body(context)))
  } catch (error) {
    finish({ error })
    await stored()
    throw error
  }
  const signal = ownField(context, 'signal')
  let isOver = false
  let stopListening: (() => void) | undefined
  const end = (outcome: Outcome): void => {
    if (isOver) return // a stream can be read past its end
    isOver = true
    stopListening?.()
    finish(outcome as Outcome<T>)
  }
  const stream = watchStream(value, end, signal)
  if (stream === undefined) {
    finish({ value })
    await stored()
    return value
  }
  if (signal !== undefined)
    stopListening = listenTo(signal, () => {
      end({ error: signal.reason })
      callQuietly(() => stream.stop(signal.reason))
    })
  return stream.value as T
}

/** Throws TypeError for a mistake of the program. A call whose fields throw when they are read is recorded. */
const checkCall = <T>(name: string, log: History<CallRecord>, call: Call<T>): void => {
  const { append, view } = (log ?? {}) as Partial<History<CallRecord>>
  if (typeof append !== 'function' || typeof view !== 'function')
    throw new TypeError(
      `${name} takes a log, from createCallLog() or \`opened.log\` of openCallLog(…), found ${describe(log)}`,
    )
  const value: unknown = call
  if (typeof value !== 'object' || value === null)
    throw new TypeError(`${name} takes a call with a methodName, found ${describe(value)}`)
  const unknown = tryRead(() => Object.keys(call).find((field) => !Object.hasOwn(callNames, field)))
  if (unknown !== undefined) optionsOf<object>(name, { [unknown]: true }, callNames)
  if (tryRead(() => ownField(call, 'methodName'), unreadable) === undefined)
    throw new TypeError(`${name} takes a call with a methodName, found ${describe(value)}`)
}

const callNames: OptionNames<Call> = {
  methodName: true,
  args: true,
  kwargs: true,
  speaker: true,
  callId: true,
  parent: true,
  traceId: true,
  programSource: true,
  artifactHit: true,
  fields: true,
  signal: true,
  summarize: true,
  retriable: true,
}

/**
 * Start a call that ends elsewhere: in a callback, an event, another turn. Arguments are copied now.
 *
 * @param log as for `recordCall`
 * @param call what is called, by whom, with which arguments
 * @returns the context for inner calls, and `finish`, which appends the record
 * @throws TypeError if `log` is not a log, the call has no `methodName`, or an option is unknown
 * @example
 * const call = startCall(log, { methodName: 'deploy', args: ['staging'] })
 * socket.once('done', (report) => call.finish({ value: report }))
 * socket.once('error', (error) => call.finish({ error }))
 */
export const startCall = <T>(log: History<CallRecord>, call: Call<T>): StartedCall<T> => {
  checkCall('startCall', log, call)
  const { context, finish, stored } = beginCall(log, call, undefined)
  void stored()
  return Object.freeze({ context, finish })
}

interface BegunCall<T> extends StartedCall<T> {
  /** On a durable log: resolves when everything recorded of the call is stored. Never rejects. */
  readonly stored: () => Promise<void>
}

const beginCall = <T>(log: History<CallRecord>, call: Call<T>, input: CallContext | undefined): BegunCall<T> => {
  const settings = settingsOf(log)
  const parent = parentOf(call, input, settings)
  const traceId = textFrom(() => ownField(call, 'traceId')) ?? parent?.traceId
  const { callId, retryOf } = idOf(log, call, settings)
  const startedAt = timeFrom(settings.now)
  const signal = tryRead(() => ownField(call, 'signal'))
  const methodName = nameOf(tryRead(() => ownField(call, 'methodName'), unreadable))
  const speaker = tryRead(() => speakers.find((each) => each === ownField(call, 'speaker')))
  const artifactHit = tryRead(() => ownField(call, 'artifactHit'))
  const programSource = keepField(() => ownField(call, 'programSource'), 'programSource', settings, sourceLength)
  // Encoded now, because the body may change them.
  const begun: BegunRecord = {
    ...fieldsOf(() => ownField(call, 'fields'), settings),
    callId,
    ...(retryOf !== undefined && { retryOf }),
    speaker: speaker ?? (parent === undefined ? 'user' : 'tool'),
    methodName,
    args: listOf(keepField(() => ownField(call, 'args') ?? [], 'args', settings) ?? []),
    kwargs: objectOf(keepField(() => ownField(call, 'kwargs') ?? {}, 'kwargs', settings) ?? {}),
    ...(traceId !== undefined && { traceId }),
    ...(parent !== undefined && { parentCallId: parent.callId }),
    depth: parent === undefined ? 0 : parent.depth + 1,
    startedAt: isoTime(startedAt),
    ...(programSource !== undefined && { programSource: textOf(programSource) }),
    ...(typeof artifactHit === 'boolean' && { artifactHit }),
  }
  const context: CallContext = Object.freeze({
    callId,
    ...(traceId !== undefined && { traceId }),
    depth: begun.depth,
    ...(signal !== undefined && { signal }),
    recordCall: <U>(inner: Omit<Call<U>, 'parent'>, body: (context: CallContext) => U | PromiseLike<U>) =>
      recordWithin<U>(log, inner, context, body),
  })
  settings.started?.(begun)

  const recordOf = (outcome: Outcome<T>, thrown: (error: unknown) => void): CallRecord => {
    const endedAt = timeFrom(settings.now)
    const { errorMessage, ...outcomeSummary } = summaryOf(outcome, call, settings, thrown)
    const content = hasField(outcome, 'value') && outcomeSummary.ok ? keepContent(outcome.value, settings) : {}
    return {
      ...begun,
      timestamp: isoTime(endedAt),
      outcomeSummary,
      durationMs: Math.max(0, endedAt - startedAt),
      ...(outcomeSummary.errorType !== null && { errorType: outcomeSummary.errorType }),
      ...(errorMessage !== undefined && { errorMessage }),
      ...content,
    }
  }

  const append = (outcome: Outcome<T>, thrown: (error: unknown) => void): FinishResult => {
    try {
      const before = positionOf(log, callId)
      if (before !== undefined) return { appended: false, reason: 'duplicate', position: before }
      const position = log.append(recordOf(outcome, thrown))
      settings.appended?.()
      return { appended: true, position }
    } catch (error) {
      return { appended: false, reason: 'failed', error }
    }
  }

  return {
    context,
    finish: (outcome: Outcome<T>) => {
      let problem: { readonly error?: unknown } = {}
      const finished = Object.freeze(append(outcome, (error) => (problem = { error })))
      idsInProgress.get(log)?.delete(callId)
      callQuietly(() =>
        settings.telemetry?.(
          eventOf(log, begun, {
            historyRecordAppended: finished.appended,
            ...(finished.appended ? { record: log.view().at(finished.position) } : { reason: finished.reason }),
            ...(hasField(finished, 'error') ? { error: finished.error } : problem),
          }),
        ),
      )
      return finished
    },
    stored: async () => settings.stored?.(),
  }
}

/** The parent of a call, read once: any object may have been passed. */
const parentOf = (
  call: Call<never>,
  context: CallContext | undefined,
  { scope }: Settings,
): { readonly callId: string; readonly traceId: string | undefined; readonly depth: number } | undefined => {
  const parent =
    context ?? tryRead(() => ownField(call, 'parent')) ?? tryRead(() => scope?.getStore() as CallContext | undefined)
  const callId = textFrom(() => parent?.callId)
  if (callId === undefined) return undefined
  const depth = tryRead(() => parent?.depth)
  return {
    callId,
    traceId: textFrom(() => parent?.traceId),
    depth: Number.isSafeInteger(depth) && (depth as number) >= 0 ? (depth as number) : 0,
  }
}

/**
 * The caller's id, with a number appended if the call with that id failed: this one is then its retry.
 * Without one, a new id; a duplicate from `newId` is replaced, because it would cost the call its record.
 */
const idOf = (
  log: History<CallRecord>,
  call: Call<never>,
  settings: Settings,
): { readonly callId: string; readonly retryOf?: string } => {
  const id = tryRead(() => {
    const callId = ownField(call, 'callId')
    return callId === undefined ? undefined : String(callId).toWellFormed()
  })
  if (id !== undefined) {
    let callId = id
    for (let count = 2; hasFailed(log, callId); count++) callId = `${id}#${count}`
    return callId === id ? { callId } : { callId, retryOf: id }
  }
  let open = idsInProgress.get(log)
  if (open === undefined) idsInProgress.set(log, (open = new Set()))
  const made = textFrom(settings.newId)
  const callId =
    made === undefined || made === '' || open.has(made) || positionOf(log, made) !== undefined ? randomId() : made
  open.add(callId)
  return { callId }
}

const hasFailed = (log: History<CallRecord>, callId: string): boolean => {
  const position = positionOf(log, callId)
  return position !== undefined && log.view().at(position)?.outcomeSummary.ok === false
}

/** The ids in use by calls without a record. */
const idsInProgress = new WeakMap<History<CallRecord>, Set<string>>()

/** The reference of the stored value, or why it was not stored. */
const keepContent = (value: unknown, settings: Settings): { readonly [field: string]: string } =>
  tryRead(
    () => {
      if (isStream(value)) return {} // its reader has the values
      const ref = settings.content?.put(value, { redact: settings.redact, path: ['content'] })
      if (ref === undefined) return {}
      return isRight(ref) ? { contentRef: String(ref.right) } : { contentFault: String(ref.left._tag) }
    },
    { contentFault: 'ContentStoreThrew' },
  )

/** Program source may be longer than other text: a reader needs it whole. */
const sourceLength = 100_000

const encodeKept = (value: unknown, field: string, { limits, redact }: Settings, length?: number): Json =>
  encodeValue(value, {
    limits: length === undefined ? limits : { ...limits, string: length, size: length + 2 },
    redact,
    path: [field],
  }).value

/** A field of the call, encoded; undefined if it is absent. */
const keepField = (read: () => unknown, field: string, settings: Settings, length?: number): Json | undefined => {
  const value = tryRead(read, unreadable)
  return value === undefined ? undefined : encodeKept(value, field, settings, length)
}

/** Replaces a value that throws when it is read. */
const unreadable = '[unreadable]'

const fieldsOf = (read: () => unknown, { limits, redact }: Settings): JsonObject => {
  const fields = tryRead(read)
  if (fields === undefined) return {}
  const all = Object.entries(objectOf(encodeValue(fields, { limits, redact }).value))
  return Object.fromEntries(all.filter(([name]) => !fieldNames.has(name)))
}

type Summary = OutcomeSummary & { readonly errorMessage?: string }

const summaryOf = <T>(
  outcome: Outcome<T>,
  call: Call<T>,
  settings: Settings,
  thrown: (error: unknown) => void,
): Summary =>
  hasField(outcome, 'value')
    ? summaryOfValue(outcome.value, call, settings, thrown)
    : summaryOfError(outcome.error, call, settings)

const summaryOfValue = <T>(value: T, call: Call<T>, settings: Settings, thrown: (error: unknown) => void): Summary => {
  const {
    status,
    ok: good,
    errorType,
    errorMessage,
    retriable,
    valueClass,
    ...others
  } = ownFields(summarizeValue(value, call, thrown))
  const ok = good !== false
  const kind = typeof valueClass === 'string' ? valueClass : kindOf(value)
  return {
    ...(Object.keys(others).length > 0 && objectOf(encodeKept(others, 'outcomeSummary', settings))),
    status: typeof status === 'string' ? status : ok ? 'ok' : 'error',
    ok,
    errorType: typeof errorType === 'string' ? errorType : null,
    retriable: retriable === true,
    ...(kind !== undefined && { valueClass: kind }),
    ...(typeof errorMessage === 'string' && {
      errorMessage: textOf(encodeKept(errorMessage, 'errorMessage', settings)),
    }),
  }
}

/** The caller's summary of a value. If that throws, nobody knows whether the call succeeded. */
const summarizeValue = <T>(value: T, call: Call<T>, thrown: (error: unknown) => void): JsonObject => {
  try {
    const summarize = ownField(call, 'summarize')
    if (summarize === undefined) return {}
    const summary: unknown = summarize(value)
    return typeof summary === 'object' && summary !== null ? objectOf(encodeValue(summary).value) : {}
  } catch (error) {
    thrown(error)
    return { status: 'unknown', ok: false }
  }
}

const isReasonOf = (error: unknown, call: Call<never>): boolean =>
  tryRead(() => {
    const signal = ownField(call, 'signal')
    return signal?.aborted === true && signal.reason === error
  }, false)

const summaryOfError = (error: unknown, call: Call<never>, settings: Settings): Summary => {
  const errorType = errorTypeOf(error)
  const message = messageOf(error)
  const aborted = errorType === 'AbortError' || isReasonOf(error, call)
  return {
    status: errorType === 'TimeoutError' ? 'timeout' : aborted ? 'aborted' : 'error',
    ok: false,
    errorType,
    retriable: isRetriable(error, call),
    ...(message !== undefined && { errorMessage: textOf(encodeKept(message, 'errorMessage', settings)) }),
  }
}

/** The name of an error, the tag of a fault, or the type of any other thrown value. */
const errorTypeOf = (error: unknown): string => {
  try {
    const { name, message, _tag } = (error ?? {}) as {
      readonly name?: unknown
      readonly message?: unknown
      readonly _tag?: unknown
    }
    if (typeof _tag === 'string' && _tag !== '') return nameOf(_tag)
    if (typeof name === 'string' && name !== '' && typeof message === 'string') return nameOf(name)
    return kindOf(error) ?? 'undefined'
  } catch {
    return 'unreadable'
  }
}

/** The message of an error; of another thrown value its text, and of an object without a message the object itself. */
const messageOf = (error: unknown): unknown =>
  tryRead(() => {
    if (typeof error !== 'object' || error === null) return error === undefined ? undefined : String(error)
    const { message } = error as { readonly message?: unknown }
    return typeof message === 'string' ? message : error
  })

const isRetriable = (error: unknown, call: Call<never>): boolean =>
  tryRead(() => {
    const { retriable } = call
    return retriable === undefined
      ? (error as { readonly retriable?: unknown } | null | undefined)?.retriable === true
      : retriable(error) === true
  }, false)

/** The type or class of a value; undefined for undefined. */
const kindOf = (value: unknown): string | undefined => {
  if (value === undefined) return undefined
  if (typeof value !== 'object') return typeof value
  return value === null ? 'null' : tryRead(() => classOf(value), 'unreadable')
}

const nameOf = (name: unknown): string => tryRead(() => String(name).slice(0, 200).toWellFormed(), unreadable)
const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value))

// A redactor may have replaced the list or object.
const listOf = (value: Json): JsonArray => (Array.isArray(value) ? (value as JsonArray) : [value])
const objectOf = (value: Json): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : { value }
