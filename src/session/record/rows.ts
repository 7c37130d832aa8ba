/** Turns messages and notes into rows, with the memory update to apply once they are stored; and adds a time to rows. */
import { bytesToHex, randomBytes } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Range, View } from '../../history/index.ts'
import { describe, isArray, isLeft, isObject, left, ownField, ownFields, right, utf8Of } from '../../json/index.ts'
import { blockIdOf, type BlockId } from '../../proof/internal.ts'
import { decodeMessage, isErased, type Message, type MessageFault } from '../../message/index.ts'
import { decodeNote, rangeDigest, type Note, type RetractionNote, type SummaryNote } from '../../notes/internal.ts'
import { noteFaultText } from '../../notes/fault.ts'
import { classify, isPageKind, type PageKind } from '../../pages/index.ts'
import { listKinds } from '../../pages/internal.ts'
import { encodeRow } from '../../entry/internal.ts'
import type { Row, Store, StoreFaultOf } from '../../store/index.ts'
import type { TimedRow } from '../../store/internal.ts'
import type { SessionFaultOf } from '../fault.ts'
import { journalFault } from './journal.ts'
import { addNote, conversationOf, type LoadedRecord } from './loaded-record.ts'
import type { Appendable, AppendOptions, MessagesInput, NewNote, PagedMessages } from '../session.ts'
import type { RecordedEntry, StepRows } from './step.ts'

/** The messages of an append, and the page kind of each, as far as the caller has named it. */
interface Listed {
  readonly messages: readonly Appendable[]
  readonly pages: readonly (PageKind | undefined)[]
}

/** Lists the messages of the caller. A view has page kinds beside its messages. */
export const listMessages = (input: MessagesInput): Listed => {
  if (isArray(input)) return { messages: input as readonly Appendable[], pages: [] }
  if (!isObject(input) || Object.hasOwn(input, 'role') || !Object.hasOwn(input, 'messages'))
    return { messages: [input as Appendable], pages: [] }
  const { messages, pages }: Partial<PagedMessages> = ownFields(input as unknown as PagedMessages)
  const listed = listMessages((messages ?? []) as MessagesInput) // the messages of `{ messages, notes }` may be a view
  return pages === undefined ? listed : { messages: listed.messages, pages: listKinds(pages) }
}

/** Copies and checks messages, and returns their rows. Later changes to the caller's objects have no effect. */
export const messageRows = (
  record: Pick<LoadedRecord, 'history' | 'redactor'>,
  input: MessagesInput,
  page: AppendOptions['page'],
  { hash }: Pick<Store, 'hash'>,
): Either<SessionFaultOf<'InvalidMessage' | 'InvalidPage'>, StepRows> => {
  const { redactor } = record
  const { messages, pages } = listMessages(input)
  const count = Math.max(pages.length, isArray(page) ? page.length : 0)
  if (count > messages.length)
    return left({ _tag: 'InvalidPage', index: messages.length, found: `the last of ${count}`, len: messages.length })
  const [entries, rows, blocks]: [RecordedEntry[], Row[], Uint8Array[]] = [[], [], []]
  for (let index = 0; index < messages.length; index++) {
    const whole = decodeMessage(messages[index])
    const decoded = redactor === undefined || isLeft(whole) ? whole : decodeMessage(redactor.message(whole.right))
    if (isLeft(decoded)) return left({ _tag: 'InvalidMessage', index, cause: decoded.left })
    if (isErased(decoded.right)) return left({ _tag: 'InvalidMessage', index, cause: erasedPartFault(decoded.right) })
    const tag = (typeof page === 'object' ? ownField(page, index) : page) ?? ownField(pages, index)
    if (tag !== undefined && !isPageKind(tag)) return left({ _tag: 'InvalidPage', index, found: describe(tag) })
    const classified = classify(decoded.right)
    const kind = tag ?? classified
    const encoded = encodeRow(decoded.right, kind, kind !== classified, hash)
    if (isLeft(encoded)) return left({ _tag: 'InvalidMessage', index, cause: encoded.left })
    entries.push({ message: decoded.right, page: kind })
    rows.push(Object.freeze(encoded.right.row))
    blocks.push(...encoded.right.blocks)
  }
  const apply = (): void => {
    for (const { message, page } of entries) record.history.append(message, page)
  }
  return right({ rows, blocks, entries, apply })
}

/** The fault for appending a message with an erased part. */
export const erasedPartFault = ({ content }: Message): MessageFault => ({
  _tag: 'UnexpectedShape',
  path: ['content', content.findIndex(({ type }) => type === 'erased'), 'type'],
  expected: 'another type: only erase() makes this one',
  found: '"erased"',
})

/** The rows of messages from position `base`, followed by notes. */
export const withNotes = (
  record: LoadedRecord,
  messages: StepRows,
  inputs: readonly NoteInput[],
  base: number,
): Either<SessionFaultOf<'InvalidNote'>, StepRows> => {
  const count = messages.rows.length
  const notes: Note[] = []
  for (const input of inputs) {
    const isSummary = input.note.type === 'summary' // of messages that are stored already
    const note = writableNote(input, record, isSummary ? undefined : base + count)
    if (isLeft(note)) return note
    notes.push(note.right)
  }
  return right({
    rows: [...messages.rows, ...notes.map((note, index) => noteRow(note, inputs[index]?.blocks))],
    blocks: [...messages.blocks, ...storedWith(record, inputs)],
    entries: messages.entries,
    apply: (position) => {
      messages.apply(position)
      for (const [index, note] of notes.entries()) addNote(record, position + count + index, note)
    },
  })
}

export const rowsOfNote = (record: LoadedRecord, note: Note, blocks: readonly NoteBlock[] = []): StepRows => ({
  rows: [noteRow(note, blocks)],
  blocks: storedWith(record, [{ blocks }]),
  entries: [],
  apply: (position) => addNote(record, position, note),
})

const noteRow = (note: Note, blocks: readonly NoteBlock[] = []): Row => ({
  kind: 'note',
  body: JSON.stringify(note),
  ...(blocks.length > 0 && { blocks: blocks.map(({ id }) => id) }),
})

/** The blocks to store with the rows of notes. Those of an encrypted session are stored before, on their own. */
const storedWith = (
  { encrypted }: Pick<LoadedRecord, 'encrypted'>,
  notes: readonly Pick<NoteInput, 'blocks'>[],
): readonly Uint8Array[] => (encrypted ? [] : notes.flatMap(({ blocks }) => blocks.map(({ bytes }) => bytes)))

/** A block that a note names, and that is stored with it. */
export interface NoteBlock {
  readonly id: BlockId
  readonly bytes: Uint8Array
}

/** A note of the caller, copied and checked. */
export interface NoteInput {
  readonly note: Note
  /** The instructions of a receipt, and other blocks that the note names. */
  readonly blocks: readonly NoteBlock[]
  /** True for a summary without a digest. It gets one when it is written and its messages are known. */
  readonly needsDigest: boolean
}

/** In a summary that needs a digest. */
const noDigest = '0'.repeat(64)

/**
 * A checked and redacted copy of a note that callers may write.
 *
 * @param stored blocks to store with the note, if it names them
 */
export const checkNoteInput = (
  note: NewNote,
  { redactor }: Pick<LoadedRecord, 'redactor'>,
  { hash }: Pick<Store, 'hash'>,
  stored: readonly NoteBlock[] = [],
): Either<SessionFaultOf<'InvalidNote'>, NoteInput> => {
  const needsDigest = isObject(note) && note.type === 'summary' && ownField(note, 'sourceDigest') === undefined
  const text = instructionsOf(note)
  const bytes = text === undefined ? undefined : utf8Of(redactor === undefined ? text : redactor.text(text))
  const block = bytes && { id: blockIdOf(bytes, hash), bytes }
  const isChanged = needsDigest || block !== undefined
  const whole = decodeNote(
    isChanged
      ? {
          ...note,
          ...(needsDigest && { sourceDigest: noDigest }),
          ...(block !== undefined && { instructions: block.id }),
        }
      : note,
  )
  // Journal content is recorded again as a message, and its redactions are counted then.
  const decoded =
    redactor === undefined || isLeft(whole)
      ? whole
      : decodeNote((whole.right.type === 'journal' ? redactor.quiet : redactor).note(whole.right))
  if (isLeft(decoded)) return left({ _tag: 'InvalidNote', reason: noteFaultText(decoded.left) })
  const { type } = decoded.right
  const problem = type === 'journal' ? journalFault(decoded.right) : notFromCallers[type]
  if (problem !== undefined) return left({ _tag: 'InvalidNote', reason: problem })
  const body = stored.length > 0 ? JSON.stringify(decoded.right) : ''
  const blocks = stored.filter(({ id }) => body.includes(`"${id}"`)).concat(block ?? [])
  return right({ note: decoded.right, needsDigest, blocks })
}

/** Why a caller can't write notes of these types. */
const notFromCallers: { readonly [Type in Note['type']]?: string } = ownFields({
  seal: 'use seal() to seal a session',
  kept_file: 'its bytes go with it: "indelible keep" writes it',
  metadata: 'use update() to change metadata',
  erased: 'only erase() writes an erased note',
})

/** The text of a receipt's instructions, to be stored as a block. */
const instructionsOf = (note: NewNote): string | undefined => {
  const instructions: unknown = isObject(note) && note.type === 'receipt' ? ownField(note, 'instructions') : undefined
  const text: unknown = isObject(instructions)
    ? ownField(instructions as { readonly text?: unknown }, 'text')
    : undefined
  return typeof text === 'string' ? text.toWellFormed() : undefined
}

/** The minimum number of messages for a note to be valid. */
export const reachOf = (note: Note): number => {
  if (note.type === 'page' || note.type === 'pin' || note.type === 'unpin') return note.position + 1
  if (note.type === 'summary') return note.to
  return note.type === 'receipt' ? note.len : note.type === 'retraction' ? note.to : 0
}

const reachFault = (note: Note, len: number): string | undefined =>
  reachOf(note) > len ? `the note needs ${reachOf(note)} messages, and the session has ${len}` : undefined

export type WritableNote = Either<SessionFaultOf<'InvalidNote'>, Note>

/** The note to write, if a record of `len` messages can have it. */
export const writableNote = (
  { note, needsDigest }: Pick<NoteInput, 'note' | 'needsDigest'>,
  record: LoadedRecord,
  len: number = record.history.len,
): WritableNote => {
  const reason = reachFault(note, len)
  if (reason !== undefined) return left({ _tag: 'InvalidNote', reason })
  return note.type === 'summary' ? writableSummary(note, needsDigest, record) : right(note)
}

const writableSummary = (summary: SummaryNote, needsDigest: boolean, record: LoadedRecord): WritableNote => {
  const { from, to, sourceDigest } = summary
  const conversation = conversationOf(record)
  const messages = conversation.slice(conversation.before(from), conversation.before(to))
  if (messages.length === 0)
    return left({ _tag: 'InvalidNote', reason: `the messages from ${from} to ${to} were all retracted` })
  const digest = rangeDigest(messages)
  if (needsDigest) return right(Object.freeze({ ...summary, sourceDigest: digest }))
  if (sourceDigest === digest) return right(summary)
  const reason = `the sourceDigest of the summary is not that of the messages from ${from} to ${to}`
  return left({ _tag: 'InvalidNote', reason })
}

/** Selects the range to retract, from the conversation and the number of messages in the record. */
export type Retract = (conversation: View<Message>, len: number) => Range

/**
 * The rows of a retraction and of the messages that replace it. Without the retraction note if the
 * range has no message of the conversation.
 */
export const retractionRows = (
  record: LoadedRecord,
  conversation: View<Message>,
  retract: Retract,
  instead?: StepRows,
): Either<SessionFaultOf<'InvalidNote'>, StepRows> => {
  const len = conversation.positionAt(conversation.length) as number
  const { from, to } = retract(conversation, len)
  if (!Number.isSafeInteger(from) || from < 0 || from > len)
    return left({
      _tag: 'InvalidNote',
      reason: `a conversation can be rewound to a position from 0 to ${len}, found ${typeof from === 'number' ? from : typeof from}`,
    })
  const note: RetractionNote | undefined =
    conversation.before(to) > conversation.before(from) ? { type: 'retraction', from, to } : undefined
  return right({
    rows: [...(note === undefined ? [] : [noteRow(note)]), ...(instead?.rows ?? [])],
    blocks: instead?.blocks ?? [],
    entries: instead?.entries ?? [],
    apply: (position) => {
      if (note !== undefined) addNote(record, position, Object.freeze(note))
      instead?.apply(note === undefined ? position : position + 1)
    },
  })
}

/** The time by the store's clock, in milliseconds since 1970. */
export const momentOf = ({ now }: Pick<Store, 'now'>): Either<StoreFaultOf<'Io'>, number> => {
  try {
    return right(now())
  } catch (cause) {
    return left({ _tag: 'Io', operation: 'read the clock', cause })
  }
}

/** Rows with a time, and in an erasable session with a salt. All fields are set. */
export const stamp = (
  rows: readonly Row[],
  store: Pick<Store, 'now'>,
  erasable: boolean,
): Either<StoreFaultOf<'Io'>, readonly TimedRow[]> => {
  if (rows.length === 0) return right([])
  const moment = momentOf(store)
  if (isLeft(moment)) return moment
  const at = moment.right
  const stamped: TimedRow[] = []
  for (const row of rows) {
    const { kind, body } = row
    const salt = erasable ? newSalt() : undefined
    stamped.push({ kind, body, blocks: ownField(row, 'blocks') ?? noBlocks, at, salt, erased: undefined })
  }
  return right(stamped)
}

const noBlocks: readonly never[] = Object.freeze([])

export const newSalt = (): string => bytesToHex(randomBytes(16))
