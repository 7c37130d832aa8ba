/** Texts and bytes under a key: a nonce, the ciphertext and the tag, as base64 or as bytes. */
import { utf8Of } from '../json/index.ts'
import { decrypt, decryptText, encrypt, encryptText, mac, nonceBytes, randomNonce } from './aes.ts'

/** The keys that are made of one secret, each for one use. */
export interface Keys {
  /** Encrypts texts. */
  readonly text: Uint8Array
  /** Makes nonces that a retry makes again. */
  readonly nonce: Uint8Array
}

/** A key for one use. */
export const derived = (secret: Uint8Array, use: string): Uint8Array => mac(secret, utf8Of(`indelible ${use}`))

export const keysOf = (secret: Uint8Array): Keys => ({ text: derived(secret, 'text'), nonce: derived(secret, 'nonce') })

/**
 * A text as base64.
 *
 * The nonce is random: a key may be used for 2^32 texts. With `repeat` it is made of the text and of what is repeated, so
 * that a retry gives the same; two different texts then have two different nonces, as two random ones have.
 */
export const sealText = ({ text, nonce }: Keys, plain: string, about: string, repeat?: string): string => {
  const used =
    repeat === undefined
      ? randomNonce()
      : mac(nonce, utf8Of(`${repeat.length} ${repeat}${about}\n${plain}`)).subarray(0, nonceBytes)
  return encryptText(text, used, aboutBytes(about), plain)
}

/** The text; undefined if it is of another key, of another use, or was altered. */
export const openText = ({ text }: Pick<Keys, 'text'>, sealed: string, about: string): string | undefined =>
  decryptText(text, aboutBytes(about), sealed)

let lastAbout: readonly [text: string, bytes: Uint8Array] = ['', new Uint8Array(0)]

/** The same text comes again and again. */
const aboutBytes = (about: string): Uint8Array => {
  if (lastAbout[0] !== about) lastAbout = [about, utf8Of(about)]
  return lastAbout[1]
}

const noNonce = new Uint8Array(nonceBytes)
const noText = new Uint8Array(0)

/** Bytes under a key that is theirs alone, because it is made of them: the nonce is 0. */
export const sealBytes = (key: Uint8Array, bytes: Uint8Array): Uint8Array => encrypt(key, noNonce, noText, bytes)

/** The bytes; undefined if they are of another key, or were altered. */
export const openBytes = (key: Uint8Array, sealed: Uint8Array): Uint8Array | undefined =>
  decrypt(key, noNonce, noText, sealed)
