/**
 * Searches the unused parts of a store file for bytes of erased rows: free pages, the space between
 * the cells of a page, and overflow pages (the last one of a long row has unused space at its end).
 *
 * Source  https://www.sqlite.org/fileformat2.html, 1.3 to 1.6
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { nextTurn } from '../port/slices.ts'
import type { Needles } from './needles.ts'

/** Whether unused parts of a file have pieces of erased texts. The write-ahead log must be empty. */
export const residueIn = async (path: string, needles: Needles): Promise<boolean> => {
  const file = openSync(path, 'r')
  try {
    const header = Buffer.alloc(100)
    if (readSync(file, header, 0, 100, 0) < 100) return false
    const input = header.readUInt16BE(16)
    const size = input === 1 ? 65_536 : input
    const pages = Math.floor(fstatSync(file).size / size)
    const free = freePages(file, size, header.readUInt32BE(32), pages)
    const several = Math.max(1, Math.floor((1 << 20) / size))
    const buffer = Buffer.alloc(several * size)
    for (let first = 0; first < pages; first += several) {
      const count = Math.min(several, pages - first)
      if (first > 0) await nextTurn() // the pages after a slice can change, but nobody writes erased texts into them
      readSync(file, buffer, 0, count * size, first * size)
      for (let index = 0; index < count; index++) {
        const page = buffer.subarray(index * size, (index + 1) * size)
        const number = first + index + 1
        for (const part of unusedParts(page, number === 1 ? 100 : 0, free.has(number)))
          if (needles.isIn(part)) return true
      }
    }
    return false
  } finally {
    closeSync(file)
  }
}

/** The free pages: the trunk pages of the free list, and their leaves. */
const freePages = (file: number, size: number, firstTrunk: number, pages: number): ReadonlySet<number> => {
  const free = new Set<number>()
  const trunk = Buffer.alloc(size)
  for (let number = firstTrunk; number > 0 && number <= pages && !free.has(number); number = trunk.readUInt32BE(0)) {
    free.add(number)
    readSync(file, trunk, 0, size, (number - 1) * size)
    const leaves = Math.min(trunk.readUInt32BE(4), size / 4 - 2)
    for (let leaf = 0; leaf < leaves; leaf++) free.add(trunk.readUInt32BE(8 + leaf * 4))
  }
  return free
}

/** The header size of a b-tree page, by its first byte. */
const headers: ReadonlyMap<number, number> = new Map([
  [2, 12],
  [5, 12],
  [10, 8],
  [13, 8],
])

const unusedParts = (page: Buffer, start: number, isFree: boolean): readonly Uint8Array[] => {
  const header = isFree ? undefined : headers.get(page[start] as number)
  if (header === undefined) return [page] // free, or part of a long row: search all of it
  const cells = page.readUInt16BE(start + 3)
  const content = page.readUInt16BE(start + 5) || 65_536
  const parts: Uint8Array[] = [page.subarray(start + header + cells * 2, content)]
  for (
    let block = page.readUInt16BE(start + 1), seen = 0;
    block > 0 && block + 4 <= page.length && seen < page.length;
    seen++
  ) {
    parts.push(page.subarray(block + 4, block + page.readUInt16BE(block + 2)))
    block = page.readUInt16BE(block)
  }
  return parts
}
