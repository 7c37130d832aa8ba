/** `indelible continue SESSION|FILE`: a conversation becomes a program's new session, and the program starts on it. */
import { randomUUID } from 'node:crypto'
import { realpathSync, statSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import { deriveContext, estimateTokens } from 'indelible/context'
import type { View } from 'indelible/history'
import { faultMessage } from 'indelible'
import { isLeft, isObject } from 'indelible/internal/json'
import type { Message, Sequence } from 'indelible/message'
import type { Note } from 'indelible/internal/notes'
import { workFolderOf } from '@indelible/view/internal'
import { nativePrograms, writeNative, type NativeProgram, type Transcript } from '@indelible/transcripts'
import {
  Misuse,
  tokensOf,
  Unreadable,
  wholeNumber,
  type Call,
  type Command,
  type Terminal,
  wordOf,
} from '../terminal/command.ts'
import { isFile, namedConversation } from '../sources/conversation.ts'
import { conversationIn, nameOf, pickOf, readTranscriptFile, unreadable } from '../sources/input.ts'
import { findSource, isOfSubAgent, projectFolderOf } from '../sources/machine-sessions.ts'
import { checkHome, checkInstalled, putNative, resumeCommands, settingsOf } from './native-files.ts'
import { storeOption } from '../sources/place.ts'
import { runProgram } from '../terminal/program.ts'
import { leftOutLines, readLossLines, writtenLines } from '../terminal/report.ts'
import { countText, groupedNumber, oneLine, printable, shellWord } from '../terminal/screen.ts'

const names = nativePrograms.join(', ')

export const continueSession: Command = {
  name: 'continue',
  synopsis: 'continue SESSION',
  purpose: 'continue a conversation in any agent',
  usage: ['continue SESSION [--in PROGRAM] [options] [-- ARGUMENT…]', 'continue FILE [--in PROGRAM] [options]'],
  about: `Writes a conversation as a new session of a program and starts the
program on it. PROGRAM is one of ${names}; without --in it is the program that
wrote the conversation. SESSION is a session of this machine ("indelible
list --machine" lists them) or of the store; FILE is any file that "show" reads.

The original session does not change: the new one has its own id. The
conversation is settled, so that no provider refuses it, and all content that
the program can't hold is listed before anything is written. A conversation that
is longer than --budget is shortened by the policy of "indelible context"; the
original keeps all of it.

ARGUMENTs are passed to the program, which must be installed. With --print only
opencode must be, because it imports the session itself.`,
  options: {
    in: { value: 'PROGRAM', help: 'the program that continues it' },
    at: { value: 'N', help: 'continue after the first N messages; a negative N omits the last N' },
    cwd: {
      value: 'DIR',
      help: "the folder in which it continues (default: this one; with --print the session's own, if it exists here)",
    },
    print: { help: 'write the session and print the command that resumes it' },
    reasoning: {
      value: 'HOW',
      help: 'own: unchanged, if the same program wrote it; text: as text; omit: not at all (default: own in the same program, text in another)',
    },
    budget: { value: 'N', help: 'tokens of the conversation; 150k is 150,000 (default: the limit of PROGRAM)' },
    model: { value: 'PROVIDER/MODEL', help: 'opencode: the model that answers (default: the configured one)' },
    pick: { value: 'N', help: 'which conversation, if the file has several (default 0)' },
    ...storeOption,
  },
  examples: ['indelible continue 0b0f5e8a --in codex', 'indelible continue session.jsonl --in pi --print'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    const [name, ...more] = positionals
    if (name === undefined || name === '') throw new Misuse('continue needs a SESSION or a FILE')
    const folder = wordOf('--in', values['in'], nativePrograms, undefined)
    const found = await findConversation(name, call)
    const program = folder ?? found.program
    if (program === undefined)
      throw new Misuse(`${name} was not written by a program that can continue it; choose one with --in: ${names}`)
    const own = values['print'] === true ? folderHere(found.folder) : undefined
    const cwd = folderOfCall(values['cwd'] ?? own, terminal)
    if (values['print'] !== true || program === 'opencode') checkInstalled(program, terminal.env)
    checkHome(program, terminal.env)
    const view = viewUpTo(found.view, wholeNumber('--at', values['at'], undefined))
    const native = writeNative(fitToBudget(view, found, program, call), program, {
      id: randomUUID(),
      now: Date.now(),
      cwd,
      reasoning: reasoningOf(values['reasoning'], found, program),
      ...(found.conversationTitle !== undefined && { title: found.conversationTitle }),
      ...settingsOf(program, cwd, values['model'], terminal.env),
    })
    if (native.turns === 0) throw new Unreadable(`${name}: has no message to continue from; nothing was written`)
    const { columns } = terminal
    terminal.tell(writtenLines(native, columns))
    const path = await putNative(native, cwd, terminal)
    const { command, resume } = resumeCommands[program]
    const args = [...resume(native.id), ...more]
    terminal.tell([
      `${found.title}: written for ${program} as ${native.id}, ${countText(native.turns, 'turn')}, in ${path}`,
    ])
    if (values['print'] !== true) return runProgram(command, args, terminal.env, terminal, cwd)
    await terminal.printWhole([`cd ${shellWord(cwd)} && ${[command, ...args].map(shellWord).join(' ')}`])
    return 0
  },
}

const isProgram = (name: unknown): name is NativeProgram => nativePrograms.includes(name as NativeProgram)

interface Found {
  readonly view: View<Message>
  readonly title: string
  readonly conversationTitle?: string | undefined
  /** The program that it comes from. */
  readonly program: NativeProgram | undefined
  /** The folder in which it was written. */
  readonly folder?: string | undefined
  /** Whether its provider is the program's default. */
  readonly isOwnProvider: boolean
  readonly notes?: Sequence<Note>
}

/** The conversation of a file; else of a program's session on this machine; else of the store. Throws Unreadable. */
const findConversation = async (name: string, call: Call): Promise<Found> => {
  const { values, terminal } = call
  if (name === '-' || isFileThere(name, call))
    return foundInTranscript(name, await readTranscriptFile(name, { pick: pickOf(values) }, terminal), terminal)
  const source = values['store'] === undefined ? await findSource(name, terminal) : undefined
  if (source === undefined) {
    const { view, title, notes, session } = await namedConversation(name, call)
    const { import: from } = session?.metadata() ?? {}
    const program = isObject(from) && isProgram(from['program']) ? from['program'] : undefined
    const folder = session && workFolderOf({ metadata: session.metadata() })
    return { view, title, program, folder, isOwnProvider: false, ...(notes && { notes }) }
  }
  const reading = (): ReturnType<typeof source.read> => source.read(pickOf(values))
  const read = await terminal.waiting(`reading ${nameOf(source.path)}`, reading).catch((error: unknown) => {
    throw unreadable(source.path, error)
  })
  if (isLeft(read)) throw new Unreadable(`${source.path}: ${faultMessage(read.left)}`)
  const age = Date.now() - source.changed
  if (age < recentMs)
    terminal.tell([
      `${source.path}: changed ${Math.max(0, Math.round(age / 1000))} s ago; anything that its program writes from now on will be missing in the new session`,
    ])
  return foundInTranscript(source.path, read.right, terminal)
}

const isFileThere = (name: string, call: Call): boolean => {
  try {
    return isFile(name, call) && statSync(call.terminal.path(name)).isFile()
  } catch {
    return false
  }
}

/** The milliseconds after a session's last change during which its program may still be working on it. */
const recentMs = 10_000

const foundInTranscript = (path: string, transcript: Transcript, terminal: Terminal): Found => {
  const title = nameOf(path)
  const { format, damage, losses, origin } = transcript
  terminal.tellDamage(leftOutLines(title, damage))
  terminal.tell(readLossLines(losses, terminal.columns))
  if (isOfSubAgent(transcript))
    terminal.tell([`${title}: is the session of a sub-agent: it continues without its parent`])
  if (format === 'claude-code' && transcript.count > 1)
    terminal.tell([
      `${title}: has ${countText(transcript.count - 1, 'other conversation')}, which ${transcript.count === 2 ? 'is' : 'are'} not in the new session; --pick N continues another`,
    ])
  const provider = origin.metadata['model_provider']
  return {
    view: conversationIn(transcript),
    title,
    conversationTitle: origin.title === undefined ? undefined : oneLine(origin.title),
    program: programs[format],
    folder: projectFolderOf(transcript, path),
    isOwnProvider: provider === undefined || provider === 'openai',
  }
}

/** The programs by the formats of their files. */
const programs: { readonly [format: string]: NativeProgram | undefined } = {
  'claude-code': 'claude-code',
  codex: 'codex',
  'gemini-cli': 'gemini',
  opencode: 'opencode',
  'pi-session': 'pi',
}

const viewUpTo = (view: View<Message>, at: number = view.length): View<Message> => {
  const count = at < 0 ? view.length + at : at
  if (count < 0 || count > view.length)
    throw new Unreadable(
      `it has ${countText(view.length, 'message')}, so --at takes 1 to ${view.length}, or a negative number; nothing was written`,
    )
  return view.slice(0, count)
}

/** The conversation, shortened by the policy (and a message says so) if it is too large. Throws Unreadable. */
const fitToBudget = (
  view: View<Message>,
  { title, notes }: Found,
  program: NativeProgram,
  { values, terminal }: Call,
): Sequence<Message> => {
  const budget = typeof values['budget'] === 'string' ? tokensOf(values['budget']) : resumeCommands[program].budget
  const tokens = [...view].reduce((sum, message) => sum + estimateTokens(message), 0)
  if (tokens <= budget) return view
  const derived = deriveContext(view, { budget, tools: [], ...(notes && { notes }) })
  if (isLeft(derived)) throw new Unreadable(`${title}: ${faultMessage(derived.left)}; nothing was written`)
  terminal.tell([
    `${title}: takes about ${groupedNumber(tokens)} tokens, more than the ${groupedNumber(budget)} of --budget; shortened to ${countText(derived.right.messages.length, 'message')} of about ${groupedNumber(derived.right.tokens)} tokens. The original keeps everything`,
  ])
  return derived.right.messages
}

const reasoningOf = (option: unknown, { program, isOwnProvider }: Found, to: NativeProgram): 'own' | 'text' | 'omit' =>
  wordOf('--reasoning', option, ['own', 'text', 'omit'], program === to && isOwnProvider ? 'own' : 'text')

/** A recorded folder, if it is one of this machine that a command line can name. */
const folderHere = (folder: string | undefined): string | undefined => {
  if (folder === undefined || !isAbsolute(folder) || printable(folder) !== folder) return undefined
  try {
    return statSync(folder).isDirectory() ? folder : undefined
  } catch {
    return undefined // it is missing, or not this user's
  }
}

/** The folder with links resolved, as programs see it. Throws Unreadable. */
const folderOfCall = (option: unknown, terminal: Terminal): string => {
  const path = terminal.path(typeof option === 'string' ? option : '.')
  try {
    if (statSync(path).isDirectory()) return realpathSync(path)
  } catch {
    // falls through to the error below
  }
  throw new Unreadable(`--cwd ${path}: is not a folder; nothing was written`)
}
