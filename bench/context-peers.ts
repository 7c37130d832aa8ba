/** What others have for contexts, as the benches call it: from the messages before a call to those that it would send. */
import { pruneMessages, type ModelMessage } from 'ai'
import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
  type BaseMessage,
} from '@langchain/core/messages'
import type { Message, Part } from 'indelible'
import { estimateTokens } from 'indelible/context'

/** A peer, with the messages that it would send for the call after the first `upTo` messages. */
export interface Peer {
  readonly name: string
  readonly trim: (upTo: number, budget: number) => Promise<SentContext>
}

export interface SentContext {
  readonly messages: readonly Message[]
}

const counted = new WeakMap<Message, number>()

/** Peers count the same messages again and again. */
const tokensIn = (messages: readonly Message[]): number => {
  let sum = 0
  for (const message of messages) {
    const tokens = counted.get(message) ?? estimateTokens(message)
    counted.set(message, tokens)
    sum += tokens
  }
  return sum
}

const textOf = (parts: readonly Part[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('\n')

/** The recording as LangChain's messages; each has its position as its id. */
const toLangChain = (recording: readonly Message[]): readonly BaseMessage[] =>
  recording.map((message, position) => {
    const id = String(position)
    if (message.role === 'assistant')
      return new AIMessage({
        id,
        content: textOf(message.content),
        tool_calls: message.content.flatMap((part) =>
          part.type === 'tool_call'
            ? [{ id: part.id, name: part.name, args: argumentsOf(part.arguments), type: 'tool_call' as const }]
            : [],
        ),
      })
    const [first] = message.content
    if (first?.type === 'tool_result')
      return new ToolMessage({ id, content: textOf(first.content), tool_call_id: first.callId })
    const isInstruction = message.role === 'system' || message.role === 'developer'
    return new (isInstruction ? SystemMessage : HumanMessage)({ id, content: textOf(message.content) })
  })

/**
 * LangChain's `trimMessages`: the last messages that fit, counted by our estimate, with the options that its documentation
 * advises for chat models with tools.
 */
export const langChain = (recording: readonly Message[]): Peer => {
  const converted = toLangChain(recording)
  const recorded = ({ id }: BaseMessage): Message => recording[Number(id)] as Message
  return {
    name: 'LangChain trimMessages',
    trim: async (upTo, budget) => {
      const rememberPart = await trimMessages(converted.slice(0, upTo), {
        maxTokens: budget,
        strategy: 'last',
        startOn: 'human',
        endOn: ['human', 'tool'],
        includeSystem: true,
        tokenCounter: (messages: readonly BaseMessage[]) => tokensIn(messages.map(recorded)),
      })
      // Where nothing is left, it returns an array with a hole.
      return {
        messages: rememberPart.filter((message: BaseMessage | undefined) => message !== undefined).map(recorded),
      }
    },
  }
}

/** The AI SDK's `pruneMessages`. It has no budget: tool calls and reasoning before the last 20 messages go. */
export const aiSdk = (recording: readonly Message[]): Peer => {
  const parts = new Map<object, Part>()
  const roles = { tool: 'tool', assistant: 'assistant', user: 'user', system: 'system', developer: 'system' } as const
  const rememberPart = <T extends object>(made: T, part: Part): T => (parts.set(made, part), made)
  const converted = recording.map((message): ModelMessage => {
    const content = message.content.map((part) => {
      if (part.type === 'tool_call')
        return rememberPart(
          { type: 'tool-call', toolCallId: part.id, toolName: part.name, input: argumentsOf(part.arguments) },
          part,
        )
      if (part.type === 'tool_result')
        return rememberPart(
          {
            type: 'tool-result',
            toolCallId: part.callId,
            toolName: part.name ?? 'tool',
            output: { type: 'text', value: textOf(part.content) },
          },
          part,
        )
      if (part.type === 'reasoning') return rememberPart({ type: 'reasoning', text: part.text }, part)
      return rememberPart({ type: 'text', text: part.type === 'text' ? part.text : part.type }, part)
    })
    return { role: roles[message.role], content } as ModelMessage
  })
  return {
    name: 'AI SDK pruneMessages',
    trim: async (upTo) => ({
      messages: pruneMessages({
        messages: converted.slice(0, upTo),
        reasoning: 'before-last-message',
        toolCalls: 'before-last-20-messages',
        emptyMessages: 'remove',
      }).map(({ role, content }): Message => ({
        role,
        content: (content as readonly object[]).flatMap((part) => parts.get(part) ?? []),
      })),
    }),
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
