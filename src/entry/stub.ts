/** The shape of an erased row's stub. It can't hold text: only roles, call ids and note types. */
import { isLeft, isObject, parseJson } from '../json/index.ts'
import type { RowKind } from '../store/index.ts'
import { decodeRow, isErasedRow } from './row.ts'

/**
 * Why a text can't stand for an erased row.
 *
 * @param kind the kind of the row
 * @param body the text
 * @returns the reason; undefined if an erasure writes such texts
 */
export const againstStub = (kind: RowKind, body: string): string | undefined =>
  (kind === 'note' ? isNoteStub(body) : isMessageStub(body))
    ? undefined
    : `says more than what stands for an erased ${kind === 'note' ? 'note' : 'message'}`

const isMessageStub = (body: string): boolean => {
  const decoded = decodeRow(body)
  return !isLeft(decoded) && isErasedRow(decoded.right)
}

const isNoteStub = (body: string): boolean => {
  const note = parseJson(body)
  if (isLeft(note) || !isObject(note.right)) return false
  const { type, was, ...more } = note.right
  return type === 'erased' && typeof was === 'string' && /^[a-z_]{1,40}$/.test(was) && Object.keys(more).length === 0
}
