/**
 * Content blocks of `llm2` histories as parts. An unknown kind is kept whole, as a part of the provider `llm2`.
 *
 * Source  sidedotdev/sidekick `llm2/types.go`
 */
import {
  isObject,
  readEach,
  readIn,
  anObject,
  aList,
  aString,
  type Json,
  type JsonObject,
} from 'indelible/internal/json'
import { sourceOf } from 'indelible/internal/codecs'
import { type Meta, type Part, type ResultPart } from 'indelible/message'
import { marksByPurpose } from './purposes.ts'

/** Throws Unexpected. */
export const partOfContent = (value: Json): Part => {
  const block = anObject(value)
  const meta = metaOf(block, restOf(block))
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: textField(block, 'text'), ...meta }
    case 'reasoning':
      return readIn(block, 'reasoning', (found) => {
        const { summary, encryptedContent, signature } = anObject(found) as { readonly [field: string]: Json }
        return {
          type: 'reasoning',
          text: textField(anObject(found), 'text'),
          ...(isNonEmptyText(summary) && { summary: [summary] }),
          ...(isNonEmptyText(signature) && { signature }),
          ...(isNonEmptyText(encryptedContent) && { encrypted: encryptedContent }),
          ...meta,
        } as const
      })
    case 'tool_use':
      return readIn(block, 'toolUse', (found) => ({
        type: 'tool_call',
        id: requiredText(found, 'id'),
        name: requiredText(found, 'name'),
        arguments: textField(anObject(found), 'arguments'),
        ...metaOf({ ...block, ...pickText(found, 'signature') }, restOf(block)),
      }))
    case 'tool_result':
      return readIn(block, 'toolResult', (found) => {
        const { name, isError, content, text } = anObject(found) as { readonly [field: string]: Json }
        const parts =
          content === undefined || content === null
            ? []
            : readIn(anObject(found), 'content', (list) => readEach(aList(list), resultPart))
        return {
          type: 'tool_result',
          callId: requiredText(found, 'toolCallId'),
          content: parts.length === 0 && isNonEmptyText(text) ? [{ type: 'text', text }] : parts,
          ...(isNonEmptyText(name) && { name }),
          ...(isError === true && { isError }),
          ...meta,
        } as const
      })
    case 'refusal':
      return readIn(block, 'refusal', (found) => ({
        type: 'refusal',
        text: textField(anObject(found), 'reason'),
        ...meta,
      }))
    case 'image':
    case 'file':
      return readIn(block, block['type'], (found) => {
        const url = requiredText(found, 'url')
        const { mimeType } = anObject(found) as { readonly [field: string]: Json }
        const source = sourceOf(url)
        return {
          type: block['type'] as 'image' | 'file',
          source: source.type === 'url' && isNonEmptyText(mimeType) ? { ...source, mediaType: mimeType } : source,
          ...meta,
        }
      })
    default:
      return { type: 'provider', provider: 'llm2', raw: block }
  }
}

const resultPart = (value: Json): ResultPart => {
  const part = partOfContent(value)
  return part.type === 'text' || part.type === 'image' || part.type === 'file' || part.type === 'provider'
    ? part
    : { type: 'provider', provider: 'llm2', raw: value }
}

/** A text that Go omits if it is empty. */
const textField = (owner: JsonObject, field: string): string =>
  readIn(owner, field, (value) => (value === undefined ? '' : aString(value)))

const requiredText = (owner: Json | undefined, field: string): string => readIn(anObject(owner), field, aString)

const isNonEmptyText = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

const pickText = (owner: Json | undefined, field: string): JsonObject =>
  isObject(owner) && isNonEmptyText(owner[field]) ? { [field]: owner[field] } : {}

/** The fields of a block and of its content that the message model can hold. */
const blockFields: ReadonlySet<string> = new Set(['id', 'type', 'cacheControl', 'signature', 'metadata'])
const heldFields: { readonly [type: string]: readonly [held: string, fields: readonly string[]] | undefined } = {
  text: ['text', []],
  reasoning: ['reasoning', ['text', 'summary', 'encryptedContent', 'signature']],
  tool_use: ['toolUse', ['id', 'name', 'arguments', 'signature']],
  tool_result: ['toolResult', ['toolCallId', 'name', 'isError', 'content']],
  refusal: ['refusal', ['reason']],
  image: ['image', ['url', 'mimeType']],
  file: ['file', ['url', 'mimeType']],
}

/** All other fields. They are kept in `meta`. */
const restOf = (block: JsonObject): JsonObject => {
  const [held = '', fields = []] =
    (isNonEmptyText(block['type']) && Object.hasOwn(heldFields, block['type'])
      ? heldFields[block['type']]
      : undefined) ?? []
  const inner = block[held]
  const { contextType: _, ...sidekick } = sidekickOf(block) as { readonly [field: string]: Json }
  const metadata = isObject(block['metadata'])
    ? omitFields(block['metadata'], ['sidekick', 'persistence'])
    : block['metadata']
  const places = [
    omitFields(block, [...blockFields, held]),
    isObject(inner)
      ? nonEmpty(held, omitFields(inner, [...fields, ...(held === 'toolResult' && !hasContent(inner) ? ['text'] : [])]))
      : {},
    isObject(metadata)
      ? nonEmpty('metadata', { ...metadata, ...nonEmpty('sidekick', sidekick) })
      : isNothing(metadata)
        ? {}
        : { metadata },
  ]
  return Object.assign({}, ...places) as JsonObject
}

const hasContent = (result: JsonObject): boolean => Array.isArray(result['content']) && result['content'].length > 0

const nonEmpty = (name: string, value: JsonObject): JsonObject =>
  Object.keys(value).length === 0 ? {} : { [name]: value }

/** An object without these fields and without empty ones, which Go also writes. */
const omitFields = (owner: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(owner).filter(([name, value]) => !names.includes(name) && !isNothing(value)))

const isNothing = (value: Json | undefined): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  value === false ||
  (Array.isArray(value) && value.length === 0)

const sidekickOf = ({ metadata }: JsonObject & { readonly [field: string]: Json }): JsonObject =>
  isObject(metadata) && isObject(metadata['sidekick']) ? metadata['sidekick'] : {}

/** The fields outside the content. The storage key (`metadata.persistence`) is not kept. */
const metaOf = (block: JsonObject & { readonly [field: string]: Json }, rest: JsonObject): { readonly meta?: Meta } => {
  const { cacheControl, signature } = block
  const { contextType } = sidekickOf(block) as { readonly [field: string]: Json }
  const kept = {
    ...(isNonEmptyText(cacheControl) && { cacheControl }),
    ...(isNonEmptyText(signature) && { signature }),
    ...(isNonEmptyText(contextType) && { contextType }),
    ...nonEmpty('fields', rest),
  }
  return Object.keys(kept).length === 0 ? {} : { meta: { llm2: kept } }
}

/** The purpose of a message, as a mark for `manageHistory`, read from its parts. */
export const markOfParts = (parts: readonly Part[]): Meta => {
  for (const { meta } of parts) {
    const found = meta?.['llm2']
    const mark =
      isObject(found) && isNonEmptyText(found['contextType']) ? marksByPurpose.get(found['contextType']) : undefined
    if (mark !== undefined) return { indelible: { mark } }
  }
  return {}
}
