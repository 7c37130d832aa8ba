import type { Json } from './json.ts'

/**
 * `M` itself, if all its values are plain JSON data. If not, a sentence with the reason replaces
 * the invalid part, and the compiler shows it: `createHistory<{ at: Date }>()` does not compile.
 *
 * A property may be optional or `undefined`: it is omitted, as in JSON. An element may not.
 * `unknown` and `any` pass, and are checked at run time.
 *
 * @example
 * const made = <M extends Recordable<M>>(): History<M> => createHistory<M>()
 */
export type Recordable<M> = [M] extends [Checked<M>] ? unknown : Checked<M>

type Checked<M> = unknown extends M
  ? unknown
  : [Json] extends [M]
    ? unknown
    : M extends string
      ? string
      : M extends number
        ? number
        : M extends boolean
          ? boolean
          : M extends null
            ? null
            : M extends undefined
              ? 'undefined can not be recorded here: write null, or leave the property out'
              : M extends bigint
                ? 'a bigint can not be recorded: write it as a string'
                : M extends symbol
                  ? 'a symbol can not be recorded: write it as a string'
                  : M extends ((...args: never) => unknown) | (abstract new (...args: never) => unknown)
                    ? 'a function can not be recorded: record the data that it is made from'
                    : M extends Date
                      ? 'a Date can not be recorded: write date.toISOString()'
                      : M extends ReadonlyMap<unknown, unknown>
                        ? 'a Map can not be recorded: write Object.fromEntries(map) or [...map]'
                        : M extends ReadonlySet<unknown>
                          ? 'a Set can not be recorded: write [...set]'
                          : M extends ArrayBuffer | ArrayBufferView
                            ? 'bytes can not be recorded: write them as base64'
                            : M extends Promise<unknown>
                              ? 'a promise can not be recorded: await it first'
                              : M extends readonly (infer Item)[]
                                ? number extends M['length']
                                  ? readonly Checked<Item>[]
                                  : { readonly [Index in keyof M]: Checked<M[Index]> }
                                : CheckedObject<M>

type CheckedObject<M> =
  M extends Iterable<unknown>
    ? 'an iterable can not be recorded: write [...values]'
    : [keyof M, object] extends [never, M]
      ? 'object and {} can not be recorded: name the properties, or write JsonObject'
      : IsError<M> extends true
        ? 'an Error can not be recorded: write { name: error.name, message: error.message }'
        : Public<M> extends M
          ? { readonly [Key in keyof M]: Key extends symbol ? SymbolKey<M, Key> : Property<M[Key]> }
          : 'a class with private or protected members can not be recorded: write a plain object'

type Property<T> = T extends undefined ? undefined : Checked<T>

/** An optional symbol key is a type brand, which no value has. An index signature of symbols is none. */
type SymbolKey<M, Key extends keyof M> = symbol extends Key
  ? NoSymbolKey
  : {} extends Pick<M, Key>
    ? unknown
    : NoSymbolKey

type NoSymbolKey = 'a symbol key can not be recorded: write a string key'

/** `name` and `message` alone don't make an error, because data may have both. Neither does an index signature. */
type IsError<M> = M extends Error
  ? string extends keyof M
    ? false
    : [keyof Error] extends [keyof M]
      ? true
      : false
  : false

/** A copy of a type by its keys. A type with private members is not assignable from it. */
type Public<M> = { [Key in keyof M]: M[Key] }
