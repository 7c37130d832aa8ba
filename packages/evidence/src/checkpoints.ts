/** Checkpoints of a scope's ledger: signed, stored in a separate log, and sent to witnesses. */
import type { Task } from 'indelible'
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import { checkStore } from 'indelible/internal/session'
import type { Either } from 'fp-ts/lib/Either.js'
import { checkArgument, isLeft, left, optionsOf, right, utf8Of } from 'indelible/internal/json'
import { amount, fail, need, type Steps } from 'indelible/internal/task'
import type { Head, Store } from 'indelible/store'
import { headOf, consistencyPath, ledgerId, ownStore } from 'indelible/internal/store'
import { emptyRange } from 'indelible/internal/proof'
import { checkpointText } from './checkpoint.ts'
import { evidenceSteps, evidenceTask, type AnyEvidenceFault, type EvidenceFault } from './fault.ts'
import { headAt, readLedger } from './ledger.ts'
import { type NoteSigner, type NoteVerifier } from './keys.ts'
import { noteText, parseNote, signNote, type NoteSignature, type SignedNote } from './signed-note.ts'
import { claimedCheckpoint, verifierOfKind } from './trust.ts'
import { askWitness, type Witness, type WitnessOptions } from './witness.ts'

/** The id of the log with a scope's checkpoints. */
const checkpointsId = 'indelible.checkpoints'

/** The options of a checkpoint. */
export interface CheckpointOptions {
  /** The name of the log, without a scheme and unique to this scope, such as `example.com/agents/default`. */
  readonly origin: string
  /** The signers: at least one key of a log. */
  readonly signers: readonly NoteSigner[]
  /**
   * Where the signer remembers the last head that it signed; several if each key has its own.
   * Default: none; the signer relies on the stored checkpoints.
   */
  readonly memory?: SignerMemory | readonly SignerMemory[]
  /** Further lines, such as those of {@link rotation}. Default: none. */
  readonly extensions?: readonly string[]
}

/**
 * Remembers the last head that a signer signed for each log. It is kept with the signer, not in the store
 * that it signs, where checkpoints can be removed. Each method resolves when its result is durable.
 */
export interface SignerMemory {
  /**
   * Read the last head.
   *
   * @returns the head; undefined if none was signed
   */
  readonly read: (origin: string) => Promise<Head | undefined>
  /**
   * Replace the last head, before the new one is signed.
   *
   * @param from the head that was read
   * @param to the head to be signed next
   * @returns false if the last head is not `from` any more: another signer was faster
   */
  readonly advance: (origin: string, from: Head | undefined, to: Head) => Promise<boolean>
}

/** A stored checkpoint. */
export interface KeptCheckpoint {
  /** The signed note. */
  readonly note: string
  /** The head of the ledger in the note. */
  readonly head: Head
}

/**
 * Sign the ledger as it is now, and store the checkpoint. Refuses to sign a ledger that does not continue the
 * last stored checkpoint, the last one that any of these signers signed, and the last head in the signer's
 * memory. Without a memory, anyone who can remove checkpoints from the store can have a second history signed.
 *
 * Cost    O(rows of the ledger), a signature, one append
 * Errors  `NoLedger`; `BadKey` for a witness's key; `Diverged` if the ledger does not continue what was signed; `CallbackThrew` if a signer or the memory fails
 *
 * @param input the origin, the signers and further lines
 */
export const signLedger = (store: Store, input: CheckpointOptions): Task<AnyEvidenceFault, KeptCheckpoint> => {
  checkStore('signLedger', store)
  const options = ownOptions(input)
  return evidenceSteps(async function* () {
    const { origin, memories, signers } = options
    const verifiers = yield* need(logVerifiersOf(signers))
    for (;;) {
      const { head } = yield* need(readLedger(store))
      const kept = yield* need(listCheckpoints(store))
      const remembered = yield* need(recallHeads(memories, origin))
      for (const older of headsSignedBefore(kept, origin, verifiers, remembered)) {
        const then = older.size > head.size ? undefined : yield* need(headAt(store, ledgerId, older.size))
        if (then?.root !== older.root)
          return yield* fail({ _tag: 'Diverged', id: ledgerId, expected: older, actual: head })
      }
      const text = checkpointText({ ...options, head }) // invalid lines throw before anything is remembered
      const isAdvanced = yield* need(rememberHead(memories, origin, remembered, head))
      if (!isAdvanced) continue // another signer was faster: sign again, continuing its head
      const stored = yield* keepCheckpoint(store, yield* need(signedNote(text, options.signers)), head)
      if (stored !== undefined) return stored
    }
  }, 'signLedger')
}

/** The public keys of signers. No verifier accepts a checkpoint that a witness's key signed as its log. */
const logVerifiersOf = (signers: readonly NoteSigner[]): Either<EvidenceFault, readonly NoteVerifier[]> =>
  pipe(
    signers,
    E.traverseArray(({ vkey }) => verifierOfKind('log', vkey)),
  )

/** The heads a ledger must continue: the last stored, the largest these signers signed, and those remembered. */
const headsSignedBefore = (
  kept: readonly KeptCheckpoint[],
  origin: string,
  verifiers: readonly NoteVerifier[],
  remembered: readonly (Head | undefined)[],
): readonly Head[] => {
  const isOwn = ({ note }: KeptCheckpoint): boolean => {
    const parsed = parseNote(note)
    if (isLeft(parsed) || !parsed.right.text.startsWith(`${origin}\n`)) return false
    return verifiers.some((verifier) => signatureBy(verifier, parsed.right) !== undefined)
  }
  const own = kept.filter(isOwn).map(({ head }) => head)
  const greatest = own.reduce<Head | undefined>(
    (most, head) => (most && most.size >= head.size ? most : head),
    undefined,
  )
  return [kept.at(-1)?.head, greatest, ...remembered].filter((head) => head !== undefined)
}

/** The valid signature of a note by this key; undefined if there is none. */
const signatureBy = (
  { name, keyId, verify }: NoteVerifier,
  { text, signatures }: SignedNote,
): NoteSignature | undefined =>
  signatures.find(
    (signature) =>
      signature.name === name && signature.keyId === keyId && verify(utf8Of(text), signature.signature) !== undefined,
  )

const recallHeads = async (
  memories: readonly SignerMemory[],
  origin: string,
): Promise<Either<AnyEvidenceFault, readonly (Head | undefined)[]>> => {
  try {
    return right(await Promise.all(memories.map((memory) => memory.read(origin))))
  } catch (cause) {
    return left({ _tag: 'CallbackThrew', callback: 'memory.read', cause })
  }
}

/** False if a memory has changed: the memories before it then hold a head that the next attempt continues. */
const rememberHead = async (
  memories: readonly SignerMemory[],
  origin: string,
  from: readonly (Head | undefined)[],
  to: Head,
): Promise<Either<AnyEvidenceFault, boolean>> => {
  try {
    for (const [index, memory] of memories.entries())
      if (!(await memory.advance(origin, from[index], to))) return right(false)
    return right(true)
  } catch (cause) {
    return left({ _tag: 'CallbackThrew', callback: 'memory.advance', cause })
  }
}

const optionNames = { origin: true, signers: true, memory: true, extensions: true } as const

interface OwnOptions extends Required<Omit<CheckpointOptions, 'memory'>> {
  readonly memories: readonly SignerMemory[]
}

/** A copy, because the caller may change its own. */
const ownOptions = (options: CheckpointOptions): OwnOptions => {
  const { origin, signers, memory = [], extensions = [] } = optionsOf('signLedger', options, optionNames)
  return { origin, signers: [...signers], memories: [memory].flat(), extensions: [...extensions] }
}

const signedNote = async (text: string, signers: readonly NoteSigner[]): Promise<Either<AnyEvidenceFault, string>> => {
  try {
    return right(await signNote(text, signers))
  } catch (cause) {
    if (cause instanceof TypeError && signers.length === 0) throw cause
    return left({ _tag: 'CallbackThrew', callback: 'sign', cause })
  }
}

/**
 * The stored checkpoints. Cost: O(checkpoints). Errors: `BadNote`, `BadCheckpoint`.
 *
 * @returns the checkpoints, oldest first
 */
export const listCheckpoints = (store: Store): Task<AnyEvidenceFault, readonly KeptCheckpoint[]> =>
  evidenceTask(async () => {
    const rows = await store.read(checkpointsId)()
    if (isLeft(rows)) return rows.left._tag === 'NoSuchLog' ? right(Object.freeze([])) : rows
    const kept = pipe(
      rows.right,
      E.traverseArray(({ body }) => checkpointOf(body)),
    )
    return isLeft(kept) ? kept : right(Object.freeze(kept.right))
  }, 'listCheckpoints')

/**
 * The last stored checkpoint.
 *
 * @returns the checkpoint; undefined if there is none
 */
export const lastCheckpoint = (store: Store): Task<AnyEvidenceFault, KeptCheckpoint | undefined> =>
  evidenceTask(async () => {
    const rows = await store.read(checkpointsId, { from: -1 })()
    if (isLeft(rows)) return rows.left._tag === 'NoSuchLog' ? right(undefined) : rows
    const [row] = rows.right
    return row === undefined ? right(undefined) : checkpointOf(row.body)
  }, 'lastCheckpoint')

const checkpointOf = (note: string): Either<EvidenceFault, KeptCheckpoint> =>
  pipe(
    claimedCheckpoint(note),
    E.map(({ head }) => Object.freeze({ note, head })),
  )

/**
 * Appends a checkpoint after those stored by now, with the other signatures of the last one if that has the same
 * text. Undefined if one of a longer ledger has been stored.
 */
async function* keepCheckpoint(
  store: Store,
  text: string,
  head: Head,
): Steps<AnyEvidenceFault, KeptCheckpoint | undefined> {
  const own = ownStore(store)
  const at = store.now()
  for (let [note, expected] = [text, headOf(emptyRange, store.hash)]; ;) {
    const rows = [{ kind: 'note' as const, body: note, at }]
    const appended = await own.append(checkpointsId, { expected, rows })()
    if (!isLeft(appended)) return Object.freeze({ note, head })
    if (appended.left._tag === 'Conflict') {
      expected = appended.left.actual
      const last = yield* need(lastCheckpoint(store))
      if (last !== undefined && last.head.size > head.size) return undefined
      note = last === undefined ? text : yield* need(withSignaturesOf(last.note, text))
    } else if (appended.left._tag === 'NoSuchLog') {
      const created = await own.create({ id: checkpointsId, meta: { [checkpointsId]: 1 }, rows, encrypt: false })()
      if (!isLeft(created)) return Object.freeze({ note, head })
      if (created.left._tag !== 'LogExists') return yield* fail(created.left)
    } else return yield* fail(appended.left)
  }
}

/** The note, with the signatures by other keys of another note of the same text. */
const withSignaturesOf = (other: string, note: string): Either<EvidenceFault, string> => {
  const notes = pipe([other, note], E.traverseArray(parseNote))
  if (isLeft(notes)) return notes
  const [from, { text, signatures }] = notes.right as [SignedNote, SignedNote]
  if (from.text !== text) return right(note)
  const isOther = ({ name, keyId }: NoteSignature): boolean =>
    !signatures.some((signature) => signature.name === name && signature.keyId === keyId)
  return right(noteText({ text, signatures: [...signatures, ...from.signatures.filter(isOther)] }))
}

/** Fails for a ledger that was never signed, or a missing one. */
export async function* notSignedFault(store: Store): Steps<AnyEvidenceFault, never> {
  yield* need(readLedger(store))
  return yield* fail({ _tag: 'NoLedger', scope: store.scope, missing: 'checkpoint' })
}

/** The signatures of witnesses. */
export interface WitnessResult extends KeptCheckpoint {
  /** The names of the witnesses that signed. */
  readonly signedBy: readonly string[]
  /** The refusals of the others. */
  readonly refusals: readonly EvidenceFault[]
}

/**
 * Ask witnesses, all at once, to sign the last checkpoint, and store it with their signatures. One that has
 * signed it is not asked again.
 *
 * Cost    one or two requests for each witness, each with a proof of O(log rows) hashes
 * Errors  `NoLedger` without a checkpoint; `BadKey`. If a witness does not sign, the fault is in `refusals`
 *
 * @returns the checkpoint with their signatures, and the refusals
 */
export const witnessLedger = (
  store: Store,
  wanted: readonly Witness[],
  input: WitnessOptions = {},
): Task<AnyEvidenceFault, WitnessResult> => {
  checkStore('witnessLedger', store)
  checkArgument('witnessLedger', Array.isArray(wanted), 'a list of witnesses', wanted)
  const options = optionsOf('witnessLedger', input, { fetch: true, timeout: true })
  if (options.timeout !== undefined) amount('timeout', options.timeout, { unit: 'milliseconds' })
  const witnesses = wanted.map((witness) => ({ ...witness }))
  return evidenceSteps(async function* () {
    const verifiers = yield* need(
      pipe(
        witnesses,
        E.traverseArray(({ vkey }) => verifierOfKind('witness', vkey)),
      ),
    )
    const kept = yield* need(listCheckpoints(store))
    const last = kept.at(-1) ?? (yield* notSignedFault(store))
    const parsed = yield* need(parseNote(last.note))
    const proofFrom = (oldSize: number): Promise<Either<AnyEvidenceFault, readonly Uint8Array[]>> =>
      oldSize === 0 || oldSize === last.head.size
        ? Promise.resolve(right([]))
        : consistencyPath(store, ledgerId, oldSize, last.head.size)()
    const answers = await Promise.all(
      witnesses.map((witness, index) => {
        const verifier = verifiers[index] as NoteVerifier
        const earlier = signatureBy(verifier, parsed)
        if (earlier !== undefined) return right(earlier) // its time counts once a key of the log is revoked
        const seen = kept.findLast(({ note }) => note.includes(`\u2014 ${verifier.name} `))
        return askWitness(witness, verifier, { last, oldSize: seen?.head.size ?? 0, proofFrom }, options)
      }),
    )
    const signatures = [...parsed.signatures]
    const signedBy: string[] = []
    const refusals: EvidenceFault[] = []
    for (const [index, answered] of answers.entries()) {
      const { name, keyId } = verifiers[index] as NoteVerifier
      if (isLeft(answered)) refusals.push(answered.left)
      else {
        signedBy.push(name)
        if (signatures.includes(answered.right)) continue
        const others = signatures.filter((signature) => signature.name !== name || signature.keyId !== keyId)
        signatures.splice(0, signatures.length, ...others, answered.right)
      }
    }
    const note = noteText({ text: parsed.text, signatures })
    const again = note === last.note ? last : yield* keepCheckpoint(store, note, last.head)
    return Object.freeze({ ...(again ?? last), signedBy, refusals })
  }, 'witnessLedger')
}
