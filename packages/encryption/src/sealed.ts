/** Texts and bytes under a key: a nonce, the ciphertext and the tag, as base64 or as bytes. */
import { decrypt, decryptText, encrypt, encryptText, mac, nonceBytes, randomNonce, utf8 } from './aes.ts'

/** A key for one use, made of a secret. */
export const deriveKey = (secret: Uint8Array, use: string): Uint8Array => mac(secret, utf8(`indelible ${use}`))

/**
 * A text as base64. The nonce is random: a key may be used for 2^32 texts.
 *
 * @param about what the text is, and where it belongs: it opens only there
 */
export const sealText = (key: Uint8Array, plain: string, about: string): string =>
  encryptText(key, randomNonce(), utf8(about), plain)

/** The text; undefined if it is of another key, of another place, or was altered. */
export const openText = (key: Uint8Array, sealed: string, about: string): string | undefined =>
  decryptText(key, utf8(about), sealed)

const noNonce = new Uint8Array(nonceBytes)
const noText = new Uint8Array(0)

/** Bytes under a key that is theirs alone, because it is made of them: the nonce is 0. */
export const sealBytes = (key: Uint8Array, bytes: Uint8Array): Uint8Array => encrypt(key, noNonce, noText, bytes)

/** The bytes; undefined if they are of another key, or were altered. */
export const openBytes = (key: Uint8Array, sealed: Uint8Array): Uint8Array | undefined =>
  decrypt(key, noNonce, noText, sealed)
