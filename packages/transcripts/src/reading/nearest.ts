/** For a value in no known format: the formats that it is most like, and what it lacks of them. */
import { isObject } from 'indelible/internal/json'
import { formats } from '../programs/formats.ts'

/** The fields of a message of a chat, and of a request. */
const ofChats = {
  format: 'openai-chat',
  signatures: [
    ['role', 'content'],
    ['messages', 'model'],
  ],
} as const

/** A clause for a fault, such as `nearest is cline, which also has "role"`; empty if nothing is near. */
export const nearestText = (value: unknown): string => {
  const entry = Array.isArray(value) ? (value as readonly unknown[]).find(isObject) : value
  if (!isObject(entry)) return ''
  const near = [...formats, ofChats]
    .flatMap(({ format, signatures = [] }) => signatures.map((fields) => ({ format, fields })))
    .map(({ format, fields }) => ({
      format,
      size: fields.length,
      lacks: fields.filter((field) => !Object.hasOwn(entry, field)),
    }))
    .filter(({ size, lacks }) => lacks.length * 2 <= size)
    .toSorted((a, b) => a.lacks.length - b.lacks.length || b.size - a.size)
    .slice(0, 2)
  if (near.length === 0) return ''
  const each = near.map(({ format, lacks }) =>
    lacks.length === 0
      ? `${format}, which has these fields with other values`
      : `${format}, which also has ${lacks.map((field) => JSON.stringify(field)).join(', ')}`,
  )
  return ` (nearest: ${each.join('; ')})`
}
