/** A framework that rewrites its conversation appends messages again. They keep the page kinds and pins that they had. */
import { expect, it } from 'vitest'
import { memoryStore, openSession, user, type Session } from 'indelible'
import { agentsSession } from '@indelible/openai-agents'
import { chatStore } from '@indelible/ai-sdk'
import { adapterSession } from '../../src/session/internal.ts'

const uiMessage = (id: string, role: 'user' | 'assistant', text: string) => ({
  id,
  role,
  parts: [{ type: 'text' as const, text }],
})

const kindsByText = (session: Session): readonly string[] => {
  const { pages } = session.at()
  const conversation = session.conversation()
  return [...conversation].map(({ content }, index) => {
    const [part] = content
    return `${part?.type === 'text' ? part.text : ''}: ${pages[conversation.positionAt(index) as number]}`
  })
}

it('a chat of the AI SDK whose earlier message was edited', async () => {
  const store = memoryStore()
  const chats = chatStore(store)
  const chatId = await chats.createChat({})
  const [a, b, c] = [uiMessage('a', 'user', 'a'), uiMessage('b', 'assistant', 'b'), uiMessage('c', 'user', 'c')]
  await chats.saveChat({ chatId, messages: [a, b, c] })
  const session = await chats.openChat(chatId)
  await session.note({ type: 'page', position: 1, kind: 'plan' })
  await session.note({ type: 'pin', position: 2 })
  await chats.saveChat({ chatId, messages: [uiMessage('a', 'user', 'A'), b, c] })
  const again = await chats.openChat(chatId)
  expect(kindsByText(again)).toEqual(['A: conversation', 'b: plan', 'c: constraint'])
  await again.note({ type: 'unpin', position: 5 })
  expect(kindsByText(again)).toEqual(['A: conversation', 'b: plan', 'c: conversation'])
})

it('a session of the OpenAI Agents SDK that was compacted', async () => {
  const store = memoryStore()
  const session = agentsSession(store, { sessionId: 's' })
  const item = (text: string) => ({ type: 'message' as const, role: 'user' as const, content: text })
  await session.addItems([item('old'), item('rule'), item('last')])
  await (await openSession(store, 's')).note({ type: 'pin', position: 1 })
  await session.replaceHistoryWithCompaction([item('in short'), item('rule'), item('last')])
  expect(kindsByText(await openSession(store, 's'))).toEqual([
    'in short: conversation',
    'rule: constraint',
    'last: conversation',
  ])
})

it('messages that are equal keep their own kinds, in order', async () => {
  const store = memoryStore()
  const adapter = adapterSession(store, 's', { mine: true })
  await adapter.change(() => ({
    messages: [user('x'), user('same'), user('same')],
    pages: [undefined, 'plan', 'evidence'],
  }))
  const session = await adapter.change(({ len }) => ({
    messages: [user('y'), user('same'), user('same'), user('same')],
    notes: [{ type: 'retraction', from: 0, to: len }],
  }))
  expect([...session.conversation().pages]).toEqual(['conversation', 'plan', 'evidence', 'conversation'])
})
