/** What stands in plain text in an encrypted store, whatever writes to it: nothing that a user said. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { UIMessageChunk } from 'ai'
import { assistant, createSession, file, forkSession, memoryStore, openSession, toolCall, toolResult, user, type Store } from 'indelible' // oxfmt-ignore
import { eventsInStore, historyActivities } from '@indelible/workflows/activities'
import { chatStore, chatStreams } from '@indelible/ai-sdk'
import { claudeSessionStore } from '@indelible/claude-agent'
import { IndelibleSaver } from '@indelible/langgraph'
import { agentsSession } from '@indelible/openai-agents'
import { destroyKey, keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { holdSession, newKey, signerOf, signLedger, updateLedger } from '@indelible/evidence'
import { openCallLog, recordCall } from '@indelible/records'
import { createRecorder } from '@indelible/recorder'
import { copySession, eraseMessages, exportSession } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { exportLines, readTranscript, importTranscript } from '@indelible/transcripts'
import { orThrow } from 'indelible'
import { afterAll, describe, expect, it } from 'vitest'
import { digestOf } from '../../../src/proof/internal.ts'
import { chainOf } from '../../recorder/src/messages/identity.ts'
import { ok } from '../../../test/task-results.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-every-log-'))
afterAll(() => rmSync(folder, { recursive: true }))

const secret = 'Xq7-the-secret-of-ada'
const chunks: readonly UIMessageChunk[] = [
  { type: 'start' },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: secret },
  { type: 'text-end', id: 't' },
  { type: 'finish' },
]
const streamOf = (): ReadableStream<UIMessageChunk> =>
  new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
const drained = async (stream: ReadableStream<UIMessageChunk>): Promise<void> => stream.pipeTo(new WritableStream())

const recorded = async (store: Store, text: string): Promise<void> => {
  const recorder = createRecorder({ store })
  const header = (name: string): string | undefined => (name === 'content-type' ? 'application/json' : undefined)
  const call = recorder.observe({ method: 'POST', url: 'https://api.openai.com/v1/chat/completions', header })
  if (call === undefined) throw new Error('it is a call to record')
  const sent = { model: 'gpt-4o', messages: [{ role: 'user', content: text }] }
  call.sent(Buffer.from(JSON.stringify(sent)))
  call.answered(200, header)
  const message = { role: 'assistant', content: `${text} answered` }
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  const answer = { id: 'c', model: 'gpt-4o', choices: [{ index: 0, finish_reason: 'stop', message }], usage }
  call.chunk(Buffer.from(JSON.stringify(answer)))
  call.end()
  await recorder.settled()
}

const features: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  'a session, its notes, metadata, files and forks': async (store) => {
    const [block] = await ok(store.putBlocks([new TextEncoder().encode(secret)]))
    const session = await ok(createSession(store, { id: 's', messages: [user(secret)], metadata: { title: secret } }))
    await ok(session.append(assistant(secret, toolCall('call', 'look', JSON.stringify({ at: secret })))))
    await ok(session.append(toolResult('call', `${secret} `.repeat(1000))))
    await ok(session.append(user(file({ type: 'block', id: block as never, mediaType: 'text/plain' }))))
    await ok(session.append({ messages: [], notes: [{ type: 'application', namespace: 'n', content: { secret } }] }))
    await ok(session.update((metadata) => void (metadata['more'] = secret)))
    await ok((await ok(forkSession(store, 's', { id: 'f', metadata: { secret } }))).append(user(secret)))
    await ok(eraseMessages(store, 'f', [0]))
  },
  'an import and a copy': async (store) => {
    const from = memoryStore()
    await ok(createSession(from, { id: 'plain', messages: [user(secret)], metadata: { secret } }))
    const text = [...exportLines(await exportSession(from, 'plain'))].join('')
    await ok(importTranscript(store, orThrow(readTranscript(text)), { id: 'imported' }))
    await ok(copySession(from, store, 'plain'))
    await ok((await ok(openSession(store, 'plain'))).append(user(secret)))
  },
  'a ledger with holds and checkpoints': async (store) => {
    await ok(createSession(store, { id: 's', messages: [user(secret)] }))
    await ok(holdSession(store, 's', { reason: 'court' }))
    await updateLedger(store)
    const signers = [orThrow(signerOf(newKey('example.com/log').skey))]
    await ok(signLedger(store, { origin: 'example.com/log', signers }))
  },
  'chats of the AI SDK and their streams, with a session of that id and without': async (store) => {
    const chats = chatStore(store)
    await chats.saveChat({
      chatId: 'c',
      messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: secret }] }],
    })
    for (const id of ['c', 'none yet']) await drained(await chatStreams(store).publish(id, streamOf()))
  },
  'sessions of the Agents SDK': async (store) => {
    await agentsSession(store, { sessionId: 'a' }).addItems([{ role: 'user', content: secret }])
  },
  'transcripts of the Claude Agent SDK': async (store) => {
    const sessions = claudeSessionStore(store, {
      fold: () => ({ sessionId: 's', mtime: 0, data: { secret } }) as never,
    })
    await sessions.append({ projectKey: 'p', sessionId: 's' }, [{ type: 'user', uuid: 'u', message: { content: secret } }]) // oxfmt-ignore
  },
  'threads of LangGraph': async (store) => {
    const saver = new IndelibleSaver(store)
    const checkpoint = { v: 4, id: '1ef4f797-8335-6428-8001-8a1503f9b875', ts: '2024-07-31T20:14:19.804150+00:00', channel_values: { messages: [{ role: 'user', content: secret }], other: secret }, channel_versions: { messages: 1, other: 1 }, versions_seen: {} } // oxfmt-ignore
    await saver.put({ configurable: { thread_id: 't' } }, checkpoint, { source: 'update', step: 0, parents: {} }, { messages: 1, other: 1 }) // oxfmt-ignore
  },
  'records of calls': async (store) => {
    const calls = await ok(openCallLog({ store, id: 'calls', durable: true }))
    await recordCall(calls.log, { methodName: 'look', args: [secret] }, () => secret)
    await ok(calls.flush())
    expect((await ok(openCallLog({ store, id: 'calls' }))).log.len).toBe(1)
  },
  'activities and their events': async (store) => {
    const activities = historyActivities({ store, registry: {} })
    await activities.appendMessage({ action: 'a', message: user(secret) })
    const events = eventsInStore(store)
    await events.publish({ type: 'text_delta', action: 'a', attempt: 1, sequence: 0, text: secret } as never)
  },
  'a recorder': async (store) => recorded(store, secret),
}

describe('files of an encrypted store contain no user text', () => {
  for (const [name, use] of Object.entries(features))
    it(`with ${name}`, async () => {
      const path = join(folder, name.replaceAll(/\W/g, '-'))
      const kept = await sqliteStore({ path: `${path}.db`, durability: 'os' })
      const seen = await (async (): Promise<string> => {
        const store = withKeys(kept, keyRing([newHostKey()]))
        await use(store)
        const texts: string[] = []
        for (const { id, meta } of (await ok(kept.list({ limit: 1000 }))).logs)
          texts.push(JSON.stringify([id, meta, await ok(kept.read(id))]))
        await ok(store.close())
        return texts.join('\n')
      })()
      expect(seen).toContain('{\\"encrypted\\":')
      expect(seen).not.toContain(secret)
      for (const file of readdirSync(folder).filter((one) => join(folder, one).startsWith(path)))
        expect(readFileSync(join(folder, file)).includes(secret)).toBe(false)
    })
})

describe("a chat's stored stream", () => {
  it("is unreadable once the chat's key is destroyed", async () => {
    const inner = memoryStore()
    const ring = keyRing([newHostKey()])
    const store = withKeys(inner, ring)
    await ok(createSession(store, { id: 'c', messages: [user(secret)] }))
    await drained(await chatStreams(store).publish('c', streamOf()))
    const receipt = await ok(eraseMessages(store, 'c', [0]))
    expect(receipt.remains).toContainEqual({ what: 'stream', session: 'c' })
    const stream = (await ok(inner.list({ limit: 100 }))).logs.find(({ id }) => id.startsWith('indelible.stream.'))
    expect((await ok(store.read(stream?.id ?? ''))).length).toBe(chunks.length + 1)
    expect(await ok(destroyKey(store, 'c', ring))).toBe(true)
    expect(await withKeys(inner, ring).read(stream?.id ?? '')()).toMatchObject({ left: { _tag: 'NoKey' } })
  })
  it('is removed some time after its end', async () => {
    const store = memoryStore()
    const streams = chatStreams(store)
    const logs = async (): Promise<number> => (await ok(store.list())).logs.length
    await drained(await streams.publish('c', streamOf(), { ttl: 1 }))
    await expect.poll(logs).toBe(0)
  })
})

it("a recorder's index confirms no guessed text without the key", async () => {
  for (const ring of [undefined, keyRing([newHostKey()], { keysIn: memoryStore() })]) {
    const inner = memoryStore()
    const store = ring === undefined ? inner : withKeys(inner, ring)
    await recorded(store, 'my pin is 4711')
    const [session] = (await ok(inner.list({ where: { 'indelible.session': 1 } }))).logs
    const receipt = await ok(eraseMessages(store, session?.id ?? '', [0, 1]))
    expect(receipt.remains).toContainEqual({ what: 'index', session: session?.id })
    const index = new Set<string>()
    const { logs } = await ok(inner.list({ limit: 1000 }))
    for (const { id, meta } of logs.filter(({ id }) => id.startsWith('indelible.recorder.'))) {
      const rows = await ok(inner.read(id))
      for (const text of [JSON.stringify(meta), ...rows.map(({ body }) => body)])
        for (const [digits] of text.matchAll(/[0-9a-f]{16}/g)) index.add(digits)
    }
    expect(index.size).toBeGreaterThan(0)
    const chain = chainOf([{ role: 'user', content: [{ type: 'text', text: 'my pin is 4711' }] }])
    expect(index).not.toContain(digestOf(`m:${chain.at(-1)}`).slice(0, 16))
    await recorded(store, 'another') // the index goes on
  }
})
