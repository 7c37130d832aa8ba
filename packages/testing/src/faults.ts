/**
 * Deliberate faults. A medium (a database, a disk, a network) works in steps; each step can be made to fail, lose
 * its answer, crash, tear or be late. A seed or a number determines which, so that a failure can be reproduced.
 *
 * @example
 * // A pool whose statements fail according to `faults`.
 */

/**
 * What happens to a step. `fail before`: it throws and does nothing. `fail after`: it is done, but
 * its answer is lost. `crash before` and `crash after`: the same, and no later step is done.
 * `tear`: part of it is done, and it throws (`fail before` for a step without parts). `outage`: no
 * step is done until `rest`. `delay`: it is done a moment later, if it can wait.
 */
export type Strike = (typeof strikes)[number]

export const strikes = ['fail before', 'fail after', 'crash before', 'crash after', 'tear', 'outage', 'delay'] as const

/** A step that a strike hit. */
export interface StruckStep {
  /** The kind of strike. */
  readonly strike: Strike
  /** The name of the step. */
  readonly step: string
  /** The number of the step, from 0, counted while armed. */
  readonly number: number
}

/** The behavior of a medium when a step is struck. */
export interface Medium {
  /** Creates the error to throw. Default: an `Error`. */
  readonly error?: (struck: StruckStep) => unknown
  /**
   * Do part of the step.
   *
   * @param share the part, from 0 up to but not including 1
   */
  readonly tear?: (share: number) => unknown
  /** Leave the state that the end of the process leaves: locks released, transactions rolled back. */
  readonly crash?: () => void
}

/** The steps of a medium, and the strikes on them. */
export interface Faults {
  /**
   * Do a synchronous step.
   *
   * @param step its name
   * @param work performs it
   * @param medium how to behave if it is struck
   * @returns what `work` returns
   */
  readonly now: <T>(step: string, work: () => T, medium?: Medium) => T
  /**
   * Do an asynchronous step.
   *
   * @param step its name
   * @param work performs it
   * @param medium how to behave if it is struck
   * @returns what `work` resolves to
   */
  readonly later: <T>(step: string, work: () => Promise<T>, medium?: Medium) => Promise<T>
  /** Start counting and striking steps. Before this, and after `rest`, every step is done. */
  readonly arm: () => void
  /** Stop striking; every step is done. */
  readonly rest: () => void
  /** Restart after a crash: the medium works again, for a newly opened handle. */
  readonly restart: () => void
  /** Whether the medium has crashed and was not restarted. */
  readonly crashed: boolean
  /** The counted steps, in order. */
  readonly steps: readonly string[]
  /** The steps that were struck, in order. */
  readonly struck: readonly StruckStep[]
}

/** The steps to strike, and how. */
export type FaultPlan =
  /** This strike at this step, counted from 0. */
  | { readonly at: number; readonly strike: Strike }
  /** Any strike at any step, about once in `every` steps (default 10). */
  | { readonly seed: number; readonly every?: number }

/**
 * Inject faults by a plan.
 *
 * @param plan one step to strike, or a seed for random ones
 */
export const injectFaults = (plan: FaultPlan): Faults => {
  const pick = randomFrom('seed' in plan ? plan.seed : plan.at)
  const struck: StruckStep[] = []
  const steps: string[] = []
  let armed = false
  let crashed = false
  let outage: StruckStep | undefined

  const nextStrike = (step: string): StruckStep | undefined => {
    if (!armed) return undefined
    const number = steps.push(step) - 1
    if (outage !== undefined) return outage
    const strike = 'at' in plan ? (number === plan.at ? plan.strike : undefined) : chooseStrike(plan.every ?? 10)
    if (strike === undefined) return undefined
    const found = { strike, step, number }
    struck.push(found)
    if (strike === 'outage') outage = found
    return found
  }
  const chooseStrike = (every: number): Strike | undefined =>
    pick() * every < 1 ? strikes[Math.floor(pick() * strikes.length)] : undefined
  const refuse = (found: StruckStep, { error, crash }: Medium): never => {
    if (found.strike.startsWith('crash')) {
      crashed = true
      crash?.()
    }
    throw error?.(found) ?? new Error(`${found.strike}: ${found.step}`)
  }
  const begin = (step: string): StruckStep | undefined => {
    if (crashed) throw new Error(`crashed before: ${step}`)
    return nextStrike(step)
  }

  return {
    now: (step, work, medium = {}) => {
      const found = begin(step)
      if (found === undefined || found.strike === 'delay') return work()
      if (found.strike === 'tear') medium.tear?.(pick())
      if (found.strike.endsWith('after')) work()
      return refuse(found, medium)
    },
    later: async (step, work, medium = {}) => {
      const found = begin(step)
      if (found === undefined) return work()
      if (found.strike === 'delay') {
        await new Promise((resolve) => setTimeout(resolve, pick() * 20))
        return work()
      }
      if (found.strike === 'tear') await medium.tear?.(pick())
      if (found.strike.endsWith('after')) await work()
      return refuse(found, medium)
    },
    arm: () => void (armed = true),
    rest: () => {
      armed = false
      outage = undefined
    },
    restart: () => void (crashed = false),
    get crashed() {
      return crashed
    },
    steps,
    struck,
  }
}

/** Random numbers from 0 up to but not including 1, equal for equal seeds. */
export const randomFrom = (seed: number): (() => number) => {
  let state = Math.imul(seed + 1, 0x9e3779b1) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0 // mulberry32
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
