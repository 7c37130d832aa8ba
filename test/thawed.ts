/** The first path below a value that is not frozen: whatever the library returns is frozen, all the way down. */
export const thawed = (value: unknown, path = 'value'): string | undefined => {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Object.isFrozen(value)) return path
  for (const key of Reflect.ownKeys(value)) {
    const found = thawed((value as { readonly [key: PropertyKey]: unknown })[key], `${path}.${String(key)}`)
    if (found !== undefined) return found
  }
  return undefined
}
