/** Detects the JSON lines format of a file from its first lines. */
import { isObject, jsonIn, type JsonObject } from 'indelible/internal/json'
import { conversationsIn, isMessage, mostSigned } from './conversation.ts'
import { conversationLines, isConversationLine } from './conversation-lines.ts'
import { lineFormats } from '../programs/formats.ts'
import type { LineFormat } from '../format/line-format.ts'
import type { Line } from '../text/lines.ts'
import { isMessageLineFormat, messageLines } from './message-lines.ts'
import { recordsOf } from '../text/records.ts'

/** The format of JSON values that may each span lines. */
export const formatOfValues = (values: Iterable<unknown>): LineFormat | undefined => {
  for (const value of values) {
    const found = isObject(value)
      ? lineFormats.find(({ spansLines = false, matches }) => spansLines && matches(value))
      : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** The number of lines inspected: the first lines may be damaged, or not show the format. */
const mostLines = 64

/** The number of messages that make a format clear. One alone may hold a part of another format. */
const fewLines = 8

/** What the first lines of a file show. */
export class Beginning {
  /** The format of the first entry that any format matches; or, after more than one line, the likely one. */
  format: LineFormat | undefined
  /** Whether the first line that is not empty is a complete entry. If not, the file may be one JSON value. */
  startsWithEntry = false
  #looked = 0
  #isList = false
  readonly #entries: JsonObject[] = []

  /** Inspect the next line. True if further lines can't change the result. */
  look({ text }: Line): boolean {
    if (text.trim() === '') return false
    const [entry, ...others] = entriesOf(text)
    if (this.#looked === 0) {
      this.startsWithEntry = entry !== undefined && others.length === 0 && jsonIn(text) !== undefined
      this.#isList = text.trimStart().startsWith('[')
    }
    this.#looked += 1
    for (const object of entry === undefined ? [] : [entry, ...others]) {
      this.format ??= lineFormats.find(({ matches }) => matches(object))
      this.#entries.push(object)
    }
    const isLast = this.#looked === mostLines
    // More than one line, and most of them entries: this can't be a single value.
    if (this.format === undefined && this.#looked > 1 && (isLast || this.#isClear())) this.format = this.likely()
    return this.format !== undefined || this.#isList || isLast
  }

  /** The format that most lines look like: messages, or conversations. */
  likely(): LineFormat | undefined {
    if (this.#areMost(isMessage)) {
      const format = this.#sign() ?? 'openai-chat'
      return isMessageLineFormat(format) ? messageLines(format) : undefined
    }
    const [first] = this.#areMost(isConversationLine) ? this.#entries.flatMap(conversationsIn) : []
    return first && conversationLines(first.format)
  }

  /** Whether later lines are unlikely to change the result. */
  #isClear(): boolean {
    if (!this.#areMost(isMessage)) return this.#areMost(isConversationLine)
    return this.#entries.length >= fewLines && this.#sign() !== undefined
  }

  #sign(): ReturnType<typeof mostSigned> {
    return mostSigned(this.#entries.filter(isMessage))
  }

  /** Whether most entries pass. Lines that are not entries are damage; up to half of the lines may be. */
  #areMost(isOne: (entry: JsonObject) => boolean): boolean {
    const count = this.#entries.filter(isOne).length
    return count * 2 > this.#entries.length && count * 2 >= this.#looked
  }
}

export const lookAt = (lines: Iterable<Line>): Beginning => {
  const beginning = new Beginning()
  for (const line of lines) if (beginning.look(line)) break
  return beginning
}

/** The entries of a line: one, or the whole ones if it is torn. */
const entriesOf = (text: string): readonly JsonObject[] => {
  if (!text.includes('{')) return []
  const value = text.trimStart().startsWith('{') ? jsonIn(text) : undefined
  if (isObject(value)) return [value]
  return recordsOf(text, (entry) => lineFormats.some(({ matches }) => matches(entry))).flatMap(
    ({ text: piece, isRecord }) => {
      const record = isRecord ? jsonIn(piece) : undefined
      return isObject(record) ? [record] : []
    },
  )
}
