/** Calling a function of the caller's: what it throws, or a missing answer, becomes a refusal. */
import { after } from '../task/index.ts'

/** A handler's refusal. */
export interface Refusal {
  readonly cause: unknown
}

/**
 * What a handler makes of something: a `Left` is a refusal, and so are a throw, an answer that can't be read, and none within
 * the time. Anything else is fine.
 */
export const askHandler = async (ask: () => unknown, within: number): Promise<Refusal | undefined> => {
  try {
    const asked = ask()
    const answer: unknown = isObject(asked) ? await answeredWithin(asked, within) : asked
    const { _tag, left: cause } = (isObject(answer) ? answer : {}) as {
      readonly _tag?: unknown
      readonly left?: unknown
    }
    return _tag === 'Left' ? { cause } : undefined
  } catch (cause) {
    return { cause }
  }
}

/** Call a function of the caller's whose answer does not matter, and wait at most `within` milliseconds. */
export const tellOnly = async (work: () => unknown, within: number): Promise<void> => {
  await askHandler(work, within)
}

const answeredWithin = (asked: unknown, within: number): Promise<unknown> => {
  if (within === Infinity) return Promise.resolve(asked)
  return new Promise((resolve, reject) => {
    const timer = after(within, () => reject(new Error(`the handler has not answered within ${within} ms`)))
    Promise.resolve(asked).then(resolve, reject).finally(timer.cancel)
  })
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'
