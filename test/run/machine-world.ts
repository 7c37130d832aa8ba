/**
 * A world of processes that take turns on one session, as plain data: `eventsOf` lists what can happen next, `after` computes
 * the world behind it. The rules are the real ones: a turn's machine, the tables of leases and inputs, the store's rules of
 * leases. What stands here is how effects are performed.
 *
 * A command can be applied, answered, applied and not answered, not applied, or applied after its process gave up or died.
 */
import { assistant, user, type Message } from 'indelible'
import { isLeft } from 'fp-ts/lib/Either.js'
import { decide, nextOf } from '../../src/run/turns/decide.ts'
import { answerTo, inputsIn, stepInput, type Input } from '../../src/run/turns/input.ts'
import {
  decideTurn,
  newTurn,
  type StartFault,
  type TurnEvent,
  type TurnFacts,
  type TurnRequest,
  type TurnState,
} from '../../src/run/turns/turn-machine.ts'
import type { StopReason } from '../../src/run/result.ts'
import { leaseStep, type LeaseState } from '../../src/session/writing/lease-machine.ts'
import { claimFault, changeLease, type LeaseRow } from '../../src/store/port/lease.ts'
import type { InputNote } from '../../src/notes/internal.ts'

/** The rules of the machines, which a test can break to see that somebody notices. */
export interface Rules {
  readonly decide: typeof decide
  readonly nextOf: typeof nextOf
  readonly leaseStep: typeof leaseStep
  readonly stepInput: typeof stepInput
  /** Whether the store compares the number of the lease, and the record that the writer knows. */
  readonly fenced: boolean
  readonly expecting: boolean
}

export const realRules: Rules = { decide, nextOf, leaseStep, stepInput, fenced: true, expecting: true }

type Row = { readonly type: 'user' | 'assistant'; readonly of: string } | InputNote

type Command =
  | { readonly do: 'take' }
  | { readonly do: 'read' }
  | { readonly do: 'renew' | 'release'; readonly number: number }
  | {
      readonly do: 'append'
      readonly rows: readonly Row[]
      /** Rows that its writer knows. */
      readonly expects: number
      readonly number: number | undefined
    }

/** `head`: the number of rows then. */
type Answer = { readonly head: number } & (
  | { readonly is: 'granted'; readonly number: number }
  | { readonly is: 'ok' | 'refused' | 'conflict' | 'lost' | 'stopped' }
)

interface SentCommand {
  readonly command: Command
  readonly answer: Answer | undefined
}

/**
 * `idle`: its turn has given an answer, or was cancelled. `pausing`: it has not, and is asked again later. `effect`: a command of its turn's effect is on its way. `entering`: it
 * reads the record under a new lease, or gives that back (`abandoning`). `starting`: the start of a run is on its way, then it is
 * `running`, and its answer is on its way (`answering`).
 */
type Phase = 'idle' | 'pausing' | 'effect' | 'entering' | 'abandoning' | 'starting' | 'running' | 'answering'

export type Way = 'wait' | 'queue'

interface Process {
  readonly id: string
  readonly way: Way
  readonly phase: Phase
  readonly turn: TurnState
  readonly isHeld: boolean
  readonly lease: LeaseState
  readonly number: number
  /** Rows that it knows. */
  readonly seen: number
  readonly sent: SentCommand | undefined
  readonly renewal: SentCommand | undefined
  /** The input that its run answers, and whether that run was cancelled. */
  readonly working: string | undefined
  readonly isCut: boolean
  /** Its caller has cancelled the turn; somebody has asked the holder to stop. */
  readonly isCancelled: boolean
  readonly isStopped: boolean
  /** Its caller has decided on the calls that wait. */
  readonly isResuming: boolean
  /** What the turn gave. */
  readonly result: string | undefined
}

export interface World {
  readonly rows: readonly Row[]
  readonly row: LeaseRow | undefined
  readonly processes: readonly Process[]
  /** Commands of processes that gave up or died. */
  readonly late: readonly Command[]
  /** How often somebody asked for a cancellation. */
  readonly words: number
  /** The number of processes that died, of runs that failed, of answers that were lost. */
  readonly failures: number
}

/** A law does not hold. */
export class BrokenLaw extends Error {}

const denied = 'something else was said'

export interface Event {
  readonly name: string
  readonly process: number
}

const newProcess = (id: string, way: Way, seen: number): Process => ({
  id,
  way,
  phase: 'effect',
  turn: { ...newTurn, until: way === 'wait' ? Infinity : 0 },
  isHeld: false,
  lease: 'asking',
  number: 0,
  seen,
  sent: { command: { do: 'take' }, answer: undefined },
  renewal: undefined,
  working: undefined,
  isCut: false,
  isCancelled: false,
  isStopped: false,
  isResuming: false,
  result: undefined,
})

export const newWorld = (ways: readonly Way[]): World => ({
  rows: [],
  row: undefined,
  processes: ways.map((way, index) => newProcess(String.fromCharCode(97 + index), way, 0)),
  late: [],
  words: 0,
  failures: 0,
})

export const isDone = ({ processes, late }: World): boolean =>
  late.length === 0 && processes.every(({ phase }) => phase === 'idle')

const isMessage = (row: Row): row is Exclude<Row, InputNote> => row.type !== 'input'
const messagesIn = (rows: readonly Row[]): number => rows.reduce((sum, row) => sum + (isMessage(row) ? 1 : 0), 0)
const notesIn = (rows: readonly Row[]): readonly InputNote[] => rows.filter((row) => row.type === 'input')

/**
 * What can happen next. An answer that comes late is the same as a next command that is applied late, so `apart` events, which
 * apply a command and deliver its answer later, add nothing but interleavings with what happens inside of one process.
 */
export const eventsOf = (world: World, apart: boolean): readonly Event[] => {
  const events: Event[] = []
  const { row, words, late, processes } = world
  const mayBeLate = late.length < (apart ? 3 : 1)
  for (const [process, { sent, renewal, phase, lease, working, isCancelled, isResuming }] of processes.entries()) {
    const add = (...names: readonly string[]): void => void events.push(...names.map((name) => ({ name, process })))
    const isWaiting = sent !== undefined && sent.answer === undefined
    if (isWaiting) add('answered', 'not applied', ...(apart ? ['apply'] : ['not answered']))
    else if (sent !== undefined) add('answer', 'not answered')
    if (isWaiting && mayBeLate) add('late')
    if (renewal !== undefined) add('answer renewal')
    else if (lease === 'ours') add('renewed', ...(apart ? ['renew'] : []), ...(mayBeLate ? ['late renewal'] : []))
    if (phase === 'pausing') add('ask')
    if (phase === 'running') add('model answers', 'model fails')
    // Somebody is there who decides on the calls.
    if (
      phase === 'running' &&
      !isResuming &&
      processes.some((process) => process.id === working && process.result === undefined)
    )
      add('model waits')
    if (phase !== 'idle' && phase !== 'pausing' && !isCancelled && words === 0) add('cancel')
    if (phase !== 'idle') add('kill', ...(isWaiting && mayBeLate ? ['kill, late'] : []))
  }
  const isLive = row?.holder !== undefined && row.expires > 0
  if (isLive) events.push({ name: 'expire', process: -1 })
  if (isLive && words === 0 && !row.stopRequested) events.push({ name: 'stop', process: -1 })
  for (const index of late.keys()) events.push({ name: 'arrive', process: index })
  return events
}

/** One step of each process, where nothing fails. The same world: everything is over, or everybody waits for ever. */
export const fairRound = (world: World, after: (world: World, event: Event) => World): World => {
  let now = world
  while (now.late.length > 0) now = after(now, { name: 'arrive', process: 0 })
  const { row } = now
  const isHeld = row?.holder !== undefined && row.expires > 0
  const holds = ({ lease, number }: Process): boolean =>
    (lease === 'ours' || lease === 'giving') && number === row?.number
  const isGranted = ({ sent }: Process): boolean => sent?.answer?.is === 'granted'
  if (isHeld && !now.processes.some((process) => holds(process) || isGranted(process)))
    now = after(now, { name: 'expire', process: -1 })
  for (const process of now.processes.keys()) {
    const { sent, renewal, phase } = now.processes[process] as Process
    if (renewal !== undefined) now = after(now, { name: 'answer renewal', process })
    else if (sent !== undefined) now = after(now, { name: sent.answer === undefined ? 'answered' : 'answer', process })
    else if (phase === 'running') now = after(now, { name: 'model answers', process })
    else if (phase === 'pausing' && now.processes.every((other) => other.phase === 'idle' || other.phase === 'pausing'))
      now = after(now, { name: 'ask', process }) // others get on meanwhile
  }
  return now
}

/** The same text for worlds from which the same things happen. */
export const keyOf = ({ rows, row, processes, late, words, failures }: World): string => {
  /** What a process knows matters where it writes or decides before it reads again. */
  const knows = ({ phase, sent }: Process): boolean => phase !== 'idle' && sent?.command.do !== 'read'
  const from = Math.min(rows.length, ...processes.map((process) => (knows(process) ? process.seen : rows.length)))
  const number = row?.number ?? 0
  const command = (command: Command): unknown =>
    command.do === 'append'
      ? [command.rows, command.expects - from, (command.number ?? number + 1) - number]
      : command.do === 'take' || command.do === 'read'
        ? [command.do]
        : [command.do, command.number - number]
  const known = rows.slice(0, from)
  return JSON.stringify([
    known.filter(isMessage).map(({ type, of }) => type + of),
    inputsIn(notesIn(known) as never),
    notesIn(known).flatMap(({ id, state, reason }) => (state === 'cancelled' ? [id, reason] : [])),
    rows.slice(from),
    [row?.holder !== undefined, row?.expires, row?.stopRequested],
    processes.map((process) => [
      {
        ...process,
        seen: knows(process) ? process.seen - from : 0,
        number: process.lease === 'ours' || process.lease === 'giving' ? process.number - number : 0,
        sent: undefined,
        renewal: undefined,
      },
      process.sent !== undefined && [command(process.sent.command), process.sent.answer],
      process.renewal,
    ]),
    late.map(command),
    words,
    failures,
  ])
}

/** The machines under some rules: the world after an event. Throws `BrokenLaw` where a law is. */
export const machines = (
  rules: Rules,
): {
  readonly after: (world: World, event: Event) => World
} => {
  const inputsOf = (rows: readonly Row[]): readonly Input[] => {
    if (rules.stepInput === stepInput) return inputsIn(notesIn(rows) as never)
    const inputs = new Map<string, Input>()
    for (const note of notesIn(rows)) {
      const next = rules.stepInput(inputs.get(note.id), note)
      if (next !== undefined) inputs.set(note.id, next)
    }
    return [...inputs.values()]
  }

  /** A command reaches the store. */
  const applied = (world: World, command: Command): readonly [World, Answer] => {
    const { rows, row } = world
    const head = rows.length
    if (command.do === 'read') return [world, { is: 'ok', head }]
    if (command.do === 'append') {
      const { number, expects } = command
      const against = number === undefined ? undefined : claimFault('s', row, { lease: { number } }, 0)
      if (against !== undefined && rules.fenced) return [world, { is: 'lost', head }]
      if (expects !== rows.length && rules.expecting) return [world, { is: 'conflict', head }]
      if (against !== undefined) throw new BrokenLaw('one acts that is not the holder')
      const next = { ...world, rows: [...rows, ...command.rows] }
      holds(world, next)
      return [next, { is: 'ok', head: next.rows.length }]
    }
    const change =
      command.do === 'take'
        ? ({ type: 'take', holder: 'same', ttl: 1 } as const)
        : command.do === 'renew'
          ? ({ type: 'renew', number: command.number, ttl: 1 } as const)
          : ({ type: 'release', number: command.number } as const)
    const outcome = changeLease('s', row, change, 0)
    if (isLeft(outcome)) return [world, { is: command.do === 'take' ? 'refused' : 'lost', head }]
    const next = outcome.right.row
    const answer: Answer =
      command.do === 'take' ? { is: 'granted', number: next?.number ?? 0, head } : { is: 'ok', head }
    return [next === undefined ? world : { ...world, row: next }, answer]
  }

  /** A late command that the store refuses from here on. */
  const isDead = ({ rows, row }: World, command: Command): boolean => {
    const { number } = row ?? { number: 0 }
    if (command.do === 'append')
      return (
        (rules.expecting && command.expects < rows.length) ||
        (rules.fenced && command.number !== undefined && command.number < number)
      )
    return command.do === 'read' || (command.do !== 'take' && command.number < number)
  }

  /** The laws of the record, after an append. */
  const holds = (before: World, { rows, words }: World): void => {
    const inputs = inputsOf(rows)
    if (inputs.filter(({ state }) => state === 'taken').length > 1) throw new BrokenLaw('two inputs are taken')
    const known = inputsOf(before.rows)
    for (const input of inputs) {
      const { id, state, at = Infinity, end } = input
      const said = rows.filter(isMessage)
      const of = (type: 'user' | 'assistant'): number => said.filter((row) => row.type === type && row.of === id).length
      if (of('user') > 1) throw new BrokenLaw(`${id} is asked twice`)
      if (of('assistant') > 1) throw new BrokenLaw(`${id} is answered twice`)
      if (state === 'answered' && !said.slice(at, end).some((row) => row.type === 'assistant' && row.of === id))
        throw new BrokenLaw(`${id} is done without an answer`)
      if (of('assistant') > 0 && state !== 'answered') throw new BrokenLaw(`${id} has an answer and is ${state}`)
      const was = known.find((input) => input.id === id)?.state
      if (was === 'answered' && state !== 'answered') throw new BrokenLaw(`${id} was answered and is ${state}`)
      if (state === 'cancelled' && was === 'queued' && words === 0) throw new BrokenLaw(`${id} is cancelled by nobody`)
      if (state === 'failed' && before.failures === 0) throw new BrokenLaw(`${id} failed without a reason`)
    }
    // A word of its caller or of whoever stops the holder; or something else was said than a decision on its calls.
    const isDenied = ({ id }: Input): boolean =>
      notesIn(rows).some((note) => note.id === id && note.state === 'cancelled' && note.reason === denied)
    const cancelled = inputs.filter((input) => input.state === 'cancelled' && !isDenied(input))
    if (cancelled.length > words)
      throw new BrokenLaw(`${cancelled.map(({ id }) => id).join()} cancelled by ${words} words`)
  }

  const send = (process: Process, phase: Phase, command: Command): Process => ({
    ...process,
    phase,
    sent: { command, answer: undefined },
  })
  const append = (process: Process, phase: Phase, rows: readonly Row[]): Process =>
    send(process, phase, {
      do: 'append',
      rows,
      expects: process.seen,
      number: process.isHeld ? process.number : undefined,
    })
  const knownTo = (world: World, { seen }: Process): readonly Input[] => inputsOf(world.rows.slice(0, seen))

  const requestOf = ({ id, way, isResuming }: Process): TurnRequest => ({
    session: 's',
    id: isResuming ? undefined : id,
    message: isResuming ? undefined : {},
    whenBusy: isResuming ? 'wait' : way,
    wait: Infinity,
    margin: 0,
  })
  const lost: StartFault & { readonly _tag: 'LeaseLost' } = { _tag: 'LeaseLost', id: 's', number: 0 }
  const factsOf = (world: World, process: Process): TurnFacts => {
    const { isHeld, lease, isCancelled, isStopped, seen } = process
    return {
      inputs: knownTo(world, process),
      len: messagesIn(world.rows.slice(0, seen)),
      now: 0,
      isHeld,
      lost: isHeld && lease !== 'ours' ? lost : undefined,
      stop: isCancelled ? 'cancelled' : undefined,
      isStopped,
      isOther: false,
    }
  }

  /** An event of a turn, and what its effect does. */
  const advance = (world: World, from: Process, event: TurnEvent): Process => {
    const [turn, effect] = decideTurn(requestOf(from), from.turn, event, factsOf(world, from), rules)
    const process: Process = { ...from, turn, phase: 'effect', sent: undefined }
    switch (effect.type) {
      case 'take': {
        const [lease, command] = rules.leaseStep(process.lease, 'wanted')
        if (command !== 'take') throw new BrokenLaw(`a lease that is ${process.lease} can't be asked for`)
        return send({ ...process, lease }, 'effect', { do: 'take' })
      }
      case 'refresh':
        return send(process, 'effect', { do: 'read' })
      case 'note':
        return append(process, 'effect', [effect.note])
      case 'begin': {
        const inputs = knownTo(world, process)
        const next = inputs.find(({ state }) => state === 'taken') ?? inputs.find(({ state }) => state === 'waiting')
        if (!process.isResuming) return take(world, process, process.id)
        if (next !== undefined) return take(world, process, next.id)
        return advance(world, process, { type: 'idle', reason: 'end_turn' })
      }
      case 'answer':
        return take(world, process, effect.input.id)
      case 'release': {
        const [lease, command] = rules.leaseStep(process.lease, 'unwanted')
        const releasing: Process = { ...process, lease, renewal: undefined }
        if (command === 'release') return send(releasing, 'effect', { do: 'release', number: process.number })
        return advance(world, { ...releasing, isHeld: false }, { type: 'released', isBehind: true })
      }
      case 'run':
        return { ...process, phase: 'running' }
      case 'over': {
        const isGone = effect.reason === 'cancelled' && !process.isResuming
        return advance(world, isGone ? { ...process, result: 'cancelled' } : process, {
          type: 'ran',
          reason: effect.reason,
        })
      }
      case 'fail':
        return advance(world, process, { type: 'ran', reason: 'error' })
      case 'rest':
        return over(world, process)
    }
  }

  /** The turn is over: its caller asks again, unless it has what it wants. */
  const over = (world: World, given: Process): Process => {
    const process = withResult(world, given)
    if (process.lease !== 'free' || process.isHeld)
      throw new BrokenLaw(`a turn is over, and its lease is ${process.lease}`)
    const rest: Process = {
      ...process,
      phase: 'idle',
      turn: newTurn,
      sent: undefined,
      working: undefined,
      isCut: false,
    }
    if (process.result !== undefined) return rest
    const isResuming = knownTo(world, process).find(({ id }) => id === process.id)?.state === 'waiting'
    return { ...rest, phase: 'pausing', isResuming, isCancelled: false, isStopped: false }
  }

  /** What the turn gives, if its own input is over. */
  const withResult = (world: World, process: Process): Process => {
    if (process.result !== undefined) return process
    const rows = world.rows.slice(0, process.seen)
    const own = inputsOf(rows).find(({ id }) => id === process.id)
    if (own?.state === 'cancelled') return { ...process, result: 'cancelled' }
    if (own?.state !== 'answered') return process
    const messages = rows.filter(isMessage).map(({ type, of }): Message => (type === 'user' ? user(of) : assistant(of)))
    const answer = answerTo({ view: () => messages as never }, own)
    const part = answer?.content[0]
    if (part?.type !== 'text' || part.text !== process.id)
      throw new BrokenLaw(`the turn of ${process.id} gives ${JSON.stringify(part)}`)
    return { ...process, result: 'answered' }
  }

  /** Take an input: its message, if the record has none, and the note. */
  const take = (world: World, process: Process, id: string): Process => {
    const rows = world.rows.slice(0, process.seen)
    const known = inputsOf(rows).find((input) => input.id === id)
    const at = known?.at ?? messagesIn(rows)
    const message: readonly Row[] = known?.at === undefined ? [{ type: 'user', of: id }] : []
    return append({ ...process, working: id, isCut: false }, 'starting', [
      ...message,
      { type: 'input', id, state: 'taken', at },
    ])
  }
  /** Whether its own run is under way, and not that of another turn's input. */
  const isOwnRun = ({ turn }: Process): boolean => turn.isDecided && turn.phase === 'working'
  const ran = (world: World, process: Process, reason: StopReason): Process => {
    const ended: Process = { ...process, working: undefined, isCut: false }
    // The run of another's input that has lost its session is told apart by its lease.
    const isGone = process.lease !== 'ours' && process.turn.running === process.working && !isOwnRun(process)
    return advance(world, ended, isGone ? { type: 'failed', fault: lost } : { type: 'ran', reason })
  }
  /** The answer and its note, in one append. */
  const answered = (world: World, process: Process): Process => {
    const of = process.working as string // it runs
    const at = messagesIn(world.rows.slice(0, process.seen)) + 1
    const rows: readonly Row[] = [
      { type: 'assistant', of },
      { type: 'input', id: of, state: 'answered', at },
    ]
    return append(process, 'answering', rows)
  }
  const lose = (process: Process): Process => ({
    ...process,
    lease: rules.leaseStep(process.lease, 'lost')[0],
    renewal: undefined,
  })

  /** The store has answered; undefined: it gives no answer. */
  const receiveAnswer = (
    world: World,
    process: Process,
    { command }: SentCommand,
    answer: Answer | undefined,
  ): Process => {
    const reads = command.do === 'read' || command.do === 'append'
    const at: Process = {
      ...process,
      sent: undefined,
      seen: reads && answer !== undefined && answer.is !== 'lost' ? Math.max(process.seen, answer.head) : process.seen,
    }
    const failed = { type: 'failed', fault: { _tag: 'Io', operation: 'simulate', cause: undefined } } as const
    switch (process.phase) {
      case 'effect':
      case 'starting': {
        if (command.do === 'take') {
          if (answer?.is === 'granted') {
            const [lease, next] = rules.leaseStep(process.lease, 'granted')
            const granted: Process = { ...at, lease, number: answer.number }
            if (next !== 'begin') throw new BrokenLaw(`a lease is granted to one that is ${process.lease}`)
            if (answer.head !== granted.seen) return send(granted, 'entering', { do: 'read' })
            return advance(world, { ...granted, isHeld: true }, { type: 'taken' })
          }
          const [asking] = answer === undefined ? [process.lease] : rules.leaseStep(process.lease, 'refused')
          const [lease] = rules.leaseStep(asking, 'failed')
          const busy = { _tag: 'SessionBusy', id: 's', holder: 'same', until: 0, remaining: 0 } as const
          return advance(world, { ...at, lease }, answer === undefined ? failed : { type: 'failed', fault: busy })
        }
        if (command.do === 'release') {
          const [lease] = rules.leaseStep(process.lease, 'gone')
          const isBehind = answer === undefined || answer.head !== at.seen
          return advance(world, { ...at, lease, isHeld: false }, { type: 'released', isBehind })
        }
        if (answer === undefined) return advance(world, at, failed)
        if (answer.is === 'lost') return advance(world, lose(at), { type: 'failed', fault: lost })
        if (answer.is === 'conflict') return advance(world, { ...at, working: undefined }, { type: 'conflict' })
        if (process.phase === 'effect') return advance(world, at, { type: 'done' })
        const isOwn = !at.turn.isDecided && (at.isResuming || at.working === at.id)
        const begun = isOwn ? advance(world, at, { type: 'begun', input: at.working }) : at
        const running: Process = { ...begun, phase: 'running' }
        return running.isCut || (isOwn && running.isCancelled) ? ran(world, running, 'cancelled') : running
      }
      case 'entering': {
        if (answer !== undefined) return advance(world, { ...at, isHeld: true }, { type: 'taken' })
        const [lease] = rules.leaseStep(process.lease, 'unwanted')
        return send({ ...at, lease, renewal: undefined }, 'abandoning', { do: 'release', number: process.number })
      }
      case 'abandoning':
        return advance(world, { ...at, lease: rules.leaseStep(process.lease, 'gone')[0] }, failed)
      case 'answering':
        if (answer === undefined) return ran(world, at, 'error')
        if (answer.is === 'lost') return ran(world, lose(at), 'error')
        if (answer.is !== 'conflict') return ran(world, at, 'end_turn')
        // The delta of a run goes behind notes of others, and behind no message.
        return messagesIn(world.rows.slice(process.seen, at.seen)) > 0 ? ran(world, at, 'error') : answered(world, at)
      case 'idle':
      case 'pausing':
      case 'running':
        throw new BrokenLaw(`an answer comes while it is ${process.phase}`)
    }
  }
  const renewed = (world: World, process: Process, answer: Answer | undefined): Process => {
    const at: Process = { ...process, renewal: undefined }
    if (process.lease !== 'ours') return at
    // An append that is on its way is refused by the store itself.
    if (answer?.is === 'lost') return process.phase === 'running' ? ran(world, lose(at), 'cancelled') : at
    const [lease] = rules.leaseStep('ours', answer === undefined ? 'silent' : 'renewed')
    if (answer?.is !== 'stopped') return { ...at, lease }
    const isWorking = at.working !== undefined
    const isOwn = !isWorking || isOwnRun(at) || at.working === at.id
    return {
      ...at,
      lease: rules.leaseStep(lease, 'stopAsked')[0],
      isStopped: true,
      isCut: isWorking,
      isCancelled: at.isCancelled || isOwn,
    }
  }

  const after = (world: World, event: Event): World => {
    const next = happened(world, event)
    return next.late.some((command) => isDead(next, command))
      ? { ...next, late: next.late.filter((command) => !isDead(next, command)) }
      : next
  }
  const happened = (world: World, { name, process: index }: Event): World => {
    if (name === 'expire') return { ...world, row: { ...(world.row as LeaseRow), expires: 0 } }
    if (name === 'stop')
      return { ...world, words: world.words + 1, row: { ...(world.row as LeaseRow), stopRequested: true } }
    if (name === 'arrive') {
      const command = world.late[index] as Command
      return applied({ ...world, late: world.late.toSpliced(index, 1) }, command)[0]
    }
    const process = world.processes[index] as Process
    const { sent } = process
    const isApplied = sent?.answer !== undefined
    const renewing: Command = { do: 'renew', number: process.number }
    if (name.startsWith('renew') && process.lease !== 'ours') throw new BrokenLaw('it renews what it does not own')
    const put = (next: World, changedTo: Process): World => ({
      ...next,
      processes: next.processes.with(index, changedTo),
    })
    const deliver = (next: World, answer: Answer | undefined): World =>
      put(next, receiveAnswer(next, process, sent as SentCommand, answer))
    const failing: World = { ...world, failures: 1 }
    switch (name) {
      case 'answered': {
        const [next, answer] = applied(world, (sent as SentCommand).command)
        return deliver(next, answer)
      }
      case 'apply': {
        const [next, answer] = applied(world, (sent as SentCommand).command)
        return put(next, { ...process, sent: { command: (sent as SentCommand).command, answer } })
      }
      case 'answer':
        return deliver(world, (sent as SentCommand).answer)
      case 'not answered':
        return deliver({ ...(isApplied ? failing : applied(failing, (sent as SentCommand).command)[0]) }, undefined)
      case 'not applied':
        return deliver(failing, undefined)
      case 'late':
        return deliver({ ...failing, late: [...world.late, (sent as SentCommand).command] }, undefined)
      case 'renew':
      case 'renewed': {
        const [next, answer] = applied(world, renewing)
        const isStop = answer.is === 'ok' && next.row?.stopRequested === true
        const sending = { command: renewing, answer: isStop ? ({ is: 'stopped', head: answer.head } as const) : answer }
        return put(next, name === 'renew' ? { ...process, renewal: sending } : renewed(next, process, sending.answer))
      }
      case 'answer renewal':
        return put(world, renewed(world, process, (process.renewal as SentCommand).answer))
      case 'late renewal':
        return put({ ...failing, late: [...world.late, renewing] }, renewed(world, process, undefined))
      case 'cancel': {
        const told: Process = { ...process, isCancelled: true }
        const next = { ...world, words: world.words + 1 }
        return put(next, process.phase === 'running' && isOwnRun(process) ? ran(next, told, 'cancelled') : told)
      }
      case 'ask':
        return put(world, advance(world, process, { type: 'asked' }))
      case 'model answers':
        return put(world, process.isCut ? ran(world, process, 'cancelled') : answered(world, process))
      case 'model fails':
        return put(failing, ran(failing, process, 'error'))
      case 'model waits':
        return put(world, ran(world, process, 'approval'))
      case 'kill':
      case 'kill, late': {
        const late = name === 'kill' ? world.late : [...world.late, (sent as SentCommand).command]
        // Somebody starts it again; one whose turn was over stays away.
        const next =
          process.result === undefined
            ? newProcess(process.id, process.way, world.rows.length)
            : {
                ...process,
                phase: 'idle' as const,
                lease: 'free' as const,
                sent: undefined,
                renewal: undefined,
                turn: newTurn,
                isHeld: false,
                working: undefined,
                isCut: false,
              }
        return put({ ...failing, late }, next)
      }
      default:
        throw new Error(`no event ${name}`)
    }
  }
  return { after }
}
