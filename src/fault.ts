/** Every fault of the library, and its sentence for people. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from './json/index.ts'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { activityFaultText, type ActionFault } from './activities/fault.ts'
import { codecFaultText, type CodecFault } from './codecs/fault.ts'
import {
  contextFaultText,
  recallFaultText,
  type ContextFault,
  type RecallFault,
  type SummaryFault,
} from './context/fault.ts'
import { evidenceFaultText, type EvidenceFault } from './evidence/fault.ts'
import { historyFaultText, type HistoryFault } from './history/fault.ts'
import {
  messageFaultText,
  pairingFaultText,
  problemText,
  textOfMessageFault,
  type MessageFault,
  type PairingFault,
  type PairingProblem,
} from './message/fault.ts'
import { noteFaultText, type NoteFault } from './notes/fault.ts'
import { contentFaultText, type ContentFault } from './records/fault.ts'
import { refsFaultText, type RefsFault } from './refs/fault.ts'
import { runFaultText, turnFaultText, type InputMismatch, type RunFault } from './run/fault.ts'
import { searchFaultText, type SearchOnlyFault } from './search/fault.ts'
import { sessionFaultText, type SessionFault } from './session/fault.ts'
import type { StoreFault } from './store/fault.ts'
import { FaultError, reasonOf, type CallbackThrew } from './task/index.ts'
import { threadProblemText, type ThreadProblem } from './thread/fault.ts'

/** Everything that can go wrong, each with its `_tag`: what functions return, and what a `FaultError` carries. */
export type Fault =
  | MessageFault
  | CodecFault
  | PairingFault
  | NoteFault
  | HistoryFault
  | RefsFault
  | SessionFault
  | StoreFault
  | ContextFault
  | SummaryFault
  | RecallFault
  | RunFault
  | InputMismatch
  | ActionFault
  | ContentFault
  | EvidenceFault
  | SearchOnlyFault
  | PairingProblem
  | ThreadProblem
  | CallbackThrew

/**
 * A fault as a sentence: what happened, where, and what to do next.
 *
 * @param fault any fault of the library
 * @returns the sentence
 */
export const faultMessage = (fault: Fault): string => {
  switch (fault._tag) {
    case 'UnexpectedShape':
    case 'NotPlainJson':
      return messageFaultText(fault)
    case 'InvalidJson':
    case 'UnknownFormat':
    case 'UnexpectedWire':
    case 'WireNotJson':
    case 'UnresolvedBlock':
    case 'DamagedLine':
    case 'NoSuchConversation':
      return codecFaultText(fault)
    case 'Unsettled':
      return pairingFaultText(fault)
    case 'UnansweredCall':
    case 'DuplicateCallId':
    case 'OrphanResult':
    case 'DuplicateResult':
    case 'ResultBeforeCall':
    case 'ResultNotAdjacent':
      return problemText(fault)
    case 'NotANote':
      return noteFaultText(fault)
    case 'NotSavedHistory':
    case 'UndecodableMessage':
    case 'UnrecordableMessage':
    case 'TooManyPages':
    case 'UnknownPage':
    case 'NotADelta':
    case 'DeltaGap':
    case 'DeltaMismatch':
      return historyFaultText(fault, textOfMessageFault)
    case 'MalformedBlock':
    case 'OtherScope':
    case 'UnreadableHistory':
    case 'NewerRefs':
    case 'MalformedTree':
    case 'MissingKeys':
    case 'MalformedContent':
      return refsFaultText(fault)
    case 'MinimumDoesNotFit':
    case 'SummarizerFailed':
      return contextFaultText(fault)
    case 'NoMatch':
    case 'Denied':
    case 'SearchFailed':
      return recallFaultText(fault)
    case 'ModelFailed':
    case 'StreamEndedEarly':
    case 'InvalidAnswer':
    case 'NoContext':
    case 'HandlerFailed':
    case 'ContextUnsettled':
    case 'UnspecifiedModel':
    case 'UnknownModelType':
    case 'UnconfiguredModel':
    case 'MissingKey':
      return runFaultText(fault)
    case 'InputMismatch':
      return turnFaultText(fault)
    case 'InvalidInput':
    case 'FailedBefore':
    case 'ActionEnded':
    case 'Superseded':
    case 'Unexpected':
    case 'OtherAction':
    case 'Unpublished':
      return activityFaultText(fault)
    case 'ContentMiss':
    case 'ContentTooLarge':
      return contentFaultText(fault)
    case 'EmptyQuery':
      return searchFaultText(fault)
    case 'BadNote':
    case 'BadKey':
    case 'BadTrust':
    case 'BadSignature':
    case 'NotSigned':
    case 'BadCheckpoint':
    case 'BadBundle':
    case 'TooFewWitnesses':
    case 'WitnessRefused':
    case 'NoLedger':
    case 'NotInLedger':
    case 'LedgerMismatch':
      return evidenceFaultText(fault)
    case 'DanglingCall':
    case 'DuplicateCall':
    case 'DuplicateOutput':
    case 'OrphanOutput':
      return threadProblemText(fault)
    default:
      return sessionFaultText(fault) // or a store's, or a callback's: the types say that nothing else is left
  }
}

/**
 * The value of an `Either` or of a task; a fault is thrown as a {@link FaultError} whose message is the fault's
 * sentence.
 * Use it for synchronous results (`settle`, `deriveContext`, codecs), and for the pipelines that `pipe` makes of tasks.
 *
 * @param outcome an `Either`, or a `TaskEither`, which is run once
 * @returns the value of a `Right`; for a task, a promise of it
 * @throws FaultError with the fault of a `Left`
 * @example
 * const settled = orThrow(settle(session.view()))
 * const session = await orThrow(pipe(createSession(store), TE.chainFirst((session) => session.append(user('hello')))))
 */
export function orThrow<F, A>(outcome: TaskEither<F, A>): Promise<A>
/**
 * The value of an `Either`; a fault is thrown as a {@link FaultError} whose message is the fault's sentence.
 *
 * @param outcome an `Either`
 * @returns the value of a `Right`
 * @throws FaultError with the fault of a `Left`
 */
export function orThrow<F, A>(outcome: Either<F, A>): A
export function orThrow<F, A>(outcome: Either<F, A> | TaskEither<F, A>): A | Promise<A> {
  if (typeof outcome === 'function') return outcome().then((answer) => orThrow(answer))
  if (isLeft(outcome)) throw new FaultError(outcome.left, sentence(outcome.left))
  return outcome.right
}

/** The sentence of a fault, which may be one of the caller's own. */
const sentence = (fault: unknown): string => {
  if (typeof fault !== 'object' || fault === null || !('_tag' in fault)) return reasonOf(fault)
  try {
    return faultMessage(fault as Fault)
  } catch {
    return reasonOf(fault._tag) // not one of ours
  }
}
