/** What a call was sent, in pairs: beside the record, or beside what the call before it was sent. */
import { diffArrays } from 'diff'
import type { Message } from 'indelible/message'
import type { ContextMessage } from './derive-contexts.ts'

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

/** So many messages in a row that are as they were recorded are not folded. */
const mostSame = 3

/** Each message that was sent, with the part of the record that it represents. */
export const pairsWithRecord = (messages: readonly ContextMessage[], len: number): readonly Pair[] => {
  const pairs: Pair[] = []
  let [next, addSame] = [0, 0]
  const fold = (to: number): void => {
    if (addSame > mostSame) pairs.splice(-addSame, addSame, { type: 'same', from: to - addSame, to })
    addSame = 0
  }
  const upTo = (position: number, right: number): void => {
    if (position <= next) return
    fold(right)
    pairs.push({ type: 'unsent', from: next, to: position })
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
  const [earlier, later] = [before.map(keyOf), messages.map(keyOf)]
  let start = 0
  while (start < later.length && earlier[start] === later[start]) start++
  let end = 0
  while (end < later.length - start && end < earlier.length - start && earlier.at(-1 - end) === later.at(-1 - end))
    end++
  const [old, fresh] = [earlier.slice(start, earlier.length - end), later.slice(start, later.length - end)]
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
  addSame(later.length - end, later.length)
  return pairs
}

const keyOf = ({ message, source }: ContextMessage): string =>
  source.type === 'clone' && source.mended !== true ? `#${source.position}` : JSON.stringify(message)

/** A message as a text that can be compared. */
export const comparedText = ({ role, content }: Message): string =>
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
