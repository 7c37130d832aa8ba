/** Searches for many texts in one pass: each text is found by the hash of its first characters. */
import { utf8Of } from '../../json/index.ts'

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
export const finderOf = (texts: readonly string[]): ((text: string) => boolean) => {
  if (texts.length <= fewTexts) return (text) => texts.some((one) => text.includes(one))
  const short = texts.filter((one) => one.length < start)
  const long = new Map<number, string[]>()
  for (const one of texts) {
    if (one.length < start) continue
    let hash = 0
    for (let index = 0; index < start; index++) hash = (Math.imul(hash, factor) + one.charCodeAt(index)) | 0
    const known = long.get(hash)
    if (known === undefined) long.set(hash, [one])
    else known.push(one)
  }
  return (text) => {
    if (short.some((one) => text.includes(one))) return true
    let hash = 0
    for (let index = 0; index < text.length; index++) {
      hash = (Math.imul(hash, factor) + text.charCodeAt(index)) | 0
      if (index >= start) hash = (hash - Math.imul(text.charCodeAt(index - start), leadingFactor)) | 0
      const known = index < start - 1 ? undefined : long.get(hash)
      if (known?.some((one) => text.startsWith(one, index - start + 1)) === true) return true
    }
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
export const byteFinderOf = (texts: readonly string[]): ((bytes: Uint8Array) => boolean) => {
  const wanted = texts.map(utf8Of)
  const width = wanted.reduce((least, { length }) => Math.min(least, length), start)
  if (width === 0) return () => true
  const byHash = new Map<number, Uint8Array[]>()
  const isKnown = new Uint8Array(1 << 16) // by the end of a hash, because a map is slow
  for (const one of wanted) {
    let hash = 0
    for (let index = 0; index < width; index++) hash = (Math.imul(hash, factor) + (one[index] as number)) | 0
    byHash.set(hash, [...(byHash.get(hash) ?? []), one])
    isKnown[hash & 0xffff] = 1
  }
  const leading = powerOf(width)
  return (bytes) => {
    let hash = 0
    for (let index = 0; index < bytes.length; index++) {
      hash = (Math.imul(hash, factor) + (bytes[index] as number)) | 0
      if (index >= width) hash = (hash - Math.imul(bytes[index - width] as number, leading)) | 0
      if (isKnown[hash & 0xffff] === 0 || index < width - 1) continue
      if (byHash.get(hash)?.some((one) => startsAt(bytes, one, index - width + 1)) === true) return true
    }
    return false
  }
}

const startsAt = (bytes: Uint8Array, text: Uint8Array, at: number): boolean => {
  if (at + text.length > bytes.length) return false
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false
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
