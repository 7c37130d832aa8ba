/** What recordings keep in the `meta` of a message: what a provider counted for its call, and its time. */
import type { Message } from '../../message/index.ts'
import type { ProviderCount } from './replay.ts'

/**
 * The tokens that a provider counted for a call, from the `meta` of the answer: of a pi session, or of an Anthropic
 * response as Claude Code keeps it.
 *
 * @param answer a message of the assistant
 * @returns the count; undefined if `meta` has none
 */
export const countedIn = (answer: Message): ProviderCount | undefined => {
  const pi = usageIn(answer, 'pi-session')
  if (pi !== undefined) return count([pi['input'], pi['cacheWrite']], pi['cacheRead'])
  const anthropic = usageIn(answer, 'anthropic-response')
  if (anthropic === undefined) return undefined
  return count(
    [anthropic['input_tokens'], anthropic['cache_creation_input_tokens']],
    anthropic['cache_read_input_tokens'],
  )
}

/**
 * When a message was written, from its `meta`: of a session of pi, Claude Code or Codex.
 *
 * @param message a message
 * @returns milliseconds since 1970; undefined if `meta` has no time
 */
export const timeIn = ({ meta }: Message): number | undefined => {
  for (const name of ['pi-session', 'claude-code', 'codex']) {
    const found: unknown = meta?.[name]
    const time = typeof found === 'object' && found !== null ? (found as Fields)['timestamp'] : undefined
    const at = typeof time === 'string' ? Date.parse(time) : time
    if (typeof at === 'number' && Number.isFinite(at)) return at
  }
  return undefined
}

type Fields = { readonly [field: string]: unknown }

const usageIn = ({ meta }: Message, name: string): Fields | undefined => {
  const found: unknown = meta?.[name]
  if (typeof found !== 'object' || found === null) return undefined
  const { usage } = found as { readonly usage?: unknown }
  return typeof usage === 'object' && usage !== null ? (usage as Fields) : undefined
}

const count = (fresh: readonly unknown[], served: unknown): ProviderCount => {
  const cached = numberOf(served)
  return Object.freeze({ input: fresh.reduce<number>((sum, value) => sum + numberOf(value), cached), cached })
}

const numberOf = (value: unknown): number => (typeof value === 'number' && Number.isFinite(value) ? value : 0)
