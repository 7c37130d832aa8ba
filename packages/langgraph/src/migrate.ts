/** Copies threads between checkpointers, into records or out of them. */
import type { BaseCheckpointSaver, CheckpointTuple, PendingWrite } from '@langchain/langgraph-checkpoint'
import { optionsOf, present } from 'indelible/internal/json'
import { Slices } from 'indelible/internal/store'

/**
 * Copy the checkpoints and writes of a thread, or of all threads, from one checkpointer to another: from
 * `SqliteSaver`, `PostgresSaver` or any other into an `IndelibleSaver`, and back. Copying again changes nothing.
 *
 * @param from the source
 * @param to the target
 * @param threadId the thread. Default: all threads
 * @param options a signal that ends it; what was copied stays, and copying again adds the rest
 * @throws the signal's reason
 */
export const copyCheckpoints = async (
  from: BaseCheckpointSaver<number | string>,
  to: BaseCheckpointSaver<number | string>,
  threadId?: string,
  options: { readonly signal?: Pick<AbortSignal, 'throwIfAborted'> } = {},
): Promise<number> => {
  const { signal } = optionsOf('copyCheckpoints', options, { signal: true })
  const slices = new Slices()
  const tuples: CheckpointTuple[] = []
  for await (const tuple of from.list({ configurable: present({ thread_id: threadId }) })) {
    signal?.throwIfAborted()
    tuples.push(tuple)
    await slices.next()
  }
  // Oldest first, so that each checkpoint's parent is already there.
  for (const { config: at, checkpoint, metadata, parentConfig, pendingWrites = [] } of tuples.toReversed()) {
    signal?.throwIfAborted()
    const { thread_id, checkpoint_ns = '' } = at.configurable ?? {}
    const parent: unknown = parentConfig?.configurable?.['checkpoint_id']
    const configurable = { thread_id, checkpoint_ns, ...(parent !== undefined && { checkpoint_id: parent }) }
    const about = metadata ?? { source: 'update', step: -1, parents: {} }
    await to.put({ configurable }, checkpoint, about, checkpoint.channel_versions)
    const byTask = new Map<string, PendingWrite[]>()
    for (const [task, channel, value] of pendingWrites) {
      const writes = byTask.get(task) ?? []
      writes.push([channel, value])
      byTask.set(task, writes)
    }
    for (const [task, writes] of byTask) await to.putWrites(at, writes, task)
    await slices.next()
  }
  return tuples.length
}
