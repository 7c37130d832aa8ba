/** What others have for contexts, as the benches call it: from the messages before a call to those that it would send. */
import { pruneMessages, type ModelMessage } from 'ai'
import {
  AIMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
  type BaseMessage,
} from '@langchain/core/messages'
import type { Message, Part } from 'indelible'
import { estimateTokens } from 'indelible/context'
import { summarizationMiddleware } from 'langchain'

/** A peer, with the messages that it would send for the call after the first `upTo` messages. */
export interface Peer {
  readonly name: string
  readonly trim: (upTo: number, budget: number) => Promise<SentContext>
}

/** Makes a peer for a recording. */
export type MakePeer = (recording: readonly Message[]) => Peer

export interface SentContext {
  readonly messages: readonly Message[]
  /** The call that summarized messages just before, if there was one. */
  readonly summary?: Summary
}

interface Summary {
  /** Messages that the summarizing call read after the prefix it shares with the call before. */
  readonly continued?: readonly Message[]
  /** Tokens of a prompt of its own, which no cache holds. */
  readonly apart?: number
  readonly output: number
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

const summaryOf = (tokens: number, role: 'user' | 'assistant'): Message => ({
  role,
  content: [{ type: 'text', text: 'word '.repeat(Math.round(tokens * 0.8)) }],
})

/**
 * LangChain's `summarizationMiddleware` with its defaults: at the budget all but the last 20 messages are summarized, from the
 * last 4,000 tokens of them. The model is a stand-in that answers with 1,000 tokens, which hold no evidence.
 */
export const langChainSummary = (recording: readonly Message[]): Peer => {
  const converted = toLangChain(recording)
  const summaries = new Map<string, Message>()
  let [state, upToNow]: [readonly BaseMessage[], number] = [[], 0]
  const calls: Summary[] = []
  const recorded = (message: BaseMessage): Message =>
    (message.additional_kwargs['lc_source'] === 'summarization' ? summaries.get(String(message.content)) : undefined) ??
    (recording[Number(message.id)] as Message)
  const model = {
    invoke: async (prompt: string) => {
      const text = `${summaries.size} ${textOf(summaryOf(1000, 'user').content)}`
      calls.push({ apart: estimateTokens({ role: 'user', content: [{ type: 'text', text: prompt }] }), output: 1000 })
      return { content: text }
    },
  }
  return {
    name: 'LangChain summarizationMiddleware',
    trim: async (upTo, budget) => {
      const { beforeModel } = summarizationMiddleware({
        model,
        trigger: { tokens: budget },
        tokenCounter: (messages: readonly BaseMessage[]) => tokensIn(messages.map(recorded)),
      })
      state = [...state, ...converted.slice(upToNow, upTo)]
      upToNow = upTo
      const update = await beforeModel({ messages: state }, { context: {} })
      if (update !== undefined) {
        state = update.messages.filter((message: BaseMessage) => !RemoveMessage.isInstance(message))
        const text = String(state[0]?.content)
        summaries.set(text, { role: 'user', content: [{ type: 'text', text }] })
      }
      const summary = calls.pop()
      return { messages: state.map(recorded), ...(summary && { summary }) }
    },
  }
}

/**
 * A provider's compaction, as its documentation describes it: at the budget the model reads the conversation once more and
 * writes a summary, here of 3,500 tokens (the example of Anthropic's documentation) without evidence.
 */
const compaction =
  (name: string, keeps: (message: Message) => boolean): MakePeer =>
  (recording) => {
    let [head, from]: [readonly Message[], number] = [[], 0]
    return {
      name,
      trim: async (upTo, budget) => {
        const messages = [...head, ...recording.slice(from, upTo)]
        if (tokensIn(messages) < budget) return { messages }
        head = [...recording.slice(0, upTo).filter(keeps), summaryOf(3500, 'assistant')]
        from = upTo
        return { messages: head, summary: { continued: messages, output: 3500 } }
      },
    }
  }

const isInstruction = ({ role }: Message): boolean => role === 'system' || role === 'developer'

/** Everything but the instructions is replaced: https://platform.claude.com/docs/en/build-with-claude/compaction-threshold */
export const anthropicCompaction: MakePeer = compaction('Anthropic compaction', isInstruction)
/** User messages stay as they are: https://developers.openai.com/api/docs/guides/compaction */
export const openaiCompaction: MakePeer = compaction(
  'OpenAI compaction',
  (message) =>
    isInstruction(message) || (message.role === 'user' && message.content.every(({ type }) => type === 'text')),
)

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
