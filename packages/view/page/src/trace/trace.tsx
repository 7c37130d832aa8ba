/** A session's tool calls and sub-agents as a tree, each with a bar for its time. */
import { useSignal, type ReadonlySignal } from '@preact/signals'
import type { VNode } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { Overview, Trace, TracedAgent, TracedTool } from '../../../src/protocol.ts'
import { Facts } from '../elements/field.tsx'
import { compactNumber, costText, countText, dotted, oneLine, sentence, spanText, timeText } from '../format-text.ts'
import { fetchOverviews, overviews } from '../data/overviews.ts'
import type { SessionRecord } from '../data/record.ts'
import { hrefOf } from '../route.ts'
import { SessionHead } from '../session/session.tsx'
import { timeScale, type Scale, type Span } from './time-scale.ts'
import { useLoaded } from '../data/use-loaded.ts'
import { Loaded } from '../elements/view-head.tsx'
import { VirtualFeed } from '../elements/virtual-feed.tsx'

export const TraceView = ({
  record,
  trace: read,
}: {
  readonly record: SessionRecord
  readonly trace: (id: string) => Promise<Trace>
}): VNode => {
  const { value: trace, fault } = useLoaded(() => read(record.id), [record, record.rows.length, record.version.value])
  return (
    <>
      <SessionHead record={record} here={{ view: 'trace', id: record.id }} at={undefined} />
      <main class="rest">
        <Loaded value={trace} fault={fault} reading="Reading the calls…">
          {(found) => <Tree record={record} trace={found} />}
        </Loaded>
      </main>
    </>
  )
}

interface Line {
  readonly depth: number
  /** The index of the agent, and of its tool; an agent's own line has none. */
  readonly agent: number
  readonly tool?: number
}

/** The lines of the tree: below a tool call the sub-agent that it started, at the end those that no call names. */
const linesOf = ({ agents }: Trace, closed: ReadonlySet<number>): readonly Line[] => {
  const children = Map.groupBy(
    agents.flatMap((_, index) => (index === 0 ? [] : index)),
    (index) => agents[index]?.parent ?? 0,
  )
  const lines: Line[] = []
  const add = (agent: number, depth: number): void => {
    lines.push({ agent, depth })
    if (closed.has(agent)) return
    const below = children.get(agent) ?? []
    for (const tool of agents[agent]?.tools.keys() ?? []) {
      lines.push({ agent, depth: depth + 1, tool })
      for (const child of below) if (agents[child]?.call === tool) add(child, depth + 2)
    }
    for (const child of below) if (agents[child]?.call === undefined) add(child, depth + 1)
  }
  add(0, 0)
  return lines
}

const spanOf = ({ started, ended }: TracedAgent): Span | undefined =>
  started === undefined || ended === undefined ? undefined : { from: started, to: ended }

const toolSpan = ({ at, took }: TracedTool): Span | undefined =>
  at === undefined ? undefined : { from: at, to: at + (took ?? 0) }

const Tree = ({ record, trace }: { readonly record: SessionRecord; readonly trace: Trace }): VNode => {
  const closed: ReadonlySignal<ReadonlySet<number>> & { value: ReadonlySet<number> } = useSignal(new Set<number>())
  const { agents } = trace
  const lines = useMemo(() => linesOf(trace, closed.value), [trace, closed.value])
  const scale = useMemo(
    () => timeScale(agents.flatMap(({ tools }, index) => [...tools.map(toolSpan), index > 0 ? spanOf(agents[index] as TracedAgent) : undefined]).filter((span) => span !== undefined), spanOf(agents[0] as TracedAgent)),
    [trace],
  ) // prettier-ignore
  const ids = agents.map(({ id }) => id)
  useEffect(() => void fetchOverviews(record.source, trace, ids), [trace])
  const toggle = (agent: number): void => {
    const next = new Set(closed.value)
    if (!next.delete(agent)) next.add(agent)
    closed.value = next
  }
  const tools = agents.reduce((sum, agent) => sum + agent.tools.length, 0)
  const failed = agents.reduce((sum, agent) => sum + agent.tools.filter(({ state }) => state === 'failed').length, 0)
  return (
    <>
      <p class="trace-sums">
        <Facts
          text={dotted(
            countText(tools, 'tool call'),
            failed === 0 ? [] : `${failed} failed`,
            countText(agents.length - 1 + (trace.left ?? 0), 'sub-agent'),
            scale.length === 0 ? [] : spanText(scale.whole),
            scale.isShortened ? 'longer pauses are shortened to a minute' : [],
            trace.left === undefined ? [] : `${countText(trace.left, 'sub-agent')} not shown`,
          )}
        />
      </p>
      <VirtualFeed
        label="tool calls and sub-agents"
        items={lines}
        estimate={34}
        keyOf={({ agent, tool }) => `${agent} ${tool ?? ''}`}
        classOf={({ tool }) => (tool === undefined ? 'traced traced-agent' : 'traced')}
        render={({ agent: index, tool, depth }) => {
          const agent = agents[index] as TracedAgent
          return tool === undefined ? (
            <AgentLine
              agent={agent}
              depth={depth}
              scale={scale}
              isOpen={!closed.value.has(index)}
              toggle={agent.tools.length === 0 ? undefined : () => toggle(index)}
              overview={overviews.value.get(agent.id)}
            />
          ) : (
            <ToolLine id={agent.id} tool={agent.tools[tool] as TracedTool} depth={depth} scale={scale} />
          )
        }}
      />
    </>
  )
}

interface AgentLineProps {
  readonly agent: TracedAgent
  readonly depth: number
  readonly scale: Scale
  readonly isOpen: boolean
  /** Absent if there is nothing below it. */
  readonly toggle: (() => void) | undefined
  readonly overview: Overview | undefined
}

const AgentLine = ({ agent, depth, scale, isOpen, toggle, overview }: AgentLineProps): VNode => {
  const { id, title, started, ended, tools, unreadable } = agent
  const { models = [], input = 0, output = 0, dollars, unpriced, undercounted } = overview ?? {}
  const facts = dotted(
    unreadable !== undefined ? sentence(unreadable) : countText(tools.length, 'tool call'),
    models.map((model) => oneLine(model, 32)),
    input + output === 0 ? [] : `${compactNumber(input + output)} tokens`,
    costText(dollars, unpriced, undercounted),
  )
  return (
    <>
      <span class="traced-name" style={{ paddingLeft: indentOf(depth) }}>
        {toggle === undefined ? (
          <span class="trace-toggle" aria-hidden="true" />
        ) : (
          <button
            type="button"
            class="trace-toggle"
            aria-expanded={isOpen}
            aria-label={`calls of ${oneLine(title, 60)}`}
            onClick={toggle}
          >
            {isOpen ? '▾' : '▸'}
          </button>
        )}
        <a href={hrefOf({ view: 'session', id })} dir="auto">
          {oneLine(title, 120)}
        </a>
        <span class="quiet traced-facts">
          <Facts text={facts} />
        </span>
      </span>
      <Bar span={spanOf(agent)} scale={scale} kind="agent" />
      <span class="traced-time" title={started === undefined ? undefined : timeText(started)}>
        {started === undefined || ended === undefined || ended === started ? '' : spanText(ended - started)}
      </span>
    </>
  )
}

interface ToolLineProps {
  readonly id: string
  readonly tool: TracedTool
  readonly depth: number
  readonly scale: Scale
}

const ToolLine = ({ id, tool: { position, name, gist, at, took, state }, depth, scale }: ToolLineProps): VNode => (
  <>
    <a
      class="traced-name"
      style={{ paddingLeft: indentOf(depth) }}
      href={hrefOf({ view: 'session', id, at: position })}
      dir="auto"
    >
      <span class="tool-name">{oneLine(name, 60)}</span> <span class="tool-gist">{gist}</span>
    </a>
    <Bar span={at === undefined ? undefined : { from: at, to: at + (took ?? 0) }} scale={scale} kind={state ?? 'tool'} />
    <span class={state === 'failed' ? 'traced-time bad' : 'traced-time'} title={at === undefined ? undefined : timeText(at)}>
      {dotted(state === 'failed' ? 'failed' : state === 'open' ? 'no result' : [], took === undefined ? [] : spanText(took))}
    </span>
  </>
) // prettier-ignore

/** The deepest levels share an indent: names keep their space. */
const indentOf = (depth: number): string => `${1.5 * Math.min(depth, 8)}rem`

interface BarProps {
  readonly span: Span | undefined
  readonly scale: Scale
  readonly kind: string
}

const Bar = ({ span, scale, kind }: BarProps): VNode => {
  if (span === undefined || scale.length === 0) return <span class="trace-bar" />
  const [from, to] = [scale.placeOf(span.from), scale.placeOf(span.to)]
  return (
    <span class="trace-bar" aria-hidden="true">
      <i class={`bar-${kind}`} style={{ left: `${from * 100}%`, width: `${(to - from) * 100}%` }} />
    </span>
  )
}
