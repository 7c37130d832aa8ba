/** Reads a provider's answer from its body or stream: the message, its usage, and how it ended. */
import { createParser } from 'eventsource-parser'
import { admit, isLeft, isObject, ownFields, parseJson, scanJson, type Json } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { UsageCounts } from 'indelible/internal/codecs'
import type { Usage } from 'indelible/internal/notes'
import { reasonOf } from 'indelible/internal/task'
import { mostPlain } from './body.ts'
import { streamEvent, type StreamEvent } from './stream-lines.ts'
import { errorIn, type Api, type Wire } from '../apis/index.ts'

/** An answer, as far as it was received. */
export interface RecordedAnswer {
  readonly messages: readonly Message[]
  readonly whole: boolean
  /** The number of choices that the provider sent, if more than one: `messages` has the first. */
  readonly choices: number | undefined
  readonly usage: Usage | undefined
  /** How the provider served the call, if that changes its price. */
  readonly tier: string | undefined
  /** The model that answered, if reported. */
  readonly model: string | undefined
  readonly stop: string | undefined
  /** The id that a later request uses to continue it. */
  readonly id: string | undefined
  /** The error that the provider reports. */
  readonly error: string | undefined
  /** The body, of a stream as if it had been sent whole; a text if it is no object or list of JSON. */
  readonly body: Json | undefined
  /** Whether `body` is that of a stream. */
  readonly isStream: boolean
  /** The event of a stream that reports its error. */
  readonly event: Json | undefined
  /** The events of a stream, if they are wanted. */
  readonly events: readonly StreamEvent[] | undefined
}

/** The most characters of a stream to keep as text, for one without events. */
const mostText = 2 ** 16

/** Reads an answer chunk by chunk. Never throws. */
export class AnswerReader {
  readonly #api: Api
  readonly #streams: boolean
  readonly #isError: boolean
  readonly #decoder = new TextDecoder()
  readonly #parser = createParser({
    onEvent: ({ event, data }) => {
      if (!this.#isOver) this.#events?.push(streamEvent(event, data))
      this.#event(data)
    },
  })
  /** The complete events, if they are wanted. */
  readonly #events: StreamEvent[] | undefined
  #isOver = false
  readonly #joined: ReturnType<Api['join']>
  /** The error that the stream reports. Clients stop there, too. */
  #error: string | undefined
  #hasMark = false
  /** Of a stream, its beginning. */
  #text = ''
  #length = 0
  /** Why the rest is not read. */
  #unread: string | undefined
  /** The event that reports an error. */
  #errorEvent: Wire | undefined

  /**
   * @param contentType `content-type` of the answer
   * @param options `isError`: its status is that of an error, whose body is no stream, whatever it is called. `wantsEvents`:
   * the events of a stream are wanted
   */
  constructor(
    api: Api,
    contentType: string | undefined,
    { isError = false, wantsEvents = false }: { readonly isError?: boolean; readonly wantsEvents?: boolean } = {},
  ) {
    this.#api = api
    this.#isError = isError
    this.#events = wantsEvents && !isError ? [] : undefined
    this.#streams = !isError && (contentType?.includes('event-stream') ?? false)
    this.#joined = api.join()
  }

  take(bytes: Uint8Array): void {
    if (this.#unread !== undefined) return
    this.#length += bytes.length
    try {
      if (this.#length > mostPlain) throw new Error(`it is longer than ${mostPlain} bytes`)
      this.#add(this.#decoder.decode(bytes, { stream: true }))
    } catch (cause) {
      // For example, the body is longer than a string can be.
      this.#unread = `the answer can't be read: ${reasonOf(cause)}`
      this.#text = ''
    }
  }

  #add(text: string): void {
    if (this.#streams) this.#parser.feed(text)
    if (!this.#streams || this.#text.length < mostText) this.#text += text
  }

  /** The answer to a conversation. It is complete if its text says so, even if the connection broke. */
  end(after: readonly Message[] = []): RecordedAnswer {
    this.#add(this.#decoder.decode())
    const text = this.#text
    // Some servers stream under another type.
    if (this.#streams || isEventText(text)) {
      if (!this.#streams) this.#parser.feed(text)
      this.#isOver = true // a client does not read an event that is not complete, so it is not kept
      this.#parser.feed('\n\n')
      const { body } = this.#joined
      const isStream = !this.#isError && (body !== undefined || this.#errorEvent !== undefined)
      return this.#answered(body, this.#hasEnded, this.#error, after, isStream ? body : text, isStream)
    }
    const body = bodyIn(text)
    if (this.#api.chunks !== true) {
      const wire = isObject(body) ? (body as Wire) : undefined
      return this.#answered(wire, wire !== undefined, errorIn(wire), after, body)
    }
    // A single chunk, or a list of them that may be incomplete.
    const isList = text.trimStart().startsWith('[')
    for (const chunk of isList ? objectsOf(text) : [text]) this.#event(chunk)
    const wire = this.#joined.body
    return this.#answered(wire, isList ? this.#hasEnded : wire !== undefined, this.#error, after, body)
  }

  #event(data: string): void {
    if (this.#error !== undefined) return
    if (data === '[DONE]') return void (this.#hasMark = true)
    const parsed = parseJson(data)
    if (isLeft(parsed) || !isObject(parsed.right)) return
    const { eventIn, errorOf } = this.#api
    const event = eventIn === undefined ? (parsed.right as Wire) : eventIn(parsed.right as Wire)
    this.#error = errorOf(event)
    if (this.#error !== undefined) this.#errorEvent = structuredClone(parsed.right)
    this.#joined.take(event)
  }

  /** Whether the stream came whole. */
  get #hasEnded(): boolean {
    const { ended, body } = this.#joined
    return (
      ended ??
      ((body !== undefined && this.#api.stop(body) !== undefined) || (this.#hasMark && this.#api.endsWithMark === true))
    )
  }

  #answered(
    wire: Wire | undefined,
    ended: boolean,
    reported: string | undefined,
    after: readonly Message[],
    body: unknown,
    isStream = false,
  ): RecordedAnswer {
    const error = reported ?? this.#unread
    const decoded = wire && this.#api.messages(wire, after)
    const messages =
      wire === undefined || decoded === undefined
        ? []
        : isLeft(decoded)
          ? unreadMessages(this.#api.name, this.#api.content(wire))
          : decoded.right.messages
    const done = ended && error === undefined
    const choices = wire && this.#api.choices(wire)
    return {
      messages: done ? messages : interrupted(messages),
      whole: done,
      choices: choices !== undefined && choices > 1 ? choices : undefined,
      usage: wire && wholeUsage(this.#api.usage(wire)),
      tier: wire && tierOf(this.#api.tier?.(wire)),
      model: wire && this.#api.model(wire),
      stop: wire && this.#api.stop(wire),
      id: wire && this.#api.id(wire),
      error:
        error ??
        (decoded !== undefined && isLeft(decoded) ? `the answer can't be read: ${decoded.left._tag}` : undefined),
      // What has no message, such as the list of an error, may be more than its chunks are together.
      body: jsonOf(messages.length === 0 ? body : wire),
      isStream,
      event: jsonOf(this.#errorEvent),
      events: isStream ? this.#events : undefined,
    }
  }
}

declare const TextDecoder: new () => { decode: (bytes?: Uint8Array, options?: { readonly stream: boolean }) => string }

/** A value of the wire as plain JSON. */
const jsonOf = (value: unknown): Json | undefined => {
  if (value === undefined) return undefined
  const admitted = admit(value)
  return isLeft(admitted) ? undefined : admitted.right.value
}

/** A body as it is kept: an object or a list of JSON, or else its text. */
export const bodyIn = (text: string): Json => {
  const parsed = parseJson(text)
  return !isLeft(parsed) && typeof parsed.right === 'object' && parsed.right !== null ? (parsed.right as Json) : text
}

/** Whether a body looks like events of a stream. */
export const isEventText = (text: string): boolean => /^\s*(?:data|event|id|retry)?:/.test(text)

/** Whether a body has the content of an answer. */
export const hasAnswer = (api: Api, body: Json): boolean => isObject(body) && api.content(body as Wire) !== undefined

/** The texts of the objects in a list, without an incomplete last one. */
const objectsOf = (list: string): readonly string[] => {
  const found: string[] = []
  let depth = 0
  let from = 0
  scanJson(list, 0, (sign, index) => {
    if (sign === '{' && depth++ === 0) from = index
    else if (sign === '}' && --depth === 0) found.push(list.slice(from, index + 1))
    return false
  })
  return found
}

/** An interrupted answer as far as it came, marked; nothing if it has no content. A call may lack arguments. */
const interrupted = (messages: readonly Message[]): readonly Message[] =>
  messages.flatMap((message) => {
    const content = message.content.filter((part) => !(part.type === 'text' && part.text === ''))
    if (content.length === 0) return []
    return [{ ...message, content, meta: { ...message.meta, indelible: { interrupted: true } } }]
  })

/** An answer that the codec can't read, as it came. */
const unreadMessages = (api: string, content: unknown): readonly Message[] => {
  const admitted = admit(content ?? null)
  if (isLeft(admitted) || admitted.right.value === null) return []
  return [{ role: 'assistant', content: [{ type: 'provider', provider: `unread ${api}`, raw: admitted.right.value }] }]
}

/** Half of the counts would pass for all of them. */
const wholeUsage = (counts: UsageCounts): Usage | undefined => {
  const { input, output, ...others } = ownFields(counts)
  return input === undefined || output === undefined ? undefined : { input, output, ...others }
}

const tierOf = (tier: string | undefined): string | undefined =>
  tier === undefined || ['standard', 'default', 'auto', ''].includes(tier) || !/^\w{1,20}$/.test(tier)
    ? undefined
    : tier
