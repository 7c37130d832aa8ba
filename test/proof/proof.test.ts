import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  appendLeaf,
  emptyRange,
  emptyRoot,
  isBlockId,
  nodeHash,
  peakEnds,
  rootOf,
  rowLeaf,
  treeRoot,
  verifyConsistency,
  verifyInclusion,
} from '../../src/proof/internal.ts'
import { consistencyProof, inclusionProof, leafHash } from './whole-tree.ts'
import { bytesOfHex, hexOf } from '../../src/proof/sha256.ts'
import { itShared, readShared } from '../real-transcripts.ts'

const sha256 = (bytes: Uint8Array): Uint8Array => new Uint8Array(createHash('sha256').update(bytes).digest())
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const bytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'))
const leaves = (count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, index) => leafHash(Buffer.from(`leaf ${index}`), sha256))

/** RFC 6962, word for word: slow, and plainly right. */
const split = (size: number): number => 2 ** Math.ceil(Math.log2(size) - 1)
const naiveRoot = (d: readonly Uint8Array[]): Uint8Array => {
  if (d.length === 0) return sha256(new Uint8Array(0))
  if (d.length === 1) return d[0] as Uint8Array
  const k = split(d.length)
  return nodeHash(naiveRoot(d.slice(0, k)), naiveRoot(d.slice(k)), sha256)
}
const naivePath = (m: number, d: readonly Uint8Array[]): Uint8Array[] => {
  if (d.length === 1) return []
  const k = split(d.length)
  return m < k
    ? [...naivePath(m, d.slice(0, k)), naiveRoot(d.slice(k))]
    : [...naivePath(m - k, d.slice(k)), naiveRoot(d.slice(0, k))]
}
const naiveProof = (m: number, d: readonly Uint8Array[], whole = true): Uint8Array[] => {
  if (m === d.length) return whole ? [] : [naiveRoot(d)]
  const k = split(d.length)
  return m <= k
    ? [...naiveProof(m, d.slice(0, k), whole), naiveRoot(d.slice(k))]
    : [...naiveProof(m - k, d.slice(k), false), naiveRoot(d.slice(0, k))]
}

interface InclusionCase {
  readonly case: string
  readonly leafIdx: number
  readonly treeSize: number
  readonly root: string
  readonly leafHash: string
  readonly proof: readonly string[] | null
  readonly wantErr: boolean
}

interface ConsistencyCase {
  readonly case: string
  readonly size1: number
  readonly size2: number
  readonly root1: string
  readonly root2: string
  readonly proof: readonly string[] | null
  readonly wantErr: boolean
}

describe('published Merkle tree vectors', () => {
  itShared('inclusion', () => {
    const cases = JSON.parse(readShared('rfc6962/inclusion.json')) as readonly InclusionCase[]
    expect(cases.length).toBe(74)
    for (const { case: name, leafIdx, treeSize, root, leafHash, proof, wantErr } of cases) {
      const good = verifyInclusion({
        position: leafIdx,
        size: treeSize,
        leaf: bytes(leafHash),
        proof: (proof ?? []).map(bytes),
        root: bytes(root),
      })
      expect([name, good]).toEqual([name, !wantErr])
    }
  })
  itShared('consistency', () => {
    const cases = JSON.parse(readShared('rfc6962/consistency.json')) as readonly ConsistencyCase[]
    expect(cases.length).toBe(73)
    for (const { case: name, size1, size2, root1, root2, proof, wantErr } of cases) {
      const good = verifyConsistency({
        oldSize: size1,
        size: size2,
        oldRoot: bytes(root1),
        root: bytes(root2),
        proof: (proof ?? []).map(bytes),
      })
      expect([name, good]).toEqual([name, !wantErr])
    }
  })
  it('match: the empty tree, an empty leaf, and a Certificate Transparency tree', () => {
    expect(hex(emptyRoot())).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
    expect(hex(leafHash(new Uint8Array(0)))).toBe('6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d')
    const contents = [
      '',
      '00',
      '10',
      '2021',
      '3031',
      '40414243',
      '5051525354555657',
      '606162636465666768696a6b6c6d6e6f',
    ]
    const tree = contents.map((content) => leafHash(new Uint8Array(Buffer.from(content, 'hex'))))
    expect(hex(treeRoot(tree))).toBe('5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328')
  })
})

describe('Merkle trees of every size', () => {
  const all = leaves(130)
  it('have the defined root, built at once or leaf by leaf', () => {
    let range = emptyRange
    for (let size = 0; size <= all.length; size++) {
      const root = hex(naiveRoot(all.slice(0, size)))
      expect(hex(rootOf(range, sha256))).toBe(root)
      expect(hex(treeRoot(all.slice(0, size), sha256))).toBe(root)
      expect(range.peaks.length).toBe(peakEnds(size).length)
      if (size < all.length) range = appendLeaf(range, all[size] as Uint8Array, sha256)
    }
  })
  it('can be continued from the stored last peaks', () => {
    const kept: Uint8Array[] = []
    let range = emptyRange
    for (const leaf of all) {
      expect(peakEnds(range.size).map((end) => hex(kept[end - 1] as Uint8Array))).toEqual(range.peaks.map(hex))
      range = appendLeaf(range, leaf, sha256)
      kept.push(range.peaks.at(-1) as Uint8Array)
    }
  })
  it('are immutable: a range does not change when appended to', () => {
    const range = appendLeaf(emptyRange, all[0] as Uint8Array, sha256)
    appendLeaf(range, all[1] as Uint8Array, sha256)
    expect([range.size, range.peaks.length, Object.isFrozen(range), Object.isFrozen(range.peaks)]).toEqual([
      1,
      1,
      true,
      true,
    ])
    expect(() => (range.peaks as Uint8Array[]).pop()).toThrow(TypeError)
  })
  it('cost one hash per append on average', () => {
    let hashes = 0
    let range = emptyRange
    for (const leaf of leaves(1024)) range = appendLeaf(range, leaf, (input) => ((hashes += 1), sha256(input)))
    expect(hashes).toBe(1023)
    expect(range.peaks.length).toBe(1)
  })
  it('have the defined inclusion proofs, which verify', () => {
    for (const size of [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 64, 65]) {
      const tree = all.slice(0, size)
      for (let position = 0; position < size; position++) {
        const proof = inclusionProof(position, tree, sha256)
        expect(proof.map(hex)).toEqual(naivePath(position, tree).map(hex))
        expect(
          verifyInclusion({ position, size, leaf: tree[position] as Uint8Array, proof, root: naiveRoot(tree) }, sha256),
        ).toBe(true)
      }
    }
  })
  it('have the defined consistency proofs, which verify', () => {
    for (let size = 1; size <= 40; size++) {
      const tree = all.slice(0, size)
      for (let oldSize = 1; oldSize <= size; oldSize++) {
        const proof = consistencyProof(oldSize, tree, sha256)
        expect(proof.map(hex)).toEqual(naiveProof(oldSize, tree).map(hex))
        const claim = { oldSize, oldRoot: naiveRoot(tree.slice(0, oldSize)), size, root: naiveRoot(tree), proof }
        expect(verifyConsistency(claim, sha256)).toBe(true)
      }
    }
  })
  it('have no proof for a position or size outside of them', () => {
    expect(() => inclusionProof(3, all.slice(0, 3))).toThrow(new RangeError('there is no leaf at position 3 of 3'))
    expect(() => inclusionProof(-1, all)).toThrow(RangeError)
    expect(() => inclusionProof(0.5, all)).toThrow(RangeError)
    expect(() => consistencyProof(0, all.slice(0, 3))).toThrow(
      new RangeError('an older tree has from 1 to 3 leaves, not 0'),
    )
    expect(() => consistencyProof(4, all.slice(0, 3))).toThrow(RangeError)
  })
})

describe('a proof of something else never verifies', () => {
  const flip = (hash: Uint8Array, bit: number): Uint8Array =>
    hash.map((byte, index) => (index === bit >> 3 ? byte ^ (1 << (bit & 7)) : byte))
  const arbitrary = fc.record({
    size: fc.integer({ min: 1, max: 60 }),
    a: fc.nat(),
    b: fc.nat(),
    bit: fc.nat({ max: 255 }),
    at: fc.nat(),
  })

  it('inclusion with another position, size, leaf, root, or changed proof', () => {
    fc.assert(
      fc.property(arbitrary, ({ size, a, b, bit, at }) => {
        const tree = leaves(size)
        const position = a % size
        const proof = inclusionProof(position, tree, sha256)
        const claim = { position, size, leaf: tree[position] as Uint8Array, proof, root: naiveRoot(tree) }
        const wrong = [
          ...(b % size === position ? [] : [{ ...claim, position: b % size }]),
          { ...claim, leaf: flip(claim.leaf, bit) },
          { ...claim, root: flip(claim.root, bit) },
          { ...claim, position: size },
          { ...claim, position: -1 },
          { ...claim, size: 2 * size + 1 },
          { ...claim, proof: [...proof, claim.root] },
          { ...claim, proof: [claim.root, ...proof] },
          ...(proof.length === 0
            ? []
            : [
                { ...claim, proof: proof.slice(1) },
                { ...claim, proof: proof.map((hash, index) => (index === at % proof.length ? flip(hash, bit) : hash)) },
              ]),
        ]
        expect(verifyInclusion(claim, sha256)).toBe(true)
        for (const claimed of wrong) expect(verifyInclusion(claimed, sha256)).toBe(false)
      }),
    )
  })
  it('consistency with another size, root or changed proof, or a rewritten history', () => {
    fc.assert(
      fc.property(arbitrary, ({ size, a, b, bit, at }) => {
        const tree = leaves(size)
        const oldSize = 1 + (a % size)
        const proof = consistencyProof(oldSize, tree, sha256)
        const claim = { oldSize, oldRoot: naiveRoot(tree.slice(0, oldSize)), size, root: naiveRoot(tree), proof }
        const rewritten = tree.map((leaf, index) => (index === b % oldSize ? flip(leaf, bit) : leaf))
        const wrong = [
          { ...claim, oldRoot: flip(claim.oldRoot, bit) },
          { ...claim, root: flip(claim.root, bit) },
          { ...claim, oldSize: size + 1 },
          { ...claim, oldSize: 0 },
          { ...claim, proof: [...proof, claim.root] },
          { ...claim, root: naiveRoot(rewritten), proof: consistencyProof(oldSize, rewritten, sha256) },
          ...(proof.length === 0
            ? []
            : [
                { ...claim, proof: proof.slice(1) },
                { ...claim, proof: proof.map((hash, index) => (index === at % proof.length ? flip(hash, bit) : hash)) },
              ]),
        ]
        expect(verifyConsistency(claim, sha256)).toBe(true)
        for (const claimed of wrong) expect(verifyConsistency(claimed, sha256)).toBe(false)
      }),
    )
  })
})

it("property: bytes round-trip through hexadecimal, which matches Node's", () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      expect(hexOf(bytes)).toBe(hex(bytes))
      expect(bytesOfHex(hexOf(bytes))).toEqual(bytes)
    }),
  )
})

it("a row's leaf is the digest of kind, time, salt and body, or the kept digest of an erased row", () => {
  const at = 5 * 2 ** 32 + 6
  const time = [0, 0, 0, 5, 0, 0, 0, 6]
  for (const [row, mark, salt] of [
    [{ kind: 'entry' }, 2, []],
    [{ kind: 'note' }, 3, []],
    [{ kind: 'entry', salt: 'ab'.repeat(16) }, 6, Array<number>(16).fill(0xab)],
    [{ kind: 'note', salt: 'ab'.repeat(16) }, 7, Array<number>(16).fill(0xab)],
  ] as const)
    for (const body of ['', 'ä🙂', 'x'.repeat(100_000)]) {
      const expected = hex(sha256(Buffer.from([0, mark, ...time, ...salt, ...Buffer.from(body)])))
      expect(hex(rowLeaf({ ...row, at, body }, sha256))).toBe(expected)
      expect(hex(rowLeaf({ ...row, at, body: 'decrypted', stored: body }, sha256))).toBe(expected)
      expect(hex(rowLeaf({ ...row, at, body, erased: 'cd'.repeat(32) }, sha256))).toBe('cd'.repeat(32))
    }
})

it.each([
  ['64 digits in lower case', '0123456789abcdef'.repeat(4), true],
  ['upper case', '0A'.repeat(32), false],
  ['a letter behind f', '0g'.repeat(32), false],
  ['a letter behind f at the beginning', `g${'0'.repeat(63)}`, false],
  ['a sign before 0', '0/'.repeat(32), false],
  ['a sign behind 9', '0:'.repeat(32), false],
  ['two digits less', '0a'.repeat(31), false],
  ['a line break more', `${'0a'.repeat(32)}\n`, false],
  ['a number', 1, false],
])('a block id has 64 hexadecimal digits: %s', (_, value, is) => {
  expect(isBlockId(value)).toBe(is)
})
