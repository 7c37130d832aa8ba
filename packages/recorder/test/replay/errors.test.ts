/** Errors come back as they were: from a session, and from a file; those of gateways, whose bodies are no JSON of the API, too. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { listSessions, memoryStore } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { replayingFetch, type ReplayingFetch } from '@indelible/recorder/replay'

const messages = [{ role: 'user', content: 'hi' }]
const requests: readonly (readonly [url: string, body: object])[] = [
  ['https://api.openai.com/v1/chat/completions', { model: 'm', messages }],
  ['https://api.openai.com/v1/responses', { model: 'm', input: 'hi' }],
  ['https://api.anthropic.com/v1/messages', { model: 'm', max_tokens: 9, messages }],
  [
    'https://x.googleapis.com/v1beta/models/m:generateContent',
    { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] },
  ],
  [
    'https://x.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse',
    { contents: [{ parts: [{ text: 'hi' }] }] },
  ],
]
const html = '<html><body>502 Bad Gateway</body></html>'
const errors: readonly (readonly [name: string, status: number, type: string, text: string])[] = [
  ['a page', 502, 'text/html', html],
  ['nothing', 500, 'text/plain', ''],
  ['nothing, with retry-after', 429, 'application/json', ''],
  ['a text', 503, 'text/plain', 'no capacity'],
  ['a JSON text', 400, 'application/json', '"bad"'],
  ['an empty object', 500, 'application/json', '{}'],
  ['a page as events', 500, 'text/event-stream', html],
]

it.each(errors.flatMap((error) => requests.map((request) => ({ error, request }))))(
  '$error.0 with $error.1 of $request.0 comes back as it was',
  async ({ error: [, status, type, text], request: [url, body] }) => {
    const headers = { 'content-type': type, ...(status === 429 && { 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT' }) }
    const store = memoryStore()
    const recording = recordingFetch({ store, fetch: async () => new Response(text, { status, headers }) })
    const init = { method: 'POST', body: JSON.stringify(body) }
    await (await recording(url, init)).text()
    await recording.close()
    const replay = replayingFetch({ store, sessions: (await listSessions(store)).sessions.map(({ id }) => id) })
    const response = await replay(url, init)
    expect([response.status, await response.text()]).toEqual([status, text])
    expect(response.headers.get('retry-after')).toBe(headers['retry-after'] ?? null)
    await replay.close()
  },
)

const gemini = 'https://x.googleapis.com/v1beta/models/m:streamGenerateContent'
const contents = [{ role: 'user', parts: [{ text: 'hi' }] }]
const error = { code: 429, message: 'Resource has been exhausted', status: 'RESOURCE_EXHAUSTED' }

interface Came {
  readonly status: number
  readonly text: string
  /** Whether the body broke off. */
  readonly isCut?: true
}

const came = async (response: Response): Promise<Came> => {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const bytes of response.body ?? []) text += decoder.decode(bytes as Uint8Array, { stream: true })
    return { status: response.status, text }
  } catch {
    return { status: response.status, text, isCut: true }
  }
}

/** What a replay gives from a session, from one with events, and from a file, for a call that was answered with this body. */
const replayed = async (url: string, body: object, answer: () => Response): Promise<readonly Came[]> => {
  const init = { method: 'POST', body: JSON.stringify(body) }
  vi.stubEnv('CI', '')
  const folder = mkdtempSync(join(tmpdir(), 'indelible-errors-'))
  const file = join(folder, 'calls.json')
  const toFile = replayingFetch({ file, onMiss: 'record', fetch: async () => answer() })
  await came(await toFile(url, init))
  await toFile.close()
  const replays: ReplayingFetch[] = []
  for (const answers of [undefined, 'exact'] as const) {
    const store = memoryStore()
    const recording = recordingFetch({ store, fetch: async () => answer(), ...(answers && { answers }) })
    await came(await recording(url, init))
    await recording.close()
    replays.push(replayingFetch({ store, sessions: (await listSessions(store)).sessions.map(({ id }) => id) }))
  }
  const replies: Came[] = []
  for (const replay of [...replays, replayingFetch({ file })]) {
    replies.push(await came(await replay(url, init)))
    await replay.close()
  }
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
  return replies
}

const calls: readonly (readonly [url: string, body: object])[] = [
  ...requests,
  [requests[0]?.[0] as string, { ...requests[0]?.[1], stream: true }],
  [requests[1]?.[0] as string, { ...requests[1]?.[1], stream: true }],
  [requests[2]?.[0] as string, { ...requests[2]?.[1], stream: true }],
  [gemini, { contents }],
  ['https://cloudcode-pa.googleapis.com/v1internal:generateContent', { model: 'm', request: { contents } }],
]
/** Texts that are taken for something else: for JSON, for a list of Gemini's, for a stream, for nothing. */
const texts: readonly string[] = [
  ...[
    '[upstream connect error] try later',
    '[',
    '[]',
    '["a"]',
    '[{"a":1}]',
    '[{"candidates":[{"content":{"parts":[{"te',
  ],
  ...['{not json', '{"id":"x","type":"mess', '{}', '{"error":"busy"}', '{"error":null}', '{"detail":"gone"}'],
  ...['"busy"', '503', 'null', 'true', '', '  \n', html],
  ...['data: service unavailable\n\n', 'data: {"id":', 'data center is down', 'id: 17 not found', ': keep-alive'],
]
/** Two of them go with each call. */
const heads: readonly (readonly [status: number, type: string])[] = [
  [200, 'application/json'],
  [200, 'text/event-stream'],
  [429, 'text/event-stream'],
  [503, 'text/html'],
]
/** A response that ends with its body, or breaks off after it. */
const answerOf = (text: string, status: number, type: string, isCut: boolean): Response => {
  const parts = [new TextEncoder().encode(text)]
  const broken = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        const part = parts.pop()
        if (part === undefined) controller.error(new TypeError('terminated'))
        else if (part.length > 0) controller.enqueue(part)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(isCut ? broken : text, { status, headers: { 'content-type': type } })
}

it.each(texts)('a body that is no answer comes back as it was: %j', async (text) => {
  for (const [at, [url, body]] of calls.entries())
    for (const [status, type] of heads.filter((_, index) => (index + at) % 2 === 0)) {
      const replies = await replayed(url, body, () => answerOf(text, status, type, false))
      expect(replies, `${url} ${status} ${type}`).toEqual(replies.map(() => ({ status, text })))
    }
})

it.each(texts.filter((text) => text !== '' && !/^\{.*\}$/.test(text)))(
  'a body that is no answer breaks off where it did: %j',
  async (text) => {
    for (const [url, body] of calls) {
      const replies = await replayed(url, body, () => answerOf(text, 200, 'application/json', true))
      expect(replies, url).toEqual(replies.map(() => ({ status: 200, text, isCut: true })))
    }
  },
)

it("of a stream's errors under an error's status comes the text", async () => {
  const text = 'event: error\ndata: {"type":"error","error":{"message":"busy"}}\n\n'
  for (const [url, body] of calls)
    for (const reply of await replayed(url, body, () => answerOf(text, 503, 'text/event-stream', false)))
      expect(reply).toEqual({ status: 503, text })
})

it.each([
  ['a list of an error', 429, [{ error }]],
  ['a list of an error, as an answer', 200, [{ error }]],
  ['an empty list', 500, []],
  ['an empty list, as an answer', 200, []],
  ['a list of a text', 400, ['bad']],
])("Gemini's stream of %s, status %d, comes back as it was", async (_, status, list) => {
  for (const reply of await replayed(gemini, { contents }, () => Response.json(list, { status })))
    expect({ status: reply.status, list: JSON.parse(reply.text) as unknown }).toEqual({ status, list })
})

it.each(['generateContent', 'streamGenerateContent', 'streamGenerateContent?alt=sse'])(
  'an error of Code Assist has no envelope: %s',
  async (method) => {
    const body = { model: 'm', request: { contents } }
    const url = `https://cloudcode-pa.googleapis.com/v1internal:${method}`
    for (const reply of await replayed(url, body, () => Response.json({ error }, { status: 429 })))
      expect(JSON.parse(reply.text)).toEqual({ error })
  },
)

const most = 2 ** 16
it.each([
  ['a page', 'text/html', `<p>${'é'.repeat(most)}</p>`, `<p>${'é'.repeat(most - 3)}`],
  [
    'JSON without a sentence',
    'application/json',
    JSON.stringify({ detail: 'd'.repeat(most) }),
    `{"detail":"${'d'.repeat(most - 11)}`,
  ],
  [
    'JSON with a sentence',
    'application/json',
    JSON.stringify({ error: { message: 'too long', detail: 'd'.repeat(most) } }),
    '{"error":{"message":"too long"}}',
  ],
])('of a long error, a session has the sentence or the beginning, a file all: %s', async (_, type, text, kept) => {
  const headers = { 'content-type': type }
  const bodies = [
    ['https://api.openai.com/v1/chat/completions', { model: 'm', messages }],
    [gemini.replace('stream', '').replace('Generate', 'generate'), { contents }],
  ] as const
  for (const [url, body] of bodies) {
    const [ofSession, , ofFile] = await replayed(url, body, () => new Response(text, { status: 502, headers }))
    expect(ofSession).toEqual({ status: 502, text: kept })
    expect(ofFile).toEqual({ status: 502, text })
  }
})

it("has the type of JSON only where it is JSON, and of a refused call without content the provider's sentence", async () => {
  const [url, body] = requests[0] as (typeof requests)[number]
  const typeOf = async (text: string, status: number, content?: false): Promise<readonly unknown[]> => {
    const store = memoryStore()
    const send = async () => new Response(text, { status, headers: { 'content-type': 'application/json' } })
    const recording = recordingFetch({ store, fetch: send, ...(content === false && { content }) })
    const init = { method: 'POST', body: JSON.stringify(body) }
    await (await recording(url, init)).text()
    await recording.close()
    const replay = replayingFetch({ store, sessions: (await listSessions(store)).sessions.map(({ id }) => id) })
    const response = await replay(url, init)
    return [response.status, response.headers.get('content-type'), await response.text()]
  }
  expect(await typeOf(html, 200)).toEqual([200, 'text/plain; charset=utf-8', html])
  expect(await typeOf('{"detail":"gone"}', 200)).toEqual([200, 'application/json', '{"detail":"gone"}'])
  expect(await typeOf('{"error":{"message":"no"}}', 400, false)).toEqual([
    400,
    'application/json',
    '{"error":{"message":"[text: 4 bytes]"}}',
  ])
  expect(await typeOf(html, 400, false)).toEqual([400, 'text/plain; charset=utf-8', ''])
  expect((await typeOf(html, 200, false))[2]).toContain('its answer has no message, and its body was not recorded')
})
