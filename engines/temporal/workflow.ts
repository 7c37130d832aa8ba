/** A chat on Temporal: signals bring messages, approvals and stops, a query shows its status, and it continues as new. */
import {
  ActivityCancellationType,
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  condition,
  continueAsNew,
  defineQuery,
  defineSignal,
  isCancellation,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow'
import type { HistoryActivities } from '@indelible/workflows/activities'
import {
  chatStep,
  createChat,
  type ChatOptions,
  type ChatSignal,
  type ChatState,
  type ChatStatus,
} from '@indelible/workflows/activities'

import { createRefHistory, type MessageRef } from '@indelible/workflows/refs'

export const chatSignal = defineSignal<[ChatSignal]>('chat')
export const chatStatus = defineQuery<ChatStatus>('status')

const activities = proxyActivities<HistoryActivities>({
  startToCloseTimeout: '10 minutes',
  // A stop waits until the activity has told the end of its stream.
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  heartbeatTimeout: '5 seconds', // beats come each half a second: see worker.ts
  retry: { initialInterval: '200 ms', maximumInterval: '10 seconds', nonRetryableErrorTypes: ['PermanentFailure'] },
})

/** `state` is what the run before handed on; `settings` are for the whole chat. */
export async function chat(
  settings: Pick<ChatOptions, 'model' | 'tools' | 'continueAt'> & { readonly gated?: string },
  state?: ChatState,
): Promise<ChatState> {
  const { gated, ...options } = settings
  const talk = createChat({
    id: workflowInfo().workflowId,
    run: workflowInfo().firstExecutionRunId, // a workflow id may be used again
    ...options,
    needsApproval: ({ name }) => name === gated,
    ...(state !== undefined && { state }),
  })
  setHandler(chatSignal, talk.signal)
  setHandler(chatStatus, talk.status)
  const end = await talk.run({
    activities: {
      stream: activities.stream,
      keepRefs: activities.keepRefs,
      runTool: activities.runTool,
      // A workflow that was cancelled can call activities here only.
      endStream: (input) => CancellationScope.nonCancellable(() => activities.endStream(input)),
    },
    wait: (ready) => condition(ready),
    cancellable: (work) => {
      const scope = new CancellationScope()
      return { result: scope.run(work), cancel: () => scope.cancel() }
    },
    // What an activity failed with is shown, and the chat goes on. A cancelled workflow ends.
    failure: (error) =>
      error instanceof ActivityFailure && error.cause instanceof ApplicationFailure && !isCancellation(error)
        ? error.cause.message
        : undefined,
  })
  if (end.type === 'continue') return continueAsNew<typeof chat>(settings, end.state)
  return end.state
}

/** One step, and nothing around it: what it fails with is what the workflow fails with. */
export async function step(model: ChatOptions['model'], from: MessageRef): Promise<string> {
  const history = createRefHistory({ from: [from] })
  const { workflowId } = workflowInfo()
  const answer = await chatStep(
    {
      stream: activities.stream,
      endStream: (input) => CancellationScope.nonCancellable(() => activities.endStream(input)),
    },
    history,
    { action: `${workflowId}/1`, model },
  )
  return answer.reason
}
