/**
 * Classification: the page kind that is evident from a message.
 *
 * Constraint, plan and preference are guarantees for context derivation, so they are never
 * inferred: only an explicit tag on append sets them.
 */
import { ownField } from '../json/index.ts'
import type { PageKind } from './kind.ts'

/**
 * The page kind of a message of any shape. A system or developer role gives `bootstrap`; a tool role, or any
 * `tool_result` part, gives `evidence`; everything else is `conversation`, including the library's own system or
 * developer message about an interrupted run (`meta.indelible.interrupted`). Never throws on plain data.
 *
 * Cost    O(parts)
 *
 * @param message any value
 * @example
 * classify({ role: 'system', content: 'Be brief.' }) // => 'bootstrap'
 */
export const classify = (message: unknown): PageKind => {
  if (typeof message !== 'object' || message === null) return 'conversation'
  const role = ownField(message as Shape, 'role')
  if (role === 'system' || role === 'developer') return saysInterrupted(message) ? 'conversation' : 'bootstrap'
  if (role === 'tool') return 'evidence'
  const content = ownField(message as Shape, 'content')
  if (!Array.isArray(content)) return 'conversation'
  // By index: an iterator, or `some`, takes half as long again for frozen content, at each append.
  for (let index = 0; index < content.length; index++) if (isToolResult(content[index])) return 'evidence'
  return 'conversation'
}

interface Shape {
  readonly role?: unknown
  readonly meta?: unknown
  readonly indelible?: unknown
  readonly interrupted?: unknown
  readonly content?: unknown
  readonly type?: unknown
}

const isToolResult = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && ownField(part as Shape, 'type') === 'tool_result'

const saysInterrupted = (message: object): boolean => {
  const meta = ownField(message as Shape, 'meta')
  const ours = typeof meta === 'object' && meta !== null ? ownField(meta as Shape, 'indelible') : undefined
  return typeof ours === 'object' && ours !== null && ownField(ours as Shape, 'interrupted') === true
}
