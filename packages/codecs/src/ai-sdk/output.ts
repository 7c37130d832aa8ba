/** Tool outputs: `ai` has kinds for text, JSON, parts, errors, and calls denied by a person. */
import {
  anObject,
  aString,
  isObject,
  jsonIn,
  readEach,
  readIn,
  type Json,
  type JsonObject,
  ownFields,
} from 'indelible/internal/json'
import {
  type Place,
  keepingOf,
  stringIn,
  textPart,
  residualOf,
  restoreResidual,
  mutableCopy,
  type MutableObject,
  urlOf,
  type Resolved,
} from 'indelible/internal/codecs'
import type { ResultPart, TextPart, ToolResultPart } from 'indelible/message'
import { format, uiFormat } from './format.ts'
import { bytesSource, mediaOf, mediaTypeOf, readData, urlSource, writeTagged, type ReadData } from './media.ts'

const { keep, raw } = keepingOf(format)

/** The text for the model if a person denied a call without a reason. */
export const deniedText = 'Tool call execution denied.'

interface ReadOutput {
  readonly content: readonly ResultPart[]
  readonly isError?: true
  /** The part of the output that encoding would write. */
  readonly written: Json
  /** The kind of output, if the content does not show it. */
  readonly as?: 'json' | 'denied' | 'content' | 'raw'
}

export const readOutput = (output: Json | undefined): ReadOutput => {
  if (output === undefined) return { content: freeze([]), written: { type: 'text', value: '' } }
  const { type, value, reason } = ownFields(isObject(output) ? output : ({} as JsonObject))
  const error = type === 'error-text' || type === 'error-json' ? ({ isError: true } as const) : undefined
  if ((type === 'text' || type === 'error-text') && typeof value === 'string')
    return { content: texts(value), ...error, written: { type, value } }
  if ((type === 'json' || type === 'error-json') && value !== undefined)
    return { content: texts(JSON.stringify(value)), ...error, written: { type, value }, as: 'json' }
  if (type === 'execution-denied') {
    const text = typeof reason === 'string' ? reason : deniedText
    return { content: texts(text), isError: true, written: { type, reason: text }, as: 'denied' }
  }
  if (type === 'content' && Array.isArray(value)) {
    const items = value as readonly Json[]
    const content = readIn(output as JsonObject, 'value', () => readEach(items, (item) => readItem(anObject(item))))
    return { content: freeze(content), written: { type, value: items }, as: 'content' }
  }
  return { content: freeze([raw(output)]), written: output, as: 'raw' }
}

export const texts = (text: string): readonly TextPart[] => freeze([textPart(text)])

const readItem = (wire: JsonObject): ResultPart => {
  if (wire['type'] === 'text') {
    const text = readIn(wire, 'text', aString)
    return textPart(text, keep(wire, { type: 'text', text }))
  }
  const type = wire['type'] as string
  const read = readItemData(type, wire, stringIn(wire, 'mediaType'))
  if (read === undefined) return raw(wire)
  const { part, fields } = mediaOf(wire, read.source, type.startsWith('image'))
  const written = { type, ...(read.written as JsonObject), ...fields }
  return freeze({ ...part, ...keep(wire, written, type === 'file' ? read.spelling : type) })
}

/** The data of an item, with `written` under its field. Supports `file` and the older kinds. */
const readItemData = (type: string, { data, url }: JsonObject, mediaType: string | undefined): ReadData | undefined => {
  if (type === 'file' && isObject(data)) {
    const read = readData(data, mediaType)
    return read && { ...read, written: { data: read.written } }
  }
  if ((type === 'file-data' || type === 'image-data') && typeof data === 'string')
    return { source: bytesSource(data, mediaType), written: { data } }
  if ((type === 'file-url' || type === 'image-url') && typeof url === 'string')
    return { source: urlSource(url, mediaType), written: { url } }
  return undefined
}

/** Writes an output in its original kind, or in the best fitting kind if it came from elsewhere or was shortened. */
export const writeOutput = (part: ToolResultPart, place: Place): MutableObject => {
  const as = residualOf(format, part)?.as
  const isError = part.isError === true
  const only = part.content.length === 1 ? part.content[0] : undefined
  if (as === 'raw' && only?.type === 'provider' && only.provider === format)
    return mutableCopy(only.raw) as MutableObject
  if (as === 'denied' && only?.type === 'text' && isError) return { type: 'execution-denied', reason: only.text }
  const json = only?.type === 'text' && isJson(part) ? jsonIn(only.text) : undefined
  if (json !== undefined) return { type: isError ? 'error-json' : 'json', value: json }
  const items: MutableObject[] = []
  for (const [index, answer] of part.content.entries()) {
    const item = writeItem(answer, place.in('content', index))
    if (item !== undefined) items.push(item)
  }
  if (as !== 'content' && items.every(({ type }) => type === 'text') && (isError || items.length <= 1)) {
    if (items.length > 1) place.lose('an ai error is a single text: its texts are joined', 'content')
    return { type: isError ? 'error-text' : 'text', value: items.map(({ text }) => text).join('\n') }
  }
  if (isError) place.lose('ai cannot mark parts as an error; only the text shows it', 'isError')
  return { type: 'content', value: items }
}

/** Whether a result's text was JSON in either format of `ai`. */
export const isJson = (part: ToolResultPart): boolean =>
  [format, uiFormat].some((name) => residualOf(name, part)?.as === 'json')

const writeItem = (part: ResultPart, place: Place): MutableObject | undefined => {
  const kept = residualOf(format, part)
  if (part.type === 'text') return restoreResidual<MutableObject>({ type: 'text', text: part.text }, kept)
  if (part.type === 'provider') return place.rawOf(part)
  const source = place.sourceOf(part)
  const data = writeItemData(source, kept?.as)
  if (data === undefined) return void place.lose('ai only accepts absolute URLs', 'source')
  return restoreResidual<MutableObject>(
    {
      ...data,
      mediaType: mediaTypeOf(part, source),
      ...(part.type === 'file' && part.name !== undefined && { filename: part.name }),
    },
    kept,
  )
}

const writeItemData = (source: Resolved, as: string | undefined): MutableObject | undefined => {
  if (as === 'file-url' || as === 'image-url') return { type: as, url: urlOf(source) }
  if ((as === 'file-data' || as === 'image-data') && source.type === 'base64') return { type: as, data: source.data }
  const data = writeTagged(source, as)
  return data && { type: 'file', data }
}

const { freeze } = Object
