/**
 * Representations: a recorded message with its long texts cut, and the markers that replace hidden messages and say how to read
 * them. They are pure functions of the messages and their positions, so the same record gives the same bytes. A marker has no
 * recorded content of its own, so it can have the user's role, which every provider accepts anywhere.
 *
 * A representation is made with Immer's `produce`, so it shares unchanged parts with the recorded message. It keeps
 * role, name, calls and results (so pairing holds) and the message's mark (`indelible` in its `meta`). It omits ids,
 * other `meta` and reasoning, which are only valid for the exact original.
 */
import { produce } from 'immer'
import { text, type Message, type Part, type ResultPart, type ToolResultPart } from '../../message/index.ts'
import { erasedMark } from '../../message/internal.ts'
import type { PageKind } from '../../pages/index.ts'
import { groupThousands } from './group-thousands.ts'
import { cutEnd, headAndTail, outline, shortArguments, type Elision } from './shorten.ts'

/** The name of the model's recall tool; `false` if it has none. A marker must not name a tool that is missing. */
export type RecallName = string | false

/** Increase this when the texts of contexts or their choices change. */
export const textVersion = 9

/** The call with which the model reads a position, between `before` and `after`; empty without a recall tool. */
export const recallHint = (before: string, recall: RecallName, position: number, after = ''): string =>
  recall === false ? '' : `${before} ${recall} with {"position": ${position}}${after}`

const readHint = (recall: RecallName, from: number, to: number): string =>
  to - from === 1
    ? recallHint(' Call', recall, from, ' to read it.')
    : recall === false
      ? ''
      : ` Call ${recall} with a position, such as {"position": ${from}}, to read one.`

/** The marker of hidden messages, with their summary lines. */
export const markerText = (
  from: number,
  to: number,
  tokens: number,
  lines: readonly string[],
  recall: RecallName,
): string => {
  const range = to - from === 1 ? `Message ${from} is` : `Messages ${from}–${to - 1} are`
  const size = `about ${groupThousands(Math.round(tokens))} tokens`
  const hint = readHint(recall, from, to)
  return lines.length === 0
    ? `[${range} not shown (${size}).${hint}]`
    : `[${range} shortened below (${size} in full).${hint}]\n${lines.join('\n')}`
}

/** The message for a summary. */
export const summaryText = (from: number, to: number, summary: string, recall: RecallName): string =>
  `[Summary of messages ${from}–${to - 1}.${readHint(recall, from, to)}]\n${summary}`

/** What a representation needs to know about its message. */
interface MessageContext {
  readonly position: number
  readonly kind: PageKind
  /** The model's recall tool; `false` if it has none. Default: `recall`. */
  readonly recall?: RecallName
}

/**
 * Cuts each text, result and argument longer than `longest` UTF-16 units to head and tail (`rule`: to an outline),
 * and replaces larger attachments by a line. Returns the recorded message itself if nothing is longer.
 */
export const cutText = (message: Message, longest: number, recorded: MessageContext, rule: boolean): Message => {
  const parts = message.content.map((part) =>
    lengthOf(part) <= longest ? part : shortPart(part, longest, recorded, rule),
  )
  return parts.every((part, index) => part === message.content[index]) ? message : withContent(message, parts, recorded)
}

/** The text of a message itself, without that of tool results in it. */
export const proseOf = ({ content }: Message): string => {
  let text = ''
  for (const part of content) if (part.type === 'text') text += part.text
  return text
}

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

const errorWord = /\b(?:error|exception|failed|failure|fatal|panic|traceback|denied|not found|no such|cannot)\b/i
/** A code such as ENOENT. */
const errorCode = /\bE[A-Z]{4,}\b/

/** Instructions keep more text than other messages, because that is why they are kept. A rule's text stays complete. */
export const ruleLimit = 1600

/** The recorded message with other content, without fields that are only valid for the original. */
const withContent = (message: Message, parts: readonly Part[], { position }: MessageContext): Message =>
  editMessage(message, (draft) => {
    delete draft.id
    const mark = message.meta?.['indelible']
    if (mark === undefined) delete draft.meta
    else if (Object.keys(message.meta ?? {}).length > 1) draft.meta = { indelible: mark }
    const shown = parts.filter(({ type }) => type !== 'reasoning')
    draft.content = shown.length > 0 || parts.length === 0 ? shown : [text(`[position ${position}: reasoning omitted]`)]
  })

/**
 * Immer's `produce`. A recipe assigns readonly values, so only the outermost object is a draft; the
 * cast gives it that type.
 */
const editMessage = <T extends Message | Part>(
  recorded: T,
  recipe: (draft: { -readonly [Key in keyof T]: T[Key] }) => void,
): T => produce(recorded as object, recipe as (draft: object) => void) as T

/** A part shortened. A rule's text stays complete, also as a tool's result: only attachments in it become lines. */
const shortPart = (part: Part, longest: number, recorded: MessageContext, rule: boolean): Part => {
  const isOfRule = recorded.kind === 'constraint'
  const elided = elidedAt(recorded)
  switch (part.type) {
    case 'text':
    case 'refusal': {
      if (isOfRule) return part
      const { text: whole } = part
      return withField(part, 'text', rule ? outline(whole, longest, elided, true) : headAndTail(whole, longest, elided))
    }
    case 'tool_call':
      return withField(part, 'arguments', shortArguments(part.arguments, longest))
    case 'tool_result': {
      const whole = textOfResult(part, recorded)
      const short = isOfRule ? whole : headAndTail(whole, longest, elided)
      return withField(part, 'content', isOneText(part, short) ? part.content : [text(short)])
    }
    case 'image':
    case 'file':
    case 'provider':
      return text(attachmentLine(part, recorded))
    case 'reasoning':
    case 'erased':
      return part
  }
}

/** The length that a cut compares with its limit. Reasoning is never cut: it is dropped when anything else is. */
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

/** An attachment is kept as long as a text of this length: about the tokens of an image. */
const attachmentLength = 6000

/** A part with one field replaced and without `meta`; the part itself if nothing changes. */
const withField = <P extends Part, Field extends keyof P>(part: P, field: Field, value: P[Field]): P =>
  part.meta === undefined && part[field] === value
    ? part
    : editMessage(part, (draft) => {
        delete draft.meta
        draft[field] = value
      })

const isOneText = ({ content }: ToolResultPart, whole: string): boolean => {
  const [only] = content
  return content.length === 1 && only?.type === 'text' && only.text === whole && only.meta === undefined
}

const textOfResult = (part: ToolResultPart, recorded: MessageContext): string =>
  part.content.map((inner) => resultText(inner, recorded)).join('\n')

const resultText = (part: ResultPart, recorded: MessageContext): string =>
  part.type === 'text' ? part.text : attachmentLine(part, recorded)

export const errorLine = (whole: string, isError: boolean): string | undefined => {
  const found = Math.min(...[errorWord, errorCode].flatMap((sign) => sign.exec(whole)?.index ?? []))
  if (found === Infinity)
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
  ({ position, recall = 'recall' }: MessageContext): Elision =>
  (left, of) =>
    `[… ${groupThousands(left)} of ${groupThousands(of)} characters omitted${recallHint('; call', recall, position)} …]`

const attachmentLine = (
  part: Extract<Part, { readonly type: 'image' | 'file' | 'provider' }>,
  { position, recall = 'recall' }: MessageContext,
): string =>
  `[${part.type === 'provider' ? `${part.provider} data, ${groupThousands(JSON.stringify(part.raw).length)} characters` : attachment(part)}${recallHint('; call', recall, position)}]`

const attachment = (part: Extract<Part, { readonly type: 'image' | 'file' }>): string => {
  const { source } = part
  const name = part.type === 'file' && part.name !== undefined ? `${part.name} ` : ''
  if (source.type === 'url') return `${part.type} ${name}${cutEnd(source.url, 120)}`
  if (source.type === 'block') return `${part.type} ${name}block ${source.id}`
  return `${part.type} ${name}${source.mediaType}, ${groupThousands(Math.floor((source.data.length * 3) / 4))} bytes`
}
