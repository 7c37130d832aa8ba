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

it('of a session are redacted once when they are recorded, digested once when they are read, and once when they are asked', async () => {
  const store = memoryStore()
  const recording = recordingFetch({ store, fetch: provider(), redact })
  await play(recording)
  await recording.close()
  expect(bytes.redacted).toBeGreaterThan(once / 2)
  expect(bytes.redacted).toBeLessThan(5 * once)
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

/** A session of this many answers, and a function that asks for the answer after the first messages, as new objects. */
const modelOf = async (answers: number) => {
  const session = await createSession(memoryStore())
  for (let call = 0; call < answers; call++)
    for (const [role, kind] of [
      ['user', 'question'],
      ['assistant', 'answer'],
    ] as const)
      await session.append({ role, content: [{ type: 'text', text: textOf(kind, call) }] })
  const messages: readonly Message[] = [...session.view()] as readonly Message[]
  const model = replayingModel(session)
  const ask = async (request: readonly Message[]): Promise<unknown> => {
    const signal = new AbortController().signal
    for await (const event of model.stream({ messages: structuredClone(request) } as never, signal))
      if (event.type === 'finish') return event.message.content
    return undefined
  }
  return { messages, model, ask }
}

it('of a model are digested once, also if each request has new objects', async () => {
  const { messages, model, ask } = await modelOf(calls)
  for (let call = 0; call < calls; call++)
    expect(await ask(messages.slice(0, 2 * call + 1))).toEqual(messages[2 * call + 1]?.content)
  model.close()
  expect(bytes.digested).toBeGreaterThan(once / 2)
  expect(bytes.digested).toBeLessThan(5 * once)
})

it('of several agents in turns are digested once for each', async () => {
  const [agents, turns] = [8, 60]
  const { messages, ask } = await modelOf(turns)
  Object.assign(bytes, { digested: 0 })
  const own = (agent: number): Message => ({ role: 'user', content: [{ type: 'text', text: `agent ${agent}` }] })
  for (let call = 0; call < turns; call++)
    for (let agent = 0; agent < agents; agent++)
      await expect(ask([own(agent), ...messages.slice(0, 2 * call + 1)])).rejects.toThrow('not in the record')
  expect(bytes.digested).toBeLessThan((5 * agents * once * turns) / calls)
})

it.each([
  ['the first', 0],
  ['one in the middle', 40],
  ['the last but one', 79],
])('with another message in place of %s has no answer, and the next with the recorded ones has it', async (_, at) => {
  const { messages, ask } = await modelOf(50)
  await ask(messages.slice(0, 81))
  const other: Message = { role: messages[at]?.role ?? 'user', content: [{ type: 'text', text: 'another' }] }
  await expect(ask(messages.slice(0, 83).with(at, other))).rejects.toThrow(`message ${at + 1} of 83`)
  expect(await ask(messages.slice(0, 85))).toEqual(messages[85]?.content)
  // Another part in the last message.
  const more: Message = { role: 'user', content: [...(messages[84]?.content ?? []), ...other.content] as never }
  await expect(ask([...messages.slice(0, 84), more])).rejects.toThrow('not in the record')
  expect(await ask(messages.slice(0, 83))).toEqual(messages[83]?.content)
})
