/** A text of a message can be JSON that is nested deeper than the call stack: what a model or a web page says ends nothing. */
import { expect, it } from 'vitest'
import {
  assistant,
  createSession,
  memoryStore,
  openSession,
  orThrow,
  settle,
  toolCall,
  toolResult,
  user,
} from 'indelible'
import { deriveContext } from 'indelible/context'
import { anthropic } from 'indelible/codecs/anthropic'
import { gemini } from 'indelible/codecs/gemini'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { openaiResponses } from 'indelible/codecs/openai-responses'
import { eraseMessages, findMessages } from 'indelible/session'
import { nativePrograms, writeNative } from '@indelible/transcripts'
import { createRecorder } from '@indelible/recorder'

const levels = 60_000
const texts = ['['.repeat(levels) + ']'.repeat(levels), `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`]

it.each(texts)('a call whose texts are deep JSON is recorded, and can be found and erased: %#', async (text) => {
  const store = memoryStore()
  const recorder = createRecorder({ store, redact: true })
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: text } }
  const question = { role: 'user', content: 'a question of some length' }
  const asked = { role: 'assistant', content: null, tool_calls: [call] }
  const result = { role: 'tool', tool_call_id: 'c', content: text }
  for (const [messages, message] of [
    [[question], asked],
    [[question, asked, result], { role: 'assistant', content: 'It is deep.' }],
  ] as const) {
    const observed = recorder.observe({ method: 'POST', url: 'http://x/chat/completions', header: () => undefined })
    observed?.sent(JSON.stringify({ model: 'm', messages, metadata: { note: text } }))
    observed?.answered(200, (name) => (name === 'content-type' ? 'application/json' : undefined))
    observed?.chunk(new TextEncoder().encode(JSON.stringify({ choices: [{ finish_reason: 'stop', message }] })))
    observed?.end()
    await recorder.settled()
  }
  const { calls, lost, sessions } = recorder.summary()
  expect([calls, lost, sessions.length]).toEqual([2, 0, 1])
  const [id = ''] = sessions
  const session = await openSession(store, id)
  expect(session.view().at(1)?.content[0]).toMatchObject({ arguments: text })
  expect(await findMessages(store, id, { matching: /deep/ })).toEqual([3])
  await session.close()
  expect(await eraseMessages(store, id, { all: true })).toMatchObject({ messages: [0, 1, 2, 3] })
})

it('a session with deep JSON in its texts and notes is shown to a model, searched and erased', async () => {
  for (const text of texts) {
    const store = memoryStore()
    const messages = [user('a question'), assistant(toolCall('c', 'f', text)), toolResult('c', text), user('and now?')]
    const session = await createSession(store, { id: 's', messages })
    await session.note({ type: 'application', namespace: 'app', content: { text } })
    const settled = orThrow(settle(messages))
    const requests = [anthropic.encode(settled), gemini.encode(settled), openaiChat.encode(settled), openaiResponses.encode(settled)] // oxfmt-ignore
    for (const request of requests) expect(JSON.stringify(request)).toContain('and now?')
    for (const program of nativePrograms)
      expect(JSON.stringify(writeNative(messages, program, { id: '0b0d7f5e-1c3b-4b7e-9d6a-3f2f1c9a7e10', now: 0, cwd: '/a' }))).toContain('and now?') // oxfmt-ignore
    expect(deriveContext(session.view(), { budget: 300 })._tag).toBe('Right')
    expect(await findMessages(store, 's', { matching: /\[{9}|"a":{"a"/ })).toEqual([1, 2])
    const { messages: erased, rows } = await eraseMessages(session, [1, 2])
    expect([erased, rows.length]).toEqual([[1, 2], 3]) // with the note
  }
})
