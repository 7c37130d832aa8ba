/** A scale of times on which long pauses take little space. */

import { firstWhere } from '../first-where.ts'

/** From one time to another, in milliseconds since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Scale {
  /** The milliseconds from the first to the last time, without what pauses were shortened by. 0 without times. */
  readonly length: number
  /** The milliseconds from the first to the last time. */
  readonly whole: number
  readonly isShortened: boolean
  /** The place of a time: 0 at the start, 1 at the end. */
  readonly placeOf: (at: number) => number
}

/** A pause is as long as this at most, in milliseconds. */
const longestPause = 60_000

/**
 * A scale from the first to the last time.
 *
 * Cost    O(spans · log spans); a place O(log pauses)
 *
 * @param busy what shortens no pause
 * @param around the first and the last time, if they are known
 */
export const timeScale = (busy: readonly Span[], around: Span | undefined): Scale => {
  const points = around === undefined ? [] : [around.from, around.to].map((at) => ({ from: at, to: at }))
  const sorted = [...busy, ...points].toSorted((a, b) => a.from - b.from)
  const [first] = sorted
  if (first === undefined) return { length: 0, whole: 0, isShortened: false, placeOf: () => 0 }
  /** Where each shortened pause ends, and by how much all pauses up to it are shorter. */
  const pauses: { readonly from: number; readonly to: number; readonly less: number }[] = []
  let [end, less] = [first.from, 0]
  for (const { from, to } of sorted) {
    if (from - end > longestPause) {
      less += from - end - longestPause
      pauses.push({ from: end, to: from, less })
    }
    end = Math.max(end, to)
  }
  const lessAt = (at: number): number => {
    const low = firstWhere(pauses.length, (index) => (pauses[index]?.from ?? 0) >= at)
    const pause = pauses[low - 1]
    if (pause === undefined) return 0
    // A time within a pause is drawn before the end of the pause, by the time that is left of it.
    return at >= pause.to ? pause.less : Math.max(pauses[low - 2]?.less ?? 0, pause.less - (pause.to - at))
  }
  const length = end - first.from - less
  return {
    length,
    whole: end - first.from,
    isShortened: pauses.length > 0,
    placeOf: (at) => (length === 0 ? 0 : Math.min(1, Math.max(0, (at - first.from - lessAt(at)) / length))),
  }
}
