/**
 * Searches for many texts in one pass. The hash of the first characters at a place selects a few texts. None of
 * these is the beginning of another, and they are sorted, so one of them at most can be there: the last one that is
 * not greater. So the cost does not grow when texts begin alike.
 */
import { charactersOf, utf8Of } from '../../json/index.ts'
import { countWhile } from '../../sequence/index.ts'
import { atOnce, inSlices } from './slices.ts'

/** Up to this many texts are searched for one by one. */
export const fewTexts = 4

/** The most characters in that hash. */
const start = 12

/**
 * Makes a function that tells whether a text contains one of the given texts.
 *
 * Cost    O(text) with more than 4 texts; otherwise O(text) for each
 *
 * @param texts the texts to search for
 */
export const finderOf = (texts: readonly string[]): Find<string> => atOnce(makeFinder(texts))

/** Like `finderOf`, made in slices. */
export const finderInSlices = (texts: readonly string[]): Promise<Find<string>> => inSlices(makeFinder(texts))

type Find<In> = (text: In) => boolean

/** The steps of making one. Short texts have a hash of their own, of fewer characters. */
export function* makeFinder(texts: readonly string[]): Generator<number, Find<string>> {
  const isShortIn = yield* makeHashFinder(texts.filter(({ length }) => length < start))
  const isLongIn = yield* makeHashFinder(texts.filter(({ length }) => length >= start))
  return (text) => isShortIn(text) || isLongIn(text)
}

function* makeHashFinder(texts: readonly string[]): Generator<number, Find<string>> {
  if (texts.length <= fewTexts) return (text) => texts.some((wanted) => text.includes(wanted))
  const width = texts.reduce((least, { length }) => Math.min(least, length), start)
  if (width === 0) return () => true
  const groups = yield* groupsOf(texts, width)
  const isKnown = new Uint8Array(1 << 16) // by the end of a hash, because a map is slow
  for (const hash of groups.keys()) isKnown[hash & 0xffff] = 1
  const leading = powerOf(width)
  return (text) => {
    let hash = 0
    for (let index = 0; index < text.length; index++) {
      hash = (Math.imul(hash, factor) + text.charCodeAt(index)) | 0
      if (index >= width) hash = (hash - Math.imul(text.charCodeAt(index - width), leading)) | 0
      if (isKnown[hash & 0xffff] === 0 || index < width - 1) continue
      const group = groups.get(hash)
      if (group === undefined) continue
      const at = index - width + 1
      const last = lastNotGreater(group, text, at)
      if (last !== undefined && text.startsWith(last, at)) return true
    }
    return false
  }
}

/**
 * Like `finderOf`, for bytes: finds texts in UTF-8. Bytes can be longer than a string.
 *
 * @param texts the texts to search for
 */
export const byteFinderOf = (texts: readonly string[]): Find<Uint8Array> => atOnce(makeByteFinder(texts))

/** Like `byteFinderOf`, made in slices. */
export const byteFinderInSlices = (texts: readonly string[]): Promise<Find<Uint8Array>> =>
  inSlices(makeByteFinder(texts))

/** Finds the bytes of texts, as characters, in those of a piece after the other. Pieces overlap by the longest text. */
function* makeByteFinder(texts: readonly string[]): Generator<number, Find<Uint8Array>> {
  const wanted: string[] = []
  for (const text of texts) {
    wanted.push(charactersOf(utf8Of(text)))
    yield text.length
  }
  const isIn = yield* makeFinder(wanted)
  const longest = wanted.reduce((most, { length }) => Math.max(most, length), 0)
  const step = Math.max(longest, 1 << 20)
  return (bytes) => {
    let from = 0
    do {
      if (isIn(charactersOf(bytes.subarray(from, from + step + longest)))) return true
      from += step
    } while (from < bytes.length)
    return false
  }
}

/** The texts by the hash of their first `width` characters, sorted, without those that begin with another one. */
function* groupsOf(texts: readonly string[], width: number): Generator<number, ReadonlyMap<number, readonly string[]>> {
  const groups = new Map<number, string[]>()
  for (const text of texts) {
    let hash = 0
    for (let index = 0; index < width; index++) hash = (Math.imul(hash, factor) + text.charCodeAt(index)) | 0
    const group = groups.get(hash)
    if (group === undefined) groups.set(hash, [text])
    else group.push(text)
    yield width
  }
  for (const [hash, group] of groups) {
    const kept: string[] = []
    for (const text of yield* sortedInPieces(group)) {
      const last = kept.at(-1)
      if (last === undefined || !text.startsWith(last)) kept.push(text)
    }
    groups.set(hash, kept)
    yield group.length * width
  }
  return groups
}

const sortedAtOnce = 512

/** The texts sorted. Other work may run after each few hundred. */
function* sortedInPieces(texts: readonly string[]): Generator<number, readonly string[]> {
  if (texts.length <= sortedAtOnce) return texts.toSorted(compareTexts)
  const middle = texts.length >> 1
  const [first, second] = [yield* sortedInPieces(texts.slice(0, middle)), yield* sortedInPieces(texts.slice(middle))]
  const sorted: string[] = []
  for (let left = 0, right = 0; sorted.length < texts.length;) {
    const isLeft =
      right === second.length ||
      (left < first.length && compareTexts(first[left] as string, second[right] as string) <= 0)
    sorted.push((isLeft ? first[left++] : second[right++]) as string)
    if (sorted.length % sortedAtOnce === 0) yield sortedAtOnce * 64
  }
  return sorted
}

/** The last of sorted texts that is not greater than a text from a place on. */
const lastNotGreater = (sorted: readonly string[], text: string, at: number): string | undefined => {
  const count = countWhile(sorted.length, (index) => {
    const other = sorted[index] as string
    return compareTexts(text.slice(at, at + other.length), other) >= 0
  })
  return sorted[count - 1]
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

const factor = 0x01000193
/** The factor of the character that leaves a hash of this many. */
const powerOf = (count: number): number => (count === 0 ? 1 : Math.imul(powerOf(count - 1), factor))
