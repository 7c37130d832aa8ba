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

// Every runtime has both; the compiler is told of neither, so that nothing here depends on one runtime.
declare const setTimeout: (work: () => void, milliseconds: number) => unknown
declare const clearTimeout: (timer: unknown) => void

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
