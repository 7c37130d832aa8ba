/** Finds the starting point of a run on a session. While it holds the session, it first settles what dead runs left. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft, jsonEqual, left, present, right, type Json, type JsonObject } from '../../json/index.ts'
import { interruptedResults, text, type Message, type ToolCallPart } from '../../message/index.ts'
import { callsOf, interruptedCall, isCut, toolResultPart } from '../../message/internal.ts'
import type { InputNote, JournalNote, RetractionNote } from '../../notes/internal.ts'
import { pending, type Session, type WriteFault, type SessionReader } from '../../session/index.ts'
import {
  callIdsIn,
  cutAnswerNotice,
  messagesOf,
  remindedPosition,
  unansweredReminder,
  whyUnanswered,
  type OpenStep,
} from '../../session/internal.ts'
import { callbackFaultText, callCallback, choice, FaultError } from '../../task/index.ts'
import { noUsage } from '../result.ts'
import { inputOfStep, inputsIn, type Input } from './input.ts'
import type { Start } from '../loop/loop.ts'
import {
  approvalOf,
  recordedDecision,
  viewDigestOf,
  withApproval,
  type DecisionByToken,
  type OpenAnswer,
  type WaitingCall,
} from '../open-answer.ts'
import type { RunLease } from '../recording/run-lease.ts'
import type { Tool } from '../tools/tool.ts'
import { hasWaited, unmarkWaiting } from '../recording/waiting-marker.ts'

/**
 * What to do with a call that a dead run had started but has no result. `retry`: run it again if its tool is
 * `idempotent`, otherwise `tell`. `tell` the model that it may have had side effects. `ask`: the run ends with
 * `approval`, and the caller of `resume` approves the call (to run it again) or denies it.
 */
type UnfinishedChoice = 'retry' | 'tell' | 'ask'

export const unfinishedChoices: readonly UnfinishedChoice[] = ['retry', 'tell', 'ask']

/** One choice for all calls, or a function that chooses per call. */
export type UnfinishedPolicy = UnfinishedChoice | ((call: ToolCallPart, tool: Tool | undefined) => UnfinishedChoice)

/** The settings needed to continue a session. */
export interface Continuation {
  readonly tools: readonly Tool[]
  readonly unfinished: UnfinishedPolicy
  readonly decisions: DecisionByToken
}

/** Messages and notes to append together. */
interface Rows {
  readonly messages: readonly Message[]
  readonly notes: readonly (JournalNote | InputNote | RetractionNote)[]
}

/** Appends rows if the record has not changed. A `SessionConflict` says that another writer was first: decide again. */
export const appendExpected = async (
  session: Session,
  lease: RunLease | undefined,
  rows: Rows,
): Promise<Either<WriteFault, undefined>> => {
  if (lease?.lost === true) return left(lease.fault)
  if (rows.messages.length === 0 && rows.notes.length === 0) return right(undefined)
  const waited = hasWaited(session)
  const answer = await session.append(rows, { expectedHead: session.head() })()
  if (isLeft(answer)) return answer
  if (waited) await unmarkWaiting(session)
  return right(undefined)
}

/** What a run answers. */
interface Question {
  /** The id of the input. */
  readonly id: string | undefined
  /** The input as the record has it; undefined for a new one, and for a run without an input. */
  readonly input: Input | undefined
  /** The message, appended unless the record has it. Undefined: the run continues an earlier one. */
  readonly message: Message | undefined
}

/**
 * The start of a run on a session that is held: settles what dead runs left open, except a step that this run continues, and
 * appends the message. Undefined if the run continues an earlier one without an input, and nothing is left to answer or it was
 * cancelled.
 */
export const startRun = async (
  session: Session,
  lease: RunLease,
  { tools, unfinished, decisions }: Continuation,
  { id, input, message }: Question,
): Promise<Either<WriteFault, Start | undefined>> => {
  const isNew = message !== undefined && input?.at === undefined
  const kept = isNew ? undefined : stepToContinue(session, input)
  const copied = kept && copyOf(session, kept)
  const continued = kept && continuationOf(session, kept, tools, unfinished, decisions, copied)
  const ended = pending(session).steps.filter(({ step }) => step !== kept?.step)
  const endedIds = ended.length === 0 ? new Set<string>() : callIdsIn(session.view())
  const settling = [
    ...(copied === undefined ? interruptedResults(pending(session).calls, interruptedCall) : []),
    ...ended.flatMap((step) => messagesOf(step, endedIds)),
  ]
  const reminder = isNew || kept !== undefined ? undefined : reminderFor(session, settling.at(-1), input)
  const added = isNew ? message : reminder
  const at = isNew ? session.len + settling.length : input?.at
  const appended = await appendExpected(session, lease, {
    messages: added === undefined ? settling : [...settling, added],
    notes: [
      ...ended.map(({ step }) => ({ type: 'journal', step, closed: true }) as const),
      ...(kept === undefined || copied === undefined ? [] : retractCopy(session, kept, copied)),
      ...(id === undefined || at === undefined ? [] : [{ type: 'input', id, state: 'taken', at } as const]),
    ],
  })
  if (isLeft(appended)) return appended
  const goesOn = isNew || continued !== undefined || input !== undefined
  if (!goesOn && (isOver(session) || isCancelled(session))) return right(undefined)
  const callIds = callIdsIn(session.view())
  // The calls keep the ids by which they were approved.
  if (copied !== undefined) for (const call of callsOf(kept?.answer as Message)) callIds.delete(call.id)
  return right({ view: session.conversation(), callIds, ...continued })
}

/**
 * The position of a copy of a waiting answer that somebody appended, such as a page that saved what it shows: the last
 * message, with the same content. Without it, the calls would be answered in the copy and never run.
 */
const copyOf = (session: Session, { answer }: OpenStep): number | undefined => {
  const conversation = session.conversation()
  const last = conversation.at(-1)
  if (answer === undefined || last?.role !== 'assistant') return undefined
  const bare = ({ content }: Message): Json =>
    content.map((part) =>
      Object.fromEntries(Object.entries(part).filter(([name]) => name !== 'meta')),
    ) as unknown as Json
  return jsonEqual(bare(last), bare(answer)) ? conversation.positionAt(conversation.length - 1) : undefined
}

/** Retracts a copy. That ends the steps of the turn, so the notes of the step that waits are written again. */
const retractCopy = (session: Session, kept: OpenStep, from: number): readonly (RetractionNote | JournalNote)[] => [
  { type: 'retraction', from, to: session.len },
  {
    type: 'journal',
    step: kept.step,
    answer: kept.answer as unknown as JsonObject,
    together: kept.together,
    started: [...kept.started],
    results: [...kept.results.values()] as unknown as JsonObject[],
    waiting: [...kept.waiting],
    external: [...kept.external],
    ...present({ lease: kept.lease }),
  },
]

/** Whether there is nothing to answer. */
export const isOver = (session: Session): boolean => {
  const last = session.conversation().at(-1)
  return last === undefined || last.role === 'assistant' || last.role === 'system'
}

/** Whether the message to answer is that of an input that was cancelled. */
const isCancelled = (session: Session): boolean => {
  const at = lastAsked(session)
  return at !== undefined && inputsIn(session.notes()).some((input) => input.at === at && input.state === 'cancelled')
}

/** The policy's choice. Throws a FaultError if it throws or does not choose. */
const chosenBy = (policy: UnfinishedPolicy, call: ToolCallPart, tool: Tool | undefined): UnfinishedChoice => {
  if (typeof policy !== 'function') return policy
  const chosen = callCallback('unfinished', () => choice('its result', policy(call, tool), unfinishedChoices))
  if (isLeft(chosen)) throw new FaultError(chosen.left, callbackFaultText(chosen.left))
  return chosen.right
}

/** A message for the model before the next call, if its answer was cut off or another message was asked last. */
const reminderFor = (
  session: Session,
  settling: Message | undefined,
  input: Input | undefined,
): Message | undefined => {
  const last = settling ?? session.conversation().at(-1)
  const wasCut = last?.role === 'assistant' && isCut(last)
  if (input?.at === undefined) return wasCut ? cutAnswerNotice() : undefined
  if (lastAsked(session) !== input.at) return unansweredReminder(session.view().at(input.at), input.at)
  if (wasCut) return cutAnswerNotice()
  return last?.role === 'assistant' ? unansweredReminder(session.view().at(input.at), input.at) : undefined
}

/** The position of the message that the model was last asked to answer. */
const lastAsked = (session: Session): number | undefined => {
  const conversation = session.conversation()
  for (let index = conversation.length - 1; index >= 0; index--) {
    const message = conversation.at(index) as Message
    const position = message.role === 'user' ? conversation.positionAt(index) : remindedPosition(message)
    if (position !== undefined) return position
  }
  return undefined
}

/** The step that waits for approval, in the form of a run's result. */
export const waitingStepOf = (
  session: SessionReader,
  { tools, unfinished, decisions }: Continuation,
  input: Input | undefined,
): OpenAnswer | undefined => {
  const step = stepToContinue(session, input)
  if (step === undefined) return undefined
  const { open } = continuationOf(session, step, tools, unfinished, decisions)
  return { ...open, started: open.started?.filter((id) => open.calls.some((call) => call.id === id)) ?? [] }
}

/**
 * The step that waits for approval in a session, whichever input it belongs to, in the form of a run's result.
 *
 * Cost    O(notes)
 */
export const waitingStep = (session: SessionReader): OpenAnswer | undefined => {
  const last = pending(session).steps.at(-1)
  if (last === undefined) return undefined
  const input = inputOfStep(session.notes(), last.step)
  const open = waitingStepOf(session, { tools: [], unfinished: 'tell', decisions: new Map() }, input)
  return open === undefined || open.calls.length === 0 ? undefined : open
}

/**
 * The tokens of decisions about calls that don't wait: of other sessions, or decided otherwise. A decision that was recorded
 * before is none of them, so that a request can be sent again; nor is one about a call of the step that waits.
 */
export const unknownTokens = (
  session: Session,
  { decisions, ...continuation }: Continuation,
  input: Input | undefined,
): readonly string[] => {
  if (decisions.size === 0) return []
  if (isCancelled(session)) return [] // the result says so
  const waiting = new Set(
    waitingStepOf(session, { ...continuation, decisions }, input)?.calls.map(({ approval }) => approval),
  )
  const step = pending(session).steps.at(-1)
  if (step?.answer !== undefined)
    for (const call of callsOf(step.answer)) {
      waiting.add(approvalOf(step.step, call))
      for (let starts = startsOf(session, step, call); starts > 0; starts--)
        waiting.add(approvalOf(`${step.step} ${starts}`, call)) // as in `continuationOf`
    }
  const late = [...decisions].filter(([token]) => !waiting.has(token))
  if (late.length === 0) return []
  const recorded = new Set<string | undefined>()
  for (const { content } of session.conversation())
    for (const part of content) if (part.type === 'tool_result') recorded.add(recordedDecision(part))
  return late.filter(([token, { type }]) => !recorded.has(`${type} ${token}`)).map(([token]) => token)
}

/**
 * The step to continue: the last one, if its answer is complete and has tool calls, and it answers this input. Nobody
 * continues the step of an input that was cancelled.
 */
const stepToContinue = (session: SessionReader, input: Input | undefined): OpenStep | undefined => {
  const last = pending(session).steps.at(-1)
  if (last?.answer === undefined || callsOf(last.answer).length === 0) return undefined
  const answered = inputOfStep(session.notes(), last.step)
  return answered?.id === input?.id || (input === undefined && answered?.state !== 'cancelled') ? last : undefined
}

/** How often runs have started a call. */
const startsOf = (session: SessionReader, { step }: OpenStep, { id }: ToolCallPart): number => {
  let starts = 0
  for (const note of session.notes())
    if (note.type === 'journal' && note.step === step && note.started?.includes(id) === true) starts += 1
  return starts
}

/** What a waiting call waits for. */
const needsOf = ({ external }: OpenStep, { id }: ToolCallPart): WaitingCall['needs'] =>
  external.has(id) ? 'result' : 'approval'

const continuationOf = (
  session: SessionReader,
  step: OpenStep,
  tools: readonly Tool[],
  policy: UnfinishedPolicy,
  decisions: DecisionByToken,
  copied?: number,
): { readonly open: OpenAnswer; readonly decisions: DecisionByToken } => {
  const answer = step.answer as Message // set: see `stepToContinue`
  const results = [...step.results.values()]
  const waiting: WaitingCall[] = []
  const started: string[] = []
  const decided = new Map(decisions)
  for (const call of callsOf(answer)) {
    if (step.results.has(call.id)) continue
    if (!step.started.has(call.id)) {
      if (step.waiting.has(call.id)) waiting.push(withApproval(step.step, call, needsOf(step, call)))
      continue
    }
    const tool = tools.find(({ name }) => name === call.name)
    const chosen = chosenBy(policy, call, tool)
    if (chosen === 'ask' || step.waiting.has(call.id)) {
      // What was approved before it started does not run it again: that is another decision, with a token of its own.
      waiting.push(withApproval(`${step.step} ${startsOf(session, step, call)}`, call, needsOf(step, call)))
      started.push(call.id)
    } else if (chosen === 'retry' && tool?.idempotent === true) {
      const token = approvalOf(step.step, call)
      if (!decided.has(token)) decided.set(token, { type: 'approved' })
      started.push(call.id)
    } else results.push(toolResultPart(call.id, [text(whyUnanswered(call, step))], { name: call.name, isError: true }))
  }
  const open: OpenAnswer = {
    step: step.step,
    viewDigest: viewDigestOf(session.conversation().slice(0, copied === undefined ? undefined : -1)),
    response: { message: answer, reason: 'tool_calls', usage: noUsage },
    results,
    calls: waiting,
    started,
  }
  return { open, decisions: decided }
}
