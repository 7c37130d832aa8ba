/** The problems of a thread's calls. */
import type { Sentences } from '../task/index.ts'

/** The place of a call or an output in the history. */
export interface ItemPlace {
  /** The call's id. */
  readonly callId: string
  /** The index of the item in the history, from 0. */
  readonly index: number
}

/** One problem, with the item's index and its call id, if it has one. */
export type ThreadProblem =
  /** A call without a later output. */
  | (ItemPlace & { readonly _tag: 'DanglingCall' })
  /** A call that reuses the id of an earlier call (at `first`). */
  | (ItemPlace & { readonly _tag: 'DuplicateCall'; readonly first: number })
  /** An output for a call that already has one (at `first`). */
  | (ItemPlace & { readonly _tag: 'DuplicateOutput'; readonly first: number })
  /** An output without an earlier call. */
  | (ItemPlace & { readonly _tag: 'OrphanOutput' })
  /** A call or an output without a `callId`, which `decodeThread` refuses. */
  | { readonly _tag: 'MissingCallId'; readonly index: number }

export const threadSentences: Sentences<ThreadProblem> = {
  MissingCallId: (problem) => `the call or output at index ${problem.index} has no \`callId\``,
  DanglingCall: (problem) => `the call ${JSON.stringify(problem.callId)} at index ${problem.index} has no output`,
  DuplicateCall: (problem) =>
    `the call at index ${problem.index} reuses the id ${JSON.stringify(problem.callId)} of the call at index ${problem.first}`,
  DuplicateOutput: (problem) =>
    `the output at index ${problem.index} answers the call ${JSON.stringify(problem.callId)}, which already has an output at index ${problem.first}`,
  OrphanOutput: (problem) =>
    `the output at index ${problem.index} has no earlier call ${JSON.stringify(problem.callId)}`,
}
