/** Runs a tool that the model called. */
import { digestOf } from 'indelible/internal/proof'
import { openCalls, toolResult, type Message, type ToolCallPart } from 'indelible/message'
import { itemAt } from 'indelible/internal/sequence'
import { invoke } from 'indelible/run'
import { answerAction, beginAction } from './actions.ts'
import { checkAction } from './check.ts'
import { ActivityCancelled, ActivityFailed, rightOrFail } from './activity-errors.ts'
import { jsonOf, storeMessage, type Host } from './host.ts'
import type { AppendResult, ToolInput } from './input.ts'
import { readHistory } from './readable.ts'

/** Throws ActivityFailed or ActivityCancelled. */
export const runTool = async (host: Host, { action, history, call, refused }: ToolInput): Promise<AppendResult> => {
  checkAction(action)
  const { refs } = await host.read(history)
  const { blocks, actions } = host.open(refs.scope)
  const input = digestOf(JSON.stringify(['tool', refs.toJSON(), call.id, call.name, refused ?? null]))
  const { attempt = 1, signal = new AbortController().signal } = host.invocation?.() ?? {}
  const known = rightOrFail(await actions.note(action, beginAction(action, input, attempt)))
  if (known.result !== undefined) return known.result as unknown as AppendResult // stored by this activity
  const { view } = await readHistory(host, blocks, refs)
  const open = openCalls(view).findLast(({ id, name }) => id === call.id && name === call.name)
  if (open === undefined)
    throw new ActivityFailed({
      _tag: 'InvalidInput',
      reason: `the call ${JSON.stringify(call.id)} of ${JSON.stringify(call.name)} is not open in this history: it is missing, or has its result`,
    })
  const made = itemAt(view, open.position).content[open.part] as ToolCallPart // an open call is a tool call
  const tools = new Map((host.tools ?? []).map((tool) => [tool.name, tool]))
  const message: Message =
    refused === undefined
      ? { role: 'tool', content: [await invoke(made, tools, signal)] }
      : toolResult(made.id, refused, { name: made.name, isError: true })
  if (signal.aborted) throw new ActivityCancelled(signal.reason)
  const ref = await storeMessage(blocks, message)
  return rightOrFail(await actions.note(action, answerAction(action, input, jsonOf({ ref }), true)))
    .result as unknown as AppendResult
}
