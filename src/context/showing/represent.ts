/**
 * Representations: one recorded message as a derived context may hold it, at each residency level. Deterministic, and
 * pure functions of the message and its position, so that the same record gives the same bytes.
 *
 * A representation is made from the recorded message with Immer's `produce`, so it shares the parts that it does not
 * change. It keeps role, name, calls and results (so pairing holds) and what the message is marked as (`indelible` in
 * its `meta`). It leaves out ids, all other `meta` and reasoning, which belong to the exact original.
 */
import { produce } from 'immer'
import {
  text,
  type Message,
  type Part,
  type RefusalPart,
  type ResultPart,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from '../../message/index.ts'
import { erasedMark } from '../../message/kit.ts'
import type { PageKind, ResidencyLevel } from '../../pages/index.ts'
import { back, type RecallName } from './marker.ts'
import { beginning, foldedEnds, grouped, headAndTail, outline, shortArguments, type Elision } from './shorten.ts'

/** The typed fields of a tool result, for the level `structured`. */
export interface StructuredResult {
  /** The name of the tool. */
  readonly tool: string
  /** Whether the tool failed. */
  readonly status: 'ok' | 'error'
  /** The length of the result in UTF-16 units. */
  readonly characters: number
  /** The number of lines. */
  readonly lines: number
  /** The first line that reports an error. */
  readonly error?: string
  /** The first files that it names, at most five. */
  readonly files: readonly string[]
}

/** The context of a message, for its representation. */
export interface Recorded {
  /** The position in the record. */
  readonly position: number
  /** Its page kind. */
  readonly kind: PageKind
  /**
   * The name of the tool that a call used.
   *
   * @returns the name; undefined if the call is unknown
   */
  readonly toolOf?: (callId: string) => string | undefined
  /**
   * The earlier position of an equal result in the same context.
   *
   * @returns the position; undefined if there is none
   */
  readonly sameAs?: (result: ToolResultPart) => number | undefined
  /** The tool with which the model gets it back; `false`: there is none. Default: `recall`. */
  readonly recall?: RecallName
}

/**
 * A message at a level. At `full` it is the message itself. A `pointer` is not a message; markers stand for it.
 *
 * @returns the shortened message; it shares unchanged parts with the recorded one
 */
export const represent = (message: Message, level: Exclude<ResidencyLevel, 'pointer'>, recorded: Recorded): Message => {
  if (level === 'full') return message
  const content = message.content.flatMap((part) => representPart(part, level, recorded))
  return withContent(
    message,
    content.length > 0 || message.content.length === 0
      ? content
      : [text(`[position ${recorded.position}: reasoning left out]`)],
  )
}

/**
 * A message with each text, result and argument of more than `longest` UTF-16 units cut to its head and tail (a `rule`: to
 * its outline), and larger attachments named in a line. The recorded message itself, if it has none.
 */
export const cut = (message: Message, longest: number, recorded: Recorded, rule: boolean): Message => {
  const parts = message.content.map((part) => cutPart(part, longest, recorded, rule))
  if (parts.every((part, index) => part === message.content[index])) return message
  const said = parts.filter(({ type }) => type !== 'reasoning')
  return withContent(message, said.length > 0 ? said : [text(`[position ${recorded.position}: reasoning left out]`)])
}

/** The characters of the longest text, result, argument or attachment of a message: a cut to as much changes nothing. */
export const longestIn = (message: Message): number =>
  message.content.reduce((longest, part) => Math.max(longest, lengthOf(part)), 0)

/**
 * The typed fields of a tool result. Cost: O(characters).
 *
 * @param tool the name of the tool. Default: the name in the result
 */
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
    case 'erased':
      return erasedMark
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
const errorWord =
  /\b(?:error|exception|failed|failure|fatal|panic|traceback|denied|not found|no such|cannot|E[A-Z]{4,})\b/i

/** How long things may be at each level, in UTF-16 units. */
const limits = {
  compressed: { text: 1200, result: 900, argument: 600 },
  structured: { text: 320, result: 320, argument: 120 },
} as const
/** Instructions keep more of their text: it is what they are kept for. The text of a rule stays whole. */
export const ruleLimit = 1600

/** The recorded message with other content, and without what belongs to the exact original. */
const withContent = (message: Message, content: readonly Part[]): Message =>
  edited(message, (draft) => {
    delete draft.id
    const mark = message.meta?.['indelible']
    if (mark === undefined) delete draft.meta
    else if (Object.keys(message.meta ?? {}).length > 1) draft.meta = { indelible: mark }
    draft.content = content
  })

/**
 * Immer's `produce`. A recipe replaces fields, with values that are readonly again; so only the outermost object is a draft,
 * and the cast gives it the type that says so.
 */
const edited = <T extends Message | Part>(
  recorded: T,
  recipe: (draft: { -readonly [Key in keyof T]: T[Key] }) => void,
): T => produce(recorded as object, recipe as (draft: object) => void) as T

const representPart = (part: Part, level: 'compressed' | 'structured', recorded: Recorded): readonly Part[] => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return [recorded.kind === 'constraint' ? part : withText(part, shortText(part.text, level, recorded))]
    case 'reasoning':
      return []
    case 'tool_call':
      return [withArguments(part, shortArguments(part.arguments, limits[level].argument))]
    case 'tool_result':
      return [resultAt(part, level, recorded)]
    case 'image':
    case 'file':
    case 'provider':
      return [text(attachmentLine(part, recorded))]
    case 'erased':
      return [part]
  }
}

const cutPart = (part: Part, longest: number, recorded: Recorded, rule: boolean): Part => {
  if (lengthOf(part) <= longest || (recorded.kind === 'constraint' && part.type === 'text')) return part
  const elided = elidedAt(recorded)
  switch (part.type) {
    case 'text':
    case 'refusal':
      return withText(part, rule ? outline(part.text, longest, elided, true) : headAndTail(part.text, longest, elided))
    case 'tool_call':
      return withArguments(part, shortArguments(part.arguments, longest))
    case 'tool_result':
      return withAnswer(part, headAndTail(textOfResult(part, recorded), longest, elided))
    case 'image':
    case 'file':
    case 'provider':
      return text(attachmentLine(part, recorded))
    case 'reasoning':
    case 'erased':
      return part
  }
}

/** What a part takes of a cut's limit. Reasoning is left out whole where anything is cut, and never cut. */
const lengthOf = (part: Part): number => {
  switch (part.type) {
    case 'text':
    case 'refusal':
      return part.text.length
    case 'reasoning':
    case 'erased':
      return 0
    case 'tool_call':
      return part.arguments.length
    case 'tool_result':
      return part.content.reduce((sum, inner) => sum + lengthOf(inner), 0)
    case 'provider':
      return JSON.stringify(part.raw).length
    case 'image':
    case 'file':
      return attachmentLength
  }
}

/** An attachment stays as long as texts of so many characters do: about the tokens of an image. */
const attachmentLength = 6000

/** A part without what belongs to the exact original. */
const bare = <P extends Part>(part: P): P =>
  part.meta === undefined ? part : edited(part, (draft) => void delete draft.meta)

const withText = <P extends TextPart | RefusalPart>(part: P, said: string): P =>
  part.text === said ? bare(part) : edited(bare(part), (draft) => void (draft.text = said))

const withArguments = (part: ToolCallPart, given: string): ToolCallPart =>
  part.arguments === given ? bare(part) : edited(bare(part), (draft) => void (draft.arguments = given))

const withAnswer = (part: ToolResultPart, said: string): ToolResultPart => {
  const [only] = part.content
  if (part.content.length === 1 && only?.type === 'text' && only.text === said && only.meta === undefined)
    return bare(part)
  return edited(bare(part), (draft) => void (draft.content = [text(said)]))
}

const shortText = (whole: string, level: 'compressed' | 'structured', recorded: Recorded): string => {
  if (level === 'compressed') return foldedEnds(whole, limits.compressed.text, elidedAt(recorded))
  return outline(whole, recorded.kind === 'bootstrap' ? ruleLimit : limits.structured.text, elidedAt(recorded))
}

const resultAt = (part: ToolResultPart, level: 'compressed' | 'structured', recorded: Recorded): ToolResultPart => {
  const same = recorded.sameAs?.(part)
  if (same !== undefined) return withAnswer(part, `[same result as position ${same}]`)
  return withAnswer(part, level === 'compressed' ? compressedResult(part, recorded) : structuredLine(part, recorded))
}

const compressedResult = (part: ToolResultPart, recorded: Recorded): string =>
  foldedEnds(textOfResult(part, recorded), limits.compressed.result, elidedAt(recorded))

const textOfResult = (part: ToolResultPart, recorded: Recorded): string =>
  part.content.map((inner) => resultText(inner, recorded)).join('\n')

const resultText = (part: ResultPart, recorded: Recorded): string =>
  part.type === 'text' ? part.text : attachmentLine(part, recorded)

const structuredLine = (part: ToolResultPart, { position, toolOf, recall = 'recall' }: Recorded): string => {
  const whole = part.content.map(plain).join('\n').trim()
  if (whole.length <= shortResult && part.content.every(({ type }) => type === 'text')) return whole
  const { tool, status, characters, lines, error, files } = structuredResult(part, toolOf?.(part.callId))
  const fields = [
    `${tool}: ${status}`,
    `${grouped(characters)} characters`,
    ...(lines > 1 ? [`${grouped(lines)} lines`] : []),
  ]
  if (error !== undefined) fields.push(`error: ${beginning(error, 160)}`)
  if (files.length > 0) fields.push(`files: ${files.join(' ')}`)
  return `[${fields.join('; ')}${back('; ', recall, position)}]`
}

/** An answer that is no longer than its fields would be is its own best summary. */
const shortResult = 80

export const errorLine = (whole: string, isError: boolean): string | undefined => {
  const found = errorWord.exec(whole)?.index
  if (found === undefined)
    return isError
      ? whole
          .split('\n', 20)
          .find((line) => line.trim() !== '')
          ?.trim()
      : undefined
  const end = whole.indexOf('\n', found)
  return whole.slice(whole.lastIndexOf('\n', found) + 1, end === -1 ? undefined : end).trim()
}

const elidedAt =
  ({ position, recall = 'recall' }: Recorded): Elision =>
  (left, of) =>
    `[… ${grouped(left)} of ${grouped(of)} characters left out${back('; ', recall, position)} …]`

const attachmentLine = (
  part: Extract<Part, { readonly type: 'image' | 'file' | 'provider' }>,
  { position, recall = 'recall' }: Recorded,
): string =>
  `[${part.type === 'provider' ? `${part.provider} data, ${grouped(JSON.stringify(part.raw).length)} characters` : attachment(part)}${back('; ', recall, position)}]`

const attachment = (part: Extract<Part, { readonly type: 'image' | 'file' }>): string => {
  const { source } = part
  const name = part.type === 'file' && part.name !== undefined ? `${part.name} ` : ''
  if (source.type === 'url') return `${part.type} ${name}${beginning(source.url, 120)}`
  if (source.type === 'block') return `${part.type} ${name}block ${source.id}`
  return `${part.type} ${name}${source.mediaType}, ${grouped(Math.floor((source.data.length * 3) / 4))} bytes`
}
