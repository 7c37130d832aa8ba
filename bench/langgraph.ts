/** The turns of the benches as a graph of LangGraph keeps them: messages of LangChain, and two checkpoints a turn. */
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from '@langchain/core/messages'
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { textOf, type Message } from 'indelible'
import type { MessageStore } from './turns.ts'

/** What every saver of LangGraph does. */
export interface Saver {
  readonly put: (...args: never) => Promise<unknown>
  readonly putWrites: (...args: never) => Promise<unknown>
  readonly getTuple: (
    ...args: never
  ) => Promise<{ checkpoint: { channel_values: Record<string, unknown> } } | undefined>
}

/** The arguments of a call; none, if the model did not write an object. */
const argumentsIn = (text: string): object => {
  try {
    const read: unknown = JSON.parse(text)
    return typeof read === 'object' && read !== null ? read : {}
  } catch {
    return {}
  }
}

/** A message with all of its content. */
const langchainOf = (message: Message, id: string): unknown => {
  const content = textOf(message)
  if (message.role === 'user') return new HumanMessage({ content, id })
  if (message.role === 'assistant')
    return new AIMessage({
      content,
      id,
      tool_calls: message.content.flatMap((part) =>
        part.type === 'tool_call'
          ? [{ type: 'tool_call', id: part.id, name: part.name, args: argumentsIn(part.arguments) }]
          : [],
      ),
    })
  const [result] = message.content
  return result?.type === 'tool_result'
    ? new ToolMessage({ content: JSON.stringify(result.content), tool_call_id: result.callId, id })
    : new SystemMessage({ content, id })
}

/** A graph of one node. `anew` gives a saver that has read nothing. */
export const graph = (saver: Saver, anew: () => Saver, close: () => unknown): MessageStore => {
  const config = { configurable: { thread_id: 't', checkpoint_ns: '' } }
  let state: unknown[] = []
  let parent: unknown = config
  const put = async (number: number, source: 'input' | 'loop'): Promise<void> => {
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(number),
      channel_values: { messages: state },
      channel_versions: { messages: number },
    }
    parent = await saver.put(
      ...([parent, checkpoint, { source, step: number, parents: {} }, { messages: number }] as never),
    )
  }
  return {
    add: async ([question, answer], number) => {
      state = [...state, langchainOf(question as Message, `q${number}`)]
      await put(2 * number + 1, 'input')
      const said = langchainOf(answer as Message, `a${number}`)
      await saver.putWrites(...([parent, [['messages', [said]]], `task ${number}`] as never))
      state = [...state, said]
      await put(2 * number + 2, 'loop')
    },
    load: async () => {
      const found = await anew().getTuple(...([config] as never))
      return (found?.checkpoint.channel_values['messages'] as unknown[] | undefined)?.length ?? 0
    },
    close,
  }
}
