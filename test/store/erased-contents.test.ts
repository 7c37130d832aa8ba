/**
 * A text is planted at a place of a message. Once the message is erased, no file of the store has the text, wherever it
 * stood; and before, a search for messages to erase finds it there.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { assistant, createSession, memoryStore, toolCall, type Message, type Session } from 'indelible'
import { eraseMessages, findMessages } from 'indelible/session'
import { compactSqlite, sqliteStore } from 'indelible/store/sqlite'
import { contentsOf } from '../../src/store/internal.ts'
import { isFull } from '../rounds.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-contents-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const words = [
  'path',
  'id',
  'type',
  'role',
  'as',
  'tag',
  'page',
  'callId',
  'mediaType',
  'name',
  'text',
  'other',
  'meta',
]
const base64 = (text: string): string => Buffer.from(text).toString('base64')

/** The places of a message, each with a message that has a text there. */
const places: Readonly<Record<string, (text: string) => Message>> = {
  'a text': (text) => ({ role: 'user', content: [{ type: 'text', text }] }),
  'the name of a message': (text) => ({ role: 'user', name: text, content: [{ type: 'text', text: 'x' }] }),
  'the name of a file': (text) => ({ role: 'user', content: [{ type: 'file', name: text, source: { type: 'url', url: 'https://example.com' } }] }), // oxfmt-ignore
  'an address': (text) => ({ role: 'user', content: [{ type: 'image', source: { type: 'url', url: `https://example.com/${encodeURIComponent(text)}` } }] }), // oxfmt-ignore
  'a short file': (text) => ({ role: 'user', content: [{ type: 'file', source: { type: 'base64', mediaType: 'text/plain', data: base64(text) } }] }), // oxfmt-ignore
  'a media type': (text) => ({ role: 'user', content: [{ type: 'file', source: { type: 'url', url: 'https://example.com', mediaType: `text/plain; name="${text}"` } }] }), // oxfmt-ignore
  reasoning: (text) => ({ role: 'assistant', content: [{ type: 'reasoning', text: 'x', summary: [text] }] }),
  'a part of a provider': (text) => ({ role: 'assistant', content: [{ type: 'provider', provider: 'p', raw: { type: text, deep: [{ id: text }] } }] }), // oxfmt-ignore
  'the arguments of a call': (text) => assistant(toolCall('c', 'f', { id: text, type: text })),
  'a name in the arguments of a call': (text) => assistant(toolCall('c', 'f', { [text]: 1 })),
  ...Object.fromEntries(
    words.flatMap((word): readonly [string, (text: string) => Message][] => [
      [
        `meta.${word}`,
        (text) => ({ role: 'user', content: [{ type: 'text', text: 'x' }], meta: { app: { [word]: text } } }),
      ],
      [`the meta.${word} of a part`, (text) => ({ role: 'user', content: [{ type: 'text', text: 'x', meta: { app: { [word]: [text] } } }] })], // oxfmt-ignore
    ]),
  ),
  'a name in meta': (text) => ({
    role: 'user',
    content: [{ type: 'text', text: 'x' }],
    meta: { app: { [text]: true } },
  }),
}
const numbers: Readonly<Record<string, (digits: string) => Message>> = {
  'a number in meta': (digits) => ({ role: 'user', content: [{ type: 'text', text: 'x' }], meta: { app: { cards: [Number(digits)] } } }), // oxfmt-ignore
}

/** The same in every round: a linear congruential generator. */
const randomNumbers = (): ((below: number) => number) => {
  let seed = 7
  return (below) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below
}

const countIn = (bytes: Buffer, text: string): number => {
  let count = 0
  for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) count += 1
  return count
}
const bytesOf = (path: string): Buffer =>
  Buffer.concat([path, `${path}-wal`].filter((file) => existsSync(file)).map((file) => readFileSync(file)))

describe.each(['as it is', 'compacted before'])('in a store file, %s', (state) => {
  let copied = 0
  it.each([...Object.entries(places), ...Object.entries(numbers)])('%s leaves no byte', async (name, plant) => {
    const random = randomNumbers()
    const path = join(folder, `${state} ${Object.keys({ ...places, ...numbers }).indexOf(name)}.db`)
    const store = await sqliteStore({ path, durability: 'os' })
    const sessions: Session[] = []
    for (let index = 0; index < 12; index++) sessions.push(await createSession(store, { id: `s${index}` }))
    const planted: { readonly id: string; readonly at: number; readonly piece: string; readonly times: number }[] = []
    // Sessions grow side by side, so that SQLite moves rows between pages and leaves copies of them.
    for (let round = 0; round < (isFull ? 600 : 250); round++) {
      const index = random(12)
      const [secret, times] = [`Grace-Hopper-${index}-${round}-${random(1e9)}`, 1 + random(40)]
      const number = String(4_111_111_111_110_000 + round)
      const text = name in numbers ? number : Array.from({ length: times }, (_, at) => `${secret}-${at}`).join(' ')
      const { from } = await (sessions[index] as Session).append([plant(text), assistant('y')])
      const place = { id: `s${index}`, at: from }
      if (name in numbers) planted.push({ ...place, piece: number, times: 1 })
      else if (name === 'a short file') planted.push({ ...place, piece: base64(text).slice(0, 24), times: 1 })
      else planted.push({ ...place, piece: secret, times })
    }
    await store.close()
    if (state === 'compacted before') await compactSqlite({ path })
    const before = bytesOf(path)
    const moved = planted.filter(({ piece, times }) => countIn(before, piece) > times)
    copied += moved.length
    const again = await sqliteStore({ path })
    for (const { id, at, piece } of [...moved.slice(0, isFull ? 15 : 2), ...planted.slice(-1)]) {
      const { residue } = await eraseMessages(again, id, [at], { reason: 'request 1' })
      expect([name, countIn(bytesOf(path), piece), residue]).toEqual([name, 0, []])
    }
    await again.close()
  })
  it('some of the texts had copies in unused parts of the file', () => {
    if (state === 'as it is') expect(copied).toBeGreaterThan(20)
  })
})

it('a search for messages finds a text at every place', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's' })
  for (const plant of Object.values(places)) await session.append(plant('Grace Hopper'))
  const found = new Set(await findMessages(store, 's', { matching: /Grace.{1,3}Hopper/ }))
  expect(Object.keys(places).filter((_, at) => !found.has(at))).toEqual([])
})

it('only listed names and values are no content', () => {
  const message = { role: 'user', content: [{ type: 'tool_call', id: 'c1', name: 'f', arguments: '{}' }], meta: { app: { type: 'Grace', role: 'user', n: 5 } } } // oxfmt-ignore
  expect(contentsOf({ page: 'conversation', message })).toEqual([
    { what: 'id', text: 'c1' },
    { what: 'text', text: 'f' },
    { what: 'text', text: '{}' },
    { what: 'name', text: 'app' },
    { what: 'text', text: 'Grace' },
    { what: 'name', text: 'n' },
    { what: 'number', text: '5' },
  ])
})
