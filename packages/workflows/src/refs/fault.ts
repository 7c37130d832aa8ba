/** The faults of reference histories, as data. Those of their store are `StoreFault`s. */
import {
  taskOf,
  taskOfSteps,
  type CallbackThrew,
  type TaskOf,
  type TaskOfSteps,
  sentencesOf,
  type Sentences,
} from 'indelible/internal/task'
import { formatPath, type Path } from 'indelible/internal/json'
import type { BlockId } from 'indelible/internal/proof'
import type { StoreFault, StoreFaultOf } from 'indelible/store'
import { storeSentences, type BlockFault } from 'indelible/internal/store'

/** A fault of refs. */
export type RefsFault =
  /** The block exists, but does not match the ref of the message at `position`. */
  | { readonly _tag: 'MalformedBlock'; readonly position: number; readonly id: BlockId; readonly reason: string }
  /** The refs belong to another scope than the one the store is open for. */
  | { readonly _tag: 'OtherScope'; readonly expected: string; readonly found: string }
  /** The value is not a saved history in a known format. */
  | { readonly _tag: 'UnreadableHistory'; readonly path: Path; readonly expected: string; readonly found: string }
  /** A newer version of the library wrote the refs, in the format `found`. */
  | { readonly _tag: 'NewerRefs'; readonly found: number; readonly supported: number }
  /** A block of a ref tree exists but is not a node of it, or the tree's length differs from its reference. */
  | { readonly _tag: 'MalformedTree'; readonly id: BlockId; readonly reason: string }
  /** Keys with no value in the other system's store. */
  | { readonly _tag: 'MissingKeys'; readonly keys: readonly string[] }
  /** The value under a key of the other system's store is not a content block. */
  | {
      readonly _tag: 'MalformedContent'
      readonly key: string
      readonly path: Path
      readonly expected: string
      readonly found: string
    }

/** The refs faults with these tags. */
export type RefsFaultOf<Tag extends RefsFault['_tag']> = Extract<RefsFault, { readonly _tag: Tag }>

/** The faults of reading a saved history. */
export type ParseFault = RefsFaultOf<'UnreadableHistory' | 'NewerRefs'>

/** The faults of reading or growing a ref tree. */
export type TreeFault = BlockFault | RefsFaultOf<'MalformedTree'> | StoreFaultOf<'MissingBlock'>

/** The faults of reading the available content of refs. `MissingBlock` concerns the tree of the refs. */
export type HydratePartialFault = TreeFault | RefsFaultOf<'OtherScope'>

/** The faults of reading the content of refs. */
export type HydrateFault = HydratePartialFault | RefsFaultOf<'MalformedBlock'>

/** The faults of storing the content of a history. */
export type PersistFault = BlockFault | RefsFaultOf<'OtherScope'> | StoreFaultOf<'MissingBlock'>

/** The faults of reading content from another system's store. */
export type AdoptFault = RefsFaultOf<'MissingKeys' | 'MalformedContent'> | StoreFaultOf<'Io'> | CallbackThrew

export const refsSentences: Sentences<RefsFault | StoreFault | CallbackThrew> = {
  MalformedBlock: (fault) =>
    `block ${fault.id} of the message at position ${fault.position} ${fault.reason}; the ref was not made from this block: check where the ref comes from`,
  OtherScope: (fault) =>
    `the refs belong to the scope ${JSON.stringify(fault.found)}, but the store is open for ${JSON.stringify(fault.expected)}: open that scope with store.scoped`,
  UnreadableHistory: (fault) =>
    `${formatPath(fault.path) || 'the saved history'} should be ${fault.expected}, found ${fault.found}`,
  NewerRefs: (fault) =>
    `the refs were written by a newer version of this library (format ${fault.found}; this one knows ${fault.supported}): update the library`,
  MalformedTree: (fault) =>
    `block ${fault.id} of a tree of refs ${fault.reason}; growRefTree did not make this tree: check where its reference comes from`,
  MissingKeys: (fault) =>
    `the store has no value for ${fault.keys.length} of the keys, the first ${JSON.stringify(fault.keys[0])}: check that the store and keyOf are the right ones`,
  MalformedContent: (fault) =>
    `${[JSON.stringify(fault.key), formatPath(fault.path)].filter(Boolean).join(', ')} should be ${fault.expected}, found ${fault.found}`,
  ...storeSentences,
  MissingBlock: ({ ids }) =>
    `${ids.length} ${ids.length === 1 ? 'block is' : 'blocks are'} not in this scope of the store, the first ${ids[0]}; nothing was stored or changed: store the content again, or check the scope`,
}

/**
 * Describe a fault of reference histories in a sentence for people.
 *
 * @returns what happened, where, and what to do next
 */
export const refsFaultMessage: (fault: RefsFault | StoreFault | CallbackThrew) => string = sentencesOf(refsSentences)

export const refsTask: TaskOf<RefsFault | StoreFault | CallbackThrew> = taskOf(refsFaultMessage)

export const refsSteps: TaskOfSteps<RefsFault | StoreFault | CallbackThrew> = taskOfSteps(refsTask)
