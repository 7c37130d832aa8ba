/** Timers of any length. */
import { describe } from '../json/index.ts'

/** A timer, fired or not. */
export interface Timer {
  /** Stops the timer. */
  readonly cancel: () => void
}

/** A source of time and timers. */
export interface Clock {
  /**
   * The time.
   *
   * @returns milliseconds since an arbitrary moment; they never decrease
   */
  readonly now: () => number
  /**
   * Call a function later.
   *
   * @param milliseconds the delay: at most 2,147,483,647, as platform timers take
   * @param options whether it may keep the process alive
   */
  readonly after: (milliseconds: number, work: () => void, options?: { readonly keeps?: boolean }) => Timer
}

// Every runtime has these. They are declared here, so that the code depends on no runtime's types.
declare const setTimeout: (work: () => void, milliseconds: number) => unknown
declare const clearTimeout: (timer: unknown) => void
declare const performance: { readonly now: () => number }

/** The longest delay of a platform timer in milliseconds: 24.8 days. Beyond it, it fires at once. */
export const longestTimer: number = 2 ** 31 - 1

/** A timer of any length, by one that waits up to `longest` milliseconds. With `Infinity` it never calls. */
export const longTimer =
  (start: Clock['after'], longest: number = longestTimer): Clock['after'] =>
  (milliseconds, work, options) => {
    let timer: Timer | undefined
    const wait = (left: number): void => {
      const part = Math.min(left, longest)
      timer = start(part, () => (left > part ? wait(left - part) : work()), options)
    }
    if (milliseconds !== Infinity) wait(milliseconds)
    return { cancel: () => timer?.cancel() }
  }

export const platformTimer: Clock['after'] = (milliseconds, work, { keeps = true } = {}) => {
  const timer = setTimeout(work, milliseconds)
  if (!keeps && typeof timer === 'object') (timer as { readonly unref?: () => void } | null)?.unref?.() // Node's
  return { cancel: () => clearTimeout(timer) }
}

/** Call `work` after a delay, even one of 30 days; with `Infinity`, never. */
export const after: Clock['after'] = longTimer(platformTimer)

/** The platform's clock. */
export const systemClock: Clock = Object.freeze({ now: () => performance.now(), after })

/**
 * The caller's clock, which also takes longer delays; with `Infinity` it never calls. The system's without one.
 *
 * Throws  TypeError for a value that is no clock
 */
export const clockOf = (clock: Clock | undefined): Clock => {
  if (clock === undefined || clock === systemClock) return systemClock
  const { now, after: start } = Object(clock) as Partial<Clock>
  if (typeof now !== 'function' || typeof start !== 'function')
    throw new TypeError(`clock is ${describe(clock)}; expected an object with the methods now and after`)
  return { now: () => clock.now(), after: longTimer((...timer) => clock.after(...timer)) }
}
