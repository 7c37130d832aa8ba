/** Redaction of texts and JSON: secrets are replaced by a mark that says which rule found them and how long they were. */
import { textOfJson, type Json } from '../json/index.ts'
import { isBlockId } from '../proof/kit.ts'
import { Finder } from './find.ts'
import type { Redacted } from './mark.ts'
import { keyBegin, secretRules, type RedactRule } from './rule.ts'
import { clipSpan, replaceSpans, shiftSpan, type Pattern, type Span } from './search.ts'

/** How texts are redacted. */
export interface RedactOptions {
  /** Rules of your own. They come first. Default: none. */
  readonly rules?: readonly RedactRule[]
  /** Whether the formats of `secretRules` are found, too. Default: true. */
  readonly secrets?: boolean
  /** Told of each secret that was taken out, and not what it was. What it throws is ignored. Default: nobody. */
  readonly onRedacted?: (found: Redacted) => void
}

/** Takes secrets out of texts and JSON, and counts them. */
export interface TextRedactor {
  /**
   * A text without secrets, also where they are written with escapes (`\n`, `\u0067`, `%67`) or in the base64 of a `data:`
   * address. One that is JSON, an object or an array, stays JSON: its strings and keys are redacted.
   *
   * Cost    linear in the text (bench: redact)
   *
   * @returns the text with a mark in place of each secret; the same text if it has none
   */
  readonly text: (text: string) => string
  /**
   * The end of a text without secrets: for a text that still grows, and whose beginning was given already.
   *
   * @param text the text so far, or its end; of what is before the place, 64 characters are looked at
   * @param from the place: what begins there is given
   * @returns the end of the text, with marks
   */
  readonly textFrom: (text: string, from: number) => string
  /**
   * JSON without secrets: each string and each key is redacted, at any depth.
   *
   * @returns a copy with marks; the value itself if it has no secret
   */
  readonly json: <T extends Json>(value: T) => T
  /**
   * How much of a text that still grows can be redacted now: no secret begins before and ends behind that place.
   *
   * Cost    linear in the text behind `from`
   *
   * @param from the place that was given for less of the text. Default: 0
   * @returns a number of characters, at least `from`
   */
  readonly ready: (text: string, from?: number) => number
  /**
   * How many secrets were taken out so far, by rule.
   *
   * @returns the numbers, in the order in which rules found something first
   */
  readonly counts: () => ReadonlyMap<string, number>
}

/** What a redactor of texts does for others of this folder. */
export interface InnerRedactor extends TextRedactor {
  /** JSON that a provider or an application wrote beside the content: what pairs or signs stays, and bytes. */
  readonly beside: <T extends Json>(value: T) => T
  /** Base64 of a text, without secrets; base64 of anything else as it is. */
  readonly base64: (data: string) => string
  /** Collects what the work finds. */
  readonly finding: <T>(work: () => T) => { readonly result: T; readonly found: readonly Redacted[] }
}

/**
 * Make a redactor of texts.
 *
 * @throws TypeError if a rule has no name of letters, digits and hyphens, or no pattern
 */
export const textRedactor = ({ rules = [], secrets = true, onRedacted }: RedactOptions): InnerRedactor => {
  const finder = new Finder(
    rules.map(checkedRule).map((rule) => patternOf(rule, 0)),
    secrets ? secretRules.map((rule) => patternOf(rule, longestBegin)) : [],
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
      // What is told can't keep the text from being redacted.
    }
  }
  const changed = (given: string, spans: readonly Span[]): string => {
    const { text: clean, found } = replaceSpans(given, spans)
    found.forEach(note)
    return clean
  }
  const text = (given: string): string => changed(given, finder.inText(given))
  const textFrom = (given: string, from: number): string => {
    if (from === 0) return text(given)
    const before = Math.max(0, from - mostBefore)
    const spans = finder
      .inPiece(given.slice(before))
      .map((span) => clipSpan(shiftSpan(span, before - from), 0, Infinity))
    return changed(
      given.slice(from),
      spans.filter((span) => span !== undefined),
    )
  }
  const ofJson = <T extends Json>(value: T, beside: boolean): T => {
    if (typeof value === 'string') return beside && isBlockId(value) ? value : (text(value) as T & string)
    if (typeof value !== 'object' || value === null) return value
    const given = textOfJson(value)
    const clean = changed(given, finder.inJson(given, beside))
    return clean === given ? value : (JSON.parse(clean) as T)
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
    base64: (data) => changed(data, finder.inBase64(data)),
    ready: (given, from = 0) => (holdsBack ? from : readyUpTo(given, from)),
    counts: () => new Map(counts),
    finding,
  }
}

/** Characters before a place that tell whether a secret begins there: `authorization: basic`, say. */
const mostBefore = 64

/** What a format begins with may have letters that the token before it may have as well. */
const longestBegin = 'secret_access_key'.length

const checkedRule = (rule: RedactRule): RedactRule => {
  if (!(typeof rule.name === 'string' && /^[\w-]{1,64}$/.test(rule.name)))
    throw new TypeError(
      `a redaction rule needs a name of letters, digits and hyphens, found ${JSON.stringify(rule.name)}`,
    )
  if (!(rule.pattern instanceof RegExp))
    throw new TypeError(`the redaction rule ${rule.name} needs a pattern: a RegExp`)
  return rule
}

/** A pattern of our own: the state of a user's is not ours, and a rule is searched for everywhere. */
const patternOf = ({ name, words, pattern: { source, flags } }: RedactRule, overlap: number): Pattern => {
  const indices = source.includes('(?<secret>') ? 'd' : ''
  return { name, words, overlap, pattern: new RegExp(source, `${flags.replaceAll(/[dgy]/g, '')}g${indices}`) }
}

/** Characters that a private key may have until its end is no longer waited for. */
const longestKey = 100_000

const keyEnd = /-----END [A-Z0-9 ]{0,40}-----/

/** No secret has white space but a private key: up to the last white space, and not beyond a key that has not ended. */
const readyUpTo = (text: string, from: number): number => {
  let end = text.length
  while (end > from && !/\s/.test(text[end - 1] as string)) end -= 1
  const begin = text.slice(from, end).lastIndexOf(keyBegin)
  const isOver = begin === -1 || end - from - begin > longestKey || keyEnd.test(text.slice(from + begin, end))
  return isOver ? end : from + begin
}
