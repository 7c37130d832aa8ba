/** The remedies of docs/errors.md for stores: each fault is provoked in memory or SQLite, and the page's advice followed. */
import { copyFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createSession, memoryStore, openOrCreateSession, openSession, orThrow, user } from 'indelible'
import { indexStore, searchStore } from 'indelible/search'
import { readRange } from 'indelible/session'
import type { BlockId, Row, Store } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import { holdSession, releaseSession } from '@indelible/evidence'
import { errorRows } from './error-rows.ts'
import { fault, ok } from './task-results.ts'

const row = (body: string, blocks?: readonly BlockId[]): Row => ({
  kind: 'entry',
  body,
  ...(blocks !== undefined && { blocks }),
})

/** A store with the log `s`, and its head. */
const startLog = async (store: Store = memoryStore({ now: () => 1 })) => ({
  store,
  head: (await ok(store.create({ id: 's', rows: [row('a')], encrypt: false }))).head,
})

const fresh = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'remedies-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 's.db')
}

const remedies: Readonly<Record<string, () => Promise<void>>> = {
  Conflict: async () => {
    const { store, head } = await startLog()
    await ok(store.append('s', { expected: head, rows: [row('b')] }))
    const { missed, actual } = await fault('Conflict', store.append('s', { expected: head, rows: [row('c')] }))
    expect(missed.map(({ body }) => body)).toEqual(['b'])
    await ok(store.append('s', { expected: actual, rows: [row('c')] }))
    await ok(store.fork('s', { id: 'fork', at: head.size }))
    await ok(store.append('fork', { expected: head, rows: [row('c')] }))
  },
  OperationMismatch: async () => {
    const { store, head } = await startLog()
    const first = await ok(store.append('s', { expected: head, rows: [row('b')], operation: 'one' }))
    const other = { expected: first.head, rows: [row('c')] }
    await fault('OperationMismatch', store.append('s', { ...other, operation: 'one' }))
    await ok(store.append('s', { ...other, operation: 'two' }))
  },
  MetaConflict: async () => {
    const { store } = await startLog()
    await ok(store.update('s', { expected: 1, meta: { theirs: 1 } }))
    const { actual, meta } = await fault('MetaConflict', store.update('s', { expected: 1, meta: { mine: 1 } }))
    const merged = await ok(store.update('s', { expected: actual, meta: { ...meta, mine: 1 } }))
    expect(merged.meta).toEqual({ theirs: 1, mine: 1 })
  },
  NoSuchLog: async () => {
    const store = memoryStore()
    const tenant = orThrow(store.scoped('tenant'))
    await ok(createSession(tenant, { id: 's' }))
    await fault('NoSuchLog', openSession(store, 's'))
    await ok(openSession(tenant, 's'))
    await ok(createSession(store, { id: 's' }))
    await ok(openSession(store, 's'))
  },
  LogExists: async () => {
    const store = memoryStore()
    await ok(createSession(store, { id: 's', messages: [user('a')] }))
    await fault('LogExists', createSession(store, { id: 's' }))
    expect((await ok(openOrCreateSession(store, 's'))).len).toBe(1)
    await ok(createSession(store, { id: 'another' }))
  },
  Cancelled: async () => {
    const store = memoryStore()
    await ok(createSession(store, { id: 's', messages: [user('a')] }))
    const { cause } = await fault('Cancelled', openSession(store, 's', { signal: AbortSignal.abort('gone') }))
    expect(cause).toBe('gone')
    await ok(openSession(store, 's'))
  },
  BeyondEnd: async () => {
    const { store, head } = await startLog()
    const { size } = await fault('BeyondEnd', store.fork('s', { id: 'fork', at: head.size + 1 }))
    await ok(store.fork('s', { id: 'fork', at: size }))
    expect((await ok(store.nodes('s', [size - 1]))).length).toBe(1)
  },
  InvalidId: async () => {
    const store = memoryStore()
    for (const id of ['', 'x'.repeat(256), 'a\nb']) await fault('InvalidId', createSession(store, { id }))
    await ok(createSession(store, { id: 'x'.repeat(255) }))
  },
  LeaseHeld: async () => {
    const { store } = await startLog()
    const held = await ok(store.lease('s', { holder: 'one', ttl: 5000 }))
    expect(await fault('LeaseHeld', store.lease('s', { holder: 'two', ttl: 5000 }))).toMatchObject({ remaining: 5000 })
    expect((await ok(store.requestStop('s')))?.holder).toBe('one')
    await ok(store.release('s', held.number))
    await ok(store.lease('s', { holder: 'two', ttl: 5000 }))
  },
  LeaseLost: async () => {
    const { store, head } = await startLog()
    const { number } = await ok(store.lease('s', { holder: 'one', ttl: 5000 }))
    await ok(store.release('s', number))
    await fault('LeaseLost', store.append('s', { expected: head, rows: [row('b')], lease: { number } }))
    const next = await ok(store.lease('s', { holder: 'one', ttl: 5000 }))
    expect((await ok(store.read('s'))).map(({ body }) => body)).toEqual(['a'])
    await ok(store.append('s', { expected: next.head, rows: [row('b')], lease: { number: next.number } }))
  },
  InvalidLease: async () => {
    const { store } = await startLog()
    await fault('InvalidLease', store.lease('s', { holder: '', ttl: 5000 }))
    await fault('InvalidLease', store.lease('s', { holder: 'one', ttl: -1 }))
    await ok(store.lease('s', { holder: 'one', ttl: 5000 }))
  },
  LogHeld: async () => {
    const store = memoryStore()
    await ok(createSession(store, { id: 's', messages: [user('a')] }))
    await ok(holdSession(store, 's', { reason: 'court' }))
    await fault('LogHeld', store.remove('s'))
    await ok(releaseSession(store, 's'))
    await ok(store.remove('s'))
  },
  NoKey: async () => {
    const plain = memoryStore()
    const ring = keyRing([newHostKey('one')])
    await ok(createSession(withKeys(plain, ring), { id: 's', messages: [user('a')] }))
    await fault('NoKey', openSession(plain, 's'))
    await fault('NoKey', openSession(withKeys(plain, keyRing([newHostKey('two')])), 's'))
    expect((await ok(openSession(withKeys(plain, ring), 's'))).len).toBe(1)
  },
  InvalidRow: async () => {
    const { store, head } = await startLog()
    const rows = [row('b'), { kind: 'entry', body: 5 } as never]
    const { index } = await fault('InvalidRow', store.append('s', { expected: head, rows }))
    await ok(store.append('s', { expected: head, rows: rows.with(index, row('c')) }))
  },
  InvalidMeta: async () => {
    const { store } = await startLog()
    const meta = { at: new Date(0) as never }
    const { path } = await fault('InvalidMeta', store.update('s', { expected: 1, meta }))
    expect(path).toEqual(['at'])
    await ok(store.update('s', { expected: 1, meta: { at: new Date(0).toISOString() } }))
  },
  MissingBlock: async () => {
    const { store, head } = await startLog()
    const bytes = new TextEncoder().encode('a file')
    const [id] = (await ok(memoryStore().putBlocks([bytes]))) as readonly [BlockId]
    const append = { expected: head, rows: [row('b', [id])] }
    expect((await fault('MissingBlock', store.append('s', append))).ids).toEqual([id])
    const { head: next } = await ok(store.append('s', { ...append, blocks: [bytes] }))
    await ok(store.putBlocks([bytes]))
    await ok(store.append('s', { ...append, expected: next }))
  },
  UnusedBlock: async () => {
    const { store, head } = await startLog()
    const bytes = new TextEncoder().encode('a file')
    const append = { expected: head, rows: [row('b')] }
    const { ids } = await fault('UnusedBlock', store.append('s', { ...append, blocks: [bytes] }))
    const { head: next } = await ok(store.append('s', append))
    await ok(store.append('s', { expected: next, rows: [row('c', ids)], blocks: [bytes] }))
  },
  Closed: async () => {
    const path = fresh()
    const { store } = await startLog(await ok(sqliteStore({ path })))
    await ok(store.close())
    await fault('Closed', store.info('s'))
    const again = await ok(sqliteStore({ path }))
    await ok(again.info('s'))
    await ok(again.close())
  },
  Busy: async () => {
    const path = fresh()
    const { store, head } = await startLog(await ok(sqliteStore({ path, wait: 20 })))
    const other = new DatabaseSync(path)
    other.exec('begin immediate')
    await fault('Busy', store.append('s', { expected: head, rows: [row('b')] }))
    other.exec('rollback')
    other.close()
    await ok(store.append('s', { expected: head, rows: [row('b')] }))
    await ok(store.close())
  },
  FileReplaced: async () => {
    const path = fresh()
    const filled = await startLog(await ok(sqliteStore({ path })))
    await ok(filled.store.close())
    const store = await ok(sqliteStore({ path }))
    copyFileSync(path, `${path}.copy`)
    renameSync(`${path}.copy`, path)
    await fault('FileReplaced', store.create({ id: 't', encrypt: false }))
    await ok(store.close())
    const again = await ok(sqliteStore({ path }))
    await ok(again.append('s', { expected: filled.head, rows: [row('b')] }))
    await ok(again.close())
  },
  NoStore: async () => {
    const path = fresh()
    await ok((await ok(sqliteStore({ path }))).close())
    await fault('NoStore', sqliteStore({ path: `${path}x`, create: false }))
    await ok((await ok(sqliteStore({ path, create: false }))).close())
  },
  NotAStore: async () => {
    const path = fresh()
    writeFileSync(path, 'not a database, but a text that is long enough to be one. '.repeat(20))
    await fault('NotAStore', sqliteStore({ path }))
    await ok((await ok(sqliteStore({ path: `${path}x` }))).close())
  },
  DamagedIndex: async () => {
    const path = fresh()
    const store = await ok(sqliteStore({ path }))
    await ok(indexStore(store))
    const session = await ok(createSession(store, { id: 's', messages: [user('iota')] }))
    const db = new DatabaseSync(path)
    db.enableDefensive?.(false)
    db.exec('delete from search_data')
    db.close()
    await ok(session.append(user('iota two')))
    await fault('DamagedIndex', searchStore(store, 'iota'))
    expect((await ok(readRange(store, 's'))).view.length).toBe(2)
    await ok(indexStore(store, { rebuild: true }))
    expect((await ok(searchStore(store, 'iota'))).hits).toHaveLength(2)
    await ok(store.close())
  },
  Io: async () => {
    const path = join(fresh(), 'missing', 's.db')
    await fault('Io', sqliteStore({ path }))
    mkdirSync(join(path, '..'), { recursive: true })
    await ok((await ok(sqliteStore({ path }))).close())
  },
}

/** The rows that are not tried here, and why. */
const untried: Readonly<Record<string, string>> = {
  Diverged: 'a person looks for the cause: session/tamper.test.ts has the fault',
  OtherLog: 'the remedy is that of NotASession: session/session.test.ts has the fault',
  CannotErase: 'needs a driver without `erasing`: store/handle.test.ts',
  NotALedger: 'needs a damaged ledger and a backup: evidence/test/ledger.test.ts',
  DamagedBlock: 'needs a damaged file and a backup: store/sqlite.test.ts',
  DamagedLog: 'the remedy is a page of its own, whose program the tests run: start/broken.md',
  ReadOnly: 'needs a user without permissions: store/sqlite.test.ts',
  Full: 'needs a full disk: store/packed.test.ts',
  NewerStore: 'the remedy is a later version of the library: store/sqlite.test.ts has the fault',
  OlderStore: 'needs a file of a development version: store/format.test.ts',
  NoFullText: 'the remedy is to search without an index: search/memory.test.ts',
  OpenedReadOnly: 'needs a user without permissions: store/sqlite.test.ts',
  NetworkFileSystem: 'needs a network file system: store/handle.test.ts',
  LogGrows: 'needs a long read in another process: store/sqlite.test.ts',
  DamageFound: 'the remedy is a command: store/check.test.ts runs it',
}

describe('what docs/errors.md says to do', () => {
  it('is tried for each fault of stores, or the reason is named', () => {
    const rows = errorRows.filter(({ entry }) => entry === 'indelible/store').map(({ tag }) => tag)
    expect([...Object.keys(remedies), ...Object.keys(untried)].toSorted()).toEqual(rows.toSorted())
  })
  it.each(Object.entries(remedies))('%s', async (_, remedy) => remedy())
})
