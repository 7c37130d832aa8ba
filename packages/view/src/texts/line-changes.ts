/** Changes of a text, as lines that went and lines that came. */
import { diffLines } from 'diff'

export interface Line {
  readonly sign: ' ' | '+' | '-' | '@'
  readonly text: string
}

/** Texts that are longer together are not compared: that would take too long. */
export const longest = 200_000
/** Equal lines that are shown around a change. */
const linesAround = 3

/** What became of a text; of equal lines only those around a change. */
export const linesOf = (before: string, after: string): readonly Line[] => {
  if (before.length + after.length > longest) return [...signLines(before, '-'), ...signLines(after, '+')]
  const lines = diffLines(before, after).flatMap(({ value, added, removed }) =>
    signLines(value.replace(/\n$/, ''), added ? '+' : removed ? '-' : ' '),
  )
  const near = lines.map(() => false)
  for (const [index, { sign }] of lines.entries())
    if (sign !== ' ') near.fill(true, Math.max(0, index - linesAround), index + linesAround + 1)
  const kept: Line[] = []
  for (const [index, line] of lines.entries())
    if (near[index] === true) kept.push(line)
    else if (near[index - 1] !== false && index > 0) kept.push({ sign: '@', text: '⋯' })
  return kept
}

const signLines = (text: string, sign: Line['sign']): readonly Line[] =>
  text.split('\n').map((line) => ({ sign, text: line }))
