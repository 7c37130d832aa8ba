/**
 * Built-in functions, captured when this module loads. Records are made with these only, so code
 * that later patches `Array.prototype.every` or `JSON.stringify` can't affect them. Methods take
 * their object as first argument: `sliceText(text, 1)` for `text.slice(1)`.
 *
 * Some syntax calls built-ins, too. So recording code avoids `for…of`, spread and patterns over arrays (they call the
 * array iterator), growing arrays by index or `push` (a setter on `Array.prototype` would run: use `emptyList`),
 * adding keys by assignment (use `define`), and reading absent fields from `Object.prototype` (use `ownField`).
 */

const { call } = Function.prototype

/** Turns a method into a function of its object. */
export const bindMethod = <Taken>(method: (...given: never) => unknown): Taken => call.bind(method) as Taken

export const create: (prototype: object | null) => object = Object.create
export const freeze: <T>(value: T) => Readonly<T> = Object.freeze
export const defineProperty: typeof Object.defineProperty = Object.defineProperty
export const getPrototypeOf: (value: object) => object | null = Object.getPrototypeOf
export const setPrototypeOf: <T extends object>(value: T, prototype: object | null) => T = Object.setPrototypeOf
export const keysOf: (value: object) => readonly string[] = Object.keys
export const namesOf: (value: object) => readonly string[] = Object.getOwnPropertyNames
export const symbolsOf: (value: object) => readonly symbol[] = Object.getOwnPropertySymbols
export const descriptorOf: (value: object, key: PropertyKey) => PropertyDescriptor | undefined =
  Object.getOwnPropertyDescriptor
export const hasOwn: (value: object, key: PropertyKey) => boolean = Object.hasOwn
/** Whether an object has an own field. Narrows like `in`, which also checks prototypes. */
export const hasField: <T extends object, K extends string>(value: T, field: K) => value is WithMember<T, K> =
  Object.hasOwn as never
type WithMember<T, K extends string> = [Member<T, K>] extends [never]
  ? T & { readonly [P in K]: unknown }
  : Member<T, K>
type Member<T, K> = T extends unknown ? (K extends keyof T ? T : never) : never
export const apply: <Result>(method: (...given: never) => Result, self: unknown, given: readonly unknown[]) => Result =
  Reflect.apply

export const isArray: (value: unknown) => value is readonly unknown[] = Array.isArray
export const isFinite: (value: number) => boolean = Number.isFinite
export const isSafeInteger: (value: unknown) => value is number = Number.isSafeInteger as never

export const objectPrototype: object = Object.prototype
export const arrayPrototype: object = Array.prototype

export const parseText: (text: string) => unknown = JSON.parse
/** `JSON.stringify` checks prototypes for `toJSON`: use it only for strings, or after the checks of `textOfJson`. */
export const stringify: (value: unknown) => string = JSON.stringify

export const isWellFormed: (text: string) => boolean = bindMethod(String.prototype.isWellFormed)
export const toWellFormed: (text: string) => string = bindMethod(String.prototype.toWellFormed)
export const sliceText: (text: string, from: number, to?: number) => string = bindMethod(String.prototype.slice)
export const indexIn: (text: string, wanted: string, from?: number) => number = bindMethod(String.prototype.indexOf)
export const trim: (text: string) => string = bindMethod(String.prototype.trim)
export const codeAt: (text: string, index: number) => number = bindMethod(String.prototype.charCodeAt)
export const fromCodes = (codes: readonly number[]): string => apply(fromCharCode, undefined, codes)
/** Instead of `test`, which looks up `exec` on the expression. */
export const exec: (expression: RegExp, text: string) => RegExpExecArray | null = bindMethod(RegExp.prototype.exec)

/** The number of bytes. `bytes.length` would call a shared getter, which can be patched. */
export const lengthOfBytes: (bytes: Uint8Array) => number = bindMethod(
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length')?.get as never,
)

const { fromCharCode } = String
const { __lookupGetter__: lookupGetter } = Object.prototype as { readonly __lookupGetter__?: never }
/** The getter of a property, own or inherited. A descriptor would also show it, but allocates. */
export const getterOf: (value: object, key: PropertyKey) => unknown = bindMethod(lookupGetter as never)

/** Define a property without calling a setter on a prototype. `__proto__` becomes an ordinary property. */
export const define = (target: object, key: PropertyKey, value: unknown): void => {
  defineProperty(target, key, {
    __proto__: null,
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  } as PropertyDescriptor)
}

/** A field that may be absent. Fields added to `Object.prototype` are ignored. */
export const ownField = <T extends object, Key extends keyof T>(value: T, key: Key): T[Key] | undefined =>
  hasOwn(value, key) || !hasOwn(objectPrototype, key) ? value[key] : undefined

const { ownKeys } = Reflect
/** The members of `Object.prototype` in every runtime. */
const standard = create(null) as { [name: PropertyKey]: true }
for (const name of [
  ...[
    'constructor',
    'hasOwnProperty',
    'isPrototypeOf',
    'propertyIsEnumerable',
    'toLocaleString',
    'toString',
    'valueOf',
  ],
  ...['__proto__', '__defineGetter__', '__defineSetter__', '__lookupGetter__', '__lookupSetter__'],
])
  standard[name] = true

/**
 * Whether a property was added to `Object.prototype`. Then foreign values are read as objects without a prototype,
 * so that absent fields are not read from it: see `parseJson`, `admit`, `withoutPrototypes`. Cost: 0.2 to 0.5 µs.
 */
export const isPolluted = (): boolean => {
  const keys = ownKeys(objectPrototype)
  for (let index = 0; index < keys.length; index++) if (!hasOwn(standard, keys[index] as PropertyKey)) return true
  return false
}

/** A copy of the own fields, without a prototype, for patterns: `const { id } = ownFields(message)`. Not for arrays. */
export const ownFields = <T extends object>(value: T): T => ({ __proto__: null, ...value })

/** Remove the prototypes from a result of `JSON.parse`, if `Object.prototype` is polluted. */
export const withoutPollution = <T>(value: T): T => {
  if (!isPolluted()) return value
  const open = setPrototypeOf([value as unknown], null)
  for (let last = 0; last >= 0;) {
    const next = open[last--]
    if (typeof next !== 'object' || next === null) continue
    if (!isArray(next)) setPrototypeOf(next, null)
    const keys = keysOf(next)
    for (let index = 0; index < keys.length; index++)
      open[++last] = (next as { readonly [key: string]: unknown })[keys[index] as string]
  }
  return value
}

/** A Map with its own methods. To iterate, use `forEach`: its iterators are shared and can be patched. */
export class OwnMap<Key, Value> extends Map<Key, Value> {}

/** A Set with its own methods. To iterate, use `forEach`: its iterators are shared and can be patched. */
export class OwnSet<Value> extends Set<Value> {}

for (const [mine, builtIn] of [
  [OwnMap, Map],
  [OwnSet, Set],
] as const) {
  for (const key of Reflect.ownKeys(builtIn.prototype))
    defineProperty(mine.prototype, key, descriptorOf(builtIn.prototype, key) as PropertyDescriptor)
  setPrototypeOf(mine.prototype, null)
  freeze(mine.prototype)
  freeze(mine)
}
