/** Lists of items, as OpenAI Responses and the Agents SDK have them: how both are written. */
import { isObject, type Path, own } from '../json/index.ts'
import type { ToolResultPart } from '../message/index.ts'
import type { Writing } from './losses.ts'
import { restore, type Kept } from './residual.ts'

/** An item that is being written. */
export type FreshItem = { [field: string]: unknown }

/** One plain text as a string, unless it stood as a part; nothing as the empty string. */
export const asContent = (parts: FreshItem[], asParts: boolean): unknown => {
  const [only] = parts
  if (asParts) return parts
  if (only === undefined) return ''
  return parts.length === 1 &&
    only['type'] === 'input_text' &&
    typeof only['text'] === 'string' &&
    Object.keys(only).length === 2
    ? only['text']
    : parts
}

interface Both {
  readonly item?: FreshItem
  readonly part?: FreshItem
}

/** An item and a part with what was kept beside them. What somebody else put in their place is no part of a wire. */
export const both = <T extends Both>(written: T, kept: Kept | undefined): T => {
  if (kept === undefined) return written
  const item = kept.fields && own(kept.fields, 'item')
  const part = kept.fields && own(kept.fields, 'part')
  return restore(written, {
    ...kept,
    fields: { ...(isObject(item) && written.item && { item }), ...(isObject(part) && written.part && { part }) },
  })
}

/** The JSON that a text is, if it is. */
export const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The text of a result, where its kind takes nothing else. */
export const said = (part: ToolResultPart, writing: Writing, path: Path): string =>
  part.content
    .map((each, index) => {
      if (each.type === 'text') return each.text
      writing.lose([...path, 'content', index], 'is no text, and the answer to this kind of call is nothing else')
      return ''
    })
    .join('')

/** What a computer answers with: one screenshot. The rest is lost. Undefined if there is none. */
export const pictureOf = (
  part: ToolResultPart,
  writing: Writing,
  path: Path,
): ReturnType<Writing['resolve']> | undefined => {
  const picture = part.content.find(({ type }) => type === 'image')
  part.content.forEach(
    (each, index) =>
      each !== picture && writing.lose([...path, 'content', index], 'a computer answers with one screenshot only'),
  )
  return picture?.type === 'image'
    ? writing.resolve(picture.source, [...path, 'content', part.content.indexOf(picture), 'source'])
    : undefined
}
