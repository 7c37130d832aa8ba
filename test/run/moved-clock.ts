/** A clock that a test moves: nothing happens on it by itself. */
import type { Clock } from '../../src/task/index.ts'

export interface MovedClock extends Clock {
  /** Moves to a time, and runs the timers due by then, in their order. */
  readonly moveTo: (time: number) => Promise<void>
  /** The times at which timers are due. */
  readonly due: () => readonly number[]
}

export const movedClock = (): MovedClock => {
  let now = 0
  let timers: { readonly at: number; readonly work: () => void }[] = []
  return {
    now: () => now,
    after: (milliseconds, work) => {
      const timer = { at: now + milliseconds, work }
      timers.push(timer)
      return { cancel: () => void (timers = timers.filter((one) => one !== timer)) }
    },
    moveTo: async (time) => {
      for (;;) {
        await settled()
        const [next] = timers.toSorted((a, b) => a.at - b.at)
        if (next === undefined || next.at > time) break
        timers = timers.filter((timer) => timer !== next)
        now = Math.max(now, next.at)
        next.work()
      }
      now = time
    },
    due: () => timers.map(({ at }) => at).toSorted((a, b) => a - b),
  }
}

/** Waits until work that waits for nothing outside is done. */
export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
}
