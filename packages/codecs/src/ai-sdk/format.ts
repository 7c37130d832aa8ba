/** The two formats of `ai`. A field kept by one is written by the other if it has a name for it. */
import type { JsonObject } from 'indelible/internal/json'
import type { Message, Part } from 'indelible/message'
import { residualOf, restoreResidual, type MutableObject } from 'indelible/internal/codecs'

export const format = 'ai-sdk'
export const uiFormat = 'ai-sdk-ui'

/** Fields kept by one format, with their names in the other. */
export type Names = { readonly [theirs: string]: string }

/** Writes the fields that the format `from` kept with a message or part. Modifies and returns `written`. */
export const translate = (written: MutableObject, owner: Message | Part, from: string, names: Names): MutableObject => {
  const fields = residualOf(from, owner)?.fields
  return fields === undefined ? written : restoreResidual(written, { fields: renameFields(fields, names) })
}

const renameFields = (fields: JsonObject, names: Names): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (names[name] === undefined ? [] : [[names[name], value]])),
  )
