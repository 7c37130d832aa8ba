/** Splits a text, bytes, or chunks of bytes into lines. Only a line feed ends a line. */
import { joinBytes } from 'indelible/internal/json'
import { decodeText, encodingOf, type DecodedText, type Encoding } from './encoding.ts'

export interface Line {
  /** Counted from 1. */
  readonly number: number
  readonly text: string
  /** The offset from the start of the file of the first byte that is not text. */
  readonly badAt?: number | undefined
  /** Why the line has no text at all. */
  readonly unreadable?: string
}

/** The non-blank lines of a text, without its byte order mark. */
export function* linesOfText(text: string): Generator<Line> {
  let from = text.startsWith('\ufeff') ? 1 : 0
  for (let number = 1; ; number++) {
    for (; text.charCodeAt(from) === 10; from++) number += 1
    const end = text.indexOf('\n', from)
    const last = end === -1 ? text.length : end
    if (!isBlankText(text, from, last)) yield { number, text: text.slice(from, last) }
    if (end === -1) return
    from = end + 1
  }
}

const isBlankText = (text: string, from: number, to: number): boolean => {
  for (let at = from; at < to; at++) if (!' \t\r'.includes(text[at] as string)) return false
  return true
}

/** The non-blank lines of bytes in UTF-8, or in UTF-16 of either byte order. */
export function* linesOfBytes(bytes: Uint8Array): Generator<Line> {
  const splitter = createSplitter()
  yield* splitter.push(bytes)
  yield* splitter.end()
}

interface Splitter {
  /** The non-blank lines that end in these bytes. Blank lines are counted but not returned. */
  readonly push: (bytes: Uint8Array) => Iterable<Line>
  /** The last line, if it is not blank. */
  readonly end: () => Iterable<Line>
  readonly line: number
}

/** The number of the line that contains the byte at `offset`. */
export const lineAt = (bytes: Uint8Array, offset: number): number => {
  const splitter = createSplitter()
  for (const _line of splitter.push(bytes.subarray(0, offset))) continue
  return splitter.line
}

/** Longer lines, in bytes, are counted but not read. V8 has the lowest string limit of all engines. */
export const longestLine: number = 2 ** 29 - 24

/** Splits chunks of any size into lines. Memory: the unfinished line and the chunk that ends it. */
export const createSplitter = (longest: number = longestLine): Splitter => {
  let encoding: Encoding | undefined
  let width = 1
  let number = 1
  let lineStart = 0 // in bytes of the file
  let kept: Uint8Array[] = [] // chunks of the unfinished line
  let size = 0

  const begin = (bytes: Uint8Array): Uint8Array => {
    const { encoding: found, mark } = encodingOf(bytes)
    encoding = found
    width = found === 'utf-8' ? 1 : 2
    lineStart = mark
    return bytes.subarray(mark)
  }

  const keep = (piece: Uint8Array): void => {
    size += piece.length
    // Copied, because the caller may reuse its buffer.
    if (size <= longest && piece.length > 0) kept.push(copyOf(piece))
    else if (size > longest) kept = []
  }

  /** Skips blank lines but counts them: a file of newlines would otherwise make an object for each byte. */
  const finish = (last: Uint8Array, separator: number): Line | undefined => {
    const length = size + last.length
    const bytes = length > longest ? undefined : kept.length === 0 ? last : joinBytes([...kept, last])
    const line = bytes !== undefined && isBlank(bytes) ? undefined : lineFrom(bytes)
    kept = []
    size = 0
    lineStart += length + separator
    number += 1
    return line
  }

  /** Whether the line is only JSON whitespace. */
  const isBlank = (bytes: Uint8Array): boolean => {
    for (let at = 0; at < bytes.length; at += width) {
      const [low, high] =
        width === 1 ? [bytes[at], 0] : encoding === 'utf-16le' ? [bytes[at], bytes[at + 1]] : [bytes[at + 1], bytes[at]]
      if (high !== 0 || (low !== 32 && low !== 9 && low !== 13)) return false
    }
    return true
  }

  const lineFrom = (bytes: Uint8Array | undefined): Line => {
    if (bytes === undefined) return { number, text: '', unreadable: `is longer than ${longest} bytes` }
    const { text, badAt } = decodeText(bytes, encoding ?? 'utf-8')
    return badAt === undefined ? { number, text } : { number, text, badAt: lineStart + badAt }
  }

  /** The offset after a run of empty lines, which are counted at once. Only in UTF-8, and at the start of a line. */
  const skipFeeds = (bytes: Uint8Array, from: number): number => {
    let at = from
    if (width === 1 && size === 0) while (bytes[at] === 10) at += 1
    number += at - from
    lineStart += at - from
    return at
  }

  /** The offset of the next line feed. In UTF-16 it is two bytes, one of them 0, aligned to two bytes. */
  const feedIn = (bytes: Uint8Array, from: number): number => {
    for (let at = bytes.indexOf(10, from); at !== -1; at = bytes.indexOf(10, at + 1)) {
      if (width === 1) return at
      const other = encoding === 'utf-16le' ? at + 1 : at - 1
      if (Math.min(at, other) % 2 === 0 && bytes[other] === 0) return Math.min(at, other)
    }
    return -1
  }

  /** The lines that end in these bytes, which start and end at whole code units. The rest is kept. */
  function* split(bytes: Uint8Array): Generator<Line> {
    let from = skipFeeds(bytes, 0)
    for (let at = feedIn(bytes, from); at !== -1; at = feedIn(bytes, from)) {
      const line = finish(bytes.subarray(from, at), width)
      if (line !== undefined) yield line
      from = skipFeeds(bytes, at + width)
    }
    keep(bytes.subarray(from))
  }

  let waiting: Uint8Array = noBytes // too few bytes to detect the encoding, or half a code unit

  function* push(piece: Uint8Array): Generator<Line> {
    let bytes = waiting.length === 0 ? piece : joinBytes([waiting, piece])
    waiting = noBytes
    if (encoding === undefined) {
      if (bytes.length < 4) return void (waiting = copyOf(bytes))
      bytes = begin(bytes)
    }
    const odd = width === 2 && bytes.length % 2 === 1
    if (odd) waiting = copyOf(bytes.subarray(-1))
    yield* split(odd ? bytes.subarray(0, -1) : bytes)
  }

  function* end(): Generator<Line> {
    if (encoding === undefined) {
      yield* split(begin(waiting))
      waiting = noBytes
    }
    const line = finish(waiting, 0)
    if (line !== undefined) yield line
  }

  return {
    push,
    end,
    get line() {
      return number
    },
  }
}

/** Not `slice`, which does not copy a Buffer. */
export const copyOf = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)

const noBytes = new Uint8Array(0)

/** Bytes as one text with its line breaks, and its first invalid byte. Throws if too long for a string. */
export const textOfBytes = (bytes: Uint8Array): DecodedText => {
  const { encoding, mark } = encodingOf(bytes)
  const { text, badAt } = decodeText(bytes.subarray(mark), encoding)
  return { text, badAt: badAt === undefined ? undefined : mark + badAt }
}
