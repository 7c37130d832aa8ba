/** The inputs of turns, as the notes of a session have them: those that wait, in order, and what became of the others. */
import { isLeft } from '../json/index.ts'
import { decodeMessage, type Message, type Sequence } from '../message/index.ts'
import type { InputNote, Note } from '../notes/index.ts'
import type { Session } from '../session/index.ts'

/** An input of a turn. */
export interface Input {
  readonly id: string
  readonly state: InputNote['state']
  /** What is said. Undefined: it did not wait, and stands in the record only. */
  readonly message: Message | undefined
  /** Where it stands in the record, once it was taken. */
  readonly at: number | undefined
  /** How long the record was when it was done. */
  readonly end: number | undefined
}

/** The inputs in the order in which they came. Cost: O(notes). */
export const inputsIn = (notes: Sequence<Note>): readonly Input[] => {
  const inputs = new Map<string, Input>()
  for (const note of notes) {
    if (note.type !== 'input') continue
    const { id, state, message, at } = note
    const known = inputs.get(id)
    if (known?.state === 'done') continue
    inputs.set(id, {
      id,
      state: known?.state === 'taken' && state === 'queued' ? 'taken' : state,
      message: message === undefined ? known?.message : messageOf(message),
      at: state === 'taken' ? at : known?.at,
      end: state === 'done' ? at : undefined,
    })
  }
  return [...inputs.values()]
}

/** The answer to an input that is done: the last one of its turn. */
export const answerTo = ({ view }: Pick<Session, 'view'>, { at, end }: Input): Message | undefined =>
  at === undefined ? undefined : [...view().slice(at, end)].findLast(({ role }) => role === 'assistant')

const messageOf = (value: unknown): Message | undefined => {
  const decoded = decodeMessage(value)
  return isLeft(decoded) ? undefined : decoded.right
}
