/** Writes lists of items, for OpenAI Responses and the Agents SDK. */
import { isObject, ownField } from '../json/index.ts'
import type { ToolResultPart } from '../message/index.ts'
import type { Place } from './encoder.ts'
import { asContent } from './content.ts'
import { restoreResidual, type MutableObject, type Kept } from './residual.ts'
import type { Resolved } from './source.ts'

/** A single plain text as a string, unless it was read from a part; an empty string for no text. */
export const itemContent = (parts: MutableObject[], asParts: boolean): unknown =>
  parts.length === 0 && !asParts ? '' : asContent(parts, asParts, 'input_text')

interface WrittenItem {
  readonly item?: MutableObject
  readonly part?: MutableObject
}

/** Restores the kept fields of an item and a part. Kept values of another shape are ignored. */
export const withKept = <T extends WrittenItem>(written: T, kept: Kept | undefined): T => {
  if (kept === undefined) return written
  const item = kept.fields && ownField(kept.fields, 'item')
  const part = kept.fields && ownField(kept.fields, 'part')
  return restoreResidual(written, {
    ...kept,
    fields: {
      ...(isObject(item) && ownField(written, 'item') && { item }),
      ...(isObject(part) && ownField(written, 'part') && { part }),
    },
  })
}

/** The text of a result, for kinds that accept nothing else. */
export const resultText = (part: ToolResultPart, place: Place): string =>
  part.content
    .map((each, index) => {
      if (each.type === 'text') return each.text
      place.lose('is not text, the only result for this kind of call', 'content', index)
      return ''
    })
    .join('')

/** The result of a computer call: one screenshot; anything else is lost. Undefined if there is none. */
export const pictureOf = (part: ToolResultPart, place: Place): Resolved | undefined => {
  const picture = part.content.find(({ type }) => type === 'image')
  part.content.forEach(
    (each, index) =>
      each !== picture && place.lose('the result of a computer call is a single screenshot', 'content', index),
  )
  return picture?.type === 'image' ? place.in('content', part.content.indexOf(picture)).sourceOf(picture) : undefined
}
