/**
 * The snapshot: a deep-frozen copy of plain JSON data, or a `NotJson` error with the path of the first invalid value.
 *
 * It runs once for each appended message, so it makes one pass without bookkeeping that plain data does not
 * need: cycles are detected by depth, and shared objects are only tracked in values with thousands of objects.
 */
import { define, isPolluted } from './own.ts'
import type { Immutable } from './immutable.ts'
import { formatPath, type Path } from './path.ts'

/** Thrown for a value that can't be recorded: the problem and its path. */
export class NotJson extends TypeError {
  override readonly name: string = 'TypeError'
  readonly path: Path
  readonly reason: string
  readonly #rule: string

  /** @param rule what the value breaks. Default: it is not JSON */
  constructor(path: Path, reason: string, rule = 'only plain JSON data can be recorded') {
    super(`${formatPath(path, path.length === 0 ? 'the value' : '')} ${reason}; ${rule}`)
    this.path = path
    this.reason = reason
    this.#rule = rule
  }

  /** The same error, about the element at an index. */
  at(index: number): NotJson {
    return new NotJson([index, ...this.path], this.reason, this.#rule)
  }
}

/** The maximum nesting of arrays and objects in a record. */
export const maxDepth = 1000

/**
 * Deep-copy plain JSON data and freeze the copy.
 *
 * Accepts null, booleans, finite numbers, well-formed strings, arrays and plain objects, including objects of another
 * realm, objects without a prototype, and Immer drafts, whose current value is copied. -0 becomes 0, as in JSON text.
 * An own `__proto__` key stays data. A result of `ownSnapshot` is returned as it is, because nothing can change it.
 *
 * Cost    one pass; about three times a copy-and-freeze without checks (bench: append)
 * Throws  NotJson (a TypeError) with the path of the first invalid value; the input is never changed
 */
export const snapshot = <T>(value: T): Immutable<T> => (OwnSnapshot.is(value) ? value : copyFrozen(value, {})) as never

/**
 * A snapshot that both functions recognize and return as it is, if it is an object, so that decoded
 * messages are recorded without a second copy. `snapshot` does not mark its results: marking takes
 * a fifth of the time of a small append.
 */
export const ownSnapshot = <T>(value: T): Immutable<T> =>
  (OwnSnapshot.is(value) ? value : copyFrozen(value, { marked: true })) as never

/** A snapshot of a foreign value. Its objects have no prototype if `Object.prototype` is polluted. */
export const foreignSnapshot = <T>(value: T): Immutable<T> =>
  isPolluted() ? withoutPrototypes(value) : snapshot(value)

/** A snapshot whose objects have no prototype. */
export const withoutPrototypes = <T>(value: T): Immutable<T> => copyFrozen(value, { bare: true })

/** The only cast: `copy` returns a frozen structural copy of `value`. */
const copyFrozen = <T>(value: T, { marked = false, bare = false }): Immutable<T> => {
  try {
    return copy(value, 1, { marked, bare, objects: 0, deepest: 0, copies: undefined }) as Immutable<T>
  } catch (error) {
    if (error instanceof Offence) throw new NotJson(error.path(), error.reason)
    throw error
  }
}

/** Returns its argument, so that a class that extends it adds its private fields to that object. */
class ReturnsArgument {
  constructor(target: object) {
    return target
  }
}

/**
 * The private name of `ownSnapshot`'s objects. No copy, Proxy or inheriting object has it, and no other
 * code can add it. A WeakSet would also work, but costs as much as another snapshot of a small message.
 */
class OwnSnapshot extends ReturnsArgument {
  readonly #own = true

  /** Marked before it gets keys, so that the engine uses the same hidden class path for all. */
  static empty(): object {
    return new OwnSnapshot({})
  }

  static is(value: unknown): boolean {
    return typeof value === 'object' && value !== null && #own in value
  }
}

/** The state of one walk: its options, the number of objects, the depth reached, and the copies of shared objects. */
interface Walk {
  readonly marked: boolean
  readonly bare: boolean
  objects: number
  deepest: number
  copies: Map<object, CopiedObject> | undefined
}

/** A copy, with the number of levels below it. */
interface CopiedObject {
  readonly copy: object
  readonly levels: number
}

/** Thrown by a copy; collects the path while it propagates. Not an Error, because no one sees its stack. */
class Offence {
  readonly reason: string
  readonly #deepest: object | undefined
  readonly #steps: (string | number)[] = []

  constructor(reason: string, deepest?: object) {
    this.reason = reason
    this.#deepest = deepest
  }

  /** Adds a step to the path: `key` of `parent`. If the too deep value is `parent` itself, it is a cycle. */
  within(parent: object, key: string | number): Offence {
    if (this.#deepest === parent) return new Offence('contains itself', parent)
    this.#steps.push(key)
    return this
  }

  path(): Path {
    return this.#steps.toReversed()
  }
}

/** Beyond this many objects in a value, shared objects are copied once: 30 nested pairs would make 2^30 copies. */
const sharingMatters = 10_000

const copy = (value: unknown, depth: number, walk: Walk): unknown => {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw new Offence('is a string with a lone surrogate')
      return value
    case 'number':
      if (!Number.isFinite(value)) throw new Offence(`is ${value}`)
      return value === 0 ? 0 : value
    case 'boolean':
      return value
    case 'object':
      return value === null ? null : copyObject(value, depth, walk)
    default:
      throw new Offence(value === undefined ? 'is undefined' : `is a ${typeof value}`)
  }
}

const copyObject = (value: object, depth: number, walk: Walk): object => {
  if (depth > maxDepth) throw new Offence(`is nested deeper than ${maxDepth} levels`, value)
  walk.objects += 1
  if (depth > walk.deepest) walk.deepest = depth
  if (walk.objects > sharingMatters) return copyOnce(value, depth, walk)
  return Array.isArray(value) ? copyArray(value, depth, walk) : copyRecord(value, depth, walk)
}

/** The copy of an object that this walk may have copied before, at another depth. */
const copyOnce = (value: object, depth: number, walk: Walk): object => {
  walk.copies ??= new Map()
  const known = walk.copies.get(value)
  if (known !== undefined) {
    const reached = depth + known.levels
    if (reached > maxDepth) throw new Offence(`is nested deeper than ${maxDepth} levels`)
    if (reached > walk.deepest) walk.deepest = reached
    return known.copy
  }
  const before = walk.deepest
  walk.deepest = depth
  const fresh = Array.isArray(value) ? copyArray(value, depth, walk) : copyRecord(value, depth, walk)
  walk.copies.set(value, { copy: fresh, levels: walk.deepest - depth })
  if (before > walk.deepest) walk.deepest = before
  return fresh
}

const copyArray = (value: readonly unknown[], depth: number, walk: Walk): object => {
  if (!Array.isArray(Object.getPrototypeOf(value))) throw new Offence(`is ${describeClass(value)}`)
  // Not `getOwnPropertyNames`, which also lists hidden properties (`raw` of template strings): it is slow on arrays.
  if (Object.keys(value).length > value.length || Object.getOwnPropertySymbols(value).length !== 0)
    throw new Offence('is an array with properties that are not elements')
  const result: unknown[] = [...value] // of its exact length: `push` would reserve room for sixteen items
  for (let index = 0; index < result.length; index++) {
    try {
      if (!Object.hasOwn(value, index)) throw new Offence('is missing (the array is sparse)')
      if (getterOf(value, index) !== undefined) throw new Offence('is an accessor')
      result[index] = copy(result[index], depth + 1, walk)
    } catch (error) {
      throw error instanceof Offence ? error.within(value, index) : error
    }
  }
  return Object.freeze(result)
}

const copyRecord = (value: object, depth: number, walk: Walk): object => {
  if (!isPlain(value)) throw new Offence(`is ${describeClass(value)}`)
  if (Object.getOwnPropertySymbols(value).length !== 0) throw new Offence('has a symbol as a key')
  const keys = Object.keys(value)
  if (Object.getOwnPropertyNames(value).length !== keys.length)
    throw new Offence('has a property that is not enumerable')
  // Only the outermost object is marked: an inner one could be nested too deep in its next place.
  const isMarked = depth === 1 && walk.marked
  const result = (isMarked ? OwnSnapshot.empty() : walk.bare ? Object.create(null) : {}) as { [key: string]: unknown }
  for (const key of keys) {
    try {
      // Unlike a property descriptor, this allocates nothing. An accessor without a getter reads as undefined.
      if (getterOf(value, key) !== undefined) throw new Offence('is an accessor')
      if (!key.isWellFormed()) throw new Offence('is a key with a lone surrogate')
      const found = (value as { readonly [key: string]: unknown })[key]
      if (found === undefined) {
        if (Object.hasOwn(Object.getOwnPropertyDescriptor(value, key) ?? {}, 'set')) throw new Offence('is an accessor')
        continue // omitted, as in JSON
      }
      const copied = copy(found, depth + 1, walk)
      // An assignment would run a setter of `Object.prototype`, such as that of `__proto__`.
      if (key in Object.prototype) define(result, key, copied)
      else result[key] = copied
    } catch (error) {
      throw error instanceof Offence ? error.within(value, key) : error
    }
  }
  return Object.freeze(result)
}

/** The getter of a property, own or inherited. */
const getterOf: (value: object, key: PropertyKey) => unknown = Function.prototype.call.bind(
  (Object.prototype as unknown as { readonly __lookupGetter__: never }).__lookupGetter__,
)

/** Whether a value is an object literal, perhaps of another realm, or `Object.create(null)`. */
const isPlain = (value: object): boolean => {
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === Object.prototype || prototype === null) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf')
}

/** A description of a value for people: `Date`, `Map`, a class name. Reads no property of the value itself. */
const describeClass = (value: object): string => {
  const prototype: object | null = Object.getPrototypeOf(value)
  const found: unknown =
    prototype === null ? undefined : Object.getOwnPropertyDescriptor(prototype, 'constructor')?.value
  const name: unknown = typeof found === 'function' ? found.name : ''
  return typeof name !== 'string' || name === '' || found === Object
    ? 'an object with a prototype of its own'
    : `an instance of ${name}`
}
