/** Somebody who can write to the file changes it behind the store's back. `verifySession` must name the first bad position. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft, map } from 'fp-ts/lib/Either.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  assistant,
  createSession,
  exportSession,
  forkSession,
  memoryStore,
  openSession,
  orThrow,
  readSession,
  textOf,
  toolCall,
  toolResult,
  user,
  verifySession,
} from 'indelible'
import { decodeRow, encodeRow, readRow, takeRow } from '../../src/entry/internal.ts'
import { createHistory, type Message } from 'indelible'
import { portableSha256 } from '../../src/proof/internal.ts'
import { proveEntry } from 'indelible/session'
import { exportLines, importTranscript, readTranscript } from '@indelible/transcripts'
import type { Store, StoredRow } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { oneIn } from '../rounds.ts'
import { ok } from '../task-results.ts'
import type { Head } from '../../src/store/port/row.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-tamper-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const original = join(folder, 'original.db')
const long = (position: number): string => `${position} `.repeat(4000)
let older: Head
let bodies: readonly string[]

/** 30 rows: messages with blocks at 3, 13 and 23, notes at 7, 17 and 27, plain messages else. */
beforeAll(async () => {
  const store = await ok(sqliteStore({ path: original }))
  const session = await ok(createSession(store, { id: 's' }))
  for (let position = 0; position < 30; position++) {
    if (position === 20) older = session.head()
    if (position % 10 === 7) await ok(session.note({ type: 'pin', position: position - 3 }))
    else if (position % 10 === 3) await ok(session.append(user(long(position))))
    else
      await ok(
        session.append(
          position % 2 === 0
            ? assistant(toolCall(`c${position}`, 'f', { position }))
            : toolResult(`c${position}`, 'done'),
        ),
      )
  }
  bodies = (await ok(store.read('s'))).map(({ body }) => body)
  await ok(verifySession(store, 's', { head: older }))
  await ok(store.close())
})

let copies = 0

/** What verifying says after a change to a copy of the file: the position of the damage, or the tag of the fault. */
const verdict = async (change: (db: DatabaseSync) => void, head?: Head): Promise<number | string> => {
  const path = join(folder, `copy-${copies++}.db`)
  copyFileSync(original, path)
  const db = new DatabaseSync(path)
  change(db)
  db.close()
  const store = await ok(sqliteStore({ path }))
  const verified = await verifySession(store, 's', head === undefined ? {} : { head })()
  await ok(store.close())
  rmSync(path)
  return isLeft(verified) ? (verified.left._tag === 'DamagedLog' ? verified.left.position : verified.left._tag) : 'good'
}

const rowAt = (position: number): string => `id & 4294967295 = ${position}`

/** All rows of a condition, a position further or back: by way of numbers that are free. */
const moved = (where: string, by: number): string =>
  `update row set id = -id - ${by} where ${where}; update row set id = -id where id < 0`

const flipped = (text: string, at: number): string =>
  text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ 1) + text.slice(at + 1)

describe('a tampered row', () => {
  it('is named for a flip of any character of its body', async () => {
    for (const position of [0, 7, 13, 29]) {
      const body = bodies[position] as string
      for (let at = 0; at < body.length; at += position === 0 ? oneIn(4) : 9 * oneIn(2)) {
        const set = (db: DatabaseSync): unknown =>
          db.prepare('update row set body = ? where id & 4294967295 = ?').run(flipped(body, at), position)
        expect([position, at, await verdict(set)]).toEqual([position, at, position])
      }
    }
  })
  it.each([
    ['a body that is empty', (at: number) => `update row set body = '' where ${rowAt(at)}`],
    [
      'a body that is another row’s',
      (at: number) => `update row set body = (select body from row where ${rowAt((at + 1) % 30)}) where ${rowAt(at)}`,
    ],
    ['another kind', (at: number) => `update row set place = place + 1 - 2 * (place % 2) where ${rowAt(at)}`],
    ['another number among its kind', (at: number) => `update row set place = place + 2 where ${rowAt(at)}`],
    ['a node of other bytes', (at: number) => `update row set node = randomblob(32) where ${rowAt(at)}`],
    ['a node that is cut', (at: number) => `update row set node = substr(node, 1, 31) where ${rowAt(at)}`],
  ])('%s', async (_name, sql) => {
    for (const position of [0, 3, 7, 8, 15, 29])
      expect([position, await verdict((db) => db.exec(sql(position)))]).toEqual([position, position])
  })
  it('is detected if deleted or inserted', async () => {
    for (const at of [0, 5, 7, 28]) {
      expect(await verdict((db) => db.exec(`delete from row where ${rowAt(at)}`))).toBe(at)
      expect(
        await verdict((db) => db.exec(`delete from row where ${rowAt(at)}; ${moved(`id & 4294967295 > ${at}`, -1)}`)),
      ).toBe(at)
      expect(
        await verdict((db) =>
          db.exec(
            `${moved(`id & 4294967295 >= ${at}`, 1)}; insert into row select id - 1, place, node, body, at, salt, erased, blocks from row where ${rowAt(at + 1)}`,
          ),
        ),
      ).toBe(at + 1)
    }
    expect(await verdict((db) => db.exec(`delete from row where ${rowAt(29)}`))).toBe(29)
  })
  it('is detected if swapped with another', async () => {
    for (const [a, b] of [
      [0, 1],
      [4, 20],
      [7, 17],
      [28, 29],
    ] as const) {
      const swap = `update row set id = -1 where ${rowAt(a)}; update row set id = id - ${b - a} where ${rowAt(b)}; update row set id = (select max(id) - (max(id) & 4294967295) + ${b} from row) where id = -1`
      expect([a, b, await verdict((db) => db.exec(swap))]).toEqual([a, b, a])
    }
  })
})

const contentOf = (id: string): string => `block = (select key from block where id = x'${id}')`

describe('a session with an altered row', () => {
  const altered = async (position: number, work: (store: Store) => Promise<void>): Promise<void> => {
    const path = join(folder, `altered-${copies++}.db`)
    copyFileSync(original, path)
    const db = new DatabaseSync(path)
    db.exec(`update row set body = replace(replace(body, 'done', 'EVIL'), '"f"', '"g"') where ${rowAt(position)}`)
    db.exec(
      `update row set body = replace(body, '"position":${position - 3}', '"position":1') where ${rowAt(position)}`,
    )
    db.close()
    const store = await ok(sqliteStore({ path }))
    await work(store)
    await ok(store.close())
  }
  it('does not open: the fault names the row', async () => {
    for (const position of [0, 1, 5, 7, 8, 27, 29])
      await altered(position, async (store) => {
        const opened = await openSession(store, 's')()
        expect(isLeft(opened) && opened.left).toMatchObject({ _tag: 'DamagedLog', position })
        expect(await verifySession(store, 's')()).toEqual(opened)
      })
  })
  it('is readable with a marker in place of the row', async () => {
    const whole = await ok(sqliteStore({ path: original }))
    const good = [...(await ok(readSession(whole, 's'))).at().rows()]
    await ok(whole.close())
    for (const position of [0, 5, 8, 29])
      await altered(position, async (store) => {
        const read = await ok(readSession(store, 's'))
        const rows = [...read.at().rows()]
        expect(rows.filter((_, row) => row !== position)).toEqual(good.filter((_, row) => row !== position))
        const [damage] = read.damaged
        expect(read.damaged).toEqual([
          { row: position, position: damage?.position, reason: 'the row was altered after it was appended' },
        ])
        const mark = rows[position]
        expect(mark?.kind === 'entry' && textOf(mark.message)).toContain(`[message ${damage?.position} is damaged`)
        expect(JSON.stringify(read.view())).not.toContain('EVIL')
      })
    await altered(7, async (store) => {
      const read = await ok(readSession(store, 's'))
      expect(read.damaged).toEqual([{ row: 7, reason: 'the row was altered after it was appended' }])
      expect(read.len).toBe(27)
      expect(read.notes().length).toBe(3)
    })
  })
  it('is exported with the marker and without a root, and forked before the row', async () => {
    await altered(5, async (store) => {
      const exported = await exportSession(store, 's')
      expect(exported.head).toEqual({ size: 30 })
      expect(exported.damaged).toHaveLength(1)
      const transcript = orThrow(readTranscript([...exportLines(exported)].join('')))
      const copy = await ok(importTranscript(store, transcript, { id: 'copy' }))
      expect(copy.len).toBe(27)
      const fork = await ok(forkSession(store, 's', { at: 5 }))
      await ok(fork.append(user('on')))
      await ok(verifySession(store, fork.id))
      expect(isLeft(await forkSession(store, 's', { at: 6 })())).toBe(true)
    })
  })
})

describe('referenced blocks', () => {
  it('are referenced by path, id and kind only', () => {
    const block = { path: ['content', 0, 'text'], id: 'a'.repeat(64), as: 'utf8', key: 'k' }
    const bodyWith = (value: unknown): string => `{"page":"plan","blocks":[${JSON.stringify(value)}],"message":{}}`
    expect(isLeft(decodeRow(bodyWith(block)))).toBe(false)
    for (const wrong of [
      { ...block, path: {} },
      { ...block, path: [null] },
      { ...block, id: {} },
      { ...block, id: 'a'.repeat(63) },
      { ...block, as: {} },
      { ...block, key: {} },
      null,
      'a',
    ])
      expect([wrong, decodeRow(bodyWith(wrong))]).toMatchObject([wrong, { left: 'is not a stored message' }])
  })
  it('come with a frozen decoded row', () => {
    const encoded = orThrow(encodeRow(user(long(1)), 'plan', false, portableSha256))
    const read = orThrow(readRow({ kind: 'entry', body: encoded.row.body, at: 1 }))
    const [block] = read.blocks
    for (const part of [read, read.blocks, block, block?.path]) expect(Object.isFrozen(part)).toBe(true)
    const history = createHistory<Message>()
    const bytes = new Map([[block?.id as never, encoded.blocks[0] as Uint8Array]])
    expect(isLeft(takeRow(history, read, bytes, portableSha256))).toBe(false)
    expect(history.view().at(0)).toEqual(user(long(1)))
  })
  it('that are altered, truncated or missing name the row referencing them', async () => {
    const ids = bodies.flatMap((body, position) =>
      [...body.matchAll(/"id":"([0-9a-f]{64})"/g)].map((match) => [position, match[1] as string] as const),
    )
    expect(ids.map(([position]) => position)).toEqual([3, 13, 23])
    for (const [position, id] of ids)
      for (const sql of [
        `update content set bytes = cast('x' || substr(bytes, 2) as blob) where ${contentOf(id)}`,
        `update content set bytes = substr(bytes, 1, length(bytes) - 1) where ${contentOf(id)}`,
        `update content set bytes = x'' where ${contentOf(id)}`,
        `delete from content where ${contentOf(id)}`,
        `delete from block where id = x'${id}'`,
        `update block set id = randomblob(32) where id = x'${id}'`,
      ])
        expect([position, sql, await verdict((db) => db.exec(sql))]).toEqual([position, sql, position])
  })
  it('that a receipt names are told apart: altered is damage at the receipt, missing is listed', async () => {
    const path = join(folder, 'recorded.db')
    const store = await ok(sqliteStore({ path }))
    const [tools, system] = await ok(store.putBlocks(['the tools', 'the system'].map((text) => Buffer.from(text))))
    const session = await ok(createSession(store, { id: 's', messages: [user('hello')] }))
    const details = { tools: tools as string, system: system as string, sent: [[0, 1]] }
    const receipt = { type: 'receipt', len: 1, contextDigest: '0'.repeat(64), model: 'm', details } as const
    await ok(session.note(receipt))
    await ok(session.note(receipt))
    await ok(store.close())
    const found = async (sql: string): Promise<unknown> => {
      const copy = join(folder, `altered-${copies++}.db`)
      copyFileSync(path, copy)
      const db = new DatabaseSync(copy)
      db.exec(sql)
      db.close()
      const altered = await ok(sqliteStore({ path: copy }))
      const verified = await verifySession(altered, 's')()
      await ok(altered.close())
      return isLeft(verified) ? verified.left : verified.right.missing
    }
    const alter = `update content set bytes = cast('other tools' as blob) where ${contentOf(tools as string)}`
    const remove = `delete from content where ${contentOf(system as string)}`
    const damage = { _tag: 'DamagedLog', id: 's', position: 1, reason: `block ${tools} is not what was appended` }
    expect(await found(alter)).toEqual(damage)
    expect(await found(remove)).toEqual([system])
    expect(await found(`${alter}; ${remove}`)).toEqual(damage)
  })
  it('are reported by the first damage of any type', async () => {
    const [, second] = bodies.flatMap((body) =>
      [...body.matchAll(/"id":"([0-9a-f]{64})"/g)].map((match) => match[1] as string),
    )
    expect(
      await verdict((db) =>
        db.exec(
          `delete from block where id = x'${second}'; update row set body = 'x' where ${rowAt(14)} or ${rowAt(20)}`,
        ),
      ),
    ).toBe(13)
    expect(
      await verdict((db) =>
        db.exec(
          `delete from block where id = x'${second}'; update row set body = 'x' where ${rowAt(12)} or ${rowAt(20)}`,
        ),
      ),
    ).toBe(12)
  })
})

describe('a row that changes after a store returned it', () => {
  it.each([1, 2, 3, 4, 5, 6])(
    'never shows another text under the same head: from read %s of its body on',
    async (from) => {
      const inner = memoryStore()
      const head = (await ok(createSession(inner, { id: 's', messages: [user('real'), assistant('real')] }))).head()
      const changing = (row: StoredRow): StoredRow => {
        let count = 0
        const body = { get: () => (++count < from ? row.body : row.body.replace('real', 'fake')), enumerable: true }
        return Object.defineProperty({ ...row }, 'body', body)
      }
      const read = ((...options: Parameters<Store['read']>) =>
        async () =>
          map((rows: readonly StoredRow[]) => rows.map(changing))(await inner.read(...options)())) as Store['read']
      for (const open of [openSession, readSession]) {
        const session = await open({ ...inner, read }, 's')()
        if (isLeft(session) || session.right.head().root !== head.root) continue
        expect(Array.from(session.right.view(), (message) => textOf(message)).join()).not.toContain('fake')
      }
    },
  )
})

describe('a tampered log', () => {
  it('does not match a head of another size or root', async () => {
    expect(await verdict((db) => db.exec('update log set size = 29'))).toBe(29)
    expect(await verdict((db) => db.exec('update log set size = 31'))).toBe(31)
    expect(await verdict((db) => db.exec('update log set root = zeroblob(32)'))).toBe(30)
    expect(await verdict((db) => db.exec('update log set entries = entries + 1'))).toBe(30)
  })
  it('with a consistently rewritten tail is detected by an earlier head', async () => {
    const path = join(folder, 'rewritten.db')
    copyFileSync(original, path)
    const store = await ok(sqliteStore({ path }))
    // A forger with the library itself: the same first 15 rows, then others.
    const rows = await ok(store.read('s', { to: 15 }))
    await ok(store.putBlocks([3, 13].map((position) => new TextEncoder().encode(long(position)))))
    await ok(store.remove('s'))
    const session = await ok(createSession(store, { id: 's' }))
    await ok(store.append('s', { expected: session.head(), rows: rows.map(({ kind, body }) => ({ kind, body })) }))
    const forged = await ok(openSession(store, 's'))
    for (let position = 15; position < 30; position++) await ok(forged.append(user('what was never said')))
    await ok(verifySession(store, 's'))
    const held = await verifySession(store, 's', { head: older })()
    expect(isLeft(held) && held.left._tag).toBe('Diverged')
    await ok(store.close())
  })
  it('with a truncated tail is detected by an earlier head', async () => {
    const path = join(folder, 'cut.db')
    const store = await ok(sqliteStore({ path }))
    const session = await ok(createSession(store, { id: 's' }))
    await ok(session.append(user('all that is left')))
    const held = await verifySession(store, 's', { head: older })()
    expect(isLeft(held) && held.left._tag).toBe('Diverged')
    await ok(store.close())
  })
  it('gives no proofs', async () => {
    const path = join(folder, 'unproven.db')
    copyFileSync(original, path)
    const db = new DatabaseSync(path)
    db.exec(`update row set body = replace(body, 'done', 'gone') where ${rowAt(5)}`)
    db.close()
    const store = await ok(sqliteStore({ path }))
    const proof = await proveEntry(store, 's', 5)()
    expect(isLeft(proof) && proof.left._tag).toBe('DamagedLog')
    await ok(store.close())
  })
})
