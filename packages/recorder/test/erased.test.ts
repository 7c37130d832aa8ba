/** A text is planted at a place of a recorded request or answer. Once the session is erased, no byte of the store's file has it. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { listSessions, openSession, type Store } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { eraseMessages, exportSession } from 'indelible/session'
import { sqliteStore } from 'indelible/store/sqlite'
import { exportLines } from '@indelible/transcripts'
import { htmlOf } from '@indelible/view'

const folder = mkdtempSync(join(tmpdir(), 'indelible-recorded-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

const secret = 'Grace Hopper of 12 Main Street'
const anthropic = 'https://api.anthropic.com/v1/messages'
const messages = [{ role: 'user', content: 'hi' }]
const compacted = [
  { role: 'user', content: `This session is being continued from a previous conversation. Summary: ${secret}` },
  { role: 'user', content: 'go on' },
]

/** Requests of one conversation, in order, and what all are answered with. */
interface Place {
  readonly requests: readonly object[]
  readonly answer?: object
}
const places: Readonly<Record<string, Place>> = {
  'a message': { requests: [{ messages: [{ role: 'user', content: `I am ${secret}` }] }] },
  'the instructions': { requests: [{ messages, system: `You help ${secret}.` }] },
  'long instructions': { requests: [{ messages, system: `${'You help. '.repeat(1000)}${secret}` }] },
  'the description of a tool': {
    requests: [{ messages, tools: [{ name: 'f', description: secret, input_schema: {} }] }],
  },
  'a parameter': { requests: [{ messages, metadata: { user_id: secret } }] },
  'the answer': { requests: [{ messages }], answer: { content: [{ type: 'text', text: secret }] } },
  'the arguments of a call': {
    requests: [{ messages }],
    answer: { content: [{ type: 'tool_use', id: 'c', name: 'f', input: { a: secret } }] },
  },
  'a compaction': {
    requests: [
      { messages },
      { messages: compacted },
      { messages: [...compacted, { role: 'assistant', content: 'hello' }, { role: 'user', content: 'more' }] },
    ],
  },
}

/** The sessions of the recorded requests. */
const recordedIn = async (store: Store, { requests, answer }: Place): Promise<readonly string[]> => {
  const body = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'hello' }],
    stop_reason: 'end_turn',
    ...answer,
  }
  const fetch = recordingFetch({ store, fetch: async () => Response.json(body) })
  for (const request of requests)
    await (await fetch(anthropic, { method: 'POST', body: JSON.stringify({ model: 'm', ...request }) })).text()
  await fetch.settled()
  expect(fetch.summary()).toMatchObject({ calls: requests.length, lost: 0 })
  await fetch.close()
  return (await listSessions(store)).sessions.map(({ id }) => id)
}

it.each(Object.keys(places))(
  'a text in %s of a recorded call is in no byte of the store or an export once the session is erased',
  async (place) => {
    const path = join(folder, `${files++}.db`)
    const store = await sqliteStore({ path, durability: 'os' })
    for (const id of await recordedIn(store, places[place] as Place)) {
      const session = await openSession(store, id)
      await session.update((metadata) => void (metadata['title'] = 'a title')) // an erasure keeps it, and names it
      await session.close()
      await eraseMessages(store, id, { all: true }, { reason: 'asked to' })
      const exported = [...exportLines(await exportSession(store, id))].join('')
      expect(exported + (await htmlOf(store, id, { version: '0' })).join('\n')).not.toContain(secret)
    }
    await store.close()
    const bytes = [path, `${path}-wal`].filter((file) => existsSync(file)).map((file) => readFileSync(file))
    expect(Buffer.concat(bytes).includes(secret)).toBe(false)
  },
)

it('no block of a recorded session is left once it is removed', async () => {
  const path = join(folder, `${files++}.db`)
  const store = await sqliteStore({ path, durability: 'os' })
  for (const place of Object.values(places)) await recordedIn(store, place)
  const blocks = (): unknown => {
    const db = new DatabaseSync(path)
    const { count } = db.prepare('select count(*) as count from block').get() as { readonly count: number }
    db.close()
    return count
  }
  expect(blocks()).toBeGreaterThan(0)
  for (const { id } of (await listSessions(store)).sessions) await store.remove(id)
  expect(blocks()).toBe(0)
  await store.close()
})
