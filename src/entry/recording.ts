/** Messages on the way from the call that records them to the history: their rows, and the messages themselves. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { History } from '../history/index.ts'
import { isLeft, right } from '../either/index.ts'
import type { Message, MessageFault } from '../message/index.ts'
import type { PageKind } from '../pages/index.ts'
import type { Hash } from '../proof/internal.ts'
import type { Row } from '../store/index.ts'
import { encodeRow } from './row.ts'

/** A message and its page kind. */
export interface RecordedEntry {
  readonly message: Message
  readonly page: PageKind
}

export class Recording {
  /** The messages. */
  readonly entries: RecordedEntry[] = []
  /** The rows to store. */
  readonly rows: Row[] = []
  /** The contents of the blocks extracted from them. */
  readonly blocks: Uint8Array[] = []

  /** Encode one more message. */
  add(message: Message, page: PageKind, tagged: boolean, hash: Hash): Either<MessageFault, undefined> {
    const encoded = encodeRow(message, page, tagged, hash)
    if (isLeft(encoded)) return encoded
    this.entries.push({ message, page })
    this.rows.push(Object.freeze(encoded.right.row))
    this.blocks.push(...encoded.right.blocks)
    return right(undefined)
  }

  addTo(history: History<Message>): void {
    for (const { message, page } of this.entries) history.append(message, page)
  }
}
