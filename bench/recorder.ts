/**
 * What the recorder costs: milliseconds to the first byte of an answer as a conversation grows to 1,000 messages, and
 * stored bytes, beside the same calls without it, beside the same messages in a session, and beside a log of requests.
 *
 * Arguments: the words of a message (default 60), and `agent` for the tools and parameters that agents send.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assistant, createSession, user } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { sqliteStore } from 'indelible/store/sqlite'

const turns = 500
const words = (length: number): string => Array.from({ length }, (_, index) => `word${index}`).join(' ')
const long = Number(process.argv[2] ?? 60) // words of a message
/** What agents send beside their messages: parameters, a session, tools. */
const beside =
  process.argv[3] === 'agent'
    ? {
        max_completion_tokens: 32_000,
        reasoning_effort: 'medium',
        prompt_cache_key: 'f3b1c2d4-5e6f-7a8b-9c0d-1e2f3a4b5c6d',
        metadata: { user_id: JSON.stringify({ device_id: 'd'.repeat(64), session_id: 's'.repeat(36) }) },
        tools: [{ type: 'function', function: { name: 'read', description: words(50), parameters: {} } }],
      }
    : {}
const answer = words(long)
const events = [
  ...answer.split(' ').map((word) => ({ choices: [{ index: 0, delta: { content: `${word} ` } }] })),
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
].map((event) => `data: ${JSON.stringify({ id: 'c', model: 'm', ...event })}\n\n`)

const server = createServer((incoming, outgoing) => {
  incoming.resume().on('end', () => {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events) outgoing.write(event)
    outgoing.end('data: [DONE]\n\n')
  })
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const { port } = server.address() as { readonly port: number }
const url = `http://127.0.0.1:${port}/v1/chat/completions`

type Send = (url: string, init: RequestInit) => Promise<Response>

/** Milliseconds to the first byte, and to the end. */
const timed = async (send: Send, body: string): Promise<readonly [number, number]> => {
  const from = performance.now()
  const response = await send(url, { method: 'POST', body })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  await reader.read()
  const first = performance.now() - from
  while (!(await reader.read()).done);
  return [first, performance.now() - from]
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

const folder = mkdtempSync(join(tmpdir(), 'indelible-bench-'))
const path = join(folder, 'recorded.db')
await (await sqliteStore({ path })).close()
const empty = statSync(path).size
const store = await sqliteStore({ path })
const plainly = await sqliteStore({ path: join(folder, 'plain.db') })
const fetch = recordingFetch({ store, onNotice: ({ reason }) => console.error(reason) })
const messages: { readonly role: string; readonly content: string }[] = []
const plain: (readonly [number, number])[] = []
const recorded: (readonly [number, number])[] = []
let logged = 0
for (let turn = 0; turn < turns; turn++) {
  messages.push({ role: 'user', content: `question ${turn} ${words(long)}` })
  const body = JSON.stringify({ model: 'm', stream: true, ...beside, messages })
  logged += body.length
  // They take turns, and which goes first.
  if (turn % 2 === 0) plain.push(await timed(globalThis.fetch, body))
  recorded.push(await timed(fetch, body))
  if (turn % 2 === 1) plain.push(await timed(globalThis.fetch, body))
  await fetch.settled()
  messages.push({ role: 'assistant', content: `${answer} ` })
}
await store.close()
// The floor: the same messages in a session, without a recorder.
const session = await createSession(plainly, { id: 'plain' })
for (let index = 0; index < messages.length; index += 2)
  await session.append({
    messages: messages
      .slice(index, index + 2)
      .map(({ role, content }) => (role === 'user' ? user : assistant)(content)),
  })
await plainly.close()
const said = JSON.stringify(messages).length
const size = statSync(path).size
console.log('| messages | first byte without, ms | with | whole answer without, ms | with |')
console.log('|---:|---:|---:|---:|---:|')
for (const end of [100, 250, turns]) {
  const last = (all: typeof plain, which: 0 | 1): string =>
    median(all.slice(end - 50, end).map((one) => one[which])).toFixed(2)
  console.log(`| ${end * 2} | ${last(plain, 0)} | ${last(recorded, 0)} | ${last(plain, 1)} | ${last(recorded, 1)} |`)
}
console.log(
  `\n${JSON.stringify(fetch.summary().sessions.length)} session; ${said} bytes of messages, ${size} stored (${(size / said).toFixed(2)}; without the empty store ${((size - empty) / said).toFixed(2)}), ${logged + said / 2} in a log of requests (${((logged + said / 2) / said).toFixed(0)})`,
)
console.log(
  `a session of the same messages stores ${((statSync(join(folder, 'plain.db')).size - empty) / said).toFixed(2)}`,
)
server.close()
rmSync(folder, { recursive: true })
