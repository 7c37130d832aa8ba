/** What can be wrong with the calls of a thread's history, as data. */

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

/**
 * Describe a problem in a sentence for people.
 *
 * @param problem one problem that `checkThread` found
 * @returns the sentence, with the index and the id
 */
export const threadProblemText = (problem: ThreadProblem): string => {
  const id = JSON.stringify(problem.callId)
  switch (problem._tag) {
    case 'DanglingCall':
      return `the call ${id} at index ${problem.index} has no output`
    case 'DuplicateCall':
      return `the call at index ${problem.index} has the id ${id} of the call at index ${problem.first}`
    case 'DuplicateOutput':
      return `the output at index ${problem.index} answers the call ${id}, which index ${problem.first} has answered`
    case 'OrphanOutput':
      return `the output at index ${problem.index} answers the call ${id}, which is not made before it`
  }
}
