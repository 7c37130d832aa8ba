/** The append methods of a session handle. Each call is one step of its writer. */
import { callCallback, FaultError, type CallbackThrew, type Task } from '../../task/index.ts'
import { blockIdOf } from '../../proof/internal.ts'
import { isLeft, isObject, left, optionsOf, ownField, ownFields, right, type Immutable } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import type { Store, StoreFault, StoreFaultOf } from '../../store/index.ts'
import { copyArgument } from '../../store/internal.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { conversationOf, momentAt, type LoadedRecord } from '../record/loaded-record.ts'
import { createPace, type Pace } from './pace.ts'
import {
  writableNote,
  type WritableNote,
  checkNoteInput,
  type NoteBlock,
  type NoteInput,
  messageRows,
  reachOf,
  retractionRows,
  rowsOfNote,
  withNotes,
  type Retract,
} from '../record/rows.ts'
import type {
  AppendOptions,
  MessagesInput,
  NewNote,
  NoteOptions,
  PopResult,
  RetractOptions,
  LeaseRespect,
  RewindOptions,
  Session,
  MessagesAndNotes,
} from '../session.ts'
import { sessionTask, type WriteFault } from '../fault.ts'
import { partsOf } from '../record/store-of.ts'
import type { WriteAnswer, Continues, AppendedMessages, Step, StepRows } from '../record/step.ts'
import type { Writer } from './writer.ts'

type AppendInput = Parameters<Session['append']>[0]

/**
 * Append to an open session, and store blocks with the notes that name them. Once these notes are erased or removed and
 * nothing else names a block, it is removed. The blocks are stored as they are, without redaction.
 */
export const appendWithBlocks = (
  session: Session,
  input: MessagesAndNotes,
  blocks: readonly Uint8Array[],
  options: AppendOptions = noOptions,
): Task<WriteFault, AppendedMessages> => {
  const { open, store } = partsOf(session) ?? {}
  if (open === undefined || store === undefined) throw new TypeError('appendWithBlocks takes an open session')
  const stored = blocks.map((bytes) => ({ id: blockIdOf(bytes, store.hash), bytes }))
  return sessionTask(() => open.appending.append(input, ownFields(options), stored), 'session.append')
}

export class Appending {
  readonly #store: Store
  readonly #record: LoadedRecord
  readonly #writer: Writer
  #pace: Pace | undefined

  constructor(store: Store, record: LoadedRecord, writer: Writer) {
    this.#store = store
    this.#record = record
    this.#writer = writer
  }

  /** @param stored blocks to store with the notes that name them */
  async append(
    input: AppendInput,
    options: AppendOptions,
    stored: readonly NoteBlock[] = [],
  ): Promise<WriteAnswer<AppendedMessages>> {
    const { messages, notes: newNotes } = inputsOf(input)
    const { expectedHead, expectedLen, expectedConversation: conversation, page } = options
    const rows = messageRows(this.#record, messages, page, this.#store)
    if (isLeft(rows)) return rows
    const notes: NoteInput[] = []
    for (const note of newNotes) {
      const checked = checkNoteInput(note, this.#record, this.#store, stored)
      if (isLeft(checked)) return checked
      notes.push(checked.right)
    }
    const allRows = (len: number): ReturnType<Step['rows']> => withNotes(this.#record, rows.right, notes, len)
    const isAtHead = expectedHead !== undefined // then notes are checked when their turn comes
    const now = notes.length === 0 ? rows : isAtHead ? undefined : allRows(expectedLen ?? this.#writer.len)
    if (now !== undefined && isLeft(now)) return now
    const continues: Continues = isAtHead
      ? { type: 'head', head: { ...expectedHead } }
      : { type: 'len', len: expectedLen, conversation }
    const write = (): ReturnType<Step['rows']> => now ?? allRows(this.#record.history.len)
    return this.#append(step(continues, options, write, notes.length, rows.right), notes)
  }

  /** Appends a step. The rows of an encrypted session can't have the blocks of notes, which are stored before them. */
  async #append(step: Step, notes: readonly NoteInput[]): Promise<WriteAnswer<AppendedMessages>> {
    const blocks = this.#record.encrypted ? notes.flatMap((note) => note.blocks.map(({ bytes }) => bytes)) : []
    if (blocks.length === 0) return this.#writer.append(step)
    const stored = this.#writer.alone(() => this.#store.putBlocks(blocks)())
    const appended = this.#writer.append(step) // called at once, so that it keeps its place among the appends
    const answer = await stored
    return isLeft(answer) && answer.left._tag !== 'SessionClosed' ? (await appended, answer) : appended
  }

  async rebase(
    make: Parameters<Session['rebase']>[0],
    options: Parameters<Session['rebase']>[1],
  ): Promise<WriteAnswer<AppendedMessages> | Either<CallbackThrew, never>> {
    const page = copyArgument(options?.page)
    const pace = (this.#pace ??= createPace(() => this.#record.foreign))
    await pace.begin()
    const began = pace.now()
    for (let tries = 1; ; tries++) {
      // At the head, not the length: an unseen retraction may change what `make` should return.
      const [conversation, head] = [conversationOf(this.#record), this.#record.head]
      const { called: before } = this.#writer
      const made = callCallback('make', () => make(conversation))
      if (isLeft(made)) {
        const unread = readFaultIn(made.left, this.#record.id)
        return unread === undefined ? made : left(unread)
      }
      if (this.#writer.called !== before) return left(selfAppending)
      const rows = messageRows(this.#record, made.right, page, this.#store)
      if (isLeft(rows)) return rows
      const sent = pace.now()
      const answer = await this.#writer.append(step({ type: 'head', head }, options, () => rows, 0, rows.right))
      if (!isLeft(answer)) pace.done(began, sent)
      if (!isLeft(answer) || answer.left._tag !== 'SessionConflict') return answer
      await pace.refused(tries)
    }
  }

  async pop(options: RetractOptions): Promise<WriteAnswer<PopResult>> {
    let popped: { readonly message: Immutable<Message> | undefined; readonly position: number | undefined } = none
    const retractLast: Retract = (conversation, len) => {
      const position = conversation.positionAt(-1)
      popped = position === undefined ? none : { message: conversation.at(-1), position }
      return position === undefined ? { from: len, to: len } : { from: position, to: position + 1 }
    }
    const answer = await this.#retract(retractLast, options)
    return isLeft(answer) ? answer : right(Object.freeze({ ...answer.right, ...popped }))
  }

  /** Retract all messages from a position, and append their replacements. */
  async rewind(to: number, options: RewindOptions): Promise<WriteAnswer<AppendedMessages>> {
    const { instead = [], page } = options
    const rows = messageRows(this.#record, instead, page, this.#store)
    return isLeft(rows) ? rows : this.#retract((_, len) => ({ from: to, to: len }), options, rows.right)
  }

  #retract(which: Retract, options: RetractOptions, instead?: StepRows): Promise<WriteAnswer<AppendedMessages>> {
    const expectedHead = options.expectedHead && { ...options.expectedHead }
    const write = (): ReturnType<Step['rows']> => {
      const at = expectedHead === undefined ? undefined : momentAt(this.#record, expectedHead.size).conversation
      return retractionRows(this.#record, at ?? conversationOf(this.#record), which, instead)
    }
    return this.#writer.append(step({ type: 'head', head: expectedHead }, options, write, 0, instead))
  }

  async note(note: NewNote, options: NoteOptions = noOptions): Promise<WriteAnswer<AppendedMessages>> {
    const checked = checkNoteInput(note, this.#record, this.#store)
    if (isLeft(checked)) return checked
    const write = (): WritableNote => writableNote(checked.right, this.#record)
    const waits = reachOf(checked.right.note) > this.#record.history.len // for messages that are still pending
    const now = waits ? undefined : write()
    if (now !== undefined && isLeft(now)) return now
    return this.#append({ ...this.#noteStep(() => now ?? write(), options, checked.right), waits }, [checked.right])
  }

  seal(options: LeaseRespect): Promise<WriteAnswer<AppendedMessages>> {
    return this.#writer.append({ ...this.#noteStep(() => right({ type: 'seal' }), options), seals: true })
  }

  /** @param make returns the note when its turn comes */
  #noteStep(make: () => WritableNote, options: NoteOptions, { blocks }: Partial<NoteInput> = {}): Step {
    const { expectedHead, expectedLen } = options
    const continues: Continues =
      expectedHead !== undefined
        ? { type: 'head', head: { ...expectedHead } }
        : expectedLen !== undefined
          ? { type: 'len', len: expectedLen }
          : { type: 'end' }
    const write = (): ReturnType<Step['rows']> => {
      const note = make()
      return isLeft(note) ? note : right(rowsOfNote(this.#record, note.right, blocks))
    }
    return step(continues, options, write, 1)
  }
}

/** @param messages the rows of its messages */
const step = (
  continues: Continues,
  { operation, respectLease }: Pick<NoteOptions, 'operation' | 'respectLease'> = noOptions,
  rows: Step['rows'],
  notes: number,
  messages?: StepRows,
): Step => ({
  continues,
  messages: messages?.rows.length ?? 0,
  notes,
  operation,
  respectLease: respectLease === true,
  rows,
  entries: messages?.entries ?? [],
})

/** Without a prototype, so that no option is read from one. */
export const noOptions: object = Object.freeze(optionsOf('session', undefined))

const none = Object.freeze({ message: undefined, position: undefined })

/** Without this check, `make` would be called again after each of its own appends, endlessly. */
const selfAppending: CallbackThrew = Object.freeze({
  _tag: 'CallbackThrew',
  callback: 'make',
  cause: new TypeError('it appended to the session itself: return the messages instead'),
})

/** The damage of a message that `make` read: messages are parsed when they are first read. */
const readFaultIn = ({ cause }: CallbackThrew, id: string): StoreFaultOf<'DamagedLog'> | undefined => {
  const fault = cause instanceof FaultError ? (cause as FaultError<StoreFault>).fault : undefined
  return fault?._tag === 'DamagedLog' && fault.id === id ? fault : undefined
}

/** The messages of an append, and its notes, which are copied. */
const inputsOf = (input: AppendInput): { readonly messages: MessagesInput; readonly notes: readonly NewNote[] } => {
  if (!isObject(input) || Object.hasOwn(input, 'role')) return { messages: input as MessagesInput, notes: [] }
  const notes = ownField(input as MessagesAndNotes, 'notes')
  const hasOnlyNotes = Object.hasOwn(input, 'notes') && !Object.hasOwn(input, 'messages')
  return {
    messages: hasOnlyNotes ? [] : (input as unknown as MessagesInput),
    notes: notes === undefined ? [] : copyArgument(notes),
  }
}
