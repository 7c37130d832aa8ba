/** A record being exported or copied to another store: its rows, id, metadata and head. */
import type { JsonObject } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import type { Note } from '../../notes/internal.ts'
import type { PageKind } from '../../pages/index.ts'

/** A row's time, salt and erased leaf. */
export interface RowMoment {
  /** Milliseconds since 1970. A row without it gets the time of the import. */
  readonly at?: number
  /** 32 hexadecimal digits, in erasable sessions. */
  readonly salt?: string
  /** The leaf of an erased row, 64 hexadecimal digits. Its message or note is then a stub without the erased text. */
  readonly erased?: string
}

/** A row of a record: a message with its page kind, or a note. */
export type ExportedRow = RowMoment & ({ readonly message: Message; readonly page: PageKind } | { readonly note: Note })

/** A record to export. */
export interface RecordExport {
  /** The id of the session. */
  readonly id?: string | undefined
  /** Its metadata. */
  readonly metadata: JsonObject
  /** True if each row has a salt, and later rows will get one. */
  readonly erasable?: true | undefined
  /** The rows, in the order of the log. */
  readonly rows: Iterable<ExportedRow>
  /** The size, and the root if it is known. */
  readonly head: ExportedHead
}

/** The size and the root of an exported record. */
export interface ExportedHead {
  /** The number of rows. */
  readonly size: number
  /** The Merkle root, in hexadecimal. */
  readonly root?: string
}
