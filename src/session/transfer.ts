/** Moving records: a transcript becomes a session, and a session an export. */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { JsonObject } from '../json/index.ts'
import type { Message, MessageFault } from '../message/index.ts'
import type { Note } from '../notes/index.ts'
import { classify } from '../pages/index.ts'
import { exportOf, type Exported, type ExportedRow, type Transcript } from '../transcript/index.ts'
import { encodeRow, lacking, type EncodedRow } from '../refs/index.ts'
import { headOf, maxMissed, rangeAt, type Head, type Store, type StoreFault } from '../store/index.ts'
import type { SessionFault, SessionTask } from './fault.ts'
import { isPartial, partialMeta, sessionInfo, storedMeta, type SessionInfo } from './metadata.ts'
import { randomId, readMirror } from './open.ts'

export interface ImportOptions {
  /** Default: the id that the transcript names, or a random UUID. */
  readonly id?: string
  /** Told how many rows are stored so far. */
  readonly progress?: (rows: number) => void
}

/**
 * Store a transcript as a session: its messages, page kinds and notes, row by row. An export of ours gives the record
 * that it was made from, with the same head; if it doesn't, that is `OtherHead`, and nothing is kept.
 *
 * The stored files that its messages name are not in a transcript: they must be in the store, or that is `MissingBlock`.
 *
 * It is a session once it is whole. After any failure nothing is kept, unless the store can't even remove what it began to
 * take; of what a crash has left, the next import under that id makes an end.
 *
 * Cost    O(transcript), in pieces
 */
export const importTranscript =
  (store: Store, transcript: Transcript, { id, progress }: ImportOptions = {}): SessionTask<SessionInfo> =>
  async () => {
    const exported = exportOf(transcript)
    const name = id ?? transcript.origin.id ?? randomId()
    const meta = storedMeta(exported.metadata)
    if (isLeft(meta)) return meta
    const before = await store.info(name)()
    if (!isLeft(before) && isPartial(before.right)) await store.remove(name)()
    const created = await store.create({ id: name, meta: partialMeta })()
    if (isLeft(created)) return created
    const head = await storeRows(store, name, created.right.head, exported.rows, progress)
    const expected = exported.head.root
    if ('_tag' in head || (expected !== undefined && head.root !== expected)) {
      await store.remove(name)()
      return left('_tag' in head ? head : { _tag: 'OtherHead', id: name, expected: expected as string, found: head.root })
    }
    return finished(store, name, meta.right)
  }

/** What was partial is a session from now on. */
const finished = async (store: Store, id: string, meta: JsonObject): Promise<Either<SessionFault | StoreFault, SessionInfo>> => {
  const log = await store.info(id)()
  if (isLeft(log) || !isPartial(log.right)) return isLeft(log) ? log : sessionInfo(log.right)
  const whole = await store.update(id, { expected: log.right.version, meta })()
  if (isLeft(whole) && whole.left._tag === 'MetaConflict') return finished(store, id, meta) // somebody else was quicker
  return isLeft(whole) ? whole : sessionInfo(whole.right)
}

/** A whole session as it is exported: `exportLines` writes it. Cost: that of opening it. */
export const exportSession =
  (store: Store, id: string): SessionTask<Exported> =>
  async () => {
    const opened = await readMirror(store, id)
    if (isLeft(opened)) return opened
    const { mirror, info } = opened.right
    const [view, notes] = [mirror.history.view(), mirror.notes.view()]
    const rows = function* (): Generator<ExportedRow> {
      let note = 0
      for (let row = 0; row < mirror.head.size; row++) {
        if (mirror.noteRows[note] === row) yield { note: notes.at(note++) as Note }
        else yield { message: view.at(row - note) as Message, page: view.pages.at(row - note) ?? 'conversation' }
      }
    }
    return right({ id, metadata: info.metadata, rows: { [Symbol.iterator]: rows }, head: mirror.head })
  }

/**
 * Copy a session to another store, under the same id. Where a copy was begun before, or another process is at it, it is
 * gone on with: what is there must be the beginning of the record, or nothing is changed: a copy that has grown past it is
 * a `Conflict`, another record `Diverged`. At the end both heads are the same, or that is `OtherHead`; until then it is no
 * session.
 *
 * The record is copied, with its metadata and with the stored files that its messages name: not when it was created, nor
 * the ids of its operations, and a fork's rows once more.
 *
 * Cost    O(session), in pieces; the record is in memory meanwhile
 */
export const copySession =
  (from: Store, to: Store, id: string, { progress }: Pick<ImportOptions, 'progress'> = {}): SessionTask<SessionInfo> =>
  async () => {
    const read = await exportSession(from, id)()
    if (isLeft(read)) return read
    const { rows } = read.right
    const head = read.right.head as Head // that of a session has its root
    const source = await from.info(id)()
    if (isLeft(source)) return source
    for (;;) {
      const begun = await beginCopy(from, to, id, head)
      if (isLeft(begun)) return begun
      const stored = await storeRows(to, id, begun.right, after(rows, begun.right.size), progress, from)
      if (!('_tag' in stored)) {
        if (stored.root !== head.root) return left({ _tag: 'OtherHead', id, expected: head.root, found: stored.root })
        return finished(to, id, source.right.meta)
      }
      if (stored._tag !== 'Conflict') return left(stored) // else somebody else copies it too: look how far it is
    }
  }

/** How far the copy is, which is the beginning of the record. */
const beginCopy = async (from: Store, to: Store, id: string, head: Head): Promise<Either<StoreFault, Head>> => {
  const found = await to.info(id)()
  if (isLeft(found) && found.left._tag !== 'NoSuchLog') return found
  const begun = isLeft(found) ? await to.create({ id, meta: partialMeta })() : found
  if (isLeft(begun)) return begun.left._tag === 'LogExists' ? beginCopy(from, to, id, head) : begun
  const start = begun.right.head
  const common = Math.min(start.size, head.size)
  const [here, there] = [await rangeAt(from, id, common)(), await rangeAt(to, id, common)()]
  if (isLeft(here)) return here
  if (isLeft(there)) return there
  if (headOf(here.right, from.hash).root !== headOf(there.right, to.hash).root) return left({ _tag: 'Diverged', id, expected: head, actual: start })
  if (start.size === common) return right(start)
  const missed = await to.read(id, { from: common, to: Math.min(start.size, common + maxMissed) })()
  return isLeft(missed) ? missed : left({ _tag: 'Conflict', id, expected: head, actual: start, missed: missed.right })
}

const after = function* <T>(values: Iterable<T>, count: number): Generator<T> {
  let seen = 0
  for (const value of values) if (seen++ >= count) yield value
}

/** How many rows, and how many characters of them, are appended at once. */
const mostRows = 1000
const mostText = 4_000_000

const storeRows = async (store: Store, id: string, start: Head, rows: Iterable<ExportedRow>, progress: ImportOptions['progress'], from?: Store): Promise<Head | SessionFault | StoreFault> => {
  let head = start
  let waiting: EncodedRow[] = []
  let text = 0
  const flush = async (): Promise<StoreFault | undefined> => {
    const attachments = from === undefined ? [] : [...new Set(waiting.flatMap((row) => row.attachments))] // without, the store looks for them itself
    const brought = await lacking(store, attachments, from)
    if (isLeft(brought)) return brought.left
    const appended = await store.append(id, { expected: head, rows: waiting.map(({ row }) => row), blocks: [...waiting.flatMap(({ blocks }) => blocks), ...brought.right] })()
    if (isLeft(appended)) return appended.left
    head = appended.right.head
    waiting = []
    text = 0
    progress?.(head.size)
    return undefined
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

const encodedOf = (row: ExportedRow, { hash }: Store): Either<MessageFault, EncodedRow> =>
  'note' in row ? right({ row: { kind: 'note', body: JSON.stringify(row.note) }, blocks: [], attachments: [] }) : encodeRow(row.message, row.page, row.page !== classify(row.message), hash)
