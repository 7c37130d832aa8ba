/** The inputs of turns, read from the notes of a session, and the table of their states. */
import { jsonEqual } from '../../json/index.ts'
import { isErased, type Message, type Sequence } from '../../message/index.ts'
import { messageIn } from '../../message/kit.ts'
import type { InputNote, Note, RetractionNote } from '../../notes/kit.ts'
import type { Session } from '../../session/index.ts'

/** The state of an input; `absent` before its first note. */
export type InputState = InputNote['state']

/**
 * The states that may follow each state. A note that says another one came too late and changes nothing: an input that was
 * queued by its second process after a run took it, for one.
 */
export const inputMoves: { readonly [S in InputState | 'absent']: readonly InputState[] } = {
  absent: ['queued', 'taken'],
  queued: ['taken', 'cancelled'],
  taken: ['taken', 'waiting', 'answered', 'failed', 'cancelled'],
  waiting: ['taken', 'answered', 'failed', 'cancelled'],
  failed: ['queued', 'taken', 'cancelled'],
  answered: ['answered'], // its run went on, with what was said meanwhile
  cancelled: [],
}

/** An input of a turn. */
export interface Input {
  readonly id: string
  readonly state: InputState
  /** The message, if it was queued. */
  readonly message: Message | undefined
  /** Its position in the record, once it was taken. */
  readonly at: number | undefined
  /** How long the record was when it was answered. */
  readonly end: number | undefined
}

/** An input after one more note of it. The same one: the note came too late. */
export const stepInput = (known: Input | undefined, note: InputNote): Input | undefined => {
  if (!inputMoves[known?.state ?? 'absent'].includes(note.state)) return known
  const { id, state, message, at } = note
  return {
    id,
    state,
    message: known?.message ?? (message === undefined ? undefined : messageIn(message)),
    at: known?.at ?? (state === 'taken' ? at : undefined),
    end: state === 'answered' ? at : undefined,
  }
}

/** An input after a retraction, which withdraws it with its message. One that was answered stays answered. */
const withdrawInput = (known: Input, { from, to }: RetractionNote): Input =>
  known.at !== undefined && known.at >= from && known.at < to && inputMoves[known.state].includes('cancelled')
    ? { ...known, state: 'cancelled' }
    : known

/** The inputs in the order of their first notes. Cost: O(notes), and O(inputs) for each retraction. */
export const inputsIn = (notes: Sequence<Note>): readonly Input[] => {
  const inputs = new Map<string, Input>()
  for (const note of notes) {
    if (note.type === 'retraction') for (const [id, known] of inputs) inputs.set(id, withdrawInput(known, note))
    if (note.type !== 'input') continue
    const next = stepInput(inputs.get(note.id), note)
    if (next !== undefined) inputs.set(note.id, next)
  }
  return [...inputs.values()]
}

/** The answer to an input: the last one between its message and its end. */
export const answerTo = ({ view }: Pick<Session, 'view'>, { at, end, state }: Input): Message | undefined =>
  at === undefined || state !== 'answered'
    ? undefined
    : [...view().slice(at, end)].findLast(({ role }) => role === 'assistant')

/** Whether an input has the content of a message. True if that can't be compared because it was erased. */
export const saysSame = ({ view }: Pick<Session, 'view'>, input: Input, message: Message): boolean => {
  const said = input.message ?? (input.at === undefined ? undefined : view().at(input.at))
  return said === undefined || isErased(said) || jsonEqual(said, message)
}
