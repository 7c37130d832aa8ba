/**
 * Derivation: from a view and its notes to the messages of one model call.
 *
 *     group ──▶ size ──▶ plan ──▶ select ──▶ render
 *
 * 1. `group.ts`   messages, and calls with their results, are groups: sent or left out together.
 * 2. `size.ts`    their sizes say where the latest rewrite starts (`rewriteAt`): it depends on the record only.
 * 3. `plan.ts`    from there `followEpochs` adds group by group, a large one cut (`shownNew`), until the context is full.
 *                 Then an epoch starts (`epochFrom`): all but the newest becomes one more range.
 * 4. `render.ts`  of a range rules, questions and kept messages stay (`mustStay`); the rest is a marker (`renderRange`),
 * 5. `select.ts`  with a line for each group whose score for its tokens is high enough (`selectLines`).
 *
 * So message 40 is shortened for one of these reasons, and `indelible context FILE --explain` says which:
 *
 * - `shownNew` cut it when it came, because it takes more than `shape.largest` of the budget;
 * - an epoch started after it, and it is neither among the newest (`recentFrom`) nor has to stay: it is a line of a marker. It has no
 *   line if others have a higher score for their tokens, or if it lies more than `shape.reads` budgets of size before that
 *   epoch's newest messages (`firstLineIndex`);
 * - it has to stay, but rules or questions take too much of the budget: they are outlined or cut (`epochFrom`, 2 to 5).
 *
 * Nothing is stored: a context is a function of the view, the notes and the options, and `previous` only saves work.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { View } from '../../history/index.ts'
import { left, optionsOf, right, type OptionNames } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import type { Note } from '../../notes/internal.ts'
import type { PageKind } from '../../pages/index.ts'
import type { Prices } from '../../prices/index.ts'
import type { Sequence } from '../../sequence/index.ts'
import { checkDeriving, checkView } from '../check.ts'
import { estimateTokens, estimatorOf, memoizeEstimator, type Estimator, type Tokenizer } from '../counting/tokens.ts'
import { tokens, usableTokens, windowParts, type Budget } from '../counting/budget.ts'
import { recallAmong, toolTokensOf, type OfferedTool } from '../recall/offered-tools.ts'
import { endOf } from '../positions.ts'
import type { ContextFault, MinimumPage } from '../fault.ts'
import { contextOf, design, type DerivedContext, type SentContext } from './context.ts'
import { groupAt, withOwnIds, type Shown } from './group.ts'
import { checkKeep, isSameKeep, type Keep } from '../keep.ts'
import { continuesNotes, emptyNotes, factorAt, kindsAt, readNotes } from './notes.ts'
import {
  questionsBefore,
  epochFrom,
  firstEpoch,
  followEpochs,
  rewriteAt,
  roomOf,
  shownNew,
  type Epoch,
  type Planning,
} from './plan.ts'
import { tokensIn } from './render.ts'
import { Sizes } from './size.ts'

/** How a context is derived. */
export interface DeriveOptions {
  /** The available tokens: a number, or a model's window and completion tokens. */
  readonly budget: Budget
  /** What stays readable beyond what contexts keep by themselves. Default: nothing. */
  readonly keep?: Keep
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
}

/**
 * Derives the context of a model call: settled, within the budget, and with no page below its kind's minimum.
 *
 * The view is a conversation or the whole record. Positions in notes, sources, markers and residency always refer to
 * the record. Notes about retracted messages have no effect; neither does a summary of any of them.
 *
 * The view and the notes do not change. The same view, notes and options give the same context, byte for byte.
 * `previous` only saves work.
 *
 * Cost    with `previous`, the messages appended since, and an occasional compaction (bench: context); otherwise what was recorded
 * since the latest rewrite, and four budgets before it
 * Source  ClawVM (arXiv 2604.10352)
 *
 * @returns the context; or `MinimumDoesNotFit`
 * @throws TypeError if an argument or option has the wrong type, or the budget is not a number of tokens
 * @example
 * const context = orThrow(deriveContext(session.conversation(), { budget: { window: 200_000, completion: 8_000 }, previous }))
 */
export const deriveContext = (view: View<Message>, options: DeriveOptions): Either<ContextFault, DerivedContext> => {
  checkView('deriveContext', view)
  const own = optionsOf('deriveContext', options, optionNames)
  checkDeriving('deriveContext', own)
  const { notes = noNotes, prices, previous, tools, model } = own
  const { estimate = own.tokenizer === undefined ? estimateTokens : estimatorOf(own.tokenizer) } = own
  const count = memoizeEstimator(estimate)
  const toolTokens = own.toolTokens ?? toolTokensOf(tools ?? [], count)
  const reserved = tokens('toolTokens', toolTokens) + tokens('systemTokens', own.systemTokens ?? 0)
  const budget = Math.max(0, usableTokens(own.budget) - reserved)
  const keep = checkKeep(own.keep)
  const settings: Settings = { budget, reserved, count, recall: recallAmong(tools), model, keep }

  const before = previous === undefined ? undefined : states.get(previous)
  const state = before !== undefined && continues(before, view, settings, notes) ? before : undefined
  const read = state?.planning.notes ?? emptyNotes(model)
  const stands = readNotes(read, notes, state === undefined ? 0 : (view.positionAt(state.epoch.start) as number))
  const sizes = (state?.planning.sizes ?? new Sizes()).measure(view)
  const planning: Planning = { ...settings, view, sizes, notes: read, pinned: kindsAt(read, 0) }
  const [rewrite, number] = rewriteAt(planning)
  const continued = stands && state?.epoch.rewrite === rewrite ? state.epoch : rewriteFrom(planning, rewrite, number)
  const epoch = followEpochs(planning, continued)

  // What is sent now: the epoch as it is, and a group whose calls are open.
  let sent = epoch
  let tail: readonly Shown[] = []
  if (epoch.next < view.length) {
    const open = groupAt(view, epoch.next)
    tail = withOwnIds(epoch.ranges.length === 0 ? open.shown : shownNew(planning, open), new Map(epoch.ids))
  }
  let total = (epoch.sums.at(-1) as number) + tokensIn(tail, count)
  let factor = Math.max(epoch.factor, factorAt(read, endOf(view), budget + reserved))
  if (total > roomOf(planning, factor) || epoch.high < 0) {
    // Not kept for the next context: no call could follow here, or not even the least fits.
    const least = epochFrom(planning, epoch, view.length)
    if ('needed' in least)
      return left(
        minimumFault(planning, least.shown, {
          needed: least.needed,
          budget: roomOf(planning, factor),
          ...(typeof own.budget === 'object' && { window: windowParts(own.budget) }),
          ...(reserved > 0 && { reserved }),
          ...(factor !== 1 && { factor }),
        }),
      )
    sent = least
    tail = []
    total = sent.sums.at(-1) as number
    factor = sent.factor
  }
  const question = questionsBefore(view, view.length).at(-1)
  // Another process can't reproduce a custom estimator, what is kept, or another name for the recall tool.
  const { recall } = settings
  const isReproducible = estimate === estimateTokens && keep === undefined && (recall === false || recall === 'recall')
  const context = contextOf(
    {
      view,
      shown: sent.shown,
      length: sent.shown.length,
      sums: sent.sums,
      tail,
      count,
      mendedAt: sent.mendedAt,
      tokens: total,
      budget: roomOf(planning, factor),
      epoch: sent.number,
      isWhole: sent.ranges.length === 0,
      activeFrom: question === undefined ? 0 : (view.positionAt(question) as number),
      more: {
        ...(model !== undefined && { estimated: total + reserved, factor }),
        ...(isReproducible && {
          derivedBy: Object.freeze({ ...design, budget, reserved, recall: recall !== false }),
        }),
      },
    },
    previous,
    prices,
  )
  states.set(context, { planning, notesRead: read.count, epoch })
  return right(context)
}

/** The options that a context must share with the one that it continues. */
type Settings = Pick<Planning, 'budget' | 'reserved' | 'count' | 'recall' | 'model' | 'keep'>

/** What a context leaves for the next one. */
interface State {
  readonly planning: Planning
  readonly notesRead: number
  readonly epoch: Epoch
}

const states = new WeakMap<SentContext, State>()
const noNotes: readonly Note[] = Object.freeze([])

const optionNames: OptionNames<DeriveOptions> = {
  budget: true,
  keep: true,
  notes: true,
  tools: true,
  model: true,
  toolTokens: true,
  systemTokens: true,
  estimate: true,
  tokenizer: true,
  prices: true,
  previous: true,
}

/** Whether a context continues an earlier one: the same settings, and the same record so far. */
const continues = (
  { planning, notesRead, epoch }: State,
  view: View<Message>,
  settings: Settings,
  notes: Sequence<Note>,
): boolean => {
  for (const name of ['budget', 'reserved', 'count', 'recall', 'model'] as const)
    if (planning[name] !== settings[name]) return false
  const { length } = planning.view
  return (
    isSameKeep(planning.keep, settings.keep) &&
    length <= view.length &&
    // What another context, or a fault, was derived from has grown since.
    epoch.next <= length &&
    planning.sizes.count === length &&
    planning.notes.count === notesRead &&
    (length === 0 || view.at(length - 1) === planning.view.at(-1)) &&
    (epoch.next === 0 || view.at(epoch.next - 1) === epoch.last) &&
    continuesNotes(planning.notes, notes)
  )
}

/** The epoch that starts at a rewrite. If not even the least fits there, none of its messages is in it. */
const rewriteFrom = (planning: Planning, rewrite: number, number: number): Epoch => {
  if (rewrite === 0) return firstEpoch(planning)
  const epoch = epochFrom(planning, { rewrite, number: number * epochsCounted, ranges: [] }, rewrite)
  if (!('needed' in epoch)) return epoch
  const last = planning.view.at(rewrite - 1)
  return {
    ...firstEpoch(planning),
    rewrite,
    number: number * epochsCounted,
    next: rewrite,
    start: rewrite,
    high: -1,
    last,
  }
}

/** Numbers of epochs after a rewrite start at a multiple of this, so that they grow without a look at the record before. */
const epochsCounted = 1000

const minimumFault = (
  { view, count }: Planning,
  shown: readonly Shown[],
  fault: Omit<ContextFault, '_tag' | 'pages'>,
): ContextFault => {
  const pages = shown.map(({ message, source }): MinimumPage => {
    const [from, to] = 'from' in source ? [source.from, source.to] : [source.position, source.position + 1]
    const kinds = new Set<PageKind>()
    for (let index = view.before(from); index < view.before(to); index++) kinds.add(view.pages.at(index) as PageKind)
    const level = source.type === 'clone' ? 'full' : source.type === 'representation' ? source.level : 'pointer'
    return Object.freeze({ from, to, kinds: Object.freeze([...kinds]), level, tokens: count(message) })
  })
  const largest = pages.toSorted((a, b) => b.tokens - a.tokens || a.from - b.from).slice(0, mostPages)
  return Object.freeze({ _tag: 'MinimumDoesNotFit', ...fault, pages: Object.freeze(largest) })
}

const mostPages = 10
