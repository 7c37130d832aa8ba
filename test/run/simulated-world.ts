/**
 * A world of processes that take turns on one session of one store, in which nothing happens but what a schedule chooses: the
 * code is real, and every command to the store, every call of a model and every timer waits to be chosen. A command can be
 * applied and answered, applied and not answered, or lost before; a process can be killed at each step; each has a clock of
 * its own, and the store has another one.
 */
import { assistant, textOf, toolCall, type Message } from 'indelible'
import { resume, tool, turn, type Model, type RunResult, type Tool, type TurnFault } from 'indelible/run'
import { createSession, eraseMessages, openSession, type Session } from 'indelible/session'
import { memoryStore, type Append, type Store, type StoreFault } from 'indelible/store'
import { storeTask } from '../../src/store/internal.ts'
import { isLeft, left, type Either } from 'fp-ts/lib/Either.js'
import type { Clock, Task } from '../../src/task/index.ts'

export const ttl = 900

/** How much likelier a command goes well than that it goes wrong in one way. */
const likely = 30

/** Something that waits to be chosen, with the ways in which it can happen; the first one is the way without a fault. */
interface Pending {
  readonly process: Process
  readonly command?: (typeof commands)[number]
  readonly ways: readonly (() => void)[]
}

/** What a turn ended with. */
export interface TurnOutcome {
  readonly id: string
  readonly answer: Either<TurnFault, RunResult>
  /** The fencing number of the latest lease at that time. */
  readonly granted: number
}

/** Nothing else happens; or the model calls `pay` once for each question; or questions are erased. */
export type WorldKind = 'plain' | 'pays' | 'erases'

const commands = ['lease', 'renew', 'release', 'append', 'read', 'info', 'leaseOf'] as const

const lost: StoreFault = { _tag: 'Io', operation: 'simulate', cause: new Error('no answer'), outcome: 'unknown' }

class Process {
  readonly world: World
  readonly id: string
  /** Whether nothing of it happens, until the schedule wakes it or all goes well. */
  isStalled = false
  isDone = false
  now = 0
  timers: { readonly at: number; readonly work: () => void }[] = []

  constructor(world: World, id: string) {
    this.world = world
    this.id = id
  }

  readonly clock: Clock = {
    now: () => this.now,
    after: (milliseconds, work) => {
      const timer = { at: this.now + milliseconds, work }
      if (milliseconds !== Infinity) this.timers.push(timer)
      return { cancel: () => (this.timers = this.timers.filter((one) => one !== timer)) }
    },
  }

  /** The timer that fires next. */
  get next(): { readonly at: number; readonly work: () => void } | undefined {
    return this.timers.toSorted((a, b) => a.at - b.at)[0]
  }

  fire(): void {
    const timer = this.next
    if (timer === undefined) return
    this.timers = this.timers.filter((one) => one !== timer)
    this.now = Math.max(this.now, timer.at)
    timer.work()
  }

  #wait<T>(command: (typeof commands)[number] | undefined, ...ways: readonly (() => Promise<T> | T)[]): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending: Pending = {
        process: this,
        ...(command !== undefined && { command }),
        ways: ways.map((way) => () => void (async () => resolve(await way()))().catch(reject)),
      }
      this.world.pending.push(pending)
    })
  }

  get store(): Store {
    const { store } = this.world
    const throughWorld = (name: (typeof commands)[number]) => {
      const method = store[name] as (...given: unknown[]) => Task<StoreFault, unknown>
      return (...given: unknown[]) => {
        if (name === 'append' && isUnfenced(given[1] as Append)) this.world.unfenced += 1
        return storeTask(
          () =>
            this.#wait<Either<StoreFault, unknown>>(
              name,
              () => this.world.applied(name, method(...given)()),
              async () => (await this.world.applied(name, method(...given)()), left(lost)),
              () => left(lost),
            ),
          'store.call',
        )
      }
    }
    return { ...store, ...Object.fromEntries(commands.map((name) => [name, throughWorld(name)])) }
  }

  /** Has its effect, and answers later: a process that is killed between has paid, and nobody knows. */
  readonly pay: Tool = tool({
    name: 'pay',
    parameters: { type: 'object' },
    needsApproval: true,
    run: async (_input, { call }) => {
      await this.#wait(undefined, () => void this.world.paid.push(call.id))
      return this.#wait(undefined, () => 'paid')
    },
  })

  /** Answers the message that it is asked to answer, after a call of `pay` in a world that has it, or fails. */
  readonly model: Model = {
    name: 'echo',
    stream: (request) => {
      const { world } = this
      const wait = (): Promise<boolean> =>
        this.#wait<boolean>(
          undefined,
          () => true,
          () => false,
        )
      return (async function* () {
        // It takes a while, so that leases are renewed meanwhile.
        for (let pause = 0; pause < 6; pause++) if (!(await wait())) throw new Error('the provider is down')
        const messages = [...request.messages]
        const question = questionOf(messages)
        if (world.kind === 'pays' && !messages.some((message) => paymentFor(message) === question)) {
          const call = toolCall(`p${++world.calls}`, 'pay', { for: question })
          yield { type: 'block_end', index: 0, block: 'tool_call', part: call }
          yield { type: 'finish', message: assistant(call), reason: 'tool_calls', usage: { input: 1, output: 1 } }
          return
        }
        const message = assistant(`re: ${question}`)
        yield { type: 'text_delta', index: 0, block: 'text', text: 're' } // for the journal, at a time that the schedule chooses
        if (!(await wait())) throw new Error('the provider is down')
        yield { type: 'block_end', index: 0, block: 'text', part: message.content[0] as never }
        yield { type: 'finish', message, reason: 'end_turn', usage: { input: 1, output: 1 } }
      })()
    },
  }

  async run(whenBusy: 'wait' | 'queue'): Promise<void> {
    let session: Session | undefined
    while (session === undefined) {
      const opened = await openSession(this.store, 's')()
      if (!isLeft(opened)) session = opened.right
    }
    const { id, model, clock } = this
    const options = {
      model,
      clock,
      ttl,
      journalEvery: { ms: 1 },
      ...(this.world.kind === 'pays' && { tools: [this.pay] }),
    }
    for (;;) {
      const answer = await turn(session, id, { ...options, id, whenBusy }).result()()
      this.world.ended.push({ id, answer, granted: this.world.granted })
      const { stopReason = 'error', open }: Partial<RunResult> = isLeft(answer) ? {} : answer.right
      if (['end_turn', 'answered', 'cancelled'].includes(stopReason)) break
      if (open !== undefined) {
        const tokens = open.calls.map(({ approval }) => approval)
        this.world.decided.push(...open.calls.map((call) => call.id))
        // One of them says no.
        await resume(session, { ...options, [id === 'b' ? 'deny' : 'approve']: tokens }).result()()
      }
      await new Promise<void>((next) => clock.after(ttl, next)) // others get on meanwhile
    }
    this.isDone = true
  }
}

const isUnfenced = ({ rows, lease }: Append): boolean =>
  lease === undefined && rows.some(({ kind }) => kind === 'entry')

/** Whose payment a message asks for. */
const paymentFor = ({ content }: Message): unknown =>
  content.flatMap((part) => (part.type === 'tool_call' ? [JSON.parse(part.arguments) as { for: unknown }] : []))[0]?.for

/** The text that a model is asked to answer: the user's, or the reminder's quote of it, whichever is last. */
const questionOf = (messages: readonly Message[]): string =>
  messages
    .map((message) => {
      if (message.role === 'user') return textOf(message)
      const reminder = /^\[The user's message(?: "(.*?)",)? at/.exec(textOf(message))
      return reminder === null ? undefined : (reminder[1] ?? '') // without a quote, if it was erased
    })
    .findLast((said) => said !== undefined) ?? ''

/** Until nothing happens any more without being chosen. */
const settle = async (): Promise<void> => {
  for (let round = 0; round < 3; round++) await new Promise((resolve) => setImmediate(resolve))
}

export class World {
  readonly store: Store
  pending: Pending[] = []
  readonly ended: TurnOutcome[] = []
  /** The fencing number of the latest lease that the store granted. */
  granted = 0
  readonly kind: WorldKind
  /** The inputs that were erased. */
  readonly erased: Set<string> = new Set()
  /** The number of those calls. */
  calls = 0
  /** The ids of the calls of `pay` that somebody decided about, and of those that had an effect. */
  readonly decided: string[] = []
  readonly paid: string[] = []
  /** How many appends of messages carried no lease: all of them are a run's. */
  unfenced = 0
  /** How often a run was asked to stop. */
  stops = 0
  #processes: Process[] = []
  #storeNow = 1_000_000
  /** The number of events that happened. */
  steps = 0
  readonly #ways: readonly ('wait' | 'queue')[]

  constructor(ways: readonly ('wait' | 'queue')[], kind: WorldKind) {
    this.#ways = ways
    this.kind = kind
    this.store = memoryStore({ now: () => this.#storeNow })
  }

  /** Notes what a command changed in the store. */
  async applied<T>(
    name: (typeof commands)[number],
    answer: Promise<Either<StoreFault, T>>,
  ): Promise<Either<StoreFault, T>> {
    const found = await answer
    if (name === 'lease' && !isLeft(found)) this.granted = (found.right as { readonly number: number }).number
    return found
  }

  async begin(): Promise<void> {
    await createSession(this.store, { id: 's' })
    for (const index of this.#ways.keys()) this.#start(index)
    await settle()
  }

  #start(index: number): void {
    const process = new Process(this, String.fromCharCode(97 + index))
    this.#processes[index] = process
    void process.run(this.#ways[index] as 'wait')
  }

  #take(pending: Pending, way: number): void {
    this.pending = this.pending.filter((one) => one !== pending)
    pending.ways[way]?.()
  }

  /** A store gets the appends of one process in their order. */
  #isNext(pending: Pending): boolean {
    const { process, command } = pending
    return (
      command !== 'append' ||
      this.pending.find((pending) => pending.process === process && pending.command === command) === pending
    )
  }

  /** Choose the next event by a number. */
  async choose(number: number): Promise<void> {
    const events: (() => unknown)[] = []
    // What goes well is likely, so that schedules get far.
    for (const pending of this.pending.filter((pending) => !pending.process.isStalled && this.#isNext(pending)))
      for (const way of pending.ways.keys())
        for (let weight = way === 0 ? likely : 1; weight > 0; weight--) events.push(() => this.#take(pending, way))
    for (const process of this.#processes) {
      for (let weight = process.isStalled || process.next === undefined ? 0 : likely; weight > 0; weight--)
        events.push(() => process.fire())
      for (let weight = process.isDone ? 0 : 3; weight > 0; weight--)
        events.push(() => (process.isStalled = !process.isStalled))
    }
    for (let weight = 3; weight > 0; weight--) events.push(() => (this.#storeNow += ttl))
    if (this.kind === 'erases')
      for (const { id } of this.#processes)
        events.push(async () => {
          if (!isLeft(await eraseMessages(this.store, 's', { inputs: [id] })())) this.erased.add(id)
        })
    if (this.granted > 0)
      events.push(() => {
        this.stops += 1
        void this.store.requestStop('s')()
      })
    for (const [index, process] of this.#processes.entries())
      for (let weight = process.isDone ? 0 : 3; weight > 0; weight--)
        events.push(() => {
          process.timers = []
          this.pending = this.pending.filter((pending) => pending.process !== process)
          this.#start(index)
        })
    await events[number % events.length]?.()
    this.steps += 1
    await settle()
  }

  get isDone(): boolean {
    return this.#processes.every(({ isDone }) => isDone)
  }

  /** Everything happens without faults from here on, in turn. Returns the number of rounds until all is done and at rest. */
  async fairly(most: number): Promise<number> {
    for (const process of this.#processes) process.isStalled = false
    for (let round = 1; round <= most; round++) {
      const all = this.pending
      this.pending = []
      for (const { ways } of all) {
        ways[0]?.()
        await settle()
      }
      if (this.isDone && this.pending.length === 0 && this.#processes.every(({ next }) => next === undefined))
        return round
      if (all.length > 0) continue
      // Nothing is on its way: time goes on for everybody, until the next timer of anybody.
      const rest = Math.min(...this.#processes.map((process) => (process.next?.at ?? Infinity) - process.now))
      if (rest === Infinity) return this.isDone ? round : Infinity
      this.#storeNow += rest
      for (const process of this.#processes) {
        process.now += rest
        while ((process.next?.at ?? Infinity) <= process.now) process.fire()
      }
      await settle()
    }
    return Infinity
  }

  /** Time goes on for long enough that a lease that nobody renews expires; what is renewed meanwhile stays. */
  async rest(): Promise<void> {
    for (let part = 0; part < 8; part++) {
      this.#storeNow += ttl / 4
      for (const process of this.#processes) {
        process.now += ttl / 4
        while ((process.next?.at ?? Infinity) <= process.now) process.fire()
      }
      await this.fairly(10)
    }
  }

  async session(): Promise<Session> {
    return openSession(this.store, 's')
  }
}
