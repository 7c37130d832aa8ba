/** Where the prefix that a provider had cached ended, and why. Providers cache tools, then the system text, then messages. */
import { isLeft, isObject, parseJson } from '../json/index.ts'
import type { SentBefore } from './conversation.ts'
import type { CacheBreak } from './receipt.ts'

/** How a call differs from the one before it; undefined: it continues it unchanged. */
export const cacheBreak = (before: SentBefore | undefined, now: SentBefore): CacheBreak | undefined => {
  if (before === undefined) return undefined
  if (before.tools !== now.tools) return { where: 'tools', because: toolsChanged(before.tools, now.tools) }
  if (before.system !== now.system) return { where: 'system', because: systemChanged(before.system, now.system) }
  const index = before.messages.findIndex((digest, at) => now.messages[at] !== digest)
  if (index === -1) return undefined
  return {
    where: 'messages',
    index,
    because:
      index >= now.messages.length
        ? `the conversation was cut back to ${now.messages.length} messages`
        : `message ${index} is another, or is written in another way`,
  }
}

const toolsChanged = (before: string | undefined, now: string | undefined): string => {
  const [old, current] = [namesIn(before), namesIn(now)]
  const added = current.filter((name) => !old.includes(name)).map((name) => `+${name}`)
  const removed = old.filter((name) => !current.includes(name)).map((name) => `-${name}`)
  const changes = [...added, ...removed]
  if (changes.length > 0)
    return `the tool list changed: ${changes.slice(0, 10).join(' ')}${changes.length > 10 ? ' …' : ''}`
  return old.join('\n') === current.join('\n') ? 'the description of a tool changed' : 'the tools came in another order'
}

const namesIn = (tools: string | undefined): readonly string[] => {
  const parsed = tools === undefined ? undefined : parseJson(tools)
  if (parsed === undefined || isLeft(parsed) || !Array.isArray(parsed.right)) return []
  return parsed.right.map((tool, index) => {
    const named = isObject(tool)
      ? (tool['name'] ?? (isObject(tool['function']) ? tool['function']['name'] : tool['type']))
      : undefined
    return typeof named === 'string' ? named : `tool ${index}`
  })
}

const systemChanged = (before: string | undefined, now: string | undefined): string => {
  if (before === undefined || now === undefined)
    return before === undefined ? '`system` was added' : '`system` was removed'
  const [old, current] = [textIn(before).split('\n'), textIn(now).split('\n')]
  const line = old.findIndex((text, index) => text !== current[index])
  return line === -1
    ? `\`system\` changed: it has ${current.length - old.length} more lines`
    : `\`system\` changed in line ${line + 1}`
}

/** All text of a system prompt, which may be a text or a list of parts. */
const textIn = (json: string): string => {
  const parsed = parseJson(json)
  if (isLeft(parsed)) return json
  if (typeof parsed.right === 'string') return parsed.right
  return Array.isArray(parsed.right)
    ? parsed.right.map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('\n')
    : json
}
