/** The parts of a SQLite file that nothing refers to, and what they still say. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, it } from 'vitest'
import { Needles } from '../../src/store/sqlite/needles.ts'
import { residueIn } from '../../src/store/sqlite/residue.ts'

const folder = mkdtempSync(join(tmpdir(), 'residue-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it.each([
  ['of a deleted row is found', 'b', true],
  ['of the row behind it, which is there, is not', 'a', false],
  ['of the row before it, which is there, is not', 'c', false],
])('residue search: a text %s', (_, letter, found) => {
  const path = join(folder, `${letter}.db`)
  const db = new DatabaseSync(path)
  db.exec('pragma secure_delete = off; create table t (id integer primary key, text text)')
  const insert = db.prepare('insert into t (text) values (?)')
  for (const one of 'abc') insert.run(one.repeat(200)) // each before the last one in the page
  db.exec('delete from t where id = 2')
  db.close()
  const needles = new Needles()
  needles.addBytes(Buffer.from(letter.repeat(200)))
  expect(residueIn(path, needles)).toBe(found)
})

it('residue search looks for every nested text of a row except kept members', () => {
  const needles = new Needles()
  const body = {
    message: { role: 'assistant', content: [{ type: 'text of a type, long enough', text: 'deep '.repeat(8) }] },
    n: 5,
    none: null,
  }
  needles.addRow({ body: JSON.stringify(body), salt: 'ab'.repeat(16) }, '{"stays":"of the stub, which stays there"}')
  for (const [text, isThere] of [
    ['deep '.repeat(8), true],
    ['text of a type, long enough', false],
    ['of the stub, which stays there', false],
    ['{"message":{"role":"assistant","content":[{', false],
  ] as const)
    expect([text, needles.isIn(Buffer.from(`....${text}....`))]).toEqual([text, isThere])
  expect(needles.isIn(Buffer.from('ab'.repeat(16), 'hex'))).toBe(true)
})

it('a block with more pieces than are searched for counts as unknown, so that the file is rewritten', () => {
  for (const [length, hasUnknown] of [
    [20_000, false],
    [17 << 20, true],
  ] as const) {
    const needles = new Needles()
    needles.addContent({ bytes: randomBytes(length), size: null })
    needles.finish()
    expect([length, needles.hasUnknown]).toEqual([length, hasUnknown])
  }
})
