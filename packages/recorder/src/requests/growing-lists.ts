/** Lists that are sent again and again as they grow: equal elements of two lists become the same objects. */
/** The number of earlier lists to compare a list with: agents work side by side, but not many. */
const mostLists = 8

/** A list, and the earlier list that shares the most of its first elements. */
export interface GrownList<Earlier> {
  readonly earlier: Earlier | undefined
  /** The number of shared elements. */
  readonly len: number
  /** The list with the earlier objects in place of equal ones. */
  readonly list: readonly unknown[]
}

/** The lists seen last. */
export class GrowingLists<Seen extends { readonly list: readonly unknown[] }> {
  /** The latest first. */
  readonly #seen: Seen[] = []

  /** Find the earlier list that shares the most. Cost: a comparison with it; with others as far as they differ. */
  find(list: readonly unknown[]): GrownList<Seen> {
    const own = [...list]
    let [earlier, most]: [Seen | undefined, number] = [undefined, 0]
    for (const seen of this.#seen) {
      const { list: theirs } = seen
      let len = 0
      while (len < own.length && len < theirs.length && isSameJson(own[len], theirs[len])) {
        own[len] = theirs[len] // so that a comparison with the next list is one of objects
        len++
      }
      if (len > most) [earlier, most] = [seen, len]
      if (len > 0 && (len === theirs.length || len === own.length)) break
    }
    return { earlier, len: most, list: own }
  }

  /** Remember a list, in place of one that it continues to its end. */
  add(seen: Seen, { earlier, len }: GrownList<Seen>): void {
    if (earlier !== undefined && len === earlier.list.length) this.#seen.splice(this.#seen.indexOf(earlier), 1)
    else if (this.#seen.length === mostLists) this.#seen.pop()
    this.#seen.unshift(seen)
  }
}

/** Whether two JSON values have the same text: the fields of objects in the same order, too. */
export const isSameJson = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false
    for (let index = 0; index < a.length; index++) if (!isSameJson(a[index], b[index])) return false
    return true
  }
  if (Array.isArray(b)) return false
  const names = Object.keys(a)
  const others = Object.keys(b)
  if (names.length !== others.length) return false
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as keyof typeof a
    if (name !== others[index] || !isSameJson(a[name], b[name])) return false
  }
  return true
}
