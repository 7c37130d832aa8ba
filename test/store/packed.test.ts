/** Blocks in a store file: compressed by a compaction where that pays, found by their texts, and whole again however they are stored. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statfsSync, symlinkSync, writeFileSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { constants, zstdCompressSync } from 'node:zlib'
import { isLeft } from 'fp-ts/lib/Either.js'
import { afterAll, expect, it } from 'vitest'
import { createSession, faultMessage, openSession, user } from 'indelible'
import { blockIdOf } from 'indelible/internal/proof'
import { compactSqlite, sqliteStore } from 'indelible/store/sqlite'
import { pack, packBlocks, unpack, unpackAny } from '../../src/store/sqlite/packed.ts'
import { leftOutIf } from '../skipped-tests.ts'
import { smallDisk } from '../small-disk.ts'
import { isFull } from '../rounds.ts'
import { programUrl } from '../programs.ts'
import { eraseMessages } from '../../src/session/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-packed-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const text = (words: number): Uint8Array =>
  new TextEncoder().encode(Array.from({ length: words }, (_, word) => `word ${word}`).join(' '))

/** Compared byte by byte, `toEqual` takes most of a second. */
const areSame = (found: readonly (Uint8Array | undefined)[], blocks: readonly Uint8Array[]): boolean =>
  found.length === blocks.length && blocks.every((block, at) => Buffer.compare(found[at] ?? Buffer.of(), block) === 0)

it('a block is compressed if that saves a quarter; small ones and others are stored as they are', () => {
  const long = text(1000)
  const packed = pack(long)
  expect(packed.size).toBe(long.length)
  expect(packed.bytes.length).toBeLessThan(long.length / 3)
  expect(unpack(packed)).toEqual(long)
  for (const bytes of [text(100), text(0), randomBytes(5000)]) {
    expect(pack(bytes)).toEqual({ bytes, size: null })
    expect(unpack(pack(bytes))).toBe(bytes)
  }
})

it('a block that cannot be decompressed, or to another length, is damaged', () => {
  const { bytes, size } = pack(text(1000))
  const cut = bytes.subarray(0, bytes.length - 1)
  for (const wrong of [Number(size) - 1, Number(size) + 1, 0, -1, 2n ** 62n, Number.NaN])
    expect(unpack({ bytes, size: wrong })).toBe(bytes)
  expect(unpack({ bytes: cut, size: size })).toBe(cut)
  expect(unpack({ bytes: text(1000), size: 5 })).toEqual(text(1000))
})

it('a compressed block is exactly one zstd frame without leading or trailing bytes', () => {
  const { bytes, size } = pack(text(1000))
  const hidden = Buffer.concat([Buffer.from('502a4d1806000000', 'hex'), Buffer.from('hidden')])
  const empty = zstdCompressSync(Buffer.alloc(0))
  for (const parts of [
    [bytes, Buffer.from('hidden')],
    [hidden, bytes],
    [bytes, hidden],
    [bytes, empty],
    [empty, bytes],
  ]) {
    const together = Buffer.concat(parts)
    expect(unpack({ bytes: together, size })).toBe(together)
  }
})

it('a small file does not fill the memory: what is compressed to less than a 256th is not read, nor written', () => {
  const zeros = new Uint8Array(1 << 20)
  const bytes = new Uint8Array(zstdCompressSync(zeros))
  expect(bytes.length * 256).toBeLessThan(zeros.length)
  expect(unpack({ bytes, size: zeros.length })).toBe(bytes)
  expect(pack(zeros)).toEqual({ bytes: zeros, size: null })
})

it('every zstd encoding of a block is recognized, of any length, in one or more segments, with a checksum', () => {
  const {
    ZSTD_c_checksumFlag: checksum,
    ZSTD_c_compressionLevel: level,
    ZSTD_c_contentSizeFlag: contentSize,
    ZSTD_c_windowLog: window,
  } = constants
  for (const words of [0, 1, 10, 100, 10_000, 100_000])
    for (const block of [text(words), randomBytes(words * 3), new Uint8Array(words * 5)])
      for (const params of [
        {},
        { [checksum]: 1 },
        { [level]: -5, [contentSize]: 0 },
        { [level]: 19, [window]: 10, [checksum]: 1 },
      ]) {
        const bytes = zstdCompressSync(block, { params })
        expect(Buffer.compare(unpackAny({ bytes, size: block.length }), block)).toBe(0)
      }
})

it("a repair restores a block's damaged size, compressed or not, but not its bytes", async () => {
  const path = join(folder, 'repair.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const blocks = [text(1000), text(100), text(50_000)]
  const ids = await store.putBlocks(blocks)
  await compactSqlite({ path })
  const db = new DatabaseSync(path)
  const stored = () => JSON.stringify(db.prepare('select block, hex(bytes), size from content').all())
  const before = stored()
  for (const size of ['null', '-1', '-2', '0', '5', 'size + 1', '9223372036854775807']) {
    db.exec(`update content set size = ${size}`)
    const damaged = size === 'null' || size === '-1' || size === 'size + 1' ? 2 : 3
    const findings = await store.check()
    expect(findings.map(({ table, repairable }) => ({ table, repairable }))).toEqual(
      Array.from({ length: damaged }, () => ({ table: 'block', repairable: true })),
    )
    expect((await store.repair()).map(({ done }) => done)).toEqual(
      findings.map(() => 'its size was made again from its bytes'),
    )
    expect(areSame(await store.getBlocks(ids), blocks)).toBe(true)
    db.exec('update content set size = null where size = -1')
    expect(stored() === before).toBe(true)
  }
  db.exec('update content set bytes = substr(bytes, 1, length(bytes) - 1) where block = 3')
  expect(await store.repair()).toMatchObject([{ what: 'its bytes are not those of its id', done: undefined }])
  expect(await store.check()).toMatchObject([{ repairable: false }])
  db.close()
  await store.close()
})

it('a decompression bomb is treated as damaged without decompressing, and no such block is compressed', () => {
  const many = new Uint8Array((64 << 20) + 1)
  const bytes = new Uint8Array(zstdCompressSync(many))
  expect(bytes.length).toBeLessThan(10_000)
  expect(unpack({ bytes, size: many.length }).length).toBe(bytes.length)
  expect(pack(many).size).toBe(null)
  const fewer = many.subarray(0, isFull ? 64 << 20 : 1 << 20)
  expect(Buffer.compare(unpack(pack(fewer)), fewer)).toBe(0)
})

it('many blocks, each with a plausible size, are not uncompressed together if no compaction can have written them', async () => {
  const path = join(folder, 'bombs.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const bombs = Array.from({ length: 1500 }, () =>
    zstdCompressSync(Buffer.concat([randomBytes(1000), Buffer.alloc(240_000)])),
  )
  const ids = await store.putBlocks(bombs)
  const db = new DatabaseSync(path)
  db.exec('update content set size = 241000')
  db.close()
  const faultOf = async (some: typeof ids): Promise<unknown> => {
    const read = await store.getBlocks(some)()
    return isLeft(read) && faultMessage(read.left)
  }
  expect(await faultOf(ids.slice(0, 100))).toContain('100 stored blocks are altered') // uncompressed, they are others
  expect(await faultOf(ids)).toContain('no compaction wrote them')
  await store.close()
  expect(pack(new Uint8Array(241_000)).size).toBe(null)
  const allowed = Buffer.concat([randomBytes(10_000), Buffer.alloc(200_000)])
  expect(pack(allowed).size).toBe(allowed.length)
})

it('compaction compresses blocks, which are still read, deduplicated, searched and checked', async () => {
  const path = join(folder, 'store.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const block = text(1000)
  const id = blockIdOf(block, store.hash)
  const { head } = await store.create({ id: 'a', encrypt: false })
  await store.append('a', { expected: head, rows: [{ kind: 'entry', body: 'x', blocks: [id] }], blocks: [block] })
  const db = new DatabaseSync(path)
  const stored = () => db.prepare('select bytes, size from content').all()
  expect(stored()).toEqual([{ bytes: block, size: null }])
  const small = text(100)
  await store.putBlocks([small])
  await compactSqlite({ path })
  await store.putBlocks([small])
  const before = stored()
  expect(before).toMatchObject([{ size: block.length }, { bytes: small, size: null }])
  await store.putBlocks([block])
  expect(stored()).toEqual(before)
  expect(await store.getBlocks([id])).toEqual([block])
  expect(await store.containing(['word 777 word'])).toMatchObject({ rows: [{ id: 'a', position: 0 }], blocks: [id] })
  expect(await store.check()).toEqual([])
  for (const damage of ['size = size - 1', 'size = null', 'size = 9223372036854775807', "bytes = x'28b52ffd'"]) {
    db.exec(`update content set ${damage} where block = 1`)
    expect(await store.hasBlocks([id])).toEqual([false])
    expect(await store.check()).toMatchObject([{ table: 'block', what: 'its bytes are not those of its id' }])
    await store.putBlocks([block])
    expect(stored()[0]).toEqual({ bytes: block, size: null })
    await compactSqlite({ path })
    expect(stored()).toEqual(before)
  }
  db.close()
  await store.close()
})

it('compaction compresses all blocks, even more than fit one transaction', async () => {
  const path = join(folder, 'many.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const blocks = Array.from({ length: 250 }, (_, index) => text(400 + index))
  const ids = await store.putBlocks([...blocks, randomBytes(2000)])
  const db = new DatabaseSync(path)
  let transactions = 0
  await packBlocks(db, async (work) => {
    transactions += 1
    return work()
  })
  expect(transactions).toBe(3)
  expect(db.prepare('select length(bytes) as plain from content where size < 0').all()).toEqual([{ plain: 2000 }])
  db.close()
  expect(areSame((await store.getBlocks(ids)).slice(0, 250), blocks)).toBe(true)
  await store.close()
})

it('compaction tries an incompressible block only once', async () => {
  const path = join(folder, 'once.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const blocks = Array.from({ length: 3 }, () => randomBytes(3 << 20))
  const ids = await store.putBlocks(blocks)
  const db = new DatabaseSync(path)
  const turns = async (): Promise<number> => {
    let count = 0
    await packBlocks(db, async (work) => {
      count += 1
      return work()
    })
    return count
  }
  expect([await turns(), await turns()]).toEqual([3, 0])
  expect(
    (await store.getBlocks(ids)).map((bytes, index) =>
      Buffer.compare(bytes as Uint8Array, blocks[index] as Uint8Array),
    ),
  ).toEqual([0, 0, 0])
  await store.putBlocks(blocks)
  expect([await turns(), await store.hasBlocks(ids), await store.check()]).toEqual([0, [true, true, true], []])
  db.close()
  await store.close()
})

it('large blocks are compressed in transactions of 1 MiB, so that other writers get a turn', async () => {
  const db = new DatabaseSync(':memory:')
  db.exec('create table content (block integer primary key, bytes blob, size integer)')
  const put = db.prepare('insert into content (bytes) values (?)')
  for (let count = 0; count < 5; count++) put.run(new Uint8Array(1 << 19))
  put.run(new Uint8Array(9 << 20))
  const sizes: number[] = []
  await packBlocks(db, async (work) => {
    const packed = (): number => db.prepare('select * from content where size is not null').all().length
    const before = packed()
    const result = work()
    sizes.push(packed() - before)
    return result
  })
  expect(sizes).toEqual([2, 2, 1, 1])
})

it('a block is compressed before the transaction, and left alone if it is changed or removed until then', async () => {
  const db = new DatabaseSync(':memory:')
  db.exec('create table content (block integer primary key, bytes blob, size integer)')
  const put = db.prepare('insert into content (bytes) values (?)')
  for (let count = 0; count < 3; count++) put.run(text(1000))
  await packBlocks(db, async (work) => {
    db.prepare('update content set bytes = ? where block = 1').run(text(2000))
    db.exec('delete from content where block = 2')
    work()
  })
  expect(db.prepare('select block, size from content').all()).toEqual([
    { block: 1, size: null },
    { block: 3, size: text(1000).length },
  ])
  db.close()
})

it('a block with a damaged size does not prevent finding or erasing other texts, and leaves no reader open', async () => {
  const path = join(folder, 'huge-size.db')
  const store = await sqliteStore({ path })
  const session = await createSession(store, { id: 's', erasable: true })
  await session.append(user(new TextDecoder().decode(text(1000))))
  await session.append(user('a short secret'))
  const db = new DatabaseSync(path)
  for (const size of ['9223372036854775807', '-9223372036854775808']) {
    db.exec(`update content set size = ${size}`)
    expect(await store.containing(['short secret'])).toMatchObject({ rows: [{ id: 's' }], blocks: [] })
    expect((await compactSqlite({ path })).readers).toBe(undefined)
  }
  expect(await eraseMessages(session, [0, 1], { reason: 'asked to' })).toMatchObject({ remains: [], residue: [] })
  expect(db.prepare('select * from content').all()).toEqual([])
  db.close()
  await store.close()
})

it("compaction through a link returns the target file's sizes and names its reader", async () => {
  const [path, link] = [join(folder, 'linked.db'), join(folder, 'link.db')]
  const store = await sqliteStore({ path, durability: 'os' })
  symlinkSync(path, link)
  const reader = new DatabaseSync(path)
  reader.exec('begin; select count(*) from row')
  await store.putBlocks([text(1000)])
  const here = await compactSqlite({ path, wait: 0 })
  expect(here.after).toBeGreaterThan(100_000)
  const there = await compactSqlite({ path: link, wait: 0 })
  expect([there.before, there.readers]).toEqual([here.after, here.readers])
  reader.close()
  await store.close()
})

it("compaction waits for another connection's read, and names the reader if it does not end", async () => {
  const path = join(folder, 'read.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const reader = new DatabaseSync(path)
  reader.exec('begin; select count(*) from row')
  await store.putBlocks([text(1000)])
  expect(await compactSqlite({ path, wait: 0 })).toMatchObject({
    readers: process.platform === 'linux' ? [process.pid] : [],
  })
  setTimeout(() => reader.exec('commit'), 50)
  expect((await compactSqlite({ path })).readers).toBe(undefined)
  reader.close()
  await store.close()
})

const disk = smallDisk('4m')
afterAll(() => disk?.remove())
const noDisk = leftOutIf(disk === undefined, 'no file system can be mounted here')

it(
  'a full disk has as much space after a failed compaction as before, and a store there opens for reading',
  noDisk,
  async () => {
    const on = disk?.path ?? ''
    const free = (): number => statfsSync(on).bavail * statfsSync(on).bsize
    const path = join(on, 'store.db')
    const first = await sqliteStore({ path, durability: 'os' })
    const long = (): string => randomBytes(8000).toString('hex')
    await createSession(first, { id: 's', messages: Array.from({ length: 40 }, () => user(long())) })
    await first.close()
    const store = await sqliteStore({ path, durability: 'os' })
    const session = await openSession(store, 's')
    writeFileSync(join(on, 'other'), Buffer.alloc(free() - 300_000))
    const before = free()
    expect(await compactSqlite({ path })()).toMatchObject({ left: { _tag: 'Full' } })
    expect(free()).toBe(before)
    await session.append(user('there is space'))
    await store.close()
    writeFileSync(join(on, 'rest'), Buffer.alloc(free()))
    const notices: unknown[] = []
    const reading = await sqliteStore({ path, onNotice: (notice) => notices.push(notice) })
    expect((await openSession(reading, 's')).len).toBe(41)
    expect(notices).toMatchObject([{ _tag: 'OpenedReadOnly', reason: { _tag: 'Full' } }])
    const refused = await (await openSession(reading, 's')).append(user('there is none'))()
    expect(isLeft(refused) && faultMessage(refused.left)).toMatch(
      /because no disk space was left.*free space, and open/,
    )
    await reading.close()
    rmSync(join(on, 'other'))
    const again = await sqliteStore({ path })
    expect((await openSession(again, 's')).len).toBe(41)
    await again.close()
    expect((await compactSqlite({ path })).readers).toBe(undefined)
  },
)

it('compactSqlite throws at the call for an unknown option, a missing path or an invalid time', () => {
  const path = join(folder, 'store.db')
  for (const [options, message] of [
    [{ path, wiat: 5 }, 'compactSqlite has no option "wiat"'],
    [{}, 'compactSqlite needs a path'],
    [{ path, wait: Number.NaN }, 'wait'],
    [{ path, wait: -1 }, 'wait'],
  ] as const)
    expect(() => compactSqlite(options as unknown as { path: string })).toThrow(message)
})

it('without zstd, a compaction changes nothing, and compacting and reading compressed blocks are clear faults', async () => {
  const path = join(folder, 'no-zstd.db')
  const store = await sqliteStore({ path, durability: 'os' })
  const [id] = await store.putBlocks([text(1000)])
  await compactSqlite({ path })
  const [plain] = await store.putBlocks([text(2000)])
  await store.close()
  const before = readFileSync(path)
  const program = `
    import * as module from 'node:module'
    const zlib = process.getBuiltinModule('node:zlib')
    for (const name of ['zstdCompressSync', 'zstdDecompressSync']) delete zlib[name]
    module.syncBuiltinESMExports()
    const { compactSqlite, sqliteStore } = await import(${JSON.stringify(programUrl('test/library.ts'))})
    const [path, id, plain] = process.argv.slice(1)
    const said = (fault) => fault.message
    const store = await sqliteStore({ path })
    console.log(JSON.stringify([
      await compactSqlite({ path }).catch(said),
      await store.getBlocks([id]).catch(said),
      await store.check().catch(said),
      (await store.getBlocks([plain]))[0].length,
    ]))
    await store.close()`
  const run = spawnSync(process.execPath, ['--conditions=@indelible/source', '--input-type=module', '-e', program, path, id as string, plain as string]) // oxfmt-ignore
  expect(JSON.parse(String(run.stdout) || String(run.stderr))).toEqual([
    expect.stringContaining("can't write compressed blocks: use 22.16 or later"),
    expect.stringContaining("can't read compressed blocks: use 22.16 or later"),
    expect.stringContaining("can't read compressed blocks: use 22.16 or later"),
    text(2000).length,
  ])
  expect(readFileSync(path).equals(before)).toBe(true)
})
