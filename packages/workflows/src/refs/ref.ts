/** A ref: a message as the ids of its blocks, without content; and a reference to many of them, stored as a tree. */
import { fieldsBeside, isObject, Unexpected, type JsonObject } from 'indelible/internal/json'
import { isBlockId, type BlockId } from 'indelible/internal/proof'
import type { Role } from 'indelible/message'
import { isRole } from 'indelible/internal/message'

/**
 * A message by its blocks: first its text, then the long texts and files stored apart from it, and last the
 * stored files that it names. The ids are digests, so a ref determines the message wherever it is read.
 */
export interface MessageRef {
  /** The ids of its blocks, its row first. */
  readonly blockIds: readonly BlockId[]
  /** The role of the message. */
  readonly role: Role
  /**
   * The number of ids at the end of `blockIds` that are attachments: stored files that the message
   * names. They must exist, but `hydrate` does not read them. Default: 0.
   */
  readonly attached?: number
  /** The workflow that the message comes from, if it is known. Default: unknown. */
  readonly flowId?: string
}

const refFields = ['blockIds', 'role', 'attached', 'flowId'] as const

/** The blocks that make up a message, and its attachments. */
export const blocksOfRef = ({
  blockIds,
  attached = 0,
}: MessageRef): { readonly stored: readonly BlockId[]; readonly attachments: readonly BlockId[] } =>
  attached === 0
    ? { stored: blockIds, attachments: [] }
    : { stored: blockIds.slice(0, -attached), attachments: blockIds.slice(-attached) }

/** A frozen copy of a ref. Throws Unexpected. */
export const refOf = (value: unknown): MessageRef => {
  if (!isObject(value)) throw new Unexpected([], 'a ref: { blockIds, role }', value)
  const { blockIds, role, attached = 0, flowId } = value as { readonly [field: string]: unknown }
  if (!Array.isArray(blockIds) || blockIds.length === 0)
    throw new Unexpected(['blockIds'], 'one or more ids of blocks', blockIds)
  const ids: readonly unknown[] = Array.from(blockIds)
  const wrong = ids.findIndex((id) => !isBlockId(id))
  if (wrong !== -1)
    throw new Unexpected(['blockIds', wrong], 'the id of a block: 64 lowercase hexadecimal digits', ids[wrong])
  if (!isRole(role)) throw new Unexpected(['role'], 'a role', role)
  if (typeof attached !== 'number' || !Number.isInteger(attached) || attached < 0 || attached >= ids.length)
    throw new Unexpected(['attached'], 'the number of attachments, less than the number of blocks', attached)
  if (flowId !== undefined && !isFlowId(flowId)) throw new Unexpected(['flowId'], 'the id of a workflow', flowId)
  refuseOtherFields(value as JsonObject, refFields)
  return Object.freeze({
    blockIds: Object.freeze(ids as readonly BlockId[]),
    role,
    ...(attached > 0 && { attached }),
    ...(flowId !== undefined && { flowId }),
  })
}

/** Whether a value is the id of a workflow: a text that is not empty. */
export const isFlowId = (value: unknown): value is string => typeof value === 'string' && value !== ''

/** Throws Unexpected for a field that the format does not have. */
export const refuseOtherFields = (owner: JsonObject, known: readonly string[]): void => {
  for (const [field, value] of Object.entries(fieldsBeside(owner, known) ?? {}))
    throw new Unexpected([field], 'absent, because this format has no such field', value)
}

/** A tree of ref chunks, as JSON. */
export interface RefTree {
  /** The id of its root block. */
  readonly id: BlockId
  /** The number of refs. */
  readonly len: number
}

export const isRefTree = (value: unknown): value is RefTree => {
  if (typeof value !== 'object' || value === null) return false
  const { id, len } = value as { readonly id?: unknown; readonly len?: unknown }
  return isBlockId(id) && typeof len === 'number' && Number.isSafeInteger(len) && len > 0
}
