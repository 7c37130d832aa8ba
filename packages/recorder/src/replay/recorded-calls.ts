/**
 * A recorded call as replay needs it, from a session of a store or from a file.
 *
 * A source returns its calls in the order in which they were sent. Requests are as `parseRequestBody` (`../wire.ts`)
 * returns them: without cache marks and without keys, and in the form in which they were recorded (redacted, if they
 * were). The same message of two calls should be the same object: then it is digested once, and 1,000 growing calls
 * cost no more than their messages.
 */
import type { Immutable, Json, JsonObject } from 'indelible/internal/json'
import type { Message, ToolCallPart } from 'indelible/message'
import type { ReceiptNote } from 'indelible/internal/notes'
import type { RecordedApi } from '../apis/index.ts'

/** A recorded call. */
export interface RecordedCall {
  /** Its name in a sentence: `call 3 of session "s1"`, `call 3 of answers.json`. */
  readonly name: string
  readonly request: RecordedRequestFacts
  /** The answer as a later request of OpenAI's Responses continues it (`previous_response_id`), if it has an id. */
  readonly response?: { readonly id: string; readonly messages: readonly Immutable<Message>[] }
  /** The answer, read when it is asked for. It may be asked for again. */
  readonly answer: () => Promise<RecordedReply>
}

/** The request of a recorded call. A field that is undefined is unknown (an imported session), and equals every value. */
export interface RecordedRequestFacts {
  readonly api: RecordedApi | undefined
  readonly model: string | undefined
  /** `null`: the request had none. */
  readonly system: Json | undefined
  /** `null`: the request had none. */
  readonly tools: Json | undefined
  /** All other fields of the request, without `stream` and `stream_options`. */
  readonly parameters: JsonObject | undefined
  readonly messages: readonly Immutable<Message>[]
  /** The response that it continues, if `messages` has only those after it. */
  readonly previous?: string
}

/** What came back. */
export type RecordedReply =
  | WholeReply
  /** Nothing came: the connection failed, or the client gave up before the first byte. */
  | { readonly _tag: 'NoReply'; readonly error: string }
  /** It can't be answered again: erased, damaged, or recorded without content. `reason` is a clause. */
  | { readonly _tag: 'NotReplayable'; readonly reason: string }

/** An answer, with its status and its body, or with the part of it that came. */
export interface WholeReply {
  readonly _tag: 'Reply'
  readonly status: number
  /** `retry-after`, the one header that is kept beside `content-type`. */
  readonly retryAfter?: string
  /**
   * The body as the provider sends it whole (JSON, or a text that is no JSON). An answer that was streamed is written as
   * events of it, unless `events` has the recorded ones.
   */
  readonly body: Json
  /** The answer of a call whose API is unknown: its body is written in the format of the request. `body` is then null. */
  readonly message?: Immutable<Message>
  /** What a run noted of that call. */
  readonly receipt?: Pick<ReceiptNote, 'usage' | 'model'>
  /** The event with which a stream reports its error, after the content of its body. */
  readonly event?: Json
  /** The recorded events of a stream: the text of each `data:` field, with `event:` where it differs from its `type`. */
  readonly events?: readonly { readonly event?: string; readonly data: string }[]
  /** Why it broke off, if it did: the reply ends with this failure after its content. */
  readonly cut?: string
  /** Whether a stream ended without the events that end it, and without a failure. */
  readonly isOpen?: true
  /** Milliseconds until the first byte, and until the end, for `pace: 'recorded'`. */
  readonly firstByte: number
  readonly duration: number
}

/** The settings of a call of which only the messages are known. */
export const unknownSettings: { readonly [name in 'api' | 'model' | 'system' | 'tools' | 'parameters']: undefined } = {
  ...{ api: undefined, model: undefined, system: undefined, tools: undefined, parameters: undefined },
}

/** The mark of a redacted secret, which a tool must not be called with. */
export const redactionMark: RegExp = /\[redacted [^\]]+, \d+ characters\]/

/** Why an answer with such a call can't be given again. */
export const redactedArguments = ({ name }: Pick<ToolCallPart, 'name'>): string =>
  `the arguments of its call of ${JSON.stringify(name)} were redacted`
