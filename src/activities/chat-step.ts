/** The workflow's side: one answer of the model, as a ref at the end of the workflow's history. */
import type { Position } from '../history/index.ts'
import type { RefHistory } from '../refs/index.ts'
import type { HistoryActivities, StreamInput, StreamResult } from './input.ts'

/** What a workflow learns of one answer of the model. */
export interface ChatStep extends Omit<StreamResult, 'ref' | 'tree' | 'adopted'> {
  /** Where the answer stands; undefined, if the model had nothing to say. */
  readonly position?: Position
  /** How many messages the model was sent. */
  readonly seen: number
}

/** What a chat step calls. `stream` is needed; the others where the step says. */
export type StepActivities = Pick<HistoryActivities, 'stream'> &
  Partial<Pick<HistoryActivities, 'endStream' | 'keepRefs'>>

/**
 * Have the model answer, and append the answer's ref to the history. Deterministic: everything that is not is in the
 * activities. What it throws is what `stream` throws; no answer was appended then.
 *
 * Messages that `history.receive` takes during the step stand behind the answer, for the model did not see them. If the
 * answer has calls, they wait on, until their results are appended: the next step, or `history.release`, appends them.
 *
 * With `tree: true` the activity gets a reference of the history in place of its list (under 10 kB, however long it is),
 * and stores the refs as a tree. A long history whose refs are in no tree yet is stored first, by `keepRefs`, 50 refs a call.
 *
 * `action` names the step: unique in the scope, and the same when the workflow is replayed.
 *
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
    const asked = history.toReference()
    const { ref, tree, adopted: _, ...summary } = await activities.stream({ ...options, history: asked })
    if (tree !== undefined) history.keep(tree)
    const position = ref === undefined ? undefined : history.append(ref)
    waits = summary.calls.length > 0
    return { ...summary, seen, ...(position !== undefined && { position }) }
  } catch (error) {
    // If the engine gave up between two attempts, none of them has told the end. Should that fail too, the first error counts.
    await activities.endStream?.({ action: options.action, scope: history.scope }).then(undefined, () => undefined)
    throw error
  } finally {
    if (!waits) history.release()
  }
}

/** Refs that one input names: about 6 kB of them. */
const most = 50

const keepAll = async ({ keepRefs }: StepActivities, history: RefHistory): Promise<void> => {
  if (keepRefs === undefined) return
  for (let added = history.since(); added.length > most; added = history.since()) {
    const { tree } = await keepRefs({
      scope: history.scope,
      refs: added.slice(0, most),
      ...(history.tree !== undefined && { tree: history.tree }),
    })
    if (tree === undefined) return
    history.keep(tree)
  }
}
