/**
 * Decides which requests a local server accepts, because pages of other sites can make a browser send requests to it.
 */

/** Whether an address reaches this machine only. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)

/** Headers by lower-case name. */
export interface GuardedHeaders {
  readonly [name: string]: string | readonly string[] | undefined
}

/**
 * The reason to refuse a request; undefined if it is accepted. A page of another site can make a
 * browser send requests here, and can resolve its own name to this address (DNS rebinding). So the
 * host must be a name that no such site can have, and an `origin` must be this server.
 *
 * Source  https://fetch.spec.whatwg.org/#origin-header, https://www.w3.org/TR/fetch-metadata/
 *
 * @param listened the host that the server listens on
 */
export const whyRefused = (headers: GuardedHeaders, listened: string, machine: string): string | undefined => {
  const { host, origin } = headers
  if (typeof host !== 'string' || !isOwnName(host, listened, machine))
    return `the host ${JSON.stringify(host)} is not this server`
  if (origin !== undefined && origin !== `http://${host}`) return `the origin ${JSON.stringify(origin)} is another site`
  const site = headers['sec-fetch-site']
  return site === undefined || site === 'same-origin' || site === 'none'
    ? undefined
    : 'the request comes from another site'
}

/** Whether a `host` header names what no other site can have: an address, this machine, or the listened name. */
const isOwnName = (input: string, listened: string, machine: string): boolean => {
  const found = /^(\[[\da-f:.]+\]|[^:[\]]+)(?::\d{1,5})?$/i.exec(input)
  if (found === null) return false
  const name = (found[1] as string).toLowerCase()
  if (isLoopback(name) || name === listened.toLowerCase()) return true
  if (isLoopback(listened)) return false
  return name.startsWith('[') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name) || name === machine.toLowerCase()
}
