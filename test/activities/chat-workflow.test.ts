/** What a chat is told twice, what another chat under its id was told, and what it hands on at its size. */
import { expect, it } from 'vitest'
import { memoryStore, textOf, user, type Message, type Store } from 'indelible'
import {
  createChat,
  historyActivities,
  type ChatEnd,
  type ChatOptions,
  type ChatSignal,
  type ChatState,
} from 'indelible/activities'
import { hydrate, parseHistoryJson } from 'indelible/refs'
import { scriptedModel, type Model } from 'indelible/run'
import { ok } from '../answers.ts'
import { registryOf, wanted } from './engine.ts'

const echo: Model = {
  name: 'm',
  stream: (request, signal) =>
    scriptedModel([{ role: 'assistant', content: [{ type: 'text', text: `re: ${textOf(request.messages.at(-1) as Message)}` }] }]).stream(request, signal), // oxfmt-ignore
}

/** A chat that is told these signals, one whenever it waits, until it ends or continues. */
const talk = async (
  store: Store,
  options: Omit<ChatOptions, 'model'>,
  signals: readonly ChatSignal[],
): Promise<{ readonly end: ChatEnd; readonly said: readonly string[]; readonly left: readonly ChatSignal[] }> => {
  const activities = historyActivities({ store, registry: registryOf(echo) })
  const chat = createChat({ ...options, model: wanted })
  const waiting = [...signals]
  const end = await chat.run({
    activities,
    wait: async () => {
      const next = waiting.shift()
      if (next === undefined) throw new Error('it waits for more')
      chat.signal(next)
    },
  })
  const { history } = end.state
  const messages = (await ok(hydrate(store, chat.history))).view().toArray()
  expect(JSON.stringify(end.state).length).toBeLessThan(10_000)
  expect(parseHistoryJson(JSON.parse(JSON.stringify(history)))).toMatchObject({ _tag: 'Right' })
  return { end, said: messages.map((message) => `${message.role}: ${textOf(message)}`), left: waiting }
}

const message = async (store: Store, text: string, id?: string): Promise<ChatSignal> => {
  const activities = historyActivities({ store, registry: registryOf(echo) })
  const { ref } = await activities.appendMessage({ action: `said ${text}`, message: user(text) })
  return { type: 'message', ref, ...(id !== undefined && { id }) }
}

it('a signal that is delivered twice counts once, also after the chat continued as new', async () => {
  const store = memoryStore()
  const [hello, more] = [await message(store, 'hello', 'a'), await message(store, 'more', 'b')]
  const first = await talk(store, { id: 'w', continueAt: { calls: 1 } }, [hello, hello])
  expect(first.end.type).toBe('continue')
  const { state } = first.end
  const next = await talk(store, { id: 'w', state }, [hello, more, { type: 'stop', id: 's' }, more, { type: 'end' }])
  expect(next.said).toEqual(['user: hello', 'assistant: re: hello', 'user: more', 'assistant: re: more'])
})

it('an id that is used again after its chat ended is another chat, if it says its run', async () => {
  const store = memoryStore()
  const answers: (readonly string[])[] = []
  for (const run of ['run 1', 'run 2'])
    answers.push((await talk(store, { id: 'w', run }, [await message(store, `asked in ${run}`), { type: 'end' }])).said)
  expect(answers).toEqual(['run 1', 'run 2'].map((run) => [`user: asked in ${run}`, `assistant: re: asked in ${run}`]))
})

it('a chat continues as new at its size while messages wait, and loses none of them', async () => {
  const store = memoryStore()
  const [one, two, three] = [await message(store, 'one'), await message(store, 'two'), await message(store, 'three')]
  const coming = [two, three]
  const activities = historyActivities({ store, registry: registryOf(echo) })
  const ends: string[] = []
  let state: ChatState | undefined
  for (;;) {
    const chat = createChat({ id: 'w', model: wanted, continueAt: { calls: 1 }, ...(state !== undefined && { state }) })
    if (state === undefined) for (const signal of [one, { type: 'end' } as const]) chat.signal(signal)
    const end = await chat.run({
      activities: {
        ...activities,
        stream: async (input) => {
          for (const signal of coming.splice(0, 1)) chat.signal(signal) // while a step runs
          return activities.stream(input)
        },
      },
      wait: () => Promise.reject(new Error('it waits for more')),
    })
    ends.push(end.type)
    state = JSON.parse(JSON.stringify(end.state)) as ChatState
    if (end.type === 'continue') continue
    const said = (await ok(hydrate(store, chat.history))).view().toArray().map(textOf)
    expect(said).toEqual(['one', 're: one', 'two', 're: two', 'three', 're: three'])
    break
  }
  expect(ends).toEqual(['continue', 'continue', 'ended'])
})
