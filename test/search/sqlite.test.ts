/** Searching a store file, with its index and without. */
import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSession, faultMessage, openSession, orThrow, user, type Store } from 'indelible'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { dropIndex, indexStore, searchStore } from 'indelible/search'
import { eraseMessages } from 'indelible/session'
import type { Append } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { indelible } from '../../packages/cli/test/indelible.ts'
import { thawed } from '../thawed.ts'
import { all, places, searchCases } from './cases.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-search-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const path = (): string => join(folder, `${++files}.db`)

describe('searching a store file with its index', () => {
  let store: Store
  let scopes = 0
  beforeAll(async () => {
    store = await sqliteStore({ path: path(), durability: 'os' })
    await indexStore(store)
  })
  afterAll(async () => void (await store.close()))
  searchCases(() => ({ open: async () => orThrow(store.scoped(`scope ${++scopes}`)), indexed: true }))
  it('leaves a file that passes a check', async () => {
    expect(await store.check()).toEqual([])
    expect(await indexStore(store)).toBe(0)
  })
})

/** How many documents the index of a file has. */
const documents = (file: string): number => {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    return Number(db.prepare('select count(*) as count from search').get()?.['count'])
  } finally {
    db.close()
  }
}

/** Whether a page of the index has these bytes. */
const inIndex = (file: string, text: string): boolean => {
  const db = new DatabaseSync(file, { readOnly: true })
  try {
    const pages = db.prepare('select block from search_data').all()
    return pages.some(({ block }) => Buffer.from(block as Uint8Array).includes(text))
  } finally {
    db.close()
  }
}

/** Whether any file of a store has these bytes. */
const isOnDisk = (file: string, text: string): boolean =>
  ['', '-wal'].some((end) => existsSync(file + end) && readFileSync(file + end).includes(text))

describe('a message with a damaged block', () => {
  const filler = 'needle and more words '.repeat(300)
  const damagedFile = async (index: boolean): Promise<string> => {
    const file = path()
    const store = await sqliteStore({ path: file })
    const session = await createSession(store, { id: 'b', messages: [user('needle short'), user(filler)] })
    await createSession(store, { id: 'a', messages: [user('other')] })
    await session.append(user(`${filler}end`))
    if (index) await indexStore(store)
    await store.close()
    const db = new DatabaseSync(file)
    db.exec("update content set bytes = cast('N' || substr(bytes, 2) as blob)")
    db.close()
    return file
  }

  it('is listed if its session was damaged after indexing, unless it was removed', async () => {
    const file = await damagedFile(false)
    const store = await sqliteStore({ path: file })
    await indexStore(store)
    expect(await searchStore(store, 'needle')).toMatchObject({ damaged: ['b'] })
    const db = new DatabaseSync(file)
    db.exec("update log set meta = 'x' where id = 'b'")
    expect(await searchStore(store, 'needle')).toMatchObject({ damaged: ['b'] })
    db.close()
    await store.close()
  })

  it.each([
    ['without an index', false, false],
    ['that was indexed before', true, false],
    ['that was indexed after', false, true],
  ])("%s: lists its session and finds the session's other messages", async (_, before, after) => {
    const store = await sqliteStore({ path: await damagedFile(before) })
    if (after) await indexStore(store)
    for (const sort of ['time', 'relevance'] as const) {
      const page = await searchStore(store, 'needle', { sort })
      const hits = [{ session: 'b', position: 0 }]
      expect(page).toMatchObject({ indexed: before || after, hits, damaged: ['b'] })
      expect(thawed(page)).toBeUndefined()
    }
    if (!before) expect(await searchStore(store, 'end', { session: 'b' })).toMatchObject({ hits: [], damaged: ['b'] })
    expect(await searchStore(store, 'other', { session: 'a' })).not.toHaveProperty('damaged')
    await store.close()
  })

  it('is listed by the commands', async () => {
    const store = ['--store', await damagedFile(false)]
    const line = 'b is damaged: not all of its messages were searched; run "indelible verify'
    expect(indelible(['search', 'end', ...store]).stderr).toContain(line)
    expect(indelible(['search', 'end', '--session', 'b', ...store])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(line) as string,
    })
    expect(indelible(['search', 'needle', ...store])).toMatchObject({
      stdout: expect.stringMatching(/^b:0 /) as string,
      stderr: expect.stringContaining(line) as string,
    })
    expect(indelible(['index', ...store]).stderr).toContain(line)
    expect(indelible(['search', 'end', ...store]).stderr).toContain(line)
  })
})

it.each([
  ['with an index', true, "body = replace(body, 'needle', 'needle forged')"],
  ['without an index', false, "body = replace(body, 'needle', 'needle forged')"],
  ['with an index, erased', true, "erased = zeroblob(32), body = replace(body, 'needle', 'needle forged')"],
])('a message altered since is not a hit, and its session is listed as damaged: %s', async (_, index, change) => {
  const file = path()
  const store = await sqliteStore({ path: file })
  if (index) await indexStore(store)
  await createSession(store, { id: 'a', messages: [user('one'), user('two'), user('a needle'), user('needle two')] })
  await createSession(store, { id: 'b', messages: [user('needle b')] })
  const db = new DatabaseSync(file)
  expect(db.prepare(`update row set ${change} where body like '%a needle%'`).run().changes).toBe(1)
  db.close()
  for (const sort of ['time', 'relevance'] as const) {
    const page = await searchStore(store, 'needle', { sort })
    expect(places(page.hits).toSorted()).toEqual(['a:3', 'b:0'])
    expect(page).toMatchObject({ indexed: index, damaged: ['a'] })
  }
  await store.close()
})

it('a truncated store file gives advice, also on repair', async () => {
  const file = path()
  const store = await sqliteStore({ path: file })
  await createSession(store, { id: 'a', messages: [user('a')] })
  await store.close()
  truncateSync(file, 4096)
  for (const args of [['list'], ['repair']])
    expect(indelible([...args, '--store', file])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining(
        'malformed; the file is damaged or cut off, so no command can open or repair it',
      ) as string,
    })
})

describe('the search index of a store file', () => {
  it('has no words of an erased message or a removed session', async () => {
    const file = path()
    const store = await sqliteStore({ path: file })
    await indexStore(store)
    // An index has only the end of a word that begins like the one before: no other word begins with q.
    const words = `quotedsecret ${Array.from({ length: 300 }, (_, n) => `secret${n}word`).join(' ')}`
    const filler = (n: number): string => Array.from({ length: 200 }, (_, at) => `w${n}x${at}`).join(' ')
    const session = await createSession(store, { id: 'a' })
    for (let n = 0; n < 60; n++) await session.append(user(n === 30 ? words.toUpperCase() : filler(n)))
    await createSession(store, { id: 'b', messages: [user('another hidden77word')] })
    expect(places(await all(store, 'secret299word'))).toEqual(['a:30'])
    expect(isOnDisk(file, 'quotedsecret')).toBe(true)
    expect(inIndex(file, 'quotedsecret')).toBe(true)
    const { head } = await store.info('a')
    const stub = JSON.stringify({ page: 'conversation', message: { role: 'user', content: [] } })
    await store.erase({
      logs: [{ id: 'a', expected: head, rows: [{ position: 30, stub }] }],
      reason: 'asked',
      by: 'me',
    })
    expect(await all(store, 'secret299word')).toEqual([])
    expect((await searchStore(store, { question: 'Is it the secret299word?' })).sessions).toEqual([])
    for (const word of ['quotedsecret', 'secret0word', 'secret299word', 'ret150w', '99word'])
      expect([word, isOnDisk(file, word), inIndex(file, word)]).toEqual([word, false, false])
    const before = documents(file)
    await store.remove('b')
    expect(documents(file)).toBe(before - 1)
    expect(await all(store, 'hidden77word')).toEqual([])
    expect(await store.check()).toEqual([])
    await store.close()
  })

  it('and the file are cleaned once for several erasures, also by another process', async () => {
    const file = path()
    const store = await sqliteStore({ path: file })
    await indexStore(store)
    const words = ['quotedfirst', 'quotedsecond', 'quotedthird']
    for (const word of words) await createSession(store, { id: word, messages: [user(`${word} ${word}tail`)] })
    const erased = (id: string) => eraseMessages(store, id, [0], { reason: 'asked', cleanLater: true })
    expect((await erased('quotedfirst')).residue).toEqual([])
    await erased('quotedsecond')
    for (const word of words.slice(0, 2)) expect([word, await all(store, word)]).toEqual([word, []])
    expect(words.map((word) => inIndex(file, word))).toEqual([true, true, true]) // marked as deleted
    await store.close()
    const again = await sqliteStore({ path: file })
    expect((await again.erase({ logs: [] })).residue).toEqual([])
    for (const word of words.slice(0, 2))
      expect([word, isOnDisk(file, `${word}tail`), inIndex(file, word)]).toEqual([word, false, false])
    expect(places(await all(again, 'quotedthird'))).toEqual(['quotedthird:0'])
    expect(await again.check()).toEqual([])
    await again.close()
  })

  it('of an earlier version counts as none, loses what is erased, and is replaced', async () => {
    const file = path()
    const store = await sqliteStore({ path: file })
    await createSession(store, { id: 'a', messages: [user('an olderword'), user('we decided')] })
    await store.close()
    const db = new DatabaseSync(file)
    db.exec(`create virtual table search using fts5 (terms, detail = none, columnsize = 0, tokenize = 'ascii');
      insert into search (search, rank) values ('secure-delete', 1);
      create table search_until (segment integer primary key, until integer not null) strict;
      insert into search_until select key, 2 from segment;
      insert into search (rowid, terms) select id, 'olderword' from row where id & 4294967295 = 0`)
    db.close()
    const again = await sqliteStore({ path: file })
    expect(await again.check()).toEqual([])
    expect(await searchStore(again, 'decided')).toMatchObject({ indexed: false, hits: [{ position: 1 }] })
    expect(await searchStore(again, { question: 'decide' })).toMatchObject({
      indexed: false,
      sessions: [{ session: 'a' }],
    })
    await (await openSession(again, 'a')).append(user('deciding'))
    await eraseMessages(again, 'a', [0], { reason: 'asked' })
    expect(isOnDisk(file, 'olderword')).toBe(false)
    expect(documents(file)).toBe(0)
    expect(await indexStore(again)).toBeGreaterThan(0)
    expect(await searchStore(again, { question: 'decide' })).toMatchObject({
      indexed: true,
      sessions: [{ session: 'a', more: 0 }],
    })
    await again.remove('a')
    expect(await again.check()).toEqual([])
    await again.close()
  })

  it('has no words of an encrypted session, which is searched with its keys only', async () => {
    const file = path()
    const store = await sqliteStore({ path: file })
    await indexStore(store)
    const ring = keyRing([newHostKey('host')])
    const session = await createSession(withKeys(store, ring), { id: 'a', messages: [user('a confidentialword')] })
    await session.append(user(`${'long '.repeat(2000)}confidentialword`))
    expect(await all(store, 'confidentialword')).toEqual([])
    await indexStore(store, { rebuild: true })
    expect(await all(store, 'confidentialword')).toEqual([])
    expect(documents(file)).toBe(0)
    expect(isOnDisk(file, 'confidentialword')).toBe(false)
    expect(places(await all(withKeys(store, ring), 'confidentialword', { sort: 'time' }))).toEqual(['a:1', 'a:0'])
    const reader = await sqliteStore({ path: file, readOnly: true })
    expect(await searchStore(reader, 'confidentialword')).toMatchObject({ hits: [], indexed: true, encrypted: ['a'] })
    await reader.close()
    await store.close()
  })

  it('catches up at the next search, or the page reports how many rows are missing', async () => {
    const file = path()
    const [store, other] = [await sqliteStore({ path: file }), await sqliteStore({ path: file })]
    await createSession(other, { id: 'a', messages: [user('eta one')] })
    await indexStore(store)
    // As an older version appends.
    const old = {
      ...other,
      append: (id: string, append: Append) => other.append(id, { ...append, terms: undefined as never }),
    }
    const session = await openSession(old, 'a')
    await session.append(user('eta two'))
    await session.append(user('eta three'))
    const reader = await sqliteStore({ path: file, readOnly: true })
    expect(await searchStore(reader, 'eta')).toMatchObject({ hits: [{ position: 0 }], behind: 2 })
    const page = await searchStore(store, 'eta', { sort: 'time' })
    expect(places(page.hits)).toEqual(['a:2', 'a:1', 'a:0'])
    expect(page).not.toHaveProperty('behind')
    expect((await searchStore(reader, 'eta')).hits).toHaveLength(3)
    await (await openSession(other, 'a')).append(user('eta four')) // by a handle that was there before the index
    expect(await searchStore(reader, 'eta', { sort: 'time' })).toMatchObject({ hits: [{ position: 3 }, {}, {}, {}] })
    const db = new DatabaseSync(file)
    db.exec("delete from log where id = 'a'; delete from segment; delete from row") // removed by a version without index
    db.close()
    expect((await searchStore(store, 'eta')).hits).toEqual([])
    await createSession(old, { id: 'c', messages: [user('theta')] })
    await indexStore(store)
    expect(documents(file)).toBe(1)
    for (const one of [store, other, reader]) await one.close()
  })

  it('is rebuilt if damaged, without blocking appends', async () => {
    const file = path()
    const store = await sqliteStore({ path: file })
    await indexStore(store)
    const session = await createSession(store, { id: 'a', messages: [user('iota one')] })
    const db = new DatabaseSync(file)
    db.enableDefensive?.(false)
    db.exec('delete from search_data')
    db.close()
    await session.append(user('iota two'))
    const found = await searchStore(store, 'iota')()
    expect(found).toMatchObject({ left: { _tag: 'DamagedIndex' } })
    if (found._tag === 'Left') expect(faultMessage(found.left)).toMatch(/index --rebuild/)
    expect(await store.check()).not.toEqual([])
    expect(await indexStore(store, { rebuild: true })).toBe(2)
    expect(places((await searchStore(store, 'iota', { sort: 'time' })).hits)).toEqual(['a:1', 'a:0'])
    expect(await store.check()).toEqual([])
    const ended = await dropIndex(store, { signal: AbortSignal.abort('gone') })()
    expect(ended).toMatchObject({ left: { _tag: 'Cancelled', cause: 'gone' } })
    expect(await searchStore(store, 'iota')).toMatchObject({ indexed: true })
    await dropIndex(store)
    expect(await searchStore(store, 'iota')).toMatchObject({ indexed: false, hits: [{}, {}] })
    await store.close()
  })
})

it('a question about named sessions sees what another connection has written since', async () => {
  const file = path()
  const [one, other] = [await sqliteStore({ path: file }), await sqliteStore({ path: file })]
  await indexStore(one)
  const found = async (): Promise<readonly string[]> =>
    (await searchStore(one, { question: 'needle', sessions: ['a', 'b'] })).sessions.map(({ session }) => session)
  expect(await found()).toEqual([])
  const a = await createSession(other, { id: 'a', messages: [user('A needle.')] })
  expect(await found()).toEqual(['a'])
  await createSession(one, { id: 'b', messages: [user('A needle.')] })
  expect((await found()).toSorted()).toEqual(['a', 'b'])
  await a.close()
  orThrow(await other.remove('a')())
  expect(await found()).toEqual(['b'])
  for (const store of [one, other]) await store.close()
})
