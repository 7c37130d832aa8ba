/**
 * Derivation: from a view and its notes to the messages of one model call.
 *
 *     messages ── settling ──▶ units ── line ──▶ segments: a unit at a level, a gap with its marker, a summary
 *                                          │        ▲
 *     notes ── track: kinds, summaries,    ▼        │  where a call can follow and the line has grown enough
 *              receipts           ──▶ compact: candidates ── policy ──▶ choices ── degrade, if they are too much
 *
 * A track is a fold over the record, and its line grows; of a long record it reads only the end: see `chapters.ts`. A
 * derived context is a prefix of a line plus the unit whose calls are still open. A track's knowledge at its latest compaction can be saved as a string: see `state.ts`.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import { rangeDigest, type Note } from '../../notes/kit.ts'
import { jsonEqual, left, right, optionsOf, type OptionNames } from '../../json/index.ts'
import type { View } from '../../history/index.ts'
import type { Range, Sequence } from '../../sequence/index.ts'
import type { Message, Settled } from '../../message/index.ts'
import type { ResidencyLevel } from '../../pages/index.ts'
import { tokens, usableTokens, windowParts, type Budget } from './budget.ts'
import type { ContextFault, MinimumPage } from '../fault.ts'
import { recallAmong, toolTokensOf, type OfferedTool } from './offered-tools.ts'
import {
  allOf,
  hiddenOf,
  itemsOf,
  levelIn,
  showUnit,
  tokensIn,
  type LinePart,
  type Segment,
  type ShownUnit,
} from './epoch-line.ts'
import { checkDeriving, checkView } from '../check.ts'
import { paged } from '../policies/paged.ts'
import { endOf } from './positions.ts'
import { leastUsed, type Policy } from '../policies/policy.ts'
import { spanOf, type Span } from './span.ts'
import type { ContextSource, SourcedMessage } from './source.ts'
import { estimateTokens, estimatorOf, memoizeEstimator, type Estimator, type Tokenizer } from '../counting/tokens.ts'
import type { Settings } from './settings.ts'
import { advanceAcross, resumeTrack, stateOf } from './state.ts'
import {
  compactNow,
  canContinue,
  factorOf,
  follow,
  isCountedAnew,
  roomOf,
  segmentAt,
  type LineStart,
  type Track,
} from './track.ts'

/** How a context is derived. */
export interface DeriveOptions {
  /** The available tokens: a number, or a model's window and completion tokens. */
  readonly budget: Budget
  /** Default: `paged`. */
  readonly policy?: Policy
  /** The notes about the record: pins, page tags, summaries. Default: none. */
  readonly notes?: Sequence<Note>
  /**
   * The tools sent with the call. Their tokens are subtracted from the budget, and markers name the recall tool if it
   * is among them. Default: unknown; nothing is subtracted, and markers name `recall`. A run passes its own.
   */
  readonly tools?: readonly OfferedTool[]
  /**
   * The model's name. Its receipts in `notes` correct the estimate by the provider's counts. A new
   * correction takes effect only at an epoch boundary. Default: no correction.
   */
  readonly model?: string
  /** The tokens of the tool definitions sent with the call. Default: those of `tools`, by the estimator. */
  readonly toolTokens?: number
  /** The tokens of a system prompt that is not part of the record. Default: 0. */
  readonly systemTokens?: number
  /** Counts a message. Default: `estimateTokens`. It is called once per message. */
  readonly estimate?: Estimator
  /**
   * Counts a text if `estimate` is not given: your model's tokenizer. Images, files and frames count as by default.
   * Pass the same function each time: a context can only continue one with the same tokenizer.
   */
  readonly tokenizer?: Tokenizer
  /** Default: cached tokens at 0.1, others at 1.25. */
  readonly prices?: Prices
  /** The context of the last call, from an earlier view of the same record. The new context continues it if it can. */
  readonly previous?: SentContext | undefined
  /**
   * The `state` of an earlier context of the same record, possibly from another process. It saves work if `previous`
   * can't. A state that does not match (another record, policy or budget, or damage) is ignored. Default: none.
   */
  readonly state?: string | undefined
}

/** The context of the last call. A `DerivedContext` saves work; with any other value only the messages are compared. */
export interface SentContext {
  /** The messages that were sent. */
  readonly messages: Sequence<Message>
}

/** Prices per token, in tokens of plain input. */
export interface Prices {
  /** Tokens in the prefix shared with the last request. */
  readonly cached: number
  /** All other tokens. */
  readonly fresh: number
}

/** The context of one model call, the source of each of its messages, and the level of each recorded one. */
export interface DerivedContext {
  /** The messages to send. They are always settled. */
  readonly messages: Settled<Span<Message>>
  /** The source of each message. */
  readonly sources: Span<ContextSource>
  /** The level of each recorded position; `pointer` for positions outside the conversation. */
  readonly residency: Span<ResidencyLevel>
  /** The ranges represented only by a marker or a summary. Positions up to, not including, `to`. */
  readonly dropped: readonly Range[]
  /**
   * How the context was derived: `policy:paged`, `epoch:2`, `whole` or `degraded`, `mended`, `interrupted`. If it
   * uses less than 85 % of the budget (45 % directly after a compaction of a policy with epochs), the reason is
   * added: `unused:indivisible` if nothing omitted can be cut to fit the free space, `unused:policy` if the policy
   * chose so. `window` never skips a message, so that a larger budget never shows less.
   */
  readonly provenance: readonly string[]
  /** The tokens of the messages, by the estimator. */
  readonly tokens: number
  /** The tokens available for messages, by the estimator: with a `factor` of 1.25, 4/5 of the real number. */
  readonly budget: number
  /** With `model`: the uncorrected estimate for messages, tools and system prompt. Stored in receipts. */
  readonly estimated?: number
  /** Settings to derive this context again, for receipts. Absent with a custom estimator or recall name. */
  readonly derivedBy?: DerivedBy
  /** With `model`: the tokens that the provider counts per estimated token, from the receipts. */
  readonly factor?: number
  /** The number of messages in the record, including retracted ones. */
  readonly length: number
  /** The position where the active turn starts: the latest substantive user message, or 0 if there is none. */
  readonly activeFrom: number
  /** The number of leading messages that equal those of the previous context. */
  readonly stablePrefix: number
  /** The tokens of those messages: a provider's prompt cache can hold them. */
  readonly stableTokens: number
  /** The cost of sending this context, in tokens of plain input. */
  readonly cost: number
  /**
   * Grows with each compaction; 0 before the first. The thousands count how often a record of many budgets has left
   * its older part behind. Between two compactions each context extends the previous one, if each is derived where a
   * model call can follow: after a user message, or after the results of the latest calls.
   */
  readonly epoch: number
  /** SHA-256 over the JSON of the messages, one line each. Computed when you read it. */
  readonly digest: string
  /**
   * The result of the latest compaction as a string, to pass as `state` to a later context. It contains positions and
   * numbers but no message text, and stays the same until the next compaction. Undefined before the first compaction,
   * for a policy without a `version`, and while a late result is in reach. Computed when you read it.
   */
  readonly state: string | undefined
}

/** The settings of a context that are not in the record. With them `deriveContext` derives it again. */
export interface DerivedBy {
  /** The policy's name. */
  readonly policy: string
  /** The version of the policy's choices. Absent if it has none. */
  readonly version?: string
  /** The tokens for messages before correction of the estimate. */
  readonly budget: number
  /** The tokens of tools and system prompt. */
  readonly reserved: number
  /** Whether markers name the tool `recall`. */
  readonly recall: boolean
}

/** Cached tokens at 0.1 and others at 1.25 times the price of plain input. */
export const defaultPrices: Prices = Object.freeze({ cached: 0.1, fresh: 1.25 })

/**
 * Derives the context of a model call: settled, within the budget, and with no page below its kind's minimum.
 *
 * The view is a conversation or the whole record. Positions in notes, sources, markers and residency always refer to
 * the record. Notes about retracted messages have no effect; neither does a summary of any of them.
 *
 * The view and the notes do not change. The same view, notes and options give the same context, byte for byte.
 * `previous` only saves work.
 *
 * Cost    with `previous`, the messages appended since, and an occasional compaction (bench: context); otherwise a look
 * at each message, and the compactions of what the policy reads closely: the latest 4 to 16 budgets, unless its `reads` differs
 * Source  ClawVM (arXiv 2604.10352)
 *
 * @returns the context; or `MinimumDoesNotFit`
 * @throws TypeError if an argument or option has the wrong type, or the budget is not a number of tokens
 * @example
 * const context = orThrow(deriveContext(session.conversation(), { budget: { window: 200_000, completion: 8_000 }, previous }))
 */
export const deriveContext = (view: View<Message>, given: DeriveOptions): Either<ContextFault, DerivedContext> => {
  checkView('deriveContext', view)
  const options = optionsOf('deriveContext', given, deriveOptions)
  checkDeriving('deriveContext', options)
  const { policy = paged(), notes = noNotes, prices = defaultPrices, previous } = options
  const { estimate = options.tokenizer === undefined ? estimateTokens : estimatorOf(options.tokenizer) } = options
  const { tools } = options
  const toolTokens = options.toolTokens ?? toolTokensOf(tools ?? [], memoizeEstimator(estimate))
  const reserved = tokens('toolTokens', toolTokens) + tokens('systemTokens', options.systemTokens ?? 0)
  const budget = Math.max(0, usableTokens(options.budget) - reserved)
  const settings = { policy, budget, estimate, recall: recallAmong(tools), reserved, model: options.model }
  const before = previous === undefined ? undefined : states.get(previous)
  const track =
    (before !== undefined && canContinue(before.track, before.length, view, settings)
      ? advanceAcross(before.track, view, notes)
      : undefined) ??
    (options.state === undefined ? undefined : resumeTrack(options.state, view, notes, settings)) ??
    follow(view, notes, settings)

  const open = track.settling.open()
  const { begun, line } = track
  let state: State = {
    track,
    begun,
    length: view.length,
    end: endOf(view),
    ...allOf(line),
    open: open && showUnit(open),
  }
  let total = totalOf(state)
  const now = factorOf(track, state.end)
  let factor = policy.choose === 'epochs' ? Math.max(begun.facts.factor, now) : now
  if (total > roomOf(settings, factor) || isCountedAnew(track, policy)) {
    // Not stored in the track: no call can follow at this point of the record, or the policy chooses anew each time.
    factor = now
    state = { ...state, ...allOf(compactNow(track, view, policy, roomOf(settings, factor), open)), open: undefined }
    total = totalOf(state)
  }
  const room = roomOf(settings, factor)
  if (total > room && policy.choose === 'epochs') {
    // What earlier compactions hid can't be shown again where that is shorter: choose anew from the whole record.
    const always = { ...policy, choose: 'always', reads: Infinity } as const
    const anew = follow(view, notes, { ...settings, policy: always })
    anew.line = { ...anew.line, epoch: state.line.epoch - 1 }
    const least = compactNow(anew, view, always, room, anew.settling.open())
    state = { ...state, ...allOf(least), open: undefined }
    total = totalOf(state)
  }
  if (total > room) {
    const beside = {
      ...(typeof options.budget === 'object' && { window: windowParts(options.budget) }),
      ...(reserved > 0 && { reserved }),
      ...(factor !== 1 && { factor }),
    }
    return left(minimumFault(state, total, room, beside))
  }
  return right(contextOf(state, previous, { total, room, factor }, settings, prices))
}

/** The data behind a derived context. */
interface State extends LinePart {
  readonly track: Track
  readonly begun: LineStart
  /** The number of conversation messages read, and the end position in the record. */
  readonly length: number
  readonly end: number
  /** The unit after the line whose calls are still open. */
  readonly open: ShownUnit | undefined
}

const deriveOptions: OptionNames<DeriveOptions> = {
  budget: true,
  policy: true,
  notes: true,
  tools: true,
  model: true,
  toolTokens: true,
  systemTokens: true,
  estimate: true,
  tokenizer: true,
  prices: true,
  previous: true,
  state: true,
}

const states = new WeakMap<SentContext, State>()
const noNotes: readonly Note[] = Object.freeze([])

const totalOf = ({ line, messages, open }: State): number =>
  (line.sums[messages] as number) + (open === undefined ? 0 : tokensIn(open, line.renderer))

const contextOf = (
  state: State,
  previous: SentContext | undefined,
  { total, room, factor }: { readonly total: number; readonly room: number; readonly factor: number },
  { policy, model, reserved, budget, estimate, recall }: Settings,
  prices: Prices,
): DerivedContext => {
  const { track, line, messages: count, segments, open, end } = state
  const tail = open === undefined ? [] : itemsOf(open, line.renderer)
  const itemAt = (index: number): SourcedMessage =>
    (index < count ? line.items[index] : tail[index - count]) as SourcedMessage
  const messages = spanOf(count + tail.length, (index) => itemAt(index).message)
  const prefix = prefixOf(state, messages, previous)
  const cached = prefix <= count ? (line.sums[prefix] as number) : total
  let digest: string | undefined
  let dropped: readonly Range[] | undefined
  const context: DerivedContext = Object.freeze({
    // The cast adds the brand: settling emits only settled messages, and every test that derives checks this.
    messages: messages as Settled<Span<Message>>,
    sources: spanOf(messages.length, (index) => itemAt(index).source),
    residency: spanOf(end, (position) => {
      const segment = open !== undefined && position >= open.from ? open : segmentAt(line.segments, segments, position)
      return segment === undefined ? 'pointer' : levelIn(segment, position, line.renderer)
    }),
    get dropped() {
      return (dropped ??= droppedRanges(state))
    },
    provenance: Object.freeze([
      `policy:${policy.name}`,
      `epoch:${line.epoch}`,
      line.epoch === 0 ? 'whole' : 'degraded',
      ...(line.mendedAt < count ? ['mended'] : []),
      ...(tail.some(({ source }) => source.type === 'synthetic') ? ['interrupted'] : []),
      ...(line.epoch > 0 && total < room * leastUsed[policy.choose] ? [`unused:${line.unused ?? 'policy'}`] : []),
    ]),
    tokens: total,
    budget: room,
    ...(model !== undefined && { estimated: total + reserved, factor }),
    // Another process can't reproduce a custom estimator or another name for the recall tool.
    ...(estimate === estimateTokens &&
      (recall === false || recall === 'recall') && {
        derivedBy: Object.freeze({
          policy: policy.name,
          ...(policy.version !== undefined && { version: policy.version }),
          budget,
          reserved,
          recall: recall !== false,
        }),
      }),
    length: end,
    activeFrom: track.activeFrom,
    stablePrefix: prefix,
    stableTokens: cached,
    cost: cached * prices.cached + (total - cached) * prices.fresh,
    epoch: line.epoch,
    get digest() {
      return (digest ??= rangeDigest(messages))
    },
    get state() {
      return stateOf(state.begun, track)
    },
  })
  states.set(context, state)
  return context
}

/** The leading messages equal to the previous context's. The shared part of one line is not compared. */
const prefixOf = (state: State, messages: Sequence<Message>, previous: SentContext | undefined): number => {
  if (previous === undefined) return 0
  const before = states.get(previous)
  let prefix = before?.line.items === state.line.items ? Math.min(before.messages, state.messages) : 0
  for (; prefix < messages.length && prefix < previous.messages.length; prefix++)
    if (!jsonEqual(messages.at(prefix), previous.messages.at(prefix))) break
  return prefix
}

const droppedRanges = ({ line, segments, open }: State): readonly Range[] => {
  const ranges: Range[] = []
  const add = (from: number, to: number): void => void ranges.push(Object.freeze({ from, to }))
  for (const segment of [...line.segments.slice(0, segments), ...(open === undefined ? [] : [open])]) {
    if (segment.type === 'gap') {
      let from = segment.from
      for (const brief of segment.briefs) {
        if (brief.from > from) add(from, brief.from)
        from = brief.to
      }
      if (segment.to > from) add(from, segment.to)
    } else if (segment.type === 'summary') add(segment.from, segment.to)
    else
      for (const position of segment.unit.strays.keys())
        if (levelIn(segment, position, line.renderer) === 'pointer') add(position, position + 1)
  }
  return Object.freeze(ranges)
}

const minimumFault = (
  { line, segments }: State,
  needed: number,
  budget: number,
  beside: Pick<ContextFault, 'window' | 'reserved' | 'factor'>,
): ContextFault => {
  const { renderer } = line
  const pages = line.segments.slice(0, segments).map((segment: Segment): MinimumPage => {
    const { from, to } = segment
    const level = segment.type === 'unit' ? segment.level : 'pointer'
    return Object.freeze({
      from,
      to,
      kinds: Object.freeze([...hiddenOf(segment, renderer).kinds.keys()]),
      level,
      tokens: tokensIn(segment, renderer),
    })
  })
  const largest = pages.toSorted((a, b) => b.tokens - a.tokens || a.from - b.from).slice(0, mostPages)
  return Object.freeze({ _tag: 'MinimumDoesNotFit', needed, budget, ...beside, pages: Object.freeze(largest) })
}

const mostPages = 10
