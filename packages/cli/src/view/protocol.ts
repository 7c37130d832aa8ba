/**
 * The protocol between the server of a view and its page: the addresses, and the JSON that each takes and returns.
 * Both sides are compiled against this file. All times are milliseconds since 1970.
 *
 *     POST api/enter                takes `token`, of the address that the command prints; gives {@link Entered}; the only call without a key
 *     GET  api/store                gives {@link ViewedStore}
 *     GET  api/sessions             gives {@link SessionList}; with `after`, the page behind it
 *     POST api/overviews            takes the ids of sessions; gives {@link Overview}[], in the order of the ids
 *     GET  api/session?id=…         gives {@link ViewedSession}
 *     GET  api/rows?id=…&from=&to=  gives {@link ViewedRow}[]
 *     GET  api/nodes?id=…&from=&to= gives the tree nodes of rows: 64 hexadecimal digits each
 *     POST api/blocks               takes the ids of blocks; gives their bytes, framed as `framedBlocks` says
 *     GET  api/evidence?id=…        gives {@link ViewedEvidence}
 *     GET  api/search?words=…       gives {@link FoundMessages}; with `after`, the page behind it
 *     POST api/html                 takes {@link HtmlSelection}; gives a file of {@link ExportedView} with the page around it
 *     GET  api/follow?id=…&from=    server-sent events: `row` with a {@link ViewedRow}, `end`, `removed`, `fault` with a
 *                                   sentence; with `root`, the root of the first `from` rows, `replaced` once it is not
 *
 * Each call has the header `authorization: Bearer KEY`. A call that fails gives {@link Failure} and a status of 400 or more.
 */
import type { LedgerProof, Trust } from '@indelible/evidence'
import type { JsonObject } from 'indelible/json/kit'
import type { ForkPoint } from 'indelible/session'
import type { Because, Head, RowKind } from 'indelible/store'

export interface Entered {
  /** The key of all later calls, valid until the server ends. */
  readonly key: string
}

export interface Failure {
  /** The failure, as a sentence. */
  readonly error: string
  /** The row that is damaged, if that is the failure. */
  readonly position?: number
}

/** The store that is looked at. */
export interface ViewedStore {
  /** The name for users. */
  readonly name: string
  readonly scope: string
  readonly version: string
}

/** The place of a session in the signed ledger of its scope. */
export interface ViewedEvidence {
  /** A head of the session in the last signed checkpoint; absent if no checkpoint covers it. */
  readonly proof?: LedgerProof
  /** The reason why there is no proof, as a sentence. Without a reason and a proof, the scope has no ledger. */
  readonly why?: string
  /** The trusted keys, if the server has them. A file contains none, because it can't prove itself. */
  readonly trust?: Trust
}

/** A page of the sessions of the scope, the last one appended to first. */
export interface SessionList {
  readonly sessions: readonly ViewedSession[]
  readonly damaged: readonly { readonly id: string; readonly reason: string }[]
  /** The cursor of the next page. Absent on the last one. */
  readonly next?: string
}

export interface ViewedSession {
  readonly id: string
  readonly len: number
  /** The size and root of its log, as the store states them. */
  readonly head: Head
  readonly created: number
  readonly appended: number
  readonly metadata: JsonObject
  readonly forkedFrom?: ForkPoint
  /** True if its rows and blocks are encrypted where they are stored. */
  readonly encrypted?: true
}

/** The details of a session in a list. Computing them reads its rows. */
export interface Overview {
  readonly id: string
  /** The first words of its user, of a fork the first of its own: at most 200 characters. Empty if there are none. */
  readonly words: string
  /** The models of its calls, in the order of their first call. */
  readonly models: readonly string[]
  /** Tokens that its calls were sent: of those with a receipt, or that the imported file tells of. */
  readonly input: number
  readonly output: number
  /** US dollars at the list prices of the models; absent if one of the models has no known price. */
  readonly dollars?: number
  /** The calls of a fork that it does not share with the session it was forked from. Absent if it is no fork. */
  readonly own?: Pick<Overview, 'input' | 'dollars'>
  /** Present if the session is held: it may not be erased or removed. */
  readonly held?: Because
  /**
   * How often the provider's cache broke between its recorded calls. Absent if it did not, or if there are no token
   * counts.
   */
  readonly breaks?: number
  /** How many of its messages were erased; absent if none. */
  readonly erased?: number
  /**
   * The ledger's information about erasures: when, by whom, why, and the rows of this session. Absent if none was
   * erased.
   */
  readonly erasures?: readonly (Because & { readonly at: number; readonly rows: readonly number[] })[]
  /** True if it takes no more appends. */
  readonly sealed?: true
  /** The reason why it can't be read, as a sentence. The rest is then empty. */
  readonly unreadable?: string
}

/** Messages with the words of a search. */
export interface FoundMessages {
  readonly hits: readonly FoundMessage[]
  readonly next?: string
}

export interface FoundMessage {
  readonly session: string
  readonly position: number
  readonly role: string
  /** The text around the words. */
  readonly text: string
  /** The places of the words in that text: from a character to the one after the last. */
  readonly marks: readonly (readonly [from: number, to: number])[]
}

/** The part of a session to export. */
export interface HtmlSelection {
  /** The session. */
  readonly id: string
  /** The first position. Default: 0. */
  readonly from?: number
  /** The position after the last one. Default: the end. */
  readonly to?: number
  /** Only these positions. Default: all. */
  readonly only?: readonly number[]
  /** True: without secrets, as far as their formats are known. Default: false. */
  readonly redact?: boolean
}

/** A row of a log as it is shown. */
export interface ViewedRow {
  /** The position among all rows. */
  readonly position: number
  readonly kind: RowKind
  /** The index among the rows of its kind. */
  readonly index: number
  /** The stored text, or its replacement. Absent if the row is not shown. */
  readonly body?: string
  readonly at?: number
  readonly salt?: string
  /** The text as it is stored and hashed, of a row that is encrypted there. */
  readonly stored?: string
  /** The leaf of a row whose text is not there, or was changed before it was given: 64 hexadecimal digits. */
  readonly leaf?: string
  /** The reason why the text is missing, or is not the recorded one. */
  readonly state?: 'left-out' | 'redacted' | 'erased' | 'encrypted'
}

/** The data of an exported page: a session, and the data to verify it. */
export interface ExportedView {
  readonly indelible: 'view'
  readonly version: 1
  readonly library: string
  readonly exported: number
  /** The session. Its head is that of the whole record. */
  readonly session: ViewedSession
  /** All rows of the record; those that were not exported by their leaf alone. */
  readonly rows: readonly ViewedRow[]
  /** The tree node of each row, as the store has it: 64 hexadecimal digits each, one after the other. */
  readonly nodes: string
  /** The blocks of the rows, in base64, by id. */
  readonly blocks: { readonly [id: string]: string }
  /** The place of the session in the signed ledger. */
  readonly evidence?: ViewedEvidence
}

/** The id under which an exported page carries its session. */
export const exportedId = 'indelible-session'

/** The most rows that one call gives. */
export const mostRows = 1000

/** The most sessions that one call for overviews takes. */
export const mostOverviews = 500

/** The most blocks that one call takes. */
export const mostBlocks = 1000

/**
 * Blocks as one body: for each one four bytes with its length, big-endian, and its bytes. A block that is not there, or
 * is not what its id says, has the length 2^32 - 1 and no bytes.
 *
 * @param blocks the blocks, in the order of the call
 */
export const framedBlocks = (blocks: readonly (Uint8Array | undefined)[]): Uint8Array => {
  const body = new Uint8Array(blocks.reduce((sum, block) => sum + 4 + (block?.length ?? 0), 0))
  const view = new DataView(body.buffer)
  let at = 0
  for (const block of blocks) {
    view.setUint32(at, block?.length ?? absent)
    at += 4
    if (block === undefined) continue
    body.set(block, at)
    at += block.length
  }
  return body
}

/**
 * The blocks of a body.
 *
 * @param body a body of {@link framedBlocks}
 * @returns the blocks, as parts of the same memory
 */
export const blocksInFrames = (body: Uint8Array): readonly (Uint8Array | undefined)[] => {
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  const blocks: (Uint8Array | undefined)[] = []
  for (let at = 0; at < body.length;) {
    const length = view.getUint32(at)
    at += 4
    blocks.push(length === absent ? undefined : body.subarray(at, at + length))
    if (length !== absent) at += length
  }
  return blocks
}

const absent = 2 ** 32 - 1
