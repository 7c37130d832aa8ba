/** Searching a store by its index. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import { kindTerm, retractionTerm, roleTerm, termsOf } from '../entry/index.ts'
import type { Range } from '../history/index.ts'
import { describeSession } from '../session/index.ts'
import type { FoundRow, RowIndex, RowQuery, RowsFound, Store, WantedTerm } from '../store/index.ts'
import type { SearchFault } from './fault.ts'
import type { SearchHit, SearchPage, Wanted } from './hit.ts'
import { blocksFor, isIn, judged, retractionsIn, type Judged } from './judge.ts'
import { isOneTerm, termsOfPhrase, type Query } from './query.ts'

/** Rows that one search looks at, and that it adds to an index that lacks them. */
const mostCandidates = 4000
const mostAdded = 2000
/** How many rows are read with their blocks at a time. */
const together = 50

interface Search {
  readonly store: Store
  readonly index: RowIndex
  readonly query: Query
  readonly wanted: Wanted
  readonly sessions: Map<string, boolean>
  readonly retractions: Map<string, readonly Range[]>
}

/** One page; undefined if the store has no index. */
export const searchIndex = async (
  store: Store,
  index: RowIndex,
  query: Query,
  wanted: Wanted,
): Promise<Either<SearchFault, SearchPage | undefined>> => {
  const search: Search = { store, index, query, wanted, sessions: new Map(), retractions: new Map() }
  const asked = rowQuery(query, wanted)
  const hits: SearchHit[] = []
  let after = wanted.after
  let looked = 0
  let behind = 0
  for (;;) {
    const want = Math.min(1000, Math.max(16, (wanted.limit - hits.length) * (looked === 0 ? 1 : 10)))
    const found = await upToDate(
      index,
      { ...asked, limit: want, count: looked === 0, ...(after !== undefined && { after }) },
      looked === 0,
    )
    if (isLeft(found)) return found
    if (found.right === undefined) return right(undefined)
    const { rows, next } = found.right
    if (looked === 0) behind = found.right.behind
    let seen = 0
    while (seen < rows.length && hits.length < wanted.limit) {
      const piece = rows.slice(seen, seen + together)
      const matched = await matchesIn(search, piece, wanted.limit - hits.length)
      seen += matched.seen
      const fault = await lookUp(search, matched.rows)
      if (fault !== undefined) return left(fault)
      for (const row of matched.rows) {
        const hit = hitOf(search, row)
        if (hit !== undefined) hits.push(hit)
      }
    }
    after = rows[seen - 1]?.cursor ?? after
    looked += Math.max(1, seen)
    if (seen === rows.length) after = next ?? after
    const isEnd = seen === rows.length && next === undefined
    if (!isEnd && hits.length < wanted.limit && looked < mostCandidates) continue
    return right(
      Object.freeze({
        hits: Object.freeze(hits),
        indexed: true,
        ...(!isEnd && after !== undefined && { next: after }),
        ...(behind > 0 && { behind }),
      }),
    )
  }
}

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

/** The rows that match, up to so many, and how many were looked at. */
const matchesIn = async (
  { store, query, wanted }: Search,
  rows: readonly FoundRow[],
  most: number,
): Promise<{ readonly rows: readonly Matched[]; readonly seen: number }> => {
  const blocks = await blocksFor(
    store,
    rows.map(({ row }) => row),
  )
  const matched: Matched[] = []
  let seen = 0
  for (const row of rows) {
    if (matched.length === most) break
    seen += 1
    const found = judged(row.row, blocks, query, wanted)
    if (found !== undefined) matched.push({ ...row, found })
  }
  return { rows: matched, seen }
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
