/**
 * The single writer of a session in this process. Appends are sent in call order, without waiting
 * for each other: each names the head that the one before it will leave, so the store can commit
 * many at once. Acknowledged appends are added to the record in memory in the same order.
 *
 * A step computed from the record (a retraction, an append at a head) waits until nothing is
 * pending. Others may be sent after it.
 *
 * If one is refused, those after it continue a head that never existed. Then the record in memory is synchronized
 * with the store, and each is checked again: does it still continue the intended state?
 *
 * `writerTable` lists the states and whether steps are sent or wait.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, ownField, right, isCount } from '../../json/index.ts'
import { termsOf } from '../../entry/internal.ts'
import { consequenceOf, FaultError } from '../../task/index.ts'
import type { Append, AppendedRows, Head, StoreFaultOf, VerifyFault } from '../../store/index.ts'
import type { Plan, AppendFault } from '../../store/internal.ts'
import { appendPlanned, headOf, planAppend, rangeAt, sameHead } from '../../store/internal.ts'
import { busyOf, type RefreshFault, type SessionFaultOf, type WriteFault } from '../fault.ts'
import {
  addTimes,
  catchUp,
  catchUpFrom,
  conversationOf,
  messagesBefore,
  rowOf,
  missedRowsSince,
  type Conflict,
  type LoadedRecord,
  type MissedRows,
} from '../record/loaded-record.ts'
import { redactedName } from '../record/metadata.ts'
import { stamp } from '../record/rows.ts'
import type { AppendedMessages, RecordedEntry, Step, StepRows, WriteAnswer } from '../record/step.ts'
import { guardStore } from './guard-store.ts'
import type { WrittenStore } from '../record/store-of.ts'

/**
 * `idle`: nothing is pending. `sending`: appends are pending. `recovering`: one was refused, and
 * the record in memory is being synchronized. `alone`: work runs that requires nothing to be pending. Steps
 * are sent in the first two states, and wait in the others.
 */
export type WriterState = 'idle' | 'sending' | 'recovering' | 'alone'

/** `drained`: every pending step has its result. `begun` and `ended` mark work that runs alone. */
type WriterEvent = 'sent' | 'refused' | 'drained' | 'begun' | 'ended'

export const writerTable: { readonly [S in WriterState]: { readonly [E in WriterEvent]?: WriterState } } = {
  idle: { sent: 'sending', begun: 'alone' },
  sending: { sent: 'sending', refused: 'recovering', drained: 'idle' },
  recovering: { drained: 'idle' },
  alone: { ended: 'idle' },
}

/** The history of a session, as its writer sees it. */
export interface WriterHistory {
  /** Called before a call is queued, unless the history made it. */
  readonly beforeCall: (step?: Step) => void
  /** Called when a step is queued. */
  readonly appended: (step: Step) => void
  /**
   * Called when the record did not go on as the queued steps said: one failed, or another writer appended.
   *
   * @param fault the fault of a step that all later ones follow
   */
  readonly diverged: (fault?: WriteFault) => void
}

/** A step that waits for its turn. */
interface Waiting extends Step {
  /** The length that it continues; undefined if it continues a head or the current end. */
  expectedLen: number | undefined
  /** The head that it continues, once known. */
  expectedHead: Head | undefined
  /** The number of messages and notes ahead of it when it was called. */
  readonly behind: { readonly messages: number; readonly notes: number }
  /** The reason why it can't be appended: a step that it follows has failed. */
  doomed: WriteFault | undefined
  readonly resolve: (answer: WriteAnswer<AppendedMessages> | Promise<never>) => void
}

/** The faults of a step that does not fit the record. */
type StepConflict = SessionFaultOf<'SessionConflict' | 'SessionGap' | 'SessionSealed'>

/** A pending step. */
interface SentStep extends Waiting {
  readonly plan: Plan
  readonly apply: StepRows['apply']
  readonly answer: Promise<Either<AppendFault, AppendedRows>>
}

type RowsToStore = Pick<Append, 'rows' | 'blocks' | 'attached'>

/** Work that requires nothing to be pending. */
interface Pause {
  readonly pause: () => Promise<void>
}

/** The number of messages of the conversation that a step continues; undefined for any number. */
const conversationIn = (continues: Step['continues']): number | undefined =>
  continues.type === 'len' ? continues.conversation : undefined

const isPause = (step: object): step is Pause => Object.hasOwn(step, 'pause')

export class Writer {
  readonly #written: WrittenStore
  readonly #record: LoadedRecord
  /** The key of the opened session; null if it is not encrypted. Another log with the same id has another key. */
  readonly ownKey: string | null
  readonly #waiting: (Waiting | Pause)[] = []
  readonly #sent: SentStep[] = []
  /** A refused step and those sent after it, until it is known what becomes of them. */
  readonly #recovering: SentStep[] = []
  #state: WriterState = 'idle'
  /** `current`: synchronized. `stale`: the store's state is unknown. A fault: synchronizing is impossible. */
  #mirrorIs: 'current' | 'stale' | VerifyFault = 'current'
  /** The step that is being resolved. */
  #looking: Waiting | undefined
  #closed: Promise<void> | undefined
  #called = 0
  /** Whether a step is making its rows. Steps that its recipe calls are sent after it. */
  #making = false
  /** The history of the session, if it was asked for. */
  #history: WriterHistory | undefined

  constructor(written: WrittenStore, record: LoadedRecord, ownKey: string | null) {
    this.#written = written
    this.ownKey = ownKey
    this.#record = record
  }

  #on(event: WriterEvent): void {
    this.#state = writerTable[this.#state][event] ?? this.#state
  }

  /** The number of messages once all pending calls are done. */
  get len(): number {
    this.#history?.beforeCall()
    return this.#behind().messages
  }

  /** The number of steps called so far. */
  get called(): number {
    return this.#called
  }

  /** Tells a history of what is appended, and of what was not appended as expected. */
  attach(history: WriterHistory): void {
    this.#history = history
  }

  /** The messages that are not acknowledged yet, in order. */
  *pending(): Iterable<RecordedEntry> {
    for (const { entries = [] } of [...this.#recovering, ...this.#sent]) yield* entries
    yield* this.#looking?.entries ?? []
    for (const step of this.#waiting) if (!isPause(step)) yield* step.entries ?? []
  }

  append(step: Step): Promise<WriteAnswer<AppendedMessages>> {
    this.#history?.beforeCall(step)
    return new Promise((resolve) => {
      if (this.#closed !== undefined) return resolve(left({ _tag: 'SessionClosed', id: this.#record.id }))
      const { continues } = step
      const behind = this.#behind()
      const [from, failed] = [ownField(step, 'from'), ownField(step, 'failed')]
      this.#called += 1
      this.#waiting.push({
        ...step,
        from,
        failed,
        expectedLen: continues.type === 'len' ? lengthOf(continues.len ?? from ?? behind.messages) : undefined,
        expectedHead: continues.type === 'head' ? continues.head : undefined,
        behind,
        doomed: undefined,
        resolve,
      })
      this.#history?.appended(step)
      this.#pump()
    })
  }

  /** Run work while nothing is pending: after all earlier calls, and before all later ones. */
  alone<F, T>(work: () => Promise<Either<F, T>>): Promise<Either<F | SessionFaultOf<'SessionClosed'>, T>> {
    this.#history?.beforeCall()
    return new Promise((resolve, reject) => {
      if (this.#closed !== undefined) return resolve(left({ _tag: 'SessionClosed', id: this.#record.id }))
      this.#pause(() => work().then(resolve, reject))
    })
  }

  #pause(pause: Pause['pause']): void {
    this.#waiting.push({ pause })
    this.#pump()
  }

  /**
   * Read the rows that other writers appended.
   *
   * @param head the head of the log, if it is known. Nothing is read if the session is there
   */
  refresh(head?: Head): Promise<Either<RefreshFault, MissedRows>> {
    return this.alone(async () => {
      const record = this.#record
      if (head === undefined || this.#mirrorIs !== 'current' || !sameHead(head, record.head)) return this.#sync()
      return right(missedRowsSince(record, record.history.len, record.notes.len))
    })
  }

  /** The same, also after `close`: for work that was called before it. */
  read(): Promise<Either<VerifyFault, MissedRows>> {
    return new Promise((resolve, reject) => this.#pause(() => this.#sync().then(resolve, reject)))
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  close(): Promise<void> {
    return (this.#closed ??= this.alone(async () => right(undefined)).then(() => undefined))
  }

  #behind(): Waiting['behind'] {
    let [messages, notes] = [this.#record.history.len, this.#record.notes.len]
    const count = (step: Step): void => {
      messages += step.messages
      notes += step.notes
    }
    for (const step of [...this.#recovering, ...this.#sent]) count(step)
    if (this.#looking !== undefined) count(this.#looking)
    for (const step of this.#waiting) if (!isPause(step)) count(step)
    return { messages, notes }
  }

  #pump(): void {
    for (;;) {
      const next = this.#waiting[0]
      if (next === undefined || this.#state === 'recovering' || this.#state === 'alone' || this.#making) return
      const now = !isPause(next) && this.#fits(next)
      if (!now && this.#state === 'sending') return // `#drain` calls this again
      this.#waiting.shift()
      if (isPause(next)) void this.#paused(next.pause)
      else if (now) this.#send(next)
      else void this.#paused(() => this.#resolve(next))
    }
  }

  async #paused(work: () => Promise<void>): Promise<void> {
    this.#on('begun')
    try {
      await work()
    } finally {
      this.#on('ended')
      this.#pump()
    }
  }

  /** Whether a step can be sent while others are pending. If not, it waits for them and is checked again. */
  #fits(step: Waiting): boolean {
    const isSealing = this.#sent.at(-1)?.seals === true || this.#record.sealed
    if (this.#mirrorIs !== 'current' || (isSealing && step.afterSeal !== true) || step.doomed !== undefined)
      return false
    if (step.waits === true && this.#sent.length > 0) return false
    if (step.continues.type === 'end') return true
    if (step.expectedLen !== undefined) {
      const ahead = this.#sent.reduce((sum, { messages }) => sum + messages, this.#record.history.len)
      return (
        step.expectedLen === ahead &&
        (conversationIn(step.continues) === undefined || (this.#sent.length === 0 && !this.#isRetracted(step)))
      )
    }
    return this.#sent.length === 0 && sameHead(this.#headOf(step), this.#record.head)
  }

  /** Whether messages that a step continues were retracted. */
  #isRetracted({ continues }: Pick<Step, 'continues'>): boolean {
    const expected = conversationIn(continues)
    return expected !== undefined && conversationOf(this.#record).length !== expected
  }

  /** The head that a step continues. If it names none, that is the record's head when its turn comes. */
  #headOf(step: Waiting): Head {
    return (step.expectedHead ??= this.#record.head)
  }

  #send(step: Waiting): void {
    const made = this.#made(step)
    if (made === undefined) return
    const { rows, apply } = made
    const { len } = this.#record.history
    const { head } = this.#record
    if (rows.length === 0 && step.messages === 0 && step.continues.type !== 'len')
      return step.resolve(right(Object.freeze({ from: len, to: len, head })))
    const last = this.#sent.at(-1)
    const before = last?.plan.head ?? head
    const range = last?.plan.grown.range ?? this.#record.range
    const ready = this.#ready(before, made)
    if (isLeft(ready)) return this.#fail(step, ready.left)
    const { rows: toStore, ...rest } = ready.right
    const planned = orIo('hash the rows', () => planAppend(range, before, toStore, this.#written.store))
    if (isLeft(planned)) return this.#fail(step, planned.left)
    const plan = planned.right
    const answer = this.#ask(step, { expected: plan.expected, rows: plan.rows, ...rest })
    this.#sent.push({ ...step, plan, apply, answer })
    const drains = this.#state === 'sending'
    this.#on('sent')
    if (!drains) void this.#drain()
  }

  /** The rows of a step; undefined if making them failed. Reading a damaged message throws, and that must not stop the writer. */
  #made(step: Waiting): StepRows | undefined {
    this.#making = true
    try {
      const made = step.rows()
      if (!isLeft(made)) return made.right
      this.#fail(step, made.left)
    } catch (error) {
      if (error instanceof FaultError) this.#fail(step, error.fault as WriteFault)
      else this.#answer(step, Promise.reject(error as Error)) // an error in the program
    } finally {
      this.#making = false
    }
    return undefined
  }

  /** The rows to store, with their times; encrypted if the session is. */
  #ready(expected: Head, { rows, blocks }: Pick<StepRows, 'rows' | 'blocks'>): Either<WriteFault, RowsToStore> {
    const { store } = this.#written
    const { id, erasable } = this.#record
    return orIo('encrypt the rows', (): Either<WriteFault, RowsToStore> => {
      const stamped = stamp(rows, store, erasable)
      if (isLeft(stamped)) return stamped
      const { encryption } = store
      if (encryption === undefined) return right({ rows: stamped.right, blocks })
      return encryption.rows(id, { expected, rows: stamped.right, blocks })
    })
  }

  /** Appends, and turns an exception of a third-party store into a fault, so that it can't stop the writer. */
  async #ask(
    { operation, respectLease }: Step,
    append: RowsToStore & Pick<Append, 'expected'>,
  ): Promise<Either<AppendFault, AppendedRows>> {
    try {
      return await appendPlanned(this.#written.store, this.#record.id, {
        ...append,
        terms: termsOf,
        ownKey: this.ownKey,
        respectLease,
        ...(operation !== undefined && { operation: redactedName(this.#record.redactor, operation) }),
      })
    } catch (cause) {
      return left({ _tag: 'Io', operation: 'append', cause, outcome: 'unknown' })
    }
  }

  /** Add acknowledged appends to the record in memory, in order. */
  async #drain(): Promise<void> {
    for (let first = this.#sent[0]; first !== undefined; first = this.#sent[0]) {
      try {
        await this.#finish(first)
      } catch (cause) {
        this.#lost(first, cause)
      }
    }
    this.#on('drained')
    this.#pump()
  }

  async #finish(first: SentStep): Promise<void> {
    const answer = await first.answer
    this.#sent.shift()
    if (isLeft(answer) || isRepeat(answer.right, first)) return this.#recover(first, answer)
    if (answer.right.head.root !== first.plan.grown.root) {
      const { id, head } = this.#record
      const fault = { _tag: 'DamagedLog', id, position: head.size, reason: otherRows } as const
      this.#break(fault)
      return this.#fail(first, fault)
    }
    first.apply(answer.right.from)
    addTimes(this.#record, first.plan.rows)
    this.#record.range = first.plan.grown.range
    this.#record.head = answer.right.head
    first.resolve(right(this.#recorded(answer.right, first.messages)))
  }

  /** An error in the program made this throw, so the state of pending steps is unknown. */
  #lost(first: SentStep, cause: unknown): void {
    const fault = { _tag: 'Io', operation: 'append', cause, outcome: 'unknown' } as const
    this.#break(fault)
    for (const step of [first, ...this.#recovering.splice(0), ...this.#sent.splice(0)]) {
      step.failed?.(fault)
      step.resolve(left(fault))
    }
  }

  /** Marks the record in memory as broken. The first reason stays. */
  #break(fault: VerifyFault): void {
    if (typeof this.#mirrorIs === 'string') this.#mirrorIs = fault
  }

  /**
   * Handles a step not appended at its expected place. Nor were the steps after it, unless the
   * store reports otherwise.
   */
  async #recover(first: SentStep, answer: Either<AppendFault, AppendedRows>): Promise<void> {
    this.#on('refused')
    this.#recovering.push(first, ...this.#sent.splice(0))
    const all = [{ step: first, answer }]
    for (const step of this.#recovering.slice(1)) all.push({ step, answer: await step.answer })
    // If a later step was stored nonetheless, the conflict does not have all missed rows.
    const conflict =
      isLeft(answer) && answer.left._tag === 'Conflict' && all.every((entry) => isLeft(entry.answer))
        ? answer.left
        : undefined
    const synced = await this.#sync(conflict)
    if (isLeft(answer) && answer.left._tag === 'Diverged') this.#break(answer.left)
    const news = isLeft(synced) || synced.right.messages.length > 0 || synced.right.notes.length > 0
    this.#recovering.length = 0
    this.#waiting.unshift(...all.flatMap(({ step, answer }) => (step !== first && isLeft(answer) ? [step] : [])))
    for (const { step, answer } of all) {
      if (!isLeft(answer) && isLeft(synced)) this.#fail(step, synced.left)
      else if (!isLeft(answer)) this.#repeated(step, this.#recorded(answer.right, step.messages))
      else if (step === first && answer.left._tag === 'Conflict' && news) this.#waiting.unshift(step)
      else if (step === first) this.#fail(step, answer.left)
    }
  }

  /** Resolve a step that can't be sent as it is. Nothing is pending. */
  async #resolve(step: Waiting): Promise<void> {
    this.#looking = step
    try {
      await this.#settle(step)
    } finally {
      this.#looking = undefined
    }
  }

  async #settle(step: Waiting): Promise<void> {
    if (step.doomed !== undefined) return this.#fail(step, step.doomed)
    if (step.continues.type === 'head') this.#headOf(step) // fixes the head before others' rows are read
    if (this.#mirrorIs !== 'current' || this.#isBeyond(step)) {
      const synced = await this.#sync()
      if (isLeft(synced)) return this.#fail(step, synced.left)
    }
    if (this.#fits(step)) {
      this.#looking = undefined // otherwise it would be counted twice
      return void this.#waiting.unshift(step)
    }
    const { operation } = step
    return operation !== undefined && this.#isLate(step) ? this.#repeat(step) : this.#fail(step, this.#against(step))
  }

  /** Whether the caller expects more than is known here. */
  #isBeyond({ continues }: Waiting): boolean {
    const { history, head } = this.#record
    if (continues.type === 'len') return continues.len !== undefined && lengthOf(continues.len) > history.len
    return continues.type === 'head' && continues.head !== undefined && continues.head.size > head.size
  }

  /** Whether a step may have been appended before, going by its expected place. */
  #isLate({ continues, expectedLen }: Waiting): boolean {
    const { sealed, history, head } = this.#record
    if (continues.type === 'head') return continues.head !== undefined && continues.head.size < head.size
    return sealed || (expectedLen !== undefined && expectedLen < history.len)
  }

  /** Sends an operation that is too late to be appended, in case it was appended before. */
  async #repeat(step: Waiting): Promise<void> {
    const { id, sealed, range } = this.#record
    const made = this.#made(step)
    if (made === undefined) return
    const { rows, blocks } = made
    let expected = step.expectedHead
    if (expected === undefined) {
      const size = sealed ? range.size - 1 : rowOf(this.#record, step.expectedLen ?? 0)
      const older = await guardStore('read the session', () => rangeAt(this.#written.store, id, size)())
      if (isLeft(older)) return this.#fail(step, older.left)
      expected = headOf(older.right, this.#written.store.hash)
    }
    const answer = await this.#ask(step, { expected, rows, blocks })
    if (isLeft(answer)) return this.#fail(step, answer.left._tag === 'Conflict' ? this.#against(step) : answer.left)
    const synced = answer.right.head.size > this.#record.head.size ? await this.#sync() : undefined
    if (synced !== undefined && isLeft(synced)) return this.#fail(step, synced.left)
    this.#repeated(step, this.#recorded(answer.right, step.messages))
  }

  /** Synchronize the record in memory with the store. */
  async #sync(conflict?: Conflict): Promise<Either<VerifyFault, MissedRows>> {
    if (typeof this.#mirrorIs === 'object') return left(this.#mirrorIs)
    const record = this.#record
    const [len, notes] = [record.history.len, record.notes.len]
    const synced = await guardStore('read the session', async (): Promise<Either<VerifyFault, unknown>> => {
      const carried = conflict === undefined ? right(false) : await catchUpFrom(this.#written.store, record, conflict)
      return isLeft(carried) || carried.right ? carried : catchUp(this.#written.store, record)
    })
    this.#mirrorIs = isLeft(synced) ? 'stale' : 'current'
    if (!isLeft(synced)) {
      if (record.history.len > len) this.#history?.diverged()
      return right(missedRowsSince(record, len, notes))
    }
    const { _tag } = synced.left
    if (_tag === 'DamagedLog' || _tag === 'Diverged' || record.history.len !== len || record.notes.len !== notes)
      this.#break(synced.left)
    return synced
  }

  #answer(step: Waiting, answer: WriteAnswer<AppendedMessages> | Promise<never>): void {
    if (this.#looking === step) this.#looking = undefined // calls from now on come after its result
    step.resolve(answer)
  }

  #fail(step: Waiting, input: WriteFault | AppendFault): void {
    const fault = busyOf(input)
    this.#answer(step, left(fault))
    step.failed?.(fault)
    this.#history?.diverged(step.continues.type === 'end' ? undefined : fault)
    if (step.continues.type !== 'end')
      for (const follower of this.#followers()) follower.doomed ??= consequenceOf(fault)
  }

  /** Resolves a step that had already been appended. The steps after it do not wait for its messages. */
  #repeated(step: Waiting, answer: AppendedMessages): void {
    this.#answer(step, right(answer))
    this.#history?.diverged()
    if (answer.to > step.behind.messages) return // another process appended it since
    const { id, history } = this.#record
    for (const follower of this.#followers()) {
      const expectedLen = follower.expectedLen as number // followers have an expected length
      if (follower.from !== undefined) follower.doomed ??= { _tag: 'SessionGap', id, expectedLen, len: history.len }
      follower.expectedLen = expectedLen - step.messages
    }
  }

  /** The steps after a failed or repeated one: those called without an expected length. */
  #followers(): readonly Waiting[] {
    return this.#waiting.filter(
      (next): next is Waiting => !isPause(next) && next.continues.type === 'len' && next.continues.len === undefined,
    )
  }

  /** The fault of a step that does not fit. */
  #against({ continues, expectedLen, expectedHead, behind }: Waiting): StepConflict {
    const { id, sealed, history, head } = this.#record
    const { len } = history
    if (sealed) return { _tag: 'SessionSealed', id, len }
    const known =
      continues.type === 'head' && expectedHead !== undefined
        ? messagesBefore(this.#record, expectedHead.size)
        : (expectedLen ?? len)
    const isRetracted = expectedHead === undefined && known === len && this.#isRetracted({ continues })
    const isAhead = expectedHead === undefined ? known >= len && !isRetracted : expectedHead.size > head.size
    if (isAhead || !isCount(known)) {
      const gap = { _tag: 'SessionGap', id, expectedLen: known, len } as const
      return expectedHead === undefined && known <= behind.messages ? consequenceOf(gap) : gap // an earlier one failed
    }
    const missed = missedRowsSince(
      this.#record,
      known,
      isRetracted
        ? Math.min(behind.notes, (this.#record.retracted.at(-1)?.notes ?? Infinity) - 1)
        : expectedHead === undefined
          ? behind.notes
          : expectedHead.size - known,
    )
    return { _tag: 'SessionConflict', id, expectedLen: known, len, missed: missed.messages, notes: missed.notes }
  }

  #recorded({ from, head }: AppendedRows, messages: number): AppendedMessages {
    const position = messagesBefore(this.#record, from)
    return Object.freeze({ from: position, to: position + messages, head })
  }
}

export const otherRows = 'the store did not append the rows that it was given'

/** Turns an exception of a third-party store's functions into a fault. */
const orIo = <F, T>(operation: string, work: () => Either<F, T>): Either<F | StoreFaultOf<'Io'>, T> => {
  try {
    return work()
  } catch (cause) {
    return left({ _tag: 'Io', operation, cause })
  }
}

/** Whether the store returned an earlier result of this operation: its head is not the planned one. */
const isRepeat = ({ head }: AppendedRows, { plan, operation }: SentStep): boolean =>
  head.size !== plan.head.size || (operation !== undefined && head.root !== plan.head.root)

/** Anything but a number becomes NaN, which no record has: comparing it could throw and block other steps. */
const lengthOf = (value: unknown): number => (typeof value === 'number' ? value : NaN)
