/** The policies that are compared: the library's contexts, and the window that programs usually send. */
import type { Either } from 'fp-ts/lib/Either.js'
import { deriveContext, type ContextFault, type DerivedContext, type DeriveOptions } from 'indelible/context'
import {
  contextOf,
  cutGroup,
  groupAt,
  groupStart,
  isSpoken,
  markerText,
  memoizeEstimator,
  tokensIn,
  withOwnIds,
  type Group,
  type Shown,
  Sizes,
} from 'indelible/internal/context'
import { estimateTokens, usableTokens } from 'indelible/context'
import { left, right } from 'indelible/internal/json'
import type { View } from 'indelible/history'
import { user, type Message } from 'indelible/message'
import { foldPages } from 'indelible/internal/notes'
import { minFidelity, type PageKind } from 'indelible/pages'

/** A way to derive contexts. */
export interface ComparedPolicy {
  readonly name: string
  /** Whether each context extends the one before, until a compaction. */
  readonly hasEpochs: boolean
  readonly derive: (view: View<Message>, options: DeriveOptions) => Either<ContextFault, DerivedContext>
}

/** The contexts of `deriveContext`. */
export const paged: ComparedPolicy = Object.freeze<ComparedPolicy>({
  name: 'paged',
  hasEpochs: true,
  derive: deriveContext,
})

/**
 * The latest messages that fit, with the instructions, the rules and the user's latest message. Calls and their results stay
 * together. The window slides with every call, so a provider's prompt cache is rarely valid.
 */
export const window: ComparedPolicy = Object.freeze<ComparedPolicy>({
  name: 'window',
  hasEpochs: false,
  derive: (view, options) => {
    const { notes = [], estimate = estimateTokens, previous, prices, toolTokens = 0, systemTokens = 0 } = options
    const count = memoizeEstimator(estimate)
    const budget = Math.max(0, usableTokens(options.budget) - toolTokens - systemTokens)
    const kinds = foldPages(notes)
    const isRule = (index: number): boolean =>
      minFidelity(kinds.get(view.positionAt(index) as number) ?? (view.pages.at(index) as PageKind)) !== 'pointer'
    const chosen = new Map<number, readonly Shown[]>()
    let space = budget
    const take = (group: Group, shown: readonly Shown[]): void => {
      if (chosen.has(group.from)) return
      chosen.set(group.from, shown)
      space -= tokensIn(shown, count)
    }
    const before = previous === undefined ? undefined : seen.get(previous)
    const continues =
      before !== undefined &&
      before.length <= view.length &&
      view.at(before.length - 1) === before.last &&
      before.sizes.count === before.length
    const sizes = (continues ? before.sizes : new Sizes()).measure(view)
    const record = { view, sizes, count, recall: 'recall' }
    // The same record as before has the same rules, as long as no note changes them.
    const isSame = continues && kinds.size === 0 && before.hasKinds === false
    const rules = isSame ? [...before.rules] : []
    let question = isSame ? before.question : -1
    for (let index = isSame ? before.length : 0; index < view.length; index++) {
      if (isSpoken(view.at(index) as Message)) question = index
      if (isRule(index)) rules.push(index)
    }
    for (const index of rules) {
      const group = groupAt(view, groupStart(view, index))
      take(group, group.shown)
    }
    space -= markerTokens * (1 + chosen.size)
    if (question >= 0) {
      const group = groupAt(view, groupStart(view, question))
      take(group, cutGroup(record, group, { kinds: new Map() }, Math.max(0, space / 2)))
    }
    for (let to = view.length; to > 0;) {
      const group = groupAt(view, groupStart(view, to - 1))
      to = group.from
      if (chosen.has(group.from)) continue
      const tokens = tokensIn(group.shown, count)
      if (tokens <= space) take(group, group.shown)
      else {
        const cut = space < leastCut ? [] : cutGroup(record, group, { kinds: new Map() }, space)
        if (cut.length > 0 && tokensIn(cut, count) <= space) take(group, cut)
        break
      }
    }
    const placed: Shown[] = []
    let from = 0
    const hide = (to: number): void => {
      if (to <= from) return
      const [first, end] = [view.positionAt(from) as number, 1 + (view.positionAt(to - 1) as number)]
      const size = sizes.before(to) - sizes.before(from)
      placed.push({
        message: user(markerText(first, end, size, [], record.recall)),
        source: { type: 'representation', level: 'pointer', from: first, to: end },
        position: first,
      })
    }
    for (const start of [...chosen.keys()].toSorted((a, b) => a - b)) {
      hide(start)
      for (const shown of chosen.get(start) as readonly Shown[]) placed.push(shown)
      from = groupAt(view, start).to
    }
    hide(view.length)
    const shown = withOwnIds(placed, new Map())
    const sums = [0]
    for (const { message } of shown) sums.push((sums.at(-1) as number) + count(message))
    const tokens = sums.at(-1) as number
    if (tokens > budget) return left({ _tag: 'MinimumDoesNotFit', needed: tokens, budget, pages: [] })
    const context = contextOf(
      {
        view,
        shown,
        length: shown.length,
        sums,
        tail: [],
        count,
        mendedAt: Infinity,
        tokens,
        budget,
        epoch: 0,
        isWhole: from === 0,
        activeFrom: Math.max(0, question),
      },
      previous,
      prices,
    )
    seen.set(context, {
      sizes,
      rules,
      question,
      hasKinds: kinds.size > 0,
      length: view.length,
      last: view.at(-1) as Message | undefined,
    })
    return right(context)
  },
})

/** What was found in the record of a context, so that the next one reads only what came since. */
const seen = new WeakMap<
  object,
  {
    readonly sizes: Sizes
    readonly rules: readonly number[]
    readonly question: number
    readonly hasKinds: boolean
    readonly length: number
    readonly last: Message | undefined
  }
>()

/** About the tokens of a marker, and the least that a cut message is worth showing with. */
const markerTokens = 60
const leastCut = 200

export const policies: readonly ComparedPolicy[] = Object.freeze([paged, window])
