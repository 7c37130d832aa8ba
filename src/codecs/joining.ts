/** What the joiners of streamed answers share. */
import { isObject, ownField } from '../json/index.ts'

export type Fields = { [field: string]: unknown }

/** The fields with a value. Setting `__proto__` would change another object. */
export const valuesIn = (fields: object): readonly (readonly [field: string, value: unknown])[] =>
  Object.entries(fields).filter(([field, value]) => value !== null && value !== undefined && field !== '__proto__')

export const isIndex = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0

/**
 * Counts so far with those of a later event. Null and zero replace nothing: servers fill fields with them that they
 * don't count there.
 */
export const mergeCounts = (before: unknown, later: Fields): Fields => {
  const counts: { [field: string]: unknown } = isObject(before) ? { ...before } : {}
  for (const [field, value] of Object.entries(later)) {
    if (field === '__proto__' || value === null || value === undefined) continue
    const known = ownField(counts, field)
    if (value === 0 && typeof known === 'number') continue
    counts[field] = isObject(value) && isObject(known) ? mergeCounts(known, value as Fields) : value
  }
  return counts
}

interface Indexed {
  readonly index: number
}

/**
 * The items of a streamed answer in the order of their indexes, as a server would have sent them whole. Servers may
 * leave out an index, use one twice, or send them in any order: a second item of an index follows all others.
 *
 * Cost of each operation: O(1); of `all` O(n log n) after items came out of order.
 */
export class JoinedItems<T extends Indexed> {
  readonly #places = new Map<T, number>()
  readonly #byIndex = new Map<number, T>()
  #all: T[] = []
  #isSorted = true
  /** The item that is the last one in order. */
  last: T | undefined

  get size(): number {
    return this.#all.length
  }

  get all(): readonly T[] {
    if (!this.#isSorted) this.#all = this.#all.toSorted((a, b) => this.placeOf(a) - this.placeOf(b))
    this.#isSorted = true
    return this.#all
  }

  /** The latest item of an index. */
  at(index: number): T | undefined {
    return this.#byIndex.get(index)
  }

  /** A number that is larger for an item that comes later. Equal numbers: the item that was added first. */
  placeOf(item: T): number {
    return this.#places.get(item) as number
  }

  /** The index of an item that an event begins: that of the event, or the next one. */
  indexOr(index: unknown): number {
    return isIndex(index) ? index : (this.last?.index ?? -1) + 1
  }

  add(item: T): void {
    const { index } = item
    const most = this.last === undefined ? -1 : this.placeOf(this.last)
    const place = this.#byIndex.has(index) ? most : index
    this.#places.set(item, place)
    this.#byIndex.set(index, item)
    this.#all.push(item)
    if (place >= most) this.last = item
    else this.#isSorted = false
  }
}
