/**
 * Judges one context against its record, by what the context actually contains. A position counts
 * as shown if one of its messages equals the recorded one or represents it, and as pointed at if a
 * message's text names it. The context's own claims do not count.
 */
import type { ContextSource, DerivedContext, Estimator } from 'indelible/context'
import { indexIn, isSpoken } from 'indelible/internal/context'
import type { View } from 'indelible/history'
import { isLeft, jsonEqual } from 'indelible/internal/json'
import { isText, settle, type Message, type Part } from 'indelible/message'
import { minFidelity, residencyLevels, type PageKind, type ResidencyLevel } from 'indelible/pages'

/** The rank of a level: 0 for `full`. */
export const rankOf = (level: ResidencyLevel): number => residencyLevels.indexOf(level)

/** Violations that a policy is responsible for. Every count is 0 for a context that keeps its guarantees. */
export interface ContextFaults {
  /** Instructions that are missing, or shown below `structured`. */
  readonly bootstrapMissing: number
  /** Rules (constraints, pinned pages) that are missing, or shown below `structured`. */
  readonly pinnedMissing: number
  /** Contexts in which the latest user message is not readable: shown below `compressed`. */
  readonly questionHidden: number
  /** Contexts that a provider rejects: a call without its result, or a result without its call. */
  readonly pairingViolated: number
  /** Contexts that exceed the budget. */
  readonly overBudget: number
  /** Pages below their minimum, without a trace in the context. */
  readonly silentLoss: number
  /** Calls that the recording repeats although the earlier result was not even pointed at. */
  readonly refetch: number
}

/** How much of each message a context shows: the rank of its level, or `absentRank`. */
type ShownLevels = Readonly<Uint8Array>

export const absentRank = 4

/** The findings for one context. Only the caller can know `refetch`. */
interface Judgement {
  /** Valid only until the next context is judged. */
  readonly shown: ShownLevels
  readonly faults: Omit<ContextFaults, 'refetch'>
}

/**
 * Returns a judge for successive contexts derived from a view or from its first messages.
 *
 * Cost    O(record) once. Per context: its messages, one byte per message recorded before it, and
 * new text in its markers
 */
export const judgeOf = (
  view: View<Message>,
  kindOf: (index: number) => PageKind,
  estimate: Estimator,
): ((context: Judgeable, length?: number) => Judgement) => {
  const kinds = Array.from({ length: view.length }, (_, index) => kindOf(index))
  const least = Uint8Array.from(kinds, (kind) => rankOf(minFidelity(kind)))
  const questions = questionsIn(view)
  const markers = new WeakMap<Message, { readonly source: Marker; readonly shares: readonly Share[] }>()
  /** Parsed once per message, because a marker is judged at many calls. */
  const sharesOf = (message: Message, source: Marker): readonly Share[] => {
    let known = markers.get(message)
    if (known?.source !== source) markers.set(message, (known = { source, shares: readShares(message, source, view) }))
    return known.shares
  }
  const all = new Uint8Array(view.length)
  return ({ messages, sources, budget }, length = view.length) => {
    const shown = all.subarray(0, length).fill(absentRank)
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
        for (const share of sharesOf(message, source)) show(share)
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

/** The judged fields of a context. */
type Judgeable = Pick<DerivedContext, 'messages' | 'sources' | 'budget'>

/** How much is shown of a range of indexes of a view. */
interface Share {
  readonly from: number
  readonly to: number
  readonly rank: number
}

type Marker = Extract<ContextSource, { readonly type: 'representation' | 'summary' }>

const whole = rankOf('full')

/** The ranges that a marker, summary or shortened message represents. */
const readShares = (message: Message, source: Marker, view: View<Message>): readonly Share[] => {
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
  const facts = markerFactsIn(message)
  if (names(facts, source.from, source.to)) {
    show(source.from, source.to, 'pointer')
    // An answer is part of its call's line.
    let isSaid = false
    for (const position of (source.type === 'representation' && source.briefs) || []) {
      const isAnswer = at(position)?.content.some(({ type }) => type === 'tool_result') === true
      isSaid = facts.numbers.has(`${position}`) || (isSaid && isAnswer)
      if (isSaid) show(position, position + 1, 'structured')
    }
  }
  return shares
}

/** For each length of a view, the index of the latest user message with words; -1 if there is none. */
const questionsIn = (view: View<Message>): Int32Array => {
  const questions = new Int32Array(view.length + 1).fill(-1)
  for (const [index, message] of view.toArray().entries())
    questions[index + 1] = isSpoken(message) ? index : (questions[index] as number)
  return questions
}

/** Whether a message is the recorded one. `mended`: apart from call ids and omitted results. */
const isOf = (message: Message, recorded: Message, mended: boolean): boolean =>
  mended
    ? message.content.every((part) => recorded.content.some((other) => jsonEqual(withoutId(part), withoutId(other))))
    : jsonEqual(message, recorded)

const withoutId = (part: Part): Part => {
  if (part.type === 'tool_call') return { ...part, id: '' }
  return part.type === 'tool_result' ? { ...part, callId: '' } : part
}

/** Whether a representation has the role of its original; a result without its call is a message of the user. */
const isSpokenAs = ({ role, content }: Message, recorded: Message | undefined): boolean =>
  content.length > 0 &&
  (role === recorded?.role ||
    (role === 'user' && recorded?.content.some(({ type }) => type === 'tool_result') === true))

/** The facts in a marker's text: its range, the position to recall, and the numbers its lines start with. */
interface MarkerFacts {
  readonly range: string | undefined
  readonly back: string | undefined
  readonly numbers: ReadonlySet<string>
}

const markerFactsIn = ({ content }: Message): MarkerFacts => {
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

/** Whether a marker names exactly these positions, and no other one to recall. */
const names = ({ range, back }: MarkerFacts, from: number, to: number): boolean =>
  range === (to - from === 1 ? `${from}` : `${from}–${to - 1}`) && (back ?? `${from}`) === `${from}`
