/** A run with a model that answers from a session. */
import { expect, it } from 'vitest'
import { createSession, memoryStore, orThrow, settle, type Message, type Session } from 'indelible'
import { run, scriptedModel, sessionHandler, tool, type Model } from 'indelible/run'
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
