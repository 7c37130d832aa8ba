/**
 * Turns of the writers that rebase one session without a pause. The writer that is ahead is one round trip from its next
 * append. A refused writer needs several: it has to read what it missed. So it is late every time, and the first writer
 * never learns that another one waits.
 *
 * Therefore a writer steps back for a moment after it has appended without a pause for some time, its turn. If it then
 * sees rows of others, its turns are short, and it steps back nearly as long as it waited for its turn. If it sees none,
 * its turns double until the pauses take a hundredth of the time. A writer that pauses by itself never steps back: an agent
 * pauses at each call of a model.
 */
export interface Pace {
  /** Before an append: resolves when it may be sent. Undefined: at once. */
  readonly begin: () => Promise<void> | undefined
  /** After `tries` refused attempts of an append: resolves when the next may be sent. Undefined: at once. */
  readonly refused: (tries: number) => Promise<void> | undefined
  /** After an append: when it was called, and when its last attempt was sent, in milliseconds of `now`. */
  readonly done: (called: number, sent: number) => void
  readonly now: () => number
}

/** The shortest pause, in round trips: a refused writer appends within so many. */
const trips = 12
/** A turn, in shortest pauses: while others are there, the first, and the longest. */
const turn = { shared: 1.5, first: 16, longest: 100 } as const
/** The longest pause, in milliseconds, before a quarter of it is added or taken away at random. */
const longestPause = 1000

export const createPace = (
  /** How many rows of others were read. */
  foreign: () => number,
  now: () => number = () => performance.now(),
  random: () => number = Math.random,
): Pace => {
  let seen = foreign()
  let trip = 0 // milliseconds of an attempt that was not refused
  let waited = 0 // milliseconds that the last append took that met others; 0 after the next pause
  let length: number = turn.first // of a turn, in shortest pauses
  let began = now() // this turn
  let last = -Infinity // when an append was acknowledged
  let pausing: Promise<void> | undefined

  const shortest = (): number => Math.min(longestPause, Math.max(1, trips * trip))

  const stepBack = async (): Promise<void> => {
    await sleep(Math.min(longestPause, Math.max(shortest(), 0.75 * waited)) * (0.75 + random() / 2))
    length = waited > 0 ? turn.shared : Math.min(length * 2, turn.longest)
    waited = 0
    began = now()
    pausing = undefined
  }

  return {
    now,
    begin: () => {
      if (pausing !== undefined) return pausing
      const time = now()
      if (time - last > shortest()) began = time // it has paused by itself
      return time - began < length * shortest() ? undefined : (pausing = stepBack())
    },
    refused: (tries) => {
      if (foreign() === seen) return undefined // by an append of its own handle
      if (tries % 2 === 1) return undefined // an attempt after a pause is late; the one after that is not
      return sleep((shortest() * random()) / tries) // writers that have waited longest try most often
    },
    done: (called, sent) => {
      last = now()
      trip = trip === 0 ? last - sent : 0.8 * trip + 0.2 * (last - sent)
      if (foreign() === seen) return
      seen = foreign()
      length = turn.shared
      waited = last - called
      began = last
    },
  }
}

const sleep = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

// Every runtime has both; the compiler is told of neither, so that nothing here depends on one runtime.
declare const performance: { readonly now: () => number }
declare const setTimeout: (callback: () => void, milliseconds: number) => unknown
