/** A function of a text that keeps its latest answers. */
export const memo = <T>(compute: (text: string) => T, most: number): ((text: string) => T) => {
  const known = new Map<string, T>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const made = compute(text)
    known.set(text, made)
    if (known.size > most) known.delete(known.keys().next().value as string)
    return made
  }
}

/** A function of an object, worked out once for each. */
export const memoizeByKey = <K extends object, T>(compute: (key: K) => T): ((key: K) => T) => {
  const known = new WeakMap<K, { readonly made: T }>()
  return (key) => {
    const found = known.get(key) ?? { made: compute(key) }
    known.set(key, found)
    return found.made
  }
}
