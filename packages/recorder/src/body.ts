/** Decompresses the bytes of bodies. */

import { endOfString, joinBytes } from 'indelible/json/kit'

/** Reads bytes of another encoding than text. */
export type Decompress = (encoding: string, bytes: Uint8Array) => Promise<Uint8Array>

/** Whether a `content-encoding` says that nothing is compressed. */
export const isIdentity = (encoding: string | undefined): boolean =>
  encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity'

/** The maximum number of bytes read from one body. A few compressed kilobytes can expand to more than the memory. */
export const mostPlain: number = 2 ** 28

/** Bytes of requests that may wait to be recorded, all together. What comes beyond is not recorded. */
export const mostWaiting: number = 2 ** 28

/** JSON values of a request, and messages: more than any model takes, and few enough to be read in a moment. */
export const mostValues = 400_000
export const mostMessages = 20_000

/** Whether a text of JSON has more values than that: known before any of them is made. */
export const hasTooManyValues = (json: string): boolean => {
  let values = 0
  const sign = /[",{[]/g
  for (let found = sign.exec(json); found !== null; found = sign.exec(json)) {
    if (found[0] === '"') sign.lastIndex = (endOfString(json, sign.lastIndex) ?? json.length) + 1
    else if (++values > mostValues) return true
  }
  return false
}

/** Bytes of `gzip` or `deflate`, by the platform. Throws Error on another encoding, and on more bytes than `limit`. */
export const decompressBytes = async (
  encoding: string,
  bytes: Uint8Array,
  limit: number = mostPlain,
): Promise<Uint8Array> => {
  const format = { gzip: 'gzip', 'x-gzip': 'gzip', deflate: 'deflate' }[encoding.toLowerCase()]
  if (format === undefined)
    throw new Error(`the encoding ${JSON.stringify(encoding)} can't be read here: give decompress`)
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
