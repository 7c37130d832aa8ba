/** The terms by which a search finds a stored row: those of its message's texts, its role, and its kind of content. */
import { isLeft } from '../either/index.ts'
import { base64Of, define, isObject, jsonIn, ownField, textOfUtf8, type Immutable, type Path } from '../json/index.ts'
import type { Message, Part, Role } from '../message/index.ts'
import { isRole } from '../message/internal.ts'
import type { BlockId } from '../proof/internal.ts'
import type { TermsOf } from '../store/internal.ts'
import { decodeRow } from './row.ts'
import { addTerms } from './words.ts'

export interface SearchText {
  /** `message`: the speaker's words. `tool`: a tool call or its result. */
  readonly of: 'message' | 'tool'
  readonly text: string
}

// These terms start with a private-use character, which no word contains, so no text has them.

/** The term of all messages with a role. */
export const roleTerm = (role: Role): string => `\ue000${role}`

/** The term of all messages that have a text of this kind. */
export const kindTerm = (of: SearchText['of']): string => `\ue001${of}`

/** The term of all notes that retract messages. */
export const retractionTerm = '\ue002'

/** The only term of messages that had a missing or damaged block when they were indexed. */
export const unreadTerm = '\ue003'

/**
 * The searchable texts of a message: text, reasoning and refusals; names of tools and files;
 * arguments and results of calls; strings in provider data. Not metadata, ids, URLs and images.
 *
 * @returns the texts, in order
 */
export const textsOf = (message: Immutable<Message>): readonly SearchText[] => {
  const found: SearchText[] = []
  const of = message.role === 'tool' ? 'tool' : 'message'
  for (const part of message.content) if (isObject(part)) addTexts(part as Part, of, found)
  return found
}

const addTexts = (part: Part, of: SearchText['of'], found: SearchText[]): void => {
  const add = (text: unknown, as: SearchText['of'] = of): void => {
    if (typeof text === 'string' && text !== '') found.push({ of: as, text })
  }
  switch (part.type) {
    case 'text':
    case 'refusal':
      return add(part.text)
    case 'reasoning':
      add(part.text)
      for (const summary of listOf(ownField(part, 'summary'))) add(summary)
      return
    case 'file':
      return add(ownField(part, 'name'))
    case 'tool_call':
      return add(`${part.name} ${plainArguments(String(part.arguments))}`, 'tool')
    case 'tool_result':
      add(ownField(part, 'name'), 'tool')
      for (const each of listOf(part.content)) if (isObject(each)) addTexts(each as unknown as Part, 'tool', found)
      return
    case 'provider':
      return add(stringsIn(part.raw))
    case 'image':
      return
  }
}

/** The value, if it is a list; otherwise an empty list. */
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : [])

/** A call's arguments without JSON escapes, so that `\nfound` becomes the word `found`. */
const plainArguments = (text: string): string => {
  try {
    return stringsIn(JSON.parse(text))
  } catch {
    return text
  }
}

/** The names and strings of a value. A long string without white space is skipped as data. */
const stringsIn = (value: unknown): string => {
  const lines: string[] = []
  const walk = (each: unknown, name: string): void => {
    if (typeof each === 'string') {
      if (each.length < longData || /\s/.test(each)) lines.push(`${name}${each}`)
    } else if (Array.isArray(each)) for (const item of each) walk(item, name)
    else if (isObject(each)) for (const [key, item] of Object.entries(each)) walk(item, `${key}: `)
    else if (each !== null && each !== undefined) lines.push(`${name}${String(each)}`)
  }
  walk(value, '')
  return lines.join('\n')
}

const longData = 256

/**
 * The message of a stored row, for a search: without attached data, and only its role is checked.
 *
 * Cost    that of `JSON.parse`
 *
 * @param body the body of the row
 * @param block returns a stored block of the row, if it exists
 * @returns the message; undefined if the row has no readable message
 */
export const messageIn = (
  body: string,
  block: (id: BlockId) => Uint8Array | undefined,
): Immutable<Message> | undefined => {
  const decoded = decodeRow(body)
  if (isLeft(decoded)) return undefined
  try {
    const message: unknown = JSON.parse(decoded.right.text)
    for (const { path, id, as } of decoded.right.blocks) {
      if (path.at(-1) === 'data' && path.at(-2) === 'source') continue // data of an image or a file is not searched
      const bytes = block(id)
      if (bytes === undefined) return undefined
      if (!putTextBack(message, path, as === 'utf8' ? textOfUtf8(bytes) : base64Of(bytes))) return undefined
    }
    return isReadable(message) ? message : undefined
  } catch {
    return undefined
  }
}

const putTextBack = (message: unknown, path: Path, text: string): boolean => {
  let owner: unknown = message
  for (const step of path.slice(0, -1)) owner = ownField(owner as { readonly [step: string]: unknown }, String(step))
  const last = path.at(-1)
  if (last === undefined) return false
  define(owner as { [step: string]: unknown }, String(last), text)
  return true
}

/** Checks only what a search reads. Opening a session checks the rest. */
const isReadable = (value: unknown): value is Immutable<Message> =>
  isObject(value) && isRole(value['role']) && Array.isArray(value['content'])

/**
 * The terms of a row: for a message those of its texts, or `unreadTerm` if a block is missing; for a retraction
 * note `retractionTerm`. Other rows have no terms, and neither have unreadable rows, such as encrypted ones.
 *
 * Cost    O(row)
 */
export const termsOf: TermsOf = ({ kind, body }, block) => {
  if (kind === 'note') return isRetraction(body) ? [retractionTerm] : []
  let lacks = false
  const message = messageIn(body, (id) => {
    const bytes = block(id)
    lacks ||= bytes === undefined
    return bytes
  })
  if (message === undefined) return lacks ? [unreadTerm] : []
  const terms = new Set<string>([roleTerm(message.role)])
  for (const { of, text } of textsOf(message)) {
    terms.add(kindTerm(of))
    addTerms(terms, text)
  }
  return [...terms]
}

const isRetraction = (body: string): boolean => {
  const note = body.includes('"retraction"') ? jsonIn(body) : undefined
  return isObject(note) && note['type'] === 'retraction'
}
