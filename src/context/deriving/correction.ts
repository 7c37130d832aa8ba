/**
 * The correction of an estimate by what the provider counted. A receipt says how many tokens a call was estimated to take,
 * and how many the provider counted; the factor between them is folded from the latest receipts of the model.
 *
 * A context takes a factor up at the border of an epoch only. Within an epoch the factor of its beginning holds, so that no
 * cached prefix moves for it; but a context that exceeds the budget by the newest factor has reached the budget, and that is
 * a border.
 */
import type { Note } from '../../notes/kit.ts'
import { countWhile } from './positions.ts'

/** What a receipt says of the estimate. */
export interface Count {
  /** The length of the record at the call. */
  readonly len: number
  /** The tokens of the call by the estimator: messages, tools and system prompt. */
  readonly estimated: number
  /** The tokens that the provider counted for each of them. */
  readonly ratio: number
}

/** The counts that notes have of a model, in the order of their calls. */
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

/** Counts with those that came after them. */
export const withCounts = (before: readonly Count[], added: readonly Count[]): readonly Count[] =>
  added.length === 0 ? before : inOrder([...before, ...added])

const inOrder = (counts: Count[]): readonly Count[] =>
  counts.every(({ len }, index) => index === 0 || len >= (counts[index - 1] as Count).len)
    ? counts
    : counts.toSorted((a, b) => a.len - b.len)

const none: readonly Count[] = Object.freeze([])

/**
 * What the estimate is multiplied by for a call at a length of the record: the greatest ratio of the latest four calls before
 * it that took at least a quarter of the budget. In a small call the tokens that providers add weigh too much. At least 0.8
 * and at most 2; without such calls 1.
 *
 * Cost  O(log of the receipts), and a few of them
 */
export const factorAt = (counts: readonly Count[], len: number, budget: number): number => {
  const before = countWhile(counts.length, (index) => (counts[index] as Count).len < len)
  let greatest = 0
  let found = 0
  for (let index = before - 1; index >= 0 && index >= before - lookedAt && found < latest; index--) {
    const { estimated, ratio } = counts[index] as Count
    if (estimated < budget / 4) continue
    greatest = Math.max(greatest, ratio)
    found += 1
  }
  return found === 0 ? 1 : Math.min(most, Math.max(least, greatest))
}

const latest = 4
/** Small calls among the latest, before those that count. */
export const lookedAt = 64
const least = 0.8
const most = 2
