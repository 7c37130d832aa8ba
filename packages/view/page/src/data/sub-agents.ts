/** The sub-agents that a session's tool calls started, for links beside the calls. */
import { signal, type ReadonlySignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { ToolCallPart } from 'indelible/message'
import type { Trace } from '../../../src/protocol.ts'
import type { SessionRecord } from './record.ts'

interface SubAgent {
  readonly id: string
  readonly title: string
}

const found = signal<ReadonlyMap<ToolCallPart, SubAgent>>(new Map())

/** The sub-agents of the open session, by the calls that started them. */
export const subAgents: ReadonlySignal<ReadonlyMap<ToolCallPart, SubAgent>> = found

/** Tools that start agents have such names: a session without one needs no trace. */
const startsAgents = /task|agent|spawn|delegate/i

const callsIn = (record: SessionRecord, position: number): readonly ToolCallPart[] =>
  (record.entries[position]?.message.content ?? []).flatMap((part) => (part.type === 'tool_call' ? part : []))

/** The sub-agents of the first agent of a trace. A call is known by its message and its place among the message's calls. */
const linksOf = (record: SessionRecord, { agents }: Trace): ReadonlyMap<ToolCallPart, SubAgent> => {
  const tools = agents[0]?.tools ?? []
  const links = new Map<ToolCallPart, SubAgent>()
  for (const { id, title, parent, call } of agents) {
    const tool = parent === 0 && call !== undefined ? tools[call] : undefined
    if (tool === undefined || call === undefined) continue
    const first = tools.findIndex(({ position }) => position === tool.position)
    const part = callsIn(record, tool.position)[call - first]
    if (part !== undefined) links.set(part, { id, title })
  }
  return links
}

/** Find the sub-agents of a session once all of it has come. */
export const useSubAgents = (record: SessionRecord): void => {
  const isWhole = record.whole.value
  useEffect(() => {
    const { trace } = record.source
    const hasAgents = (): boolean =>
      record.entries.some(({ position }) => callsIn(record, position).some(({ name }) => startsAgents.test(name)))
    if (!isWhole || trace === undefined || !hasAgents()) return undefined
    let isGone = false
    const find = async (): Promise<void> => {
      const links = linksOf(record, await trace(record.id))
      if (!isGone) found.value = links
    }
    find().catch(() => {}) // the view of the trace shows why
    return () => {
      isGone = true
      found.value = new Map()
    }
  }, [record, isWhole])
}
