/** What a view reads of a store: sessions, rows, nodes and blocks, in the shapes that the page is given. */
import { bytesToHex } from '@noble/hashes/utils.js'
import { isLeft } from '../json/index.ts'
import type { BlockId } from '../proof/index.ts'
import { describeSession, listSessions, type SessionInfo } from '../session/index.ts'
import type { Store, StoredRow } from '../store/index.ts'
import type { SessionList, ViewedRow, ViewedSession } from './protocol.ts'

/** All sessions, the last one appended to first. */
export const sessionsOf = async (store: Store): Promise<SessionList> => {
  const sessions: ViewedSession[] = []
  const damaged: SessionList['damaged'][number][] = []
  let after: string | undefined
  do {
    const page = await listSessions(store, { by: 'appended', limit: 1000, ...(after !== undefined && { after }) })
    for (const info of page.sessions) sessions.push(viewedSession(info))
    for (const { id, reason } of page.damaged ?? []) damaged.push({ id, reason })
    after = page.next
  } while (after !== undefined)
  return { sessions, damaged }
}

/** One session. */
export const sessionOf = async (store: Store, id: string): Promise<ViewedSession> =>
  viewedSession(await describeSession(store, id))

const viewedSession = ({
  id,
  len,
  head,
  created,
  appended,
  metadata,
  forkedFrom,
  encrypted,
}: SessionInfo): ViewedSession => ({
  id,
  len,
  head,
  created,
  appended,
  metadata,
  ...(forkedFrom && { forkedFrom }),
  ...(encrypted && { encrypted }),
})

/** Rows of a session. */
export const rowsOf = async (store: Store, id: string, from: number, to: number): Promise<readonly ViewedRow[]> =>
  (await store.read(id, { from, to })).map(viewedRow)

/** A row as it is shown. */
export const viewedRow = ({ position, kind, index, body, at, salt, erased, stored }: StoredRow): ViewedRow => ({
  position,
  kind,
  index,
  body,
  ...(at !== undefined && { at }),
  ...(salt !== undefined && { salt }),
  ...(stored !== undefined && { stored }),
  ...(erased !== undefined && { leaf: erased, state: 'erased' as const }),
})

/** The tree nodes beside rows. */
export const nodesOf = async (store: Store, id: string, from: number, to: number): Promise<readonly string[]> =>
  (
    await store.nodes(
      id,
      Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index),
    )
  ).map(bytesToHex)

/** Blocks; undefined for each that is missing or damaged. One that is damaged does not hide the others. */
export const blocksOf = async (store: Store, ids: readonly BlockId[]): Promise<readonly (Uint8Array | undefined)[]> => {
  const found = await store.getBlocks(ids)()
  if (!isLeft(found)) return found.right
  if (found.left._tag !== 'DamagedBlock') return store.getBlocks(ids) // throws the fault
  const damaged = new Set(found.left.ids)
  const good = ids.filter((id) => !damaged.has(id))
  const rest = new Map((await blocksOf(store, good)).map((bytes, index) => [good[index], bytes]))
  return ids.map((id) => rest.get(id))
}
