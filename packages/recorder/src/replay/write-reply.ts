/** Writes a recorded reply as a provider would send it: status, headers, and the body in pieces. */
import { isObject, type Json } from 'indelible/internal/json'
import { bodyIn, hasAnswer } from '../answers/answer.ts'
import { bodyFrom } from '../answers/answer-body.ts'
import type { RecordedApi, Wire } from '../apis/index.ts'
import { eventsOf, type StreamEvent } from './events.ts'
import type { WholeReply } from './recorded-calls.ts'
import type { ReplayRequest } from './replay.ts'
import { withFolder } from './work-folder.ts'

/** A reply on the wire. */
export interface WrittenReply {
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly pieces: readonly string[]
  /** Why the connection breaks after the pieces; undefined if it does not. */
  readonly cut: string | undefined
}

export const writeReply = (reply: WholeReply, request: ReplayRequest): WrittenReply => {
  const { status, retryAfter, cut } = reply
  const { api, url, stream, folders } = request
  const moved = (text: string): string => {
    if (folders === undefined) return text
    return withFolder(text, folders.recorded, folders.now)
  }
  const headers = (type: string): WrittenReply['headers'] => ({
    'content-type': type,
    ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
  })
  const body = bodyOf(reply, api.name)
  const isText = typeof body === 'string' && reply.events === undefined
  const isWhole = body !== null && (!stream || Array.isArray(body))
  if (isText || status >= 400 || isWhole) {
    const isJson = typeof body !== 'string' || typeof bodyIn(body) !== 'string'
    // An error has no envelope.
    const text = typeof body === 'string' ? body : JSON.stringify(status >= 400 ? body : wrapped(body, url))
    const type = isJson ? 'application/json' : 'text/plain; charset=utf-8'
    return { status, headers: headers(type), pieces: [moved(text)], cut }
  }
  const events = reply.events ?? madeEvents(reply, body as Wire, request)
  if (api.name === 'gemini' && !/[?&]alt=sse\b/.test(url)) {
    const list = events.map(({ data }, at) => `${at === 0 ? '[' : ',\n'}${wrappedText(data, url)}`)
    const pieces = [...list, ...(cut === undefined ? [events.length === 0 ? '[]' : ']'] : [])]
    return { status, headers: headers('application/json'), pieces: pieces.map(moved), cut }
  }
  const pieces = events.map(({ event, data }) => {
    const name = event === undefined ? '' : `event: ${event}\n`
    return moved(`${name}data: ${wrappedText(data, url)}\n\n`)
  })
  return { status, headers: headers('text/event-stream'), pieces, cut }
}

const bodyOf = ({ body, message }: WholeReply, api: RecordedApi): Json =>
  message === undefined
    ? body
    : (bodyFrom(
        { api, messages: [message], model: undefined, id: message.id, stop: undefined, usage: undefined, request: {} },
        [],
      ) as Json)

/** The events of a body, and the one that reports an error. */
const madeEvents = (
  reply: WholeReply,
  body: Wire | null,
  { api, countsTokens }: ReplayRequest,
): readonly StreamEvent[] => {
  const { event, cut, isOpen } = reply
  const isCut = cut !== undefined || event !== undefined || isOpen === true
  const { error, ...content } = body ?? {}
  const isWhole = event === undefined || error === null
  const events =
    body === null || (event !== undefined && !hasAnswer(api, content as Json))
      ? []
      : eventsOf(api.name, isWhole ? body : content, { isCut, countsTokens })
  if (event === undefined) return events
  const type = isObject(event) ? event['type'] : undefined
  return [...events, { ...(typeof type === 'string' && { event: type }), data: JSON.stringify(event) }]
}

/** Whether the answers of a URL are in an envelope, as those of Code Assist, which Gemini CLI uses for users who log in. */
export const isWrapped = (url: string): boolean => /\/v\d+\w*:(?:stream)?generateContent(?:\?|$)/i.test(url)

const wrapped = (body: Json, url: string): Json => (isWrapped(url) ? { response: body } : body)

const wrappedText = (data: string, url: string): string => (isWrapped(url) ? `{"response":${data}}` : data)
