/** Compaction: from the segments of a line and a policy's choice to the line of the next epoch. */
import type { View } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import type { SummaryNote } from '../notes/index.ts'
import { residencyLevels, type PageKind, type ResidencyLevel } from '../pages/index.ts'
import { degrade, measure } from './degrade.ts'
import { condense, extractName, linesOf } from './extract.ts'
import { activeFits, filled } from './fit.ts'
import {
  emptyLine,
  extend,
  gap,
  hiddenOf,
  lentTo,
  shown,
  summed,
  tokensIn,
  tokensOf,
  type Line,
  type Segment,
  type ShownUnit,
} from './line.ts'
import { joined, markerFor } from './marker.ts'
import { leastUsed, type Candidate, type Choice, type Cut, type Policy, type Selection } from './policy.ts'
import { withSummaries } from './summaries.ts'
import { rankOf, type Renderer, type Shown, type ShownLevel, type Unit } from './unit.ts'

export interface Compaction {
  readonly segments: readonly Segment[]
  readonly policy: Policy
  readonly budget: number
  /** Where the active turn begins. */
  readonly activeFrom: number
  /** The length of the record at the last compaction; 0 before the first. */
  readonly settledTo: number
  /** The messages of the user that always stay readable. */
  readonly asked: readonly number[]
  readonly summaries: readonly SummaryNote[]
  readonly record: View<Message>
  readonly renderer: Renderer
  readonly epoch: number
}

/**
 * The line after a compaction. It fits the budget, unless nothing does: then everything stands at its minimum.
 *
 * Cost    O(segments), and the range of each summary that is used for the first time
 */
export const compact = (compaction: Compaction): Line => {
  const { policy, budget, renderer } = compaction
  const segments = withSummaries(compaction.segments, {
    ...compaction,
    pressed: isPressed(compaction),
    isKept: (unit) => isKept(unit, policy),
  })
  // An answer that was moved to its call has no place of its own to choose a level for.
  const own = segments.filter((segment) => ownerOf(segment) === undefined)
  const candidates = own.map((segment) => candidateOf(segment, compaction))
  const [largest, smallest] = markerSizes(candidates, renderer)
  let chosenLast: readonly Choice[] = []
  const canShowMore = (): boolean => {
    const selection = { candidates, budget, markerTokens: largest }
    return measure(selection, filled(selection, chosenLast, budget)) > measure(selection, chosenLast)
  }
  const choose = (markerTokens: number): readonly Choice[] => {
    const selection = { candidates, budget, markerTokens }
    const chosen = lawful(selection, policy.select(selection), policy.name)
    return (chosenLast = degrade(selection, chosen, { rest: budget, active: budget }))
  }
  const place = (choices: readonly Choice[]): readonly Placed[] => {
    const ways = new Map<Unit, Segment | undefined>()
    const placed = own.map((segment, index): Placed => {
      const as = segmentAs(segment, choices[index] as Choice, compaction)
      if (segment.type === 'unit') ways.set(segment.unit, as)
      return { segment, as }
    })
    let next = 0
    return segments.map((segment): Placed => {
      const owner = ownerOf(segment)
      if (owner === undefined) return placed[next++] as Placed
      const way = ways.get(owner)
      return { segment, as: way?.type === 'unit' ? lentTo(way, (segment as ShownUnit).unit, renderer) : undefined }
    })
  }
  const chosen = choose(largest)
  for (const extracts of policy.extracts === true ? [true, false] : [false]) {
    // An extract is measured by the default estimate: by the exact count it may be too long.
    const line = lineOf(place(chosen), compaction, extracts)
    if (tokensOf(line) > budget) continue
    if (tokensOf(line) < budget * leastUsed[policy.choose]) line.unused = canShowMore() ? 'policy' : 'indivisible'
    return line
  }
  // Markers are measured by their largest: by the exact count the least of all may fit. More would not: see `packed`.
  return [largest, smallest]
    .map((markerTokens) => lineOf(place(leastOfAll(candidates, markerTokens)), compaction, false))
    .reduce((least, other) => (tokensOf(other) < tokensOf(least) ? other : least))
}

const leastOfAll = (candidates: readonly Candidate[], markerTokens: number): readonly Choice[] =>
  degrade(
    { candidates, budget: 0, markerTokens },
    candidates.map(({ asked, level, levels }) => (asked ? nothing : (levels.at(-1) ?? level))),
    { rest: 0, active: 0 },
  )

/** A cut to the least that stays readable. */
const nothing: Cut = Object.freeze({ tokens: 0 })

interface Placed {
  readonly segment: Segment
  /** What is shown of it; undefined, if it is only pointed at. */
  readonly as: Segment | undefined
}

/** A segment as it was chosen. */
const segmentAs = (segment: Segment, choice: Choice, compaction: Compaction): Segment | undefined => {
  if (choice === 'pointer') return undefined
  if (segment.type !== 'unit') return segment
  const cut = cutOf(segment, choice, compaction)
  return cut === undefined ? shown(segment.unit, choice as ShownLevel) : shown(segment.unit, cut.level, cut.longest)
}

/** How a segment is cut: as it stands already, as chosen, or, of what was asked, to the least. */
const cutOf = (segment: ShownUnit, choice: Choice, { asked, renderer }: Compaction): Shown | undefined => {
  const { unit, level, longest } = segment
  if (choice === 'full' || choice === 'structured' || choice === 'pointer') return undefined
  if (longest !== undefined && choice === level) return segment
  const isAsked = asksIn(unit, asked)
  if (typeof choice === 'string' && !isAsked) return undefined
  const cut = renderer.cutTo(unit, typeof choice === 'string' ? 0 : choice.tokens, isAsked)
  return cut !== undefined && longest !== undefined && (cut.longest as number) > longest ? segment : cut
}

const asksIn = ({ pages, said }: Unit, asked: readonly number[]): boolean =>
  asked.some((position) => said.length > 0 && pages.some((page) => page.position === position))

const ownerOf = (segment: Segment): Unit | undefined =>
  segment.type === 'unit' && segment.unit.said.length === 0 && segment.unit.strays.length === 0
    ? segment.unit.lentTo
    : undefined

const candidateOf = (segment: Segment, compaction: Compaction): Candidate => {
  const { activeFrom, policy, renderer } = compaction
  const { from, to } = segment
  const active = to > activeFrom
  if (segment.type !== 'unit') {
    const level = segment.type === 'gap' ? 'pointer' : 'structured'
    const tokens = segment.type === 'gap' ? 0 : renderer.estimate(segment.message)
    const levels: readonly ResidencyLevel[] = level === 'pointer' ? ['pointer'] : ['structured', 'pointer']
    return {
      from,
      to,
      level,
      levels,
      active,
      kept: false,
      settled: to <= compaction.settledTo,
      asked: false,
      kinds: [...segment.hidden.kinds.keys()],
      messages: [],
      tokens: (choice) => (choice === 'pointer' ? 0 : typeof choice === 'string' ? tokens : Infinity),
    }
  }
  const { unit, level } = segment
  const isAsked = asksIn(unit, compaction.asked)
  const least = isAsked && rankOf(level) <= rankOf('compressed') ? 'compressed' : renderer.minimumOf(unit)
  const now = renderer.at(unit, level, segment.longest).tokens
  return {
    from,
    to,
    level,
    levels: residencyLevels.slice(rankOf(level), rankOf(least) + 1),
    active,
    kept: isKept(unit, policy),
    settled: to <= compaction.settledTo,
    asked: isAsked,
    kinds: unit.pages.map(renderer.kindOf),
    messages: unit.said.map(({ message }) => message),
    tokens: (choice) => {
      if (choice === 'pointer') return 0
      if (choice === level) return now
      const cut = cutOf(segment, choice, compaction)
      if (cut !== undefined) return renderer.at(unit, cut.level, cut.longest).tokens
      return typeof choice === 'string' ? renderer.at(unit, choice).tokens : Infinity
    },
  }
}

/** Also where an answer of its calls is kept that came later. */
const isKept = ({ pages }: Unit, { keeps }: Policy): boolean =>
  keeps !== undefined && pages.some(({ position }) => keeps.has(position))

/**
 * What a policy chose, within what each candidate allows. What it keeps falls only where the least of all else would not be
 * enough, and the active turn only where the least of the rest would not.
 */
const lawful = (selection: Selection, chosen: readonly Choice[], name: string): readonly Choice[] => {
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

/** Whether the active turn must fall: it exceeds the budget even beside the least of all else. */
const isPressed = (compaction: Compaction): boolean => {
  const { segments, summaries, renderer, budget } = compaction
  if (summaries.length === 0) return false // nobody asks
  const candidates = segments.map((segment) => candidateOf(segment, compaction))
  return !activeFits({ candidates, budget, markerTokens: markerSizes(candidates, renderer)[0] })
}

/** Whether what the policy keeps fits as it is, beside the least of all else. */
const keptFits = (selection: Selection): boolean =>
  measure(
    selection,
    selection.candidates.map(({ kept, level, levels }) => (kept ? level : (levels.at(-1) ?? level))),
  ) <= selection.budget

/** The most and the least that a marker takes here, by the estimator at hand. */
const markerSizes = (
  candidates: readonly Candidate[],
  { estimate, recall }: Renderer,
): readonly [largest: number, smallest: number] => {
  const length = candidates.at(-1)?.to ?? 0
  const counts = (count: number) =>
    new Map<PageKind, number>(candidates.flatMap(({ kinds }) => kinds.map((kind) => [kind, count])))
  const marker = (from: number, to: number, kinds: ReadonlyMap<PageKind, number>, tokens: number): number =>
    estimate(markerFor({ from, to, kinds, tokens }, recall))
  return [marker(length, 2 * length + 2, counts(length), largestCount), marker(0, 1, new Map([['plan', 1]]), 0)]
}

const largestCount = 999_999_999

const lineOf = (placed: readonly Placed[], { renderer, epoch, budget }: Compaction, extracts: boolean): Line => {
  const line = emptyLine(epoch, renderer)
  const given = new Map<string, number>()
  const stretches = stretchesOf(placed)
  const room = extracts ? extractRoom(stretches, renderer, budget) : 0
  for (const { show, hide } of stretches) {
    if (show !== undefined) extend(line, show, given)
    if (hide.length === 0) continue
    const hidden = hide.map((segment) => hiddenOf(segment, renderer)).reduce(joined)
    const text = room > 0 ? condense(hide.flatMap(linesOf), room) : ''
    extend(line, text === '' ? gap(hidden) : summed(hidden, text, extractName, renderer))
  }
  return line
}

/** One segment that is shown, or neighbours that are not and share a marker. */
interface Stretch {
  readonly show: Segment | undefined
  readonly hide: Segment[]
}

const stretchesOf = (placed: readonly Placed[]): readonly Stretch[] => {
  const result: Stretch[] = []
  for (const { segment, as } of placed) {
    const last = result.at(-1)
    if (as !== undefined) result.push({ show: as, hide: [] })
    else if (last !== undefined && last.hide.length > 0) last.hide.push(segment)
    else result.push({ show: undefined, hide: [segment] })
  }
  return result
}

/** The tokens that each extract may take: what is free, up to an eighth of the budget, in equal parts. */
const extractRoom = (stretches: readonly Stretch[], renderer: Renderer, budget: number): number => {
  const hidden = stretches.filter(({ hide }) => hide.length > 0).length
  const taken = stretches.reduce((sum, { show }) => sum + (show === undefined ? 0 : tokensIn(show, renderer)), 0)
  return hidden === 0 ? 0 : Math.floor(Math.min(budget / 8, budget - taken) / hidden)
}
