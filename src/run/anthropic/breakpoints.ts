/**
 * Sets cache breakpoints in a request: at the end of the instructions and of the last two user turns. The second-last
 * turn is where the previous request ended, so the provider reads it from its cache.
 *
 * They are only in the request, not in the record. Breakpoints of the record, as of an imported conversation, are left
 * out: they stay where they were when the conversation grows, and the provider refuses more than four.
 *
 * Source  Anthropic, prompt caching (2026-11): at most four marks; not on empty text blocks or thinking
 */
import type { AnthropicConversation } from '../../codecs/anthropic/index.ts'

type Block = { type: string; [field: string]: unknown }

/** The most breakpoints that the provider accepts. */
const mostBreakpoints = 4

/**
 * @param again whether the conversation continues an earlier request. Modifies and returns `wire`
 * @param others the breakpoints elsewhere in the request, as of the provider's own tools. Default: 0
 */
export const withBreakpoints = (wire: AnthropicConversation, again: boolean, others = 0): AnthropicConversation => {
  for (const block of blocksIn(wire)) delete block['cache_control']
  const turns: { content: unknown }[] = wire.messages.filter(({ role }) => role === 'user')
  const places = [turns.at(-1), ...(again ? [turns.at(-2)] : [])].filter((turn) => turn !== undefined)
  for (const turn of places.slice(0, Math.max(0, mostBreakpoints - others))) turn.content = withBreakpoint(turn.content)
  if (wire.system !== undefined && places.length + others < mostBreakpoints)
    wire.system = withBreakpoint(wire.system) as typeof wire.system
  return wire
}

/**
 * Leaves all breakpoints but the last four, which cover the longest prefixes. Modifies and returns `wire`.
 */
export const withFewBreakpoints = (wire: AnthropicConversation, others = 0): AnthropicConversation => {
  const marked = blocksIn(wire).filter((block) => block['cache_control'] !== undefined)
  for (const block of marked.slice(0, Math.max(0, marked.length + others - mostBreakpoints)))
    delete block['cache_control']
  return wire
}

/** All blocks that can have a breakpoint, in order. The input of a call is data, whatever its keys are. */
const blocksIn = ({ system, messages }: AnthropicConversation): readonly Block[] => {
  const blocks: Block[] = []
  for (const content of [system, ...messages.map((message) => message.content)])
    for (const block of listOf(content)) {
      if (block.type === 'tool_result') for (const inner of listOf(block['content'])) blocks.push(inner)
      blocks.push(block)
    }
  return blocks
}

const listOf = (content: unknown): readonly Block[] => (Array.isArray(content) ? (content as Block[]) : [])

const withBreakpoint = (content: unknown): unknown => {
  const blocks: Block[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content as Block[])
  const last = blocks.at(-1)
  if (last === undefined || last['text'] === '') return content
  last['cache_control'] = { type: 'ephemeral' }
  return blocks
}
