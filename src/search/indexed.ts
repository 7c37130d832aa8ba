/** Searches a store with its index. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, present } from '../json/index.ts'
import { kindTerm, retractionTerm, roleTerm, termsOf, unreadTerm } from '../entry/internal.ts'
import type { Range } from '../history/index.ts'
import { describeSession, type SessionInfo } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import { type FoundRow, type RowQuery, type WantedTerm, type RowIndex, isRecorded, Slices } from '../store/internal.ts'
import { fail, need, systemClock, type Steps, type Task } from '../task/index.ts'
import type { SearchFault } from './fault.ts'
import { reportOf, type SearchHit, type SearchPage, type SearchPlan } from './hit.ts'
import { blocksFor, isInRanges, judgeRow, retractionsIn, type HitInRow, type RowSearch } from './judge.ts'
import { isOneTerm, termsOfPhrase, type Query } from './query.ts'
import { rankedAfter, mostRanked, noCursor, rankCursor, rankCursorIn, type RankCursor } from './rank.ts'

/** The maximum rows a search examines, and the maximum it adds to an index that lacks them. */
const mostCandidates = 4000
/** The maximum rows to examine for more hits to rank once a page is full. */
const fewCandidates = 1000
const mostAdded = 2000
/** The maximum number of words of a query that an index looks up. */
const mostTerms = 50
/** The number of rows whose blocks are read at a time. */
const rowsAtOnce = 50

interface Search extends RowSearch {
  readonly store: Store
  readonly index: RowIndex
  readonly asked: RowQuery
  readonly sessions: Map<string, boolean>
  readonly retractions: Map<string, readonly Range[]>
  /** Logs with unreadable rows. */
  readonly unread: Set<string>
  /** The cursor before which the next row is searched. */
  after: string | undefined
  /** The number of rows examined. */
  looked: number
  behind: number
  isEnd: boolean
}

/** One page of hits; undefined if the store has no index. */
export async function* searchIndex(
  store: Store,
  index: RowIndex,
  query: Query,
  wanted: SearchPlan,
): Steps<SearchFault, SearchPage | undefined> {
  const cursor = wanted.sort === 'time' ? { from: wanted.after } : rankCursorIn(wanted.after)
  if (cursor === undefined) return yield* fail(noCursor)
  const search: Search = {
    store,
    index,
    query,
    wanted,
    slices: new Slices(),
    asked: rowQuery(query, wanted),
    sessions: new Map(),
    retractions: new Map(),
    unread: new Set(),
    after: cursor.from,
    looked: 0,
    behind: 0,
    isEnd: false,
  }
  const hits: SearchHit[] = []
  const next = yield* wanted.sort === 'time' ? hitsByTime(search, hits) : hitsByScore(search, hits, cursor)
  if (next === undefined) return undefined
  const encrypted = wanted.after === undefined ? yield* encryptedLogsIn(search) : []
  const damaged = yield* damagedSessionsIn(store, index, search)
  return Object.freeze({
    hits: Object.freeze(hits),
    ...reportOf({ indexed: true, behind: search.behind, damaged, encrypted }),
    ...present({ next: next.cursor }),
  })
}

/**
 * The sessions with damaged, unreadable messages: those found during this search, and, on the first
 * page, those found during indexing.
 */
export async function* damagedSessionsIn(
  store: Store,
  index: RowIndex,
  { unread, wanted }: { readonly unread: ReadonlySet<string>; readonly wanted: Pick<SearchPlan, 'session' | 'after'> },
): Steps<SearchFault, readonly string[]> {
  const logs = new Set(unread)
  const query = { all: [{ term: unreadTerm }], limit: 1000, count: false }
  let after: string | undefined
  for (let more = wanted.after === undefined; more; more = after !== undefined) {
    const found = yield* need(index.find({ ...query, ...present({ log: wanted.session, after }) }))
    for (const { logs: have } of found?.rows ?? []) for (const id of have) logs.add(id)
    after = found?.next
  }
  const damaged: string[] = []
  for (const [id, info] of yield* described(store, [...logs]))
    if (!isLeft(info) || info.left._tag === 'DamagedLog') damaged.push(id)
  return damaged
}

/** The next page's cursor; undefined if the store has no index. */
type Next = Steps<SearchFault, { readonly cursor: string | undefined } | undefined>

/** Adds hits in index order. */
async function* hitsByTime(search: Search, hits: SearchHit[]): Next {
  const { limit } = search.wanted
  do {
    const matched = yield* someMatches(search, limit - hits.length)
    if (matched === undefined) return undefined
    yield* pushHits(search, matched, hits)
  } while (!search.isEnd && hits.length < limit && search.looked < mostCandidates)
  return { cursor: search.isEnd ? undefined : search.after }
}

/** Adds the best hits among the newest matches, starting at a cursor. */
async function* hitsByScore(search: Search, hits: SearchHit[], cursor: RankCursor): Next {
  const { limit } = search.wanted
  const all: MatchedRow[] = []
  do {
    const matched = yield* someMatches(search, mostRanked - all.length)
    if (matched === undefined) return undefined
    all.push(...matched)
  } while (
    !search.isEnd &&
    all.length < mostRanked &&
    search.looked < (all.length < limit ? mostCandidates : fewCandidates)
  )
  const ranked = rankedAfter(all, cursor, ({ found }) => found.score, isBehind)
  let done = 0
  while (done < ranked.length && hits.length < limit) {
    const some = ranked.slice(done, done + limit - hits.length)
    yield* pushHits(search, some, hits)
    done += some.length
  }
  const last = done < ranked.length ? ranked[done - 1] : undefined
  if (last !== undefined) return { cursor: rankCursor({ from: cursor.from, score: last.found.score, at: last.cursor }) }
  return { cursor: search.isEnd ? undefined : rankCursor({ from: search.after }) }
}

/** Whether a row is in an older log than the cursor, or before it in the same log. */
const isBehind = ({ cursor }: FoundRow, at: string): boolean => {
  const [log = 0, position = 0] = cursor.split('.').map(Number)
  const [lastLog = 0, last = 0] = at.split('.').map(Number)
  return log < lastLog || (log === lastLog && position < last)
}

/** The encrypted logs within the search. A list that took long to fetch is reused for twenty times as long. */
export async function* encryptedLogsIn({
  index,
  wanted: { session },
}: {
  readonly index: RowIndex
  readonly wanted: Pick<SearchPlan, 'session'>
}): Steps<SearchFault, readonly string[]> {
  const began = systemClock.now() // `Date.now` may jump by days
  const known = encryptedOf.get(index)
  const ids = known !== undefined && began < known.until ? known.ids : yield* need(index.encrypted())
  const now = systemClock.now()
  if (ids !== known?.ids) encryptedOf.set(index, { ids, until: now + Math.floor(now - began) * 20 })
  return session === undefined ? ids : ids.filter((id) => id === session)
}

const encryptedOf = new WeakMap<RowIndex, { readonly ids: readonly string[]; readonly until: number }>()

/** The terms that a message of a role has, and one with texts of a kind. */
export const filterTerms = (wanted: Pick<SearchPlan, 'in' | 'role'>): readonly WantedTerm[] => [
  ...(wanted.in === 'all' ? [] : [{ term: kindTerm(wanted.in === 'tools' ? 'tool' : 'message') }]),
  ...(wanted.role === undefined ? [] : [{ term: roleTerm(wanted.role) }]),
]

/** The index query: the terms that every matching message has. */
const rowQuery = ({ wanted: phrases, unwanted }: Query, wanted: SearchPlan): RowQuery => {
  const { session, since, until } = wanted
  const all: readonly WantedTerm[] = [
    ...filterTerms(wanted),
    ...phrases.flatMap(termsOfPhrase).slice(0, mostTerms), // the rows found are read anyway
  ]
  // The index does not record which text has a term, or the order of terms.
  const none = wanted.in === 'all' ? [...unwanted].filter(isOneTerm).flatMap(termsOfPhrase).slice(0, mostTerms) : []
  return {
    all,
    ...(none.length > 0 && { none }),
    ...present({ log: session, since, until }),
  }
}

/** Asks an index; and again after adding missing rows, if they are few and the index is writable. */
export async function* askCurrentIndex<Found extends { readonly behind: number }>(
  index: RowIndex,
  ask: () => Task<SearchFault, Found | undefined>,
): Steps<SearchFault, Found | undefined> {
  const found = yield* need(ask())
  if (found === undefined || found.behind === 0) return found
  const added = await index.add(termsOf, mostAdded)()
  if (isLeft(added) || added.right.rows === 0) return found // read-only or locked: the result reports the missing rows
  return yield* need(ask())
}

interface MatchedRow extends FoundRow {
  readonly found: HitInRow
}

/** Up to `most` matching rows among the next ones from the index. Undefined if there is no index. */
async function* someMatches(search: Search, most: number): Steps<SearchFault, readonly MatchedRow[] | undefined> {
  const { store, index, asked: query, after } = search
  const first = search.looked === 0
  const limit = Math.min(1000, Math.max(16, most * (first ? 1 : 10)))
  const ask = () => index.find({ ...query, limit, count: first, ...present({ after }) })
  const found = first ? yield* askCurrentIndex(index, ask) : yield* need(ask())
  if (found === undefined) return undefined
  const { rows, next, behind } = found
  if (first) search.behind = behind
  const matched: MatchedRow[] = []
  let seen = 0
  while (seen < rows.length && matched.length < most) {
    const piece = rows.slice(seen, seen + rowsAtOnce)
    const blocks = await blocksFor(
      store,
      piece.map(({ row }) => row),
    )
    for (const row of piece) {
      if (matched.length === most) break
      seen += 1
      const judgement = await judgeRow(row.row, blocks, search)
      if (judgement === 'unread') for (const id of row.logs) search.unread.add(id)
      else if (judgement !== undefined) matched.push({ ...row, found: judgement })
    }
  }
  search.looked += Math.max(1, seen)
  search.isEnd = seen === rows.length && next === undefined
  search.after = (seen === rows.length ? next : undefined) ?? rows[seen - 1]?.cursor ?? after
  return matched
}

/** Adds the hits of matching rows. The index may have the terms of a row that was altered since. */
async function* pushHits(search: Search, rows: readonly MatchedRow[], hits: SearchHit[]): Steps<SearchFault, void> {
  yield* loadLogs(search, rows)
  const found = rows.flatMap(({ row, ...matched }) => {
    const hit = hitOf(search, { row, ...matched })
    return hit === undefined ? [] : [{ hit, recorded: isRecorded(search.store, hit.session, row)() }]
  })
  for (const { hit, recorded } of found) {
    const is = await recorded
    if (isLeft(is) && !isEmptyPage.has(is.left._tag)) yield* fail(is.left)
    if (!isLeft(is) && is.right) hits.push(hit)
    else search.unread.add(hit.session)
  }
}

/** The hit in the first session that did not retract the message. */
const hitOf = ({ sessions, retractions, wanted }: Search, { logs, row, found }: MatchedRow): SearchHit | undefined => {
  let retractedFrom: string | undefined
  for (const id of logs) {
    if (sessions.get(id) !== true) continue
    if (!isInRanges(retractions.get(id) ?? [], row.index))
      return Object.freeze({ session: id, ...found, retracted: false })
    retractedFrom ??= id
    if (wanted.retracted) break
  }
  return retractedFrom !== undefined && wanted.retracted
    ? Object.freeze({ session: retractedFrom, ...found, retracted: true })
    : undefined
}

/** Loads whether each row's logs are sessions, and their retractions. */
async function* loadLogs(
  { store, index, sessions, retractions }: Search,
  rows: readonly FoundRow[],
): Steps<SearchFault, void> {
  const logs = [...new Set(rows.flatMap((row) => row.logs))].filter((id) => !sessions.has(id))
  // Not another kind of log, or one being imported.
  for (const [id, info] of yield* described(store, logs)) sessions.set(id, !isLeft(info))
  const notes = yield* need(index.findIn(logs, retractionTerm))
  for (const [id, found] of notes) retractions.set(id, retractionsIn(found))
}

/** The descriptions of logs. Only faults that say that a log is no session to search are among them. */
export async function* described(
  store: Store,
  ids: readonly string[],
): Steps<SearchFault, ReadonlyMap<string, Either<SearchFault, SessionInfo>>> {
  const infos = await Promise.all(ids.map(async (id) => [id, await describeSession(store, id)()] as const))
  for (const [, info] of infos) if (isLeft(info) && !isEmptyPage.has(info.left._tag)) yield* fail(info.left)
  return new Map(infos)
}

const isEmptyPage: ReadonlySet<string> = new Set([
  'NoSuchLog',
  'NotASession',
  'UnfinishedSession',
  'NewerSession',
  'DamagedLog',
])
