/** What a provider counted for a call, as recordings keep it in the `meta` of the answer. */
import type { Message } from '../message/index.ts'
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
