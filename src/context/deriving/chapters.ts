/**
 * Chapters: a derivation from nothing reads only the end of a long record closely: with `paged`, the latest 4 to 16 budgets
 * of it. What was recorded before is only counted, in markers without lines: compactions have shortened most of it that far
 * anyway. So the cost of a first context depends on the budget more than on the length of the record.
 *
 * A chapter is as many messages as take three quarters of what the policy reads. Where one ends, the context is derived as
 * if the record had only been read closely from two thirds of the chapter on: what continues a context reads the rest, a
 * quarter of what the policy reads, beside it, as a track of its own.
 */
import type { View } from '../../history/index.ts'
import type { Message } from '../../message/index.ts'
import { minFidelity, type PageKind } from '../../pages/index.ts'
import { memoizeEstimator } from '../counting/tokens.ts'
import { largestShare } from '../policies/fit.ts'
import { budgetsRead } from '../policies/policy.ts'
import type { Settings } from './settings.ts'

/** The latest chapter, in messages of the conversation. */
export interface Chapter {
  number: number
  /** The number of messages that are only counted. */
  counted: number
  /** The number of messages that are read before they are counted: a long unit is read first, and not counted. */
  countedAt: number
  /** The number of messages before the latest chapter. */
  from: number
  /** The tokens of the latest chapter so far. */
  tokens: number
  /** The tokens of the latest unit so far, for a policy that chooses at each call. */
  unit?: number | undefined
  /** Where the last unit begins that starts before the part which the next chapter reads closely too. */
  unitFrom?: number | undefined
  /** What is only counted after this chapter, once that is known. */
  next?: Pick<Chapter, 'counted' | 'countedAt'> | undefined
}

/** The latest chapter of a view, of which no message is counted yet. */
export const latestChapter = (view: View<Message>, settings: Settings): Chapter => {
  const chapter = firstChapter()
  const length = tokensRead(settings) < Infinity ? view.length : 0 // without a limit there is one chapter
  for (let index = 0; index < length; index++)
    if (!addToChapter(chapter, view, index, settings)) Object.assign(chapter, chapterAfter(chapter, index))
  return { ...chapter, tokens: 0, unit: undefined, unitFrom: undefined, next: undefined }
}

/** The chapter at the beginning of a record. */
export const firstChapter = (): Chapter => ({ number: 0, counted: 0, countedAt: 0, from: 0, tokens: 0 })

/** The tokens of a record that are read closely at most; a record with an infinite number has one chapter. */
export const tokensRead = ({ policy, budget }: Settings): number => {
  const budgets = budgetsRead(policy)
  return budgets === Infinity ? Infinity : budgets * budget
}

/** Adds a message to its chapter, or returns false: it is the last of the chapter. */
export const addToChapter = (chapter: Chapter, view: View<Message>, index: number, settings: Settings): boolean => {
  if (index < chapter.from) return true
  const message = view.at(index) as Message
  const { role } = message
  const limit = tokensRead(settings)
  let tokens = memoizeEstimator(settings.estimate)(message, view.positionAt(index))
  if (settings.policy.choose === 'always') {
    // A long unit may be cut to this share, and a rule to its outline: older messages can still fit beside them.
    const most = settings.budget * largestShare
    const before = role === 'tool' ? (chapter.unit ?? 0) : 0
    chapter.unit = before + tokens
    tokens = isRule(view, index) ? 0 : Math.min(chapter.unit, most) - Math.min(before, most)
  }
  if (chapter.tokens + tokens >= limit * shareOfChapter) return false
  if (chapter.next === undefined && role !== 'tool') {
    const over = chapter.tokens / limit - (shareOfChapter - shareBefore)
    if (over < 0) chapter.unitFrom = index
    else chapter.next = { counted: over < longUnit ? index : (chapter.unitFrom ?? index), countedAt: index }
  }
  chapter.tokens += tokens
  return true
}

/** The chapter after one that ends with a message. */
export const chapterAfter = ({ number, unitFrom, next }: Chapter, index: number): Chapter => ({
  number: number + 1,
  ...(next ?? { counted: unitFrom ?? index, countedAt: index }),
  from: index + 1,
  tokens: 0,
  unit: undefined,
  unitFrom: undefined,
  next: undefined,
})

/** Epochs are numbered from here, so that no two contexts of a record with different beginnings have the same. */
export const firstEpoch = ({ number }: Chapter): number => number * 1000

const isRule = (view: View<Message>, index: number): boolean =>
  minFidelity(view.pages.at(index) as PageKind) !== 'pointer'

/** A chapter's length, and how much of it the next one reads closely once more, as shares of what the policy reads. */
const shareOfChapter = 3 / 4
const shareBefore = 1 / 4
/** A unit that is longer than this share is read closely once more itself, so that what follows it is not read alone. */
const longUnit = 1 / 16
