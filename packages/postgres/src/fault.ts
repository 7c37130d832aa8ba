/** PostgreSQL's errors, as faults of the store. */
import type { OpenStoreFault } from 'indelible/store/kit'
import { ConnectionLost, stateOf, within, type Place } from './database.ts'

// https://www.postgresql.org/docs/18/errcodes-appendix.html
export const foreignKey = '23503'
const unique = '23505'
const serialization = '40001'
const deadlock = '40P01'
const readOnly = '25006'
const diskFull = '53100'
export const queryCanceled = '57014'
const lockNotAvailable = '55P03'
// Somebody has made it since it was looked for.
const duplicateSchema = '42P06'
const duplicateTable = '42P07'

/** Whether the same again may go well: somebody else was quicker, or in the way. */
export const isPassing = (error: unknown): boolean =>
  [foreignKey, unique, serialization, deadlock, duplicateSchema, duplicateTable].includes(stateOf(error) ?? '')

export const faultOf = (error: unknown, place: Place, operation: string): OpenStoreFault => {
  switch (stateOf(error)) {
    case readOnly:
      return { _tag: 'ReadOnly', path: place.name }
    case diskFull:
      return { _tag: 'Full', path: place.name }
    case queryCanceled:
    case lockNotAvailable:
      return { _tag: 'Busy', waited: place.timeout }
    default:
      if (isPassing(error)) return { _tag: 'Busy', waited: place.timeout }
      return {
        _tag: 'Io',
        operation,
        cause: error,
        ...(error instanceof ConnectionLost && { outcome: 'unknown' as const }),
      }
  }
}

/**
 * Do something that others may be in the way of, again and again until it is done or the time is over. A later try has what
 * is left of the time, also for a statement that has to wait.
 *
 * @param since when the time began. Default: now
 */
export const patiently = async <T>(
  timeout: number,
  work: () => Promise<T>,
  since: number = performance.now(),
): Promise<T> => {
  const until = since + timeout
  for (let pause = 1; ; pause = Math.min(pause * 2, 100)) {
    const left = until - performance.now()
    try {
      return await (left > 0.9 * timeout ? work() : within(left, work))
    } catch (error) {
      if (!isPassing(error) || performance.now() + pause > until) throw error
    }
    // Not all waiters at the same moment again.
    await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())))
  }
}
