/** Searches the sessions of a store. */
import { describe, isObject, ownField, ownFields, present, snapshot } from '../json/index.ts'
import { roles } from '../message/internal.ts'
import { checkStore } from '../session/internal.ts'
import { withSignal, type Store } from '../store/index.ts'
import { need, type Steps, type Task } from '../task/index.ts'
import {
  aFlag,
  aSignal,
  aText,
  aListOfTexts,
  aTime,
  anObject,
  checkOptions,
  oneOf,
  wholeFrom,
} from './check-options.ts'
import { searchSteps, type SearchFault } from './fault.ts'
import type { QuestionPlan, QuestionSearch, SearchOptions, SearchPage, SearchPlan, SessionsFound } from './hit.ts'
import { searchIndex } from './indexed.ts'
import { indexedWords } from './indexed-question.ts'
import { parseQuery } from './query.ts'
import { parseQuestion } from './question.ts'
import { scanWords } from './scan-question.ts'
import { scan } from './scan.ts'
import { sessionsFor } from './search-sessions.ts'

/**
 * Finds messages in all sessions of a scope, or the sessions that a question is about.
 *
 * A query has words, "phrases of adjacent words", prefixes (begin*) and -excluded words. A message matches if it
 * satisfies all of them. Case, accents and character width are ignored. In scripts without spaces, any sequence of
 * characters is found. Any text is a valid query; characters that are not part of a word only separate.
 *
 * A `question` is any text. It finds sessions: those with its rarer words, repeated, close together, and of the month
 * that it names, each with its best messages as passages. No message needs all words.
 *
 * Cost    with an index (`indexStore`), for most queries O(hits shown) by `time` and O(hits), at most 250, by
 * `relevance`, and for a question O(4,000 messages for each of its words)
 *         (bench: search); without one, O(messages), in calls of at most 20,000 rows. A phrase of frequent words is
 *         searched in all messages with these words.
 *
 * @param query words; or a question with its filters
 * @param options filters, page size and cursor of a search for words
 * @returns one page of hits, or the sessions; or `EmptyQuery` if the query has no word
 * @throws TypeError that names the option, if one is invalid
 * @example
 * const { hits, next } = await searchStore(store, '"rate limit" retry* -test', { in: 'messages' })
 * const { sessions } = await searchStore(store, { question: 'When did we decide on SQLite?' })
 */
export function searchStore(store: Store, query: string, options?: SearchOptions): Task<SearchFault, SearchPage>
export function searchStore(store: Store, query: QuestionSearch): Task<SearchFault, SessionsFound>
export function searchStore(
  store: Store,
  query: string | QuestionSearch,
  options: SearchOptions = {},
): Task<SearchFault, SearchPage> | Task<SearchFault, SessionsFound> {
  checkStore('searchStore', store)
  if (typeof query === 'string') return searchWords(store, query, options)
  if (!isObject(query))
    throw new TypeError(
      `searchStore: the query must be a string, or an object with a question, found ${describe(query)}`,
    )
  return searchQuestion(store, query)
}

const searchQuestion = (searched: Store, wanted: QuestionSearch): Task<SearchFault, SessionsFound> => {
  const checked = checkOptions('searchStore', wanted, expectedOfQuestion)
  const { signal, question, session, role, where, sessions } = checked
  const store = withSignal(searched, signal)
  if (question === undefined) throw new TypeError('searchStore: `question` must be a string, found undefined')
  const plan: QuestionPlan = ownFields({
    in: checked.in ?? 'all',
    retracted: checked.retracted === true,
    limit: checked.limit ?? 10,
    passages: checked.passages ?? 3,
    ...present({ session, role, where: where && snapshot(where), sessions: sessions && [...sessions] }),
    ...timesOf(checked.since, checked.until),
  })
  return searchSteps(async function* (): Steps<SearchFault, SessionsFound> {
    const parsed = yield* need(parseQuestion(question))
    const index = ownField(store, 'index')
    const source =
      (index && (yield* indexedWords(store, index, parsed, plan))) ?? (yield* scanWords(store, parsed, plan))
    return yield* sessionsFor(store, source, parsed, plan)
  }, 'searchStore')
}

const searchWords = (searched: Store, query: string, options: SearchOptions): Task<SearchFault, SearchPage> => {
  const checked = checkOptions('searchStore', options, expectedOptions)
  const { signal, typing = false, since, until, ...rest } = checked
  const store = withSignal(searched, signal)
  const wanted: SearchPlan = ownFields({
    ...rest,
    in: checked.in ?? 'all',
    retracted: checked.retracted === true,
    sort: checked.sort ?? 'relevance',
    limit: checked.limit ?? 20,
    ...timesOf(since, until),
  })
  return searchSteps(async function* (): Steps<SearchFault, SearchPage> {
    const parsed = yield* need(parseQuery(query, typing))
    const index = ownField(store, 'index')
    const found = index && (yield* searchIndex(store, index, parsed, wanted))
    return found ?? (yield* scan(store, parsed, wanted))
  }, 'searchStore')
}

/** Times as rows have them: whole numbers. */
const timesOf = (since: number | undefined, until: number | undefined): Pick<SearchPlan, 'since' | 'until'> =>
  present({
    since: since === undefined ? undefined : Math.ceil(since),
    until: until === undefined ? undefined : Math.ceil(until),
  })

const expectedFilters = {
  signal: aSignal,
  in: oneOf(['messages', 'tools', 'all']),
  retracted: aFlag,
  session: aText,
  role: oneOf(roles),
  since: aTime,
  until: aTime,
}

const expectedOptions = {
  ...expectedFilters,
  typing: aFlag,
  sort: oneOf(['relevance', 'time']),
  limit: wholeFrom(1, 1000),
  after: aText,
}

const expectedOfQuestion = {
  ...expectedFilters,
  question: aText,
  where: anObject,
  sessions: aListOfTexts,
  limit: wholeFrom(1, 100),
  passages: wholeFrom(1, 20),
}
