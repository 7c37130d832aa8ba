/** Reads the inputs of turns from a session's notes, using a table of state transitions. */
import { jsonEqual } from '../../json/index.ts'
import { isErased, type Message, type Sequence } from '../../message/index.ts'
import { messageIn } from '../../message/kit.ts'
import type { InputNote, Note, RetractionNote } from '../../notes/kit.ts'
import type { Session } from '../../session/index.ts'

/** The state of an input; before its first note it is `absent`. */
export type InputState = InputNote['state']

/**
 * The transitions between states. A note with any other transition came too late and is ignored:
 * for example, a second process queued an input that a run had already taken.
 */
export const inputMoves: { readonly [S in InputState | 'absent']: readonly InputState[] } = {
  absent: ['queued', 'taken'],
  queued: ['taken', 'cancelled'],
  taken: ['taken', 'waiting', 'answered', 'failed', 'cancelled'],
  waiting: ['taken', 'answered', 'failed', 'cancelled'],
  failed: ['queued', 'taken', 'cancelled'],
  answered: ['answered'], // its run continued with a message that arrived meanwhile
  cancelled: [],
}

/** An input of a turn. */
export interface Input {
  readonly id: string
  readonly state: InputState
  /** The message, if the input was queued. */
  readonly message: Message | undefined
  /** Its position in the record, once taken. */
  readonly at: number | undefined
  /** The length of the record when it was answered. */
  readonly end: number | undefined
}

/** Applies a note to an input. Returns the same input if the note came too late. */
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

/** Applies a retraction, which withdraws an input together with its message. Answered inputs stay answered. */
const withdrawInput = (known: Input, { from, to }: RetractionNote): Input =>
  known.at !== undefined && known.at >= from && known.at < to && inputMoves[known.state].includes('cancelled')
    ? { ...known, state: 'cancelled' }
    : known

/** The inputs in the order of their first notes. Cost: O(notes), plus O(inputs) per retraction. */
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

/** The answer to an input: the last assistant message between its message and its end. */
export const answerTo = ({ view }: Pick<Session, 'view'>, { at, end, state }: Input): Message | undefined =>
  at === undefined || state !== 'answered'
    ? undefined
    : [...view().slice(at, end)].findLast(({ role }) => role === 'assistant')

/** Whether an input has the same content as a message. True if its content was erased. */
export const saysSame = ({ view }: Pick<Session, 'view'>, input: Input, message: Message): boolean => {
  const said = input.message ?? (input.at === undefined ? undefined : view().at(input.at))
  return said === undefined || isErased(said) || jsonEqual(said, message)
}
