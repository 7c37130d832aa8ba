/**
 * Searches for many texts in one pass. The hash of the first characters at a place selects a few texts. None of
 * these is the beginning of another, and they are sorted, so one of them at most can be there: the last one that is
 * not greater. So the cost does not grow when texts begin alike.
 */
import { utf8Of } from '../../json/index.ts'
import { atOnce, inSlices } from './slices.ts'

/** Up to this many texts are searched for one by one. */
export const fewTexts = 4

/** The number of characters in that hash. */
const start = 12

/**
 * Makes a function that tells whether a text contains one of the given texts.
 *
 * Cost    O(text) with more than 4 texts of at least 12 characters; otherwise O(text) for each
 *
 * @param texts the texts to search for
 */
export const finderOf = (texts: readonly string[]): Find<string> => atOnce(makeFinder(texts))

/** Like `finderOf`, made in slices. */
export const finderInSlices = (texts: readonly string[]): Promise<Find<string>> => inSlices(makeFinder(texts))

type Find<In> = (text: In) => boolean

/** The steps of making one. */
export function* makeFinder(texts: readonly string[]): Generator<number, Find<string>> {
  if (texts.length <= fewTexts) return (text) => texts.some((wanted) => text.includes(wanted))
  const isShortIn = shortFinderOf(texts.filter((item) => item.length < start))
  const long = yield* groupsOf(texts.filter((item) => item.length >= start), start, (entry, at) => entry.charCodeAt(at), compareTexts, (a, b) => a.startsWith(b)) // oxfmt-ignore
  return (text) => {
    if (isShortIn(text)) return true
    let hash = 0
    for (let index = 0; index < text.length; index++) {
      hash = (Math.imul(hash, factor) + text.charCodeAt(index)) | 0
      if (index >= start) hash = (hash - Math.imul(text.charCodeAt(index - start), leadingFactor)) | 0
      const group = index < start - 1 ? undefined : long.get(hash)
      if (group === undefined) continue
      const at = index - start + 1
      const last = lastNotGreater(group, (item) => compareAt(text, at, item))
      if (last !== undefined && text.startsWith(last, at)) return true
    }
    return false
  }
}

/** Finds texts that are too short for a hash: by the texts of each length. */
const shortFinderOf = (texts: readonly string[]): ((text: string) => boolean) => {
  if (texts.length <= fewTexts) return (text) => texts.some((wanted) => text.includes(wanted))
  const byLength = new Map<number, Set<string>>()
  for (const text of texts) byLength.set(text.length, (byLength.get(text.length) ?? new Set()).add(text))
  return (text) => {
    for (const [length, some] of byLength)
      for (let at = 0; at + length <= text.length; at++) if (some.has(text.slice(at, at + length))) return true
    return false
  }
}

/**
 * Like `finderOf`, for bytes: finds texts in UTF-8. Bytes can be longer than a string.
 *
 * Cost    O(bytes) if each text has at least 12 bytes
 *
 * @param texts the texts to search for
 */
export const byteFinderOf = (texts: readonly string[]): Find<Uint8Array> => atOnce(makeByteFinder(texts))

/** Like `byteFinderOf`, made in slices. */
export const byteFinderInSlices = (texts: readonly string[]): Promise<Find<Uint8Array>> =>
  inSlices(makeByteFinder(texts))

function* makeByteFinder(texts: readonly string[]): Generator<number, Find<Uint8Array>> {
  const wanted: Uint8Array[] = []
  for (const text of texts) {
    wanted.push(utf8Of(text))
    yield text.length
  }
  const width = wanted.reduce((least, { length }) => Math.min(least, length), start)
  if (width === 0) return () => true
  const groups = yield* groupsOf(wanted, width, (entry, at) => entry[at] as number, compareBytes, startsWithBytes)
  const isKnown = new Uint8Array(1 << 16) // by the end of a hash, because a map is slow
  for (const hash of groups.keys()) isKnown[hash & 0xffff] = 1
  const leading = powerOf(width)
  return (bytes) => {
    let hash = 0
    for (let index = 0; index < bytes.length; index++) {
      hash = (Math.imul(hash, factor) + (bytes[index] as number)) | 0
      if (index >= width) hash = (hash - Math.imul(bytes[index - width] as number, leading)) | 0
      if (isKnown[hash & 0xffff] === 0 || index < width - 1) continue
      const group = groups.get(hash)
      if (group === undefined) continue
      const rest = bytes.subarray(index - width + 1)
      const last = lastNotGreater(group, (item) => compareBytes(rest, item))
      if (last !== undefined && startsWithBytes(rest, last)) return true
    }
    return false
  }
}

/** The patterns by the hash of their first `width` units, sorted, without those that begin with another one. */
function* groupsOf<Pattern>(
  patterns: readonly Pattern[],
  width: number,
  unitAt: (pattern: Pattern, at: number) => number,
  compare: (a: Pattern, b: Pattern) => number,
  startsWith: (a: Pattern, b: Pattern) => boolean,
): Generator<number, ReadonlyMap<number, readonly Pattern[]>> {
  const groups = new Map<number, Pattern[]>()
  for (const pattern of patterns) {
    let hash = 0
    for (let index = 0; index < width; index++) hash = (Math.imul(hash, factor) + unitAt(pattern, index)) | 0
    const group = groups.get(hash)
    if (group === undefined) groups.set(hash, [pattern])
    else group.push(pattern)
    yield width
  }
  for (const [hash, group] of groups) {
    const kept: Pattern[] = []
    for (const pattern of yield* sortedInPieces(group, compare)) {
      const last = kept.at(-1)
      if (last === undefined || !startsWith(pattern, last)) kept.push(pattern)
    }
    groups.set(hash, kept)
    yield group.length * width
  }
  return groups
}

const sortedAtOnce = 512

/** The items sorted. Other work may run after each few hundred. */
function* sortedInPieces<Item>(
  items: readonly Item[],
  compare: (a: Item, b: Item) => number,
): Generator<number, readonly Item[]> {
  if (items.length <= sortedAtOnce) return items.toSorted(compare)
  const middle = items.length >> 1
  const entry = yield* sortedInPieces(items.slice(0, middle), compare)
  const other = yield* sortedInPieces(items.slice(middle), compare)
  const sorted: Item[] = []
  for (let left = 0, right = 0; sorted.length < items.length;) {
    const isLeft =
      right === other.length || (left < entry.length && compare(entry[left] as Item, other[right] as Item) <= 0)
    sorted.push((isLeft ? entry[left++] : other[right++]) as Item)
    if (sorted.length % sortedAtOnce === 0) yield sortedAtOnce * 64
  }
  return sorted
}

/** The last pattern that is not greater than a text. `compare` compares the text with a pattern. */
const lastNotGreater = <Pattern>(
  sorted: readonly Pattern[],
  compare: (pattern: Pattern) => number,
): Pattern | undefined => {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (compare(sorted[middle] as Pattern) >= 0) low = middle + 1
    else high = middle
  }
  return sorted[low - 1]
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Compares the rest of a text with another text, as `<` does. */
const compareAt = (text: string, at: number, other: string): number =>
  compareTexts(text.slice(at, at + other.length), other)

const compareBytes = (a: Uint8Array, b: Uint8Array): number => {
  const length = Math.min(a.length, b.length)
  for (let index = 0; index < length; index++)
    if (a[index] !== b[index]) return (a[index] as number) - (b[index] as number)
  return a.length - b.length
}

const startsWithBytes = (bytes: Uint8Array, text: Uint8Array): boolean => {
  if (text.length > bytes.length) return false
  for (let index = 0; index < text.length; index++) if (bytes[index] !== text[index]) return false
  return true
}

/** Converts each byte to a character, for at most 512 MiB. */
export const charactersOf = (bytes: Uint8Array): string => {
  let text = ''
  for (let from = 0; from < bytes.length; from += 8192)
    text += String.fromCharCode.apply(null, bytes.subarray(from, from + 8192) as unknown as number[]) // a spread is slow
  return text
}

const factor = 0x01000193
/** The factor of the character that leaves a hash of this many. */
const powerOf = (count: number): number => (count === 0 ? 1 : Math.imul(powerOf(count - 1), factor))
const leadingFactor = powerOf(start)
