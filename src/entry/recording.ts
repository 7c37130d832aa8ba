/**
 * Messages on the way from the call that records them to the tree. Ordinary code in between stamps,
 * sends and stores their rows. Before they are sent, their leaves are compared with the messages,
 * and the history gets the messages themselves.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { History } from '../history/index.ts'
import { buildArray, emptyList, freeze, isLeft, right } from '../json/index.ts'
import type { Message, MessageFault } from '../message/index.ts'
import type { PageKind } from '../pages/index.ts'
import { RowTree, type CompactRange, type Hash } from '../proof/kit.ts'
import type { Row } from '../store/index.ts'
import { encodeRow } from './row.ts'

export class Recording {
  readonly #entries = emptyList<{ readonly message: Message; readonly page: PageKind; readonly row: Row }>()
  readonly #blocks = emptyList<Uint8Array>()

  /** Encode one more message. */
  static add(
    recording: Recording,
    message: Message,
    page: PageKind,
    tagged: boolean,
    hash: Hash,
  ): Either<MessageFault, undefined> {
    const encoded = encodeRow(message, page, tagged, hash)
    if (isLeft(encoded)) return encoded
    const { row, blocks } = encoded.right
    recording.#entries[recording.#entries.length] = { message, page, row: freeze(row) }
    for (let index = 0; index < blocks.length; index++)
      recording.#blocks[recording.#blocks.length] = blocks[index] as Uint8Array
    return right(undefined)
  }

  /** The rows to store, and the contents of the blocks extracted from them. */
  static rowsOf(recording: Recording): { readonly rows: readonly Row[]; readonly blocks: readonly Uint8Array[] } {
    const rows = buildArray(recording.#entries.length, (index) => (recording.#entries[index] as { row: Row }).row)
    const blocks = buildArray(recording.#blocks.length, (index) => recording.#blocks[index] as Uint8Array)
    return { rows, blocks }
  }

  /**
   * Whether the rows added to a tree are exactly these messages, in this order. Undefined: no messages.
   *
   * @param encrypted true if the bodies are encrypted; then the rows are only counted
   */
  static isIn(recording: Recording | undefined, grown: unknown, before: CompactRange, encrypted: boolean): boolean {
    const rows = RowTree.rowsIn(grown, before)
    if (rows === undefined) return false
    let count = 0
    for (let index = 0; index < rows.length; index++) {
      const { kind, body } = rows[index] as { kind: string; body: string }
      if (kind !== 'entry') continue
      const entry = recording === undefined ? undefined : recording.#entries[count]
      if (entry === undefined || (!encrypted && entry.row.body !== body)) return false
      count += 1
    }
    return count === (recording === undefined ? 0 : recording.#entries.length)
  }

  static addTo(recording: Recording, history: History<Message>): void {
    for (let index = 0; index < recording.#entries.length; index++) {
      const { message, page } = recording.#entries[index] as { message: Message; page: PageKind }
      history.append(message, page)
    }
  }
}
freeze(Recording)
