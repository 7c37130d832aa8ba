/** Reads a damaged session: a placeholder replaces each altered row, and all other rows are read normally. */
import type { Either, Left } from 'fp-ts/lib/Either.js'
import { isLeft, right } from '../../json/index.ts'
import { user } from '../../message/index.ts'
import { emptyRange, rootOf, hexOf, type CompactRange } from '../../proof/internal.ts'
import type { LogFault, LogInfo, Store, StoredRow } from '../../store/index.ts'
import { isInTree, rangeAt } from '../../store/internal.ts'
import { addNote, addTimes, takeRows, type LoadedRecord } from './loaded-record.ts'

/** Read all rows into an empty record, and list the altered ones in its `damaged`. */
export const readDamaged = async (
  store: Store,
  record: LoadedRecord,
  log: LogInfo,
): Promise<Either<LogFault, LogInfo>> => {
  const { id, head } = log
  const nodes: (Uint8Array | undefined)[] = []
  for (let position = 0; position < head.size; position++) {
    const found = await rowAt(store, record, position)
    if (isLeft(found)) return found
    const node = await store.nodes(id, [position])()
    const failure = failureOf(node)
    if (failure !== undefined) return failure
    nodes.push(isLeft(node) ? undefined : node.right[0])
    const { row, damage } = found.right
    const reason = damage ?? (isInTree(row, position, (at) => nodes[at], store.hash) ? undefined : alteredRow)
    const taken = reason === undefined ? await takeRows(store, record, position, [row]) : undefined
    const untaken = taken && failureOf(taken)
    if (untaken !== undefined && untaken.left._tag !== 'NoKey') return untaken
    if (taken === undefined || isLeft(taken)) markDamaged(record, position, row, reason ?? reasonIn(taken?.left))
  }
  const range = await rangeAt(store, id, head.size)()
  const failure = failureOf(range)
  if (failure !== undefined) return failure
  record.range = isLeft(range) ? emptyRange : range.right
  record.head = head
  if (record.damaged.length === 0 && rootIn(record.range, store) !== head.root)
    record.damaged.push(Object.freeze({ row: head.size, reason: 'the head does not match the rows' }))
  return right(log)
}

const alteredRow = 'the row was altered after it was appended'
const unreadableReason = 'the row can not be read'

const rootIn = (range: CompactRange, { hash }: Store): string => hexOf(rootOf(range, hash))

/** The failure of a call, if any. Damage is not a failure here: it gets a placeholder. */
const failureOf = (answer: Either<LogFault, unknown>): Left<LogFault> | undefined =>
  isLeft(answer) && answer.left._tag !== 'DamagedLog' ? answer : undefined

const reasonIn = (fault: LogFault | undefined): string =>
  fault?._tag === 'DamagedLog' ? fault.reason : unreadableReason

/** The stored row, or an empty one with the damage if it can't be read. */
const rowAt = async (
  store: Store,
  { id, times }: LoadedRecord,
  position: number,
): Promise<Either<LogFault, { readonly row: StoredRow; readonly damage?: string }>> => {
  const range = { from: position, to: position + 1 }
  const read = await store.read(id, range)()
  const failure = failureOf(read)
  if (failure !== undefined) return failure
  const [row] = isLeft(read) ? [] : read.right
  if (row !== undefined) return right({ row: { ...row } }) // read once: it is compared with its leaf, then decoded
  const bare = isLeft(read) ? await store.encryption?.bare.read(id, range)() : undefined
  const [stored] = bare === undefined || isLeft(bare) ? [] : bare.right
  const damage = isLeft(read) ? reasonIn(read.left) : 'the row is missing'
  const nothing: StoredRow = { position, kind: 'entry', index: 0, body: '', at: times.at(-1) ?? 0 }
  return right({ row: stored ?? nothing, damage })
}

const markDamaged = (record: LoadedRecord, row: number, { kind, at }: StoredRow, reason: string): void => {
  const position = record.history.len
  record.damaged.push(Object.freeze(kind === 'note' ? { row, reason } : { row, position, reason }))
  if (kind === 'note')
    addNote(record, row, Object.freeze({ type: 'application', namespace: 'indelible.damaged', content: { reason } }))
  else record.history.append(user(`[message ${position} is damaged: ${reason}. Its text is not shown.]`), 'evidence')
  addTimes(record, [{ at, salt: undefined, erased: undefined }])
}
