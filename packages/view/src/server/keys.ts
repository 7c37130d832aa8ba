/** The secrets of a view: the one-time token, and the key that it is exchanged for. */
import { randomBytes, timingSafeEqual } from 'node:crypto'

/** The tokens of printed addresses, and the keys exchanged for them. */
export class Keys {
  readonly #tokens = new Set<string>()
  readonly #keys = new Set<string>()

  /** A new one-time token. */
  issue(): string {
    const token = secret()
    this.#tokens.add(token)
    return token
  }

  /** A key in exchange for a token, which becomes invalid; undefined if the token is unknown or was used. */
  exchange(token: unknown): string | undefined {
    const known = typeof token === 'string' ? findSecret(this.#tokens, token) : undefined
    if (known === undefined) return undefined
    this.#tokens.delete(known)
    const key = secret()
    this.#keys.add(key)
    return key
  }

  /** Whether an `authorization` header carries a key. */
  opens(authorization: string | undefined): boolean {
    const key = /^Bearer ([\w-]+)$/.exec(authorization ?? '')?.[1]
    return key !== undefined && findSecret(this.#keys, key) !== undefined
  }
}

const secret = (): string => randomBytes(24).toString('base64url')

/** Compares in constant time, so that the duration reveals nothing. */
const findSecret = (secrets: ReadonlySet<string>, candidate: string): string | undefined => {
  const bytes = Buffer.from(candidate)
  let found: string | undefined
  for (const secret of secrets) {
    const own = Buffer.from(secret)
    if (own.length === bytes.length && timingSafeEqual(own, bytes)) found = secret
  }
  return found
}
