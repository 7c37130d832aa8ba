/** Which encoding bytes are text in, and where they stop being so. */

/** What there is in every browser and every Node, and in no type that is free of both. */
declare const TextDecoder: new (
  encoding: string,
  options: { readonly fatal: boolean; readonly ignoreBOM: boolean },
) => { readonly decode: (bytes: Uint8Array) => string }

export type Encoding = 'utf-8' | 'utf-16le' | 'utf-16be'

/** An encoding, and how many bytes of byte order mark the text begins with. */
export interface FoundEncoding {
  readonly encoding: Encoding
  readonly mark: number
}

/**
 * The encoding of a text by its first four bytes: what a byte order mark says; UTF-16 without one where every other byte
 * of a beginning in ASCII, as all JSON has, is 0; else UTF-8.
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
  /** The first byte that is none of a character; there and wherever else, U+FFFD is read. */
  readonly badAt: number | undefined
}

/** Bytes as text. Throws RangeError or TypeError where that is longer than a string can be. */
export const decodeText = (bytes: Uint8Array, encoding: Encoding): DecodedText => {
  try {
    return { text: decoders[encoding].strict.decode(bytes), badAt: undefined }
  } catch {
    return {
      text: decoders[encoding].lenient.decode(bytes),
      badAt: encoding === 'utf-8' ? badUtf8(bytes) : badUtf16(bytes, encoding === 'utf-16le'),
    }
  }
}

const pair = (encoding: Encoding) => ({
  strict: new TextDecoder(encoding, { fatal: true, ignoreBOM: true }),
  lenient: new TextDecoder(encoding, { fatal: false, ignoreBOM: true }),
})
const decoders = { 'utf-8': pair('utf-8'), 'utf-16le': pair('utf-16le'), 'utf-16be': pair('utf-16be') }

/** Where the first sequence begins that is no UTF-8 (RFC 3629, table of section 4). */
const badUtf8 = (bytes: Uint8Array): number | undefined => {
  let at = 0
  while (at < bytes.length) {
    const first = bytes[at] as number
    const size =
      first < 0x80
        ? 1
        : first >= 0xc2 && first < 0xe0
          ? 2
          : first >= 0xe0 && first < 0xf0
            ? 3
            : first >= 0xf0 && first < 0xf5
              ? 4
              : 0
    if (size === 0) return at
    for (let next = 1; next < size; next++) {
      const byte = bytes[at + next] ?? 0
      const least = next > 1 ? 0x80 : first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80
      const most = next > 1 ? 0xbf : first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf
      if (byte < least || byte > most) return at
    }
    at += size
  }
  return undefined
}

/** Where the first half of a surrogate pair stands alone, or half a unit. */
const badUtf16 = (bytes: Uint8Array, little: boolean): number | undefined => {
  const unit = (at: number): number =>
    little ? (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) : ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
  for (let at = 0; at < bytes.length; at += 2) {
    if (at + 1 === bytes.length) return at
    const kind = unit(at) & 0xfc00
    if (kind === 0xdc00) return at
    if (kind !== 0xd800) continue
    if ((unit(at + 2) & 0xfc00) !== 0xdc00) return at
    at += 2
  }
  return undefined
}
