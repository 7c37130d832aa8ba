/** The store's clock. */

/** The latest time of a `Date`, in milliseconds since 1970. The earliest is its negative. */
export const latest = 8.64e15

/** Reads the clock. Throws RangeError if it does not return whole milliseconds within the range of `Date`. */
export const momentOf = (now: () => number): number => {
  const moment = now()
  if (!Number.isInteger(moment) || Math.abs(moment) > latest)
    throw new RangeError(`now() returned ${String(moment)}; expected whole milliseconds since 1970, at most ${latest}`)
  return moment
}
