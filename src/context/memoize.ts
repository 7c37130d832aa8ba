/** Caches a function's result per object. The result must be immutable. */
export const memoize = <Key extends WeakKey, Value>(find: (key: Key) => Value): ((key: Key) => Value) => {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    let value = known.get(key)
    if (value === undefined) known.set(key, (value = find(key)))
    return value
  }
}

/** The same for short texts, such as words. A longer text is not cached, and a full cache starts over. */
export const memoizeText = <Value>(find: (text: string) => Value): ((text: string) => Value) => {
  const known = new Map<string, Value>()
  return (text) => {
    if (text.length > longestText) return find(text)
    let value = known.get(text)
    if (value === undefined) {
      if (known.size === mostTexts) known.clear()
      known.set(text, (value = find(text)))
    }
    return value
  }
}

const longestText = 32
const mostTexts = 20_000
