/** Timers of any length. */

/** A timer that has not fired yet, or has. */
export interface Timer {
  /** It does not fire any more. */
  readonly cancel: () => void
}

/** How a timer behaves. */
export interface TimerOptions {
  /** Whether it may keep a process alive that has nothing else to do. Default: `true`. */
  readonly keeps?: boolean
  /** Milliseconds that one timer of the platform holds. Default: 2,147,483,647, the most; beyond it one fires at once. */
  readonly longest?: number | undefined
}

/** What tells the time and measures it out. */
export interface Clock {
  /**
   * The time.
   *
   * @returns milliseconds since any moment; they never go back
   */
  readonly now: () => number
  /**
   * Call a function later.
   *
   * @param milliseconds how much later
   * @param options whether it may keep the process alive
   */
  readonly after: (milliseconds: number, work: () => void, options?: Pick<TimerOptions, 'keeps'>) => Timer
}

// Every runtime has them; the compiler is told of none, so that nothing here depends on one runtime.
declare const setTimeout: (work: () => void, milliseconds: number) => unknown
declare const clearTimeout: (timer: unknown) => void
declare const performance: { readonly now: () => number }

/** Call `work` after so many milliseconds, 30 days among them; with `Infinity` never. */
export const after = (
  milliseconds: number,
  work: () => void,
  { keeps = true, longest = longestTimer }: TimerOptions = {},
): Timer => {
  let timer: unknown
  const wait = (left: number): void => {
    const now = Math.min(left, longest)
    timer = setTimeout(() => (left > now ? wait(left - now) : work()), now)
    if (!keeps && typeof timer === 'object') (timer as { readonly unref?: () => void } | null)?.unref?.() // Node's
  }
  if (milliseconds !== Infinity) wait(milliseconds)
  return { cancel: () => clearTimeout(timer) }
}

/** The most milliseconds that a timer of the platform holds: 24.8 days. */
export const longestTimer: number = 2 ** 31 - 1

/** The clock of the platform. */
export const systemClock: Clock = Object.freeze({ now: () => performance.now(), after })
