/** Holds: what they keep, and what happens at the same moment. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import {
  assistant,
  createSession,
  forkSession,
  memoryStore,
  openSession,
  orThrow,
  user,
  verifySession,
  type Store,
} from 'indelible'
import { destroyKey, keyRing, newHostKey, withKeys } from '@indelible/encryption'
import {
  holdSession,
  listHolds,
  readLedger,
  releaseSession,
  removeRecorded,
  updateLedger,
  verifyLedger,
  withLedger,
} from '@indelible/evidence'
import { copySession, eraseMessages, exportSession, proveErased } from 'indelible/session'
import { exportLines, readTranscript, importTranscript } from '@indelible/transcripts'
import { memoryDriver, storeOf } from 'indelible/store/driver'
import { ledgerContent, ledgerId, ledgerRow, ownStore, storeTask } from '../../../src/store/internal.ts'
import { sqliteStore } from 'indelible/store/sqlite'
import { afterAll, describe, expect, it } from 'vitest'
import { root } from '../../../scripts/run.ts'
import { fault, ok } from '../../../test/task-results.ts'
import { thawed } from '../../../test/thawed.ts'
import { holdCases } from './hold-cases.ts'
import { program } from '../../../test/programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-holds-'))
afterAll(() => rmSync(folder, { recursive: true }))
let files = 0

holdCases('memory', async () => {
  const driver = memoryDriver()
  return [orThrow(storeOf({ ...driver, close: async () => {} })), orThrow(storeOf(driver))]
})
holdCases('SQLite', async () => {
  const path = join(folder, `${files++}.db`)
  return [await sqliteStore({ path, durability: 'os' }), await sqliteStore({ path, durability: 'os' })]
})

it('across two processes, a session is held or removed, never both', async () => {
  const path = join(folder, 'processes.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const ids = Array.from({ length: 150 }, (_, index) => `s${index}`)
  for (const id of ids) await createSession(store, { id })
  const holder = spawn(process.execPath, [program('packages/evidence/test/hold-process.ts'), path, `${ids.length}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') },
  })
  const said = createInterface(holder.stdout)[Symbol.asyncIterator]()
  const outcomes: string[] = []
  for (const id of ids) {
    const answered = said.next() // what it said of the one before is read, so it is at this one
    const removed = await store.remove(id)()
    const { value } = (await answered) as { readonly value: string }
    outcomes.push(`${removed._tag} ${value}`)
  }
  expect([...new Set(outcomes)].filter((one) => one !== 'Right NoSuchLog' && one !== 'Left held')).toEqual([])
  expect((await readLedger(store)).held.size).toBe(outcomes.filter((outcome) => outcome === 'Left held').length)
  await store.close()
})

it('a hold keeps the messages of a session, and those that others share with it', async () => {
  const store = memoryStore()
  const session = await createSession(store, { id: 's', messages: [user('0'), user('1')] })
  await session.note({ type: 'pin', position: 0 })
  await session.append([user('2'), user('3')])
  const fork = await forkSession(store, 's', { id: 'fork', at: 2 })
  await fork.append(user('own'))
  expect(await listHolds(store, 's')).toEqual([])
  expect(await listHolds(store, 'none')()).toMatchObject({ left: { _tag: 'NoSuchLog' } })
  await holdSession(store, 'fork', { reason: 'case 14' })
  expect(await listHolds(store, 's')).toMatchObject([{ hold: { id: 'fork', reason: 'case 14' }, messages: 2 }])
  await holdSession(store, 's')
  expect((await listHolds(store, 's')).map(({ hold, messages }) => [hold.id, messages])).toEqual([
    ['s', 4],
    ['fork', 2],
  ])
  expect((await listHolds(store, 'fork')).map(({ hold, messages }) => [hold.id, messages])).toEqual([
    ['fork', 3],
    ['s', 2],
  ])
  expect(await listHolds(store, 'none')()).toMatchObject({ left: { _tag: 'NoSuchLog' } })
})

it('a held session that was removed and restored is reported as present by the ledger', async () => {
  const [store, backup] = [memoryStore(), memoryStore()]
  await createSession(store, { id: 's', messages: [user('hello')] })
  await createSession(store, { id: 'empty' })
  await copySession(store, backup, 's')
  for (const id of ['s', 'empty']) await removeRecorded(store, id)
  expect(await holdSession(store, 's')()).toMatchObject({ left: { _tag: 'NoSuchLog' } })
  await copySession(backup, store, 's')
  await createSession(store, { id: 'empty' })
  for (const id of ['s', 'empty']) {
    await holdSession(store, id, { reason: 'case 14' })
    for (const remove of [removeRecorded(store, id), withLedger(store).remove(id)])
      expect(await remove()).toMatchObject({ left: { _tag: 'LogHeld', reason: 'case 14' } })
  }
  const report = await verifyLedger(store)
  expect(report).toMatchObject({ good: 2, removed: 0, held: ['s', 'empty'] })
  expect(thawed(report)).toBeUndefined()
})

it('a missing session can be released if an earlier version left it held', async () => {
  const driver = memoryDriver()
  const store = orThrow(storeOf(driver))
  await createSession(store, { id: 's' })
  await holdSession(store, 's')
  await driver.remove('default', 's', undefined)
  await releaseSession(store, 's')
  expect((await readLedger(store)).held.size).toBe(0)
  expect(await releaseSession(store, 's')()).toMatchObject({ left: { _tag: 'NoSuchLog' } })
})

describe('keys and holds', () => {
  const ring = keyRing([newHostKey()])
  const keyed = async (): Promise<Store> => {
    const store = withKeys(memoryStore(), ring)
    await createSession(store, { id: 's', messages: [user('I ordered it')] })
    return store
  }

  it('keep the key of a held session, and one that a held fork needs', async () => {
    const store = await keyed()
    await forkSession(store, 's', { id: 'fork', at: 1 })
    await holdSession(store, 'fork', { reason: 'court', by: 'ann' })
    for (const id of ['fork', 's'])
      expect(await fault('LogHeld', destroyKey(store, id, ring))).toMatchObject({
        id: 'fork',
        reason: 'court',
        by: 'ann',
      })
    for (const id of ['fork', 's']) expect((await openSession(store, id)).view().at(0)).toEqual(user('I ordered it'))
    await releaseSession(store, 'fork')
    expect(await destroyKey(store, 's', ring)).toBe(true)
    await fault('NoKey', openSession(store, 'fork'))
  })
  it('record once which key was destroyed, why, by whom and when', async () => {
    const store = await keyed()
    expect(await destroyKey(store, 's', ring, { reason: 'Art. 17', by: 'ann' })).toBe(true)
    expect(await destroyKey(store, 's', ring)).toBe(false)
    const { destroyed, head } = await readLedger(store)
    expect(head.size).toBe(1)
    expect([...destroyed.values()]).toMatchObject([{ id: 's', reason: 'Art. 17', by: 'ann', row: 0 }])
    expect(await verifyLedger(store)).toMatchObject({ good: 0, unrecorded: ['s'] })
  })
  it('cannot hold a session whose key the ledger lists as destroyed', async () => {
    const store = await keyed()
    await destroyKey(store, 's', ring)
    await fault('NoKey', holdSession(store.encryption?.bare ?? store, 's'))
  })
  it('refuse to destroy, remove or erase while the ledger is unreadable', async () => {
    for (const kind of ['memory', 'SQLite']) {
      const inner =
        kind === 'memory' ? memoryStore() : await sqliteStore({ path: join(folder, `${files++}.db`), durability: 'os' })
      const store = withKeys(inner, ring)
      await createSession(store, { id: 's', messages: [user('I ordered it')] })
      await holdSession(store, 's')
      const { head } = await inner.info(ledgerId)
      await ownStore(inner).append(ledgerId, { expected: head, rows: [{ kind: 'note', body: 'damage' }] })
      for (const place of [inner, store, withLedger(store)]) expect((await place.remove('s')())._tag).toBe('Left')
      await fault('NotALedger', store.remove('s'))
      await fault('NotALedger', destroyKey(store, 's', ring))
      await fault('NotALedger', eraseMessages(store, 's', [0]))
      expect((await openSession(store, 's')).view().at(0)).toEqual(user('I ordered it'))
      await store.close()
    }
  })
})

describe('a row blanked in the file', () => {
  /** A held session, whose first row somebody blanks by SQL with the stub of another session that says the same. */
  const blanked = async (how: 'import' | 'copy'): Promise<Store> => {
    const path = join(folder, `${files++}.db`)
    const store = await sqliteStore({ path, durability: 'os' })
    await createSession(store, { id: 'evidence', messages: [user('I ordered it'), assistant('noted')] })
    await holdSession(store, 'evidence', { reason: 'court' })
    const theirs = memoryStore()
    const exported = await exportSession(store, 'evidence')
    const text = [...exportLines(exported)].join('').replaceAll('"evidence"', '"holiday"')
    await importTranscript(theirs, orThrow(readTranscript(text)), { id: 'holiday' })
    await eraseMessages(theirs, 'holiday', [0], { reason: 'Art. 17', by: 'ann, data protection officer' })
    if (how === 'copy') await copySession(theirs, store, 'holiday')
    else {
      const lines = [...exportLines(await exportSession(theirs, 'holiday'))].join('')
      await importTranscript(store, orThrow(readTranscript(lines)), { id: 'holiday' })
    }
    await updateLedger(store)
    const [stub] = await store.read('holiday')
    await store.close()
    const database = new DatabaseSync(path)
    database
      .prepare("update row set body = ?, erased = ? where body like '%I ordered it%'")
      .run(stub?.body ?? '', Buffer.from(stub?.erased ?? '', 'hex'))
    database.close()
    return sqliteStore({ path, durability: 'os' })
  }

  it('is damage, whatever another session with the same row claims: imported or copied', async () => {
    for (const how of ['import', 'copy'] as const) {
      const store = await blanked(how)
      await fault('DamagedLog', openSession(store, 'evidence'))
      await fault('DamagedLog', verifySession(store, 'evidence'))
      await fault('DamagedLog', proveErased(store, 'evidence', 0))
      expect((await store.check()).map(({ where }) => where)).toContainEqual(expect.stringContaining('"evidence"'))
      expect((await verifyLedger(store)())._tag).toBe('Left')
      await store.repair()
      await fault('DamagedLog', openSession(store, 'evidence'))
      await store.close()
    }
  })
  it("is not excused by another store's erasure claim, which is listed separately", async () => {
    for (const how of ['import', 'copy'] as const) {
      const store = await blanked(how)
      const [claim] = (await readLedger(store)).erasures
      expect(claim).toMatchObject({ id: 'holiday', copied: how === 'copy' ? { by: 'ann, data protection officer', reason: 'Art. 17' } : { reason: 'erased before it was exported' }, }) // oxfmt-ignore
      expect([claim?.by, claim?.reason]).toEqual([undefined, undefined])
      expect((await verifySession(store, 'holiday')).erased.length).toBeGreaterThan(0)
      await store.close()
    }
  })
  it('in a held session is not excused by a claim made after the hold', async () => {
    const store = memoryStore()
    await createSession(store, { id: 's', messages: [user('kept')] })
    await holdSession(store, 's')
    const [{ log } = { log: '' }] = await store.identities('s')
    const { head } = await store.info('s')
    const rows = [{ log, row: 0, kind: 'entry', index: 0, leaf: 'ab'.repeat(32), stub: 'cd'.repeat(32) }] as const
    const ledger = await store.info(ledgerId)
    const row = ledgerRow({ type: 'erased', id: 's', head, rows }, 1)
    await ownStore(store).append(ledgerId, { expected: ledger.head, rows: [row] })
    expect((await ok(ledgerTask(store))).erased.size).toBe(0)
    await releaseSession(store, 's')
    expect((await ok(ledgerTask(store))).erased.size).toBe(0)
  })
})

const ledgerTask = (store: Store) => storeTask(async () => ledgerContent(store), 'readLedger')

it('a ledger needs a store', () => {
  expect(() => withLedger(undefined as never)).toThrow(/^withLedger /)
})

describe('a hold', () => {
  const rowsOf = async (store: Store): Promise<readonly unknown[]> =>
    (await store.read(ledgerId)).map(({ body }) => JSON.parse(body) as unknown)

  it('and its release are rows with the head, the reason and the person, as they were at the call', async () => {
    const store = memoryStore()
    const { head } = await createSession(store, { id: 's', messages: [user('a')] })
    const logs = (await store.identities('s')).map(({ log, from }) => ({ log, from }))
    const [why, over] = [
      { reason: 'case 14', by: 'ann' },
      { reason: 'closed', by: 'bea' },
    ]
    const holding = holdSession(store, 's', why)()
    why.reason = 'another'
    expect(orThrow(await holding)).toEqual((await readLedger(store)).head)
    const { held } = await readLedger(store)
    expect(held.get('s')).toEqual({ id: 's', logs, row: 0, at: expect.any(Number), reason: 'case 14', by: 'ann' })
    expect(await holdSession(store, 's', { reason: 'again' })).toEqual((await readLedger(store)).head)
    const releasing = releaseSession(store, 's', over)()
    over.reason = 'another'
    expect(orThrow(await releasing)).toEqual((await readLedger(store)).head)
    expect(await releaseSession(store, 's')).toEqual((await readLedger(store)).head)
    const row = { id: 's', ...head() }
    expect(await rowsOf(store)).toEqual([
      { type: 'held', ...row, logs, reason: 'case 14', by: 'ann' },
      { type: 'released', ...row, reason: 'closed', by: 'bea' },
    ])
  })

  it('of a session that is missing or unreadable is released with its last head in the ledger, or an empty one', async () => {
    const driver = memoryDriver()
    const store = orThrow(storeOf(driver))
    const { head } = await createSession(store, { id: 's', messages: [user('a')] })
    await updateLedger(store)
    await createSession(store, { id: 'new', messages: [user('a')] })
    for (const id of ['s', 'new']) {
      await holdSession(store, id)
      await driver.remove('default', id, undefined)
      await releaseSession(store, id)
    }
    const empty = { size: 0, root: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855' }
    expect((await rowsOf(store)).filter((row) => (row as { type: string }).type === 'released')).toEqual([
      { type: 'released', id: 's', ...head() },
      { type: 'released', id: 'new', ...empty },
    ])
  })

  it('on a session that is restored with another head adds no row for that head', async () => {
    const store = memoryStore()
    await createSession(store, { id: 's', messages: [user('a')] })
    await removeRecorded(store, 's')
    const { head } = await createSession(store, { id: 's', messages: [user('b')] })
    await holdSession(store, 's')
    expect((await rowsOf(store)).slice(1)).toMatchObject([{ type: 'held', ...head() }])
    await updateLedger(store)
    expect((await rowsOf(store)).slice(2)).toEqual([{ type: 'head', id: 's', ...head() }])
  })

  it('on a session that was not removed, or was never in the ledger, adds only its own row', async () => {
    const store = memoryStore()
    for (const id of ['listed', 'new']) {
      await createSession(store, { id, messages: [user('a')] })
      if (id === 'listed') await updateLedger(store)
      await holdSession(store, id)
    }
    expect((await rowsOf(store)).map((row) => (row as { type: string }).type)).toEqual(['head', 'held', 'held'])
  })

  it('is taken back if the session is removed before the row is written, with the fault', async () => {
    const inner = memoryStore()
    await createSession(inner, { id: 's' })
    await updateLedger(inner)
    const store: Store = {
      ...inner,
      append: (id, append) =>
        storeTask(async () => {
          await inner.remove('s')() // somebody without a ledger
          return inner.append(id, append)()
        }, 'store.append'),
    }
    expect(await fault('NoSuchLog', holdSession(store, 's'))).toEqual({ _tag: 'NoSuchLog', id: 's' })
    expect((await readLedger(inner)).held.size).toBe(0)
  })

  it('is not possible for a key that the ledger lists as destroyed: the fault has the session, the key and the reason', async () => {
    const ring = keyRing([newHostKey()])
    const store = withKeys(memoryStore(), ring)
    await createSession(store, { id: 's' })
    await destroyKey(store, 's', ring)
    const [key] = (await readLedger(store)).destroyed.keys()
    expect(await fault('NoKey', holdSession(store.encryption?.bare ?? store, 's'))).toEqual({
      ...{ _tag: 'NoKey', id: 's', key, reason: 'the ledger records that its key was destroyed' },
    })
  })

  it('protects a number of messages, whatever notes are between them, frozen', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', messages: [user('0')] })
    await session.note({ type: 'pin', position: 0 })
    await session.append(user('1'))
    for (const [id, at] of [
      ['none', 0],
      ['one', 1],
      ['two', 2],
    ] as const) {
      await forkSession(store, 's', { id, at })
      await holdSession(store, id, { reason: id })
    }
    await session.note({ type: 'pin', position: 1 })
    const holds = await listHolds(store, 's')
    expect(holds.map(({ hold, messages }) => [hold.reason, messages])).toEqual([
      ['one', 1],
      ['two', 2],
    ])
    for (const one of [holds, ...holds]) expect(Object.isFrozen(one)).toBe(true)
    const plain = memoryStore()
    await createSession(plain, { id: 's' })
    expect(Object.isFrozen(await listHolds(plain, 's'))).toBe(true)
  })
})
