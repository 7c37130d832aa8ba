/**
 * Judging one context against the record it was derived from. It reads what the context says: a position counts as
 * shown where a message of it is the recorded one, or a representation of it, and as pointed at where the text of a
 * message names it. What the context claims of itself counts for nothing.
 */
import type { View } from '../history/index.ts'
import { isLeft, type Json, jsonEqual } from '../json/index.ts'
import { isText, settle, type Message, type Part } from '../message/index.ts'
import { minFidelity, type PageKind, type ResidencyLevel } from '../pages/index.ts'
import type { DerivedContext } from './derive.ts'
import { indexIn } from './positions.ts'
import type { ContextSource } from './source.ts'
import { isSpoken } from './substantive.ts'
import type { Estimator } from './tokens.ts'
import { rankOf } from './unit.ts'

/** Faults that a policy answers for. Every count is 0 in a context that keeps the laws. */
export interface ContextFaults {
  /** Instructions that are not there, or less than structured. */
  readonly bootstrapMissing: number
  /** Rules (constraints, pinned pages) that are not there, or less than structured. */
  readonly pinnedMissing: number
  /** Contexts in which the latest message of the user is not readable: less than compressed. */
  readonly questionHidden: number
  /** Contexts that a provider refuses: a call without its result, a result without its call. */
  readonly pairingViolated: number
  /** Contexts that take more than the budget. */
  readonly overBudget: number
  /** Pages below their minimum: nothing in the context says that they ever were. */
  readonly silentLoss: number
  /** Calls that the recording makes again, while the earlier result was not even pointed at. */
  readonly refetch: number
}

/** How much of each message of a view a context shows: the rank of its level, or `absent`. */
export type Shown = readonly number[]

export const absent = 4

/** What is shown of a view, found in the messages themselves. Cost: O(record + context). */
export const shownIn = (
  { messages, sources }: Pick<DerivedContext, 'messages' | 'sources'>,
  view: View<Message>,
): Shown => {
  const shown = Array.from({ length: view.length }, () => absent)
  const count = (from: number, to: number, level: ResidencyLevel): void => {
    for (let index = view.before(from); index < view.before(to); index++)
      shown[index] = Math.min(shown[index] ?? absent, rankOf(level))
  }
  const at = (position: number): Message | undefined => {
    const index = indexIn(view, position)
    return index === -1 ? undefined : view.at(index)
  }
  const from = sources.toArray()
  for (const [index, message] of messages.toArray().entries()) {
    const source = from[index] as ContextSource
    if (source.type === 'synthetic') continue
    if (source.type === 'clone') {
      if (isOf(message, at(source.position), source.mended === true))
        count(source.position, source.position + 1, 'full')
    } else if (source.type === 'representation' && source.level !== 'pointer') {
      if (isSpokenAs(message, at(source.from))) count(source.from, source.to, source.level)
    } else if (names(message, source.from, source.to)) {
      count(source.from, source.to, 'pointer')
      // An answer is in the line of its call.
      let isSaid = false
      for (const position of (source.type === 'representation' && source.briefs) || []) {
        const isAnswer = at(position)?.content.some(({ type }) => type === 'tool_result') === true
        isSaid = saidIn(message).numbers.has(`${position}`) || (isSaid && isAnswer)
        if (isSaid) count(position, position + 1, 'structured')
      }
    }
  }
  return shown
}

/** The faults of one context. `refetch` is for who knows what comes next. */
export const faultsOf = (
  context: DerivedContext,
  shown: Shown,
  view: View<Message>,
  kindOf: (index: number) => PageKind,
  estimate: Estimator,
): Omit<ContextFaults, 'refetch'> => {
  let [bootstrapMissing, pinnedMissing, silentLoss] = [0, 0, 0]
  for (const [index, rank] of shown.entries()) {
    const kind = kindOf(index)
    if (rank <= rankOf(minFidelity(kind))) continue
    if (kind === 'bootstrap') bootstrapMissing += 1
    else if (kind === 'constraint') pinnedMissing += 1
    silentLoss += 1
  }
  let tokens = 0
  for (const message of context.messages) tokens += estimate(message)
  return {
    bootstrapMissing,
    pinnedMissing,
    questionHidden: (shown[questionIn(view)] ?? 0) > rankOf('compressed') ? 1 : 0,
    pairingViolated: isLeft(settle(context.messages)) ? 1 : 0,
    overBudget: tokens > context.budget ? 1 : 0,
    silentLoss,
  }
}

/** Where the latest words of the user stand in a view; -1 if there are none. */
const questionIn = (view: View<Message>): number => {
  let index = view.length - 1
  while (index >= 0 && !isSpoken(view.at(index) as Message)) index -= 1
  return index
}

/** Whether a message is the recorded one; `mended`: but for the ids of calls and the results that were left out. */
const isOf = (message: Message, recorded: Message | undefined, mended: boolean): boolean => {
  if (message === recorded) return true
  if (recorded === undefined) return false
  if (!mended) return jsonEqual(message as unknown as Json, recorded as unknown as Json)
  return message.content.every((part) => recorded.content.some((other) => jsonEqual(withoutId(part), withoutId(other))))
}

const withoutId = (part: Part): Json => {
  if (part.type === 'tool_call') return { ...part, id: '' } as unknown as Json
  return (part.type === 'tool_result' ? { ...part, callId: '' } : part) as unknown as Json
}

/** Whether a representation speaks in the role of what it is of; an answer that was moved does so as a tool. */
const isSpokenAs = ({ role, content }: Message, recorded: Message | undefined): boolean =>
  content.length > 0 &&
  (role === recorded?.role ||
    (role === 'tool' && recorded?.content.some(({ type }) => type === 'tool_result') === true))

/** What a marker says of itself: the range it stands for, the position it gives back, and the numbers that its lines begin with. */
interface Said {
  readonly range: string | undefined
  readonly back: string | undefined
  readonly numbers: ReadonlySet<string>
}

/** Read once for each message: a marker is judged at many calls. */
const saidIn = (message: Message): Said => {
  const known = read.get(message)
  if (known !== undefined) return known
  const text = message.content
    .filter(isText)
    .map((part) => part.text)
    .join('\n')
  const [first = ''] = text.split('\n', 1)
  const said = {
    range: /^\[(?:summary of )?(\d+(?:–\d+)?)\b/.exec(first)?.[1],
    back: /\{"position": (\d+)\}/.exec(first)?.[1],
    numbers: new Set(text.match(/^\d+(?= )/gm)),
  }
  read.set(message, said)
  return said
}

const read = new WeakMap<Message, Said>()

/** Whether a message names exactly these positions, and no other way back than theirs. */
const names = (message: Message, from: number, to: number): boolean => {
  const { range, back } = saidIn(message)
  return range === (to - from === 1 ? `${from}` : `${from}–${to - 1}`) && (back ?? `${from}`) === `${from}`
}
