/**
 * Built-in functions, taken when this module loads. A record is made of these alone, so code that later patches
 * `Array.prototype.every` or `JSON.stringify` changes nothing of it. Methods are functions of their object:
 * `sliceText(text, 1)` for `text.slice(1)`.
 *
 * Syntax calls built-ins too. What records therefore does without: `for…of`, spread and patterns over arrays (they call
 * the array iterator), arrays that grow by index or `push` (a setter on `Array.prototype` would run: `emptyList`),
 * objects that get new keys by assignment (`define`), and fields that may be absent read from `Object.prototype` (`ownField`).
 */

const { call } = Function.prototype

/** A method as a function of its object. */
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
/** Whether an object has a field of its own. It narrows as `in` does, which looks at prototypes, too. */
export const hasField: <T extends object, K extends string>(value: T, field: K) => value is Having<T, K> =
  Object.hasOwn as never
type Having<T, K extends string> = [Member<T, K>] extends [never] ? T & { readonly [P in K]: unknown } : Member<T, K>
type Member<T, K> = T extends unknown ? (K extends keyof T ? T : never) : never
export const apply: <Result>(method: (...given: never) => Result, self: unknown, given: readonly unknown[]) => Result =
  Reflect.apply

export const isArray: (value: unknown) => value is readonly unknown[] = Array.isArray
export const isFinite: (value: number) => boolean = Number.isFinite
export const isSafeInteger: (value: unknown) => value is number = Number.isSafeInteger as never

export const objectPrototype: object = Object.prototype
export const arrayPrototype: object = Array.prototype

export const parseText: (text: string) => unknown = JSON.parse
/** `JSON.stringify`, which asks prototypes for `toJSON`: for strings, and for what `textOfJson` has looked at. */
export const stringify: (value: unknown) => string = JSON.stringify

export const isWellFormed: (text: string) => boolean = bindMethod(String.prototype.isWellFormed)
export const toWellFormed: (text: string) => string = bindMethod(String.prototype.toWellFormed)
export const sliceText: (text: string, from: number, to?: number) => string = bindMethod(String.prototype.slice)
export const indexIn: (text: string, wanted: string, from?: number) => number = bindMethod(String.prototype.indexOf)
export const trim: (text: string) => string = bindMethod(String.prototype.trim)
export const codeAt: (text: string, index: number) => number = bindMethod(String.prototype.charCodeAt)
export const fromCodes = (codes: readonly number[]): string => apply(fromCharCode, undefined, codes)
/** Not `test`, which asks the expression for its `exec`. */
export const exec: (expression: RegExp, text: string) => RegExpExecArray | null = bindMethod(RegExp.prototype.exec)

/** How many bytes there are. `bytes.length` would ask a getter that everybody shares. */
export const lengthOfBytes: (bytes: Uint8Array) => number = bindMethod(
  Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), 'length')?.get as never,
)

const { fromCharCode } = String
const { __lookupGetter__: lookupGetter } = Object.prototype as { readonly __lookupGetter__?: never }
/** The getter that a property is read by, own or inherited. A descriptor would tell as well, and allocates. */
export const getterOf: (value: object, key: PropertyKey) => unknown = bindMethod(lookupGetter as never)

/** Define a property on an object without calling a prototype's setter. `__proto__` is data, too. */
export const define = (target: object, key: PropertyKey, value: unknown): void => {
  defineProperty(target, key, {
    __proto__: null,
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  } as PropertyDescriptor)
}

/** A field that may be absent. Fields that somebody added to `Object.prototype` do not count. */
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
 * Whether somebody has added a property to `Object.prototype`. Then foreign values are read as objects without a
 * prototype, so that no absent field is read from it: see `parseJson`, `admit`, `withoutPrototypes`. Cost: 0.2 to 0.5 µs.
 */
export const isPolluted = (): boolean => {
  const keys = ownKeys(objectPrototype)
  for (let index = 0; index < keys.length; index++) if (!hasOwn(standard, keys[index] as PropertyKey)) return true
  return false
}

/** A copy of the own fields, without a prototype: for patterns, `const { id, name } = ownFields(message)`. Not of arrays. */
export const ownFields = <T extends object>(value: T): T => ({ __proto__: null, ...value })

/** Take the prototypes off a value that `JSON.parse` gave, where `Object.prototype` has what it should not have. */
export const bare = <T>(value: T): T => {
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

/** A Map whose methods are its own. To go through it, use `forEach`: its iterators are everybody's. */
export class OwnMap<Key, Value> extends Map<Key, Value> {}

/** A Set whose methods are its own. To go through it, use `forEach`: its iterators are everybody's. */
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
