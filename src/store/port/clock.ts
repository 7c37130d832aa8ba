/** Times, as a store's clock gives them. */

/** The latest moment that a `Date` can be, in milliseconds since 1970; the earliest is as far on the other side. */
export const latest = 8.64e15

/** Throws RangeError, where the clock gives what is no moment in whole milliseconds. */
export const momentOf = (now: () => number): number => {
  const moment = now()
  if (!Number.isInteger(moment) || Math.abs(moment) > latest)
    throw new RangeError(`now() gave ${String(moment)}; expected whole milliseconds since 1970, at most ${latest}`)
  return moment
}
