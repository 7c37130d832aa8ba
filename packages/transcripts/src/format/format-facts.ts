/** What is known of every format, however its files are read. */
import { isObject, ownField, ownFields, type Json, type JsonObject, type Immutable } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { TranscriptFormat } from '../transcript.ts'

export interface FormatFacts {
  readonly format: TranscriptFormat
  /** The fields of an entry, or of a whole file, that show the format together: each list is enough. Default: none. */
  readonly signatures?: readonly (readonly string[])[]
  /**
   * Where a message has its time in the source, in its `meta` under the name of the format: as text, or in milliseconds since
   * 1970. The first place that has one counts. Default: `timestamp`.
   */
  readonly times?: readonly (readonly string[])[]
  /** Reads the counts of the call behind an answer. Default: there are none. */
  readonly countsOf?: CountsOf
}

/** What a source counts of a call. `fresh`: input tokens that were neither read from the cache nor written to it. */
export type Counted = {
  readonly [name in 'model' | 'fresh' | 'cacheRead' | 'cacheWrite' | 'output']: Json | undefined
} & {
  readonly cacheWriteHour?: Json | undefined
  /** How the call was served, where that changes its price. */
  readonly tier?: string | undefined
  readonly key?: string | undefined
}

/** What a source counts of the call behind an answer; undefined if it counts nothing for the message. */
export type CountsOf = (message: Message) => Counted | undefined

/** Reads the counts from a field of an answer's `meta`. */
export const countsIn =
  (name: string, read: (own: JsonObject, message: Message) => Counted | undefined): CountsOf =>
  (message) => {
    const own = message.role === 'assistant' ? metaIn(message, name) : undefined
    return own && read(ownFields(own), message)
  }

/** The time of a message in its source, in milliseconds since 1970. */
export const timeOf = (
  { format, times = [['timestamp']] }: FormatFacts,
  message: Pick<Message | Immutable<Message>, 'meta'>,
): number | undefined => {
  const own = metaIn(message, format)
  for (const path of own === undefined ? [] : times) {
    const time = millisecondsOf(valueAt(own as JsonObject, path))
    if (time !== undefined) return time
  }
  return undefined
}

const metaIn = (message: Pick<Message | Immutable<Message>, 'meta'>, name: string): JsonObject | undefined => {
  const meta = ownField(message, 'meta')
  const own = meta === undefined ? undefined : ownField(meta as JsonObject, name)
  return isObject(own) ? own : undefined
}

const valueAt = (own: JsonObject, path: readonly string[]): Json | undefined => {
  let value: Json | undefined = own
  for (const key of path) value = isObject(value) ? ownField(value, key) : undefined
  return value
}

const millisecondsOf = (time: Json | undefined): number | undefined => {
  const milliseconds = typeof time === 'string' ? Date.parse(time) : time
  return typeof milliseconds === 'number' && Number.isInteger(milliseconds) && Math.abs(milliseconds) <= 8.64e15
    ? milliseconds
    : undefined
}
