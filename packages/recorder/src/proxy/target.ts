/** Resolves a path of the proxy to a provider and a path there. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'indelible/internal/json'

/** A provider: the first part of the proxy's path, and the URL that replaces it. */
export interface Upstream {
  /** The first part of the path. */
  readonly name: string
  /** The URL, without a slash at the end. */
  readonly url: string
  /** The URL for the rest of a path, if it depends on it; undefined if there is none. Default: `url`. */
  readonly urlOf?: (path: string) => string | undefined
}

export interface Target {
  readonly url: URL
  /** The path and the query as the client wrote them, appended to the provider's path. */
  readonly path: string
}

/** Why a request is not forwarded, with the status of the answer. */
export interface Refusal {
  readonly status: number
  readonly reason: string
}

/** The response body for a refused request. */
export const bodyOf = (reason: string): string => JSON.stringify({ error: { message: `indelible record: ${reason}` } })

/**
 * Resolve a path of the proxy.
 *
 * @param path a request's target, as received
 * @param start the beginning of each path of the proxy
 * @param upstreams the providers
 * @returns a URL below the provider's
 */
export const targetOf = (path: string, start: string, upstreams: readonly Upstream[]): Either<Refusal, Target> => {
  const [, name, rest = ''] =
    (path.startsWith(start) ? /^([^/?#]+)(.*)$/s.exec(path.slice(start.length)) : undefined) ?? []
  const upstream = upstreams.find((upstream) => upstream.name === name)
  if (upstream === undefined) return left({ status: 404, reason: `there is no provider at ${path}` })
  if (rest.includes('#')) return left({ status: 400, reason: 'the path contains a #, which no request may have' })
  if (parent.test(rest.replace(/\?.*$/s, '')))
    return left({ status: 400, reason: `the path leaves the address of ${upstream.name}: it contains ".."` })
  const base = URL.parse((upstream.urlOf === undefined ? upstream.url : upstream.urlOf(rest)) ?? '')
  const url = base && URL.parse(`${base.href.replace(/\/$/, '')}${rest}`)
  if (base === null || url === null || url.origin !== base.origin)
    return left({ status: 400, reason: `the path does not lead to an address of ${upstream.name}` })
  const below = base.pathname.replace(/\/$/, '') + rest
  return right({ url, path: below.startsWith('/') ? below : `/${below}` })
}

/** A path segment `..`, even if escaped. */
const parent = /(?:[/\\]|%2f|%5c)(?:\.|%2e){2}(?=$|[/\\;]|%2f|%5c|%3b)/i
