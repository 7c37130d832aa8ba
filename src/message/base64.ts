/** Text as base64 of its UTF-8, and back. With what every runtime has, and TypeScript's `lib` does not name. */
declare const TextEncoder: new () => { readonly encode: (text: string) => Uint8Array }
declare const TextDecoder: new (label: string, options: { readonly fatal: boolean; readonly ignoreBOM: boolean }) => { readonly decode: (bytes: Uint8Array) => string }
declare const btoa: (binary: string) => string
declare const atob: (data: string) => string

export const textToBase64 = (text: string): string => {
  const bytes = new TextEncoder().encode(text)
  let binary = ''
  // In pieces: a call takes only so many arguments.
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return btoa(binary)
}

/** Undefined for what is not base64, or not UTF-8. */
export const base64ToText = (data: string): string | undefined => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0)))
  } catch {
    return undefined
  }
}
