/**
 * Withdraws queued inputs whose notes were erased. An erasure changes neither the head of a log nor what an open handle
 * has read of it, so a run could still take such an input. After this note its append is a conflict.
 */
import { isLeft } from '../../json/index.ts'
import type { InputNote } from '../../notes/internal.ts'
import type { Head, Store } from '../../store/index.ts'
import { fail, need, type Steps } from '../../task/index.ts'
import type { EraseSessionFault } from '../fault.ts'
import type { NotePlace } from '../record/journal.ts'
import { loadRecord } from '../record/read.ts'
import { stamp } from '../record/rows.ts'

/** A note of a log, and its row. */
export interface PlacedNote extends NotePlace {
  readonly position: number
}

/** The ids of queued inputs of one log. */
export interface QueuedInputs {
  readonly log: string
  readonly head: Head
  readonly ids: readonly string[]
}

/** The inputs among the notes to erase that no run has taken and nobody has cancelled. None of a sealed session. */
export const queuedIn = (notes: readonly PlacedNote[], erased: readonly PlacedNote[]): readonly string[] => {
  if (notes.some(({ note }) => note.type === 'seal')) return []
  const over = new Set(notes.flatMap(({ note }) => (note.type === 'input' && note.state !== 'queued' ? [note.id] : [])))
  return [...new Set(erased.flatMap(({ note }) => (note.type === 'input' && !over.has(note.id) ? [note.id] : [])))]
}

/**
 * Records that inputs are withdrawn, unless a run took them first.
 *
 * @param erasable whether rows of the session have a salt
 * @returns the positions of messages that runs have appended meanwhile, and that must be erased, too
 */
export async function* withdraw(
  store: Store,
  { log, head, ids }: QueuedInputs,
  erasable: boolean,
): Steps<EraseSessionFault, readonly number[]> {
  const note = (id: string): InputNote => ({ type: 'input', id, state: 'cancelled' })
  const taken: number[] = []
  let rest = ids
  let expected = head
  while (rest.length > 0) {
    const rows = rest.map((id) => ({ kind: 'note', body: JSON.stringify(note(id)) }) as const)
    const answer = await store.append(log, { expected, rows: yield* need(stamp(rows, store, erasable)) })()
    if (!isLeft(answer) || answer.left._tag === 'NoKey') break // the receipt lists a session without its key as unread
    if (answer.left._tag !== 'Conflict') yield* fail(answer.left as EraseSessionFault) // the rows are valid, and have no operation
    const { record } = yield* need(loadRecord(store, log))
    const moved = [...record.notes.view()].flatMap((found) =>
      found.type === 'input' && found.state !== 'queued' && rest.includes(found.id) ? [found] : [],
    )
    for (const { at } of moved) if (at !== undefined) taken.push(at)
    const over = new Set(moved.map(({ id }) => id))
    rest = rest.filter((id) => !over.has(id))
    expected = record.head
  }
  return taken
}
