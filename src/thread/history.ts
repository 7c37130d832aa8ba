/**
 * Pure helpers for the history of a thread that the application keeps: an array of its own items.
 * They never modify their input and add nothing to it.
 *
 * Returned arrays are new; their items are the given ones.
 */
import { describe, optionsOf, snapshot, type Immutable } from '../json/index.ts'
import type { ThreadItem, UserItem, WithUser } from './item.ts'

/**
 * Makes a thread history from an input: a string becomes one user message, unchanged; an array is copied.
 *
 * With `deep`, the array and everything in it is a frozen copy that shares nothing with the input. Its type is readonly
 * at every depth.
 *
 * Cost    O(items); with `deep` O(everything in them)
 * @param input the user's text, or the items so far
 * @param options `deep`: copy and freeze the items too. Default: false
 * @returns a new array; without `deep` it has the given items
 * @throws TypeError naming the path, with `deep`, if an item is not plain JSON data
 * @example
 * toThreadHistory('hello') // [{ type: 'message', role: 'user', content: 'hello' }]
 */
export function toThreadHistory<Item = ThreadItem>(
  input: string | readonly Item[],
  options?: { readonly deep?: false },
): WithUser<Item>[]
export function toThreadHistory<Item = ThreadItem>(
  input: string | readonly Item[],
  options: { readonly deep: true },
): readonly Immutable<WithUser<Item>>[]
export function toThreadHistory<Item>(
  input: string | readonly Item[],
  options: { readonly deep?: boolean } = {},
): unknown {
  const { deep } = optionsOf('toThreadHistory', options, { deep: true })
  const history = typeof input === 'string' ? [userItem(input)] : [...itemsOf('toThreadHistory', input)]
  return deep === true ? snapshot(history) : history
}

/**
 * Appends one user message.
 *
 * Cost    O(items)
 * @param history the items so far; not modified
 * @param content the text, unchanged
 * @returns a new array with one more item
 * @throws TypeError if `content` is not a string
 * @example
 * appendUserMessage(history, 'and now?').length // history.length + 1
 */
export const appendUserMessage = <Item = ThreadItem>(history: readonly Item[], content: string): WithUser<Item>[] =>
  // The only cast: a `WithUser<Item>` is an item or a result of `userItem`.
  [...itemsOf('appendUserMessage', history), userItem(content)] as WithUser<Item>[]

/** The items of a history. Throws TypeError for another value, which the compiler would have rejected. */
export const itemsOf = <Item>(call: string, items: readonly Item[]): readonly Item[] => {
  if (!Array.isArray(items)) throw new TypeError(`${call} takes an array of items, found ${describe(items)}`)
  return items
}

const userItem = (content: string): UserItem => {
  if (typeof content !== 'string')
    throw new TypeError(`appendUserMessage expects the text of the message, found ${describe(content)}`)
  return { type: 'message', role: 'user', content }
}
