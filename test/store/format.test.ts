/** Formats: what a store says of its own, which are refused, and that nobody changes one without noticing. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { zstdCompressSync } from 'node:zlib'
import { afterAll, describe, expect, it } from 'vitest'
import { createSession, faultMessage, memoryStore, openSession, orThrow, user } from 'indelible'
import { readTranscript, importTranscript } from '@indelible/transcripts'
import { verifyLog } from 'indelible/store'
import { sqliteStore } from 'indelible/store/sqlite'
import { root } from '../../scripts/run.ts'
import { blockIdOf } from '../../src/proof/internal.ts'
import { findingText } from '../../src/store/internal.ts'
import { sumOf } from '../../src/store/sqlite/sum.ts'
import { formatsFor } from '../../packages/postgres/src/schema.ts'
import { applicationId, formats } from '../../src/store/sqlite/schema.ts'
import { rowSamples } from './row-samples.ts'
import { program } from '../programs.ts'
import { isFull } from '../rounds.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-format-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const fresh = (): string => join(folder, `${files++}.db`)
const copyOf = (fixture: string): string => {
  const path = fresh()
  copyFileSync(new URL(`../fixtures/${fixture}`, import.meta.url), path)
  return path
}
const change = (path: string, sql: string): string => {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
  return path
}
const faultOf = async (path: string, readOnly = false): Promise<unknown> => {
  const opened = await sqliteStore({ path, readOnly })()
  return opened._tag === 'Left' ? opened.left : 'opened'
}

describe('a store file of another format', () => {
  it.each([1, 2, 3, 4])('with the old format number %i is reported as older and left unchanged', async (found) => {
    const path = copyOf(`older/format-${found}.db`)
    const before = readFileSync(path)
    for (const readOnly of [false, true])
      expect(await faultOf(path, readOnly)).toEqual({ _tag: 'OlderStore', path, found })
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('with the current number and another fingerprint, or none, is older', async () => {
    const other = change(copyOf('store-2.db'), "update format set fingerprint = 'abcdef0123456789'")
    for (const readOnly of [false, true])
      expect(await faultOf(other, readOnly)).toEqual({
        _tag: 'OlderStore',
        path: other,
        found: formats.length,
        fingerprint: 'abcdef0123456789',
      })
    const none = change(copyOf('store-2.db'), 'drop table format')
    expect(await faultOf(none)).toEqual({ _tag: 'OlderStore', path: none, found: formats.length })
  })

  it('with a higher number is newer, whatever its fingerprint', async () => {
    const path = change(copyOf('store-1.db'), `pragma user_version = ${formats.length + 1}`)
    const newer = { _tag: 'NewerStore', path, found: formats.length + 1, supported: formats.length }
    expect(await faultOf(path)).toEqual(newer)
    change(path, "update format set fingerprint = 'other'")
    expect(await faultOf(path, true)).toEqual(newer)
  })

  it('of another program is not a store', async () => {
    const path = change(fresh(), 'create table format (fingerprint text); pragma user_version = 1')
    expect(await faultOf(path)).toMatchObject({ _tag: 'NotAStore' })
  })

  it('is refused with advice, naming what cannot be migrated', () => {
    expect(faultMessage({ _tag: 'OlderStore', path: 'a.db', found: 4 })).toMatch(
      /^a\.db was written by an earlier development version .*\(format 4\).* nothing was changed: .*"indelible export".* no call logs/,
    )
    expect(faultMessage({ _tag: 'OlderStore', path: 'a.db', found: 1, fingerprint: 'abcdef0123456789' })).toContain(
      '(format 1, fingerprint "abcdef012345")',
    )
  })
})

describe('a store file of any format', () => {
  it.each(formats.map((_, index) => index + 1))('%i opens, accepts appends, and supports erasure', async (format) => {
    const path = copyOf(`store-${format}.db`)
    const store = await sqliteStore({ path })
    const info = await verifyLog(store, 'conversation')
    expect(info).toMatchObject({ entries: 3, meta: { title: 'fixture' }, head: { size: 4 }, created: 0, appended: 0 })
    expect((await store.read('fork')).map(({ body }) => body)).toEqual(['{"message":1}', '{"message":2}', 'only here'])
    const late = { kind: 'entry' as const, body: 'and on', at: 1, salt: 'a'.repeat(32) }
    const { head } = await store.append('conversation', { expected: info.head, rows: [late] })
    await verifyLog(store, 'conversation', info.head)
    await store.erase({ logs: [{ id: 'conversation', expected: head, rows: [{ position: 1, stub: '"gone"' }] }] })
    for (const id of ['conversation', 'fork']) {
      expect((await verifyLog(store, id)).head.size).toBe(id === 'fork' ? 3 : 5)
      expect((await store.read(id))[1]?.body).toBe('"gone"')
    }
    expect(await store.check()).toEqual([])
    await store.close()
  })

  it('with blocks is upgraded: each row counts those it names, and an altered log stays altered', async () => {
    const path = fresh()
    const store = await sqliteStore({ path })
    const text = 'a text of a block '.repeat(400)
    const session = await createSession(store, { id: 'a', messages: [user('short'), user(text)] })
    await createSession(store, { id: 'b', messages: [user(text)] })
    await store.putBlocks([new Uint8Array(100_000)])
    await store.close()
    const old = fresh()
    const db = new DatabaseSync(old)
    db.function('sum_of', { varargs: true }, (...columns) => sumOf(...columns))
    db.function('packed', (bytes) => zstdCompressSync(bytes as Uint8Array))
    db.exec(`pragma journal_mode = wal; ${formats[0]?.sql ?? ''}; attach '${path}' as now;
      insert into scope select * from now.scope; insert into segment select * from now.segment;
      insert into log select key, scope, id, segment, size, entries, tokens, peaks, root, appended, created, used, sized, meta, changes,
        sum_of(scope, id, segment, size, entries, peaks, root, appended), meta_sum from now.log;
      update log set sum = 1 where id = 'b';
      insert into row select id, place, node, body, at, salt, erased from now.row;
      insert into block select key, scope, id, 1, kept, sum from now.block;
      insert into content select block, case when length(bytes) = 100000 then packed(bytes) else bytes end, case when length(bytes) = 100000 then 100000 end from now.content;
      insert into mention select row, block, 0 from now.mention; detach now;
      insert into format values ('${formats[0]?.fingerprint ?? ''}');
      pragma application_id = ${applicationId}; pragma user_version = 1`)
    db.close()
    const again = await sqliteStore({ path: old })
    expect((await again.check()).map(findingText)).toEqual([
      'log "b" of scope "default": its name or its segment is not what was stored',
    ])
    await again.repair()
    expect(await again.check()).toEqual([])
    expect((await openSession(again, 'a')).view().at(1)).toEqual(session.view().at(1))
    expect((await again.getBlocks([blockIdOf(new Uint8Array(100_000), again.hash)]))[0]?.length).toBe(100_000)
    await again.remove('a')
    expect((await openSession(again, 'b')).view().at(0)).toEqual(user(text))
    await again.close()
  })

  it('is migrated by the next process after a kill at any migration step', async () => {
    let killed = 0
    for (let step = 1; ; step += process.env['INDELIBLE_SOAK'] === undefined ? (isFull ? 9 : 13) : 1) {
      const path = fresh()
      const { status, signal, stderr } = spawnSync(
        process.execPath,
        [program('test/store/open-process.ts'), path, String(step)],
        { encoding: 'utf8', env: { ...process.env, NODE_COMPILE_CACHE: join(root, '.cache/compiled') } },
      )
      expect([status, signal, stderr]).toEqual(signal === null ? [0, null, ''] : [null, 'SIGKILL', ''])
      const store = await sqliteStore({ path })
      expect(await store.check()).toEqual([])
      await store.create({ id: 'a', encrypt: false })
      await store.close()
      if (signal === null) break
      killed += 1
    }
    expect(killed).toBeGreaterThan(3)
  })
})

describe('an export of a version with old format numbers', () => {
  const text = readFileSync(new URL('../fixtures/older/export.jsonl', import.meta.url), 'utf8')

  it('is imported as the same record', async () => {
    const store = memoryStore()
    const info = await importTranscript(store, orThrow(readTranscript(text)))
    expect(info).toMatchObject({ id: 'conversation', len: 2, metadata: { title: 'fixture' } })
    expect(info.head.root).toBe('f2a2b2eeeffc1223a988687f0833a0fc13eff06a4cbd584e06b136245b149ece')
    const session = await openSession(store, 'conversation')
    expect([
      session.view().at(0),
      [...session.at().rows()].filter(({ kind }) => kind === 'entry')[1]?.at,
      session.notes().length,
    ]).toEqual([user('What is 6 times 7?'), 1_700_000_000_000, 1])
  })

  it('gets the import time for rows without a time', async () => {
    const store = memoryStore({ now: () => 1_800_000_000_000 })
    const untimed = text.replaceAll(/,"at":\d+/g, '')
    expect(untimed).not.toBe(text)
    await importTranscript(store, orThrow(readTranscript(untimed)))
    expect((await store.read('conversation')).map(({ at }) => at)).toEqual(Array(3).fill(1_800_000_000_000))
    await verifyLog(store, 'conversation')
  })
})

describe('a format fingerprint', () => {
  const digest = (sql: readonly string[], samples: readonly string[]): string =>
    createHash('sha256')
      .update(JSON.stringify([sql, samples]))
      .digest('hex')
  const adapters = [
    ['SQLite', formats],
    ['PostgreSQL', formatsFor('"s"')],
  ] as const

  // Rows as they are written now are those of the newest format. Earlier ones keep the fingerprint that they had.
  it.each(adapters)('of the newest format of %s is the digest of its tables and sample rows', (_, all) => {
    const right = digest(
      all.map(({ sql }) => sql),
      rowSamples,
    )
    expect(
      all.at(-1)?.fingerprint,
      `The tables or the rows are not those of the newest format. Stores that have it must open and go on: append a format that brings them up to date, with the fingerprint ${right}, and make its fixture (test/fixtures/make-store.ts, make-postgres.ts).`,
    ).toBe(right)
  })

  it('of format 1 stays what it is: stores that have it open', () => {
    const first = adapters.map(([, all]) => all[0]?.fingerprint.slice(0, 12))
    expect(first).toEqual(['04746d3a6938', 'a7df374e8ac7'])
  })

  it.each(adapters)('changes with the tables and rows: %s', (_, all) => {
    const sql = all.map((format) => format.sql)
    const found = new Set([
      digest(sql, rowSamples),
      digest([...sql, 'create table more (a integer)'], rowSamples),
      digest([`${sql[0]} `], rowSamples),
      ...rowSamples.map((sample, index) => digest(sql, rowSamples.with(index, `${sample} `))),
    ])
    expect(found.size).toBe(3 + rowSamples.length)
    expect(new Set(all.map(({ fingerprint }) => fingerprint)).size).toBe(all.length)
  })

  it('is in a new file, with the application id', async () => {
    const path = fresh()
    await (await sqliteStore({ path })).close()
    const db = new DatabaseSync(path)
    expect({ ...db.prepare('select * from format').get() }).toEqual({ fingerprint: formats.at(-1)?.fingerprint })
    expect({ ...db.prepare('pragma application_id').get() }).toEqual({ application_id: applicationId })
    db.close()
  })
})
