/** Detects the encoding of bytes, and decodes them. */
import { utf8Of } from 'indelible/internal/json'

/** Declared here because browsers and Node both have it, but no type library free of either does. */
declare const TextDecoder: new (
  encoding: string,
  options: { readonly fatal: boolean; readonly ignoreBOM: boolean },
) => { readonly decode: (bytes: Uint8Array) => string }

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be'

/** An encoding, and the length of the byte order mark in bytes. */
interface FoundEncoding {
  readonly encoding: Encoding
  readonly mark: number
}

/**
 * The encoding of a text, from its first four bytes: by its byte order mark; UTF-16 without one if
 * every other byte is 0, as in UTF-16 JSON, which starts with ASCII; else UTF-8.
 */
export const encodingOf = (bytes: Uint8Array): FoundEncoding => {
  const [first = -1, second = -1, third = -1, fourth = -1] = bytes
  if (first === 0xef && second === 0xbb && third === 0xbf) return { encoding: 'utf-8', mark: 3 }
  if (first === 0xff && second === 0xfe) return { encoding: 'utf-16le', mark: 2 }
  if (first === 0xfe && second === 0xff) return { encoding: 'utf-16be', mark: 2 }
  if (isText(first) && second === 0 && isText(third) && fourth === 0) return { encoding: 'utf-16le', mark: 0 }
  if (first === 0 && isText(second) && third === 0 && isText(fourth)) return { encoding: 'utf-16be', mark: 0 }
  return { encoding: 'utf-8', mark: 0 }
}

const isText = (byte: number): boolean => byte > 0 && byte < 0x80

export interface DecodedText {
  readonly text: string
  /** The offset of the first byte that is not part of a character. Such bytes are read as U+FFFD. */
  readonly badAt: number | undefined
}

/** Decodes bytes. Throws RangeError or TypeError if the text is longer than a string can be. */
export const decodeText = (bytes: Uint8Array, encoding: Encoding): DecodedText => {
  try {
    return { text: decoders[encoding].strict.decode(bytes), badAt: undefined }
  } catch {
    const text = decoders[encoding].lenient.decode(bytes)
    return { text, badAt: firstBadByte(bytes, text, encoding) }
  }
}

const pair = (encoding: Encoding) => ({
  strict: new TextDecoder(encoding, { fatal: true, ignoreBOM: true }),
  lenient: new TextDecoder(encoding, { fatal: false, ignoreBOM: true }),
})
const decoders = { 'utf-8': pair('utf-8'), 'utf-16le': pair('utf-16le'), 'utf-16be': pair('utf-16be') }

/** The offset of the first invalid byte: the first U+FFFD that the input does not contain itself. Cost: O(bytes). */
const firstBadByte = (bytes: Uint8Array, text: string, encoding: Encoding): number | undefined => {
  const sign = signs[encoding]
  let at = 0
  let from = 0
  for (let mark = text.indexOf('\ufffd'); mark !== -1; mark = text.indexOf('\ufffd', from)) {
    const before = text.slice(from, mark)
    at += encoding === 'utf-8' ? utf8Of(before).length : before.length * 2
    if (!sign.every((byte, index) => bytes[at + index] === byte)) return at
    at += sign.length
    from = mark + 1
  }
  return undefined
}

/** U+FFFD in each encoding. */
const signs = { 'utf-8': [0xef, 0xbf, 0xbd], 'utf-16le': [0xfd, 0xff], 'utf-16be': [0xff, 0xfd] }
