/** Guards calls against host functions that throw or return nonsense: clocks, ids, scopes and fields of a call. */
import { hasField } from 'indelible/internal/json'
import type { Signal } from './call-context.ts'

/** The result of a read, or `otherwise` if it throws. Default: undefined. */
export const tryRead = <T, U = undefined>(read: () => T, otherwise?: U): T | U => {
  try {
    return read()
  } catch {
    return otherwise as U
  }
}

/** The result of a function if it is text; undefined if it throws or returns something else. */
export const textFrom = (read: () => unknown): string | undefined =>
  tryRead(() => {
    const text = read()
    return typeof text === 'string' ? text.toWellFormed() : undefined
  })

/** The clock's time; the real time if it throws or returns something invalid. */
export const timeFrom = (now: () => number): number => {
  const time = tryRead(now, NaN)
  return typeof time === 'number' && !Number.isNaN(new Date(time).getTime()) ? time : Date.now()
}

/** The result of the work, or the reason of the signal if it aborts first. */
export const raceAbort = <T>(signal: Signal | undefined, work: () => T | PromiseLike<T>): T | PromiseLike<T> => {
  if (signal === undefined) return work()
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(tryRead(() => signal.reason, new Error('the call was aborted')))
    if (tryRead(() => signal.aborted) === true) return abort()
    const stop = listenTo(signal, abort)
    const begun = (async () => work())()
    void begun.then(resolve, reject).finally(stop)
    return undefined
  })
}

/** Listen for the signal's abort; a signal that throws is ignored. Returns a function that stops listening. */
export const listenTo = (signal: Signal, abort: () => void): (() => void) => {
  tryRead(() => signal.addEventListener('abort', abort))
  return () => tryRead(() => signal.removeEventListener('abort', abort))
}

/** Call a host's callback, and ignore its result and errors. */
export const callQuietly = (work: () => unknown): void => {
  try {
    // An unhandled rejection would end the process.
    void Promise.resolve(work()).catch(() => undefined)
  } catch {
    // Telemetry must not break the call, and there is nowhere else to report this.
  }
}

/**
 * Run a function exactly once inside a scope, and return its result, even if the scope throws, runs
 * it twice or never, or returns something else.
 */
export const runOnceWithin = <T>(run: ((work: () => unknown) => unknown) | undefined, work: () => T): T => {
  let done: { readonly value: T } | { readonly error: unknown } | undefined
  const once = (): unknown => {
    if (done === undefined) {
      done = { error: new Error('the scope called its function again before the first call had ended') }
      try {
        done = { value: work() }
      } catch (error) {
        done = { error }
      }
    }
    if (hasField(done, 'value')) return done.value
    throw done.error
  }
  if (run !== undefined) tryRead(() => run(once))
  if (done === undefined) tryRead(() => once())
  const ended = done as unknown as { readonly value: T } | { readonly error: unknown }
  if (hasField(ended, 'value')) return ended.value
  throw ended.error
}
