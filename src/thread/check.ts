/** What is wrong with the calls of a thread's history. It is told, never repaired: whose history it is decides. */

/** Where in the history an item stands. */
export interface ItemPlace {
  readonly callId: string
  readonly index: number
}

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
 * Every dangling, duplicate and orphan call id, in the order of the history. Items of other types than
 * `tool_call_item` and `tool_call_output_item` are passed over.
 *
 * Cost    one pass
 * @example
 * checkThread([{ type: 'tool_call_output_item', callId: 'c1' }]) // => [{ _tag: 'OrphanOutput', callId: 'c1', index: 0 }]
 */
export const checkThread = (history: readonly unknown[]): readonly ThreadProblem[] => {
  const problems: ThreadProblem[] = []
  const calls = new Map<string, { readonly index: number; output: number | undefined }>()
  for (const [index, item] of history.entries()) {
    if (!isCallItem(item)) continue
    const { callId } = item
    const call = calls.get(callId)
    if (item.type === 'tool_call_item') {
      if (call !== undefined) problems.push({ _tag: 'DuplicateCall', callId, index, first: call.index })
      if (call !== undefined && call.output === undefined) problems.push({ _tag: 'DanglingCall', callId, index: call.index })
      calls.set(callId, { index, output: undefined })
    } else if (call === undefined) problems.push({ _tag: 'OrphanOutput', callId, index })
    else if (call.output === undefined) call.output = index
    else problems.push({ _tag: 'DuplicateOutput', callId, index, first: call.output })
  }
  for (const [callId, { index, output }] of calls) if (output === undefined) problems.push({ _tag: 'DanglingCall', callId, index })
  return Object.freeze(problems.toSorted((a, b) => a.index - b.index).map((problem) => Object.freeze(problem)))
}

/** A problem as a sentence for people. */
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

interface CallItem {
  readonly type: 'tool_call_item' | 'tool_call_output_item'
  readonly callId: string
}

const isCallItem = (item: unknown): item is CallItem => {
  if (typeof item !== 'object' || item === null) return false
  const { type, callId } = item as { readonly type?: unknown; readonly callId?: unknown }
  return (type === 'tool_call_item' || type === 'tool_call_output_item') && typeof callId === 'string'
}
