/** Writes a conversation as a new session of a program, for the program itself to resume. */
import type { Loss } from 'indelible/codecs'
import { optionsOf, type OptionNames } from 'indelible/internal/json'
import type { Message, Repair, Sequence } from 'indelible/message'
import { choice } from 'indelible/internal/task'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { geminiCli } from './gemini-cli.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import { titleOf, type Writer } from './program.ts'
import { turnsOf } from './turns.ts'

/** A program whose sessions can be written. */
export type NativeProgram = 'claude-code' | 'codex' | 'gemini' | 'opencode' | 'pi'

const writers: { readonly [Program in NativeProgram]: Writer } = {
  'claude-code': claudeCode,
  codex,
  gemini: geminiCli,
  opencode,
  pi,
}

/** The programs whose sessions can be written. */
export const nativePrograms: readonly NativeProgram[] = Object.freeze(Object.keys(writers) as NativeProgram[])

/** How a session is written. */
export interface NativeOptions {
  /** The id of the new session: an unused UUID in lower case. opencode's id is derived from it. */
  readonly id: string
  /** The time of writing, in milliseconds since 1970. */
  readonly now: number
  /** The folder in which the conversation continues: an absolute path. */
  readonly cwd: string
  /** The title, for programs that have one. Default: the first words of the user. */
  readonly title?: string
  /**
   * How reasoning is written. `own`: the program's own reasoning with its signature, other
   * reasoning as text. `text`: all of it as text, without signatures. `omit`: not at all. A
   * provider rejects another provider's signatures. Default: `text`.
   */
  readonly reasoning?: 'own' | 'text' | 'omit'
  /** opencode: the model that answers next. Default: a name unknown to opencode, so it uses its own default. */
  readonly model?: { readonly provider: string; readonly model: string }
  /** Gemini CLI: the name of the project's folder under `tmp`. Default: a new one. */
  readonly project?: string
}

/** A session in the form of a program's file. Nothing has been written to disk. */
export interface Native {
  /** The program. */
  readonly program: NativeProgram
  /** The id by which the program resumes the session. */
  readonly id: string
  /**
   * The path segments below the program's folder, derived from `id`, `now`, `cwd` and `project`, never from messages.
   */
  readonly place: readonly string[]
  /** The lines of the file. opencode: one line, the JSON for `opencode import`. */
  readonly lines: readonly string[]
  /** The number of user and assistant turns. 0: there is nothing to continue. */
  readonly turns: number
  /** The repairs that settled the conversation. */
  readonly repairs: readonly Repair[]
  /** Everything else that the file changes or omits. Positions refer to the settled conversation. */
  readonly losses: readonly Loss[]
}

/**
 * Write a conversation as a new session file of a program. It is settled first. Ids and paths are
 * derived from the options, never from message content.
 *
 * Cost    O(messages)
 *
 * @param options the id, the time and the folder of the new session
 * @returns the lines, the path where the program looks for them, and every loss
 * @throws TypeError if the id is not a UUID, the time is invalid, or the folder or the project's name is not allowed
 */
export const writeNative = (
  conversation: Sequence<Message>,
  program: NativeProgram,
  options: NativeOptions,
): Native => {
  const { id, now, cwd, title, reasoning = 'text', model, project } = checkNative(options)
  const writer = writers[program]
  if (!Object.hasOwn(writers, program))
    throw new TypeError(`expected one of the programs ${nativePrograms.join(', ')}, found "${String(program)}"`)
  const { turns, repairs, losses } = turnsOf(conversation, writer.holds, reasoning)
  const writing = { turns, id, now, cwd, title: title ?? titleOf(turns), model, project }
  return Object.freeze({
    program,
    id: writer.idOf(writing),
    place: Object.freeze(writer.place(writing)),
    lines: Object.freeze(writer.write(writing).map((line) => JSON.stringify(line))),
    turns: turns.length,
    repairs,
    losses: Object.freeze(losses),
  })
}

const checkNative = (input: NativeOptions): NativeOptions => {
  const options = optionsOf('writeNative', input, names)
  const { id, now, cwd, project } = options
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    throw new TypeError(`id: "${id}" is not a lower-case UUID`)
  if (!Number.isSafeInteger(now) || now < 0 || now > latest)
    throw new TypeError(`now: ${now} is not a time in milliseconds`)
  if (!/^(?:\/|[A-Za-z]:[\\/])/.test(cwd)) throw new TypeError(`cwd: "${cwd}" is not an absolute path`)
  if (project !== undefined && !/^\w[\w.-]{0,254}$/.test(project))
    throw new TypeError(`project: "${project}" is not a name of letters, digits, _, - and .`)
  choice('reasoning', options.reasoning ?? 'text', ['own', 'text', 'omit'])
  return options
}

const names: OptionNames<NativeOptions> = {
  id: true,
  now: true,
  cwd: true,
  title: true,
  reasoning: true,
  model: true,
  project: true,
}

/** The end of the year 9999. */
const latest = 253_402_300_799_999
