/**
 * The one writer of a session in this process. Appends are sent in the order in which they are called, without waiting
 * for each other: each names the head that the one before it will leave, so the store can commit many at once. What is
 * acknowledged is added to the mirror, in the same order.
 *
 * When one is refused, those behind it continue a head that never was. Then the mirror is brought up to the store, and
 * each is looked at again: whether it still continues what it was meant for.
 */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import type { CompactRange } from '../proof/index.ts'
import { grow, headOf, rangeAt, rowLeaf, type Appended, type Head, type Row, type Store, type StoreFault } from '../store/index.ts'
import type { SessionFault } from './fault.ts'
import { catchUp, messagesBefore, rowOf, since, type Mirror, type Missed } from './mirror.ts'

/** What an append has done: the messages from `from` up to, not including, `to` are its own. */
export interface Recorded {
  readonly from: number
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
  /** Add it to the mirror; its first row is at this position of the log. */
  readonly apply: (position: number) => void
}

export type Answered<T> = Either<SessionFault | StoreFault, T>

export interface Writer {
  /** Messages. */
  readonly append: (step: Step) => Promise<Answered<Recorded>>
  /** A note: it may stand behind messages that nobody here has seen. `seals` if it is the last row. */
  readonly note: (step: Omit<Step, 'expectedLen' | 'blocks' | 'operation'>, seals: boolean) => Promise<Answered<Recorded>>
  /** Do something while nothing is on its way; what was called before is done first, what is called later waits. */
  readonly alone: <T>(work: () => Promise<Answered<T>>) => Promise<Answered<T>>
  /** Read what others have appended. */
  readonly refresh: () => Promise<Answered<Missed>>
  readonly close: () => Promise<void>
}

interface Waiting extends Omit<Step, 'expectedLen'> {
  readonly messages: number
  /** Undefined: anywhere. */
  expectedLen: number | undefined
  /** Why it can't be appended: one that it was to follow has failed. */
  doomed: SessionFault | StoreFault | undefined
  /** How many notes there were when it was called. */
  readonly notes: number
  /** Whether the caller named the length. */
  readonly named: boolean
  readonly seals: boolean
  readonly resolve: (answer: Answered<Recorded>) => void
}

interface Sent extends Waiting {
  readonly after: CompactRange
  readonly answer: Promise<Either<StoreFault, Appended>>
}

/** Something to be done alone. */
interface Pause {
  readonly pause: () => Promise<void>
}

export const createWriter = (store: Store, mirror: Mirror): Writer => {
  const { id } = mirror
  const waiting: (Waiting | Pause)[] = []
  const sent: Sent[] = []
  let ahead = mirror.range // the range that the next append continues
  let sealing = false
  let pausing = false
  let draining = false
  let stale = false // the last time, the store did not say what it holds
  let broken: StoreFault | undefined // the mirror can't be brought up to the store
  let closed: Promise<void> | undefined

  const aheadLen = (): number => sent.reduce((sum, { messages }) => sum + messages, mirror.history.len)

  const sync = async (): Promise<Either<StoreFault, Missed>> => {
    if (broken !== undefined) return left(broken)
    const [len, notes] = [mirror.history.len, mirror.notes.len]
    const synced = await catchUp(store, mirror)
    ahead = mirror.range
    sealing = mirror.sealed
    stale = isLeft(synced)
    if (!isLeft(synced)) return right(since(mirror, len, notes))
    const { _tag } = synced.left
    if (_tag === 'DamagedLog' || _tag === 'Diverged' || mirror.history.len !== len || mirror.notes.len !== notes) broken = synced.left
    return synced
  }

  /** Whether a step can be sent behind those that are on their way. If not, it waits for them and is looked at again. */
  const fits = (step: Waiting): boolean => !stale && broken === undefined && !sealing && step.doomed === undefined && (step.expectedLen === undefined || step.expectedLen === aheadLen())

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
  const followers = (): readonly Waiting[] => waiting.filter((next): next is Waiting => !('pause' in next) && next.expectedLen !== undefined && !next.named)

  const fail = (step: Waiting, fault: SessionFault | StoreFault): void => {
    step.resolve(left(fault))
    if (step.expectedLen !== undefined) for (const follower of followers()) follower.doomed ??= fault
  }

  /** A step that had happened before. Those behind it don't wait for its messages to come. */
  const repeated = (step: Waiting, answer: Recorded): void => {
    step.resolve(right(answer))
    if (step.expectedLen === undefined || step.named || answer.to > step.expectedLen) return
    for (const follower of followers()) follower.expectedLen = (follower.expectedLen as number) - step.messages // a follower has one
  }

  const send = (step: Waiting): void => {
    const expected = sent.length === 0 ? mirror.head : headOf(ahead, store.hash)
    ahead = grow(ahead, step.rows.map((row) => rowLeaf(row, store.hash)), store.hash).range
    sealing = step.seals
    const { rows, blocks, operation } = step
    const answer = store.append(id, { expected, rows, blocks, ...(operation !== undefined && { operation }) })()
    sent.push({ ...step, after: ahead, answer })
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
        mirror.range = first.after
        mirror.head = answer.right.head
        first.resolve(right(recorded(answer.right, first.messages)))
      }
    }
    draining = false
    pump()
  }

  /** Whether the rows are not those that were to follow the mirror: the operation had happened before. */
  const isRepeat = ({ head }: Appended, { after, operation }: Sent): boolean =>
    head.size !== after.size || (operation !== undefined && head.root !== headOf(after, store.hash).root)

  /** One has not been appended where it should have been; neither have those behind it, unless the store says so. */
  const recover = async (first: Sent, answer: Either<StoreFault, Appended>): Promise<void> => {
    pausing = true
    const all = [{ step: first, answer }]
    for (const step of sent.splice(0)) all.push({ step, answer: await step.answer })
    const synced = await sync()
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
    if (operation !== undefined && (mirror.sealed || (expectedLen !== undefined && expectedLen < mirror.history.len))) return repeat(step, operation)
    fail(step, against(step))
  }

  /** Why a step does not fit. */
  const against = ({ expectedLen, notes }: Waiting): SessionFault => {
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
    for (const step of [...sent, ...waiting])
      if ('messages' in step) {
        messages += step.messages
        notes += step.rows.length - step.messages
      }
    return [messages, notes]
  }

  const enqueue = (step: Omit<Step, 'expectedLen'>, more: Pick<Waiting, 'expectedLen' | 'notes' | 'named' | 'seals'>): Promise<Answered<Recorded>> =>
    new Promise((resolve) => {
      if (closed !== undefined) return resolve(left({ _tag: 'SessionClosed', id }))
      waiting.push({ ...step, ...more, doomed: undefined, messages: step.rows.filter(({ kind }) => kind === 'entry').length, resolve })
      pump()
    })

  const alone = <T>(work: () => Promise<Answered<T>>): Promise<Answered<T>> =>
    new Promise((resolve, reject) => {
      if (closed !== undefined) return resolve(left({ _tag: 'SessionClosed', id }))
      waiting.push({ pause: () => work().then(resolve, reject) })
      pump()
    })

  return {
    append: (step) => {
      const [messages, notes] = counted(mirror.history.len, mirror.notes.len)
      return enqueue(step, { expectedLen: step.expectedLen ?? messages, notes, named: step.expectedLen !== undefined, seals: false })
    },
    note: (step, seals) => enqueue({ ...step, blocks: [], operation: undefined }, { expectedLen: undefined, notes: 0, named: false, seals }),
    alone,
    refresh: () => alone(sync),
    close: () => (closed ??= alone(async () => right(undefined)).then(() => undefined)),
  }
}
