/**
 * Managed histories: shortens a long record for an agent's prompt by the marks of its messages. Messages that later work depends on
 * are kept first. Large tool results are cut, oldest first; messages that still do not fit become pointers.
 *
 * Every guarantee of a context holds: nothing is rewritten, calls and results stay together, and nothing disappears without a marker.
 */
import { estimateTokens, type DerivedContext, type Estimator } from 'indelible/context'
import {
  checkDeriving,
  checkView,
  contextOf,
  cutText,
  groupsIn,
  isSubstantive,
  markerText,
  memoizeEstimator,
  noteAt,
  plain,
  Sizes,
  tokensIn,
  withOwnIds,
  type Group,
  type Shown,
  type SentContext,
} from 'indelible/internal/context'
import type { View } from 'indelible/history'
import { optionsOf } from 'indelible/internal/json'
import { user, type Message } from 'indelible/message'
import { foldPages, type Note } from 'indelible/internal/notes'
import { minFidelity, type PageKind } from 'indelible/pages'
import type { Sequence } from 'indelible/internal/sequence'
import { amount } from 'indelible/internal/task'
import { markInMeta, type MarkOf } from './marks.ts'
import { retainedPositions } from './retained.ts'

/** Options for a managed view: the limit, the marks and the notes. */
export type ManageOptions = (
  | { readonly maxTokens: number; readonly maxChars?: undefined; readonly estimate?: Estimator }
  /** Counted in UTF-16 units over all parts of a message. */
  | { readonly maxChars: number; readonly maxTokens?: undefined }
) & {
  /** Returns a message's mark. Default: the mark under `indelible` in its `meta`. */
  readonly markOf?: MarkOf
  /** The notes of the record. Default: none. */
  readonly notes?: Sequence<Note>
  /** The context of the last call, to save work. */
  readonly previous?: SentContext | undefined
}

/** A context derived by message marks. Its sizes are in the unit of the limit. */
export interface ManagedView extends DerivedContext {
  /**
   * True if the kept messages do not fit the limit in full. Each omitted range then has a line, and
   * some kept messages are shortened; the context fits the limit unless `tokens` is larger. False: every
   * kept message is complete.
   */
  readonly overBudget: boolean
  /** The positions of the kept messages. */
  readonly retained: readonly number[]
}

/**
 * Shortens a record for a prompt, to a limit of tokens or characters.
 *
 * It keeps, in this order: the last message with its call or result; the instructions at the beginning, with the
 * first question; every message marked as feedback, rule or preference; the latest test result, self review and
 * summary, each with the messages up to the next marked one; reports with their proposals. First it cuts tool results
 * to head and tail, oldest first. Then it replaces the remaining messages by pointers, oldest first. If the kept
 * messages still do not fit, it sets `overBudget` and shortens large tool results among them; if not even the minimum
 * of everything fits, it returns that minimum, which is larger than the limit.
 *
 * Shortened messages keep their marks. Managing a managed view again changes nothing if it fit the limit.
 *
 * Cost    O(record)
 *
 * @throws TypeError if there is not one limit, it is not a number, or an argument has the wrong type
 */
export const manageHistory = (view: View<Message>, input: ManageOptions): ManagedView => {
  checkView('manageHistory', view)
  const options = optionsOf<ManageOptions & { readonly estimate?: Estimator }>('manageHistory', input, optionNames)
  checkDeriving('manageHistory', options)
  const { markOf = markInMeta, notes = [], previous } = options
  if (typeof markOf !== 'function') throw new TypeError('manageHistory: `markOf` is not a function')
  for (const index of Array.from({ length: notes.length }).keys()) noteAt(notes, index)
  const limit = options.maxTokens ?? options.maxChars
  if (limit === undefined) throw new TypeError('manageHistory needs a limit: maxTokens or maxChars')
  if (options.maxTokens !== undefined && options.maxChars !== undefined)
    throw new TypeError('manageHistory takes one limit: either maxTokens or maxChars')
  amount(options.maxTokens === undefined ? 'maxChars' : 'maxTokens', limit, {
    unit: options.maxTokens === undefined ? 'characters' : 'tokens',
  })
  const count = memoizeEstimator(options.maxTokens === undefined ? charactersOf : (options.estimate ?? estimateTokens))
  const retagged = foldPages(notes)
  const retained = retainedPositions(view, retagged, markOf)
  const plan = new Plan(view, retagged, new Set(retained), count, limit)
  const shown = plan.shorten()
  const sums = [0]
  for (const { message } of shown) sums.push((sums.at(-1) as number) + count(message))
  const whole = new Set(shown.flatMap(({ source }) => (source.type === 'clone' ? [source.position] : [])))
  const mendedAt = shown.findIndex(
    ({ source }) => source.type === 'synthetic' || (source.type === 'clone' && source.mended === true),
  )
  const context = contextOf(
    {
      ...{
        view,
        shown,
        sums,
        count,
        length: shown.length,
        tail: [],
        tokens: sums.at(-1) as number,
        budget: Math.max(limit, sums.at(-1) as number),
        epoch: plan.isWhole ? 0 : 1,
      },
      mendedAt: mendedAt === -1 ? Infinity : mendedAt,
      isWhole: plan.isWhole,
      activeFrom: view.positionAt(plan.activeFrom) as number,
    },
    previous,
  )
  const overBudget =
    context.tokens > limit || retained.some((position) => plan.canBeWhole(position) && !whole.has(position))
  return Object.freeze(
    Object.defineProperties({ overBudget, retained } as ManagedView, Object.getOwnPropertyDescriptors(context)),
  )
}

const optionNames = {
  maxTokens: true,
  maxChars: true,
  estimate: true,
  markOf: true,
  notes: true,
  previous: true,
} as const

/** A group of messages and how it is shown. */
interface Entry {
  readonly group: Group
  readonly isKept: boolean
  readonly isRule: boolean
  readonly isActive: boolean
  readonly isTask: boolean
  /** Undefined where a marker takes its place. */
  shown: readonly Shown[] | undefined
}

/** What is shown of a record, lowered step by step until it fits. */
class Plan {
  readonly activeFrom: number
  readonly #view: View<Message>
  readonly #kinds: ReadonlyMap<number, PageKind | undefined>
  readonly #count: (message: Message) => number
  readonly #limit: number
  readonly #entries: readonly Entry[]
  readonly #markerTokens: number
  #total: number

  constructor(
    view: View<Message>,
    kinds: ReadonlyMap<number, PageKind | undefined>,
    retained: ReadonlySet<number>,
    count: (message: Message) => number,
    limit: number,
  ) {
    this.#view = view
    this.#kinds = kinds
    this.#count = count
    this.#limit = limit
    const messages = view.toArray()
    this.activeFrom = Math.max(0, messages.findLastIndex(isSubstantive))
    this.#entries = groupsIn(view, 0, view.length).map((group): Entry => {
      const indexes = Array.from({ length: group.to - group.from }, (_, index) => group.from + index)
      return {
        group,
        isKept: indexes.some((index) => retained.has(view.positionAt(index) as number)),
        isRule: indexes.some((index) => minFidelity(this.#kindAt(index)) !== 'pointer'),
        isActive: group.to > this.activeFrom,
        isTask:
          messages[this.activeFrom] !== undefined &&
          group.from <= this.activeFrom &&
          group.to > this.activeFrom &&
          isSubstantive(messages[this.activeFrom] as Message),
        shown: group.shown,
      }
    })
    this.#total = this.#entries.reduce((sum, { group }) => sum + tokensIn(group.shown, count), 0)
    const last = view.positionAt(view.length) as number
    this.#markerTokens = count(user(markerText(last, 2 * last + 2, 1e7, [], 'recall')))
  }

  get isWhole(): boolean {
    return this.#entries.every(({ group, shown }) => shown === group.shown)
  }

  /** Whether a position can be shown as recorded at all: a result without a call can't. */
  canBeWhole(position: number): boolean {
    return this.#entries.some(({ group }) =>
      group.shown.some(({ source }) => source.type === 'clone' && source.position === position),
    )
  }

  /** The messages, lowered as far as the limit needs: what is not kept first, the active turn after the rest, the question last. */
  shorten(): readonly Shown[] {
    for (const isOf of [
      ({ isActive }: Entry) => !isActive,
      ({ isActive, isTask }: Entry) => isActive && !isTask,
      ({ isTask }: Entry) => isTask,
    ]) {
      const mayFall = (entry: Entry): boolean => isOf(entry) && !entry.isKept
      this.#lower(
        (entry) => mayFall(entry) && hasLargeResult(entry),
        (entry) => this.#cut(entry, cutLength),
      )
      this.#lower(
        (entry) => mayFall(entry) && !entry.isRule && !entry.isTask,
        () => undefined,
      )
      this.#lower(
        (entry) => mayFall(entry) && (entry.isRule || entry.isTask),
        (entry) => this.#cut(entry, ruleLength),
      )
    }
    this.#lower(
      (entry) => entry.isKept && hasLargeResult(entry),
      (entry) => this.#cut(entry, cutLength),
    )
    // Not even what is kept fits.
    this.#lower(
      ({ isKept }) => isKept,
      (entry) => this.#cut(entry, entry.isRule ? ruleLength : leastLength),
    )
    this.#lower(
      ({ isKept, isRule, isTask }) => isKept && !isRule && !isTask,
      () => undefined,
    )
    return this.#messages()
  }

  #kindAt(index: number): PageKind {
    return this.#kinds.get(this.#view.positionAt(index) as number) ?? (this.#view.pages.at(index) as PageKind)
  }

  /** Lowers entries, the oldest first, until everything fits. */
  #lower(which: (entry: Entry) => boolean, as: (entry: Entry) => readonly Shown[] | undefined): void {
    for (const [index, entry] of this.#entries.entries()) {
      if (this.#total <= this.#limit) return
      if (entry.shown === undefined || !which(entry)) continue
      const [before, shown] = [tokensIn(entry.shown, this.#count), as(entry)]
      const after = shown === undefined ? this.#markerTokens * this.#newMarkers(index) : tokensIn(shown, this.#count)
      if (shown !== undefined && after >= before) continue
      entry.shown = shown
      this.#total += after - before
    }
  }

  /** How many markers more there are once an entry is in one: neighbours share theirs. */
  #newMarkers(index: number): number {
    const isHidden = (at: number): boolean => this.#entries[at] !== undefined && this.#entries[at].shown === undefined
    return 1 - Number(isHidden(index - 1)) - Number(isHidden(index + 1))
  }

  #cut({ group }: Entry, longest: number): readonly Shown[] {
    return group.shown.map((shown): Shown => {
      if (shown.source.type !== 'clone') return shown
      const { position } = shown
      const kind = this.#kindAt(this.#view.before(position))
      const isRule = minFidelity(kind) !== 'pointer'
      const message = cutText(shown.message, longest, { position, kind }, isRule)
      if (message === shown.message) return shown
      const level = isRule ? 'structured' : 'compressed'
      return {
        message,
        source: Object.freeze({ type: 'representation', level, from: position, to: position + 1 }),
        position,
      }
    })
  }

  #messages(): readonly Shown[] {
    const shown: Shown[] = []
    const sizes = new Sizes().measure(this.#view)
    let hidden: { readonly from: number; readonly to: number } | undefined
    const hide = (): void => {
      if (hidden === undefined) return
      const [from, to] = [
        this.#view.positionAt(hidden.from) as number,
        1 + (this.#view.positionAt(hidden.to - 1) as number),
      ]
      const text = markerText(from, to, sizes.before(hidden.to) - sizes.before(hidden.from), [], 'recall')
      shown.push({
        message: user(text),
        source: Object.freeze({ type: 'representation', level: 'pointer', from, to }),
        position: from,
      })
      hidden = undefined
    }
    for (const { group, shown: own } of this.#entries) {
      if (own === undefined) hidden = { from: hidden?.from ?? group.from, to: group.to }
      else {
        hide()
        shown.push(...own)
      }
    }
    hide()
    return withOwnIds(shown, new Map())
  }
}

/** The UTF-16 units to which a large result, an instruction and a kept message are cut. */
const cutLength = 900
const ruleLength = 1600
const leastLength = 200

const hasLargeResult = ({ group }: Entry): boolean =>
  group.shown.some(({ message }) =>
    message.content.some((part) => part.type === 'tool_result' && plain(part).length > largeResult),
  )

const largeResult = 1000

const charactersOf: Estimator = (message) => message.content.reduce((sum, part) => sum + plain(part).length, 0)
