/** What reads and writes the formats of others, on one small input of each: importers, codecs, the recorder, adapters. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { memoryStore, orThrow, settle, type Message } from 'indelible'
import { readTranscript } from '@indelible/transcripts'
import { chatStore } from '@indelible/ai-sdk'
import { claudeSessionStore } from '@indelible/claude-agent'
import { IndelibleSaver } from '@indelible/langgraph'
import { agentsSession } from '@indelible/openai-agents'
import { allCodecs } from '@indelible/codecs'
import { createRecorder } from '@indelible/recorder'
import { checkThread, decodeThread, encodeThread } from 'indelible/thread'
import { readTranscripts } from '@indelible/transcripts'
import { anthropicEvents, chatEvents } from '../run/wire.ts'
import { fileOf } from '../../packages/transcripts/test/leaves.ts'
import { samples, wires } from '../../packages/transcripts/test/samples.ts'
import type { Codec } from '../../src/codecs/codec.ts'

const files = Object.values(samples).map(({ input, layout }) => fileOf(input, layout))
const formats = Object.values(allCodecs) as readonly Codec<unknown>[]

/** The names of all fields in the samples. */
export const fieldNames: readonly string[] = (() => {
  const names = new Set<string>()
  const gather = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [name, held] of Object.entries(value)) {
      if (!Array.isArray(value)) names.add(name)
      gather(held)
    }
  }
  for (const { input } of Object.values(samples)) gather(input)
  gather(wires)
  // The test defines properties itself, and `then` makes every object a promise.
  for (const own of ['get', 'set', 'value', 'writable', 'then']) names.delete(own)
  return [...names].filter((name) => !(name in Object.prototype))
})()

const clock = (): number => 1_780_000_000_000

/** Each operation by itself. */
export const foreign: readonly (() => unknown)[] = [
  ...files.map((file) => () => {
    const opened = readTranscripts(file)
    if (isLeft(opened)) return [opened, readTranscript(file)]
    return Array.from({ length: opened.right.count }, (_, pick) => opened.right.at(pick))
  }),
  ...formats.flatMap(({ format, decode }) =>
    (wires[format] ?? []).map((wire) => () => {
      const decoded = decode(wire)
      if (isLeft(decoded)) return decoded
      const settled = settle(decoded.right.messages as readonly Message[])
      return [decoded, isLeft(settled) ? settled : formats.map(({ encode }) => encode(settled.right))]
    }),
  ),
  () => {
    const items = wires['openai-agents']?.[0] as readonly unknown[]
    const decoded = decodeThread(items)
    return [checkThread(items), decoded, isLeft(decoded) ? undefined : encodeThread(decoded.right)]
  },
  async () => {
    const store = memoryStore({ now: clock })
    const notices: string[] = []
    const recorder = createRecorder({ store, now: clock, onNotice: ({ reason }) => notices.push(reason) })
    const calls: readonly (readonly [path: string, request: unknown, answer: readonly string[]])[] = [
      ['/v1/chat/completions', wires['openai-chat']?.[0], chatEvents(answer)],
      ['/v1/messages', wires['anthropic']?.[0], anthropicEvents(answer)],
    ]
    for (const [path, messages, events] of calls) {
      const observed = recorder.observe({ method: 'POST', url: `http://x${path}`, header: () => undefined })
      observed?.sent(JSON.stringify({ model: 'm', max_tokens: 9, messages }))
      observed?.answered(200, (name) => (name === 'content-type' ? 'text/event-stream' : undefined))
      observed?.chunk(new TextEncoder().encode(events.map((event) => `data: ${event}\n\n`).join('')))
      observed?.end()
      await recorder.settled()
    }
    const { logs } = await store.list()
    const recorded = logs.filter(({ id }) => id.startsWith('recorded-')) // the rest is an index under random names
    return [notices, await Promise.all(recorded.map(({ id }) => store.read(id)))]
  },
  async () => {
    const store = memoryStore({ now: clock })
    const chats = chatStore(store)
    await chats.saveChat({ chatId: 'c', messages: wires['ai-sdk-ui']?.[0] as never })
    const sessions = claudeSessionStore(store)
    const key = { projectKey: 'p', sessionId: 's' }
    await sessions.append(key, [{ type: 'user', uuid: 'u', message: { role: 'user', content: 'hi' } }])
    const agents = agentsSession(store, { sessionId: 'a' })
    await agents.addItems(wires['openai-agents']?.[0] as never)
    const saver = new IndelibleSaver(store)
    const checkpoint = {
      ...{ v: 4, id: '1ef4f797-8335-6428-8001-8a1503f9b875', ts: '2026-01-01T00:00:00Z' },
      ...{ channel_values: { topic: 'cats' }, channel_versions: { topic: 1 }, versions_seen: {} },
    }
    const config = { configurable: { thread_id: 't', checkpoint_ns: '' } }
    await saver.put(config, checkpoint, { source: 'loop', step: 1, parents: {} })
    return [
      await chats.loadChat('c'),
      await sessions.load(key),
      await agents.getItems(),
      (await saver.getTuple(config))?.checkpoint,
      orThrow(await store.list()()).logs.length,
    ]
  },
]
const answer = { text: 'a cat', calls: [{ id: 'c9', name: 'look', args: '{"at":1}' }] }
