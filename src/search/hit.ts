/** What a search is asked for, and what it answers. */
import type { Role } from '../message/index.ts'
import type { SearchText } from '../entry/kit.ts'
import type { Excerpt } from './match.ts'

/** How to search. */
export interface SearchOptions {
  /**
   * Where the words must stand: in `messages` (text, reasoning, refusals), in `tools` (names, arguments and results of
   * tool calls), or in `all`. Default: `all`.
   */
  readonly in?: 'messages' | 'tools' | 'all'
  /** True: also messages that were retracted. Default: false. */
  readonly retracted?: boolean
  /** Only this session, with the messages that it shares with the one it was forked from. Default: all of the scope. */
  readonly session?: string
  /** Only messages of this role. Default: all. */
  readonly role?: Role
  /** Only messages appended at this time or later: milliseconds since 1970. Default: all. */
  readonly since?: number
  /** Only messages appended before this time. Default: all. */
  readonly until?: number
  /** True: the last word may be the beginning of a longer one, as while somebody types. Default: false. */
  readonly typing?: boolean
  /**
   * `relevance`: the best hits first, among the newest 250 hits; then among the next 250. `time`: the newest session
   * first, and of a session the last message first. Default: `relevance`.
   */
  readonly sort?: 'relevance' | 'time'
  /** The most hits, from 1 to 1,000. Default: 20. */
  readonly limit?: number
  /** The `next` of the page before. Default: the first page. */
  readonly after?: string
}

/** A message that has what the query asks for. */
export interface SearchHit {
  /** The id of the session. Of a message that forks share, the session that it was appended to, while it is there. */
  readonly session: string
  /** The position of the message in the session. */
  readonly position: number
  /** Who spoke. */
  readonly role: Role
  /** The time of the append, in milliseconds since 1970. */
  readonly at: number
  /** Where the words were found: in what was said, or in a tool call or its result. */
  readonly in: SearchText['of']
  /** The text around the first found words. */
  readonly excerpt: Excerpt
  /**
   * How well it matches, from 0 to 1 in steps of 0.05: more for words that stand together, and again, for a short text, and
   * for one that somebody said rather than a tool. Compare it between hits of one query.
   */
  readonly score: number
  /** True if the message was retracted from the session. */
  readonly retracted: boolean
}

/** One page of hits. */
export interface SearchPage {
  /** The hits, in the order of `sort`; of the same score, the newest session first, and of a session the last message. */
  readonly hits: readonly SearchHit[]
  /**
   * The cursor of the next page: give it as `after`. Absent on the last page. A page can have fewer hits than `limit`, and
   * none, and still have a next one: a call looks through a bounded number of messages. With `relevance`, messages that are
   * appended or removed between two pages can change which hits are among the 250.
   */
  readonly next?: string
  /** True if the index answered; false if the messages were read one by one. */
  readonly indexed: boolean
  /** The number of rows that were read for this page. Absent if the index answered. */
  readonly read?: number
  /**
   * The number of rows of the store that the index does not have yet, so that this page may lack some of its hits. Absent
   * if it has all. Search again, or call `indexStore`.
   */
  readonly behind?: number
  /** Sessions that could not be read, and were passed over: verify them. Absent if there are none. */
  readonly damaged?: readonly string[]
  /**
   * Sessions that were not searched, because the store has no key for them: none was given, or it is destroyed. On a
   * store with keys also those without one, which `withKeys` refuses by default (`plain`). With an index, the first
   * page names all of them; without one, each page those that it passed over. Absent if there are none.
   */
  readonly encrypted?: readonly string[]
}

/** A search as it is carried out: options with their defaults. */
export type SearchPlan = Required<Pick<SearchOptions, 'in' | 'retracted' | 'limit' | 'sort'>> &
  Pick<SearchOptions, 'session' | 'role' | 'since' | 'until' | 'after'>
