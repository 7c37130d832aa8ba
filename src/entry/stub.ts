/** Checks the stub of an erased row, which can only hold roles, call ids and note types. */
import { isLeft } from '../either/index.ts'
import { isObject, parseJson } from '../json/index.ts'
import type { RowKind } from '../store/index.ts'
import { decodeRow, isErasedRow } from './row.ts'

/**
 * The reason why a body is not a valid stub.
 *
 * @returns the reason; undefined if an erasure could have written it
 */
export const stubFault = (kind: RowKind, body: string): string | undefined =>
  (kind === 'note' ? isNoteStub(body) : isMessageStub(body))
    ? undefined
    : `has more than the stub of an erased ${kind === 'note' ? 'note' : 'message'}`

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
