/**
 * A world of processes that take turns on one session, as plain data: `eventsOf` lists what can happen next, `after` computes
 * the world behind it. The rules are the real ones: the tables of leases and inputs, the decision about the next input, the
 * store's rules of leases. What stands here is the order in which a turn asks them.
 *
 * A command can be applied, answered, applied and not answered, not applied, or applied after its process gave up or died.
 */
import { assistant, user, type Message } from 'indelible'
import { isLeft } from 'fp-ts/lib/Either.js'
import { decide, nextOf } from '../../src/run/inputs/decide.ts'
import { answerTo, inputsIn, stepInput, type Input } from '../../src/run/inputs/input.ts'
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

type Answer =
  | { readonly is: 'granted' | 'ok'; readonly value: number }
  | { readonly is: 'refused' | 'conflict' | 'lost' | 'stopped' }

interface SentCommand {
  readonly command: Command
  readonly answer: Answer | undefined
}

/** `idle`: its turn has given an answer, or was cancelled. */
type Phase =
  | 'idle'
  | 'asking'
  | 'looking'
  | 'queueing'
  | 'entering'
  | 'starting'
  | 'running'
  | 'answering'
  | 'rebasing'
  | 'ending'
  | 'checking'
  | 'draining'
  | 'releasing'
  | 'glancing'

export type Way = 'wait' | 'queue'

interface Process {
  readonly id: string
  readonly way: Way
  readonly phase: Phase
  readonly lease: LeaseState
  readonly number: number
  /** Rows that it knows. */
  readonly seen: number
  readonly sent: SentCommand | undefined
  readonly renewal: SentCommand | undefined
  /** The input that its run answers, and what becomes of it. */
  readonly working: string | undefined
  readonly end: 'failed' | 'waiting' | 'cancelled' | undefined
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
  phase: 'asking',
  lease: 'asking',
  number: 0,
  seen,
  sent: { command: { do: 'take' }, answer: undefined },
  renewal: undefined,
  working: undefined,
  end: undefined,
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
    if (phase === 'running') add('model answers', 'model fails')
    // Somebody is there who decides on the calls.
    if (phase === 'running' && !isResuming && processes.some((one) => one.id === working && one.result === undefined))
      add('model waits')
    if (phase !== 'idle' && !isCancelled && words === 0) add('cancel')
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
  }
  return now
}

/** The same text for worlds from which the same things happen. */
export const keyOf = ({ rows, row, processes, late, words, failures }: World): string => {
  /** What a process knows matters where it writes or decides before it reads again. */
  const knows = ({ phase, sent }: Process): boolean =>
    phase === 'running' || phase === 'rebasing' || sent?.command.do === 'append'
  const from = Math.min(rows.length, ...processes.map((process) => (knows(process) ? process.seen : rows.length)))
  const number = row?.number ?? 0
  const command = (given: Command): unknown =>
    given.do === 'append'
      ? [given.rows, given.expects - from, (given.number ?? number + 1) - number]
      : given.do === 'take' || given.do === 'read'
        ? [given.do]
        : [given.do, given.number - number]
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
    if (command.do === 'read') return [world, { is: 'ok', value: rows.length }]
    if (command.do === 'append') {
      const { number, expects } = command
      const against = number === undefined ? undefined : claimFault('s', row, { lease: { number } }, 0)
      if (against !== undefined && rules.fenced) return [world, { is: 'lost' }]
      if (expects !== rows.length && rules.expecting) return [world, { is: 'conflict' }]
      if (against !== undefined) throw new BrokenLaw('one acts that is not the holder')
      const next = { ...world, rows: [...rows, ...command.rows] }
      holds(world, next)
      return [next, { is: 'ok', value: next.rows.length }]
    }
    const change =
      command.do === 'take'
        ? ({ type: 'take', holder: 'same', ttl: 1 } as const)
        : command.do === 'renew'
          ? ({ type: 'renew', number: command.number, ttl: 1 } as const)
          : ({ type: 'release', number: command.number } as const)
    const outcome = changeLease('s', row, change, 0)
    if (isLeft(outcome)) return [world, { is: command.do === 'take' ? 'refused' : 'lost' }]
    const next = outcome.right.row
    const answer: Answer = command.do === 'take' ? { is: 'granted', value: next?.number ?? 0 } : { is: 'ok', value: 0 }
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
      const was = known.find((one) => one.id === id)?.state
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
  const ask = (process: Process): Process => {
    const [lease, command] = rules.leaseStep(process.lease, 'wanted')
    if (command !== 'take') throw new BrokenLaw(`a lease that is ${process.lease} can't be asked for`)
    return send({ ...process, lease, working: undefined, end: undefined, isStopped: false }, 'asking', { do: 'take' })
  }
  /** The turn is over: its caller asks again, unless it has what it wants. */
  const over = (process: Process): Process => {
    if (process.lease !== 'free') throw new BrokenLaw(`a turn is over, and its lease is ${process.lease}`)
    const rest: Process = { ...process, phase: 'idle', sent: undefined, working: undefined, end: undefined }
    return process.result === undefined ? ask(rest) : rest
  }
  const release = (process: Process): Process => {
    const [lease, command] = rules.leaseStep(process.lease, 'unwanted')
    if (command !== 'release') return over({ ...process, lease: 'free', sent: undefined })
    return send({ ...process, lease, renewal: undefined }, 'releasing', { do: 'release', number: process.number })
  }
  const append = (process: Process, phase: Phase, rows: readonly Row[]): Process =>
    send(process, phase, {
      do: 'append',
      rows,
      expects: process.seen,
      number: phase === 'queueing' ? undefined : process.number,
    })

  /** What the turn gives, if its own input is over. */
  const withResult = (world: World, process: Process): Process => {
    if (process.result !== undefined) return process
    const rows = world.rows.slice(0, process.seen)
    const own = inputsOf(rows).find(({ id }) => id === process.id)
    if (own?.state === 'cancelled') return { ...process, result: 'cancelled' }
    if (own?.state !== 'answered') return process
    const said = rows.filter(isMessage).map(({ type, of }): Message => (type === 'user' ? user(of) : assistant(of)))
    const answer = answerTo({ view: () => said as never }, own)
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
    return append({ ...process, working: id }, 'starting', [...message, { type: 'input', id, state: 'taken', at }])
  }

  /** The session is held, and the record is known: what next. */
  const decided = (world: World, given: Process): Process => {
    const process = withResult(world, given)
    const inputs = inputsOf(world.rows.slice(0, process.seen))
    const own = inputs.find(({ id }) => id === process.id)
    if (process.result !== undefined) return drained(world, process)
    if (process.isCancelled) {
      if (own?.state === 'queued' || own?.state === 'taken' || own?.state === 'waiting')
        return append(process, 'entering', [{ type: 'input', id: process.id, state: 'cancelled' }])
      // Too late: somebody decides on its calls.
      return drained(world, { ...process, result: 'cancelled' })
    }
    if (process.isResuming) {
      const next = inputs.find(({ state }) => state === 'taken') ?? inputs.find(({ state }) => state === 'waiting')
      if (next !== undefined) return take(world, process, next.id)
    }
    const next = rules.decide(inputs, { id: process.id, denies: process.way !== 'queue' })
    switch (next.type) {
      case 'report':
        return drained(world, { ...process, isResuming: next.input.state === 'waiting' })
      case 'leave':
        return drained(world, process)
      case 'queue':
        return append(process, 'entering', [{ type: 'input', id: process.id, state: 'queued' }])
      case 'withdraw':
        return append(process, 'entering', [{ type: 'input', id: next.input.id, state: 'cancelled', reason: denied }])
      case 'answer':
        return take(world, process, next.input.id)
      case 'take':
        return take(world, process, process.id)
    }
  }
  /** Others are answered, then the session is given back. */
  const drained = (world: World, process: Process): Process => {
    const inputs = inputsOf(world.rows.slice(0, process.seen))
    const next = process.isStopped ? undefined : rules.nextOf(inputs)
    return next === undefined ? release(process) : take(world, process, next.id)
  }
  /** The run is over: what became of its input is written, unless its last append has. */
  const runEnded = (world: World, process: Process): Process => {
    const known = inputsOf(world.rows.slice(0, process.seen)).find(({ id }) => id === process.working)
    const { end = 'failed' } = process
    if (known?.state !== 'taken')
      return send(withResult(world, { ...process, end: undefined }), 'draining', { do: 'read' })
    return append(process, 'ending', [{ type: 'input', id: known.id, state: end, reason: end }])
  }
  /** The answer and its note, in one append. */
  const answered = (world: World, process: Process): Process => {
    const of = process.working as string // it runs
    const at = messagesIn(world.rows.slice(0, process.seen)) + 1
    const rows: readonly Row[] = [
      { type: 'assistant', of },
      { type: 'input', id: of, state: 'answered', at },
    ]
    return append({ ...process, end: undefined }, 'answering', rows)
  }
  const lost = (process: Process): Process => {
    const [lease] = rules.leaseStep(process.lease, 'lost')
    return over({ ...process, lease, renewal: undefined, isStopped: false })
  }

  /** The store has answered; undefined: it gives no answer. */
  const receiveAnswer = (
    world: World,
    process: Process,
    { command }: SentCommand,
    answer: Answer | undefined,
  ): Process => {
    const value = answer !== undefined && 'value' in answer ? answer.value : 0
    const seen = command.do === 'read' || (command.do === 'append' && answer?.is === 'ok') ? value : process.seen
    // Rows of others may have come between the ones that it knew and its own: the handle reads them.
    const at: Process = { ...process, sent: undefined, seen: Math.max(process.seen, seen) }
    switch (process.phase) {
      case 'asking': {
        if (answer === undefined) {
          const [lease] = rules.leaseStep(process.lease, 'failed')
          return over({ ...at, lease })
        }
        if (answer.is === 'granted') {
          const [lease, next] = rules.leaseStep(process.lease, 'granted')
          const granted = { ...at, lease, number: value }
          if (next === 'release') return send(granted, 'releasing', { do: 'release', number: value })
          return send(granted, 'entering', { do: 'read' })
        }
        // It is asked for again after a look.
        const [lease] = rules.leaseStep(rules.leaseStep(process.lease, 'refused')[0], 'failed')
        return at.result !== undefined ? over({ ...at, lease }) : send({ ...at, lease }, 'looking', { do: 'read' })
      }
      case 'looking': {
        if (answer === undefined) return over(at)
        const looked = withResult(world, at)
        const own = inputsOf(world.rows.slice(0, at.seen)).find(({ id }) => id === at.id)
        if (looked.result !== undefined) return over(looked)
        if (at.isCancelled) {
          if (own?.state === 'queued' || own?.state === 'waiting')
            return append(at, 'queueing', [{ type: 'input', id: at.id, state: 'cancelled' }])
          // One that another holder has taken is that holder's: its caller asks for what comes of it.
          return own?.state === 'taken' ? ask({ ...at, isCancelled: false }) : over({ ...at, result: 'cancelled' })
        }
        if (own?.state === 'waiting') return ask({ ...at, isResuming: true })
        if (at.way === 'queue' && (own === undefined || own.state === 'failed'))
          return append(at, 'queueing', [{ type: 'input', id: at.id, state: 'queued' }])
        return ask(at)
      }
      case 'queueing':
        if (answer === undefined) return over({ ...at, isCancelled: false })
        return send(at, 'looking', { do: 'read' })
      case 'entering':
      case 'checking':
        if (answer === undefined) return release({ ...at, isCancelled: false })
        if (answer.is === 'lost') return lost(at)
        if (answer.is === 'conflict') return send(at, process.phase, { do: 'read' })
        return process.phase === 'entering' ? decided(world, at) : runEnded(world, at)
      case 'starting':
        // Its turn ends with a fault, and the cancellation with it: nobody knows what is written.
        if (answer === undefined) return runEnded(world, { ...at, end: 'failed', isCancelled: false })
        if (answer.is === 'lost') return lost(at)
        if (answer.is === 'conflict')
          return send({ ...at, working: undefined }, at.result === undefined ? 'entering' : 'draining', { do: 'read' })
        if (at.isStopped || (at.isCancelled && at.working === at.id))
          return runEnded(world, { ...at, end: 'cancelled' })
        return { ...at, phase: 'running' }
      case 'answering':
        if (answer === undefined) return runEnded(world, { ...at, end: 'failed' })
        if (answer.is === 'lost') return lost(at)
        if (answer.is === 'conflict') return send(at, 'rebasing', { do: 'read' })
        return runEnded(world, at)
      // The delta of a run goes behind notes of others, and behind no message.
      case 'rebasing':
        return answer === undefined || messagesIn(world.rows.slice(process.seen, at.seen)) > 0
          ? runEnded(world, { ...at, end: 'failed' })
          : answered(world, at)
      case 'ending':
        if (answer === undefined) return send(at, 'draining', { do: 'read' })
        if (answer.is === 'lost') return lost(at)
        if (answer.is === 'conflict') return send(at, 'checking', { do: 'read' })
        return runEnded(world, at)
      case 'draining': {
        if (answer === undefined) return release(at)
        const known = withResult(world, at)
        if (known.result !== undefined || known.isStopped) return drained(world, known)
        const own = inputsOf(world.rows.slice(0, known.seen)).find(({ id }) => id === known.id)
        // What came of the own input ends the turn; one that is not begun yet is decided on.
        if (own?.state === 'failed' || own?.state === 'waiting')
          return drained(world, { ...known, isResuming: own.state === 'waiting' })
        return decided(world, known)
      }
      case 'releasing': {
        const [lease] = rules.leaseStep(process.lease, 'gone')
        if (answer === undefined || at.result === undefined || at.isStopped) return over({ ...at, lease })
        return send({ ...at, lease }, 'glancing', { do: 'read' })
      }
      case 'glancing':
        if (answer === undefined || rules.nextOf(inputsOf(world.rows.slice(0, at.seen))) === undefined) return over(at)
        return ask(at)
      case 'idle':
      case 'running':
        throw new BrokenLaw(`an answer comes while it is ${process.phase}`)
    }
  }
  const renewed = (process: Process, answer: Answer | undefined): Process => {
    const at: Process = { ...process, renewal: undefined }
    if (process.lease !== 'ours') return at
    // An append that is on its way is refused by the store itself.
    if (answer?.is === 'lost') return process.phase === 'running' ? lost(at) : at
    const [lease] = rules.leaseStep('ours', answer === undefined ? 'silent' : 'renewed')
    if (answer?.is !== 'stopped') return { ...at, lease }
    return { ...at, lease: rules.leaseStep(lease, 'stopAsked')[0], isStopped: true }
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
        const sending = { command: renewing, answer: isStop ? ({ is: 'stopped' } as const) : answer }
        return put(next, name === 'renew' ? { ...process, renewal: sending } : renewed(process, sending.answer))
      }
      case 'answer renewal':
        return put(world, renewed(process, (process.renewal as SentCommand).answer))
      case 'late renewal':
        return put({ ...failing, late: [...world.late, renewing] }, renewed(process, undefined))
      case 'cancel': {
        const told = { ...process, isCancelled: true }
        const isOwn = process.phase === 'running' && process.working === process.id
        const next = { ...world, words: world.words + 1 }
        return put(next, isOwn ? runEnded(next, { ...told, end: 'cancelled' }) : told)
      }
      case 'model answers':
        return put(
          world,
          process.isStopped ? runEnded(world, { ...process, end: 'cancelled' }) : answered(world, process),
        )
      case 'model fails':
        return put(failing, runEnded(failing, { ...process, end: 'failed' }))
      case 'model waits':
        return put(world, runEnded(world, { ...process, end: 'waiting' }))
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
                working: undefined,
                end: undefined,
              }
        return put({ ...failing, late }, next)
      }
      default:
        throw new Error(`no event ${name}`)
    }
  }
  return { after }
}
