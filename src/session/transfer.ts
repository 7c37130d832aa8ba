/** Moving records: a transcript becomes a session, and a session an export. */
import { checkStore } from './store-of.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, optionsOf } from '../json/index.ts'
import type { JsonObject } from '../json/index.ts'
import type { Message, MessageFault } from '../message/index.ts'
import { classify } from '../pages/index.ts'
import { exportOf, type Exported, type ExportedRow, type Transcript } from '../transcript/index.ts'
import { encodeRow, lacking, type EncodedRow } from '../entry/index.ts'
import {
  headOf,
  maxMissed,
  rangeAt,
  type Head,
  type LogInfo,
  type Store,
  type AppendFault,
  type BlockFault,
  type ForkFault,
  type ListFault,
  type NewLogFault,
  type StoreFaultOf,
  type UpdateFault,
  type VerifyFault,
} from '../store/index.ts'
import { called, type CallbackThrew, type Task } from '../task/index.ts'
import {
  sessionTask,
  type ImportFault,
  type NoSessionFault,
  type ReadSessionFault,
  type SessionFaultOf,
} from './fault.ts'
import {
  isOldPartial,
  isPartial,
  isPartialOf,
  partialMeta,
  sessionInfo,
  storedMeta,
  type PartialOf,
  type SessionInfo,
} from './metadata.ts'
import { rowsIn, type Mirror } from './mirror.ts'
import { momentOf } from './stamp.ts'
import { randomId, readMirror } from './open.ts'

/** How to import a transcript. */
export interface ImportOptions {
  /** The id of the new session. Default: the id in the transcript, or a random UUID. */
  readonly id?: string
  /**
   * Called while rows are stored.
   *
   * @param rows the number of rows stored so far
   */
  readonly progress?: (rows: number) => void
}

/**
 * Store a transcript as a session: its messages, page kinds and notes, row by row. An export of Indelible gives the
 * same
 * record with the same head, or `OtherHead`, and then nothing is kept.
 *
 * A transcript does not have the stored files that its messages reference. They must be in the store, or it is
 * `MissingBlock`.
 *
 * The rows go into a log of the import's own, `indelible.import.` and a random UUID. When it is complete, the session
 * is
 * forked from it and the log is removed. So the session appears at one moment, or not at all. Several imports of one id
 * may
 * run at once: one stores the session, and the others get `LogExists`. An import removes only the log that it created.
 * A
 * killed import leaves its log behind; `listUnfinished` names it.
 *
 * Cost    O(transcript), in pieces
 *
 * @param store the store to write
 * @param transcript the conversation, as `readTranscript` gives it
 * @param options the id, and a callback for progress
 * @returns the description of the session; or `LogExists`, `MissingBlock`, `OtherHead`
 */
export const importTranscript = (
  store: Store,
  transcript: Transcript,
  options: ImportOptions = {},
): Task<ImportFault, SessionInfo> => {
  checkStore('importTranscript', store)
  const { id, progress } = optionsOf('importTranscript', options, knownOfImport)
  return sessionTask(async () => {
    const exported = exportOf(transcript)
    const name = id ?? transcript.origin.id ?? randomId()
    const meta = storedMeta(exported.metadata, undefined, exported.erasable)
    if (isLeft(meta)) return meta
    const free = await isFree(store, name)
    if (isLeft(free)) return free
    // An export of ours says when each row was written, or that its version did not know. Others are written now.
    const at = momentOf(store)
    if (isLeft(at)) return at
    const rows = transcript.format === 'indelible' ? exported.rows : withTime(exported.rows, at.right)
    const own = `${importPrefix}${randomId()}`
    const created = await store.create({ id: own, meta: partialMeta('import') })()
    if (isLeft(created)) return created
    const published = await publish(store, own, await storeRows(store, own, created.right.head, rows, progress), {
      id: name,
      meta: meta.right,
      root: exported.head.root,
    })
    await store.remove(own)() // not what the session shares with it; if it fails, the answer is the same
    return isLeft(published) ? published : sessionInfo(published.right)
  }, 'importTranscript')
}

const importPrefix = 'indelible.import.'

/** A session of the rows that are stored, if they are what they should be. */
const publish = async (
  store: Store,
  own: string,
  head: Head | StoringFault,
  { id, meta, root }: { readonly id: string; readonly meta: JsonObject; readonly root: string | undefined },
): Promise<Either<StoringFault | ForkFault | SessionFaultOf<'OtherHead'>, LogInfo>> => {
  if ('_tag' in head) return left(head)
  if (root !== undefined && head.root !== root) return left({ _tag: 'OtherHead', id, expected: root, found: head.root })
  return store.fork(own, { id, at: head.size, meta })()
}

/**
 * Whether there is no log of that id. A partial one of a version before 0.3 is removed, by the first import that claims
 * it: that version removed it, too.
 */
const isFree = async (
  store: Store,
  id: string,
): Promise<Either<UpdateFault | StoreFaultOf<'LogExists'> | SessionFaultOf<'UnfinishedSession'>, void>> => {
  const found = await store.info(id)()
  if (isLeft(found)) return found.left._tag === 'NoSuchLog' ? right(undefined) : found
  const { version, head } = found.right
  if (!isPartial(found.right)) return left({ _tag: 'LogExists', id })
  if (!isOldPartial(found.right)) return left({ _tag: 'UnfinishedSession', id, rows: head.size })
  const claimed = await store.update(id, { expected: version, meta: partialMeta('import') })()
  if (isLeft(claimed)) return claimed.left._tag === 'MetaConflict' ? isFree(store, id) : claimed
  return store.remove(id)()
}

/** The log of an import or a copy that has not finished. */
export interface Unfinished {
  /** The id of the session to be. */
  readonly id: string
  /** The function that began it. */
  readonly by: PartialOf
  /** The number of rows stored so far. */
  readonly rows: number
  /** The time of creation, in milliseconds since 1970. */
  readonly created: number
}

/**
 * List the logs of imports and copies that have not finished. Some may still be running: removing such a log makes its
 * import or copy fail, and loses nothing else.
 *
 * Cost    O(logs of the scope)
 *
 * @param store the store to look in
 * @returns the logs
 */
export const listUnfinished = (store: Store): Task<ListFault, readonly Unfinished[]> =>
  sessionTask(async () => {
    const found: Unfinished[] = []
    for (const by of ['import', 'copy', true] as const) {
      let after: string | undefined
      do {
        const page = await store.list({ where: partialMeta(by), ...(after !== undefined && { after }) })()
        if (isLeft(page)) return page
        for (const { id, head, created } of page.right.logs)
          found.push({ id, by: by === true ? 'copy' : by, rows: head.size, created })
        after = page.right.next
      } while (after !== undefined)
    }
    return right(found)
  })

/**
 * Read a whole session for an export; `exportLines` writes it. Cost: that of opening the session.
 *
 * @param store the store that keeps it
 * @param id the id of the session
 * @returns the rows, the metadata and the head; or `NoSuchLog`, `DamagedLog`
 */
export const exportSession = (store: Store, id: string): Task<ReadSessionFault, Exported> =>
  sessionTask(async () => {
    const opened = await readMirror(store, id)
    if (isLeft(opened)) return opened
    const { mirror, info } = opened.right
    const { metadata, erasable } = info
    const rows = { [Symbol.iterator]: () => rowsOf(mirror) }
    return right({ id, metadata, rows, head: mirror.head, ...(erasable && { erasable }) })
  })

function* rowsOf(mirror: Mirror): Generator<ExportedRow> {
  for (const found of rowsIn(mirror, 0, mirror.head.size)) {
    const { row, at } = found
    const salt = mirror.salts.get(row)
    const moment = { ...(at !== undefined && { at }), ...(salt !== undefined && { salt }) }
    if (found.kind === 'note') yield { note: found.note, ...moment }
    else yield { message: found.message as Message, page: found.page, ...moment }
  }
}

/**
 * Copy a session to another store, under the same id. A copy that was interrupted, or that another process is making,
 * is
 * continued. The rows in the other store must be the beginning of the record; otherwise nothing changes, and it is a
 * `Conflict` if the other session is longer, `Diverged` if it differs. At the end both heads are equal, or it is
 * `OtherHead`. Until then the copy is not a session.
 *
 * The copy has the record, its metadata and the stored files that its messages reference. It does not have the time of
 * creation or the operation ids, and a fork gets its own rows.
 *
 * Cost    O(session), in pieces; the record is in memory meanwhile
 *
 * @param from the store to read
 * @param to the store to write
 * @param id the id of the session
 * @param options a callback for progress
 * @returns the description of the copy; or a fault
 */
export const copySession = (
  from: Store,
  to: Store,
  id: string,
  options: Pick<ImportOptions, 'progress'> = {},
): Task<ImportFault, SessionInfo> => {
  checkStore('copySession', to)
  const { progress } = optionsOf('copySession', options, knownOfCopy)
  return sessionTask(async () => {
    const opened = await readMirror(from, id)
    if (isLeft(opened)) return opened
    const { mirror, log } = opened.right
    const { head } = mirror
    for (;;) {
      const begun = await beginCopy(from, to, id, head)
      if (isLeft(begun)) return begun
      const stored = await storeRows(to, id, begun.right, after(rowsOf(mirror), begun.right.size), progress, from)
      if (!('_tag' in stored)) {
        if (stored.root !== head.root) return left({ _tag: 'OtherHead', id, expected: head.root, found: stored.root })
        return finished(to, id, log.meta)
      }
      if (stored._tag !== 'Conflict') return left(stored) // else somebody else copies it too: look how far it is
    }
  }, 'copySession')
}

/** What was partial is a session from now on. */
const finished = async (
  store: Store,
  id: string,
  meta: JsonObject,
): Promise<Either<UpdateFault | NoSessionFault, SessionInfo>> => {
  const log = await store.info(id)()
  if (isLeft(log) || !isPartialOf(log.right, 'copy')) return isLeft(log) ? log : sessionInfo(log.right)
  const whole = await store.update(id, { expected: log.right.version, meta })()
  if (isLeft(whole) && whole.left._tag === 'MetaConflict') return finished(store, id, meta) // somebody else was quicker
  return isLeft(whole) ? whole : sessionInfo(whole.right)
}

type BeginFault =
  NewLogFault | UpdateFault | VerifyFault | StoreFaultOf<'Conflict'> | SessionFaultOf<'UnfinishedSession'>

/** How far the copy is, which is the beginning of the record. */
const beginCopy = async (from: Store, to: Store, id: string, head: Head): Promise<Either<BeginFault, Head>> => {
  const found = await to.info(id)()
  if (isLeft(found) && found.left._tag !== 'NoSuchLog') return found
  if (!isLeft(found) && isPartialOf(found.right, 'import'))
    return left({ _tag: 'UnfinishedSession', id, rows: found.right.head.size })
  const begun = isLeft(found)
    ? await to.create({ id, meta: partialMeta('copy') })()
    : isOldPartial(found.right)
      ? await to.update(id, { expected: found.right.version, meta: partialMeta('copy') })() // no import removes it now
      : found
  if (isLeft(begun))
    return begun.left._tag === 'LogExists' || begun.left._tag === 'MetaConflict' ? beginCopy(from, to, id, head) : begun
  const start = begun.right.head
  const common = Math.min(start.size, head.size)
  const [here, there] = [await rangeAt(from, id, common)(), await rangeAt(to, id, common)()]
  if (isLeft(here)) return here
  if (isLeft(there)) return there
  if (headOf(here.right, from.hash).root !== headOf(there.right, to.hash).root)
    return left({ _tag: 'Diverged', id, expected: head, actual: start })
  if (start.size === common) return right(start)
  const missed = await to.read(id, { from: common, to: Math.min(start.size, common + maxMissed) })()
  return isLeft(missed) ? missed : left({ _tag: 'Conflict', id, expected: head, actual: start, missed: missed.right })
}

const withTime = function* (rows: Iterable<ExportedRow>, at: number): Generator<ExportedRow> {
  for (const row of rows) yield { ...row, at }
}

const after = function* <T>(values: Iterable<T>, count: number): Generator<T> {
  let seen = 0
  for (const value of values) if (seen++ >= count) yield value
}

/** How many rows, and how many characters of them, are appended at once. */
const mostRows = 1000
const mostText = 4_000_000

type StoringFault = AppendFault | BlockFault | SessionFaultOf<'InvalidMessage'> | CallbackThrew

const storeRows = async (
  store: Store,
  id: string,
  start: Head,
  rows: Iterable<ExportedRow>,
  progress: ImportOptions['progress'],
  from?: Store,
): Promise<Head | StoringFault> => {
  let head = start
  let waiting: EncodedRow[] = []
  let text = 0
  const flush = async (): Promise<StoringFault | undefined> => {
    const attachments = from === undefined ? [] : [...new Set(waiting.flatMap((row) => row.attachments))] // without, the store looks for them itself
    const brought = await lacking(store, attachments, from)
    if (isLeft(brought)) return brought.left
    const appended = await store.append(id, {
      expected: head,
      rows: waiting.map(({ row }) => row),
      blocks: [...waiting.flatMap(({ blocks }) => blocks), ...brought.right],
    })()
    if (isLeft(appended)) return appended.left
    head = appended.right.head
    waiting = []
    text = 0
    const told = called('progress', () => progress?.(head.size))
    return isLeft(told) ? told.left : undefined
  }
  let index = 0
  for (const row of rows) {
    const encoded = encodedOf(row, store)
    if (isLeft(encoded)) return { _tag: 'InvalidMessage', index, cause: encoded.left }
    waiting.push(encoded.right)
    text += encoded.right.row.body.length + encoded.right.blocks.reduce((sum, block) => sum + block.length, 0)
    if ('message' in row) index += 1
    const fault = waiting.length >= mostRows || text >= mostText ? await flush() : undefined
    if (fault !== undefined) return fault
  }
  return (waiting.length === 0 ? undefined : await flush()) ?? head
}

const encodedOf = (row: ExportedRow, { hash }: Store): Either<MessageFault, EncodedRow> => {
  const { at, salt } = row
  const encoded =
    'note' in row
      ? right({ row: { kind: 'note' as const, body: JSON.stringify(row.note) }, blocks: [], attachments: [] })
      : encodeRow(row.message, row.page, row.page !== classify(row.message), hash)
  if (isLeft(encoded)) return encoded
  const moment = { ...(at !== undefined && { at }), ...(salt !== undefined && { salt }) }
  return right({ ...encoded.right, row: { ...encoded.right.row, ...moment } })
}

const knownOfImport = { id: true, progress: true } as const

const knownOfCopy = { progress: true } as const
