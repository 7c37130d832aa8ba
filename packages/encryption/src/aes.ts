/**
 * The two cryptographic primitives: AES-256-GCM and HMAC-SHA-256. Node, Bun and Deno use OpenSSL,
 * which is many times faster; elsewhere @noble is used. Both produce the same bytes.
 *
 * Source  NIST SP 800-38D (GCM), FIPS 198-1 (HMAC)
 */
import { gcm } from '@noble/ciphers/aes.js'
import { hmac } from '@noble/hashes/hmac.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { base64Of, bytesOfBase64, textOfUtf8, utf8Of } from 'indelible/internal/json'

/** The length of a nonce in bytes: 96 bits, as GCM requires. */
export const nonceBytes = 12
const tagBytes = 16

interface Nonce {
  readonly bytes: Uint8Array
  readonly text: string
}

/** An encrypted text: as long as it was, and a tag. */
interface Sealed {
  readonly cipher: Uint8Array
  readonly tag: Uint8Array
}

/** The operations needed from a platform. */
interface Primitives {
  readonly seal: (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plain: Uint8Array) => Sealed
  /** The plaintext; undefined if the tag is wrong. */
  readonly open: (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, sealed: Sealed) => Uint8Array | undefined
  readonly hmac: (key: Uint8Array, message: Uint8Array) => Uint8Array
  /** A text as UTF-8. */
  readonly utf8: (text: string) => Uint8Array
  readonly toBase64: (bytes: Uint8Array) => string
  /** Undefined if it is not base64. */
  readonly fromBase64: (text: string) => Uint8Array | undefined
}

/** What is made of a platform's operations. */
interface Ciphers extends Omit<Primitives, 'seal' | 'open'> {
  /** The ciphertext and the tag. */
  readonly encrypt: (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plain: Uint8Array) => Uint8Array
  /** The plaintext; undefined if the tag is wrong. */
  readonly decrypt: (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, sealed: Uint8Array) => Uint8Array | undefined
  /** Nonce, tag and ciphertext of a text, each in base64, concatenated: 16 and 24 characters, and the rest. */
  readonly encryptText: (key: Uint8Array, nonce: Nonce, aad: Uint8Array, plain: string) => string
  /** The text; undefined if the tag is wrong, or the base64 is not what `encryptText` writes. */
  readonly decryptText: (key: Uint8Array, aad: Uint8Array, sealed: string) => string | undefined
}

/** The start of the tag in an encrypted text. */
const tagFrom = 16
const cipherFrom = tagFrom + 24

const ciphersOf = ({ seal, open, hmac, utf8, toBase64, fromBase64 }: Primitives): Ciphers => ({
  encrypt: (key, nonce, aad, plain) => joined(seal(key, nonce, aad, plain)),
  decrypt: (key, nonce, aad, sealed) => {
    if (sealed.length < tagBytes) return undefined
    const end = sealed.length - tagBytes
    return open(key, nonce, aad, { cipher: sealed.subarray(0, end), tag: sealed.subarray(end) })
  },
  encryptText: (key, nonce, aad, plain) => {
    const { cipher, tag } = seal(key, nonce.bytes, aad, utf8(plain))
    return nonce.text + toBase64(tag) + toBase64(cipher)
  },
  decryptText: (key, aad, sealed) => {
    const nonce = fromBase64(sealed.slice(0, tagFrom))
    const tag = fromBase64(sealed.slice(tagFrom, cipherFrom))
    const cipher = fromBase64(sealed.slice(cipherFrom))
    if (nonce?.length !== nonceBytes || tag?.length !== tagBytes || cipher === undefined) return undefined
    const plain = open(key, nonce, aad, { cipher, tag })
    return plain && textOfUtf8(plain)
  },
  hmac,
  utf8,
  toBase64,
  fromBase64,
})

const joined = ({ cipher, tag }: Sealed): Uint8Array => {
  const bytes = new Uint8Array(cipher.length + tagBytes)
  bytes.set(cipher)
  bytes.set(tag, cipher.length)
  return bytes
}

/** Implemented with @noble/ciphers and @noble/hashes. */
export const portable: Ciphers = ciphersOf({
  seal: (key, nonce, aad, plain) => {
    const sealed = gcm(key, nonce, aad).encrypt(plain)
    return { cipher: sealed.subarray(0, plain.length), tag: sealed.subarray(plain.length) }
  },
  open: (key, nonce, aad, sealed) => {
    try {
      return gcm(key, nonce, aad).decrypt(joined(sealed))
    } catch {
      return undefined
    }
  },
  hmac: (key, message) => hmac(sha256, key, message),
  utf8: utf8Of,
  toBase64: base64Of,
  fromBase64: bytesOfBase64,
})

interface Cipher {
  readonly setAAD: (aad: Uint8Array) => unknown
  readonly setAuthTag: (tag: Uint8Array) => unknown
  readonly getAuthTag: () => Uint8Array
  readonly update: (bytes: Uint8Array) => Uint8Array
  readonly final: () => unknown
}

interface NodeCrypto {
  readonly createCipheriv: (name: string, key: Uint8Array, nonce: Uint8Array) => Cipher
  readonly createDecipheriv: (
    name: string,
    key: Uint8Array,
    nonce: Uint8Array,
    options: { readonly authTagLength: number },
  ) => Cipher
  readonly createHmac: (
    name: string,
    key: Uint8Array,
  ) => { readonly update: (bytes: Uint8Array) => { readonly digest: () => Uint8Array } }
}

interface NodeBuffer {
  readonly Buffer: {
    readonly from: ((bytes: ArrayBufferLike, offset: number, length: number) => Bytes) &
      ((text: string, encoding: 'base64' | 'utf8') => Bytes)
  }
}
type Bytes = Uint8Array & { readonly toString: (encoding: 'base64') => string }

const builtin = (name: string): unknown => {
  const { process } = globalThis as { readonly process?: { readonly getBuiltinModule?: (name: string) => unknown } }
  try {
    return process?.getBuiltinModule?.(name)
  } catch {
    return undefined
  }
}

/** Implemented with the platform's OpenSSL; undefined without it. */
export const native: Ciphers | undefined = ((): Ciphers | undefined => {
  const crypto = builtin('node:crypto') as NodeCrypto | undefined
  const buffer = builtin('node:buffer') as NodeBuffer | undefined
  if (crypto === undefined || buffer === undefined) return undefined
  const { Buffer } = buffer
  return ciphersOf({
    seal: (key, nonce, aad, plain) => {
      const cipher = crypto.createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(aad)
      const sealed = cipher.update(plain)
      cipher.final()
      return { cipher: sealed, tag: cipher.getAuthTag() }
    },
    open: (key, nonce, aad, sealed) => {
      try {
        const cipher = crypto.createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
        cipher.setAAD(aad)
        cipher.setAuthTag(sealed.tag)
        const plain = cipher.update(sealed.cipher)
        cipher.final()
        return new Uint8Array(plain.buffer, plain.byteOffset, plain.length)
      } catch {
        return undefined
      }
    },
    hmac: (key, message) => crypto.createHmac('sha256', key).update(message).digest(),
    utf8: (text) => Buffer.from(text, 'utf8'),
    toBase64: ({ buffer: whole, byteOffset, length }) => Buffer.from(whole, byteOffset, length).toString('base64'),
    // Node's decoder ignores characters that are not base64.
    fromBase64: (text) => {
      const bytes = Buffer.from(text, 'base64')
      return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined
    },
  })
})()

const ciphers: Ciphers = native ?? portable

/** AES-256-GCM: returns the ciphertext and the tag. */
export const encrypt: Ciphers['encrypt'] = ciphers.encrypt
/** The plaintext; undefined if the tag is wrong. */
export const decrypt: Ciphers['decrypt'] = ciphers.decrypt
export const encryptText: Ciphers['encryptText'] = ciphers.encryptText
export const decryptText: Ciphers['decryptText'] = ciphers.decryptText
export const mac: Ciphers['hmac'] = ciphers.hmac
export const utf8: Ciphers['utf8'] = ciphers.utf8
export const toBase64: Ciphers['toBase64'] = ciphers.toBase64
export const fromBase64: Ciphers['fromBase64'] = ciphers.fromBase64

/** Bytes as hexadecimal digits. */
export const hex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

declare const crypto: { readonly getRandomValues: (bytes: Uint8Array) => Uint8Array }

export const randomBytes = (length: number): Uint8Array => crypto.getRandomValues(new Uint8Array(length))

const poolSize = 256
let pool: Nonce = { bytes: new Uint8Array(0), text: '' }
let poolUsed = poolSize

/** A random nonce, never returned twice. Many are drawn at once: drawing one costs as much as encrypting a row. */
export const randomNonce = (): Nonce => {
  if (poolUsed === poolSize) {
    const bytes = randomBytes(nonceBytes * poolSize)
    pool = { bytes, text: toBase64(bytes) }
    poolUsed = 0
  }
  const which = poolUsed++
  return {
    bytes: pool.bytes.subarray(which * nonceBytes, (which + 1) * nonceBytes),
    text: pool.text.slice(which * tagFrom, (which + 1) * tagFrom), // twelve bytes are sixteen characters
  }
}
