/** Finds what to redact in a text or in JSON, keeping JSON valid. */
import { isBlockId } from '../proof/internal.ts'
import { markOf } from './mark.ts'
import {
  clipSpan,
  isFound,
  jsonEscapes,
  mergeSpans,
  spansInEscaped,
  replaceSpans,
  search,
  shiftSpan,
  spanOfBase64,
  type Pattern,
  type Span,
} from './search.ts'
import { stringsIn, stringsOf, type WrittenString } from './strings.ts'

/** Finds secrets by the user's rules and by known formats. */
export class Finder {
  readonly #own: readonly Pattern[]
  readonly #known: readonly Pattern[]
  readonly #all: readonly Pattern[]

  constructor(own: readonly Pattern[], known: readonly Pattern[]) {
    this.#own = own
    this.#known = known
    this.#all = [...own, ...known]
  }

  inText(text: string): readonly Span[] {
    const strings = this.#own.length > 0 ? stringsOf(text, true) : undefined
    const spans = search(text, strings === undefined ? this.#all : this.#known)
    if (strings === undefined && !spans.some(isFound)) return []
    const inside = strings ?? stringsOf(text, false)
    return inside === undefined ? mergeSpans(spans) : this.#inStrings(text, inside, spans)
  }

  /** The spans to redact in a text that is the beginning or a piece of another. */
  inPiece(text: string): readonly Span[] {
    return mergeSpans(search(text, this.#all))
  }

  /** The spans to redact in JSON text. In data outside the content, provider fields with ids or signatures are kept. */
  inJson(text: string, beside: boolean): readonly Span[] {
    const spans = search(text, this.#known)
    return this.#own.length > 0 || spans.some(isFound) || (beside && text.includes('"data":"'))
      ? this.#inStrings(text, stringsIn(text), spans, beside)
      : []
  }

  /** The span to redact in base64, if it decodes to text. Binary data is kept. */
  inBase64(data: string): readonly Span[] {
    const span = spanOfBase64(data, this.#all)
    return span === undefined ? [] : [span]
  }

  /** Known formats may include text before a string. A user's rule sees each string, and each value with its key. */
  #inStrings(text: string, strings: readonly WrittenString[], spans: readonly Span[], beside = false): readonly Span[] {
    const outer = mergeSpans(spans)
    let next = 0
    const found = strings.map((string): readonly Span[] => {
      const { start, end } = string
      while (next < outer.length && (outer[next] as Span).end <= start) next += 1
      if (beside && isExempt(string, text)) return []
      const body = text.slice(start, end)
      if (beside && string.name === 'data') {
        const bytes = spanOfBase64(body, this.#all)
        if (bytes !== undefined) return [shiftSpan(bytes, start)]
      }
      const across: Span[] = []
      for (let at = next; at < outer.length && (outer[at] as Span).start < end; at++)
        across.push(clipSpan(outer[at] as Span, start, end) as Span)
      if (this.#own.length === 0 && !across.some(isFound)) return []
      const content = readString(body)
      const isJson = stringsOf(content, false) !== undefined
      const alone = isJson ? this.inText(content).map(escapeReplacement) : search(content, this.#own, this.#all)
      const member = this.#inMember(text, string, content)
      const [rule] = [...alone, ...member].flatMap(({ rule = [] }) => rule)
      if (string.isNumber) return rule === undefined ? [] : [numberSpan(start, end, rule)]
      const within = member.filter((span) => !isJson || (span.start === 0 && span.end === content.length))
      const inside = spansInEscaped([...alone, ...within], body, jsonEscapes)
      const whole = across.filter((span) => !isJson || (span.start === start && span.end === end))
      const all = [...inside.map((span) => shiftSpan(span, start)), ...whole]
      const spans = mergeSpans([...all.filter(isFound), ...all.filter((span) => !isFound(span))]) // of equal spans, keep a found one
      return content === body ? spans : spans.map((span) => withDecodedLength(span, text))
    })
    return withDistinctKeys(text, strings, found)
  }

  /** The spans of a value that the user's rules find together with its key and quotes. */
  #inMember(text: string, { start, from, isNumber }: WrittenString, content: string): readonly Span[] {
    const before = text.slice(from, start)
    return search(`${before}${content}${isNumber ? '' : '"'}`, this.#own, this.#all).flatMap(
      (span) => clipSpan(shiftSpan(span, -before.length), 0, content.length) ?? [],
    )
  }
}

/** The span of a number. JSON stays valid only if the mark is a string. */
const numberSpan = (start: number, end: number, rule: string): Span => {
  const found = { rule, length: end - start }
  return { start, end, clean: { text: `"${markOf(found)}"`, found: [found] } }
}

/** A span of JSON that is written in a string of other JSON. */
const escapeReplacement = (span: Span): Span =>
  span.clean === undefined
    ? span
    : { ...span, clean: { ...span.clean, text: JSON.stringify(span.clean.text).slice(1, -1) } }

/** The value of a JSON string, given the text between its quotes. */
const readString = (body: string): string => (body.includes('\\') ? (JSON.parse(`"${body}"`) as string) : body)

/** A span in an escaped string, with the length of its unescaped value. */
const withDecodedLength = (span: Span, text: string): Span =>
  span.rule === undefined || span.length !== undefined
    ? span
    : { ...span, length: readString(text.slice(span.start, span.end)).length }

/** Numbers the keys of an object that became equal. */
const withDistinctKeys = (
  text: string,
  strings: readonly WrittenString[],
  found: readonly (readonly Span[])[],
): readonly Span[] => {
  const changed = new Map<object, Map<string, number>>()
  for (const [index, { isKey, within }] of strings.entries())
    if (isKey && (found[index] as readonly Span[]).some(isFound)) changed.set(within, new Map())
  if (changed.size === 0) return found.flat()
  return strings.flatMap(({ start, end, isKey, within }, index) => {
    const spans = found[index] as readonly Span[]
    const taken = isKey ? changed.get(within) : undefined
    if (taken === undefined) return spans
    const { text: written } = replaceSpans(
      text.slice(start, end),
      spans.map((span) => shiftSpan(span, -start)),
    )
    let name = written
    let number = taken.get(written) ?? 1 // the last number tried
    while (taken.has(name)) name = `${written} ${++number}`
    taken.set(written, number).set(name, taken.get(name) ?? 1)
    return name === written
      ? spans
      : [...spans, { start: end, end, clean: { text: name.slice(written.length), found: [] } }]
  })
}

/** Fields of provider formats with ids, signatures or digests. */
const keptFields: ReadonlySet<string> = new Set([
  'id',
  'callId',
  'call_id',
  'toolCallId',
  'tool_call_id',
  'toolUseId',
  'tool_use_id',
  'item_id',
  'message_id',
  'response_id',
  'signature',
  'thoughtSignature',
  'thought_signature',
  'encrypted_content',
  'encrypted',
  'type',
  'step',
  'digest',
  'root',
])

const isExempt = ({ start, end, name, within }: WrittenString, text: string): boolean =>
  (name !== undefined && keptFields.has(name) && !within.isForeign) || isBlockId(text.slice(start, end))
