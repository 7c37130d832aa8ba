/** The blocks of a message's content, which programs name alike: a text, a thought, a call, an image. */
import { fieldsBeside, stringAt, type Json, type JsonObject, type Path } from 'indelible/internal/json'
import type { Part, ResultPart } from 'indelible/message'
import { metaOf } from './other-fields.ts'
import { textIn } from './origin.ts'
import { callPart, textPart } from './entry-lines.ts'
import type { TranscriptFormat } from '../transcript.ts'

/** The blocks of a format, by their `type`: the kind of part that each is, and its fields in the order of that part's. */
interface BlockNames {
  readonly [type: string]:
    | readonly [kind: 'text', text: string]
    | readonly [kind: 'reasoning', text: string, signature?: string]
    | readonly [kind: 'call', id: string, name: string, args: string]
    | readonly [kind: 'image', data: string, mediaType: string]
}

/** Reads a block into a part, which keeps the other fields in its `meta`. A block of another type is kept as it is. */
export const blockReader =
  (format: TranscriptFormat, names: BlockNames) =>
  (block: JsonObject, path: Path): Part => {
    const { type } = block
    const name = typeof type === 'string' && Object.hasOwn(names, type) ? names[type] : undefined
    if (
      name === undefined ||
      (name[0] === 'image' && !name.slice(1).every((field) => typeof block[field] === 'string'))
    )
      return { type: 'provider', provider: format, raw: block }
    const [kind, first, second, third] = name
    const text = (field: string): string => stringAt(block[field], [...path, field])
    const read = ['type', first, ...[second, third].filter((field) => field !== undefined)]
    switch (kind) {
      case 'text':
        return { ...(textPart(text(first)) as ResultPart), ...metaOf(format, fieldsBeside(block, read)) }
      case 'reasoning': {
        const signature = second === undefined ? undefined : textIn(block, second)
        return {
          ...{ type: 'reasoning', text: text(first), ...(signature !== undefined && { signature }) },
          ...metaOf(format, fieldsBeside(block, signature === undefined ? ['type', first] : read)),
        }
      }
      case 'call':
        return {
          ...callPart(text(first), text(second), block[third] as Json | undefined),
          ...metaOf(format, fieldsBeside(block, read)),
        }
      case 'image':
        return {
          ...{ type: 'image', source: { type: 'base64', data: text(first), mediaType: text(second) } },
          ...metaOf(format, fieldsBeside(block, read)),
        }
    }
  }
