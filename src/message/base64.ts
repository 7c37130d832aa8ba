/** Bytes and text as base64, with what browsers and Node share. */
declare const btoa: (bytes: string) => string
declare const atob: (base64: string) => string
declare const TextEncoder: new () => { encode: (text: string) => Uint8Array }
declare const TextDecoder: new (label: string, options: { readonly fatal: boolean; readonly ignoreBOM: boolean }) => { decode: (bytes: Uint8Array) => string }

export const base64Of = (bytes: Uint8Array): string => {
  const chunks: string[] = []
  // One character a byte, in runs that fit on the stack.
  for (let from = 0; from < bytes.length; from += 8192) chunks.push(String.fromCharCode(...bytes.subarray(from, from + 8192)))
  return btoa(chunks.join(''))
}

export const base64OfText = (text: string): string => base64Of(new TextEncoder().encode(text))

/** The text that the bytes are in UTF-8; undefined if they are none. */
export const textOfBase64 = (data: string): string | undefined => {
  try {
    const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0))
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}
