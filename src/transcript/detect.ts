/** Which format of JSON lines a file is in, by its first lines. */
import { isObject, type JsonObject } from '../json/index.ts'
import type { LineFormat } from './line-format.ts'
import type { Line } from './lines.ts'
import { piSession } from './pi-session.ts'

const lineFormats: readonly LineFormat[] = [piSession]

/** How many lines are looked at: the first of a file may be damaged, or say nothing of its format. */
export const linesLookedAt = 64

/** What the beginning of a file shows. */
export interface Beginning {
  readonly format: LineFormat | undefined
  /** Whether the first line that is not empty is an entry by itself. Where it is not, the file may be one value. */
  readonly startsWithEntry: boolean
}

/** The format that the first entry of any format is in. Cost: the parsing of the lines up to it. */
export const lookAt = (lines: Iterable<Line>): Beginning => {
  let looked = 0
  let startsWithEntry = false
  for (const { text } of lines) {
    if (text.trim() === '') continue
    const entry = entryOf(text)
    if (looked === 0) startsWithEntry = entry !== undefined
    if (entry !== undefined) {
      const format = lineFormats.find(({ matches }) => matches(entry))
      if (format !== undefined) return { format, startsWithEntry }
    }
    looked += 1
    if (looked === linesLookedAt || text.trimStart().startsWith('[')) break
  }
  return { format: undefined, startsWithEntry }
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
