/** Searching a store by its index. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import { kindTerm, retractionTerm, roleTerm, termsOf, unreadTerm } from '../entry/kit.ts'
import type { Range } from '../history/index.ts'
import { describeSession } from '../session/index.ts'
import type { FoundRow, RowIndex, RowQuery, RowsFound, Store, WantedTerm } from '../store/index.ts'
import type { SearchFault } from './fault.ts'
import type { SearchHit, SearchPage, Wanted } from './hit.ts'
import { blocksFor, isIn, judged, retractionsIn, type Judged } from './judge.ts'
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
  readonly wanted: Wanted
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
export const searchIndex = async (
  store: Store,
  index: RowIndex,
  query: Query,
  wanted: Wanted,
): Promise<Either<SearchFault, SearchPage | undefined>> => {
  const cursor = wanted.sort === 'time' ? { from: wanted.after } : rankCursorIn(wanted.after)
  if (cursor === undefined) return left(noCursor)
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
  const next = await (wanted.sort === 'time' ? latest(search, hits) : best(search, hits, cursor))
  if (isLeft(next)) return next
  if (next.right === undefined) return right(undefined)
  const encrypted = wanted.after === undefined ? await encryptedIn(search) : right([])
  if (isLeft(encrypted)) return encrypted
  const damaged = await damagedIn(store, index, search)
  if (isLeft(damaged)) return damaged
  return right(
    Object.freeze({
      hits: Object.freeze(hits),
      indexed: true,
      ...(next.right.cursor !== undefined && { next: next.right.cursor }),
      ...(search.behind > 0 && { behind: search.behind }),
      ...(damaged.right.length > 0 && { damaged: Object.freeze(damaged.right) }),
      ...(encrypted.right.length > 0 && { encrypted: Object.freeze(encrypted.right) }),
    }),
  )
}

/**
 * The sessions with messages that can't be read because of damage: that were found so now, and on the first page, that were
 * found so when they were indexed.
 */
const damagedIn = async (
  store: Store,
  index: RowIndex,
  { unread, wanted }: { readonly unread: ReadonlySet<string>; readonly wanted: Wanted },
): Promise<Either<SearchFault, readonly string[]>> => {
  const logs = new Set(unread)
  const query = { all: [{ term: unreadTerm }], limit: 1000, count: false }
  let after: string | undefined
  for (let more = wanted.after === undefined; more; more = after !== undefined) {
    const found = await index.find({ ...query, ...(wanted.session !== undefined && { log: wanted.session }), ...(after !== undefined && { after }) })() // oxfmt-ignore
    if (isLeft(found)) return found
    for (const { logs: have } of found.right?.rows ?? []) for (const id of have) logs.add(id)
    after = found.right?.next
  }
  const damaged: string[] = []
  for (const id of logs) {
    const info = await describeSession(store, id)()
    if (isLeft(info) && !isNone.has(info.left._tag)) return info
    if (!isLeft(info) || info.left._tag === 'DamagedLog') damaged.push(id)
  }
  return right(damaged)
}

/** Where a page goes on; undefined if the store has no index. */
type Next = Either<SearchFault, { readonly cursor: string | undefined } | undefined>

/** The hits in the order of the index. */
const latest = async (search: Search, hits: SearchHit[]): Promise<Next> => {
  const { limit } = search.wanted
  do {
    const matched = await someMatches(search, limit - hits.length)
    if (isLeft(matched) || matched.right === undefined) return matched as Next
    const fault = await pushHits(search, matched.right, hits)
    if (fault !== undefined) return left(fault)
  } while (!search.isEnd && hits.length < limit && search.looked < mostCandidates)
  return right({ cursor: search.isEnd ? undefined : search.after })
}

/** The best hits of the newest matches, up to so many; of those, from a cursor on. */
const best = async (search: Search, hits: SearchHit[], cursor: RankCursor): Promise<Next> => {
  const { limit } = search.wanted
  const all: Matched[] = []
  do {
    const matched = await someMatches(search, mostRanked - all.length)
    if (isLeft(matched) || matched.right === undefined) return matched as Next
    all.push(...matched.right)
  } while (
    !search.isEnd &&
    all.length < mostRanked &&
    search.looked < (all.length < limit ? mostCandidates : fewCandidates)
  )
  const ranked = inRank(all, cursor, ({ found }) => found.score, (row) => row.cursor, isBehind) // oxfmt-ignore
  let done = 0
  while (done < ranked.length && hits.length < limit) {
    const some = ranked.slice(done, done + limit - hits.length)
    const fault = await pushHits(search, some, hits)
    if (fault !== undefined) return left(fault)
    done += some.length
  }
  const last = done < ranked.length ? ranked[done - 1] : undefined
  if (last !== undefined)
    return right({ cursor: rankCursor({ from: cursor.from, score: last.found.score, at: last.cursor }) })
  return right({ cursor: search.isEnd ? undefined : rankCursor({ from: search.after }) })
}

/** Whether a row is of an older log than a cursor, or stands before it there. */
const isBehind = ({ cursor }: FoundRow, at: string): boolean => {
  const [log = 0, position = 0] = cursor.split('.').map(Number)
  const [lastLog = 0, last = 0] = at.split('.').map(Number)
  return log < lastLog || (log === lastLog && position < last)
}

/** Encrypted logs that the search is of. Where naming them lasts, the names are used for twenty times as long. */
const encryptedIn = async ({ index, wanted: { session } }: Search): Promise<Either<SearchFault, readonly string[]>> => {
  const began = Date.now()
  const known = encryptedOf.get(index)
  const named = known !== undefined && began < known.until ? right(known.ids) : await index.encrypted()()
  if (isLeft(named)) return named
  const ids = named.right
  if (ids !== known?.ids) encryptedOf.set(index, { ids, until: Date.now() + (Date.now() - began) * 20 })
  return right(session === undefined ? ids : ids.filter((id) => id === session))
}

const encryptedOf = new WeakMap<RowIndex, { readonly ids: readonly string[]; readonly until: number }>()

/** What an index is asked: a message that has all that is wanted has these terms. */
const rowQuery = ({ wanted: phrases, unwanted }: Query, wanted: Wanted): RowQuery => {
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
    ...(session !== undefined && { log: session }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  }
}

/** Rows of an index that has all rows, if it can be brought up to that soon and may be written to. */
const upToDate = async (
  index: RowIndex,
  query: RowQuery,
  first: boolean,
): Promise<Either<SearchFault, RowsFound | undefined>> => {
  const found = await index.find(query)()
  if (!first || isLeft(found) || found.right === undefined || found.right.behind === 0) return found
  const added = await index.add(termsOf, mostAdded)()
  if (isLeft(added) || added.right.rows === 0) return found // read-only, or held by another: the page says how many are missing
  return index.find(query)()
}

/** A row that has what the query asks for. */
interface Matched extends FoundRow {
  readonly found: Judged
}

/** Rows that match, up to so many, of the next rows that the index proposes. Undefined: there is no index. */
const someMatches = async (
  search: Search,
  most: number,
): Promise<Either<SearchFault, readonly Matched[] | undefined>> => {
  const { store, index, query, wanted, asked, after } = search
  const first = search.looked === 0
  const limit = Math.min(1000, Math.max(16, most * (first ? 1 : 10)))
  const found = await upToDate(index, { ...asked, limit, count: first, ...(after !== undefined && { after }) }, first)
  if (isLeft(found) || found.right === undefined) return found as Either<SearchFault, undefined>
  const { rows, next, behind } = found.right
  if (first) search.behind = behind
  const matched: Matched[] = []
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
      const judgement = judged(row.row, blocks, query, wanted)
      if (judgement === 'unread') for (const id of row.logs) search.unread.add(id)
      else if (judgement !== undefined) matched.push({ ...row, found: judgement })
    }
  }
  search.looked += Math.max(1, seen)
  search.isEnd = seen === rows.length && next === undefined
  search.after = (seen === rows.length ? next : undefined) ?? rows[seen - 1]?.cursor ?? after
  return right(matched)
}

/** Add the hits that rows are. */
const pushHits = async (
  search: Search,
  rows: readonly Matched[],
  hits: SearchHit[],
): Promise<SearchFault | undefined> => {
  const fault = await lookUp(search, rows)
  if (fault !== undefined) return fault
  for (const row of rows) {
    const hit = hitOf(search, row)
    if (hit !== undefined) hits.push(hit)
  }
  return undefined
}

/** The hit in the first session that has not retracted it. */
const hitOf = ({ sessions, retractions, wanted }: Search, { logs, row, found }: Matched): SearchHit | undefined => {
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
const lookUp = async (
  { store, index, sessions, retractions }: Search,
  rows: readonly FoundRow[],
): Promise<SearchFault | undefined> => {
  const logs = [...new Set(rows.flatMap((row) => row.logs))].filter((id) => !sessions.has(id))
  const infos = await Promise.all(logs.map((id) => describeSession(store, id)()))
  for (const [at, info] of infos.entries()) {
    if (isLeft(info) && !isNone.has(info.left._tag)) return info.left
    sessions.set(logs[at] as string, !isLeft(info)) // and no other kind of log, nor one that is being imported
  }
  const notes = await index.findIn(logs, retractionTerm)()
  if (isLeft(notes)) return notes.left
  for (const [id, found] of notes.right) retractions.set(id, retractionsIn(found))
  return undefined
}

const isNone: ReadonlySet<string> = new Set([
  'NoSuchLog',
  'NotASession',
  'UnfinishedSession',
  'NewerSession',
  'DamagedLog',
])
