/** The two spellings of a part: `inlineData`, and `inline_data`, which the API also accepts. */
import { isObject, jsonEqual, type Json, type JsonObject } from '../../json/index.ts'

/** The data fields of a part, of which it has one unless it is text. Source: Gemini API reference, Part (2026-11) */
export const dataFields = [
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const

/** Field names of a part and its objects. Names inside arguments and results belong to the functions. */
const names = [
  ...dataFields,
  'toolType',
  'thoughtSignature',
  'videoMetadata',
  'mediaResolution',
  'partMetadata',
  'mimeType',
  'displayName',
  'fileUri',
  'startOffset',
  'endOffset',
  'partialArgs',
  'willContinue',
  'numTokens',
]

const snakeOf = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const toSnake: ReadonlyMap<string, string> = new Map(names.map((name) => [name, snakeOf(name)]))
const toCamel: ReadonlyMap<string, string> = new Map(names.map((name) => [snakeOf(name), name]))

/** Fields with user data. */
const userFields: ReadonlySet<string> = new Set(['args', 'response', 'partMetadata', 'part_metadata'])

const respell = (value: Json, spelling: ReadonlyMap<string, string>): Json => {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => respell(item, spelling))
  if (!isObject(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      spelling.get(name) ?? name,
      userFields.has(name) ? inner : respell(inner, spelling),
    ]),
  )
}

const isSpelled = (value: Json, spelling: ReadonlyMap<string, string>): boolean =>
  Array.isArray(value)
    ? (value as readonly Json[]).some((item) => isSpelled(item, spelling))
    : isObject(value) &&
      Object.entries(value).some(
        ([name, inner]) => spelling.has(name) || (!userFields.has(name) && isSpelled(inner, spelling)),
      )

/** A part in camel case, and whether it was in snake case; undefined if it mixes both. */
export const spellPart = (part: JsonObject): { readonly part: JsonObject; readonly snake: boolean } | undefined => {
  if (!isSpelled(part, toCamel)) return { part, snake: false }
  const camel = respell(part, toCamel) as JsonObject // an object stays an object
  return jsonEqual(inSnake(camel), part) ? { part: camel, snake: true } : undefined
}

/** A part in snake case. */
export const inSnake = (part: JsonObject): JsonObject => respell(part, toSnake) as JsonObject
