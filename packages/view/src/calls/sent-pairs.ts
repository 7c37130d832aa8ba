/** What a call was sent, in pairs: beside the record, or beside what the call before it was sent. */
import { toSentMessage } from '@indelible/recorder/internal'
import { diffArrays } from 'diff'
import type { Message } from 'indelible/message'
import type { ContextSource } from 'indelible/context'

/** One message of a context, and where it comes from. */
export interface ContextMessage {
  readonly message: Message
  /** `foreign`: the record has no such message; the program that called wrote it. */
  readonly source: ContextSource | { readonly type: 'foreign' }
}

/** A row of two columns. */
export type Pair =
  | {
      readonly type: 'pair'
      /** The positions in the record, or the message that was sent before. Undefined if there is neither. */
      readonly left: { readonly from: number; readonly to: number } | ContextMessage | undefined
      /** The index of the message that the call was sent. */
      readonly right: number | undefined
      readonly isSame: boolean
    }
  /** Messages that both columns have: the first of them that the call was sent, and how many follow. */
  | { readonly type: 'same'; readonly from: number; readonly to: number }
  /** Messages of the record that the call was not sent. */
  | { readonly type: 'unsent'; readonly from: number; readonly to: number }

/** The most messages in a row, sent as recorded, that are not folded. */
const mostSame = 3

/**
 * Each message that was sent, with the part of the record that it represents. One that the record has not got is beside the
 * one that it was sent instead of: a system message, or as many messages of the same roles.
 */
export const pairsWithRecord = (
  messages: readonly ContextMessage[],
  len: number,
  roleAt: (position: number) => string | undefined,
): readonly Pair[] => {
  const pairs: Pair[] = []
  let [next, addSame] = [0, 0]
  const fold = (to: number): void => {
    if (addSame > mostSame) pairs.splice(-addSame, addSame, { type: 'same', from: to - addSame, to })
    addSame = 0
  }
  const upTo = (position: number, right: number): void => {
    if (position <= next) return
    fold(right)
    const foreign = pairs.splice(pairs.findLastIndex((pair) => !isForeign(pair)) + 1).filter(isForeign)
    const role = (index: number): string | undefined => messages[right - foreign.length + index]?.message.role
    const isAlike =
      foreign.length === position - next && foreign.every((_, index) => role(index) === roleAt(next + index))
    for (const [index, pair] of foreign.entries()) {
      const isInstead =
        next < position &&
        role(index) === roleAt(next) &&
        (isAlike || role(index) === 'system' || role(index) === 'developer')
      pairs.push(isInstead ? { ...pair, left: { from: next, to: ++next } } : pair)
    }
    if (next < position) pairs.push({ type: 'unsent', from: next, to: position })
  }
  for (const [right, { source }] of messages.entries()) {
    const range = recordedRange(source)
    if (range !== undefined) upTo(range.from, right)
    const isSame = source.type === 'clone' && source.mended !== true
    if (!isSame) fold(right)
    pairs.push({ type: 'pair', left: range, right, isSame })
    if (isSame) addSame += 1
    next = Math.max(next, range?.to ?? 0)
  }
  fold(messages.length)
  upTo(len, messages.length)
  return pairs
}

/** Whether the record has no such message. */
const isForeign = (pair: Pair): pair is Extract<Pair, { readonly type: 'pair' }> =>
  pair.type === 'pair' && pair.left === undefined

/** The positions that a message represents. Undefined if the record has no such message. */
export const recordedRange = (
  source: ContextMessage['source'],
): { readonly from: number; readonly to: number } | undefined =>
  source.type === 'foreign' || source.type === 'synthetic'
    ? undefined
    : source.type === 'clone'
      ? { from: source.position, to: source.position + 1 }
      : { from: source.from, to: source.to }

/** The most messages that are searched for moved ones. The others are paired in order. */
const mostEdits = 1000

/** What both calls were sent, then what changed, each beside what stood there. */
export const pairsWithCall = (
  before: readonly ContextMessage[],
  messages: readonly ContextMessage[],
): readonly Pair[] => {
  const most = Math.min(before.length, messages.length)
  let start = 0
  while (start < most && isSame(before[start], messages[start])) start++
  let end = 0
  while (end < most - start && isSame(before.at(-1 - end), messages.at(-1 - end))) end++
  const [old, fresh] = [
    before.slice(start, before.length - end).map(textOf),
    messages.slice(start, messages.length - end).map(textOf),
  ]
  const changes = diffArrays(old, fresh, { maxEditLength: mostEdits }) ?? [
    { value: old, removed: true, added: false },
    { value: fresh, removed: false, added: true },
  ]
  const pairs: Pair[] = []
  const addSame = (from: number, to: number): void => void (to > from && pairs.push({ type: 'same', from, to }))
  addSame(0, start)
  let [left, right] = [start, start]
  let [went, came] = [0, 0]
  const flush = (): void => {
    for (let index = 0; index < Math.max(went, came); index++)
      pairs.push({
        type: 'pair',
        left: index < went ? before[left + index] : undefined,
        right: index < came ? right + index : undefined,
        isSame: false,
      })
    left += went
    right += came
    ;[went, came] = [0, 0]
  }
  for (const { value, added, removed } of changes) {
    if (removed) went += value.length
    else if (added) came += value.length
    else {
      flush()
      addSame(right, right + value.length)
      left += value.length
      right += value.length
    }
  }
  flush()
  addSame(messages.length - end, messages.length)
  return pairs
}

/** Whether two messages were sent alike: as the same message of the record, or as another one in the same form. */
const isSame = (a: ContextMessage | undefined, b: ContextMessage | undefined): boolean =>
  a !== undefined && b !== undefined && (a.message === b.message || textOf(a) === textOf(b))

/** What is cached of a message: its form counts, not only its content. */
const textOf = ({ message }: ContextMessage): string => JSON.stringify(toSentMessage(message))

/** Two messages as texts that can be compared: as JSON where only their form differs, such as a text that became a list. */
export const comparedTexts = (
  before: Message,
  after: Message,
): { readonly before: string; readonly after: string; readonly isForm: boolean } => {
  const texts = { before: comparedText(before), after: comparedText(after) }
  if (texts.before !== texts.after) return { ...texts, isForm: false }
  return { before: valueText(toSentMessage(before)), after: valueText(toSentMessage(after)), isForm: true }
}

/** A message as a text that can be compared. */
const comparedText = ({ role, content }: Message): string =>
  [
    `${role}:`,
    ...content.map((part) =>
      part.type === 'text' || part.type === 'refusal' || part.type === 'reasoning'
        ? part.text
        : part.type === 'tool_call'
          ? `${part.name} ${part.arguments}`
          : part.type === 'tool_result'
            ? part.content.map((piece) => (piece.type === 'text' ? piece.text : JSON.stringify(piece))).join('\n')
            : JSON.stringify(part),
    ),
  ].join('\n')

/** A value of a request as a text that can be compared. */
export const valueText = (value: unknown): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value, null, 2)
