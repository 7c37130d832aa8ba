/** A function that remembers its answer for each object. The answer must not change. */
export const once = <Key extends WeakKey, Value>(find: (key: Key) => Value): ((key: Key) => Value) => {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    let value = known.get(key)
    if (value === undefined) known.set(key, (value = find(key)))
    return value
  }
}
