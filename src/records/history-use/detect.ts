/**
 * Whether generated code reads the history of calls, and how. Advisory: it tells what the code says, not what it does
 * when it runs.
 */
import { tsPlugin } from '@sveltejs/acorn-typescript'
import { Parser, type Options } from 'acorn'
import type { Node } from './node.ts'
import { historyPatterns, type HistoryPattern } from './pattern.ts'
import { usesIn } from './syntax.ts'
import { usesInTokens } from './tokens.ts'
import type { Use } from './walk.ts'

/** What to look for. */
export interface HistoryUseOptions {
  /** Names of the history: a variable, or a property of an object from outside of the code. Default: `conversationHistory`, `conversation_history`. */
  readonly names?: readonly string[]
  /** Names of objects that have the history. `JSON.stringify` of one uses the history. Default: `context`. */
  readonly holders?: readonly string[]
}

/** How code uses the history. */
export interface HistoryUse {
  /** Whether it uses the history at all. */
  readonly detected: boolean
  /** How it is used, each once, in the order of `historyPatterns`. Empty, if it is only read or handed on. */
  readonly patterns: readonly HistoryPattern[]
  /** The lines that use it, at most 50. */
  readonly evidence: readonly HistoryEvidence[]
  /** `parsed`: the code parses, and its syntax decides. `scanned`: it does not parse, and its words decide. */
  readonly method: 'parsed' | 'scanned'
  /** Why the code does not parse. */
  readonly problem?: string
}

/** A line that uses the history. */
export interface HistoryEvidence {
  /** The line, from 1. */
  readonly line: number
  /** How the line uses the history. Empty if it only reads it. */
  readonly patterns: readonly HistoryPattern[]
  /** The line, trimmed, at most 160 characters of it. */
  readonly text: string
}

/**
 * Find the uses of the history of calls in JavaScript or TypeScript, also with JSX. Total: it never throws.
 *
 * | tag | for |
 * |---|---|
 * | `filter` `map` `slice` `sort` `reduce` | the methods, and their like: `flatMap`, `toSorted`, `reverse`, `_.sortBy` |
 * | `count` | `length`, `size` |
 * | `group` | `Object.groupBy`, `Map.groupBy`, `_.groupBy`, `_.countBy` |
 * | `find` | one by what it is or where it stands: `find`, `some`, `includes`, `at(3)`, `[3]` |
 * | `last` | the latest: `at(-1)`, `[h.length - 1]`, `findLast`, `pop` |
 * | `iterate` | `for`, `forEach`, `entries` |
 * | `write` | an assignment in or to it, `push`, `splice`, `sort` in place |
 *
 * Cost    parsing (bench: records)
 * @param code the program
 * @param options the names of the history and of the objects that have it
 * @returns whether and how the code uses the history, with the lines
 * @example
 * detectHistoryUse('return context.conversationHistory.filter((r) => !r.outcomeSummary.ok).length').patterns
 * // => ['filter', 'count']
 */
export const detectHistoryUse = (code: string, options: HistoryUseOptions = {}): HistoryUse => {
  const names = new Set(options.names ?? ['conversationHistory', 'conversation_history'])
  const holders = new Set(options.holders ?? ['context'])
  try {
    return useOf(code, usesIn(parsed(code), names, holders), { method: 'parsed' })
  } catch (error) {
    // A syntax error; or, in code that is nested very deep, no stack left.
    return useOf(code, usesInTokens(code, names), {
      method: 'scanned',
      problem: error instanceof Error ? error.message : String(error),
    })
  }
}

/** Generated code is a script, a module or the body of a function: what stands where is not its author's concern. */
const syntax: Options = {
  ecmaVersion: 'latest',
  sourceType: 'module',
  allowReturnOutsideFunction: true,
  allowAwaitOutsideFunction: true,
  allowImportExportEverywhere: true,
  allowSuperOutsideMethod: true,
  allowHashBang: true,
}

// Type assertions (`<T>x`) and JSX exclude each other.
const plain = Parser.extend(tsPlugin())
const withJsx = Parser.extend(tsPlugin({ jsx: true }))

const parsed = (code: string): Node => {
  try {
    return plain.parse(code, syntax) as unknown as Node
  } catch (error) {
    try {
      return withJsx.parse(code, syntax) as unknown as Node
    } catch {
      throw error
    }
  }
}

const useOf = (code: string, uses: readonly Use[], how: Pick<HistoryUse, 'method' | 'problem'>): HistoryUse => {
  const found = new Set(uses.map(({ pattern }) => pattern))
  return Object.freeze({
    detected: uses.length > 0,
    patterns: inOrder(found),
    evidence: Object.freeze(evidenceOf(code, uses)),
    ...how,
  })
}

const inOrder = (found: ReadonlySet<HistoryPattern | undefined>): readonly HistoryPattern[] =>
  Object.freeze(historyPatterns.filter((pattern) => found.has(pattern)))

const evidenceOf = (code: string, uses: readonly Use[]): HistoryEvidence[] => {
  const lines = new Map<number, Set<HistoryPattern | undefined>>()
  let line = 1
  let lineStart = 0
  const starts = new Map<number, number>([[1, 0]])
  for (const { offset, pattern } of uses.toSorted((a, b) => a.offset - b.offset)) {
    for (let next = code.indexOf('\n', lineStart); next !== -1 && next < offset; next = code.indexOf('\n', lineStart)) {
      line += 1
      lineStart = next + 1
    }
    starts.set(line, lineStart)
    const patterns = lines.get(line)
    if (patterns === undefined) lines.set(line, new Set([pattern]))
    else patterns.add(pattern)
  }
  return [...lines].slice(0, 50).map(([line, patterns]) => {
    const start = starts.get(line) ?? 0
    const text =
      code
        .slice(start, start + 2000)
        .split(/\r?\n/, 1)[0]
        ?.trim() ?? ''
    return Object.freeze({
      line,
      patterns: inOrder(patterns),
      text: (text.length > 160 ? `${text.slice(0, 159)}…` : text).toWellFormed(),
    })
  })
}
