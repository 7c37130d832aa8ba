/**
 * What the error of a provider's client says: why the call failed, its HTTP status, and when the provider wants to be called
 * again. A run never waits for that: the client retries, and then the caller can.
 */
import { present } from '../../json/index.ts'
import { reasonOf } from '../../task/index.ts'

interface ModelFailure {
  readonly reason: string
  readonly status?: number
  /** In milliseconds. */
  readonly retryAfter?: number
}

export const modelFailureOf = (error: unknown): ModelFailure => {
  const { status, statusCode } = Object(error) as { readonly status?: unknown; readonly statusCode?: unknown }
  const found = status ?? statusCode
  return {
    reason: failureReason(error),
    ...(typeof found === 'number' && { status: found }),
    ...present({ retryAfter: retryAfterOf(error) }),
  }
}

/**
 * The message of an error, followed by those of its causes: `Connection error: fetch failed: connect ECONNREFUSED
 * 127.0.0.1:80`. Never throws.
 */
export const failureReason = (error: unknown): string => {
  const reasons: string[] = []
  let next: unknown = error
  for (let depth = 0; depth < maxDepth && next !== undefined && next !== null; depth++) {
    const reason = messageOf(next).replace(/\.$/, '')
    if (reason !== '' && !reasons.some((known) => known.includes(reason))) reasons.push(reason)
    next = fieldOf(next, 'cause')
  }
  return reasons.length <= 1 ? reasonOf(error) : reasons.join(': ')
}

const maxDepth = 6

const messageOf = (error: unknown): string => {
  const several = fieldOf(error, 'errors') // of an AggregateError: one for each address that was tried
  if (Array.isArray(several) && several.length > 0) return [...new Set(several.slice(0, 4).map(reasonOf))].join('; ')
  const reason = reasonOf(error)
  const [address, port] = ['remoteAddress', 'remotePort'].map((name) => fieldOf(fieldOf(error, 'socket'), name))
  return typeof address === 'string' && !reason.includes(address) ? `${reason} (${address}:${String(port)})` : reason
}

const fieldOf = (value: unknown, name: string): unknown => {
  try {
    return typeof value === 'object' && value !== null
      ? (value as { readonly [name: string]: unknown })[name]
      : undefined
  } catch {
    return undefined // a getter of a foreign error threw
  }
}

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
