/** Encrypts texts and bytes with a key, as nonce, ciphertext and tag, in base64 or in bytes. */
import { decrypt, decryptText, encrypt, encryptText, mac, nonceBytes, randomNonce, utf8 } from './aes.ts'

/** Derives a key for one use from a secret. */
export const deriveKey = (secret: Uint8Array, use: string): Uint8Array => mac(secret, utf8(`indelible ${use}`))

/**
 * Encrypts a text, in base64. The nonce is random, so a key may be used for 2^32 texts.
 *
 * @param about the context of the text; it can only be decrypted with the same context
 */
export const sealText = (key: Uint8Array, plain: string, about: string): string =>
  encryptText(key, randomNonce(), utf8(about), plain)

/** The text; undefined if the key or the context is wrong, or the text was altered. */
export const openText = (key: Uint8Array, sealed: string, about: string): string | undefined =>
  decryptText(key, utf8(about), sealed)

const noNonce = new Uint8Array(nonceBytes)
const noText = new Uint8Array(0)

/** Encrypts bytes with a key derived from them, so that no other bytes use it and the nonce can be 0. */
export const sealBytes = (key: Uint8Array, bytes: Uint8Array): Uint8Array => encrypt(key, noNonce, noText, bytes)

/** The bytes; undefined if the key is wrong, or they were altered. */
export const openBytes = (key: Uint8Array, sealed: Uint8Array): Uint8Array | undefined =>
  decrypt(key, noNonce, noText, sealed)
