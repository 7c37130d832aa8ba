/** Headers for forwarding: without hop-by-hop headers, and with the proxy's own framing. */
import type { IncomingMessage } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'indelible/internal/json'
import type { Refusal } from './target.ts'

/**
 * Hop-by-hop headers, and those that frame a body. `expect` is included because the proxy itself
 * answers with 100. Source: RFC 9110, sections 7.6.1 and 10.1.1
 */
const hopByHopHeaders: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The header that marks the end of a body; empty if there is no body. */
type Framing = { readonly [name in 'transfer-encoding' | 'content-length']?: string }

/** The framing of a forwarded request's body, for any method. */
export const framingOf = ({ method, headers }: IncomingMessage): Either<Refusal, Framing> => {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'chunked')
    return left({ status: 501, reason: `the transfer-encoding ${JSON.stringify(encoding)} can't be forwarded` })
  if (method === 'TRACE' && (encoding !== undefined || Number(length) > 0))
    return left({ status: 400, reason: 'a TRACE request has no body' })
  if (encoding !== undefined) return right({ 'transfer-encoding': 'chunked' })
  return right(length === undefined ? {} : { 'content-length': length })
}

/** The headers of a request as received, except hop-by-hop headers, `host` and the framing. */
export const headersFor = (
  incoming: IncomingMessage,
  host: string,
  framing: Framing,
): { [name: string]: string | string[] } => {
  const headers = new Map<string, readonly [name: string, values: readonly string[]]>()
  for (const [name, value] of forwardedHeaders(incoming)) {
    const lower = name.toLowerCase()
    if (lower === 'host' || lower === 'content-length') continue
    const [written, values] = headers.get(lower) ?? [name, []]
    headers.set(lower, [written, [...values, value]])
  }
  const sent = [...headers.values()].map(([name, values]) => [name, values.length === 1 ? values[0] : values] as const)
  return Object.fromEntries([...sent, ...Object.entries(framing), ['host', host]]) as {
    [name: string]: string | string[]
  }
}

/** The headers of an answer as received, except hop-by-hop headers: names and values alternating. */
export const answerHeaders = (answer: IncomingMessage): string[] => forwardedHeaders(answer).flat()

/**
 * The trailers of a chunked body as received, except fields that are not allowed there. Node rejects framing fields.
 */
export const trailersOf = ({ rawTrailers }: IncomingMessage): [name: string, value: string][] =>
  pairs(rawTrailers).flatMap(([name, value]): [string, string][] => {
    const lower = name.toLowerCase()
    return hopByHopHeaders.has(lower) || lower === 'host' ? [] : [[name, value]]
  })

/** The headers to forward: not hop-by-hop, neither by name nor because `connection` lists them. */
const forwardedHeaders = (message: IncomingMessage): readonly (readonly [name: string, value: string])[] => {
  const named = new Set((message.headers.connection ?? '').toLowerCase().split(/[\s,]+/))
  return pairs(message.rawHeaders).filter(([name]) => {
    const lower = name.toLowerCase()
    return !hopByHopHeaders.has(lower) && !named.has(lower)
  })
}

/** Pairs of names and values. */
export const pairs = (raw: readonly string[]): readonly (readonly [name: string, value: string])[] =>
  Array.from({ length: raw.length / 2 }, (_, index) => [raw[index * 2] as string, raw[index * 2 + 1] as string])

/** The value of a header, by its lower-case name. */
export const headerOf = ({ headers }: IncomingMessage, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The reason phrase of a status, without characters that can't be sent. */
export const reasonIn = ({ statusMessage = '' }: IncomingMessage): string =>
  statusMessage.replaceAll(/[^\t -~\u0080-\u00ff]/g, ' ')
