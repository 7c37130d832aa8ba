/** Calls a user function; an exception or a missing answer becomes a refusal. */
import { after } from '../task/index.ts'

/** A handler's refusal. */
export interface Refusal {
  readonly cause: unknown
}

/** Asks a handler. A `Left`, an exception, an unreadable answer or a timeout is a refusal; any other answer is not. */
export const askHandler = async (ask: () => unknown, within: number): Promise<Refusal | undefined> => {
  try {
    const asked = ask()
    const answer: unknown = isObject(asked) ? await settleWithin(asked, within) : asked
    const { _tag, left: cause } = (isObject(answer) ? answer : {}) as {
      readonly _tag?: unknown
      readonly left?: unknown
    }
    return _tag === 'Left' ? { cause } : undefined
  } catch (cause) {
    return { cause }
  }
}

/** Calls a user function whose answer does not matter, and waits at most `within` milliseconds. */
export const notifyHandler = async (work: () => unknown, within: number): Promise<void> => {
  await askHandler(work, within)
}

const settleWithin = (asked: unknown, within: number): Promise<unknown> => {
  if (within === Infinity) return Promise.resolve(asked)
  return new Promise((resolve, reject) => {
    const timer = after(within, () => reject(new Error(`the handler did not answer within ${within} ms`)))
    Promise.resolve(asked).then(resolve, reject).finally(timer.cancel)
  })
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'
