/** Reads parts. Parts without an equivalent in the message model, or with missing fields, are carried raw. */
import { aList, anObject, isObject, readEach, textOfJson, type Json, type JsonObject } from '../../json/index.ts'
import type { FilePart, ImagePart, Part, ResultPart, TextPart } from '../../message/index.ts'
import { callPart, filePart, imagePart, keepingOf, reasoningPart, resultPart, stringIn, textPart } from '../parts.ts'
import type { Resolved } from '../source.ts'
import { isMadeId, type CallReader } from './calls.ts'
import { format, marksText, type GeminiMark } from './marks.ts'
import { fitsName } from './rules.ts'
import { dataFields, spellPart } from './spelling.ts'

const { keep, mark, raw } = keepingOf(format)

export interface Place {
  readonly role: 'system' | 'user' | 'model'
  readonly calls: CallReader
  /** Whether it is in an answer. Content that the API rejects in requests is then not sent back. */
  readonly isAnswer?: boolean
}

export const readPart = (item: Json, place: Place): Part => {
  if (typeof item === 'string') return textPart(item, mark('string'))
  const wire = anObject(item)
  const found = spellPart(wire)
  if (found === undefined || dataIn(found.part).length !== 1) return raw(wire)
  return readData(found.part, found.snake && 'snake', place) ?? raw(wire)
}

const dataIn = (part: JsonObject): readonly string[] =>
  ['text', ...dataFields].filter((name) => part[name] !== undefined && part[name] !== null)

/** Whether a value is a bare part, as accepted by Google's client. */
export const isPart = (value: JsonObject): boolean => dataIn(spellPart(value)?.part ?? value).length > 0

const readData = (part: JsonObject, snake: GeminiMark | false, place: Place): Part | undefined => {
  const { text, functionCall: call, functionResponse: response } = part
  if (typeof text === 'string')
    return part['thought'] === true && place.role === 'model'
      ? readThought(part, text, snake)
      : readText(part, text, snake, place)
  if (isObject(call)) return readCall(part, call, snake, place)
  if (isObject(response)) return readResponse(part, response, snake, place)
  return readMedia(part, snake)
}

const readText = (part: JsonObject, text: string, snake: GeminiMark | false, { isAnswer = false }: Place): TextPart => {
  // The API itself may end an answer with an empty text that carries a signature.
  const broken = !isAnswer && text === '' && part['thoughtSignature'] === undefined
  return textPart(text, keep(part, { text }, marksText(snake, broken && 'exact')))
}

const readThought = (part: JsonObject, text: string, snake: GeminiMark | false): Part => {
  const signature = stringIn(part, 'thoughtSignature')
  const written = { text, thought: true, ...(signature !== undefined && { thoughtSignature: signature }) }
  return reasoningPart(text, signature, keep(part, written, marksText(snake, 'thought')))
}

const readMedia = (part: JsonObject, snake: GeminiMark | false): ImagePart | FilePart | undefined => {
  const { inlineData: blob, fileData: file } = part
  const stood = isObject(blob) ? blob : file
  const source = isObject(blob) ? bytesOf(blob) : isObject(file) ? addressOf(file) : undefined
  if (!isObject(stood) || source === undefined) return undefined
  if (source.mediaType?.startsWith('image/') === true) return imagePart(source, keep(part, writtenMedia(source), snake))
  const name = stringIn(stood, 'displayName')
  return filePart(source, name, keep(part, writtenMedia(source, name), snake))
}

const bytesOf = ({ data: bytes, mimeType }: JsonObject): Resolved | undefined =>
  typeof bytes === 'string' && typeof mimeType === 'string'
    ? freeze({ type: 'base64', mediaType: mimeType, data: bytes })
    : undefined

const addressOf = ({ fileUri, mimeType }: JsonObject): Resolved | undefined =>
  typeof fileUri === 'string'
    ? freeze({ type: 'url', url: fileUri, ...(typeof mimeType === 'string' && { mediaType: mimeType }) })
    : undefined

/** An image or file in wire format. */
export const writtenMedia = (source: Resolved, name?: string): JsonObject => {
  const named = name === undefined ? {} : { displayName: name }
  return source.type === 'base64'
    ? { inlineData: { data: source.data, mimeType: source.mediaType, ...named } }
    : {
        fileData: {
          fileUri: source.url,
          ...(source.mediaType !== undefined && { mimeType: source.mediaType }),
          ...named,
        },
      }
}

const readCall = (
  part: JsonObject,
  call: JsonObject,
  snake: GeminiMark | false,
  { role, calls }: Place,
): Part | undefined => {
  const { id, name, args } = call
  if (typeof name !== 'string' || !(isObject(args) || args === undefined || args === null) || !isId(id))
    return undefined
  const fields = args ?? {}
  const known = calls.call(id === null || id === '' ? undefined : id, name)
  const as = marksText(snake, (role !== 'model' || !fitsName(name)) && 'exact')
  return callPart(known, name, textOfJson(fields), keep(part, { functionCall: writtenCall(known, name, fields) }, as))
}

const isId = (id: Json | undefined): id is string | null | undefined =>
  id === undefined || id === null || typeof id === 'string'

/** A call in wire format. */
export const writtenCall = (id: string, name: string, args: JsonObject): JsonObject => ({ ...idOf(id), name, args })

/** The id to write: none if it was generated. */
export const idOf = (id: string): { readonly id?: string } => (isMadeId(id) ? {} : { id })

const readResponse = (
  part: JsonObject,
  stood: JsonObject,
  snake: GeminiMark | false,
  { role, calls }: Place,
): Part | undefined => {
  const { id, name, response, parts, ...others } = stood
  if (typeof name !== 'string' || !isId(id) || !(isObject(response) || response === undefined || response === null))
    return undefined
  const media = Array.isArray(parts) && parts.length > 0 ? readEach(aList(parts), readAnswer) : []
  const output = isObject(response) ? readOutput(response) : undefined
  const callId = calls.result(id === null || id === '' ? undefined : id, name)
  // The part's content keeps the result itself; only its form is kept here.
  const bare = {
    ...part,
    functionResponse: {
      ...others,
      ...(id !== undefined && { id }),
      name,
      ...(response !== undefined && { response: response === null ? null : placeholderResult }),
      ...(parts !== undefined && media.length === 0 && { parts }),
    },
  }
  const written = { functionResponse: { ...idOf(callId), name, response: placeholderResult } }
  const content: readonly ResultPart[] = [...(output === undefined ? [] : [output.text]), ...media]
  const as = marksText(
    snake,
    output?.field === 'result' && 'result',
    output?.field === undefined && output !== undefined && 'json',
    (role !== 'user' || !fitsName(name)) && 'exact',
  )
  return resultPart(callId, content, keep(bare, written, as), name, output?.field === 'error' || undefined)
}

/** Replaces a result when only its presence matters. */
const placeholderResult: JsonObject = Object.freeze({})

const outputs: ReadonlySet<string> = new Set(['output', 'error', 'result'])

/** A result's text: the only string in it, otherwise its JSON. */
const readOutput = (response: JsonObject): { readonly text: TextPart; readonly field?: string } => {
  const [field, ...others] = Object.keys(response)
  const value = field === undefined ? undefined : response[field]
  return field !== undefined && outputs.has(field) && typeof value === 'string' && others.length === 0
    ? { text: textPart(value), field }
    : { text: textPart(textOfJson(response)) }
}

/** An image or file in a result. */
const readAnswer = (item: Json): ResultPart => {
  const wire = anObject(item)
  const found = dataIn(wire).length === 1 ? readMedia(wire, false) : undefined
  return found ?? raw(wire)
}

const { freeze } = Object
