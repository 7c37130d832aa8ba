/** The smallest trees, and what is no tree: exact subtrees, refused claims, frozen results. */
import { createHash } from 'node:crypto'
import { expect, it } from 'vitest'
import { equalBytes } from '../../src/proof/hashes.ts'
import { largestPowerBelow, siblingsOf } from '../../src/proof/inclusion.ts'
import { subtreesBetween } from '../../src/proof/consistency.ts'
import {
  appendLeaf,
  blockIdOf,
  digestOfName,
  emptyRange,
  grow,
  hashRow,
  nodeHash,
  peakEnds,
  portableSha256,
  rowLeaf,
  treeRoot,
  verifyConsistency,
  verifyInclusion,
} from '../../src/proof/internal.ts'
import { consistencyProof, inclusionProof, leafHash } from './whole-tree.ts'

const sha256 = (...parts: readonly Uint8Array[]): string =>
  createHash('sha256').update(Buffer.concat(parts)).digest('hex')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const leaves = (count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => leafHash(Buffer.from(`leaf ${index}`)))
const asPairs = (subtrees: readonly { readonly start: number; readonly end: number }[]): readonly string[] =>
  subtrees.map(({ start, end }) => `${start}-${end}`)

it.each<readonly [number, number, readonly string[]]>([
  [0, 1, []],
  [0, 2, ['1-2']],
  [1, 2, ['0-1']],
  [0, 3, ['1-2', '2-3']],
  [2, 3, ['0-2']],
  [2, 4, ['3-4', '0-2']],
  [4, 5, ['0-4']],
  [3, 5, ['2-3', '0-2', '4-5']],
  [4, 7, ['5-6', '6-7', '0-4']],
  [6, 7, ['4-6', '0-4']],
])('the siblings of leaf %i of %i are %j, bottom up', (position, size, siblings) => {
  expect(asPairs(siblingsOf(position, size))).toEqual(siblings)
})

it.each<readonly [number, number, readonly string[]]>([
  [1, 1, []],
  [1, 2, ['1-2']],
  [2, 2, []],
  [2, 3, ['2-3']],
  [3, 4, ['2-3', '3-4', '0-2']],
  [4, 7, ['4-7']],
  [3, 7, ['2-3', '3-4', '0-2', '4-7']],
  [6, 7, ['4-6', '6-7', '0-4']],
  [6, 8, ['4-6', '6-8', '0-4']],
])('a tree of %i leaves and one of %i differ by the subtrees %j', (oldSize, size, subtrees) => {
  expect(asPairs(subtreesBetween(oldSize, size))).toEqual(subtrees)
})

it.each([0.5, -1, 3, 4, NaN, Infinity, '1'])('a tree of three leaves has no leaf at position %j', (position) => {
  const error = new RangeError(`there is no leaf at position ${position} of 3`)
  expect(() => siblingsOf(position as number, 3)).toThrow(error)
  expect(() => inclusionProof(position as number, leaves(3))).toThrow(error)
})

it.each([0, 0.5, 1.5, -1, 4, NaN, Infinity, '1'])('a tree of three leaves has no older tree of %j', (oldSize) => {
  const error = new RangeError(`an older tree has from 1 to 3 leaves, not ${oldSize}`)
  expect(() => subtreesBetween(oldSize as number, 3)).toThrow(error)
  expect(() => consistencyProof(oldSize as number, leaves(3))).toThrow(error)
})

it('the peaks of a tree end where its perfect subtrees end', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 7, 8, 2 ** 40 + 1].map((size) => peakEnds(size))).toEqual(
    [[], [1], [2], [2, 3], [4], [4, 5], [4, 6], [4, 6, 7], [8], [2 ** 40, 2 ** 40 + 1]], // oxfmt-ignore
  )
})

it('the left subtree has the largest power of two below the size', () => {
  expect([1, 2, 3, 4, 5, 8, 9, 2 ** 40, 2 ** 40 + 1].map(largestPowerBelow)).toEqual(
    [1, 1, 2, 2, 4, 4, 8, 2 ** 39, 2 ** 40], // oxfmt-ignore
  )
})

it('a claim of another position or size is no inclusion, and no claim throws', () => {
  const tree = leaves(3)
  const root = treeRoot(tree)
  for (const [position, leaf] of tree.entries()) {
    const claim = { position, size: 3, leaf, proof: inclusionProof(position, tree), root }
    expect(verifyInclusion(claim)).toBe(true)
    const [first = root, ...rest] = claim.proof
    for (const wrong of [
      { position: position + 0.5 },
      { position: NaN },
      { position: 2 ** 53, size: 2 ** 53 + 2 },
      { position: 3 },
      { position: -1 },
      { size: 3.5 },
      { size: Infinity },
      { size: 0 },
      { size: 2 ** 53 },
      { proof: rest },
      { proof: [] },
      { proof: [...claim.proof, first] },
      { proof: [first.slice(1), ...rest] },
      { leaf: leaf.slice(1) },
      { root: root.slice(1) },
      { root: new Uint8Array(0) },
      { root: new Uint8Array(0), leaf: new Uint8Array(0), proof: [] },
    ])
      expect([wrong, verifyInclusion({ ...claim, ...wrong })]).toEqual([wrong, false])
  }
  const empty = new Uint8Array(0)
  expect(verifyInclusion({ position: 0, size: 1, leaf: empty, proof: [], root: empty })).toBe(false)
  const [one = root] = tree
  expect(verifyInclusion({ position: 0, size: 1, leaf: one, proof: [], root: one })).toBe(true)
  expect(verifyInclusion({ position: 0, size: 2, leaf: one, proof: [], root: one })).toBe(false)
})

it('a claim of another size is no consistency, and no claim throws', () => {
  const tree = leaves(5)
  for (const oldSize of [1, 2, 3, 4, 5]) {
    const claim = {
      oldSize,
      oldRoot: treeRoot(tree.slice(0, oldSize)),
      size: 5,
      root: treeRoot(tree),
      proof: consistencyProof(oldSize, tree),
    }
    expect(verifyConsistency(claim)).toBe(true)
    const one = claim.root
    for (const wrong of [
      { oldSize: 0 },
      { oldSize: oldSize + 0.5 },
      { oldSize: NaN },
      { oldSize: 6 },
      { size: 5.5 },
      { size: Infinity },
      { size: oldSize - 1 },
      { size: 2 ** 53 },
      { proof: [...claim.proof, one] },
      { proof: claim.proof.length > 0 ? [] : [one] },
      { proof: [one.slice(1), ...claim.proof.slice(1)] },
      { oldRoot: claim.oldRoot.slice(1) },
      { root: claim.root.slice(1) },
      { root: new Uint8Array(0) },
    ])
      expect([oldSize, wrong, verifyConsistency({ ...claim, ...wrong })]).toEqual([oldSize, wrong, false])
  }
  const empty = new Uint8Array(0)
  expect(verifyConsistency({ oldSize: 1, oldRoot: empty, size: 2, root: empty, proof: [empty] })).toBe(false)
})

it('hashes of another length have nodes, too, and equal bytes have one length', () => {
  const [one, two] = [Uint8Array.of(1, 2, 3), Uint8Array.of(4)]
  const hash = (bytes: Uint8Array): Uint8Array => portableSha256(bytes).slice(0, 20)
  expect(hex(nodeHash(one, two))).toBe(sha256(Uint8Array.of(1), one, two))
  expect(hex(nodeHash(two, one, hash))).toBe(sha256(Uint8Array.of(1), two, one).slice(0, 40))
  expect(hex(leafHash(one))).toBe(sha256(Uint8Array.of(0), one))
  expect(hex(leafHash(one, hash))).toBe(sha256(Uint8Array.of(0), one).slice(0, 40))
  expect(blockIdOf(one, portableSha256)).toBe(sha256(one))
  expect([equalBytes(one, one.slice()), equalBytes(one, one.slice(0, 2)), equalBytes(one.slice(0, 2), one)]).toEqual([
    true,
    false,
    false,
  ])
  expect([equalBytes(two, Uint8Array.of(5)), equalBytes(new Uint8Array(0), new Uint8Array(0))]).toEqual([false, true])
})

it('different names have different digests, also those that are no Unicode text', () => {
  expect(digestOfName('a"ä')).toBe(sha256(Buffer.from('"a\\"ä"')))
  expect(digestOfName('\ud800')).toBe(sha256(Buffer.from('"\\ud800"')))
  expect(new Set(['\ud800', '\udfff', '\ufffd', ''].map(digestOfName)).size).toBe(4)
})

it.each(['a', 'ä', '€', '🙂'])('a row of many %s has its leaf around the length of the shared buffer', (letter) => {
  for (const [salt, most] of [
    [undefined, 21_842],
    ['ab'.repeat(16), 21_836],
  ] as const)
    for (const count of [most - 1, most, most + 1]) {
      const body = letter.repeat(count / letter.length)
      const head = [0, salt === undefined ? 2 : 6, 0, 0, 0, 0, 0, 0, 0, 9]
      const expected = sha256(Uint8Array.from(head), Buffer.from(salt ?? '', 'hex'), Buffer.from(body))
      expect(hex(rowLeaf({ kind: 'entry', body, at: 9, salt }, portableSha256))).toBe(expected)
    }
})

it('trees, proofs and hashed rows are frozen', () => {
  const tree = leaves(5)
  const range = tree.reduce((before, leaf) => appendLeaf(before, leaf), emptyRange)
  const grown = grow(range, tree, portableSha256)
  const row = hashRow(
    { kind: 'entry', body: 'a', at: 1, salt: undefined, erased: undefined },
    Object.freeze([]),
    portableSha256,
  )
  const frozen = {
    emptyRange,
    'its peaks': emptyRange.peaks,
    range,
    'the peaks': range.peaks,
    grown,
    'the grown range': grown.range,
    'the grown peaks': grown.range.peaks,
    'the nodes': grown.nodes,
    ends: peakEnds(5),
    siblings: siblingsOf(1, 5),
    subtrees: subtreesBetween(3, 5),
    'an inclusion proof': inclusionProof(1, tree),
    'a consistency proof': consistencyProof(3, tree),
    row,
  }
  expect(Object.entries(frozen).filter(([, value]) => !Object.isFrozen(value))).toEqual([])
})
