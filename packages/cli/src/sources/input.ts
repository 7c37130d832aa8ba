/** Reads the FILE that a command is given as a transcript. */
import { faultMessage } from 'indelible'
import { isUtf8 } from 'node:buffer'
import { readFileSync, statSync, type Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Either } from 'fp-ts/lib/Either.js'
import type { TranscriptFault } from 'indelible/codecs'
import { isLeft } from 'indelible/internal/json'
import { createHistory, omitRanges, type Range, type View } from 'indelible/history'
import { retractedBy } from 'indelible/internal/notes'

import type { PageKind } from 'indelible/pages'
import { type Message } from 'indelible/message'
import {
  readTranscripts,
  readTranscriptStream,
  type Transcript,
  type TranscriptEvent,
  type TranscriptOptions,
} from '@indelible/transcripts'
import { assembleTranscript } from '@indelible/transcripts/internal'
import { withResultFiles } from './claude-results.ts'
import { bytesOfFile, startOf } from './codex-base.ts'
import { callsOfOriginal } from './copied-from.ts'
import { compareRoot } from './export-root.ts'
import { Misuse, Unreadable, wholeNumber, type Call, type Terminal } from '../terminal/command.ts'
import { codeText } from '../terminal/system-error.ts'
import { leftOutLines, unreadTableText } from '../terminal/report.ts'
import { countText, shellWord } from '../terminal/screen.ts'

/** The single FILE argument of a command. Throws Misuse. */
export const oneFile = (command: string, positionals: readonly string[], what = 'FILE: the conversation'): string => {
  const [path, ...others] = positionals
  if (path === undefined) throw new Misuse(`${command} needs a ${what} to read, or - for standard input`)
  if (others.length > 0)
    throw new Misuse(
      `${command} takes one ${what.replace(/:.*/, '')}, but got ${positionals.length}: ${positionals.join(', ')}`,
    )
  return path
}

/** The FILE or SESSION of a command that only reads; undefined for the latest session of the store. Throws Misuse. */
export const conversationOfCall = (command: string, positionals: readonly string[]): string | undefined =>
  positionals.length === 0 ? undefined : oneFile(command, positionals, fileOrSession)

/** The argument of commands that accept either. */
const fileOrSession = 'FILE or SESSION: the conversation'

/** The conversation selected by `--pick`. Throws Misuse. */
export const pickOf = (values: Call['values']): number => wholeNumber('--pick', values['pick'], 0, 0)

/** The name of a file in errors: its path as given. */
export const pathOf = (path: string): string => (path === '-' ? 'standard input' : path)

/** The name of a file in messages: the last part of its path. */
export const nameOf = (path: string): string => (path === '-' ? 'standard input' : basename(path))

/**
 * Read a file, or standard input for `-`, with a progress bar if a person waits. Reports an export that was changed.
 * Throws Unreadable.
 */
export const readTranscriptFile = async (
  path: string,
  options: TranscriptOptions,
  terminal: Terminal,
): Promise<Transcript> => {
  const transcript = await transcriptIn(path, options, terminal)
  if ((await compareRoot(transcript))?.result === 'differs')
    terminal.tellDamage([
      `${nameOf(path)}: was changed after it was exported: its rows do not have the root that it states`,
    ])
  return transcript
}

/** The same without a report. */
export const transcriptIn = async (
  path: string,
  options: TranscriptOptions,
  terminal: Terminal,
): Promise<Transcript> => {
  if (path !== '-' && (await isDatabase(path, terminal))) return readDatabase(path, options, terminal)
  const events: TranscriptEvent[] = []
  const countedElsewhere = path === '-' ? undefined : await callsOfOriginal(terminal.path(path))
  const allOptions = { ...options, ...(countedElsewhere && { countedElsewhere }) }
  for await (const event of readTranscriptStream(bytesOf(path, terminal), allOptions)) events.push(event)
  const transcript = readable(path, assembleTranscript(events))
  return path === '-' ? transcript : withResultFiles(terminal.path(path), transcript)
}

const readDatabase = async (path: string, options: TranscriptOptions, terminal: Terminal): Promise<Transcript> => {
  const { openTranscriptDatabase } = await import('@indelible/transcripts/sqlite')
  const database = openTranscriptDatabase(terminal.path(path))
  const transcript = isLeft(database) ? database : database.right.read(options)
  if (!isLeft(database)) {
    const { unread, close } = database.right
    close()
    terminal.tellDamage(
      Object.entries(unread).map(([table, rows]) => `${nameOf(path)}: ${unreadTableText(table, rows)}`),
    )
  }
  if (isLeft(transcript) && (await isStore(terminal.path(path))))
    throw new Unreadable(
      `${pathOf(path)}: is a store of sessions, not a conversation; "indelible list --store ${shellWord(path)}" lists them, and --store ${shellWord(path)} with the id of a session names one`,
    )
  return readable(path, transcript)
}

/** What was read of a file. Throws Unreadable with its name. */
const readable = <T>(path: string, read: Either<TranscriptFault, T>): T => {
  if (isLeft(read)) throw new Unreadable(`${pathOf(path)}: ${faultMessage(read.left)}`)
  return read.right
}

/** Whether a file is an Indelible store. */
const isStore = async (path: string): Promise<boolean> => {
  const { sqliteStore } = await import('indelible/store/sqlite')
  const opened = await sqliteStore({ path, create: false })()
  if (isLeft(opened)) return opened.left._tag === 'NewerStore' || opened.left._tag === 'OlderStore'
  await opened.right.close()()
  return true
}

/** Whether a file has the header of a SQLite database (sqlite.org/fileformat.html, 1.2). */
const isDatabase = async (path: string, terminal: Terminal): Promise<boolean> => {
  try {
    if (!(await stat(terminal.path(path))).isFile()) return false // a pipe can be read only once
    return (await startOf(terminal.path(path), 16)).toString('latin1') === 'SQLite format 3\0'
  } catch (error) {
    throw unreadable(path, error)
  }
}

export interface Conversations {
  readonly count: number
  /** Reads one of them. Throws Unreadable. */
  readonly at: (pick: number) => Promise<Transcript>
}

/** Opens a file to read several of its conversations; it is read once. Throws Unreadable. */
export const conversationsOf = async (path: string, terminal: Terminal): Promise<Conversations> => {
  const isFile = path !== '-'
  if (isFile && ((await isDatabase(path, terminal)) || (await isLarge(path, terminal)))) {
    const read = (pick: number): Promise<Transcript> => transcriptIn(path, { pick }, terminal)
    const first = await read(0)
    return { count: first.count, at: async (pick) => (pick === 0 ? first : read(pick)) }
  }
  const pieces: Uint8Array[] = []
  for await (const piece of bytesOf(path, terminal)) pieces.push(piece)
  const countedElsewhere = isFile ? await callsOfOriginal(terminal.path(path)) : undefined
  const read = readTranscripts(Buffer.concat(pieces), { ...(countedElsewhere && { countedElsewhere }) })
  const { count, at } = readable(path, read)
  return { count, at: async (pick) => readable(path, at(pick)) }
}

/** Whether a file is too large to hold in memory together with its conversation. */
const isLarge = async (path: string, terminal: Terminal): Promise<boolean> => {
  try {
    return (await stat(terminal.path(path))).size > largest
  } catch (error) {
    throw unreadable(path, error)
  }
}

const largest = 2 ** 28

/** A summary of the input: name, format, index if there are several, number of messages. */
export const titleOf = (path: string, { format, messages, count, pick }: Transcript): string =>
  `${nameOf(path)}: ${format}${count > 1 ? `, conversation ${pick} of ${count} (--pick 0…${count - 1})` : ''}, ${countText(messages.length, 'message')}`

export interface Conversation {
  readonly view: View<Message>
  readonly title: string
  readonly left: readonly Range[]
  /** When the message at a position was stored, in milliseconds since 1970, if known. */
  readonly timeOf?: (position: number) => number | undefined
}

/** The retractions in the notes of an Indelible export. */
export const retractedIn = ({ notes }: Transcript): readonly Range[] =>
  notes.flatMap(({ note, position }) => retractedBy(note, position) ?? [])

/** Messages as a view, with their page kinds. */
export const viewWithPages = (
  messages: Iterable<Message>,
  pages: readonly (PageKind | undefined)[] = [],
): View<Message> => {
  const history = createHistory<Message>()
  for (const message of messages) history.append(message, pages[history.len])
  return history.view()
}

/** The messages of a transcript that were not retracted. */
export const conversationIn = (transcript: Transcript): View<Message> =>
  omitRanges(viewWithPages(transcript.messages, transcript.pages), retractedIn(transcript))

/** The conversation in a file, as a history's view. Reports damaged lines. */
export const readConversation = async (
  path: string,
  values: Call['values'],
  terminal: Terminal,
): Promise<Conversation> => {
  const transcript = await readTranscriptFile(path, { pick: pickOf(values) }, terminal)
  const { messages, pages, moments, damage } = transcript
  terminal.tellDamage(leftOutLines(nameOf(path), damage))
  const left = retractedIn(transcript)
  const view = values['all'] === true ? viewWithPages(messages, pages) : conversationIn(transcript)
  const timeOf = (position: number): number | undefined => moments?.[position]?.at
  return { view, title: titleOf(path, transcript), left, timeOf }
}

/** The text of a file, or of standard input for `-`. Throws Unreadable, also if it is not UTF-8. */
export const textOf = async (path: string, terminal: Terminal): Promise<string> => {
  const pieces: Uint8Array[] = []
  for await (const piece of bytesOf(path, terminal)) pieces.push(piece)
  const bytes = Buffer.concat(pieces)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Unreadable(`${pathOf(path)}: byte ${firstBadByte(bytes)} is not UTF-8; expected a text file`)
  }
}

async function* bytesOf(path: string, terminal: Terminal): AsyncGenerator<Uint8Array> {
  let progress: ReturnType<Terminal['progress']> | undefined
  try {
    const found = path === '-' ? undefined : await stat(terminal.path(path))
    if (found !== undefined) checkEnds(path, found, terminal)
    const total = found?.size
    progress = terminal.progress(`reading ${nameOf(path)}`, total)
    const source: AsyncIterable<Uint8Array> =
      path === '-'
        ? (terminal.input as unknown as AsyncIterable<Uint8Array>) // no encoding was set
        : bytesOfFile(terminal.path(path))
    let done = 0
    for await (const bytes of source) {
      yield bytes
      progress.at((done += bytes.length))
    }
  } catch (error) {
    throw unreadable(path, error)
  } finally {
    progress?.end()
  }
}

/** Describes the problem with a path, from the error of using it. */
export const unreadable = (path: string, error: unknown, option?: string): Unreadable => {
  if (error instanceof Unreadable) return error
  const { code } = error as NodeJS.ErrnoException
  return new Unreadable(
    `${option === undefined ? '' : `${option} `}${pathOf(path)}: ${code === undefined ? String(error) : codeText(code)}`,
  )
}

/** The same for an output file: it does not exist yet, so the missing part is its folder. */
export const unwritable = (path: string, error: unknown): Unreadable =>
  (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? new Unreadable(`${pathOf(path)}: its folder does not exist`)
    : unreadable(path, error)

/** Refuses what may never end. A pipe that a shell opened is read: `/dev/stdin`, and `/dev/fd/63` of `<(…)`. Throws Unreadable. */
const checkEnds = (path: string, found: Stats, terminal: Pick<Terminal, 'path'>, option?: string): void => {
  if (found.isFile() || found.isDirectory() || openPipes.test(terminal.path(path))) return
  const kind = found.isFIFO() ? 'a named pipe' : found.isSocket() ? 'a socket' : 'a device'
  throw new Unreadable(
    `${option === undefined ? '' : `${option} `}${path}: is ${kind}, which may never end; expected a file, or a pipe as in <(…)`,
  )
}

const openPipes = /^\/(?:dev\/(?:stdin|null|fd\/\d+)|proc\/(?:self|\d+)\/fd\/\d+)$/

/** The text of a small file that an option names. Throws Unreadable, naming both. */
export const optionFile = (option: string, path: string, terminal: Pick<Terminal, 'path'>): string => {
  try {
    checkEnds(path, statSync(terminal.path(path)), terminal, option)
    return readFileSync(terminal.path(path), 'utf8')
  } catch (error) {
    throw unreadable(path, error, option)
  }
}

/** The offset of the first byte that is not part of a UTF-8 character, where decoding changes the bytes. */
const firstBadByte = (bytes: Buffer): number => {
  const decoded = Buffer.from(bytes.toString())
  let good = 0
  while (decoded[good] === bytes[good]) good += 1
  // The bad character may begin with the same bytes as the decoder's replacement.
  while (good > 0 && !isUtf8(bytes.subarray(0, good))) good -= 1
  return good
}
