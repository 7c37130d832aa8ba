/** The fields of an object, without those that are undefined. */
type Present<T> = { readonly [Key in keyof T as undefined extends T[Key] ? never : Key]: T[Key] } & {
  readonly [Key in keyof T as undefined extends T[Key] ? Key : never]?: Exclude<T[Key], undefined>
}

/**
 * The fields of an object that are not undefined, for optional fields of another object.
 *
 * @example
 * ({ id, ...present({ reason, by }) })
 */
export const present = <T extends object>(fields: T): Present<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<T> // omitted fields are optional
