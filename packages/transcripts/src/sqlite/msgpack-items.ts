/**
 * Checks that msgpack data can hold the items it announces. A decoder allocates an array when it reads
 * its length; five bytes can announce 4 billion items. Each item takes at least one byte, so the
 * unread items of an array and of all arrays and maps around it can't outnumber the remaining bytes.
 *
 * Source  github.com/msgpack/msgpack/blob/master/spec.md (2026-11)
 */

/** The size of the field after an item's first byte, and what its number counts. */
type LengthField = readonly [bytes: number, counts: 'bytes' | 'items' | 'pairs']

const headers = new Map<number, LengthField>([
  ...([0xc4, 0xd9] as const).map((byte): [number, LengthField] => [byte, [1, 'bytes']]),
  ...([0xc5, 0xda] as const).map((byte): [number, LengthField] => [byte, [2, 'bytes']]),
  ...([0xc6, 0xdb] as const).map((byte): [number, LengthField] => [byte, [4, 'bytes']]),
  [0xdc, [2, 'items']],
  [0xdd, [4, 'items']],
  [0xde, [2, 'pairs']],
  [0xdf, [4, 'pairs']],
])

/** The sizes of fixed-length items after their first byte, an extension's type included. */
const fixedLengths: ReadonlyMap<number, number> = new Map([
  ...[0xcc, 0xd0].map((byte) => [byte, 1] as const),
  ...[0xcd, 0xd1, 0xd4].map((byte) => [byte, 2] as const),
  [0xd5, 3],
  ...[0xca, 0xce, 0xd2].map((byte) => [byte, 4] as const),
  [0xd6, 5],
  ...[0xcb, 0xcf, 0xd3].map((byte) => [byte, 8] as const),
  [0xd7, 9],
  [0xd8, 17],
])

/** The sizes of an extension's length field, which precedes its type. */
const extensions: ReadonlyMap<number, number> = new Map([0xc7, 0xc8, 0xc9].map((byte, power) => [byte, 2 ** power]))

/** Throws RangeError if more items are announced than bytes remain. Allocates nothing. Cost: O(items). */
export const checkItems = (bytes: Uint8Array): void => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const number = (at: number, size: number): number =>
    at + size > bytes.length
      ? 0 // cut off: the decoder reports it
      : size === 1
        ? view.getUint8(at)
        : size === 2
          ? view.getUint16(at)
          : view.getUint32(at)
  let at = 0
  for (let open = 1; open > 0 && at < bytes.length; open--) {
    const byte = view.getUint8(at)
    const start = at
    at += 1
    const counted = headers.get(byte)
    const extension = extensions.get(byte)
    let items = 0
    if (counted !== undefined) {
      const count = number(at, counted[0])
      at += counted[0]
      if (counted[1] === 'bytes') at += count
      else items = counted[1] === 'pairs' ? 2 * count : count
    } else if (extension !== undefined) at += extension + 1 + number(at, extension)
    else if (byte >= 0xa0 && byte <= 0xbf) at += byte & 0x1f
    else if (byte >= 0x90 && byte <= 0x9f) items = byte & 0x0f
    else if (byte >= 0x80 && byte <= 0x8f) items = 2 * (byte & 0x0f)
    else at += fixedLengths.get(byte) ?? 0
    open += items
    const left = Math.max(0, bytes.length - at)
    if (open - 1 > left)
      throw new RangeError(`byte ${start} announces ${items} items; ${open - 1} are expected, and ${left} bytes remain`)
  }
}
