/** Trust: the keys of a log with their rotations and revocations, and the required number of witnesses. */
import * as E from '#fp-ts/Either'
import { pipe } from '#fp-ts/function'
import type { Either } from 'fp-ts/lib/Either.js'
import { amount } from 'indelible/internal/task'
import { hasOnly, isLeft, isObject, left, optionsOf, right } from 'indelible/internal/json'
import { parseCheckpoint, type Checkpoint } from './checkpoint.ts'
import type { EvidenceFault } from './fault.ts'
import { verifierOf, type NoteVerifier } from './keys.ts'
import { openNote, parseNote, verifySignatures, type VerifiedSignature } from './signed-note.ts'

/** A trusted key of a log. */
interface TrustedKey {
  /** The public key as text. */
  readonly vkey: string
  /**
   * When the key was revoked, in milliseconds since 1970. A checkpoint that it signed then counts only if `quorum`
   * trusted witnesses, at least one, signed it no later than this, because the key itself could sign at any time.
   * Default: not revoked.
   */
  readonly revoked?: number
}

/** A verifier's trust. As JSON it is the trust file of the command. */
export interface Trust {
  /** The origin that checkpoints must name. */
  readonly origin: string
  /** The log's keys. A checkpoint must be signed by at least one that counts. */
  readonly keys: readonly (string | TrustedKey)[]
  /** Checkpoints as text, in order, by trusted keys, that add further keys ({@link rotation}). Default: none. */
  readonly rotations?: readonly string[]
  /** The public keys of witnesses. Default: none. */
  readonly witnesses?: readonly string[]
  /** The number of witnesses that must have signed. Default: 0. */
  readonly quorum?: number
}

/** A trusted checkpoint. */
export interface TrustedCheckpoint extends Checkpoint {
  /** The names of the log's keys that signed it. */
  readonly signedBy: readonly string[]
  /** The witnesses that signed it, and when. */
  readonly witnessed: readonly VerifiedSignature[]
}

/** More than any trust names. */
const mostWitnesses = 1000

const rotationMark = 'indelible-next-key '

/**
 * The extension line by which a checkpoint names the next key of its log. Put it into the last
 * checkpoint under the old key, and give that checkpoint to verifiers as one of their `rotations`.
 */
export const rotation = (vkey: string): string => `${rotationMark}${vkey}`

/**
 * Read a checkpoint and decide whether it counts.
 *
 * Errors  `BadKey`, `BadNote`, `BadSignature`, `NotSigned`, `BadCheckpoint` if it is of another log
 *         or its key was revoked before a witness signed, `TooFewWitnesses`
 * @throws TypeError if the trust has a name that it does not have, such as a misspelled `quorum`
 */
export const checkCheckpoint = (note: string, input: Trust): Either<EvidenceFault, TrustedCheckpoint> => {
  const trust = optionsOf('checkCheckpoint', input, trustNames)
  amount('quorum', trust.quorum ?? 0, { unit: 'witnesses', whole: true, most: mostWitnesses }) // NaN would disable the quorum
  const rotated = keysOf(trust)
  return isLeft(rotated) ? rotated : checkWith(note, trust, rotated.right, trust.quorum ?? 0)
}

const trustNames = { origin: true, keys: true, rotations: true, witnesses: true, quorum: true } as const
const keyNames = { vkey: true, revoked: true } as const

interface Keys {
  readonly logs: readonly (Pick<TrustedKey, 'revoked'> & { readonly verifier: NoteVerifier })[]
  readonly witnesses: readonly NoteVerifier[]
}

/** The keys of a trust, including those from rotations. */
const keysOf = (trust: Trust): Either<EvidenceFault, Keys> => {
  const cosigners = pipe(
    trust.witnesses ?? [],
    E.traverseArray((vkey) => verifierOfKind('witness', vkey)),
  )
  if (isLeft(cosigners)) return cosigners
  const witnesses = cosigners.right
  const logs: Keys['logs'][number][] = []
  const add = (key: string | TrustedKey): Either<EvidenceFault, void> => {
    const { vkey, revoked } = optionsOf('a key', typeof key === 'string' ? { vkey: key } : key, keyNames)
    const verifier = verifierOfKind('log', vkey)
    if (isLeft(verifier)) return verifier
    logs.push({ verifier: verifier.right, ...(revoked !== undefined && { revoked }) })
    return right(undefined)
  }
  const added = pipe(trust.keys, E.traverseArray(add))
  if (isLeft(added)) return added
  for (const note of trust.rotations ?? []) {
    const checked = checkWith(note, trust, { logs, witnesses }, trust.quorum ?? 0)
    if (isLeft(checked)) return checked
    const next = checked.right.extensions.filter((line) => line.startsWith(rotationMark))
    const rotated = pipe(
      next,
      E.traverseArray((line) => add(line.slice(rotationMark.length))),
    )
    if (isLeft(rotated)) return rotated
  }
  return right({ logs, witnesses })
}

/** The verifier for a public key of this kind. Errors: `BadKey`. */
export const verifierOfKind = (kind: NoteVerifier['kind'], vkey: string): Either<EvidenceFault, NoteVerifier> => {
  const verifier = verifierOf(vkey)
  if (isLeft(verifier) || verifier.right.kind === kind) return verifier
  const reason =
    kind === 'log'
      ? `${vkey} is a witness's key, not a log's`
      : `${vkey} is a log's key, not a witness's: newKey(name, 'witness') makes one`
  return left({ _tag: 'BadKey', reason })
}

const checkWith = (
  note: string,
  { origin }: Trust,
  { logs, witnesses }: Keys,
  quorum: number,
): Either<EvidenceFault, TrustedCheckpoint> => {
  const opened = openNote(
    note,
    logs.map(({ verifier }) => verifier),
  )
  if (isLeft(opened)) return opened
  const checkpoint = parseCheckpoint(opened.right.text)
  if (isLeft(checkpoint)) return checkpoint
  const bad = (reason: string): Either<EvidenceFault, never> => left({ _tag: 'BadCheckpoint', reason })
  if (checkpoint.right.origin !== origin)
    return bad(`its origin is ${JSON.stringify(checkpoint.right.origin)}, expected ${JSON.stringify(origin)}`)
  if (checkpoint.right.head.root.length !== 64) return bad('its root is not a SHA-256')
  const seen = verifySignatures(opened.right.text, opened.right.signatures, witnesses)
  if (isLeft(seen)) return seen
  const witnessed = seen.right
  const needed = Math.max(1, quorum)
  const witnessedBy = (end: number): number => witnessed.filter(({ at }) => at !== undefined && at <= end).length
  const isNotRevoked = (keyId: string, name: string): boolean =>
    logs
      .filter(({ verifier }) => verifier.keyId === keyId && verifier.name === name)
      .every(({ revoked }) => revoked === undefined || witnessedBy(revoked) >= needed)
  const signedBy = opened.right.verified.filter(({ keyId, name }) => isNotRevoked(keyId, name)).map(({ name }) => name)
  if (signedBy.length === 0)
    return bad(
      `only revoked keys signed it, and fewer than ${needed} of the trusted witnesses signed it before they were revoked`,
    )
  if (witnessed.length < quorum)
    return left({ _tag: 'TooFewWitnesses', wanted: quorum, found: witnessed.map(({ name }) => name) })
  return right(Object.freeze({ ...checkpoint.right, signedBy: Object.freeze(signedBy), witnessed }))
}

/** Reads a checkpoint from a note without verifying it. Errors: `BadNote`, `BadCheckpoint`. */
export const claimedCheckpoint = (note: string): Either<EvidenceFault, Checkpoint> => {
  const parsed = parseNote(note)
  return isLeft(parsed) ? parsed : parseCheckpoint(parsed.right.text)
}

const isText = (value: unknown): value is string => typeof value === 'string'

/**
 * Read a trust, such as from a JSON file. Errors: `BadTrust` with the problem.
 *
 * @param value JSON; untrusted data
 * @returns the trusted keys; or a fault
 */
export const readTrust = (value: unknown): Either<EvidenceFault, Trust> => {
  const bad = (reason: string): Either<EvidenceFault, never> => left({ _tag: 'BadTrust', reason })
  if (!isObject(value)) return bad('is not a JSON object')
  const unknown = Object.keys(value).find((name) => !Object.hasOwn(trustNames, name))
  if (unknown !== undefined)
    return bad(`has an unknown member ${JSON.stringify(unknown)}; expected ${Object.keys(trustNames).join(', ')}`)
  const { origin, keys, rotations, witnesses, quorum } = value
  if (!isText(origin) || origin === '') return bad('has no "origin": the name of the log')
  const isKey = (key: unknown): key is string | TrustedKey =>
    isText(key) ||
    (isObject(key) &&
      hasOnly(key, Object.keys(keyNames)) &&
      isText(key['vkey']) &&
      ['number', 'undefined'].includes(typeof key['revoked']))
  if (!Array.isArray(keys) || keys.length === 0 || !keys.every(isKey))
    return bad('needs "keys": a list of public keys, each a text or { "vkey": …, "revoked": milliseconds }')
  const texts = { rotations, witnesses }
  for (const [name, list] of Object.entries(texts))
    if (list !== undefined && (!Array.isArray(list) || !list.every(isText)))
      return bad(`has a "${name}" that is not a list of texts`)
  const most = Array.isArray(witnesses) ? witnesses.length : 0
  if (quorum !== undefined && !(Number.isInteger(quorum) && (quorum as number) >= 0 && (quorum as number) <= most))
    return bad(`has a "quorum" of ${JSON.stringify(quorum)}; expected a whole number from 0 to its ${most} witnesses`)
  return right(
    Object.freeze({
      origin,
      keys,
      ...(rotations !== undefined && { rotations: rotations as readonly string[] }),
      ...(witnesses !== undefined && { witnesses: witnesses as readonly string[] }),
      ...(quorum !== undefined && { quorum: quorum as number }),
    }),
  )
}
