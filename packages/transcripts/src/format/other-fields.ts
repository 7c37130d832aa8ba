/** Picks fields of entries; those that the message model lacks are kept in `meta` under the name of their format. */
import { ownField, type JsonObject } from 'indelible/internal/json'
import type { Message, Meta } from 'indelible/message'
import type { TranscriptFormat } from '../transcript.ts'

export const withOtherFields = (message: Message, format: TranscriptFormat, beside: JsonObject): Message => ({
  ...message,
  meta: { ...ownField(message, 'meta'), [format]: beside },
})

/** Extra fields as `meta`; nothing if there are none. */
export const metaOf = (format: TranscriptFormat, others: JsonObject | undefined): { readonly meta?: Meta } =>
  others === undefined ? {} : { meta: { [format]: others } }

/**
 * The first line's fields, with those of the other lines under `others`. If the first line has a
 * field `others` of its own, its fields move under `entry`.
 */
export const withOtherLines = (own: JsonObject, others: readonly JsonObject[]): JsonObject =>
  others.length === 0 ? own : { ...('others' in own ? { entry: own } : own), others }

/** The fields of a value with these names. */
export const pickFields = (value: JsonObject, fields: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([field]) => fields.includes(field)))
