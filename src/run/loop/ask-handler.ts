/** Calls a user function; an exception or a missing answer becomes a refusal. */
import type { Clock } from '../../task/index.ts'

interface Refusal {
  readonly cause: unknown
}

/** How long an answer may take. */
export interface HandlerLimit {
  readonly milliseconds: number
  readonly clock: Clock
}

/** Asks a handler. A `Left`, an exception, an unreadable answer or a timeout is a refusal; any other answer is not. */
export const askHandler = async (ask: () => unknown, within: HandlerLimit): Promise<Refusal | undefined> => {
  try {
    const wanted = ask()
    const answer: unknown = isObject(wanted) ? await settleWithin(wanted, within) : wanted
    const { _tag, left: cause } = (isObject(answer) ? answer : {}) as {
      readonly _tag?: unknown
      readonly left?: unknown
    }
    return _tag === 'Left' ? { cause } : undefined
  } catch (cause) {
    return { cause }
  }
}

const settleWithin = (answer: unknown, { milliseconds, clock }: HandlerLimit): Promise<unknown> => {
  if (milliseconds === Infinity) return Promise.resolve(answer)
  return new Promise((resolve, reject) => {
    const timer = clock.after(milliseconds, () =>
      reject(new Error(`the handler did not answer within ${milliseconds} ms`)),
    )
    Promise.resolve(answer).then(resolve, reject).finally(timer.cancel)
  })
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'
