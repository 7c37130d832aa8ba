/**
 * Sets cache breakpoints in a request: at the end of the instructions and of the last two user turns. The second-last
 * turn is where the previous request ended, so the provider reads it from its cache.
 *
 * They are only in the request, not in the record. A conversation with its own breakpoints is left unchanged.
 *
 * Source  Anthropic, prompt caching (2026-11): at most four marks; not on empty text blocks or thinking
 */
import type { AnthropicConversation } from '../../codecs/anthropic/index.ts'

type Block = { type: string; [field: string]: unknown }

/** @param again whether the conversation continues an earlier request. Modifies and returns `wire`. */
export const withBreakpoints = (wire: AnthropicConversation, again: boolean): AnthropicConversation => {
  if (JSON.stringify(wire).includes('"cache_control"')) return wire
  const said = wire.messages.filter(({ role }) => role === 'user').slice(again ? -2 : -1)
  const turns: { content: unknown }[] = said
  for (const turn of turns) turn.content = withBreakpoint(turn.content)
  if (wire.system !== undefined) wire.system = withBreakpoint(wire.system) as typeof wire.system
  return wire
}

const withBreakpoint = (content: unknown): unknown => {
  const blocks: Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Block[])
  const last = blocks.at(-1)
  if (last === undefined || last['text'] === '') return content
  last['cache_control'] = { type: 'ephemeral' }
  return blocks
}
