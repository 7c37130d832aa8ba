/**
 * Groups, the first step: what is sent or left out together. A group is a message, or an assistant's calls with their results.
 * It is settled even if the record is not: an unanswered call gets an error result, and a result without a waiting call becomes
 * a text of its own.
 */
import type { View } from '../../history/index.ts'
import { ownField } from '../../json/index.ts'
import { text, toolResult, user, type Message, type Part, type ToolResultPart } from '../../message/index.ts'
import {
  noResult,
  noResultYet,
  renamedCall,
  renamedResult,
  withContent,
  withErasedText,
} from '../../message/internal.ts'
import { plain } from '../showing/represent.ts'
import { elidedCharacters, headAndTail } from '../showing/shorten.ts'

/** Where a message of a context comes from. Ranges go up to, not including, `to`. */
export type ContextSource =
  /** The recorded message. `mended`: a call was renamed or a result left out, because the record is damaged there. */
  | { readonly type: 'clone'; readonly position: number; readonly mended?: true }
  /**
   * A shortened recorded message; at `pointer`, the marker of a whole range. `briefs`: the positions of the range that
   * have a summary line in the marker (`structured`).
   */
  | {
      readonly type: 'representation'
      readonly level: 'compressed' | 'structured' | 'pointer'
      readonly from: number
      readonly to: number
      readonly briefs?: readonly number[]
    }
  /** A summary of a range. `model`: its author; `extract` is the library's own. */
  | { readonly type: 'summary'; readonly from: number; readonly to: number; readonly model: string }
  /** A result that was never recorded: `unanswered` in the middle of the record, `interrupted` at its end. */
  | {
      readonly type: 'synthetic'
      readonly callId: string
      readonly position: number
      readonly reason: 'unanswered' | 'interrupted'
    }

/** A message of a context with its source, and the position it belongs to. */
export interface Shown {
  readonly message: Message
  readonly source: ContextSource
  readonly position: number
}

export interface Group {
  /** The indexes of its messages in the view: from the first to before `to`. */
  readonly from: number
  readonly to: number
  /** Its messages in full, settled. */
  readonly shown: readonly Shown[]
  readonly hasCalls: boolean
  /** Whether it lacks nothing, whatever follows it. */
  readonly isComplete: boolean
  /** Whether it lacks results, or the rest of an answer, because the record ends here. */
  readonly isOpen: boolean
}

/**
 * The group that starts at an index of a view. A complete one is remembered by its first message.
 *
 * Cost    O(its messages), once
 */
export const groupAt = (view: View<Message>, from: number): Group => {
  const first = view.at(from) as Message
  const position = view.positionAt(from)
  const known = complete.get(first)
  if (
    known !== undefined &&
    known.position === position &&
    known.group.from === from &&
    known.group.to <= view.length &&
    view.at(known.group.to - 1) === known.last
  )
    return known.group
  const group = readGroup(view, from)
  if (group.isComplete) complete.set(first, { group, position, last: view.at(group.to - 1) as Message })
  return group
}

const complete = new WeakMap<
  Message,
  { readonly group: Group; readonly position: number | undefined; readonly last: Message }
>()

/** The start of the group that has an index. */
export const groupStart = (view: View<Message>, index: number): number => {
  if (view.length === 0) return 0
  let from = Math.min(index, view.length - 1)
  while (from > 0 && (beginsWithResult(view.at(from) as Message) || isOnlyReasoning(view.at(from - 1) as Message)))
    from -= 1
  // A result that nothing waits for is a group of its own.
  for (let { to } = groupAt(view, from); to <= index && to < view.length; { to } = groupAt(view, from)) from = to
  return from
}

/** The groups from one index to before another. */
export const groupsIn = (view: View<Message>, from: number, to: number): readonly Group[] => {
  const groups: Group[] = []
  for (let index = from; index < to;) {
    const group = groupAt(view, index)
    groups.push(group)
    index = group.to
  }
  return groups
}

/** Whether a message may not be cut: its provider signed it, and refuses it if it was changed. */
export const isSigned = ({ content }: Message): boolean => {
  for (const part of content)
    if (part.type === 'reasoning') {
      if (ownField(part, 'signature') !== undefined || ownField(part, 'encrypted') !== undefined) return true
    } else if (part.type === 'tool_call' && (JSON.stringify(ownField(part, 'meta')) ?? '').includes('ignature"'))
      return true
  return false
}

/** A signed reasoning that was recorded on its own: providers require the rest of the answer directly after it. */
const isOnlyReasoning = (message: Message): boolean => {
  if (message.role !== 'assistant') return false
  for (const { type } of message.content) if (type !== 'reasoning') return false
  return isSigned(message)
}

const beginsWithResult = ({ content }: Message): boolean => {
  const [first] = content
  return first?.type === 'tool_result' || (first?.type === 'erased' && ownField(first, 'callId') !== undefined)
}

/** A call of a group, by its own id: a recorded id may be used twice. */
interface Call {
  readonly id: string
  readonly name: string
  readonly position: number
  isAnswered: boolean
}

const readGroup = (view: View<Message>, from: number): Group => {
  const own: { readonly message: Message | undefined; readonly position: number; readonly isMended: boolean }[] = []
  const orphans: Shown[] = []
  const calls: Call[] = []
  const ids: UsedIds = new Map()
  /** The calls of the latest message with calls, by recorded id, and how many of them have a result. */
  let waiting = new Map<string, { readonly calls: Call[]; answered: number }>()
  let callsAt = -1
  let to = from
  for (; to < view.length; to++) {
    const recorded = view.at(to) as Message
    if (to > from && !(waiting.size > 0 && beginsWithResult(recorded)) && !isOnlyReasoning(view.at(to - 1) as Message))
      break
    const message = withErasedText(recorded)
    const position = view.positionAt(to) as number
    const parts: Part[] = []
    const unpaired: ToolResultPart[] = []
    for (const part of message.content) {
      if (part.type === 'tool_result') {
        const same = waiting.get(part.callId)
        const call = same?.calls[same.answered]
        if (same === undefined || call === undefined) {
          unpaired.push(part)
          continue
        }
        call.isAnswered = true
        same.answered += 1
        if (same.answered === same.calls.length) waiting.delete(part.callId)
        parts.push(renamedResult(part, call.id))
        continue
      }
      // Anything but a result ends the turn of the calls before it.
      if (callsAt !== to) waiting = new Map()
      if (part.type !== 'tool_call') {
        parts.push(part)
        continue
      }
      callsAt = to
      const call: Call = { id: ownId(part.id, ids), name: part.name, position, isAnswered: false }
      calls.push(call)
      const same = waiting.get(part.id)
      if (same === undefined) waiting.set(part.id, { calls: [call], answered: 0 })
      else same.calls.push(call)
      parts.push(renamedCall(part, call.id))
    }
    if (message.content.length === 0) waiting = new Map()
    if (unpaired.length > 0) orphans.push(orphanResult(message, unpaired, position))
    const sent = parts.length === 0 && message.content.length > 0 ? undefined : withContent(message, parts)
    own.push({ message: sent, position, isMended: sent !== message })
  }
  const isComplete = waiting.size === 0 && !isOnlyReasoning(view.at(to - 1) as Message)
  const isOpen = !isComplete && to === view.length
  const shown: Shown[] = []
  let next = 0 // the calls are in the order of their messages
  for (const { message, position, isMended } of own) {
    if (message !== undefined)
      shown.push({
        message,
        source: Object.freeze({ type: 'clone', position, ...(isMended && { mended: true as const }) }),
        position,
      })
    for (let call = calls[next]; call?.position === position; call = calls[++next])
      if (!call.isAnswered) shown.push(missingResult(call, isOpen ? 'interrupted' : 'unanswered'))
  }
  // After the results of the group, which nothing may interrupt.
  for (const orphan of orphans) shown.push(orphan)
  return { from, to, shown, hasCalls: calls.length > 0, isComplete, isOpen }
}

/** Used ids, with the last number that was tried for a repetition. */
export type UsedIds = Map<string, number>

/** The id itself, or with a number if it is used. It is used from now on. */
const ownId = (id: string, used: UsedIds): string => {
  let number = used.get(id)
  let own = id
  if (number !== undefined) {
    do own = `${id}_${++number}`
    while (used.has(own))
    used.set(id, number)
  }
  used.set(own, 1)
  return own
}

const missingResult = ({ id, name, position }: Call, reason: 'unanswered' | 'interrupted'): Shown => ({
  message: toolResult(id, [text(reason === 'unanswered' ? noResult : noResultYet)], { name, isError: true }),
  source: Object.freeze({ type: 'synthetic', callId: id, position, reason }),
  position,
})

/** A result that no call waits for: it came late, twice or without a call. Its text is shown as a message. */
const orphanResult = (recorded: Message, parts: readonly ToolResultPart[], position: number): Shown => {
  const whole = parts.map(plain).join('\n')
  const mark = ownField(ownField(recorded, 'meta') ?? {}, 'indelible')
  const first = parts[0] && ownField(parts[0], 'name')
  const tool = first === undefined ? '' : ` of ${first}`
  const message = user(
    `[Message ${position} is a tool result that does not directly follow its call${tool}.]\n${headAndTail(whole, longestOrphan, elidedCharacters)}`,
  )
  return {
    message: mark === undefined ? message : Object.freeze({ ...message, meta: Object.freeze({ indelible: mark }) }),
    source: Object.freeze({ type: 'representation', level: 'compressed', from: position, to: position + 1 }),
    position,
  }
}

const longestOrphan = 2000

/** The messages with call ids of their own: an id that the context already uses gets a number. `used` grows. */
export const withOwnIds = (messages: readonly Shown[], used: UsedIds): readonly Shown[] => {
  /** The ids of the latest calls, by their recorded ids: results follow their calls. */
  const names = new Map<string, string>()
  const own: Shown[] = []
  for (const shown of messages) {
    const parts: Part[] = []
    for (const part of shown.message.content)
      if (part.type === 'tool_call') {
        const id = ownId(part.id, used)
        names.set(part.id, id)
        parts.push(renamedCall(part, id))
      } else parts.push(part.type === 'tool_result' ? renamedResult(part, names.get(part.callId) ?? part.callId) : part)
    const message = withContent(shown.message, parts)
    if (message === shown.message) own.push(shown)
    else {
      const source =
        shown.source.type === 'clone' ? Object.freeze({ ...shown.source, mended: true as const }) : shown.source
      own.push({ message, source, position: shown.position })
    }
  }
  return own
}
