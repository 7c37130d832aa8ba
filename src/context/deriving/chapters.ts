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
import { memoizeEstimator } from '../counting/tokens.ts'
import { budgetsRead } from '../policies/policy.ts'
import type { Settings } from './settings.ts'

/** The latest chapter, in messages of the conversation. */
export interface Chapter {
  /** The number of chapters before. */
  number: number
  /** The number of messages that are only counted, and by which message that is done. */
  counted: number
  countedAt: number
  /** The number of messages before the latest chapter. */
  from: number
  /** The tokens of the latest chapter so far. */
  tokens: number
  /** Where its latest unit begins of which the start is in the part that only this chapter reads closely. */
  unitFrom?: number | undefined
  /** What is only counted after this chapter, once that is known. */
  next?: Pick<Chapter, 'counted' | 'countedAt'> | undefined
}

/** The latest chapter of a view, of which no message is counted yet. */
export const latestChapter = (view: View<Message>, settings: Settings): Chapter => {
  const chapter = firstChapter()
  if (hasChapters(settings))
    for (let index = 0; index < view.length; index++) addToChapter(chapter, view, index, settings)
  return { ...chapter, tokens: 0, unitFrom: undefined, next: undefined }
}

/** The chapter at the beginning of a record. */
export const firstChapter = (): Chapter => ({ number: 0, counted: 0, countedAt: 0, from: 0, tokens: 0 })

/** Whether a record can have more than one chapter. */
export const hasChapters = ({ policy }: Settings): boolean => budgetsRead(policy) < Infinity

/** Counts a message. One that ends the chapter begins the next. */
export const addToChapter = (chapter: Chapter, view: View<Message>, index: number, settings: Settings): void => {
  if (index < chapter.from) return
  if (endsChapter(chapter, view, index, settings)) {
    Object.assign(chapter, { unitFrom: undefined, next: undefined }, chapterAfter(chapter, index))
    return
  }
  if (chapter.next === undefined && view.at(index)?.role !== 'tool') {
    const over = chapter.tokens / tokensRead(settings) - (shareOfChapter - shareBefore)
    if (over < 0) chapter.unitFrom = index
    else chapter.next = { counted: over < longUnit ? index : (chapter.unitFrom ?? index), countedAt: index }
  }
  chapter.tokens = tokensWith(chapter, view, index, settings)
}

/** The chapter after one that ends with a message. */
export const chapterAfter = ({ number, unitFrom, next }: Chapter, index: number): Chapter => ({
  number: number + 1,
  ...(next ?? { counted: unitFrom ?? index, countedAt: index }),
  from: index + 1,
  tokens: 0,
})

/** Epochs are numbered from here, so that no two contexts of a record with different beginnings have the same. */
export const firstEpoch = ({ number }: Chapter): number => number * 1000

/** Whether a message is the last of the chapter. */
export const endsChapter = (chapter: Chapter, view: View<Message>, index: number, settings: Settings): boolean =>
  index >= chapter.from && tokensWith(chapter, view, index, settings) >= tokensRead(settings) * shareOfChapter

const tokensWith = ({ tokens }: Chapter, view: View<Message>, index: number, { estimate }: Settings): number =>
  tokens + memoizeEstimator(estimate)(view.at(index) as Message, view.positionAt(index))

const tokensRead = ({ policy, budget }: Settings): number => budgetsRead(policy) * budget

/** A chapter's length, and how much of it the next one reads closely once more, as shares of what the policy reads. */
const shareOfChapter = 3 / 4
const shareBefore = 1 / 4
/** A unit that is longer than this share is read closely once more itself, so that what follows it is not read alone. */
const longUnit = 1 / 16
