/** Reads the messages of sessions for a search without an index, last message first. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from '../json/index.ts'
import type { Range } from '../history/index.ts'
import type { SessionInfo } from '../session/index.ts'
import type { Store, StoredRow } from '../store/index.ts'
import { fail, need, untilFault, type Steps } from '../task/index.ts'
import type { SearchFault } from './fault.ts'
import { blocksFor, isInRanges, retractionsIn, type BlocksOf } from './judge.ts'

/** The number of rows read at a time, and the maximum per call. */
const piece = 100
const mostRows = 20_000

/** What was read so far. */
export interface Reading {
  readonly store: Store
  readonly wanted: { readonly session?: string; readonly retracted: boolean }
  readonly damaged: string[]
  readonly encrypted: string[]
  readonly retractions: Map<string, readonly Range[]>
  rows: number
}

/** After a row: `true` ends the reading for now, `end` this session's; `damaged` lists the session. */
export type Visited = boolean | 'end' | 'damaged'

/** Called with a message's row. */
type Visit = (row: StoredRow, blocks: BlocksOf) => Promise<Either<SearchFault, Visited>>

/**
 * Reads the messages of a session that its original does not show.
 *
 * @param below the row to start before. Default: the end
 * @returns the row to continue before, if the session was not read completely
 */
export async function* readMessages(
  state: Reading,
  info: SessionInfo,
  below: number = info.head.size,
  visit: Visit,
): Steps<SearchFault, number | undefined> {
  const { store, damaged, encrypted } = state
  if (info.encrypted && store.encryption === undefined) {
    encrypted.push(info.id)
    return undefined
  }
  const own = yield* ownRows(state, info)
  for (let to = below; to > 0; to -= piece) {
    if (state.rows >= mostRows) return to
    const from = Math.max(0, to - piece)
    const rows = await store.read(info.id, { from, to })()
    if (isLeft(rows)) {
      yield* endUnread(state, info, rows.left)
      return undefined
    }
    state.rows += rows.right.length
    const blocks = await blocksFor(store, rows.right)
    for (const row of rows.right.toReversed()) {
      if (row.kind !== 'entry') continue
      if (row.index < own.from) {
        if (own.retracted.length === 0) return undefined
        if (!isInRanges(own.retracted, row.index)) continue // its original session has it
      }
      const visited = yield* need(visit(row, blocks))
      if (visited === true) return row.position
      if (visited === 'end') return undefined
      if (visited === 'damaged' && !damaged.includes(info.id)) damaged.push(info.id)
    }
  }
  return undefined
}

/** Lists a session as damaged or encrypted; ignores one that was removed. */
export async function* endUnread(state: Reading, { id }: SessionInfo, fault: SearchFault): Steps<SearchFault, 'end'> {
  if (fault._tag === 'DamagedLog') {
    if (!state.damaged.includes(id)) state.damaged.push(id)
  } else if (fault._tag === 'NoKey') state.encrypted.push(id)
  else if (fault._tag !== 'NoSuchLog') yield* fail(fault)
  return 'end'
}

/** The messages of a fork that its source session does not show: its own, and those retracted there. */
async function* ownRows(
  state: Reading,
  { forkedFrom }: SessionInfo,
): Steps<SearchFault, { readonly from: number; readonly retracted: readonly Range[] }> {
  if (forkedFrom === undefined || state.wanted.session !== undefined) return { from: 0, retracted: [] }
  const { id, at } = forkedFrom
  const cuts = await untilFault(() => retractionsOf(state, id))
  if (isLeft(cuts) && cuts.left._tag === 'NoSuchLog') return { from: 0, retracted: [] }
  if (isLeft(cuts) && reportedForkFaults.has(cuts.left._tag)) return { from: at, retracted: [] }
  const known = yield* need(cuts)
  return { from: at, retracted: state.wanted.retracted ? [] : known.filter(({ from }) => from < at) }
}

/** Faults of the source session, which is then listed itself. Only the fork's own messages are read. */
const reportedForkFaults: ReadonlySet<string> = new Set(['DamagedLog', 'NoKey'])

/** Cost: O(notes of the session), once per call. */
export async function* retractionsOf(
  { store, retractions }: Reading,
  id: string,
): Steps<SearchFault, readonly Range[]> {
  const known = retractions.get(id)
  if (known !== undefined) return known
  const found = retractionsIn(yield* need(store.read(id, { only: 'note' })))
  retractions.set(id, found)
  return found
}
