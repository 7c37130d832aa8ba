/** `indelible show FILE`: read a recorded conversation into a history and print its timeline. */
import { isUtf8 } from 'node:buffer'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { isLeft } from 'fp-ts/lib/Either.js'
import { createHistory } from '../history/index.ts'
import { codecFaultText, type Message } from '../message/index.ts'
import { isPageKind, pageKinds, type PageKind } from '../pages/index.ts'
import { readTranscript } from '../transcript/index.ts'
import { Misuse, Unreadable, wholeNumber, type Command } from './command.ts'
import { timeline, timelineJson } from './timeline.ts'

export const show: Command = {
  name: 'show',
  synopsis: 'show FILE',
  purpose: 'print a recorded conversation as a timeline',
  help: `Usage: indelible show [options] FILE

Reads a conversation into an append-only history and prints it: position, role,
page kind, estimated tokens and a line of content for every message, tool calls
with the position of their result, then totals and the calls nobody answered.
FILE is found out by its content; - reads standard input.

Formats: an array of OpenAI chat messages, or an object with one in "messages";
a tau-bench file (several conversations); a pi session (JSON lines).

Options:
  --pick N       the conversation to show, in a file of several (default 0)
  --kind KINDS   only these page kinds, separated by commas: bootstrap,
                 constraint, plan, preference, evidence, conversation
  --from N       only from position N on; a negative N counts from the end
  --to N         only up to, not including, position N
  --json         one JSON object a line, for programs
  -h, --help     print this help

Example:
  indelible show session.jsonl --kind evidence --from -20
`,
  options: {
    pick: { type: 'string' },
    kind: { type: 'string' },
    from: { type: 'string' },
    to: { type: 'string' },
    json: { type: 'boolean' },
  },
  run: async ({ values, positionals, terminal }) => {
    const [path, ...others] = positionals
    if (path === undefined) throw new Misuse('show needs a FILE: the conversation to read, or - for standard input')
    if (others.length > 0) throw new Misuse(`show takes one FILE, but got ${positionals.length}: ${positionals.join(', ')}`)
    const kinds = pageKindsOf(values['kind'])
    const pick = wholeNumber('--pick', values['pick'], 0)
    if (pick !== undefined && pick < 0) throw new Misuse('--pick counts from 0: it takes no negative number')
    const from = wholeNumber('--from', values['from'], 0)
    const to = wholeNumber('--to', values['to'], undefined)

    const transcript = readTranscript(await textOf(path), { pick })
    if (isLeft(transcript)) throw new Unreadable(`${path}: ${codecFaultText(transcript.left)}`)
    const { format, messages, count } = transcript.right
    const view = createHistory<Message>({ from: messages }).view()
    const options = { kinds, from, to: to ?? view.length, columns: terminal.columns, colour: terminal.colour }

    if (values['json'] === true) return terminal.print(timelineJson(view, options))
    const which = count > 1 ? `, conversation ${pick} of ${count} (--pick 0…${count - 1})` : ''
    const name = path === '-' ? 'standard input' : basename(path)
    await terminal.print([`${name}: ${format}${which}, ${view.length} ${view.length === 1 ? 'message' : 'messages'}`, ''])
    return terminal.print(timeline(view, options))
  },
}

const pageKindsOf = (given: unknown): readonly PageKind[] => {
  if (typeof given !== 'string') return []
  return given.split(',').map((kind) => {
    if (!isPageKind(kind)) throw new Misuse(`--kind: "${kind}" is not a page kind; expected ${pageKinds.join(', ')}`)
    return kind
  })
}

const textOf = async (path: string): Promise<string> => {
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
