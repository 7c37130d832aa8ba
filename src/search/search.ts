/** Searches the sessions of a store. */
import { describe, ownField, ownFields } from '../json/index.ts'
import { roles } from '../message/internal.ts'
import { checkStore } from '../session/internal.ts'
import type { Store } from '../store/index.ts'
import { need, type Steps, type Task } from '../task/index.ts'
import { aFlag, aText, aTime, checkOptions, oneOf, wholeFrom } from './check-options.ts'
import { searchSteps, type SearchFault } from './fault.ts'
import type { SearchOptions, SearchPage, SearchPlan } from './hit.ts'
import { searchIndex } from './indexed.ts'
import { parseQuery } from './query.ts'
import { scan } from './scan.ts'

/**
 * Finds messages in all sessions of a scope.
 *
 * A query has words, "phrases of adjacent words", prefixes (begin*) and -excluded words. A message matches if it
 * satisfies all of them. Case, accents and character width are ignored. In scripts without spaces, any sequence of
 * characters is found. Any text is a valid query; characters that are not part of a word only separate.
 *
 * Cost    with an index (`indexStore`), for most queries O(hits shown) by `time` and O(hits), at most 250, by
 * `relevance`
 *         (bench: search); without one, O(messages), in calls of at most 20,000 rows. A phrase of frequent words is
 *         searched in all messages with these words.
 *
 * @param options filters, page size and cursor
 * @returns one page of hits; or `EmptyQuery` if the query has no word
 * @throws TypeError that names the option, if one is invalid
 * @example
 * const { hits, next } = await searchStore(store, '"rate limit" retry* -test', { in: 'messages' })
 */
export const searchStore = (
  store: Store,
  query: string,
  options: SearchOptions = {},
): Task<SearchFault, SearchPage> => {
  checkStore('searchStore', store)
  if (typeof query !== 'string')
    throw new TypeError(`searchStore: the query must be a string, found ${describe(query)}`)
  const given = checkOptions('searchStore', options, expectedOptions)
  const { typing = false, since, until, ...rest } = given
  const wanted: SearchPlan = ownFields({
    ...rest,
    in: given.in ?? 'all',
    retracted: given.retracted === true,
    sort: given.sort ?? 'relevance',
    limit: given.limit ?? 20,
    ...(since !== undefined && { since: Math.ceil(since) }), // row times are whole numbers
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
