/**
 * The log of calls: a history of call records, and what `recordCall` needs to know to append to it.
 */
import { createHistory, type History, type Position, type View } from '../history/index.ts'
import type { CallContext } from './call.ts'
import type { ContentStore } from './content.ts'
import type { EncodeLimits, Redact } from './encode.ts'
import { randomId } from './random-id.ts'
import type { CallRecord } from './record.ts'

export interface CallLogOptions {
  /** What the log starts with. */
  readonly from?: View<CallRecord> | Iterable<CallRecord>
  /** The limits of `args`, of `kwargs`, of the error message, and of fields of your own together. */
  readonly limits?: EncodeLimits
  /**
   * Sees arguments, error messages, program source, fields of your own and stored content, each value with its place:
   * `['kwargs', 'password']`, `['errorMessage']`, `['content', …]`. Not: the names of methods, errors and classes, ids.
   */
  readonly redact?: Redact
  /** Keeps the whole value of each call that went well. Default: no value is kept. */
  readonly content?: ContentStore
  /** Told after every call whether its record was appended. What it throws is ignored. */
  readonly telemetry?: (event: RecordEvent) => void
  /**
   * Carries the current call through asynchronous code, so that nested calls find their parent by themselves: an
   * `AsyncLocalStorage` of Node's, or anything like it. Default: a parent is given.
   */
  readonly scope?: CallScope
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly now?: () => number
  /** Ids for calls that have none. Default: random ones. */
  readonly newId?: () => string
}

export interface CallScope {
  readonly getStore: () => CallContext | undefined
  readonly run: <T>(context: CallContext, work: () => T) => T
}

/** What became of one record. */
export interface RecordEvent {
  readonly callId: string
  readonly methodName: string
  readonly historyRecordAppended: boolean
  /** How many records the log has now. */
  readonly conversationHistorySize: number
  /**
   * Why nothing was appended: the call has a record already, or the append failed with `error`. Or, of a log on a store:
   * it was appended, but from this record on none could be written there, for the fault in `error`.
   */
  readonly reason?: 'duplicate' | 'failed' | 'unstored'
  readonly error?: unknown
}

/**
 * A log of calls, empty or starting with the records of `from`. It is a history like any other, of pages of evidence.
 *
 * @example
 * const log = createCallLog()
 * await recordCall(log, { methodName: 'add', args: [1, 2] }, () => 3) // 3
 * log.view().at(-1)?.outcomeSummary.ok // true
 */
export const createCallLog = (options: CallLogOptions = {}): History<CallRecord> => newLog(options)

/** A log that tells of its appends. */
export const newLog = ({ from, ...settings }: CallLogOptions, appended?: () => void): History<CallRecord> => {
  const log = createHistory<CallRecord>({ ...(from !== undefined && { from }), classify: () => 'evidence' })
  known.set(log, { ...settingsFrom(settings), appended })
  return log
}

/** What a log was created with. */
export interface Settings extends Omit<CallLogOptions, 'from'> {
  readonly now: () => number
  readonly newId: () => string
  /** Called after each append of a call's record. */
  readonly appended?: (() => void) | undefined
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

const settingsFrom = (options: Omit<CallLogOptions, 'from'>): Settings => ({ now: Date.now, newId: randomId, ...options })

const known = new WeakMap<History<CallRecord>, Settings>()
const indexes = new WeakMap<History<CallRecord>, Index>()
const defaults: Settings = settingsFrom({})
