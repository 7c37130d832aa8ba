/**
 * Units: what degrades together. A unit is one message, or an assistant's calls with all their results, in order and
 * settled whatever the record looks like there.
 */
import { user, type Message, type ToolResultPart } from '../../message/index.ts'
import { degradationPath, minFidelity, residencyLevels, type PageKind, type ResidencyLevel } from '../../pages/index.ts'
import { briefOf, tokensAfter, wholeOf, type Brief } from '../showing/brief.ts'
import { back, type Hidden, type RecallName } from '../showing/marker.ts'
import { cut, longestIn, represent, ruleLimit } from '../showing/represent.ts'
import type { ContextSource, Sourced } from './source.ts'
import type { Estimator } from '../counting/tokens.ts'

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
  /** The numbers that the ids of its calls got, in order; undefined if each has the id that was recorded. */
  readonly numbers: readonly number[] | undefined
}

/** A message of a unit as it is said in full, with the page of its content. */
export interface Said extends Sourced {
  readonly page: Page
}

/**
 * How a unit is shown: at a level, or cut: of each text, result and argument at most `longest` UTF-16 units, head and tail,
 * and everything shorter as it was recorded.
 */
export interface Shown {
  readonly level: ShownLevel
  readonly longest?: number | undefined
}

/** A unit as it is shown. */
export interface Rendered {
  readonly items: readonly Sourced[]
  readonly tokens: number
}

/** What a unit is: its page kinds, its messages as recorded, and the least that is shown of it. */
export interface Facts {
  readonly kinds: readonly PageKind[]
  readonly messages: readonly Message[]
  readonly minimum: ResidencyLevel
  /** The texts of its longer results, and where they stand. */
  readonly answers: readonly { readonly text: string; readonly position: number }[]
}

/** What was found out about a unit. */
interface Known extends Facts {
  /** Its renderings, by level and cut. */
  readonly shown: Map<string, Rendered>
  /** What cuts take, by level and step: a search asks for the same ones again and again. */
  readonly cuts: Map<string, number>
  brief?: Brief
  hidden?: Hidden
}

/** A level at which something of the content is shown. */
export type ShownLevel = Exclude<ResidencyLevel, 'pointer'>

export const rankOf = (level: ResidencyLevel): number => ranks.get(level) ?? -1

const ranks: ReadonlyMap<ResidencyLevel, number> = new Map(residencyLevels.map((level, rank) => [level, rank]))

/** What notes have made of pages, by position. */
export type Retagged = ReadonlyMap<number, PageKind | undefined>

/** Reads units at levels, each once. */
export interface Renderer {
  readonly estimate: Estimator
  /** The tool that markers name. */
  readonly recall: RecallName
  readonly kindOf: (page: Page) => PageKind
  /** The least that the strictest page of a unit allows. */
  readonly minimumOf: (unit: Unit) => ResidencyLevel
  /** What a unit is, found out once. */
  readonly factsOf: (unit: Unit) => Facts
  readonly at: (unit: Unit, level: ShownLevel, longest?: number) => Rendered
  /** The same, where answers in `given` (by their text) are referred to and not repeated. */
  readonly beside: (unit: Unit, level: ShownLevel, longest: number | undefined, given: Map<string, number>) => Rendered
  /**
   * The fullest cut of a unit that takes at most so many tokens; undefined, if the shortest takes more. Of what the user
   * `asked` the shortest is given then, too: it is the least that any context holds of it.
   */
  readonly cutTo: (unit: Unit, tokens: number, asked: boolean) => Shown | undefined
  /** Count what a compaction asks of a unit. False, if that was done before. */
  readonly prepare: (unit: Unit) => boolean
  /** What a marker says of a unit. */
  readonly hidden: (unit: Unit) => Hidden
  /** What a unit says in a line of a marker. */
  readonly brief: (unit: Unit) => Brief
  /** A unit as a marker holds all of it; undefined if that can't be. */
  readonly whole: (unit: Unit) => Brief | undefined
  /** What a brief takes, after another. */
  readonly briefTokens: (brief: Brief, before: Brief | undefined) => number
  /** What briefs take, one after the other. */
  readonly linesTokens: (briefs: readonly Brief[]) => number
}

export const rendererOf = (estimate: Estimator, retagged: Retagged, recall: RecallName): Renderer => {
  const known = new WeakMap<Unit, Known>()
  const lines = new WeakMap<readonly Brief[], number>()
  const briefTokens = (brief: Brief, before: Brief | undefined): number =>
    before === undefined ? brief.tokens : tokensAfter(brief, before, count)
  const frame = estimate(user(''))
  const count = (text: string): number => Math.max(0, estimate(user(text)) - frame)
  const kindOf = ({ position, kind }: Page): PageKind => retagged.get(position) ?? kind
  const factsOf = (unit: Unit): Known => {
    const found = known.get(unit)
    if (found !== undefined) return found
    const kinds = freeze(unit.pages.map(kindOf))
    const made: Known = {
      kinds,
      messages: freeze(unit.said.map(({ message }) => message)),
      minimum: kinds.map(minFidelity).find((least) => least !== 'pointer') ?? 'pointer',
      answers: unit.said.flatMap(({ message, page }) =>
        answersOf(message).map((text) => ({ text, position: page.position })),
      ),
      shown: new Map<string, Rendered>(),
      cuts: new Map<string, number>(),
    }
    known.set(unit, made)
    return made
  }
  const minimumOf = (unit: Unit): ResidencyLevel => factsOf(unit).minimum

  const ownLevel = ({ source, page }: Said, level: ShownLevel, longest: number | undefined): ShownLevel =>
    source.type === 'synthetic' ? 'full' : longest !== undefined ? level : levelOfPage(level, kindOf(page))

  const render = (
    unit: Unit,
    level: ShownLevel,
    longest: number | undefined,
    given: Map<string, number> | undefined,
  ): Rendered => {
    const items: Sourced[] = []
    let tokens = 0
    const add = (message: Message, source: ContextSource): void => {
      items.push({ message, source })
      tokens += estimate(message)
    }
    for (const said of unit.said) {
      const { message, source, page } = said
      const kind = kindOf(page)
      const own = ownLevel(said, level, longest)
      const toolOf = (id: string): string | undefined => unit.tools.get(id)
      const recorded = { position: page.position, kind, toolOf, recall }
      let shown = message
      if (own !== 'full') {
        const sameAs =
          given !== undefined && own === 'compressed'
            ? (result: ToolResultPart) => given.get(answerOf(result) ?? '')
            : undefined
        shown =
          longest === undefined
            ? represent(message, own, { ...recorded, ...(sameAs && { sameAs }) })
            : cut(message, longest, recorded, level === 'structured')
      }
      if (shown === message && (longest !== undefined || own === 'full')) add(message, source)
      else
        add(
          shown,
          freeze({ type: 'representation', level: own as 'compressed', from: page.position, to: page.position + 1 }),
        )
      if (given !== undefined && own !== 'structured')
        for (const answer of answersOf(message)) if (!given.has(answer)) given.set(answer, page.position)
    }
    for (const position of unit.strays)
      add(
        strayMarker(position, recall),
        freeze({ type: 'representation', level: 'pointer', from: position, to: position + 1 }),
      )
    return { items, tokens }
  }

  const at = (unit: Unit, level: ShownLevel, longest?: number): Rendered => {
    const { shown } = factsOf(unit)
    const key = longest === undefined ? level : `${level}${longest}`
    const found = shown.get(key) ?? render(unit, level, longest, undefined)
    shown.set(key, found)
    return found
  }

  /** As `at`, but for a compressed result that stands in the context already. */
  const beside = (unit: Unit, level: ShownLevel, longest: number | undefined, given: Map<string, number>): Rendered => {
    const { answers } = factsOf(unit)
    const isGiven = (text: string, index: number): boolean =>
      given.has(text) || answers.findIndex((answer) => answer.text === text) !== index
    if (level === 'compressed' && longest === undefined && answers.some(({ text }, index) => isGiven(text, index)))
      return render(unit, level, longest, given)
    if (level !== 'structured')
      for (const { text, position } of answers) if (!given.has(text)) given.set(text, position)
    return at(unit, level, longest)
  }

  const brief = (unit: Unit): Brief => {
    const said = () => unit.said.map(({ message, page }) => ({ message, position: page.position }))
    return (factsOf(unit).brief ??= briefOf(said(), unit, count))
  }

  return {
    estimate,
    recall,
    kindOf,
    minimumOf,
    factsOf,
    at,
    beside,
    cutTo: (unit, tokens, asked) => {
      const rule = !asked && minimumOf(unit) !== 'pointer'
      const level = rule ? 'structured' : 'compressed'
      const most = unit.said.reduce((longest, { message }) => Math.max(longest, longestIn(message)), 0)
      const least = stepOf(asked ? leastAsked(unit) : rule ? ruleLimit : shortestCut)
      // Most of a unit is its longest text: begin where that takes the tokens that there are.
      const guess = stepOf((most * tokens) / at(unit, 'full').tokens)
      const { cuts: taken } = factsOf(unit)
      const fits = (step: number): boolean => {
        const key = `${level}${step}`
        const found = taken.get(key) ?? render(unit, level, lengthOf(step), undefined).tokens
        taken.set(key, found)
        return found <= tokens
      }
      const step = lastFitting(fits, least, Math.max(least, stepOf(most)), guess)
      if (step !== undefined) return { level, longest: lengthOf(step) }
      return asked ? { level, longest: lengthOf(least) } : undefined
    },
    brief,
    prepare: (unit) => {
      const known = factsOf(unit)
      if (known.brief !== undefined || known.shown.has('structured')) return false
      if (known.minimum === 'pointer' && unit.said.length > 0) brief(unit)
      else at(unit, 'structured')
      return true
    },
    whole: (unit) => {
      const [only] = unit.said
      return only === undefined || unit.said.length > 1 ? undefined : wholeOf(only.message, brief(unit), count)
    },
    briefTokens,
    linesTokens: (briefs) => {
      const found = lines.get(briefs)
      if (found !== undefined) return found
      const taken = briefs.reduce((sum, brief, index) => sum + briefTokens(brief, briefs[index - 1]), 0)
      lines.set(briefs, taken)
      return taken
    },
    hidden: (unit) => {
      const { from, to, pages, said } = unit
      const known = factsOf(unit)
      if (known.hidden !== undefined) return known.hidden
      const kinds = new Map<PageKind, number>()
      for (const page of pages) if (page.position < to) kinds.set(kindOf(page), (kinds.get(kindOf(page)) ?? 0) + 1)
      const tokens = said.reduce((sum, { message }) => sum + estimate(message), 0)
      return (known.hidden = { from, to, kinds, tokens })
    },
  }
}

/** The level of a page in a unit: that of the unit, or the next higher one on the page's own degradation path. */
export const levelOfPage = (level: ShownLevel, kind: PageKind): ShownLevel =>
  level === 'compressed' && !degradationPath(kind).includes('compressed') ? 'full' : level

const { freeze } = Object

/** Cuts have few lengths, 3 % apart, so that budgets that are nearly the same give the same bytes. */
const lengthOf = (step: number): number => Math.floor(shortestCut * lengthStep ** step)

const stepOf = (length: number): number =>
  length <= shortestCut ? 0 : Math.ceil(Math.log(length / shortestCut) / Math.log(lengthStep))

const shortestCut = 120
const lengthStep = 1.03

/** Of what the user asked so many characters are always there, in several parts of each a share. */
const leastAsked = ({ said }: Unit): number =>
  askedLength /
  Math.max(
    1,
    said.reduce((sum, { message }) => sum + message.content.length, 0),
  )

const askedLength = 600

/** The last step from `least` to `most` that fits, if one does; the search begins at `guess` and gallops from there. */
const lastFitting = (
  fits: (step: number) => boolean,
  least: number,
  most: number,
  guess: number,
): number | undefined => {
  let low = least - 1 // fits, or nothing is known to
  let high = most + 1 // does not
  for (let step = Math.min(Math.max(guess, least), most), width = 2; low < least || high > most; width *= 2) {
    if (fits(step)) low = step
    else high = step
    if (low === most || high === least) break
    step = low < least ? Math.max(least, high - width) : Math.min(most, low + width)
  }
  while (high - low > 1) {
    const step = (low + high) >> 1
    if (fits(step)) low = step
    else high = step
  }
  return low < least ? undefined : low
}

const strayMarker = (position: number, recall: RecallName): Message =>
  user(
    `[${position}: a tool result that nothing was waiting for is not shown here${back('; ', recall, position, ' gives it back')}]`,
  )

/** An answer shorter than this costs little more than a reference to where it was given before. */
const worthReferring = 200

const answerOf = ({ content }: ToolResultPart): string | undefined => {
  const [only] = content
  return content.length === 1 && only?.type === 'text' && only.text.length >= worthReferring ? only.text : undefined
}

const answersOf = (message: Message): readonly string[] =>
  message.content.flatMap((part) => (part.type === 'tool_result' ? (answerOf(part) ?? []) : []))
