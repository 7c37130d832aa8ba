/** A replay as a server, through Gemini's client, which takes no `fetch`. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, it, vi } from 'vitest'
import { GoogleGenAI } from '@google/genai'
import { listSessions, memoryStore } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { replayingFetch, startReplayServer } from '@indelible/recorder/replay'
import type { Fetch } from '../../src/fetch.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-replay-server-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  vi.unstubAllEnvs()
})

const chunk = (text: string, finishReason?: string): object => ({
  candidates: [{ content: { role: 'model', parts: [{ text }] }, ...(finishReason && { finishReason }), index: 0 }],
  modelVersion: 'gemini-x-001',
  responseId: 'r1',
})
/** What Gemini answers: two chunks, or one body. */
const gemini: Fetch = async (url) => {
  if (!String(url).includes(':streamGenerateContent')) return Response.json(chunk('It rains.', 'STOP'))
  const events = [chunk('It '), chunk('rains.', 'STOP')].map((event) => `data: ${JSON.stringify(event)}\n\n`)
  return new Response(events.join(''), { headers: { 'content-type': 'text/event-stream' } })
}
const wanted = { model: 'gemini-x', contents: 'How is the weather?' }

/** The texts that the client gets from a `fetch` behind a server: of a whole answer, and of a stream. */
const asClient = async (fetch: Fetch, options: { readonly upstream?: string } = {}): Promise<readonly string[]> => {
  const server = await startReplayServer(fetch, options)
  const { models } = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: server.url } })
  const whole = await models.generateContent(wanted)
  let streamed = ''
  for await (const { text } of await models.generateContentStream(wanted)) streamed += text
  await server.close()
  return [whole.text ?? '', streamed]
}

it('answers a client that takes no fetch, from a session and from a file', async () => {
  const store = memoryStore()
  const recording = recordingFetch({ store, fetch: gemini })
  const texts = await asClient(recording)
  await recording.close()
  expect(texts).toEqual(['It rains.', 'It rains.'])
  const replay = replayingFetch({ store, sessions: (await listSessions(store)).sessions.map(({ id }) => id) })
  expect(await asClient(replay)).toEqual(texts)
  await replay.close()

  vi.stubEnv('CI', '')
  const file = join(folder, 'weather.json')
  const first = replayingFetch({ file, onMiss: 'record', fetch: gemini })
  expect(await asClient(first)).toEqual(texts)
  await first.close()
  const again = replayingFetch({ file })
  expect(await asClient(again)).toEqual(texts)
  await again.close()
})

it('tells the client once that a call is not in the record, and breaks off as the record does', async () => {
  let count = 0
  const server = await startReplayServer(async (...args) => {
    count++
    return replayingFetch({ store: memoryStore(), sessions: 'none' })(...args)
  })
  const { models } = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: server.url } })
  await expect(models.generateContent(wanted)).rejects.toThrow(/none/)
  expect(count).toBe(1)
  await server.close()
  const broken = await startReplayServer(async () => {
    throw new TypeError('fetch failed')
  })
  expect((await fetch(`${broken.url}/v1/messages`, { method: 'POST', body: '{}' })).status).toBe(502)
  await broken.close()
})

it('refuses web pages, addresses without its secret and WebSockets, and nothing reaches the fetch', async () => {
  let count = 0
  const server = await startReplayServer(async () => Response.json({ count: ++count }))
  const { port, origin, pathname } = new URL(server.url)
  const statusOf = async (path: string, headers: { readonly [name: string]: string } = {}): Promise<unknown> => {
    const sent = request({ host: '127.0.0.1', port, path, method: 'POST', headers })
    sent.end('{}')
    sent.on('upgrade', (_, socket) => socket.destroy())
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    response.resume()
    return response.statusCode
  }
  const path = `${pathname}/v1/messages`
  expect(await statusOf(path, { origin: 'https://example.org' })).toBe(403)
  expect(await statusOf(path, { host: 'example.org' })).toBe(403)
  expect(await statusOf('/v1/messages')).toBe(404)
  expect(await statusOf(`${pathname}x/v1/messages`)).toBe(404)
  expect(await statusOf(path, { connection: 'upgrade', upgrade: 'websocket' })).toBe(426)
  expect(count).toBe(0)
  expect(await statusOf(path, { origin })).toBe(200)
  await server.close()
  await expect(fetch(server.url)).rejects.toThrow()
})

it('takes only a function', async () => {
  await expect(startReplayServer({} as never)).rejects.toThrow(TypeError)
})

it("records what its client's provider answers, at the address that it names", async () => {
  vi.stubEnv('CI', '')
  const asked: string[] = []
  const provider = createServer(async (incoming, outgoing) => {
    asked.push(`${incoming.headers['x-goog-api-key'] as string} ${incoming.url ?? ''}`)
    const response = await gemini(incoming.url ?? '')
    const headers = { 'content-type': response.headers.get('content-type') ?? '', 'content-encoding': 'gzip' }
    outgoing.writeHead(response.status, headers).end(gzipSync(await response.text()))
  })
  provider.listen(0, '127.0.0.1')
  await once(provider, 'listening')
  const upstream = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/`
  const file = join(folder, 'recorded.json')
  const recorded = replayingFetch({ file, onMiss: 'record' })
  expect(await asClient(recorded, { upstream })).toEqual(['It rains.', 'It rains.'])
  await recorded.close()
  await new Promise((resolve) => provider.close(resolve))
  expect(asked).toEqual([
    'none /v1/models/gemini-x:generateContent',
    'none /v1/models/gemini-x:streamGenerateContent?alt=sse',
  ])
  const replay = replayingFetch({ file })
  expect(await asClient(replay)).toEqual(['It rains.', 'It rains.'])
  await replay.close()
})

it('says how to name the provider of other calls, and takes nothing but an address', async () => {
  vi.stubEnv('CI', '')
  const asked: string[] = []
  const send: Fetch = async (url) => {
    asked.push(String(url))
    throw new TypeError('fetch failed')
  }
  const server = await startReplayServer(
    replayingFetch({ file: join(folder, 'never.json'), onMiss: 'record', fetch: send }),
  )
  const post = async (path: string, body: object): Promise<string> =>
    (await globalThis.fetch(`${server.url}${path}`, { method: 'POST', body: JSON.stringify(body) })).text()
  expect(await post('/v1/messages', { model: 'm', messages: [] })).toContain('startReplayServer(fetch, { upstream })')
  expect(await post('/v1beta/models/m:generateContent', { contents: [] })).not.toContain('upstream')
  await server.close()
  expect(asked).toEqual([
    'http://provider.invalid/v1/messages',
    'https://generativelanguage.googleapis.com/v1beta/models/m:generateContent',
  ])
  for (const upstream of ['', 'api.example.com', 'file:///etc', 5])
    await expect(startReplayServer(send, { upstream } as never)).rejects.toThrow(TypeError)
})
