/**
 * The tokens of a text as Markdown, for texts that can be shown so. A text that is nested deeper than people write is none:
 * reading it or showing it would take all the stack, or minutes.
 */
import { lexer, type Token, type Tokens } from 'marked'
import { memo } from '../memo.ts'

/** The longest text that is read as Markdown, in characters. What is longer is no prose. */
const longest = 60_000

/** The most levels of tokens: a quote is one level, a list two. */
const deepest = 64

/** A line that begins with many quotes and lists, or a word among many stars: `marked` takes a level of the stack for each. */
const deeplyNested = /^(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){33}|[*_]{65}[*_]*[^\s*_]|[^\s*_][*_]{65}/m

/** The tokens; undefined where the text is to be shown as it is. Cost: O(text). */
export const tokensOf: (text: string) => readonly Token[] | undefined = memo((text) => {
  if (text.length > longest || deeplyNested.test(text)) return undefined
  try {
    const tokens = lexer(text)
    return isDeep(tokens) ? undefined : tokens
  } catch {
    return undefined // the stack was not enough
  }
}, 400)

const isDeep = (tokens: readonly Token[]): boolean => {
  let level = tokens
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === deepest) return true
    level = level.flatMap(childTokens)
  }
  return false
}

const childTokens = (token: Token): readonly Token[] => {
  const { tokens = [], items = [] } = token as Partial<Tokens.Blockquote & Tokens.List>
  const { header = [], rows = [] } = token as Partial<Tokens.Table>
  return [...tokens, ...items, ...[header, ...rows].flatMap((cells) => cells.flatMap((cell) => cell.tokens))]
}
