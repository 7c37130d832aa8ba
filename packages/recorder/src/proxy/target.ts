/** The target of a call: the provider that its path names, and the path there. */
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'indelible/json/kit'

/** A provider: the first part of the proxy's path, and the address that replaces it. */
export interface Upstream {
  /** The first part of the path. */
  readonly name: string
  /** Without a slash at its end. */
  readonly url: string
  /** The address by the rest of a path, where it depends on it; undefined: there is none. Default: `url`. */
  readonly urlOf?: (path: string) => string | undefined
}

/** The target of a call. */
export interface Target {
  /** The whole address. */
  readonly url: URL
  /** The path and the query as the client wrote them, behind the path of the provider's address. */
  readonly path: string
}

/** The reason why a request is not forwarded, with the status of the answer. */
export interface Refusal {
  readonly status: number
  readonly reason: string
}

/** The response body for a refused request. */
export const bodyOf = (reason: string): string => JSON.stringify({ error: { message: `indelible record: ${reason}` } })

/**
 * Where a path of the proxy leads.
 *
 * @param path a request's target, as it came
 * @param start the beginning of each path of the proxy @param upstreams the providers
 * @returns an address below that of its provider
 */
export const targetOf = (path: string, start: string, upstreams: readonly Upstream[]): Either<Refusal, Target> => {
  const [, name, rest = ''] =
    (path.startsWith(start) ? /^([^/?#]+)(.*)$/s.exec(path.slice(start.length)) : undefined) ?? []
  const upstream = upstreams.find((one) => one.name === name)
  if (upstream === undefined) return left({ status: 404, reason: `no provider stands at ${path}` })
  if (rest.includes('#')) return left({ status: 400, reason: 'the path has a #, which no request may send' })
  if (parent.test(rest.replace(/\?.*$/s, '')))
    return left({ status: 400, reason: `the path leaves the address of ${upstream.name}: it has a part ".."` })
  const base = URL.parse((upstream.urlOf === undefined ? upstream.url : upstream.urlOf(rest)) ?? '')
  const url = base && URL.parse(`${base.href.replace(/\/$/, '')}${rest}`)
  if (base === null || url === null || url.origin !== base.origin)
    return left({ status: 400, reason: `the path stands for no address of ${upstream.name}` })
  const below = base.pathname.replace(/\/$/, '') + rest
  return right({ url, path: below.startsWith('/') ? below : `/${below}` })
}

/** A part `..` of a path, also where its signs are escaped. */
const parent = /(?:[/\\]|%2f|%5c)(?:\.|%2e){2}(?=$|[/\\;]|%2f|%5c|%3b)/i
