/** Whether texts have what a query asks for, and the place to show. */
import { unitsIn, type SearchText, type Unit } from '../entry/index.ts'
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
}

/** How many UTF-16 units an excerpt shows before the first found word, and from it on. */
const before = 60
const behind = 180

interface Span {
  readonly start: number
  readonly end: number
}

/** The first match of a message's texts; undefined if they have not all that is wanted, or something unwanted. */
export const matchIn = (texts: readonly SearchText[], { wanted, unwanted }: Query): Match | undefined => {
  const open = new Set(wanted)
  let first: { readonly index: number; readonly spans: readonly Span[]; readonly count: number } | undefined
  for (const [index, { text }] of texts.entries()) {
    const found = spansIn(text, wanted, unwanted)
    if (found === undefined) return undefined
    const { phrases, spans } = found
    for (const phrase of phrases) open.delete(phrase)
    if (phrases.size > (first?.count ?? 0)) first = { index, spans, count: phrases.size }
    if (phrases.size === wanted.length && unwanted.length === 0) break // what follows changes nothing
  }
  if (open.size > 0 || first === undefined) return undefined
  const { of, text } = texts[first.index] as SearchText
  return { of, excerpt: excerptOf(text, first.spans) }
}

interface Found {
  readonly phrases: ReadonlySet<Phrase>
  readonly spans: readonly Span[]
}

/** Spans are kept up to this many: an excerpt shows a few. */
const mostSpans = 200

/** Which phrases a text has, and where. Undefined: it has an unwanted one. Cost: O(text · phrases) */
const spansIn = (text: string, wanted: readonly Phrase[], unwanted: readonly Phrase[]): Found | undefined => {
  const phrases = new Set<Phrase>()
  const spans: Span[] = []
  const longest = Math.max(...[...wanted, ...unwanted].map(({ units }) => units.length))
  const last: Unit[] = []
  let shown = Infinity
  for (const unit of unitsIn(text)) {
    if (unit.start > shown) break // all is found, and an excerpt of the first shows no more
    last.push(unit)
    if (last.length > longest) last.shift()
    for (const phrase of unwanted) if (endsWith(last, phrase)) return undefined
    for (const phrase of wanted) {
      if (!endsWith(last, phrase)) continue
      const isFirst = !phrases.has(phrase)
      phrases.add(phrase)
      if (isFirst || spans.length < mostSpans)
        spans.push({ start: (last[last.length - phrase.units.length] as Unit).start, end: unit.end })
      if (isFirst && phrases.size === wanted.length && unwanted.length === 0) shown = (spans[0] as Span).start + behind
    }
  }
  return { phrases, spans }
}

const endsWith = (last: readonly Unit[], { units, prefix }: Phrase): boolean => {
  const from = last.length - units.length
  if (from < 0) return false
  for (let index = units.length - 1; index >= 0; index--) {
    const wanted = units[index] as Phrase['units'][number]
    const there = last[from + index] as Unit
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
  if (from > 0) {
    const space = text.slice(from, first).search(/\s/) // at a word, if there is one
    from = space === -1 ? from : from + space + 1
  }
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
