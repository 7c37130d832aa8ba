/**
 * Reads when a provider wants to be called again. A run never waits for it: the provider's client retries, and then the caller
 * can, by `retryAfter` of the fault.
 */

/**
 * The milliseconds to wait before a retry, from the headers of a provider client's error:
 * `retry-after-ms`, or `retry-after` in seconds or as a date. Undefined if there is no valid time.
 *
 * Source  RFC 9110, 10.2.3; OpenAI and Anthropic send `retry-after-ms` too (2026-11)
 */
export const retryAfterOf = (cause: unknown, now: () => number = Date.now): number | undefined => {
  const found = headersOf(cause)
  if (found === undefined) return undefined
  const exact = Number(found('retry-after-ms') ?? Number.NaN)
  if (isDelay(exact)) return Math.ceil(exact)
  const text = found('retry-after')?.trim() ?? ''
  const delay = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - now()
  return isDelay(delay) ? Math.ceil(delay) : Number.isFinite(delay) ? 0 : undefined
}

const isDelay = (value: number): boolean => Number.isFinite(value) && value >= 0

type Header = (name: string) => string | undefined

/** `headers` in OpenAI's and Anthropic's clients; `responseHeaders` in `ai`, under `lastError` if it retried. */
const headersOf = (cause: unknown, depth = 3): Header | undefined => {
  if (typeof cause !== 'object' || cause === null || depth === 0) return undefined
  const { headers, responseHeaders, lastError, cause: inner } = cause as { readonly [field: string]: unknown }
  const own = headers ?? responseHeaders
  if (typeof own !== 'object' || own === null) return headersOf(lastError ?? inner, depth - 1)
  if ('get' in own && typeof own.get === 'function') {
    const all = own as { readonly get: (name: string) => unknown }
    return (name) => textOf(all.get(name))
  }
  const all = Object.entries(own as object)
  return (name) => textOf(all.find(([key]) => key.toLowerCase() === name)?.[1])
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
