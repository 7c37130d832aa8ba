/** A ref: a message by the ids of its blocks, without content. */
import { isBlockId, isRole, type BlockId, type Role } from '../message/index.ts'

/**
 * A message by the blocks that it is stored in: the first is its text, the others are the long texts and attachments that
 * were taken out of it. They are digests, so a ref says what the message is, wherever it is read.
 */
export interface MessageRef {
  readonly blockIds: readonly BlockId[]
  readonly role: Role
}

/** What a ref has. */
export const refFields = ['blockIds', 'role'] as const

/** A frozen copy of a ref, or what is wrong with it: where, what it should be. */
export const refOf = (value: unknown): MessageRef | RefProblem => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { at: [], expected: 'a ref: { blockIds, role }', value }
  const { blockIds, role } = value as { readonly blockIds?: unknown; readonly role?: unknown }
  if (!Array.isArray(blockIds) || blockIds.length === 0) return { at: ['blockIds'], expected: 'one or more ids of blocks', value: blockIds }
  const ids: readonly unknown[] = Array.from(blockIds)
  const wrong = ids.findIndex((id) => !isBlockId(id))
  if (wrong !== -1) return { at: ['blockIds', wrong], expected: 'the id of a block: 64 lowercase hexadecimal digits', value: ids[wrong] }
  if (!isRole(role)) return { at: ['role'], expected: 'a role', value: role }
  return Object.freeze({ blockIds: Object.freeze(ids as readonly BlockId[]), role })
}

export interface RefProblem {
  readonly at: readonly (string | number)[]
  readonly expected: string
  readonly value: unknown
}

export const isRefProblem = (value: MessageRef | RefProblem): value is RefProblem => 'expected' in value
