/** The faults of messages, and of the pairing of calls and results. */
import { formatPath, type Path } from '../json/index.ts'
import { sentencesOf, type Sentences } from '../task/index.ts'

/** Why a value is not a message. */
export type MessageFault =
  /** A value in the message has the wrong shape. `path` locates it. */
  | { readonly _tag: 'UnexpectedShape'; readonly path: Path; readonly expected: string; readonly found: string }
  /** A value in the message is not plain JSON. `path` locates it. */
  | { readonly _tag: 'NotPlainJson'; readonly path: Path; readonly reason: string }

export const messageSentences: Sentences<MessageFault> = {
  UnexpectedShape: (fault) =>
    `${formatPath(fault.path) || 'the message'} should be ${fault.expected}, found ${fault.found}`,
  NotPlainJson: (fault) => `${formatPath(fault.path) || 'the message'} ${fault.reason}; a message is plain JSON data`,
}

/**
 * A message fault as a sentence.
 *
 * @returns where the message is wrong, what was expected and what was found
 */
export const messageFaultText: (fault: MessageFault) => string = sentencesOf(messageSentences)

/**
 * The sentence for the cause of another fault, if that cause is a message fault.
 *
 * @param cause any value
 * @returns the sentence; undefined if the value is not a message fault
 */
export const textOfMessageFault = (cause: unknown): string | undefined => {
  const tag = (cause as { readonly _tag?: unknown } | null | undefined)?._tag
  return tag === 'UnexpectedShape' || tag === 'NotPlainJson' ? messageFaultText(cause as MessageFault) : undefined
}

/** The place of a call or a result: its message, and its part in the message. */
export interface PartPlace {
  /** The call's id. */
  readonly id: string
  /** The message's position. */
  readonly position: number
  /** The part's index in the message. */
  readonly part: number
}

/** A reason why a conversation is not settled. */
export type PairingProblem =
  /** A call without a result. */
  | (PartPlace & { readonly _tag: 'UnansweredCall' })
  /** A call that reuses the id of an earlier call (`first`). */
  | (PartPlace & { readonly _tag: 'DuplicateCallId'; readonly first: PartPlace })
  /** A result whose call is not in the conversation. */
  | (PartPlace & { readonly _tag: 'OrphanResult' })
  /** A second result for a call (`first` is the other one). */
  | (PartPlace & { readonly _tag: 'DuplicateResult'; readonly first: PartPlace })
  /** A result that comes before its call. */
  | (PartPlace & { readonly _tag: 'ResultBeforeCall'; readonly call: PartPlace })
  /** A result with another message between it and its call. */
  | (PartPlace & { readonly _tag: 'ResultNotAdjacent'; readonly call: PartPlace })

/** A conversation is not settled. */
export interface PairingFault {
  readonly _tag: 'Unsettled'
  /** All problems, in conversation order. Never empty. */
  readonly problems: readonly PairingProblem[]
}

export const pairingSentences: Sentences<PairingFault> = {
  Unsettled: ({ problems }) => {
    const [first] = problems
    const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
    return `the conversation is not settled: ${first === undefined ? 'no problem is listed' : problemText(first)}${more}; append what is missing, or send the copy that mend() derives`
  },
}

export const problemSentences: Sentences<PairingProblem> = {
  UnansweredCall: (problem) => `the call ${JSON.stringify(problem.id)} at position ${problem.position} has no result`,
  DuplicateCallId: (problem) =>
    `the call at position ${problem.position} reuses the id ${JSON.stringify(problem.id)} of the call at position ${problem.first.position}`,
  OrphanResult: (problem) =>
    `the result at position ${problem.position} answers the call ${JSON.stringify(problem.id)}, which is not in the conversation`,
  DuplicateResult: (problem) =>
    `the result at position ${problem.position} answers the call ${JSON.stringify(problem.id)}, which already has a result at position ${problem.first.position}`,
  ResultBeforeCall: (problem) =>
    `the result at position ${problem.position} comes before its call ${JSON.stringify(problem.id)} at position ${problem.call.position}`,
  ResultNotAdjacent: (problem) =>
    `the result at position ${problem.position} does not directly follow its call ${JSON.stringify(problem.id)} at position ${problem.call.position}`,
}

/**
 * A pairing problem as a clause.
 *
 * @returns the clause, with the id and the position
 */
const problemText: (fault: PairingProblem) => string = sentencesOf(problemSentences)
