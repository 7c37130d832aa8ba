/**
 * Representations: one recorded message as a derived context may hold it, at each residency level. Deterministic, and
 * pure functions of the message and its position, so that the same record gives the same bytes.
 *
 * A representation is a new message: it keeps role, name, calls and results (so pairing holds) and what the message is
 * marked as (`indelible` in its `meta`). It leaves out ids, all other `meta` and reasoning, which belong to the exact
 * original.
 */
import { text, type Message, type Part, type ResultPart, type ToolResultPart } from '../message/index.ts'
import type { PageKind, ResidencyLevel } from '../pages/index.ts'
import { markedAs } from './marks.ts'
import { beginning, foldedEnds, grouped, outline, shortArguments, type Elision } from './shorten.ts'

/** What the `structured` level says of a tool's answer. */
export interface StructuredResult {
  readonly tool: string
  readonly status: 'ok' | 'error'
  readonly characters: number
  readonly lines: number
  /** The first line that speaks of an error. */
  readonly error?: string
  /** The first files it names, at most five. */
  readonly files: readonly string[]
}

/** What a representation needs to know beside the message. */
export interface Recorded {
  readonly position: number
  readonly kind: PageKind
  /** The name of the tool that a result of this message answers for, by call id. */
  readonly toolOf?: (callId: string) => string | undefined
  /** The earlier position at which the same answer stands in the same context. */
  readonly sameAs?: (result: ToolResultPart) => number | undefined
}

/** A message at a level: itself at `full`. A `pointer` is no message of its own; see `marker.ts`. */
export const represent = (message: Message, level: Exclude<ResidencyLevel, 'pointer'>, recorded: Recorded): Message => {
  if (level === 'full') return message
  const content = message.content.flatMap((part) => representPart(part, level, recorded))
  return freeze({
    role: message.role,
    ...(message.name !== undefined && { name: message.name }),
    ...markedAs(message),
    content: freeze(content.length > 0 || message.content.length === 0 ? content : [text(`[position ${recorded.position}: reasoning left out]`)]),
  })
}

/** The typed fields of a tool's answer. Cost: O(characters). */
export const structuredResult = (result: ToolResultPart, tool: string = result.name ?? 'tool'): StructuredResult => {
  const whole = result.content.map(plain).join('\n')
  const error = errorLine(whole, result.isError === true)
  return freeze({
    tool,
    status: result.isError === true ? 'error' : 'ok',
    characters: whole.length,
    lines: linesIn(whole),
    ...(error !== undefined && { error }),
    files: freeze(filesIn(whole)),
  })
}

/** The first file paths a text names, each once, looked for in its first few thousand characters. */
export const filesIn = (whole: string, most = 5): readonly string[] => {
  const found = new Set<string>()
  for (const word of whole.slice(0, scanned).split(/[\s"'`()[\]{}<>,;|=]+/)) {
    const path = word.replace(/(?::\d+)*[:.!?]*$/, '')
    if (path.length <= 120 && filePath.test(path)) found.add(path)
    if (found.size === most) break
  }
  return [...found]
}

/** What a text part, an attachment or raw data says in plain text. */
export const plain = (part: Part): string => {
  switch (part.type) {
    case 'text':
    case 'refusal':
    case 'reasoning':
      return part.text
    case 'image':
    case 'file':
      return attachment(part)
    case 'provider':
      return JSON.stringify(part.raw)
    case 'tool_call':
      return `${part.name} ${part.arguments}`
    case 'tool_result':
      return part.content.map(plain).join('\n')
  }
}

const { freeze } = Object

const linesIn = (whole: string): number => {
  let lines = whole === '' ? 0 : 1
  for (let at = whole.indexOf('\n'); at !== -1; at = whole.indexOf('\n', at + 1)) lines += 1
  return lines
}

const scanned = 4000
/** Words that end like a file, or that hold a folder. Without nested repetition, so it is linear in the word. */
const filePath = /^(?=.*[\w/]\.[A-Za-z]\w{0,7}$)(?!https?:)[\w@~./\\-]+$/
const errorWord = /\b(?:error|exception|failed|failure|fatal|panic|traceback|denied|not found|no such|cannot|E[A-Z]{4,})\b/i

/** How long things may be at each level, in UTF-16 units. */
const limits = {
  compressed: { text: 1200, result: 900, argument: 600 },
  structured: { text: 320, result: 320, argument: 120 },
} as const
/** Instructions and rules keep more of their text: it is what they are kept for. */
const ruleLimit = 1600

const representPart = (part: Part, level: 'compressed' | 'structured', recorded: Recorded): readonly Part[] => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return [freeze({ type: part.type, text: shortText(part.text, level, recorded) })]
    case 'reasoning':
      return []
    case 'tool_call':
      return [freeze({ type: 'tool_call', id: part.id, name: part.name, arguments: shortArguments(part.arguments, limits[level].argument) })]
    case 'tool_result':
      return [resultAt(part, level, recorded)]
    case 'image':
    case 'file':
    case 'provider':
      return [text(attachmentLine(part, recorded.position))]
  }
}

const shortText = (whole: string, level: 'compressed' | 'structured', { position, kind }: Recorded): string => {
  if (level === 'compressed') return foldedEnds(whole, limits.compressed.text, elidedAt(position))
  return outline(whole, kind === 'bootstrap' || kind === 'constraint' ? ruleLimit : limits.structured.text, elidedAt(position))
}

const resultAt = (part: ToolResultPart, level: 'compressed' | 'structured', recorded: Recorded): ToolResultPart => {
  const same = recorded.sameAs?.(part)
  const said =
    same !== undefined ? `[same result as position ${same}]` : level === 'compressed' ? compressedResult(part, recorded) : structuredLine(part, recorded)
  return freeze({
    type: 'tool_result',
    callId: part.callId,
    content: freeze([text(said)]),
    ...(part.name !== undefined && { name: part.name }),
    ...(part.isError === true && { isError: true }),
  })
}

const compressedResult = (part: ToolResultPart, { position }: Recorded): string =>
  foldedEnds(part.content.map((inner) => resultText(inner, position)).join('\n'), limits.compressed.result, elidedAt(position))

const resultText = (part: ResultPart, position: number): string => (part.type === 'text' ? part.text : attachmentLine(part, position))

const structuredLine = (part: ToolResultPart, { position, toolOf }: Recorded): string => {
  const whole = part.content.map(plain).join('\n').trim()
  if (whole.length <= shortResult && part.content.every(({ type }) => type === 'text')) return whole
  const { tool, status, characters, lines, error, files } = structuredResult(part, toolOf?.(part.callId))
  const fields = [`${tool}: ${status}`, `${grouped(characters)} characters`, ...(lines > 1 ? [`${grouped(lines)} lines`] : [])]
  if (error !== undefined) fields.push(`error: ${beginning(error, 160)}`)
  if (files.length > 0) fields.push(`files: ${files.join(' ')}`)
  return `[${fields.join('; ')}; recall {"position": ${position}}]`
}

/** An answer that is no longer than its fields would be is its own best summary. */
const shortResult = 80

const errorLine = (whole: string, isError: boolean): string | undefined => {
  const found = errorWord.exec(whole)?.index
  if (found === undefined) return isError ? whole.split('\n', 20).find((line) => line.trim() !== '')?.trim() : undefined
  const end = whole.indexOf('\n', found)
  return whole.slice(whole.lastIndexOf('\n', found) + 1, end === -1 ? undefined : end).trim()
}

const elidedAt =
  (position: number): Elision =>
  (left, of) =>
    `[… ${grouped(left)} of ${grouped(of)} characters left out; recall {"position": ${position}} …]`

const attachmentLine = (part: Extract<Part, { readonly type: 'image' | 'file' | 'provider' }>, position: number): string =>
  `[${part.type === 'provider' ? `${part.provider} data, ${grouped(JSON.stringify(part.raw).length)} characters` : attachment(part)}; recall {"position": ${position}}]`

const attachment = (part: Extract<Part, { readonly type: 'image' | 'file' }>): string => {
  const { source } = part
  const name = part.type === 'file' && part.name !== undefined ? `${part.name} ` : ''
  if (source.type === 'url') return `${part.type} ${name}${beginning(source.url, 120)}`
  if (source.type === 'block') return `${part.type} ${name}block ${source.id}`
  return `${part.type} ${name}${source.mediaType}, ${grouped(Math.floor((source.data.length * 3) / 4))} bytes`
}
