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
 * Like `finderOf`, for bytes: finds texts in UTF-8.
 *
 * @param texts the texts to search for
 */
export const byteFinderOf = (texts: readonly string[]): ((bytes: Uint8Array) => boolean) => {
  const find = finderOf(texts.map((text) => charactersOf(utf8Of(text))))
  return (bytes) => find(charactersOf(bytes))
}

/** Converts each byte to a character. */
export const charactersOf = (bytes: Uint8Array): string => {
  let text = ''
  for (let from = 0; from < bytes.length; from += 8192)
    text += String.fromCharCode(...bytes.subarray(from, from + 8192))
  return text
}

const factor = 0x01000193
let leadingFactor = 1
for (let count = 0; count < start; count++) leadingFactor = Math.imul(leadingFactor, factor)
