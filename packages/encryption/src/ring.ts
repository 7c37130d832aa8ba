/** The host's keys. They wrap session keys, and encrypt nothing else. */
import { describe } from 'indelible/internal/json'
import type { Store } from 'indelible/store'
import { fromBase64, hex, randomBytes, toBase64 } from './aes.ts'

/** A key of the host. */
export interface HostKey {
  /** Its name: 1 to 100 letters, digits, dots, hyphens and underscores. */
  readonly id: string
  /** 32 random bytes. */
  readonly key: Uint8Array
}

/** The keys of a host. `keyRing` makes one from keys in memory. To use a key server, write your own. */
export interface KeyRing {
  /** The key that wraps new session keys. */
  readonly current: HostKey
  /**
   * Returns a key by its name.
   *
   * @returns its 32 bytes, or a promise of them; undefined if there is none
   */
  readonly byId: (id: string) => Uint8Array | undefined | Promise<Uint8Array | undefined>
  /**
   * The store for wrapped session keys. Use a separate store, whose backups you can do without:
   * then no backup of the sessions contains a destroyed session key. Default: the sessions' store.
   */
  readonly keysIn?: Store
}

/**
 * A new host key with random bytes.
 *
 * @param id its name. Default: a random name
 */
export const newHostKey = (id: string = hex(randomBytes(6))): HostKey => checkKey({ id, key: randomBytes(32) })

/** A key as text: its name, a colon, and its bytes in base64. Store it like your other secrets. */
export const hostKeyText = (hostKey: HostKey): string => {
  const { id, key } = checkKey(hostKey)
  return `${id}:${toBase64(key)}`
}

/**
 * Parses a key from its text.
 *
 * @param text the result of `hostKeyText`
 * @throws TypeError for any other text
 */
export const hostKeyOf = (text: string): HostKey => {
  const [, id = '', base64 = ''] = /^([^:]*):(.*)$/.exec(text.trim()) ?? []
  return checkKey({ id, key: fromBase64(base64) ?? new Uint8Array(0) })
}

/** Throws TypeError if the value is not a key ring, which the compiler would have rejected. */
export const checkRing = (call: string, ring: KeyRing): void => {
  if (typeof (ring as Partial<KeyRing> | undefined)?.byId !== 'function')
    throw new TypeError(`${call} takes a key ring, such as keyRing([…]), found ${describe(ring)}`)
}

/**
 * A ring of keys in memory. The first key wraps new session keys; the others open the keys that they wrapped.
 *
 * @param keys the keys, the current one first
 * @param options the store for wrapped session keys
 * @throws TypeError for no keys, two keys with one name, or an invalid key
 * @example
 * const ring = keyRing([hostKeyOf(process.env.SESSION_KEY)])
 */
export const keyRing = (keys: readonly HostKey[], { keysIn }: Pick<KeyRing, 'keysIn'> = {}): KeyRing => {
  if (!Array.isArray(keys)) throw new TypeError(`keyRing takes a list of host keys, found ${describe(keys)}`)
  const known = new Map((keys as readonly HostKey[]).map((key) => [checkKey(key).id, key.key]))
  const [current] = keys
  if (current === undefined || known.size !== keys.length)
    throw new TypeError('keyRing takes at least one key, and no two with the same name')
  return Object.freeze({ current, byId: (id: string) => known.get(id), ...(keysIn !== undefined && { keysIn }) })
}

export const checkKey = (key: HostKey): HostKey => {
  if (!(typeof (key as HostKey | undefined)?.id === 'string' && /^[\w.-]{1,100}$/.test(key.id)))
    throw new TypeError('the name of a host key is 1 to 100 letters, digits, dots, hyphens and underscores')
  if (!(key.key instanceof Uint8Array && key.key.length === 32))
    throw new TypeError(`the host key ${key.id} is not 32 bytes`)
  return Object.freeze({ id: key.id, key: key.key })
}
