/**
 * Fairness between writers that rebase one session without a pause. The leading writer is one round trip from its
 * next append; a refused one needs several, because it first reads the rows that it missed. Retries with random
 * pauses alone leave most writers out (bench: contention). So a writer that met others appends for a moment (a
 * burst), then pauses. It learns the length of its pause: longer while it waits for others after it, shorter while
 * it doesn't. So few writers contend at any time, and each of them appends after about the same time. Without others
 * a burst is long and a pause short: it lets a new writer in. A writer that pauses by itself never waits here: an
 * agent pauses at each model call.
 */
export interface Pace {
  /** Before an append: resolves when it may be sent. Undefined: immediately. */
  readonly begin: () => Promise<void> | undefined
  /** After `tries` refused attempts of an append: resolves when the next may be sent. Undefined: immediately. */
  readonly refused: (tries: number) => Promise<void> | undefined
  /** After an append: the times of its first and of its last attempt, in milliseconds of `now`. */
  readonly done: (called: number, sent: number) => void
  readonly now: () => number
}

/** Times in round trips: of the attempts after a pause, which the pause is fitted to; of a retry; without others. */
const trips = { attempts: 4, retry: 4, alone: 100, pauseAlone: 8 } as const
/** The length of a burst in milliseconds. A shorter one would cost more than it gives: a timer's shortest pause is 1 ms. */
const burst = 4
/** The longest pause in milliseconds, before an eighth is added or subtracted at random. */
const longestPause = 1000

/** @param foreign returns the number of rows read from other writers */
export const createPace = (
  foreign: () => number,
  now: () => number = () => performance.now(),
  random: () => number = Math.random,
): Pace => {
  let seen = foreign()
  let trip = 0 // milliseconds of an attempt that succeeded
  let wait = 0 // milliseconds of the next pause; 0: alone
  let began = now() // the start of this burst
  let isFirst = false // whether the next append is the first after a pause
  let last = -Infinity // time of the last acknowledgement

  const pauseFor = async (milliseconds: number): Promise<void> => {
    await sleep(milliseconds)
    began = now()
    isFirst = true
  }

  return {
    now,
    begin: () => {
      const time = now()
      const pause = wait > 0 ? wait : trips.pauseAlone * trip
      if (time - last > pause) {
        began = time // the writer paused by itself
        return undefined
      }
      if (time - began < (wait > 0 ? burst : trips.alone * trip)) return undefined
      return pauseFor(Math.max(1, pause) * (0.875 + random() / 4))
    },
    refused: (tries) => {
      if (foreign() === seen) return undefined // refused because of an append by its own handle
      if (tries % 2 === 1) return undefined // the first attempt after a pause is late, the next is not
      return sleep((trips.retry * trip * random()) / tries) // writers that have waited longest retry most often
    },
    done: (called, sent) => {
      last = now()
      trip = trip === 0 ? last - sent : 0.8 * trip + 0.2 * (last - sent)
      const metOthers = foreign() !== seen
      seen = foreign()
      if (metOthers) {
        wait = Math.min(longestPause, Math.max(trip, wait + (last - called - trips.attempts * trip) / 2))
        began = last
      } else if (isFirst) wait = wait < 2 * trip ? 0 : wait / 2
      isFirst = false
    },
  }
}

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

// Every runtime has both. They are declared here, so that the code depends on no runtime's types.
declare const performance: { readonly now: () => number }
declare const setTimeout: (callback: () => void, milliseconds: number) => unknown
