/** Pictures and files: `ai` says both as files, and their data in several spellings. */
import { isObject, base64OfText, textOfBase64, type Json } from '../../json/index.ts'
import type { FilePart, ImagePart, Source } from '../../message/index.ts'
import { sourceOf, urlOf } from '../source.ts'

declare const URL: new (url: string) => URL

/** A source that can be written. */
export type Resolved = Exclude<Source, { type: 'block' }>

/** Data as it was read: what of it is said again, and the word for its spelling where that is not the usual one. */
export interface ReadData {
  readonly source: Source
  readonly written: Json
  readonly spelling?: 'url' | 'data-url' | 'bare' | 'text'
}

/** Undefined for what a source can't be: a provider's reference, or something new. */
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

/** A URL as a source: the bytes that it holds, or where they are. */
export const urlSource = (url: string, mediaType: string | undefined): Source => {
  const source = sourceOf(url)
  return source.type === 'url' && isFull(mediaType) ? freeze({ ...source, mediaType }) : source
}

/** Bytes with the whole of their media type: some providers want no less, and `ai` too looks at the first bytes for it. */
export const bytesSource = (data: string, mediaType: string | undefined): Source => {
  const full = isFull(mediaType) ? mediaType : signatures.find(([first]) => data.startsWith(first))?.[1]
  return freeze({ type: 'base64', data, mediaType: full ?? mediaType ?? 'application/octet-stream' })
}

/** How files of these types begin, in base64. */
const signatures = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi0', 'application/pdf'],
] as const

/** `image/png`; not `image`, and not `image/*`, which `ai` takes too. */
const isFull = (mediaType: string | undefined): mediaType is string =>
  mediaType !== undefined && /^[^/*]+\/[^/*]+$/.test(mediaType)

/** Where text stands for data, `ai` takes it as a URL if it is one, and as base64 otherwise. */
const isUrl = (text: string): boolean => /^[a-z][a-z\d+.-]*:/i.test(text)

export const isPicture = (mediaType: string | undefined): boolean =>
  mediaType !== undefined && /^image(?:\/|$)/i.test(mediaType)

/** The media type of a part, which `ai` always wants; its kind alone where nothing more is known. */
export const mediaTypeOf = ({ type }: Pick<ImagePart | FilePart, 'type'>, source: Source): string =>
  source.mediaType ?? (type === 'image' ? 'image' : 'application/octet-stream')

/** Data in its spelling; the usual ones are a URL as text and bytes tagged as such. Undefined for a URL without a scheme. */
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

/** Data where `ai` takes nothing but tagged data. */
export const writeTagged = (source: Resolved, spelling: string | undefined): object | undefined => {
  if (spelling === 'url') return { type: 'url', url: liveUrl(urlOf(source)) }
  if (source.type === 'base64') return writeBytes(source.data, spelling)
  const url = parseUrl(source.url)
  return url && { type: 'url', url }
}

/**
 * The object that `ai` wants where a URL is tagged. As JSON it is the same text; where it would not be, the text stays,
 * which `ai` takes as well.
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
