/** The receipt of an erasure: JSON that a third party can check against a head of the ledger. */
import { fail, need, type Steps, type Task } from '../../task/index.ts'
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { isArray, isLeft, isObject, left, present, right } from '../../json/index.ts'
import { portableSha256, verifyInclusion, type BlockId } from '../../proof/kit.ts'
import type {
  LogPage,
  Erased,
  Erasure,
  ErasedRow,
  Head,
  LogFault,
  Residue,
  RowPlace,
  Store,
  StoredRow,
} from '../../store/index.ts'
import {
  sameHead,
  identityAt,
  inclusionPath,
  isEncryptedLog,
  isLeaf,
  isMoment,
  ledgerContent,
  ledgerId,
  readLedgerRow,
  rowLeaf,
  streamLogOf,
  type LedgerRow,
} from '../../store/kit.ts'
import type { EraseSessionFault, SessionFaultOf } from '../fault.ts'
import type { ReadRecord } from '../record/read.ts'
import { longEnough, namesIn, spellings, textsOf } from '../record/note-copies.ts'

/** Something that still contains the erased text, or lets it be guessed. */
export type Remains =
  /** A block with the same content or text: rows reference it, or it was stored on its own (`kept`). */
  | { readonly what: 'block'; readonly block: BlockId; readonly rows: readonly RemainingRow[]; readonly kept: boolean }
  /** Other rows, or the blocks that they reference, have the same text. */
  | { readonly what: 'text'; readonly rows: readonly RemainingRow[] }
  /** The metadata or the id of a session or log has the same text. */
  | { readonly what: 'metadata'; readonly session: string }
  /** The session is encrypted and its key is missing, or rows are damaged, so they can't be compared. */
  | { readonly what: 'unread'; readonly session: string }
  /** The leaves of these rows have no salt: a short text can be found by hashing guesses. */
  | { readonly what: 'leaf'; readonly rows: readonly number[] }
  /** The stream of the session's last answer is still in the store: it is removed soon after its end. */
  | { readonly what: 'stream'; readonly session: string }
  /**
   * The session was recorded: the index of the recorder has digests of its conversation. Whoever has the secret that they are
   * keyed by, which is in the store, can find short texts by guessing.
   */
  | { readonly what: 'index'; readonly session: string }
  /** Receipts of model calls have a digest of all that was sent, without a salt: short texts can be found by guessing. */
  | { readonly what: 'contextDigest'; readonly rows: readonly number[] }

/** A row of a log, and the position among its messages, if it is one. */
type RemainingRow = RowPlace & { readonly message?: number }

/** A row of the ledger that says what was erased, and that it is in the ledger. */
export interface ErasureProof {
  /** Its position in the ledger. */
  readonly row: number
  /** Its time, in milliseconds since 1970. */
  readonly at: number
  /** Its text. */
  readonly body: string
  /** The hashes on the way from the row to the root of `ledger`, bottom up, in hexadecimal. */
  readonly path: readonly string[]
}

/** The receipt of an erasure, as JSON. */
export interface ErasureReceipt {
  readonly indelible: 'erasure'
  readonly version: 1
  /** The id of the session, as a proof says it: one that shares the messages, if they were erased there. */
  readonly session: string
  /** The positions of the messages that were asked for. */
  readonly messages: readonly number[]
  /** The ids of the inputs that were asked for. No proof covers them. Default: none. */
  readonly inputs?: readonly string[]
  /** Every row that is erased because of them: of this session, or of others that share rows with it. */
  readonly rows: readonly (ErasedRow & { readonly session: string })[]
  /** The other sessions that share the messages, and show them erased. */
  readonly sharing: readonly string[]
  /** The head of the ledger that the proofs lead to. */
  readonly ledger: Head
  /** The rows of the ledger that say so. */
  readonly proofs: readonly ErasureProof[]
  /** Where equal content remains, and what lets content be guessed. Empty if nothing is known. */
  readonly remains: readonly Remains[]
  /** Where bytes of it may still be in the store's files. Empty if nothing is known. */
  readonly residue: readonly Residue[]
}

/** The subject of an erasure. */
interface About {
  readonly positions: readonly number[]
  readonly inputs: readonly string[]
  /** Their rows in the log, and those of the notes that go with them. */
  readonly rows: readonly number[]
  readonly texts: readonly string[]
  readonly sharing: readonly string[]
  readonly erased: Erased
}

export async function* receiptOf(
  store: Store,
  { mirror, info }: ReadRecord,
  { positions, inputs, rows, texts, sharing, erased }: About,
): Steps<EraseSessionFault, ErasureReceipt> {
  const { id } = mirror
  const { erasures, head = mirror.head } = yield* need(ledgerContent(store))
  const identities = yield* need(store.identities(id))
  const wanted = new Set(rows)
  // The rows may have been erased in another log that shares them, which may have been removed since.
  const own = erasures.filter((one) =>
    one.rows.some(({ log, row }) => wanted.has(row) && log === identityAt(identities, row)),
  )
  const ids = new Set([id, ...sharing, ...own.map((one) => one.id)])
  // An erasure stands in several rows of the ledger: one for each log. The next of one log begins another erasure.
  const ends = own.map(({ id, row }) => erasures.find((one) => one.id === id && one.row > row)?.row ?? Infinity)
  const together = erasures.filter(
    (one) =>
      own.includes(one) || own.some((other, index) => one.row < (ends[index] as number) && isWith(one, other, ids)),
  )
  const proofs: ErasureProof[] = []
  for (const { row } of together) {
    proofs.push(yield* proofOf(store, row, head.size))
  }
  const remains = yield* remainsOf(store, { mirror, info, texts, erased, rows: wanted })
  return Object.freeze({
    indelible: 'erasure',
    version: 1,
    session: own.some((one) => one.id === id) ? id : (own[0]?.id ?? id),
    messages: positions,
    ...(inputs.length > 0 && { inputs }),
    rows: together.flatMap((one) => one.rows.map((row) => ({ session: one.id, ...row }))),
    sharing,
    ledger: head,
    proofs,
    remains,
    residue: erased.residue,
  })
}

/** Whether two erasures were one: rows of the ledger side by side, by the same, at the same time. */
const isWith = (one: Erasure, other: Erasure, ids: ReadonlySet<string>): boolean =>
  ids.has(one.id) && one.at === other.at && one.by === other.by && one.reason === other.reason && one.row > other.row

/** A row of the ledger, proven to be among its first `size`. */
export async function* proofOf(store: Store, row: number, size: number): Steps<LogFault, ErasureProof> {
  const read = yield* need(store.read(ledgerId, { from: row, to: row + 1 }))
  const path = yield* need(inclusionPath(store, ledgerId, row, size))
  const { at, body } = read[0] as StoredRow // its place is of the ledger's content
  return {
    row,
    at,
    body,
    path: path.map(bytesToHex),
  }
}

interface ReceiptErasure extends Pick<About, 'texts' | 'erased'>, Pick<ReadRecord, 'mirror' | 'info'> {
  readonly rows: ReadonlySet<number>
}

async function* remainsOf(
  store: Store,
  { mirror, info, texts, erased, rows }: ReceiptErasure,
): Steps<EraseSessionFault, readonly Remains[]> {
  const remains: Remains[] = []
  const same = new Map<string, RowPlace>()
  const blocks = new Map(erased.blocks.map(({ block, kept }) => [block, kept]))
  const unread = new Set<string>()
  const long = [...new Set(texts)].filter((text) => text.length >= longEnough)
  if (long.length > 0) {
    const found = yield* need(store.containing(long.flatMap(spellings)))
    for (const row of found.rows) same.set(`${row.id} ${row.position}`, row)
    for (const block of found.blocks) blocks.set(block, true)
    for (const session of found.unread ?? []) unread.add(session)
  }
  const naming = yield* rowsNaming(store, [...blocks.keys()])
  for (const [block, kept] of blocks) {
    const rows = naming.get(block) ?? []
    for (const row of rows) same.delete(`${row.id} ${row.position}`) // named with the block
    remains.push({ what: 'block', block, rows: await withMessages(store, rows), kept })
  }
  if (same.size > 0) remains.push({ what: 'text', rows: await withMessages(store, [...same.values()]) })
  remains.push(
    ...(yield* besideRows(store, long, unread)),
    ...[...unread].map((session): Remains => ({ what: 'unread', session })),
  )
  if (info.erasable !== true && info.encrypted !== true) remains.push({ what: 'leaf', rows: [...rows] })
  const first = Math.min(...rows)
  const receipts = [...mirror.notes.view()].flatMap((note, index) => {
    const row = mirror.noteRows[index] as number // a row for each note
    return note.type === 'receipt' && row > first && !rows.has(row) ? [row] : []
  })
  if (receipts.length > 0) remains.push({ what: 'contextDigest', rows: receipts })
  if (info.metadata['recorder'] !== undefined) remains.push({ what: 'index', session: info.id })
  const stream = await store.info(streamLogOf(info.id))()
  if (!isLeft(stream)) remains.push({ what: 'stream', session: info.id })
  else if (stream.left._tag !== 'NoSuchLog') yield stream.left
  return remains
}

/** The rows with the positions of those that are messages. */
const withMessages = async (store: Store, places: readonly RowPlace[]): Promise<readonly RemainingRow[]> => {
  const bare = store.encryption?.bare ?? store // whether it is a message needs no key
  const rows: RemainingRow[] = []
  for (const place of places) {
    const read = await bare.read(place.id, { from: place.position, to: place.position + 1 })()
    const [row] = isLeft(read) ? [] : read.right // one that was removed meanwhile is named by its row
    rows.push(row?.kind === 'entry' ? { ...place, message: row.index } : place)
  }
  return rows
}

/** The rows that name blocks. */
async function* rowsNaming(
  store: Store,
  blocks: readonly BlockId[],
): Steps<EraseSessionFault, ReadonlyMap<BlockId, readonly RowPlace[]>> {
  const naming = new Map<BlockId, RowPlace[]>(blocks.map((block) => [block, []]))
  if (blocks.length === 0) return naming
  for (const place of (yield* need(store.containing(blocks))).rows) {
    const range = { from: place.position, to: place.position + 1 }
    const plain = await store.read(place.id, range)()
    const read =
      isLeft(plain) && store.encryption !== undefined ? await store.encryption.bare.read(place.id, range)() : plain
    if (isLeft(read) && read.left._tag !== 'NoSuchLog') return yield* fail(read.left)
    const [row] = isLeft(read) ? [] : read.right // one that was removed meanwhile names nothing
    const body = `${row?.body ?? ''}${row?.stored ?? ''}`
    for (const [block, rows] of naming) if (body.includes(block)) rows.push(place)
  }
  return naming
}

/** The data that logs have beside their rows. Logs whose rows can't be read are added to `unread`. */
async function* besideRows(
  store: Store,
  texts: readonly string[],
  unread: Set<string>,
): Steps<EraseSessionFault, readonly Remains[]> {
  const found: Remains[] = []
  let after: string | undefined
  do {
    const listed = store.list({ limit: 500, ...present({ after }) })
    const page = yield* need(listed as Task<EraseSessionFault, LogPage>) // the query is good
    for (const log of page.logs) {
      const { id, head } = log
      const meta = Object.fromEntries(Object.entries(log.meta).filter(([name]) => !name.startsWith('indelible.')))
      const said = [id, ...namesIn(meta), ...textsOf(meta)]
      if (texts.some((text) => said.some((one) => one.includes(text)))) found.push({ what: 'metadata', session: id })
      if (!isEncryptedLog(log) || head.size === 0) continue
      const last = store.encryption && (await store.read(id, { from: head.size - 1, to: head.size })())
      if (last === undefined || (isLeft(last) && (last.left._tag === 'NoKey' || last.left._tag === 'DamagedLog')))
        unread.add(id)
      else if (isLeft(last) && last.left._tag !== 'NoSuchLog') return yield* fail(last.left)
    }
    after = page.next
  } while (after !== undefined)
  return found
}

/** The result of checking a valid receipt. */
export interface ProvenErasure {
  /** The id of the session. */
  readonly session: string
  /** The rows that the ledger says were erased. */
  readonly rows: ErasureReceipt['rows']
  /** Why, by whom and when (milliseconds since 1970), as the ledger says: one for each of its rows. */
  readonly said: readonly Pick<Erasure, 'id' | 'reason' | 'by' | 'at'>[]
  /** The head of the ledger that the proofs lead to. */
  readonly ledger: Head
}

/**
 * Check the receipt of an erasure, without a store. Give a head of the ledger that you know from elsewhere, such as a signed
 * checkpoint's; without one, the proofs are only checked against the head that the receipt names itself.
 *
 * @param receipt the receipt; untrusted data
 * @param head a head of the ledger that you know. Default: the head that the receipt names
 * @returns what is proven; or `BadProof` with the reason
 */
export const checkErasure = (receipt: unknown, head?: Head): Either<SessionFaultOf<'BadProof'>, ProvenErasure> => {
  if (!isReceipt(receipt)) return badProof('it is not a receipt of an erasure')
  const { ledger, session } = receipt
  const other = againstHead(head, ledger)
  if (other !== undefined) return badProof(other)
  const proven: ErasureReceipt['rows'][number][] = []
  const said: ProvenErasure['said'][number][] = []
  for (const proof of receipt.proofs) {
    const { at } = proof
    const read = saidBy(proof, ledger)
    if (isLeft(read)) return badProof(read.left)
    const { id, rows, reason, by } = read.right
    for (const one of rows) proven.push({ session: id, ...one })
    said.push({ id, at, ...present({ reason, by }) })
  }
  if (!said.some(({ id }) => id === session)) return badProof(`no proof is of the session ${JSON.stringify(session)}`)
  const keys = new Set(proven.map(keyOf))
  const missing = receipt.rows.find((row) => !keys.has(keyOf(row)))
  if (missing !== undefined) return badProof(`the ledger does not say that row ${missing.row} was erased`)
  const messages = new Set(proven.flatMap(({ kind, index }) => (kind === 'entry' ? [index] : [])))
  const unsaid = receipt.messages.find((index) => !messages.has(index))
  if (unsaid !== undefined) return badProof(`the ledger does not say that message ${unsaid} was erased`)
  return right(Object.freeze({ session, rows: Object.freeze(proven), said: Object.freeze(said), ledger }))
}

export const badProof = (reason: string): Either<SessionFaultOf<'BadProof'>, never> =>
  left({ _tag: 'BadProof', reason })

/** Compares the head that a proof leads to with one that is known. */
export const againstHead = (known: Head | undefined, named: Head): string | undefined =>
  known === undefined || sameHead(known, named)
    ? undefined
    : `it leads to the head ${named.size} ${named.root}, not to ${known.size} ${known.root}`

/** The erasure that a row of the ledger records; or why the row proves none. */
export const saidBy = (
  { row, at, body, path }: ErasureProof,
  ledger: Head,
): Either<string, Extract<LedgerRow, { readonly type: 'erased' }>> => {
  const isIn = verifyInclusion({
    position: row,
    size: ledger.size,
    leaf: rowLeaf({ kind: 'note', body, at }, portableSha256),
    proof: path.map(hexToBytes),
    root: hexToBytes(ledger.root),
  })
  if (!isIn) return left(`row ${row} is not in the ledger with that head`)
  const read = readLedgerRow({ position: row, body })
  return isLeft(read) || read.right?.type !== 'erased'
    ? left(`row ${row} of the ledger says of no erasure`)
    : right(read.right)
}

const keyOf = ({ session, row, kind, index, leaf, stub }: ErasureReceipt['rows'][number]): string =>
  JSON.stringify([session, row, kind, index, leaf, stub])

export const isHead = (value: unknown): value is Head =>
  isObject(value) && isCount(value['size']) && isLeaf(value['root'])

export const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const isReceipt = (value: unknown): value is ErasureReceipt => {
  if (!isObject(value) || value['indelible'] !== 'erasure' || value['version'] !== 1) return false
  const { session, messages, inputs = [], rows, ledger, proofs } = value
  return (
    typeof session === 'string' &&
    isHead(ledger) &&
    isArray(messages) &&
    messages.every(isCount) &&
    isArray(inputs) &&
    inputs.every((input) => typeof input === 'string') &&
    messages.length + inputs.length > 0 &&
    isArray(rows) &&
    rows.length > 0 &&
    rows.every((row) => isObject(row) && typeof row['session'] === 'string' && isCount(row['row'])) &&
    isArray(proofs) &&
    proofs.every(isErasureProof)
  )
}

export const isErasureProof = (proof: unknown): proof is ErasureProof =>
  isObject(proof) &&
  isCount(proof['row']) &&
  isMoment(proof['at']) &&
  typeof proof['body'] === 'string' &&
  proof['body'].isWellFormed() &&
  isArray(proof['path']) &&
  proof['path'].every(isLeaf)
