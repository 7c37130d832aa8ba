/** Digests of 64 bits: equal texts are recognized, and different ones all but certainly. They are no protection against forgery. */

export const digestPair = (text: string): readonly [number, number] => {
  let [a, b] = [0x9e3779b9 ^ text.length, 0x85ebca6b]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b ^ code, 0x5bd1e995)
    b ^= b >>> 15
  }
  return [a, b]
}

/** The digest as 16 hexadecimal digits. */
export const digestOf = (text: string): string =>
  digestPair(text)
    .map((half) => (half >>> 0).toString(16).padStart(8, '0'))
    .join('')
