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

/** The operations needed from a platform. */
interface Primitives {
  readonly encrypt: (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, plain: Uint8Array) => Uint8Array
  /** The plaintext; undefined if the tag is wrong. */
  readonly decrypt: (key: Uint8Array, nonce: Uint8Array, aad: Uint8Array, sealed: Uint8Array) => Uint8Array | undefined
  /** Nonce, tag and ciphertext of a text, each in base64, concatenated: 16 and 24 characters, and the rest. */
  readonly encryptText: (key: Uint8Array, nonce: Nonce, aad: Uint8Array, plain: string) => string
  /** The text; undefined if the tag is wrong, or the base64 is not what `encryptText` writes. */
  readonly decryptText: (key: Uint8Array, aad: Uint8Array, sealed: string) => string | undefined
  readonly hmac: (key: Uint8Array, message: Uint8Array) => Uint8Array
  /** A text as UTF-8. */
  readonly utf8: (text: string) => Uint8Array
  readonly toBase64: (bytes: Uint8Array) => string
  /** Undefined if it is not base64. */
  readonly fromBase64: (text: string) => Uint8Array | undefined
}

/** The start of the tag in an encrypted text. */
const tagFrom = 16
const cipherFrom = tagFrom + 24

/** Implemented with @noble/ciphers and @noble/hashes. */
export const portable: Primitives = {
  encrypt: (key, nonce, aad, plain) => gcm(key, nonce, aad).encrypt(plain),
  decrypt: (key, nonce, aad, sealed) => {
    try {
      return gcm(key, nonce, aad).decrypt(sealed)
    } catch {
      return undefined
    }
  },
  encryptText: (key, nonce, aad, plain) => {
    const sealed = portable.encrypt(key, nonce.bytes, aad, utf8Of(plain))
    const end = sealed.length - tagBytes
    return `${nonce.text}${base64Of(sealed.subarray(end))}${base64Of(sealed.subarray(0, end))}`
  },
  decryptText: (key, aad, sealed) => {
    const [nonce, tag, cipher] = [
      bytesOfBase64(sealed.slice(0, tagFrom)),
      bytesOfBase64(sealed.slice(tagFrom, cipherFrom)),
      bytesOfBase64(sealed.slice(cipherFrom)),
    ]
    if (nonce?.length !== nonceBytes || tag?.length !== tagBytes || cipher === undefined) return undefined
    const all = new Uint8Array(cipher.length + tagBytes)
    all.set(cipher)
    all.set(tag, cipher.length)
    const plain = portable.decrypt(key, nonce, aad, all)
    return plain === undefined ? undefined : textOfUtf8(plain)
  },
  hmac: (key, message) => hmac(sha256, key, message),
  utf8: utf8Of,
  toBase64: base64Of,
  fromBase64: bytesOfBase64,
}

interface Cipher {
  readonly setAAD: (aad: Uint8Array) => unknown
  readonly setAuthTag: (tag: Uint8Array) => unknown
  readonly getAuthTag: () => Bytes
  readonly update: ((bytes: Uint8Array) => Uint8Array) &
    ((text: string, from: 'utf8') => Bytes) &
    ((text: string, from: 'base64', to: 'utf8') => string)
  readonly final: (() => Uint8Array) & ((to: 'utf8') => string)
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
export const native: Primitives | undefined = ((): Primitives | undefined => {
  const crypto = builtin('node:crypto') as NodeCrypto | undefined
  const buffer = builtin('node:buffer') as NodeBuffer | undefined
  if (crypto === undefined || buffer === undefined) return undefined
  const { Buffer } = buffer
  const base64 = ({ buffer: whole, byteOffset, length }: Uint8Array): string =>
    Buffer.from(whole, byteOffset, length).toString('base64')
  const fromBase64 = (text: string): Uint8Array | undefined => {
    const bytes = Buffer.from(text, 'base64')
    return bytes.toString('base64') === text ? new Uint8Array(bytes) : undefined
  }
  /** Node's decoder ignores characters that are not base64. Only the last bytes can have two spellings. */
  const isBase64 = (text: string): boolean =>
    text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text) && fromBase64(text.slice(-4)) !== undefined
  return {
    encrypt: (key, nonce, aad, plain) => {
      const cipher = crypto.createCipheriv('aes-256-gcm', key, nonce)
      cipher.setAAD(aad)
      const sealed = new Uint8Array(plain.length + tagBytes)
      sealed.set(cipher.update(plain))
      cipher.final()
      sealed.set(cipher.getAuthTag(), plain.length)
      return sealed
    },
    decrypt: (key, nonce, aad, sealed) => {
      if (sealed.length < tagBytes) return undefined
      const end = sealed.length - tagBytes
      try {
        const cipher = crypto.createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
        cipher.setAAD(aad)
        cipher.setAuthTag(sealed.subarray(end))
        const plain = cipher.update(sealed.subarray(0, end))
        cipher.final()
        return new Uint8Array(plain.buffer, plain.byteOffset, plain.length)
      } catch {
        return undefined
      }
    },
    // Without intermediate buffers, which would cost more than the cipher. Base64 output by the
    // cipher would need a decoder for each text.
    encryptText: (key, nonce, aad, plain) => {
      const cipher = crypto.createCipheriv('aes-256-gcm', key, nonce.bytes)
      cipher.setAAD(aad)
      const sealed = cipher.update(plain, 'utf8')
      cipher.final()
      return nonce.text + cipher.getAuthTag().toString('base64') + sealed.toString('base64')
    },
    decryptText: (key, aad, sealed) => {
      const text = sealed.slice(cipherFrom)
      const [nonce, tag] = [fromBase64(sealed.slice(0, tagFrom)), fromBase64(sealed.slice(tagFrom, cipherFrom))]
      if (nonce?.length !== nonceBytes || tag?.length !== tagBytes || !isBase64(text)) return undefined
      try {
        const cipher = crypto.createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
        cipher.setAAD(aad)
        cipher.setAuthTag(tag)
        return cipher.update(text, 'base64', 'utf8') + cipher.final('utf8')
      } catch {
        return undefined
      }
    },
    hmac: (key, message) => crypto.createHmac('sha256', key).update(message).digest(),
    utf8: (text) => Buffer.from(text, 'utf8'),
    toBase64: base64,
    fromBase64,
  }
})()

const primitives: Primitives = native ?? portable

/** AES-256-GCM: returns the ciphertext and the tag. */
export const encrypt: Primitives['encrypt'] = primitives.encrypt
/** The plaintext; undefined if the tag is wrong. */
export const decrypt: Primitives['decrypt'] = primitives.decrypt
export const encryptText: Primitives['encryptText'] = primitives.encryptText
export const decryptText: Primitives['decryptText'] = primitives.decryptText
export const mac: Primitives['hmac'] = primitives.hmac
export const utf8: Primitives['utf8'] = primitives.utf8
export const toBase64: Primitives['toBase64'] = primitives.toBase64
export const fromBase64: Primitives['fromBase64'] = primitives.fromBase64

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
