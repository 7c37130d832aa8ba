/** Where the prefix that a provider had cached ended, and why. Providers cache tools, then the system text, then messages. */
import { isLeft, isObject, parseJson } from '../json/index.ts'
import type { SentBefore } from './conversation.ts'
import type { CacheBreak } from './receipt.ts'

/** How a call differs from the one before it; undefined: it continues it unchanged. */
export const cacheBreak = (
  before: SentBefore | undefined,
  now: SentBefore,
  compacted: boolean,
): CacheBreak | undefined => {
  if (before === undefined) return undefined
  if (before.tools !== now.tools) return { where: 'tools', because: toolsChanged(before.tools, now.tools) }
  if (before.system !== now.system) return { where: 'system', because: systemChanged(before.system, now.system) }
  const index = before.messages.findIndex((digest, at) => now.messages[at] !== digest)
  if (index === -1) return undefined
  return {
    where: 'messages',
    index,
    because: compacted
      ? 'the client compacted the conversation'
      : index >= now.messages.length
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
  return parsed.right.flatMap((tool, index) => {
    if (!isObject(tool)) return [`tool ${index}`]
    const { functionDeclarations: declared = tool['function_declarations'] } = tool
    if (Array.isArray(declared)) return declared.map((one: unknown, at) => nameOf(one) ?? `function ${at}`)
    // A tool of Gemini's own is an object under its name.
    return [nameOf(tool['function']) ?? nameOf(tool) ?? Object.keys(tool)[0] ?? `tool ${index}`]
  })
}

const nameOf = (tool: unknown): string | undefined => {
  const name = isObject(tool) ? (tool['name'] ?? tool['type']) : undefined
  return typeof name === 'string' ? name : undefined
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

/** All text of a system prompt, which may be a text, a list of parts, or an object with one. */
const textIn = (json: string): string => {
  const parsed = parseJson(json)
  if (isLeft(parsed)) return json
  const { right: said } = parsed
  const parts = isObject(said) && Array.isArray(said['parts']) ? said['parts'] : said
  if (typeof parts === 'string') return parts
  return Array.isArray(parts)
    ? parts.map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('\n')
    : json
}
