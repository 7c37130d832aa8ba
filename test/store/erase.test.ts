/** Erasing rows of logs: stubs, leaves, the ledger, and what is left in a file. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { keyRing, newHostKey, withKeys } from '@indelible/encryption'
import {
  createSession,
  faultMessage,
  forkSession,
  listSessions,
  memoryStore,
  orThrow,
  user,
  verifySession,
} from 'indelible'
import { checkErasure, copySession, createFork, eraseMessages, exportSession } from 'indelible/session'
import { verifyLog, type Store, type StoredRow } from 'indelible/store'
import { memoryDriver, storeOf, type StoreDriver } from 'indelible/store/driver'
import { ledgerId, ownStore, rowLeaf } from '../../src/store/internal.ts'
import { sqliteStore } from 'indelible/store/sqlite'
import { afterEach, describe, expect, it } from 'vitest'
import { isFull, rounds } from '../rounds.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})
const folder = (): string => {
  const made = mkdtempSync(join(tmpdir(), 'erase-'))
  folders.push(made)
  return made
}

const entry = (body: string): { readonly kind: 'entry'; readonly body: string } => ({ kind: 'entry', body })
const erase = async (store: Store, id: string, positions: readonly number[]) =>
  store.erase({
    logs: [
      { id, expected: (await store.info(id)).head, rows: positions.map((position) => ({ position, stub: '"gone"' })) },
    ],
    reason: 'asked to',
    by: 'ann',
  })

describe('an erasure of many rows', () => {
  it.each(['memory', 'sqlite'])(
    'runs in slices, each with its row of the ledger, and is one receipt (%s)',
    async (kind) => {
      const store = kind === 'memory' ? memoryStore() : await sqliteStore({ path: join(folder(), 'store.db') })
      const texts = Array.from({ length: 1000 }, (_, index) => user(`the message with number ${index}`))
      await createSession(store, { id: 's', messages: texts })
      await forkSession(store, 's', { id: 'fork', at: 900 })
      let turns = 0
      let isDone = false
      const count = (): void => void (isDone || (turns++, setImmediate(count)))
      setImmediate(count)
      const receipt = await eraseMessages(store, 's', { all: true }, { reason: 'asked to' })
      isDone = true
      // Slices of the transaction, of the rows that are read one by one twice, and of the search for equal texts.
      expect(turns).toBeGreaterThanOrEqual(12)
      expect(receipt.rows.length).toBe(1000)
      expect([receipt.proofs.length, receipt.remains.filter(({ what }) => what !== 'leaf')]).toEqual([4, []])
      expect(orThrow(checkErasure(receipt)).rows.length).toBe(1000)
      for (const id of ['s', 'fork']) await verifySession(store, id)
      expect((await eraseMessages(store, 's', { all: true })).proofs.length).toBe(4)
      expect(await store.check()).toEqual([])
      await store.close()
    },
  )
  it('continues where it was interrupted', async () => {
    const inner = memoryDriver()
    let slices = 0
    const driver: StoreDriver = {
      ...inner,
      erasing: {
        ...(inner.erasing as NonNullable<StoreDriver['erasing']>),
        erase: async (scope, erasure) => {
          if (slices++ === 2) throw new Error('the process was ended')
          return (inner.erasing as NonNullable<StoreDriver['erasing']>).erase(scope, erasure)
        },
      },
    }
    const store = orThrow(storeOf(driver))
    const messages = Array.from({ length: 1000 }, (_, index) => user(`the message with number ${index}`))
    await createSession(store, { id: 's', messages })
    expect(await eraseMessages(store, 's', { all: true })()).toMatchObject({ left: { _tag: 'Io' } })
    expect((await store.read('s')).filter(({ erased }) => erased !== undefined).length).toBe(512)
    await verifySession(store, 's')
    const receipt = await eraseMessages(store, 's', { all: true })
    expect(receipt.rows.length).toBe(1000)
    await verifySession(store, 's')
  })
  if (isFull)
    it('of 130,000 messages answers a receipt', async () => {
      const store = memoryStore()
      const session = await createSession(store, { id: 's' })
      for (let from = 0; from < 130_000; from += 10_000)
        await session.append(Array.from({ length: 10_000 }, (_, index) => user(`message number ${from + index}`)))
      expect((await eraseMessages(store, 's', { all: true })).messages.length).toBe(130_000)
    })
})

describe('a store file with erased rows', () => {
  it('treats a row without text as damage unless the ledger records its erasure', async () => {
    const path = join(folder(), 'store.db')
    const store = await sqliteStore({ path })
    await store.create({ id: 'log', rows: [entry('a'), entry('b')], encrypt: false })
    await erase(store, 'log', [0])
    await store.close()
    const db = new DatabaseSync(path)
    const leaf = Buffer.from(orThrow(await (await sqliteStore({ path })).read('log')())[0]?.erased ?? '', 'hex')
    db.prepare("update row set body = 'stub', erased = ? where body = 'b'").run(leaf)
    db.close()
    const again = await sqliteStore({ path })
    expect(await again.read('log')()).toMatchObject({ left: { _tag: 'DamagedLog', position: 1 } })
    expect(await again.read('log', { to: 1 })).toHaveLength(1)
    await again.close()
    const other = new DatabaseSync(path)
    other.prepare("update row set body = 'other' where erased is not null").run()
    other.close()
    const third = await sqliteStore({ path })
    expect(await third.read('log')()).toMatchObject({ left: { _tag: 'DamagedLog', position: 0 } })
    await third.close()
  })

  it('reports in a check each row without text and without a recorded erasure, also in forks', async () => {
    const path = join(folder(), 'store.db')
    const store = await sqliteStore({ path })
    const session = await createSession(store, { id: 's', messages: [user('a'), user('b')] })
    await (await forkSession(store, 's', { id: 'f' })).append(user('c'))
    await eraseMessages(store, 'f', [2])
    await eraseMessages(session, [1])
    expect(await store.check()).toEqual([])
    const db = new DatabaseSync(path)
    const [{ id, body }] = db.prepare('select id, body from row where erased is null order by id limit 1').all() as [
      { readonly id: number; readonly body: string },
    ]
    const { kind, at } = (await store.read('s'))[0] as StoredRow
    const leaf = rowLeaf({ kind, body, at }, store.hash)
    db.prepare('update row set erased = ? where id = ?').run(leaf, id)
    db.close()
    const what = 'its text is missing, and the ledger does not record that it was erased'
    expect(await store.check()).toEqual([
      { table: 'row', where: '"s" of scope "default" at 0', what, repairable: false },
    ])
    const reader = await sqliteStore({ path, readOnly: true })
    expect(await reader.check()).toEqual(await store.check())
    await reader.close()
    expect(await verifySession(store, 'f')()).toMatchObject({ left: { position: 0, reason: what } })
    await store.close()
  })

  it("reports it in a memory store's check, also without the ledger", async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's', messages: [user('a'), user('b')] })
    await eraseMessages(session, [1])
    expect(await store.check()).toEqual([])
    await ownStore(store).remove(ledgerId)
    expect(await store.check()).toMatchObject([{ table: 'row', where: '"s" of scope "default" at 1' }])
  })

  it('reports a row whose recorded erasure was undone until it is erased again', async () => {
    const path = join(folder(), 'store.db')
    const store = await sqliteStore({ path })
    const session = await createSession(store, { id: 's', messages: [user('a'), user('b')] })
    const before = new DatabaseSync(path).prepare('select id, body from row order by id limit 1').get() as object
    await eraseMessages(session, [0], { reason: 'asked to' })
    expect(await store.check()).toEqual([])
    const db = new DatabaseSync(path)
    const { id, body } = before as { readonly id: number; readonly body: string }
    db.prepare('update row set body = ?, erased = null where id = ?').run(body, id)
    db.close()
    const what = expect.stringMatching(
      /the ledger records that it was erased at .* \(asked to\), but its text is still there/,
    ) as string
    expect(await store.check()).toMatchObject([{ table: 'row', where: '"s" of scope "default" at 0', what }])
    expect(await verifySession(store, 's')()).toMatchObject({ left: { _tag: 'DamagedLog', position: 0, reason: what } })
    const forked = await createFork(store, 's', { id: 'f' })
    for (const one of ['s', forked.id]) {
      const to = memoryStore()
      const keys = withKeys(memoryStore(), keyRing([newHostKey()]))
      for (const call of [
        () => copySession(store, to, one)(),
        () => copySession(store, keys, one)(),
        () => exportSession(store, one)(),
      ]) {
        const refused = await call()
        expect(refused).toMatchObject({ left: { _tag: 'DamagedLog', id: one, position: 0, reason: what } })
        if (isLeft(refused)) expect(faultMessage(refused.left)).toMatch(/an older state was restored; erase it again$/)
      }
      expect((await listSessions(to)).sessions).toEqual([])
    }
    await eraseMessages(store, 's', [0])
    expect((await verifySession(store, 's')).erased).toEqual([0])
    expect(await store.check()).toEqual([])
    expect((await copySession(store, memoryStore(), 's')).len).toBe(2)
    await store.close()
  })

  it('has no bytes of erased rows, however its pages were moved', async () => {
    const numRuns = rounds(1, 50)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 9000 })), { minLength: 40, maxLength: 80 }),
        async (given) => {
          const path = join(folder(), 'store.db')
          const store = await sqliteStore({ path, durability: 'os' })
          const texts: { readonly id: string; readonly position: number; readonly text: string }[] = []
          for (let log = 0; log < 5; log++) await store.create({ id: `log${log}`, encrypt: false })
          for (const [log, length] of given) {
            const id = `log${log}`
            const { head } = await store.info(id)
            const text = Array.from({ length: Math.ceil(length / 8) }, (_, word) => `${log}-${head.size}-${word}`).join(
              ' ',
            )
            await store.append(id, { expected: head, rows: [entry(JSON.stringify({ text }))] })
            texts.push({ id, position: head.size, text })
          }
          const gone = texts.filter((_, index) => index % 3 === 0)
          for (const id of new Set(gone.map((one) => one.id)))
            expect(
              (
                await erase(
                  store,
                  id,
                  gone.filter((one) => one.id === id).map(({ position }) => position),
                )
              ).residue,
            ).toEqual([])
          const bytes = readdirSync(join(path, '..')).map((name) => readFileSync(join(path, '..', name)))
          for (const { text } of gone)
            for (let start = 0; start + 31 <= text.length; start += 31)
              expect(bytes.some((file) => file.includes(text.slice(start, start + 31)))).toBe(false)
          for (let log = 0; log < 5; log++) await verifyLog(store, `log${log}`)
          expect(await store.check()).toEqual([])
          await store.close()
        },
      ),
      { numRuns },
    )
  })

  it('waits briefly for another reading connection, and then leaves no bytes', async () => {
    const path = join(folder(), 'store.db')
    const store = await sqliteStore({ path })
    await store.create({ id: 'log', rows: [entry('a secret that is long enough')], encrypt: false })
    const other = new DatabaseSync(path)
    other.exec('begin; select count(*) from row')
    setTimeout(() => other.exec('commit'), 50)
    expect((await erase(store, 'log', [0])).residue).toEqual([])
    other.close()
    await store.close()
  })

  it('names the write-ahead log that a reader keeps from being emptied, and empties it on a second try', async () => {
    const path = join(folder(), 'store.db')
    const store = await sqliteStore({ path })
    await store.create({ id: 'log', rows: [entry('a secret that is long enough')], encrypt: false })
    const reader = new DatabaseSync(path)
    reader.exec('begin')
    reader.prepare('select count(*) from row').get()
    expect((await erase(store, 'log', [0])).residue).toMatchObject([{ where: 'wal' }])
    reader.exec('commit')
    reader.close()
    expect((await erase(store, 'log', [0])).residue).toEqual([])
    const bytes = readdirSync(join(path, '..')).map((name) => readFileSync(join(path, '..', name)))
    expect(bytes.some((file) => file.includes('a secret'))).toBe(false)
    await store.close()
  })
})
