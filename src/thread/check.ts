/** Problems with the calls of a thread's history. They are reported, never repaired: the history's owner decides. */
import { ownFields } from '../json/index.ts'
import { createPairing } from '../message/internal.ts'
import { itemsOf } from './history.ts'
import type { ItemPlace, ThreadProblem } from './fault.ts'

/**
 * Lists all dangling, duplicate, orphan and missing call ids.
 *
 * Cost    one pass
 * @param history the items; items other than `tool_call_item` and `tool_call_output_item` are ignored
 * @returns the problems, in history order; frozen, and empty if there are none
 * @example
 * checkThread([{ type: 'tool_call_output_item', callId: 'c1' }]) // [{ _tag: 'OrphanOutput', callId: 'c1', index: 0 }]
 */
export const checkThread = (history: readonly unknown[]): readonly ThreadProblem[] => {
  const problems: ThreadProblem[] = []
  const pairing = createPairing<ItemPlace, number>()
  for (const [index, item] of itemsOf('checkThread', history).entries()) {
    if (!isCallItem(item)) continue
    const { callId } = item
    if (typeof callId !== 'string') {
      problems.push({ _tag: 'MissingCallId', index })
      continue
    }
    const place = { callId, index }
    if (item.type === 'tool_call_item') {
      const before = pairing.call(callId, place, index)
      if (before !== undefined) problems.push({ _tag: 'DuplicateCall', ...place, first: before.call.index })
      continue
    }
    const met = pairing.result(callId, index)
    if (met.type === 'orphan') problems.push({ _tag: 'OrphanOutput', ...place })
    else if (met.type === 'second') problems.push({ _tag: 'DuplicateOutput', ...place, first: met.first })
  }
  for (const { call, answer } of pairing.calls())
    if (answer === undefined) problems.push({ _tag: 'DanglingCall', ...call })
  return Object.freeze(problems.toSorted((a, b) => a.index - b.index).map((problem) => Object.freeze(problem)))
}

interface CallItem {
  readonly type: 'tool_call_item' | 'tool_call_output_item'
  readonly callId?: unknown
}

const isCallItem = (item: unknown): item is CallItem => {
  const { type } = ownFields(item as { readonly type?: unknown })
  return type === 'tool_call_item' || type === 'tool_call_output_item'
}
