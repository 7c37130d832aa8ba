/**
 * Judging one context against the record it was derived from. It reads what the context says: a position counts as
 * shown where a message of it is the recorded one, or a representation of it, and as pointed at where the text of a
 * message names it. What the context claims of itself counts for nothing.
 */
import type { View } from '../../history/index.ts'
import { isLeft, jsonEqual } from '../../json/index.ts'
import { isText, settle, type Message, type Part } from '../../message/index.ts'
import { minFidelity, type PageKind, type ResidencyLevel } from '../../pages/index.ts'
import type { DerivedContext } from '../deriving/derive.ts'
import { indexIn } from '../deriving/positions.ts'
import type { ContextSource } from '../deriving/source.ts'
import { isSpoken } from '../deriving/substantive.ts'
import type { Estimator } from '../counting/tokens.ts'
import { rankOf } from '../deriving/unit.ts'

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

/** How much of each message a context shows: the rank of its level, or `absent`. */
export type ShownLevels = Readonly<Uint8Array>

export const absent = 4

/** What was found of one context. `refetch` is for who knows what comes next. */
export interface Judgement {
  /** Valid until the next context is judged. */
  readonly shown: ShownLevels
  readonly faults: Omit<ContextFaults, 'refetch'>
}

/**
 * Judge contexts derived from a view, or from its first messages, one after the other.
 *
 * Cost    of the first: O(record). Of each: its messages, one byte for each message that was recorded before, and what a
 *         marker says that the contexts before it did not have
 */
export const judgeOf = (
  view: View<Message>,
  kindOf: (index: number) => PageKind,
  estimate: Estimator,
): ((context: Judgeable, length?: number) => Judgement) => {
  const kinds = Array.from({ length: view.length }, (_, index) => kindOf(index))
  const least = Uint8Array.from(kinds, (kind) => rankOf(minFidelity(kind)))
  const questions = questionsIn(view)
  const told = new WeakMap<Message, { readonly source: Marker; readonly shares: readonly Share[] }>()
  /** Read once for each message: a marker is judged at many calls. */
  const toldBy = (message: Message, source: Marker): readonly Share[] => {
    let known = told.get(message)
    if (known?.source !== source) told.set(message, (known = { source, shares: toldIn(message, source, view) }))
    return known.shares
  }
  const all = new Uint8Array(view.length)
  return ({ messages, sources, budget }, length = view.length) => {
    const shown = all.subarray(0, length).fill(absent)
    const show = ({ from, to, rank }: Share): void => {
      for (let index = from; index < to && index < length; index++)
        if (rank < (shown[index] as number)) shown[index] = rank
    }
    const from = sources.toArray()
    let tokens = 0
    for (const [index, message] of messages.toArray().entries()) {
      tokens += estimate(message)
      const source = from[index] as ContextSource
      if (source.type === 'representation' || source.type === 'summary')
        for (const share of toldBy(message, source)) show(share)
      else if (source.type === 'clone') {
        const at = indexIn(view, source.position)
        if (at !== -1 && isOf(message, view.at(at) as Message, source.mended === true))
          show({ from: at, to: at + 1, rank: whole })
      }
    }
    let [bootstrapMissing, pinnedMissing, silentLoss] = [0, 0, 0]
    for (let index = 0; index < length; index++) {
      if ((shown[index] as number) <= (least[index] as number)) continue
      if (kinds[index] === 'bootstrap') bootstrapMissing += 1
      else if (kinds[index] === 'constraint') pinnedMissing += 1
      silentLoss += 1
    }
    const faults = {
      bootstrapMissing,
      pinnedMissing,
      questionHidden: (shown[questions[length] as number] ?? 0) > rankOf('compressed') ? 1 : 0,
      pairingViolated: isLeft(settle(messages)) ? 1 : 0,
      overBudget: tokens > budget ? 1 : 0,
      silentLoss,
    }
    return { shown, faults }
  }
}

/** What is judged of a context. */
type Judgeable = Pick<DerivedContext, 'messages' | 'sources' | 'budget'>

/** How much is shown of the messages between two indices of a view. */
interface Share {
  readonly from: number
  readonly to: number
  readonly rank: number
}

type Marker = Extract<ContextSource, { readonly type: 'representation' | 'summary' }>

const whole = rankOf('full')

/** What a message shows that stands for others. */
const toldIn = (message: Message, source: Marker, view: View<Message>): readonly Share[] => {
  const shares: Share[] = []
  const show = (from: number, to: number, level: ResidencyLevel): void =>
    void shares.push({ from: view.before(from), to: view.before(to), rank: rankOf(level) })
  const at = (position: number): Message | undefined => {
    const index = indexIn(view, position)
    return index === -1 ? undefined : view.at(index)
  }
  if (source.type === 'representation' && source.level !== 'pointer') {
    if (isSpokenAs(message, at(source.from))) show(source.from, source.to, source.level)
    return shares
  }
  const said = saidIn(message)
  if (names(said, source.from, source.to)) {
    show(source.from, source.to, 'pointer')
    // An answer is in the line of its call.
    let isSaid = false
    for (const position of (source.type === 'representation' && source.briefs) || []) {
      const isAnswer = at(position)?.content.some(({ type }) => type === 'tool_result') === true
      isSaid = said.numbers.has(`${position}`) || (isSaid && isAnswer)
      if (isSaid) show(position, position + 1, 'structured')
    }
  }
  return shares
}

/** For each number of first messages of a view, where the latest words of the user stand; -1 if there are none. */
const questionsIn = (view: View<Message>): Int32Array => {
  const questions = new Int32Array(view.length + 1).fill(-1)
  for (const [index, message] of view.toArray().entries())
    questions[index + 1] = isSpoken(message) ? index : (questions[index] as number)
  return questions
}

/** Whether a message is the recorded one; `mended`: but for the ids of calls and the results that were left out. */
const isOf = (message: Message, recorded: Message, mended: boolean): boolean =>
  mended
    ? message.content.every((part) => recorded.content.some((other) => jsonEqual(withoutId(part), withoutId(other))))
    : jsonEqual(message, recorded)

const withoutId = (part: Part): Part => {
  if (part.type === 'tool_call') return { ...part, id: '' }
  return part.type === 'tool_result' ? { ...part, callId: '' } : part
}

/** Whether a representation speaks in the role of what it is of; an answer that was moved does so as a tool. */
const isSpokenAs = ({ role, content }: Message, recorded: Message | undefined): boolean =>
  content.length > 0 &&
  (role === recorded?.role ||
    (role === 'tool' && recorded?.content.some(({ type }) => type === 'tool_result') === true))

/** What a marker says of itself: the range it stands for, the position it gives back, and the numbers that its lines begin with. */
interface MarkerFacts {
  readonly range: string | undefined
  readonly back: string | undefined
  readonly numbers: ReadonlySet<string>
}

const saidIn = ({ content }: Message): MarkerFacts => {
  const text = content
    .filter(isText)
    .map((part) => part.text)
    .join('\n')
  const [first = ''] = text.split('\n', 1)
  return {
    range: /^\[(?:messages? |summary of (?:messages )?)?(\d+(?:–\d+)?)\b/i.exec(first)?.[1],
    back: /\{"position": (\d+)\}/.exec(first)?.[1],
    numbers: new Set(text.match(/^\d+(?= )/gm)),
  }
}

/** Whether a message names exactly these positions, and no other way back than theirs. */
const names = ({ range, back }: MarkerFacts, from: number, to: number): boolean =>
  range === (to - from === 1 ? `${from}` : `${from}–${to - 1}`) && (back ?? `${from}`) === `${from}`
