import { faultMessage } from 'indelible'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, StatementSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { blockIdOf } from '../../src/proof/internal.ts'
import { verifyLog, type Store, type StoreFault, type StoreNotice } from 'indelible/store'
import { storeNoticeText } from '../../src/store/internal.ts'
import { backupSqlite, compactSqlite, sqliteStore, type SqliteOptions } from 'indelible/store/sqlite'
import { right } from '../../src/json/index.ts'
import { storeContract, type StorePlace } from '@indelible/testing'
import { Writer } from '../../src/store/sqlite/writer.ts'
import type { LogRow } from '../../src/store/sqlite/log.ts'
import { networkFileSystem } from '../../src/store/sqlite/network.ts'
import { openingWith } from './faulty-sqlite.ts'
import { isShort, oneIn, rounds } from '../rounds.ts'
import { leftOutIf } from '../skipped-tests.ts'
import { program, programUrl } from '../programs.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let count = 0
const fresh = (): string => join(folder, `store-${count++}.db`)

const done = async <T>(task: TaskEither<StoreFault, T>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right
}
const outcomeText = async (task: TaskEither<StoreFault, unknown>): Promise<string> => {
  const answer = await task()
  return isLeft(answer) ? `${answer.left._tag}: ${faultMessage(answer.left).replaceAll(folder, '')}` : 'went well'
}
const open = (options: SqliteOptions): Promise<Store> => done(sqliteStore(options))

const place = (durability: 'disk' | 'os') => async (): Promise<StorePlace> => {
  const path = fresh()
  return {
    open: (scope) => open({ path, durability, wait: 30_000, ...(scope !== undefined && { scope }) }),
    openFaulty: (faults) => openingWith(faults, () => open({ path, durability, wait: 1000 })),
    faultEvery: oneIn(durability === 'disk' ? 37 : 11),
    lasting: true,
    elsewhere: { module: programUrl('test/store/sqlite-elsewhere.ts'), argument: path },
    wrecks: [
      { name: 'an empty file', make: async () => writeFileSync(path, '') },
      { name: 'a write-ahead log of a transaction that never ended', make: async () => killedWhileMigrating(path) },
      { name: 'a write-ahead log of noise', make: async () => writeFileSync(`${path}-wal`, 'noise'.repeat(1000)) },
    ],
    leave: async () => {
      for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
    },
  }
}

/** A process that dies in the middle of a transaction that makes tables, with pages of it in the log. */
const killedWhileMigrating = (path: string): void => {
  const code = `
    const { DatabaseSync } = require('node:sqlite')
    const db = new DatabaseSync(${JSON.stringify(path)})
    db.exec('pragma journal_mode = wal; pragma cache_size = 1; begin immediate; create table half (a text)')
    for (let i = 0; i < 500; i++) db.exec("insert into half values (hex(randomblob(500)))")
    process.kill(process.pid, 'SIGKILL')`
  try {
    execFileSync(process.execPath, ['-e', code], { stdio: 'ignore' })
  } catch {
    // it was killed
  }
}

// The two differ in when SQLite syncs, which the few rounds of a short run can't tell apart.
for (const durability of isShort ? (['disk'] as const) : (['disk', 'os'] as const))
  for (const { name, run } of storeContract(`sqlite, ${durability}`, place(durability))) it(name, run)

const canMount = ((): boolean => {
  try {
    execFileSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=100k tmpfs /mnt'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

it('network file systems are told by their type on Linux, and no other file system is one', () => {
  const typesOf: { readonly [name: string]: number } = {
    ...{ nfs: 0x6969, smb: 0x517b, smb2: 0xfe534d42, cifs: 0xff534d42, afs: 0x5346414f, '9p': 0x01021997 },
    ...{ ceph: 0x00c36400, coda: 0x73757245, lustre: 0x0bd00bd0 },
  }
  const nameOf = (type: number): string | undefined =>
    networkFileSystem('/mnt/s.db', (asked) => (asked === '/mnt' ? type : 0))
  const isLinux = process.platform === 'linux'
  for (const [name, type] of Object.entries(typesOf))
    for (const append of [type, type | 0]) expect(nameOf(append)).toBe(isLinux ? name : undefined) // also as a signed number
  for (const local of [0xef53, 0x01021994, 0x58465342, 0x9123683e, 0x65735546]) expect(nameOf(local)).toBeUndefined()
  const gone = (): never => {
    throw new Error('gone')
  }
  expect(networkFileSystem('/mnt/s.db', gone)).toBeUndefined()
})

it('sqliteStore requires a file path: a missing path and in-memory names are a TypeError', () => {
  expect(() => sqliteStore({} as never)).toThrow('sqliteStore needs a path')
  expect(() => sqliteStore({ path: ':memory:' })).toThrow('memoryStore() is the store in memory')
})

describe('a SQLite store', () => {
  const row = (body: string): { readonly kind: 'entry'; readonly body: string } => ({ kind: 'entry', body })
  const filled = async (path: string, bodies: readonly string[]): Promise<Store> => {
    const store = await open({ path })
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    await done(store.append('log', { expected: head, rows: bodies.map(row) }))
    return store
  }

  it('reports a long read and keeps the write-ahead log short', async () => {
    const path = fresh()
    const notices: StoreNotice[] = []
    const store = await open({ path, durability: 'os', onNotice: (notice) => notices.push(notice) })
    let { head } = await done(store.create({ id: 'log', encrypt: false }))
    const append = async (bytes: number): Promise<void> => {
      const append = { expected: head, rows: [row('x'.repeat(bytes))] }
      head = (await done(store.append('log', append))).head
    }
    const reader = new DatabaseSync(path, { readOnly: true })
    reader.exec('begin; select count(*) from row')
    for (let turn = 0; turn < 65; turn++) await append(1_100_000)
    const size = (): number => statSync(`${path}-wal`).size
    expect(size()).toBeGreaterThan(70_000_000)
    if (process.platform === 'linux') {
      expect(notices).toMatchObject([{ _tag: 'LogGrows', path, readers: [process.pid] }])
      expect(notices.map(storeNoticeText)[0]).toContain(`is still read by process ${process.pid}: end that read`)
    }
    expect(await done(compactSqlite({ path, wait: 0 }))).toMatchObject({ readers: expect.any(Array) as [] })
    reader.close()
    for (let turn = 0; turn < 3; turn++) await append(10)
    expect(size()).toBeLessThanOrEqual(64 << 20)
    await done(store.remove('log'))
    const { before, after, readers } = await done(compactSqlite({ path }))
    expect([before > 70_000_000, after < 1_000_000, readers]).toEqual([true, true, undefined])
    await done(store.close())
  })
  it.skipIf(process.platform === 'win32')(
    'opens only regular files, also for reading, a backup or a compaction',
    async () => {
      const pipe = fresh()
      spawnSync('mkfifo', [pipe])
      const folderPath = fresh()
      mkdirSync(folderPath)
      const withPipe = fresh()
      await done((await filled(withPipe, ['a'])).close())
      spawnSync('mkfifo', [`${withPipe}-wal`])
      for (const [path, named, found] of [
        [pipe, pipe, 'a named pipe'],
        [folderPath, folderPath, 'a folder'],
        ['/dev/zero', '/dev/zero', 'a device'],
        [withPipe, `${withPipe}-wal`, 'a named pipe'],
      ] as const) {
        const fault = { _tag: 'Left', left: { _tag: 'NotAStore', path: named, found } }
        for (const readOnly of [false, true]) expect(await sqliteStore({ path, readOnly })()).toEqual(fault)
        expect(await backupSqlite({ path, to: fresh() })()).toEqual(fault)
        expect(await compactSqlite({ path })()).toEqual(fault)
      }
    },
  )

  it('distinguishes newer, foreign and missing files, and leaves them unchanged', async () => {
    const newer = fresh()
    await done((await open({ path: newer })).close())
    const db = new DatabaseSync(newer)
    db.exec('pragma user_version = 99')
    db.close()
    expect(await outcomeText(sqliteStore({ path: newer }))).toMatch(
      /^NewerStore: .* written by a newer version of this library \(format 99; this one knows 2\); nothing was changed/,
    )

    const foreign = fresh()
    const other = new DatabaseSync(foreign)
    other.exec('create table mine (a); insert into mine values (1)')
    other.close()
    const before = readFileSync(foreign)
    expect(await outcomeText(sqliteStore({ path: foreign }))).toMatch(
      /^NotAStore: .* is not a store of Indelible but a SQLite database of another program; nothing was changed/,
    )
    expect(readFileSync(foreign).equals(before)).toBe(true)

    const hostile = fresh()
    await done((await open({ path: hostile })).close())
    const endless = new DatabaseSync(hostile)
    endless.exec(
      'drop table log; create view LOG as with recursive n (id) as (select 1 union all select 1 from n) select * from n',
    )
    endless.close()
    expect(await outcomeText(sqliteStore({ path: hostile }))).toMatch(/^NotAStore: .* in which "log" is a view/)

    const text = fresh()
    writeFileSync(text, 'this is a diary, and no database'.repeat(100))
    expect(await outcomeText(sqliteStore({ path: text }))).toMatch(
      /^NotAStore: .* is not a store of Indelible but a file that is not a SQLite database/,
    )
    expect(readFileSync(text, 'utf8')).toMatch(/^this is a diary/)
    expect(await outcomeText(sqliteStore({ path: join(folder, 'no', 'such', 'folder.db') }))).toMatch(
      /^Io: the store failed to open/,
    )
    expect(await outcomeText(sqliteStore({ path: folder }))).toMatch(/^NotAStore: .* but a folder; nothing was changed/)
    expect(await outcomeText(sqliteStore({ path: fresh(), scope: '' }))).toMatch(/^InvalidId/)
  })

  it('opens for all threads that create one file at once', async () => {
    const files = rounds(4, 600)
    const threads = 3
    const made = mkdtempSync(join(folder, 'made-'))
    const workerData = { folder: made, rounds: files, threads, gate: new Int32Array(new SharedArrayBuffer(8)) }
    const told: unknown[] = []
    const store = (): Promise<void> =>
      new Promise((resolve, reject) => {
        const worker = new Worker(program('test/store/creator-thread.ts'), { workerData })
        worker.on('message', (message) => told.push(message))
        worker.on('error', reject)
        worker.on('exit', () => resolve())
      })
    await Promise.all(Array.from({ length: threads }, store))
    expect(told).toEqual(Array.from({ length: files * threads }, () => 'opened'))
  })

  it('opens a read-only file for reading and reports it', async () => {
    const closed = join(folder, `closed-${count++}`)
    mkdirSync(closed)
    const path = join(closed, 'a.db')
    await done((await filled(path, ['first'])).close())
    chmodSync(closed, 0o555)
    chmodSync(path, 0o444)
    try {
      // Root may write anywhere: then somebody else asks.
      expect(process.getuid?.() === 0 ? asNobody(folder, path) : await asked(path)).toEqual([
        'OpenedReadOnly',
        'first',
        'sound',
        expect.stringMatching(/^ReadOnly: .*is read-only/),
      ])
    } finally {
      chmodSync(closed, 0o755)
    }
  })

  it(
    'names a file that this user may not read, and says so, also if it is in a folder of another user',
    leftOutIf(process.getuid?.() !== 0, 'only root can be somebody without rights'),
    async () => {
      const closed = mkdtempSync(join(folder, 'closed-'))
      const path = join(closed, 'a.db')
      await done((await filled(path, ['first'])).close())
      const before = readFileSync(path)
      const denied = [expect.stringContaining(`Io: the store failed to open ${path}: EACCES: permission denied`)]
      for (const [ofFile, ofFolder] of [
        [0o600, 0o755],
        [0o644, 0o700],
      ] as const) {
        chmodSync(path, ofFile)
        chmodSync(closed, ofFolder)
        for (const readOnly of isShort ? [ofFile === 0o600] : [false, true])
          expect(asNobody(folder, path, readOnly)).toEqual(denied)
      }
      expect(readdirSync(closed)).toEqual(['a.db'])
      expect(readFileSync(path).equals(before)).toBe(true)
    },
  )

  it(
    'names the file beside a store that another user made and that this user may not write',
    leftOutIf(process.getuid?.() !== 0, 'only root can be somebody without rights'),
    async () => {
      const shared = mkdtempSync(join(folder, 'shared-'))
      const path = join(shared, 'a.db')
      const store = await filled(path, ['first'])
      for (const [file, mode] of [
        [shared, 0o777],
        [path, 0o666],
        [`${path}-shm`, 0o666],
        [`${path}-wal`, 0o644],
      ] as const)
        chmodSync(file, mode)
      const refused = expect.stringContaining(`ReadOnly: ${path}-wal is read-only`) as string
      expect(asNobody(folder, path)).toEqual(['OpenedReadOnly', 'first', 'sound', refused])
      chmodSync(`${path}-wal`, 0o600)
      expect(asNobody(folder, path)).toEqual([refused])
      await done(store.close())
    },
  )

  it('reports when segment numbers are exhausted and creates no more logs', async () => {
    const path = fresh()
    await done((await filled(path, ['first'])).close())
    const db = new DatabaseSync(path)
    db.exec(`update sqlite_sequence set seq = ${2 ** 31 - 1} where name = 'segment'`)
    db.close()
    const store = await open({ path })
    const made = await store.create({ id: 'one more', encrypt: false })()
    expect(JSON.stringify(made, (_, value: unknown) => (value instanceof Error ? value.message : value))).toContain(
      'segments are numbered up to 2147483647',
    )
    expect((await store.info('one more')())._tag).toBe('Left')
    expect((await done(store.read('log'))).map(({ body }) => body)).toEqual(['first'])
    await done(store.close())
  })

  it('reads no more of a log than the nodes that are far apart, and near ones at once', async () => {
    const store = await sqliteStore({ path: fresh() })
    const rows = Array.from({ length: 700 }, (_, index) => ({ kind: 'note' as const, body: `${index}` }))
    await store.create({ id: 's', rows, encrypt: false })
    const all = vi.spyOn(StatementSync.prototype, 'all')
    const readBy = async (positions: readonly number[]): Promise<readonly number[]> => {
      all.mockClear()
      expect(await store.nodes('s', positions)).toHaveLength(positions.length)
      return all.mock.results.map(({ value }) => (value as readonly unknown[]).length)
    }
    try {
      expect(await readBy([0, 350, 699])).toEqual([]) // one by one
      expect(await readBy([5, 3, 4, 6, 8])).toContain(6)
    } finally {
      all.mockRestore()
      await store.close()
    }
  })
  it('writes nothing to a file opened read-only', async () => {
    const path = fresh()
    await done((await filled(path, ['first'])).close())
    const before = readFileSync(path)
    const store = await open({ path, readOnly: true })
    expect((await done(store.read('log'))).map(({ body }) => body)).toEqual(['first'])
    expect(await outcomeText(store.create({ id: 'other', encrypt: false }))).toMatch(/^ReadOnly/)
    expect(await outcomeText(store.remove('log'))).toMatch(/^ReadOnly/)
    await done(store.close())
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(await outcomeText(sqliteStore({ path: fresh(), readOnly: true }))).toMatch(/^NoStore/)
  })

  it('writes nothing when opening a current file', async () => {
    const path = fresh()
    await done((await filled(path, ['first'])).close())
    const before = readFileSync(path)
    const store = await open({ path })
    expect(existsSync(`${path}-wal`) ? readFileSync(`${path}-wal`).length : 0).toBe(0)
    await done(store.close())
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  it('notices an unlinked or replaced file before acknowledging an append', async () => {
    const path = fresh()
    const store = await filled(path, ['first'])
    const { head } = await done(store.info('log'))
    const copy = fresh()
    copyFileSync(path, copy)
    rmSync(path)
    expect(await outcomeText(store.append('log', { expected: head, rows: [row('lost')] }))).toMatch(
      /^FileReplaced: .* was deleted, replaced by another file, or cut to nothing after the store opened it; this write was not made/,
    )
    expect((await done(store.read('log'))).map(({ body }) => body)).toEqual(['first']) // what is refused is nowhere
    await store.close()()

    const other = await open({ path: copy })
    copyFileSync(copy, path)
    renameSync(path, copy)
    expect(await outcomeText(other.create({ id: 'lost', encrypt: false }))).toMatch(/^FileReplaced/)
    expect(await outcomeText(other.create({ id: 'lost too', encrypt: false }))).toMatch(/^FileReplaced/)
    await other.close()()
  })

  it('refuses appends to a truncated file', async () => {
    for (const durability of ['disk', 'os'] as const) {
      const path = fresh()
      await done((await filled(path, ['first'])).close())
      const store = await open({ path, durability })
      const { head } = await done(store.info('log'))
      await done(store.create({ id: 'other', encrypt: false })) // there is a write-ahead log
      truncateSync(path, 0)
      expect(await outcomeText(store.append('log', { expected: head, rows: [row('lost')] }))).toMatch(/^FileReplaced/)
      expect(await outcomeText(store.create({ id: 'lost too', encrypt: false }))).toMatch(/^FileReplaced/)
      await store.close()()
    }
  })

  // A file system of 400 kB, in a mount namespace of its own: not every machine lets one be made.
  it('reports a full disk and keeps stored rows', leftOutIf(!canMount, 'no file system can be mounted here'), () => {
    const code = `
      import { openStore } from ${JSON.stringify(programUrl('test/store/sqlite-elsewhere.ts'))}
      import { faultMessage, verifyLog } from ${JSON.stringify(programUrl('test/library.ts'))}
      const store = await openStore('small/a.db')
      let { head } = (await store.create({ id: 'log' })()).right
      let fault
      while (fault === undefined) {
        const answer = await store.append('log', { expected: head, rows: [{ kind: 'entry', body: 'x'.repeat(20_000) }] })()
        if (answer._tag === 'Left') fault = answer.left
        else head = answer.right.head
      }
      const verified = await verifyLog(store, 'log', head)()
      console.log(JSON.stringify([fault._tag, faultMessage(fault), verified._tag, verified.right?.head.size === head.size && head.size > 0]))`
    const printed = execFileSync(
      'unshare',
      [
        '-rm',
        'sh',
        '-c',
        'mkdir -p small && mount -t tmpfs -o size=400k tmpfs small && exec "$0" --input-type=module -e "$1"',
        process.execPath,
        code,
      ],
      { encoding: 'utf8', cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] },
    )
    expect(JSON.parse(printed)).toEqual([
      'Full',
      expect.stringMatching(/^no disk space is left for .*a\.db; nothing was changed: free space outside the store/),
      'Right',
      true,
    ])
  })

  it('waits for another process that locks the file, then reports it', async () => {
    const path = fresh()
    const store = await filled(path, ['first'])
    await done(store.close())
    const impatient = await open({ path, wait: 60 })
    const holder = new DatabaseSync(path)
    holder.exec('begin immediate')
    const { head } = await done(impatient.info('log'))
    const began = performance.now()
    expect(await outcomeText(impatient.append('log', { expected: head, rows: [row('x')] }))).toBe(
      'Busy: the store was held by another writer for more than 60 ms; nothing was changed: try again',
    )
    expect(performance.now() - began).toBeGreaterThan(55) // a timer may fire a little early
    await done(impatient.close())
    const patient = await open({ path, wait: 600_000 })
    const waiting = patient.append('log', { expected: head, rows: [row('x')] })()
    for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 5)) // others have their turns
    holder.exec('commit')
    expect((await waiting)._tag).toBe('Right')
    holder.close()
    await done(patient.close())
  })

  it('commits waiting appends together', async () => {
    const path = fresh()
    const store = await open({ path, durability: 'os' })
    const heads = await Promise.all(
      Array.from({ length: 50 }, (_, index) => done(store.create({ id: `log ${index}`, encrypt: false }))),
    )
    const watcher = new DatabaseSync(path, { readOnly: true })
    const changes = (): number =>
      (watcher.prepare('pragma data_version').get() as { readonly data_version: number }).data_version
    const seen = new Set([changes()])
    await Promise.all(
      heads.map(({ id, head }) =>
        done(store.append(id, { expected: head, rows: [row('x')] })).then(() => seen.add(changes())),
      ),
    )
    expect(seen.size).toBeLessThan(5)
    watcher.close()
    await done(store.close())
  })

  it('says when a transaction is rolled back, and not when one is committed', async () => {
    const path = fresh()
    const db = new DatabaseSync(path)
    db.exec('create table t (x)')
    const writer = new Writer(db, { path, durability: 'os', wait: 1000, onNotice: () => undefined })
    let times = 0
    writer.onRollBack(() => (times += 1))
    expect(await writer.write(() => right(1))).toEqual(right(1))
    expect(times).toBe(0)
    const failing = (): never => {
      throw new Error('it can not be written')
    }
    expect(await writer.write(failing)).toMatchObject({ left: { _tag: 'Io' } })
    expect(times).toBe(1)
    await writer.end()
    db.close()
  })

  it('shares a transaction among up to 64 writes of 1 MiB in all; other work runs outside, in order', async () => {
    const path = fresh()
    const db = new DatabaseSync(path)
    db.exec('create table t (x)')
    const writer = new Writer(db, { path, durability: 'os', wait: 1000, onNotice: () => undefined })
    /** The transaction of each write of so many bytes, counted from 1; 0 for work outside. */
    const transactionsOf = async (jobs: readonly (number | 'outside')[]): Promise<readonly number[]> => {
      const before = writer.transaction
      const ran: number[] = []
      const run = (index: number): number => {
        ran.push(writer.writing ? writer.transaction - before : 0)
        return index
      }
      const answers = jobs.map((job, index) =>
        job === 'outside' ? writer.outside(() => run(index)) : writer.write(() => right(run(index)), job),
      )
      expect(await Promise.all(answers)).toEqual(jobs.map((_, index) => right(index)))
      return ran
    }
    expect(await transactionsOf([0, 'outside', 0, 0, 'outside', 'outside', 0])).toEqual([1, 0, 2, 2, 0, 0, 3])
    expect(await transactionsOf(Array.from({ length: 65 }, () => 0))).toEqual([...Array.from({ length: 64 }, () => 1), 2]) // oxfmt-ignore
    const mebibyte = 2 ** 20
    expect(await transactionsOf([mebibyte, 0, 1, 2 * mebibyte, mebibyte - 1, 1, 1])).toEqual([1, 1, 2, 3, 4, 4, 5])
    await writer.end()
    db.close()
  })

  it('fails only the one append that cannot be written', async () => {
    const path = fresh()
    const store = await open({ path, durability: 'os' })
    const [good, bad] = [
      await done(store.create({ id: 'good', encrypt: false })),
      await done(store.create({ id: 'bad', encrypt: false })),
    ]
    const db = new DatabaseSync(path)
    // A trigger is as good as a damaged page at making one statement fail.
    db.exec("create trigger refuse before insert on row when new.body = 'cursed' begin select raise(abort, 'no'); end")
    db.close()
    const answers = await Promise.all([
      store.append('bad', { expected: bad.head, rows: [row('fine'), row('cursed')] })(),
      store.append('good', { expected: good.head, rows: [row('x')] })(),
    ])
    expect(answers.map((answer) => (isLeft(answer) ? answer.left._tag : 'Right'))).toEqual(['Io', 'Right'])
    expect(await done(store.read('bad'))).toEqual([])
    await done(store.close())
  })

  it('treats a link as its target: appends are synced beside the target', async () => {
    const [target, link] = [fresh(), fresh()]
    symlinkSync(target, link) // to nothing yet
    const store = await open({ path: link, durability: 'disk' })
    const { head } = await done(store.create({ id: 'log', encrypt: false }))
    const first = { expected: head, rows: [row('once')] }
    expect(await outcomeText(store.append('log', first))).toBe('went well')
    expect((await done(store.read('log'))).map(({ body }) => body)).toEqual(['once'])
    expect(existsSync(`${target}-wal`)).toBe(true)
    await done(store.close())
    const again = await open({ path: target })
    expect((await done(again.info('log'))).head.size).toBe(1)
    await done(again.close())
  })

  it("refuses appends if a log's tree state has a flipped bit, and verify reports it", async () => {
    const path = fresh()
    const store = await filled(path, ['a', 'b', 'c'])
    const { head } = await done(store.info('log'))
    await done(store.append('log', { expected: head, rows: [row('d'), row('e')], operation: 'op' }))
    const grown = await done(store.info('log'))
    const db = new DatabaseSync(path)
    const log = db.prepare('select * from log').get() as unknown as LogRow
    const { peaks } = log
    for (const damaged of [
      peaks.map((byte, at) => (at === 40 ? byte ^ 4 : byte)),
      peaks.slice(0, 32),
      new Uint8Array(7),
    ]) {
      db.prepare('update log set peaks = ?').run(damaged)
      const more = { expected: grown.head, rows: [row('f')] }
      expect(await outcomeText(store.append('log', more))).toMatch(/^DamagedLog: "log" is damaged at row 5: the peaks/)
      expect(await outcomeText(verifyLog(store, 'log'))).toMatch(/^DamagedLog/)
      expect(await outcomeText(verifyLog(store, 'log', grown.head))).toMatch(/^DamagedLog/)
      // What was appended is still read, and an operation is still known.
      expect((await done(store.read('log'))).length).toBe(5)
      expect(
        await outcomeText(store.append('log', { expected: head, rows: [row('d'), row('e')], operation: 'op' })),
      ).toBe('went well')
    }
    db.prepare('update log set peaks = ?').run(peaks)
    db.close()
    await done(store.append('log', { expected: grown.head, rows: [row('f')] }))
    await done(verifyLog(store, 'log'))
    await done(store.close())
  })

  it('refuses appends if the size or the number of entries of a log was altered, and repair makes them again', async () => {
    const path = fresh()
    const store = await filled(path, ['a', 'b', 'c', 'd', 'e'])
    const { head } = await done(store.info('log'))
    for (const change of ['size = 3', 'size = 6', 'size = 9', 'entries = 4', 'entries = 6']) {
      const db = new DatabaseSync(path)
      db.exec(`update log set ${change}`)
      db.close()
      const { head: found } = await done(store.info('log'))
      const more = { expected: found, rows: [row('f')] }
      expect([change, await outcomeText(store.append('log', more))]).toEqual([
        change,
        expect.stringMatching(/^DamagedLog: "log" is damaged at row \d: its (?:head was altered|row is missing)/),
      ])
      expect((await done(store.repair())).map(({ done: repaired }) => repaired)).toContain(
        'its head was rebuilt from its 5 rows',
      )
      expect((await done(store.info('log'))).head).toEqual(head)
    }
    await done(store.close())
  })

  it('reads a log that was removed between two pieces as missing, and not as damaged', async () => {
    for (const again of [false, true]) {
      const path = fresh()
      const store = await open({ path, durability: 'os' })
      const rows = Array.from({ length: 5000 }, (_, index) => row(`${index}`))
      await done(store.create({ id: 'log', rows, encrypt: false }))
      const db = new DatabaseSync(path)
      const reading = store.read('log')()
      await new Promise(setImmediate) // the first piece was read
      db.exec('delete from row; delete from log')
      db.close()
      if (again) await done(store.create({ id: 'log', rows: rows.slice(0, 1), encrypt: false }))
      expect(await reading).toMatchObject({ left: { _tag: 'NoSuchLog', id: 'log' } })
      await done(store.close())
    }
  })

  it('repairs a damaged block when it is stored again, and does not share it before', async () => {
    const path = fresh()
    const store = await open({ path })
    const block = new Uint8Array(5000).fill(7)
    const id = blockIdOf(block, store.hash)
    const rows = [{ ...row('x'), blocks: [id] }]
    const { head } = await done(store.create({ id: 'a', encrypt: false }))
    await done(store.append('a', { expected: head, rows, blocks: [block] }))
    const damage = (sql: string): void => {
      const db = new DatabaseSync(path)
      db.exec(sql)
      db.close()
    }
    const ways = {
      append: async () => done(store.append('b', { expected: head, rows, blocks: [block] })),
      put: async () => done(store.putBlocks([block])),
    }
    await done(store.create({ id: 'b', encrypt: false }))
    await done(store.create({ id: 'c', encrypt: false }))
    for (const way of [ways.append, ways.put])
      for (const sql of ["update content set bytes = x'00'", 'delete from content']) {
        damage(sql)
        expect(await done(store.hasBlocks([id]))).toEqual([false])
        expect(await outcomeText(store.append('c', { expected: head, rows }))).toMatch(/^(?:DamagedBlock|MissingBlock)/)
        await way()
        expect(await done(store.getBlocks([id]))).toEqual([block])
        expect(await done(store.hasBlocks([id]))).toEqual([true])
        if (way === ways.append) {
          await done(store.remove('b'))
          await done(store.create({ id: 'b', encrypt: false }))
        }
      }
    expect(await outcomeText(store.append('c', { expected: head, rows }))).toBe('went well')
    await done(store.close())
  })

  it('removes a log in pieces, also after a crash, including blocks only it references', async () => {
    const path = fresh()
    const store = await filled(
      path,
      Array.from({ length: 3500 }, (_, index) => `row ${index}`),
    )
    const bytes = new Uint8Array(5000).fill(7)
    const { head } = await done(store.info('log'))
    const [id] = await done(store.putBlocks([new Uint8Array([1])]))
    if (id === undefined) throw new Error('no id')
    const { blockIdOf } = await import('indelible/internal/proof')
    const own = blockIdOf(bytes, store.hash)
    await done(
      store.append('log', {
        expected: head,
        rows: [{ kind: 'entry', body: 'with a block', blocks: [own, id] }],
        blocks: [bytes],
      }),
    )
    await done(store.fork('log', { id: 'fork', at: 2000 }))
    await done(store.remove('log'))
    expect(await done(store.hasBlocks([own, id]))).toEqual([false, true])
    const counted = (): unknown => {
      const db = new DatabaseSync(path)
      const found = db
        .prepare(
          'select (select count(*) from row) as rows, (select count(*) from segment) as segments, (select count(*) from mention) as mentions',
        )
        .get()
      db.close()
      return { ...(found as object) }
    }
    expect(counted()).toEqual({ rows: 2000, segments: 2, mentions: 0 })
    expect((await done(store.read('fork'))).length).toBe(2000)
    await done(verifyLog(store, 'fork'))
    await done(store.close())

    // As a crash right after the removal leaves it.
    const db = new DatabaseSync(path)
    db.exec("delete from log where id = 'fork'; update segment set orphan = 1")
    db.close()
    const again = await open({ path })
    await done(again.list())
    expect(counted()).toEqual({ rows: 2000, segments: 2, mentions: 0 }) // reading deletes nothing
    await done(again.create({ id: 'another', encrypt: false }))
    await done(again.remove('another'))
    await done(again.close())
    expect(counted()).toEqual({ rows: 0, segments: 0, mentions: 0 })
  })

  it('names a missing folder, which it does not create', async () => {
    expect(await outcomeText(sqliteStore({ path: join(folder, 'no', 'such', 'a.db') }))).toContain(
      'the folder /no/such does not exist; create it first',
    )
  })

  it('does not create a missing file if told not to', async () => {
    const path = fresh()
    expect(await outcomeText(sqliteStore({ path, create: false }))).toMatch(
      /^NoStore: there is no store at .*store-\d+\.db; nothing was created/,
    )
    expect(existsSync(path)).toBe(false)
    await done((await open({ path })).close())
    await done((await open({ path, create: false })).close())
  })
})

/** What is told of a store that can't be written to, what can be read of it, whether it checks, and what a write says. */
const asked = async (path: string): Promise<readonly string[]> => {
  const output: string[] = []
  const opened = await sqliteStore({ path, onNotice: ({ _tag }) => void output.push(_tag) })()
  if (isLeft(opened)) return [opened.left._tag]
  const rows = await done(opened.right.read('log'))
  const findings = await done(opened.right.check())
  const write = await outcomeText(opened.right.create({ id: 'other', encrypt: false }))
  await done(opened.right.close())
  return [...output, ...rows.map(({ body }) => body), findings.length === 0 ? 'sound' : JSON.stringify(findings), write]
}

/** The same, asked by somebody without rights. */
const asNobody = (top: string, path: string, readOnly = false): readonly string[] => {
  chmodSync(top, 0o755)
  const code = `
    const { faultMessage, sqliteStore } = await import(${JSON.stringify(programUrl('test/library.ts'))})
    process.setuid(65534)
    const told = []
    const opened = await sqliteStore({ path: ${JSON.stringify(path)}, readOnly: ${readOnly}, onNotice: ({ _tag }) => told.push(_tag) })()
    if (opened._tag === 'Left') console.log(JSON.stringify([opened.left._tag + ': ' + faultMessage(opened.left)]))
    else {
      const rows = await opened.right.read('log')()
      const findings = await opened.right.check()()
      const write = await opened.right.create({ id: 'other' })()
      console.log(JSON.stringify([...told, ...rows.right.map(({ body }) => body), findings.right?.length === 0 ? 'sound' : JSON.stringify(findings), write.left._tag + ': ' + faultMessage(write.left)]))
    }`
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  ) as readonly string[]
}
