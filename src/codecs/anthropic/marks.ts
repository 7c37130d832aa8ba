/** The marks that the codec keeps in `as`. */
import type { Message, Part } from '../../message/index.ts'
import { hasMark as isKept, joinMarks as marksOf, residualOf, type Kept } from '../residual.ts'
import { ownField, isObject } from '../../json/index.ts'

/** The codec's name. */
export const format = 'anthropic'

type AnthropicMark =
  /** Text that was written as a list of one block, or an empty list. */
  | 'parts'
  /** A message from the same wire message as the one before it. */
  | 'joined'
  /** A tool message with its own wire message, after another one. */
  | 'apart'
  /** A system message among the messages. */
  | 'message'
  /** Content that breaks a rule of the API but was there. */
  | 'exact'

export const marksText: (...words: readonly (AnthropicMark | false)[]) => string | undefined = marksOf<AnthropicMark>

export const keepsMark: (kept: Kept | undefined, mark: AnthropicMark) => boolean = isKept

export const isMarked = (owner: Message | Part, mark: AnthropicMark): boolean =>
  ownField(owner, 'meta') !== undefined && keepsMark(residualOf(format, owner), mark)

/** Whether it is a call of the turn, not one made by a running server tool, which keeps its place. */
export const isTurnCall = (part: Part): boolean => {
  if (part.type !== 'tool_call') return false
  const fields = residualOf(format, part)?.fields
  const caller = fields && ownField(fields, 'caller')
  return !isObject(caller) || caller['type'] === 'direct'
}
