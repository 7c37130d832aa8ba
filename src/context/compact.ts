/** Compaction: from the segments of a line and a policy's choice to the line of the next epoch. */
import type { View } from '../history/index.ts'
import type { Message } from '../message/index.ts'
import type { SummaryNote } from '../notes/index.ts'
import { residencyLevels, type PageKind, type ResidencyLevel } from '../pages/index.ts'
import { degrade, measure, type Goals } from './degrade.ts'
import { condense, extractName, linesOf } from './extract.ts'
import { emptyLine, extend, gap, hiddenOf, shown, summed, tokensIn, tokensOf, type Line, type Segment } from './line.ts'
import { joined, markerFor } from './marker.ts'
import type { Candidate, Policy, Selection } from './policy.ts'
import { withSummaries } from './summaries.ts'
import { rankOf, type Renderer, type Unit } from './unit.ts'

export interface Compaction {
  readonly segments: readonly Segment[]
  readonly policy: Policy
  readonly budget: number
  /** Where the active turn begins. */
  readonly activeFrom: number
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
  const segments = withSummaries(compaction.segments, { ...compaction, pressed: isPressed(compaction), isKept: (unit) => isKept(unit, policy) })
  // An answer that was moved to its call has no place of its own to choose a level for.
  const own = segments.filter((segment) => ownerOf(segment) === undefined)
  const candidates = own.map((segment) => candidateOf(segment, compaction))
  const place = (markerTokens: number): readonly Placed[] => {
    const selection = { candidates, budget, markerTokens }
    const chosen = lawful(selection, policy.select(selection), policy.name)
    const levels = degrade(selection, chosen, { rest: budget, active: budget })
    const levelOf = new Map<Unit, ResidencyLevel>()
    for (const [index, segment] of own.entries()) if (segment.type === 'unit') levelOf.set(segment.unit, levels[index] as ResidencyLevel)
    let next = 0
    return segments.map((segment) => {
      const owner = ownerOf(segment)
      return { segment, level: owner === undefined ? (levels[next++] as ResidencyLevel) : (levelOf.get(owner) ?? 'pointer') }
    })
  }
  const [largest, smallest] = markerSizes(candidates, renderer)
  const line = lineOf(place(largest), compaction, policy.extracts === true)
  if (tokensOf(line) <= budget) return line
  // An extract is measured by the default estimate, and markers by their largest: by the exact count less may do.
  const others = [lineOf(place(largest), compaction, false), lineOf(place(smallest), compaction, false)]
  return others.reduce((least, other) => (tokensOf(other) < tokensOf(least) ? other : least))
}

interface Placed {
  readonly segment: Segment
  readonly level: ResidencyLevel
}

const ownerOf = (segment: Segment): Unit | undefined =>
  segment.type === 'unit' && segment.unit.said.length === 0 && segment.unit.strays.length === 0 ? segment.unit.lentTo : undefined

const candidateOf = (segment: Segment, { activeFrom, policy, renderer }: Compaction): Candidate => {
  const { from, to } = segment
  const active = to > activeFrom
  if (segment.type !== 'unit') {
    const level = segment.type === 'gap' ? 'pointer' : 'structured'
    const tokens = segment.type === 'gap' ? 0 : renderer.estimate(segment.message)
    const levels: readonly ResidencyLevel[] = level === 'pointer' ? ['pointer'] : ['structured', 'pointer']
    return { from, to, level, levels, active, kept: false, kinds: [...segment.hidden.kinds.keys()], messages: [], tokens: (at) => (at === 'pointer' ? 0 : tokens) }
  }
  const { unit, level } = segment
  return {
    from,
    to,
    level,
    levels: residencyLevels.slice(rankOf(level), rankOf(renderer.minimumOf(unit)) + 1),
    active,
    kept: isKept(unit, policy),
    kinds: unit.pages.map(renderer.kindOf),
    messages: unit.said.map(({ message }) => message),
    tokens: (at) => (at === 'pointer' ? 0 : renderer.at(unit, at).tokens),
  }
}

/** Also where an answer of its calls is kept that came later. */
const isKept = ({ pages }: Unit, { keeps }: Policy): boolean => keeps !== undefined && pages.some(({ position }) => keeps.has(position))

/**
 * What a policy chose, within what each candidate allows. What it keeps falls only where the least of all else would not be
 * enough, and the active turn only where the least of the rest would not.
 */
const lawful = (selection: Selection, chosen: readonly ResidencyLevel[], name: string): readonly ResidencyLevel[] => {
  const { candidates } = selection
  if (chosen.length !== candidates.length)
    throw new TypeError(`the policy ${name} chose ${chosen.length} levels for ${candidates.length} candidates; expected one for each`)
  let allowed = candidates.map(({ level, levels }, index) => {
    const wanted = rankOf(chosen[index] as ResidencyLevel)
    if (wanted === -1) throw new TypeError(`the policy ${name} chose ${String(chosen[index])}; expected a residency level`)
    return levels.findLast((at) => rankOf(at) <= wanted) ?? level
  })
  for (const [which, fits] of [['kept', keptFits], ['active', activeFits]] as const) {
    if (candidates.every((candidate, index) => !candidate[which] || allowed[index] === candidate.level) || !fits(selection)) continue
    allowed = allowed.map((level, index) => (candidates[index]?.[which] === true ? candidates[index].level : level))
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

/** Whether the active turn and what the policy keeps fit as they are, beside the least of all else. */
const activeFits = (selection: Selection): boolean => fitsWith(selection, { rest: 0, active: Infinity, kept: Infinity })

/** Whether what the policy keeps fits as it is, beside the least of all else. */
const keptFits = (selection: Selection): boolean => fitsWith(selection, { rest: 0, active: 0, kept: Infinity })

const fitsWith = (selection: Selection, goals: Goals): boolean =>
  measure(selection, degrade(selection, selection.candidates.map(({ level }) => level), goals)) <= selection.budget

/** The most and the least that a marker takes here, by the estimator at hand. */
const markerSizes = (candidates: readonly Candidate[], { estimate }: Renderer): readonly [largest: number, smallest: number] => {
  const length = candidates.at(-1)?.to ?? 0
  const counts = (count: number) => new Map<PageKind, number>(candidates.flatMap(({ kinds }) => kinds.map((kind) => [kind, count])))
  const marker = (from: number, to: number, kinds: ReadonlyMap<PageKind, number>, tokens: number): number => estimate(markerFor({ from, to, kinds, tokens }))
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
    extend(line, text === '' ? gap(hidden) : summed(hidden, text, extractName))
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
  for (const { segment, level } of placed) {
    const last = result.at(-1)
    if (level !== 'pointer') result.push({ show: segment.type === 'unit' ? shown(segment.unit, level) : segment, hide: [] })
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
