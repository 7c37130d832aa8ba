/**
 * `T`, deeply readonly: the type of a recorded value.
 *
 * It is compatible in both directions with Immer's type of the same name. Immer's fails with TS2589,
 * "excessively deep", for a message type that contains itself in an array; this one splits arrays by element
 * and does not. Values that can't be recorded (Map, Set, Date …) need no case here: see `Recordable`.
 */
export type Immutable<T> = T extends
  | string
  | number
  | bigint
  | boolean
  | symbol
  | null
  | undefined
  | ((...args: never) => unknown)
  ? T
  : T extends readonly (infer Item)[]
    ? number extends T['length']
      ? readonly Immutable<Item>[]
      : { readonly [Index in keyof T]: Immutable<T[Index]> }
    : T extends object
      ? Recorded<T>
      : T

/** A recorded object. The type has a name, so that editors show `Recorded<Message>` and not its fields. */
export type Recorded<T> = { readonly [Key in keyof T]: Immutable<T[Key]> }
