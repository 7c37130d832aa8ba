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
 * So message 40 is shortened because `shownNew` cut it, or because an epoch started after it and it did not have to stay: then it
 * is a line of a marker, or no line if others had a higher score, or it lies before what lines are read from (`firstLineIndex`).
 * Nothing is stored: a context is a function of the view, the notes and the options, and `previous` only saves work.
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { View } from '../../history/index.ts'
import { left, optionsOf, right, type OptionNames } from '../../json/index.ts'
import type { Message } from '../../message/index.ts'
import type { Note } from '../../notes/internal.ts'
import type { PageKind } from '../../pages/index.ts'
import type { Sequence } from '../../sequence/index.ts'
import { checkDeriving, checkView } from '../check.ts'
import type { Prices } from '../counting/model-prices.ts'
import { estimateTokens, estimatorOf, memoizeEstimator, type Estimator, type Tokenizer } from '../counting/tokens.ts'
import { tokens, usableTokens, windowParts, type Budget } from '../counting/budget.ts'
import { recallAmong, toolTokensOf, type OfferedTool } from '../recall/offered-tools.ts'
import { endOf } from '../positions.ts'
import type { ContextFault, MinimumPage } from '../fault.ts'
import { contextOf, design, type DerivedContext, type SentContext } from './context.ts'
import { groupAt, withOwnIds, type Shown } from './group.ts'
import { checkKeep, isSameKeep, keptIn, type Keep } from './keep.ts'
import { continuesNotes, emptyNotes, factorAt, kindsAt, readNotes, type ReadNotes } from './notes.ts'
import {
  askedBefore,
  epochFrom,
  firstEpoch,
  followEpochs,
  rewriteAt,
  roomOf,
  shownNew,
  type Epoch,
  type Planning,
} from './plan.ts'
import { sizesOf, type Sizes } from './size.ts'

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
 * since the latest rewrite, and five budgets before it
 * Source  ClawVM (arXiv 2604.10352)
 *
 * @returns the context; or `MinimumDoesNotFit`
 * @throws TypeError if an argument or option has the wrong type, or the budget is not a number of tokens
 * @example
 * const context = orThrow(deriveContext(session.conversation(), { budget: { window: 200_000, completion: 8_000 }, previous }))
 */
export const deriveContext = (view: View<Message>, given: DeriveOptions): Either<ContextFault, DerivedContext> => {
  checkView('deriveContext', view)
  const options = optionsOf('deriveContext', given, optionNames)
  checkDeriving('deriveContext', options)
  const { notes = noNotes, prices, previous, tools, model } = options
  const { estimate = options.tokenizer === undefined ? estimateTokens : estimatorOf(options.tokenizer) } = options
  const count = memoizeEstimator(estimate)
  const toolTokens = options.toolTokens ?? toolTokensOf(tools ?? [], count)
  const reserved = tokens('toolTokens', toolTokens) + tokens('systemTokens', options.systemTokens ?? 0)
  const budget = Math.max(0, usableTokens(options.budget) - reserved)
  const settings: Settings = {
    budget,
    reserved,
    estimate,
    recall: recallAmong(tools),
    model,
    keep: checkKeep(options.keep),
  }
  const before = previous === undefined ? undefined : states.get(previous)
  const state = before !== undefined && continues(before, view, settings, notes) ? before : undefined
  const read = state?.notes ?? emptyNotes(model)
  const isFirst = state === undefined
  const stands = readNotes(read, notes, isFirst ? 0 : (view.positionAt(state.epoch.start) as number))
  const planning: Planning = {
    view,
    sizes: sizesOf(view, state?.sizes),
    count,
    recall: settings.recall,
    notes: read,
    pinned: kindsAt(read, 0),
    budget,
    reserved,
    keep: (seen) => keptIn(seen, settings.keep),
  }
  const [rewrite, number] = rewriteAt(planning)
  let epoch = !isFirst && stands && state.epoch.rewrite === rewrite ? state.epoch : undefined
  epoch ??= rewriteFrom(planning, rewrite, number)
  epoch = followEpochs(planning, epoch)

  const end = endOf(view)
  const open = epoch.next < view.length ? groupAt(view, epoch.next) : undefined
  const tail =
    open === undefined
      ? []
      : withOwnIds(epoch.ranges.length === 0 ? open.shown : shownNew(planning, open), new Set(epoch.ids))
  let line: Line = { epoch, messages: epoch.shown.length, tail }
  let factor = Math.max(epoch.factor, factorAt(read, end, budget + reserved))
  const room = roomOf(settings, factor)
  let total = totalOf(line, count)
  if (total > room || epoch.high < 0) {
    // Not kept for the next context: no call could follow here, or not even the least fits.
    const now = epochFrom(planning, epoch, view.length)
    if ('needed' in now) {
      const beside = {
        ...(typeof options.budget === 'object' && { window: windowParts(options.budget) }),
        ...(reserved > 0 && { reserved }),
        ...(factor !== 1 && { factor }),
      }
      return left(minimumFault(view, now.shown, { needed: now.needed, budget: room, ...beside }, count))
    }
    line = { epoch: now, messages: now.shown.length, tail: [] }
    factor = now.factor
    total = totalOf(line, count)
  }
  const asked = askedBefore(view, view.length).at(-1)
  const { epoch: used, messages, tail: rest } = line
  const context = contextOf(
    {
      view,
      shown: used.shown,
      length: messages,
      sums: used.sums,
      tail: rest,
      count,
      mendedAt: used.mendedAt,
      tokens: total,
      budget: roomOf(settings, factor),
      epoch: used.number,
      isWhole: used.ranges.length === 0,
      activeFrom: asked === undefined ? 0 : (view.positionAt(asked) as number),
      more: {
        ...(model !== undefined && { estimated: total + reserved, factor }),
        // Another process can't reproduce a custom estimator, what is kept, or another name for the recall tool.
        ...(estimate === estimateTokens &&
          settings.keep === undefined &&
          (settings.recall === false || settings.recall === 'recall') && {
            derivedBy: Object.freeze({ ...design, budget, reserved, recall: settings.recall !== false }),
          }),
      },
    },
    previous,
    prices,
  )
  states.set(context, {
    settings,
    notes: read,
    notesRead: read.count,
    epoch,
    sizes: planning.sizes,
    length: view.length,
    last: view.at(-1) as Message | undefined,
  })
  return right(context)
}

/** The options that a context must share with the one that it continues. */
interface Settings {
  readonly budget: number
  readonly reserved: number
  readonly estimate: Estimator
  readonly recall: string | false
  readonly model: string | undefined
  readonly keep: Keep | undefined
}

/** The messages of a context: those of an epoch, as far as it had grown, and the group whose calls are open. */
interface Line {
  readonly epoch: Epoch
  readonly messages: number
  readonly tail: readonly Shown[]
}

/** What a context leaves for the next one. */
interface State {
  readonly settings: Settings
  readonly notes: ReadNotes
  readonly notesRead: number
  readonly epoch: Epoch
  readonly sizes: Sizes
  readonly length: number
  readonly last: Message | undefined
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
  { settings, notes, notesRead, length, last, epoch, sizes }: State,
  view: View<Message>,
  now: Settings,
  added: Sequence<Note>,
): boolean =>
  (['budget', 'reserved', 'estimate', 'recall', 'model'] as const).every((name) => settings[name] === now[name]) &&
  isSameKeep(settings.keep, now.keep) &&
  length <= view.length &&
  // What another context, or a fault, was derived from has grown since.
  epoch.next <= length &&
  sizes.before.length === length + 1 &&
  notes.count === notesRead &&
  (length === 0 || view.at(length - 1) === last) &&
  (epoch.next === 0 || view.at(epoch.next - 1) === epoch.last) &&
  continuesNotes(notes, added)

const rewriteFrom = (planning: Planning, rewrite: number, number: number): Epoch => {
  if (rewrite === 0) return firstEpoch(planning)
  const epoch = epochFrom(planning, { rewrite, number: number * epochsCounted, ranges: [] }, rewrite)
  return 'needed' in epoch
    ? {
        ...firstEpoch(planning),
        rewrite,
        number: number * epochsCounted,
        next: rewrite,
        start: rewrite,
        high: -1,
        last: planning.view.at(rewrite - 1) as Message,
      }
    : epoch
}

/** Numbers of epochs after a rewrite start at a multiple of this, so that they grow without a look at the record before. */
const epochsCounted = 1000

const totalOf = ({ epoch, messages, tail }: Line, count: (message: Message) => number): number =>
  tail.reduce((sum, { message }) => sum + count(message), epoch.sums[messages] as number)

const minimumFault = (
  view: View<Message>,
  shown: readonly Shown[],
  fault: Omit<ContextFault, '_tag' | 'pages'>,
  count: (message: Message) => number,
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
