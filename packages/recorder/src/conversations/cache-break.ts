/**
 * Finds where a provider's cached prefix ended, and why. Providers cache tools, then the system text, then messages.
 */
import { isLeft, isObject, parseJson, type Immutable } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { IndexedMessages } from './compaction.ts'
import type { SentBefore } from './conversation.ts'
import { identityOf } from '../messages/identity.ts'
import { namedTools, shortName, type NamedTool } from '../messages/named-tools.ts'
import type { CacheBreak } from './receipt.ts'

/** An earlier message that a client changed, such as an old tool result that it shortened. */
export interface Edit {
  /** The index of the first changed message. */
  readonly index: number
  readonly because: string
  /** The kind of the message, if it is one of those at the beginning. Default: `messages`. */
  readonly where?: 'tools' | 'system'
}

/**
 * The edit that leads from a conversation to a request sharing its first `len` messages; undefined
 * if the request only goes back. After an edit, later answers or results are sent again.
 */
export const editOf = (recorded: IndexedMessages, messages: readonly Message[], len: number): Edit | undefined => {
  const behind = new Set<string>()
  for (let index = len; index < recorded.len; index++) behind.add(recorded.identityAt(index))
  const rest = messages.slice(len)
  const ids = rest.map(identityOf)
  if (!rest.some(({ role }, at) => role !== 'user' && role !== 'system' && behind.has(ids[at] as string)))
    return undefined
  const was = recorded.at(len)
  const what = was === undefined ? 'a message' : nameMessage(was as Message, messages.slice(0, len))
  const done = ids.includes(recorded.identityAt(len))
    ? `a message was inserted before ${what}`
    : behind.has(ids[0] as string)
      ? `${what} was removed`
      : `${what} was edited`
  return { index: len, because: `message ${len}: ${done}` }
}

/**
 * The edit of a request that has another beginning than its conversation: other system messages, or fewer of the oldest
 * messages. Undefined if it begins alike.
 *
 * @param setup the number of system messages at the request's beginning
 * @param start the index in the conversation of the request's first other message
 */
export const beginningEdit = (
  recorded: IndexedMessages & { readonly setup: number },
  messages: readonly Message[],
  setup: number,
  start: number,
): Edit | undefined => {
  for (let index = 0; index < Math.max(setup, recorded.setup); index++) {
    const message = messages[index] as Message
    const change = index >= setup ? 'was removed' : index >= recorded.setup ? 'was added' : 'changed'
    if (change === 'changed' && recorded.identityAt(index) === identityOf(message)) continue
    const [tools, current] = change === 'changed' ? [toolsOf(recorded.at(index)), toolsOf(message)] : []
    if (tools !== undefined && current !== undefined)
      return { index, where: 'tools', because: toolsChanged(tools, current) }
    return {
      index,
      where: 'system',
      because: `message ${index}: ${change === 'was added' ? 'a' : 'the'} system message ${change}`,
    }
  }
  const dropped = start - recorded.setup
  if (dropped <= 0) return undefined
  return { index: setup, because: `message ${setup}: ${dropped} of the oldest messages were left out` }
}

/** The tools that Codex sends in a message, as JSON. */
const toolsOf = (message: Immutable<Message> | undefined): string | undefined => {
  const [part] = message?.content ?? []
  const raw = part?.type === 'provider' ? part.raw : undefined
  return isObject(raw) && raw['type'] === 'additional_tools' ? JSON.stringify(raw['tools']) : undefined
}

const nameMessage = ({ role, content }: Message, before: readonly Message[]): string => {
  if (role !== 'tool') return role === 'assistant' ? 'an answer' : `a ${role} message`
  const ids = new Set(content.flatMap((part) => (part.type === 'tool_result' ? [part.callId] : [])))
  const calls = before.flatMap((message) => message.content.filter((part) => part.type === 'tool_call'))
  const names = new Set(calls.filter(({ id }) => ids.has(id)).map(({ name }) => name))
  return names.size === 0 ? 'a tool result' : `the result of ${[...names].slice(0, 3).map(shortName).join(', ')}`
}

/** An earlier call, as far as it is compared with. */
export type CallBefore = Pick<SentBefore, 'tools' | 'system' | 'messages'>

/**
 * How a call differs from the one before it; undefined if it continues that one unchanged.
 *
 * @param changes what the client did to the conversation, and how many of the request's messages have the same content
 * as those of the conversation
 * @param original the last call of the session that this one was forked from, or that another recorder recorded. Going
 * back in a fork breaks no cache
 */
export const cacheBreak = (
  last: SentBefore | undefined,
  now: SentBefore,
  { compacted, edit, taken }: { readonly compacted: boolean; readonly edit: Edit | undefined; readonly taken: number },
  original?: CallBefore,
): CacheBreak | undefined => {
  const before = last ?? original
  const edited = edit && ({ where: edit.where ?? 'messages', index: edit.index, because: edit.because } as const)
  if (before === undefined) return edited
  const setup =
    before.tools !== now.tools
      ? ({ where: 'tools', because: toolsChanged(before.tools, now.tools) } as const)
      : before.system !== now.system
        ? ({ where: 'system', because: systemChanged(before.system, now.system) } as const)
        : undefined
  const index = before.messages.findIndex((digest, at) => now.messages[at] !== digest)
  // Claude Code also changes a line of its system text then. Of a call of another recorder, the messages are not known.
  if (compacted && edited === undefined && (setup !== undefined || last === undefined || index !== -1)) {
    const because = 'the client compacted the conversation'
    return setup === undefined
      ? { where: 'messages', ...(index !== -1 && { index }), change: 'compaction', because }
      : { where: setup.where, change: 'compaction', because: `${because}, and ${setup.because}` }
  }
  if (setup !== undefined) return setup
  if (last === undefined && edited === undefined) return undefined
  if (edited !== undefined && (index === -1 || index >= edited.index)) return edited
  if (index === -1) return undefined
  return {
    where: 'messages',
    index,
    ...(compacted ? { change: 'compaction' } : index >= now.messages.length && { change: 'rewind' }),
    because: compacted
      ? 'the client compacted the conversation'
      : index >= now.messages.length
        ? `the conversation was cut back to ${now.messages.length} messages`
        : `message ${index} ${index < taken ? 'is written differently' : 'was replaced'}`,
  }
}

const toolsChanged = (before: string | undefined, now: string | undefined): string => {
  const [old, current] = [toolsIn(before), toolsIn(now)]
  const [oldNames, names] = [old.map(({ name }) => name), current.map(({ name }) => name)]
  const added = names.filter((name) => !oldNames.includes(name)).map((name) => `+${shortName(name)}`)
  const removed = oldNames.filter((name) => !names.includes(name)).map((name) => `-${shortName(name)}`)
  const changes = [...added, ...removed]
  if (changes.length > 0)
    return `the tool list changed: ${changes.slice(0, 10).join(' ')}${changes.length > 10 ? ' …' : ''}`
  if (oldNames.join('\n') !== names.join('\n')) return 'the order of the tools changed'
  const changed = current.flatMap(({ name, definition }, index) => {
    const was = old[index]?.definition
    if (JSON.stringify(was) === JSON.stringify(definition)) return []
    return [{ name: shortName(name), isDescription: withoutDescription(was) === withoutDescription(definition) }]
  })
  const [first, ...more] = changed
  if (first === undefined) return 'the tools are written differently'
  if (more.length > 0) return `${first.name} and ${more.length} more changed`
  return first.isDescription ? `the description of ${first.name} changed` : `${first.name} changed`
}

const toolsIn = (tools: string | undefined): readonly NamedTool[] => {
  const parsed = tools === undefined ? undefined : parseJson(tools)
  return parsed === undefined || isLeft(parsed) ? [] : namedTools(parsed.right)
}

/** A tool as JSON without its description, but with those of its parameters. */
const withoutDescription = (tool: unknown): string | undefined => {
  if (!isObject(tool)) return JSON.stringify(tool)
  const { description: _, function: inner, ...rest } = tool
  return JSON.stringify([rest, isObject(inner) ? { ...inner, description: undefined } : inner])
}

const systemChanged = (before: string | undefined, now: string | undefined): string => {
  if (before === undefined || now === undefined)
    return before === undefined ? '`system` was added' : '`system` was removed'
  const [text, current] = [textIn(before), textIn(now)]
  if (text === current)
    return before.includes('"cache_control"') && !now.includes('"cache_control"')
      ? '`system` lost its `cache_control`, so the provider no longer caches it'
      : '`system` is written differently'
  const [old, lines] = [text.split('\n'), current.split('\n')]
  if (old.length === 1 && lines.length === 1) return `\`system\` changed at character ${firstDifference(text, current)}`
  const line = old.findIndex((line, index) => line !== lines[index])
  const more = lines.length - old.length
  return line === -1
    ? `\`system\` changed: it has ${more} more ${more === 1 ? 'line' : 'lines'}`
    : `\`system\` changed in line ${line + 1}`
}

/** The number of the first character that differs, from 1. */
const firstDifference = (a: string, b: string): number => {
  let same = 0
  while (same < a.length && a[same] === b[same]) same++
  return same + 1
}

/** The text of a system prompt, which may be a string, a list of parts, or an object with parts; undefined for others. */
export const promptText = (value: unknown): string | undefined => {
  const parts = isObject(value) && Array.isArray(value['parts']) ? value['parts'] : value
  if (typeof parts === 'string') return parts
  return Array.isArray(parts)
    ? parts.map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('\n')
    : undefined
}

const textIn = (json: string): string => {
  const parsed = parseJson(json)
  return (isLeft(parsed) ? undefined : promptText(parsed.right)) ?? json
}
