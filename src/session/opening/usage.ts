/** The token usage of a session's model calls: from its receipts, and from the file that it was imported from. */
import {
  freezeResult,
  ownFields,
  isLeft,
  isObject,
  optionsOf,
  parseJson,
  present,
  type JsonObject,
} from '../../json/index.ts'
import { decodeNote, type ReceiptNote, type Usage } from '../../notes/internal.ts'
import type { Store, StoredRow } from '../../store/index.ts'
import { need, type Task } from '../../task/index.ts'
import { sessionSteps, type ReadSessionFault } from '../fault.ts'
import type { SessionInfo } from '../record/metadata.ts'
import { describeSession } from './open.ts'

/** The usage of one call, or of several if an imported file has only their sum. */
export interface CallUse {
  /** `receipt`: one call, from its receipt. `file`: calls that the imported file reports. */
  readonly source: 'receipt' | 'file'
  /** The name of the model, if known; with the way of serving it where that changes its price, as `gpt-5 (batch)`. */
  readonly model?: string
  /** The day of the call in ISO 8601, if known: UTC for a receipt, the file's own time zone for a file. */
  readonly day?: string
  /** The number of calls that have an answer, or a part of one. */
  readonly calls: number
  /** Set if each request was so long that its model has other prices. */
  readonly long?: true
  /** The number of failed calls: without an answer, which are not in `calls`, or with one that was cut off. */
  readonly failed: number
  /** The tokens as counted by the provider; absent if it did not report them. */
  readonly usage?: Usage
  /**
   * The number of calls whose answers may hold more tokens than were counted, because they broke off, or because a
   * file counts too few; absent if there are none.
   */
  readonly undercounted?: number
}

/** Selects calls. */
interface UsageOptions {
  /** If true, leaves out the calls that a fork shares with its origin. Default: false. */
  readonly own?: boolean
}

/**
 * Read the token usage of a session's calls.
 *
 * Cost    O(notes of the session); no messages are read. One read of the store if there are notes,
 *         and one for the description
 *
 * @param store the store that has the session
 * @param session the id of the session, or its description, which saves reading it
 * @param options selects the calls
 * @returns one entry for each receipt, in order, after those from the file; or `NoSuchLog`. A fork
 * has no entries from the file, whose figures cover the whole session
 */
export const readUsage = (
  store: Store,
  session: string | SessionInfo,
  options: UsageOptions = {},
): Task<ReadSessionFault, readonly CallUse[]> => {
  const { own = false } = optionsOf('readUsage', options, optionNames)
  return sessionSteps(async function* () {
    const info = typeof session === 'string' ? yield* need(describeSession(store, session)) : session
    const rows = info.head.size === info.len ? [] : yield* need(store.read(info.id, { only: 'note' }))
    return usesIn(info, rows, { own })
  }, 'readUsage')
}

/**
 * Like `readUsage`, for notes that were already read.
 *
 * @param info the description of the session
 * @param notes all rows of its notes, in order
 * @param options selects the calls
 * @returns one entry for each receipt, in order, after those from the imported file
 */
export const usesIn = (
  info: SessionInfo,
  notes: readonly StoredRow[],
  options: UsageOptions = {},
): readonly CallUse[] => {
  const { own = false } = optionsOf('usesIn', options, optionNames)
  const isOwn = isOwnOf(info, own)
  const receipts = notes.flatMap((row) => (isOwn(row.at) ? (useIn(row, notes) ?? []) : []))
  // A file's figures cover the whole session. A fork has only part of it, and gets none.
  const filed = info.forkedFrom === undefined ? usesOf(info.metadata['from']) : []
  return Object.freeze([...filed, ...receipts])
}

/** Rows that a fork shares were written before it was created. */
const isOwnOf =
  ({ forkedFrom, created }: SessionInfo, own: boolean) =>
  (at: number): boolean =>
    !own || forkedFrom === undefined || at >= created

const useIn = (row: StoredRow, notes: readonly StoredRow[]): CallUse | undefined => {
  const receipt = receiptIn(row)
  if (receipt === undefined) return undefined
  const { at } = row
  const { model, usage, details } = receipt
  // A recorder's receipt refers to an earlier one for the values that both share.
  const like = typeof details?.['like'] === 'number' ? notes[details['like']] : undefined
  const status = like === undefined ? undefined : receiptIn(like)?.details?.['status']
  const time = typeof details?.['at'] === 'number' ? details['at'] : at
  const call = ownFields<JsonObject>({ ...present({ status }), ...details })
  const isCut = call['cut'] === true
  return Object.freeze({
    source: 'receipt',
    model: typeof details?.['tier'] === 'string' ? `${model} (${details['tier']})` : model,
    ...(time !== undefined && { day: new Date(time).toISOString().slice(0, 10) }),
    calls: hasAnswer(call) || usage !== undefined ? 1 : 0,
    failed: hasFailed(call) ? 1 : 0,
    // Anthropic counts the output at the start of a stream, and again at its end.
    ...(usage && isCut && { undercounted: 1 }),
    ...(usage && { usage }),
  })
}

/** The receipt in a row; undefined if it is another row. */
export const receiptIn = ({ body }: StoredRow): ReceiptNote | undefined => {
  if (!body.includes('"receipt"')) return undefined
  const parsed = parseJson(body)
  const note = isLeft(parsed) ? parsed : decodeNote(parsed.right)
  return isLeft(note) || note.right.type !== 'receipt' ? undefined : note.right
}

/**
 * Whether a call failed: with an error, an error status, or an answer that was cut off.
 *
 * @param call the details of the call's receipt
 * @returns true if it failed
 */
export const hasFailed = (call: { readonly [field: string]: unknown }): boolean => {
  const { error, status, cut } = ownFields(call)
  return error !== undefined || cut === true || (typeof status === 'number' && status >= 400)
}

/**
 * Whether a call has an answer, at least a part of one.
 *
 * @param call the details of the call's receipt
 * @returns false for an error of the provider or the connection before any content
 */
export const hasAnswer = (call: { readonly [field: string]: unknown }): boolean => {
  const { status, cut } = ownFields(call)
  return !hasFailed(call) || (cut === true && !(typeof status === 'number' && status >= 400))
}

/**
 * The usage that an imported file reports.
 *
 * @param origin the origin of a transcript; for an imported session, `from` of its metadata
 * @returns one entry for each model and day, or one for the total if the file has no more; empty without figures
 */
export const usesOf = (origin: unknown): readonly CallUse[] => {
  if (!isObject(origin)) return []
  const { uses, usage, models, ended } = origin
  const told = Array.isArray(uses) ? uses : [usage]
  const only = Array.isArray(models) && models.length === 1 ? models[0] : undefined
  return told.flatMap((each: unknown): readonly CallUse[] => {
    if (!isObject(each) || typeof each['input'] !== 'number' || typeof each['output'] !== 'number') return []
    const { input, output, cacheRead, cacheWrite, cacheWriteHour, calls, long, undercounted } = each
    const model = each['model'] ?? only
    const day = each['day'] ?? (Array.isArray(uses) || typeof ended !== 'string' ? undefined : ended.slice(0, 10))
    return [
      freezeResult({
        source: 'file' as const,
        ...(typeof model === 'string' && { model }),
        ...(typeof day === 'string' && { day }),
        calls: typeof calls === 'number' ? calls : 0,
        failed: 0,
        ...(long === true && { long }),
        ...(typeof undercounted === 'number' && { undercounted }),
        usage: {
          input,
          output,
          ...(typeof cacheRead === 'number' && { cacheRead }),
          ...(typeof cacheWrite === 'number' && { cacheWrite }),
          ...(typeof cacheWriteHour === 'number' && { cacheWriteHour }),
        },
      }),
    ]
  })
}

const optionNames = { own: true } as const
