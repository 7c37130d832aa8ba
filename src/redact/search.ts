/** Locates secrets in a text, as written and with escapes decoded. */
import { base64OfText, textOfBase64 } from '../json/index.ts'
import { markOf, type Redacted } from './mark.ts'

/** A rule prepared for searching. */
export interface Pattern {
  readonly name: string
  /** A regular expression if the pattern ignores case. */
  readonly words: readonly string[] | RegExp | undefined
  /** With the global flag, and with indices if it has a group `secret`. */
  readonly pattern: RegExp
  /** Shared by several rules: none of them finds anything in a text in which it finds nothing. */
  readonly before?: RegExp | undefined
  /** How far before the end of a match the next one may start, in characters. */
  readonly overlap: number
}

/** A range of a text: a secret, data that contains secrets, or binary data without any. */
export interface Span {
  readonly start: number
  readonly end: number
  /** The rule that found the secret. */
  readonly rule?: string
  /** The secret's length, if escapes make it differ. Default: from start to end. */
  readonly length?: number
  /** The replacement, if it is not a mark. */
  readonly clean?: Clean
}

/** A text without secrets, and the secrets it had. */
interface Clean {
  readonly text: string
  readonly found: readonly Redacted[]
}

const cleanOf = ({ start, end, rule, length = end - start, clean }: Span): Clean | undefined =>
  clean ?? (rule === undefined ? undefined : { text: markOf({ rule, length }), found: [{ rule, length }] })

/** Whether the span is to be replaced. */
export const isFound = ({ rule, clean }: Span): boolean => rule !== undefined || clean !== undefined

export const shiftSpan = (span: Span, by: number): Span =>
  by === 0 ? span : { ...span, start: span.start + by, end: span.end + by }

/** The part of a span between two positions; undefined if there is none. */
export const clipSpan = (span: Span, from: number, to: number): Span | undefined => {
  const [start, end] = [Math.max(span.start, from), Math.min(span.end, to)]
  if (start >= end) return undefined
  if (start === span.start && end === span.end) return span
  const rule = span.rule ?? span.clean?.found[0]?.rule
  return { start, end, ...(rule !== undefined && { rule }) }
}

/** Sorts spans and removes overlaps while covering the same text. Of equal spans the first is kept. */
export const mergeSpans = (spans: readonly Span[]): readonly Span[] => {
  const result: Span[] = []
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const last = result.at(-1)
    if (last !== undefined && span.end <= last.end) continue
    if (last !== undefined && span.start < last.end) result[result.length - 1] = clipSpan(last, 0, span.start) as Span
    result.push(span)
  }
  return result
}

/** Replaces sorted, non-overlapping spans of a text with marks. */
export const replaceSpans = (text: string, spans: readonly Span[]): Clean => {
  const pieces: string[] = []
  const found: Redacted[] = []
  let at = 0
  for (const span of spans) {
    const clean = cleanOf(span)
    if (clean === undefined) continue
    pieces.push(text.slice(at, span.start), clean.text)
    for (const span of clean.found) found.push(span)
    at = span.end
  }
  return { text: at === 0 ? text : [...pieces, text.slice(at)].join(''), found }
}

/** Escapes of JSON, most languages and URLs. Without groups, which would take five times as long. */
const escapes = /\\(?:u\{0*[\da-fA-F]{1,5}\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|[bfnrtv0"'`/\\])|%[\da-fA-F]{2}/g

/** The escapes of JSON only. */
export const jsonEscapes: RegExp = /\\(?:u[\da-fA-F]{4}|["\\/bfnrt])/g

const letters: { readonly [letter: string]: string } = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', 0: '\0' }

const decodedText = (escape: string): string => {
  const letter = escape[1] as string
  if (escape.length === 2) return letters[letter] ?? letter
  return String.fromCodePoint(Number.parseInt(/[\da-f]+/i.exec(escape)?.[0] as string, 16))
}

/** For each character of the unescaped text, its position in the original text, and the original end. */
const placesIn = (text: string, of: RegExp): readonly number[] => {
  const places: number[] = []
  let at = 0
  for (const { 0: escape, index } of text.matchAll(of)) {
    while (at < index) places.push(at++)
    places.push(at)
    // Above U+FFFF an escape is two code units.
    if (/^\\u\{0*[1-9a-f][\da-f]{4}\}$/i.test(escape)) places.push(at)
    at += escape.length
  }
  while (at <= text.length) places.push(at++)
  return places
}

/** Maps spans of the unescaped text to the original text. */
export const spansInEscaped = (spans: readonly Span[], text: string, of: RegExp = escapes): readonly Span[] => {
  if (spans.length === 0) return spans
  const places = placesIn(text, of)
  return spans.map((span) => ({ ...span, start: places[span.start] as number, end: places[span.end] as number }))
}

/** The maximum depth of escapes within escapes: for example, JSON in JSON in JSON. */
const mostLayers = 5

/** The spans found by rules in a text, including embedded base64 text. Spans may overlap; earlier rules come first. */
export const search = (
  text: string,
  rules: readonly Pattern[],
  ofBase64: readonly Pattern[] = rules,
): readonly Span[] => {
  const spans = [...spansIn(text, rules, ofBase64)]
  const layers = [text]
  while (layers.length <= mostLayers) {
    const layer = layers.at(-1) as string
    const next = layer.replaceAll(escapes, decodedText)
    if (next === layer) break
    for (const span of layers.reduceRight(
      (found, outer) => spansInEscaped(found, outer),
      spansIn(next, rules, ofBase64),
    ))
      spans.push(span)
    layers.push(next)
  }
  return spans
}

const spansIn = (text: string, rules: readonly Pattern[], ofBase64: readonly Pattern[]): readonly Span[] => {
  const tried = new Map<RegExp, boolean>()
  const isTried = ({ before }: Pattern): boolean => {
    if (before === undefined) return true
    const known = tried.get(before) ?? before.test(text)
    tried.set(before, known)
    return known
  }
  const spans = rules.flatMap((rule) => (isTried(rule) ? matchesOf(rule, text) : []))
  if (text.includes(';base64,'))
    for (const { 0: data, index } of text.matchAll(/(?<=;base64,)[\w+/=-]+/g)) {
      const span = spanOfBase64(data, ofBase64)
      if (span !== undefined) spans.push(shiftSpan(span, index))
    }
  return spans
}

/** Too many characters for a secret, and none of those in most formats' prefixes. */
const bytes = /^[A-Za-z0-9+/]{64,}={0,2}$/

/**
 * The span for base64: all of it if it decodes to text with secrets; a span without replacement for
 * binary data, which may only look like secrets; undefined if it may be something else.
 */
export const spanOfBase64 = (data: string, rules: readonly Pattern[]): Span | undefined => {
  const inside = textOfBase64(data.replaceAll('-', '+').replaceAll('_', '/'))
  const clean = inside === undefined ? undefined : replaceSpans(inside, mergeSpans(search(inside, rules)))
  const whole = { start: 0, end: data.length }
  if (clean !== undefined && clean.found.length > 0)
    return { ...whole, clean: { ...clean, text: base64OfText(clean.text) } }
  return bytes.test(data) ? whole : undefined
}

const matchesOf = ({ name, words, pattern, overlap }: Pattern, text: string): readonly Span[] => {
  if (words instanceof RegExp ? !words.test(text) : words?.some((word) => text.includes(word)) === false) return []
  const found: Span[] = []
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const next = match.index + match[0].length
    const [start, end] = match.indices?.groups?.['secret'] ?? [match.index, next]
    if (start < end) found.push({ start, end, rule: name })
    pattern.lastIndex = Math.max(match.index + 1, next - overlap)
  }
  return found
}
