/** Decompresses the bytes of bodies. */

import { joinBytes, scanJson } from 'indelible/internal/json'

/** Decodes bytes in a content encoding. */
export type Decompress = (encoding: string, bytes: Uint8Array) => Promise<Uint8Array>

/** Whether a `content-encoding` means no compression. */
export const isIdentity = (encoding: string | undefined): boolean =>
  encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity'

/** The most bytes to read from one body. A few compressed kilobytes can expand beyond the available memory. */
export const mostPlain: number = 2 ** 28

/** The most bytes of all requests waiting to be recorded. Requests beyond that are not recorded. */
export const mostWaiting: number = 2 ** 28

/** The most JSON values and messages in a request: more than any model accepts, yet fast to parse. */
export const mostValues = 400_000
export const mostMessages = 20_000

/** Whether JSON text has more than `mostValues` values, checked before parsing. */
export const hasTooManyValues = (json: string): boolean => {
  // In valid JSON each value takes two characters with its comma, or with its brackets.
  if (json.length <= 2 * mostValues) return false
  let values = 0
  return (
    scanJson(json, 0, (sign) => (sign === ',' || sign === '{' || sign === '[') && ++values > mostValues) !== undefined
  )
}

/** Decompresses `gzip` or `deflate` with the platform. Throws Error for another encoding or more than `limit` bytes. */
export const decompressBytes = async (
  encoding: string,
  bytes: Uint8Array,
  limit: number = mostPlain,
): Promise<Uint8Array> => {
  const format = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate' }[encoding.toLowerCase()]
  if (format === undefined)
    throw new Error(`the encoding ${JSON.stringify(encoding)} can't be decoded here; pass the option decompress`)
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>])
    .stream()
    .pipeThrough(new DecompressionStream(format as 'gzip'))
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = stream.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return joinBytes(chunks)
    length += value.length
    if (length > limit) {
      await reader.cancel()
      throw new Error(`the body is longer than ${limit} bytes when it is decompressed`)
    }
    chunks.push(value)
  }
}
