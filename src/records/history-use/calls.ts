/** Calls: of methods of lists, of functions of the code itself, and of the functions of libraries that matter here. */
import { copyFields, elementOf, fieldOf, ownFieldOf, setField } from './fields.ts'
import type { Node } from './node.ts'
import { functions, methods } from './pattern.ts'
import {
  concatenated,
  copyOf,
  fromOutside,
  join,
  joined,
  listOf,
  nothing,
  textsOf,
  thingOf,
  unmade,
  type Thing,
  type Value,
} from './value.ts'
import { learn, learnCall, learnField, thingAt, use, useMethod, type Walk } from './walk.ts'

/** A value is called. */
export const callValue = (callee: Value, given: readonly Value[], at: Node, walk: Walk): Value => {
  let result = callee.outside ? fromOutside : nothing
  if (callee.list !== undefined) result = join(result, listOf(callee.list)) // one that gives the history
  for (const thing of callee.things) {
    if (thing.what === 'function') {
      learnCall(thing, given, walk)
      result = join(result, thing.returned)
    } else if (thing.what === 'method') result = join(result, callMethod(thing.self, thing.name, given, at, walk))
    else if (thing.what === 'resolver') learn(thing, 'rest', given[0] ?? nothing, walk)
  }
  return result
}

/** A method is called on a value. */
export const callMethod = (on: Value, name: string, given: readonly Value[], at: Node, walk: Walk): Value => {
  const own = ownFieldOf(on, name)
  if (own !== undefined) return callValue(own, given, at, walk)
  const results: Value[] = []
  if (on.list !== undefined || methods.has(name)) tellCallbacks(on, name, given, walk)
  if (on.list !== undefined) {
    const method = methods.get(name)
    if (method === undefined) results.push(fromOutside)
    else if (name === 'at' && [...(given[0]?.texts ?? [])].some((text) => text.startsWith('-')))
      results.push(useMethod(at, { patterns: ['last'] }, on.list, walk))
    else results.push(useMethod(at, method, on.list, walk))
  }
  for (const thing of on.things) {
    if (thing.what === 'function' || thing.what === 'method') results.push(callOf(thing, name, given, at, walk))
    else if (thing.what === 'array') results.push(callOfArray(thing, name, given, at, walk))
    else if (name === 'set') learn(thing, 'rest', given.at(-1) ?? nothing, walk)
    else if (name === 'get') results.push(thing.rest)
  }
  if (name === 'then' || name === 'catch' || name === 'finally') results.push(settled(on, name, given, walk))
  if (on.texts.size > 0)
    results.push(name === 'concat' ? concatenated(on, given[0] ?? nothing) : textMethods.has(name) ? on : nothing)
  if (on.outside && walk.names.has(name)) results.push(fieldOf(on, name, at, walk))
  else if (on.outside) results.push(fromOutside)
  return joined(results)
}

const textMethods: ReadonlySet<string> = new Set(['toString', 'valueOf', 'trim'])

/** What the functions that a method is given get: an element, and, as the last of theirs, the list itself. */
const tellCallbacks = (on: Value, name: string, given: readonly Value[], walk: Walk): void => {
  const element = elementOf(on)
  const all: Value = { ...nothing, list: on.list, things: on.list === undefined ? on.things : nothing.things }
  for (const value of given)
    for (const thing of value.things)
      if (thing.what === 'function')
        learnCall(
          thing,
          name.startsWith('reduce')
            ? [join(thing.returned, given[1] ?? element), element, nothing, all]
            : name.toLowerCase().includes('sort')
              ? [element, element]
              : [element, nothing, all],
          walk,
        )
}

/** What a promise resolves to is what it is here. */
const settled = (on: Value, name: string, given: readonly Value[], walk: Walk): Value => {
  const callbacks = [...(given[0]?.things ?? [])].filter(({ what }) => what === 'function')
  // Of a promise that is not known, the names of what it gives still count.
  const known = on.list !== undefined || on.holder !== undefined || on.things.size > 0 || on.texts.size > 0
  if (name === 'then' && known) for (const each of callbacks) learnCall(each, [on], walk)
  const returned = joined(callbacks.map((each) => each.returned))
  return name === 'then' && callbacks.length > 0 ? returned : join(on, returned)
}

/** `call`, `apply` and `bind` of a function, or of a method that is borrowed. */
const callOf = (made: Thing, name: string, given: readonly Value[], at: Node, walk: Walk): Value => {
  const [self = nothing, ...others] = given
  if (name === 'bind') {
    if (made.what === 'method' || self.things.size > 0) learn(made, 'self', self, walk)
    return thingOf(made)
  }
  if (name !== 'call' && name !== 'apply') return nothing
  const each = name === 'call' ? others : elementsOf(others[0] ?? nothing)
  if (made.what === 'method') return callMethod(self, made.name, each, at, walk)
  if (self.things.size > 0) learn(made, 'self', self, walk)
  return callValue(thingOf(made), each, at, walk)
}

/** The elements of an array that the code makes, each in its place. */
const elementsOf = (array: Value): readonly Value[] => {
  const elements: Value[] = []
  for (const { fields } of array.things)
    for (const [name, value] of fields) if (/^\d+$/.test(name)) elements[Number(name)] = value
  return Array.from(elements, (value) => value ?? nothing)
}

const callOfArray = (array: Thing, name: string, given: readonly Value[], at: Node, walk: Walk): Value => {
  const on = thingOf(array)
  const returned = (): Value => joined(given.flatMap(({ things }) => [...things].map((each) => each.returned)))
  switch (name) {
    case 'map':
    case 'flatMap': {
      const mapped = thingAt(at, 'array', walk)
      learn(mapped, 'rest', name === 'map' ? returned() : elementOf(returned()), walk)
      return join(thingOf(mapped), { ...returned(), list: undefined, things: nothing.things })
    }
    case 'reduce':
    case 'reduceRight':
      return join(returned(), given[1] ?? nothing)
    case 'find':
    case 'findLast':
    case 'at':
    case 'pop':
    case 'shift':
      return elementOf(on)
    case 'flat':
      return elementOf(on).list === undefined ? elementOf(on) : listOf('derived')
    case 'push':
    case 'unshift':
      learn(array, 'rest', joined(given), walk)
      return nothing
    case 'join':
      return elementsOf(on).reduce((text, element) => concatenated(text, element, [...(given[0]?.texts ?? [','])][0]))
    case 'concat':
      return joined([on, ...given.map((value) => (value.list === undefined ? value : listOf('derived')))])
    default:
      return methods.get(name)?.gives === undefined ? nothing : on
  }
}

/** A function of a library is called: undefined, if it is none that matters. */
export const callLibrary = (
  library: string,
  name: string,
  given: readonly Value[],
  at: Node,
  walk: Walk,
): Value | undefined => {
  const [first = nothing, second = nothing, third = nothing] = given
  switch (`${library}.${name}`) {
    case 'JSON.stringify': {
      if (holds(first, new Set())) use(at, undefined, walk)
      const text = thingAt(at, 'text', walk)
      learn(text, 'rest', first, walk)
      return thingOf(text)
    }
    case 'JSON.parse':
      return copyOf(
        joined([
          first.outside ? fromOutside : nothing,
          ...[...first.things].filter(({ what }) => what === 'text').map(({ rest }) => rest),
        ]),
      )
    case 'Reflect.get':
    case 'Object.getOwnPropertyDescriptor': {
      const found =
        second.texts.size === 0
          ? elementOf(first)
          : joined([...second.texts].map((key) => fieldOf(first, key, at, walk)))
      if (library === 'Reflect') return found
      const descriptor = thingAt(at, 'object', walk)
      learnField(descriptor, 'value', found, walk)
      return thingOf(descriptor)
    }
    case 'Reflect.set':
    case 'Reflect.deleteProperty':
    case 'Reflect.defineProperty':
    case 'Object.defineProperty': {
      const value =
        name === 'set' ? third : name === 'defineProperty' ? (ownFieldOf(third, 'value') ?? nothing) : nothing
      for (const key of second.texts.size === 0 ? [undefined] : second.texts) setField(first, key, value, at, walk)
      return first
    }
    case 'Reflect.apply':
      return callMethod(first, 'apply', [second, third], at, walk)
    case 'Object.assign':
      for (const source of given.slice(1)) copyFields(source, first, at, walk)
      return joined([first, ...given.slice(1).map(unmade)])
    case 'Object.freeze':
    case 'Object.seal':
    case 'Object.create':
    case 'Promise.resolve':
    case 'Promise.all':
      return first
    case 'Promise.any':
    case 'Promise.race':
      return elementOf(first)
    case 'Object.values':
    case 'Object.entries': {
      if (first.list !== undefined) break
      if (first.holder !== undefined) use(at, undefined, walk)
      const values = thingAt(at, 'array', walk)
      const pair = thingAt(at, 'object', walk)
      learnField(pair, '1', elementOf(first), walk)
      learn(values, 'rest', name === 'values' ? elementOf(first) : thingOf(pair), walk)
      return join(thingOf(values), first.outside ? fromOutside : nothing)
    }
    case '_.get':
    case 'lodash.get':
    case 'R.prop':
    case 'R.path': {
      const [object, path] = library === 'R' ? [second, first] : [first, second]
      const keys = [...path.texts].map((text) => text.split('.'))
      return joined([
        ...keys.map((names) => names.reduce((value, key) => fieldOf(value, key, at, walk), object)),
        library === 'R' ? nothing : third,
        fromOutside,
      ])
    }
    case '_.set':
    case 'lodash.set':
      for (const key of second.texts) setField(first, key, third, at, walk)
      return first
    default:
  }
  return libraries.has(library) ? callWithList(name, given, at, walk) : undefined
}

/** Whether a value, or something in it, is an object that has the history. */
const holds = (value: Value, seen: Set<Thing>): boolean => {
  if (value.holder !== undefined) return true
  for (const thing of value.things) {
    if (seen.has(thing)) continue
    seen.add(thing)
    if ([...thing.fields.values()].some((each) => holds(each, seen))) return true
  }
  return false
}

/** A function by its name, of nobody: undefined, if it is none that matters. */
export const callNamed = (name: string, given: readonly Value[], at: Node, walk: Walk): Value | undefined => {
  const [first = nothing] = given
  if (name === 'structuredClone') return copyOf(first)
  if (name === 'String') return textsOf(first.texts)
  return callWithList(name, given, at, walk)
}

/** Libraries whose functions take a list among their arguments. */
const libraries: ReadonlySet<string> = new Set(['Array', 'Object', 'Map', 'Iterator', '_', 'lodash', 'R', 'Ramda'])

/** `Object.groupBy(…)`, `_.filter(…)`, `sortBy(…)` */
const callWithList = (name: string, given: readonly Value[], at: Node, walk: Walk): Value | undefined => {
  const listed = given.find(({ list }) => list !== undefined)
  const method = functions.get(name)
  if (listed?.list === undefined || method === undefined) return undefined
  tellCallbacks(listed, name, given, walk)
  return useMethod(at, method, 'derived', walk)
}

/** An instance of a class or function is made, or (`super`) its constructor is called. */
export const construct = (callee: Value, given: readonly Value[], walk: Walk): Value => {
  let result = nothing
  for (const thing of callee.things) {
    if (thing.what !== 'class' && thing.what !== 'function') continue
    const instance = ownFieldOf(thingOf(thing), 'prototype') ?? nothing
    const made = thing.what === 'function' ? [thing] : [...(ownFieldOf(thingOf(thing), constructorName)?.things ?? [])]
    for (const each of made) {
      learn(each, 'self', instance, walk)
      learnCall(each, given, walk)
    }
    if (made.length === 0 && thing.parent !== nothing) construct(thing.parent, given, walk)
    result = join(result, instance)
  }
  return result
}

/** Where a class has its constructor: no property can be called so by accident. */
export const constructorName = 'new ()'
