/** A ref: a message by the ids of its blocks, without content. */
import { isBlockId, type BlockId } from 'indelible/proof/kit'
import type { Role } from 'indelible/message'
import { isRole } from 'indelible/message/kit'

/**
 * A message by its blocks: the first is its text, then come the long texts and files that were taken out of it, and last
 * the stored files that it names. They are digests, so a ref says what the message is, wherever it is read.
 */
export interface MessageRef {
  /** The ids of its blocks: its row first. */
  readonly blockIds: readonly BlockId[]
  /** Who said it. */
  readonly role: Role
  /**
   * How many of `blockIds`, the last ones, are attachments: files that the message names and is not stored in. They must
   * be there, and are not read to hydrate it. Default: 0.
   */
  readonly attached?: number
}

/** What a ref has. */
export const refFields = ['blockIds', 'role', 'attached'] as const

/** The blocks that a message is read from, and its attachments. */
export const blocksOfRef = ({
  blockIds,
  attached = 0,
}: MessageRef): { readonly stored: readonly BlockId[]; readonly attachments: readonly BlockId[] } =>
  attached === 0
    ? { stored: blockIds, attachments: [] }
    : { stored: blockIds.slice(0, -attached), attachments: blockIds.slice(-attached) }

/** A frozen copy of a ref, or what is wrong with it: where, what it should be. */
export const refOf = (value: unknown): MessageRef | RefProblem => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { at: [], expected: 'a ref: { blockIds, role }', value }
  const {
    blockIds,
    role,
    attached = 0,
  } = value as { readonly blockIds?: unknown; readonly role?: unknown; readonly attached?: unknown }
  if (!Array.isArray(blockIds) || blockIds.length === 0)
    return { at: ['blockIds'], expected: 'one or more ids of blocks', value: blockIds }
  const ids: readonly unknown[] = Array.from(blockIds)
  const wrong = ids.findIndex((id) => !isBlockId(id))
  if (wrong !== -1)
    return {
      at: ['blockIds', wrong],
      expected: 'the id of a block: 64 lowercase hexadecimal digits',
      value: ids[wrong],
    }
  if (!isRole(role)) return { at: ['role'], expected: 'a role', value: role }
  if (typeof attached !== 'number' || !Number.isInteger(attached) || attached < 0 || attached >= ids.length)
    return { at: ['attached'], expected: 'how many of the blocks, but for the first, are attachments', value: attached }
  return Object.freeze({ blockIds: Object.freeze(ids as readonly BlockId[]), role, ...(attached > 0 && { attached }) })
}

export interface RefProblem {
  readonly at: readonly (string | number)[]
  readonly expected: string
  readonly value: unknown
}

export const isRefProblem = (value: MessageRef | RefProblem): value is RefProblem => 'expected' in value
