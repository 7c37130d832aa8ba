/** What others have for contexts, as the benches call it: from the messages before a call to those that it would send. */
import { pruneMessages, type ModelMessage } from 'ai'
import { AIMessage, HumanMessage, ToolMessage, trimMessages, type BaseMessage } from '@langchain/core/messages'
import type { Message, Part } from 'indelible'
import { estimateTokens } from 'indelible/context'

/** A peer: from the messages before a call to those that it would send, with what each is of. */
export interface Peer {
  readonly name: string
  readonly trim: (upTo: number, budget: number) => Promise<readonly Message[]>
}

const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')

/** LangChain's `trimMessages`: the last messages that fit, from a human or AI message on, counted by our estimate. */
export const langChain = (recording: readonly Message[]): Peer => {
  const converted: BaseMessage[] = recording.map((message, position) => {
    const id = String(position)
    if (message.role === 'assistant')
      return new AIMessage({
        id,
        content: textOf(message.content),
        tool_calls: message.content.flatMap((part) =>
          part.type === 'tool_call'
            ? [
                {
                  id: part.id,
                  name: part.name,
                  args: argumentsOf(part.arguments),
                  type: 'tool_call' as const,
                },
              ]
            : [],
        ),
      })
    const [first] = message.content
    if (first?.type === 'tool_result')
      return new ToolMessage({ id, content: textOf(first.content), tool_call_id: first.callId })
    return new HumanMessage({ id, content: textOf(message.content) })
  })
  const recorded = ({ id }: BaseMessage): Message => recording[Number(id)] as Message
  return {
    name: 'LangChain trimMessages',
    trim: async (upTo, budget) => {
      const kept = await trimMessages(converted.slice(0, upTo), {
        maxTokens: budget,
        strategy: 'last',
        startOn: ['human', 'ai'],
        tokenCounter: (messages: readonly BaseMessage[]) =>
          messages.reduce((sum, message) => sum + estimateTokens(recorded(message)), 0),
      })
      return kept.map(recorded)
    },
  }
}

/** The AI SDK's `pruneMessages`. It knows no budget: tool calls and reasoning before the last 20 messages go. */
export const aiSdk = (recording: readonly Message[]): Peer => {
  const parts = new Map<object, Part>()
  const roles = { tool: 'tool', assistant: 'assistant', user: 'user', system: 'system', developer: 'system' } as const
  const kept = <T extends object>(made: T, part: Part): T => (parts.set(made, part), made)
  const converted = recording.map((message): ModelMessage => {
    const content = message.content.map((part) => {
      if (part.type === 'tool_call')
        return kept(
          { type: 'tool-call', toolCallId: part.id, toolName: part.name, input: argumentsOf(part.arguments) },
          part,
        )
      if (part.type === 'tool_result')
        return kept(
          {
            type: 'tool-result',
            toolCallId: part.callId,
            toolName: part.name ?? 'tool',
            output: { type: 'text', value: textOf(part.content) },
          },
          part,
        )
      if (part.type === 'reasoning') return kept({ type: 'reasoning', text: part.text }, part)
      return kept({ type: 'text', text: part.type === 'text' ? part.text : part.type }, part)
    })
    return { role: roles[message.role], content } as ModelMessage
  })
  return {
    name: 'AI SDK pruneMessages',
    trim: async (upTo) =>
      pruneMessages({
        messages: converted.slice(0, upTo),
        reasoning: 'before-last-message',
        toolCalls: 'before-last-20-messages',
        emptyMessages: 'remove',
      }).map(({ role, content }): Message => ({
        role,
        content: (content as readonly object[]).flatMap((part) => parts.get(part) ?? []),
      })),
  }
}

/** What a model wrote need not be JSON. */
const argumentsOf = (given: string): Record<string, unknown> => {
  try {
    return JSON.parse(given) as Record<string, unknown>
  } catch {
    return { given }
  }
}
