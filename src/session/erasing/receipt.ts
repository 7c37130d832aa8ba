/** The receipt of an erasure: JSON that a third party can check against a ledger head. */
import { fail, need, pagesOf, type Steps, type Task } from '../../task/index.ts'
import { bytesToHex } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { countWhile } from '../../sequence/index.ts'
import { freezeResult, isArray, isLeft, isObject, left, ownFields, present, right, isCount } from '../../json/index.ts'
import { portableSha256, type BlockId } from '../../proof/internal.ts'
import type { LogPage, EraseResult, Head, LogFault, Store, StoredRow } from '../../store/index.ts'
import type { Residue, RowPlace, Erasure, ErasedRow } from '../../store/internal.ts'
import {
  sameHead,
  identityAt,
  inclusionPath,
  isEncryptedLog,
  isMoment,
  ledgerContent,
  ledgerId,
  readLedgerRow,
  rowLeaf,
  streamLogs,
  type LedgerRow,
  Slices,
  finderInSlices,
} from '../../store/internal.ts'
import type { EraseSessionFault, SessionFaultOf } from '../fault.ts'
import { isHead, isPath, isProofOf, leadsTo } from '../record/head-proof.ts'
import { withoutOwnKeys } from '../record/metadata.ts'
import type { ReadRecord } from '../record/read.ts'
import { longEnough, namesIn, spellings, textsOf } from '../record/note-copies.ts'

/** A place that still has the erased text, or data from which the text can be guessed. */
export type RemainingData =
  /** A block with the same content or text: rows reference it, or it was stored on its own (`kept`). */
  | { readonly what: 'block'; readonly block: BlockId; readonly rows: readonly RemainingRow[]; readonly kept: boolean }
  /** Other rows, or the blocks that they reference, have the same text. */
  | { readonly what: 'text'; readonly rows: readonly RemainingRow[] }
  /** The metadata or the id of a session or log has the same text. */
  | { readonly what: 'metadata'; readonly session: string }
  /** The name of the holder of the session's lease has the same text. It stays until another lease is taken. */
  | { readonly what: 'lease'; readonly session: string }
  /** An operation id of the session or log has the same text. It stays, because a retry of the append must find it. */
  | { readonly what: 'operation'; readonly session: string }
  /** The name of a scope of the store has the same text. */
  | { readonly what: 'scope'; readonly scope: string }
  /** The session is encrypted without a key here, or its rows are damaged, so its texts can't be compared. */
  | { readonly what: 'unread'; readonly session: string }
  /** The leaves of these rows have no salt, so a short text can be found by hashing guesses. */
  | { readonly what: 'leaf'; readonly rows: readonly number[] }
  /** The store still has the stream of the session's last answer. It is removed soon after the answer ends. */
  | { readonly what: 'stream'; readonly session: string }
  /**
   * The session was recorded, and the recorder's index has keyed digests of its conversation. With
   * the key, which is in the store, short texts can be found by guessing.
   */
  | { readonly what: 'index'; readonly session: string }
  /** Receipts have an unsalted digest of each request, so short texts can be found by guessing. */
  | { readonly what: 'contextDigest'; readonly rows: readonly number[] }

/** A row of a log and, if it is a message, its position among the messages. */
type RemainingRow = RowPlace & { readonly message?: number }

/** A ledger row that records an erasure, and the proof that the ledger contains it. */
export interface ErasureProof {
  /** Its position in the ledger. */
  readonly row: number
  /** Its time, in milliseconds since 1970. */
  readonly at: number
  /** The text of the row. */
  readonly body: string
  /** The hashes on the path from the row to the root of `ledger`, bottom up, in hexadecimal. */
  readonly path: readonly string[]
}

/** The receipt of an erasure, as JSON. */
export interface ErasureReceipt {
  readonly indelible: 'erasure'
  readonly version: 1
  /** The id of the session, as the proofs name it. It may be a session that shares the messages. */
  readonly session: string
  /** The positions of the erased messages: those requested, those of requested inputs, and reminders that quote them. */
  readonly messages: readonly number[]
  /** The ids of the requested inputs. No proof covers them. Default: none. */
  readonly inputs?: readonly string[]
  /** All rows that were erased: of this session and of sessions that share rows with it. */
  readonly rows: readonly (ErasedRow & { readonly session: string })[]
  /** The other sessions that share the messages. They show them erased. */
  readonly sharing: readonly string[]
  /** The head of the ledger that the proofs lead to. */
  readonly ledger: Head
  /** The ledger rows that record the erasure. */
  readonly proofs: readonly ErasureProof[]
  /** Places with equal content, and data from which content can be guessed. Empty if none is known. */
  readonly remains: readonly RemainingData[]
  /** Places in the store's files that may still have bytes of the content. Empty if none is known. */
  readonly residue: readonly Residue[]
}

/** The subject of an erasure. */
interface ErasureSubject {
  readonly positions: readonly number[]
  readonly inputs: readonly string[]
  /** The rows of these messages in the log, and of the notes erased with them. */
  readonly rows: readonly number[]
  readonly texts: readonly string[]
  readonly sharing: readonly string[]
  readonly erased: EraseResult
}

export async function* receiptOf(
  store: Store,
  { record, info }: ReadRecord,
  { positions, inputs, rows, texts, sharing, erased }: ErasureSubject,
): Steps<EraseSessionFault, ErasureReceipt> {
  const { id } = record
  const { erasures, head = record.head } = yield* need(ledgerContent(store))
  const identities = yield* need(store.identities(id))
  const wanted = new Set(rows)
  // The rows may have been erased through another log that shares them and that no longer exists.
  const own = erasures.filter((erasure) =>
    erasure.rows.some(({ log, row }) => wanted.has(row) && log === identityAt(identities, row)),
  )
  const ids = new Set([id, ...sharing, ...own.map((erasure) => erasure.id)])
  const together = erasedTogether(erasures, own, ids)
  const proofs: ErasureProof[] = []
  for (const { row } of together) {
    proofs.push(yield* proofOf(store, row, head.size))
  }
  const remains = yield* remainsOf(store, { record, info, texts, sharing, erased, rows: wanted })
  return freezeResult({
    indelible: 'erasure',
    version: 1,
    session: own.some((erasure) => erasure.id === id) ? id : (own[0]?.id ?? id),
    messages: positions,
    ...(inputs.length > 0 && { inputs }),
    rows: together.flatMap((erasure) => erasure.rows.map((row) => ({ session: erasure.id, ...row }))),
    sharing,
    ledger: head,
    proofs,
    remains,
    residue: erased.residue,
  })
}

/**
 * The ledger rows of the same erasures: one erasure writes a row for each log, with the same time, person and reason.
 * The next row of the same log starts another erasure.
 *
 * @param own some of the rows
 * @param ids the logs of the others
 */
const erasedTogether = (
  erasures: readonly Erasure[],
  own: readonly Erasure[],
  ids: ReadonlySet<string>,
): readonly Erasure[] => {
  const isOwn = new Set(own)
  const ends = new Map<Erasure, number>()
  const next = new Map<string, number>()
  for (const erasure of erasures.toReversed()) {
    if (isOwn.has(erasure)) ends.set(erasure, next.get(erasure.id) ?? Infinity)
    next.set(erasure.id, erasure.row)
  }
  const keyOfErasure = (erasure: Erasure): string => {
    const { at, by, reason } = ownFields(erasure)
    return JSON.stringify([at, by, reason])
  }
  const reach = new Map<string, number>() // how far an erasure with this time, person and reason reaches
  return erasures.filter((erasure) => {
    const key = keyOfErasure(erasure)
    const isSame = isOwn.has(erasure) || (ids.has(erasure.id) && erasure.row < (reach.get(key) ?? -1))
    if (isOwn.has(erasure)) reach.set(key, Math.max(reach.get(key) ?? -1, ends.get(erasure) as number))
    return isSame
  })
}

/** A ledger row, with the proof that it is among the first `size` rows. */
export async function* proofOf(store: Store, row: number, size: number): Steps<LogFault, ErasureProof> {
  const read = yield* need(store.read(ledgerId, { from: row, to: row + 1 }))
  const path = yield* need(inclusionPath(store, ledgerId, row, size))
  const { at, body } = read[0] as StoredRow // the row exists: its position was read from the ledger
  return {
    row,
    at,
    body,
    path: path.map(bytesToHex),
  }
}

interface ReceiptErasure
  extends Pick<ErasureSubject, 'texts' | 'sharing' | 'erased'>, Pick<ReadRecord, 'record' | 'info'> {
  readonly rows: ReadonlySet<number>
}

async function* remainsOf(
  store: Store,
  { record, info, texts, sharing, erased, rows }: ReceiptErasure,
): Steps<EraseSessionFault, readonly RemainingData[]> {
  const remains: RemainingData[] = []
  const same = new Map<string, RowPlace>()
  const blocks = new Map(erased.blocks.map(({ block, kept }) => [block, kept]))
  const unread = new Set<string>()
  const long = [...new Set(texts)].filter((text) => text.length >= longEnough)
  if (long.length > 0) {
    const written: string[] = []
    const slices = new Slices()
    for (const text of long) {
      for (const spelling of spellings(text)) written.push(spelling)
      await slices.next(text.length)
    }
    const found = yield* need(store.containing(written))
    for (const row of found.rows) same.set(`${row.id} ${row.position}`, row)
    for (const block of found.blocks) blocks.set(block, true)
    for (const session of found.operations ?? []) remains.push({ what: 'operation', session })
    for (const session of found.unread ?? []) unread.add(session)
  }
  const naming = yield* rowsNaming(store, [...blocks.keys()])
  for (const [block, kept] of blocks) {
    const rows = naming.get(block) ?? []
    for (const row of rows) same.delete(`${row.id} ${row.position}`) // already listed under its block
    remains.push({ what: 'block', block, rows: await withMessages(store, rows), kept })
  }
  if (same.size > 0) remains.push({ what: 'text', rows: await withMessages(store, [...same.values()]) })
  const isTextIn = await finderInSlices(long)
  remains.push(
    ...(yield* dataBesideRows(store, long, isTextIn, unread)),
    ...(long.length === 0 ? [] : yield* namesWith(store, isTextIn, [info.id, ...sharing])),
    ...[...unread].map((session): RemainingData => ({ what: 'unread', session })),
  )
  if (info.erasable !== true && info.encrypted !== true) remains.push({ what: 'leaf', rows: [...rows] })
  const first = [...rows].reduce((least, row) => Math.min(least, row), Infinity)
  const receipts = [...record.notes.view()].flatMap((note, index) => {
    const row = record.noteRows[index] as number // a row for each note
    return note.type === 'receipt' && row > first && !rows.has(row) ? [row] : []
  })
  if (receipts.length > 0) remains.push({ what: 'contextDigest', rows: receipts })
  if (info.metadata['recorder'] !== undefined) remains.push({ what: 'index', session: info.id })
  const streams = await streamLogs(store, info.id)
  if (isLeft(streams)) yield streams.left
  else if (streams.right.length > 0) remains.push({ what: 'stream', session: info.id })
  return remains
}

/** Adds the message position to each row that is a message. */
const withMessages = async (store: Store, places: readonly RowPlace[]): Promise<readonly RemainingRow[]> => {
  const bare = store.encryption?.bare ?? store // the kind of a row needs no key
  const rows: RemainingRow[] = []
  const slices = new Slices()
  for (const place of places) {
    await slices.next()
    const read = await bare.read(place.id, { from: place.position, to: place.position + 1 })()
    const [row] = isLeft(read) ? [] : read.right // a row removed meanwhile keeps only its row position
    rows.push(row?.kind === 'entry' ? { ...place, message: row.index } : place)
  }
  return rows
}

/** The rows that name each block. */
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
    const [row] = isLeft(read) ? [] : read.right // a row removed meanwhile names nothing
    const body = `${row?.body ?? ''}${row?.stored ?? ''}`
    for (const [block, rows] of naming) if (body.includes(block)) rows.push(place)
  }
  return naming
}

/** Searches the ids and metadata of logs. Logs whose rows can't be read are added to `unread`. */
async function* dataBesideRows(
  store: Store,
  texts: readonly string[],
  isTextIn: (text: string) => boolean,
  unread: Set<string>,
): Steps<EraseSessionFault, readonly RemainingData[]> {
  const found: RemainingData[] = []
  const isTitle = titleFinder(texts)
  for await (const page of pagesOf((from) => store.list({ limit: 500, ...from })())) {
    const { logs } = yield* need(page as Either<EraseSessionFault, LogPage>) // the query is valid
    for (const log of logs) {
      const { id, head } = log
      const meta = withoutOwnKeys(log.meta)
      const values = textsOf(meta)
      const names = [id, ...namesIn(meta), ...values]
      if (names.some(isTextIn) || values.some(isTitle)) found.push({ what: 'metadata', session: id })
      if (!isEncryptedLog(log) || head.size === 0) continue
      const last = store.encryption && (await store.read(id, { from: head.size - 1, to: head.size })())
      if (last === undefined || (isLeft(last) && (last.left._tag === 'NoKey' || last.left._tag === 'DamagedLog')))
        unread.add(id)
      else if (isLeft(last) && last.left._tag !== 'NoSuchLog') return yield* fail(last.left)
    }
  }
  return found
}

/** Searches the names of the holders of these logs' leases, and those of scopes. */
async function* namesWith(
  store: Store,
  isTextIn: (text: string) => boolean,
  logs: readonly string[],
): Steps<EraseSessionFault, readonly RemainingData[]> {
  const found: RemainingData[] = []
  for (const session of logs) {
    const lease = await store.leaseOf(session)()
    if (isLeft(lease) && lease.left._tag !== 'NoSuchLog') return yield* fail(lease.left) // a sharing one may be removed by now
    if (!isLeft(lease) && lease.right?.holder !== undefined && isTextIn(lease.right.holder))
      found.push({ what: 'lease', session })
  }
  const scopes = (yield* need(store.scopes() as Task<EraseSessionFault, readonly string[] | undefined>)) ?? []
  for (const scope of scopes) if (isTextIn(scope)) found.push({ what: 'scope', scope })
  return found
}

/** Finds values that are the beginning of a text, as in a title that a program made of a message: on one line, shortened. */
const titleFinder = (texts: readonly string[]): ((value: string) => boolean) => {
  const sorted = texts.map(oneSpaced).toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  return (value) => {
    const title = oneSpaced(value).replace(/ ?(?:…|\.{3})$/, '')
    if (title.length < longEnough) return false
    const first = sorted[countWhile(sorted.length, (index) => (sorted[index] as string) < title)]
    return first?.startsWith(title) === true
  }
}

const oneSpaced = (text: string): string => text.trim().replaceAll(/\s+/g, ' ')

/** The result of checking a valid receipt. */
export interface ProvenErasure {
  /** The id of the session. */
  readonly session: string
  /** The rows that the ledger records as erased. */
  readonly rows: ErasureReceipt['rows']
  /** Why, by whom and when (milliseconds since 1970), one for each ledger row. */
  readonly said: readonly Pick<Erasure, 'id' | 'reason' | 'by' | 'at'>[]
  /** The head of the ledger that the proofs lead to. */
  readonly ledger: Head
}

/**
 * Check the receipt of an erasure, without a store. Pass a ledger head that you trust, such as that
 * of a signed checkpoint. Without one, the proofs are only checked against the head in the receipt.
 *
 * @param receipt the receipt; untrusted data
 * @param head a trusted ledger head. Default: the head in the receipt
 * @returns the proven facts; or `BadProof` with the reason
 */
export const checkErasure = (receipt: unknown, head?: Head): Either<SessionFaultOf<'BadProof'>, ProvenErasure> => {
  if (!isReceipt(receipt)) return badProof('it is not a receipt of an erasure')
  const { ledger, session } = receipt
  const other = headMismatch(head, ledger)
  if (other !== undefined) return badProof(other)
  const twice = receipt.proofs.find(({ row }, index) => receipt.proofs.findIndex((proof) => proof.row === row) < index)
  if (twice !== undefined) return badProof(`it has row ${twice.row} of the ledger twice`)
  const proven: ErasureReceipt['rows'][number][] = []
  const facts: ProvenErasure['said'][number][] = []
  for (const proof of receipt.proofs) {
    const { at } = proof
    const read = erasureFromProof(proof, ledger)
    if (isLeft(read)) return badProof(read.left)
    const { id, rows, reason, by } = read.right
    for (const row of rows) proven.push({ session: id, ...row })
    facts.push({ id, at, ...present({ reason, by }) })
  }
  if (!facts.some(({ id }) => id === session)) return badProof(`no proof covers the session ${JSON.stringify(session)}`)
  const keys = new Set(proven.map(keyOf))
  const missing = receipt.rows.find((row) => !keys.has(keyOf(row)))
  if (missing !== undefined) return badProof(`the ledger does not record that row ${missing.row} was erased`)
  const messages = new Set(proven.flatMap(({ kind, index }) => (kind === 'entry' ? [index] : [])))
  const unsaid = receipt.messages.find((index) => !messages.has(index))
  if (unsaid !== undefined) return badProof(`the ledger does not record that message ${unsaid} was erased`)
  return right(freezeResult({ session, rows: proven, said: facts, ledger }))
}

export const badProof = (reason: string): Either<SessionFaultOf<'BadProof'>, never> =>
  left({ _tag: 'BadProof', reason })

/** Compares the head of a proof with a trusted one. Returns the difference, if any. */
export const headMismatch = (known: Head | undefined, named: Head): string | undefined =>
  known === undefined || sameHead(known, named)
    ? undefined
    : `it leads to the head ${named.size} ${named.root}, not to ${known.size} ${known.root}`

/** The erasure that a ledger row records; or the reason why the row proves none. */
export const erasureFromProof = (
  { row, at, body, path }: ErasureProof,
  ledger: Head,
): Either<string, Extract<LedgerRow, { readonly type: 'erased' }>> => {
  if (!leadsTo(ledger, row, rowLeaf({ kind: 'note', body, at }, portableSha256), path))
    return left(`row ${row} is not in the ledger with that head`)
  const read = readLedgerRow({ position: row, body })
  return isLeft(read) || read.right?.type !== 'erased'
    ? left(`row ${row} of the ledger does not record an erasure`)
    : right(read.right)
}

const keyOf = ({ session, row, kind, index, leaf, stub }: ErasureReceipt['rows'][number]): string =>
  JSON.stringify([session, row, kind, index, leaf, stub])

const isReceipt = (value: unknown): value is ErasureReceipt => {
  if (!isProofOf('erasure', value)) return false
  const { messages, inputs = [], rows, ledger, proofs } = value
  return (
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
  isPath(proof['path'])
