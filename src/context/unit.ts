/**
 * Units: what degrades together. A unit is one message, or an assistant's calls with all their results, in order and
 * settled whatever the record looks like there.
 */
import { user, type Message, type ToolResultPart } from '../message/index.ts'
import { degradationPath, minFidelity, residencyLevels, type PageKind, type ResidencyLevel } from '../pages/index.ts'
import type { Hidden } from './marker.ts'
import { represent } from './represent.ts'
import type { ContextSource, Sourced } from './source.ts'
import type { Estimator } from './tokens.ts'

/** One recorded entry. */
export interface Page {
  readonly position: number
  /** As the sidecar has it; a note may say otherwise. */
  readonly kind: PageKind
}

export interface Unit {
  /** Its positions, up to, not including, `to`. */
  readonly from: number
  readonly to: number
  /** Its pages in order, then those of later positions whose results answer its calls. */
  readonly pages: readonly Page[]
  /** What it says at `full`. Empty, if what was recorded can't stand here. */
  readonly said: readonly Said[]
  /** Positions with a result that nothing was waiting for: it can only be pointed at. */
  readonly strays: readonly number[]
  /** Who says what was recorded here: an answer that came late stands at its call. */
  readonly lentTo: Unit | undefined
  /** Tool names by call id. */
  readonly tools: ReadonlyMap<string, string>
}

/** A message of a unit as it is said in full, with the page of its content. */
export interface Said extends Sourced {
  readonly page: Page
}

/** A unit at one level. */
export interface Rendered {
  readonly items: readonly Sourced[]
  readonly tokens: number
}

/** A level at which something of the content is shown. */
export type ShownLevel = Exclude<ResidencyLevel, 'pointer'>

export const rankOf = (level: ResidencyLevel): number => residencyLevels.indexOf(level)

/** What notes have made of pages, by position. */
export type Retagged = ReadonlyMap<number, PageKind | undefined>

/** Reads units at levels, each once. */
export interface Renderer {
  readonly estimate: Estimator
  readonly kindOf: (page: Page) => PageKind
  /** The least that the strictest page of a unit allows. */
  readonly minimumOf: (unit: Unit) => ResidencyLevel
  readonly at: (unit: Unit, level: ShownLevel) => Rendered
  /** The same, where answers in `given` (by their text) are referred to and not repeated. */
  readonly beside: (unit: Unit, level: ShownLevel, given: Map<string, number>) => Rendered
  /** What a marker says of a unit. */
  readonly hidden: (unit: Unit) => Hidden
}

export const rendererOf = (estimate: Estimator, retagged: Retagged): Renderer => {
  const known = new WeakMap<Unit, (Rendered | undefined)[]>()
  const kindOf = ({ position, kind }: Page): PageKind => retagged.get(position) ?? kind

  const beside = (unit: Unit, level: ShownLevel, given: Map<string, number> | undefined): Rendered => {
    const items: Sourced[] = []
    let tokens = 0
    const add = (message: Message, source: ContextSource): void => {
      items.push({ message, source })
      tokens += estimate(message)
    }
    for (const { message, source, page } of unit.said) {
      const own = source.type === 'synthetic' ? 'full' : levelOfPage(level, kindOf(page))
      if (own === 'full') add(message, source)
      else {
        const sameAs = given !== undefined && own === 'compressed' ? (result: ToolResultPart) => given.get(answerOf(result) ?? '') : undefined
        const toolOf = (id: string): string | undefined => unit.tools.get(id)
        const shown = represent(message, own, { position: page.position, kind: kindOf(page), toolOf, ...(sameAs && { sameAs }) })
        add(shown, freeze({ type: 'representation', level: own, from: page.position, to: page.position + 1 }))
      }
      if (given !== undefined && own !== 'structured')
        for (const answer of answersOf(message)) if (!given.has(answer)) given.set(answer, page.position)
    }
    for (const position of unit.strays) add(strayMarker(position), freeze({ type: 'representation', level: 'pointer', from: position, to: position + 1 }))
    return { items, tokens }
  }

  return {
    estimate,
    kindOf,
    minimumOf: ({ pages }) => {
      for (const page of pages) if (minFidelity(kindOf(page)) !== 'pointer') return minFidelity(kindOf(page))
      return 'pointer'
    },
    at: (unit, level) => {
      let levels = known.get(unit)
      if (levels === undefined) known.set(unit, (levels = []))
      return (levels[rankOf(level)] ??= beside(unit, level, undefined))
    },
    beside,
    hidden: ({ from, to, pages, said }) => {
      const kinds = new Map<PageKind, number>()
      for (const page of pages) if (page.position < to) kinds.set(kindOf(page), (kinds.get(kindOf(page)) ?? 0) + 1)
      return { from, to, kinds, tokens: said.reduce((sum, { message }) => sum + estimate(message), 0) }
    },
  }
}

/** The level of a page in a unit: that of the unit, or the next higher one on the page's own degradation path. */
export const levelOfPage = (level: ShownLevel, kind: PageKind): ShownLevel =>
  level === 'compressed' && !degradationPath(kind).includes('compressed') ? 'full' : level

const { freeze } = Object

const strayMarker = (position: number): Message =>
  user(`[${position}: a tool result that nothing was waiting for is not shown here; recall {"position": ${position}} gives it back]`)

/** An answer shorter than this costs little more than a reference to where it was given before. */
const worthReferring = 200

const answerOf = ({ content }: ToolResultPart): string | undefined => {
  const [only] = content
  return content.length === 1 && only?.type === 'text' && only.text.length >= worthReferring ? only.text : undefined
}

const answersOf = (message: Message): readonly string[] =>
  message.content.flatMap((part) => (part.type === 'tool_result' ? (answerOf(part) ?? []) : []))
