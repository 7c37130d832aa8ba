/** Reads a provider's answer from its body or stream: the message, its usage, and how it ended. */
import { createParser } from 'eventsource-parser'
import { admit, endOfString, isLeft, isObject, parseJson, type Json } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Usage } from 'indelible/internal/notes'
import { reasonOf } from 'indelible/internal/task'
import { mostPlain } from './body.ts'
import { streamEvent, type StreamEvent } from './stream-lines.ts'
import { errorIn, type Api, type StreamState, type Wire } from './apis/index.ts'

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
  /** The body, of a stream as if it had been sent whole; a text if it is no JSON. Undefined if nothing came. */
  readonly body: Json | undefined
  /** The event of a stream that reports its error. */
  readonly event: Json | undefined
  /** The events of a stream, if they are wanted. */
  readonly events: readonly StreamEvent[] | undefined
}

/** Reads an answer chunk by chunk. Never throws. */
export class AnswerReader {
  readonly #api: Api
  readonly #streams: boolean
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
  readonly #state: StreamState
  #body = ''
  #length = 0
  /** Why the rest is not read. */
  #unread: string | undefined
  /** The event that reports an error. */
  #errorEvent: Wire | undefined

  constructor(api: Api, contentType: string | undefined, wantsEvents: boolean = false) {
    this.#api = api
    this.#events = wantsEvents ? [] : undefined
    this.#streams = contentType?.includes('event-stream') ?? false
    this.#state = api.stream()
  }

  take(bytes: Uint8Array): void {
    if (this.#unread !== undefined) return
    this.#length += bytes.length
    try {
      if (this.#length > mostPlain) throw new Error(`it is longer than ${mostPlain} bytes`)
      const text = this.#decoder.decode(bytes, { stream: true })
      if (this.#streams) this.#parser.feed(text)
      else this.#body += text
    } catch (cause) {
      // For example, the body is longer than a string can be.
      this.#unread = `the answer can't be read: ${reasonOf(cause)}`
      this.#body = ''
    }
  }

  /** The answer to a conversation. It is complete if its text says so, even if the connection broke. */
  end(after: readonly Message[] = []): RecordedAnswer {
    const rest = this.#decoder.decode()
    if (this.#streams) {
      this.#parser.feed(rest)
      this.#endEvents()
      return this.#answered(this.#state.wire, this.#state, after)
    }
    const body = this.#body + rest
    // Some servers stream under another type.
    if (/^\s*(?:data|event|id|retry)?:/.test(body)) {
      this.#parser.feed(body)
      this.#endEvents()
      return this.#answered(this.#state.wire, this.#state, after)
    }
    if (this.#api.chunks === true) return this.#ofChunks(body, after)
    const parsed = parseJson(body)
    const wire = !isLeft(parsed) && isObject(parsed.right) ? (parsed.right as Wire) : undefined
    return this.#answered(wire, { ended: wire !== undefined, error: errorIn(wire) }, after, body)
  }

  /** Reads the last event, even if it is not complete. A client does not read such an event, so it is not kept. */
  #endEvents(): void {
    this.#isOver = true
    this.#parser.feed('\n\n')
  }

  /** Reads a single chunk, or a list of them that may be incomplete. */
  #ofChunks(body: string, after: readonly Message[]): RecordedAnswer {
    const isList = body.trimStart().startsWith('[')
    for (const text of isList ? objectsOf(body) : [body]) this.#event(text)
    const { wire, ended, error } = this.#state
    const state = { ended: isList ? ended : wire !== undefined, error }
    if (!isList) return this.#answered(wire, state, after, body)
    const list = parseJson(body)
    return this.#answered(wire, state, after, undefined, isLeft(list) ? undefined : (list.right as Json))
  }

  #event(data: string): void {
    if (this.#state.error !== undefined) return // clients stop at an error, too
    if (data === '[DONE]') return this.#state.done?.()
    const parsed = parseJson(data)
    if (isLeft(parsed) || !isObject(parsed.right)) return
    this.#state.take(parsed.right as Wire)
    const again = this.#state.error === undefined ? parsed : parseJson(data) // the state changes what it takes
    if (this.#state.error !== undefined && !isLeft(again)) this.#errorEvent = again.right as Wire
  }

  #answered(
    wire: Wire | undefined,
    state: Pick<StreamState, 'ended' | 'error'>,
    after: readonly Message[],
    text?: string,
    list?: Json,
  ): RecordedAnswer {
    const { ended, error = this.#unread } = state
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
      usage: wire && this.#api.usage(wire),
      tier: wire && tierOf(this.#api.tier?.(wire)),
      model: wire && this.#api.model(wire),
      stop: wire && this.#api.stop(wire),
      id: wire && this.#api.id(wire),
      error:
        error ??
        (decoded !== undefined && isLeft(decoded) ? `the answer can't be read: ${decoded.left._tag}` : undefined),
      // A list without a message, such as that of an error, is not what its chunks are together.
      body: jsonOf(messages.length === 0 && list !== undefined ? list : (wire ?? (text === '' ? undefined : text))),
      event: jsonOf(this.#errorEvent),
      events: this.#events?.length === 0 ? undefined : this.#events,
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

/** The texts of the objects in a list, without an incomplete last one. */
const objectsOf = (list: string): readonly string[] => {
  const found: string[] = []
  let depth = 0
  let from = 0
  const token = /["{}]/g
  for (let sign = token.exec(list); sign !== null; sign = token.exec(list)) {
    // Texts are skipped; outside of them, only braces count.
    if (sign[0] === '"') token.lastIndex = (endOfString(list, token.lastIndex) ?? list.length) + 1
    else if (sign[0] === '{' && depth++ === 0) from = sign.index
    else if (sign[0] === '}' && --depth === 0) found.push(list.slice(from, token.lastIndex))
  }
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

const tierOf = (tier: string | undefined): string | undefined =>
  tier === undefined || ['standard', 'default', 'auto', ''].includes(tier) || !/^\w{1,20}$/.test(tier)
    ? undefined
    : tier
