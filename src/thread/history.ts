/**
 * Pure helpers over the history of a thread that the application keeps: an array of its own items. Nothing is added to
 * what the application gave, and nothing it gave is changed.
 *
 * A returned array is fresh; the items in it are the ones that were given.
 */
import { snapshot } from '../json/index.ts'
import type { ThreadItem, UserItem, WithUser } from './item.ts'

/**
 * Make a thread history of an input: a string becomes one user message, unchanged; an array is copied.
 *
 * With `deep`, the array and everything in it is a frozen copy that shares nothing with the input. Its type stays
 * mutable, so that functions of other libraries accept it; a change to it throws.
 *
 * Cost    O(items); with `deep` O(everything in them)
 * @param input the text of the user, or the items so far
 * @param options `deep`: copy and freeze the items too. Default: false
 * @returns a new array; without `deep` it has the items you gave
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
): WithUser<Item>[]
export function toThreadHistory<Item>(
  input: string | readonly Item[],
  options: { readonly deep?: boolean } = {},
): unknown {
  const history = typeof input === 'string' ? [userItem(input)] : [...input]
  return options.deep === true ? snapshot(history) : history
}

/**
 * Append one user message.
 *
 * Cost    O(items)
 * @param history the items so far; they are not changed
 * @param content the text, unchanged
 * @returns a new array with one item more
 * @example
 * appendUserMessage(history, 'and now?').length // history.length + 1
 */
export const appendUserMessage = <Item = ThreadItem>(history: readonly Item[], content: string): WithUser<Item>[] =>
  // The one cast: a `WithUser<Item>` is an item or what `userItem` makes.
  [...history, userItem(content)] as WithUser<Item>[]

const userItem = (content: string): UserItem => ({ type: 'message', role: 'user', content })
