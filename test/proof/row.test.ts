/** A tree grows by rows that were hashed here, and by nothing that only looks like one. */
import { expect, it } from 'vitest'
import { emptyRange, grow, RowTree, hashRow, portableSha256, rowLeaf } from '../../src/proof/kit.ts'

const hash = portableSha256
const row = hashRow({ kind: 'note', body: 'a', at: 7, salt: undefined, erased: undefined }, Object.freeze([]), hash)

it('hashRow extends a tree like its leaves do, for that tree only', () => {
  const grown = new RowTree(emptyRange, [row, row], hash)
  const { range, nodes } = grow(emptyRange, [rowLeaf(row, hash), rowLeaf(row, hash)], hash)
  expect([grown.range, Array.from(grown.nodes)]).toEqual([range, Array.from(nodes)])
  expect(Array.from(RowTree.rowsIn(grown, emptyRange) ?? [])).toEqual([row, row])
  expect(RowTree.rowsIn(grown, range)).toBeUndefined()
  for (const other of [{ ...grown }, Object.create(grown), {}, null, undefined, 'rows'])
    expect(RowTree.rowsIn(other, emptyRange)).toBeUndefined()
  expect([row, grown, RowTree].filter((one) => !Object.isFrozen(one))).toEqual([])
})

it('a changed, copied or handmade row is refused by the tree', () => {
  for (const other of [{ ...row }, { ...row, body: 'b' }, Object.create(row), structuredClone(row), null, undefined])
    expect(() => new RowTree(emptyRange, [row, other as never], hash)).toThrow('a row was changed after it was checked')
})
