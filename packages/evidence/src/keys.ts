/**
 * Keys that sign and verify notes: Ed25519, for logs, and its timestamped form, for witnesses.
 *
 * Source  https://c2sp.org/signed-note@v1.0.0 (types 1), https://c2sp.org/tlog-cosignature@v1.0.1 (type 4), RFC 8032;
 *         the text of private keys is that of Go's golang.org/x/mod/sumdb/note
 */
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha512 } from '@noble/hashes/sha2.js'
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { base64Of, bytesOfBase64, left, right, utf8Of } from 'indelible/internal/json'
import { portableSha256 } from 'indelible/internal/proof'
import type { EvidenceFault } from './fault.ts'

/** A key that verifies signatures. */
export interface NoteVerifier {
  /** The name of the key: not empty, without spaces or plus signs. */
  readonly name: string
  /** The id of the key: 8 lowercase hexadecimal digits. */
  readonly keyId: string
  /** The key as text: `name+id+base64`. */
  readonly vkey: string
  /** Whether it is a log's key, or a witness's, whose signatures carry a time. */
  readonly kind: 'log' | 'witness'
  /**
   * Verify a signature of these bytes.
   *
   * Cost    about a millisecond
   *
   * @returns the signature's content; undefined if it does not match
   */
  readonly verify: (text: Uint8Array, signature: Uint8Array) => { readonly at?: number } | undefined
}

/** A key that signs: {@link signerOf} for a private key, {@link remoteSigner} for a service (KMS, HSM). */
export interface NoteSigner {
  /** The name of the key. */
  readonly name: string
  /** The id of the key: 8 lowercase hexadecimal digits. */
  readonly keyId: string
  /** The public key as text. */
  readonly vkey: string
  /** Sign these bytes. */
  readonly sign: (text: Uint8Array) => Uint8Array | Promise<Uint8Array>
}

/** A key pair as texts. */
export interface KeyPair {
  /** The public key. Verifiers need it. */
  readonly vkey: string
  /** The private key. Keep it in a file of mode 600, or in a secret store. */
  readonly skey: string
}

const types = { log: 1, witness: 4 } as const

/**
 * Create a key pair.
 *
 * @param name the key's name, such as `example.com/agents`: not empty, without spaces or plus signs
 * @param kind `log` for a key that signs checkpoints (the default), `witness` for one that cosigns
 * @param seed 32 random bytes. Default: from the platform's `crypto`
 * @returns the public and the private key, as texts
 * @throws TypeError if the name or the seed is invalid
 */
export const newKey = (
  name: string,
  kind: 'log' | 'witness' = 'log',
  seed: Uint8Array = ed25519.utils.randomSecretKey(),
): KeyPair => {
  if (!isKeyName(name))
    throw new TypeError(`a key's name must not be empty or contain spaces or plus signs, found ${JSON.stringify(name)}`)
  if (seed.length !== 32) throw new TypeError(`a seed must have 32 bytes, found ${seed.length}`)
  const publicKey = ed25519.getPublicKey(seed)
  const id = keyIdOf(name, types[kind], publicKey)
  return Object.freeze({
    vkey: vkeyOf(name, types[kind], publicKey),
    skey: `PRIVATE+KEY+${name}+${id}+${base64Of(withType(types[kind], seed))}`,
  })
}

/**
 * The verifier for a public key.
 *
 * @returns the verifier; or `BadKey`
 */
export const verifierOf = (vkey: string): Either<EvidenceFault, NoteVerifier> => {
  const [, name, keyId, base64] = /^([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(vkey) ?? []
  if (name === undefined || keyId === undefined || base64 === undefined || !isKeyName(name))
    return badKey('expected NAME+ID+BASE64, with 8 hexadecimal digits for ID')
  const material = bytesOfBase64(base64)
  if (material === undefined) return badKey('its last part is not base64')
  const type = material[0]
  const publicKey = material.slice(1)
  if (type !== types.log && type !== types.witness)
    return badKey(
      `its type is ${type ?? 'missing'}; known are ${types.log} (Ed25519) and ${types.witness} (Ed25519 cosignatures)`,
    )
  if (publicKey.length !== 32) return badKey(`an Ed25519 key has 32 bytes, not ${publicKey.length}`)
  if (keyIdOf(name, type, publicKey) !== keyId) return badKey('its id does not match its name and key')
  const fits = (text: Uint8Array, signature: Uint8Array): boolean => {
    if (signature.length !== 64) return false
    try {
      // RFC 8032: one encoding for each signature, and no cofactor, so that all verifiers agree.
      return ed25519.verify(signature, text, publicKey, { zip215: false }) && fitsExactly(text, signature, publicKey)
    } catch {
      return false // not a point of the curve
    }
  }
  return right(
    Object.freeze<NoteVerifier>({
      name,
      keyId,
      vkey,
      kind: type === types.log ? 'log' : 'witness',
      verify:
        type === types.log
          ? (text, signature) => (fits(text, signature) ? {} : undefined)
          : (text, signature) => {
              if (signature.length !== 72) return undefined
              const seconds = new DataView(signature.buffer, signature.byteOffset).getBigUint64(0)
              // A time too large for an exact number is invalid.
              if (seconds > BigInt(Number.MAX_SAFE_INTEGER)) return undefined
              return fits(cosignedText(text, Number(seconds)), signature.subarray(8))
                ? { at: Number(seconds) * 1000 }
                : undefined
            },
    }),
  )
}

/**
 * The signer for a private key.
 *
 * Errors  `BadKey`, which never repeats the key
 * @param skey the private key as text, from {@link newKey}
 * @param now the clock of a witness's key, in milliseconds since 1970
 */
export const signerOf = (skey: string, now: () => number = Date.now): Either<EvidenceFault, NoteSigner> => {
  if (typeof skey !== 'string') return badKey(`expected a text, found ${typeof skey}`) // never the value: it may be the key
  const [, name, keyId, base64] = /^PRIVATE\+KEY\+([^+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]+)$/.exec(skey.trim()) ?? []
  const material = base64 === undefined ? undefined : bytesOfBase64(base64)
  if (name === undefined || keyId === undefined || material === undefined || !isKeyName(name))
    return badKey('expected PRIVATE+KEY+NAME+ID+BASE64')
  const type = material[0]
  const seed = material.slice(1)
  if ((type !== types.log && type !== types.witness) || seed.length !== 32) return badKey('it is not an Ed25519 key')
  const publicKey = ed25519.getPublicKey(seed)
  if (keyIdOf(name, type, publicKey) !== keyId) return badKey('its id does not match its name and key')
  return right(
    Object.freeze<NoteSigner>({
      name,
      keyId,
      vkey: vkeyOf(name, type, publicKey),
      sign:
        type === types.log
          ? (text) => ed25519.sign(text, seed)
          : (text) => {
              const seconds = Math.floor(now() / 1000)
              const signature = new Uint8Array(72)
              new DataView(signature.buffer).setBigUint64(0, BigInt(seconds))
              signature.set(ed25519.sign(cosignedText(text, seconds), seed), 8)
              return signature
            },
    }),
  )
}

/**
 * A signer whose private key is elsewhere: in a key management service, or on a smart card.
 *
 * Errors  `BadKey`
 * @param vkey a log's public key as text
 * @param sign returns the 64-byte Ed25519 signature of the given bytes (RFC 8032, without a prehash)
 */
export const remoteSigner = (vkey: string, sign: NoteSigner['sign']): Either<EvidenceFault, NoteSigner> => {
  const verifier = verifierOf(vkey)
  if (verifier._tag === 'Left') return verifier
  const { name, keyId } = verifier.right
  return right(Object.freeze<NoteSigner>({ name, keyId, vkey, sign }))
}

/**
 * Whether S·B = R + k·A, without the factor 8 by which the library multiplies both sides. Go, OpenSSL and
 * browsers compare it so. The owner of the private key can create signatures that match only with the factor.
 */
const fitsExactly = (text: Uint8Array, signature: Uint8Array, publicKey: Uint8Array): boolean => {
  const { Point } = ed25519
  const [r, s] = [signature.subarray(0, 32), signature.subarray(32)]
  const k = Point.Fn.create(numberOf(sha512(concatBytes(r, publicKey, text))))
  const kA = Point.fromBytes(publicKey).multiplyUnsafe(k)
  return Point.fromBytes(r)
    .add(kA)
    .equals(Point.BASE.multiplyUnsafe(numberOf(s)))
}

/** A number from its little-endian bytes. */
const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${bytesToHex(bytes.toReversed())}`)

/** The bytes that a witness signs: a header with the time, and the text. */
const cosignedText = (text: Uint8Array, seconds: number): Uint8Array =>
  concatBytes(utf8Of(`cosignature/v1\ntime ${seconds}\n`), text)

const isKeyName = (name: string): boolean =>
  typeof name === 'string' && name.isWellFormed() && /^[^\s+\p{Cc}]+$/u.test(name)

const withType = (type: number, bytes: Uint8Array): Uint8Array => Uint8Array.of(type, ...bytes)

const vkeyOf = (name: string, type: number, publicKey: Uint8Array): string =>
  `${name}+${keyIdOf(name, type, publicKey)}+${base64Of(withType(type, publicKey))}`

const keyIdOf = (name: string, type: number, publicKey: Uint8Array): string =>
  bytesToHex(portableSha256(Uint8Array.of(...utf8Of(`${name}\n`), type, ...publicKey)).subarray(0, 4))

const badKey = (reason: string): Either<EvidenceFault, never> => left({ _tag: 'BadKey', reason })
