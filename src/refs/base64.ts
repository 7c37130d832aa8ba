/** Base64 and UTF-8, both ways, with what browsers and Node have in common. */
declare const atob: (base64: string) => string
declare const btoa: (binary: string) => string
declare const TextDecoder: new (label: string, options: { readonly fatal: boolean; readonly ignoreBOM: boolean }) => { readonly decode: (bytes: Uint8Array) => string }

/** The bytes of a text in base64; `undefined` unless `base64Of` gives the same text back. */
export const bytesOfBase64 = (text: string): Uint8Array | undefined => {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
  const binary = atob(text)
  if (btoa(binary) !== text) return undefined // bits beyond the last byte that are not 0
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

export const base64Of = (bytes: Uint8Array): string => {
  let binary = ''
  for (let from = 0; from < bytes.length; from += 8192) binary += String.fromCharCode(...bytes.subarray(from, from + 8192))
  return btoa(binary)
}

/** Throws TypeError, if the bytes are not UTF-8. */
export const textOfUtf8 = (bytes: Uint8Array): string => (utf8 ??= new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })).decode(bytes)

/** Made when it is asked for: sandboxes that have none read no content. */
let utf8: InstanceType<typeof TextDecoder> | undefined
