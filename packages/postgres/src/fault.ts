/** Turns PostgreSQL's errors into store faults. */
import type { OpenStoreFault, StoreFault } from 'indelible/internal/store'
import { ConnectionLost, stateOf, withStatementLimit, type Place } from './database.ts'

// https://www.postgresql.org/docs/18/errcodes-appendix.html
export const foreignKey = '23503'
const unique = '23505'
const serialization = '40001'
const deadlock = '40P01'
const readOnly = '25006'
const insufficientPrivilege = '42501'
const diskFull = '53100'
export const queryCanceled = '57014'
const lockNotAvailable = '55P03'
// Another process has created it meanwhile.
const duplicateSchema = '42P06'
const duplicateTable = '42P07'

/** What a role that may read can do. */
const readingOperation = /^(?:open|read|list|get|look|check|search)\b/

/** Whether a retry may succeed, because another transaction was first or in the way. */
export const isTransient = (error: unknown): boolean =>
  [foreignKey, unique, serialization, deadlock, duplicateSchema, duplicateTable].includes(stateOf(error) ?? '')

/** Ends the work of a method, and rolls back its transaction, with a fault. */
export class Refused extends Error {
  readonly fault: StoreFault

  constructor(fault: StoreFault) {
    super(fault._tag)
    this.fault = fault
  }
}

export const faultOf = (error: unknown, place: Place, operation: string): OpenStoreFault => {
  switch (stateOf(error)) {
    case readOnly:
      return { _tag: 'ReadOnly', path: place.name }
    case insufficientPrivilege: {
      if (!readingOperation.test(operation)) return { _tag: 'ReadOnly', path: place.name }
      return { _tag: 'Io', operation, cause: error }
    }
    case diskFull:
      return { _tag: 'Full', path: place.name }
    case queryCanceled:
    case lockNotAvailable:
      return { _tag: 'Busy', waited: place.timeout }
    default:
      if (isTransient(error)) return { _tag: 'Busy', waited: place.timeout }
      return {
        _tag: 'Io',
        operation,
        cause: error,
        ...(error instanceof ConnectionLost && { outcome: 'unknown' as const }),
      }
  }
}

/**
 * Retry work while other transactions are in the way, until it succeeds or the time is over. A
 * retry gets the remaining time, also for each statement that has to wait.
 *
 * @param since the start of the time. Default: now
 */
export const retryUntil = async <T>(
  timeout: number,
  work: () => Promise<T>,
  since: number = performance.now(),
): Promise<T> => {
  const until = since + timeout
  for (let pause = 1; ; pause = Math.min(pause * 2, 100)) {
    try {
      return await withStatementLimit(until - performance.now(), work)
    } catch (error) {
      if (!isTransient(error) || performance.now() + pause > until) throw error
    }
    // Random, so that waiters don't all retry at the same moment.
    await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())))
  }
}
