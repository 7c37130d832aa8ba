/** The two formats of `ai`. What one of them keeps, the other says where it has a name for it. */
import type { JsonObject } from '../../json/index.ts'
import type { Message, Part } from '../../message/index.ts'
import { keptBy, restore, type Fresh } from '../residual.ts'

export const format = 'ai-sdk'
export const uiFormat = 'ai-sdk-ui'

/** Names of fields that are kept by one format, and what the other calls them. */
export type Names = { readonly [theirs: string]: string }

/** Say what the format `from` kept with a message or part. Changes and returns `written`. */
export const translate = (written: Fresh, owner: Message | Part, from: string, names: Names): Fresh => {
  const fields = keptBy(from, owner)?.fields
  return fields === undefined ? written : restore(written, { fields: renameFields(fields, names) })
}

const renameFields = (fields: JsonObject, names: Names): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => (names[name] === undefined ? [] : [[names[name], value]])),
  )
