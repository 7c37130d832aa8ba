/** What can be wrong with the calls of a thread's history, as data. */
import type { Sentences } from '../task/index.ts'

/** The place of a call or an output in the history. */
export interface ItemPlace {
  /** The id of the call. */
  readonly callId: string
  /** The index of the item in the history, from 0. */
  readonly index: number
}

/** One problem. Each has the index of the item and the id of its call. */
export type ThreadProblem =
  /** A call that no later item answers. */
  | (ItemPlace & { readonly _tag: 'DanglingCall' })
  /** A call with an id that an earlier call (at `first`) has. */
  | (ItemPlace & { readonly _tag: 'DuplicateCall'; readonly first: number })
  /** An output for a call that has one already (at `first`). */
  | (ItemPlace & { readonly _tag: 'DuplicateOutput'; readonly first: number })
  /** An output for which there is no earlier call. */
  | (ItemPlace & { readonly _tag: 'OrphanOutput' })

/** A sentence for each of them. */
export const threadSentences: Sentences<ThreadProblem> = {
  DanglingCall: (problem) => `the call ${JSON.stringify(problem.callId)} at index ${problem.index} has no output`,
  DuplicateCall: (problem) =>
    `the call at index ${problem.index} reuses the id ${JSON.stringify(problem.callId)} of the call at index ${problem.first}`,
  DuplicateOutput: (problem) =>
    `the output at index ${problem.index} answers the call ${JSON.stringify(problem.callId)}, which index ${problem.first} has answered`,
  OrphanOutput: (problem) =>
    `the output at index ${problem.index} answers the call ${JSON.stringify(problem.callId)}, which is not made before it`,
}
