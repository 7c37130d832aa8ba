/**
 * Calls that grow, as those of an agent do: a replay digests and redacts each message once, however many calls repeat it. The
 * tests count bytes, so that they don't depend on the machine.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, it, vi } from 'vitest'
import { createSession, listSessions, memoryStore, type Message } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { replayingFetch } from '../../src/replay/fetch.ts'
import { Matching } from '../../src/replay/matching.ts'
import { replayingModel } from '../../src/replay/model.ts'

const bytes = { digested: 0, redacted: 0 }
// Each message is made comparable directly before it is digested.
const { comparable } = Matching.prototype
const spy = vi.spyOn(Matching.prototype, 'comparable').mockImplementation(function (this: Matching, message, folder) {
  bytes.digested += JSON.stringify(message).length
  return comparable.call(this, message, folder)
})

const folder = mkdtempSync(join(tmpdir(), 'indelible-growing-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  spy.mockRestore()
  vi.unstubAllEnvs()
})
beforeEach(() => {
  vi.stubEnv('CI', '')
  Object.assign(bytes, { digested: 0, redacted: 0 })
})
const redact = (message: Message): Message => {
  bytes.redacted += JSON.stringify(message).length
  return message
}

const calls = 150
const url = 'https://api.openai.com/v1/chat/completions'
const textOf = (kind: string, index: number): string => `${kind} ${index} ${'and some more words '.repeat(10)}`
const tools = [{ type: 'function', function: { name: 'look', description: 'a tool '.repeat(50), parameters: {} } }]
/** The body of a call, which repeats all earlier ones. */
const bodyOf = (call: number): string => {
  const turns = Array.from({ length: call }, (_, index) => [
    { role: 'user', content: textOf('question', index) },
    { role: 'assistant', content: textOf('answer', index) },
  ])
  const messages = [{ role: 'system', content: 'You are brief.' }, ...turns.flat()]
  return JSON.stringify({
    model: 'm',
    tools,
    messages: [...messages, { role: 'user', content: textOf('question', call) }],
  })
}
const bodies = Array.from({ length: calls }, (_, call) => bodyOf(call))
/** All messages, each once. */
const once = (bodies.at(-1) as string).length
const provider = (): typeof globalThis.fetch => {
  let call = 0
  return async () => {
    const message = { role: 'assistant', content: textOf('answer', call) }
    return Response.json({ id: `c${call++}`, choices: [{ index: 0, message, finish_reason: 'stop' }] })
  }
}
const play = async (fetch: typeof globalThis.fetch): Promise<void> => {
  for (const [call, body] of bodies.entries()) {
    const response = await fetch(url, { method: 'POST', body })
    const answer = (await response.json()) as { readonly choices: readonly { readonly message: { content: string } }[] }
    expect(answer.choices[0]?.message.content).toBe(textOf('answer', call))
  }
}

it('of a session are digested once when they are read, and once when they are asked', async () => {
  const store = memoryStore()
  const recording = recordingFetch({ store, fetch: provider(), redact })
  await play(recording)
  await recording.close()
  Object.assign(bytes, { digested: 0, redacted: 0 })
  const sessions = (await listSessions(store)).sessions.map(({ id }) => id)
  const replay = replayingFetch({ store, sessions, redact })
  await play(replay)
  await replay.close()
  expect(bytes.digested).toBeGreaterThan(once)
  expect(bytes.digested).toBeLessThan(5 * once)
  expect(bytes.redacted).toBeLessThan(2 * once)
})

it('of a file are digested and redacted once when they are recorded, read and asked', async () => {
  const file = join(folder, 'growing.json')
  const recording = replayingFetch({ file, redact, onMiss: 'record', fetch: provider() })
  await play(recording)
  await recording.close()
  expect(bytes.digested).toBeLessThan(5 * once)
  expect(bytes.redacted).toBeLessThan(5 * once)
  Object.assign(bytes, { digested: 0, redacted: 0 })
  const replay = replayingFetch({ file, redact })
  await play(replay)
  await replay.close()
  expect(bytes.digested).toBeGreaterThan(once)
  expect(bytes.digested).toBeLessThan(5 * once)
  expect(bytes.redacted).toBeLessThan(2 * once)
})

it('of a model are digested once, also if each request has new objects', async () => {
  const session = await createSession(memoryStore())
  for (let call = 0; call < calls; call++)
    for (const [role, kind] of [
      ['user', 'question'],
      ['assistant', 'answer'],
    ] as const)
      await session.append({ role, content: [{ type: 'text', text: textOf(kind, call) }] })
  const messages = [...session.view()]
  const model = replayingModel(session)
  for (let call = 0; call < calls; call++) {
    const request = { messages: structuredClone(messages.slice(0, 2 * call + 1)) }
    for await (const event of model.stream(request as never, new AbortController().signal))
      if (event.type === 'finish') expect(event.message.content).toEqual(messages[2 * call + 1]?.content)
  }
  model.close()
  expect(bytes.digested).toBeGreaterThan(once / 2)
  expect(bytes.digested).toBeLessThan(5 * once)
})
