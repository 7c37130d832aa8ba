/**
 * Units are shortened together. A unit is one message, or an assistant's calls with all their
 * results, in order and settled even if the record is not.
 */
import type { Range } from '../../sequence/index.ts'
import { present } from '../../json/index.ts'
import { user, type Message, type ToolResultPart } from '../../message/index.ts'
import { degradationPath, minFidelity, residencyLevels, type PageKind, type ResidencyLevel } from '../../pages/index.ts'
import { briefOf, tokensAfter, wholeOf, type Brief } from '../showing/brief.ts'
import { countKind, recallHint, type HiddenEntries, type RecallName } from '../showing/marker.ts'
import { cutText, longestIn, plain, represent, ruleLimit, type MessageContext } from '../showing/represent.ts'
import type { ContextSource, SourcedMessage } from './source.ts'
import { memoize } from '../memoize.ts'
import {
  memoizeEstimator,
  tokenizerOf,
  type CheckedEstimator,
  type Estimator,
  type Tokenizer,
} from '../counting/tokens.ts'

/** One recorded entry. */
export interface Page {
  readonly position: number
  /** The kind in the sidecar; a note may override it. */
  readonly kind: PageKind
}

export interface Unit extends Range {
  /** Its own pages in order, then later pages whose results answer its calls. */
  readonly pages: readonly Page[]
  /** Its messages at `full`. Empty if nothing recorded here can be sent at this place. */
  readonly said: readonly FullMessage[]
  /** Messages of results that no call was waiting for, by position. Only instructions and rules are more than a pointer. */
  readonly strays: ReadonlyMap<number, Message>
  /** The unit that contains the results recorded here, because they came late for its calls. */
  readonly lentTo: Unit | undefined
  /** Tool names by call id. */
  readonly tools: ReadonlyMap<string, string>
  /** The numbers of its call ids, in order; undefined if all have their recorded ids. */
  readonly numbers: readonly number[] | undefined
  /** What the latest renderer found out about it. */
  facts: Facts | undefined
  /** Its worth in a conversation without tools, fixed when first weighed: see `talk.ts`. */
  worth: number | undefined
}

/** A message of a unit in full, with the page of its content. */
export interface FullMessage extends SourcedMessage {
  readonly page: Page
}

/**
 * How a unit is shown: at a level, or cut. A cut limits each text, result and argument to `longest`
 * UTF-16 units, keeping head and tail; shorter ones stay as recorded.
 */
export interface ShownAs {
  readonly level: ShownLevel
  readonly longest?: number | undefined
}

export interface RenderedUnit {
  readonly items: readonly SourcedMessage[]
  readonly tokens: number
}

/** Derived facts about a unit, each computed once. */
interface Facts {
  readonly renderer: Renderer
  readonly kinds: readonly PageKind[]
  /** Its messages in full. */
  readonly messages: readonly Message[]
  /** The strictest minimum among its pages. */
  readonly minimum: ResidencyLevel
  /** The texts of its longer results, with their positions. */
  readonly answers: readonly { readonly text: string; readonly position: number }[]
  /** Its renderings, by level and cut. */
  readonly shown: Map<string, RenderedUnit>
  /** The tokens of cuts, by level and step, because a search repeats them. */
  readonly cuts: Map<string, number>
  hidden?: HiddenEntries
  brief?: Brief
}

/** A level at which something of the content is shown. */
export type ShownLevel = Exclude<ResidencyLevel, 'pointer'>

export const rankOf = (level: ResidencyLevel): number => ranks.get(level) ?? -1

const ranks: ReadonlyMap<ResidencyLevel, number> = new Map(residencyLevels.map((level, rank) => [level, rank]))

/** Renders units at levels, each once. */
export class Renderer {
  readonly estimate: CheckedEstimator
  /** The tool that markers name. */
  readonly recall: RecallName
  /** Page kinds set by notes, by position. */
  readonly #retagged: ReadonlyMap<number, PageKind>

  constructor(estimate: Estimator, retagged: ReadonlyMap<number, PageKind>, recall: RecallName) {
    this.estimate = memoizeEstimator(estimate)
    this.#count = tokenizerOf(estimate)
    this.recall = recall
    this.#retagged = retagged
  }

  readonly kindOf = ({ position, kind }: Page): PageKind => this.#retagged.get(position) ?? kind

  readonly #count: Tokenizer

  factsOf(unit: Unit): Facts {
    if (unit.facts?.renderer === this) return unit.facts
    const kinds = freeze(unit.pages.map(this.kindOf))
    return (unit.facts = {
      renderer: this,
      kinds,
      messages: freeze(unit.said.map(({ message }) => message)),
      minimum: kinds.map(minFidelity).find((least) => least !== 'pointer') ?? 'pointer',
      answers: unit.said.flatMap(({ message, page }) =>
        answersOf(message).map((text) => ({ text, position: page.position })),
      ),
      shown: new Map(),
      cuts: new Map(),
    })
  }

  at(unit: Unit, as: ShownAs): RenderedUnit {
    const { shown } = this.factsOf(unit)
    const key = as.longest === undefined ? as.level : `${as.level}${as.longest}`
    const found = shown.get(key) ?? this.#render(unit, as)
    shown.set(key, found)
    return found
  }

  /** Like `at`, but refers to compressed answers already in `given` (keyed by text) instead of repeating them. */
  beside(unit: Unit, as: ShownAs, given: Map<string, number>): RenderedUnit {
    const { level, longest } = as
    const { answers } = this.factsOf(unit)
    const isAnsweredBefore = (text: string, index: number): boolean =>
      given.has(text) || answers.findIndex((answer) => answer.text === text) !== index
    if (
      level === 'compressed' &&
      longest === undefined &&
      answers.some(({ text }, index) => isAnsweredBefore(text, index))
    )
      return this.#render(unit, as, given)
    if (level !== 'structured')
      for (const { text, position } of answers) if (!given.has(text)) given.set(text, position)
    return this.at(unit, as)
  }

  #render(unit: Unit, { level, longest }: ShownAs, given?: Map<string, number>): RenderedUnit {
    const items: SourcedMessage[] = []
    let tokens = 0
    const add = (message: Message, source: ContextSource, position: number): void => {
      items.push({ message, source })
      tokens += this.estimate(message, position)
    }
    const sameAs = given && ((result: ToolResultPart) => given.get(answerOf(result) ?? ''))
    for (const { message, source, page } of unit.said) {
      const kind = this.kindOf(page)
      const own = source.type === 'synthetic' ? 'full' : longest !== undefined ? level : levelOfPage(level, kind)
      if (own === 'full') add(message, source, page.position)
      else {
        const { position } = page
        const recorded = {
          position,
          kind,
          toolOf: (id: string): string | undefined => unit.tools.get(id),
          recall: this.recall,
          ...(own === 'compressed' && sameAs && { sameAs }),
        }
        const shown =
          longest === undefined
            ? represent(message, own, recorded)
            : cutText(message, longest, recorded, level === 'structured')
        const isWhole = longest !== undefined && shown === message
        const from = freeze({ type: 'representation', level: own, from: position, to: position + 1 } as const)
        add(shown, isWhole ? source : from, position)
      }
      if (given !== undefined && own !== 'structured')
        for (const answer of answersOf(message)) if (!given.has(answer)) given.set(answer, page.position)
    }
    for (const [position, message] of unit.strays) {
      const kind = this.kindOf(unit.pages.find((page) => page.position === position) as Page)
      add(
        strayAs(message, { position, kind, recall: this.recall }),
        freeze({ type: 'representation', level: levelOfStray(kind), from: position, to: position + 1 }),
        position,
      )
    }
    return { items, tokens }
  }

  /**
   * The longest cut of a unit that takes at most `tokens`; undefined if even the shortest takes more. The user's
   * question (`asked`) then gets the shortest cut: every context shows at least that.
   */
  cutTo(unit: Unit, tokens: number, asked: boolean): ShownAs | undefined {
    const { cuts, minimum } = this.factsOf(unit)
    const rule = !asked && minimum !== 'pointer'
    const level = rule ? 'structured' : 'compressed'
    const most = unit.said.reduce((longest, { message }) => Math.max(longest, longestIn(message)), 0)
    const least = stepOf(asked ? leastOfQuestion(unit) : rule ? ruleLimit : shortestCut)
    // The longest text is most of a unit, so start at its share of the tokens.
    const guess = stepOf((most * tokens) / this.at(unit, { level: 'full' }).tokens)
    const fits = (step: number): boolean => {
      const key = `${level}${step}`
      const taken = cuts.get(key) ?? this.#render(unit, { level, longest: lengthOf(step) }).tokens
      cuts.set(key, taken)
      return taken <= tokens
    }
    const step = largestFittingStep(fits, least, Math.max(least, stepOf(most)), guess) ?? (asked ? least : undefined)
    return step === undefined ? undefined : { level, longest: lengthOf(step) }
  }

  /** The entries of a unit as a marker describes them. */
  hidden(unit: Unit): HiddenEntries {
    const facts = this.factsOf(unit)
    if (facts.hidden !== undefined) return facts.hidden
    const { from, to, pages } = unit
    const kinds = new Map<PageKind, number>()
    for (const page of pages) if (page.position < to) countKind(kinds, this.kindOf(page))
    const tokens = facts.messages.reduce((sum, message) => sum + this.estimate(message), 0)
    return (facts.hidden = { from, to, kinds, tokens })
  }

  /** The brief of a unit: its line in a marker. */
  brief(unit: Unit): Brief {
    return (this.factsOf(unit).brief ??= briefOf(
      unit.said.map(({ message, page }) => ({ message, position: page.position })),
      unit,
      this.#count,
    ))
  }

  /** The brief with a unit's whole text for a marker; undefined if it is not a single text. */
  whole(unit: Unit): Brief | undefined {
    const [only] = unit.said
    return only === undefined || unit.said.length > 1 ? undefined : wholeOf(only.message, this.brief(unit), this.#count)
  }

  /** The tokens of a brief placed after another one. */
  briefTokens(brief: Brief, before: Brief | undefined): number {
    return before === undefined ? brief.tokens : tokensAfter(brief, before, this.#count)
  }

  /** The tokens of briefs in sequence. */
  readonly linesTokens: (briefs: readonly Brief[]) => number = memoize((briefs) =>
    briefs.reduce((sum, brief, index) => sum + this.briefTokens(brief, briefs[index - 1]), 0),
  )
}

/** The level of a page in a unit: the unit's level, or the next higher one on the page's degradation path. */
export const levelOfPage = (level: ShownLevel, kind: PageKind): ShownLevel =>
  level === 'compressed' && !degradationPath(kind).includes('compressed') ? 'full' : level

const { freeze } = Object

/** Cut lengths are 3 % apart, so that nearly equal budgets give the same bytes. */
const lengthOf = (step: number): number => Math.floor(shortestCut * lengthStep ** step)

const stepOf = (length: number): number =>
  length <= shortestCut ? 0 : Math.ceil(Math.log(length / shortestCut) / Math.log(lengthStep))

const shortestCut = 120
const lengthStep = 1.03

/** The characters of the user's question that are always shown, divided among its parts. */
const leastOfQuestion = ({ said }: Unit): number =>
  askedLength /
  Math.max(
    1,
    said.reduce((sum, { message }) => sum + message.content.length, 0),
  )

const askedLength = 600

/** The last fitting step between `least` and `most`, if any: a galloping search from `guess`. */
const largestFittingStep = (
  fits: (step: number) => boolean,
  least: number,
  most: number,
  guess: number,
): number | undefined => {
  let low = least - 1 // the highest step known to fit, if any
  let high = most + 1 // the lowest step known not to fit, if any
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

/** The level of a result without a call: there is no place for it, but instructions and rules stay readable. */
export const levelOfStray = (kind: PageKind): 'structured' | 'pointer' =>
  minFidelity(kind) === 'pointer' ? 'pointer' : 'structured'

const strayAs = (message: Message, recorded: MessageContext): Message => {
  const { position, recall = 'recall' } = recorded
  return levelOfStray(recorded.kind) === 'pointer'
    ? user(
        `[Message ${position} is not shown: it is a tool result without a tool call.${recallHint(' Call', recall, position, ' to read it.')}]`,
      )
    : represent(
        {
          ...user(
            `[Message ${position} is a tool result without a tool call.]\n${message.content.map(plain).join('\n')}`,
          ),
          ...present({ meta: message.meta }),
        },
        'structured',
        recorded,
      )
}

/** A shorter answer costs little more than a reference to the earlier one. */
const leastForReference = 200

const answerOf = ({ content }: ToolResultPart): string | undefined => {
  const [only] = content
  return content.length === 1 && only?.type === 'text' && only.text.length >= leastForReference ? only.text : undefined
}

const answersOf = (message: Message): readonly string[] =>
  message.content.flatMap((part) => (part.type === 'tool_result' ? (answerOf(part) ?? []) : []))
