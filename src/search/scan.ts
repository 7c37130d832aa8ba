/** Searches a store without an index: reads its messages, newest first. */
import { isLeft, jsonIn, ownFields, present, right } from '../json/index.ts'
import { describeSession, listSessions, type SessionInfo } from '../session/index.ts'
import type { Store, StoredRow } from '../store/index.ts'
import { isRecorded, Slices } from '../store/internal.ts'
import { fail, need, untilFault, type Steps } from '../task/index.ts'
import type { SearchFault } from './fault.ts'
import { reportOf, type SearchHit, type SearchPage, type SearchPlan } from './hit.ts'
import { isInRanges, judgeRow, type BlocksOf, type RowSearch } from './judge.ts'
import type { Query } from './query.ts'
import { readMessages, endUnread, retractionsOf, type Reading, type Visited } from './read-messages.ts'
import { rankedAfter, mostRanked, noCursor, rankCursor, rankCursorIn } from './rank.ts'

/** The number of sessions listed at a time. */
const piece = 100

/** Where a scan continues. */
interface Cursor {
  /** The cursor of the session list page; undefined for the first. */
  readonly page: string | undefined
  /** The session, and the row before which its rows are still unread. */
  readonly session: string
  readonly below: number
}

interface Scan extends RowSearch, Reading {
  readonly wanted: SearchPlan
  readonly hits: SearchHit[]
}

export async function* scan(store: Store, query: Query, wanted: SearchPlan): Steps<SearchFault, SearchPage> {
  if (wanted.sort === 'time') return yield* scanByTime(store, query, wanted)
  const { after, limit, ...rest } = wanted
  const cursor = rankCursorIn(after)
  if (cursor === undefined) return yield* fail(noCursor)
  const { from } = cursor
  const earlier = ownFields({ ...rest, limit: mostRanked, ...present({ after: from }) })
  const page = yield* scanByTime(store, query, earlier)
  const { next: behind, hits: all, ...found } = page
  const ranked = rankedAfter(all, cursor, ({ score }) => score, isAfterCursorIn(all))
  const hits = Object.freeze(ranked.slice(0, limit))
  const last = ranked.length > limit ? hits.at(-1) : undefined
  const next = last !== undefined ? { from, score: last.score, at: placeOf(last) } : behind && { from: behind }
  return Object.freeze({ ...found, hits, ...(next && { next: rankCursor(next) }) })
}

const placeOf = ({ session, position }: SearchHit): string => `${position} ${session}`

/** Whether a hit comes after a place. If its session has no hits any more, all do: better twice than never. */
const isAfterCursorIn = (all: readonly SearchHit[]): ((hit: SearchHit, at: string) => boolean) => {
  const sessions = [...new Set(all.map(({ session }) => session))]
  return ({ session, position }, at) => {
    const last = at.slice(at.indexOf(' ') + 1)
    return session === last ? position < Number.parseInt(at, 10) : sessions.indexOf(session) > sessions.indexOf(last)
  }
}

async function* scanByTime(store: Store, query: Query, wanted: SearchPlan): Steps<SearchFault, SearchPage> {
  const cursor = wanted.after === undefined ? undefined : cursorIn(wanted.after)
  if (wanted.after !== undefined && cursor === undefined) return yield* fail(noCursor)
  const slices = new Slices()
  const state: Scan = {
    store,
    query,
    wanted,
    slices,
    hits: [],
    damaged: [],
    encrypted: [],
    retractions: new Map(),
    rows: 0,
  }
  const { session } = wanted
  if (session !== undefined) {
    const info = yield* need(describeSession(store, session))
    const below = yield* scanLogs(state, info, cursor?.below)
    return pageOf(state, below === undefined ? undefined : { page: undefined, session, below })
  }
  let page = cursor?.page
  let resumed = cursor
  for (;;) {
    const { sessions, next } = yield* need(listSessions(store, { limit: piece, ...present({ after: page }) }))
    const start = resumed === undefined ? 0 : sessions.findIndex(({ id }) => id === resumed?.session)
    for (const info of start === -1 ? [] : sessions.slice(start)) {
      const below = yield* scanLogs(state, info, resumed?.below)
      resumed = undefined
      if (below !== undefined) return pageOf(state, { page, session: info.id, below })
    }
    if (next === undefined && resumed === undefined) return pageOf(state, undefined)
    page = next ?? cursor?.page
    if (next === undefined) resumed = undefined // the cursor's session was removed: restart its page
  }
}

const pageOf = ({ hits, damaged, encrypted, rows }: Scan, next: Cursor | undefined): SearchPage =>
  Object.freeze({
    hits: Object.freeze(hits),
    ...reportOf({ indexed: false, read: rows, damaged, encrypted }),
    ...(next !== undefined && { next: JSON.stringify([next.page ?? null, next.session, next.below]) }),
  })

const cursorIn = (text: string): Cursor | undefined => {
  const found = jsonIn(text)
  if (!Array.isArray(found)) return undefined
  const [page, session, below] = found as readonly unknown[]
  if ((page !== null && typeof page !== 'string') || typeof session !== 'string') return undefined
  return Number.isSafeInteger(below) ? { page: page ?? undefined, session, below: below as number } : undefined
}

/** Scans a session. Returns the row to continue before, if it was not read completely. */
const scanLogs = (state: Scan, info: SessionInfo, below?: number): Steps<SearchFault, number | undefined> =>
  readMessages(state, info, below, (row, blocks) => untilFault(() => visit(state, info, row, blocks)))

async function* visit(state: Scan, info: SessionInfo, row: StoredRow, blocks: BlocksOf): Steps<SearchFault, Visited> {
  const { store, wanted, hits } = state
  const found = await judgeRow(row, blocks, state)
  if (found === undefined) return false
  const recorded = found === 'unread' ? right(false) : await isRecorded(store, info.id, row)()
  if (isLeft(recorded)) return yield* endUnread(state, info, recorded.left)
  if (found === 'unread' || !recorded.right) return 'damaged'
  const cuts = await untilFault(() => retractionsOf(state, info.id))
  if (isLeft(cuts)) return yield* endUnread(state, info, cuts.left)
  const retracted = isInRanges(cuts.right, row.index)
  if (!retracted || wanted.retracted) hits.push(Object.freeze({ session: info.id, ...found, retracted }))
  return hits.length === wanted.limit
}
