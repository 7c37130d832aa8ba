/** The history of a session: an append answers its position at once, and the session stores the message meanwhile. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { History } from '../../history/index.ts'
import { linkedHistory, type LinkedHistory } from '../../history/internal.ts'
import { isLeft, left, NotJson, right, type Immutable } from '../../json/index.ts'
import { decodeMessage, type Message, type MessageFault } from '../../message/index.ts'
import { messageFaultText } from '../../message/internal.ts'
import type { PageKind } from '../../pages/index.ts'
import type { Head, Store } from '../../store/index.ts'
import { consequenceOf, FaultError } from '../../task/index.ts'
import { sessionFaultText, sessionTask, type WriteFault } from '../fault.ts'
import type { LoadedRecord } from '../record/loaded-record.ts'
import { messageRows } from '../record/rows.ts'
import type { Step, StepRows } from '../record/step.ts'
import type { Writer, WriterHistory } from './writer.ts'

/** The most messages in one append to the store. */
const mostMessages = 1000

/** One handle, until it fails. */
interface Current {
  readonly linked: LinkedHistory<Message>
  fault: WriteFault | undefined
  /** Whether the fault was returned or thrown. */
  isReported: boolean
}

export class SessionHistory implements WriterHistory {
  readonly #store: Store
  readonly #record: LoadedRecord
  readonly #writer: Writer
  #current: Current | undefined
  /** The first fault of an earlier handle that was neither returned nor thrown. `flush` returns it. */
  #unreported: WriteFault | undefined
  /** Messages of the history that are not queued yet. They are stored in one append. */
  #buffer: StepRows[] = []
  /** The position that was returned for the first of them. */
  #from = 0
  /** The step that the history is queueing. */
  #own: Step | undefined

  constructor(store: Store, record: LoadedRecord, writer: Writer) {
    this.#store = store
    this.#record = record
    this.#writer = writer
  }

  /** The handle; after a failure a new one, of the record as it is then. */
  open(): History<Message> {
    if (this.#current === undefined) this.#writer.attach(this)
    if (this.#current?.fault !== undefined && !this.#current.isReported) this.#unreported ??= this.#current.fault
    if (this.#current === undefined || this.#current.fault !== undefined) this.#current = this.#start()
    return this.#current.linked.history
  }

  /** Waits for everything that was appended. Returns the head; or the fault of an earlier handle, or of this one. */
  async flush(): Promise<Either<WriteFault, Head>> {
    const done = await this.#writer.alone(async () => right(undefined))
    const fault = this.#unreported ?? (this.#current && reported(this.#current))
    this.#unreported = undefined
    if (fault !== undefined) return left(fault)
    return isLeft(done) ? done : right(this.#record.head)
  }

  /** Reports a fault that nobody has seen, as that of a task that nobody looks at. */
  close(): void {
    const fault = this.#unreported ?? (this.#current?.isReported === false ? this.#current.fault : undefined)
    if (fault === undefined) return
    void sessionTask(async () => left(fault), 'session.history')
  }

  beforeCall(step?: Step): void {
    if (step !== this.#own || step === undefined) this.#queue()
  }

  appended(step: Step): void {
    if (step === this.#own) return
    for (const { message, page } of step.entries ?? []) this.#current?.linked.add(message, page)
  }

  diverged(fault?: WriteFault): void {
    const current = this.#current as Current // attached: see `open`
    const { linked } = current
    if (fault !== undefined && this.#buffer.length > 0) fail(current, consequenceOf(fault))
    if (current.fault !== undefined) this.#buffer = []
    linked.restart(this.#record.history.view())
    for (const { message, page } of this.#writer.pending()) linked.add(message, page)
    for (const { entries } of this.#buffer) for (const { message, page } of entries) linked.add(message, page)
  }

  #start(): Current {
    this.#queue()
    const current: Current = {
      fault: undefined,
      isReported: false,
      linked: linkedHistory<Message>(this.#record.history.view(), {
        admit: (message) => this.#admit(message, current),
        prepare: (message, page) => this.#prepare(message, page, current),
      }),
    }
    for (const { message, page } of this.#writer.pending()) current.linked.add(message, page)
    return current
  }

  #admit(input: Message | Immutable<Message>, current: Current): Immutable<Message> {
    const fault = reported(current) ?? this.#refusal()
    if (fault !== undefined) throw new FaultError(fault, sessionFaultText(fault))
    const { redactor } = this.#record
    const whole = decodeMessage(input)
    const decoded = redactor === undefined || isLeft(whole) ? whole : decodeMessage(redactor.message(whole.right))
    if (isLeft(decoded)) throw notAMessage(decoded.left)
    return decoded.right
  }

  #refusal(): WriteFault | undefined {
    const { id, sealed, history } = this.#record
    if (this.#writer.isClosed) return { _tag: 'SessionClosed', id }
    return sealed ? { _tag: 'SessionSealed', id, len: history.len } : undefined
  }

  #prepare(message: Immutable<Message>, page: PageKind, { linked }: Current): () => void {
    const { len } = linked.history
    const rows = messageRows(
      { history: this.#record.history, redactor: undefined },
      message as Message,
      page,
      this.#store,
    )
    if (isLeft(rows)) {
      const { left: fault } = rows
      throw fault._tag === 'InvalidMessage' ? notAMessage(fault.cause) : new TypeError(sessionFaultText(fault))
    }
    return () => {
      if (this.#buffer.push(rows.right) > 1) return
      this.#from = len
      void Promise.resolve().then(() => this.#queue())
    }
  }

  /** Queues the messages that were appended since the last call. */
  #queue(): void {
    const buffer = this.#buffer
    const current = this.#current
    if (current === undefined) return
    this.#buffer = []
    for (let start = 0; start < buffer.length; start += mostMessages)
      void this.#storeStep(stepOf(buffer.slice(start, start + mostMessages), this.#from + start, current), current)
  }

  async #storeStep(step: Step, current: Current): Promise<void> {
    this.#own = step
    const stored = this.#writer.append(step)
    this.#own = undefined
    const answer = await stored
    if (isLeft(answer)) fail(current, answer.left)
  }
}

/** The step that stores messages of a handle. */
const stepOf = (messages: readonly StepRows[], from: number, current: Current): Step => {
  const rows: StepRows = {
    rows: messages.flatMap((message) => message.rows),
    blocks: messages.flatMap((message) => message.blocks),
    entries: messages.flatMap((message) => message.entries),
    apply: (position) => messages.forEach((message, index) => message.apply(position + index)),
  }
  const { entries } = rows
  return {
    continues: { type: 'len', len: undefined },
    messages: entries.length,
    notes: 0,
    operation: undefined,
    respectLease: false,
    from,
    failed: (fault) => fail(current, fault),
    entries,
    rows: () => right(rows),
  }
}

/** Fails a handle. Its first fault stays. */
const fail = (current: Current, fault: WriteFault): void => {
  current.fault ??= fault
}

/** The fault of a handle, which is reported from now on. */
const reported = (current: Current): WriteFault | undefined => {
  if (current.fault !== undefined) current.isReported = true
  return current.fault
}

const notAMessage = (fault: MessageFault): TypeError =>
  fault._tag === 'NotPlainJson'
    ? new NotJson(fault.path, fault.reason)
    : new TypeError(`${messageFaultText(fault)}; nothing was appended`)
