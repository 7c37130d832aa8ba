/** Which format of JSON lines a file is in, by its first lines. */
import { isObject, jsonIn, type JsonObject } from 'indelible/json/kit'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { conversationsIn, isMessage, mostSigned } from './conversation.ts'
import { conversationLines, isConversationLine } from './conversation-lines.ts'
import { cursor } from './cursor.ts'
import { indelibleExport } from './export.ts'
import { geminiCli } from './gemini-cli.ts'
import type { LineFormat } from './line-format.ts'
import { langgraph } from './langgraph.ts'
import type { Line } from './lines.ts'
import { isMessageLineFormat, messageLines } from './message-lines.ts'
import { opencode } from './opencode.ts'
import { piSession } from './pi-session.ts'

/** The formats that any entry of theirs shows. */
const lineFormats: readonly LineFormat[] = [
  indelibleExport,
  piSession,
  claudeCode,
  codex,
  geminiCli,
  opencode,
  cursor,
  langgraph,
]

/** Those of them whose entries may stand over several lines: a file is one of them, or several after another. */
const valueFormats: readonly LineFormat[] = [geminiCli, opencode, langgraph]

/** The format of values, each of which may be longer than a line. */
export const formatOfValues = (values: Iterable<unknown>): LineFormat | undefined => {
  for (const value of values) {
    const found = isObject(value) ? valueFormats.find(({ matches }) => matches(value)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** How many lines are looked at: the first of a file may be damaged, or say nothing of its format. */
const mostLines = 64

/** How many messages show the format of the others, if one of them has a sign: one message may have a part of another format. */
const fewLines = 8

/** What the lines of a file that were looked at show. */
export class Beginning {
  /** The format that the first entry of any format is in; or, if more than one line was looked at, that most are like. */
  format: LineFormat | undefined
  /** Whether the first line that is not empty is an entry by itself. Where it is not, the file may be one value. */
  startsWithEntry = false
  #looked = 0
  #isList = false
  readonly #entries: JsonObject[] = []

  /** Look at the next line. True if there is nothing more to be learned. */
  look({ text }: Line): boolean {
    if (text.trim() === '') return false
    const entry = entryOf(text)
    if (this.#looked === 0) {
      this.startsWithEntry = entry !== undefined
      this.#isList = text.trimStart().startsWith('[')
    }
    this.#looked += 1
    if (entry !== undefined) {
      this.format = lineFormats.find(({ matches }) => matches(entry))
      this.#entries.push(entry)
    }
    const isLast = this.#looked === mostLines
    // More than one line, most of them entries: that is never one value.
    if (this.format === undefined && this.#looked > 1 && (isLast || this.#isClear())) this.format = this.likely()
    return this.format !== undefined || this.#isList || isLast
  }

  /** The format that most of the lines are like: messages, or conversations. */
  likely(): LineFormat | undefined {
    if (this.#areMost(isMessage)) {
      const format = this.#sign() ?? 'openai-chat'
      return isMessageLineFormat(format) ? messageLines(format) : undefined
    }
    const [first] = this.#areMost(isConversationLine) ? this.#entries.flatMap(conversationsIn) : []
    return first && conversationLines(first.format)
  }

  /** Whether later lines will hardly change what is likely. */
  #isClear(): boolean {
    if (!this.#areMost(isMessage)) return this.#areMost(isConversationLine)
    return this.#entries.length >= fewLines && this.#sign() !== undefined
  }

  #sign(): ReturnType<typeof mostSigned> {
    return mostSigned(this.#entries.filter(isMessage))
  }

  /** Most of the entries. Lines that are none are damaged; of those there may be as many. */
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

const entryOf = (text: string): JsonObject | undefined => {
  const value = text.trimStart().startsWith('{') ? jsonIn(text) : undefined
  return isObject(value) ? value : undefined
}
