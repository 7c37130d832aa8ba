/**
 * `T`, readonly all the way down: the type of a recorded value.
 *
 * It goes both ways with Immer's type of the same name. Immer's ends in TS2589, "excessively deep", on a message type of
 * your own that contains itself in an array; this one takes arrays apart by their element and does not. What can't be
 * recorded (Map, Set, Date …) needs no case here: see `Recordable`.
 */
export type Immutable<T> = T extends Leaf
  ? T
  : T extends readonly (infer Item)[]
    ? number extends T['length']
      ? readonly Immutable<Item>[]
      : { readonly [Index in keyof T]: Immutable<T[Index]> }
    : T extends object
      ? { readonly [Key in keyof T]: Immutable<T[Key]> }
      : T

type Leaf = string | number | bigint | boolean | symbol | null | undefined | ((...args: never) => unknown)
