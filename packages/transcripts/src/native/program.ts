/** The input and output of a writer of session files. */
import type { HeldTypes, TurnPart, Turn } from './turns.ts'

export interface Writing {
  readonly turns: readonly Turn[]
  /** The id of the new session: a UUID. */
  readonly id: string
  /** The time of writing, in milliseconds since 1970. */
  readonly now: number
  /** The folder in which the conversation continues: an absolute path. */
  readonly cwd: string
  readonly title: string
  /** The model that answers next, if the file names one. */
  readonly model: { readonly provider: string; readonly model: string } | undefined
  /** The name of the project's folder, for programs that keep one. */
  readonly project: string | undefined
}

/** Writes the files of one program. */
export interface Writer {
  readonly holds: HeldTypes
  readonly write: (writing: Writing) => readonly object[]
  /** The path segments from the program's folder to the file. */
  readonly place: (writing: Writing) => readonly string[]
  /** The id by which the program resumes the session. */
  readonly idOf: (writing: Writing) => string
}

/** Ids counted up from the session's: UUIDs, distinct for up to 2^40 of them. */
export const idCounter = (id: string): (() => string) => {
  let count = 0
  return () => `${id.slice(0, 24)}${id.slice(24, 26)}${(++count).toString(16).padStart(10, '0')}`
}

/** Distinct times that end at the time of writing, one millisecond for each line. */
export const timeCounter = (now: number, lines: number): (() => number) => {
  let at = now - lines - 1
  return () => ++at
}

export const isoOf = (milliseconds: number): string => new Date(milliseconds).toISOString()

/** The most lines that turns can become. */
export const linesOf = (turns: readonly Turn[]): number =>
  turns.reduce((sum, { content, calls }) => sum + 3 + content.length + 2 * calls.length, 0)

/** The texts of the content, joined by line feeds. */
export const textsOf = (content: readonly TurnPart[]): string =>
  content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')

/** The first words of the user, on one line. */
export const titleOf = (turns: readonly Turn[]): string => {
  for (const { content } of turns)
    for (const part of content) if (part.type === 'text') return part.text.replaceAll(/\s+/g, ' ').trim().slice(0, 80)
  return 'conversation'
}
