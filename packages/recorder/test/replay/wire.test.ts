/** Each recorded answer of the providers, recorded and replayed from a session and from a file, through the official clients. */
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, expect, vi } from 'vitest'
import { listSessions, memoryStore } from 'indelible'
import { jsonOrText } from 'indelible/internal/json'
import { recordingFetch } from '@indelible/recorder'
import { replayingFetch } from '@indelible/recorder/replay'
import { itShared, readShared, shared } from '../../../../test/real-transcripts.ts'
import { AnswerReader } from '../../src/answers/answer.ts'
import { identityOf } from '../../src/messages/identity.ts'
import { apis, type RecordedApi } from '../../src/apis/index.ts'

type Wire = { readonly [field: string]: unknown }

const urls: { readonly [api: string]: string } = {
  anthropic: 'https://api.anthropic.com/v1/messages',
  'openai-chat': 'https://api.openai.com/v1/chat/completions',
  'openai-responses': 'https://api.openai.com/v1/responses',
}
const folders = [
  ['anthropic-messages', 'anthropic'],
  ['openai-chat', 'openai-chat'],
  ['openai-responses', 'openai-responses'],
] as const

const files = folders.flatMap(([folder]) =>
  existsSync(shared(`wire/${folder}`)) ? readdirSync(shared(`wire/${folder}`)).map((name) => `${folder}/${name}`) : [],
)

/** A recorded answer as its server sends it. */
const answerIn = (
  file: string,
): { readonly text: string; readonly type: string; readonly status: number; readonly isStream: boolean } => {
  const text = readShared(`wire/${file}`)
  if (!file.endsWith('.chunks.txt')) {
    const isError = (JSON.parse(text) as Wire)['error'] !== undefined && (JSON.parse(text) as Wire)['error'] !== null
    return { text, type: 'application/json', status: isError ? 400 : 200, isStream: false }
  }
  const events = text.split('\n').filter((line) => line.trim() !== '')
  const written = events.map((event) => {
    const type = file.startsWith('openai-chat') ? undefined : /^\{"type":"([^"]+)"/.exec(event)?.[1]
    return `${type !== undefined ? `event: ${type}\n` : ''}data: ${event}\n\n`
  })
  return { text: written.join(''), type: 'text/event-stream', status: 200, isStream: true }
}

const read = (api: RecordedApi, text: string, type: string) => {
  const reader = new AnswerReader(apis.find(({ name }) => name === api) as never, type)
  reader.take(new TextEncoder().encode(text))
  return reader.end()
}

/** What an official client makes of an answer: its final message, or its error. */
const asClient = async (api: RecordedApi, fetch: typeof globalThis.fetch, stream: boolean): Promise<unknown> => {
  const options = { apiKey: 'k', fetch, maxRetries: 0 }
  try {
    if (api === 'anthropic') {
      const { messages } = new Anthropic(options)
      const request = { model: 'm', max_tokens: 1, messages: [{ role: 'user' as const, content: 'hi' }] }
      return stream ? await messages.stream(request).finalMessage() : await messages.create(request)
    }
    const openai = new OpenAI(options)
    if (api === 'openai-responses') {
      if (!stream) return await openai.responses.create({ model: 'm', input: 'hi' })
      return await openai.responses.stream({ model: 'm', input: 'hi' }).finalResponse()
    }
    const request = { model: 'm', messages: [{ role: 'user' as const, content: 'hi' }] }
    if (!stream) return await openai.chat.completions.create(request)
    const options_ = { stream_options: { include_usage: true } }
    return await openai.chat.completions.stream({ ...request, ...options_ }).finalChatCompletion()
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`
  }
}

/** The same response after it was read to its end, since a client that refuses it reads no further. */
const whole = async (response: Response): Promise<Response> => {
  const { status, headers } = response
  return new Response(await response.arrayBuffer(), { status, headers })
}

const isRefused = (result: unknown): boolean =>
  /Unexpected event order|Lifecycle response|Unhandled response|JSON/.test(String(result))

itShared.each(files)('%s is replayed from its session as it was', async (file) => {
  const [, api] = folders.find(([folder]) => file.startsWith(`${folder}/`)) as (typeof folders)[number]
  const { text, type, status, isStream } = answerIn(file)
  const store = memoryStore()
  const answer: typeof globalThis.fetch = async () => new Response(text, { status, headers: { 'content-type': type } })
  const recording = recordingFetch({ store, fetch: answer })
  await asClient(api, async (...request) => whole(await recording(...(request as [string]))), isStream)
  await recording.close()
  const first = await asClient(api, answer, isStream)
  const sessions = (await listSessions(store)).sessions.map(({ id }) => id)
  const replay = replayingFetch({ store, sessions })
  const again = await asClient(api, replay, isStream)
  // Clients refuse some recordings: they have two answers, or an event without a name.
  if (!isRefused(first)) expect(again).toEqual(first)
  await replay.close()

  const bytes = replayingFetch({ store, sessions })
  const asked =
    api === 'anthropic'
      ? { model: 'm', max_tokens: 1, messages: [{ role: 'user', content: 'hi' }] }
      : api === 'openai-responses'
        ? { model: 'm', input: 'hi' }
        : { model: 'm', messages: [{ role: 'user', content: 'hi' }], stream_options: { include_usage: true } }
  const body = JSON.stringify({ ...asked, ...(isStream && { stream: true }) })
  const response = await bytes(urls[api] as string, { method: 'POST', body })
  const answered = read(api, await response.text(), response.headers.get('content-type') ?? '')
  const original = read(api, text, type)
  // One recording has neither the beginning of the answer nor its end, which a stream must have.
  if (original.body !== undefined && original.id === undefined && original.messages.length > 0)
    expect(answered.messages.map(identityOf)).toEqual(original.messages.map(identityOf))
  else expect(answered).toEqual(original)
})

const folder = mkdtempSync(join(tmpdir(), 'indelible-wire-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  vi.unstubAllEnvs()
})

/** A body as JSON, or each event of a stream as its name and its data. */
const eventsIn = (text: string, isStream: boolean): readonly unknown[] =>
  !isStream
    ? [jsonOrText(text)]
    : text
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [line.startsWith('data: ') ? jsonOrText(line.slice(6)) : line]))

itShared.each(files)('%s is replayed with its events, from a file and from a session that keeps them', async (name) => {
  const [, api] = folders.find(([folder]) => name.startsWith(`${folder}/`)) as (typeof folders)[number]
  const { text, type, status, isStream } = answerIn(name)
  const answer: typeof globalThis.fetch = async () => new Response(text, { status, headers: { 'content-type': type } })
  const first = await asClient(api, answer, isStream)
  const got: { readonly of: string; text: string } = { of: name, text: '' }
  /** The same `fetch`, whose body is read to its end. */
  const reading =
    (fetch: typeof globalThis.fetch): typeof globalThis.fetch =>
    async (...request) => {
      const response = await whole(await fetch(...request))
      got.text = await response.clone().text()
      return response
    }
  vi.stubEnv('CI', '')
  const file = join(folder, `${name.replace('/', '-')}.json`)
  const recording = replayingFetch({ file, onMiss: 'record', fetch: answer })
  await asClient(api, reading(recording as never), isStream)
  await recording.close()
  const replay = replayingFetch({ file })
  expect(await asClient(api, reading(replay as never), isStream)).toEqual(first)
  expect(eventsIn(got.text, isStream)).toEqual(eventsIn(text, isStream))
  await replay.close()

  const store = memoryStore()
  const exact = recordingFetch({ store, fetch: answer, answers: 'exact' })
  await asClient(api, reading(exact as never), isStream)
  await exact.close()
  const sessions = (await listSessions(store)).sessions.map(({ id }) => id)
  const again = replayingFetch({ store, sessions })
  const result = await asClient(api, reading(again as never), isStream)
  if (isStream) expect(eventsIn(got.text, isStream)).toEqual(eventsIn(text, isStream))
  if (!isRefused(first)) expect(result).toEqual(first)
  await again.close()
})
