/**
 * Signed notes: a text followed by signatures, each by a named key.
 *
 * Source  https://c2sp.org/signed-note@v1.0.0
 */
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { base64Of, bytesOfBase64, isLeft, left, right, utf8Of } from 'indelible/internal/json'
import type { EvidenceFault } from './fault.ts'
import { verifierOf, type NoteSigner, type NoteVerifier } from './keys.ts'

export interface NoteSignature {
  readonly name: string
  /** The id of the key: 8 lowercase hexadecimal digits. */
  readonly keyId: string
  /** The signature bytes: 64 for Ed25519, 72 for a cosignature. */
  readonly signature: Uint8Array
}

export interface SignedNote {
  /** The text, ending with a newline. Ignore it until a trusted key's signature is verified. */
  readonly text: string
  /** The signatures, in the order of the note. At least one. */
  readonly signatures: readonly NoteSignature[]
}

/** A verified signature. */
export interface VerifiedSignature {
  /** The name of the key. */
  readonly name: string
  /** The id of the key: 8 lowercase hexadecimal digits. */
  readonly keyId: string
  /** When a witness signed, in milliseconds since 1970; absent if the signature has no time. */
  readonly at?: number
}

/** A note with more signatures is refused. The specification requires at least 16 to be supported. */
const maxSignatures = 100

/**
 * Read a note without verifying its signatures: see {@link openNote}.
 *
 * Errors  `BadNote`
 * @example
 * const note = orThrow(parseNote(text)) // { text, signatures }
 */
export const parseNote = (note: string): Either<EvidenceFault, SignedNote> => {
  if (!isNoteText(note)) return badNote('it is not valid UTF-8, or contains a control character')
  const split = note.lastIndexOf('\n\n')
  if (split < 0) return badNote('no empty line separates its text from its signatures')
  const signatures = parseSignatures(note.slice(split + 2))
  return isLeft(signatures)
    ? signatures
    : right(Object.freeze({ text: note.slice(0, split + 1), signatures: signatures.right }))
}

/** Whether a note may have this text. */
export const isNoteText = (text: string): boolean =>
  // oxlint-disable-next-line no-control-regex -- matches them on purpose
  text.isWellFormed() && !/[\u0000-\u0009\u000b-\u001f]/.test(text)

/**
 * Read signature lines alone, as in a witness's answer.
 *
 * @returns the signatures; or `BadNote`
 */
export const parseSignatures = (lines: string): Either<EvidenceFault, readonly NoteSignature[]> => {
  if (!lines.endsWith('\n')) return badNote('it does not end with a signature line')
  const each = lines.slice(0, -1).split('\n')
  if (each.length > maxSignatures)
    return badNote(`it has ${each.length} signatures; at most ${maxSignatures} are allowed`)
  const signatures: NoteSignature[] = []
  for (const line of each) {
    const [, name, base64] = /^\u2014 ([^\s+\p{Cc}]+) (\S+)$/u.exec(line) ?? []
    const bytes = base64 === undefined ? undefined : bytesOfBase64(base64)
    if (name === undefined || bytes === undefined || bytes.length < 5)
      return badNote(`${JSON.stringify(line.slice(0, 80))} is not a signature line`)
    signatures.push(Object.freeze({ name, keyId: bytesToHex(bytes.subarray(0, 4)), signature: bytes.slice(4) }))
  }
  return right(Object.freeze(signatures))
}

export const noteText = ({ text, signatures }: SignedNote): string => `${text}\n${signatureLines(signatures)}`

/** Formats signatures as the lines of a note. */
export const signatureLines = (signatures: readonly NoteSignature[]): string =>
  signatures
    .map(({ name, keyId, signature }) => `\u2014 ${name} ${base64Of(concatBytes(hexToBytes(keyId), signature))}\n`)
    .join('')

/**
 * Sign a text with each signer, and verify each signature.
 *
 * @param text the text, which ends with a newline
 * @param signers from 1 to 100
 * @throws TypeError if the text can't be that of a note; the error of a signer; an Error if a signature does not match
 */
export const signNote = async (text: string, signers: readonly NoteSigner[]): Promise<string> => {
  if (!text.endsWith('\n') || !isNoteText(text))
    throw new TypeError('the text of a note must be well-formed, end with a newline, and have no control characters')
  if (signers.length === 0) throw new TypeError('a note needs at least one signer')
  if (signers.length > maxSignatures)
    throw new TypeError(`a note has at most ${maxSignatures} signatures, found ${signers.length} signers`)
  const signatures: NoteSignature[] = []
  for (const { name, keyId, vkey, sign } of signers) {
    const signature = new Uint8Array(await sign(utf8Of(text)))
    const verifier = verifierOf(vkey)
    const isOwn = !isLeft(verifier) && verifier.right.name === name && verifier.right.keyId === keyId
    if (!isOwn || verifier.right.verify(utf8Of(text), signature) === undefined)
      throw new Error(`the signature that the signer of ${JSON.stringify(name)} returned is not by the key ${vkey}`)
    signatures.push({ name, keyId, signature })
  }
  return noteText({ text, signatures })
}

interface OpenedNote extends SignedNote {
  /** The signatures by known keys: at least one. */
  readonly verified: readonly VerifiedSignature[]
}

/**
 * Read a note and verify the signatures by known keys. Other signatures are ignored.
 *
 * Errors  `BadNote`; `BadSignature` if a known key's signature does not match; `NotSigned` if no known key has signed
 */
export const openNote = (note: string, verifiers: readonly NoteVerifier[]): Either<EvidenceFault, OpenedNote> => {
  const parsed = parseNote(note)
  if (isLeft(parsed)) return parsed
  const { text, signatures } = parsed.right
  const verified = verifySignatures(text, signatures, verifiers)
  if (isLeft(verified)) return verified
  return verified.right.length === 0
    ? left({
        _tag: 'NotSigned',
        wanted: verifiers.map(({ name }) => name),
        found: signatures.map(({ name }) => name),
      })
    : right(Object.freeze({ text, signatures, verified: verified.right }))
}

/** The signatures by known keys, each key once, with its earliest time. Errors: `BadSignature`. */
export const verifySignatures = (
  text: string,
  signatures: readonly NoteSignature[],
  verifiers: readonly NoteVerifier[],
): Either<EvidenceFault, readonly VerifiedSignature[]> => {
  const bytes = utf8Of(text)
  const verified = new Map<string, VerifiedSignature>()
  for (const { name, keyId, signature } of signatures) {
    const verifier = verifiers.find((verifier) => verifier.name === name && verifier.keyId === keyId)
    if (verifier === undefined) continue
    const found = verifier.verify(bytes, signature)
    if (found === undefined) return left({ _tag: 'BadSignature', name })
    const key = `${name}+${keyId}`
    const before = verified.get(key)
    if (before === undefined || (found.at ?? 0) < (before.at ?? 0))
      verified.set(key, Object.freeze({ name, keyId, ...found }))
  }
  return right(Object.freeze([...verified.values()]))
}

const badNote = (reason: string): Either<EvidenceFault, never> => left({ _tag: 'BadNote', reason })
