/**
 * The log of calls: a history of call records, and what `recordCall` needs to know to append to it.
 */
import { ownFields } from 'indelible/json/kit'
import { createHistory, type History, type Position, type View } from 'indelible/history'
import type { CallContext } from './call-context.ts'
import type { ContentStore } from './content.ts'
import type { EncodeLimits, Redact } from './encode.ts'
import { randomId } from './random-id.ts'
import type { BegunRecord, CallRecord } from './record.ts'

/** The options of a log of calls. */
export interface CallLogOptions {
  /** The records that the log starts with. Default: none. */
  readonly from?: View<CallRecord> | Iterable<CallRecord>
  /** The limits of `args`, of `kwargs`, of the error message, and of fields of your own together. */
  readonly limits?: EncodeLimits
  /**
   * Sees arguments, error messages, program source, fields of your own and stored content, each value with its place:
   * `['kwargs', 'password']`, `['errorMessage']`, `['content', …]`. Not: the names of methods, errors and classes, ids.
   */
  readonly redact?: Redact
  /** Keeps the whole value of each successful call. Default: none; values are not kept. */
  readonly content?: ContentStore
  /**
   * Receives an event after every call. Errors that it throws are ignored. Default: nothing.
   */
  readonly telemetry?: (event: RecordEvent) => void
  /**
   * Carries the current call through asynchronous code, so that inner calls find their parent: Node's
   * `AsyncLocalStorage`, or an object like it. Default: you pass the parent.
   */
  readonly scope?: CallScope
  /**
   * The clock. Default: `Date.now`.
   *
   * @returns milliseconds since 1970
   */
  readonly now?: () => number
  /** Makes ids for calls that have none. Default: random ids. */
  readonly newId?: () => string
}

/** Carries the current call through asynchronous code: an `AsyncLocalStorage`, or an object like it. */
export interface CallScope {
  /**
   * The current call.
   *
   * @returns its context; undefined outside of calls
   */
  readonly getStore: () => CallContext | undefined
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
  /** How many records the log has now. */
  readonly conversationHistorySize: number
  /**
   * Why nothing was appended: the call has a record already (`duplicate`), or the append failed with `error`. On a store
   * also `unstored`: the record was appended, but the store failed to write it and those after it, with the fault in
   * `error`.
   */
  readonly reason?: 'duplicate' | 'failed' | 'unstored'
  /** The error, or the fault of the store. */
  readonly error?: unknown
}

/**
 * Create a log of calls in memory. It is a history like any other; its pages are `evidence`.
 *
 * @param options the records to start with, limits, redaction, telemetry, clock and ids
 * @example
 * const log = createCallLog()
 * await recordCall(log, { methodName: 'add', args: [1, 2] }, () => 3) // 3
 * log.view().at(-1)?.outcomeSummary.ok // true
 */
export const createCallLog = (options: CallLogOptions = {}): History<CallRecord> => newLog(options)

/** A log that tells of its calls. */
export const newLog = ({ from, ...settings }: CallLogOptions, hooks: LogHooks = {}): History<CallRecord> => {
  const log = createHistory<CallRecord>({ ...(from !== undefined && { from }), classify: () => 'evidence' })
  known.set(log, ownFields({ ...settingsFrom(ownFields(settings)), ...hooks }))
  return log
}

/** What a log was created with. */
export interface Settings extends Omit<CallLogOptions, 'from'>, LogHooks {
  readonly now: () => number
  readonly newId: () => string
}

/** The events that a log on a store receives. None of these methods throws. */
export interface LogHooks {
  /** A call has begun, with what is known of it. */
  readonly started?: (begun: BegunRecord) => void
  /** The record of a call was appended. */
  readonly appended?: () => void
  /** Resolves when everything of before is stored, or could not be. Never rejects. */
  readonly stored?: () => Promise<void>
}

/** The settings of a log; of a history that `createCallLog` did not make, the defaults. */
export const settingsOf = (log: History<CallRecord>): Settings => known.get(log) ?? defaults

/** The position of the record with a call id. Cost: O(1), and once O(records) for those that were there before. */
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

const settingsFrom = (options: Omit<CallLogOptions, 'from'>): Settings => ({
  now: Date.now,
  newId: randomId,
  ...options,
})

const known = new WeakMap<History<CallRecord>, Settings>()
const indexes = new WeakMap<History<CallRecord>, Index>()
const defaults: Settings = settingsFrom({})
