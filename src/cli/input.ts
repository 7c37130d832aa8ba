/** What a command reads: a recorded conversation or another text, from a file or standard input. */
import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { createHistory, type View } from '../history/index.ts'
import { codecFaultText, type Message } from '../message/index.ts'
import { readTranscript } from '../transcript/index.ts'
import { Misuse, Unreadable, wholeNumber } from './command.ts'

export interface Conversation {
  readonly view: View<Message>
  /** What was read, in a few words: name, format, how many messages. */
  readonly title: string
}

/** The conversation in a file, `-` for standard input; `pick` as the option was given, for a file of several. */
export const readConversation = async (path: string, pick: unknown): Promise<Conversation> => {
  const which = wholeNumber('--pick', pick, 0)
  if (which < 0) throw new Misuse('--pick counts from 0: it takes no negative number')
  const transcript = readTranscript(await textOf(path), { pick: which })
  if (isLeft(transcript)) throw new Unreadable(`${path}: ${codecFaultText(transcript.left)}`)
  const { format, messages, count } = transcript.right
  const view = createHistory<Message>({ from: messages }).view()
  const of = count > 1 ? `, conversation ${which} of ${count} (--pick 0…${count - 1})` : ''
  const name = path === '-' ? 'standard input' : basename(path)
  return { view, title: `${name}: ${format}${of}, ${view.length} ${view.length === 1 ? 'message' : 'messages'}` }
}

/** The one FILE that a command takes. */
export const oneFile = (command: string, positionals: readonly string[], what = 'conversation'): string => {
  const [path, ...others] = positionals
  if (path === undefined) throw new Misuse(`${command} needs a FILE: the ${what} to read, or - for standard input`)
  if (others.length > 0) throw new Misuse(`${command} takes one FILE, but got ${positionals.length}: ${positionals.join(', ')}`)
  return path
}

/** The text of a file, or of standard input for `-`. */
export const textOf = async (path: string): Promise<string> => {
  let bytes: Buffer
  try {
    bytes = await (path === '-' ? readStandardInput() : readFile(path))
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    const reason = code === undefined ? String(error) : (reasons[code] ?? `can't be read (${code})`)
    throw new Unreadable(`${path}: ${reason}`)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Unreadable(`${path}: byte ${firstBadByte(bytes)} is not UTF-8; expected a text file`)
  }
}

const reasons: { readonly [code: string]: string } = {
  ENOENT: 'there is no such file',
  EISDIR: 'is a folder; expected a file',
  EACCES: "may not be read: permission denied",
  ERR_FS_FILE_TOO_LARGE: 'is larger than 2 GiB',
}

const readStandardInput = async (): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

/** The offset of the first byte that is not part of a UTF-8 character, by halving. */
const firstBadByte = (bytes: Buffer): number => {
  const valid = (end: number): boolean => {
    try {
      new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, end), { stream: true })
      return true
    } catch {
      return false
    }
  }
  let good = 0
  let bad = bytes.length + 1
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (valid(middle)) good = middle
    else bad = middle
  }
  // Up to there the bytes can be begun characters; the bad one begins with the last that is not finished.
  while (good > 0 && !isUtf8(bytes.subarray(0, good))) good -= 1
  return good
}
