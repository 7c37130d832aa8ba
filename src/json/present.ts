import { define, keysOf } from './builtins.ts'

/** The fields of an object, without those that are undefined. */
export type Present<T> = { readonly [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  readonly [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>
}

/**
 * The fields of an object that are not undefined, for optional fields of another object.
 *
 * @example
 * ({ id, ...present({ reason, by }) })
 */
export const present = <T extends object>(fields: T): Present<T> => {
  const found = {}
  const names = keysOf(fields)
  for (let index = 0; index < names.length; index++) {
    const name = names[index] as keyof T & string
    if (fields[name] !== undefined) define(found, name, fields[name])
  }
  return found as Present<T> // omitted fields are optional
}
