/**
 * Corrects the estimate by the provider's counts. A receipt records the estimated and the actual
 * tokens of a call; the correction factor is computed from the model's latest receipts.
 *
 * A new factor takes effect only at an epoch boundary, so it never invalidates a cached prefix. A context that
 * exceeds the budget by the newest factor has reached the budget, which starts a new epoch.
 */
import type { Note } from '../../notes/kit.ts'
import { countWhile } from '../../sequence/index.ts'

/** The estimate of one call and its correction, from a receipt. */
export interface Count {
  /** The length of the record at the call. */
  readonly len: number
  /** The tokens of the call by the estimator: messages, tools and system prompt. */
  readonly estimated: number
  /** The tokens that the provider counted per estimated token. */
  readonly ratio: number
}

/** A model's counts in the notes, in call order. */
export const countsOf = (notes: Iterable<Note>, model: string | undefined): readonly Count[] => {
  if (model === undefined) return none
  const counts: Count[] = []
  for (const note of notes) {
    if (note.type !== 'receipt' || note.model !== model) continue
    const { len, estimated = 0, usage } = note
    if (estimated > 0 && usage !== undefined && usage.input > 0)
      counts.push({ len, estimated, ratio: usage.input / estimated })
  }
  return inOrder(counts)
}

/** Merges counts, in call order. */
export const withCounts = (before: readonly Count[], added: readonly Count[]): readonly Count[] =>
  added.length === 0 ? before : inOrder([...before, ...added])

const inOrder = (counts: Count[]): readonly Count[] =>
  counts.every(({ len }, index) => index === 0 || len >= (counts[index - 1] as Count).len)
    ? counts
    : counts.toSorted((a, b) => a.len - b.len)

const none: readonly Count[] = Object.freeze([])

/**
 * The correction factor for a call at a length of the record: the greatest ratio among the latest
 * four earlier calls that took at least a quarter of the budget. (In smaller calls the tokens that
 * providers add weigh too much.) Between 0.8 and 2; 1 without such calls.
 *
 * Cost  O(log receipts), plus at most 64 of them
 */
export const factorAt = (counts: readonly Count[], len: number, budget: number): number => {
  const before = countWhile(counts.length, (index) => (counts[index] as Count).len < len)
  let greatest = 0
  let found = 0
  for (let index = before - 1; index >= 0 && index >= before - recentCallsRead && found < latest; index--) {
    const { estimated, ratio } = counts[index] as Count
    if (estimated < budget / 4) continue
    greatest = Math.max(greatest, ratio)
    found += 1
  }
  return found === 0 ? 1 : Math.min(most, Math.max(least, greatest))
}

const latest = 4
/** How many of the latest receipts are checked for calls that are large enough. */
export const recentCallsRead = 64
const least = 0.8
const most = 2
