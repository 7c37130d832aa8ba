/** Caches a function's result per object. The result must be immutable. */
export const memoize = <Key extends WeakKey, Value>(find: (key: Key) => Value): ((key: Key) => Value) => {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    let value = known.get(key)
    if (value === undefined) known.set(key, (value = find(key)))
    return value
  }
}
