/** The data that a view reads from a store: sessions, rows, nodes and blocks, in the shapes that the page uses. */
import { bytesToHex } from '@noble/hashes/utils.js'
import { proveHead, type EvidenceFault } from '@indelible/evidence'
import { isLeft, present } from 'indelible/internal/json'
import type { BlockId } from 'indelible/internal/proof'
import { describeSession, listSessions, type SessionInfo } from 'indelible/session'
import type { Store, StoredRow } from 'indelible/store'
import { isEncrypted, readEncrypted } from 'indelible/internal/store'
import { FaultError, reasonOf } from 'indelible/internal/task'
import type { FoundBlock, SessionList, ViewedEvidence, ViewedRow, ViewedSession } from '../protocol.ts'

/** The number of sessions on the first page, which is small so that it shows quickly, and on the others. */
const [firstSessions, moreSessions] = [100, 1000]

/** A page of sessions, last appended to first. */
export const sessionsOf = async (store: Store, after: string | null): Promise<SessionList> => {
  const { sessions, damaged, next } = await listSessions(store, {
    by: 'appended',
    limit: after === null ? firstSessions : moreSessions,
    ...(after !== null && { after }),
  })
  return {
    sessions: sessions.map(viewedSession),
    damaged: (damaged ?? []).map(({ id, reason }) => ({ id, reason })),
    ...(next !== undefined && { next }),
  }
}

export const sessionOf = async (store: Store, id: string): Promise<ViewedSession> =>
  viewedSession(await describeSession(store, id))

const viewedSession = (info: SessionInfo): ViewedSession => present({ ...info, erasable: undefined })

/** Rows of a session. Rows whose key is missing are returned as stored, so that they can be verified. */
export const rowsOf = async (store: Store, id: string, from: number, to: number): Promise<readonly ViewedRow[]> => {
  const read = await store.read(id, { from, to })()
  if (!isLeft(read)) return read.right.map(viewedRow)
  const bare = store.encryption?.bare
  if (read.left._tag !== 'NoKey' || bare === undefined) return (await store.read(id, { from, to })).map(viewedRow) // throws
  const rows = await bare.read(id, { from, to })
  const viewed: ViewedRow[] = []
  for (let start = 0; start < rows.length;) {
    // A fork's rows use the keys of both sessions, of which one may be available.
    let end = start + 1
    while (end < rows.length && keyOf(rows[end]) === keyOf(rows[start])) end++
    const single = await store.read(id, { from: from + start, to: from + end })()
    for (const row of isLeft(single) ? rows.slice(start, end) : single.right) viewed.push(viewedRow(row))
    start = end
  }
  return viewed
}

const keyOf = (row: StoredRow | undefined): string | undefined => row && readEncrypted(row.body)?.key

/** A row for display. */
export const viewedRow = ({ position, kind, index, body, at, salt, erased, stored }: StoredRow): ViewedRow => ({
  position,
  kind,
  index,
  ...(isEncrypted(body) ? { stored: body, state: 'encrypted' as const } : { body }),
  at,
  ...present({ salt, stored }),
  ...(erased !== undefined && { leaf: erased, state: 'erased' as const }),
})

/** The place of a session in the ledger; undefined if the scope has no ledger. */
export const evidenceOf = async (store: Store, id: string): Promise<ViewedEvidence | undefined> => {
  try {
    return { proof: await proveHead(store, id) }
  } catch (cause) {
    const none = cause instanceof FaultError && (cause.fault as EvidenceFault)._tag === 'NoLedger'
    return none && !('missing' in (cause.fault as object)) ? undefined : { why: reasonOf(cause) }
  }
}

export const nodesOf = async (store: Store, id: string, from: number, to: number): Promise<readonly string[]> =>
  (
    await store.nodes(
      id,
      Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index),
    )
  ).map(bytesToHex)

/** Blocks, those that are missing or altered marked. */
export const blocksOf = async (store: Store, ids: readonly BlockId[]): Promise<readonly FoundBlock[]> => {
  const found = await store.getBlocks(ids)()
  if (!isLeft(found)) return found.right
  if (found.left._tag !== 'DamagedBlock') return store.getBlocks(ids) // throws the fault
  const damaged = new Set(found.left.ids)
  const good = ids.filter((id) => !damaged.has(id))
  const rest = new Map((await blocksOf(store, good)).map((bytes, index) => [good[index], bytes]))
  return ids.map((id) => (damaged.has(id) ? 'altered' : rest.get(id)))
}
