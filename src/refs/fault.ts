/** What can go wrong with reference histories, as data. What can go wrong with their store is a `StoreFault`. */
import { taskOf, type CallbackThrew, type Task, type TaskOf } from '../task/index.ts'
import { formatPath, type Path } from '../json/index.ts'
import type { BlockId } from '../proof/index.ts'
import { type StoreFault } from '../store/index.ts'
import { storeFaultText } from '../store/fault.ts'

/** What can go wrong with refs. */
export type RefsFault =
  /** A block is there, and is not what the ref of the message at `position` says. */
  | { readonly _tag: 'MalformedBlock'; readonly position: number; readonly id: BlockId; readonly reason: string }
  /** The refs are those of another scope than the store's. */
  | { readonly _tag: 'OtherScope'; readonly expected: string; readonly found: string }
  /** This is no saved history that is known. */
  | { readonly _tag: 'UnreadableHistory'; readonly path: Path; readonly expected: string; readonly found: string }
  /** The format that was found. */
  | { readonly _tag: 'NewerRefs'; readonly found: number; readonly supported: number }
  /** Keys of another system's store under which there is nothing. */
  | { readonly _tag: 'MissingKeys'; readonly keys: readonly string[] }
  /** What stands under a key of another system's store is no content block. */
  | {
      readonly _tag: 'MalformedContent'
      readonly key: string
      readonly path: Path
      readonly expected: string
      readonly found: string
    }

/** What can be asked of a reference history and its store, and fail. */
export type RefsTask<T> = Task<RefsFault | StoreFault, T>

/** A fault of reference histories as a sentence for people: what happened, where, and what to do next. */
export const refsFaultText = (fault: RefsFault | StoreFault | CallbackThrew): string => {
  switch (fault._tag) {
    case 'MalformedBlock':
      return `block ${fault.id} of the message at position ${fault.position} ${fault.reason}: the ref was not made from it; look where it comes from`
    case 'OtherScope':
      return `these are refs of the scope ${JSON.stringify(fault.found)}, and the store is open for ${JSON.stringify(fault.expected)}: open it with store.scoped`
    case 'UnreadableHistory':
      return `${formatPath(fault.path) || 'the saved history'} should be ${fault.expected}, found ${fault.found}`
    case 'NewerRefs':
      return `the refs were written by a newer version of this library (format ${fault.found}; this one knows ${fault.supported}): update the library`
    case 'MissingKeys':
      return `there is nothing under ${fault.keys.length} of the keys, the first ${JSON.stringify(fault.keys[0])}: look whether the store and keyOf are the right ones`
    case 'MalformedContent':
      return `${[JSON.stringify(fault.key), formatPath(fault.path)].filter(Boolean).join(', ')} should be ${fault.expected}, found ${fault.found}`
    default:
      return storeFaultText(fault)
  }
}

/** Makes a task of what is asked of a reference history. */
export const refsTask: TaskOf<RefsFault | StoreFault | CallbackThrew> = taskOf(refsFaultText)
