/** Writing: a conversation as a new session of a program, which the program itself resumes. */
import type { Loss } from 'indelible/codecs'
import { optionsOf, type OptionNames } from 'indelible/json/kit'
import type { Message, Repair, Sequence } from 'indelible/message'
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
  /** The id of the new session: a UUID in lower case that no session has. opencode's is made of it. */
  readonly id: string
  /** When it is written, in milliseconds since 1970. */
  readonly now: number
  /** The folder in which the conversation continues: an absolute path. */
  readonly cwd: string
  /** Its title, in programs that have one. Default: the first words of the user. */
  readonly title?: string
  /**
   * How reasoning is written: `own` as it is with its signature, where the program wrote it itself, and else as text; `text`:
   * all of it as text, without signatures; `omit`: not at all. Another provider refuses a signature. Default: `text`.
   */
  readonly reasoning?: 'own' | 'text' | 'omit'
  /** opencode: the model that answers next. Default: a name that opencode has no model for, so that it takes its own. */
  readonly model?: { readonly provider: string; readonly model: string }
  /** Gemini CLI: the name of the project's folder under `tmp`. Default: a new one. */
  readonly project?: string
}

/** A session as a program's file has it. Nothing is written yet. */
export interface Native {
  /** The program. */
  readonly program: NativeProgram
  /** The id by which the program resumes the session. */
  readonly id: string
  /** The steps from the program's folder to the file: made of `id`, `now`, `cwd` and `project`, and of nothing that a message says. */
  readonly place: readonly string[]
  /** The lines of the file. opencode: one line, the JSON that `opencode import` takes. */
  readonly lines: readonly string[]
  /** How many turns of the user and of the assistant it has. 0: there is nothing to continue. */
  readonly turns: number
  /** What was done to settle the conversation. */
  readonly repairs: readonly Repair[]
  /** Everything else that the file does not say as the conversation does. Positions are those of the settled conversation. */
  readonly losses: readonly Loss[]
}

/**
 * Write a conversation as a new session file of a program. It is settled first. Ids and places are made from the options,
 * never from what a message says.
 *
 * Cost    O(messages)
 *
 * @param options the id, the time and the folder of the new session
 * @returns the lines, where the program looks for them, and every loss
 * @throws TypeError if the id is no UUID, the time no time, or the folder or the project's name can't be one
 */
export const writeNative = (
  conversation: Sequence<Message>,
  program: NativeProgram,
  options: NativeOptions,
): Native => {
  const { id, now, cwd, title, reasoning = 'text', model, project } = checkNative(options)
  const writer = writers[program]
  if (!Object.hasOwn(writers, program))
    throw new TypeError(`"${String(program)}" is none of ${nativePrograms.join(', ')}`)
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

const checkNative = (given: NativeOptions): NativeOptions => {
  const options = optionsOf('writeNative', given, names)
  const { id, now, cwd, project } = options
  if (!/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id))
    throw new TypeError(`id: "${id}" is no UUID in lower case`)
  if (!Number.isSafeInteger(now) || now < 0 || now > latest)
    throw new TypeError(`now: ${now} is no time in milliseconds`)
  if (!/^(?:\/|[A-Za-z]:[\\/])/.test(cwd)) throw new TypeError(`cwd: "${cwd}" is no absolute path`)
  if (project !== undefined && !/^\w[\w.-]{0,254}$/.test(project))
    throw new TypeError(`project: "${project}" is no name of letters, digits, _, - and .`)
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
