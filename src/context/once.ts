/** What is found out once for each object: only where the answer can't change. */
export const once = <Key extends WeakKey, Value>(find: (key: Key) => Value): ((key: Key) => Value) => {
  const known = new WeakMap<Key, Value>()
  return (key) => {
    let value = known.get(key)
    if (value === undefined) known.set(key, (value = find(key)))
    return value
  }
}
