/** Rows for the cases, and their expected stored forms. */
import { treeRoot, type Hash } from 'indelible/internal/proof'
import type { Append, AppendedRows, Head, ListQuery, LogInfo, Row, Store, StoredRow } from 'indelible/store'
import { rowLeaf, storeFaultText, type TimedRow } from 'indelible/internal/store'
import { isLeft, present } from 'indelible/internal/json'
import { valueOrThrow } from './check.ts'

/** The default time of rows. */
const moment = 1_700_000_000_000

export const entry = (body: string): TimedRow => ({ kind: 'entry', body, at: moment })

export const note = (body: string): TimedRow => ({ kind: 'note', body, at: moment })

/** A row with another time, and a salt if given. */
export const withTime = (row: Row, at: number, salt?: string): TimedRow => ({
  ...row,
  at,
  ...present({ salt }),
})

/** Rows with different texts, every third one a note. */
export const someRows = (count: number, text = 'row'): TimedRow[] =>
  Array.from({ length: count }, (_, index) => (index % 3 === 2 ? note(`${text} ${index}`) : entry(`${text} ${index}`)))

/** The expected stored rows, from the definitions of position and index. */
export const storedRowsOf = (rows: readonly TimedRow[]): StoredRow[] =>
  rows.map(({ kind, body, at, salt }, position) => ({
    position,
    kind,
    index: rows.slice(0, position).filter((row) => row.kind === kind).length,
    body,
    at,
    ...present({ salt }),
  }))

/** The expected head of a log of these rows. */
export const headOfRows = (rows: readonly TimedRow[], hash: Hash): Head => ({
  size: rows.length,
  root: Array.from(
    treeRoot(
      rows.map((row) => rowLeaf(row, hash)),
      hash,
    ),
    (byte) => byte.toString(16).padStart(2, '0'),
  ).join(''),
})

/** A log with these rows, added in one append. */
export const createLogWith = async (store: Store, id: string, rows: readonly Row[] = []): Promise<LogInfo> => {
  const { head } = await valueOrThrow(store.create({ id, encrypt: false }))
  if (rows.length > 0) await valueOrThrow(store.append(id, { expected: head, rows }))
  return valueOrThrow(store.info(id))
}

/** Append at the current head. */
export const add = async (
  store: Store,
  id: string,
  rows: readonly Row[],
  more: Partial<Append> = {},
): Promise<AppendedRows> =>
  valueOrThrow(store.append(id, { expected: (await valueOrThrow(store.info(id))).head, rows, ...more }))

/** The bodies of a log's rows. */
export const bodiesOf = async (store: Store, id: string): Promise<readonly string[]> =>
  (await valueOrThrow(store.read(id))).map(({ body }) => body)

export const listedIds = async (store: Store, query: ListQuery = {}): Promise<readonly string[]> =>
  (await valueOrThrow(store.list(query))).logs.map(({ id }) => id)

export const storeInScope = (store: Store, scope: string): Store => {
  const scoped = store.scoped(scope)
  if (isLeft(scoped)) throw new Error(storeFaultText(scoped.left))
  return scoped.right
}

export const canErase = async (store: Store): Promise<boolean> => {
  const answer = await store.sharing('none')()
  return !isLeft(answer) || answer.left._tag !== 'CannotErase'
}
