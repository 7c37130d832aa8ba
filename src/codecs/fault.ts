/** The faults of reading and writing foreign formats. */
import { formatPath, type Path } from '../json/index.ts'
import type { BlockId } from '../proof/internal.ts'
import { callbackFaultText, type CallbackThrew, sentencesOf, type Sentences } from '../task/index.ts'

/** Why a conversation can't be read or written in a format. */
export type CodecFault =
  /** Text that is not JSON. `line` and `column` count from 1. */
  | {
      readonly _tag: 'InvalidJson'
      readonly line: number
      readonly column: number
      readonly expected: string
      readonly found: string
    }
  /** JSON that is not a conversation in any known format. */
  | { readonly _tag: 'UnknownFormat'; readonly found: string }
  /** A value that the format does not allow. `line`, from 1, is set for formats with one entry per line. */
  | {
      readonly _tag: 'UnexpectedWire'
      readonly format: string
      readonly line?: number
      readonly path: Path
      readonly expected: string
      readonly found: string
    }
  /** A value that is not plain JSON: nested too deeply, a function, or a class instance. */
  | { readonly _tag: 'WireNotJson'; readonly format: string; readonly path: Path; readonly reason: string }
  /** `encode` needs the content of an image or file that is stored as a block. */
  | {
      readonly _tag: 'UnresolvedBlock'
      readonly format: string
      readonly position: number
      readonly path: Path
      readonly id: BlockId
    }
  /** A line that could not be read, with `strict`. */
  | { readonly _tag: 'DamagedLine'; readonly format: string; readonly line: number; readonly reason: string }
  /** `pick` is not the number of a conversation in the file. */
  | { readonly _tag: 'NoSuchConversation'; readonly pick: number; readonly count: number }

/** Faults of reading a known format. */
export type DecodeFault = Extract<CodecFault, { readonly _tag: 'UnexpectedWire' | 'WireNotJson' }>

/** Faults of writing. `CallbackThrew`: the `block` option threw. */
export type EncodeFault = Extract<CodecFault, { readonly _tag: 'UnresolvedBlock' }> | CallbackThrew

/** Faults of reading a file with automatic format detection. */
export type TranscriptFault = Exclude<CodecFault, { readonly _tag: 'UnresolvedBlock' }>

export const codecSentences: Sentences<CodecFault | CallbackThrew> = {
  InvalidJson: (fault) =>
    fault.line === 1 && fault.column === 1 && fault.found === 'the end'
      ? 'the text is empty; expected a conversation'
      : `line ${fault.line}, column ${fault.column}: not JSON: expected ${fault.expected}, found ${fault.found}`,
  UnknownFormat: (fault) =>
    `this is ${fault.found}, not a conversation; expected messages of OpenAI, Anthropic, Gemini or the AI SDK (as an array, in a request, or one per line), a tau-bench or SWE-agent file, a session file of an agent (Claude Code, Codex, Copilot CLI, Gemini CLI, Qwen Code, opencode, pi, Cursor, Droid, Goose, Kimi, Cline, Amp, Aider), or an export of ChatGPT, Claude.ai or Indelible`,
  UnexpectedWire: (fault) =>
    `${fault.line === undefined ? '' : `line ${fault.line}: `}${formatPath(fault.path) || 'the entry'} should be ${fault.expected}, found ${fault.found} (read as ${fault.format})`,
  WireNotJson: (fault) =>
    `${formatPath(fault.path) || 'the value'} ${fault.reason}; expected plain JSON data (read as ${fault.format})`,
  UnresolvedBlock: (fault) =>
    `${formatPath(fault.path)} of the message at position ${fault.position} is the stored block ${fault.id}; encode() needs its content: pass { block } (writing ${fault.format})`,
  DamagedLine: (fault) => `line ${fault.line} ${fault.reason} (read as ${fault.format})`,
  NoSuchConversation: (fault) => `there is no conversation ${fault.pick}; the file has ${fault.count}, numbered from 0`,
  CallbackThrew: (fault) => callbackFaultText(fault),
}

/**
 * A codec fault as a sentence.
 *
 * @returns what is wrong, where, what was expected and what was found
 */
export const codecFaultText: (fault: CodecFault | CallbackThrew) => string = sentencesOf(codecSentences)
