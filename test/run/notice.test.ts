/** What the library says in a conversation: in every format, a request that is taken, and never as the user. */
import { describe, expect, it } from 'vitest'
import {
  anthropic,
  classify,
  createSession,
  memoryStore,
  openaiChat,
  openaiResponses,
  orThrow,
  settle,
  user,
  type Session,
} from 'indelible'
import { aiModelMessages, aiUiMessages } from '@indelible/codecs/ai-sdk'
import { refusal } from '../codecs/judges/anthropic.ts'
import { judgeChat, judgeResponses } from '../codecs/judges/openai.ts'
import { pending } from '../../src/session/index.ts'

const startSession = async (): Promise<Session> => createSession(memoryStore(), { messages: [user('go')] })

const cut = async (): Promise<Session> => {
  const session = await startSession()
  await session.note({ type: 'journal', step: 'r:0', said: [{ index: 0, text: 'I was ' }] })
  await session.note({ type: 'journal', step: 'r:0', said: [{ index: 0, text: 'going to' }] })
  return session
}

describe.each([['an answer that was cut', cut, 2]] as const)('%s', (_, make, count) => {
  it('is a developer message of the kind conversation, and valid in every format', async () => {
    const session = await make()
    await session.append(pending(session).messages)
    const said = session.conversation()
    const notice = said.at(-1)
    expect([said.length, notice?.role, classify(notice), session.at().pages.at(-1)]).toEqual([
      1 + count,
      'developer',
      'conversation',
      'conversation',
    ])
    const settled = orThrow(settle(said))
    expect(judgeChat({ model: 'm', messages: orThrow(openaiChat.encode(settled)).wire })).toBeUndefined()
    expect(judgeResponses({ model: 'm', input: orThrow(openaiResponses.encode(settled)).wire })).toBeUndefined()
    expect(refusal({ model: 'm', max_tokens: 99, ...orThrow(anthropic.encode(settled)).wire })).toBeUndefined()
    for (const codec of [aiModelMessages, aiUiMessages]) {
      const wire = orThrow<unknown, { readonly wire: readonly { readonly role: string }[] }>(codec.encode(settled))
      expect(wire.wire.at(-1)?.role).toBe('system')
    }
    expect([pending(session).messages, pending(session).steps]).toEqual([[], []])
  })
})
