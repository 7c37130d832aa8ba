/**
 * Erasing messages: a stub takes the place of each, and of every note that repeats it. Role, page kind, call ids, time and
 * leaf stay, so every proof of the rest still holds; the ledger of the scope says which, why, by whom and when.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, optionsOf, right } from '../json/index.ts'
import { erasedMessage, type Message } from '../message/index.ts'
import type { Note } from '../notes/index.ts'
import { decodeRow, erasedBody } from '../entry/index.ts'
import type { Because, Erased, EraseFault, RowsToErase, Store, StoredRow } from '../store/index.ts'
import type { Task } from '../task/index.ts'
import { sessionTask, type EraseSessionFault } from './fault.ts'
import { openStepsIn } from './journal.ts'
import { noteOf, rowOf, type Mirror } from './mirror.ts'
import { readMirror, type Opened } from './read.ts'
import { receiptOf, type ErasureReceipt } from './receipt.ts'
import { repeatsIn, subjectOf, type Subject } from './repeats.ts'
import { checkStore } from './store-of.ts'

/**
 * Erase messages of a session, sealed or not: their texts, the notes that repeat them (journals, tool starts, summaries made
 * of them), and the blocks that nothing else references. Every session that shares the messages shows them erased.
 *
 * A session that is open keeps in memory what it has read: open it again. Erasing the same messages again changes nothing,
 * removes what an open reader had kept in the file, and gives the receipt.
 *
 * Cost    that of opening the session, and a walk over all rows of the store for texts that are equal. SQLite also reads the
 *         file once, and rewrites it if copies of erased rows are found in it
 *
 * @param store the store that keeps the session
 * @param id the id of the session
 * @param positions the positions of the messages in the record
 * @param options why, and by whom: the ledger keeps both for good, so don't name in them what was erased
 * @returns the receipt; or `LogHeld` if the session, or one that shares the messages, is held; `NoSuchLog`, `BeyondEnd`
 * @example
 * const receipt = await eraseMessages(store, 'support-1', [3, 4], { reason: 'Art. 17 request 812', by: 'ann' })
 */
export const eraseMessages = (
  store: Store,
  id: string,
  positions: readonly number[],
  options?: Because,
): Task<EraseSessionFault, ErasureReceipt> => {
  checkStore('eraseMessages', store)
  return sessionTask(erasing('eraseMessages', store, id, positions, options), 'eraseMessages')
}

/** Copies and checks what is to be erased. @returns what erases it, when its turn has come */
export const erasing = (
  call: string,
  store: Store,
  id: string,
  positions: readonly number[],
  options: Because | undefined,
): (() => Promise<Either<EraseSessionFault, ErasureReceipt>>) => {
  const because = optionsOf(call, options, known)
  const wanted = [...new Set(positions)].toSorted((one, other) => one - other)
  return () => erase(store, id, wanted, because)
}

/** How often it is tried where the session grows meanwhile, or one that shares its messages is removed. */
const attempts = 50

const erase = async (
  store: Store,
  id: string,
  positions: readonly number[],
  because: Because,
): Promise<Either<EraseSessionFault, ErasureReceipt>> => {
  for (let attempt = 1; ; attempt++) {
    const opened = await readMirror(store, id)
    if (isLeft(opened)) return opened
    const { mirror } = opened.right
    const beyond = positions.find((at) => !(Number.isSafeInteger(at) && at >= 0 && at < mirror.history.len))
    if (beyond !== undefined) return left({ _tag: 'BeyondEnd', id, at: beyond, size: mirror.history.len })
    const planned = await planOf(store, opened.right, positions)
    if (isLeft(planned)) {
      if (isOutdated(planned.left, id) && attempt < attempts) continue
      return planned
    }
    const { logs, subject, sharing } = planned.right
    const erased: Either<EraseFault, Erased> = await store.erase({ logs, ...because })()
    if (!isLeft(erased))
      return receiptOf(store, opened.right, {
        positions,
        rows: positions.map((at) => rowOf(mirror, at)),
        texts: [...subject.texts, ...subject.inner],
        sharing,
        erased: erased.right,
      })
    if (!isOutdated(erased.left, id) || attempt === attempts) return erased
  }
}

/** Whether another has grown the session, or removed one that shares its messages, since the plan was begun. */
const isOutdated = (fault: EraseSessionFault, id: string): boolean =>
  fault._tag === 'Conflict' || (fault._tag === 'NoSuchLog' && fault.id !== id)

/** What is to be erased, in every log that has it. */
interface Plan {
  readonly logs: readonly RowsToErase[]
  readonly subject: Subject
  readonly sharing: readonly string[]
}

const planOf = async (
  store: Store,
  { mirror }: Opened,
  positions: readonly number[],
): Promise<Either<EraseSessionFault, Plan>> => {
  const { id, head } = mirror
  const subject = subjectOf(mirror.history.view(), positions)
  const rows: RowsToErase['rows'][number][] = []
  for (const at of positions) {
    const stub = await stubOf(store, mirror, at)
    if (isLeft(stub)) return stub
    rows.push({ position: rowOf(mirror, at), stub: stub.right })
  }
  const open = new Set(openStepsIn(mirror).map(({ step }) => step))
  const notes = [...mirror.notes.view()]
  for (const index of repeatsIn(notes, subject, open)) {
    const position = mirror.noteRows[index] as number // a row for each note
    if (!mirror.erased.has(position)) rows.push({ position, stub: noteStub(notes[index] as Note) })
  }
  const logs: RowsToErase[] = [{ id, expected: head, rows }]
  const shares = await store.sharing(id)()
  if (isLeft(shares)) return shares
  const first = rows.reduce((least, { position }) => Math.min(least, position), Infinity)
  const sharing = shares.right.filter((one) => one.rows > first)
  for (const one of sharing) {
    const others = await notesBehind(store, one.id, one.rows)
    if (isLeft(others)) return others
    const { head: expected, found } = others.right
    const all = found.map(({ note }) => note)
    const own = repeatsIn(all, subject, new Set()).map((index) => {
      const { position, note } = found[index] as (typeof found)[number]
      return { position, stub: noteStub(note) }
    })
    logs.push({ id: one.id, expected, rows: own })
  }
  return right({ logs, subject, sharing: sharing.map((one) => one.id) })
}

/** The body that stands for a message: its page kind as it was appended. */
const stubOf = async (store: Store, mirror: Mirror, at: number): Promise<Either<EraseSessionFault, string>> => {
  const position = rowOf(mirror, at)
  const read = await store.read(mirror.id, { from: position, to: position + 1 })()
  if (isLeft(read)) return read
  const [row] = read.right as readonly [StoredRow]
  const decoded = decodeRow(row.body)
  if (isLeft(decoded)) return left({ _tag: 'DamagedLog', id: mirror.id, position, reason: `the row ${decoded.left}` })
  return right(erasedBody(erasedMessage(mirror.history.view().at(at) as Message), decoded.right))
}

const noteStub = (note: Note): string => JSON.stringify({ type: 'erased', was: note.type } satisfies Note)

interface PlacedNote {
  readonly position: number
  readonly note: Note
}

/** The notes of a log behind its first rows, which it shares with another. */
const notesBehind = async (
  store: Store,
  id: string,
  from: number,
): Promise<
  Either<EraseSessionFault, { readonly head: RowsToErase['expected']; readonly found: readonly PlacedNote[] }>
> => {
  const info = await store.info(id)()
  if (isLeft(info)) return info
  const { head } = info.right
  const found: PlacedNote[] = []
  for (let start = from; start < head.size; start += 1000) {
    const rows = await store.read(id, { from: start, to: Math.min(start + 1000, head.size) })()
    if (isLeft(rows)) return rows.left._tag === 'NoKey' ? right({ head, found: [] }) : rows // the receipt names it
    for (const { kind, position, body } of rows.right) {
      const note = kind === 'note' ? noteOf(body) : undefined
      if (note !== undefined && !isLeft(note)) found.push({ position, note: note.right })
    }
  }
  return right({ head, found })
}

const known = { reason: true, by: true } as const
