/** Matches texts against a query, and selects the excerpt. */
import { wordsIn, type SearchText } from '../entry/internal.ts'
import type { Slices } from '../store/internal.ts'
import type { Phrase } from './phrases.ts'
import type { Query } from './query.ts'

/** A part of a text, with the matched words. */
export interface Excerpt {
  /** The text as in the message; may contain line feeds and control characters. */
  readonly text: string
  /** The matched words: their start and end in `text`, in UTF-16 units. */
  readonly marks: readonly (readonly [from: number, to: number])[]
  /** Whether the message's text continues before the excerpt. */
  readonly cutBefore: boolean
  /** Whether it continues after the excerpt. */
  readonly cutAfter: boolean
}

export interface Match {
  readonly of: SearchText['of']
  readonly excerpt: Excerpt
  readonly score: number
}

/** The UTF-16 units of an excerpt before the start of the first matched word, and from there on. */
const excerptBefore = 60
export const excerptAfter = 180
/** The number of units after the first matched word that are read for ranking. */
const rankedUnits = 600

/** A place in a text that an excerpt marks. */
export interface MarkedWord {
  readonly start: number
  readonly end: number
}

interface Span extends MarkedWord {
  readonly phrase: Phrase
  /** The indexes of its first and last word in the text. */
  readonly first: number
  readonly last: number
}

/**
 * The first match in a message's texts; undefined if a wanted phrase is missing or an unwanted one is present.
 *
 * Cost    O(texts), in slices
 */
export const matchIn = async (
  texts: readonly SearchText[],
  query: Query,
  slices: Slices,
): Promise<Match | undefined> => {
  const { wanted, unwanted } = query
  const known = new Set<Phrase>()
  let first: { readonly index: number; readonly spans: readonly Span[]; readonly count: number } | undefined
  let density = 0
  for (const [index, { text }] of texts.entries()) {
    const found = await spansIn(text, query, slices)
    if (found === undefined) return undefined
    if (first?.count === wanted.length) continue // only an unwanted phrase still matters
    const { phrases, spans } = found
    for (const phrase of phrases) known.add(phrase)
    if (known.size === wanted.length) density += densityOf(spans, wanted)
    if (phrases.size > (first?.count ?? 0)) first = { index, spans, count: phrases.size }
    if (first?.count === wanted.length && unwanted.size === 0) break
  }
  if (known.size < wanted.length || first === undefined) return undefined
  const { of, text } = texts[first.index] as SearchText
  return { of, excerpt: excerptOf(text, first.spans), score: scoreOf(density, text.length, of) }
}

/**
 * How often a text has all phrases together: 1 each time they are adjacent, less with distance.
 *
 * Source  Clarke, Cormack, Tudhope: Relevance ranking for one to three term queries, 2000 (cover density)
 */
const densityOf = (spans: readonly Span[], wanted: readonly Phrase[]): number => {
  const least = wanted.reduce((sum, { units }) => sum + units.length, 0)
  const latest = new Map<Phrase, number>()
  let [density, from] = [0, -1]
  for (const { phrase, first, last } of spans) {
    latest.set(phrase, first)
    if (latest.size < wanted.length) continue
    let start = Infinity
    for (const at of latest.values()) start = Math.min(start, at)
    if (start > from) density += least / Math.max(least, last - start + 1)
    from = start
  }
  return density
}

/**
 * The score from 0 to 1: higher for words close together, repeated, in a short text, and not from a
 * tool. Rounded to steps, so that among similar messages the newest comes first.
 *
 * Source  Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009 (the saturation of BM25,
 * k1 1.2, b 0.75; here with
 *         the root of the length, because a tool's result can be a thousand times longer than an answer)
 */
const scoreOf = (density: number, length: number, of: SearchText['of']): number => {
  const found = Math.max(density, acrossTexts)
  const saturated = found / (found + 1.2 * (0.25 + 0.75 * Math.sqrt(length / 1000)))
  return Math.round((of === 'tool' ? 0.5 : 1) * saturated * 20) / 20
}

/** The density for words in different texts of a message, such as an answer and a call. */
const acrossTexts = 0.1

interface FoundPhrases {
  readonly phrases: ReadonlySet<Phrase>
  readonly spans: readonly Span[]
}

/** The maximum spans to keep: an excerpt shows only a few. */
const mostSpans = 200

/** The number of units of a text after which a slice may end. */
export const sliceUnits: number = 1 << 14

/** The phrases in a text, and their places. Undefined if it has an unwanted one. */
const spansIn = async (
  text: string,
  { wanted, unwanted, finder }: Query,
  slices: Slices,
): Promise<FoundPhrases | undefined> => {
  const phrases = new Set<Phrase>()
  const spans: Span[] = []
  const endingWith = finder.search()
  let enough = Infinity
  let [word, counted] = [-1, 0]
  for (const unit of wordsIn(text)) {
    if (unit.start - counted >= sliceUnits) {
      await slices.next(unit.start - counted)
      counted = unit.start
    }
    // Everything is found, and neither the excerpt nor the score needs more.
    const isEnough = unit.start > enough
    if (isEnough && unwanted.size === 0) break
    word += 1
    for (const { phrase, start } of endingWith(unit)) {
      if (unwanted.has(phrase)) return undefined
      if (isEnough) continue
      const isFirst = !phrases.has(phrase)
      phrases.add(phrase)
      if (isFirst || spans.length < mostSpans)
        spans.push({ start, end: unit.end, phrase, first: word - phrase.units.length + 1, last: word })
      if (isFirst && phrases.size === wanted.length) enough = (spans[0] as Span).start + rankedUnits
    }
  }
  await slices.next(text.length - counted)
  return { phrases, spans }
}

export const excerptOf = (text: string, spans: readonly MarkedWord[]): Excerpt => {
  const inOrder = spans.toSorted((a, b) => a.start - b.start || a.end - b.end)
  const first = (inOrder[0] as MarkedWord).start
  let from = Math.max(0, first - excerptBefore)
  if (from > 0) from += text.slice(from, first).search(/\s/) + 1 // start at a word, if possible
  let to = Math.min(text.length, first + excerptAfter)
  if (isLowSurrogate(text, from)) from -= 1
  if (isLowSurrogate(text, to)) to -= 1
  const marks: (readonly [number, number])[] = []
  for (const { start, end } of inOrder) {
    const known = marks.at(-1)
    if (start >= to) break
    const mark = [start - from, Math.min(end, to) - from] as const
    if (known === undefined || mark[0] > known[1]) marks.push(Object.freeze(mark))
    else if (mark[1] > known[1]) marks[marks.length - 1] = Object.freeze([known[0], mark[1]] as const)
  }
  return Object.freeze({
    text: text.slice(from, to),
    marks: Object.freeze(marks),
    cutBefore: from > 0,
    cutAfter: to < text.length,
  })
}

/** Whether a position splits a surrogate pair. */
const isLowSurrogate = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return code >= 0xdc00 && code <= 0xdfff
}
