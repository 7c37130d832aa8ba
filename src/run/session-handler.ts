/**
 * The handler that makes a run durable in a session: what is finished is recorded when it is finished.
 *
 * While a step goes on, its parts are notes (a journal): whole blocks, the whole answer, calls that start, results. At its
 * end one append writes the messages and closes the journal. Where that never comes, `session.interrupted()` and `resume`
 * make the messages of the notes.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { HistoryDelta } from '../history/index.ts'
import { isLeft, jsonEqual, right, type Json, type JsonObject, ownFields, optionsOf, present } from '../json/index.ts'
import type { Message, Part } from '../message/index.ts'
import { callsOf } from '../message/kit.ts'
import type { InputNote, JournalBlock, JournalNote, Note, ReceiptNote } from '../notes/kit.ts'
import { createRedactor, type Redact, type Redactor } from '../redact/index.ts'
import type { LeaseSessionFault, Session, Together, WriteFault } from '../session/index.ts'
import { redactorOf } from '../session/kit.ts'
import type { Head } from '../store/index.ts'
import { amount } from '../task/index.ts'
import type { RunEvent } from './event.ts'
import type { Ahead, RunHandler } from './handler.ts'
import { heldBy, type RunLease, type RunLeaseOptions } from './run-lease.ts'

/** How a run is recorded in a session. */
export interface SessionHandlerOptions {
  /**
   * How often the text of an answer that streams is written down: what a crash loses of it. `ms`: at most the last so many
   * milliseconds, default 1,000. `bytes`: nor more than so many bytes, default `Infinity`; a fast model then costs more round
   * trips. Whole blocks, calls and results are written at once, whatever it says.
   */
  readonly journalEvery?: {
    /** Milliseconds. */
    readonly ms?: number
    /** Bytes of text, as UTF-8. */
    readonly bytes?: number
  }
  /** How the run holds the session. `false`: it does not, and other runs can be at work at the same time. */
  readonly lease?: RunLeaseOptions | false
  /**
   * Takes secrets out of everything that is written. The run goes on with the messages as they came. Default: what the
   * session was created or opened with.
   */
  readonly redact?: Redact
}

type Answer = Either<WriteFault, unknown>

/** A handler that records in a session. Told of events one by one, without what is ahead, it writes no journal. */
export type SessionHandler = ((event: RunEvent, ahead?: Ahead) => Promise<Answer>) &
  Required<Pick<RunHandler, 'begin' | 'end' | 'lookAhead'>>

/** The part of a session that the handler needs. Without `lease` the session is not held. */
export type RecordingSession = Pick<Session, 'append' | 'note' | 'head' | 'len'> &
  Partial<Pick<Session, 'id' | 'lease' | 'held' | 'openSteps'>>

/**
 * Records a run in a session, so that a process that dies loses nothing that was finished. The run holds the session
 * (its lease) while it goes on: a second one is `SessionBusy`, and `store.requestStop(id)` of any process ends it as
 * `cancelled`.
 *
 * Each delta is durable before the next step starts. A delta that comes twice, after a retry or a crash, is stored
 * once: its id is the operation. Between the deltas, notes (`journal`) are durable before their events are told: each
 * block that the model has ended, each call before its tool runs, each result. Of text that streams at most the last
 * second is missing.
 *
 * Where another writer has appended, the run ends with the conflict. What the step had finished stays in the journal:
 * `session.interrupted()` and `resume` give it.
 *
 * Of a run with `receipts` each model call leaves a note of what it was sent (`receipt`), one that was cut off too. It
 * has the head of the record at that moment: `session.at(receipt.head)` gives what the context was derived from.
 *
 * Cost    an answer with text only: one append. With calls: one for the answer, one for the calls that start together,
 *         one
 *         for the results that come together, and one for the end; the last results need none of their own (bench: run)
 */
export const sessionHandler = (session: RecordingSession, options: SessionHandlerOptions = {}): SessionHandler =>
  handlerOf(new Recording(session, optionsOf('sessionHandler', options), undefined, undefined))

/** The same under a lease that is held already, and is not given back. The last delta says that `input` is answered. */
export const recordingUnder = (
  session: RecordingSession,
  journalEvery: SessionHandlerOptions['journalEvery'],
  lease: RunLease,
  input: string | undefined,
): SessionHandler =>
  handlerOf(
    new Recording(
      session,
      optionsOf('sessionHandler', journalEvery === undefined ? {} : { journalEvery }),
      lease,
      input,
    ),
  )

const handlerOf = (recording: Recording): SessionHandler =>
  Object.freeze(
    Object.assign((event: RunEvent, ahead?: Ahead) => recording.take(event, ahead), {
      begin: (stop: (reason: string) => void) => recording.begin(stop),
      end: () => recording.end(),
      lookAhead,
    }),
  )

/** Milliseconds: blocks that end within it of each other are one note. Nobody sees such a delay. */
const lookAhead = 25

/** The pending journal entries, to be written as one note. */
interface Entry {
  readonly said: JournalBlock[]
  answer?: JsonObject
  together?: boolean
  readonly started: string[]
  readonly results: JsonObject[]
  waiting?: readonly string[]
}

const emptyEntry = (): Entry => ({ said: [], started: [], results: [] })

/** The step that is going on. */
interface Step {
  readonly id: string
  /** Whether anything of it was written. */
  written: boolean
  /** By the place of a block. */
  readonly blocks: Map<number, Block>
  /** Whether the whole answer is in the journal. */
  answered: boolean
  /** Results that are in the journal. */
  readonly results: Set<string>
  /** Whether nothing of it is to be recorded, unless a delta comes. */
  discarded: boolean
  appended: { readonly delta: HistoryDelta<Message>; readonly answer: Promise<Answer> } | undefined
}

interface Block {
  /** Its text as it is in the journal. */
  readonly written: string
  /** The end of what came, and how much of it is in the journal. */
  readonly said: string
  readonly done: number
  /** How long it has to be until it is looked at again: a text that waits for its end is not looked at each time. */
  readonly next: number
  /** The part, if it is whole in the journal. */
  readonly part: Part | undefined
}

const emptyBlock: Block = { written: '', said: '', done: 0, next: 0, part: undefined }

/** Characters in the journal that are looked at with those behind them: as many as `textFrom` of a redactor looks at. */
const before = 64

class Recording {
  readonly #session: RecordingSession
  readonly #options: SessionHandlerOptions
  readonly #every: { readonly ms: number; readonly bytes: number }
  #lease: RunLease | undefined
  readonly #given: RunLease | undefined
  /** The id of the input that the run answers. */
  readonly #input: string | undefined
  /** It is answered: what else goes wrong costs no more than a receipt. */
  #answered = false
  /** Of the journal: it does not count, for the messages that come are counted. */
  readonly #redactor: Redactor | undefined
  #head: Head | undefined
  #step: Step | undefined
  #entry = emptyEntry()
  #writing: Promise<Answer> | undefined
  /** A failure that no caller was waiting for. */
  #failed: Answer | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #flushed = 0
  /** Bytes of text that came since then, if they are counted. */
  #came = 0

  constructor(
    session: RecordingSession,
    options: SessionHandlerOptions,
    lease: RunLease | undefined,
    input: string | undefined,
  ) {
    this.#input = input
    const own = options.redact === undefined ? undefined : createRedactor(options.redact)
    this.#session = own === undefined ? session : redacting(session, own)
    this.#redactor = (own ?? redactorOf(session))?.quiet
    this.#given = lease
    this.#lease = lease
    this.#options = options
    const { ms = 1000, bytes = Infinity } = ownFields(options.journalEvery ?? {})
    this.#every = {
      ms: amount('journalEvery.ms', ms, { unit: 'milliseconds' }),
      bytes: amount('journalEvery.bytes', bytes, { unit: 'bytes' }),
    }
  }

  async begin(stop: (reason: string) => void): Promise<Either<LeaseSessionFault, undefined>> {
    const { lease = {} } = this.#options
    if (lease === false || this.#given !== undefined) return right(undefined)
    const held = await heldBy(this.#session, lease, stop)
    if (isLeft(held)) return held
    this.#lease = held.right
    return right(undefined)
  }

  async end(): Promise<void> {
    clearTimeout(this.#timer)
    if (this.#step?.discarded === true) await this.#close()
    if (this.#given === undefined) await this.#lease?.release()
  }

  async take(event: RunEvent, given: Ahead | undefined): Promise<Answer> {
    const ahead = given && ownFields(given)
    if (this.#failed !== undefined) return this.#failed
    switch (event.type) {
      case 'step_start': {
        this.#head = this.#session.len === event.len ? this.#session.head() : undefined
        const closed = await this.#close()
        if (ahead !== undefined) this.#begin(ahead.id)
        return closed
      }
      case 'model_event':
        return this.#said(event.event, ahead)
      case 'tool_call_start':
        if (this.#step === undefined) return this.#session.note(toolStarted(event))()
        return this.#write((entry) => entry.started.push(event.call.id))
      case 'tool_result':
        if (ahead?.delta !== undefined) return this.#appendEarly(ahead.delta, ahead.last)
        if (this.#step === undefined) return right(undefined)
        return this.#write((entry) => entry.results.push(event.result as unknown as JsonObject))
      case 'approval':
        return this.#write((entry) => (entry.waiting = event.open.calls.map(({ id }) => id)))
      case 'history_delta':
        return this.#delta(event)
      default: {
        if (event.type === 'interrupted' && event.behavior === 'discard' && this.#step !== undefined)
          this.#step.discarded = true
        const receipt = receiptOf(event, this.#head)
        if (receipt === undefined) return right(undefined)
        const answer = await this.#under(() => this.#session.note(receipt)())
        return this.#answered ? right(undefined) : answer
      }
    }
  }

  #begin(id: string): void {
    this.#step = {
      id,
      written: false,
      blocks: new Map(),
      answered: false,
      results: new Set(),
      discarded: false,
      appended: undefined,
    }
    this.#flushed = performance.now()
  }

  /** The model's output, and the events that are known to follow it. */
  async #said(event: Extract<RunEvent, { type: 'model_event' }>['event'], ahead: Ahead | undefined): Promise<Answer> {
    const step = this.#step
    if (step === undefined || ahead === undefined) return right(undefined)
    if (ahead.delta !== undefined) return this.#appendEarly(ahead.delta, ahead.last)
    let ended = false
    for (const one of [event, ...ahead.events]) {
      if (one.type === 'block_end') ended = this.#whole(step, one.index, one.part) || ended
      else if (one === event && one.type === 'text_delta' && one.block === 'text') this.#text(step, one.index, one.text)
    }
    if (ahead.response !== undefined && !step.answered) {
      const { message } = ahead.response
      if (callsOf(message).length === 0) return right(undefined) // its delta comes
      step.answered = true
      return this.#write((entry) => {
        entry.answer = answerOf(message, step)
        if (ahead.together) entry.together = true
      })
    }
    return ended ? this.#write(() => undefined) : right(undefined)
  }

  /** A block that is whole. False: it was before. */
  #whole(step: Step, index: number, part: Part): boolean {
    const block = step.blocks.get(index) ?? emptyBlock
    if (block.part !== undefined) return false
    step.blocks.set(index, { ...block, said: '', part })
    const { written } = block
    const clean = this.#clean(part)
    const goesOn = written !== '' && clean.type === 'text' && clean.text.startsWith(written)
    const rest = goesOn ? { ...clean, text: clean.text.slice(written.length) } : clean
    this.#entry.said.push({ index, part: rest as unknown as JsonObject, ...(goesOn && { after: written.length }) })
    return true
  }

  /** Text that streams waits until it is old or long enough. */
  #text(step: Step, index: number, text: string): void {
    const block = step.blocks.get(index) ?? emptyBlock
    if (block.part !== undefined) return
    step.blocks.set(index, { ...block, said: block.said + text })
    const { ms, bytes } = this.#every
    if (bytes < Infinity) this.#came += new TextEncoder().encode(text).length
    if (bytes < Infinity && this.#came >= bytes) return this.#flushText(step)
    if (this.#timer === undefined && Number.isFinite(ms))
      this.#timer = setTimeout(() => this.#flushText(step), Math.max(0, ms - (performance.now() - this.#flushed)))
  }

  #flushText(step: Step): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#step !== step || step.appended !== undefined) return
    let any = false
    for (const [index, block] of step.blocks) {
      const { written, said, done, next, part } = block
      if (part !== undefined || said.length < next) continue
      // Half a surrogate pair waits for its other half, and what may be half a secret for the rest.
      const ready = this.#redactor === undefined ? said.length : this.#redactor.ready(said, done)
      const end = ready > done && /[\ud800-\udbff]/.test(said[ready - 1] as string) ? ready - 1 : ready
      const whole = said.slice(0, end)
      const text = this.#redactor === undefined ? whole.slice(done) : this.#redactor.textFrom(whole, done)
      if (!text.isWellFormed()) continue
      const from = Math.max(0, end - before)
      step.blocks.set(index, {
        ...block,
        written: written + text,
        said: said.slice(from),
        done: end - from,
        next: (said.length - from) * 1.125,
      })
      if (text === '') continue
      any = true
      this.#entry.said.push({ index, text })
    }
    this.#came = 0
    this.#flushed = performance.now()
    if (any) void this.#unasked(this.#write(() => undefined))
  }

  #clean(part: Part): Part {
    return this.#redactor?.message({ role: 'assistant', content: [part] }).content[0] ?? part
  }

  /** A failure that no caller waits for is reported with the next event. */
  async #unasked(writing: Promise<Answer>): Promise<void> {
    const answer = await writing
    if (isLeft(answer)) this.#failed ??= answer
  }

  /** Put something into the journal. What is put in together, or while a note is on its way, is one note. */
  #write(put: (entry: Entry) => unknown): Promise<Answer> {
    put(this.#entry)
    return (this.#writing ??= this.#flush())
  }

  async #flush(): Promise<Answer> {
    // A few turns of the queue: tools that start or end together share a note.
    for (let turn = 0; turn < 8; turn++) await undefined
    this.#writing = undefined
    const step = this.#step
    const entry = this.#entry
    this.#entry = emptyEntry()
    if (step === undefined) return right(undefined)
    if (step.appended !== undefined) return step.appended.answer // it has all of it
    for (const result of entry.results) step.results.add(String(result['callId']))
    return this.#note(step, entry)
  }

  async #note(step: Step, entry: Partial<Entry>): Promise<Answer> {
    const filled = Object.entries(entry).filter(([, value]) => !Array.isArray(value) || value.length > 0)
    if (filled.length === 0) return right(undefined)
    step.written = true
    return this.#under(() => this.#session.note({ ...this.#journal(step), ...Object.fromEntries(filled) })())
  }

  #journal({ id }: Step): JournalNote {
    const number = this.#lease?.number
    return { type: 'journal', step: id, ...(number !== undefined && { lease: number }) }
  }

  /** The delta of the step is known before it is told. What comes of it is said when it is told. */
  async #appendEarly(delta: HistoryDelta<Message>, isLast = false): Promise<Answer> {
    const step = this.#step
    if (step === undefined || delta.append.length === 0) return right(undefined)
    const answer = await this.#appended(step, delta, isLast)
    this.#answered = isLast && this.#input !== undefined && !isLeft(answer)
    return right(undefined)
  }

  async #delta(delta: HistoryDelta<Message>): Promise<Answer> {
    const step = this.#step
    if (step === undefined) return this.#append(delta, undefined, false)
    const answer = await this.#appended(step, delta, false)
    if (!isLeft(answer)) this.#forget(step)
    return answer
  }

  /** Once for each delta. From here on nothing else of the step is written. */
  #appended(step: Step, delta: HistoryDelta<Message>, isLast: boolean): Promise<Answer> {
    if (step.appended?.delta.append !== delta.append)
      step.appended = { delta, answer: this.#append(delta, step, isLast) }
    return step.appended.answer
  }

  /** Nothing of the step is missing in the record. */
  #forget(step: Step): void {
    if (this.#step !== step) return
    this.#step = undefined
    this.#entry = emptyEntry()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** The messages, and the end of the journal, if there is one. */
  async #append(delta: HistoryDelta<Message>, step: Step | undefined, isLast: boolean): Promise<Answer> {
    const { id: operation, expectedLen, append } = delta
    const messages = append as readonly Message[]
    const close: readonly JournalNote[] =
      step === undefined || !this.#closes(step, operation) ? [] : [{ ...this.#journal(step), closed: true }]
    const done = (): readonly InputNote[] =>
      isLast && this.#input !== undefined
        ? [{ type: 'input', id: this.#input, state: 'answered', at: this.#session.len + messages.length }]
        : []
    const add = (notes: readonly JournalNote[]): Promise<Answer> =>
      this.#under(() => this.#session.append({ messages, notes: [...notes, ...done()] }, { operation, expectedLen })())
    let answer = await add(close)
    // The same delta of an earlier try may have had a journal where this one has none, or none where it has one.
    if (isLeft(answer) && answer.left._tag === 'OperationMismatch') {
      const other = await add(close.length > 0 ? [] : [{ type: 'journal', step: operation, closed: true }])
      if (!isLeft(other)) answer = other
    }
    if (isLeft(answer) && answer.left._tag === 'SessionConflict' && step !== undefined) await this.#save(step, messages)
    return answer
  }

  /** Whether the step has a journal, of this run or of one before. */
  #closes(step: Step, operation: string): boolean {
    return step.written || this.#session.openSteps?.().some((open) => open.step === operation) === true
  }

  /** Somebody else has appended: what the step has finished is kept in the journal. */
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

  /** A step of which nothing is recorded: its journal is closed all the same. */
  async #close(): Promise<Answer> {
    const step = this.#step
    if (step === undefined) return right(undefined)
    this.#forget(step)
    if (!step.written) return right(undefined)
    return this.#under(() => this.#session.note({ ...this.#journal(step), closed: true })())
  }

  /** Nothing is written any more once somebody else has the lease. */
  async #under(work: () => Promise<Answer>): Promise<Answer> {
    return this.#lease?.lost === true ? this.#lease.fault() : work()
  }
}

/** The session, which is given nothing with a secret in it. */
const redacting = (session: RecordingSession, redactor: Redactor): RecordingSession => {
  const append: Session['append'] = (given, options) => {
    const { messages = [], notes = [] } = given as Together // as the handler gives them
    return session.append(
      {
        messages: messages.map((message) => redactor.message(message as Message)),
        notes: notes.map(redactor.quiet.note),
      },
      options,
    )
  }
  const note: Session['note'] = (given, options) =>
    session.note((given.type === 'journal' ? redactor.quiet : redactor).note(given), options)
  return Object.create(session, { append: { value: append }, note: { value: note } }) as RecordingSession
}

/** The answer as the journal has it: without its content, where that was written block by block. */
const answerOf = (message: Message, { blocks }: Step): JsonObject => {
  const said = [...blocks]
    .toSorted(([a], [b]) => a - b)
    .flatMap(([, { part }]) => (part === undefined ? [] : [part as unknown as Json]))
  const { content, ...rest } = message
  const same = jsonEqual(said, content) && ![...blocks.values()].some(({ part }) => part === undefined)
  return (same ? rest : message) as unknown as JsonObject
}

const toolStarted = ({ call }: Extract<RunEvent, { type: 'tool_call_start' }>): Exclude<Note, { type: 'seal' }> => ({
  type: 'tool_started',
  callId: call.id,
  name: call.name,
  arguments: call.arguments,
})

const receiptOf = (event: RunEvent, head: Head | undefined): ReceiptNote | undefined => {
  if ((event.type !== 'step_complete' && event.type !== 'interrupted') || event.sent === undefined) return undefined
  const { parameters, derivedBy, ...sent } = event.sent
  return {
    type: 'receipt',
    ...sent,
    ...present({ head }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(derivedBy !== undefined && { details: { derived: { ...derivedBy } } }),
    ...(event.type === 'step_complete' && { usage: event.response.usage }),
  }
}
