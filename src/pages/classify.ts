/**
 * Classification: the page kind that can be read off a message without guessing.
 *
 * Constraint, plan and preference are promises that context derivation keeps, so they are never inferred: only an
 * explicit tag at append gives them.
 */
import type { Sequence } from '../sequence/index.ts'
import type { PageKind } from './kind.ts'

/**
 * The page kind of one message of any shape: system or developer role → `bootstrap`; tool role, or any `tool_result`
 * part → `evidence`; everything else → `conversation`. Total: it never throws on plain data.
 *
 * Cost    O(parts)
 * @example
 * classify({ role: 'system', content: 'Be brief.' }) // => 'bootstrap'
 */
export const classify = (message: unknown): PageKind => {
  if (typeof message !== 'object' || message === null) return 'conversation'
  const { role, content } = message as { readonly role?: unknown; readonly content?: unknown }
  if (role === 'system' || role === 'developer') return 'bootstrap'
  if (role === 'tool') return 'evidence'
  if (Array.isArray(content)) for (const part of content as readonly unknown[]) if (isToolResult(part)) return 'evidence'
  return 'conversation'
}

/** The page kind of every message, in order. Frozen, same length. */
export const classifyAll = (messages: Sequence<unknown>): readonly PageKind[] => {
  const kinds: PageKind[] = []
  for (const message of messages) kinds.push(classify(message))
  return Object.freeze(kinds)
}

const isToolResult = (part: unknown): boolean =>
  typeof part === 'object' && part !== null && (part as { readonly type?: unknown }).type === 'tool_result'
