/**
 * How long the content of a message is, from its value or from its JSON text, without reading each character: the UTF-16 units of
 * its JSON, where an escaped character counts as one. Fields named `meta` don't count, wherever they are: no model is sent them,
 * and what importers keep there may be several times as long as what they belong to. Base64 counts at most as an image does.
 */
import type { Json, Path } from '../json/index.ts'

/** The most characters that a string named `data` counts: about the tokens of an image. A longer one is stored apart from its JSON. */
const mostOfData = 6000

const lengthOfString = ({ length }: string, key: Path[number] | undefined): number =>
  Math.min(length, key === 'data' ? mostOfData : length)

/** Cost: O(values in it), whatever the length of its strings. */
export const contentLength = (value: Json): number => {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  let length = 1
  if (Array.isArray(value)) for (const item of value as readonly Json[]) length += 1 + contentLength(item)
  // Without a list of keys this takes half the time, and without a call for strings, which most values are, a third less.
  else
    for (const key in value)
      if (key !== 'meta' && Object.hasOwn(value, key)) {
        const field = (value as { readonly [key: string]: Json })[key] as Json
        length += 4 + key.length + (typeof field === 'string' ? 2 + lengthOfString(field, key) : contentLength(field))
      }
  return Math.max(2, length)
}

/** The same of a value that `JSON.stringify` has written. Cost: O(escapes and characters of `meta`). */
export const contentLengthOfText = (text: string): number => {
  let length = 0
  let from = 0
  for (let at = text.indexOf(endOfMetaKey); at !== -1; at = text.indexOf(endOfMetaKey, at)) {
    const before = at - 2
    at += endOfMetaKey.length
    if (text[before + 1] !== '"' || text[before] === '\\') continue // the end of another key
    at = endOfValue(text, at)
    const isFirst = text[before] === '{'
    // One of the commas beside the field goes with it.
    length += unescapedLength(text.slice(from, isFirst ? before + 1 : before))
    from = isFirst && text[at] === ',' ? at + 1 : at
  }
  return length + unescapedLength(text.slice(from))
}

/** Without the quotation mark, which texts are full of, it is found in a third of the time. */
const endOfMetaKey = 'meta":'

/** How much longer the content is with a string that was stored apart, without its quotation marks. */
export const contentLengthOfFill = (path: Path, text: string): number =>
  path.includes('meta') ? 0 : lengthOfString(text, path.at(-1))

const unescapedLength = (text: string): number => {
  let { length } = text
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at + 2)) length -= text[at + 1] === 'u' ? 5 : 1
  return length
}

/** The index after the value of a field that starts at an index. */
const endOfValue = (text: string, from: number): number => {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const character = text[at] as string
    if (character === '"') at = endOfString(text, at)
    else if ('{['.includes(character)) depth += 1
    else if ('}],'.includes(character)) {
      if (depth === 0) return at
      if (character !== ',') depth -= 1
    }
  }
  return text.length
}

/** The index of the quotation mark that ends a string. Looking at each character takes five times as long. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes += 1
    if (escapes % 2 === 0) return end
  }
  return text.length
}

/** Sums of the lengths of messages. */
export interface LengthSums {
  readonly length: number
  /** The sum in which each message counts at most {@link mostCounted}. */
  readonly counted: number
}

/** The most that one message counts where contexts look for a place to start anew: one large result must not start several. */
export const mostCounted = 14_800

/** Cost: O(values in the messages), whatever the length of their strings. */
export const lengthsIn = (messages: readonly unknown[], from = 0, to: number = messages.length): Uint32Array => {
  const lengths = new Uint32Array(to - from)
  for (let index = from; index < to; index++) lengths[index - from] = contentLength(messages[index] as Json)
  return lengths
}

export const lengthSums = (lengths: Uint32Array): LengthSums => {
  let [length, counted] = [0, 0]
  for (const own of lengths) {
    length += own
    counted += Math.min(own, mostCounted)
  }
  return { length, counted }
}
