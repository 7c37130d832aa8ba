/** Searching a store by its index. */
import { isLeft, present } from '../json/index.ts'
import { kindTerm, retractionTerm, roleTerm, termsOf, unreadTerm } from '../entry/kit.ts'
import type { Range } from '../history/index.ts'
import { describeSession } from '../session/index.ts'
import type { FoundRow, RowIndex, RowQuery, RowsFound, Store, WantedTerm } from '../store/index.ts'
import { fail, need, type Steps } from '../task/index.ts'
import type { SearchFault } from './fault.ts'
import type { SearchHit, SearchPage, SearchPlan } from './hit.ts'
import { blocksFor, isIn, judgeRow, retractionsIn, type HitInRow } from './judge.ts'
import { isOneTerm, termsOfPhrase, type Query } from './query.ts'
import { inRank, mostRanked, noCursor, rankCursor, rankCursorIn, type RankCursor } from './rank.ts'

/** Rows that one search looks at, and that it adds to an index that lacks them. */
const mostCandidates = 4000
/** Rows that are looked at for more hits to compare, where a page has enough. */
const fewCandidates = 1000
const mostAdded = 2000
/** How many rows are read with their blocks at a time. */
const together = 50

interface Search {
  readonly store: Store
  readonly index: RowIndex
  readonly query: Query
  readonly wanted: SearchPlan
  readonly asked: RowQuery
  readonly sessions: Map<string, boolean>
  readonly retractions: Map<string, readonly Range[]>
  /** Logs with rows that can't be read. */
  readonly unread: Set<string>
  /** Before which row the next is looked for. */
  after: string | undefined
  /** How many rows were looked at. */
  looked: number
  behind: number
  isEnd: boolean
}

/** One page; undefined if the store has no index. */
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
  const next = yield* wanted.sort === 'time' ? latest(search, hits) : best(search, hits, cursor)
  if (next === undefined) return undefined
  const encrypted = wanted.after === undefined ? yield* encryptedIn(search) : []
  const damaged = yield* damagedIn(store, index, search)
  return Object.freeze({
    hits: Object.freeze(hits),
    indexed: true,
    ...present({ next: next.cursor }),
    ...(search.behind > 0 && { behind: search.behind }),
    ...(damaged.length > 0 && { damaged: Object.freeze(damaged) }),
    ...(encrypted.length > 0 && { encrypted: Object.freeze(encrypted) }),
  })
}

/**
 * The sessions with messages that can't be read because of damage: that were found so now, and on the first page, that were
 * found so when they were indexed.
 */
async function* damagedIn(
  store: Store,
  index: RowIndex,
  { unread, wanted }: { readonly unread: ReadonlySet<string>; readonly wanted: SearchPlan },
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
  for (const id of logs) {
    const info = await describeSession(store, id)()
    if (isLeft(info) && !isNone.has(info.left._tag)) return yield* fail(info.left)
    if (!isLeft(info) || info.left._tag === 'DamagedLog') damaged.push(id)
  }
  return damaged
}

/** Where a page goes on; undefined if the store has no index. */
type Next = Steps<SearchFault, { readonly cursor: string | undefined } | undefined>

/** The hits in the order of the index. */
async function* latest(search: Search, hits: SearchHit[]): Next {
  const { limit } = search.wanted
  do {
    const matched = yield* someMatches(search, limit - hits.length)
    if (matched === undefined) return undefined
    yield* pushHits(search, matched, hits)
  } while (!search.isEnd && hits.length < limit && search.looked < mostCandidates)
  return { cursor: search.isEnd ? undefined : search.after }
}

/** The best hits of the newest matches, up to so many; of those, from a cursor on. */
async function* best(search: Search, hits: SearchHit[], cursor: RankCursor): Next {
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
  const ranked = inRank(all, cursor, ({ found }) => found.score, (row) => row.cursor, isBehind) // oxfmt-ignore
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

/** Whether a row is of an older log than a cursor, or stands before it there. */
const isBehind = ({ cursor }: FoundRow, at: string): boolean => {
  const [log = 0, position = 0] = cursor.split('.').map(Number)
  const [lastLog = 0, last = 0] = at.split('.').map(Number)
  return log < lastLog || (log === lastLog && position < last)
}

/** Encrypted logs that the search is of. Where naming them lasts, the names are used for twenty times as long. */
async function* encryptedIn({ index, wanted: { session } }: Search): Steps<SearchFault, readonly string[]> {
  const began = Date.now()
  const known = encryptedOf.get(index)
  const ids = known !== undefined && began < known.until ? known.ids : yield* need(index.encrypted())
  if (ids !== known?.ids) encryptedOf.set(index, { ids, until: Date.now() + (Date.now() - began) * 20 })
  return session === undefined ? ids : ids.filter((id) => id === session)
}

const encryptedOf = new WeakMap<RowIndex, { readonly ids: readonly string[]; readonly until: number }>()

/** What an index is asked: a message that has all that is wanted has these terms. */
const rowQuery = ({ wanted: phrases, unwanted }: Query, wanted: SearchPlan): RowQuery => {
  const { session, role, since, until } = wanted
  const kind = wanted.in === 'all' ? [] : [{ term: kindTerm(wanted.in === 'tools' ? 'tool' : 'message') }]
  const all: readonly WantedTerm[] = [
    ...phrases.flatMap(termsOfPhrase),
    ...kind,
    ...(role === undefined ? [] : [{ term: roleTerm(role) }]),
  ]
  // An index does not know which texts have a term, nor in which order.
  const none = wanted.in === 'all' ? unwanted.filter(isOneTerm).flatMap(termsOfPhrase) : []
  return {
    all,
    ...(none.length > 0 && { none }),
    ...present({ log: session, since, until }),
  }
}

/** Rows of an index that has all rows, if it can be brought up to that soon and may be written to. */
async function* upToDate(index: RowIndex, query: RowQuery, first: boolean): Steps<SearchFault, RowsFound | undefined> {
  const found = yield* need(index.find(query))
  if (!first || found === undefined || found.behind === 0) return found
  const added = await index.add(termsOf, mostAdded)()
  if (isLeft(added) || added.right.rows === 0) return found // read-only, or held by another: the page says how many are missing
  return yield* need(index.find(query))
}

/** A row that has what the query asks for. */
interface MatchedRow extends FoundRow {
  readonly found: HitInRow
}

/** Rows that match, up to so many, of the next rows that the index proposes. Undefined: there is no index. */
async function* someMatches(search: Search, most: number): Steps<SearchFault, readonly MatchedRow[] | undefined> {
  const { store, index, query, wanted, asked, after } = search
  const first = search.looked === 0
  const limit = Math.min(1000, Math.max(16, most * (first ? 1 : 10)))
  const found = yield* upToDate(index, { ...asked, limit, count: first, ...present({ after }) }, first)
  if (found === undefined) return undefined
  const { rows, next, behind } = found
  if (first) search.behind = behind
  const matched: MatchedRow[] = []
  let seen = 0
  while (seen < rows.length && matched.length < most) {
    const piece = rows.slice(seen, seen + together)
    const blocks = await blocksFor(
      store,
      piece.map(({ row }) => row),
    )
    for (const row of piece) {
      if (matched.length === most) break
      seen += 1
      const judgement = judgeRow(row.row, blocks, query, wanted)
      if (judgement === 'unread') for (const id of row.logs) search.unread.add(id)
      else if (judgement !== undefined) matched.push({ ...row, found: judgement })
    }
  }
  search.looked += Math.max(1, seen)
  search.isEnd = seen === rows.length && next === undefined
  search.after = (seen === rows.length ? next : undefined) ?? rows[seen - 1]?.cursor ?? after
  return matched
}

/** Add the hits that rows are. */
async function* pushHits(search: Search, rows: readonly MatchedRow[], hits: SearchHit[]): Steps<SearchFault, void> {
  yield* lookUp(search, rows)
  for (const row of rows) {
    const hit = hitOf(search, row)
    if (hit !== undefined) hits.push(hit)
  }
}

/** The hit in the first session that did not retract it. */
const hitOf = ({ sessions, retractions, wanted }: Search, { logs, row, found }: MatchedRow): SearchHit | undefined => {
  let retractedFrom: string | undefined
  for (const id of logs) {
    if (sessions.get(id) !== true) continue
    if (!isIn(retractions.get(id) ?? [], row.index)) return Object.freeze({ session: id, ...found, retracted: false })
    retractedFrom ??= id
    if (wanted.retracted) break
  }
  return retractedFrom !== undefined && wanted.retracted
    ? Object.freeze({ session: retractedFrom, ...found, retracted: true })
    : undefined
}

/** Look up the logs that rows are of: whether each is a session, and what is retracted there. */
async function* lookUp(
  { store, index, sessions, retractions }: Search,
  rows: readonly FoundRow[],
): Steps<SearchFault, void> {
  const logs = [...new Set(rows.flatMap((row) => row.logs))].filter((id) => !sessions.has(id))
  const infos = await Promise.all(logs.map((id) => describeSession(store, id)()))
  for (const [at, info] of infos.entries()) {
    if (isLeft(info) && !isNone.has(info.left._tag)) yield* fail(info.left)
    sessions.set(logs[at] as string, !isLeft(info)) // and no other kind of log, nor one that is being imported
  }
  const notes = yield* need(index.findIn(logs, retractionTerm))
  for (const [id, found] of notes) retractions.set(id, retractionsIn(found))
}

const isNone: ReadonlySet<string> = new Set([
  'NoSuchLog',
  'NotASession',
  'UnfinishedSession',
  'NewerSession',
  'DamagedLog',
])
