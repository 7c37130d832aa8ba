/**
 * A log of calls on a store: read from there when it is opened, written there as it grows. Each record is a row of one
 * log of the store, so it is a leaf of that log's tree like any other.
 */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import type { History } from '../history/index.ts'
import type { Head, LogInfo, Row, Store, StoreFault } from '../store/index.ts'
import { newLog, type CallLogOptions } from './log.ts'
import { normalizeRecords, type NormalizeReport } from './normalize.ts'
import { randomId } from './random-id.ts'
import type { CallRecord } from './record.ts'

export interface StoredCallLogOptions extends Omit<CallLogOptions, 'from'> {
  readonly store: Store
  /** The id of the log in the store. It is created if it is not there. */
  readonly id: string
}

export interface StoredCallLog {
  /** The log. What is appended to it is written to the store soon after, in order; nobody waits for that. */
  readonly log: History<CallRecord>
  /** Write what is not yet written. Right: the head of the stored log, which has every record then. */
  readonly flush: TaskEither<StoreFault, Head>
  /** How many records are not yet written. */
  readonly pending: number
  /** What it took to read the stored records. Rows that are no records stay in the store as they are. */
  readonly report: NormalizeReport
}

/**
 * Open a log of calls on a store.
 *
 * One writer at a time: where another one has appended meanwhile, `flush` is a Conflict, the log keeps its records in
 * memory, and what is stored is as the other left it. Telemetry is told of records that could not be written, as
 * `unstored`; calls are not harmed. A write whose answer got lost is tried again under the same operation, so nothing
 * is stored twice.
 *
 * Cost    O(stored records) to open; one append of the store for all records of a moment
 * @example
 * const opened = await openCallLog({ store: memoryStore(), id: 'calls' })()
 * if (opened._tag === 'Right') await recordCall(opened.right.log, { methodName: 'f' }, () => 1)
 */
export const openCallLog =
  ({ store, id, ...options }: StoredCallLogOptions): TaskEither<StoreFault, StoredCallLog> =>
  async () => {
    const info = await findOrCreate(store, id)
    if (isLeft(info)) return info
    const rows = await store.read(id, { to: info.right.entries, only: 'entry' })()
    if (isLeft(rows)) return rows
    const { log: stored, report } = normalizeRecords(rows.right.map(({ body }) => valueOf(body)))
    const log = newLog({ ...options, from: stored.view() }, () => writer.writeSoon())
    const writer = writerOf(store, info.right, log, (first, fault) =>
      options.telemetry?.({
        callId: first.callId,
        methodName: first.methodName,
        historyRecordAppended: true,
        conversationHistorySize: log.len,
        reason: 'unstored',
        error: fault,
      }),
    )
    return right(
      Object.freeze({
        log,
        flush: writer.flush,
        report,
        get pending() {
          return writer.pending()
        },
      }),
    )
  }

const findOrCreate = async (store: Store, id: string): Promise<Either<StoreFault, LogInfo>> => {
  const found = await store.info(id)()
  if (!isLeft(found) || found.left._tag !== 'NoSuchLog') return found
  const created = await store.create({ id, meta: { records: 'calls' } })()
  return isLeft(created) && created.left._tag === 'LogExists' ? store.info(id)() : created // somebody else was faster
}

/** A body that is no JSON is no record: as text it is reported and left out. */
const valueOf = (body: string): unknown => {
  try {
    return JSON.parse(body)
  } catch {
    return body
  }
}

interface Writer {
  readonly flush: TaskEither<StoreFault, Head>
  readonly writeSoon: () => void
  readonly pending: () => number
}

const writerOf = (store: Store, info: LogInfo, log: History<CallRecord>, failed: (first: CallRecord, fault: StoreFault) => void): Writer => {
  let { head } = info
  let written = log.len
  /** What is being written. After a fault it is tried again as it was, under its operation: it may have happened. */
  let batch: { readonly to: number; readonly operation: string } | undefined
  let running: Promise<Either<StoreFault, Head>> = Promise.resolve(right(head))
  let scheduled = false

  const write = async (): Promise<Either<StoreFault, Head>> => {
    while (written < log.len) {
      batch ??= { to: Math.min(log.len, written + mostRows), operation: randomId() }
      const rows = log.view().slice(written, batch.to).toArray().map((record): Row => ({ kind: 'entry', body: JSON.stringify(record) }))
      const appended = await store.append(info.id, { expected: head, rows, operation: batch.operation })()
      if (isLeft(appended)) return left(appended.left)
      head = appended.right.head
      written = batch.to
      batch = undefined
    }
    return right(head)
  }
  // One after the other: each needs the head of the one before.
  const flush: TaskEither<StoreFault, Head> = () => (running = running.then(write))

  /** Of everything that is appended before the current code has come to its end. */
  const writeLater = async (): Promise<void> => {
    await undefined
    scheduled = false
    const done = await flush()
    const first = log.view().at(written)
    try {
      if (isLeft(done) && first !== undefined) failed(first, done.left)
    } catch {
      // Telemetry that throws harms nobody.
    }
  }

  return {
    flush,
    writeSoon: () => {
      if (scheduled) return
      scheduled = true
      void writeLater()
    },
    pending: () => log.len - written,
  }
}

/** Records in one append of the store. */
const mostRows = 500
