/** Shared by what joins the pieces of streamed answers. */

export type Fields = { [field: string]: unknown }

/** The fields with a value. Setting `__proto__` would change another object. */
export const valuesIn = (fields: object): readonly (readonly [field: string, value: unknown])[] =>
  Object.entries(fields).filter(([field, value]) => value !== null && value !== undefined && field !== '__proto__')

export const isIndex = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0
