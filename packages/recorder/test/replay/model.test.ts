/** A run with a model that answers from a session. */
import { expect, it } from 'vitest'
import { createSession, memoryStore, orThrow, readSession, settle, type Message, type Session } from 'indelible'
import { run, scriptedModel, sessionHandler, tool, type Model } from 'indelible/run'
import { eraseMessages } from 'indelible/session'
import { replayingModel } from '@indelible/recorder/replay'

const assistant = (...content: Message['content']): Message => ({ role: 'assistant', content })
const script = [
  assistant(
    { type: 'text', text: 'I look.' },
    { type: 'tool_call', id: 'c1', name: 'look', arguments: '{"at":"sky"}' },
  ),
  assistant({ type: 'text', text: 'It rains.' }),
]

const runWith = async (model: Model, question: string): Promise<Session> => {
  const session = await createSession(memoryStore(), { id: 'weather' })
  await session.append({ role: 'user', content: [{ type: 'text', text: question }] })
  const look = tool({ name: 'look', parameters: { type: 'object' }, run: () => 'clouds' })
  await run({
    model,
    view: orThrow(settle(session.view())),
    tools: [look],
    handlers: [sessionHandler(session)],
  }).result()
  return session
}

it('gives a run the answers of the session, and says at the end that all were asked for', async () => {
  const recorded = await runWith(scriptedModel(script), 'how is it?')
  const model = replayingModel(recorded)
  const again = await runWith(model, 'how is it?')
  const plain = (session: Session) => [...session.view()].map(({ role, content }) => ({ role, content }))
  expect(plain(again)).toEqual(plain(recorded))
  expect(plain(again)).toHaveLength(4)
  model.close()
})

it('throws at close if a question was another, with the line, and if nobody asked', async () => {
  const recorded = await runWith(scriptedModel(script), 'how is it?')
  const model = replayingModel(recorded)
  await runWith(model, 'how was it?').catch(() => {})
  expect(() => model.close()).toThrow(/recorded: how is it\?\n {2}sent: {5}how was it\?/)
  expect(() => replayingModel(recorded).close()).toThrow(/2 recorded calls were never asked for/)
})

it('takes only a session and what can be ignored', () => {
  expect(() => replayingModel({} as never)).toThrow(TypeError)
})

const text = (value: string): Message['content'] => [{ type: 'text', text: value }]
const talk: readonly Message[] = [
  { role: 'user', content: text('how is it?') },
  script[0] as Message,
  { role: 'tool', content: [{ type: 'tool_result', callId: 'c1', content: [{ type: 'text', text: 'clouds' }] }] },
  { role: 'assistant', content: text('It rains.') },
  { role: 'user', content: text('how is it?') },
  { role: 'assistant', content: text('It still rains.') },
]
const recordedTalk = async (store = memoryStore()): Promise<Session> => {
  const session = await createSession(store, { id: 'talk' })
  await session.append(talk)
  return session
}
/** What a model answers to messages, or the first line of its error. */
const answerTo = async (model: Model, messages: readonly Message[]): Promise<unknown> => {
  try {
    let last: unknown
    for await (const event of model.stream({ messages, tools: [] } as never, new AbortController().signal)) last = event
    return (last as { readonly message: Message }).message.content
  } catch (cause) {
    return (cause as Error).message.split('\n')[0]
  }
}
const reversed = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(reversed)
    : typeof value === 'object' && value !== null
      ? Object.fromEntries(
          Object.entries(value)
            .toReversed()
            .map(([key, one]) => [key, reversed(one)]),
        )
      : value

it.each<readonly [string, (message: Message) => Message]>([
  ['the same', (message) => message],
  ['clones', (message) => structuredClone(message)],
  ['JSON', (message) => JSON.parse(JSON.stringify(message)) as Message],
  ['with their fields in another order', (message) => reversed(message) as Message],
])('knows messages by their content: %s', async (_, copy) => {
  const model = replayingModel(await recordedTalk())
  for (const len of [1, 3, 5]) expect(await answerTo(model, talk.slice(0, len).map(copy))).toEqual(talk[len]?.content)
  model.close()
})

it('reads a message again that its caller has changed', async () => {
  const model = replayingModel(await recordedTalk())
  const messages = structuredClone(talk.slice(0, 1)) as { role: 'user'; content: { type: 'text'; text: string }[] }[]
  const [part] = messages[0]?.content ?? []
  if (part === undefined) throw new Error('no part')
  part.text = 'how was it?'
  expect(await answerTo(model, messages)).toBe('A call with 1 message is not in the record.')
  part.text = 'how is it?'
  expect(await answerTo(model, messages)).toEqual(talk[1]?.content)
  messages[0]?.content.push({ type: 'text', text: ' Say.' })
  expect(await answerTo(model, messages)).toBe('A call with 1 message is not in the record.')
})

it('says at close that an answer was erased, and not that a question was another', async () => {
  const store = memoryStore()
  await eraseMessages(await recordedTalk(store), [1], { reason: 'r' })
  const model = replayingModel(await readSession(store, 'talk'))
  expect(await answerTo(model, talk.slice(0, 1))).toBe(
    'answer 1 of session "talk" can\'t be replayed: its answer was erased.',
  )
  expect(() => model.close()).toThrow(
    expect.objectContaining({ fault: expect.objectContaining({ _tag: 'NotReplayable' }) }),
  )
})
