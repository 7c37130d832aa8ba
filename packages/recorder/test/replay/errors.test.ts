/** Errors whose bodies are no JSON of the API, such as those of gateways, come back from a session as they were. */
import { expect, it } from 'vitest'
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
