/**
 * The bytes to search for in a file after an erasure: pieces of the erased texts. Remains may be partly
 * overwritten, so a text is cut into consecutive pieces of 16 bytes: any 31 remaining bytes contain a whole piece.
 */
import { charactersOf, jsonOrText } from '../../json/index.ts'
import { contentsOf, isProgramName } from '../port/contents.ts'
import { finderInSlices, finderOf } from '../port/find-texts.ts'
import type { StoredRow } from '../port/row.ts'
import { nextTurn } from '../port/slices.ts'
import { pack, unpack, type Packed } from './packed.ts'

/** The length of a piece, in bytes. */
const pieceBytes = 16

/** The maximum number of pieces, about 16 MB of texts. A larger block counts as unknown. */
const mostPieces = 1 << 20

export class Needles {
  /** The pieces, with one character for each byte. */
  readonly #pieces = new Set<string>()
  readonly #contents: Packed[] = []
  #find: ((text: string) => boolean) | undefined
  /** Whether something without pieces was erased. */
  hasUnknown = false

  /** Add the content of a row that its stub does not have, and its salt. */
  addRow({ body, salt }: Pick<StoredRow, 'body' | 'salt'>, stub: string): void {
    if (this.hasUnknown) return
    const bytes = Buffer.from(body)
    const keep = Buffer.from(stub)
    const contents = contentsOf(jsonOrText(body))
    for (const { what, text } of contents) {
      const written = Buffer.from(what === 'number' ? text : JSON.stringify(text).slice(1, -1))
      if (written.length >= pieceBytes) this.#addPieces(written, keep)
      // Short names as programs have them stand in many rows: the file would be rewritten for each erasure.
      else if (written.length >= 3 && !(what === 'name' && isProgramName(text))) this.#addAround(bytes, written, keep)
    }
    if (contents.length === 0) this.#addPieces(bytes, keep)
    if (salt !== undefined) this.#add(Buffer.from(salt, 'hex'))
  }

  /** Add the content of a block. */
  addBytes(bytes: Uint8Array): void {
    if (this.#pieces.size + bytes.length / pieceBytes > mostPieces) this.addUnknown()
    else this.#addPieces(bytes, undefined)
  }

  /** Add a stored block. Its pieces are made by `finish`, outside the transaction that erases it. */
  addContent(content: Packed): void {
    this.#contents.push(content)
  }

  /** Make the pieces of the blocks, if they will be searched for, and what finds them. */
  async finish(): Promise<void> {
    for (const content of this.#contents.splice(0)) {
      if (this.hasUnknown) continue
      const whole = unpack(content)
      this.addBytes(whole)
      // An earlier row may have compressed it, to bytes that differ with the version of zstd.
      if (!this.hasUnknown && (whole !== content.bytes || pack(whole).size !== null)) this.addUnknown()
      await nextTurn()
    }
    if (!this.hasUnknown) this.#find = await finderInSlices([...this.#pieces])
  }

  /** Record something without pieces to search for. The file is then assumed to contain it. */
  addUnknown(): void {
    this.hasUnknown = true
  }

  /** Whether the bytes contain one of the pieces. Cost: O(bytes). */
  isIn(bytes: Uint8Array): boolean {
    this.#find ??= finderOf([...this.#pieces])
    return this.#find(charactersOf(bytes))
  }

  #addPieces(bytes: Uint8Array, keep: Buffer | undefined): void {
    for (let start = 0; start + pieceBytes <= bytes.length; start += pieceBytes) {
      const piece = bytes.slice(start, start + pieceBytes)
      if (keep === undefined || !keep.includes(piece)) this.#add(piece)
    }
  }

  /** Add a short text with its surrounding bytes. */
  #addAround(bytes: Buffer, text: Buffer, keep: Buffer): void {
    for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) {
      const start = Math.max(0, Math.min(at - ((pieceBytes - text.length) >> 1), bytes.length - pieceBytes))
      const piece = bytes.subarray(start, start + pieceBytes)
      if (piece.length === pieceBytes && !keep.includes(piece)) this.#add(Uint8Array.from(piece))
    }
  }

  #add(piece: Uint8Array): void {
    if (piece.some((byte) => byte !== 0)) this.#pieces.add(charactersOf(piece))
    this.#find = undefined
  }
}
