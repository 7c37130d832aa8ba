/** The model calls of a record: by their receipts; in a record without any, by its answers. */
import { detailsOf } from '@indelible/recorder'
import { callUsageOf, type CallUsage } from '@indelible/transcripts/internal'
import { isLeft, jsonIn } from 'indelible/internal/json'
import { decodeNote, type Note, type ReceiptNote } from 'indelible/internal/notes'
import type { Message } from 'indelible/message'
import type { ViewedRow, ViewedSession } from '../protocol.ts'

export interface NoteAtRow {
  readonly row: number
  readonly index: number
  /** The message that it stands after; -1 before all of them. */
  readonly after: number
  readonly at: number | undefined
  readonly note: Note
  /** What is wrong with its row, or with what it names. */
  readonly damage?: string
}

/** The part of a record that its calls are found in: the page's record, or a session that a command reads. */
export interface CallRecord {
  readonly info: { readonly value: Pick<ViewedSession, 'created' | 'forkedFrom' | 'metadata'> }
  readonly entries: readonly {
    readonly position: number
    readonly row: number
    readonly at: number | undefined
    readonly message: Message
    readonly state: ViewedRow['state'] | 'damaged'
  }[]
  readonly notes: readonly NoteAtRow[]
}

/** The position of a call in the record: how many messages and how many rows came before it. */
export interface CallPlace {
  readonly len: number
  readonly end: number
}

/** Whether a message is not there to be read: not in this file, or without a key. */
export const isGap = (state: CallRecord['entries'][number]['state']): boolean =>
  state === 'left-out' || state === 'encrypted'

export interface ModelCall {
  /** How many messages the record had before it. */
  readonly len: number
  /** The position of its answer, or where that would be. */
  readonly answer: number
  readonly isAnswered: boolean
  readonly receipt?: NoteAtRow & { readonly note: ReceiptNote }
}

/** What names a call in an address: the index of its receipt among the notes; without one, the position of its answer. */
export const keyOf = ({ receipt, answer }: ModelCall): number => receipt?.index ?? answer

/** The tokens of an imported call: what its file says beside the answer. Undefined where there is a receipt. */
export const countedIn = (record: CallRecord, { receipt, answer }: ModelCall): CallUsage | undefined => {
  const message = receipt === undefined ? record.entries[answer]?.message : undefined
  return message && callUsageOf(message)
}

export const callsOf = (record: CallRecord): readonly ModelCall[] => {
  const receipts = record.notes.filter(isReceipt)
  if (receipts.length > 0)
    return receipts.map((receipt) => ({
      len: Math.min(receipt.note.len, record.entries.length),
      answer: receipt.note.len,
      isAnswered: isAnswered(record, receipt),
      receipt,
    }))
  // Of an answer that the file has in several lines, or again, the last counts.
  const last = new Map(record.entries.map(({ message, position }) => [callUsageOf(message)?.key, position]))
  return record.entries.flatMap(({ message, position, state }) => {
    const use = message.role === 'assistant' ? callUsageOf(message) : undefined
    // An erased answer was an answer. One before any message is a greeting, unless its tokens are counted.
    const isCall = message.role === 'assistant' && !isGap(state) && (position > 0 || use !== undefined)
    const key = use?.key
    return isCall && (key === undefined || last.get(key) === position)
      ? [{ len: position, answer: position, isAnswered: true }]
      : []
  })
}

/** An answer that failed is none: where it would be, a later call may have its own. */
const isAnswered = (record: CallRecord, { note, after }: NoteAtRow & { readonly note: ReceiptNote }): boolean => {
  const at = record.entries[note.len]
  if (at === undefined || (at.state === undefined && at.message.role !== 'assistant')) return false
  return after >= note.len || detailsOf(note, notesOf(record))?.error === undefined
}

/** The note of a row; undefined if it can't be decoded. */
export const noteIn = (body: string): Note | undefined => {
  const note = decodeNote(jsonIn(body))
  return isLeft(note) ? undefined : note.right
}

/** The notes of a record, as receipts are read beside them. */
export const notesOf = (record: CallRecord): Parameters<typeof detailsOf>[1] =>
  ({ notes: () => ({ at: (index: number) => record.notes[index]?.note }) }) as unknown as Parameters<
    typeof detailsOf
  >[1]

const isReceipt = (placed: NoteAtRow): placed is NoteAtRow & { readonly note: ReceiptNote } =>
  placed.note.type === 'receipt'

/** The position of a call in the record, to derive its context. */
export const placeOf = (record: CallRecord, { len, answer, receipt }: ModelCall): CallPlace => ({
  len,
  end: receipt?.note.head?.size ?? record.entries[answer]?.row ?? Infinity,
})
