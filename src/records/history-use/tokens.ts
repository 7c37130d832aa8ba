/**
 * The uses of a history in text that does not parse as code: every place where its name stands as a name, and the
 * methods that are called on it there, or on a name that it was given to. A guess, and reported as one.
 */
import { methods, patternsOf, type HistoryPattern, type Kind } from './pattern.ts'
import type { Use } from './walk.ts'

/** The uses in a text. Cost: one pass for each name. */
export const usesInTokens = (code: string, names: ReadonlySet<string>): readonly Use[] => {
  const text = withoutText(code, names)
  const uses: Use[] = []
  const aliases = new Set<string>()
  for (const { index, end } of wordsIn(text, names)) {
    if (isKey(text, index, end)) continue
    const alias = aliasBefore(text, index)
    if (alias !== undefined && !names.has(alias)) aliases.add(alias)
    uses.push({ offset: index, pattern: undefined }, ...chainAfter(text, index, end, 'history'))
  }
  for (const { index, end } of wordsIn(text, aliases))
    if (text[index - 1] !== '.' && !isKey(text, index, end)) uses.push(...chainAfter(text, index, end, 'derived'))
  return uses
}

interface Word {
  readonly index: number
  readonly end: number
}

function* wordsIn(text: string, words: ReadonlySet<string>): Generator<Word> {
  for (const { 0: word, index } of text.matchAll(/[\p{ID_Start}$_][\p{ID_Continue}$]*/gu))
    if (words.has(word)) yield { index, end: index + word.length }
}

/** Comments of JavaScript and of what else models write: Python and shells, Ruby, SQL and Lua, Lisp, HTML, OCaml, Haskell. */
const comments: readonly RegExp[] = [
  /\/\*[^]*?(?:\*\/|$(?![^]))/,
  /\/\/[^\n]*/,
  /"""[^]*?(?:"""|$(?![^]))|'''[^]*?(?:'''|$(?![^]))/,
  /(?<![^\s])#(?![\p{ID_Start}$_])[^\n]*/u, // `#name` is a field of JavaScript
  /(?<![^\s])--(?=\s)[^\n]*/,
  /^=begin\b[^]*?(?:^=end\b|$(?![^]))/,
  /^[ \t]*;+[ \t][^\n]*/,
  /<!--[^]*?(?:-->|$(?![^]))/,
  /\(\*[^]*?(?:\*\)|$(?![^]))/,
  /\{-\s[^]*?(?:-\}|$(?![^]))/,
]

const texts = /(["'])((?:\\[^]|(?!\1)[^\\\n])*)\1?|`(?:\\[^]|[^`\\])*`?/

const noCode = new RegExp([...comments, texts].map(({ source }) => source).join('|'), 'gmu')

/** Comments, and strings that are no such name in brackets, as spaces: what stays, stays in its place. */
const withoutText = (code: string, names: ReadonlySet<string>): string =>
  code.replace(noCode, (found: string, quote: string | undefined, content: string | undefined, offset: number) => {
    if (quote !== undefined && content !== undefined && names.has(content) && code[offset - 1] === '[')
      return ` ${content} `
    // What a template computes is code.
    return found.startsWith('`')
      ? found.replace(/\$\{([^}]*)\}|[^]/g, (_, computed: string | undefined) =>
          computed === undefined ? ' ' : `  ${computed} `,
        )
      : found.replace(/[^\n]/g, ' ')
  })

/** `{ conversationHistory: … }` */
const isKey = (text: string, index: number, end: number): boolean =>
  /^\s*:/.test(text.slice(end, end + 20)) && /[{,]\s*$/.test(text.slice(Math.max(0, index - 200), index))

/** `const h = context.conversationHistory` */
const aliasBefore = (text: string, index: number): string | undefined =>
  /([\p{ID_Start}$_][\p{ID_Continue}$]*)\s*(?::[^=\n]+)?=\s*(?:await\s+)?(?:[\w$]+\s*[.?![]+\s*)*$/u.exec(
    text.slice(Math.max(0, index - 200), index),
  )?.[1]

/** The methods called one after the other on what ends at `from`. */
const chainAfter = (text: string, start: number, from: number, kind: Kind): readonly Use[] => {
  const uses: Use[] = []
  const add = (offset: number, ...patterns: readonly HistoryPattern[]): void =>
    void uses.push(...patterns.map((pattern) => ({ offset, pattern })))
  if (/\b(?:of|in)\s+(?:[\w$]+\s*[.?!]+\s*)*$/.test(text.slice(Math.max(0, start - 80), start))) add(start, 'iterate')
  let on: Kind | undefined = kind
  let at = from
  while (on !== undefined) {
    const step = /^\s*\]?\s*!?\s*(?:\??\.\s*([\p{ID_Start}$_][\p{ID_Continue}$]*)|(?:\?\.)?\[)/u.exec(
      text.slice(at, at + 200),
    )
    if (step === null) break
    const [whole, name] = step
    const offset = at + whole.length - (name?.length ?? 1)
    at += whole.length
    if (name === undefined) {
      add(offset, /^[^\]]*-\s*1\s*\]/.test(text.slice(at, at + 80)) ? 'last' : 'find')
      break
    }
    if (name === 'length' || name === 'size') add(offset, 'count')
    const method = methods.get(name)
    if (method === undefined) break
    const isLast = name === 'at' && /^\s*\(\s*-/.test(text.slice(at, at + 20))
    add(offset, ...(isLast ? (['last'] as const) : patternsOf(method, on)))
    at = afterCall(text, at)
    on = method.gives === 'same' ? on : method.gives
  }
  return uses
}

/** Where the parenthesis that opens here closes. What is longer than a page is not looked through: it may not close at all. */
const afterCall = (text: string, from: number): number => {
  let at = from + (/^\s*(?:\?\.)?/.exec(text.slice(from, from + 40))?.[0].length ?? 0)
  if (text[at] !== '(') return from
  const end = Math.min(text.length, at + 10_000)
  for (let open = 0; at < end; at++) {
    if (text[at] === '(') open += 1
    else if (text[at] === ')' && (open -= 1) === 0) return at + 1
  }
  return at
}
