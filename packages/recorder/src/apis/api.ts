/** The wire format of an API: its requests and answers. */
import type { Either } from 'fp-ts/lib/Either.js'
import type { CodecFault, Decoded } from 'indelible/codecs'
import { ownField, isObject, type Json, type JsonObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { ListReading, UsageCounts } from 'indelible/internal/codecs'

/** The APIs whose calls are recorded. */
export type RecordedApi = 'openai-chat' | 'openai-responses' | 'anthropic' | 'gemini'

/** A JSON object on the wire. */
export type Wire = { [field: string]: unknown }

export interface Request {
  readonly model: unknown
  /** The messages, or what else is in their place. */
  readonly list: unknown
  /** `system` or `instructions`; undefined if there is none. */
  readonly system: Json | undefined
  readonly tools: Json | undefined
  readonly parameters: JsonObject
  /** The response that it continues, if the API stores conversations. */
  readonly previous: unknown
  /** The conversation that it continues, if the API stores earlier messages under a name. */
  readonly conversation?: unknown
  /** The client's name for the conversation, if the API has a field for it. */
  readonly client?: unknown
}

export interface Api {
  readonly name: RecordedApi
  /** Matches the end of a call's path. */
  readonly path: RegExp
  readonly request: (body: JsonObject, path: string) => Request
  /** Decodes the `list` of a request. */
  readonly decode: (list: unknown) => Either<CodecFault, Decoded>
  /** Begins to read a `list` in pieces. */
  readonly reading: () => ListReading
  /** Whether a non-streamed answer is a stream event, or a list of them. Default: it is their combined result. */
  readonly chunks?: true
  /** Joins the events of a stream into the body of the same answer that is not streamed. */
  readonly join: () => Joined
  /** An event without its envelope. Default: as it came. */
  readonly eventIn?: (event: Wire) => Wire
  /** The error that an event reports. */
  readonly errorOf: (event: Wire) => string | undefined
  /** Whether the mark `[DONE]` ends a stream that has no reason to stop. Default: it says nothing. */
  readonly endsWithMark?: true
  readonly messages: (answer: Wire, after: readonly Message[]) => Either<CodecFault, Decoded>
  /** The part of an answer that `messages` reads. */
  readonly content: (answer: Wire) => unknown
  /** The number of choices in an answer, of which only the first is recorded; 1 if all of it is recorded. */
  readonly choices: (answer: Wire) => number
  /** Tokens as the provider counted them. */
  readonly usage: (answer: Wire) => UsageCounts
  /** How the provider served the call, where that changes its price: `fast`, `batch`, `flex`, `priority`. */
  readonly tier?: (answer: Wire) => string | undefined
  readonly stop: (answer: Wire) => string | undefined
  readonly model: (answer: Wire) => string | undefined
  /** The id that a later request uses to continue it. */
  readonly id: (answer: Wire) => string | undefined
}

/** A stream so far. */
export interface Joined {
  /** Adds an event, which it may keep and change. */
  readonly take: (event: Wire) => unknown
  readonly body: Wire | undefined
  /** Whether its last event came. Default: if the body has a reason to stop. */
  readonly ended?: boolean
}

export const objectsIn = (list: unknown): readonly Wire[] =>
  Array.isArray(list) ? (list.filter(isObject) as Wire[]) : []

export const textIn = (wire: Wire | undefined, field: string): string | undefined => {
  const value = wire && ownField(wire, field)
  return typeof value === 'string' ? value.toWellFormed() : undefined
}

export const errorIn = (wire: Wire | undefined): string | undefined => {
  const error = wire && ownField(wire, 'error')
  if (error === undefined || error === null) return undefined
  const message = isObject(error) ? ownField(error, 'message') : error
  return typeof message === 'string' ? message : 'the provider gave an error without a message'
}

/** The model named in a path before its method: `…/models/MODEL:method`. */
export const modelIn = (path: string): string | undefined => {
  const last = path.slice(path.lastIndexOf('/') + 1)
  const colon = last.lastIndexOf(':')
  return colon < 1 ? undefined : last.slice(0, colon)
}
