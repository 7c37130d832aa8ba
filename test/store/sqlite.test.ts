import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isLeft } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { afterAll, describe, expect, it } from 'vitest'
import { storeFaultText, verifyLog, type Store, type StoreFault } from 'indelible/store'
import { sqliteStore, type SqliteOptions } from 'indelible/store/sqlite'
import { storeContract, type StorePlace } from 'indelible/testing'

const folder = mkdtempSync(join(tmpdir(), 'indelible-sqlite-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let count = 0
const fresh = (): string => join(folder, `store-${count++}.db`)

const done = async <T>(task: TaskEither<StoreFault, T>): Promise<T> => {
  const answer = await task()
  if (isLeft(answer)) throw new Error(storeFaultText(answer.left))
  return answer.right
}
const said = async (task: TaskEither<StoreFault, unknown>): Promise<string> => {
  const answer = await task()
  return isLeft(answer) ? `${answer.left._tag}: ${storeFaultText(answer.left).replaceAll(folder, '')}` : 'went well'
}
const open = (options: SqliteOptions): Promise<Store> => done(sqliteStore(options))

const place =
  (durability: 'disk' | 'os') =>
  async (): Promise<StorePlace> => {
    const path = fresh()
    return {
      open: (scope) => open({ path, durability, wait: 30_000, ...(scope !== undefined && { scope }) }),
      lasting: true,
      elsewhere: { module: new URL('sqlite-elsewhere.ts', import.meta.url).href, argument: path },
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

for (const durability of ['disk', 'os'] as const)
  for (const { name, run } of storeContract(`sqlite, ${durability}`, place(durability))) it(name, run, 60_000)

const canMount = ((): boolean => {
  try {
    execFileSync('unshare', ['-rm', 'sh', '-c', 'mount -t tmpfs -o size=100k tmpfs /mnt'], { stdio: 'ignore' })
    return true
  } catch {
    process.stdout.write('left out: a store on a full disk (no small file system can be made here)\n')
    return false
  }
})()

describe('a SQLite store', () => {
  const row = (body: string): { readonly kind: 'entry'; readonly body: string } => ({ kind: 'entry', body })
  const filled = async (path: string, bodies: readonly string[]): Promise<Store> => {
    const store = await open({ path })
    const { head } = await done(store.create({ id: 'log' }))
    await done(store.append('log', { expected: head, rows: bodies.map(row) }))
    return store
  }

  it('a newer file, a foreign one and none at all are each told apart, and left as they are', async () => {
    const newer = fresh()
    await done((await open({ path: newer })).close())
    const db = new DatabaseSync(newer)
    db.exec('pragma user_version = 99')
    db.close()
    expect(await said(sqliteStore({ path: newer }))).toMatch(/^NewerStore: .* written by a newer version of this library \(format 99; this one knows 1\); nothing was changed/)

    const foreign = fresh()
    const other = new DatabaseSync(foreign)
    other.exec('create table mine (a); insert into mine values (1)')
    other.close()
    const before = readFileSync(foreign)
    expect(await said(sqliteStore({ path: foreign }))).toMatch(/^NotAStore: .* is a SQLite database of something else; nothing was changed/)
    expect(readFileSync(foreign).equals(before)).toBe(true)

    const text = fresh()
    writeFileSync(text, 'this is a diary, and no database'.repeat(100))
    expect(await said(sqliteStore({ path: text }))).toMatch(/^NotAStore: .* is no SQLite database/)
    expect(readFileSync(text, 'utf8')).toMatch(/^this is a diary/)
    expect(await said(sqliteStore({ path: join(folder, 'no', 'such', 'folder.db') }))).toMatch(/^Io: the store failed to open/)
    expect(await said(sqliteStore({ path: folder }))).toMatch(/^Io: the store failed to open/)
    expect(await said(sqliteStore({ path: fresh(), scope: '' }))).toMatch(/^InvalidId/)
  })

  it('a folder that can not be written to is said to be one', async () => {
    const closed = join(folder, `closed-${count++}`)
    mkdirSync(closed)
    await done((await open({ path: join(closed, 'a.db') })).close())
    chmodSync(closed, 0o555)
    chmodSync(join(closed, 'a.db'), 0o444)
    try {
      // Root may write anywhere: then somebody else asks.
      const asked = process.getuid?.() === 0 ? asNobody(folder, join(closed, 'a.db')) : await said(sqliteStore({ path: join(closed, 'a.db') }))
      expect(asked).toMatch(/^ReadOnly: .*can't be written to/)
    } finally {
      chmodSync(closed, 0o755)
    }
  })

  // A file system of 400 kB, in a mount namespace of its own: not every machine lets one be made.
  it.skipIf(!canMount)('a disk that is full is said to be, and what was there stays', () => {
    const code = `
      import { openStore } from ${JSON.stringify(new URL('sqlite-elsewhere.ts', import.meta.url).href)}
      import { storeFaultText, verifyLog } from ${JSON.stringify(new URL('../../src/store/index.ts', import.meta.url).href)}
      const store = await openStore('small/a.db')
      let { head } = (await store.create({ id: 'log' })()).right
      let fault
      while (fault === undefined) {
        const answer = await store.append('log', { expected: head, rows: [{ kind: 'entry', body: 'x'.repeat(20_000) }] })()
        if (answer._tag === 'Left') fault = answer.left
        else head = answer.right.head
      }
      const verified = await verifyLog(store, 'log', head)()
      console.log(JSON.stringify([fault._tag, storeFaultText(fault), verified._tag, verified.right?.head.size === head.size && head.size > 0]))`
    const printed = execFileSync('unshare', ['-rm', 'sh', '-c', 'mkdir -p small && mount -t tmpfs -o size=400k tmpfs small && exec "$0" --input-type=module -e "$1"', process.execPath, code], { encoding: 'utf8', cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
    expect(JSON.parse(printed)).toEqual(['Full', expect.stringMatching(/^there is no space left for .*a\.db; nothing was changed/), 'Right', true])
  })

  it('another process that holds the file is waited for, and then told', async () => {
    const path = fresh()
    const store = await filled(path, ['first'])
    await done(store.close())
    const impatient = await open({ path, wait: 60 })
    const holder = new DatabaseSync(path)
    holder.exec('begin immediate')
    const { head } = await done(impatient.info('log'))
    const began = performance.now()
    const ticks: number[] = []
    const timer = setInterval(() => ticks.push(performance.now()), 5)
    expect(await said(impatient.append('log', { expected: head, rows: [row('x')] }))).toBe('Busy: the store was held by another writer for more than 60 ms; nothing was changed: try again')
    clearInterval(timer)
    expect(performance.now() - began).toBeGreaterThan(30)
    expect(ticks.length).toBeGreaterThan(2) // everybody else had their turns
    const waiting = impatient.append('log', { expected: head, rows: [row('x')] })()
    setTimeout(() => holder.exec('commit'), 20)
    expect((await waiting)._tag).toBe('Right')
    holder.close()
    await done(impatient.close())
  })

  it('appends that wait together share a commit', async () => {
    const path = fresh()
    const store = await open({ path, durability: 'os' })
    const heads = await Promise.all(Array.from({ length: 50 }, (_, index) => done(store.create({ id: `log ${index}` }))))
    const watcher = new DatabaseSync(path, { readOnly: true })
    const changes = (): number => (watcher.prepare('pragma data_version').get() as { readonly data_version: number }).data_version
    const seen = new Set([changes()])
    await Promise.all(heads.map(({ id, head }) => done(store.append(id, { expected: head, rows: [row('x')] })).then(() => seen.add(changes()))))
    expect(seen.size).toBeLessThan(5)
    watcher.close()
    await done(store.close())
  })

  it('one append that can not be written does not take the others with it', async () => {
    const path = fresh()
    const store = await open({ path, durability: 'os' })
    const [good, bad] = [await done(store.create({ id: 'good' })), await done(store.create({ id: 'bad' }))]
    const db = new DatabaseSync(path)
    // A trigger is as good as a damaged page at making one statement fail.
    db.exec("create trigger refuse before insert on row when new.body = 'cursed' begin select raise(abort, 'no'); end")
    db.close()
    const answers = await Promise.all([store.append('bad', { expected: bad.head, rows: [row('fine'), row('cursed')] })(), store.append('good', { expected: good.head, rows: [row('x')] })()])
    expect(answers.map((answer) => (isLeft(answer) ? answer.left._tag : 'Right'))).toEqual(['Io', 'Right'])
    expect(await done(store.read('bad'))).toEqual([])
    await done(store.close())
  })

  it('a removed log goes in pieces, also where a crash has left some, and with it the blocks that only it spoke of', async () => {
    const path = fresh()
    const store = await filled(path, Array.from({ length: 3500 }, (_, index) => `row ${index}`))
    const bytes = new Uint8Array(5000).fill(7)
    const { head } = await done(store.info('log'))
    const [id] = await done(store.putBlocks([new Uint8Array([1])]))
    if (id === undefined) throw new Error('no id')
    const { blockIdOf } = await import('indelible/store')
    const own = blockIdOf(bytes, store.hash)
    await done(store.append('log', { expected: head, rows: [{ kind: 'entry', body: 'with a block', blocks: [own, id] }], blocks: [bytes] }))
    await done(store.fork('log', { id: 'fork', at: 2000 }))
    await done(store.remove('log'))
    expect((await done(store.hasBlocks([own, id])))).toEqual([false, true])
    const counted = (): unknown => {
      const db = new DatabaseSync(path)
      const found = db.prepare('select (select count(*) from row) as rows, (select count(*) from segment) as segments, (select count(*) from mention) as mentions').get()
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
    await done(again.close())
    expect(counted()).toEqual({ rows: 0, segments: 0, mentions: 0 })
  })

  it('one that is not there is not made, where it is not to be', async () => {
    const path = fresh()
    expect(await said(sqliteStore({ path, create: false }))).toMatch(/^NoStore: there is no store yet: .*store-\d+\.db; nothing was made$/)
    expect(existsSync(path)).toBe(false)
    await done((await open({ path })).close())
    await done((await open({ path, create: false })).close())
  })

  it('opens what every released version has written', async () => {
    const path = fresh()
    copyFileSync(new URL('../fixtures/store-v1.db', import.meta.url), path)
    const store = await open({ path })
    const info = await done(verifyLog(store, 'conversation'))
    expect(info).toMatchObject({ entries: 3, meta: { title: 'fixture' }, head: { size: 4 } })
    expect((await done(store.read('fork'))).map(({ body }) => body)).toEqual(['{"message":1}', '{"message":2}', 'only here'])
    await done(store.close())
    expect(existsSync(`${path}-wal`)).toBe(false)
  })
})

/** What somebody without rights on a file is told of it. */
const asNobody = (top: string, path: string): string => {
  chmodSync(top, 0o755)
  const code = `
    const { sqliteStore } = await import(${JSON.stringify(new URL('../../src/store/sqlite/index.ts', import.meta.url).href)})
    const { storeFaultText } = await import(${JSON.stringify(new URL('../../src/store/index.ts', import.meta.url).href)})
    process.setuid(65534)
    const opened = await sqliteStore({ path: ${JSON.stringify(path)} })()
    console.log(opened._tag === 'Left' ? opened.left._tag + ': ' + storeFaultText(opened.left) : 'went well')`
  return execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
}
