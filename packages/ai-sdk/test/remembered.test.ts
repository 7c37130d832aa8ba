/** A save that only adds messages continues from what the last save left, also if another writer was there in between. */
import * as fc from 'fast-check'
import { expect, it, vi } from 'vitest'
import type { UIMessage } from 'ai'
import { memoryStore, type Store } from 'indelible'
import { chatStore } from '@indelible/ai-sdk'
import { rounds } from '../../../test/rounds.ts'

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const message = (id: number, role: 'user' | 'assistant', text: string): UIMessage => ({
  id: `m${id}`,
  role,
  parts: role === 'user' ? [{ type: 'text', text }] : [{ type: 'step-start' }, { type: 'text', text, state: 'done' }],
})

it('two handles that save a chat by turns, with or without what they loaded, store what one that reads it all stores', async () => {
  const deed = fc.record({
    who: fc.nat(1),
    roles: fc.array(fc.constantFrom('user' as const, 'assistant' as const), { maxLength: 3 }),
    loads: fc.boolean(),
    /** Changes the last message, or leaves it out. */
    changes: fc.constantFrom('nothing', 'nothing', 'nothing', 'text', 'cut'),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 12 }), async (deeds) => {
      const store = memoryStore()
      const handles = [chatStore(store), chatStore(store)]
      let next = 0
      let chat: UIMessage[] = []
      for (const { who, roles, loads, changes } of deeds) {
        const { saveChat, loadChat } = handles[who] as (typeof handles)[number]
        const loaded = next === 0 ? undefined : await loadChat('c')
        chat = chat.concat(roles.map((role) => message(next++, role, `text ${next}`)))
        if (changes === 'cut') chat = chat.slice(0, -1)
        if (changes === 'text' && chat.length > 0)
          chat = [
            ...chat.slice(0, -1),
            { ...(chat.at(-1) as UIMessage), parts: [{ type: 'text', text: `new ${next}` }] },
          ]
        const isSafe = changes === 'nothing' // a save that replaces messages is not compared
        await saveChat({ chatId: 'c', messages: chat, ...(loads && isSafe && loaded !== undefined && { loaded }) })
        if (next > 0 || chat.length > 0) expect(asJson(await loadChat('c'))).toEqual(asJson(chat))
      }
    }),
    { numRuns: rounds(100, 3000) },
  )
})

it('a save that only adds messages reads no row and appends once', async () => {
  const inner = memoryStore()
  const counts = { read: 0, append: 0 }
  const store: Store = {
    ...inner,
    read: (...given) => ((counts.read += 1), inner.read(...given)),
    append: (...given) => ((counts.append += 1), inner.append(...given)),
  }
  const { saveChat, loadChat } = chatStore(store)
  const chat = Array.from({ length: 40 }, (_, index) =>
    message(index, index % 2 === 0 ? 'user' : 'assistant', `${index}`),
  )
  await saveChat({ chatId: 'c', messages: chat.slice(0, 20) })
  counts.read = 0
  counts.append = 0
  for (let length = 21; length <= 40; length++) await saveChat({ chatId: 'c', messages: chat.slice(0, length) })
  expect(counts).toEqual({ read: 0, append: 20 })
  expect(asJson(await loadChat('c'))).toEqual(asJson(chat))
  // An earlier message that changes is seen, whatever was remembered.
  const changed = [message(0, 'user', 'changed'), ...chat.slice(1)]
  await saveChat({ chatId: 'c', messages: changed })
  expect(asJson(await loadChat('c'))).toEqual(asJson(changed))
})

it('a save that adds two messages with one id names their places in the chat, and stores nothing', async () => {
  const { saveChat, loadChat } = chatStore(memoryStore())
  const chat = [message(0, 'user', 'a'), message(1, 'assistant', 'b')]
  await saveChat({ chatId: 'c', messages: chat })
  const more = [...chat, message(2, 'user', 'c'), message(2, 'assistant', 'd')]
  await expect(saveChat({ chatId: 'c', messages: more })).rejects.toThrow('messages[3] has the id "m2" of messages[2]')
  expect(asJson(await loadChat('c'))).toEqual(asJson(chat))
})

it('of a chat that only grows, a save decodes and copies the new messages alone', async () => {
  const { saveChat } = chatStore(memoryStore())
  const chat = Array.from({ length: 60 }, (_, index) =>
    message(index, index % 2 === 0 ? 'user' : 'assistant', `${index}`),
  )
  await saveChat({ chatId: 'c', messages: chat.slice(0, 50) })
  const [copies, checks] = [vi.spyOn(globalThis, 'structuredClone'), vi.spyOn(Reflect, 'ownKeys')]
  try {
    const counted: (readonly number[])[] = []
    for (let length = 52; length <= 60; length += 2) {
      for (const calls of [copies, checks]) calls.mockClear()
      await saveChat({ chatId: 'c', messages: chat.slice(0, length) })
      counted.push([copies.mock.calls.length, checks.mock.calls.filter(([of]) => of === Object.prototype).length])
    }
    expect(new Set(counted.map(String)).size).toBe(1)
    expect(counted[0]?.[0]).toBe(2)
  } finally {
    copies.mockRestore()
    checks.mockRestore()
  }
})
