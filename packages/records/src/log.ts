/** The settings of call logs, which `recordCall` uses to append to them, and the index of their ids. */
import { ownFields, type OptionNames } from 'indelible/internal/json'
import type { History, Position, View } from 'indelible/history'
import { createRedactor } from 'indelible/redact'
import type { CallContext } from './call-context.ts'
import type { ContentStore } from './content.ts'
import type { EncodeLimits, Redact } from './encode.ts'
import { randomId } from './random-id.ts'
import type { BegunRecord, CallRecord } from './record.ts'

/** The options of a call log. */
export interface CallLogOptions {
  /** The records that the log starts with. Default: none. */
  readonly from?: View<CallRecord> | Iterable<CallRecord>
  /** The limits of `args`, of `kwargs`, of the error message, and of your own fields together. */
  readonly limits?: EncodeLimits
  /**
   * Removes secrets from arguments, error messages, program source, your own fields, those of `summarize`, and stored
   * content: true, options or a redactor, as everywhere, or a function. A redactor sees all texts and keys; bytes are
   * then left out. A function receives each value with its path: `['kwargs', 'password']`, `['errorMessage']`,
   * `['outcomeSummary', …]`, `['content', …]`; a key is only in the path. Neither sees ids, `status`, or the names of
   * methods, errors and classes. Default: nothing is removed.
   */
  readonly redact?: Redact
  /** Stores the whole value of each successful call. Default: none; values are not stored. */
  readonly content?: ContentStore
  /** Receives an event after every call, and for each `interrupted` call that an opening records. Its errors are ignored. Default: none. */
  readonly telemetry?: (event: RecordEvent) => void
  /**
   * Carries the current call through asynchronous code, so that inner calls find their parent:
   * Node's `AsyncLocalStorage`, or an object like it. Default: none; pass the parent yourself.
   */
  readonly scope?: CallScope
  /**
   * The clock. Default: `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
  /** Creates ids for calls without one. Default: random ids. */
  readonly newId?: () => string
}

/** Carries the current call through asynchronous code: an `AsyncLocalStorage`, or an object like it. */
export interface CallScope {
  /**
   * The current call.
   *
   * @returns its context; undefined outside of calls
   */
  readonly getStore: () => unknown
  /**
   * Run a function with this call as the current one.
   *
   * @returns what the function returns
   */
  readonly run: <T>(context: CallContext, work: () => T) => T
}

/** The event of one call, for telemetry. */
export interface RecordEvent {
  /** The id of the call. */
  readonly callId: string
  /** The name of the method. */
  readonly methodName: string
  /** Whether the record was appended to the log. */
  readonly historyRecordAppended: boolean
  /** The number of records in the log. */
  readonly conversationHistorySize: number
  /**
   * Why nothing was appended: the call has a record already (`duplicate`), or the append failed
   * with `error`. With a store also `unstored`: the record was appended, but the store failed to
   * write it and the following ones; the fault is in `error`.
   */
  readonly reason?: 'duplicate' | 'failed' | 'unstored'
  /** The error of the append or of `summarize`, or the store's fault. */
  readonly error?: unknown
  /** The record, if this call appended it: each record is in one event. */
  readonly record?: CallRecord | undefined
}

/** The event of a call, with the size of the log. */
export const eventOf = (
  log: History<CallRecord>,
  { callId, methodName }: Pick<RecordEvent, 'callId' | 'methodName'>,
  rest: Omit<RecordEvent, 'callId' | 'methodName' | 'conversationHistorySize'>,
): RecordEvent => ({ callId, methodName, conversationHistorySize: log.len, ...rest })

/** The options of a log in memory and in a store. */
export const sharedNames: OptionNames<Omit<CallLogOptions, 'from'>> = {
  limits: true,
  redact: true,
  content: true,
  telemetry: true,
  scope: true,
  now: true,
  newId: true,
}

export interface Settings extends Omit<CallLogOptions, 'from'>, LogHooks {
  readonly now: () => number
  readonly newId: () => string
}

/** The hooks of a log with a store. None of them throws. */
export interface LogHooks {
  /** A call has begun. */
  readonly started?: (begun: BegunRecord) => void
  /** The record of a call was appended. */
  readonly appended?: () => void
  /** Resolves when everything recorded so far is stored, or failed to be. Never rejects. */
  readonly stored?: () => Promise<void>
}

/** Sets the settings of a log. */
export const keepSettings = (log: History<CallRecord>, settings: Omit<CallLogOptions, 'from'>, hooks: LogHooks): void =>
  void settingsOfLogs.set(log, ownFields({ ...settingsFrom(ownFields(settings)), ...hooks }))

/** The settings of a log; the defaults for a history that `createCallLog` did not create. */
export const settingsOf = (log: History<CallRecord>): Settings => settingsOfLogs.get(log) ?? defaults

/** The position of the record with a call id. Cost: O(1), plus O(records) once for those not indexed yet. */
export const positionOf = (log: History<CallRecord>, callId: string): Position | undefined => {
  let index = indexes.get(log)
  if (index === undefined) indexes.set(log, (index = { positions: new Map(), scanned: 0 }))
  if (index.scanned < log.len) {
    const view = log.view()
    for (; index.scanned < view.length; index.scanned++) {
      const id = view.at(index.scanned)?.callId
      if (id !== undefined && !index.positions.has(id)) index.positions.set(id, index.scanned as Position)
    }
  }
  return index.positions.get(callId)
}

interface Index {
  readonly positions: Map<string, Position>
  scanned: number
}

const settingsFrom = ({ redact, ...options }: Omit<CallLogOptions, 'from'>): Settings => ({
  now: Date.now,
  newId: randomId,
  ...options,
  ...(redact !== undefined && { redact: typeof redact === 'function' ? redact : createRedactor(redact) }),
})

const settingsOfLogs = new WeakMap<History<CallRecord>, Settings>()
const indexes = new WeakMap<History<CallRecord>, Index>()
const defaults: Settings = settingsFrom({})
