/** Problems with the calls of a thread's history. They are reported and never repaired: the owner of the history decides. */

import type { ThreadProblem } from './fault.ts'

/**
 * List every dangling, duplicate and orphan call id.
 *
 * Cost    one pass
 * @param history the items; it ignores items other than `tool_call_item` and `tool_call_output_item`
 * @returns the problems, in the order of the history; frozen, and empty if there are none
 * @example
 * checkThread([{ type: 'tool_call_output_item', callId: 'c1' }]) // [{ _tag: 'OrphanOutput', callId: 'c1', index: 0 }]
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
      if (call !== undefined && call.output === undefined)
        problems.push({ _tag: 'DanglingCall', callId, index: call.index })
      calls.set(callId, { index, output: undefined })
    } else if (call === undefined) problems.push({ _tag: 'OrphanOutput', callId, index })
    else if (call.output === undefined) call.output = index
    else problems.push({ _tag: 'DuplicateOutput', callId, index, first: call.output })
  }
  for (const [callId, { index, output }] of calls)
    if (output === undefined) problems.push({ _tag: 'DanglingCall', callId, index })
  return Object.freeze(problems.toSorted((a, b) => a.index - b.index).map((problem) => Object.freeze(problem)))
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
