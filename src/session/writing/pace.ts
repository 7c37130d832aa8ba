/**
 * Fairness between writers that rebase one session without a pause. The leading writer is one round trip from its
 * next append; a refused one needs several, because it first reads the rows that it missed. Retries with random
 * pauses alone leave most writers out (bench: contention). So a writer whose append met others pauses before its
 * next one, about as long as the append took. Without others it pauses for 8 round trips after each 100, so that
 * a new writer gets in. A writer that pauses by itself never waits here: an agent pauses at each model call.
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

/** Times in round trips. */
const trips = { shortestPause: 4, retry: 4, alone: 100, pauseAlone: 8 } as const
/** The longest pause in milliseconds, before up to a quarter is added or subtracted at random. */
const longestPause = 1000

/** @param foreign returns the number of rows read from other writers */
export const createPace = (
  foreign: () => number,
  now: () => number = () => performance.now(),
  random: () => number = Math.random,
): Pace => {
  let seen = foreign()
  let trip = 0 // milliseconds of an attempt that succeeded
  let wait = 0 // milliseconds of the last append that met others, less for each one since that met none
  let began = now() // the start of the appends without a pause
  let last = -Infinity // time of the last acknowledgement

  const pause = (milliseconds: number): Promise<void> =>
    sleep(Math.min(longestPause, Math.max(1, milliseconds)) * (0.75 + random() / 2))

  return {
    now,
    begin: () => {
      const time = now()
      if (time - last > trips.pauseAlone * trip) {
        began = time // the writer paused by itself
        return undefined
      }
      if (wait > 0) return pause(Math.max(trips.shortestPause * trip, wait))
      if (time - began < trips.alone * trip) return undefined
      return pause(trips.pauseAlone * trip).then(() => void (began = now()))
    },
    refused: (tries) => {
      if (foreign() === seen) return undefined // refused because of an append by its own handle
      if (tries % 2 === 1) return undefined // the first attempt after a pause is late, the next is not
      return sleep((trips.retry * trip * random()) / tries) // writers that have waited longest retry most often
    },
    done: (called, sent) => {
      last = now()
      trip = trip === 0 ? last - sent : 0.8 * trip + 0.2 * (last - sent)
      const waited = foreign() === seen ? wait * 0.7 : last - called
      wait = waited < trip ? 0 : waited
      seen = foreign()
    },
  }
}

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

// Every runtime has both. They are declared here, so that the code depends on no runtime's types.
declare const performance: { readonly now: () => number }
declare const setTimeout: (callback: () => void, milliseconds: number) => unknown
