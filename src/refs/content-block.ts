/**
 * Content blocks of `llm2` histories as parts. What there is no word for stays whole, as a part of the provider `llm2`.
 *
 * Source  sidedotdev/sidekick `llm2/types.go`
 */
import { isObject, readEach, readIn, anObject, aList, aString, type Json, type JsonObject } from '../json/index.ts'
import { sourceOf, type Meta, type Part, type ResultPart } from '../message/index.ts'
import { marks } from './marks.ts'

/** Throws Unexpected. */
export const partOfContent = (value: Json): Part => {
  const block = anObject(value)
  const meta = metaOf(block)
  switch (block['type']) {
    case 'text':
      return { type: 'text', text: said(block, 'text'), ...meta }
    case 'reasoning':
      return readIn(block, 'reasoning', (found) => {
        const { summary, encryptedContent, signature } = anObject(found) as { readonly [field: string]: Json }
        return {
          type: 'reasoning',
          text: said(anObject(found), 'text'),
          ...(isSaid(summary) && { summary: [summary] }),
          ...(isSaid(signature) && { signature }),
          ...(isSaid(encryptedContent) && { encrypted: encryptedContent }),
          ...meta,
        } as const
      })
    case 'tool_use':
      return readIn(block, 'toolUse', (found) => ({ type: 'tool_call', id: needed(found, 'id'), name: needed(found, 'name'), arguments: said(anObject(found), 'arguments'), ...metaOf({ ...block, ...pick(found, 'signature') }) }))
    case 'tool_result':
      return readIn(block, 'toolResult', (found) => {
        const { name, isError, content, text } = anObject(found) as { readonly [field: string]: Json }
        const parts = content === undefined || content === null ? [] : readIn(anObject(found), 'content', (list) => readEach(aList(list), resultPart))
        return {
          type: 'tool_result',
          callId: needed(found, 'toolCallId'),
          content: parts.length === 0 && isSaid(text) ? [{ type: 'text', text }] : parts,
          ...(isSaid(name) && { name }),
          ...(isError === true && { isError }),
          ...meta,
        } as const
      })
    case 'refusal':
      return readIn(block, 'refusal', (found) => ({ type: 'refusal', text: said(anObject(found), 'reason'), ...meta }))
    case 'image':
    case 'file':
      return readIn(block, block['type'], (found) => {
        const url = needed(found, 'url')
        const { mimeType } = anObject(found) as { readonly [field: string]: Json }
        const source = sourceOf(url)
        return { type: block['type'] as 'image' | 'file', source: source.type === 'url' && isSaid(mimeType) ? { ...source, mediaType: mimeType } : source, ...meta }
      })
    default:
      return { type: 'provider', provider: 'llm2', raw: block }
  }
}

const resultPart = (value: Json): ResultPart => {
  const part = partOfContent(value)
  return part.type === 'text' || part.type === 'image' || part.type === 'file' || part.type === 'provider' ? part : { type: 'provider', provider: 'llm2', raw: value }
}

/** Text that Go leaves out where it is empty. */
const said = (owner: JsonObject, field: string): string => readIn(owner, field, (value) => (value === undefined ? '' : aString(value)))

const needed = (owner: Json | undefined, field: string): string => readIn(anObject(owner), field, aString)

const isSaid = (value: Json | undefined): value is string => typeof value === 'string' && value !== ''

const pick = (owner: Json | undefined, field: string): JsonObject => (isObject(owner) && isSaid(owner[field]) ? { [field]: owner[field] } : {})

/** What is said beside the content. The key that it was stored under is none of the content. */
const metaOf = ({ cacheControl, signature, metadata }: JsonObject & { readonly [field: string]: Json }): { readonly meta?: Meta } => {
  const sidekick = isObject(metadata) && isObject(metadata['sidekick']) ? metadata['sidekick'] : {}
  const { contextType } = sidekick as { readonly [field: string]: Json }
  const kept = { ...(isSaid(cacheControl) && { cacheControl }), ...(isSaid(signature) && { signature }), ...(isSaid(contextType) && { contextType }) }
  return Object.keys(kept).length === 0 ? {} : { meta: { llm2: kept } }
}

/** What a message was there for, as the mark that `manageHistory` knows: what one of its parts says. */
export const markOfParts = (parts: readonly Part[]): Meta => {
  for (const { meta } of parts) {
    const found = meta?.['llm2']
    const mark = isObject(found) && isSaid(found['contextType']) ? marks.get(found['contextType']) : undefined
    if (mark !== undefined) return { indelible: { mark } }
  }
  return {}
}
