/** Running a tool that the model has called. */
import { digestOf } from 'indelible/proof/kit'
import { openCalls, toolResult, type Message, type ToolCallPart } from 'indelible/message'
import { itemAt } from 'indelible/sequence/kit'
import { invoke } from 'indelible/run'
import { answered, begun } from './actions.ts'
import { checkAction } from './check.ts'
import { Cancelled, Failed, given } from './failed.ts'
import { jsonOf, stored, type Host } from './host.ts'
import type { AppendResult, ToolInput } from './input.ts'
import { readable } from './readable.ts'

/** Throws Failed, or Cancelled. */
export const runTool = async (host: Host, { action, history, call, refused }: ToolInput): Promise<AppendResult> => {
  checkAction(action)
  const { refs } = await host.read(history)
  const { blocks, actions } = host.open(refs.scope)
  const input = digestOf(JSON.stringify(['tool', refs.toJSON(), call.id, call.name, refused ?? null]))
  const { attempt = 1, signal = new AbortController().signal } = host.invocation?.() ?? {}
  const known = given(await actions.note(action, begun(action, input, attempt)))
  if (known.result !== undefined) return known.result as unknown as AppendResult // as it was noted here
  const { view } = await readable(host, blocks, refs)
  const open = openCalls(view).findLast(({ id, name }) => id === call.id && name === call.name)
  if (open === undefined)
    throw new Failed({
      _tag: 'InvalidInput',
      reason: `the call ${JSON.stringify(call.id)} of ${JSON.stringify(call.name)} waits for no result in this history`,
    })
  const made = itemAt(view, open.position).content[open.part] as ToolCallPart // an open call is one
  const tools = new Map((host.tools ?? []).map((tool) => [tool.name, tool]))
  const message: Message =
    refused === undefined
      ? { role: 'tool', content: [await invoke(made, tools, signal)] }
      : toolResult(made.id, refused, { name: made.name, isError: true })
  if (signal.aborted) throw new Cancelled(signal.reason)
  const ref = await stored(blocks, message)
  return given(await actions.note(action, answered(action, input, jsonOf({ ref }), true)))
    .result as unknown as AppendResult
}
