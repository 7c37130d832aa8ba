/** What an erasure of messages does to the state of a thread whose checkpoints repeat their text. */
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages'
import type { RunnableConfig } from '@langchain/core/runnables'
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint'
import { expect, it } from 'vitest'
import { memoryStore, verifySession, type Store } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { IndelibleSaver } from '@indelible/langgraph'

const thread: RunnableConfig = { configurable: { thread_id: 't', checkpoint_ns: '' } }
const shown = (messages: unknown): readonly string[] =>
  (messages as readonly BaseMessage[]).map((message) => `${message.getType()} ${String(message.content)}`)
const stateOn = async (store: Store): Promise<{ readonly [channel: string]: unknown }> =>
  (await new IndelibleSaver(store).getTuple(thread))?.checkpoint.channel_values ?? {}

/** A thread as a graph stores it: each step puts a checkpoint that has the whole state, and names the channels that changed. */
const threadOn = (store: Store) => {
  const saver = new IndelibleSaver(store)
  const versions: { [channel: string]: number } = {}
  let state: { [channel: string]: unknown } = {}
  let config = thread
  let step = 0
  const put = async (changes: { readonly [channel: string]: unknown }): Promise<RunnableConfig> => {
    step += 1
    state = { ...state, ...changes }
    for (const channel of Object.keys(changes)) versions[channel] = step
    const changed = Object.fromEntries(Object.keys(changes).map((channel) => [channel, step]))
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: state,
      channel_versions: { ...versions },
    }
    return (config = await saver.put(config, checkpoint, { source: 'loop', step, parents: {} }, changed))
  }
  const continueAt = (there: RunnableConfig, messages: readonly BaseMessage[]): void => {
    config = there
    state = { ...state, messages }
  }
  return { saver, put, continueAt }
}

/** A turn of a graph that keeps the user's question in a channel of its own; the answer's step changes it again with `atEnd`. */
const turn = async (
  { put }: Pick<ReturnType<typeof threadOn>, 'put'>,
  before: readonly BaseMessage[],
  question: string,
  atEnd = false,
): Promise<readonly BaseMessage[]> => {
  const at = before.length
  const messages = [...before, new HumanMessage({ content: question, id: `h${at}` })]
  const add = (message: BaseMessage): BaseMessage[] => {
    messages.push(message)
    return [...messages]
  }
  await put({ start: { messages: [question] } })
  await put({ start: null, messages: [...messages] })
  const call = { id: `c${at}`, name: 'find', args: {} }
  await put({ question, messages: add(new AIMessage({ content: 'looking', id: `a${at}`, tool_calls: [call] })) })
  await put({ messages: add(new ToolMessage({ content: 'result', id: `t${at}`, tool_call_id: call.id })) })
  await put({
    messages: add(new AIMessage({ content: 'done', id: `b${at}` })),
    ...(atEnd && { question: `again: ${question}` }),
  })
  return messages
}
const turnOf = (question: string): readonly string[] => [`human ${question}`, 'ai looking', 'tool result', 'ai done']

it.each([false, true])(
  'the state has every message that was not erased, and the thread goes on (question in the last step: %j)',
  async (atEnd) => {
    for (const erased of [0, 1, 2]) {
      const store = memoryStore()
      const writer = threadOn(store)
      let messages: readonly BaseMessage[] = []
      for (const at of [0, 1, 2]) messages = await turn(writer, messages, `I am Grace Hopper, number ${at}`, atEnd)
      const before = shown((await stateOn(store))['messages'])
      expect(before).toEqual([0, 1, 2].flatMap((at) => turnOf(`I am Grace Hopper, number ${at}`)))
      await eraseMessages(store, writer.saver.idOf('t'), [erased * 4])
      const after = before.map((text, at) => (at === erased * 4 ? 'human [erased]' : text))
      expect(shown((await stateOn(store))['messages'])).toEqual(after)
      expect(JSON.stringify(await stateOn(store))).not.toContain(`Hopper, number ${erased}`)
      const there = (await stateOn(store))['messages'] as readonly BaseMessage[]
      await turn(writer, there, 'and what is next?')
      const longer = [...after, ...turnOf('and what is next?')]
      expect(shown((await stateOn(store))['messages'])).toEqual(longer)
      await new IndelibleSaver(store).prune('t')
      expect(shown((await stateOn(store))['messages'])).toEqual(longer)
      expect((await new IndelibleSaver(store).record('t')).conversation()).toHaveLength(longer.length)
      expect((await verifySession(store, writer.saver.idOf('t'))).erased).toContain(erased * 4)
    }
  },
)

it('a branch from a checkpoint of before has its own messages after an erasure', async () => {
  const store = memoryStore()
  const writer = threadOn(store)
  const first = await turn(writer, [], 'I am Grace Hopper')
  const there = await writer.put({})
  await turn(writer, first, 'and another question')
  writer.continueAt(there, first)
  await writer.put({ messages: [...first, new HumanMessage({ content: 'a branch', id: 'x' })] })
  await eraseMessages(store, writer.saver.idOf('t'), [0])
  expect(shown((await stateOn(store))['messages'])).toEqual([...turnOf('[erased]'), 'human a branch'])
})

it('a checkpoint that changed no message has those of the erased one before it', async () => {
  const store = memoryStore()
  const writer = threadOn(store)
  await turn(writer, [], 'I am Grace Hopper')
  await writer.put({ question: 'I am Grace Hopper, again' })
  await writer.put({ question: 'another' })
  await eraseMessages(store, writer.saver.idOf('t'), [0])
  expect(shown((await stateOn(store))['messages'])).toEqual(turnOf('[erased]'))
})

it('of other state, an erasure takes what was set in the step that quotes the text, and lists that began there', async () => {
  const store = memoryStore()
  const writer = threadOn(store)
  const messages = [new HumanMessage({ content: 'I am Grace Hopper', id: 'h' })]
  await writer.put({
    messages,
    documents: ['of Grace', 'I am Grace Hopper'],
    steps: ['one'],
    question: 'I am Grace Hopper',
  })
  await writer.put({ documents: ['of Grace', 'I am Grace Hopper', 'third'], answer: 'none' })
  await writer.put({ answer: 'an answer' })
  await eraseMessages(store, writer.saver.idOf('t'), [0])
  const { messages: there, ...others } = await stateOn(store)
  expect(shown(there)).toEqual(['human [erased]'])
  expect(others).toEqual({ answer: 'an answer' })
  await writer.put({ question: 'another', documents: ['new'] })
  expect(await stateOn(store)).toMatchObject({ question: 'another', documents: ['new'], answer: 'an answer' })
  expect(shown((await stateOn(store))['messages'])).toEqual(['human [erased]'])
})
