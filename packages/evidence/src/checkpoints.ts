/** Checkpoints of a scope's ledger: signed, kept in a log of their own beside it, and shown to witnesses. */
import type { Either } from 'fp-ts/lib/Either.js'
import { isRight, eachRight, mapRight, ownFields, isLeft, left, optionsOf, right, utf8Of } from 'indelible/json/kit'
import { amount, fail, need, type Steps } from 'indelible/task/kit'
import { describeSession } from 'indelible/session'
import type { Head, Store } from 'indelible/store'
import { headOf, consistencyPath, ledgerId, ownStore } from 'indelible/store/kit'
import { emptyRange } from 'indelible/proof/kit'
import { checkpointText } from './checkpoint.ts'
import { evidenceSteps, evidenceTask, type AnyEvidenceFault, type EvidenceFault, type EvidenceTask } from './fault.ts'
import { headAt, readLedger } from './ledger.ts'
import { verifierOf, type NoteSigner, type NoteVerifier } from './keys.ts'
import { noteText, parseNote, signNote } from './signed-note.ts'
import { claimedCheckpoint } from './trust.ts'
import { askWitness, type Witness, type WitnessOptions } from './witness.ts'

/** The id of the log that keeps a scope's checkpoints. */
const checkpointsId = 'indelible.checkpoints'

/** The options of a checkpoint. */
export interface CheckpointOptions {
  /** Which log it is of: a name without a scheme that is this scope's alone, such as `example.com/agents/default`. */
  readonly origin: string
  /** Who signs: at least one key of a log. */
  readonly signers: readonly NoteSigner[]
  /**
   * Where the signer remembers the last head that it signed; several, if each key has its own. Default: it knows only the
   * checkpoints that are kept.
   */
  readonly memory?: SignerMemory | readonly SignerMemory[]
  /** Further lines, such as {@link rotation} gives. Default: none. */
  readonly extensions?: readonly string[]
}

/**
 * The last head that a signer signed of each log, kept where the signer is: not in the store that it signs, whose checkpoints
 * somebody may remove. Each method resolves when it is durable.
 */
export interface SignerMemory {
  /**
   * Read the last head.
   *
   * @returns the head; undefined if none was signed
   */
  readonly read: (origin: string) => Promise<Head | undefined>
  /**
   * Replace the last head, before it is signed.
   *
   * @param from the head that was read
   * @param to the head that is signed next
   * @returns false if it is not `from` any more: another signer was quicker
   */
  readonly advance: (origin: string, from: Head | undefined, to: Head) => Promise<boolean>
}

/** A checkpoint that is kept. */
export interface KeptCheckpoint {
  /** The signed note. */
  readonly note: string
  /** The head of the ledger that it says. */
  readonly head: Head
}

/**
 * Sign the ledger as it is now, and keep the checkpoint. It refuses to sign a ledger that does not continue the last
 * checkpoint that was kept, the last that one of these signers signed, and the last head in the signer's memory. Without a
 * memory, whoever removes checkpoints from the store can have a second history signed.
 *
 * Cost    O(rows of the ledger), a signature, one append
 * Errors  `NoLedger`; `Diverged` if the ledger does not continue what was signed; `CallbackThrew` if the memory fails
 *
 * @param given the origin, the signers and further lines
 */
export const signLedger = (store: Store, given: CheckpointOptions): EvidenceTask<KeptCheckpoint> => {
  const options = ownOptions('signLedger', given)
  return evidenceSteps(async function* () {
    const { origin, memory = [] } = options
    const memories: readonly SignerMemory[] = 'read' in memory ? [memory] : memory
    for (;;) {
      const { head } = yield* need(readLedger(store))
      const kept = yield* need(listCheckpoints(store))
      const remembered = yield* need(recallHeads(memories, origin))
      for (const older of signedBefore(kept, options, remembered)) {
        const then = older.size > head.size ? undefined : yield* need(headAt(store, ledgerId, older.size))
        if (then?.root !== older.root)
          return yield* fail({ _tag: 'Diverged', id: ledgerId, expected: older, actual: head })
      }
      const isAdvanced = yield* need(remember(memories, origin, remembered, head))
      if (!isAdvanced) continue // another signer was quicker: sign what continues it
      const stored = yield* keep(store, yield* need(signedHead(head, options)), head)
      if (stored !== undefined) return stored
    }
  }, 'signLedger')
}

/** The heads that a ledger has to continue: the last that was kept, the greatest that one of the signers signed, the last remembered. */
const signedBefore = (
  kept: readonly KeptCheckpoint[],
  { origin, signers }: CheckpointOptions,
  remembered: readonly (Head | undefined)[],
): readonly Head[] => {
  const verifiers = signers.map(({ vkey }) => verifierOf(vkey)).filter(isRight)
  const isOwn = ({ note }: KeptCheckpoint): boolean => {
    const parsed = parseNote(note)
    if (isLeft(parsed) || !parsed.right.text.startsWith(`${origin}\n`)) return false
    const { text, signatures } = parsed.right
    return verifiers.some(({ right: { name, keyId, verify } }) =>
      signatures.some(
        (one) => one.name === name && one.keyId === keyId && verify(utf8Of(text), one.signature) !== undefined,
      ),
    )
  }
  const own = kept.filter(isOwn).map(({ head }) => head)
  const greatest = own.reduce<Head | undefined>(
    (most, head) => (most && most.size >= head.size ? most : head),
    undefined,
  )
  return [kept.at(-1)?.head, greatest, ...remembered].filter((head) => head !== undefined)
}

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

/** False, if one of them is not what it was: those before it know a head that the next one continues. */
const remember = async (
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

/**
 * Sign the head of a single session. The checkpoint is not kept.
 *
 * @returns the checkpoint as text; give each session an origin of its own
 */
export const signSession = (store: Store, id: string, given: CheckpointOptions): EvidenceTask<string> => {
  const options = ownOptions('signSession', given)
  return evidenceSteps(async function* () {
    const { head } = yield* need(describeSession(store, id))
    return yield* need(signedHead(head, options))
  }, 'signSession')
}

/** A copy: the caller may change its own. */
const ownOptions = (call: string, given: CheckpointOptions): CheckpointOptions => {
  const { signers, extensions, ...others } = optionsOf(call, given)
  return ownFields({
    ...others,
    signers: [...signers],
    ...(extensions !== undefined && { extensions: [...extensions] }),
  })
}

const signedHead = async (
  head: Head,
  { origin, signers, extensions = [] }: CheckpointOptions,
): Promise<Either<AnyEvidenceFault, string>> => {
  const text = checkpointText({ origin, head, extensions })
  try {
    return right(await signNote(text, signers))
  } catch (cause) {
    if (cause instanceof TypeError && signers.length === 0) throw cause
    return left({ _tag: 'CallbackThrew', callback: 'sign', cause })
  }
}

/**
 * The checkpoints that are kept, the oldest first. Cost: O(checkpoints). Errors: `BadNote`, `BadCheckpoint`.
 *
 * @returns the checkpoints, oldest first
 */
export const listCheckpoints = (store: Store): EvidenceTask<readonly KeptCheckpoint[]> =>
  evidenceTask(async () => {
    const rows = await store.read(checkpointsId)()
    if (isLeft(rows)) return rows.left._tag === 'NoSuchLog' ? right(Object.freeze([])) : rows
    const kept = eachRight(rows.right, ({ body }) => keptOf(body))
    return isLeft(kept) ? kept : right(Object.freeze(kept.right))
  }, 'listCheckpoints')

/**
 * The last checkpoint that was kept; undefined: there is none.
 *
 * @returns the checkpoint; undefined if there is none
 */
export const lastCheckpoint = (store: Store): EvidenceTask<KeptCheckpoint | undefined> =>
  evidenceTask(async () => {
    const rows = await store.read(checkpointsId, { from: -1 })()
    if (isLeft(rows)) return rows.left._tag === 'NoSuchLog' ? right(undefined) : rows
    const [row] = rows.right
    return row === undefined ? right(undefined) : keptOf(row.body)
  }, 'lastCheckpoint')

const keptOf = (note: string): Either<EvidenceFault, KeptCheckpoint> =>
  mapRight(claimedCheckpoint(note), ({ head }) => Object.freeze({ note, head }))

/** Appends a checkpoint to those that are kept, wherever they end by now. Undefined: one of a longer ledger is kept by now. */
async function* keep(store: Store, note: string, head: Head): Steps<AnyEvidenceFault, KeptCheckpoint | undefined> {
  const rows = [{ kind: 'note' as const, body: note, at: store.now() }]
  const own = ownStore(store)
  for (let expected = headOf(emptyRange, store.hash); ;) {
    const appended = await own.append(checkpointsId, { expected, rows })()
    if (!isLeft(appended)) return Object.freeze({ note, head })
    if (appended.left._tag === 'Conflict') {
      expected = appended.left.actual
      const last = yield* need(lastCheckpoint(store))
      if (last !== undefined && last.head.size > head.size) return undefined
    } else if (appended.left._tag === 'NoSuchLog') {
      const created = await own.create({ id: checkpointsId, meta: { [checkpointsId]: 1 }, rows, encrypt: false })()
      if (!isLeft(created)) return Object.freeze({ note, head })
      if (created.left._tag !== 'LogExists') return yield* fail(created.left)
    } else return yield* fail(appended.left)
  }
}

/** The fault of a ledger that was never signed, or of none. */
export async function* notSigned(store: Store): Steps<AnyEvidenceFault, never> {
  yield* need(readLedger(store))
  return yield* fail({ _tag: 'NoLedger', scope: store.scope, missing: 'checkpoint' })
}

/** What witnesses said. */
export interface Witnessed extends KeptCheckpoint {
  /** The names of the witnesses that signed. */
  readonly signedBy: readonly string[]
  /** The witnesses that did not. */
  readonly refusals: readonly EvidenceFault[]
}

/**
 * Ask witnesses to sign the last checkpoint, and keep it with their signatures. They are asked at the same time.
 *
 * Cost    a request or two for each witness, each with a proof of O(log rows) hashes
 * Errors  `NoLedger` if there is no checkpoint yet; `BadKey`. A witness that does not sign is in `refusals`
 *
 * @returns the checkpoint with their signatures, and the refusals
 */
export const witnessLedger = (
  store: Store,
  asked: readonly Witness[],
  options: WitnessOptions = {},
): EvidenceTask<Witnessed> => {
  if (options.timeout !== undefined) amount('timeout', options.timeout, { unit: 'milliseconds' })
  return evidenceSteps(async function* () {
    const witnesses = asked.map((witness) => ({ ...witness }))
    const verifiers = yield* need(eachRight(witnesses, ({ vkey }) => verifierOf(vkey)))
    const kept = yield* need(listCheckpoints(store))
    const last = kept.at(-1) ?? (yield* notSigned(store))
    const parsed = yield* need(parseNote(last.note))
    const proofFrom = (oldSize: number): Promise<Either<AnyEvidenceFault, readonly Uint8Array[]>> =>
      oldSize === 0 || oldSize === last.head.size
        ? Promise.resolve(right([]))
        : consistencyPath(store, ledgerId, oldSize, last.head.size)()
    const answers = await Promise.all(
      witnesses.map((witness, index) => {
        const verifier = verifiers[index] as NoteVerifier
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
        const others = signatures.filter((one) => one.name !== name || one.keyId !== keyId)
        signatures.splice(0, signatures.length, ...others, answered.right)
        signedBy.push(name)
      }
    }
    const note = noteText({ text: parsed.text, signatures })
    const again = signedBy.length === 0 ? last : yield* keep(store, note, last.head)
    return Object.freeze({ ...(again ?? last), signedBy, refusals })
  }, 'witnessLedger')
}
