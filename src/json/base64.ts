/** Base64 and UTF-8 in both directions, with functions that browsers and Node share. */
interface Encoder {
  readonly encode: (text: string) => Uint8Array
}
interface Decoder {
  readonly decode: (bytes: Uint8Array) => string
}
declare const atob: (base64: string) => string
declare const btoa: (binary: string) => string
declare const TextEncoder: (new () => Encoder) | undefined
declare const TextDecoder:
  | (new (label: string, options: { readonly fatal: boolean; readonly ignoreBOM: boolean }) => Decoder)
  | undefined

// Some sandboxes lack these, and then can't read content.
const fromBase64 = typeof atob === 'undefined' ? undefined : atob
const toBase64 = typeof btoa === 'undefined' ? undefined : btoa
const encoder = typeof TextEncoder === 'undefined' ? undefined : new TextEncoder()
const decoder =
  typeof TextDecoder === 'undefined' ? undefined : new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The bytes of base64 text; undefined unless `base64Of` returns the same text.
 *
 * Throws  TypeError without `atob`
 */
export const bytesOfBase64 = (text: string): Uint8Array | undefined => {
  if (text.length % 4 !== 0 || !base64.test(text)) return undefined
  const binary = requireGlobal(fromBase64, 'atob')(text)
  if (requireGlobal(toBase64, 'btoa')(binary) !== text) return undefined // the unused bits of the last digit are not 0
  return bytesOfBinary(binary)
}

const bytesOfBinary = (binary: string): Uint8Array => {
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

const base64 = /^[A-Za-z0-9+/]*={0,2}$/

/** Converts each byte to a character, for at most 512 MiB. */
export const charactersOf = (bytes: Uint8Array): string => {
  let text = ''
  for (let from = 0; from < bytes.length; from += 8192)
    text += String.fromCharCode.apply(undefined, bytes.subarray(from, from + 8192) as unknown as number[]) // a spread takes seven times the time
  return text
}

/** Encodes bytes as base64. Throws TypeError without `btoa`. */
export const base64Of = (bytes: Uint8Array): string => requireGlobal(toBase64, 'btoa')(charactersOf(bytes))

/** Encodes a text as UTF-8. Throws TypeError without `TextEncoder`. */
export const utf8Of = (text: string): Uint8Array => requireGlobal(encoder, 'TextEncoder').encode(text)

/** Decodes UTF-8. Throws TypeError if it is invalid, or without `TextDecoder`. */
export const textOfUtf8 = (bytes: Uint8Array): string => requireGlobal(decoder, 'TextDecoder').decode(bytes)

/** Encodes a text's UTF-8 as base64. Throws TypeError without `TextEncoder`. */
export const base64OfText = (text: string): string => base64Of(utf8Of(text))

/** The text whose UTF-8 is encoded in base64; undefined if it is invalid. */
export const textOfBase64 = (data: string): string | undefined => {
  try {
    const binary = requireGlobal(fromBase64, 'atob')(data)
    return textOfUtf8(bytesOfBinary(binary))
  } catch {
    return undefined
  }
}

const requireGlobal = <T>(found: T | undefined, name: string): T => {
  if (found === undefined) throw new TypeError(`${name} is needed, but this runtime has none`)
  return found
}

/** Concatenates bytes in a new array. */
export const joinBytes = (pieces: readonly Uint8Array[]): Uint8Array => {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
