/** The workflow's side of a model call: appends the ref of the answer to the workflow's history. */
import type { Position } from 'indelible/history'
import type { RefHistory } from '../refs/index.ts'
import type { HistoryActivities, StreamInput, StreamResult } from './input.ts'

/** The workflow's view of one model answer. */
export interface ChatStep extends Omit<StreamResult, 'ref' | 'tree' | 'adopted'> {
  /** The position of the answer; undefined if the model said nothing. */
  readonly position?: Position
  /** The number of messages that the model was sent. */
  readonly seen: number
}

/** The activities that a chat step calls. `stream` is required; the others only where the step says so. */
export type StepActivities = Pick<HistoryActivities, 'stream'> &
  Partial<Pick<HistoryActivities, 'endStream' | 'keepRefs'>>

/**
 * Let the model answer, and append the ref of the answer to the history. It is deterministic: everything else is in the
 * activities. If `stream` throws, it throws the same error, and no answer is appended.
 *
 * Messages that `history.receive` takes during the step come after the answer, because the model has not seen them. If
 * the answer has calls, they wait until the results are appended: the next step, or `history.release`, appends them.
 *
 * With `tree: true` the activity gets a reference to the history instead of its list, and stores the refs as a tree. At
 * any length the input names at most 50 refs: 5 kB if each message is one block, 3.4 kB more for each further block. If the refs of a long history are in no tree yet, `keepRefs` stores them first, 50 refs a
 * call.
 *
 * @param activities the activities, as the engine calls them
 * @param history the workflow's history; the answer is appended to it
 * @param options `action`: the id of the step, unique in the scope and equal when the workflow is
 *   replayed; the model, tools and limit
 * @returns the answer without its content: its position, usage and calls
 * @throws whatever `stream` throws
 * @example
 * const step = await chatStep(activities, history, { action: `${workflowId}:1`, model: { name: 'claude-opus-5' } })
 */
export const chatStep = async (
  activities: StepActivities,
  history: RefHistory,
  options: Omit<StreamInput, 'history'>,
): Promise<ChatStep> => {
  history.release()
  history.hold()
  let waits = false
  try {
    if (options.tree === true) await keepAll(activities, history)
    const seen = history.len
    const reference = history.toReference()
    const { ref, tree, adopted: _, ...summary } = await activities.stream({ ...options, history: reference })
    if (tree !== undefined) history.keep(tree)
    const position = ref === undefined ? undefined : history.append(ref)
    waits = summary.calls.length > 0
    return { ...summary, seen, ...(position !== undefined && { position }) }
  } catch (error) {
    // If the engine gave up between attempts, none has published the end. If this fails too, throw the first error.
    await activities.endStream?.({ action: options.action, scope: history.scope }).then(undefined, () => undefined)
    throw error
  } finally {
    if (!waits) history.release()
  }
}

/** The most refs in one input: 5 kB if each is one block. */
const mostRefs = 50

const keepAll = async ({ keepRefs }: StepActivities, history: RefHistory): Promise<void> => {
  if (keepRefs === undefined) return
  for (let added = history.since(); added.length > mostRefs; added = history.since()) {
    const { tree } = await keepRefs({
      scope: history.scope,
      refs: added.slice(0, mostRefs),
      ...(history.tree !== undefined && { tree: history.tree }),
    })
    if (tree === undefined) return
    history.keep(tree)
  }
}
