/** Whether texts have what a query asks for, and the place to show. */
import { wordsIn, type SearchText, type Word } from '../entry/kit.ts'
import type { Phrase, Query } from './query.ts'

/** A part of a text with the words that were found in it. */
export interface Excerpt {
  /** The text, as it stands in the message; it may have line feeds and control characters. */
  readonly text: string
  /** The found words: where each begins and ends in `text`, in UTF-16 units. */
  readonly marks: readonly (readonly [from: number, to: number])[]
  /** True if the message's text goes on before the excerpt. */
  readonly cutBefore: boolean
  /** True if it goes on behind it. */
  readonly cutAfter: boolean
}

export interface Match {
  readonly of: SearchText['of']
  readonly excerpt: Excerpt
  readonly score: number
}

/** How many UTF-16 units an excerpt shows before the first found word, and from it on. */
const before = 60
const behind = 180
/** How many units from the first found word on are read to rank a message. */
const rankedUnits = 600

interface Span {
  readonly start: number
  readonly end: number
  readonly phrase: Phrase
  /** Which words of the text it has, counted from the first. */
  readonly first: number
  readonly last: number
}

/** The first match of a message's texts; undefined if they have not all that is wanted, or something unwanted. */
export const matchIn = (texts: readonly SearchText[], { wanted, unwanted }: Query): Match | undefined => {
  const open = new Set(wanted)
  let first: { readonly index: number; readonly spans: readonly Span[]; readonly count: number } | undefined
  let density = 0
  for (const [index, { text }] of texts.entries()) {
    const found = spansIn(text, wanted, unwanted)
    if (found === undefined) return undefined
    const { phrases, spans } = found
    for (const phrase of phrases) open.delete(phrase)
    density += densityOf(spans, wanted)
    if (phrases.size > (first?.count ?? 0)) first = { index, spans, count: phrases.size }
    if (phrases.size === wanted.length && unwanted.length === 0) break // what follows changes nothing
  }
  if (open.size > 0 || first === undefined) return undefined
  const { of, text } = texts[first.index] as SearchText
  return { of, excerpt: excerptOf(text, first.spans), score: scoreOf(density, text.length, of) }
}

/**
 * How often a text has all phrases together: 1 for each time that they follow each other, less the further they are apart.
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
    const start = Math.min(...latest.values())
    if (start > from) density += least / Math.max(least, last - start + 1)
    from = start
  }
  return density
}

/**
 * From 0 to 1: more for words that stand together, and again, for a short text, and for one that somebody said. In steps,
 * so that of messages that are much alike the newest comes first.
 *
 * Source  Robertson, Zaragoza: The Probabilistic Relevance Framework, 2009 (the saturation of BM25, k1 1.2, b 0.75; here by
 *         the root of the length, because a tool's result can have a thousand times the length of an answer)
 */
const scoreOf = (density: number, length: number, of: SearchText['of']): number => {
  const found = Math.max(density, apart)
  const saturated = found / (found + 1.2 * (0.25 + 0.75 * Math.sqrt(length / 1000)))
  return Math.round((of === 'tool' ? 0.5 : 1) * saturated * 20) / 20
}

/** The density of words that stand in different texts of a message, such as an answer and a call. */
const apart = 0.1

interface FoundPhrases {
  readonly phrases: ReadonlySet<Phrase>
  readonly spans: readonly Span[]
}

/** Spans are kept up to this many: an excerpt shows a few. */
const mostSpans = 200

/** Which phrases a text has, and where. Undefined: it has an unwanted one. Cost: O(text · phrases) */
const spansIn = (text: string, wanted: readonly Phrase[], unwanted: readonly Phrase[]): FoundPhrases | undefined => {
  const phrases = new Set<Phrase>()
  const spans: Span[] = []
  const longest = Math.max(...[...wanted, ...unwanted].map(({ units }) => units.length))
  const last: Word[] = []
  let enough = Infinity
  let word = -1
  for (const unit of wordsIn(text)) {
    if (unit.start > enough) break // all is found, and neither an excerpt nor a rank needs more
    word += 1
    last.push(unit)
    if (last.length > longest) last.shift()
    for (const phrase of unwanted) if (endsWith(last, phrase)) return undefined
    for (const phrase of wanted) {
      if (!endsWith(last, phrase)) continue
      const isFirst = !phrases.has(phrase)
      phrases.add(phrase)
      const { length } = phrase.units
      const { start } = last[last.length - length] as Word
      if (isFirst || spans.length < mostSpans)
        spans.push({ start, end: unit.end, phrase, first: word - length + 1, last: word })
      if (isFirst && phrases.size === wanted.length && unwanted.length === 0)
        enough = (spans[0] as Span).start + rankedUnits
    }
  }
  return { phrases, spans }
}

const endsWith = (last: readonly Word[], { units, prefix }: Phrase): boolean => {
  const from = last.length - units.length
  if (from < 0) return false
  for (let index = units.length - 1; index >= 0; index--) {
    const wanted = units[index] as Phrase['units'][number]
    const there = last[from + index] as Word
    const begins = prefix && index === units.length - 1 && !there.unspaced
    if (begins ? !there.text.startsWith(wanted.text) : there.text !== wanted.text) return false
    if (wanted.joined && !there.joined) return false
  }
  return true
}

const excerptOf = (text: string, spans: readonly Span[]): Excerpt => {
  const inOrder = spans.toSorted((one, other) => one.start - other.start || one.end - other.end)
  const first = (inOrder[0] as Span).start
  let from = Math.max(0, first - before)
  if (from > 0) from += text.slice(from, first).search(/\s/) + 1 // at a word, if there is one
  let to = Math.min(text.length, first + behind)
  if (isLow(text, from)) from -= 1
  if (isLow(text, to)) to -= 1
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

/** Whether a place is in the middle of a pair of surrogates. */
const isLow = (text: string, at: number): boolean => {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}
