/** Bookkeeping of a SQLite file that somebody has changed: found, repaired where the rest proves it, and never obeyed. */
import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft } from 'fp-ts/lib/Either.js'
import { Rows } from '../../src/store/sqlite/rows.ts'
import { checkDatabase } from '../../src/store/sqlite/check.ts'
import { Scopes } from '../../src/store/sqlite/scopes.ts'
import { sumOf } from '../../src/store/sqlite/sum.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSession, forkSession, listSessions, openSession, user, verifySession, type Store } from 'indelible'
import type { StoreNotice } from 'indelible/store'
import { findingText } from '../../src/store/internal.ts'
import { backupSqlite, sqliteStore } from 'indelible/store/sqlite'
import { oneIn } from '../rounds.ts'
import { fault, ok } from '../task-results.ts'
import { indelible } from '../../packages/cli/test/indelible.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-check-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const sha256 = (bytes: Uint8Array): Uint8Array => hash('sha256', bytes, 'buffer')
const original = join(folder, 'original.db')
const shared = 'a text that is long enough to be stored as a block of its own '.repeat(100)

/** `a` and `b` speak of one block; `fork` shares rows of `a`, `deep` those of `fork`. */
beforeAll(async () => {
  const store = await ok(sqliteStore({ path: original }))
  for (const id of ['a', 'b']) {
    const session = await ok(createSession(store, { id }))
    for (let turn = 0; turn < 10; turn++)
      await ok(session.append(user(turn === 2 ? shared : `${id} ${turn}`), { operation: `${turn}` }))
  }
  await ok(forkSession(store, 'a', { id: 'fork', at: 6 }))
  const fork = await ok(openSession(store, 'fork'))
  await ok(fork.append(user('only here')))
  await ok(forkSession(store, 'fork', { id: 'deep', at: 7 }))
  await ok(store.close())
})

let copies = 0
const damaged = (sql: string): string => {
  const path = join(folder, `copy-${copies++}.db`)
  copyFileSync(original, path)
  const db = new DatabaseSync(path)
  db.function('sum_of', { varargs: true }, (...columns) => sumOf(...columns))
  db.exec(sql)
  db.close()
  return path
}
const sessions = ['a', 'b', 'fork', 'deep']
const bad = async (store: Store): Promise<readonly string[]> => {
  const found: string[] = []
  for (const id of sessions) if (isLeft(await verifySession(store, id)())) found.push(id)
  return found
}
const segmentOf = (id: string): string => `(select segment from log where id = '${id}')`

/** Checks a copy of the file step by step, and removes everything after so many steps. */
const stepsWithRemoval = (after: number): number => {
  const db = new DatabaseSync(damaged(''))
  db.exec('begin')
  const tables = ['operation', 'log', 'row', 'mention', 'content', 'block', 'segment']
  let steps = 0
  for (const _ of checkDatabase(db, sha256, []))
    if (steps++ === after) db.exec(tables.map((table) => `delete from ${table}`).join(';'))
  db.close()
  return steps
}

describe('a store check', () => {
  it('finds nothing in an intact file', async () => {
    const store = await ok(sqliteStore({ path: original }))
    expect(await ok(store.check())).toEqual([])
    expect(await ok(store.repair())).toEqual([])
    await ok(store.close())
  })

  it('ends wherever everything is removed meanwhile', () => {
    const steps = stepsWithRemoval(-1)
    for (let after = 0; after < steps; after++) expect(stepsWithRemoval(after)).toBeGreaterThan(after)
  })

  // What it is; what is done to it; what a check says; whether all is as it was after a repair.
  it.each([
    [
      'a segment that is its own parent',
      `update segment set parent = key where key = ${segmentOf('fork')}`,
      /^segment 3: its start or its parent/,
      true,
    ],
    [
      'two segments that are each other’s parents',
      `update segment set parent = ${segmentOf('deep')} where key = ${segmentOf('a')}`,
      /^segment 1: its start or its parent/,
      true,
    ],
    [
      'a segment that begins elsewhere',
      `update segment set base = 5 where key = ${segmentOf('fork')}`,
      /^segment 3: its start or its parent/,
      true,
    ],
    [
      'a live segment that is marked as an orphan',
      `update segment set orphan = 1 where key = ${segmentOf('b')}`,
      /^segment 2: it is marked as that of a removed log/,
      true,
    ],
    ['an index that is missing', 'drop index segment_parent', /^schema index segment_parent: it is missing/, true],
    [
      'an index of other columns',
      'drop index mention_block; create index mention_block on mention (row)',
      /^schema index mention_block: it was altered/,
      true,
    ],
    ['forks that are not counted', `update segment set forks = 0`, /^segment 1: it counts 0 forks, and has 1/, true],
    [
      'a lost mention',
      'delete from mention where row >> 32 = 1',
      /^mention by segment 1 at 2: the row names 1 blocks, and 0 are mentioned/,
      true,
    ],
    ['all mentions lost', 'delete from mention', /^mention by segment 2 at 2: the row names 1 blocks, and 0/, true],
    [
      'a row that does not count its blocks',
      'update row set blocks = null',
      /^row by segment 1 at 2: it names blocks, and counts none/,
      true,
    ],
    [
      'a row that counts too many blocks',
      'update row set blocks = 2 where blocks = 1',
      /^mention by segment 1 at 2: the row names 2 blocks, and 1 are mentioned/,
      false,
    ],
    ['a block that is suddenly kept', 'update block set kept = 1', /whether it is kept, is not what was stored/, true],
    [
      'a block with another id',
      'update block set id = zeroblob(32)',
      /^block 0{64}: its bytes are not those of its id/,
      true,
    ],
    [
      'peaks',
      `update log set peaks = zeroblob(length(peaks)) where id = 'a'`,
      /^log "a" of scope "default": its (?:head|name)/,
      true,
    ],
    [
      'a root',
      `update log set root = zeroblob(32) where id = 'a'`,
      /^log "a" .*its head is not that of its 10 rows/,
      true,
    ],
    ['a size', `update log set size = 9 where id = 'a'`, /^log "a" .*its head is not that of its 10 rows/, true],
    ['a count of entries', `update log set entries = 9 where id = 'fork'`, /^log "fork" .*its (?:head|name)/, true],
    [
      'tokens that no receipt reports',
      `update log set tokens = 7 where id = 'b'`,
      /^log "b" .*its tokens are not those of its receipts/,
      true,
    ],
    [
      'the segment of another log',
      `update log set segment = ${segmentOf('b')} where id = 'a'`,
      /^log "a" .*its (?:head|name)/,
      true,
    ],
    [
      'a node',
      'update row set node = zeroblob(32) where id & 4294967295 = 3 and id >> 32 = 1',
      /^row "a" of scope "default" at 3: the data stored beside the row/,
      true,
    ],
    [
      'a place',
      'update row set place = place + 2 where id & 4294967295 = 3 and id >> 32 = 1',
      /^row "a" .* at 3: the data stored beside the row/,
      true,
    ],
    [
      'a kind',
      'update row set place = place + 1 where id & 4294967295 = 3 and id >> 32 = 1',
      /^row "a" .* at 3: the data stored beside the row/,
      true,
    ],
    [
      'the next key',
      `update sqlite_sequence set seq = 1 where name = 'segment'`,
      /^sequence segment: the last key is 4, but the sequence is at 1/,
      true,
    ],
    [
      'a key that is too large',
      `update sqlite_sequence set seq = 1 << 40 where name = 'segment'`,
      /^sequence segment/,
      true,
    ],
    [
      'an operation',
      `update operation set id = 'x' where log = 1 and id = '3'`,
      /^operation "x" of "a" .*: it is not what was stored/,
      false,
    ],
    [
      'a scope’s name',
      `update scope set name = 'defaulu'`,
      /^scope 1 "defaulu": its name is not what was stored/,
      false,
    ],
    [
      'metadata',
      `update log set meta = replace(meta, '1', '0') where id = 'b'`,
      /^log "b" .*: its metadata or creation time is not what was stored/,
      false,
    ],
    [
      'the time of creation',
      `update log set created = created + 1 where id = 'b'`,
      /^log "b" .*: its metadata or creation time/,
      false,
    ],
    [
      'a mention',
      'update mention set row = row + 1 where row >> 32 = 1',
      /^mention of block 1 by segment 1 at 3: the row does not name it/,
      true,
    ],
    [
      'a row',
      `update row set body = 'x' where id & 4294967295 = 3 and id >> 32 = 1`,
      /^log "a" of scope "default": its head is not that of its 10 rows/,
      false,
    ],
    [
      'a missing row',
      'delete from row where id & 4294967295 = 3 and id >> 32 = 1',
      /^row "a" of scope "default": damaged at row 3: its row is missing/,
      false,
    ],
    [
      'other bytes',
      `update content set bytes = x'00'`,
      /^block [0-9a-f]{64}: its bytes are not those of its id/,
      false,
    ],
    [
      'a fork that begins before its parent, or is of another scope',
      `insert into scope (key, name, sum) select 9, 'other', sum from scope limit 1; update segment set scope = 9 where key = ${segmentOf('a')}`,
      /^segment 3: its parent 1 begins after it, or is of another scope/,
      false,
    ],
    ['missing bytes', 'delete from content', /^block [0-9a-f]{64}: its bytes are missing/, false],
    [
      'a log without its segment',
      `delete from segment where key = ${segmentOf('deep')}`,
      /^log "deep" .*: its segment 4 is missing/,
      false,
    ],
    ['a segment without its log', `delete from log where id = 'deep'`, /^segment 4: its log is missing/, false],
    [
      'a trigger',
      'create trigger t after insert on row begin delete from row; end',
      /^schema trigger t: it does not belong to this library/,
      false,
    ],
  ] as const)('finds %s, and repair fixes or leaves it', async (_name, sql, says, mends) => {
    const path = damaged(sql)
    const store = await ok(sqliteStore({ path }))
    await ok(store.list())
    const findings = await ok(store.check())
    expect(findings.map(findingText)).toContainEqual(expect.stringMatching(says))
    const repairs = await ok(store.repair())
    expect(repairs.map(({ done: _done, ...rest }) => findingText(rest))).toEqual(findings.map(findingText))
    // Of several findings some only follow from another.
    expect(repairs.map(({ done }) => done !== undefined)).toEqual(findings.map(({ repairable }) => mends || repairable))
    const after = await ok(store.check())
    if (mends) {
      expect(after.map(findingText)).toEqual([])
      expect(await bad(store)).toEqual([])
    } else expect(after.map(findingText)).toContainEqual(expect.stringMatching(says))
    await ok(store.close())
  })
})

it('a check beside writers reads in short pieces and finds only real damage', async () => {
  for (const sql of ['select 1', 'delete from mention where row >> 32 = 1']) {
    const path = damaged(sql)
    const store = await ok(sqliteStore({ path, durability: 'os' }))
    const session = await ok(openSession(store, 'b'))
    const other = new DatabaseSync(path)
    const emptied: unknown[] = []
    const checking = new AbortController()
    const writing = (async () => {
      while (!checking.signal.aborted) {
        await ok(session.append(user('written meanwhile')))
        emptied.push(other.prepare('pragma wal_checkpoint(truncate)').get()?.['busy'])
      }
    })()
    try {
      for (let turn = 0; turn < 3; turn++)
        expect((await ok(store.check())).map(findingText)).toEqual(
          sql === 'select 1' ? [] : [expect.stringMatching(/the row names 1 blocks, and 0 are mentioned/)],
        )
    } finally {
      checking.abort()
      await writing
    }
    if (sql === 'select 1') expect(new Set(emptied)).toEqual(new Set([0]))
    other.close()
    await ok(store.close())
  }
})

it('damage is reported once, for its row, also if only forks have it', async () => {
  const found = async (path: string): Promise<readonly string[]> => {
    const store = await ok(sqliteStore({ path }))
    const texts = (await ok(store.check())).map(findingText)
    await ok(store.close())
    return texts
  }
  const row = (position: number): string => `id = (1 << 32) + ${position}`
  // The operations whose roots are made of the missing row are not said to be damaged.
  const missing = await found(damaged(`delete from row where ${row(3)}`))
  expect(missing.filter((text) => text.startsWith('operation'))).toEqual([])
  const orphaned = async (sql: string): Promise<string> => {
    const path = damaged('select 1')
    const store = await ok(sqliteStore({ path }))
    await ok(store.remove('a'))
    await ok(store.close())
    const db = new DatabaseSync(path)
    db.exec(sql)
    db.close()
    return path
  }
  const beside = 'the data stored beside the row does not match it'
  expect(await found(await orphaned(`update row set node = zeroblob(32) where ${row(4)}`))).toContain(
    `row segment 1 at 4: ${beside}`,
  )
  expect(await found(await orphaned(`delete from row where ${row(2)}`))).toContain(
    'row segment 1: damaged at row 2: its row is missing',
  )
  expect(await found(await orphaned('select 1'))).toEqual([])
  const alive = await found(
    damaged(`update row set node = zeroblob(32) where ${row(9)}; update segment set orphan = 1 where key = 1`),
  )
  expect(alive.filter((text) => text.endsWith(beside))).toEqual([`row "a" of scope "default" at 9: ${beside}`])
})

it('a head naming rows of another scope is never rebuilt from them, even if equal', async () => {
  const path = join(folder, 'scopes.db')
  const store = await ok(sqliteStore({ path, now: () => 1_000_000 }))
  const other = store.scoped('other')
  if (isLeft(other)) throw new Error('the scope is good')
  for (const one of [store, other.right])
    await ok(one.create({ id: 'a', encrypt: false, rows: [{ kind: 'entry', body: 'the same', at: 5 }] }))
  await ok(store.close())
  const segment = (): unknown => {
    const db = new DatabaseSync(path)
    try {
      return db.prepare('select segment from log order by key').all()
    } finally {
      db.close()
    }
  }
  const before = segment()
  const db = new DatabaseSync(path)
  db.exec('update log set segment = 1 where key = 2')
  db.close()
  const again = await ok(sqliteStore({ path }))
  await ok(again.repair())
  expect(await ok(again.check())).toEqual([])
  await ok(again.close())
  expect(segment()).toEqual(before)
})

/** Registers what a cache forgets, and rolls back as the writer does. */
const rollsBack = (db: DatabaseSync) => {
  const forgets: (() => void)[] = []
  return {
    onRollBack: (forget: () => void) => void forgets.push(forget),
    rollBack: () => {
      db.exec('rollback')
      for (const forget of forgets) forget()
    },
  }
}

it("a segment's start is looked up once, and not cached from a transaction that is rolled back", () => {
  const db = new DatabaseSync(damaged('select 1'))
  const writer = rollsBack(db)
  const rows = new Rows(db, writer)
  const add = db.prepare('insert into segment (key, scope, parent, base, sum) values (99, 1, ?, ?, ?)')
  db.exec('begin')
  add.run(1, 3, sumOf(1, 1, 3))
  expect(rows.stretches(99, 0, 3).map(({ segment }) => segment)).toEqual([1])
  writer.rollBack()
  db.exec('begin')
  expect(() => rows.stretches(99, 0, 3)).toThrow()
  add.run(2, 5, sumOf(1, 2, 5))
  expect(rows.stretches(99, 0, 5).map(({ segment }) => segment)).toEqual([2])
  db.exec('commit')
  db.exec('delete from segment')
  expect(rows.stretches(99, 0, 5).map(({ segment }) => segment)).toEqual([2])
  db.close()
})

it("a scope's number is looked up once, and not cached from a transaction that is rolled back", () => {
  const db = new DatabaseSync(damaged('select 1'))
  const writer = rollsBack(db)
  const scopes = new Scopes(db, writer)
  db.exec('begin')
  const first = scopes.own('new')
  expect([scopes.keyOf('new'), scopes.own('new')]).toEqual([first, first])
  writer.rollBack()
  db.exec('begin')
  expect(scopes.keyOf('new')).toBe(-1)
  scopes.own('before')
  const second = scopes.own('new')
  db.exec('commit')
  expect(second).not.toBe(first)
  db.exec('delete from scope')
  expect([scopes.keyOf('new'), scopes.keyOf('after')]).toEqual([second, -1])
  db.close()
})

it('one repair is enough where damage hid more damage, and it reports what is left', async () => {
  const path = join(folder, 'many.db')
  const store = await ok(sqliteStore({ path, durability: 'os' }))
  const session = await ok(createSession(store, { id: 'first', messages: [user('one'), user('two')] }))
  for (let fork = 0; fork < 120; fork++) await ok(forkSession(store, 'first', { id: `fork ${fork}`, at: 1 }))
  await ok(session.close())
  await ok(store.close())
  const db = new DatabaseSync(path)
  db.exec(`update segment set base = 7, forks = 3 where parent is not null; drop index log_segment;
    update scope set name = 'other'`)
  db.close()
  const again = await ok(sqliteStore({ path }))
  const found = await ok(again.check())
  const repairs = await ok(again.repair())
  const left = await ok(again.check())
  expect(found.filter(({ repairable }) => repairable).length).toBe(241)
  expect(repairs.filter(({ done }) => done !== undefined).length).toBe(241)
  expect(repairs.filter(({ done }) => done === undefined).map((each) => findingText(each))).toEqual(
    left.map(findingText),
  )
  expect(left.map(findingText)).toEqual([expect.stringMatching(/^scope 1 "other": its name is not what was stored/)])
  await ok(again.close())
})

it('a repair reports where a segment begins, with its parent if it has one', async () => {
  const store = await ok(
    sqliteStore({
      path: damaged(
        `update segment set base = 1 where parent is null; update segment set base = 7 where parent is not null`,
      ),
    }),
  )
  const done = (await ok(store.repair())).flatMap((repair) => repair.done ?? [])
  expect(done).toContainEqual('it begins at 0 again')
  expect(done).toContainEqual(expect.stringMatching(/^it begins at \d+ of segment \d+ again$/))
  await ok(store.close())
})

it('one repair is enough for zeroed peaks and nodes of a parent with forks', async () => {
  const path = damaged(
    `update row set node = zeroblob(32), place = 0 where id >> 32 in (1, 3); update log set peaks = zeroblob(32), sized = 0, used = 0, entries = 0`,
  )
  const store = await ok(sqliteStore({ path }))
  expect((await ok(store.repair())).filter(({ done }) => done === undefined)).toEqual([])
  expect(await ok(store.check())).toEqual([])
  expect(await bad(store)).toEqual([])
  await ok(store.close())
})

describe('a text that two sessions share, after its mention by one of them was lost', () => {
  const lost = 'delete from mention where row >> 32 = 2'
  const sharedBy = async (store: Store, id: string): Promise<boolean> => {
    const opened = await ok(openSession(store, id))
    return JSON.stringify(opened.view().at(2)).includes(shared)
  }
  it('stays when the other one is removed, with and without a repair, and an erasure reports it', async () => {
    for (const isRepaired of [false, true]) {
      const path = damaged(lost)
      const store = await ok(sqliteStore({ path }))
      if (isRepaired) expect((await ok(store.repair())).map(({ done }) => done)).toEqual(['they were read from the row again']) // oxfmt-ignore
      for (const id of ['deep', 'fork', 'a']) await ok(store.remove(id))
      expect(await sharedBy(store, 'b')).toBe(true)
      expect(await ok(store.check())).toEqual([])
      await ok(store.remove('b'))
      const db = new DatabaseSync(path, { readOnly: true })
      expect(db.prepare('select count(*) as blocks from block').get()).toEqual({ blocks: 0 })
      db.close()
      await ok(store.close())
    }
    const store = await ok(sqliteStore({ path: damaged(lost) }))
    const { head } = await ok(store.info('a'))
    const erased = await ok(
      store.erase({ logs: [{ id: 'a', expected: head, rows: [{ position: 2, stub: '"gone"' }] }] }),
    )
    expect(erased.blocks).toEqual([expect.objectContaining({ rows: 1, kept: false })])
    expect(await sharedBy(store, 'b')).toBe(true)
    await ok(store.close())
  })
  it('stays when nobody can say which block a row names', async () => {
    const path = damaged(`${lost}; update row set blocks = 3 where id >> 32 = 2 and blocks = 1`)
    const store = await ok(sqliteStore({ path }))
    for (const id of ['deep', 'fork', 'a']) await ok(store.remove(id))
    expect(await sharedBy(store, 'b')).toBe(true)
    await ok(store.remove('b'))
    expect((await ok(store.check())).map(findingText)).toEqual([
      expect.stringMatching(/^block [0-9a-f]{64}: no row references it, and it was not stored on its own$/),
    ])
    await ok(store.close())
  })
})

describe('damaged bookkeeping', () => {
  it('never loops on circular segments', async () => {
    for (const sql of [
      `update segment set parent = key where key = ${segmentOf('fork')}`,
      `update segment set parent = ${segmentOf('deep')} where key = ${segmentOf('a')}`,
      // With sums that fit, as an attacker makes them.
      `update segment set parent = key where key = ${segmentOf('fork')}; update segment set sum = sum_of(scope, parent, base)`,
      `update segment set parent = ${segmentOf('deep')}, base = 1 where key = ${segmentOf('a')}; update segment set sum = sum_of(scope, parent, base)`,
    ]) {
      const store = await ok(sqliteStore({ path: damaged(sql) }))
      expect(isLeft(await verifySession(store, 'deep')())).toBe(true)
      expect(isLeft(await openSession(store, 'deep')())).toBe(true)
      expect((await ok(store.check())).length).toBeGreaterThan(0)
      await ok(store.repair())
      await ok(store.remove('deep'))
      await ok(store.close())
    }
  })
  it('never lets a removal delete rows or blocks of another log', async () => {
    for (const sql of [
      'delete from mention where row >> 32 = 2',
      'update segment set orphan = 1',
      `update segment set forks = 0`,
      `update log set segment = ${segmentOf('b')} where id = 'a'`,
    ]) {
      const store = await ok(sqliteStore({ path: damaged(sql) }))
      await ok(store.remove('a'))
      for (const id of ['b', 'fork', 'deep']) await ok(verifySession(store, id))
      await ok(store.close())
    }
  })
  it('refuses appends where they might not be found again', async () => {
    const good = await ok(sqliteStore({ path: original }))
    const { head } = await ok(good.info('a'))
    await ok(good.close())
    for (const sql of [
      `update log set segment = ${segmentOf('b')} where id = 'a'`,
      `update log set peaks = zeroblob(length(peaks)) where id = 'a'`,
      `update segment set base = 100 where key = ${segmentOf('a')}`,
    ]) {
      const store = await ok(sqliteStore({ path: damaged(sql) }))
      await fault('DamagedLog', store.append('a', { expected: head, rows: [{ kind: 'entry', body: 'x' }] }))
      await ok(store.close())
    }
  })
  it('lists an unreadable log as one line that can be removed', async () => {
    const changes = [
      ["meta = 'null'", 'metadata'],
      ["meta = 'nonsense'", 'metadata'],
      ['created = 1 << 60', 'created'],
      ['created = 9007199254740992', 'created'],
      ['size = 1 << 60', 'size'],
      ['size = -1', 'size'],
      ['changes = 1 << 60', 'version'],
      ["root = x'00'", 'head'],
    ] as const
    for (const [at, [change, what]] of changes.entries()) {
      const path = damaged(`update log set ${change} where id = 'b'`)
      const notices: StoreNotice[] = []
      const store = await ok(sqliteStore({ path, onNotice: (notice) => notices.push(notice) }))
      const page = await ok(listSessions(store))
      expect([change, page.sessions.map(({ id }) => id), page.damaged?.map(({ id }) => id)]).toEqual([
        change,
        ['deep', 'fork', 'a'],
        ['b'],
      ])
      const damage = { _tag: 'DamagedLog', id: 'b', position: 0, reason: `its ${what} can not be read` }
      expect(notices).toEqual([{ _tag: 'DamageFound', scope: 'default', fault: damage }])
      await fault('DamagedLog', verifySession(store, 'b'))
      await ok(store.close())
      if (at % oneIn(4) === 0) {
        const list = indelible(['list', '--store', path])
        expect(list).toMatchObject({ status: 1, stderr: expect.stringMatching(/b.*: its /m) as string })
        expect(indelible(['verify', '--all', '--store', path])).toMatchObject({
          status: 1,
          stdout: expect.stringContaining('4 sessions verified, 1 damaged') as string,
        })
      }
      if (change !== "meta = 'null'") {
        const again = await ok(sqliteStore({ path }))
        await ok(again.remove('b'))
        expect((await ok(again.list())).damaged).toBeUndefined()
        await ok(again.close())
      }
      if (change !== "meta = 'null'") continue // a process for each takes its time
      expect(indelible(['remove', 'b', '--yes', '--store', path])).toMatchObject({
        status: 0,
        stdout: 'b: removed, damaged\n',
      })
      expect(indelible(['verify', '--all', '--deep', '--store', path])).toMatchObject({ status: 0, stderr: '' })
    }
  })
  it('refuses a clock without a valid time', async () => {
    const path = join(folder, 'clock.db')
    for (const moment of [2 ** 53, Number.NaN, 1.5, Infinity]) {
      const store = await ok(sqliteStore({ path, now: () => moment }))
      expect((await fault('Io', store.create({ id: 'x', encrypt: false }))).cause).toBeInstanceOf(RangeError)
      expect((await ok(store.list())).logs).toEqual([])
      await ok(store.close())
    }
  })
})

describe('store commands', () => {
  it('verify --all --deep reports the damage, and repair fixes it', () => {
    const path = damaged('delete from mention where row >> 32 = 1; update segment set orphan = 1')
    expect(indelible(['verify', '--all', '--deep', '--store', path])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /the row names 1 blocks, and 0 are mentioned[\s\S]*5 findings in the tables of the store/,
      ) as string,
    })
    expect(indelible(['repair', '--store', path])).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(
        /the row names 1 blocks, and 0 are mentioned: they were read from the row again\n[\s\S]*5 findings, 5 repaired\n$/,
      ) as string,
    })
    expect(indelible(['verify', '--all', '--deep', '--store', path])).toMatchObject({ status: 0, stderr: '' })
    expect(indelible(['verify', '--deep', 'a', '--store', path]).status).toBe(2)
  })
  it('concurrent backups to one target do not touch each other, and remove what a killed one left', async () => {
    const path = damaged('select 1')
    const to = join(folder, 'same.db')
    const { pid: dead } = spawnSync(process.execPath, ['-e', ''])
    const left = [`${to}.${dead}-01234567.part`, `${to}.${dead}-01234567.part-wal`]
    for (const file of left) writeFileSync(file, 'half')
    writeFileSync(`${to}.${process.ppid}-01234567.part`, 'of a running process')
    const answers = await Promise.all([1, 2, 3].map(() => backupSqlite({ path, to })()))
    for (const answer of answers) expect(answer).toMatchObject({ right: [] })
    const copy = await ok(sqliteStore({ path: to, create: false }))
    expect(await bad(copy)).toEqual([])
    await ok(copy.close())
    expect(readdirSync(folder).filter((name) => name.startsWith('same.db'))).toEqual([
      'same.db',
      `same.db.${process.ppid}-01234567.part`,
    ])
  })
  it('backup copies a store that is written to, and checks the copy', async () => {
    const path = damaged('select 1')
    const to = join(folder, 'backup.db')
    const store = await ok(sqliteStore({ path }))
    const session = await ok(openSession(store, 'b'))
    const copying = new AbortController()
    const writer = (async () => {
      while (!copying.signal.aborted) await ok(session.append(user('written meanwhile')))
    })()
    await new Promise((resolve) => setTimeout(resolve, 50))
    const acknowledged = session.len
    const findings = await backupSqlite({ path, to })()
    copying.abort()
    await writer
    await ok(store.close())
    expect(findings).toMatchObject({ right: [] })
    const copy = await ok(sqliteStore({ path: to, create: false }))
    expect((await ok(openSession(copy, 'b'))).len).toBeGreaterThanOrEqual(acknowledged)
    expect(await bad(copy)).toEqual([])
    await ok(copy.close())
    expect(indelible(['backup', to, '--store', path])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('the file already exists') as string,
    })
    const sick = damaged('delete from mention')
    expect(indelible(['backup', `${to}.sick`, '--store', sick])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('is a copy of a damaged store') as string,
    })
    expect(indelible(['backup', `${to}.good`, '--store', path])).toMatchObject({ status: 0 })
  })
})
