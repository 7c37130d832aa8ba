/** Receipts of model calls in the rows of a session, and whether their calls failed. */
import { isLeft, ownFields, parseJson } from '../json/index.ts'
import { decodeNote, type ReceiptNote } from '../notes/internal.ts'
import type { StoredRow } from '../store/index.ts'

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
