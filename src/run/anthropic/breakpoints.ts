/**
 * Where a request asks the provider to write its prompt cache: at the end of the instructions, and of the last two
 * turns of the user's side. The one before the last is what the previous request ended with, so it is read from the cache.
 *
 * Placed in the request alone; the record holds none of it. A conversation that has marks of its own is left as it is.
 *
 * Source  Anthropic, prompt caching (2026-11): at most four marks; a block with an empty text, and thinking, take none
 */
import type { AnthropicConversation } from '../../codecs/anthropic/index.ts'

type Block = { type: string; [field: string]: unknown }

/** @param again whether the conversation continues one that was sent before. Changes and returns `wire`. */
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
