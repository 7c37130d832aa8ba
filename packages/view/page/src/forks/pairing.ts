/** Pairs the messages of two sessions for display: equal messages first, then the most similar ones between them. */
import { diffArrays } from 'diff'

/** A message to compare. */
export interface Compared {
  readonly position: number
  readonly role: string
  /** All that it says and does; equal if the messages are. */
  readonly text: string
  /** Whether its text was erased, so that it is like any message of its role. */
  readonly isErased: boolean
}

/** Two messages that are shown side by side. One is undefined if only one session has a message there. */
export interface Pair {
  readonly a: number | undefined
  readonly b: number | undefined
  readonly isSame: boolean
  /** Whether it is the first that differs. */
  readonly diverges: boolean
}

/** After so many differences, the rest is not aligned: it would take too long. */
const mostDifferences = 2000

/** Cost: O(texts · differences), and between messages that are the same O(messages of one · messages of the other) */
export const pairsOf = (own: readonly Compared[], other: readonly Compared[]): readonly Pair[] => {
  const changes = diffArrays(
    own.map(({ text }) => text),
    other.map(({ text }) => text),
    { maxEditLength: mostDifferences },
  ) ?? [
    { removed: true, added: false, count: own.length },
    { removed: false, added: true, count: other.length },
  ]
  const pairs: Pair[] = []
  let [x, y] = [0, 0]
  for (let index = 0; index < changes.length; index++) {
    const { removed, added, count = 0 } = changes[index] as (typeof changes)[number]
    if (!removed && !added) {
      for (let step = 0; step < count; step++)
        pairs.push({ a: own[x++]?.position, b: other[y++]?.position, isSame: true, diverges: false })
      continue
    }
    const next = changes[index + 1]
    const beside = next?.removed || next?.added ? (next.count ?? 0) : 0
    if (beside > 0) index += 1
    const [gone, come] = removed ? [count, beside] : [beside, count]
    let isFirst = true
    for (const [a, b] of alike(own.slice(x, x + gone), other.slice(y, y + come))) {
      pairs.push({ a: a?.position, b: b?.position, isSame: false, diverges: isFirst })
      isFirst = false
    }
    x += gone
    y += come
  }
  return pairs
}

type Beside = readonly [a: Compared | undefined, b: Compared | undefined]

/** Larger stretches are set beside each other in their order. */
const mostCompared = 10_000

/** Messages of a stretch in which nothing is the same, each beside the one that it is most like. */
const alike = (own: readonly Compared[], other: readonly Compared[]): readonly Beside[] => {
  if (own.length * other.length > mostCompared)
    return Array.from({ length: Math.max(own.length, other.length) }, (_, index) => [own[index], other[index]])
  const [words, otherWords] = [own.map(wordsIn), other.map(wordsIn)]
  const width = other.length + 1
  /** The most likeness of the messages from a place on. */
  const most = new Float64Array((own.length + 1) * width)
  const likenessAt = (x: number, y: number): number => {
    const [a, b] = [own[x], other[y]]
    if (a === undefined || b === undefined || a.role !== b.role) return -1
    return a.isErased || b.isErased ? leastLikeness : leastLikeness + overlap(words[x], otherWords[y])
  }
  const likeness = new Float64Array(own.length * width)
  for (let x = own.length - 1; x >= 0; x--)
    for (let y = other.length - 1; y >= 0; y--) {
      const value = likenessAt(x, y)
      likeness[x * width + y] = value
      most[x * width + y] = Math.max(
        most[(x + 1) * width + y] ?? 0,
        most[x * width + y + 1] ?? 0,
        value < 0 ? 0 : value + (most[(x + 1) * width + y + 1] ?? 0),
      )
    }
  const pairs: Beside[] = []
  for (let [x, y] = [0, 0]; x < own.length || y < other.length;) {
    const value = x < own.length && y < other.length ? (likeness[x * width + y] ?? -1) : -1
    const best = most[x * width + y] ?? 0
    if (value >= 0 && best === value + (most[(x + 1) * width + y + 1] ?? 0)) pairs.push([own[x++], other[y++]])
    else if (x < own.length && (y === other.length || best === (most[(x + 1) * width + y] ?? 0)))
      pairs.push([own[x++], undefined])
    else pairs.push([undefined, other[y++]])
  }
  return pairs
}

/** The similarity of two messages of the same role that have no word in common: they are still paired. */
const leastLikeness = 0.1

const wordsIn = ({ text }: Compared): ReadonlySet<string> => new Set(text.slice(0, 4000).split(/[^\p{L}\p{N}]+/u))

const overlap = (a: ReadonlySet<string> = new Set(), b: ReadonlySet<string> = new Set()): number => {
  let both = 0
  for (const word of a) if (b.has(word)) both += 1
  return both / (a.size + b.size - both)
}
