/** Headers as a proxy sends them on: without those between two neighbours, and with a framing of their own. */
import type { IncomingMessage } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import { left, right } from 'indelible/json/kit'
import type { Refusal } from './target.ts'

/**
 * Headers between two neighbours only, and those that frame a body. A proxy that answers with 100 itself expects no other.
 * Source: RFC 9110, sections 7.6.1 and 10.1.1
 */
const betweenNeighbours: ReadonlySet<string> = new Set([
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

/** The header that says where a body ends; no name if there is no body. */
export type Framing = { readonly [name in 'transfer-encoding' | 'content-length']?: string }

/** How the body of a forwarded request is framed, for any method. */
export const framingOf = ({ method, headers }: IncomingMessage): Either<Refusal, Framing> => {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers
  if (encoding !== undefined && encoding.trim().toLowerCase() !== 'chunked')
    return left({ status: 501, reason: `the transfer-encoding ${JSON.stringify(encoding)} can't be forwarded` })
  if (method === 'TRACE' && (encoding !== undefined || Number(length ?? 0) > 0))
    return left({ status: 400, reason: 'a TRACE request has no body' })
  if (encoding !== undefined) return right({ 'transfer-encoding': 'chunked' })
  return right(length === undefined ? {} : { 'content-length': length })
}

/** The headers of a request as they arrived, except hop-by-hop headers, `host` and the framing. */
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

/** The headers of an answer as they arrived, except hop-by-hop headers: names and values in turn. */
export const answerHeaders = (answer: IncomingMessage): string[] => forwardedHeaders(answer).flat()

/**
 * The trailers of a chunked body as they arrived, except fields that are not allowed there. Node refuses those that
 * frame.
 * Source: RFC 9110, section 6.5.1
 */
export const trailersOf = ({ rawTrailers }: IncomingMessage): [name: string, value: string][] =>
  pairs(rawTrailers).flatMap(([name, value]): [string, string][] => {
    const lower = name.toLowerCase()
    return betweenNeighbours.has(lower) || lower === 'host' ? [] : [[name, value]]
  })

/** The headers that are not for the next neighbour alone: those are known by name, or `connection` names them. */
const forwardedHeaders = (message: IncomingMessage): readonly (readonly [name: string, value: string])[] => {
  const named = new Set((message.headers.connection ?? '').toLowerCase().split(/[\s,]+/))
  return pairs(message.rawHeaders).filter(([name]) => {
    const lower = name.toLowerCase()
    return !betweenNeighbours.has(lower) && !named.has(lower)
  })
}

/** Names with their values. */
export const pairs = (raw: readonly string[]): readonly (readonly [name: string, value: string])[] =>
  Array.from({ length: raw.length / 2 }, (_, index) => [raw[index * 2] as string, raw[index * 2 + 1] as string])

/** One value of a header, by its name in lower case. */
export const headerOf = ({ headers }: IncomingMessage, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value.join(', ') : value
}

/** The words behind a status, without what can't be sent. */
export const reasonIn = ({ statusMessage = '' }: IncomingMessage): string =>
  statusMessage.replaceAll(/[^\t -~\u0080-\u00ff]/g, ' ')
