/** The result of parsing a saved history. */
import type { Loss } from 'indelible/codecs'
import type { PendingHistory } from './content.ts'
import type { KeyedHistory } from './keyed.ts'
import type { RefHistory } from './ref-history.ts'

/** A saved history. `kind` decides how to continue, `losses` lists the values that were left out. */
export type ParsedHistory =
  /** Refs to blocks: hydrate them. */
  | {
      readonly kind: 'refs'
      readonly format: 'indelible.refs' | 'llm2'
      readonly history: RefHistory
      readonly losses: readonly Loss[]
    }
  /** Refs by keys of another system that holds their content: `adoptHistory` reads it. */
  | {
      readonly kind: 'keyed'
      readonly format: 'llm2'
      readonly history: KeyedHistory
      readonly losses: readonly Loss[]
    }
  /** The messages themselves: persist them. */
  | {
      readonly kind: 'messages'
      readonly format: 'chat'
      readonly history: PendingHistory
      readonly losses: readonly Loss[]
    }
