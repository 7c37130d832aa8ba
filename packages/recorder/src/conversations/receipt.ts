/** Receipts of recorded calls, and the messages of a request rebuilt from one. */
import {
  checkArgument,
  freezeResult,
  hasField,
  ownField,
  ownFields,
  isLeft,
  isObject,
  jsonIn,
  left,
  right,
  type Immutable,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import { messageIn } from 'indelible/internal/message'
import type { ReceiptNote } from 'indelible/internal/notes'
import { digestOf, type BlockId } from 'indelible/internal/proof'
import type { SessionReader } from 'indelible/session'
import type { BlockStore, StoreFault } from 'indelible/store'
import { storeTask } from 'indelible/internal/store'
import type { Task } from 'indelible/internal/task'
import type { RecordedApi } from '../apis/index.ts'

/**
 * The sent messages, in order: messages of the record by position, others as a block of JSON, and the
 * first `count` messages of an earlier call by the index (`note`) of its receipt among the session's notes.
 */
export type SentRuns = readonly (
  | readonly [from: number, to: number]
  | BlockId
  | { readonly note: number; readonly count: number }
)[]

/** The position in the record of each sent message, or the block with its JSON. */
export type SentEntries = readonly (number | BlockId)[]

/**
 * Shortens entries by referring to the previous call, so a conversation that its client rewrites
 * costs no more with every call.
 */
export const sentOf = (
  entries: SentEntries,
  before: { readonly note: number; readonly entries: SentEntries } | undefined,
): SentRuns => {
  const plain = runsOf(entries)
  if (before === undefined || plain.length <= 4) return plain
  let count = 0
  while (count < entries.length && entries[count] === before.entries[count]) count++
  const rest = runsOf(entries.slice(count))
  return count > 0 && rest.length + 1 < plain.length ? [{ note: before.note, count }, ...rest] : plain
}

/** Groups positions into runs. */
export const runsOf = (entries: SentEntries): SentRuns => {
  const runs: (readonly [number, number] | BlockId)[] = []
  for (const entry of entries) {
    const last = runs.at(-1)
    if (typeof entry === 'string') runs.push(entry)
    else if (typeof last === 'object' && last[1] === entry) runs[runs.length - 1] = [last[0], entry + 1]
    else runs.push([entry, entry + 1])
  }
  return runs
}

/** The complete entries of a receipt. Cost: O(messages + receipts that it refers to). */
const entriesOf = (session: Pick<SessionReader, 'notes'>, sent: SentRuns): SentEntries => {
  const after: SentRuns[] = []
  let first = sent
  let count = Infinity
  const counts: number[] = []
  for (;;) {
    const [head, ...rest] = first
    if (typeof head !== 'object' || !hasField(head, 'note')) break
    after.push(rest)
    counts.push(count)
    first = writtenAt(session, head.note)?.sent ?? []
    count = head.count
  }
  let entries: (number | BlockId)[] = expandRuns(first).slice(0, count)
  while (after.length > 0) entries = [...entries, ...expandRuns(after.pop() as SentRuns)].slice(0, counts.pop())
  return entries
}

/** The entries of runs, except those of an earlier call. */
export const expandRuns = (sent: SentRuns): (number | BlockId)[] =>
  sent.flatMap((entry): readonly (number | BlockId)[] =>
    typeof entry === 'string'
      ? [entry]
      : hasField(entry, 'note')
        ? []
        : Array.from({ length: entry[1] - entry[0] }, (_, offset) => entry[0] + offset),
  )

/** A message as in a request, without the fields that only the record or the answer has. */
export const toSentMessage = (message: Immutable<Message> | Message): Immutable<Message> => {
  const { id: _id, meta, ...rest } = ownFields(message as Message)
  const {
    'anthropic-response': _anthropic,
    'gemini-response': _gemini,
    indelible: _indelible,
    ...others
  } = ownFields(meta ?? {})
  return Object.keys(others).length === 0 ? rest : { ...rest, meta: others }
}

const sentDigests = new WeakMap<object, string>()

/** The digest of a message as in a request. Cost: O(message), once for each object. */
export const sentDigestOf = (message: Message): string => {
  const known = sentDigests.get(message)
  if (known !== undefined) return known
  const digest = digestOf(JSON.stringify(toSentMessage(message)))
  sentDigests.set(message, digest)
  return digest
}

/** The call that a receipt of the recorder describes. */
export interface CallDetails {
  /** The API that was called. */
  readonly api: RecordedApi
  /** The messages of the call, to be read with {@link sentMessages}. */
  readonly sent: SentRuns
  /** The block with the `system` or `instructions` of the request, as JSON. */
  readonly system?: BlockId
  /** The block with the tools of the request, as JSON. */
  readonly tools?: BlockId
  /** The other parameters of the request. */
  readonly parameters?: JsonObject
  /** The model that the request names, if another one answered. */
  readonly requested?: string
  /** Whether the request asked for a stream. */
  readonly stream?: true
  /** The client's name for the conversation. */
  readonly client?: string
  /** The id of the answer. */
  readonly response?: string
  /** When the request was sent, in milliseconds since 1970. */
  readonly at: number
  /** Milliseconds until the first byte of the answer; absent if none came. */
  readonly firstByte?: number
  /** Milliseconds until the end of the answer. */
  readonly duration: number
  /** The HTTP status; absent if there was no answer. */
  readonly status?: number
  /** The stop reason. */
  readonly stop?: string
  /** How the provider served the call, if that changes its price: `fast`, `batch`, `flex` or `priority`. */
  readonly tier?: string
  /** The number of choices that the provider sent (`n`), if more than one. Only the first is recorded. */
  readonly choices?: number
  /** The error. */
  readonly error?: string
  /** The header `retry-after` of an error. */
  readonly retryAfter?: string
  /** The body of an answer without a message, such as an error's, and the event of a stream that reports its error. */
  readonly reply?: { readonly body?: Json; readonly event?: Json; readonly events?: Json }
  /** Whether the answer broke off. */
  readonly cut?: true
  /** Where the cached prefix of the previous call ended, and why; absent if the call continued it unchanged. */
  readonly broke?: CacheBreak
}

/** Where a provider's cached prefix ended. */
export interface CacheBreak {
  /** The first change, in the order in which providers cache. */
  readonly where: 'tools' | 'system' | 'messages'
  /** The index of the first message that changed. */
  readonly index?: number
  /** A description of the change. */
  readonly because: string
  /** Set if the client compacted the conversation, or went back in it. */
  readonly change?: 'compaction' | 'rewind'
}

/** Values that calls of a session mostly share. They are stored in one receipt, and later ones refer to it. */
type CommonDetails = Pick<CallDetails, (typeof commonFields)[number]>

const commonFields = ['api', 'requested', 'stream', 'system', 'tools', 'client', 'status', 'stop'] as const

/** The details as stored in a receipt. */
type WrittenDetails = Omit<CallDetails, 'api'> & Partial<CommonDetails> & { readonly like?: number }

const writtenOf = ({ details }: Pick<ReceiptNote, 'details'>): WrittenDetails | undefined =>
  isObject(details) && Array.isArray(details['sent']) ? (details as unknown as WrittenDetails) : undefined

const writtenAt = ({ notes }: Pick<SessionReader, 'notes'>, index: number): WrittenDetails | undefined => {
  const note = notes().at(index)
  return note?.type === 'receipt' ? writtenOf(note as ReceiptNote) : undefined
}

/**
 * The details of a receipt. Values that calls share are stored in one receipt of their session.
 *
 * @param session the opened session, or its notes
 * @returns the details; undefined if the recorder did not write the receipt, or if the one it refers to was erased
 */
export const detailsOf = (
  receipt: Pick<ReceiptNote, 'details' | 'parameters'>,
  session: Pick<SessionReader, 'notes'>,
): CallDetails | undefined => {
  const written = writtenOf(receipt)
  if (written === undefined) return undefined
  const { like, ...own } = written
  const base = like === undefined ? receipt : session.notes().at(like)
  const alike = base === undefined || !hasField(base, 'details') ? undefined : writtenOf(base as ReceiptNote)
  if (alike?.api === undefined) return undefined
  const { parameters } = base as Pick<ReceiptNote, 'parameters'>
  return {
    ...commonDetailsOf(alike as CommonDetails),
    ...own,
    ...(parameters !== undefined && { parameters }),
  } as CallDetails
}

const commonDetailsOf = (details: CommonDetails): CommonDetails =>
  Object.fromEntries(
    commonFields.flatMap((field) => (ownField(details, field) === undefined ? [] : [[field, details[field]]])),
  ) as unknown as CommonDetails

/** The details of the last receipt of a session. Cost: O(notes after it). */
export const lastDetails = (session: SessionReader): CallDetails | undefined => {
  const notes = session.notes()
  for (let index = notes.length - 1; index >= 0; index--) {
    const note = notes.at(index)
    const details = note?.type === 'receipt' ? detailsOf(note as ReceiptNote, session) : undefined
    if (details !== undefined) return details
  }
  return undefined
}

/** A receipt's fields. Values that it shares with an earlier one are replaced by that one's index. */
export const receiptFields = (
  { parameters, ...details }: CallDetails,
  receipts: ReadonlyMap<string, number>,
): { readonly alike: string; readonly fields: Pick<ReceiptNote, 'parameters' | 'details'> } => {
  const alike = JSON.stringify([commonDetailsOf(details), parameters])
  const like = receipts.get(alike)
  if (like === undefined)
    return { alike, fields: { ...(parameters !== undefined && { parameters }), details: detailsJson(details) } }
  const own = Object.entries(details).filter(([field]) => !(commonFields as readonly string[]).includes(field))
  return { alike, fields: { details: detailsJson({ like, ...Object.fromEntries(own) }) } }
}

export const detailsJson = (details: object): JsonObject => JSON.parse(JSON.stringify(details)) as JsonObject

export const blockIdOf = (value: Json): BlockId => digestOf(JSON.stringify(value)) as BlockId

/**
 * The messages that a recorded call sent: positions in the record, or blocks for messages that it lacks.
 *
 * Cost    O(messages + receipts that the receipt refers to)
 *
 * @param session an opened session, or its notes
 * @returns the entries, in order; undefined if the recorder did not write the receipt
 */
export const sentEntries = (
  session: Pick<SessionReader, 'notes'>,
  receipt: Pick<ReceiptNote, 'details'>,
): SentEntries | undefined => {
  const details = writtenOf(receipt)
  return details && entriesOf(session, details.sent)
}

/**
 * The messages that a recorded call sent, without cache marks and message ids.
 *
 * Cost    the blocks in the receipt
 * Errors  `MissingBlock`, `DamagedBlock`, and other store faults
 * @param receipt a note of the session that the recorder wrote
 * @throws TypeError if the recorder did not write the receipt
 */
export const sentMessages = (
  store: BlockStore,
  session: SessionReader,
  receipt: ReceiptNote,
): Task<StoreFault, readonly Immutable<Message>[]> => {
  const isStore = typeof (Object(store) as Partial<BlockStore>).getBlocks === 'function'
  checkArgument('sentMessages', isStore, 'a store', store)
  checkArgument(
    'sentMessages',
    typeof (Object(session) as Partial<SessionReader>).view === 'function',
    'a session',
    session,
  )
  checkArgument('sentMessages', isObject(receipt), 'a receipt', receipt)
  const details = writtenOf(receipt)
  if (details === undefined)
    throw new TypeError('the recorder did not write this receipt: it has no details of the sent messages')
  return storeTask(async () => {
    const entries = entriesOf(session, details.sent)
    const ids = entries.filter((entry) => typeof entry === 'string')
    const found = await store.getBlocks(ids)()
    if (isLeft(found)) return found
    const blocks = new Map(ids.map((id, index) => [id, found.right[index]]))
    const view = session.view()
    const sent: Immutable<Message>[] = []
    for (const entry of entries) {
      const message = typeof entry === 'number' ? view.at(entry) : messageIn(jsonIn(textOfBlock(blocks.get(entry))))
      if (message === undefined) return left({ _tag: 'MissingBlock', ids: ids.filter((id) => id === entry) })
      sent.push(toSentMessage(message))
    }
    return right(freezeResult(sent))
  }, 'sentMessages')
}

declare const TextDecoder: new () => { decode: (bytes?: Uint8Array) => string }

/** The text of a block; empty if it is missing. */
export const textOfBlock = (bytes: Uint8Array | undefined): string => new TextDecoder().decode(bytes)
