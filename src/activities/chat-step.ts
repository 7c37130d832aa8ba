/** The workflow's side: one answer of the model, as a ref at the end of the workflow's history. */
import type { Position } from '../history/index.ts'
import type { RefHistory } from '../refs/index.ts'
import type { HistoryActivities, StreamInput, StreamResult } from './input.ts'

/** What a workflow learns of one answer of the model. */
export interface ChatStep extends Omit<StreamResult, 'ref'> {
  /** Where the answer stands; undefined, if the model had nothing to say. */
  readonly position?: Position
  /** How many messages the model was sent. More may have come to the history since. */
  readonly seen: number
}

/**
 * Have the model answer, and append the answer's ref to the history. Deterministic: everything that is not is in the
 * activities. What it throws is what `stream` throws; the history is then as it was.
 *
 * `action` names the step: unique in the scope, and the same when the workflow is replayed.
 *
 * @example
 * const step = await chatStep(activities, history, { action: `${workflowId}:1`, model: { name: 'claude-opus-5' } })
 */
export const chatStep = async (
  activities: Pick<HistoryActivities, 'stream'> & Partial<Pick<HistoryActivities, 'endStream'>>,
  history: RefHistory,
  options: Omit<StreamInput, 'history'>,
): Promise<ChatStep> => {
  const seen = history.len
  try {
    const { ref, ...summary } = await activities.stream({ ...options, history: history.toJSON() })
    return { ...summary, seen, ...(ref !== undefined && { position: history.append(ref) }) }
  } catch (error) {
    // If the engine gave up between two attempts, none of them has told the end. Should that fail too, the first error counts.
    await activities.endStream?.({ action: options.action, scope: history.scope }).then(undefined, () => undefined)
    throw error
  }
}
