/** Outputs of tools that are more than text: bytes, and results in the shape of the Model Context Protocol. */
import { base64Of, isObject, type JsonObject } from '../../json/index.ts'
import { file, image, text, type Meta, type ResultPart } from '../../message/index.ts'

/** The parts of an output, whether it is an error, and what has no part. */
export interface ToolContent {
  readonly content: readonly ResultPart[]
  readonly isError: boolean
  readonly meta?: Meta
}

/** Bytes as a file or an image; undefined for another value. */
export const contentOfBytes = (output: unknown): ToolContent | undefined => {
  const bytes =
    output instanceof ArrayBuffer
      ? new Uint8Array(output)
      : ArrayBuffer.isView(output)
        ? new Uint8Array(output.buffer, output.byteOffset, output.byteLength)
        : undefined
  if (bytes === undefined) return undefined
  return { content: [partOfData(base64Of(bytes), mediaTypeOf(bytes))], isError: false }
}

/**
 * The parts of a result in MCP's shape: `{ content: [{ type: 'text' | 'image' | 'audio' | 'resource' | 'resource_link', … }],
 * isError?, structuredContent? }`; undefined for another value. Structured content is sent as JSON if there is no text,
 * and is kept in the result's `meta.mcp`.
 *
 * Source  Model Context Protocol, schema 2025-11-25: `CallToolResult`, `ContentBlock`
 */
export const contentOfMcp = (output: unknown): ToolContent | undefined => {
  if (!isObject(output) || !Array.isArray(output['content'])) return undefined
  const blocks = output['content'] as readonly unknown[]
  const { isError, structuredContent } = output as { readonly isError?: unknown; readonly structuredContent?: unknown }
  if (blocks.length === 0 && structuredContent === undefined && typeof isError !== 'boolean') return undefined
  const content: ResultPart[] = []
  for (const block of blocks) {
    const part = isObject(block) ? partOfBlock(block) : undefined
    if (part === undefined) return undefined // an object of the tool's own, which only looks similar
    content.push(part)
  }
  const structured = isObject(structuredContent) ? structuredContent : undefined
  if (structured !== undefined && !content.some(({ type }) => type === 'text'))
    content.push(text(JSON.stringify(structured)))
  return {
    content,
    isError: isError === true,
    ...(structured !== undefined && { meta: { mcp: { structuredContent: structured } } }),
  }
}

const partOfBlock = (block: JsonObject): ResultPart | undefined => {
  const { type, text: content, data, mimeType, resource, uri, name } = block
  if (type === 'text' && typeof content === 'string') return text(content.toWellFormed())
  if ((type === 'image' || type === 'audio') && typeof data === 'string')
    return partOfData(data, typeof mimeType === 'string' ? mimeType : type === 'image' ? 'image/png' : 'audio/wav')
  if (type === 'resource' && isObject(resource)) return partOfResource(resource)
  if (type === 'resource_link' && typeof uri === 'string')
    return text(`[resource ${typeof name === 'string' ? `${name}: ` : ''}${uri}]`.toWellFormed())
  return undefined
}

const partOfResource = ({ text: content, blob, uri, mimeType }: JsonObject): ResultPart | undefined => {
  const name = typeof uri === 'string' ? uri : undefined
  if (typeof content === 'string')
    return text(`${name === undefined ? '' : `[resource ${name}]\n`}${content}`.toWellFormed())
  if (typeof blob !== 'string') return undefined
  return partOfData(blob, typeof mimeType === 'string' ? mimeType : 'application/octet-stream', name)
}

const partOfData = (data: string, mediaType: string, name?: string): ResultPart =>
  mediaType.startsWith('image/')
    ? image({ type: 'base64', data, mediaType })
    : file({ type: 'base64', data, mediaType }, name === undefined ? {} : { name })

/** The type of bytes, of those that models read; otherwise `application/octet-stream`. */
const mediaTypeOf = (bytes: Uint8Array): string => {
  const start = String.fromCharCode(...bytes.subarray(0, 12))
  if (start.startsWith('\u0089PNG\r\n')) return 'image/png'
  if (start.startsWith('\u00ff\u00d8\u00ff')) return 'image/jpeg'
  if (start.startsWith('GIF8')) return 'image/gif'
  if (start.startsWith('RIFF') && start.slice(8) === 'WEBP') return 'image/webp'
  return start.startsWith('%PDF-') ? 'application/pdf' : 'application/octet-stream'
}
