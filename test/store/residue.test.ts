/** The parts of a SQLite file that nothing refers to, and what they still say. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { Needles } from '../../src/store/sqlite/needles.ts'
import { residueIn } from '../../src/store/sqlite/residue.ts'

const folder = mkdtempSync(join(tmpdir(), 'residue-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it.each([
  ['of a deleted row is found', 'b', 4096, true],
  ['of a deleted row is found in a page of 64 KiB', 'b', 65_536, true],
  ['of the row behind it, which is there, is not', 'a', 4096, false],
  ['of the row before it, which is there, is not', 'c', 4096, false],
])('residue search: a text %s', async (_, letter, size, found) => {
  const path = join(folder, `${letter}-${size}.db`)
  const db = new DatabaseSync(path)
  db.exec(`pragma page_size = ${size}; pragma secure_delete = off; create table t (id integer primary key, text text)`)
  const insert = db.prepare('insert into t (text) values (?)')
  for (const one of 'abc') insert.run(one.repeat(200)) // each before the last one in the page
  db.exec('delete from t where id = 2')
  db.close()
  const needles = new Needles()
  needles.addBytes(Buffer.from(letter.repeat(200)))
  expect(await residueIn(path, needles)).toBe(found)
})

it('residue search reads free pages as a whole, and of the first page and the used ones no row', async () => {
  const path = join(folder, 'free.db')
  const db = new DatabaseSync(path)
  const [first, used, trunk, free] = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(200))
  db.exec(`pragma secure_delete = off; create table used (text /* ${first} */); create table trunk (text)`)
  db.exec(`create table free (text); insert into used values ('${used}'); insert into trunk values ('${trunk}')`)
  db.exec(`insert into free values ('${free}'); drop table trunk; drop table free`)
  db.close()
  const isFound = (text: string | undefined): Promise<boolean> => {
    const needles = new Needles()
    needles.addBytes(Buffer.from(text ?? ''))
    return residueIn(path, needles)
  }
  expect(await Promise.all([first, used, trunk, free].map(isFound))).toEqual([false, false, true, true])
})

it('residue search reads all unused bytes of a page, and no others', async () => {
  const needles = new Needles()
  const secret = Buffer.from('sixteen letters!')
  needles.addBytes(secret)
  const path = join(folder, 'pages.db')
  const size = 512
  /** Two pages, the second with these cells and free blocks, and the text somewhere in it. */
  const isFoundAt = (
    at: number,
    type: number,
    cells: number,
    blocks: readonly number[] = [],
    isFree = false,
  ): Promise<boolean> => {
    const file = Buffer.alloc(2 * size)
    file.writeUInt16BE(size, 16)
    if (isFree) file.writeUInt32BE(2, 32) // the first page of the free list
    file[100] = 13
    file.writeUInt16BE(size, 105)
    const page = file.subarray(size)
    page[0] = type
    page.writeUInt16BE(blocks[0] ?? 0, 1)
    page.writeUInt16BE(cells, 3)
    page.writeUInt16BE(200, 5)
    for (const [index, block] of blocks.entries()) {
      page.writeUInt16BE(blocks[index + 1] ?? 0, block)
      page.writeUInt16BE(30, block + 2)
    }
    secret.copy(page, at)
    writeFileSync(path, file)
    return residueIn(path, needles)
  }
  for (const [type, header] of [
    [2, 12],
    [5, 12],
    [10, 8],
    [13, 8],
  ] as const)
    for (const cells of [0, 1, 5]) {
      const first = header + 2 * cells
      for (const [at, isUnused] of [
        [first - 1, false],
        [first, true],
        [184, true],
        [185, false],
        [400, false],
      ] as const)
        expect([type, cells, at, await isFoundAt(at, type, cells)]).toEqual([type, cells, at, isUnused])
    }
  for (const block of [300, 400])
    for (const [at, isUnused] of [
      [3, false],
      [4, true],
      [14, true],
      [15, false],
    ] as const)
      expect([block, at, await isFoundAt(block + at, 13, 1, [300, 400])]).toEqual([block, at, isUnused])
  for (const at of [8, 300, size - secret.length]) {
    expect([at, await isFoundAt(at, 7, 1)]).toEqual([at, true]) // no page of a tree
    expect([at, await isFoundAt(at, 0, 0, [], true)]).toEqual([at, true])
  }
})

it('residue search looks for every content of a row, and not for the names and values of the library', async () => {
  const needles = new Needles()
  const body = {
    message: { role: 'assistant', content: [{ type: 'text of a type, long enough', text: 'deep '.repeat(8) }] },
    n: 5,
    'a name that is long enough': 1234567890123456,
    none: null,
  }
  needles.addRow({ body: JSON.stringify(body), salt: 'ab'.repeat(16) }, '{"stays":"of the stub, which stays there"}')
  for (const [text, isThere] of [
    ['deep '.repeat(8), true],
    ['text of a type, long enough', true],
    ['a name that is long enough', true],
    ['1234567890123456', true],
    ['of the stub, which stays there', false],
    ['{"message":{"role":"assistant","content":[{', false],
  ] as const)
    expect([text, needles.isIn(Buffer.from(`....${text}....`))]).toEqual([text, isThere])
  expect(needles.isIn(Buffer.from('ab'.repeat(16), 'hex'))).toBe(true)
})

it('a block with more pieces than are searched for counts as unknown, so that the file is rewritten', async () => {
  for (const [length, hasUnknown] of [
    [20_000, false],
    [17 << 20, true],
  ] as const) {
    const needles = new Needles()
    needles.addContent({ bytes: randomBytes(length), size: null })
    await needles.finish()
    expect([length, needles.hasUnknown]).toEqual([length, hasUnknown])
  }
})
