/** All faults of the library, with their sentences. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isLeft } from './either/index.ts'
import { describe } from './json/index.ts'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { codecSentences, type CodecFault } from './codecs/fault.ts'
import {
  contextSentences,
  recallSentences,
  type ContextFault,
  type RecallFault,
  type SummaryFault,
} from './context/fault.ts'
import { historySentences, type HistoryFault } from './history/fault.ts'
import {
  messageSentences,
  pairingSentences,
  problemSentences,
  textOfMessageFault,
  type MessageFault,
  type PairingFault,
  type PairingProblem,
} from './message/fault.ts'
import { noteSentences, type NoteFault } from './notes/fault.ts'
import { runSentences, turnSentences, type RunFault, type TurnFault } from './run/fault.ts'
import { searchSentences, type SearchOnlyFault } from './search/fault.ts'
import { sessionSentences, type SessionFault } from './session/fault.ts'
import type { StoreFault } from './store/fault.ts'
import { FaultError, reasonOf, sentenceOf, type Sentences, type Tagged } from './task/index.ts'
import { threadSentences, type ThreadProblem } from './thread/fault.ts'

/** Everything that can go wrong, each with its `_tag`: returned by functions and carried by `FaultError`. */
export type Fault =
  | MessageFault
  | CodecFault
  | PairingFault
  | PairingProblem
  | NoteFault
  | HistoryFault
  | SessionFault
  | StoreFault
  | ContextFault
  | SummaryFault
  | RecallFault
  | RunFault
  | TurnFault
  | SearchOnlyFault
  | ThreadProblem

const sentences: Sentences<Fault> = {
  ...messageSentences,
  ...codecSentences,
  ...pairingSentences,
  ...problemSentences,
  ...noteSentences,
  ...historySentences(textOfMessageFault),
  ...contextSentences,
  ...recallSentences,
  ...runSentences,
  ...turnSentences,
  ...sessionSentences, // including store and callback faults
  ...searchSentences,
  ...threadSentences,
}

/**
 * A fault as a sentence: what happened, where, and what to do next.
 *
 * @returns the sentence; for a fault unknown to the library, its tag and its plain fields
 */
export const faultMessage = (fault: Fault): string => sentenceOf(sentences, fault)

/**
 * The value of an `Either` or a task; a fault is thrown as a {@link FaultError} with its sentence as the message. Use
 * it for synchronous results (`settle`, `deriveContext`, codecs), and for task pipelines built with `pipe`.
 *
 * @param outcome an `Either`, or a `TaskEither`, which is run once
 * @param sentence the sentence for a fault that `faultMessage` does not know. Default: its tag and its plain fields
 * @returns the value of a `Right`; for a task, a promise of it
 * @throws FaultError with the fault of a `Left`; TypeError for another value, such as a promise
 * @example
 * const settled = orThrow(settle(session.view()))
 * const session = await orThrow(pipe(createSession(store), TE.chainFirst((session) => session.append(user('hello')))))
 * const bundle = orThrow(readBundle(text), evidenceFaultMessage)
 */
export function orThrow<F, A>(outcome: TaskEither<F, A>, sentence?: (fault: F) => string): Promise<A>
/**
 * The value of an `Either`; a fault is thrown as a {@link FaultError} with its sentence as the message.
 *
 * @param outcome an `Either`
 * @param sentence the sentence for a fault that `faultMessage` does not know. Default: its tag and its plain fields
 * @returns the value of a `Right`
 * @throws FaultError with the fault of a `Left`
 */
export function orThrow<F, A>(outcome: Either<F, A>, sentence?: (fault: F) => string): A
export function orThrow<F, A>(
  outcome: Either<F, A> | TaskEither<F, A>,
  sentence: (fault: F) => string = sentenceOfAny,
): A | Promise<A> {
  if (typeof outcome === 'function') return outcome().then((answer) => orThrow(answer, sentence))
  if ((outcome as Either<F, A> | null | undefined)?._tag === undefined) {
    const found = outcome instanceof Promise ? 'a promise: await it' : describe(outcome)
    throw new TypeError(`orThrow takes an Either or a task, found ${found}`)
  }
  if (isLeft(outcome)) throw new FaultError(outcome.left, sentence(outcome.left))
  return outcome.right
}

/** The sentence of a fault, possibly one of the caller's own. */
const sentenceOfAny = (fault: unknown): string => (isTagged(fault) ? sentenceOf(sentences, fault) : reasonOf(fault))

const isTagged = (fault: unknown): fault is Tagged =>
  typeof fault === 'object' && fault !== null && '_tag' in fault && typeof fault._tag === 'string'
