/** What a run on a session starts from: what dead runs left is settled first. The session is held meanwhile. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, left, right } from '../json/index.ts'
import { interruptedResults, settle, text, toolResultPart, type Message, type ToolCallPart } from '../message/index.ts'
import type { PairingFault } from '../message/fault.ts'
import type { InputNote, JournalNote } from '../notes/index.ts'
import {
  callIdsIn,
  callsOf,
  goOnAfter,
  messagesOf,
  whyUnanswered,
  type OpenStep,
  type Session,
  type WriteFault,
} from '../session/index.ts'
import { noUsage } from './result.ts'
import type { Start } from './launch.ts'
import { approvalOf, waitingCall, type Decisions, type OpenAnswer, type WaitingCall } from './open-answer.ts'
import type { RunLease } from './run-lease.ts'
import type { Tool } from './tool.ts'

/**
 * What becomes of a call that a run had started when it died, and that has no result: `retry` it, if its tool says that it
 * is `idempotent`, else tell; `tell` the model that it may have had effects; `ask`: the run ends with `approval`, and
 * whoever resumes it approves the call (it is run again) or denies it.
 */
export type Unfinished = 'retry' | 'tell' | 'ask'

/** A function that chooses for each call. */
export type UnfinishedPolicy = Unfinished | ((call: ToolCallPart, tool: Tool | undefined) => Unfinished)

/** How a session is gone on with. */
export interface Continuation {
  readonly tools: readonly Tool[]
  readonly unfinished: UnfinishedPolicy
  readonly decisions: Decisions
}

/** Messages and notes to append together. */
interface Rows {
  readonly messages: readonly Message[]
  readonly notes: readonly (JournalNote | InputNote)[]
}

type Fault = WriteFault | PairingFault

/** How often to try where writers that hold no lease come between. */
const tries = 20

/** Append what `make` gives for the record as it is; again, where somebody else was quicker. */
const append = async (session: Session, lease: RunLease, make: () => Rows): Promise<Either<WriteFault, boolean>> => {
  for (let count = 1; ; count++) {
    if (lease.lost) return lease.fault()
    const rows = make()
    if (rows.messages.length === 0 && rows.notes.length === 0) return right(false)
    const answer = await session.append(rows, { expectedHead: session.head() })()
    if (!isLeft(answer)) return right(rows.messages.length > 0)
    if (answer.left._tag !== 'SessionConflict' || count === tries) return answer
  }
}

const closing = (steps: readonly OpenStep[]): readonly JournalNote[] =>
  steps.map(({ step }) => ({ type: 'journal', step, closed: true }))

/** What was left open, as messages, and the end of its journals: all steps but those that are gone on with. */
const settled = (session: Session, steps: readonly OpenStep[]): Rows => {
  const callIds = steps.length === 0 ? new Set<string>() : callIdsIn(session.view())
  return {
    messages: [
      ...interruptedResults(session.openCalls(), 'The run was interrupted before this tool gave a result.'),
      ...steps.flatMap((step) => messagesOf(step, callIds)),
    ],
    notes: closing(steps),
  }
}

const startOf = (session: Session, rest: Partial<Start> = {}): Either<PairingFault, Start> => {
  const view = settle(session.conversation())
  if (isLeft(view)) return view
  return right({ view: view.right, callIds: callIdsIn(session.view()), ...rest })
}

/** The start of a turn: what was left open, and what is said now. `notes` gets the position of what is said. */
export const startTurn = async (
  session: Session,
  lease: RunLease,
  said: readonly Message[],
  notes: (at: number) => readonly InputNote[] = () => [],
): Promise<Either<Fault, Start>> => {
  const appended = await append(session, lease, () => {
    const open = settled(session, session.openSteps())
    return {
      messages: [...open.messages, ...said],
      notes: [...open.notes, ...notes(session.len + open.messages.length)],
    }
  })
  return isLeft(appended) ? appended : startOf(session)
}

/** The start of a run that goes on where another one ended. Undefined: everything was said. */
export const startAgain = async (
  session: Session,
  lease: RunLease,
  { tools, unfinished, decisions }: Continuation,
): Promise<Either<Fault, Start | undefined>> => {
  const appended = await append(session, lease, () => {
    const kept = continued(session)?.step
    const rows = settled(
      session,
      session.openSteps().filter(({ step }) => step !== kept),
    )
    const last = rows.messages.at(-1) ?? session.conversation().at(-1)
    const cut = kept === undefined && last?.role === 'assistant' && isCut(last as Message)
    return cut ? { ...rows, messages: [...rows.messages, goOnAfter()] } : rows
  })
  if (isLeft(appended)) return appended
  const step = continued(session)
  if (step !== undefined) return startOf(session, again(step, tools, unfinished, decisions))
  const last = session.conversation().at(-1)
  if (last === undefined || last.role === 'assistant' || last.role === 'system') return right(undefined)
  return startOf(session)
}

/** The step that is gone on with: the last one, if its answer is whole and calls tools. */
const continued = (session: Session): OpenStep | undefined => {
  const last = session.openSteps().at(-1)
  return last?.answer !== undefined && callsOf(last.answer).length > 0 ? last : undefined
}

const again = (
  step: OpenStep,
  tools: readonly Tool[],
  policy: UnfinishedPolicy,
  decisions: Decisions,
): Pick<Start, 'open' | 'decisions'> => {
  const answer = step.answer as Message // `continued` has looked
  const results = [...step.results.values()]
  const waiting: WaitingCall[] = []
  const started: string[] = []
  const retried: string[] = []
  for (const call of callsOf(answer)) {
    if (step.results.has(call.id)) continue
    if (step.waiting.has(call.id)) waiting.push(waitingCall(step.step, call))
    if (!step.started.has(call.id)) continue
    const tool = tools.find(({ name }) => name === call.name)
    const chosen = typeof policy === 'function' ? policy(call, tool) : policy
    if (chosen === 'ask' || step.waiting.has(call.id)) {
      if (!step.waiting.has(call.id)) waiting.push(waitingCall(step.step, call))
      started.push(call.id)
    } else if (chosen === 'retry' && tool?.idempotent === true) retried.push(approvalOf(step.step, call))
    else results.push(toolResultPart(call.id, [text(whyUnanswered(call, step))], { name: call.name, isError: true }))
  }
  const open: OpenAnswer = {
    step: step.step,
    response: { message: answer, reason: 'tool_calls', usage: noUsage },
    results,
    calls: waiting,
    ...(started.length > 0 && { started }),
  }
  return { open, decisions: { ...decisions, approve: [...(decisions.approve ?? []), ...retried] } }
}

const isCut = ({ meta }: Message): boolean => {
  const ours = meta?.['indelible']
  return typeof ours === 'object' && ours !== null && 'interrupted' in ours
}

/** Write down what became of an input. */
export const noted = async (session: Session, note: InputNote, lease?: RunLease): Promise<Either<WriteFault, void>> => {
  if (lease?.lost === true) return lease.fault()
  const answer = await session.note(note)()
  return isLeft(answer) ? left(answer.left) : right(undefined)
}
