/** Reads the inputs of turns from a session's notes, using a table of state transitions. */
import { describe, jsonEqual } from '../../json/index.ts'
import { isErased, type Message, type Sequence } from '../../message/index.ts'
import { messageIn } from '../../message/internal.ts'
import type { InputNote, Note, RetractionNote } from '../../notes/internal.ts'
import type { Session } from '../../session/index.ts'

/**
 * The state of an input. `queued`: no run has begun to answer it. `taken`: its message is in the record, and a run answers
 * it or has died. `waiting`: calls of its answer wait for an approval. `failed`: it can be asked again. `answered` and
 * `cancelled` are final.
 */
type InputState = InputNote['state']

/**
 * The transitions between states. A note with any other transition came too late and is ignored:
 * for example, a second process queued an input that a run had already taken.
 */
const inputMoves: { readonly [S in InputState | 'absent']: readonly InputState[] } = {
  absent: ['queued', 'taken', 'cancelled'], // cancelled: the note that queued it was erased
  queued: ['taken', 'cancelled'],
  taken: ['taken', 'waiting', 'answered', 'failed', 'cancelled'],
  waiting: ['taken', 'answered', 'failed', 'cancelled'],
  failed: ['queued', 'taken', 'cancelled'],
  answered: ['answered'], // its run continued with a message that arrived meanwhile
  cancelled: [],
}

/** An input of a turn that has an id. */
export interface Input {
  /** The id. */
  readonly id: string
  /** The state, as far as this handle has read the record. */
  readonly state: InputState
  /** The message, if the input was queued. */
  readonly message: Message | undefined
  /** The position of the message in the record, once taken. */
  readonly at: number | undefined
  /** The length of the record when it was answered; its answer ends there. */
  readonly end: number | undefined
  /** The stop reason of its run (`error` for a fault), or why it was cancelled. */
  readonly reason: string | undefined
}

/** Applies a note to an input. Returns the same input if the note came too late. */
export const stepInput = (known: Input | undefined, note: InputNote): Input | undefined => {
  if (!inputMoves[known?.state ?? 'absent'].includes(note.state)) return known
  const { id, state, message, at, reason } = note
  return {
    id,
    state,
    message: known?.message ?? (message === undefined ? undefined : messageIn(message)),
    at: known?.at ?? (state === 'taken' ? at : undefined),
    end: state === 'answered' ? at : undefined,
    reason,
  }
}

/** Applies a retraction, which withdraws an input together with its message. Answered inputs stay answered. */
const withdrawInput = (known: Input, { from, to }: RetractionNote): Input =>
  known.at !== undefined && known.at >= from && known.at < to && inputMoves[known.state].includes('cancelled')
    ? { ...known, state: 'cancelled', reason: 'its message was retracted' }
    : known

/** The inputs in the order of their first notes. Cost: O(notes), plus O(inputs) per retraction. */
export const inputsIn = (notes: Iterable<Note>): readonly Input[] => {
  const inputs = new Map<string, Input>()
  for (const note of notes) {
    if (note.type === 'retraction') for (const [id, known] of inputs) inputs.set(id, withdrawInput(known, note))
    if (note.type !== 'input') continue
    const next = stepInput(inputs.get(note.id), note)
    if (next !== undefined) inputs.set(note.id, next)
  }
  return [...inputs.values()]
}

/** The input whose run began a step, as it is now. Undefined for a run without an input. Cost: O(notes) */
export const inputOfStep = (notes: Sequence<Note>, step: string): Input | undefined => {
  const all = [...notes]
  const begun = all.findIndex((note) => note.type === 'journal' && note.step === step)
  const id = inputsIn(all.slice(0, begun)).find(({ state }) => state === 'taken')?.id
  return inputsIn(all).find((input) => input.id === id)
}

/**
 * The inputs of a session's turns that have an id, in the order in which they were asked, with their states.
 *
 * Call `session.refresh()` first to see what other processes did. An answer is `turn(session, message, { id, model })`.
 *
 * Cost    O(notes)
 *
 * @returns a frozen list
 * @example
 * inputsOf(session).filter(({ state }) => state === 'failed') // to ask again, under the same id
 */
export const inputsOf = (session: Pick<Session, 'notes'>): readonly Input[] => {
  if (typeof (Object(session) as Partial<typeof session>).notes !== 'function')
    throw new TypeError(`inputsOf takes a session, found ${describe(session)}`)
  return Object.freeze(inputsIn(session.notes()).map((input) => Object.freeze({ ...input })))
}

/** The answer to an input: the last assistant message between its message and its end. */
export const answerTo = ({ view }: Pick<Session, 'view'>, { at, end, state }: Input): Message | undefined =>
  at === undefined || state !== 'answered'
    ? undefined
    : [...view().slice(at, end)].findLast(({ role }) => role === 'assistant')

/** Whether an input has the same content as a message. True if its content was erased. */
export const saysSame = ({ view }: Pick<Session, 'view'>, input: Input, message: Message): boolean => {
  const content = input.message ?? (input.at === undefined ? undefined : view().at(input.at))
  return content === undefined || isErased(content) || jsonEqual(content, message)
}
