/** Compaction: turns a line's segments and a policy's choices into the line of the next epoch. */
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import type { SummaryNote } from '../../notes/kit.ts'
import { pageKinds, residencyLevels, type PageKind, type ResidencyLevel } from '../../pages/index.ts'
import { degrade, measure } from '../policies/degrade.ts'
import { fittingBriefs, type Brief } from '../showing/brief.ts'
import { activeFits, fillRoom, keptFits, sum } from '../policies/fit.ts'
import {
  emptyEpochLine,
  addSegment,
  gap,
  hiddenOf,
  showMoved,
  showUnit,
  tokensIn,
  tokensOf,
  type Gap,
  type EpochLine,
  type Segment,
  type ShownUnit,
} from './epoch-line.ts'
import { joinRanges, markerFor } from '../showing/marker.ts'
import { leastUsed, type Candidate, type Choice, type Cut, type Policy, type Selection } from '../policies/policy.ts'
import { withSummaries } from './summaries.ts'
import { bestFormsWithin, worthOfMessage, type TalkHistory, type MarkedMessage } from '../policies/talk.ts'
import { rankOf, type Renderer, type ShownAs, type ShownLevel, type Unit } from './unit.ts'

export interface Compaction {
  readonly segments: readonly Segment[]
  readonly policy: Policy
  readonly budget: number
  /** The position where the active turn starts. */
  readonly activeFrom: number
  /** The end of what the last compaction could shorten; 0 before the first. */
  readonly settledTo: number
  /** The positions of the user messages that always stay readable. */
  readonly asked: readonly number[]
  readonly summaries: readonly SummaryNote[]
  readonly record: View<Message>
  readonly renderer: Renderer
  /** The gaps made so far, by first position, so that another attempt can reuse them. */
  readonly gaps: Map<number, Gap>
  readonly epoch: number
  /** What the conversation has said so far: see `talk.ts`. */
  readonly heard: TalkHistory
}

/**
 * The line after a compaction. It fits the budget if any line does; otherwise every segment is at its minimum.
 *
 * Cost    O(segments), plus the range of each summary that is used for the first time
 */
export const compact = (compaction: Compaction): EpochLine => {
  const { policy, budget, renderer } = compaction
  const segments = withSummaries(compaction.segments, {
    ...compaction,
    pressed: mustActiveTurnFall(compaction),
    isKept: (unit) => isKept(unit, policy),
  })
  // An answer that was moved to its call follows the call, so the policy does not choose a level for it.
  const own = segments.filter((segment) => ownerOf(segment) === undefined)
  const isEpoch = policy.choose === 'epochs'
  const [largest, smallest] = markerSizes(own, renderer)
  const lineAs = (slots: readonly Slot[], choices: readonly Choice[]): EpochLine => {
    const own = slots.map(({ place }, index) => place(choices[index] as Choice))
    return lineOf(withMovedAnswers(own, segments, renderer), compaction)
  }
  if (isEpoch && policy.talks === true && compaction.heard.isTalk) {
    weighAll(compaction)
    const line = compactTalk(segments, own, compaction, largest)
    if (line !== undefined) return line
  }
  // A brief measured as folded into the brief before it costs more if that one is gone, so the
  // second attempt measures without folding.
  for (const folds of isEpoch ? [true, false] : [false]) {
    const slots = slotsOf(own, compaction, folds)
    const selection = { candidates: candidatesOf(slots), budget, markerTokens: largest }
    let chosen = degrade(selection, withinAllowed(selection, policy.select(selection), policy.name))
    let line = lineAs(slots, chosen)
    if (tokensOf(line) > budget) continue
    // Markers were measured at their largest. Give the tokens they did not use to the newest shortened messages.
    const least = budget * (policy.fills ?? 0)
    for (let beside = leastWorthFilling; tokensOf(line) < least && beside <= budget * mostFilled; beside *= 2) {
      const more = fillRoom(selection, chosen, measure(selection, chosen) + least - tokensOf(line) + beside)
      const fuller = lineAs(slots, more)
      if (tokensOf(fuller) > budget) break
      if (tokensOf(fuller) > tokensOf(line)) [chosen, line] = [more, fuller]
    }
    if (tokensOf(line) < budget * leastUsed[policy.choose]) {
      const canShowMore = measure(selection, fillRoom(selection, chosen, budget)) > measure(selection, chosen)
      line.unused = canShowMore ? 'policy' : 'indivisible'
    }
    return line
  }
  // No line fits with markers at their largest. With exact sizes the minimum of everything may
  // still fit, but nothing more: see `packed`.
  const slots = slotsOf(own, compaction, false)
  return [largest, smallest]
    .map((markerTokens) => lineAs(slots, leastOfAll(candidatesOf(slots), markerTokens)))
    .reduce((least, other) => (tokensOf(other) < tokensOf(least) ? other : least))
}

/**
 * The line with only what has to stay a message: rules, what the policy keeps, the user's question and summaries. All
 * else before a position is counted in markers without lines. Earlier compactions make no difference to it.
 */
export const countOnly = (compaction: Compaction, before: number): EpochLine => {
  const { segments, policy, renderer, asked, epoch } = compaction
  const counted: Segment[] = []
  let hidden: Segment[] = []
  const endRange = (): void => {
    if (policy.choose === 'always' && mayBeCheaper(hidden, renderer)) counted.push(...hidden)
    else if (hidden.length > 0)
      counted.push(gap(joinRanges(hidden.map((one) => hiddenOf(one, renderer))), [], renderer))
    hidden = []
  }
  for (const segment of segments)
    if (
      segment.type === 'unit' &&
      (segment.to > before ||
        isAskedUnit(segment.unit, asked) ||
        isKept(segment.unit, policy) ||
        renderer.factsOf(segment.unit).minimum !== 'pointer')
    ) {
      endRange()
      counted.push(showUnit({ ...segment.unit, worth: 0, facts: undefined }))
    } else hidden.push(segment)
  endRange()
  const line = emptyEpochLine(epoch, renderer)
  const isUnitKept = (unit: Unit): boolean => isKept(unit, policy)
  for (const segment of withSummaries(counted, { ...compaction, budget: 0, pressed: false, isKept: isUnitKept }))
    addSegment(line, segment)
  return line
}

/** Whether segments take no more tokens than their marker might: then a policy may show them all again. */
const mayBeCheaper = (segments: readonly Segment[], renderer: Renderer): boolean => {
  const kinds = new Map(pageKinds.map((kind) => [kind, largestCount]))
  const marker = markerFor({ from: largestCount, to: 2 * largestCount, kinds, tokens: largestCount }, renderer.recall)
  let left = renderer.estimate(marker)
  return segments.every((segment) => {
    if (segment.type !== 'unit') return false
    const [whole, short] = (['full', 'compressed'] as const).map((level) => renderer.at(segment.unit, { level }).tokens)
    return (left -= Math.min(whole as number, short as number)) >= 0
  })
}

/** Weighs the new messages in record order, whether they are shown or not. */
const weighAll = ({ segments, renderer, heard }: Compaction): void => {
  for (const segment of segments)
    if (segment.type === 'unit' && segment.unit.worth === undefined)
      for (const { message } of segment.unit.said)
        segment.unit.worth = worthOfMessage(message, renderer.estimate(message), heard)
}

/**
 * The line after a compaction of a record without tools; undefined if its active turn is too long.
 * It shows rules, messages the policy keeps, the user's question, the active turn and the newest
 * messages. All others go into markers, each in the form that its worth justifies.
 */
const compactTalk = (
  segments: readonly Segment[],
  own: readonly Segment[],
  compaction: Compaction,
  markerTokens: number,
): EpochLine | undefined => {
  const { budget, renderer, activeFrom, asked, policy } = compaction
  if (own.length < segments.length) return undefined
  let newest = budget * newestOfTalk
  const mustStay = (segment: Segment): boolean => {
    if (segment.type !== 'unit') return segment.type === 'summary'
    const { unit, to } = segment
    newest -= tokensIn(segment, renderer)
    if (newest >= 0 || to > activeFrom || isAskedUnit(unit, asked) || isKept(unit, policy)) return true
    return !canBeInMarker(unit, renderer)
  }
  const isShown = own.toReversed().map(mustStay).toReversed()
  const shownTokens = sum(own.map((segment, index) => (isShown[index] === true ? tokensIn(segment, renderer) : 0)))
  const markers = isShown.filter((isOne, index) => !isOne && isShown[index - 1] !== false).length
  const told: MarkedMessage[] = []
  let before: Brief | undefined
  const add = (now: Brief | undefined, line: Brief, whole: Brief | undefined): void => {
    told.push({ now, line, lineTokens: renderer.briefTokens(line, before), whole, worth: line.worth ?? 0 })
    before = line
  }
  for (const [index, segment] of own.entries()) {
    if (isShown[index] === true) continue
    if (segment.type === 'gap')
      for (const brief of segment.briefs) {
        const line = brief.line ?? brief
        add(brief, line, brief.line && brief)
      }
    else if (segment.type === 'unit') {
      const line = renderer.brief(segment.unit)
      line.worth = segment.unit.worth ?? 0
      add(undefined, line, renderer.whole(segment.unit))
    }
  }
  const room = budget * talkShareKept - shownTokens - markers * markerTokens
  if (room < budget * leastOfTalk) return undefined
  const forms = bestFormsWithin(told, room)
  let next = 0
  const line = lineOf(
    own.map((segment, index): PlacedSegment => {
      if (isShown[index] === true) return { segment, as: segment, briefs: none }
      const held = segment.type === 'gap' ? segment.briefs : undefined
      const chosen = forms.slice(next, (next += held?.length ?? 1)).filter((form) => form !== undefined)
      const isSame = held?.length === chosen.length && chosen.every((form, index) => form === held[index])
      return { segment, as: undefined, briefs: isSame ? held : chosen }
    }),
    compaction,
  )
  if (tokensOf(line) > budget) return undefined
  line.talks = true
  if (tokensOf(line) < budget * leastUsed.epochs) line.unused = 'policy'
  return line
}

/** Shares of the budget: what a compaction of talk leaves, its least room for markers, its newest messages. */
const talkShareKept = 0.6
const leastOfTalk = 0.1
const newestOfTalk = 0.02

/** The placement of every segment. An answer that was moved to its call is placed like the call. */
const withMovedAnswers = (
  own: readonly PlacedSegment[],
  segments: readonly Segment[],
  renderer: Renderer,
): readonly PlacedSegment[] => {
  if (own.length === segments.length) return own
  const ways = new Map(own.map(({ segment, as }) => [segment.from, as]))
  let next = 0
  return segments.map((segment): PlacedSegment => {
    const owner = ownerOf(segment)
    if (owner === undefined) return own[next++] as PlacedSegment
    const way = ways.get(owner.from)
    const as = way?.type === 'unit' ? showMoved(way, (segment as ShownUnit).unit, renderer) : undefined
    return { segment, as, briefs: none }
  })
}

const leastOfAll = (candidates: readonly Candidate[], markerTokens: number): readonly Choice[] =>
  degrade(
    { candidates, budget: 0, markerTokens },
    candidates.map(({ asked, level, levels }) => (asked ? nothing : (levels.at(-1) ?? level))),
  )

/** Extra tokens to try beyond the shortfall, because a message can only be cut in steps of a few percent. */
const leastWorthFilling = 64
const mostFilled = 1 / 8

/** A cut to the shortest form that stays readable. */
const nothing: Cut = Object.freeze({ tokens: 0 })

interface PlacedSegment {
  readonly segment: Segment
  /** What is shown of it; undefined if a marker replaces it. */
  readonly as: Segment | undefined
  /** The lines for it in the marker. */
  readonly briefs: readonly Brief[]
}

const none: readonly Brief[] = Object.freeze([])

const isAskedUnit = ({ pages, said }: Unit, asked: readonly number[]): boolean =>
  said.length > 0 && pages.some(({ position }) => asked.includes(position))

const ownerOf = (segment: Segment): Unit | undefined =>
  segment.type === 'unit' && segment.unit.said.length === 0 && segment.unit.strays.size === 0
    ? segment.unit.lentTo
    : undefined

const canBeInMarker = (unit: Unit, renderer: Renderer): boolean =>
  unit.said.length > 0 && renderer.factsOf(unit).minimum === 'pointer'

/** A segment as the policy sees it, and how to place it for a choice. */
interface Slot {
  readonly candidate: Candidate
  readonly place: (choice: Choice) => PlacedSegment
}

const candidatesOf = (slots: readonly Slot[]): readonly Candidate[] => slots.map(({ candidate }) => candidate)

/** @param folds whether to measure a brief as folded into the brief of the previous segment */
const slotsOf = (segments: readonly Segment[], compaction: Compaction, folds: boolean): readonly Slot[] =>
  segments.map((segment, index) => {
    if (segment.type !== 'unit') return rangeSlot(segment, compaction)
    const before = segments[index - 1]
    return unitSlot(segment, compaction, folds && before?.type === 'unit' ? before.unit : undefined)
  })

const rangeSlot = (segment: Exclude<Segment, ShownUnit>, compaction: Compaction): Slot => {
  const { activeFrom, settledTo, renderer } = compaction
  const { from, to } = segment
  const briefs = segment.type === 'gap' ? segment.briefs : none
  const tokens = segment.type === 'gap' ? renderer.linesTokens(briefs) : renderer.estimate(segment.item.message)
  const fit = fittingBriefs(briefs)
  const level = segment.type === 'gap' && briefs.length === 0 ? 'pointer' : 'structured'
  const candidate: Candidate = {
    from,
    to,
    level,
    levels: level === 'pointer' ? ['pointer'] : ['structured', 'pointer'],
    active: to > activeFrom,
    kept: false,
    settled: to <= settledTo,
    asked: false,
    kinds: [...segment.hidden.kinds.keys()],
    inMarker: segment.type === 'gap',
    messages: [],
    tokens: (choice) => {
      if (choice === 'pointer') return 0
      if (typeof choice === 'string') return tokens
      if (briefs.length === 0) return Infinity
      return sum(fit(choice.tokens).map((brief) => brief.tokens))
    },
  }
  const place = (choice: Choice): PlacedSegment => {
    if (segment.type === 'summary') return { segment, as: choice === 'pointer' ? undefined : segment, briefs: none }
    const held = choice === 'pointer' ? none : typeof choice === 'object' ? fit(choice.tokens) : briefs
    return { segment, as: undefined, briefs: held }
  }
  return { candidate, place }
}

const unitSlot = (segment: ShownUnit, compaction: Compaction, before: Unit | undefined): Slot => {
  const { renderer, policy, activeFrom, settledTo } = compaction
  const { from, to, unit, level, longest } = segment
  const { kinds, messages, minimum } = renderer.factsOf(unit)
  const asked = isAskedUnit(unit, compaction.asked)
  const inMarker = !asked && canBeInMarker(unit, renderer)
  const least = asked && rankOf(level) <= rankOf('compressed') ? 'compressed' : minimum
  const now = renderer.at(unit, segment).tokens
  let line: number | undefined
  /** The cut for a choice: the existing one, the chosen one, or the shortest for the user's question. */
  const cutAs = (choice: Choice): ShownAs | undefined => {
    if (choice === 'full' || choice === 'structured' || choice === 'pointer') return undefined
    if (longest !== undefined && choice === level) return segment
    if (typeof choice === 'string' && !asked) return undefined
    const cut = renderer.cutTo(unit, typeof choice === 'string' ? 0 : choice.tokens, asked)
    return cut !== undefined && longest !== undefined && (cut.longest as number) > longest ? segment : cut
  }
  const candidate: Candidate = {
    from,
    to,
    level,
    levels: Object.freeze(residencyLevels.slice(rankOf(level), rankOf(least) + 1)),
    active: to > activeFrom,
    kept: isKept(unit, policy),
    settled: to <= settledTo,
    asked,
    kinds,
    inMarker,
    messages,
    tokens: (choice) => {
      if (choice === 'pointer') return 0
      if (choice === level) return now
      if (choice === 'structured' && inMarker)
        return (line ??= renderer.briefTokens(renderer.brief(unit), before && briefsOf(before, renderer)[0]))
      const as = cutAs(choice) ?? (typeof choice === 'string' ? { level: choice } : undefined)
      return as === undefined ? Infinity : renderer.at(unit, as).tokens
    },
  }
  const place = (choice: Choice): PlacedSegment => {
    if (choice === 'full') return { segment, as: segment, briefs: none }
    if (choice === 'pointer') return { segment, as: undefined, briefs: none }
    if (choice === 'structured' && inMarker) return { segment, as: undefined, briefs: briefsOf(unit, renderer) }
    const as = cutAs(choice) ?? { level: choice as ShownLevel }
    return { segment, as: showUnit(unit, as.level, as.longest), briefs: none }
  }
  return { candidate, place }
}

const briefsOf = (unit: Unit, renderer: Renderer): readonly Brief[] =>
  unit.said.length === 0 ? none : [renderer.brief(unit)]

/** Also true if the policy keeps a late answer to one of the unit's calls. */
const isKept = ({ pages }: Unit, { keeps }: Policy): boolean =>
  keeps !== undefined && pages.some(({ position }) => keeps.has(position))

/**
 * The policy's choices, limited to what each candidate allows. A kept candidate is shortened only if the minimum of
 * everything else would not be enough, and the active turn only if the minimum of the rest would not.
 */
const withinAllowed = (selection: Selection, chosen: readonly Choice[], name: string): readonly Choice[] => {
  const { candidates } = selection
  if (chosen.length !== candidates.length)
    throw new TypeError(
      `the policy ${name} chose ${chosen.length} levels for ${candidates.length} candidates; expected one for each`,
    )
  let allowed = candidates.map(({ level, levels, tokens }, index): Choice => {
    const choice = chosen[index] as Choice
    const isCut = typeof choice === 'object' && choice !== null && typeof choice.tokens === 'number'
    if (isCut && tokens(choice) < Infinity) return choice
    const wanted = rankOf(isCut ? 'structured' : (choice as ResidencyLevel))
    if (wanted === -1)
      throw new TypeError(`the policy ${name} chose ${String(choice)}; expected a residency level, or { tokens }`)
    return levels.findLast((at) => rankOf(at) <= wanted) ?? level
  })
  for (const [which, fits] of [
    ['kept', keptFits],
    ['active', activeFits],
  ] as const) {
    if (
      candidates.every((candidate, index) => !candidate[which] || allowed[index] === candidate.level) ||
      !fits(selection)
    )
      continue
    allowed = allowed.map((choice, index) => (candidates[index]?.[which] === true ? candidates[index].level : choice))
  }
  return allowed
}

/** Whether the active turn must be shortened: it exceeds the budget even with everything else at its minimum. */
const mustActiveTurnFall = (compaction: Compaction): boolean => {
  const { segments, summaries, renderer, budget } = compaction
  if (summaries.length === 0) return false // only summaries use this
  const [markerTokens] = markerSizes(segments, renderer)
  return !activeFits({ candidates: candidatesOf(slotsOf(segments, compaction, false)), budget, markerTokens })
}

/** The largest and smallest token counts of a marker here, by the current estimator. */
const markerSizes = (
  segments: readonly Segment[],
  renderer: Renderer,
): readonly [largest: number, smallest: number] => {
  const length = segments.at(-1)?.to ?? 0
  const kinds = new Set<PageKind>()
  for (const segment of segments)
    for (const kind of segment.type === 'unit' ? renderer.factsOf(segment.unit).kinds : segment.hidden.kinds.keys())
      kinds.add(kind)
  const counts = (count: number) => new Map<PageKind, number>([...kinds].map((kind) => [kind, count]))
  const marker = (from: number, to: number, kinds: ReadonlyMap<PageKind, number>, tokens: number): number =>
    renderer.estimate(markerFor({ from, to, kinds, tokens }, renderer.recall))
  return [marker(length, 2 * length + 2, counts(length), largestCount), marker(0, 1, new Map([['plan', 1]]), 0)]
}

const largestCount = 999_999_999

/** The line with the messages of all segments. Adjacent hidden ranges share a marker. */
const lineOf = (placed: readonly PlacedSegment[], compaction: Compaction): EpochLine => {
  const line = emptyEpochLine(compaction.epoch, compaction.renderer)
  const given = new Map<string, number>()
  let hidden: PlacedSegment[] = []
  const endRange = (): void => {
    const [only] = hidden
    if (only === undefined) return
    addSegment(line, isUnchangedGap(only) ? only.segment : gapOf(hidden, compaction))
    hidden = []
  }
  for (const one of placed) {
    if (one.as !== undefined || isUnchangedGap(one) || isUnchangedGap(hidden[0])) endRange()
    if (one.as === undefined) hidden.push(one)
    else addSegment(line, one.as, given)
  }
  endRange()
  return line
}

/** A gap for hidden segments. Reuses an equal one of an earlier attempt, with its counted marker. */
const gapOf = (hidden: readonly PlacedSegment[], { gaps, renderer }: Compaction): Gap => {
  const briefs = hidden.flatMap((one) => one.briefs)
  const [from, to] = [hidden[0]?.segment.from ?? 0, hidden.at(-1)?.segment.to ?? 0]
  const known = gaps.get(from)
  const isKnown = known?.to === to && known.briefs.length === briefs.length
  if (isKnown && briefs.every((brief, at) => brief === known.briefs[at])) return known
  const made = gap(joinRanges(hidden.map(({ segment }) => hiddenOf(segment, renderer))), briefs, renderer)
  gaps.set(from, made)
  return made
}

/** A gap whose lines did not change keeps its marker, so that the cached prefix still matches. */
const isUnchangedGap = (one: PlacedSegment | undefined): boolean =>
  one?.segment.type === 'gap' && one.briefs.length > 0 && one.briefs === one.segment.briefs
