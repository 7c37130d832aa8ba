/**
 * Replaces the history in a thread: an application object with a `history` and any other
 * properties. The given thread is not modified.
 */
import { codecFaultText } from '../codecs/internal.ts'
import { describe, isLeft, jsonEqual } from '../json/index.ts'
import type { Message } from '../message/index.ts'
import { withErasedText } from '../message/internal.ts'
import { decodeThread, encodeThread } from './codec.ts'
import { itemsOf } from './history.ts'
import type { RuntimeItem } from './item.ts'

/** Any object with a history. */
export interface Thread {
  /** The items, oldest first. */
  readonly history: readonly unknown[]
}

/** An item of a thread's history. */
type ItemOf<T extends Thread> = T['history'][number]

/**
 * A finished result: one with a `history` of the thread's items, or (if a `RuntimeItem` is assignable to them) one
 * with the `messages` and `stopReason` of a run of this library.
 *
 * A promise or stream is not finished, even if it has a `history`: await it, and pass its final result.
 */
type FinishedResult<Item> = {
  /** Only a promise has it. */
  readonly then?: never
  /** Only a stream has it. */
  readonly [Symbol.asyncIterator]?: never
} & ({ readonly history: readonly Item[] } | (RuntimeItem extends Item ? FinishedRun : never))

/** The relevant fields of a run's result in this library. */
export interface FinishedRun {
  /** All messages of the run, including the initial ones. */
  readonly messages: readonly Message[]
  /** Why the run ended. Missing while it is running. */
  readonly stopReason: unknown
  /** The number of initial messages. Default: unknown, so the thread's history is replaced without a comparison. */
  readonly viewLength?: number
}

/**
 * Replaces the history of a thread.
 *
 * Keeps the prototype and all other own properties, including symbols, accessors and non-enumerable
 * ones. The copy of a frozen thread is not frozen. Private fields (`#name`) are not copied.
 *
 * Cost    O(own properties + items)
 * @param thread the thread; not modified
 * @param history the new items; the array is copied
 * @returns a new thread of the same type
 * @throws TypeError if the thread has no array `history`, or `history` is no array
 * @throws TypeError if its class keeps the history elsewhere: `history` is an inherited accessor with a setter
 * @example
 * replaceThreadHistory({ id: 't1', history: [] }, items) // { id: 't1', history: [...items] }
 */
export const replaceThreadHistory = <T extends Thread>(thread: T, history: readonly ItemOf<T>[]): T => {
  if (!Array.isArray((Object(thread) as Partial<Thread>).history))
    throw new TypeError(
      `replaceThreadHistory expects a thread with its items in an array \`history\`, found ${describe(thread)}`,
    )
  if (inheritsSetter(thread))
    throw new TypeError(
      'replaceThreadHistory: the class of the thread keeps `history` elsewhere, behind a setter, so a copy would have two histories; make the copy yourself, and set its `history`',
    )
  const properties = Object.getOwnPropertyDescriptors(thread) as { [key: PropertyKey]: PropertyDescriptor }
  if (Object.isFrozen(thread))
    for (const key of Reflect.ownKeys(properties)) properties[key] = thawProperty(properties[key] as PropertyDescriptor)
  properties['history'] = {
    value: [...itemsOf('replaceThreadHistory', history)],
    writable: true,
    enumerable: true,
    configurable: true,
  }
  // The only cast: all of T's own properties, on T's prototype.
  return Object.create(Object.getPrototypeOf(thread) as object | null, properties) as T
}

/**
 * Replaces the history of a thread with that of a finished result. Messages from a run of this library become
 * thread items. Messages that were added to the thread while the run worked stay, after those of the run.
 *
 * Cost    O(own properties + items); for a run's result O(everything in them)
 * @param thread the thread; not modified
 * @param result an object with `history`, which replaces that of the thread, or a run's result
 * @returns a new thread of the same type
 * @throws TypeError if the result has neither `history` nor `messages` (an Either, a promise, an unfinished run), or the
 * thread has messages that are neither those that the run began with nor later ones
 * @example
 * applyRunResultHistory(thread, await runner.run(agent, thread.history))
 */
export function applyRunResultHistory<T extends Thread>(thread: T, result: FinishedResult<ItemOf<T>>): T
/**
 * The same with the type arguments of aioc's function of this name.
 *
 * @typeParam _Context the context of the run
 * @param thread the thread; not modified
 * @param result an object with `history`, which replaces that of the thread, or a run's result
 * @returns a new thread of the same type
 */
export function applyRunResultHistory<_Context, T extends Thread>(thread: T, result: FinishedResult<ItemOf<T>>): T
export function applyRunResultHistory<T extends Thread>(thread: T, result: FinishedResult<ItemOf<T>>): T {
  const { history, messages, viewLength } = Object(result) as unknown as Partial<FinishedRun> & {
    readonly history?: readonly ItemOf<T>[]
  }
  if (Array.isArray(history)) return replaceThreadHistory(thread, history)
  if (!Array.isArray(messages))
    throw new TypeError(
      `applyRunResultHistory expects a result with \`history\`, or a finished run's result with \`messages\` (for an Either, pass its \`right\`), found ${describe(result)}`,
    )
  // The type only allows messages if T's items include RuntimeItem. aioc threads ignore other items.
  const later = viewLength === undefined ? [] : laterMessages(thread, messages, viewLength)
  return replaceThreadHistory(thread, encodeThread([...messages, ...later]) as readonly ItemOf<T>[])
}

/** The messages of a thread that a run neither began with nor added. Throws a TypeError if the run began with others. */
const laterMessages = ({ history }: Thread, messages: readonly Message[], viewLength: number): readonly Message[] => {
  const decoded = decodeThread(history)
  if (isLeft(decoded))
    throw new TypeError(
      `applyRunResultHistory: the history of the thread can't be compared with the messages of the run: ${codecFaultText(decoded.left)}`,
    )
  let next = 0 // a run may begin with more, such as a system prompt
  for (const [index, message] of decoded.right.entries()) {
    let found = next
    while (found < messages.length && !jsonEqual(message, withErasedText(messages[found] as Message))) found += 1
    if (found === messages.length && next >= viewLength) return decoded.right.slice(index)
    if (found === messages.length)
      throw new TypeError(
        `applyRunResultHistory: the run did not begin with message ${index} of the thread, which would be lost. If it may be lost, use replaceThreadHistory(thread, encodeThread(result.messages))`,
      )
    next = found + 1
  }
  return []
}

/** Whether `history` is inherited and has a setter. */
const inheritsSetter = (thread: object): boolean => {
  let owner: object | null = thread
  while (owner !== null && !Object.hasOwn(owner, 'history')) owner = Object.getPrototypeOf(owner) as object | null
  return owner !== thread && Object.getOwnPropertyDescriptor(owner ?? thread, 'history')?.set !== undefined
}

const thawProperty = (property: PropertyDescriptor): PropertyDescriptor =>
  'value' in property ? { ...property, writable: true, configurable: true } : { ...property, configurable: true }
