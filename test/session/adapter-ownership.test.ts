/** Whose session is whose, under several adapters on one store. */
import * as fc from 'fast-check'
import { createHash } from 'node:crypto'
import { createSession, memoryStore, openSession, user } from 'indelible'
import { chatStore } from '@indelible/ai-sdk'
import { claudeSessionStore } from '@indelible/claude-agent'
import { IndelibleSaver } from '@indelible/langgraph'
import { agentsSession } from '@indelible/openai-agents'
import { listSessions } from 'indelible/session'
import { expect, it } from 'vitest'
import { rounds } from '../rounds.ts'
import { anyCharacters } from '../any-characters.ts'

type Adapter = 'ai-sdk' | 'openai-agents' | 'langgraph' | 'claude-agent'

/** The id of the log that an adapter writes for a user's id; undefined if it refuses. */
const idUnder = async (
  store: ReturnType<typeof memoryStore>,
  adapter: Adapter,
  id: string,
): Promise<string | undefined> => {
  // oxfmt-ignore
  try {
    switch (adapter) {
      case 'ai-sdk':
        await chatStore(store).saveChat({ chatId: id, messages: [] })
        return (await chatStore(store).openChat(id)).id
      case 'openai-agents':
        return (await agentsSession(store, { sessionId: id }).record()).id
      case 'langgraph':
        return (await new IndelibleSaver(store).record(id)).id
      case 'claude-agent': {
        const sessions = claudeSessionStore(store)
        const key = { projectKey: 'p', sessionId: id }
        await sessions.append(key, [{ type: 'user', uuid: 'u' }])
        await openSession(store, sessions.idOf(key))
        return sessions.idOf(key)
      }
    }
  } catch {
    return undefined
  }
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')
const long = 'x'.repeat(300)
const ids = fc.oneof(
  anyCharacters(),
  fc.constantFrom('bob', 'langgraph/bob', 'claude-agent/p/bob', 'p/bob', '\ud800', '\ufffd', '#d800', '%23d800', long),
  fc.constantFrom(digest(`langgraph/${long}`), `langgraph/${digest(`langgraph/${long}`)}`, `#${digest(`langgraph/${long}`)}`), // oxfmt-ignore
)

it('two different pairs of adapter and user id never share a session', async () => {
  const pair = fc.tuple(fc.constantFrom<Adapter>('ai-sdk', 'openai-agents', 'langgraph', 'claude-agent'), ids)
  await fc.assert(
    fc.asyncProperty(fc.uniqueArray(pair, { minLength: 2, maxLength: 6, selector: String }), async (pairs) => {
      const store = memoryStore()
      const opened: string[] = []
      for (const [adapter, id] of pairs) {
        const session = await idUnder(store, adapter, id)
        if (session !== undefined) opened.push(session)
      }
      expect(new Set(opened).size).toBe(opened.length)
    }),
    { numRuns: rounds(40, 100) },
  )
})

it("chats, threads and sessions are not accessible by each other's ids", async () => {
  const store = memoryStore()
  const saver = new IndelibleSaver(store)
  const thread = await saver.record('bob')
  await thread.append(user('mine'))
  await createSession(store, { id: 'plain', messages: [user('mine')] })
  for (const id of [saver.idOf('bob'), 'plain']) {
    await expect(chatStore(store).loadChat(id)).rejects.toThrow('made for something else')
    await expect(chatStore(store).saveChat({ chatId: id, messages: [] })).rejects.toThrow('made for something else')
    await expect(agentsSession(store, { sessionId: id }).getItems()).rejects.toThrow('made for something else')
  }
  expect((await openSession(store, saver.idOf('bob'))).len).toBe(1)
  await chatStore(store).createChat({ id: saver.idOf('ann') })
  await expect(saver.deleteThread('ann')).rejects.toThrow('made for something else')
  await expect(saver.record('ann')).rejects.toThrow('made for something else')
  expect((await listSessions(store)).sessions).toHaveLength(3)
})

it('a chat keeps its mark, whatever metadata it is created with', async () => {
  const store = memoryStore()
  await chatStore(store).createChat({ id: 'c', metadata: { 'ai-sdk': 'other', title: 't' } })
  expect((await chatStore(store).openChat('c')).metadata()).toEqual({ title: 't', 'ai-sdk': 'chat' })
})
