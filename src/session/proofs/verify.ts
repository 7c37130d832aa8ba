/** Verifies a session: checks that its rows and blocks are unchanged since they were appended. */
import { checkStore } from '../record/store-of.ts'
import { describe, isLeft, jsonEqual, optionsOf } from '../../json/index.ts'
import { createHistory } from '../../history/index.ts'
import type { BlockId } from '../../proof/internal.ts'
import type { Message } from '../../message/index.ts'
import { attachedTo, mayHaveAttachments, NamedBlocks, takeMessage } from '../../entry/internal.ts'
import { verifyLog, type Head, type LogFault, type LogInfo, type Store, type StoredRow } from '../../store/index.ts'
import {
  isEncrypted,
  ledgerId,
  readEncrypted,
  refuseUndone,
  withSignal,
  type InspectRows,
} from '../../store/internal.ts'
import {
  callCallback,
  fail,
  need,
  untilFault,
  type CallbackThrew,
  type SignalLike,
  type Steps,
  type Task,
} from '../../task/index.ts'
import { sessionSteps, type VerifySessionFault } from '../fault.ts'
import { inheritedRows, sessionInfo, type SessionInfo } from '../record/metadata.ts'
import { foldMetadata, latestMetadata, type MetadataEntry } from '../record/metadata-notes.ts'
import { blocksOf, decodeRows, missingBlocks, noteOf, readBlocks, type Damage } from '../record/loaded-record.ts'
import { isHead } from '../record/head-proof.ts'
import { recordedBlocks } from '../erasing/receipt-blocks.ts'

/** The options of `verifySession`. */
export interface VerifyOptions {
  /**
   * An earlier head of the session. The record may have grown since, but must still start with the rows of that head.
   */
  readonly head?: Head
  /**
   * Called while rows are read.
   *
   * @param rows the number of rows read so far
   */
  readonly progress?: (rows: number) => void
  /** Aborting this signal ends the verification with `Cancelled`. Default: none. */
  readonly signal?: SignalLike
}

/** A session that passed verification. */
export interface VerifiedSession extends SessionInfo {
  /** The positions of erased messages, as recorded in the scope's ledger. */
  readonly erased: readonly number[]
  /**
   * The blocks that a recorder's receipts name and the store lacks. Without them, the requests of those calls can't
   * be reconstructed. The record itself is valid: one that is altered is `DamagedLog`, with the row of its first receipt.
   * Without keys, the receipts of an encrypted session can't be read.
   */
  readonly missing: readonly BlockId[]
  /**
   * True if the description in lists has earlier metadata than the record: a process died between the two. The next
   * `update` brings it up to date.
   */
  readonly staleMetadata?: true
}

/**
 * Read a whole session, and check every row and block against the Merkle tree. Messages are hashed
 * in stored form, and parsed only if they may name blocks.
 *
 * Without a trusted head, someone who can write to the store can replace the whole record with
 * another valid one. With a head, any change to a row that it covers is detected.
 *
 * Erased messages are valid if the scope's ledger records their erasure; then the ledger is checked against
 * its own tree. The metadata is compared with the notes that changed it. A message that the ledger records as erased but that still has its text is damage.
 *
 * Cost    O(rows + bytes of blocks), in pieces
 *
 * @param store the store that has it
 * @param id the id of the session
 * @param options an earlier head, and a callback for progress
 * @returns the description of the session; or `DamagedLog` with the first altered, missing or moved
 * position, `Diverged` if the record does not extend the head
 * @example
 * await verifySession(store, session.id, { head: keptElsewhere })
 */
export const verifySession = (
  base: Store,
  id: string,
  options: VerifyOptions = {},
): Task<VerifySessionFault, VerifiedSession> => {
  checkStore('verifySession', base)
  const { head, progress, signal } = optionsOf('verifySession', options, { head: true, progress: true, signal: true })
  if (head !== undefined && !isHead(head))
    throw new TypeError(
      `verifySession: head is ${describe(head)}; expected { size, root } as session.head() returns it: a number of rows, and 64 hexadecimal digits`,
    )
  const store = withSignal(base, signal)
  return sessionSteps(async function* () {
    const erased = new Set<number>()
    const missing = new Set<BlockId>()
    const metadata: MetadataEntry[] = []
    const log = yield* need(verifyLog(store, id, head, inspector(store, id, progress, erased, missing, metadata)))
    if (erased.size > 0) yield* need(verifyLog(store, ledgerId))
    yield* need(refuseUndone(store, id))
    const info = yield* need(sessionInfo(log))
    const stale = yield* checkMetadata(store, log, info, metadata)
    return Object.freeze({
      ...info,
      ...(stale && { staleMetadata: true as const }),
      erased: Object.freeze([...erased]),
      missing: Object.freeze([...missing]),
    })
  }, 'verifySession')
}

/**
 * Compares the store's description of the metadata with the notes of the log.
 *
 * @returns true if it is that of an earlier head: a process died between the note and the description
 */
async function* checkMetadata(
  store: Store,
  log: LogInfo,
  info: SessionInfo,
  entries: readonly MetadataEntry[],
): Steps<LogFault, boolean> {
  const inherited = inheritedRows(log)
  const latest = latestMetadata(entries, inherited)
  if (latest === undefined || (info.encrypted && store.encryption === undefined)) return false
  if (jsonEqual(latest, info.metadata)) return false
  const own = entries.filter(({ row }) => row >= inherited)
  if (own.some(({ value, before }) => [value, before].some((value) => value && jsonEqual(value, info.metadata))))
    return true
  return yield* fail({
    _tag: 'DamagedLog',
    id: log.id,
    position: log.head.size,
    reason: 'its metadata is not what its notes say',
  })
}

const inspector = (
  store: Store,
  id: string,
  progress: VerifyOptions['progress'],
  erased: Set<number>,
  missing: Set<BlockId>,
  metadata: MetadataEntry[],
): InspectRows => {
  let sealed = false
  let seen = 0
  const known = new Set<BlockId>() // receipts name the same tools again and again
  return async (rows) => {
    const done = await untilFault(() => inspect(rows))
    return isLeft(done) ? done.left : undefined
  }
  async function* inspect(rows: readonly StoredRow[]): Steps<LogFault | CallbackThrew, void> {
    // Without keys, encrypted blocks are only compared with their hashes.
    yield* need(readBlocks(store, id, hiddenBlocks(rows)))
    const plain = rows.filter(({ body }) => !isEncrypted(body))
    const all = decodeRows(id, plain)
    if (isLeft(all) && all.left._tag === 'NoKey') return yield* fail(all.left)
    const failed = isLeft(all) ? (all.left as Damage) : undefined
    // Damaged blocks of an earlier row are reported first.
    const before = failed && plain.filter(({ position }) => position < failed.position)
    const good = yield* need(before === undefined ? all : decodeRows(id, before))
    const blocks = yield* need(blocksOf(store, id, good))
    const history = createHistory<Message>()
    const texts = new NamedBlocks()
    const attachments = new Map<BlockId, number>() // with the first row that names it
    const named = new Map<BlockId, number>()
    let damage: Damage | undefined
    if (rows[0]?.position === 0) {
      // perhaps of another log, which was created meanwhile
      metadata.length = 0
      sealed = false
      for (const found of [known, erased, missing]) found.clear()
    }
    const problemOf = (row: (typeof good)[number]): string | undefined => {
      const { position } = row
      if (row.kind === 'note') {
        const note = noteOf(row.body)
        if (isLeft(note)) return note.left
        const misfit = foldMetadata(metadata, position, note.right)
        if (misfit !== undefined) return misfit
        if (sealed && note.right.type !== 'metadata') return afterSeal
        sealed ||= note.right.type === 'seal'
        for (const block of recordedBlocks(note.right))
          if (!known.has(block) && !named.has(block)) named.set(block, position)
      } else if (row.entry.blocks.length > 0 || mayHaveAttachments(row.entry.text)) {
        const reason = takeMessage(history, row.entry, blocks, undefined, texts)
        if (reason !== undefined) return reason
        for (const block of attachedTo(history.view().at(-1) as Message))
          if (!attachments.has(block)) attachments.set(block, position)
      }
      return sealed && row.kind === 'entry' ? afterSeal : undefined
    }
    for (const row of good) {
      const reason = problemOf(row)
      if (reason === undefined) continue
      damage = { _tag: 'DamagedLog', id, position: row.position, reason }
      break
    }
    yield* need(readBlocks(store, id, attachments))
    for (const block of yield* need(missingBlocks(store, id, named))) missing.add(block)
    for (const block of named.keys()) known.add(block)
    if (damage !== undefined) return yield* fail(damage)
    yield* need(all)
    for (const { kind, index, erased: leaf } of rows) if (kind === 'entry' && leaf !== undefined) erased.add(index)
    seen += rows.length
    yield* need(callCallback('progress', () => void progress?.(seen)))
  }
}

const afterSeal = 'the row comes after the seal'

/** The blocks that encrypted rows reference, with the first row of each. */
const hiddenBlocks = (rows: readonly StoredRow[]): ReadonlyMap<BlockId, number> => {
  const found = new Map<BlockId, number>()
  for (const { body, position } of rows)
    for (const block of readEncrypted(body)?.blocks ?? []) if (!found.has(block)) found.set(block, position)
  return found
}
