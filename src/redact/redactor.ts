/** Redacts text and JSON: replaces each secret with a mark that states its rule and length. */
import { describe, isObject, optionsOf, textOfJson, type Json, type OptionNames } from '../json/index.ts'
import { isBlockId } from '../proof/internal.ts'
import { Finder } from './find.ts'
import type { Redacted } from './mark.ts'
import { keyBegin, prefixedRules, secretRules, somePrefix, type RedactRule } from './rule.ts'
import { clipSpan, replaceSpans, shiftSpan, type Pattern, type Span } from './search.ts'

/** Options for redacting text. */
export interface RedactOptions {
  /** Your own rules, applied first. Default: none. */
  readonly rules?: readonly RedactRule[]
  /** Whether to find the formats of `secretRules`. Default: true. */
  readonly secrets?: boolean
  /** Called for each removed secret, without the secret itself. Exceptions are ignored. Default: none. */
  readonly onRedacted?: (found: Redacted) => void
}

/** Removes secrets from text and JSON, and counts them. */
export interface TextRedactor {
  /**
   * A text without secrets, including those written with escapes (`\n`, `\u0067`, `%67`) or in the base64 of a
   * `data:` URL. A JSON object or array stays valid JSON: its strings and keys are redacted, and a number that one of
   * your rules finds becomes a string.
   *
   * Cost    linear in the text (bench: redact)
   *
   * @returns the text with a mark for each secret; the same text if it has none
   */
  readonly text: (text: string) => string
  /**
   * The end of a growing text without secrets, if its beginning was already output.
   *
   * @param text the text so far, or its end; 256 characters before `from` are taken into account
   * @param from where the returned text starts
   * @returns the end of the text, with marks
   */
  readonly textFrom: (text: string, from: number) => string
  /**
   * JSON without secrets: all strings and keys are redacted, at any depth. Numbers are kept.
   *
   * @returns a copy with marks; the value itself if it has no secrets
   */
  readonly json: <T extends Json>(value: T) => T
  /**
   * How much of a growing text can be redacted now: no secret crosses that position.
   *
   * Cost    linear in the text after `from`
   *
   * @param from the position returned for a shorter text. Default: 0
   * @returns a number of characters, at least `from`
   */
  readonly ready: (text: string, from?: number) => number
  /**
   * The number of secrets removed so far, by rule.
   *
   * @returns the counts, in the order in which rules first found something
   */
  readonly counts: () => ReadonlyMap<string, number>
}

/** The methods that other files in this folder use. */
export interface InnerRedactor extends TextRedactor {
  /** JSON stored by a provider or application in addition to the content: ids, signatures and binary data are kept. */
  readonly beside: <T extends Json>(value: T) => T
  /** The base64 of a text without secrets; any other base64 unchanged. */
  readonly base64: (data: string) => string
  /** Runs some work and collects what it redacts. */
  readonly finding: <T>(work: () => T) => { readonly result: T; readonly found: readonly Redacted[] }
}

/**
 * Makes a redactor for text.
 *
 * @throws TypeError if a rule has no valid name (letters, digits and hyphens) or no pattern
 */
export const textRedactor = ({ rules = [], secrets = true, onRedacted }: RedactOptions): InnerRedactor => {
  const finder = new Finder(
    rules.map(checkedRule).map((rule) => patternOf(rule, 0)),
    secrets ? secretRules.map((rule) => patternOf(rule, longestPrefix)) : [],
  )
  const holdsBack = rules.some(({ spaces = true }) => spaces)
  const counts = new Map<string, number>()
  let collected: Redacted[] | undefined
  const note = (found: Redacted): void => {
    counts.set(found.rule, (counts.get(found.rule) ?? 0) + 1)
    collected?.push(found)
    try {
      onRedacted?.(found)
    } catch {
      // a callback that throws must not prevent redaction
    }
  }
  const replaceFound = (text: string, spans: readonly Span[]): string => {
    const { text: clean, found } = replaceSpans(text, spans)
    found.forEach(note)
    return clean
  }
  const text = (text: string): string => {
    if (typeof text !== 'string') throw new TypeError(`a redactor takes a text, found ${describe(text)}`)
    return replaceFound(text, finder.inText(text))
  }
  const textFrom = (input: string, from: number): string => {
    if (from === 0) return text(input)
    const before = Math.max(0, from - contextBefore)
    const spans = finder
      .inPiece(input.slice(before))
      .map((span) => clipSpan(shiftSpan(span, before - from), 0, Infinity))
    return replaceFound(
      input.slice(from),
      spans.filter((span) => span !== undefined),
    )
  }
  const ofJson = <T extends Json>(value: T, beside: boolean): T => {
    if (typeof value === 'string') return beside && isBlockId(value) ? value : (text(value) as T & string)
    if (typeof value !== 'object' || value === null) return value
    const plain = textOfPlain(value)
    const clean = replaceFound(plain, finder.inJson(plain, beside))
    return clean === plain ? value : (JSON.parse(clean) as T)
  }
  const finding: InnerRedactor['finding'] = (work) => {
    const [before, found] = [collected, [] as Redacted[]]
    collected = found
    try {
      return { result: work(), found }
    } finally {
      collected = before
    }
  }
  return {
    text,
    textFrom,
    json: (value) => ofJson(value, false),
    beside: (value) => ofJson(value, true),
    base64: (data) => replaceFound(data, finder.inBase64(data)),
    ready: (text, from = 0) => (holdsBack ? from : redactableEnd(text, from)),
    counts: () => new Map(counts),
    finding,
  }
}

/** The text of plain JSON data. Throws TypeError for a circular value. */
const textOfPlain = (value: Json): string => {
  try {
    return textOfJson(value)
  } catch (cause) {
    throw new TypeError('a redactor takes plain JSON data, found a circular value', { cause })
  }
}

/** Characters before a position that can be part of a secret's pattern, such as `authorization: basic`. */
const contextBefore = 256

/** The first characters of a secret may also match the end of the token before it. */
const longestPrefix = 'secret_access_key'.length

/** The options of a redactor. Throws TypeError if they are not `true` or an object with the known options. */
export const checkedOptions = (value: unknown): RedactOptions => {
  if (value !== true && !isPlain(value))
    throw new TypeError(
      `redact takes true, options (${Object.keys(optionNames).join(', ')}) or a redactor of createRedactor, found ${describe(value)}`,
    )
  const options = optionsOf<RedactOptions>('redact', value === true ? {} : value, optionNames)
  const { rules = [], secrets = true, onRedacted = String } = options
  if (!Array.isArray(rules)) throw new TypeError(`redact takes \`rules\` as an array, found ${describe(rules)}`)
  if (typeof secrets !== 'boolean')
    throw new TypeError(`redact takes \`secrets\` as a boolean, found ${describe(secrets)}`)
  if (typeof onRedacted !== 'function')
    throw new TypeError(`redact takes \`onRedacted\` as a function, found ${describe(onRedacted)}`)
  return options
}

/** An object literal of any realm: an instance of a class, such as a RegExp or a Promise, has other prototypes. */
const isPlain = (value: unknown): value is object => {
  if (!isObject(value)) return false
  const prototype = Object.getPrototypeOf(value) as object | null
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

const optionNames: OptionNames<RedactOptions> = { rules: true, secrets: true, onRedacted: true }

const checkedRule = (redactRule: RedactRule): RedactRule => {
  const rule = optionsOf('a redaction rule', redactRule, { name: true, pattern: true, words: true, spaces: true })
  if (!(typeof rule.name === 'string' && /^[\w-]{1,64}$/.test(rule.name)))
    throw new TypeError(
      `a redaction rule needs a name of letters, digits and hyphens, found ${JSON.stringify(rule.name)}`,
    )
  if (!(rule.pattern instanceof RegExp))
    throw new TypeError(`the redaction rule ${rule.name} needs a pattern: a RegExp`)
  if (
    !(rule.words === undefined || (Array.isArray(rule.words) && rule.words.every((word) => typeof word === 'string')))
  )
    throw new TypeError(`the redaction rule ${rule.name} needs its words as an array of strings`)
  return rule
}

/** Finds one of the words in any case: faster than a copy of the text in lower case. */
const anyOf = (words: readonly string[]): RegExp =>
  new RegExp(words.map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|') || '(?!)', 'i')

/** A separate regular expression: the user's has its own state, and matches must be global. */
const patternOf = (rule: RedactRule, overlap: number): Pattern => {
  const {
    name,
    words,
    pattern: { source, flags },
  } = rule
  const indices = source.includes('(?<secret>') ? 'd' : ''
  const pattern = new RegExp(source, `${flags.replaceAll(/[dgy]/g, '')}g${indices}`)
  return {
    name,
    words: pattern.ignoreCase ? words && anyOf(words) : words,
    overlap,
    pattern,
    before: prefixedRules.has(rule) ? somePrefix : undefined,
  }
}

/** The maximum length of a private key whose end is awaited. */
const longestKey = 100_000

const keyEnd = /-----END [A-Z0-9 ]{0,40}-----/

/** The end of the redactable text: the last white space before any unfinished key. Only keys have spaces. */
const redactableEnd = (text: string, from: number): number => {
  let end = text.length
  while (end > from && !/\s/.test(text[end - 1] as string)) end -= 1
  const begin = text.slice(from, end).lastIndexOf(keyBegin)
  const isOver = begin === -1 || end - from - begin > longestKey || keyEnd.test(text.slice(from + begin, end))
  return isOver ? end : from + begin
}
