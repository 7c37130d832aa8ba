/**
 * Putting another history into a thread: an object of the application's with its `history` in it, and whatever else.
 * The thread that is given stays as it is.
 */
import { describe } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import { encodeThread } from './codec.ts'
import type { ThreadItem } from './item.ts'

/** Anything with a history in it. */
export interface Thread {
  readonly history: readonly unknown[]
}

/** An item of a thread's history. */
export type ItemOf<T extends Thread> = T['history'][number]

/**
 * A result that is there: one with a `history` of the thread's items, or (where those can be a `ThreadItem`) one with
 * the `messages` and the `stopReason` of a run of this library.
 *
 * A promise or a stream has not got there yet, also where it has a `history` already: wait for it, and give what it
 * ended with.
 */
export type FinishedResult<Item> = NotRunning & ({ readonly history: readonly Item[] } | (ThreadItem extends Item ? FinishedRun : never))

/** What a run of this library ended with, as far as it matters here. */
export interface FinishedRun {
  readonly messages: readonly Message[]
  readonly stopReason: unknown
}

interface NotRunning {
  readonly then?: never
  readonly [Symbol.asyncIterator]?: never
}

/**
 * The same thread with another history: every other own property is kept (symbols, accessors and what is not enumerable
 * too), and so is the prototype. The copy of a frozen thread is not frozen. Private fields (`#name`) can't be copied.
 *
 * Cost    O(own properties + items)
 */
export const replaceThreadHistory = <T extends Thread>(thread: T, history: readonly ItemOf<T>[]): T => {
  const properties = Object.getOwnPropertyDescriptors(thread) as { [key: PropertyKey]: PropertyDescriptor }
  if (Object.isFrozen(thread)) for (const key of Reflect.ownKeys(properties)) properties[key] = thawed(properties[key] as PropertyDescriptor)
  properties['history'] = { value: [...history], writable: true, enumerable: true, configurable: true }
  // The one cast: all of T's own properties, on T's prototype.
  return Object.create(Object.getPrototypeOf(thread) as object | null, properties) as T
}

/**
 * The same thread with the history of a finished result. The messages of a run of this library become thread items.
 *
 * Cost    O(own properties + items)
 * Throws  TypeError, if the result has neither: an Either, a promise, a run that has not ended
 */
export const applyRunResultHistory = <T extends Thread>(thread: T, result: FinishedResult<ItemOf<T>>): T => {
  const { history, messages } = (Object(result) as unknown) as { readonly history?: readonly ItemOf<T>[]; readonly messages?: readonly Message[] }
  if (Array.isArray(history)) return replaceThreadHistory(thread, history)
  if (!Array.isArray(messages)) throw new TypeError(`applyRunResultHistory takes a result with \`history\`, or with the \`messages\` of a run that has ended (of an Either, its \`right\`), not ${describe(result)}`)
  // The cast: messages are in the type only where a ThreadItem is an item of T.
  return replaceThreadHistory(thread, encodeThread(messages) as readonly ItemOf<T>[])
}

const thawed = (property: PropertyDescriptor): PropertyDescriptor =>
  'value' in property ? { ...property, writable: true, configurable: true } : { ...property, configurable: true }
