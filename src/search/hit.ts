/** The options and results of a search. */
import type { Role } from '../message/index.ts'
import type { ListQuery } from '../store/index.ts'
import type { SignalLike } from '../task/index.ts'
import type { Excerpt } from './match.ts'

/** Options of a search. */
export interface SearchOptions {
  /** Aborting this signal ends the search with `Cancelled`. Default: none. */
  readonly signal?: SignalLike
  /**
   * Where to search: `messages` (text, reasoning, refusals), `tools` (names, arguments and results
   * of tool calls), or `all`. Default: `all`.
   */
  readonly in?: 'messages' | 'tools' | 'all'
  /** Whether to include retracted messages. Default: false. */
  readonly retracted?: boolean
  /** Only this session, including messages shared with the session it was forked from. Default: all in the scope. */
  readonly session?: string
  /** Only messages with this role. Default: all. */
  readonly role?: Role
  /** Only messages appended at or after this time, in milliseconds since 1970. Default: all. */
  readonly since?: number
  /** Only messages appended before this time. Default: all. */
  readonly until?: number
  /** Whether the last word may be incomplete, for search-as-you-type. Default: false. */
  readonly typing?: boolean
  /**
   * `relevance`: the best hits first among the newest 250, then among the next 250. `time`: the
   * newest session first, and within a session the last message first. Default: `relevance`.
   */
  readonly sort?: 'relevance' | 'time'
  /** The maximum hits, from 1 to 1,000. Default: 20. */
  readonly limit?: number
  /** `next` of the previous page. Default: the first page. */
  readonly after?: string
}

/** A message that matches the query. */
export interface SearchHit {
  /** The session's id. For a message shared by forks, the session it was appended to, if that still exists. */
  readonly session: string
  /** The message's position in the session. */
  readonly position: number
  /** The speaker's role. */
  readonly role: Role
  /** The time of the append, in milliseconds since 1970. */
  readonly at: number
  /** Where the words were found: in a message's own text, or in a tool call or result. */
  readonly in: 'message' | 'tool'
  /** The text around the first matched words. */
  readonly excerpt: Excerpt
  /**
   * The relevance, from 0 to 1 in steps of 0.05: higher for words close together, repeated, in a
   * short text, and not from a tool. Only comparable between hits of the same query.
   */
  readonly score: number
  /** Whether the message was retracted from the session. */
  readonly retracted: boolean
}

/** One page of hits. */
export interface SearchPage {
  /** The hits in `sort` order; with equal scores, the newest session and its last message first. */
  readonly hits: readonly SearchHit[]
  /**
   * The cursor for the next page, to pass as `after`. Absent on the last page. A page may have fewer hits than
   * `limit`, or none, and still have a next page, because each call examines a bounded number of messages. With
   * `relevance`, messages appended or removed between pages can change which hits are among the 250.
   */
  readonly next?: string
  /** True if the index was used; false if messages were scanned. */
  readonly indexed: boolean
  /** The number of rows scanned for this page. Absent if the index was used. */
  readonly read?: number
  /**
   * The number of rows not yet indexed, whose hits this page may lack. Absent if there are none.
   * Search again, or call `indexStore`.
   */
  readonly behind?: number
  /** Sessions skipped because they could not be read: verify them. Absent if there are none. */
  readonly damaged?: readonly string[]
  /**
   * Sessions skipped because the store has no key for them: none was given, or it was destroyed. In a store with
   * keys, also sessions without a key, which `withKeys` rejects by default (`plain`). With an index, the first page
   * lists all of them; without one, each page lists those it skipped. Absent if there are none.
   */
  readonly encrypted?: readonly string[]
}

/** A question about a store's sessions, with filters. */
export interface QuestionSearch extends Pick<
  SearchOptions,
  'signal' | 'in' | 'retracted' | 'session' | 'role' | 'since' | 'until'
> {
  /**
   * A question, or any other text. A message need not have all of its words. English words are compared by their
   * stems, so `decide` finds `decided`; those of other languages as they are. Frequent English words, such as `what`,
   * count if it has no others. Of a long text the first 30 different words of 20,000 characters count.
   */
  readonly question: string
  /** Only sessions whose metadata has these values. Cost: O(sessions). Default: all. */
  readonly where?: ListQuery['where']
  /** Only these sessions, by id. Default: all. */
  readonly sessions?: readonly string[]
  /** The maximum sessions, from 1 to 100. Default: 10. */
  readonly limit?: number
  /** The maximum passages of each session, from 1 to 20. Default: 3. */
  readonly passages?: number
}

/** The sessions that a question may be about. */
export interface SessionsFound extends Omit<SearchPage, 'hits' | 'next'> {
  /** The sessions, best first; with equal scores, the newest first. */
  readonly sessions: readonly {
    /** The session's id. For messages shared by forks, the session they were appended to, if that still exists. */
    readonly session: string
    /** The relevance, from 0 to 1. Only comparable between sessions of the same result. */
    readonly score: number
    /** Its best messages, best first, at least one. Their scores are comparable within the result. */
    readonly passages: readonly SearchHit[]
    /** The number of its other messages that have words of the question. */
    readonly more: number
  }[]
  /** The number of other sessions that have rarer words of the question. */
  readonly more: number
  /**
   * The number of rows that were not searched: without an index, a call reads the newest 20,000. Absent if there are
   * none. `indexStore` makes them searchable.
   */
  readonly unread?: number
}

/** What a result says of its search: without numbers that are 0, and without empty lists. */
export const reportOf = (
  report: Omit<SessionsFound, 'sessions' | 'more'>,
): Omit<SessionsFound, 'sessions' | 'more'> => {
  const { indexed, read, behind = 0, unread = 0, damaged = [], encrypted = [] } = report
  return {
    indexed,
    ...(read !== undefined && { read }),
    ...(behind > 0 && { behind }),
    ...(unread > 0 && { unread }),
    ...(damaged.length > 0 && { damaged: Object.freeze(damaged) }),
    ...(encrypted.length > 0 && { encrypted: Object.freeze(encrypted) }),
  }
}

/** A question's options with all defaults. */
export type QuestionPlan = Required<Pick<QuestionSearch, 'in' | 'retracted' | 'limit' | 'passages'>> &
  Pick<QuestionSearch, 'session' | 'role' | 'since' | 'until' | 'where' | 'sessions'>

/** A search's options with all defaults. */
export type SearchPlan = Required<Pick<SearchOptions, 'in' | 'retracted' | 'limit' | 'sort'>> &
  Pick<SearchOptions, 'session' | 'role' | 'since' | 'until' | 'after'>
