/**
 * The protocol between the server of a view and its page: the addresses, and the JSON that each accepts
 * and returns. Both sides are compiled against this file. All times are milliseconds since 1970.
 *
 *     POST api/enter                accepts `token`, from the printed address; returns {@link Entered}; the only call without a key
 *     GET  api/store                returns {@link ViewedStore}
 *     GET  api/sessions             returns {@link SessionList}; with `after`, the page after it
 *     POST api/overviews            accepts the ids of sessions; returns {@link Overview}[], in the order of the ids
 *     GET  api/session?id=…         returns {@link ViewedSession}
 *     GET  api/rows?id=…&from=&to=  returns {@link ViewedRow}[]
 *     GET  api/nodes?id=…&from=&to= returns the tree nodes of rows: 64 hexadecimal digits each
 *     POST api/blocks               accepts the ids of blocks; returns their bytes, framed by `framedBlocks`
 *     GET  api/verdict?id=…         returns {@link Verdict}: what `indelible verify` finds
 *     GET  api/evidence?id=…        returns {@link ViewedEvidence}
 *     GET  api/trace?id=…           returns {@link Trace}: a session's tool calls and sub-agents
 *     GET  api/spending             returns {@link ViewedSpending}
 *     GET  api/search?words=…       returns {@link FoundMessages}; with `after`, the page after it
 *     POST api/html                 accepts {@link HtmlSelection}; returns a file of {@link ExportedView} with the page around it
 *     GET  api/follow?id=…&from=    server-sent events: `row` with a {@link ViewedRow}, `end`, `removed`, `fault` with a
 *                                   sentence; with `root`, the root of the first `from` rows, `replaced` once that changes
 *
 * Each call has the header `authorization: Bearer KEY`. A failed call returns {@link Failure} and a
 * status of 400 or more.
 */
import type { LedgerProof, Trust } from '@indelible/evidence'
import type { JsonObject } from 'indelible/internal/json'
import type { BlockId } from 'indelible/internal/proof'
import type { Head, RowKind } from 'indelible/store'
import type { ForkPoint } from 'indelible/internal/session'
import type { ActionReason } from 'indelible/internal/store'

export interface Entered {
  /** The key for all later calls, valid until the server ends. */
  readonly key: string
}

export interface Failure {
  /** The failure, as a sentence. */
  readonly error: string
  /** The damaged row, if that is the failure. */
  readonly position?: number
}

export interface ViewedStore {
  /** The name for users. */
  readonly name: string
  readonly scope: string
  readonly version: string
}

/** What the verification of a session found. */
export interface Verdict {
  /** What is wrong, as a clause; absent if nothing is. */
  readonly problem?: string
  /** The first row that is not what was appended, and its message if it is one. */
  readonly damaged?: { readonly row: number; readonly position?: number; readonly reason: string }
  /** The blocks that receipts name and the store lacks. */
  readonly missing: readonly BlockId[]
}

/** The place of a session in its scope's signed ledger. */
export interface ViewedEvidence {
  /** The proof of a head of the session in the last signed checkpoint; absent if no checkpoint covers it. */
  readonly proof?: LedgerProof
  /** Why there is no proof, as a sentence. Without a reason and a proof, the scope has no ledger. */
  readonly why?: string
  /** The trusted keys, if the server has them. A file contains none, because it can't prove itself. */
  readonly trust?: Trust
}

/** A page of the scope's sessions, last appended to first. */
export interface SessionList {
  readonly sessions: readonly ViewedSession[]
  readonly damaged: readonly { readonly id: string; readonly reason: string }[]
  /** The cursor of the next page; absent on the last one. */
  readonly next?: string
}

export interface ViewedSession {
  readonly id: string
  readonly len: number
  /** The tokens of its receipts, as its description has them; absent if it is encrypted, or exported in part. */
  readonly tokens?: number
  /** The size and root of its log, as reported by the store. */
  readonly head: Head
  readonly created: number
  readonly appended: number
  readonly metadata: JsonObject
  readonly forkedFrom?: ForkPoint
  /** Whether its rows and blocks are stored encrypted. */
  readonly encrypted?: true
}

/** The details of a session in a list. Computing them reads its rows. */
export interface Overview {
  readonly id: string
  /** The first words of its user, at most 200 characters; for a fork, the first of its own. Empty if there are none. */
  readonly words: string
  /** The models of its calls, in order of first use. */
  readonly models: readonly string[]
  /** The input tokens of its calls with a receipt, or as reported by the imported file; of a fork those of its own calls, as all sums. */
  readonly input: number
  readonly output: number
  /** Set if answers hold more tokens than were counted: the output and the cost are at least those given. */
  readonly undercounted?: true
  /** US dollars at list prices, of the calls whose model has a known one; absent if none has. */
  readonly dollars?: number
  /** The number of calls with tokens but without a known price; absent if there are none. */
  readonly unpriced?: number
  /** Present if the session is on hold: it can't be erased or removed. */
  readonly held?: ActionReason
  /**
   * How often the provider's cache broke between its calls. Absent if it did not, or if there are no token counts.
   */
  readonly breaks?: number
  /** The number of erased messages; absent if none. */
  readonly erased?: number
  /**
   * The ledger's entries about erasures: when, by whom, why, and the rows of this session. Absent if there are none.
   */
  readonly erasures?: readonly (ActionReason & { readonly at: number; readonly rows: readonly number[] })[]
  /** What the last verification since the server started found wrong with it; absent if nothing, or it was not verified. */
  readonly found?: Pick<Verdict, 'problem' | 'damaged'>
  /** Whether it accepts no more appends. */
  readonly sealed?: true
  /** Why it can't be read, as a sentence. The other fields are then empty. */
  readonly unreadable?: string
}

/** Summed-up calls, or parts of them where they are by cause. */
export interface SpendingSum {
  calls: number
  failed: number
  input: number
  cacheRead: number
  cacheWrite: number
  cacheWriteHour: number
  output: number
  /** US dollars of the calls whose model has a known price. */
  dollars: number
  /** The number of calls whose answers may hold more tokens than were counted. */
  undercounted: number
  /** The number of calls with tokens but without a known price. */
  unpriced: number
  /** The number of answered calls without token counts. */
  uncounted: number
}

/** A sum with what it is of: a cause, a day, a project. */
export interface SpendingRow {
  readonly keys: readonly string[]
  readonly sum: SpendingSum
}

/** What the model calls of all sessions cost, and why. */
export interface ViewedSpending {
  /** The number of sessions with calls, and of encrypted ones that were not read. */
  readonly sessions: number
  readonly unread: number
  readonly total: SpendingSum
  readonly causes: readonly SpendingRow[]
  /** The keys are a day (UTC, ISO 8601; empty if it is not known) and a cause. */
  readonly days: readonly SpendingRow[]
  readonly projects: readonly SpendingRow[]
  readonly programs: readonly SpendingRow[]
  readonly models: readonly SpendingRow[]
  /** The calls that cost most, at most ten. */
  readonly dearest: readonly ViewedSpentCall[]
  /** Tokens that were sent again in all. */
  readonly lost: { readonly dollars: number; readonly tokens: number }
  /** What followed from counts, as sentences. */
  readonly advice: readonly string[]
  readonly unpricedModels: readonly string[]
}

export interface ViewedSpentCall {
  readonly session: string
  /** Absent if the session has none. */
  readonly title?: string
  readonly number: number
  /** The position of its answer, if it is in the conversation. */
  readonly position?: number
  readonly dollars: number
  /** Where most of it went, and why. */
  readonly why: string
}

/** A session and the sub-agents below it, with their tool calls and times. */
export interface Trace {
  /** The session first, then its sub-agents in the order of their start. */
  readonly agents: readonly TracedAgent[]
  /** The number of further sub-agents that were not read; absent if all were. */
  readonly left?: number
}

export interface TracedAgent {
  readonly id: string
  /** Its title, or its user's first words, or its id. */
  readonly title: string
  /** The index of the agent that started it; absent for the first. */
  readonly parent?: number
  /** The index of the tool call that started it, among its parent's; absent if no call names it. */
  readonly call?: number
  /** The times of its first and last message; absent if they are not known. */
  readonly started?: number
  readonly ended?: number
  readonly tools: readonly TracedTool[]
  /** Why it can't be read, as a sentence. */
  readonly unreadable?: string
}

export interface TracedTool {
  /** The message with the call. */
  readonly position: number
  readonly name: string
  /** Its main argument, in a line. */
  readonly gist: string
  /** When it started; absent if that is not known. */
  readonly at?: number
  /** Milliseconds until its result, or until the next request where only that is recorded; absent if not known. */
  readonly took?: number
  /** Absent if it has a result that is no error. */
  readonly state?: 'failed' | 'open'
}

/** Messages that contain the words of a search. */
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
  /** The places of the words in that text, from the first character to the one after the last. */
  readonly marks: readonly (readonly [from: number, to: number])[]
}

/** The part of a session to export. */
export interface HtmlSelection {
  /** The session's id. */
  readonly id: string
  /** The first position. Default: 0. */
  readonly from?: number
  /** The position after the last one. Default: the end. */
  readonly to?: number
  /** Only these positions. Default: all. */
  readonly only?: readonly number[]
  /** Whether to remove secrets in known formats. Default: false. */
  readonly redact?: boolean
}

/** A row of a log for display. */
export interface ViewedRow {
  readonly position: number
  readonly kind: RowKind
  /** The index among the rows of its kind. */
  readonly index: number
  /** The stored text, or its replacement; absent if the row is not shown. */
  readonly body?: string
  readonly at?: number
  readonly salt?: string
  /** The text as stored and hashed, for an encrypted row. */
  readonly stored?: string
  /** The leaf of a row whose text is missing or was changed for the page: 64 hexadecimal digits. */
  readonly leaf?: string
  /** Why the text is missing or differs from the recorded one. */
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
  /** All rows of the record. Rows outside the export have only their leaf. */
  readonly rows: readonly ViewedRow[]
  /** The stored tree node of each row: 64 hexadecimal digits each, concatenated. */
  readonly nodes: string
  /** The blocks of the rows, in base64, by id. */
  readonly blocks: { readonly [id: string]: string }
  /** The place of the session in the signed ledger. */
  readonly evidence?: ViewedEvidence
}

/** The id of the element that holds the session in an exported page. */
export const exportedId = 'indelible-session'

/** The most rows in one answer. */
export const mostRows = 1000

/** The most sessions in one call for overviews. */
export const mostOverviews = 500

/** The most sub-agents in a trace. */
export const mostAgents = 200

/** The most blocks in one call. */
export const mostBlocks = 1000

/** A block, unless the store lacks it or has other bytes than its id names. */
export type FoundBlock = Uint8Array | 'altered' | undefined

/**
 * Blocks as one body: for each block its length in four bytes, big-endian, and its bytes. A missing
 * block has the length 2^32 - 1 and no bytes, an altered one 2^32 - 2.
 *
 * @param blocks the blocks, in the order of the call
 */
export const framedBlocks = (blocks: readonly FoundBlock[]): Uint8Array => {
  const bytesOf = (block: FoundBlock): number => (block instanceof Uint8Array ? block.length : 0)
  const body = new Uint8Array(blocks.reduce((sum, block) => sum + 4 + bytesOf(block), 0))
  const view = new DataView(body.buffer)
  let at = 0
  for (const block of blocks) {
    view.setUint32(at, block === undefined ? absent : block === 'altered' ? altered : block.length)
    at += 4
    if (block instanceof Uint8Array) body.set(block, at)
    at += bytesOf(block)
  }
  return body
}

/**
 * The blocks of a body.
 *
 * @param body a body of {@link framedBlocks}
 * @returns the blocks, as views of the same memory
 */
export const blocksInFrames = (body: Uint8Array): readonly FoundBlock[] => {
  const view = new DataView(body.buffer, body.byteOffset, body.length)
  const blocks: FoundBlock[] = []
  for (let at = 0; at < body.length;) {
    const length = view.getUint32(at)
    at += 4
    const block = length === absent ? undefined : length === altered ? 'altered' : body.subarray(at, at + length)
    blocks.push(block)
    if (block instanceof Uint8Array) at += length
  }
  return blocks
}

const [absent, altered] = [2 ** 32 - 1, 2 ** 32 - 2]
