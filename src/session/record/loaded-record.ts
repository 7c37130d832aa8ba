/** A session's record in memory: the stored rows up to a head. It never has a row that the store lacks. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right, type JsonObject, type Immutable } from '../../json/index.ts'
import { createHistory, omitRanges, type History, type Range, type View } from '../../history/index.ts'
import { appendText } from '../../history/internal.ts'
import { emptyRange, grow, type BlockId, type CompactRange, type Hash } from '../../proof/internal.ts'
import type { Message } from '../../message/index.ts'
import { checkNote, decodeNote, foldPages, isMark, placeNote, retractedBy, type Note } from '../../notes/internal.ts'
import { noteFaultText } from '../../notes/fault.ts'
import type { JournalFold } from './journal.ts'
import { foldMetadata, latestMetadata, metadataAtRow, type MetadataEntry } from './metadata-notes.ts'
import type { PageKind } from '../../pages/index.ts'
import type { Redactor } from '../../redact/index.ts'
import { countWhile, sliceBounds } from '../../sequence/index.ts'
import { NamedBlocks, stubFault, readRow, takeRow, UnreadRows, type ReadRow } from '../../entry/internal.ts'
import {
  verifyLog,
  type Head,
  type LogInfo,
  type Store,
  type StoredRow,
  type LogFault,
  type StoreFaultOf,
  type VerifyFault,
} from '../../store/index.ts'
import { headOf, rangeAt, readEncrypted, rowLeaf, sliceRows, Slices, withoutKeys } from '../../store/internal.ts'
import { FaultError } from '../../task/index.ts'
import { sessionFaultText } from '../fault.ts'

/** A log row that was altered after its append. */
export interface DamagedRow {
  /** Its position in the log of messages and notes, from 0; the number of rows if the head is damaged. */
  readonly row: number
  /** The position among the messages. Absent for a note and for the head. */
  readonly position?: number
  /** The damage, in words. */
  readonly reason: string
}

export interface LoadedRecord {
  readonly id: string
  /** Removes secrets from everything that this handle appends. */
  readonly redactor: Redactor | undefined
  readonly history: History<Message>
  /** `noNotes` until there is one. */
  notes: History<Note>
  /** The log positions of the notes. All other positions are messages. */
  readonly noteRows: number[]
  /**
   * The ranges that retractions removed from the conversation, in the order of their notes, and the
   * number of notes up to each retraction.
   */
  readonly retracted: { readonly range: Range; readonly notes: number }[]
  /** The conversation of a view, cached until an append or a retraction. */
  conversation: { readonly view: View<Message>; readonly retractions: number; readonly of: View<Message> } | undefined
  /** The record at the current head, cached. */
  now: { readonly head: Head; readonly moment: Moment } | undefined
  /** The time of each row in log order, and the salts by log position. */
  times: number[]
  salts: ReadonlyMap<number, string>
  /** The leaves of rows that were erased before they were read, by log position. */
  erased: ReadonlyMap<number, string>
  /** The altered rows, if the session was opened only to read. */
  readonly damaged: DamagedRow[]
  /** The metadata after each of its notes. */
  readonly metadata: MetadataEntry[]
  /** The metadata of the store's description, which is that of the session until its first note. */
  described: JsonObject
  /** The number of rows whose metadata is that of another session. */
  inherited: number
  range: CompactRange
  head: Head
  sealed: boolean
  /** Whether appended rows get a salt. */
  erasable: boolean
  /** Whether rows are encrypted. */
  encrypted: boolean
  /** The journal folded so far: the steps that are not recorded yet. Undefined until there is a note. */
  journal: JournalFold | undefined
  /** Leases up to this number are known to have ended. */
  endedLeases: number
  /** The number of rows read from the store: those of other writers, and those present at opening. */
  foreign: number
}

/** Shared by all sessions without such rows: an empty map of its own would take 250 bytes of each. */
const noTexts: ReadonlyMap<number, string> = new Map()
const withText = (texts: ReadonlyMap<number, string>, row: number, text: string): ReadonlyMap<number, string> =>
  (texts === noTexts ? new Map<number, string>() : (texts as Map<number, string>)).set(row, text)

/** Shared by all sessions without notes, and never appended to. Most sessions have none, and a history takes 600 bytes. */
const noNotes: History<Note> = createHistory<Note>()

/** The history of the notes, to append to it. */
const ownNotes = (record: LoadedRecord): History<Note> => {
  if (record.notes === noNotes) record.notes = createHistory<Note>()
  return record.notes
}

export const emptyRecord = (store: Store, id: string, redactor?: Redactor): LoadedRecord => ({
  id,
  redactor,
  history: createHistory<Message>(),
  notes: noNotes,
  noteRows: [],
  retracted: [],
  conversation: undefined,
  now: undefined,
  range: emptyRange,
  head: headOf(emptyRange, store.hash),
  sealed: false,
  times: [],
  salts: noTexts,
  erased: noTexts,
  damaged: [],
  metadata: [],
  described: Object.freeze({}),
  inherited: 0,
  erasable: false,
  encrypted: false,
  journal: undefined,
  endedLeases: 0,
  foreign: 0,
})

/** The number of messages before a row. Cost: O(log notes). */
export const messagesBefore = ({ noteRows }: Pick<LoadedRecord, 'noteRows'>, row: number): number =>
  row - countWhile(noteRows.length, (index) => (noteRows[index] as number) < row)

/** The log position of a message, or the end of the known log. Cost: O(log notes · log messages). */
export const rowOf = (record: Pick<LoadedRecord, 'noteRows' | 'range'>, position: number): number =>
  rowUpTo(record, position, record.range.size)

const rowUpTo = (record: Pick<LoadedRecord, 'noteRows'>, position: number, end: number): number =>
  position + countWhile(end - position, (count) => messagesBefore(record, position + count + 1) <= position)

/**
 * Read the store's rows beyond the record in memory. The fault is `Diverged` if the stored record does not
 * extend the record in memory. After a fault the record in memory may have rows beyond its head, and must be discarded.
 *
 * Cost    O(new rows), in pieces; without new rows nothing is read
 */
export const catchUp = async (store: Store, record: LoadedRecord): Promise<Either<VerifyFault, LogInfo>> => {
  const { id, head: known } = record
  const found = await store.info(id)()
  if (isLeft(found)) return found
  const { head } = found.right
  if (head.size === known.size && head.root === known.root) return found
  if (known.size > 0) {
    const before = head.size <= known.size ? undefined : await rangeAt(store, id, known.size)()
    if (before !== undefined && isLeft(before)) return before
    if (before === undefined || headOf(before.right, store.hash).root !== known.root)
      return left({ _tag: 'Diverged', id, expected: known, actual: head })
  }
  return readUpTo(store, record, found.right)
}

/**
 * Read the log's rows after those of the record in memory.
 *
 * @param unread receives the messages, if they are to be parsed on first read
 */
export const readUpTo = async (
  store: Store,
  record: LoadedRecord,
  log: LogInfo,
  unread?: UnreadRows,
): Promise<Either<LogFault, LogInfo>> => {
  const { id, head } = log
  if (head.size === record.head.size && head.root === record.head.root) return right(log)
  let { range } = record
  const reading = { named: new NamedBlocks(), slices: new Slices() }
  for (let from = record.head.size; from < head.size; from += sliceRows) {
    const read = await readPiece(store, record, range, Math.min(from + sliceRows, head.size), reading, unread)
    if (isLeft(read)) return read
    range = read.right
  }
  if (headOf(range, store.hash).root !== head.root) return left(await damageIn(store, id, head))
  record.range = range
  record.head = head
  const bad = unread?.end()
  return bad === undefined ? right(log) : left(damagedMessage(record, bad.position, bad.reason))
}

/** Messages that are parsed on first read. If one is damaged, that read throws. */
export const unreadRows = ({ id, history, noteRows }: LoadedRecord): UnreadRows =>
  new UnreadRows(history, (position, reason) => {
    const fault = damagedMessage({ id, noteRows }, position, reason) // keeps no reference to the record in memory: a view holds this callback
    return new FaultError(fault, sessionFaultText(fault))
  })

const damagedMessage = (record: Pick<LoadedRecord, 'id' | 'noteRows'>, position: number, reason: string): Damage => ({
  _tag: 'DamagedLog',
  id: record.id,
  position: rowUpTo(record, position, position + record.noteRows.length),
  reason,
})

/** The first altered row. */
const damageIn = async (store: Store, id: string, { size }: Head): Promise<LogFault> => {
  const verified = await verifyLog(store, id)()
  return isLeft(verified) && verified.left._tag !== 'Diverged'
    ? verified.left
    : { _tag: 'DamagedLog', id, position: size, reason: 'the head does not match the rows' }
}

/**
 * Like `catchUp`, but from the rows in a conflict, without asking the store. Returns false if the
 * conflict does not have all rows that the record in memory lacks, or if they don't match the conflict's head.
 *
 * Cost    O(missed rows)
 */
export const catchUpFrom = async (
  store: Store,
  record: LoadedRecord,
  { expected, actual, missed }: Conflict,
): Promise<Either<LogFault, boolean>> => {
  const { size, root } = record.head
  if (expected.size !== size || expected.root !== root || missed.length !== actual.size - size) return right(false)
  const { range } = grow(
    record.range,
    missed.map((row) => rowLeaf(row, store.hash)),
    store.hash,
  )
  if (headOf(range, store.hash).root !== actual.root) return right(false)
  const taken = await takeRows(store, record, size, missed)
  if (isLeft(taken)) return taken
  const { range: after } = grow(record.range, taken.right, store.hash)
  if (headOf(after, store.hash).root !== actual.root) return left(await damageIn(store, record.id, actual))
  record.range = after
  record.head = actual
  return right(true)
}

export type Conflict = StoreFaultOf<'Conflict'>

/** What is shared by the rows of one operation: the blocks that they name, and its slices. */
interface Reading {
  readonly named: NamedBlocks
  readonly slices: Slices
}

const readPiece = async (
  store: Store,
  record: LoadedRecord,
  range: CompactRange,
  to: number,
  reading: Reading,
  unread: UnreadRows | undefined,
): Promise<Either<LogFault, CompactRange>> => {
  const from = range.size
  const rows = await store.read(record.id, { from, to })()
  if (isLeft(rows)) return rows
  if (rows.right.length !== to - from)
    return left({ _tag: 'DamagedLog', id: record.id, position: from + rows.right.length, reason: 'rows are missing' })
  const leaves = await takeRows(store, record, from, rows.right, reading, unread)
  return isLeft(leaves) ? leaves : right(grow(range, leaves.right, store.hash).range)
}

/** Add rows to a record in memory, the first at `from`. Returns their leaves. */
export const takeRows = async (
  store: Store,
  record: LoadedRecord,
  from: number,
  rows: readonly StoredRow[],
  { named, slices }: Reading = { named: new NamedBlocks(), slices: new Slices() },
  unread?: UnreadRows,
): Promise<Either<LogFault, readonly Uint8Array[]>> => {
  const { id } = record
  const { hash } = store
  const decoded = decodeRows(id, rows)
  if (isLeft(decoded)) return decoded
  const blocks = await blocksOf(store, id, decoded.right)
  if (isLeft(blocks)) return blocks
  const leaves: Uint8Array[] = []
  for (let index = 0; index < rows.length; index++) {
    const read = decoded.right[index] as RowToRead
    const position = from + index
    const leaf =
      read.kind === 'note'
        ? takeNote(record, position, rows[index] as StoredRow, hash)
        : unread === undefined
          ? takeRow(record.history, read.entry, blocks.right, hash, named)
          : unread.take(read.entry, blocks.right, hash)
    if (isLeft(leaf)) return left({ _tag: 'DamagedLog', id, position, reason: leaf.left })
    leaves[index] = leaf.right
    const turn = slices.next(bytesOf(read, blocks.right))
    if (turn !== undefined) await turn
  }
  addTimes(record, rows)
  record.foreign += rows.length
  return right(leaves)
}

const bytesOf = (row: RowToRead, blocks: ReadonlyMap<BlockId, Uint8Array>): number => {
  if (row.kind === 'note') return row.body.length
  let bytes = row.entry.text.length
  for (const { id } of row.entry.blocks) bytes += blocks.get(id)?.length ?? 0
  return bytes
}

/** A row, decoded if it is a message. */
type RowToRead =
  | { readonly kind: 'note'; readonly position: number; readonly body: string }
  | { readonly kind: 'entry'; readonly position: number; readonly entry: ReadRow }

/** The fault of an altered row. */
export type Damage = StoreFaultOf<'DamagedLog'>

/** Decodes rows. Encrypted rows are a fault, because the store has no keys. */
export const decodeRows = (
  id: string,
  rows: readonly StoredRow[],
): Either<Damage | StoreFaultOf<'NoKey'>, readonly RowToRead[]> => {
  const decoded: RowToRead[] = []
  for (const row of rows) {
    const { kind, position, body, erased } = row
    const encrypted = readEncrypted(body)
    if (encrypted !== undefined) return left(withoutKeys(id, encrypted.key))
    if (kind === 'note') {
      const stub = erased === undefined ? undefined : stubFault(kind, body)
      if (stub !== undefined)
        return left({ _tag: 'DamagedLog', id, position, reason: `the row was erased, and ${stub}` })
      decoded.push({ kind, position, body })
    } else {
      const entry = readRow(row)
      if (isLeft(entry)) return left({ _tag: 'DamagedLog', id, position, reason: `the row ${entry.left}` })
      decoded.push({ kind, position, entry: entry.right })
    }
  }
  return right(decoded)
}

/** The blocks with the texts of rows; or a fault that names the first row with an altered block. */
export const blocksOf = async (
  store: Store,
  id: string,
  rows: readonly RowToRead[],
): Promise<Either<LogFault, ReadonlyMap<BlockId, Uint8Array>>> => {
  const wanted = new Map<BlockId, number>() // with the first row that references it
  const keys = new Map<BlockId, string>()
  for (const row of rows)
    if (row.kind === 'entry')
      for (const { id: block, key } of row.entry.blocks) {
        if (!wanted.has(block)) wanted.set(block, row.position)
        if (key !== undefined) keys.set(block, key)
      }
  const { encryption } = store
  if (keys.size === 0 || encryption === undefined) return readBlocks(store, id, wanted)
  const found = await readBlocks(encryption.bare, id, wanted)
  if (isLeft(found)) return found
  const plain = new Map(found.right)
  for (const [block, key] of keys) {
    const bytes = encryption.block(key, found.right.get(block) as Uint8Array) // readBlocks returned every wanted block
    if (bytes === undefined)
      return left({
        _tag: 'DamagedLog',
        id,
        position: wanted.get(block) ?? -1,
        reason: `block ${block} is not what its key encrypted`,
      })
    plain.set(block, bytes)
  }
  return right(plain)
}

/** Reads blocks, given with the first row that references each. The fault names the first row with an altered block. */
export const readBlocks = async (
  store: Store,
  id: string,
  wanted: ReadonlyMap<BlockId, number>,
): Promise<Either<LogFault, ReadonlyMap<BlockId, Uint8Array>>> => {
  const ids = [...wanted.keys()]
  if (ids.length === 0) return right(new Map())
  const found = await store.getBlocks(ids)()
  if (isLeft(found))
    return left(found.left._tag === 'DamagedBlock' ? damageAt(id, wanted, found.left.ids, alteredBlock) : found.left)
  const missing = ids.filter((_, index) => found.right[index] === undefined)
  if (missing.length > 0) {
    const log = await store.info(id)()
    return isLeft(log) ? log : left(damageAt(id, wanted, missing, 'is missing')) // a removed log is not damaged
  }
  return right(new Map(ids.map((block, index) => [block, found.right[index] as Uint8Array])))
}

const alteredBlock = 'is not what was appended'

/** The first row that names one of these blocks. */
const damageAt = (id: string, named: ReadonlyMap<BlockId, number>, bad: readonly BlockId[], reason: string): Damage => {
  const [block, position] = [...named].find(([entry]) => bad.includes(entry)) ?? [bad[0], -1]
  return { _tag: 'DamagedLog', id, position, reason: `block ${block} ${reason}` }
}

/** The blocks that the store lacks, given with the first row that names each; or the first row with an altered one. */
export const missingBlocks = async (
  store: Store,
  id: string,
  named: ReadonlyMap<BlockId, number>,
): Promise<Either<LogFault, readonly BlockId[]>> => {
  const ids = [...named.keys()]
  const there = ids.length === 0 ? right([]) : await store.hasBlocks(ids)()
  if (isLeft(there)) return left(there.left as LogFault) // never `DamagedBlock`: no bytes are returned
  const bad = ids.filter((_, index) => there.right[index] !== true)
  const read = bad.length === 0 ? right([]) : await store.getBlocks(bad)()
  if (isLeft(read))
    return left(read.left._tag === 'DamagedBlock' ? damageAt(id, named, read.left.ids, alteredBlock) : read.left)
  return right(bad)
}

const takeNote = (record: LoadedRecord, position: number, row: StoredRow, hash: Hash): Either<string, Uint8Array> => {
  const { body } = row
  let note: Note | undefined
  const check = (value: unknown): unknown => {
    const problem = checkNote(value)
    if (problem === undefined) note = value as Note
    return problem
  }
  const added = appendText(ownNotes(record), body, { page: 'conversation', check })
  if (isLeft(added) || note === undefined) {
    const decoded = noteOf(body) // for the reason
    return left(isLeft(decoded) ? decoded.left : 'the row is not a note')
  }
  const misfit = countNote(record, position, note)
  return misfit === undefined ? right(rowLeaf(row, hash)) : left(misfit)
}

/** The note in a row; or the reason why it is not a note. */
export const noteOf = (body: string): Either<string, Note> => {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return left('the row is not a note')
  }
  const note = decodeNote(value)
  return isLeft(note) ? left(noteFaultText(note.left)) : note
}

/** Store the times, salts and erased leaves of new rows. */
export const addTimes = (record: LoadedRecord, rows: readonly Pick<StoredRow, 'at' | 'salt' | 'erased'>[]): void => {
  let row = record.times.length
  if (row === 0) record.times = rows.map(({ at }) => at) // without room for more
  for (const { at, salt, erased: leaf } of rows) {
    if (leaf !== undefined) record.erased = withText(record.erased, row, leaf)
    if (salt !== undefined) record.salts = withText(record.salts, row, salt)
    record.times[row++] = at
  }
}

/** Add a note at a log position. */
export const addNote = (record: LoadedRecord, position: number, note: Note): void => {
  ownNotes(record).append(note, 'conversation') // page kinds of notes have no meaning
  countNote(record, position, note)
}

/** Updates the record in memory's state from its last note. Returns why the note does not fit the ones before it, if it does not. */
const countNote = (record: LoadedRecord, position: number, note: Note): string | undefined => {
  const before = position - record.notes.len + 1 // all rows before it that are not notes are messages
  if (isMark(note) || note.type === 'summary') placeNote(record.notes.view().at(-1) as Note, before)
  const range = retractedBy(note, before)
  if (range !== undefined) record.retracted.push({ range, notes: record.notes.len })
  record.noteRows.push(position)
  if (note.type === 'seal') record.sealed = true
  return foldMetadata(record.metadata, position, note)
}

/** The record at a head. */
export interface Moment {
  /** Every message. */
  readonly view: View<Message>
  /** The messages not retracted at that time. */
  readonly conversation: View<Message>
  /** The notes. */
  readonly notes: View<Note>
  /** The page kind of each message of `view`: the kind of the append, overridden by notes. Cost: O(len) once. */
  readonly pages: readonly PageKind[]
  /** The metadata at that time. Empty where an erasure took it. */
  readonly metadata: JsonObject
  /**
   * Messages and notes in log order, each with its position and time. Cost: O(rows that are read).
   *
   * @param from the first row, by the rules of `slice`. Default: 0
   * @param to the row after the last one. Default: the end
   * @returns the rows
   */
  readonly rows: (from?: number, to?: number) => Iterable<SessionRow>
}

/** The record without retracted messages. Cost: O(retractions) after an append or a retraction, else O(1). */
export const conversationOf = (record: LoadedRecord): View<Message> => {
  const { retracted, conversation: known } = record
  const of = record.history.view()
  if (known !== undefined && known.of === of && known.retractions === retracted.length) return known.view
  const view =
    retracted.length === 0
      ? of
      : omitRanges(
          of,
          retracted.map(({ range }) => range),
        )
  record.conversation = { view, of, retractions: retracted.length }
  return view
}

/** The metadata now. */
export const metadataOf = ({ metadata, inherited, described }: LoadedRecord): JsonObject =>
  latestMetadata(metadata, inherited) ?? described

/** The record now. The same object until the head changes. */
export const currentMoment = (record: LoadedRecord): Moment => {
  if (record.now?.head !== record.head) record.now = { head: record.head, moment: momentAt(record, record.head.size) }
  return record.now.moment
}

/** The record as it was at a number of rows. Cost: O(retractions). */
export const momentAt = (record: LoadedRecord, size: number): Moment => {
  const len = messagesBefore(record, size)
  const all = record.history.view()
  const view = all.length === len ? all : all.slice(0, len)
  const notes = record.notes.view().slice(0, size - len)
  const retracted = record.retracted.filter((retraction) => retraction.notes <= size - len)
  const isNow = view === all && retracted.length === record.retracted.length
  let pages: readonly PageKind[] | undefined
  const { metadata: entries, inherited } = record
  const current = metadataOf(record)
  return Object.freeze<Moment>({
    view,
    conversation: isNow
      ? conversationOf(record)
      : omitRanges(
          view,
          retracted.map(({ range }) => range),
        ),
    notes,
    get pages() {
      return (pages ??= pagesOf(view, notes))
    },
    get metadata() {
      return metadataAtRow(entries, size, inherited, current)
    },
    rows: (from, to) => {
      const { start, end } = sliceBounds(size, from, to)
      return { [Symbol.iterator]: () => rowsIn(record, start, end) }
    },
  })
}

const pagesOf = (view: View<Message>, notes: View<Note>): readonly PageKind[] => {
  const pages = [...view.pages]
  for (const [position, kind] of foldPages(notes)) if (kind !== undefined) pages[position] = kind
  return Object.freeze(pages)
}

/** A row of the record: a message or a note. */
type SessionRow = {
  /** Its position in the log of messages and notes, from 0. */
  readonly row: number
  /** The time of the append by the writer's clock, in milliseconds since 1970. */
  readonly at: number
} & (
  | {
      readonly kind: 'entry'
      /** The position of the message among the messages. */
      readonly position: number
      /** The message. */
      readonly message: Immutable<Message>
      /** The page kind at the append. */
      readonly page: PageKind
    }
  | {
      readonly kind: 'note'
      /** The position of the message before the note; -1 if there is none. */
      readonly after: number
      /** The note. */
      readonly note: Note
    }
)

/** The rows of a range, as they are when iteration starts. */
export function* rowsIn(record: LoadedRecord, from: number, to: number): Generator<SessionRow> {
  const [messages, notes] = [record.history.view(), record.notes.view()]
  let position = messagesBefore(record, from)
  for (let row = from; row < to; row++) {
    const index = row - position // of the next note
    const place = { row, at: record.times[row] as number }
    if (record.noteRows[index] === row)
      yield Object.freeze({ ...place, kind: 'note', after: position - 1, note: notes.at(index) as Note })
    else {
      const [message, page] = [messages.at(position) as Message, messages.pages.at(position) as PageKind]
      yield Object.freeze({ ...place, kind: 'entry', position, message, page })
      position += 1
    }
  }
}

/** The rows that another writer appended. */
export interface MissedRows {
  /** The appended messages. */
  readonly messages: View<Message>
  /** The appended notes. */
  readonly notes: View<Note>
}

export const missedRowsSince = ({ history, notes }: LoadedRecord, len: number, noteLen: number): MissedRows =>
  Object.freeze({ messages: history.view().slice(len), notes: notes.view().slice(noteLen) })
