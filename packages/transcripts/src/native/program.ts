/** What the writer of a program's session file is given, and gives. */
import type { Holds, TurnPart, Turn } from './turns.ts'

/** A session file that is to be written. */
export interface Writing {
  readonly turns: readonly Turn[]
  /** The id of the new session: a UUID. */
  readonly id: string
  /** When it is written, in milliseconds since 1970. */
  readonly now: number
  /** The folder in which the conversation goes on: an absolute path. */
  readonly cwd: string
  readonly title: string
  /** The model that answers next, where the file names one. */
  readonly model: { readonly provider: string; readonly model: string } | undefined
  /** The folder of the project, of a program that keeps a name for it. */
  readonly project: string | undefined
}

/** How the files of a program are written. */
export interface Writer {
  readonly holds: Holds
  readonly write: (writing: Writing) => readonly object[]
  /** The steps from the program's folder to the file. */
  readonly place: (writing: Writing) => readonly string[]
  /** The id by which the program resumes it. */
  readonly idOf: (writing: Writing) => string
}

/** Ids that count on from the session's: UUIDs, all different for up to 2^40 of them. */
export const counting = (id: string): (() => string) => {
  let count = 0
  return () => `${id.slice(0, 24)}${id.slice(24, 26)}${(++count).toString(16).padStart(10, '0')}`
}

/** Times that count on to the one at which the session is written: a millisecond for each line, so that no two are equal. */
export const moments = (now: number, lines: number): (() => number) => {
  let at = now - lines - 1
  return () => ++at
}

/** The time as ISO 8601. */
export const isoOf = (milliseconds: number): string => new Date(milliseconds).toISOString()

/** How many lines turns can become. */
export const linesOf = (turns: readonly Turn[]): number =>
  turns.reduce((sum, { said, calls }) => sum + 3 + said.length + 2 * calls.length, 0)

/** The texts of the content, a line each. */
export const textsOf = (said: readonly TurnPart[]): string =>
  said.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n')

/** The first words of the user's, in a line. */
export const titleOf = (turns: readonly Turn[]): string => {
  for (const { said } of turns)
    for (const one of said) if (one.type === 'text') return one.text.replaceAll(/\s+/g, ' ').trim().slice(0, 80)
  return 'conversation'
}
