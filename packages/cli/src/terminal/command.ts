/** The type of a command, and the errors that its user can fix. */
import type { Interface } from 'node:readline'
import type { Progress } from './progress.ts'

/** A command as data: it drives the parsing of arguments, and generates help, advice and docs/command-line.md. */
export interface Command {
  readonly name: string
  /** The name and the most important arguments, for the list of commands. */
  readonly synopsis: string
  readonly purpose: string
  /** Each way to call it, without the program's name. */
  readonly usage: readonly string[]
  /** What it does, in paragraphs that are wrapped. Lines that begin with a space are kept. */
  readonly about: string
  readonly options: { readonly [name: string]: Option }
  /**
   * The forms of a command with several: each option that chooses one, with the options that go with it. The name `''`
   * has those of the form that no option chooses.
   */
  readonly forms?: { readonly [option: string]: readonly string[] }
  readonly examples?: readonly string[]
  /** Resolves to the exit code if it is not 0. `commands`: all commands. */
  readonly run: (call: Call, commands: readonly Command[]) => Promise<number | void>
}

interface Option {
  /** The name of the option's value in the help: N, FILE. An option without it is a flag. */
  readonly value?: string
  /** Whether it may be repeated; its value is then a list. */
  readonly many?: boolean
  readonly help: string
}

export interface Call {
  readonly values: { readonly [option: string]: unknown }
  readonly positionals: readonly string[]
  readonly terminal: Terminal
}

/** Commands that are listed together in the help. */
export interface Group {
  readonly title: string
  readonly commands: readonly Command[]
}

export type Style = 'none' | 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue' | 'magenta' | 'cyan'

/** The environment of a command: where it prints, reads and asks. `output.ts` creates it and sanitizes all text. */
export interface Terminal {
  readonly columns: number
  readonly env: { readonly [name: string]: string | undefined }
  /** Whether a person sees standard output. */
  readonly shows: boolean
  /** Whether a person sees standard output or standard error. */
  readonly watched: boolean
  /** Standard input, as bytes. */
  readonly input: NodeJS.ReadableStream
  /** Whether a person can be asked questions. */
  readonly asks: boolean
  /** A text in a style, if the output has colors. */
  readonly paint: (style: Style, text: string) => string
  /** The absolute path of an argument. */
  readonly path: (value: string) => string
  /** Write lines for people to standard output, respecting backpressure. On a terminal they are wrapped. */
  readonly print: (lines: Iterable<string>) => Promise<void>
  /** The same for lines that must not be wrapped, because people copy them or their layout matters. */
  readonly printWhole: (lines: Iterable<string>) => Promise<void>
  /** Write values as JSON, one per line. Unsafe characters are escaped, which changes no value. */
  readonly printJson: (values: Iterable<unknown>) => Promise<void>
  /** The same for lines that are JSON text already. */
  readonly printJsonLines: (lines: Iterable<string>) => Promise<void>
  /** The same as `print`; on a terminal through the user's pager if the lines don't fit the screen. */
  readonly page: (lines: Iterable<string>) => Promise<void>
  /** Write lines for people to standard error. */
  readonly tell: (lines: Iterable<string>) => void
  /** The same for damage, because of which the output is incomplete: each line once. The exit code is then 1. */
  readonly tellDamage: (lines: readonly string[]) => void
  /** Whether damage was reported. */
  readonly hasDamage: () => boolean
  readonly tellJson: (value: unknown) => void
  /** A progress bar on standard error for `total` bytes or units; without a total, a count. In a pipe: lines. */
  readonly progress: (label: string, total: number | undefined, unit?: string) => Progress
  /** Run work while standard error shows how long it has taken. */
  readonly waiting: <T>(label: string, work: () => Promise<T>) => Promise<T>
  /** The lines that a person types. */
  readonly lines: () => Interface
  /** The user's answer; undefined at the end of the input. Throws Interrupted after Ctrl-C. */
  readonly answerTo: (question: string) => Promise<string | undefined>
  /** Call the listener on Ctrl-C, until the returned function is called. */
  readonly onInterrupt: (listener: () => void) => () => void
}

/** The command was called incorrectly: exit code 2. */
export class Misuse extends Error {}

/** The command's input can't be read: exit code 1 by default. */
export class Unreadable extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Ctrl-C at a question: exit code 130. */
export class Interrupted extends Error {}

/**
 * Continue only if the user at the terminal types yes.
 *
 * Throws  Unreadable with `otherwise`, such as "nothing was removed", for any other answer
 */
export const confirm = async (terminal: Terminal, question: string, otherwise: string): Promise<void> => {
  const answer = await terminal.answerTo(`${question} Type yes: `).catch((error: unknown) => {
    if (error instanceof Interrupted) terminal.tell(['', otherwise])
    throw error
  })
  if (answer?.trim() !== 'yes') throw new Unreadable(otherwise)
}

/**
 * The form of a command that options choose: the option that chooses it, and the options that go with it. Undefined for
 * a command that has one form. Throws Misuse if they choose several.
 */
export const formOf = (
  { name, forms }: Pick<Command, 'name' | 'forms'>,
  has: (option: string) => boolean,
): { readonly chosenBy: string; readonly options: readonly string[] } | undefined => {
  if (forms === undefined) return undefined
  const [chosenBy = '', other] = Object.keys(forms).filter((option) => option !== '' && has(option))
  if (other !== undefined) throw new Misuse(`${name} takes --${chosenBy} or --${other}, not both`)
  return { chosenBy, options: [chosenBy, ...(forms[chosenBy] ?? [])] }
}

/** The whole number of an option, or `otherwise` without it. Throws Misuse for anything else, or below `least`. */
export const wholeNumber = <T>(
  option: string,
  value: unknown,
  otherwise: T,
  least: number = -Infinity,
  orElse = '',
): number | T => {
  if (value === undefined) return otherwise
  if (typeof value !== 'string' || !/^-?\d{1,15}$/.test(value))
    throw new Misuse(`${option} takes a whole number${orElse}, not "${String(value)}"`)
  if (Number(value) < least) throw new Misuse(`${option} takes a whole number from ${least}`)
  return Number(value)
}

/** The word of an option that takes one of several, or `otherwise` without it. Throws Misuse. */
export const wordOf = <W extends string, T>(
  option: string,
  value: unknown,
  words: readonly W[],
  otherwise: T,
): W | T => {
  const found = words.find((word) => word === value)
  if (found === undefined && value !== undefined)
    throw new Misuse(`${option} takes one of ${words.join(', ')}, not "${String(value)}"`)
  return found ?? otherwise
}

/** A number of tokens: `32000`, `32k`, `1m`. Throws Misuse. */
export const tokensOf = (value: string): number => {
  const found = /^(\d{1,12})([km]?)$/i.exec(value)
  if (found === null) throw new Misuse(`--budget: "${value}" is not a number of tokens; expected one like 32000 or 32k`)
  return Number(found[1]) * (found[2] === '' ? 1 : found[2]?.toLowerCase() === 'k' ? 1000 : 1_000_000)
}

/** The policy with a name. Throws Misuse. */
export const policyOf = <P extends { readonly name: string }>(name: string, among: readonly P[]): P => {
  const found = among.find((policy) => policy.name === name)
  if (found === undefined)
    throw new Misuse(
      `--policy: there is no policy "${name}"; expected ${among.map((policy) => policy.name).join(', ')}`,
    )
  return found
}

/** A span of time such as `90d`, `12h`, `30m` or `45s`, in milliseconds; undefined for other texts. */
export const parseAge = (value: string): number | undefined => {
  const [, count, unit] = /^(\d{1,7})([dhms])$/.exec(value) ?? []
  return unit === undefined
    ? undefined
    : Number(count) * { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 }[unit as 'd']
}

/** The time of an option, in milliseconds since 1970. Throws Misuse. */
export const timeOf = (option: string, value: unknown): number | undefined => {
  if (typeof value !== 'string') return undefined
  const age = parseAge(value)
  const isDate = /^\d{4}-\d\d-\d\d(?:T\S+)?$/.test(value)
  const time = age !== undefined ? Date.now() - age : isDate ? Date.parse(value) : NaN
  if (Number.isNaN(time))
    throw new Misuse(`${option} takes a time, such as 2026-11-22, 2026-11-22T10:00Z, 7d or 12h; not "${value}"`)
  return time
}

/** The options `--reason` and `--by` of commands that write to the ledger. */
export const becauseOptions: Command['options'] = {
  reason: { value: 'TEXT', help: 'the reason, for the ledger' },
  by: { value: 'NAME', help: 'your name, for the ledger' },
}

/** Whether a command asks before an irreversible step. Throws Misuse if it can't ask. */
export const mustConfirm = (name: string, { values, terminal }: Pick<Call, 'values' | 'terminal'>): boolean => {
  if (values['yes'] === true) return false
  if (!terminal.asks) throw new Misuse(`${name} needs --yes, because there is no terminal to ask`)
  return true
}
