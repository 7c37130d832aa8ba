/** Which format of JSON lines a file is in, by its first lines. */
import { isObject, type JsonObject } from '../json/index.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { indelibleExport } from './export.ts'
import type { LineFormat } from './line-format.ts'
import type { Line } from './lines.ts'
import { piSession } from './pi-session.ts'

const lineFormats: readonly LineFormat[] = [indelibleExport, piSession, claudeCode, codex]

/** How many lines are looked at: the first of a file may be damaged, or say nothing of its format. */
const mostLines = 64

/** What the lines of a file that were looked at show. */
export class Beginning {
  /** The format that the first entry of any format is in. */
  format: LineFormat | undefined
  /** Whether the first line that is not empty is an entry by itself. Where it is not, the file may be one value. */
  startsWithEntry = false
  #looked = 0
  #isList = false

  /** Look at the next line. True if there is nothing more to be learned. */
  look({ text }: Line): boolean {
    if (text.trim() === '') return false
    const entry = entryOf(text)
    if (this.#looked === 0) {
      this.startsWithEntry = entry !== undefined
      this.#isList = text.trimStart().startsWith('[')
    }
    this.#looked += 1
    if (entry !== undefined) this.format = lineFormats.find(({ matches }) => matches(entry))
    return this.format !== undefined || this.#isList || this.#looked === mostLines
  }
}

export const lookAt = (lines: Iterable<Line>): Beginning => {
  const beginning = new Beginning()
  for (const line of lines) if (beginning.look(line)) break
  return beginning
}

const entryOf = (text: string): JsonObject | undefined => {
  if (!text.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
