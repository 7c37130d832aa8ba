/** A model call as its tokens are explained: its counts, and the evidence about what changed before it. */
import type { Usage } from '../notes/internal.ts'

/** Tokens of a call with one cause. */
export interface UsagePart {
  /**
   * Why tokens were paid. Of the input: `read` from the cache; `new` content; `first`: the first call of a conversation, `agent`: of a
   * sub-agent. The others were sent before and were paid again: `ends`: the end of a cached prefix, which fills no block; `uncached`: the
   * call before left it out of the cache; because `tools`, `system`, `messages` or the `effort` changed; `model`: the call before went to
   * another one; after a `compaction` or a `rewind`; `shortened`: the request is smaller than the one before; `expired`: later than the
   * cache's lifetime; `missed`: nothing changed within it; `unknown`. `uncounted`: input whose cached part nobody counted. `answer`:
   * the output.
   */
  readonly cause:
    | 'read'
    | 'answer'
    | 'new'
    | 'first'
    | 'agent'
    | 'ends'
    | 'uncached'
    | 'tools'
    | 'system'
    | 'messages'
    | 'effort'
    | 'model'
    | 'compaction'
    | 'rewind'
    | 'shortened'
    | 'expired'
    | 'missed'
    | 'unknown'
    | 'uncounted'
  /** How many there are. */
  readonly tokens: number
  /** US dollars at list prices; absent if no price of the model is known. */
  readonly dollars?: number
  /**
   * How the cause is known. `reported`: by the provider's counts, or in words of the provider or the program. `proved`: by comparing
   * what was sent. `likely`: by times, or by what the file shows.
   */
  readonly known: 'reported' | 'proved' | 'likely' | 'unknown'
  /** A clause that describes the cause. */
  readonly because?: string
  /** The causes that are excluded, of an unknown one. */
  readonly ruledOut?: readonly string[]
}

/** Why tokens were paid. */
export type UsageCause = UsagePart['cause']

/** A change between a call and the one before it. */
export interface Evidence {
  readonly cause: 'tools' | 'system' | 'messages' | 'effort' | 'model' | 'compaction' | 'rewind'
  /** A clause that describes the change. */
  readonly because: string
  /** `proved`: both requests were compared. `reported`: the program or the provider wrote it. `likely`: the file shows it. */
  readonly known: 'proved' | 'reported' | 'likely'
  /** The number of the first message that changed, from 1. */
  readonly message?: number
}

/** A call, or the sum of several where a file has no more. */
export interface UsageCall {
  /** The model; with the way of serving it where that changes its price, as `gpt-5 (batch)`. */
  readonly model: string
  /** The provider's counts; absent if there are none. */
  readonly usage?: Usage
  /** When the request was sent, in milliseconds since 1970. */
  readonly began?: number
  /** When the answer ended. */
  readonly at?: number
  /** Names the conversation whose calls extend each other. Default: the session's own. */
  readonly chain?: string
  /** Whether the chain is a sub-agent's. */
  readonly isAgent?: boolean
  /** The position of the answer, if it is a message of the session. */
  readonly position?: number
  /** What changed before this call. */
  readonly evidence?: Evidence
  /** Where changes would be seen: `requests` that were compared, by their bytes or hashes of them, or the `lines` of a file. */
  readonly seenIn?: 'requests' | 'lines'
  /** Whether the answer may hold more tokens than were counted. */
  readonly isUndercounted?: boolean
  /** Whether there is no whole answer. */
  readonly isFailed?: boolean
  /** Whether it is in a fork's shared part, or was copied from another session: it counts there. */
  readonly isShared?: boolean
  /** The number of calls, if it is a sum of several. */
  readonly calls?: number
  /** The day in ISO 8601, of a sum whose time is not known. */
  readonly day?: string
  /** Whether each of the summed-up requests has the price of long ones. */
  readonly isLong?: boolean
}
