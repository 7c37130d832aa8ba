/** Pictures and files: `ai` writes both as files, with several spellings for the data. */
import { isObject, base64OfText, textOfBase64, type Json, type JsonObject } from 'indelible/internal/json'
import type { FilePart, ImagePart, Source } from 'indelible/message'
import { stringIn, sourceOf, urlOf, type Resolved } from 'indelible/internal/codecs'

declare const URL: new (url: string) => URL

/** Data that was read: the part of it that encoding would write, and its spelling if not the default. */
export interface ReadData {
  readonly source: Source
  readonly written: Json
  readonly spelling?: 'url' | 'data-url' | 'bare' | 'text'
}

/** Undefined for data that a source can't represent: a provider's reference or a future kind. */
export const readData = (data: Json | undefined, mediaType: string | undefined): ReadData | undefined => {
  if (typeof data === 'string') {
    if (!isUrl(data)) return { source: bytesSource(data, mediaType), written: data, spelling: 'bare' }
    const source = urlSource(data, mediaType)
    return { source, written: data, ...(source.type === 'base64' && { spelling: 'data-url' }) }
  }
  if (!isObject(data)) return undefined
  const { type, data: bytes, url, text } = data
  if (type === 'data' && typeof bytes === 'string')
    return { source: bytesSource(bytes, mediaType), written: { type, data: bytes } }
  if (type === 'url' && typeof url === 'string')
    return { source: urlSource(url, mediaType), written: { type, url }, spelling: 'url' }
  if (type === 'text' && typeof text === 'string')
    return {
      source: freeze({ type: 'base64', data: base64OfText(text), mediaType: mediaType ?? 'text/plain' }),
      written: { type, text },
      spelling: 'text',
    }
  return undefined
}

/** A URL as a source: its bytes for a data URL, otherwise its address. */
export const urlSource = (url: string, mediaType: string | undefined): Source => {
  const source = sourceOf(url)
  return source.type === 'url' && isFull(mediaType) ? freeze({ ...source, mediaType }) : source
}

/** Bytes with a complete media type, which some providers require; if unknown, found from the first bytes. */
export const bytesSource = (data: string, mediaType: string | undefined): Source => {
  const full = isFull(mediaType) ? mediaType : signatures.find(([first]) => data.startsWith(first))?.[1]
  return freeze({ type: 'base64', data, mediaType: full ?? mediaType ?? 'application/octet-stream' })
}

/** The first characters of these file types in base64. */
const signatures = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi0', 'application/pdf'],
] as const

/** True for `image/png`, but not for `image` or `image/*`, which `ai` also accepts. */
const isFull = (mediaType: string | undefined): mediaType is string =>
  mediaType !== undefined && /^[^/*]+\/[^/*]+$/.test(mediaType)

/** `ai` takes a string of data as a URL if it is one, otherwise as base64. */
const isUrl = (text: string): boolean => /^[a-z][a-z\d+.-]*:/i.test(text)

/** A picture or file that was read, and the fields beside its data that encoding would write. */
export const mediaOf = (
  wire: JsonObject,
  source: Source,
  asImage: boolean,
): { readonly part: ImagePart | FilePart; readonly fields: { readonly mediaType: string; filename?: string } } => {
  const filename = stringIn(wire, 'filename')
  if (asImage || isPicture(source.mediaType ?? stringIn(wire, 'mediaType'))) {
    const part = { type: 'image', source } as const
    return { part, fields: { mediaType: mediaTypeOf(part, source) } }
  }
  const part = { type: 'file', source, ...(filename !== undefined && { name: filename }) } as const
  return { part, fields: { mediaType: mediaTypeOf(part, source), ...(filename !== undefined && { filename }) } }
}

const isPicture = (mediaType: string | undefined): boolean =>
  mediaType !== undefined && /^image(?:\/|$)/i.test(mediaType)

/** The media type of a part, which `ai` always requires; a generic one if it is unknown. */
export const mediaTypeOf = ({ type }: Pick<ImagePart | FilePart, 'type'>, source: Source): string =>
  source.mediaType ?? (type === 'image' ? 'image' : 'application/octet-stream')

/** Data in a spelling. Default: URLs as strings, bytes as tagged data. Undefined for a URL without a scheme. */
export const writeData = (source: Resolved, spelling: string | undefined): string | object | undefined => {
  if (spelling === 'url') return { type: 'url', url: liveUrl(urlOf(source)) }
  if (source.type === 'url') return isUrl(source.url) ? source.url : undefined
  if (spelling === 'bare') return source.data
  if (spelling === 'data-url') return urlOf(source)
  return writeBytes(source.data, spelling)
}

const writeBytes = (data: string, spelling: string | undefined): object => {
  const text = spelling === 'text' ? textOfBase64(data) : undefined
  return text === undefined ? { type: 'data', data } : { type: 'text', text }
}

/** Data for places where `ai` only accepts tagged data. */
export const writeTagged = (source: Resolved, spelling: string | undefined): object | undefined => {
  if (spelling === 'url') return { type: 'url', url: liveUrl(urlOf(source)) }
  if (source.type === 'base64') return writeBytes(source.data, spelling)
  const url = parseUrl(source.url)
  return url && { type: 'url', url }
}

/**
 * The `URL` object that `ai` requires in tagged data. If its JSON would differ from the text, the
 * text is used, which `ai` accepts as well.
 */
const liveUrl = (text: string): URL | string => {
  const url = parseUrl(text)
  return url === undefined || String(url) !== text ? text : url
}

const parseUrl = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

const { freeze } = Object
