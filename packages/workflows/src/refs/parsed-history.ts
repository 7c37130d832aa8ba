/** What a saved history turned out to be. */
import type { Loss } from 'indelible/codecs'
import type { PendingHistory } from './content.ts'
import type { KeyedHistory } from './keyed.ts'
import type { RefHistory } from './ref-history.ts'

/** A saved history; `kind` says what to do with it, `losses` what stands there and is not in it. */
export type ParsedHistory =
  /** Refs to blocks: hydrate them. */
  | {
      readonly kind: 'refs'
      readonly format: 'indelible.refs' | 'llm2'
      readonly history: RefHistory
      readonly losses: readonly Loss[]
    }
  /** Refs by keys of another system, whose content is there: `adoptHistory` reads it. */
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
