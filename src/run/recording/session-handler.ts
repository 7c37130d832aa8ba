/**
 * Records a run in a session. Everything is recorded as soon as it is finished.
 *
 * During a step its parts are written as notes (the journal): complete blocks, the complete answer,
 * started calls, results. At its end one append writes the messages and closes the journal. If the
 * process dies first, `pending(session)` and `resume` restore the messages from the notes.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { HistoryDelta } from '../../history/index.ts'
import {
  isLeft,
  jsonEqual,
  left,
  ownField,
  right,
  type Json,
  type JsonObject,
  ownFields,
  optionsOf,
  present,
  type OptionNames,
} from '../../json/index.ts'
import type { Message, Part, Repair } from '../../message/index.ts'
import { callsOf } from '../../message/internal.ts'
import type { JournalBlock, JournalNote, Note, Usage } from '../../notes/internal.ts'
import { createRedactor, type Redact, type Redactor } from '../../redact/index.ts'
import type { Session, WriteFault } from '../../session/index.ts'
import { openStepsOf, redactorOf, type LeaseSessionFault, type NewReceipt } from '../../session/internal.ts'
import type { Head } from '../../store/index.ts'
import { amount, clockOf, type Clock, type Timer } from '../../task/index.ts'
import type { RunEvent, SentRequest } from '../event.ts'
import type { LookAhead, RunHandler } from '../handler.ts'
import { acquireRunLease, checkRunLease, type RunLease, type RunLeaseOptions } from './run-lease.ts'
import { hasWaited, markWaiting, unmarkWaiting } from './waiting-marker.ts'

/** How a run is recorded in a session. */
export interface SessionHandlerOptions {
  /**
   * How often to write the text of a streaming answer: the most a crash can lose. `ms`: the maximum
   * milliseconds, default 1,000. `bytes`: the maximum bytes, default `Infinity`; with a fast model
   * a limit costs more round trips. Complete blocks, calls and results are always written at once.
   */
  readonly journalEvery?: {
    /** Milliseconds. */
    readonly ms?: number
    /** Bytes of UTF-8 text. */
    readonly bytes?: number
  }
  /** The clock for `journalEvery`. Default: the system's. */
  readonly clock?: Clock
  /** How the run holds the session. `false`: not at all, so other runs can write at the same time. */
  readonly lease?: RunLeaseOptions | false
  /**
   * Removes secrets from everything that is written. The run itself continues with the originals.
   * Default: the session's own redaction.
   */
  readonly redact?: Redact
}

type Answer = Either<WriteFault, unknown>

type NewNote = Parameters<Session['note']>[0]

/** A handler that records in a session. Called without `ahead`, it writes no journal. */
export type SessionHandler = ((event: RunEvent, ahead?: LookAhead) => Promise<Either<WriteFault, unknown>>) &
  Required<Pick<RunHandler, 'begin' | 'end' | 'lookAhead'>>

/** The part of a session that the handler needs. Without `lease` the session is not held. */
type RecordingSession = Pick<Session, 'append' | 'note' | 'head' | 'len'> &
  Partial<Pick<Session, 'id' | 'lease' | 'conversation'>>

/**
 * Records a run in a session, so that a crash loses nothing that was finished. The run holds the session's lease: a
 * second run fails with `SessionBusy`, and `store.requestStop(id)` from any process ends it as `cancelled`.
 *
 * Each delta is durable before the next step starts. A delta that is repeated after a retry or a crash is stored
 * once, because its id is the operation. Between deltas, notes (`journal`) are durable before their events are
 * emitted: each block completed by the model, each call before its tool runs, each result. Of streaming text, at most
 * the last second can be lost.
 *
 * If another writer appends, the run ends with the conflict. Everything the step had finished stays in the journal,
 * for `pending(session)` and `resume`. If messages are retracted meanwhile (`pop`, `rewind`), the run also ends
 * with the conflict, and the step is discarded.
 *
 * In a run with `receipts`, each model call leaves a note of what was sent (`receipt`), in the append of its answer; an
 * interrupted one in an append of its own. It has the record's head at that time: `session.at(receipt.head)` returns the record that the
 * context was derived from.
 *
 * Cost    an answer with only text: one append. With calls: one for the answer, one for calls that start together,
 *         one for results that arrive together, and one at the end, which includes the last results (bench: run)
 */
export const sessionHandler = (session: RecordingSession, options: SessionHandlerOptions = {}): SessionHandler =>
  handlerOf(new Recording(session, optionsOf('sessionHandler', options, optionNames)))

/** The same with a lease that is already held and is not released here. The last delta marks `input` as answered. */
export const recordingHandler = (
  session: RecordingSession,
  options: Pick<SessionHandlerOptions, 'journalEvery' | 'clock'>,
  lease: RunLease,
  input: string | undefined,
): SessionHandler => handlerOf(new Recording(session, ownFields({ ...options, lease: false as const }), lease, input))

const handlerOf = (recording: Recording): SessionHandler =>
  Object.freeze(
    Object.assign((event: RunEvent, ahead?: LookAhead) => recording.take(event, ahead), {
      begin: (stop: (reason: string) => void) => recording.begin(stop),
      end: () => recording.end(),
      lookAhead: groupingMs,
    }),
  )

/** Milliseconds: blocks that end this close together share a note. The delay is not noticeable. */
const groupingMs = 25

/** Pending journal entries, to be written as one note. */
interface Entry {
  readonly said: JournalBlock[]
  answer?: JsonObject
  together?: boolean
  readonly started: string[]
  readonly results: JsonObject[]
  waiting?: readonly string[]
  external?: readonly string[]
}

const emptyEntry = (): Entry => ({ said: [], started: [], results: [] })

interface Step {
  readonly id: string
  /** Whether any of it is in the journal. */
  written: boolean
  /** By block index. */
  readonly blocks: Map<number, Block>
  /** Whether the complete answer is in the journal. */
  answered: boolean
  /** The ids of calls whose results are in the journal. */
  readonly results: Set<string>
  /** Whether the step is discarded unless a delta follows. */
  discarded: boolean
  appended: { readonly delta: HistoryDelta<Message>; readonly answer: Promise<Answer> } | undefined
  /** Whether the receipt of its answer is in the append of its messages. */
  receipted: boolean
}

interface Block {
  /** Its text in the journal. */
  readonly written: string
  /** The latest text, and how much of it is in the journal. */
  readonly text: string
  readonly done: number
  /** The length at which to check the text again, so that text on hold is not checked for every piece. */
  readonly next: number
  /** The part, if it is complete in the journal. */
  readonly part: Part | undefined
}

const emptyBlock: Block = { written: '', text: '', done: 0, next: 0, part: undefined }

/** Journaled characters that are searched again together with new ones, as many as a redactor's `textFrom` needs. */
const charactersBefore = 64

class Recording {
  readonly #session: RecordingSession
  /** The session without redaction. */
  readonly #opened: RecordingSession
  readonly #frequency: Frequency
  /** How to take the lease; `false` if the session is not held, or a turn holds it. */
  readonly #leaseOptions: RunLeaseOptions | false
  #lease: RunLease | undefined
  /** The id of the input that the run answers. */
  readonly #input: string | undefined
  /** Whether the input is answered. A later failure then costs only a receipt. */
  #answered = false
  /** The journal's redactor. It does not count, because the messages that follow are counted. */
  readonly #redactor: Redactor | undefined
  #head: Head | undefined
  /** The number of retracted messages when the run began. A retraction during the run is a conflict. */
  #retracted: number | undefined
  #step: Step | undefined
  #entry = emptyEntry()
  #writing: Promise<Answer> | undefined
  /** A failure that no caller was waiting for. */
  #failed: Answer | undefined
  readonly #clock: Clock
  #timer: Timer | undefined
  #flushed = 0
  /** Bytes of text received since the last flush, if they are limited. */
  #bytesReceived = 0

  constructor(
    session: RecordingSession,
    { redact, clock, journalEvery, lease = {} }: SessionHandlerOptions,
    held?: RunLease,
    input?: string,
  ) {
    this.#input = input
    const own = redact === undefined ? undefined : createRedactor(redact)
    this.#opened = session
    this.#session = own === undefined ? session : redactingSession(session, own)
    this.#redactor = (own ?? redactorOf(session))?.quiet
    this.#leaseOptions = lease
    this.#lease = held
    this.#clock = clockOf(clock)
    if (lease !== false) checkRunLease(lease)
    this.#frequency = journalEveryOf(journalEvery)
  }

  async begin(stop: (reason: string) => void): Promise<Either<LeaseSessionFault, undefined>> {
    const { conversation } = this.#session
    if (conversation !== undefined) this.#retracted = this.#session.len - conversation().length
    if (this.#leaseOptions === false) return right(undefined)
    const held = await acquireRunLease(this.#opened, this.#leaseOptions, stop)
    if (isLeft(held)) return held
    this.#lease = held.right
    return right(undefined)
  }

  async end(): Promise<void> {
    this.#timer?.cancel()
    if (this.#step?.discarded === true) await this.#close()
    if (this.#leaseOptions !== false) await this.#lease?.release()
  }

  async take(event: RunEvent, next: LookAhead | undefined): Promise<Answer> {
    const ahead = next && ownFields(next)
    if (this.#failed !== undefined) return this.#failed
    switch (event.type) {
      case 'step_start': {
        this.#head = this.#session.len === event.len ? this.#session.head() : undefined
        const closed = await this.#close()
        if (ahead !== undefined) this.#beginStep(ahead.id)
        return closed
      }
      case 'model_event':
        return this.#takeModelEvent(event.event, ahead)
      case 'tool_call_start': {
        const { id, name, arguments: input } = event.call
        if (this.#step !== undefined) return this.#write((entry) => entry.started.push(id))
        return this.#session.note({ type: 'tool_started', callId: id, name, arguments: input })()
      }
      case 'tool_result':
        if (ahead?.delta !== undefined) return this.#appendEarly(ahead.delta, ahead)
        if (this.#step === undefined) return right(undefined)
        return this.#write((entry) => entry.results.push(event.result as unknown as JsonObject))
      case 'approval': {
        const marked = await markWaiting(this.#opened)
        if (isLeft(marked)) return marked as Answer
        return this.#write((entry) => {
          entry.waiting = event.open.calls.map(({ id }) => id)
          entry.external = event.open.calls.filter(({ needs }) => needs === 'result').map(({ id }) => id)
        })
      }
      case 'history_delta': // a step whose run failed stays in the journal, so that `resume` can finish it
        return ahead?.unfinished === true && this.#step !== undefined ? right(undefined) : this.#delta(event)
      case 'interrupted':
        if (event.behavior === 'discard' && this.#step !== undefined) this.#step.discarded = true
        return this.#receipt(event.sent, undefined)
      case 'step_complete':
        return this.#step?.receipted === true ? right(undefined) : this.#receipt(event.sent, event.response.usage)
      default:
        return right(undefined)
    }
  }

  #beginStep(id: string): void {
    this.#step = {
      id,
      written: false,
      blocks: new Map(),
      answered: false,
      results: new Set(),
      discarded: false,
      appended: undefined,
      receipted: false,
    }
    this.#flushed = this.#clock.now()
  }

  /** Handles a model event, and the events known to follow it. */
  async #takeModelEvent(
    event: Extract<RunEvent, { type: 'model_event' }>['event'],
    ahead: LookAhead | undefined,
  ): Promise<Answer> {
    const step = this.#step
    if (step === undefined || ahead === undefined) return right(undefined)
    if (ahead.delta !== undefined) return this.#appendEarly(ahead.delta, ahead)
    let ended = false
    for (const item of [event, ...ahead.events]) {
      if (item.type === 'block_end') ended = this.#addPart(step, item.index, item.part) || ended
      else if (item === event && item.type === 'text_delta' && item.block === 'text')
        this.#addText(step, item.index, item.text)
    }
    if (ahead.response !== undefined && !step.answered) {
      const { message } = ahead.response
      if (callsOf(message).length === 0) return right(undefined) // its delta follows
      step.answered = true
      return this.#write((entry) => {
        entry.answer = answerOf(message, step)
        if (ahead.together) entry.together = true
      })
    }
    return ended ? this.#write(() => undefined) : right(undefined)
  }

  /** Adds a complete block. Returns false if it already was. */
  #addPart(step: Step, index: number, part: Part): boolean {
    const block = step.blocks.get(index) ?? emptyBlock
    if (block.part !== undefined) return false
    step.blocks.set(index, { ...block, text: '', part })
    const { written } = block
    const clean = this.#clean(part)
    const goesOn = written !== '' && clean.type === 'text' && clean.text.startsWith(written)
    const rest = goesOn ? { ...clean, text: clean.text.slice(written.length) } : clean
    this.#entry.said.push({ index, part: rest as unknown as JsonObject, ...(goesOn && { after: written.length }) })
    return true
  }

  /** Adds streaming text, to be written when it is old or long enough. */
  #addText(step: Step, index: number, text: string): void {
    const block = step.blocks.get(index) ?? emptyBlock
    if (block.part !== undefined) return
    step.blocks.set(index, { ...block, text: block.text + text })
    const { ms, bytes } = this.#frequency
    if (bytes < Infinity) this.#bytesReceived += new TextEncoder().encode(text).length
    if (bytes < Infinity && this.#bytesReceived >= bytes) return this.#flushText(step)
    if (this.#timer === undefined && Number.isFinite(ms))
      this.#timer = this.#clock.after(Math.max(0, ms - (this.#clock.now() - this.#flushed)), () =>
        this.#flushText(step),
      )
  }

  #flushText(step: Step): void {
    this.#timer?.cancel()
    this.#timer = undefined
    if (this.#step !== step || step.appended !== undefined) return
    let any = false
    for (const [index, block] of step.blocks) {
      const { written, text: content, done, next, part } = block
      if (part !== undefined || content.length < next) continue
      // Hold back half a surrogate pair, and text that may be the start of a secret.
      const ready = this.#redactor === undefined ? content.length : this.#redactor.ready(content, done)
      const end = ready > done && /[\ud800-\udbff]/.test(content[ready - 1] as string) ? ready - 1 : ready
      const whole = content.slice(0, end)
      const text = this.#redactor === undefined ? whole.slice(done) : this.#redactor.textFrom(whole, done)
      if (!text.isWellFormed()) continue
      const from = Math.max(0, end - charactersBefore)
      step.blocks.set(index, {
        ...block,
        written: written + text,
        text: content.slice(from),
        done: end - from,
        next: (content.length - from) * 1.125,
      })
      if (text === '') continue
      any = true
      this.#entry.said.push({ index, text })
    }
    this.#bytesReceived = 0
    this.#flushed = this.#clock.now()
    if (any) void this.#reportLater(this.#write(() => undefined))
  }

  #clean(part: Part): Part {
    return this.#redactor?.message({ role: 'assistant', content: [part] }).content[0] ?? part
  }

  /** Reports a failure that no caller waits for with the next event. */
  async #reportLater(writing: Promise<Answer>): Promise<void> {
    const answer = await writing
    if (isLeft(answer)) this.#failed ??= answer
  }

  /** Adds to the journal. Additions made together, or while a note is being written, share one note. */
  #write(put: (entry: Entry) => unknown): Promise<Answer> {
    put(this.#entry)
    return (this.#writing ??= this.#flush())
  }

  async #flush(): Promise<Answer> {
    // Wait a few microtasks: tools that start or end together then share a note.
    for (let turn = 0; turn < 8; turn++) await undefined
    this.#writing = undefined
    const step = this.#step
    const entry = this.#entry
    this.#entry = emptyEntry()
    if (step === undefined) return right(undefined)
    if (step.appended !== undefined) return step.appended.answer // that append includes everything
    for (const result of entry.results) step.results.add(String(result['callId']))
    return this.#note(step, entry)
  }

  async #note(step: Step, entry: Partial<Entry>): Promise<Answer> {
    const filled = Object.entries(entry).filter(([, value]) => !Array.isArray(value) || value.length > 0)
    if (filled.length === 0) return right(undefined)
    step.written = true
    return this.#add({ ...this.#journal(step), ...Object.fromEntries(filled) })
  }

  /** Writes the receipt of an answer by itself. */
  async #receipt(sent: SentRequest | undefined, usage: Usage | undefined): Promise<Answer> {
    if (sent === undefined) return right(undefined)
    const answer = await this.#add(receiptNote(sent, this.#head, usage))
    return this.#answered ? right(undefined) : answer
  }

  /** Adds a note, unless another holder has the lease. */
  async #add(note: NewNote): Promise<Answer> {
    return this.#lease?.lost === true ? left(this.#lease.fault) : this.#session.note(note)()
  }

  #journal({ id }: Step): JournalNote {
    const number = this.#lease?.number
    return { type: 'journal', step: id, ...(number !== undefined && { lease: number }) }
  }

  /** Appends a delta before its event. A failure is reported at the event. */
  async #appendEarly(delta: HistoryDelta<Message>, ahead: LookAhead): Promise<Answer> {
    const step = this.#step
    if (step === undefined || delta.append.length === 0) return right(undefined)
    if (!isLeft(await this.#appended(step, delta, ahead))) {
      step.receipted = ahead.receipt !== undefined
      this.#answered = ahead.last === true && this.#input !== undefined
    }
    return right(undefined)
  }

  async #delta(delta: HistoryDelta<Message>): Promise<Answer> {
    const step = this.#step
    if (step === undefined) return this.#append(delta, undefined, {})
    const answer = await this.#appended(step, delta, {})
    if (!isLeft(answer)) this.#forget(step)
    return answer
  }

  /** Appends a delta once. Nothing else of the step is written after that. */
  #appended(step: Step, delta: HistoryDelta<Message>, ahead: Pick<LookAhead, 'last' | 'receipt'>): Promise<Answer> {
    if (step.appended?.delta.append !== delta.append)
      step.appended = { delta, answer: this.#append(delta, step, ahead) }
    return step.appended.answer
  }

  /** Ends the step: the record contains all of it. */
  #forget(step: Step): void {
    if (this.#step !== step) return
    this.#step = undefined
    this.#entry = emptyEntry()
    this.#timer?.cancel()
    this.#timer = undefined
  }

  /** Appends the messages, and closes the journal if there is one. */
  async #append(
    { id: operation, expectedLen, append }: HistoryDelta<Message>,
    step: Step | undefined,
    { last: isLast = false, receipt }: Pick<LookAhead, 'last' | 'receipt'>,
  ): Promise<Answer> {
    const messages = append as readonly Message[]
    const close: readonly JournalNote[] =
      step === undefined || !this.#closes(step, operation) ? [] : [{ ...this.#journal(step), closed: true }]
    const notes: NewNote[] = []
    if (receipt !== undefined) notes.push(receiptNote(receipt.sent, this.#head, receipt.usage))
    if (isLast && this.#input !== undefined)
      notes.push({ type: 'input', id: this.#input, state: 'answered', at: expectedLen + messages.length })
    const expected = this.#retracted === undefined ? {} : { expectedConversation: expectedLen - this.#retracted }
    const add = async (closing: readonly JournalNote[]): Promise<Answer> =>
      this.#lease?.lost === true
        ? left(this.#lease.fault)
        : this.#session.append({ messages, notes: [...closing, ...notes] }, { operation, expectedLen, ...expected })()
    const waited = hasWaited(this.#opened)
    let answer = await add(close)
    // An earlier attempt at the same delta may have had a journal that this one lacks, or the other way round.
    if (isLeft(answer) && answer.left._tag === 'OperationMismatch') {
      const other = await add(close.length > 0 ? [] : [{ type: 'journal', step: operation, closed: true }])
      if (!isLeft(other)) answer = other
    }
    if (waited && !isLeft(answer)) await unmarkWaiting(this.#opened) // a marker that stays is not a waiting call
    if (isLeft(answer) && answer.left._tag === 'SessionConflict' && step !== undefined)
      await (answer.left.len > expectedLen ? this.#save(step, messages) : this.#close())
    return answer
  }

  /** Whether the step has a journal, from this run or an earlier one. */
  #closes(step: Step, operation: string): boolean {
    return step.written || openStepsOf(this.#opened).some((open) => open.step === operation)
  }

  /** Keeps the finished parts of the step in the journal after another writer's append. */
  async #save(step: Step, messages: readonly Message[]): Promise<void> {
    const [answer, ...rest] = messages
    if (answer?.role !== 'assistant') return
    const results = rest
      .flatMap(({ content }) => content)
      .filter((part) => part.type === 'tool_result' && !step.results.has(part.callId))
    const together = rest.some(({ role, content }) => role === 'tool' && content.length > 1)
    await this.#note(step, {
      ...(!step.answered && { answer: answer as unknown as JsonObject }),
      ...(together && { together }),
      results: results as unknown as JsonObject[],
    })
  }

  /** Closes the journal of a step that is not recorded. */
  async #close(): Promise<Answer> {
    const step = this.#step
    if (step === undefined) return right(undefined)
    this.#forget(step)
    if (!step.written) return right(undefined)
    return this.#add({ ...this.#journal(step), closed: true })
  }
}

/** A note of the handler: never a seal, nor a summary without its digest. */
type Written = Exclude<Note, { readonly type: 'seal' }>

/** A note without secrets, also in the instructions of a receipt. */
const redactedNote = (note: Written | NewReceipt, redactor: Redactor): Written | NewReceipt => {
  const clean = redactor.note(note as Written)
  const instructions = note.type === 'receipt' ? ownField(note as NewReceipt, 'instructions') : undefined
  if (typeof instructions !== 'object') return clean
  return { ...(clean as NewReceipt), instructions: { text: redactor.text(instructions.text) } }
}

/** A session that removes secrets from everything it is given. */
const redactingSession = (session: RecordingSession, redactor: Redactor): RecordingSession => {
  const append: Session['append'] = (input, options) => {
    const { messages = [], notes = [] } = input as { messages?: readonly Message[]; notes?: readonly Written[] } // the handler always passes this form
    return session.append(
      {
        messages: messages.map(redactor.message),
        notes: notes.map((note) => redactedNote(note, redactor.quiet)),
      },
      options,
    )
  }
  const note: Session['note'] = (input, options) =>
    session.note(redactedNote(input as Written, input.type === 'journal' ? redactor.quiet : redactor), options)
  return Object.create(session, { append: { value: append }, note: { value: note } }) as RecordingSession
}

/** The answer for the journal, without content if all its blocks were written. */
const answerOf = (message: Message, { blocks }: Step): JsonObject => {
  const recorded = [...blocks]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([, { part }]) => (part === undefined ? [] : [part as unknown as Json]))
  const { content, ...rest } = message
  const same = jsonEqual(recorded, content) && ![...blocks.values()].some(({ part }) => part === undefined)
  return (same ? rest : message) as unknown as JsonObject
}

const receiptNote = (request: SentRequest, head: Head | undefined, usage: Usage | undefined): NewReceipt => {
  const { parameters, derivedBy, repairs, instructions, ...sent } = ownFields(request)
  const details = {
    ...(derivedBy !== undefined && { derived: { ...derivedBy } }),
    ...(repairs !== undefined && { mended: mendedDetails(repairs) }),
  }
  return {
    type: 'receipt',
    ...sent,
    ...(instructions !== undefined && { instructions: { text: instructions } }),
    ...present({ head }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(Object.keys(details).length > 0 && { details }),
    ...present({ usage: usage !== undefined && usage.input + usage.output > 0 ? usage : undefined }), // else none was reported
  }
}

/** The repairs of a request: their number, and the first of them, because a receipt has a bounded size. */
const mendedDetails = (repairs: readonly Repair[]): JsonObject => ({
  repairs: repairs.length,
  first: repairs
    .slice(0, 20)
    .map(({ problem: { _tag, id, position }, done }) => ({ problem: _tag, callId: id, position, done })),
})

type Frequency = Required<NonNullable<SessionHandlerOptions['journalEvery']>>

/** How often streaming text is written. Throws a TypeError for an invalid option. */
export const journalEveryOf = (option: SessionHandlerOptions['journalEvery']): Frequency => {
  const { ms = 1000, bytes = Infinity } = optionsOf('journalEvery', option, { ms: true, bytes: true })
  return {
    ms: amount('journalEvery.ms', ms, { unit: 'milliseconds' }),
    bytes: amount('journalEvery.bytes', bytes, { unit: 'bytes' }),
  }
}

const optionNames: OptionNames<SessionHandlerOptions> = { journalEvery: true, clock: true, lease: true, redact: true }
