/**
 * Proof bundles: a message, the head of its session, that head in the ledger, and the ledger's
 * signed checkpoint, in one file that can be checked with public keys alone.
 */
import type { Task } from 'indelible'
import { checkStore } from 'indelible/internal/session'
import type { Either } from 'fp-ts/lib/Either.js'
import { hexToBytes } from '@noble/hashes/utils.js'
import { checkArgument, endOfString, hasOnly, isLeft, isObject, left, parseJson, right } from 'indelible/internal/json'
import { portableSha256, verifyInclusion } from 'indelible/internal/proof'
import { checkProof, proveEntry, type EntryProof, type Proven, type SessionFault } from 'indelible/session'
import type { Head, Store, StoreFault, StoredRow } from 'indelible/store'
import { inclusionPath, isMoment, ledgerId, ledgerRow, readLedgerRow, rowLeaf } from 'indelible/internal/store'
import type { Checkpoint } from './checkpoint.ts'
import { fail, need } from 'indelible/internal/task'
import { evidenceSteps, type AnyEvidenceFault, type EvidenceFault } from './fault.ts'
import { lastCheckpoint, notSignedFault } from './checkpoints.ts'
import { readLedger } from './ledger.ts'
import { parseTlogProof, tlogProofText } from './tlog-proof.ts'
import { checkCheckpoint, claimedCheckpoint, type Trust, type TrustedCheckpoint } from './trust.ts'

/** A message with its proof, its checkpoint and the witnesses' answers, as one JSON document. */
export interface EvidenceBundle {
  readonly indelible: 'evidence'
  readonly version: 1
  /** Proves the message against a head of its session. */
  readonly entry: EntryProof
  /** Proves that head against the ledger. */
  readonly ledger: LedgerProof
}

/** The proof of a ledger row with a session's head, up to a signed checkpoint, as JSON. */
export interface LedgerProof {
  /** The text of the row. */
  readonly body: string
  /** Its time, in milliseconds since 1970. */
  readonly at: number
  /** Proves that the row is in the ledger with the signed checkpoint, as `c2sp.org/tlog-proof@v1`. */
  readonly proof: string
}

/** A head of a session, covered by a trusted checkpoint. */
export interface HeadInLedger<C extends Checkpoint = TrustedCheckpoint> {
  /** The id of the session. */
  readonly session: string
  /** Its head, as recorded in the ledger. */
  readonly head: Head
  /** The checkpoint that covers the row. */
  readonly checkpoint: C
  /** When the head was recorded in the ledger, in milliseconds since 1970, by the writer's clock. */
  readonly recorded?: number
}

/** The content of a valid bundle. */
export interface ProvenInLedger extends Proven {
  /** The trusted checkpoint. */
  readonly checkpoint: TrustedCheckpoint
  /** When the session's head was recorded in the ledger, in milliseconds since 1970, by the writer's clock. */
  readonly recorded?: number
}

/**
 * Prove a message to somebody who has only the public keys. The bundle uses the last stored
 * checkpoint, even if the session or the ledger has grown since.
 *
 * Cost    O(rows of the ledger); the bundle is a few kilobytes larger than the message
 * Errors  `NoLedger` without a checkpoint; `NotInLedger` if the ledger does not cover the message yet
 * @param position counts messages; negative positions count from the end
 */
export const proveInLedger = (store: Store, id: string, position: number): Task<AnyEvidenceFault, EvidenceBundle> => {
  checkStore('proveInLedger', store)
  checkArgument('proveInLedger', typeof position === 'number', 'a position', position)
  return evidenceSteps(async function* () {
    const proved = await proveHead(store, id)()
    if (isLeft(proved) && proved.left._tag !== 'NotInLedger') return yield* fail(proved.left)
    const now = yield* need(proveEntry(store, id, position))
    const ledger = yield* need(proved)
    const { size } = (yield* need(claimedHead(ledger))).head
    if (size <= now.row) return yield* fail({ _tag: 'NotInLedger', id, rows: size })
    const entry = yield* need(proveEntry(store, id, position, { size }))
    return Object.freeze({ indelible: 'evidence', version: 1, entry, ledger } as const)
  }, 'proveInLedger')
}

/**
 * Prove the head of a session to somebody who has the public keys and the rows: the last head that
 * the last checkpoint covers. The session may have grown since.
 *
 * Cost    O(rows of the ledger); the proof is a few kilobytes
 * Errors  `NoLedger` without a checkpoint; `NotInLedger` if it does not cover the session
 */
export const proveHead = (store: Store, id: string): Task<AnyEvidenceFault, LedgerProof> => {
  checkStore('proveHead', store)
  return evidenceSteps(async function* () {
    const { note, head } = (yield* need(lastCheckpoint(store))) ?? (yield* notSignedFault(store))
    const entry = (yield* need(readLedger(store, head.size))).sessions.get(id)
    if (entry === undefined || entry.removed) return yield* fail({ _tag: 'NotInLedger', id, rows: 0 })
    const [row] = yield* need(store.read(ledgerId, { from: entry.row, to: entry.row + 1 }))
    const path = yield* need(inclusionPath(store, ledgerId, entry.row, head.size))
    const { body, at } = row as StoredRow // it was just read
    return Object.freeze({ body, at, proof: tlogProofText({ index: entry.row, path, checkpoint: note }) })
  }, 'proveHead')
}

/**
 * Read a bundle from its text, such as a file. The text must follow the grammar of docs/evidence.md:
 * the members in their order, each once, and no others; integers in plain digits. Nothing is verified.
 *
 * Errors  `BadBundle`
 */
export const readBundle = (text: string): Either<EvidenceFault, EvidenceBundle> => {
  if (typeof text !== 'string') return badBundle('it is not a text')
  const parsed = parseJson(text)
  if (isLeft(parsed)) return badBundle('it is not JSON')
  if (!isBundle(parsed.right)) return badBundle('it is not an evidence bundle')
  const bundle = inOrder(parsed.right)
  return plainText(text) === JSON.stringify(bundle)
    ? right(bundle)
    : badBundle('a member is duplicated, out of order, or a number that is not in plain digits')
}

/** White space, by the thousand: an unbounded match overflows its stack on millions of characters. */
const space = /[ \t\r\n]{1,1000}/g

/** JSON text without white space, and with canonical strings. */
const plainText = (json: string): string => {
  const parts: string[] = []
  for (let at = 0, end = 0; at < json.length; at = end) {
    const isString = json[at] === '"'
    if (isString) end = 1 + (endOfString(json, at + 1) as number) // the text was parsed
    else end = (json.indexOf('"', at) + 1 || json.length + 1) - 1
    const part = json.slice(at, end)
    parts.push(isString ? JSON.stringify(JSON.parse(part)) : part.replaceAll(space, ''))
  }
  return parts.join('')
}

/** A bundle with its members in the order of the grammar. */
const inOrder = ({ entry, ledger }: EvidenceBundle): EvidenceBundle => {
  const { session, row, body, at, salt, blocks, head, path } = entry
  const ids = Object.keys(blocks).toSorted((a, b) => (a < b ? -1 : 1))
  return {
    indelible: 'evidence',
    version: 1,
    entry: {
      ...{ indelible: 'proof', version: 1, session, row, body, at },
      ...(salt !== undefined && { salt }),
      blocks: Object.fromEntries(ids.map((id) => [id, blocks[id] as string])),
      head: { size: head.size, root: head.root },
      path,
    },
    ledger: { body: ledger.body, at: ledger.at, proof: ledger.proof },
  }
}

/**
 * Check a bundle without a store or a network. {@link readBundle} reads one from text.
 *
 * Errors  `BadBundle`, `BadProof`, and those of {@link checkCheckpoint}
 * @param bundle a bundle from {@link proveInLedger}, as parsed JSON
 */
export const checkBundle = (
  bundle: unknown,
  trust: Trust,
): Either<EvidenceFault | SessionFault | StoreFault, ProvenInLedger> => {
  if (!isBundle(bundle)) return badBundle('it is not an evidence bundle')
  const checked = checkHead(bundle.ledger, trust)
  if (isLeft(checked)) return checked
  const { session, head, ...rest } = checked.right
  const proven = checkProof(bundle.entry, head)
  if (isLeft(proven)) return proven
  if (proven.right.session !== session)
    return badBundle(
      `the proof is for session ${JSON.stringify(proven.right.session)}, but the ledger's row is for ${JSON.stringify(session)}`,
    )
  return right(Object.freeze({ ...proven.right, ...rest }))
}

/**
 * Check the proof of a head without a store or a network. Then compare the head with that of the rows.
 *
 * Errors  `BadBundle`, and those of {@link checkCheckpoint}
 * @param proof a proof from {@link proveHead}, as parsed JSON
 */
export const checkHead = (proof: unknown, trust: Trust): Either<EvidenceFault | StoreFault, HeadInLedger> =>
  headOf(proof, (note) => checkCheckpoint(note, trust))

/**
 * Read the proof of a head without verifying signatures: its author may have forged the checkpoint.
 *
 * Errors  `BadBundle`, `BadNote`, `BadCheckpoint`
 * @param proof a proof from {@link proveHead}, as parsed JSON
 */
export const claimedHead = (proof: unknown): Either<EvidenceFault | StoreFault, HeadInLedger<Checkpoint>> =>
  headOf(proof, claimedCheckpoint)

const headOf = <C extends Checkpoint>(
  value: unknown,
  checkpointOf: (note: string) => Either<EvidenceFault, C>,
): Either<EvidenceFault | StoreFault, HeadInLedger<C>> => {
  if (!isLedgerProof(value)) return badBundle('it is not a ledger proof')
  const { body, at, proof: text } = value
  const proof = parseTlogProof(text)
  if (isLeft(proof)) return proof
  const checkpoint = checkpointOf(proof.right.checkpoint)
  if (isLeft(checkpoint)) return checkpoint
  const { size, root } = checkpoint.right.head
  const { index, path } = proof.right
  const leaf = rowLeaf({ kind: 'note', body, at }, portableSha256)
  if (!verifyInclusion({ position: index, size, leaf, proof: path, root: hexToBytes(root) }))
    return badBundle(`the row is not row ${index} of the ledger with that checkpoint`)
  const read = readLedgerRow({ position: index, body })
  if (isLeft(read)) return read
  if (read.right?.type !== 'head') return badBundle(`row ${index} of the ledger does not record the head of a session`)
  const { id, head } = read.right
  if (ledgerRow({ type: 'head', id, head }, at).body !== body)
    return badBundle(`row ${index} of the ledger is not in canonical form`)
  return right(
    Object.freeze({
      session: id,
      head,
      checkpoint: checkpoint.right,
      recorded: at,
    }),
  )
}

const badBundle = (reason: string): Either<EvidenceFault, never> => left({ _tag: 'BadBundle', reason })

const isBundle = (value: unknown): value is EvidenceBundle =>
  isObject(value) &&
  hasOnly(value, ['indelible', 'version', 'entry', 'ledger']) &&
  value['indelible'] === 'evidence' &&
  value['version'] === 1 &&
  isObject(value['entry']) &&
  isObject(value['entry']['blocks']) &&
  isObject(value['entry']['head']) &&
  isLedgerProof(value['ledger'])

const isLedgerProof = (value: unknown): value is LedgerProof => {
  if (!isObject(value) || !hasOnly(value, ['body', 'at', 'proof'])) return false
  const { body, at, proof } = value
  return (
    typeof body === 'string' && body.isWellFormed() && typeof proof === 'string' && proof.isWellFormed() && isMoment(at)
  )
}
