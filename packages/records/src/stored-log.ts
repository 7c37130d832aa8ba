/**
 * A call log on a store: read when it is opened, written as it grows. Each record is a row of one
 * log of the store, so it is a leaf of that log's tree.
 */
import { checkStore } from 'indelible/internal/session'
import { limitsOf } from './encode.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { ownFields, isLeft, jsonOrText, left, optionsOf, right, type OptionNames } from 'indelible/internal/json'
import type { Task } from 'indelible/internal/task'
import type { History } from 'indelible/history'
import type { LogFault, Head, LogInfo, Row, Store, StoredRow, StoreFault, StoreFaultOf } from 'indelible/store'
import { ownIdFault, storeTask, type AppendFault, type NewLogFault } from 'indelible/internal/store'
import { callQuietly, timeFrom } from './host-calls.ts'
import { newLog } from './create-log.ts'
import { eventOf, sharedNames, type CallLogOptions } from './log.ts'
import { normalizeRecords, type NormalizeReport } from './normalize.ts'
import { randomId } from './random-id.ts'
import { isoTime, type BegunRecord, type CallRecord } from './record.ts'

/** The options of `openCallLog`: those of `createCallLog`, and where the log is stored. */
interface StoredCallLogOptions extends Omit<CallLogOptions, 'from'> {
  /** The store. It stays open: close it yourself. */
  readonly store: Store
  /** The id of the log in the store. It is created if missing. A log of another kind is `OtherLog`. */
  readonly id: string
  /**
   * Store the start of each call before its body runs, and its record before `recordCall` resolves.
   * If the process dies during a call, that call is recorded as `interrupted` by the next
   * `openCallLog` of the same `writer`, durable or not. Costs two round trips a call. Default: false
   */
  readonly durable?: boolean
  /**
   * The name of this process among those that open the log. Give each a name that survives its restarts, also one that
   * only reads: opening the log treats unfinished calls under its own name as those of a dead process. Default: `writer`
   */
  readonly writer?: string
}

/** A call log on a store. */
export interface StoredCallLog {
  /** The log. Appended records are written to the store soon after, in order; only a durable log waits for that. */
  readonly log: History<CallRecord>
  /**
   * Write the records that are not yet written.
   *
   * @returns the head of the stored log, which then has every record
   */
  readonly flush: () => Task<AppendFault, Head>
  /** The number of records not yet written. */
  readonly pending: number
  /** The changes made while reading the stored records. Rows that are not records stay in the store unchanged. */
  readonly report: NormalizeReport
}

/** The faults of opening a call log. */
export type OpenCallLogFault = LogFault | NewLogFault | AppendFault | StoreFaultOf<'OtherLog'>

/**
 * Open a call log on a store.
 *
 * Several processes may write one log. After a conflict a process appends again, after the other's
 * rows, so nothing is lost; it sees the records of others when it opens the log again. Records that
 * could not be written are reported to telemetry as `unstored`; calls are not affected. A write
 * whose answer was lost is retried under the same operation, so nothing is stored twice.
 *
 * Cost    O(stored records) to open; one append for all records of the same moment
 * @param options the store, the id of the log, and the options of `createCallLog`
 * @returns the log, or the store's fault
 * @example
 * const opened = await openCallLog({ store: memoryStore(), id: 'calls' })
 * await recordCall(opened.log, { methodName: 'f' }, () => 1)
 * await opened.flush()
 */
export const openCallLog = (options: StoredCallLogOptions): Task<OpenCallLogFault, StoredCallLog> => {
  const {
    store,
    id,
    durable = false,
    writer: name = 'writer',
    ...rest
  } = optionsOf('openCallLog', options, optionNames)
  checkStore('openCallLog', store)
  const others = ownFields(rest)
  limitsOf('openCallLog', others.limits)
  return storeTask(async () => {
    const info = await findOrCreate(store, id)
    if (isLeft(info)) return info
    const rows = await store.read(id, { to: info.right.head.size })()
    if (isLeft(rows)) return rows
    const entries = rows.right.filter(({ kind }) => kind === 'entry').map(({ body }) => jsonOrText(body)) // text is reported and left out
    const { log: stored, report } = normalizeRecords(entries)
    const log = newLog(
      { ...others, from: stored.view() },
      {
        appended: () => writer.writeSoon(),
        ...(durable && {
          started: (begun) => writer.mark(startMark(name, begun)),
          stored: async () => void (await writer.flush()),
        }),
      },
    )
    const writer = writerOf(store, info.right, log, (first, fault) =>
      callQuietly(() =>
        others.telemetry?.(eventOf(log, first, { historyRecordAppended: true, reason: 'unstored', error: fault })),
      ),
    )
    const ended = isoTime(timeFrom(others.now ?? Date.now))
    for (const begun of unfinishedCalls(rows.right, stored, name)) log.append(interruptedCall(begun, ended))
    const written = await writer.flush()
    if (isLeft(written)) return written
    // After the write: until these records are stored, each opening makes them again.
    for (const record of log.view().slice(stored.len))
      callQuietly(() => others.telemetry?.(eventOf(log, record, { historyRecordAppended: true, record })))
    return right(
      Object.freeze({
        log,
        report,
        flush: () => storeTask(writer.flush, 'log.flush'),
        get pending() {
          return writer.pending()
        },
      }),
    )
  }, 'openCallLog')
}

/** The row for the start of a call: a note, because the record does not exist yet. */
const startMark = (writer: string, begun: BegunRecord): Row => ({
  kind: 'note',
  body: JSON.stringify({ call: 'started', writer, begun }),
})

/** The calls of a writer that have begun but have no record. */
const unfinishedCalls = (
  rows: readonly StoredRow[],
  stored: History<CallRecord>,
  writer: string,
): readonly BegunRecord[] => {
  const ended = new Set(
    stored
      .view()
      .toArray()
      .map(({ callId }) => callId),
  )
  const begun = new Map<string, BegunRecord>()
  for (const { kind, body } of rows) {
    const mark = kind === 'note' ? (jsonOrText(body) as { readonly [field: string]: unknown } | null) : null
    if (mark?.['call'] !== 'started' || mark['writer'] !== writer) continue
    // Made valid, like any other record that is read.
    const { log } = normalizeRecords([{ ...(mark['begun'] as object), outcomeSummary: interruptedSummary }])
    const record = log.view().at(0)
    if (record !== undefined && !ended.has(record.callId)) begun.set(record.callId, startOf(record))
  }
  return [...begun.values()]
}

/** A record without the fields of an ended call. */
const startOf = (record: CallRecord): BegunRecord => {
  const { timestamp: _, outcomeSummary: __, ...begun } = record
  return begun as unknown as BegunRecord
}

const interruptedSummary = Object.freeze({
  status: 'interrupted',
  ok: false,
  errorType: 'Interrupted',
  retriable: false,
})

const interruptedCall = (begun: BegunRecord, timestamp: string): CallRecord => ({
  ...begun,
  timestamp,
  outcomeSummary: interruptedSummary,
  errorType: 'Interrupted',
  errorMessage: 'the process ended before the call did',
})

/** The metadata key of a call log. */
const mark = 'indelible.calls'

const findOrCreate = async (store: Store, id: string): Promise<Either<OpenCallLogFault, LogInfo>> => {
  const problem = ownIdFault(id)
  if (problem !== undefined) return left(problem)
  const found = await store.info(id)()
  if (!isLeft(found))
    return found.right.meta[mark] === 1 ? found : left({ _tag: 'OtherLog', id, wanted: 'a log of calls' })
  if (found.left._tag !== 'NoSuchLog') return found
  const created = await store.create({ id, meta: { [mark]: 1 }, encrypt: true })()
  return isLeft(created) && created.left._tag === 'LogExists' ? findOrCreate(store, id) : created // another process did
}

interface Writer {
  readonly flush: () => Promise<Either<AppendFault, Head>>
  readonly writeSoon: () => void
  /** Write a row before the records appended after it. */
  readonly mark: (row: Row) => void
  readonly pending: () => number
}

const writerOf = (
  store: Store,
  info: LogInfo,
  log: History<CallRecord>,
  failed: (first: CallRecord, fault: StoreFault) => void,
): Writer => {
  let { head } = info
  let written = log.len
  let marks: readonly Row[] = []
  /** The rows being written. After a fault they are retried under the same operation: they may be stored. */
  let batch: { readonly to: number; readonly rows: readonly Row[]; readonly operation: string } | undefined
  let running: Promise<Either<AppendFault, Head>> = Promise.resolve(right(head))
  let scheduled = false

  const nextBatch = (): typeof batch => {
    const to = Math.min(log.len, written + mostRows)
    const records = log.view().slice(written, to).toArray()
    const rows = [...marks, ...records.map((record): Row => ({ kind: 'entry', body: JSON.stringify(record) }))]
    marks = []
    return rows.length === 0 ? undefined : { to, rows, operation: randomId() }
  }

  const write = async (): Promise<Either<AppendFault, Head>> => {
    while ((batch ??= nextBatch()) !== undefined) {
      const { to, rows, operation } = batch
      const appended = await store.append(info.id, { expected: head, rows, operation })()
      if (isLeft(appended)) {
        const fault = appended.left
        if (fault._tag !== 'Conflict' || fault.actual.size <= head.size) return left(fault)
        head = fault.actual // another process has appended: try again after its rows
        continue
      }
      head = appended.right.head
      written = to
      batch = undefined
    }
    return right(head)
  }
  // In sequence: each write needs the head of the previous one.
  const flush = (): Promise<Either<AppendFault, Head>> => (running = running.then(write, write).then(reportWritten))

  const reportWritten = (done: Either<AppendFault, Head>): Either<AppendFault, Head> => {
    const first = log.view().at(written)
    if (isLeft(done) && first !== undefined) failed(first, done.left)
    return done
  }

  /** Writes everything that is appended before the current code finishes. */
  const writeLater = async (): Promise<void> => {
    await undefined
    scheduled = false
    await flush()
  }

  return {
    flush,
    writeSoon: () => {
      if (scheduled) return
      scheduled = true
      void writeLater()
    },
    mark: (row) => {
      marks = [...marks, row]
    },
    pending: () => log.len - written,
  }
}

/** The most records in one append. */
const mostRows = 500

const optionNames: OptionNames<StoredCallLogOptions> = {
  store: true,
  id: true,
  durable: true,
  writer: true,
  ...sharedNames,
}
