export { appendMessages } from './append.ts'
export { createPendingHistory, type PartialHistory, type PendingHistory, type StoredHistory } from './content.ts'
export {
  refsFaultMessage,
  type AdoptFault,
  type HydrateFault,
  type HydratePartialFault,
  type ParseFault,
  type PersistFault,
  type RefsFault,
  type RefsFaultOf,
  type TreeFault,
} from './fault.ts'
export { hydrate, hydratePartial } from './hydrate.ts'
export { adoptHistory, type AdoptOptions } from './keyed.ts'
export { parseHistoryJson } from './parse.ts'
export type { ParsedHistory } from './parsed-history.ts'
export { persist } from './persist.ts'
export { isPlaceholder } from 'indelible/internal/entry'
export type { MessageRef, RefTree } from './ref.ts'
export { createRefHistory, type RefHistory, type RefHistoryJson, type RefHistoryOptions } from './ref-history.ts'
export { blocksOfTree, growRefTree, refsOf } from './tree.ts'
