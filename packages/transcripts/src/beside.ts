/** What lines say beside the message that they make, kept in its `meta` under the name of their format. */
import { ownField, type JsonObject } from 'indelible/json/kit'
import type { Message, Meta } from 'indelible/message'
import type { TranscriptFormat } from './transcript.ts'

export const withBeside = (message: Message, format: TranscriptFormat, beside: JsonObject): Message => ({
  ...message,
  meta: { ...ownField(message, 'meta'), [format]: beside },
})

/** What something says beside what is read of it; nothing, if that is all. */
export const metaOf = (format: TranscriptFormat, others: JsonObject | undefined): { readonly meta?: Meta } =>
  others === undefined ? {} : { meta: { [format]: others } }

/**
 * What the first line says, and what the others say under `others`. Where the first has a field of that name itself, it
 * stands under `entry`.
 */
export const withOthers = (own: JsonObject, others: readonly JsonObject[]): JsonObject =>
  others.length === 0 ? own : { ...('others' in own ? { entry: own } : own), others }
