/**
 * Fair turns for writers that rebase one session without a pause. The leading writer is one round
 * trip from its next append. A refused writer needs several, because it must first read the rows it
 * missed. So it is always late, and the leading writer never learns that another one waits.
 *
 * Therefore a writer that has appended without a pause for some time (its turn) pauses for a
 * moment. If it then sees rows of others, its turns become short, and it pauses nearly as long as
 * it waited for its turn. If it sees none, its turns double until the pauses take a hundredth of
 * the time. A writer that pauses by itself needs no such pause: an agent pauses at each model call.
 */
export interface Pace {
  /** Before an append: resolves when it may be sent. Undefined: immediately. */
  readonly begin: () => Promise<void> | undefined
  /** After `tries` refused attempts of an append: resolves when the next may be sent. Undefined: immediately. */
  readonly refused: (tries: number) => Promise<void> | undefined
  /** After an append: the times of its call and of its last attempt, in milliseconds of `now`. */
  readonly done: (called: number, sent: number) => void
  readonly now: () => number
}

/** The shortest pause, in round trips: enough for a refused writer to append. */
const shortestPauseTrips = 12
/** The length of a turn, in shortest pauses: with other writers present, the first, and the longest. */
const turnLengths = { shared: 1.5, first: 16, longest: 100 } as const
/** The longest pause in milliseconds, before up to a quarter is added or subtracted at random. */
const longestPause = 1000

export const createPace = (
  /** The number of rows read from other writers. */
  foreign: () => number,
  now: () => number = () => performance.now(),
  random: () => number = Math.random,
): Pace => {
  let seen = foreign()
  let trip = 0 // milliseconds of an attempt that succeeded
  let waited = 0 // milliseconds of the last append that met other writers; 0 after the next pause
  let length: number = turnLengths.first // of a turn, in shortest pauses
  let began = now() // start of this turn
  let last = -Infinity // time of the last acknowledgement
  let pausing: Promise<void> | undefined

  const shortest = (): number => Math.min(longestPause, Math.max(1, shortestPauseTrips * trip))

  const stepBack = async (): Promise<void> => {
    await sleep(Math.min(longestPause, Math.max(shortest(), 0.75 * waited)) * (0.75 + random() / 2))
    length = waited > 0 ? turnLengths.shared : Math.min(length * 2, turnLengths.longest)
    waited = 0
    began = now()
    pausing = undefined
  }

  return {
    now,
    begin: () => {
      if (pausing !== undefined) return pausing
      const time = now()
      if (time - last > shortest()) began = time // the writer paused by itself
      return time - began < length * shortest() ? undefined : (pausing = stepBack())
    },
    refused: (tries) => {
      if (foreign() === seen) return undefined // refused because of an append by its own handle
      if (tries % 2 === 1) return undefined // the first attempt after a pause is late, the next is not
      return sleep((shortest() * random()) / tries) // writers that have waited longest retry most often
    },
    done: (called, sent) => {
      last = now()
      trip = trip === 0 ? last - sent : 0.8 * trip + 0.2 * (last - sent)
      if (foreign() === seen) return
      seen = foreign()
      length = turnLengths.shared
      waited = last - called
      began = last
    },
  }
}

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

// Every runtime has both. They are declared here, so that the code depends on no runtime's types.
declare const performance: { readonly now: () => number }
declare const setTimeout: (callback: () => void, milliseconds: number) => unknown
