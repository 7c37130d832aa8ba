/** Searching the sessions of a store. */
import { describe, ownField, ownFields } from '../json/index.ts'
import { roles } from '../message/kit.ts'
import { checkStore } from '../session/kit.ts'
import type { Store } from '../store/index.ts'
import { need, type Steps, type Task } from '../task/index.ts'
import { aFlag, aText, aTime, checkOptions, oneOf, wholeFrom } from './checked.ts'
import { searchSteps, type SearchFault } from './fault.ts'
import type { SearchOptions, SearchPage, SearchPlan } from './hit.ts'
import { searchIndex } from './indexed.ts'
import { parseQuery } from './query.ts'
import { scan } from './scan.ts'

/**
 * Find messages in all sessions of a scope.
 *
 * A query has words, "words that follow each other", the begin* of a word, and -words that a message must not have. A
 * message is found if it has all of them. Case, accents and width don't count. In scripts that write no spaces, any
 * characters that follow each other are found. Every text is a query; characters that belong to no word only separate.
 *
 * Cost    with an index (`indexStore`), O(hits shown) by `time` and O(hits), at most 250, by `relevance` for most queries
 *         (bench: search); without one, O(messages), in calls of at most 20,000 rows. A phrase of frequent words is looked
 *         for in the messages that have all of its words.
 *
 * @param options filters, the size of a page, and the cursor
 * @returns one page of hits; or `EmptyQuery`, if it has no word
 * @throws TypeError if an option is not what it must be; it names the option
 * @example
 * const { hits, next } = await searchStore(store, '"rate limit" retry* -test', { in: 'messages' })
 */
export const searchStore = (
  store: Store,
  query: string,
  options: SearchOptions = {},
): Task<SearchFault, SearchPage> => {
  checkStore('searchStore', store)
  if (typeof query !== 'string') throw new TypeError(`searchStore takes the query as a text, not ${describe(query)}`)
  const given = checkOptions('searchStore', options, expectedOptions)
  const { typing = false, since, until, ...rest } = given
  const wanted: SearchPlan = ownFields({
    ...rest,
    in: given.in ?? 'all',
    retracted: given.retracted === true,
    sort: given.sort ?? 'relevance',
    limit: given.limit ?? 20,
    ...(since !== undefined && { since: Math.ceil(since) }), // times of rows are whole
    ...(until !== undefined && { until: Math.ceil(until) }),
  })
  return searchSteps(async function* (): Steps<SearchFault, SearchPage> {
    const parsed = yield* need(parseQuery(query, typing))
    const index = ownField(store, 'index')
    const found = index && (yield* searchIndex(store, index, parsed, wanted))
    return found ?? (yield* scan(store, parsed, wanted))
  }, 'searchStore')
}

const expectedOptions = {
  in: oneOf(['messages', 'tools', 'all']),
  retracted: aFlag,
  session: aText,
  role: oneOf(roles),
  since: aTime,
  until: aTime,
  typing: aFlag,
  sort: oneOf(['relevance', 'time']),
  limit: wholeFrom(1, 1000),
  after: aText,
}
