/**
 * The one writer of a session in this process. Appends are sent in the order in which they are called, without waiting
 * for each other: each names the head that the one before it will leave, so the store can commit many at once. What is
 * acknowledged is added to the mirror, in the same order.
 *
 * When one is refused, those behind it continue a head that never was. Then the mirror is brought up to the store, and
 * each is looked at again: whether it still continues what it was meant for.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import type { CompactRange } from '../proof/index.ts'
import {
  headOf,
  planned,
  rangeAt,
  type Appended,
  type Head,
  type Plan,
  type Row,
  type Store,
  type AppendFault,
  type StoreFaultOf,
  type VerifyFault,
} from '../store/index.ts'
import type { RefreshFault, SessionFaultOf, WriteFault } from './fault.ts'
import { busyOf } from './lease.ts'
import { stamp } from './stamp.ts'
import {
  addTimes,
  catchUp,
  catchUpFrom,
  messagesBefore,
  rowOf,
  since,
  type Conflict,
  type Mirror,
  type Missed,
} from './mirror.ts'

/** What an append has done: the messages from `from` up to, not including, `to` are its own. */
export interface Recorded {
  /** The position of the first message. */
  readonly from: number
  /** The position after the last one. */
  readonly to: number
  /** The head right after it. */
  readonly head: Head
}

/** Rows to append. */
export interface Step {
  readonly rows: readonly Row[]
  readonly blocks: readonly Uint8Array[]
  readonly operation: string | undefined
  /** The length that it continues, if the caller says so. Default: that after everything that was called before. */
  readonly expectedLen: number | undefined
  /** Whether somebody else's lease keeps it from being appended. */
  readonly respectLease?: true
  /** Add it to the mirror; its first row is at this position of the log. */
  readonly apply: (position: number) => void
}

export type Answered<T> = Either<WriteFault, T>

export interface Writer {
  /** Messages. */
  readonly append: (step: Step) => Promise<Answered<Recorded>>
  /**
   * A note: without an expected length it may stand behind messages that nobody here has seen. `seals` if it is the last
   * row.
   */
  readonly note: (step: Omit<Step, 'blocks'>, seals: boolean) => Promise<Answered<Recorded>>
  /** How many messages there will be once everything that was called is done. */
  readonly len: () => number
  /** Do something while nothing is on its way; what was called before is done first, what is called later waits. */
  /**
   * What `make` gives for the record as it is, once everything that was called before is done; only there, also where
   * nothing but a note came between. `messages` is how many it appends if it does not fail.
   */
  readonly exactly: (
    make: () => Either<SessionFaultOf<'InvalidNote'>, Exact>,
    more: ExactOptions,
  ) => Promise<Answered<Recorded>>
  readonly alone: <F, T>(work: () => Promise<Either<F, T>>) => Promise<Either<F | SessionFaultOf<'SessionClosed'>, T>>
  /** Read what others have appended. */
  readonly refresh: () => Promise<Either<RefreshFault, Missed>>
  readonly close: () => Promise<void>
}

/** Rows that continue the very record they were made for. None: nothing is to be done. */
export type Exact = Pick<Step, 'rows' | 'blocks' | 'apply'>

export interface ExactOptions {
  /** How many messages are among the rows. */
  readonly messages: number
  readonly operation: string | undefined
  /** The head that the rows were made for. Default: the record as it is. */
  readonly expectedHead: Head | undefined
}

interface Waiting extends Omit<Step, 'expectedLen'> {
  readonly messages: number
  /** Undefined: anywhere. */
  expectedLen: number | undefined
  /** Why it can't be appended: one that it was to follow has failed. */
  doomed: WriteFault | undefined
  /** How many notes there were when it was called. */
  readonly notes: number
  /** Whether the caller named the length. */
  readonly named: boolean
  readonly seals: boolean
  readonly resolve: (answer: Answered<Recorded>) => void
}

interface Sent extends Waiting {
  readonly plan: Plan
  readonly answer: Promise<Either<AppendFault, Appended>>
}

/** Why a step does not continue what it was meant for. */
type Late = SessionFaultOf<'SessionConflict' | 'SessionGap' | 'SessionSealed'>

/** Something to be done alone. */
interface Pause {
  readonly pause: () => Promise<void>
  /** How many messages it appends. */
  readonly messages: number
}

/** A length that is no number is one that no record has: to compare it could throw, where others wait for the answer. */
const lengthOf = (given: unknown): number => (typeof given === 'number' ? given : NaN)

export const createWriter = (store: Store, mirror: Mirror): Writer => {
  const { id } = mirror
  const waiting: (Waiting | Pause)[] = []
  const sent: Sent[] = []
  let ahead = mirror.range // the range that the next append continues
  let sealing = false
  let pausing = false
  let coming = 0 // messages of an exact append that is on its way
  let draining = false
  let stale = false // the last time, the store did not say what it holds
  let broken: VerifyFault | undefined // the mirror can't be brought up to the store
  let closed: Promise<void> | undefined

  const aheadLen = (): number => sent.reduce((sum, { messages }) => sum + messages, mirror.history.len)

  const sync = async (conflict?: Conflict): Promise<Either<VerifyFault, Missed>> => {
    if (broken !== undefined) return left(broken)
    const [len, notes] = [mirror.history.len, mirror.notes.len]
    const carried = conflict === undefined ? right(false) : await catchUpFrom(store, mirror, conflict)
    const synced = isLeft(carried) || carried.right ? carried : await catchUp(store, mirror)
    ahead = mirror.range
    sealing = mirror.sealed
    stale = isLeft(synced)
    if (!isLeft(synced)) return right(since(mirror, len, notes))
    const { _tag } = synced.left
    if (_tag === 'DamagedLog' || _tag === 'Diverged' || mirror.history.len !== len || mirror.notes.len !== notes)
      broken = synced.left
    return synced
  }

  /** Whether a step can be sent behind those that are on their way. If not, it waits for them and is looked at again. */
  const fits = (step: Waiting): boolean =>
    !stale &&
    broken === undefined &&
    !sealing &&
    step.doomed === undefined &&
    (step.expectedLen === undefined || step.expectedLen === aheadLen())

  const pump = (): void => {
    for (;;) {
      const next = pausing ? undefined : waiting[0]
      if (next === undefined) return
      const now = !('pause' in next) && fits(next)
      if (!now && sent.length > 0) return // the drain calls again
      waiting.shift()
      if ('pause' in next) void paused(next.pause)
      else if (now) send(next)
      else void paused(() => resolve(next))
    }
  }

  const paused = async (work: () => Promise<void>): Promise<void> => {
    pausing = true
    await work()
    pausing = false
    pump()
  }

  /** Those that were to follow a step: called behind it, without a length of their own. */
  const followers = (): readonly Waiting[] =>
    waiting.filter((next): next is Waiting => !('pause' in next) && next.expectedLen !== undefined && !next.named)

  const fail = (step: Waiting, given: WriteFault | AppendFault): void => {
    const fault = busyOf(given)
    step.resolve(left(fault))
    if (step.expectedLen !== undefined) for (const follower of followers()) follower.doomed ??= fault
  }

  /** A step that had happened before. Those behind it don't wait for its messages to come. */
  const repeated = (step: Waiting, answer: Recorded): void => {
    step.resolve(right(answer))
    if (step.expectedLen === undefined || step.named || answer.to > step.expectedLen) return
    for (const follower of followers()) follower.expectedLen = (follower.expectedLen as number) - step.messages // a follower has one
  }

  /** Rows as they are to be stored: with their time, hashed once. */
  const plan = (
    before: CompactRange,
    expected: Head,
    rows: readonly Row[],
  ): Either<StoreFaultOf<'InvalidRow' | 'InvalidId' | 'Io'>, Plan> => {
    const stamped = stamp(rows, store, mirror.erasable)
    return isLeft(stamped) ? stamped : planned(before, expected, stamped.right, store.hash)
  }

  const send = (step: Waiting): void => {
    const last = sent.at(-1)?.plan
    const made = plan(ahead, last?.head ?? mirror.head, step.rows)
    if (isLeft(made)) return fail(step, made.left)
    ahead = made.right.after
    sealing = step.seals
    const { expected, rows } = made.right
    const { blocks, operation, respectLease = false } = step
    const answer = store.append(id, {
      expected,
      rows,
      blocks,
      respectLease,
      ...(operation !== undefined && { operation }),
    })()
    sent.push({ ...step, plan: made.right, answer })
    void drain()
  }

  /** Add what is acknowledged, in order. */
  const drain = async (): Promise<void> => {
    if (draining) return
    draining = true
    for (let first = sent[0]; first !== undefined; first = sent[0]) {
      const answer = await first.answer
      sent.shift()
      if (isLeft(answer) || isRepeat(answer.right, first)) await recover(first, answer)
      else {
        first.apply(answer.right.from)
        addTimes(mirror, first.plan.rows)
        mirror.range = first.plan.after
        mirror.head = answer.right.head
        first.resolve(right(recorded(answer.right, first.messages)))
      }
    }
    draining = false
    pump()
  }

  /** Whether the rows are not those that were to follow the mirror: the operation had happened before. */
  const isRepeat = ({ head }: Appended, { plan, operation }: Sent): boolean =>
    head.size !== plan.head.size || (operation !== undefined && head.root !== plan.head.root)

  /** One has not been appended where it should have been; neither have those behind it, unless the store says so. */
  const recover = async (first: Sent, answer: Either<AppendFault, Appended>): Promise<void> => {
    pausing = true
    const all = [{ step: first, answer }]
    for (const step of sent.splice(0)) all.push({ step, answer: await step.answer })
    // Where one behind the first was stored after all, there is more than the conflict carries.
    const conflict =
      isLeft(answer) && answer.left._tag === 'Conflict' && all.every((one) => isLeft(one.answer))
        ? answer.left
        : undefined
    const synced = await sync(conflict)
    const news = isLeft(synced) || synced.right.messages.length > 0 || synced.right.notes.length > 0
    waiting.unshift(...all.flatMap(({ step, answer }) => (step !== first && isLeft(answer) ? [step] : [])))
    for (const { step, answer } of all) {
      if (!isLeft(answer) && isLeft(synced)) fail(step, synced.left)
      else if (!isLeft(answer)) repeated(step, recorded(answer.right, step.messages))
      else if (step === first && answer.left._tag === 'Conflict' && news) waiting.unshift(step)
      else if (step === first) fail(step, answer.left)
    }
    pausing = false
  }

  /** Answer a step that can't be sent as it is. Nothing is on its way. */
  const resolve = async (step: Waiting): Promise<void> => {
    if (stale || broken !== undefined) {
      const synced = await sync()
      if (isLeft(synced)) return fail(step, synced.left)
    }
    if (step.doomed !== undefined) return fail(step, step.doomed)
    const { expectedLen, operation } = step
    const len = mirror.history.len
    if (expectedLen !== undefined && expectedLen > len && step.named) {
      const synced = await sync()
      if (isLeft(synced)) return fail(step, synced.left)
    }
    if (fits(step)) return void waiting.unshift(step)
    if (operation !== undefined && (mirror.sealed || (expectedLen !== undefined && expectedLen < mirror.history.len)))
      return repeat(step, operation)
    fail(step, against(step))
  }

  /** Why a step does not fit. */
  const against = ({ expectedLen, notes }: Waiting): Late => {
    const len = mirror.history.len
    if (mirror.sealed) return { _tag: 'SessionSealed', id, len }
    if (expectedLen !== undefined && expectedLen < len) {
      const missed = since(mirror, expectedLen, notes)
      return { _tag: 'SessionConflict', id, expectedLen, len, missed: missed.messages, notes: missed.notes }
    }
    return { _tag: 'SessionGap', id, expectedLen: expectedLen ?? len, len }
  }

  /** An operation that comes too late to be appended: unless it is what was appended before. */
  const repeat = async (step: Waiting, operation: string): Promise<void> => {
    const { rows, blocks, expectedLen } = step
    const size = mirror.sealed ? mirror.range.size - 1 : rowOf(mirror, expectedLen ?? 0)
    const range = await rangeAt(store, id, size)()
    if (isLeft(range)) return fail(step, range.left)
    const answer = await store.append(id, { expected: headOf(range.right, store.hash), rows, blocks, operation })()
    if (!isLeft(answer)) repeated(step, recorded(answer.right, step.messages))
    else fail(step, answer.left._tag === 'Conflict' ? against(step) : answer.left)
  }

  const recorded = ({ from, head }: Appended, messages: number): Recorded => {
    const position = messagesBefore(mirror, from)
    return Object.freeze({ from: position, to: position + messages, head })
  }

  const counted = (messages: number, notes: number): readonly [messages: number, notes: number] => {
    messages += coming
    for (const step of [...sent, ...waiting]) {
      messages += step.messages
      if ('rows' in step) notes += step.rows.length - step.messages
    }
    return [messages, notes]
  }

  const enqueue = (
    step: Omit<Step, 'expectedLen'>,
    more: Pick<Waiting, 'expectedLen' | 'notes' | 'named' | 'seals'>,
  ): Promise<Answered<Recorded>> =>
    new Promise((resolve) => {
      if (closed !== undefined) return resolve(left({ _tag: 'SessionClosed', id }))
      waiting.push({
        ...step,
        ...more,
        expectedLen: more.expectedLen === undefined ? undefined : lengthOf(more.expectedLen),
        doomed: undefined,
        messages: step.rows.filter(({ kind }) => kind === 'entry').length,
        resolve,
      })
      pump()
    })

  const alone = <F, T>(
    work: () => Promise<Either<F, T>>,
    messages = 0,
  ): Promise<Either<F | SessionFaultOf<'SessionClosed'>, T>> =>
    new Promise((resolve, reject) => {
      if (closed !== undefined) return resolve(left({ _tag: 'SessionClosed', id }))
      waiting.push({ pause: () => work().then(resolve, reject), messages })
      pump()
    })

  /** Rows at the very head that they were made for. Nothing is on its way, and nothing else begins meanwhile. */
  const appendExactly = async (
    make: () => Either<SessionFaultOf<'InvalidNote'>, Exact>,
    { messages, operation, expectedHead }: ExactOptions,
  ): Promise<Answered<Recorded>> => {
    const [len, notes] = [mirror.history.len, mirror.notes.len]
    if (stale || broken !== undefined || (expectedHead !== undefined && expectedHead.size > mirror.head.size)) {
      const synced = await sync()
      if (isLeft(synced)) return synced
    }
    const against = (): Late => {
      const actual = mirror.history.len
      if (mirror.sealed) return { _tag: 'SessionSealed', id, len: actual }
      const seen = expectedHead === undefined ? len : messagesBefore(mirror, expectedHead.size)
      if (expectedHead !== undefined && expectedHead.size > mirror.head.size)
        return { _tag: 'SessionGap', id, expectedLen: seen, len: actual }
      const missed = since(mirror, seen, expectedHead === undefined ? notes : expectedHead.size - seen)
      return {
        _tag: 'SessionConflict',
        id,
        expectedLen: seen,
        len: actual,
        missed: missed.messages,
        notes: missed.notes,
      }
    }
    const expected = expectedHead ?? mirror.head
    const isLate = mirror.sealed || expected.size !== mirror.head.size || expected.root !== mirror.head.root
    if (isLate && (operation === undefined || expected.size >= mirror.head.size)) return left(against())
    const made = make()
    if (isLeft(made)) return made
    const { rows, blocks, apply } = made.right
    if (rows.length === 0)
      return right(Object.freeze({ from: mirror.history.len, to: mirror.history.len, head: mirror.head }))
    // A late one is not appended, but may have been before: then only its kinds and bodies count.
    const ready = isLate ? undefined : plan(mirror.range, expected, rows)
    if (ready !== undefined && isLeft(ready)) return ready
    const appended = await store.append(id, {
      expected,
      rows: ready?.right.rows ?? rows,
      blocks,
      ...(operation !== undefined && { operation }),
    })()
    if (!isLeft(appended) && ready !== undefined && appended.right.head.root === ready.right.head.root) {
      apply(appended.right.from)
      addTimes(mirror, ready.right.rows)
      coming = 0
      mirror.range = ahead = ready.right.after
      mirror.head = appended.right.head
      return right(recorded(appended.right, messages))
    }
    const synced = await sync()
    if (isLeft(appended))
      return left(appended.left._tag === 'Conflict' && !isLeft(synced) ? against() : busyOf(appended.left))
    return isLeft(synced) ? synced : right(recorded(appended.right, messages))
  }

  return {
    exactly: (make, more) =>
      alone(async () => {
        coming = more.messages
        try {
          const answer = await appendExactly(make, more)
          if (isLeft(answer)) for (const follower of followers()) follower.doomed ??= answer.left
          return answer
        } finally {
          coming = 0
        }
      }, more.messages),
    append: (step) => {
      const [messages, notes] = counted(mirror.history.len, mirror.notes.len)
      return enqueue(step, {
        expectedLen: step.expectedLen ?? messages,
        notes,
        named: step.expectedLen !== undefined,
        seals: false,
      })
    },
    note: (step, seals) =>
      enqueue(
        { ...step, blocks: [] },
        {
          expectedLen: step.expectedLen,
          notes: mirror.notes.len,
          named: step.expectedLen !== undefined,
          seals,
        },
      ),
    len: () => counted(mirror.history.len, 0)[0],
    alone,
    refresh: () => alone(() => sync()),
    close: () => (closed ??= alone(async () => right(undefined)).then(() => undefined)),
  }
}
