/** `turn`: one input of a user on a session, answered and recorded. */
import type { Either } from 'fp-ts/lib/Either.js'
import { recallTool } from '../context/index.ts'
import { isLeft, left, optionsOf, ownFields, right, type OptionNames } from '../json/index.ts'
import { decodeMessage, user, type Message } from '../message/index.ts'
import { messageFaultText } from '../message/fault.ts'
import { contextStates, type Session } from '../session/index.ts'
import { redactorOf } from '../session/kit.ts'
import type { Clock } from '../task/index.ts'
import type { Control } from './control.ts'
import { turnFaultText, type TurnFault } from './fault.ts'
import { decide, type AskedInput } from './inputs/decide.ts'
import { saysSame, type Input } from './inputs/input.ts'
import { knownOfSettings, launchRun, type Over, type RunSettings, type RunStream, type Start } from './launch.ts'
import type { SessionHandlerOptions } from './session-handler.ts'
import type { Anew, Continuation, UnfinishedPolicy } from './starting.ts'
import { TurnTaking, type StartFault } from './turn-taking.ts'

/** The parts of a run on a session. */
export interface SessionRunOptions extends Omit<RunSettings, 'id'>, Pick<SessionHandlerOptions, 'journalEvery'> {
  /** Whether the model gets a tool to read what its context does not show. Default: true, if there is a `budget`. */
  readonly recall?: boolean
  /**
   * What becomes of calls that a dead run had started. Default: `tell` the model that they may have had effects.
   */
  readonly unfinished?: UnfinishedPolicy
  /** Who holds the session, for others to read. Default: `run`. */
  readonly holder?: string
  /** Milliseconds after which others may take over from a process that died. Default: 10,000. */
  readonly ttl?: number
  /** The clock that times the lease and the waits for one. Default: the system's. */
  readonly clock?: Clock
}

/** How a turn is taken. */
export interface TurnOptions extends SessionRunOptions {
  /**
   * The id of the input. With one the turn can be tried again, also by another process and after a failure: the input is
   * recorded and answered once. With another message it is `InputMismatch`. Default: none; for `queue` a random one.
   */
  readonly id?: string
  /**
   * What to do while another run holds the session: `fail` with `SessionBusy`; `wait` for it; or `queue` the input as a note
   * of the record: inputs are answered in the order in which they came, by whichever run holds the session, also where the
   * process that queued one or the one that holds the session dies. Default: `fail`.
   */
  readonly whenBusy?: 'fail' | 'wait' | 'queue'
  /** Milliseconds to wait at most. A queued input stays in the queue: the turn then ends as `queued`. Default: for ever. */
  readonly wait?: number
}

/**
 * Take a turn: settle what a dead run left, append the input, derive the context of each call within the budget, run the
 * model and its tools, and record everything when it is finished. One run at a time: the session is held meanwhile.
 *
 * The turn begins at once and is read like any run. Where another run answered the input (`queue`, or an `id` that is
 * known), there is one event, `run_complete`: `stopReason` is `queued`, and `response` is the answer. It is `approval` where
 * the input waits for one, and `cancelled` where somebody has withdrawn it. A run that lost the session to another process ends
 * with `LeaseLost`.
 *
 * Inputs that others queued meanwhile are answered after this one, with the same model and tools, in the background.
 *
 * Cost    beside those of the run: two round trips for the lease, one for the input, one to look for others
 *
 * @param input what the user says: a text or a message
 * @param given the model, the tools, the budget, and what to do while the session is busy
 * @throws TypeError if the input is not a message, or an option is invalid
 * @example
 * for await (const event of turn(session, 'What is in a.txt?', { model, tools: [read], budget: 100_000 })) show(event)
 */
export const turn = (session: Session, input: string | Message, given: TurnOptions): RunStream<TurnFault> => {
  const options = optionsOf('turn', given, knownOfTurn)
  const { whenBusy = 'fail', wait = Infinity } = options
  const message = messageOf(input)
  const id = options.id ?? (whenBusy === 'queue' ? crypto.randomUUID() : undefined)
  const { settings, continuation } = runSettings(session, options)
  const turns = new TurnTaking(session, settings, continuation, options)
  const own = (): Input | undefined => turns.inputs().find((known) => known.id === id)
  const asked: AskedInput = { id, denies: whenBusy !== 'queue' }
  const recorded = redactorOf(session)?.message(message) ?? message

  /** The state of this input, if another run has handled it. */
  const done = (): Either<StartFault, Over | undefined> => {
    const known = id === undefined ? undefined : own()
    if (known === undefined) return right(undefined)
    if (!saysSame(session, known, recorded)) return left({ _tag: 'InputMismatch', session: session.id, id: known.id })
    if (known.state === 'answered') return right(turns.over('queued', known))
    if (known.state === 'cancelled') return right(turns.over('cancelled', known))
    return right(known.state === 'waiting' ? turns.over('approval', known) : undefined)
  }
  const look = async (): Promise<Either<StartFault, Over | undefined>> => {
    const missed = await session.refresh()()
    return isLeft(missed) ? missed : done()
  }
  /** Write the input into the queue, unless it is there; one that failed is put to its old place. */
  const queue = async (): Promise<Either<StartFault, Over | undefined>> => {
    for (;;) {
      const known = own()
      if (known !== undefined && known.state !== 'failed') return right(undefined)
      const queued = await turns.queue(id as string, recorded) // one that is queued has an id
      if (isLeft(queued)) return queued
      if (queued.right !== 'anew') return right(undefined)
      const found = await look()
      if (isLeft(found) || found.right !== undefined) return found
    }
  }
  const hold = async (control: Control): Promise<Either<StartFault, Over | undefined>> => {
    const held = await turns.hold(control, whenBusy === 'wait' ? wait : 0, look)
    if (whenBusy !== 'queue' || !isLeft(held) || held.left._tag !== 'SessionBusy') return held
    const queued = await queue()
    if (isLeft(queued) || queued.right !== undefined) return queued
    const waited = await turns.hold(control, wait, look)
    return isLeft(waited) && waited.left._tag === 'SessionBusy' ? right(turns.over('queued')) : waited
  }
  /** The turn was cancelled before its run started. Its input stays unanswered, unless another run answers it. */
  const withdrawn = async (control: Control): Promise<Either<StartFault, Over>> => {
    for (;;) {
      const known = own()
      if (known?.state === 'answered') return right(turns.over('queued', known))
      if (known?.state === 'taken' && !turns.isHeld) {
        const held = await turns.take(control, 0)
        if (!isLeft(held)) continue // its run is dead
        return held.left._tag === 'SessionBusy' ? right(turns.over('queued')) : held
      }
      if (known === undefined || known.state === 'failed' || known.state === 'cancelled')
        return right(turns.over('cancelled'))
      const answer = await turns.note({ type: 'input', id: known.id, state: 'cancelled', reason: 'cancelled' })
      if (isLeft(answer)) return answer
      if (answer.right !== 'anew') return right(turns.over('cancelled'))
      const missed = await session.refresh()()
      if (isLeft(missed)) return missed
    }
  }
  /** The session is held: what comes next is decided anew after each append of another writer. */
  const start = async (control: Control): Promise<Either<StartFault, Start | Over>> => {
    for (;;) {
      if (control.pending?.stop !== undefined) return withdrawn(control)
      const over = done()
      if (isLeft(over)) return over
      if (over.right !== undefined) return right(over.right)
      const next = decide(turns.inputs(), asked)
      let did: Either<StartFault, Start | Anew | void | Over | undefined>
      if (next.type === 'leave' || next.type === 'report') return right(turns.over('queued'))
      else if (next.type === 'queue') did = await queue()
      else if (next.type === 'answer') did = await turns.answer(next.input)
      else if (next.type === 'withdraw')
        did = await turns.note({
          type: 'input',
          id: next.input.id,
          state: 'cancelled',
          reason: 'something else was said',
        })
      else {
        const begun = await turns.begin(next.known, recorded, id)
        if (!isLeft(begun) && begun.right !== 'anew') return right(turns.recorded(begun.right, id))
        did = begun
      }
      if (isLeft(did)) return did
      if (did.right !== 'anew') continue
      const missed = await session.refresh()()
      if (isLeft(missed)) return missed
    }
  }
  const begin = async (control: Control): Promise<Either<StartFault, Start | Over>> => {
    for (;;) {
      const held = await hold(control)
      if (isLeft(held)) return held
      if (held.right !== undefined)
        return held.right.over.stopReason === 'cancelled' ? withdrawn(control) : right(held.right)
      const begun = await start(control)
      // A process that was paused for too long has lost the session before anything was done: it begins again.
      if (!isLeft(begun) || begun.left._tag !== 'LeaseLost' || whenBusy === 'fail') return begun
      await turns.letGo()
    }
  }
  return launchRun(settings, begin, turnFaultText, (ended) => turns.finish(ended))
}

/** The options of every run on a session. */
export const knownOfSessionRun: OptionNames<SessionRunOptions> = {
  ...knownOfSettings,
  journalEvery: true,
  recall: true,
  unfinished: true,
  holder: true,
  ttl: true,
  clock: true,
}

const knownOfTurn: OptionNames<TurnOptions> = { ...knownOfSessionRun, id: true, whenBusy: true, wait: true }

/** The settings of a run on a session: the notes of the record, its recall tool, receipts. */
export const runSettings = (
  session: Session,
  options: SessionRunOptions,
): { readonly settings: RunSettings; readonly continuation: Continuation } => {
  const {
    id: _, // of a turn it is its input's
    recall = options.budget !== undefined,
    unfinished = 'tell',
    tools: given = [],
    ...rest
  } = options as SessionRunOptions & { readonly id?: string }
  const known = given.some(({ name }) => name === 'recall')
  const tools = recall && !known ? [...given, recallTool(() => session.conversation())] : given
  const derive = { notes: () => session.notes(), states: contextStates(session), ...options.derive }
  const settings = ownFields({ receipts: true, ...rest, tools, ...(options.budget !== undefined && { derive }) })
  return { settings, continuation: { tools, unfinished, decisions: {} } }
}

/** Throws TypeError, on what is no message. */
const messageOf = (input: string | Message): Message => {
  const decoded = decodeMessage(typeof input === 'string' ? user(input.toWellFormed()) : input)
  if (isLeft(decoded)) throw new TypeError(`turn: the input is not a message: ${messageFaultText(decoded.left)}`)
  return decoded.right
}
