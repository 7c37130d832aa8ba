/** Finds what this server itself answered earlier, in recorded conversations: that is no source of its own. */
import type { Message, Part } from 'indelible/message'
import { textsOf } from 'indelible/internal/entry'
import { markPattern } from './answer.ts'

/** The names that programs give our tools: `mcp__indelible__search`, `indelible_read`. */
const ownTool = /(?:^|[^a-z])indelible[^a-z]+(?:search|read|list_sessions)$/i

/** How a call of one of them is written in the arguments of another tool: in a script of Codex, in a search for tools. */
const ownCall = /mcp__indelible__(?:search|read|list_sessions)/

/** A message without the calls of this server's tools and their results. */
export const withoutOwnResults = (message: Message): Message => {
  const content = message.content.filter((part) => !isOwn(part as Part))
  return content.length === message.content.length ? message : ({ ...message, content } as Message)
}

const isOwn = (part: Part): boolean =>
  (part.type === 'tool_call' && (ownTool.test(part.name) || ownCall.test(String(part.arguments)))) ||
  (part.type === 'tool_result' &&
    (ownTool.test(part.name ?? '') ||
      textsOf({ role: 'tool', content: [part] } as Message).some(({ text }) => markPattern.test(text))))
