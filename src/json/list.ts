/** Lists that grow without running setters of `Array.prototype`, and the frozen arrays made from them. */
import { arrayPrototype, freeze, setPrototypeOf } from './builtins.ts'

/** A list without a prototype: `list[list.length] = item` runs no setter. It has no methods. */
export const emptyList = <T>(): T[] => setPrototypeOf<T[]>([], null)

/** Turns the list itself into an ordinary array, and freezes it. */
export const arrayOf = <T>(list: T[]): readonly T[] => freeze(setPrototypeOf(list, arrayPrototype))

/** A frozen array of `length` items. Short ones are literals, which run no setters and cost a tenth of a list. */
export const buildArray = <T>(length: number, make: (index: number) => T): readonly T[] => {
  switch (length) {
    case 0:
      return freeze([])
    case 1:
      return freeze([make(0)])
    case 2:
      return freeze([make(0), make(1)])
    case 3:
      return freeze([make(0), make(1), make(2)])
    case 4:
      return freeze([make(0), make(1), make(2), make(3)])
    default: {
      const list = emptyList<T>()
      for (let index = 0; index < length; index++) list[index] = make(index)
      return arrayOf(list)
    }
  }
}

/** A frozen array of the results of `make` for each item. */
export const mapEach = <T, U>(items: readonly T[], make: (item: T, index: number) => U): readonly U[] =>
  buildArray(items.length, (index) => make(items[index] as T, index))

/** Freezes the items, and returns them in a frozen array. */
export const freezeEach = <T>(items: readonly T[]): readonly T[] => mapEach(items, (item) => freeze(item) as T)

/** A frozen array of the items that pass. */
export const filterEach = <T, U extends T = T>(
  items: readonly T[],
  passes: ((item: T) => item is U) | ((item: T) => boolean),
): readonly U[] => {
  const list = emptyList<U>()
  for (let index = 0; index < items.length; index++) {
    const item = items[index] as T
    if (passes(item)) list[list.length] = item as U
  }
  return arrayOf(list)
}
