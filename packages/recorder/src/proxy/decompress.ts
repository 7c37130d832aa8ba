/** Decompresses bodies in the encodings that Node supports. */
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { mostPlain } from '../answers/body.ts'

type Read = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Promise<Uint8Array>

const readers: { readonly [encoding: string]: Read | undefined } = {
  gzip: promisify(zlib.gunzip),
  'x-gzip': promisify(zlib.gunzip),
  deflate: promisify(zlib.inflate),
  br: promisify(zlib.brotliDecompress),
  zstd: promisify(zlib.zstdDecompress),
}

/**
 * Decompress bytes in any encoding that Node supports. Throws Error for another encoding, and beyond `limit` bytes.
 *
 * @param encoding the `content-encoding`
 * @param limit the most bytes of output. Default: 268,435,456
 */
export const decompress = async (
  encoding: string,
  bytes: Uint8Array,
  limit: number = mostPlain,
): Promise<Uint8Array> => {
  let plain = bytes
  for (const coding of encoding.toLowerCase().split(',').toReversed()) {
    const read = readers[coding.trim()]
    if (read === undefined) throw new Error(`the encoding ${JSON.stringify(coding.trim())} can't be read`)
    plain = await read(plain, { maxOutputLength: limit })
  }
  return plain
}
