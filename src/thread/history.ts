/**
 * Pure helpers over the history of a thread that the application keeps: an array of its own items. Nothing is added to
 * what the application gave, and nothing it gave is changed.
 *
 * A returned array is fresh; the items in it are the ones that were given.
 */
import { snapshot, type Immutable } from '../json/index.ts'
import type { ThreadItem, UserItem, WithUser } from './item.ts'

/**
 * The history that an input stands for: a string becomes one user message, exactly as given, an array is copied.
 *
 * With `deep`, the array and everything in it is a frozen copy that shares nothing with the input.
 *
 * Cost    O(items); with `deep` O(everything in them)
 * Throws  TypeError naming the path, with `deep`, if an item is not plain JSON data
 * @example
 * toThreadHistory('hello') // => [{ type: 'message', role: 'user', content: 'hello' }]
 */
export function toThreadHistory<Item = ThreadItem>(input: string | readonly Item[], options?: { readonly deep?: false }): WithUser<Item>[]
export function toThreadHistory<Item = ThreadItem>(
  input: string | readonly Item[],
  options: { readonly deep: true },
): readonly Immutable<WithUser<Item>>[]
export function toThreadHistory<Item>(input: string | readonly Item[], options: { readonly deep?: boolean } = {}): unknown {
  const history = typeof input === 'string' ? [userItem(input)] : [...input]
  return options.deep === true ? snapshot(history) : history
}

/**
 * The history with one user message more.
 *
 * Cost    O(items)
 */
export const appendUserMessage = <Item = ThreadItem>(history: readonly Item[], content: string): WithUser<Item>[] =>
  // The one cast: a `WithUser<Item>` is an item or what `userItem` makes.
  [...history, userItem(content)] as WithUser<Item>[]

const userItem = (content: string): UserItem => ({ type: 'message', role: 'user', content })
