/** The tokens that the model calls of a session used: by its receipts, and by what the file says that it was imported from. */
import { ownFields, isLeft, isObject, optionsOf, parseJson, present } from '../../json/index.ts'
import { decodeNote, type ReceiptNote, type Usage } from '../../notes/kit.ts'
import type { Store, StoredRow } from '../../store/index.ts'
import { need, type Task } from '../../task/index.ts'
import { sessionSteps, type ReadSessionFault } from '../fault.ts'
import type { SessionInfo } from '../record/metadata.ts'
import { describeSession } from './open.ts'

/** The tokens of one call; of several, if an imported file has only their sum. */
export interface CallUse {
  /** `receipt`: a call of its own. `file`: calls that the imported file counted. */
  readonly source: 'receipt' | 'file'
  /** The name of the model, if it is known. */
  readonly model?: string
  /** The day of the call, as ISO 8601 (UTC of a receipt, the file's own time zone of a file), if it is known. */
  readonly day?: string
  /** How many calls. */
  readonly calls: number
  /** How many of them failed: with an error of the provider, without an answer, or with one that broke off. */
  readonly failed: number
  /** The tokens as the provider counted them; absent if it did not. */
  readonly usage?: Usage
}

/** Which calls count. */
export interface UsageOptions {
  /** True: only those of the session itself, and not those that it shares with the session it was forked from. Default: false. */
  readonly own?: boolean
}

/**
 * Read what the calls of a session used.
 *
 * Cost    O(notes of the session): the messages are not read. One read of the store if it has notes, and one to describe it
 *
 * @param store the store that keeps the session
 * @param session the id of the session, or its description, which need not be read then
 * @param options which calls count
 * @returns a use for each receipt, in order, after those that an imported file tells of; or `NoSuchLog`. A fork has none of
 *          the file: its figures are of the whole
 */
export const readUsage = (
  store: Store,
  session: string | SessionInfo,
  options: UsageOptions = {},
): Task<ReadSessionFault, readonly CallUse[]> => {
  const { own = false } = optionsOf('readUsage', options, known)
  return sessionSteps(async function* () {
    const info = typeof session === 'string' ? yield* need(describeSession(store, session)) : session
    const rows = info.head.size === info.len ? [] : yield* need(store.read(info.id, { only: 'note' }))
    return usesIn(info, rows, { own })
  }, 'readUsage')
}

/**
 * The same as `readUsage`, of notes that were read already.
 *
 * @param info the description of the session
 * @param notes all rows of its notes, in order
 * @param options which calls count
 * @returns a use for each receipt, in order, after those that an imported file tells of
 */
export const usesIn = (
  info: SessionInfo,
  notes: readonly StoredRow[],
  options: UsageOptions = {},
): readonly CallUse[] => {
  const { own = false } = optionsOf('usesIn', options, known)
  const isOwn = isOwnOf(info, own)
  const receipts = notes.flatMap((row) => (isOwn(row.at) ? (useIn(row, notes) ?? []) : []))
  // A file's figures are of all of it. They stay with the session that has all of it: a fork has a part.
  const filed = info.forkedFrom === undefined ? usesOf(info.metadata['from']) : []
  return Object.freeze([...filed, ...receipts])
}

/** Rows that a fork shares were written before it was made. */
const isOwnOf =
  ({ forkedFrom, created }: SessionInfo, own: boolean) =>
  (at: number): boolean =>
    !own || forkedFrom === undefined || at >= created

const useIn = (row: StoredRow, notes: readonly StoredRow[]): CallUse | undefined => {
  const receipt = receiptIn(row)
  if (receipt === undefined) return undefined
  const { at } = row
  const { model, usage, details } = receipt
  // What calls of the recorder have alike stands in an earlier receipt.
  const like = typeof details?.['like'] === 'number' ? notes[details['like']] : undefined
  const status = like === undefined ? undefined : receiptIn(like)?.details?.['status']
  const time = typeof details?.['at'] === 'number' ? details['at'] : at
  return Object.freeze({
    source: 'receipt',
    model,
    ...(time !== undefined && { day: new Date(time).toISOString().slice(0, 10) }),
    calls: 1,
    failed: hasFailed({ ...present({ status }), ...details }) ? 1 : 0,
    ...(usage && { usage }),
  })
}

const receiptIn = ({ body }: StoredRow): ReceiptNote | undefined => {
  if (!body.includes('"receipt"')) return undefined
  const parsed = parseJson(body)
  const note = isLeft(parsed) ? parsed : decodeNote(parsed.right)
  return isLeft(note) || note.right.type !== 'receipt' ? undefined : note.right
}

/**
 * Whether a call failed: with an error, with a status of one, or with an answer that broke off.
 *
 * @param details what the recorder says of the call
 * @returns true if it failed
 */
export const hasFailed = (call: { readonly [field: string]: unknown }): boolean => {
  const { error, status, cut } = ownFields(call)
  return error !== undefined || cut === true || (typeof status === 'number' && status >= 400)
}

/**
 * What a file says that its calls used.
 *
 * @param origin the origin of a transcript; of an imported session, `from` of its metadata
 * @returns a use for each model and day, or one of all where the file tells no more; empty if it has no figures
 */
export const usesOf = (origin: unknown): readonly CallUse[] => {
  if (!isObject(origin)) return []
  const { uses, usage, models, ended } = origin
  const told = Array.isArray(uses) ? uses : [usage]
  const only = Array.isArray(models) && models.length === 1 ? models[0] : undefined
  return told.flatMap((each: unknown): readonly CallUse[] => {
    if (!isObject(each) || typeof each['input'] !== 'number' || typeof each['output'] !== 'number') return []
    const { input, output, cacheRead, cacheWrite, calls } = each
    const model = each['model'] ?? only
    const day = each['day'] ?? (Array.isArray(uses) || typeof ended !== 'string' ? undefined : ended.slice(0, 10))
    return [
      Object.freeze({
        source: 'file' as const,
        ...(typeof model === 'string' && { model }),
        ...(typeof day === 'string' && { day }),
        calls: typeof calls === 'number' ? calls : 0,
        failed: 0,
        usage: {
          input,
          output,
          ...(typeof cacheRead === 'number' && { cacheRead }),
          ...(typeof cacheWrite === 'number' && { cacheWrite }),
        },
      }),
    ]
  })
}

const known = { own: true } as const
