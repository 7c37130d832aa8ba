/** The append methods of a session handle. Each call is one step of its writer. */
import { callCallback, FaultError, type CallbackThrew } from '../../task/index.ts'
import type { Immutable } from '../../history/index.ts'
import { isArray, isLeft, left, optionsOf, ownField, right } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import { rangeDigest, type Note } from '../../notes/kit.ts'
import type { LogFault, Store, StoreFault, StoreFaultOf } from '../../store/index.ts'
import { copyArgument } from '../../store/kit.ts'
import type { Either } from 'fp-ts/lib/Either.js'
import { conversationOf, momentAt, type Mirror } from '../record/mirror.ts'
import { createPace, type Pace } from './pace.ts'
import {
  noteRefusal,
  retractFrom,
  checkNoteInput,
  retractLast,
  listOf,
  messageRows,
  reachOf,
  retractionRows,
  rowsOfNote,
  conversationIn,
  withNotes,
  type Retract,
} from '../record/rows.ts'
import type {
  Appendable,
  AppendOptions,
  NewSummary,
  NoteOptions,
  PopResult,
  RetractOptions,
  LeaseRespect,
  RewindOptions,
  Session,
  MessagesAndNotes,
} from '../session.ts'
import type { WriteAnswer, Continues, AppendedMessages, Step, StepRows } from '../record/step.ts'
import type { Writer } from './writer.ts'

type AppendInput = Parameters<Session['append']>[0]

/** The queue of a session's writers. A refused writer waits in it, and appends on its turn. */
interface Line {
  /** The store's `turn`: resolves when all earlier writers are done. */
  readonly take: () => Promise<Either<LogFault, () => void>>
  /** Ends the current turn; undefined without one. */
  leave: (() => void) | undefined
}

/** Wait for a turn, unless the writer has one. */
const waitForTurn = async (line: Line): Promise<Either<LogFault, void>> => {
  if (line.leave !== undefined) return right(undefined)
  const taken = await line.take()
  if (isLeft(taken)) return taken
  line.leave = taken.right
  return right(undefined)
}

export class Appending {
  readonly #store: Store
  readonly #mirror: Mirror
  readonly #writer: Writer
  readonly #pace: Pace
  /** True if the last `rebase` met other writers. The next one then starts with a turn. */
  #crowded = false

  constructor(store: Store, mirror: Mirror, writer: Writer) {
    this.#store = store
    this.#mirror = mirror
    this.#writer = writer
    this.#pace = createPace(() => mirror.foreign)
  }

  async append(given: AppendInput, options: AppendOptions): Promise<WriteAnswer<AppendedMessages>> {
    const together = copyAppendInput(given)
    const { messages } = together
    const notes = together.notes.length === 0 ? together.notes : copyArgument(together.notes)
    const { expectedHead, expectedLen, expectedConversation: conversation, page } = options
    const said = messageRows(this.#mirror, messages, page, this.#store)
    if (isLeft(said)) return said
    const allRows = (len: number): ReturnType<Step['rows']> =>
      notes.length === 0 ? said : withNotes(this.#mirror, said.right, notes, len)
    const counts = { messages: messages.length, notes: notes.length }
    if (expectedHead !== undefined)
      return this.#writer.append(
        step({ type: 'head', head: { ...expectedHead } }, options, counts, () => allRows(this.#mirror.history.len)),
      )
    const now = notes.length === 0 ? said : allRows(expectedLen ?? this.#writer.len)
    if (isLeft(now)) return now
    return this.#writer.append(step({ type: 'len', len: expectedLen, conversation }, options, counts, () => now))
  }

  async rebase(
    make: Parameters<Session['rebase']>[0],
    options: Parameters<Session['rebase']>[1],
  ): Promise<WriteAnswer<AppendedMessages> | Either<CallbackThrew, never>> {
    const page = copyArgument(options?.page)
    const { turn } = this.#store
    if (turn === undefined) return this.#rebase(make, page, options, undefined)
    const line: Line = { take: () => turn(this.#mirror.id)(), leave: undefined }
    try {
      const entered = this.#crowded ? await waitForTurn(line) : undefined
      return entered !== undefined && isLeft(entered) ? entered : await this.#rebase(make, page, options, line)
    } finally {
      line.leave?.()
    }
  }

  /** @param line the queue for turns. Undefined if the store has none; then writers pause */
  async #rebase(
    make: Parameters<Session['rebase']>[0],
    page: AppendOptions['page'],
    options: Parameters<Session['rebase']>[1],
    line: Line | undefined,
  ): Promise<WriteAnswer<AppendedMessages> | Either<CallbackThrew, never>> {
    if (line === undefined) await this.#pace.begin()
    const began = this.#pace.now()
    for (let tries = 1; ; tries++) {
      // At the head, not the length: an unseen retraction may change what `make` should return.
      const [conversation, head] = [conversationOf(this.#mirror), this.#mirror.head]
      const { called: before } = this.#writer
      const makeSummary = callCallback('make', () => make(conversation))
      if (isLeft(makeSummary)) {
        const unread = readFaultIn(makeSummary.left, this.#mirror.id)
        return unread === undefined ? makeSummary : left(unread)
      }
      if (this.#writer.called !== before) return left(selfAppending)
      const rows = messageRows(this.#mirror, makeSummary.right, page, this.#store)
      if (isLeft(rows)) return rows
      const counts = { messages: rows.right.rows.length, notes: 0 }
      const sent = this.#pace.now()
      const respectTurns = line !== undefined && line.leave === undefined
      const next = step({ type: 'head', head }, options, counts, () => rows)
      const answer = await this.#writer.append({ ...next, respectTurns })
      this.#crowded = tries > 1
      if (!isLeft(answer)) this.#pace.done(began, sent)
      const gaveWay = respectTurns && isLeft(answer) && answer.left._tag === 'Conflict'
      if (!isLeft(answer) || !(gaveWay || answer.left._tag === 'SessionConflict')) return answer
      const waited = line === undefined ? await this.#pace.refused(tries) : await waitForTurn(line)
      if (waited !== undefined && isLeft(waited)) return waited
    }
  }

  async pop(options: RetractOptions): Promise<WriteAnswer<PopResult>> {
    let popped: { readonly message: Immutable<Message> | undefined; readonly position: number | undefined } = none
    const retractNewest: Retract = (conversation, len) => {
      const message = conversation.at(-1)
      popped = message === undefined ? none : { message, position: conversation.positionAt(-1) }
      return retractLast(conversation, len)
    }
    const answer = await this.#retract(retractNewest, options)
    return isLeft(answer) ? answer : right(Object.freeze({ ...answer.right, ...popped }))
  }

  /** Retract all messages from a position, and append their replacements. */
  async rewind(to: number, options: RewindOptions): Promise<WriteAnswer<AppendedMessages>> {
    const { instead = [], page } = options
    const rows = messageRows(this.#mirror, instead, page, this.#store)
    return isLeft(rows) ? rows : this.#retract(retractFrom(to), options, rows.right)
  }

  #retract(which: Retract, options: RetractOptions, instead?: StepRows): Promise<WriteAnswer<AppendedMessages>> {
    const expectedHead = options.expectedHead && { ...options.expectedHead }
    const counts = { messages: instead?.rows.length ?? 0, notes: 0 }
    return this.#writer.append(
      step({ type: 'head', head: expectedHead }, options, counts, () => {
        const at = expectedHead === undefined ? undefined : momentAt(this.#mirror, expectedHead.size).conversation
        return retractionRows(this.#mirror, at ?? conversationOf(this.#mirror), which, instead)
      }),
    )
  }

  async note(given: Note, options: NoteOptions = noOptions): Promise<WriteAnswer<AppendedMessages>> {
    const decoded = checkNoteInput(given, this.#mirror)
    return isLeft(decoded) ? decoded : this.#write(() => decoded, reachOf(decoded.right), options)
  }

  summarize({ ...summary }: NewSummary, options: LeaseRespect): Promise<WriteAnswer<AppendedMessages>> {
    const makeSummary = (): ReturnType<typeof checkNoteInput> => {
      const sourceDigest = rangeDigest(conversationIn(this.#mirror, summary))
      return checkNoteInput({ type: 'summary', ...summary, sourceDigest }, this.#mirror)
    }
    return this.#write(makeSummary, summary.to, options)
  }

  seal(options: LeaseRespect): Promise<WriteAnswer<AppendedMessages>> {
    return this.#writer.append({ ...this.#noteStep(() => right({ type: 'seal' }), options), seals: true })
  }

  /** Append a note. If it refers to pending messages, it is made and checked once they are stored. */
  async #write(
    makeSummary: () => ReturnType<typeof checkNoteInput>,
    reach: number,
    options: NoteOptions,
  ): Promise<WriteAnswer<AppendedMessages>> {
    const checkSummary = (): ReturnType<typeof checkNoteInput> => {
      const note = makeSummary()
      const reason = isLeft(note) ? undefined : noteRefusal(note.right, this.#mirror)
      return reason === undefined ? note : left({ _tag: 'InvalidNote', reason })
    }
    const waits = reach > this.#mirror.history.len
    const now = waits ? undefined : checkSummary()
    if (now !== undefined && isLeft(now)) return now
    return this.#writer.append({ ...this.#noteStep(() => now ?? checkSummary(), options), waits })
  }

  #noteStep(makeSummary: () => ReturnType<typeof checkNoteInput>, options: NoteOptions): Step {
    const { expectedHead, expectedLen } = options
    const continues: Continues =
      expectedHead !== undefined
        ? { type: 'head', head: { ...expectedHead } }
        : expectedLen !== undefined
          ? { type: 'len', len: expectedLen }
          : { type: 'end' }
    return step(continues, options, { messages: 0, notes: 1 }, () => {
      const note = makeSummary()
      return isLeft(note) ? note : right(rowsOfNote(this.#mirror, note.right))
    })
  }
}

const step = (
  continues: Continues,
  { operation, respectLease }: Pick<NoteOptions, 'operation' | 'respectLease'> = noOptions,
  counts: Pick<Step, 'messages' | 'notes'>,
  rows: Step['rows'],
): Step => ({ continues, ...counts, operation, respectLease: respectLease === true, rows })

const noOptions: object = Object.freeze(optionsOf('session', undefined))

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

const copyAppendInput = (
  given: AppendInput,
): { readonly messages: readonly Appendable[]; readonly notes: readonly Note[] } => {
  const isTogether =
    typeof given === 'object' && // otherwise `decodeMessage` rejects it
    given !== null &&
    !isArray(given) &&
    !Object.hasOwn(given, 'role') &&
    (Object.hasOwn(given, 'messages') || Object.hasOwn(given, 'notes'))
  if (!isTogether) return { messages: listOf(given as Appendable | readonly Appendable[]), notes: [] }
  const together = given as MessagesAndNotes
  return { messages: listOf(ownField(together, 'messages') ?? []), notes: ownField(together, 'notes') ?? [] }
}
