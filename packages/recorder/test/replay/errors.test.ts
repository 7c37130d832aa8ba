/** Errors come back as they were: from a session, and from a file; those of gateways, whose bodies are no JSON of the API, too. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import { listSessions, memoryStore } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { replayingFetch } from '@indelible/recorder/replay'

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

/** What a replay gives from a session, and from a file, for a call that was answered with this body. */
const replayed = async (
  url: string,
  body: object,
  answer: () => Response,
): Promise<readonly { readonly status: number; readonly text: string }[]> => {
  const init = { method: 'POST', body: JSON.stringify(body) }
  const store = memoryStore()
  const recording = recordingFetch({ store, fetch: async () => answer() })
  await (await recording(url, init)).text()
  await recording.close()
  vi.stubEnv('CI', '')
  const folder = mkdtempSync(join(tmpdir(), 'indelible-errors-'))
  const file = join(folder, 'calls.json')
  const toFile = replayingFetch({ file, onMiss: 'record', fetch: async () => answer() })
  await (await toFile(url, init)).text()
  await toFile.close()
  const sessions = (await listSessions(store)).sessions.map(({ id }) => id)
  const replies: { readonly status: number; readonly text: string }[] = []
  for (const replay of [replayingFetch({ store, sessions }), replayingFetch({ file })]) {
    const response = await replay(url, init)
    replies.push({ status: response.status, text: await response.text() })
    await replay.close()
  }
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
  return replies
}

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
    const [ofSession, ofFile] = await replayed(url, body, () => new Response(text, { status: 502, headers }))
    expect(ofSession).toEqual({ status: 502, text: kept })
    expect(ofFile).toEqual({ status: 502, text })
  }
})
