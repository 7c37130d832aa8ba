/** A chat step on Workflow DevKit: the workflow runs in its sandbox, and the activities are its steps. */
import { chatStep, type StreamInput, type StreamResult } from '@indelible/workflows/activities'
import { createRefHistory, type MessageRef, type RefHistoryJson } from '@indelible/workflows/refs'
import type { ModelConfig } from 'indelible/run'
import { getWorkflowMetadata } from 'workflow'

async function stream(input: StreamInput): Promise<StreamResult> {
  'use step'
  const { activities } = await import('../activities.ts')
  return (await activities()).stream(input)
}
stream.maxRetries = 10

async function endStream(input: { readonly action: string; readonly scope?: string }): Promise<void> {
  'use step'
  const { activities } = await import('../activities.ts')
  await (await activities()).endStream(input)
}

/** Two answers of the model to one question. */
export async function chat(from: MessageRef, model: ModelConfig): Promise<RefHistoryJson> {
  'use workflow'
  const { workflowRunId } = getWorkflowMetadata()
  const history = createRefHistory({ from: [from] })
  for (const step of [1, 2])
    await chatStep({ stream, endStream }, history, { action: `${workflowRunId}/${step}`, model, tree: true })
  return history.toJSON()
}
