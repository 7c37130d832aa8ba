/** Shared by what joins the pieces of streamed answers. */

export type Fields = { [field: string]: unknown }

/** The fields with a value. Setting `__proto__` would change another object. */
export const valuesIn = (fields: object): readonly (readonly [field: string, value: unknown])[] =>
  Object.entries(fields).filter(([field, value]) => value !== null && value !== undefined && field !== '__proto__')

export const isIndex = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0

/** The index that a piece names, or that of the next item. */
export const indexFor = (items: readonly { readonly index: number }[], given: unknown): number =>
  isIndex(given) ? given : (items.at(-1)?.index ?? -1) + 1

/** Adds an item in the order of the indexes, but at the end if another one has the same index. */
export const insertByIndex = <Item extends { readonly index: number }>(items: Item[], item: Item): Item => {
  const isKnown = items.some(({ index }) => index === item.index)
  const later = isKnown ? -1 : items.findIndex(({ index }) => index > item.index)
  items.splice(later === -1 ? items.length : later, 0, item)
  return item
}
