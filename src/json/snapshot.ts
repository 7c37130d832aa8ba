/**
 * The snapshot: a deep-frozen copy of plain JSON data, or a `NotJson` error that names the place that is not.
 *
 * It runs once per appended message, so it walks the value once and keeps no bookkeeping that plain data does not
 * need: cycles show as depth, and sharing is only tracked in values with thousands of objects.
 *
 * Built-in functions are taken when this module loads. Code that patches `Object.freeze` or `Map.prototype.get`
 * afterwards never sees what is copied here and cannot leave any of it unfrozen.
 */
import {
  create,
  define,
  descriptorOf,
  freeze,
  getPrototypeOf,
  getterOf,
  hasOwn,
  isArray,
  isFinite,
  isPolluted,
  isWellFormed,
  keysOf,
  namesOf,
  objectPrototype,
  ownField,
  OwnMap,
  symbolsOf,
} from './builtins.ts'
import { ReturnsArgument } from './returns-argument.ts'
import type { Immutable } from './immutable.ts'
import { build, emptyList } from './list.ts'
import { formatPath, type Path } from './path.ts'

/** Thrown by `snapshot`: what is wrong, and where. */
export class NotJson extends TypeError {
  override readonly name: string = 'TypeError'
  readonly path: Path
  readonly reason: string

  constructor(path: Path, reason: string, root = 'the value') {
    super(`${path.length === 0 ? root : formatPath(path)} ${reason}; only plain JSON data can be recorded`)
    this.path = path
    this.reason = reason
  }
}

/** The deepest nesting of arrays and objects that is recorded. */
export const maxDepth = 1000

/**
 * Copy plain JSON data and freeze the copy, all the way down.
 *
 * Accepts null, booleans, finite numbers, well-formed strings, arrays and plain objects (also of another realm, also
 * without a prototype, also Immer drafts, which are copied as their current value). -0 becomes 0, as in JSON text.
 * An own `__proto__` key stays data. What `ownSnapshot` gave is given back as it is, for nothing can change it.
 *
 * Cost    one pass; about three times a copy-and-freeze that checks nothing (bench: append)
 * Throws  NotJson (a TypeError) naming the path of the first thing that is not JSON; the input is never changed
 */
export const snapshot = <T>(value: T): Immutable<T> =>
  (OwnSnapshot.is(value) ? value : copyFrozen(value, false)) as never

/**
 * A snapshot that both functions know again and give back as it is, if it is an object: what was decoded is recorded
 * without a second copy. What is only recorded is not marked: that takes a fifth of the time of a small append.
 */
export const ownSnapshot = <T>(value: T): Immutable<T> =>
  (OwnSnapshot.is(value) ? value : copyFrozen(value, true)) as never

/** A snapshot of a foreign value: its objects have no prototype where `Object.prototype` has what it should not have. */
export const foreignSnapshot = <T>(value: T): Immutable<T> =>
  isPolluted() ? withoutPrototypes(value) : snapshot(value)

/** A snapshot whose objects have no prototype. */
export const withoutPrototypes = <T>(value: T): Immutable<T> => copyFrozen(value, false, true)

/** The one cast: what `copy` returns is a frozen structural copy of `value`. */
const copyFrozen = <T>(value: T, marked: boolean, bare = false): Immutable<T> => {
  try {
    return copy(value, 1, { marked, bare, objects: 0, deepest: 0, copies: undefined }) as Immutable<T>
  } catch (error) {
    if (error instanceof Offence) throw new NotJson(error.path(), error.reason)
    throw error
  }
}

/**
 * The private name of what `ownSnapshot` gives, if it is an object: no copy, no Proxy and no heir of it has the name, and
 * nobody else can give it. A WeakSet would know them too, at the price of another snapshot of a small message.
 */
class OwnSnapshot extends ReturnsArgument {
  readonly #own = true

  /** Before it has any key: the engine then takes the same path for all of them. */
  static empty(): object {
    return new OwnSnapshot({})
  }

  static is(value: unknown): boolean {
    return typeof value === 'object' && value !== null && #own in value
  }
}

/** One walk: whether its copy is marked, whether the objects have no prototype, how many objects it has met, how deep it has been, and the copies once there are many. */
interface Walk {
  readonly marked: boolean
  readonly bare: boolean
  objects: number
  deepest: number
  copies: Map<object, CopiedObject> | undefined
}

/** A copy, and how many levels it has below its own. */
interface CopiedObject {
  readonly copy: object
  readonly levels: number
}

/** What a copy throws on its way up, gathering the path. Not an Error: nobody sees its stack. */
class Offence {
  readonly reason: string
  readonly #deepest: object | undefined
  readonly #steps = emptyList<string | number>()

  constructor(reason: string, deepest?: object) {
    this.reason = reason
    this.#deepest = deepest
  }

  /** The same offence one level further out: at `key` of `parent`. A too deep value that holds itself is a cycle. */
  within(parent: object, key: string | number): Offence {
    if (this.#deepest === parent) return new Offence('contains itself', parent)
    this.#steps[this.#steps.length] = key
    return this
  }

  path(): Path {
    const { length } = this.#steps
    return build(length, (index) => this.#steps[length - 1 - index] as string | number)
  }
}

const nothing: PropertyDescriptor = create(null)

/** Beyond this many objects in one value, a shared object is copied once: 30 nested pairs would be 2^30 copies. */
const sharingMatters = 10_000

const copy = (value: unknown, depth: number, walk: Walk): unknown => {
  switch (typeof value) {
    case 'string':
      if (!isWellFormed(value)) throw new Offence('is a string with a lone surrogate')
      return value
    case 'number':
      if (!isFinite(value)) throw new Offence(`is ${value}`)
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
  return isArray(value) ? copyArray(value, depth, walk) : copyRecord(value, depth, walk)
}

/** The copy of an object that may have been copied before, in this walk, at another depth. */
const copyOnce = (value: object, depth: number, walk: Walk): object => {
  walk.copies ??= new OwnMap()
  const known = walk.copies.get(value)
  if (known !== undefined) {
    const reached = depth + known.levels
    if (reached > maxDepth) throw new Offence(`is nested deeper than ${maxDepth} levels`)
    if (reached > walk.deepest) walk.deepest = reached
    return known.copy
  }
  const before = walk.deepest
  walk.deepest = depth
  const fresh = isArray(value) ? copyArray(value, depth, walk) : copyRecord(value, depth, walk)
  walk.copies.set(value, { copy: fresh, levels: walk.deepest - depth })
  if (before > walk.deepest) walk.deepest = before
  return fresh
}

const copyArray = (value: readonly unknown[], depth: number, walk: Walk): object => {
  if (!isArray(getPrototypeOf(value))) throw new Offence(`is ${describe(value)}`)
  const { length } = value
  // Not `namesOf`, which would also see what is hidden (the `raw` of template strings): on arrays it is slow.
  if (keysOf(value).length > length || symbolsOf(value).length !== 0)
    throw new Offence('is an array with properties that are not elements')
  let at = 0
  try {
    return build(length, (index) => {
      at = index
      if (!hasOwn(value, index)) throw new Offence('is missing (the array is sparse)')
      if (getterOf(value, index) !== undefined) throw new Offence('is an accessor')
      return copy(value[index], depth + 1, walk)
    })
  } catch (error) {
    throw error instanceof Offence ? error.within(value, at) : error
  }
}

const copyRecord = (value: object, depth: number, walk: Walk): object => {
  if (!isPlain(value)) throw new Offence(`is ${describe(value)}`)
  if (symbolsOf(value).length !== 0) throw new Offence('has a symbol as a key')
  const keys = keysOf(value)
  if (namesOf(value).length !== keys.length) throw new Offence('has a property that is not enumerable')
  // Only the outermost: what stands within another may be nested too deep for its next place.
  const result = (depth === 1 && walk.marked ? OwnSnapshot.empty() : walk.bare ? create(null) : {}) as {
    [key: string]: unknown
  }
  let key = ''
  try {
    for (let index = 0; index < keys.length; index++) {
      key = keys[index] as string
      // Unlike a property descriptor this allocates nothing. An accessor without a getter reads as undefined.
      if (getterOf(value, key) !== undefined) throw new Offence('is an accessor')
      if (!isWellFormed(key)) throw new Offence('is a key with a lone surrogate')
      const found = (value as { readonly [key: string]: unknown })[key]
      if (found === undefined) {
        if (hasOwn(descriptorOf(value, key) ?? nothing, 'set')) throw new Offence('is an accessor')
        continue // left out, as JSON does it
      }
      const copied = copy(found, depth + 1, walk)
      // A plain assignment would run the setter of `__proto__`, or of whatever somebody put on Object.prototype.
      if (key in objectPrototype) define(result, key, copied)
      else result[key] = copied
    }
  } catch (error) {
    throw error instanceof Offence ? error.within(value, key) : error
  }
  return freeze(result)
}

/** An object literal, `Object.create(null)`, or an object literal of another realm. */
const isPlain = (value: object): boolean => {
  const prototype = getPrototypeOf(value)
  if (prototype === objectPrototype || prototype === null) return true
  return getPrototypeOf(prototype) === null && hasOwn(prototype, 'isPrototypeOf')
}

/** What a value is, for a person: `Date`, `Map`, the name of a class. Reads no property of the value itself. */
const describe = (value: object): string => {
  const prototype = getPrototypeOf(value)
  const found = prototype === null ? undefined : ownField(descriptorOf(prototype, 'constructor') ?? nothing, 'value')
  const name: unknown = typeof found === 'function' ? found.name : ''
  return typeof name !== 'string' || name === '' || found === Object
    ? 'an object with a prototype of its own'
    : `an instance of ${name}`
}
