/** A session's tool calls and sub-agents, with their times: which call started which sub-agent. */
import { isObject, jsonIn, present } from 'indelible/internal/json'
import { textOf, type Message } from 'indelible/message'
import { readRange } from 'indelible/session'
import type { ForkPoint } from 'indelible/internal/session'
import type { Store, StoredRow } from 'indelible/store'
import { reasonOf } from 'indelible/internal/task'
import { sourceTimeOf } from '@indelible/transcripts'
import { ancestryOf, firstWordsOf, namesOf, parentIdOf, titleOf } from '../texts/about.ts'
import { callGist } from '../texts/call-gist.ts'
import { mostAgents, type Trace, type TracedAgent, type TracedTool, type ViewedSession } from '../protocol.ts'
import { noteIn } from '../calls/model-calls.ts'
import { sessionOf, sessionsOf } from './read-view.ts'

/**
 * Read a session and the sub-agents below it.
 *
 * A sub-agent's file names the session that it belongs to, but not always the agent that started it. The call with its
 * prompt, or whose result has its id, shows that.
 *
 * Cost    the list of sessions, and the rows of those in the trace
 */
export const traceOf = async (store: Store, id: string): Promise<Trace> => {
  const session = await sessionOf(store, id)
  const { relatives, declared } = await relativesOf(store, session)
  const some = [session, ...relatives.slice(0, mostAgents)]
  const read: ReadAgent[] = []
  for (let from = 0; from < some.length; from += sessionsAtOnce)
    for (const agent of await Promise.all(
      some
        .slice(from, from + sessionsAtOnce)
        .map((viewedSession) =>
          agentOf(store, viewedSession, viewedSession === session ? 0 : (viewedSession.forkedFrom?.at ?? 0)),
        ),
    ))
      read.push(agent)
  const parents = parentsIn(read)
  const isFirst = !relatives.some(
    ({ id: of, created, metadata }) =>
      !declared.has(of) && created < session.created && metadata['client'] === session.metadata['client'],
  )
  const kept = read.flatMap((agent, index) => {
    const { id: of, metadata } = agent.session
    const isOfFirst = isFirst && isText(metadata['client']) && metadata['client'] === session.metadata['client']
    return declared.has(of) || isBelow(parents, index, 0) || isOfFirst ? [index] : []
  })
  const places = new Map(kept.map((from, to) => [from, to]))
  const byId = new Map(kept.map((index) => [read[index]?.session.id, index]))
  const agents: TracedAgent[] = []
  for (const index of kept) {
    const { session: of, tools, words, started, ended, unreadable } = read[index] as ReadAgent
    const found = parents[index]
    const parent = found?.agent ?? byId.get(declared.get(of.id)) ?? 0
    // A fork has the title of the session that it was forked from.
    const title = index > 0 && of.forkedFrom !== undefined && words !== '' ? undefined : titleOf(of)
    agents.push({
      ...{ id: of.id, title: title ?? (words === '' ? of.id : words) },
      tools: tools.map(({ tool }) => tool),
      ...(index > 0 && { parent: places.get(parent) ?? 0, ...present({ call: found?.call }) }),
      ...present({ started, ended, unreadable }),
    })
  }
  return { agents, ...(relatives.length > mostAgents && { left: relatives.length - mostAgents }) }
}

/** The most sessions to read at the same time: they are in memory whole. */
const sessionsAtOnce = 8

const isText = (value: unknown): value is string => typeof value === 'string'

interface Relatives {
  /** The sessions that may be sub-agents of a session, in the order of their creation. */
  readonly relatives: readonly ViewedSession[]
  /** The parents that files name: ids of sessions by the ids of their sub-agents. */
  readonly declared: ReadonlyMap<string, string>
}

/** The sessions whose files lead to this one, from parent to parent, and those that the same client recorded. */
const relativesOf = async (store: Store, root: ViewedSession): Promise<Relatives> => {
  const all: ViewedSession[] = []
  for (let after: string | null = null; ;) {
    const page = await sessionsOf(store, after)
    for (const session of page.sessions) all.push(session)
    if (page.next === undefined) break
    after = page.next
  }
  const byName = new Map(
    all.toReversed().flatMap((session) => namesOf(session).map((name) => [name, session.id] as const)),
  )
  const byId = new Map(all.map((session) => [session.id, session]))
  const parentOf = (session: ViewedSession): string =>
    byName.get(parentIdOf(session) ?? '') ??
    (isSubAgentFork(session, byId.get(session.forkedFrom?.id ?? '')) ? session.forkedFrom.id : '')
  const children = Map.groupBy(all, parentOf)
  const declared = new Map<string, string>()
  const queue = [root.id]
  for (const parent of queue)
    for (const { id } of children.get(parent) ?? [])
      if (id !== root.id && !declared.has(id)) {
        declared.set(id, parent)
        queue.push(id)
      }
  const client = root.metadata['client']
  // Files of a program name the first session, also those of sub-agents that a sub-agent started.
  const first = parentIdOf(root)
  const isRelative = ({ id, metadata, forkedFrom }: ViewedSession): boolean =>
    declared.has(id) ||
    (id !== root.id && first !== undefined && parentIdOf({ id, metadata }) === first) ||
    (id !== root.id && isText(client) && metadata['client'] === client && forkedFrom === undefined)
  return { relatives: all.filter(isRelative).toSorted((a, b) => a.created - b.created), declared }
}

/** Whether a recorded session begins with another client's conversation, as a sub-agent with its parent's history does. */
const isSubAgentFork = (
  session: ViewedSession,
  parent: ViewedSession | undefined,
): session is ViewedSession & { readonly forkedFrom: ForkPoint } =>
  session.forkedFrom !== undefined &&
  isText(session.metadata['client']) &&
  isText(parent?.metadata['client']) &&
  session.metadata['client'] !== parent.metadata['client']

interface ReadTool {
  readonly tool: TracedTool
  /** The beginnings of its arguments that are texts. */
  readonly prompts: readonly string[]
  /** The beginning and the end of its result. */
  readonly result: string
}

interface ReadAgent extends Pick<TracedAgent, 'started' | 'ended' | 'unreadable'> {
  readonly session: ViewedSession
  readonly words: string
  /** What it was asked first. */
  readonly prompt: string
  readonly tools: readonly ReadTool[]
}

/** A session from its message `from` on: of a sub-agent that began as a fork, its own messages. */
const agentOf = async (store: Store, session: ViewedSession, from: number): Promise<ReadAgent> => {
  try {
    const { view, times } = await readRange(store, session.id, from)
    const notes = session.head.size === session.len ? [] : await store.read(session.id, { only: 'note' })
    const isImported = isObject(session.metadata['from'])
    const placed = view.toArray().map((message, index): PlacedMessage => {
      const time = sourceTimeOf(message)
      return { message, at: time ?? (isImported ? undefined : times[index]) }
    })
    const known = placed.flatMap(({ at }) => at ?? [])
    const first = placed.find(({ message }) => message.role === 'user')
    return {
      session,
      words: firstWordsOf(view.slice(0, 12)).replaceAll(/\s+/g, ' ').slice(0, mostWords),
      prompt: first === undefined ? '' : textOf(first.message).slice(0, longestPrompt).trim(),
      tools: toolsIn(placed, from, notes, session.metadata['recorder'] !== undefined),
      ...present({ started: known[0], ended: known.at(-1) }),
    }
  } catch (cause) {
    return { session, words: '', prompt: '', tools: [], unreadable: reasonOf(cause) }
  }
}

const mostWords = 200

/** Characters of what an agent was asked, and of an argument, which it is compared with. */
const [longestPrompt, longestArgument] = [20_000, 2000]

interface PlacedMessage {
  readonly message: Message
  readonly at: number | undefined
}

/** The tool calls of messages, whose first one has the position `from`. Of a recorded session, the next request shows when their results were there. */
const toolsIn = (
  placed: readonly PlacedMessage[],
  from: number,
  notes: readonly StoredRow[],
  isRecorded: boolean,
): readonly ReadTool[] => {
  const { started, requests } = timesIn(notes)
  const tools: ReadTool[] = []
  const open = new Map<string, number>()
  let next = 0
  for (const [index, { message, at }] of placed.entries())
    for (const part of message.content) {
      if (part.type === 'tool_call') {
        while (next < requests.length && (requests[next] as number) <= (at ?? 0)) next++
        const request = isRecorded ? requests[next] : undefined
        const begun = started.get(part.id) ?? at
        open.set(part.id, tools.length)
        tools.push({
          tool: {
            ...{ position: from + index, name: part.name, gist: callGist(part.arguments), state: 'open' },
            ...present({ at: begun, took: begun !== undefined && request !== undefined ? request - begun : undefined }),
          },
          ...{ prompts: textsIn(part.arguments), result: '' },
        })
      } else if (part.type === 'tool_result') {
        const call = open.get(part.callId)
        const read = call === undefined ? undefined : tools[call]
        if (call === undefined || read === undefined) continue
        open.delete(part.callId)
        const { state: _, took, ...tool } = read.tool
        const isTimed = tool.at !== undefined && at !== undefined && !isRecorded && at >= tool.at
        const text = part.content.flatMap((piece) => (piece.type === 'text' ? piece.text : [])).join('\n')
        tools[call] = {
          tool: {
            ...tool,
            ...present({ took: isTimed ? at - (tool.at ?? at) : took }),
            ...(part.isError === true && { state: 'failed' as const }),
          },
          prompts: read.prompts,
          result: text.length > mostSearched ? text.slice(0, mostSearched / 2) + text.slice(-mostSearched / 2) : text,
        }
      }
    }
  return tools
}

/** The most characters of a result in which the id of a sub-agent is looked for. */
const mostSearched = 4000

/** When the run loop started tools, by their calls' ids, and when requests were sent. */
const timesIn = (
  rows: readonly StoredRow[],
): { readonly started: ReadonlyMap<string, number>; readonly requests: readonly number[] } => {
  const started = new Map<string, number>()
  const requests: number[] = []
  for (const { body, at } of rows) {
    const note = noteIn(body)
    if (note?.type === 'tool_started') started.set(note.callId, at)
    const sent = note?.type === 'receipt' ? note.details?.['at'] : undefined
    if (typeof sent === 'number') requests.push(sent)
  }
  return { started, requests: requests.toSorted((a, b) => a - b) }
}

/** The arguments of a call that are texts. */
const textsIn = (text: string): readonly string[] => {
  const value = jsonIn(text)
  return isObject(value)
    ? Object.values(value).flatMap((field) =>
        typeof field === 'string' && field.trim() !== '' ? field.trim().slice(0, longestArgument) : [],
      )
    : []
}

interface Parent {
  readonly agent: number
  readonly call: number
}

/** Whether an agent is another one, or is started by one below it. */
const isBelow = (parents: readonly (Parent | undefined)[], index: number, other: number): boolean =>
  ancestryOf(index, (at) => parents[at]?.agent).includes(other)

/** The calls that started agents, by the agents' indexes. The first agent has none. Cost: O(texts of calls · agents) */
const parentsIn = (agents: readonly ReadAgent[]): readonly (Parent | undefined)[] => {
  const byName = new Map(
    agents.flatMap(({ session }, index) => {
      const { client } = session.forkedFrom === undefined ? {} : session.metadata // the program's id of a recorded sub-agent
      return [...namesOf(session), ...(typeof client === 'string' ? [client] : [])].map(
        (name) => [name, index] as const,
      )
    }),
  )
  const found: (Parent | undefined)[] = agents.map(() => undefined)
  const taken = new Set<ReadTool>()
  const take = (child: number | undefined, agent: number, call: number, tool: ReadTool): void => {
    if (
      child === undefined ||
      child === 0 ||
      found[child] !== undefined ||
      taken.has(tool) ||
      isBelow(found, agent, child)
    )
      return
    found[child] = { agent, call }
    taken.add(tool)
  }
  for (const [agent, { tools }] of agents.entries())
    for (const [call, tool] of tools.entries())
      for (const name of new Set(tool.result.split(/[^\w.-]+/))) take(byName.get(name), agent, call, tool)
  for (const isAsked of [(argument: string, text: string) => argument.slice(0, longestArgument) === text, isLongPart])
    for (const [child, { prompt }] of agents.entries()) {
      if (prompt === '' || found[child] !== undefined) continue
      for (const [agent, { tools }] of agents.entries())
        for (const [call, tool] of tools.entries())
          if (agent !== child && tool.prompts.some((text) => isAsked(prompt, text))) take(child, agent, call, tool)
    }
  return found
}

/** Whether a prompt has a text in it, long enough not to be there by chance: programs add their own lines to prompts. */
const isLongPart = (prompt: string, text: string): boolean => text.length >= 20 && prompt.includes(text)
