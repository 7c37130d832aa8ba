/** What a command is, and the two ways in which one can fail that are the user's to mend. */
import type { ParseArgsOptionsConfig } from 'node:util'
import type { Progress } from './progress.ts'

export interface Command {
  readonly name: string
  readonly synopsis: string
  readonly purpose: string
  readonly help: string
  readonly options: ParseArgsOptionsConfig
  readonly run: (call: Call) => Promise<void>
}

export interface Call {
  readonly values: { readonly [option: string]: unknown }
  readonly positionals: readonly string[]
  readonly terminal: Terminal
}

export interface Terminal {
  readonly columns: number
  readonly colour: boolean
  /** Write lines to standard output, no faster than it takes them. */
  readonly print: (lines: Iterable<string>) => Promise<void>
  /** Write lines to standard error. */
  readonly tell: (lines: Iterable<string>) => void
  /** A bar on standard error for work of so many bytes, or of what `unit` says. Without a total: a count. */
  readonly progress: (label: string, total: number | undefined, unit?: string) => Progress
}

/** The command was called wrongly: exit 2. */
export class Misuse extends Error {}

/** What the command was given can't be read: exit 1. */
export class Unreadable extends Error {}

/** The whole number given to an option, or `otherwise`. */
export const wholeNumber = <T>(option: string, given: unknown, otherwise: T): number | T => {
  if (given === undefined) return otherwise
  if (typeof given !== 'string' || !/^-?\d{1,15}$/.test(given)) throw new Misuse(`${option} takes a whole number, not "${String(given)}"`)
  return Number(given)
}
