/**
 * Putting another history into a thread: an object of the application's with its `history` in it, and whatever else.
 * The thread that is given stays as it is.
 */
import { describe } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import { encodeThread } from './codec.ts'
import type { RuntimeItem } from './item.ts'

/** Any object with a history in it. */
export interface Thread {
  /** The items, oldest first. */
  readonly history: readonly unknown[]
}

/** An item of a thread's history. */
export type ItemOf<T extends Thread> = T['history'][number]

/**
 * A finished result: one with a `history` of the thread's items, or (if a `RuntimeItem` is assignable to them) one with
 * the `messages` and the `stopReason` of a run of this library.
 *
 * A promise or a stream is not finished, even if it has a `history`: wait for it, and pass what it ended with.
 */
export type FinishedResult<Item> = NotRunning &
  ({ readonly history: readonly Item[] } | (RuntimeItem extends Item ? FinishedRun : never))

/** The result of a run of this library, as far as it matters here. */
export interface FinishedRun {
  /** Every message of the run, the seed included. */
  readonly messages: readonly Message[]
  /** Why the run ended. A running one has none. */
  readonly stopReason: unknown
}

interface NotRunning {
  readonly then?: never
  readonly [Symbol.asyncIterator]?: never
}

/**
 * Replace the history of a thread.
 *
 * Keeps the prototype and every other own property: symbols, accessors and properties that are not enumerable too. The
 * copy of a frozen thread is not frozen. Private fields (`#name`) are not copied.
 *
 * Cost    O(own properties + items)
 * @param thread the thread; it is not changed
 * @param history the new items; the array is copied
 * @returns a new thread of the same type
 * @example
 * replaceThreadHistory({ id: 't1', history: [] }, items) // { id: 't1', history: [...items] }
 */
export const replaceThreadHistory = <T extends Thread>(thread: T, history: readonly ItemOf<T>[]): T => {
  const properties = Object.getOwnPropertyDescriptors(thread) as { [key: PropertyKey]: PropertyDescriptor }
  if (Object.isFrozen(thread))
    for (const key of Reflect.ownKeys(properties)) properties[key] = thaw(properties[key] as PropertyDescriptor)
  properties['history'] = { value: [...history], writable: true, enumerable: true, configurable: true }
  // The one cast: all of T's own properties, on T's prototype.
  return Object.create(Object.getPrototypeOf(thread) as object | null, properties) as T
}

/**
 * Replace the history of a thread by that of a finished result. Messages of a run of this library become thread items.
 *
 * Cost    O(own properties + items)
 * @param thread the thread; it is not changed
 * @param result an object with `history`, or the result of a run
 * @returns a new thread of the same type
 * @throws TypeError if the result has neither `history` nor `messages`: an Either, a promise, a run that has not ended
 * @example
 * applyRunResultHistory(thread, await runner.run(agent, thread.history))
 */
export const applyRunResultHistory = <T extends Thread>(thread: T, result: FinishedResult<ItemOf<T>>): T => {
  const { history, messages } = Object(result) as unknown as {
    readonly history?: readonly ItemOf<T>[]
    readonly messages?: readonly Message[]
  }
  if (Array.isArray(history)) return replaceThreadHistory(thread, history)
  if (!Array.isArray(messages))
    throw new TypeError(
      `applyRunResultHistory takes a result with \`history\`, or with the \`messages\` of a run that has ended (of an Either, its \`right\`), not ${describe(result)}`,
    )
  // The cast: messages are in the type only where a RuntimeItem is an item of T. A thread of aioc's passes other items by.
  return replaceThreadHistory(thread, encodeThread(messages) as readonly ItemOf<T>[])
}

const thaw = (property: PropertyDescriptor): PropertyDescriptor =>
  'value' in property ? { ...property, writable: true, configurable: true } : { ...property, configurable: true }
