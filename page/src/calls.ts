/** The model calls of a record: by their receipts; in a record without any, by its answers. */
import { without, type View } from 'indelible/history'
import type { Message } from 'indelible/message'
import { retractedBy, type Note, type ReceiptNote } from 'indelible/notes'
import type { PlacedNote, SessionRecord } from './record.ts'

export interface ModelCall {
  /** How many messages the record had before it. */
  readonly len: number
  /** The position of its answer. */
  readonly answer: number
  readonly receipt?: PlacedNote & { readonly note: ReceiptNote }
}

/** The calls, in order. */
export const callsOf = (record: SessionRecord): readonly ModelCall[] => {
  const receipts = record.notes.filter(isReceipt)
  if (receipts.length > 0)
    return receipts.map((receipt) => ({
      len: Math.min(receipt.note.len, record.entries.length),
      answer: receipt.note.len,
      receipt,
    }))
  return record.entries.flatMap(({ message, position, state }) =>
    message.role === 'assistant' && position > 0 && state === undefined ? [{ len: position, answer: position }] : [],
  )
}

const isReceipt = (placed: PlacedNote): placed is PlacedNote & { readonly note: ReceiptNote } =>
  placed.note.type === 'receipt'

/** The record as a call found it. */
export interface Moment {
  readonly conversation: View<Message>
  readonly notes: readonly Note[]
}

/** The messages and notes before a call, less what was retracted by then. Cost: O(notes). */
export const momentOf = (record: SessionRecord, { len, answer, receipt }: ModelCall): Moment => {
  const end = receipt?.note.head?.size ?? record.entries[answer]?.row ?? Infinity
  const before = record.notes.filter(({ row }) => row < end)
  const ranges = before.flatMap(({ note, after }) => retractedBy(note, after + 1) ?? [])
  const view = record.view().slice(0, len)
  return { conversation: ranges.length === 0 ? view : without(view, ranges), notes: before.map(({ note }) => note) }
}
