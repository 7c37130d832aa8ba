/** Checks the stub of an erased row, which can only hold roles, call ids and note types. */
import { isArray, isLeft, isObject, parseJson } from '../json/index.ts'
import { isRole } from '../message/kit.ts'
import type { RowKind } from '../store/index.ts'
import { decodeRow } from './row.ts'

/**
 * The reason why a body is not a valid stub.
 *
 * @param kind the kind of the row
 * @param body the body
 * @returns the reason; undefined if an erasure could have written it
 */
export const againstStub = (kind: RowKind, body: string): string | undefined =>
  (kind === 'note' ? isNoteStub(body) : isMessageStub(body))
    ? undefined
    : `has more than the stub of an erased ${kind === 'note' ? 'note' : 'message'}`

const isMessageStub = (body: string): boolean => {
  const decoded = decodeRow(body)
  if (isLeft(decoded) || decoded.right.blocks.length > 0) return false
  const message = parseJson(decoded.right.text)
  if (isLeft(message) || !isObject(message.right)) return false
  const { role, content, ...more } = message.right
  return Object.keys(more).length === 0 && isRole(role) && isArray(content) && content.every(isErasedPart)
}

const isErasedPart = (part: unknown): boolean => {
  if (!isObject(part)) return false
  const { type, id = '', callId = '', ...more } = part
  return type === 'erased' && typeof id === 'string' && typeof callId === 'string' && Object.keys(more).length === 0
}

const isNoteStub = (body: string): boolean => {
  const note = parseJson(body)
  if (isLeft(note) || !isObject(note.right)) return false
  const { type, was, ...more } = note.right
  return type === 'erased' && typeof was === 'string' && /^[a-z_]{1,40}$/.test(was) && Object.keys(more).length === 0
}
