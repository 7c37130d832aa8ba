/** Who may ask: the hosts and origins of a request, the one-time token, and the key that it is exchanged for. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'
import { hostname } from 'node:os'

/** Whether an address reaches this machine only. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)

/**
 * Why a request is refused; undefined if it is not. A page of another site can make a browser ask here, and can let its
 * own name lead to this address (DNS rebinding). So the name must be one that such a site can't have, and a browser that
 * says who asks must say this page.
 *
 * Source  https://fetch.spec.whatwg.org/#origin-header, https://www.w3.org/TR/fetch-metadata/
 */
export const refused = (headers: IncomingHttpHeaders, listened: string): string | undefined => {
  const { host, origin } = headers
  if (host === undefined || !isOwnName(host, listened)) return `the host ${JSON.stringify(host)} is not this server`
  if (origin !== undefined && origin !== `http://${host}`) return `the origin ${JSON.stringify(origin)} is another site`
  const site = headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none' ? undefined : 'another site asks'
}

/** A name in a `host` header that no other site can have: an address, the name of this machine, what was listened on. */
const isOwnName = (given: string, listened: string): boolean => {
  const found = /^(\[[\da-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i.exec(given)
  if (found === null) return false
  const name = (found[1] as string).toLowerCase()
  if (isLoopback(name) || name === listened.toLowerCase()) return true
  if (isLoopback(listened)) return false
  return isIP(name.replace(/^\[|\]$/g, '')) !== 0 || name === hostname().toLowerCase()
}

/** The tokens of addresses that were printed, and the keys that came of them. */
export class Keys {
  readonly #tokens = new Set<string>()
  readonly #keys = new Set<string>()

  /** A new one-time token. */
  issue(): string {
    const token = secret()
    this.#tokens.add(token)
    return token
  }

  /** A key for a token, which is then of no more use; undefined for a token that was never issued, or was used. */
  exchange(token: unknown): string | undefined {
    const known = typeof token === 'string' ? among(this.#tokens, token) : undefined
    if (known === undefined) return undefined
    this.#tokens.delete(known)
    const key = secret()
    this.#keys.add(key)
    return key
  }

  /** Whether an `authorization` header carries a key. */
  opens(authorization: string | undefined): boolean {
    const given = /^Bearer ([\w-]+)$/.exec(authorization ?? '')?.[1]
    return given !== undefined && among(this.#keys, given) !== undefined
  }
}

const secret = (): string => randomBytes(24).toString('base64url')

/** Compared in constant time: nobody learns a secret by how long a refusal takes. */
const among = (secrets: ReadonlySet<string>, given: string): string | undefined => {
  const bytes = Buffer.from(given)
  let found: string | undefined
  for (const one of secrets) {
    const own = Buffer.from(one)
    if (own.length === bytes.length && timingSafeEqual(own, bytes)) found = one
  }
  return found
}
