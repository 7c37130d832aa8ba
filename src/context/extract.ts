/**
 * The library's own summary: no model, no waiting, the same from the same messages every time. A line for each thing
 * that was said or done, and where there are too many, first what the user asked, then what failed, then the latest.
 */
import { textOf, toolCallsOf, toolResultsOf, type Message } from '../message/index.ts'
import type { Segment } from './line.ts'
import { plain } from './represent.ts'
import { beginning, foldText } from './shorten.ts'
import { textTokens } from './tokens.ts'

/** Who wrote an extract, in sources and notes. */
export const extractName = 'extract'

/** One line of an extract. */
export type ExtractLine = string

/** The lines of a message at a position. */
export const linesOfMessage = (message: Message, position: number): readonly ExtractLine[] => {
  const lines: ExtractLine[] = []
  const said = oneLine(textOf(message))
  if (said !== '') lines.push(`${position} ${message.role}: ${beginning(said, message.role === 'user' ? 240 : 160)}`)
  const calls = toolCallsOf(message)
  for (const call of calls) lines.push(`${position} ${call.name} ${beginning(oneLine(call.arguments), 100)}`)
  for (const result of toolResultsOf(message))
    if (result.isError === true) lines.push(`${position} ${failed} ${beginning(oneLine(plain(result)), 120)}`)
  return lines
}

/** The lines of a segment that is no longer shown; those of an earlier extract or summary are kept. */
export const linesOf = (segment: Segment): readonly ExtractLine[] => {
  if (segment.type === 'gap') return []
  if (segment.type === 'summary') return segment.text.split('\n')
  return segment.unit.said.flatMap(({ message, page }) => linesOfMessage(message, page.position))
}

/** The lines in their order, as many as fit so many tokens; how many were left out is said. Empty, if none fits. */
export const condense = (lines: readonly ExtractLine[], tokens: number): string => {
  const costs = lines.map((line) => textTokens(line) + 1)
  let room = tokens - headTokens
  const order = [...lines.keys()].toSorted((a, b) => rank(lines[a] as string) - rank(lines[b] as string) || b - a)
  const kept = new Set<number>()
  for (const index of order) {
    const cost = costs[index] as number
    if (cost > room || leftOut.test(lines[index] as string)) continue
    room -= cost
    kept.add(index)
  }
  if (kept.size === 0) return ''
  const before = lines.reduce((sum, line) => sum + Number(leftOut.exec(line)?.[1] ?? 0), 0)
  const missing = before + lines.filter((line, index) => !kept.has(index) && !leftOut.test(line)).length
  const text = lines.filter((_, index) => kept.has(index)).join('\n')
  return missing === 0 ? text : `[${missing} lines left out]\n${text}`
}

/** For the frame of the message, the line that says what it is, and the count of what was left out. */
const headTokens = 40
const failed = 'failed:'
const leftOut = /^\[(\d+) lines left out\]$/

const rank = (line: string): number => (/^\d+ user: /.test(line) ? 0 : line.includes(` ${failed} `) ? 1 : 2)

const oneLine = (text: string): string => foldText(text).replaceAll('\n', ' ').trim()
