/** Converts bytes to hexadecimal digits and back. */

/** Two lowercase digits for each byte. */
export const hexOf = (bytes: Uint8Array): string => {
  let text = ''
  for (const byte of bytes) text += pairs[byte]
  return text
}

/** The bytes of lowercase digits. The caller has checked the digits. */
export const bytesOfHex = (text: string): Uint8Array => {
  const bytes = new Uint8Array(text.length / 2)
  for (let index = 0; index < text.length; index += 2)
    bytes[index / 2] = digitAt(text, index) * 16 + digitAt(text, index + 1)
  return bytes
}

/** `0` to `9` are 48 to 57, `a` to `f` 97 to 102. */
const digitAt = (text: string, index: number): number => {
  const code = text.charCodeAt(index)
  return code < 58 ? code - 48 : code - 87
}

const pairs: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
