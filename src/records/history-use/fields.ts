/** Properties: what stands under a name, and what is put there. */
import type { Node } from './node.ts'
import { methods } from './pattern.ts'
import { fromOutside, holderOf, join, listOf, nothing, thingOf, type Thing, type Value } from './value.ts'
import { learn, learnField, thingAt, use, type Walk } from './walk.ts'

/**
 * What stands under a name of a value: its own, where the code has made the object; by the name, where it comes from
 * outside.
 */
export const fieldOf = (on: Value, name: string, at: Node, walk: Walk): Value => {
  if (on.list !== undefined) {
    if (name === 'length' || name === 'size' || name === 'len') use(at, 'count', walk)
    else if (/^\d+$/.test(name)) use(at, 'find', walk)
  }
  let found = ownFieldOf(on, name) ?? unknownField(on, name, at, walk)
  if (methods.has(name) && (on.list !== undefined || [...on.things].some(({ what }) => what === 'array'))) {
    const method = thingAt(at, 'method', walk, undefined, name)
    learn(method, 'self', on, walk)
    found = join(found, thingOf(method))
  }
  return found
}

/** What the code itself has put under a name; undefined, if it has put nothing there. */
export const ownFieldOf = (on: Value, name: string): Value | undefined => {
  let found: Value | undefined
  for (const thing of on.things) {
    const own = ownField(thing, name, 0)
    if (own !== undefined) found = join(found ?? nothing, own)
  }
  return found
}

const ownField = (thing: Thing, name: string, depth: number): Value | undefined => {
  const own = thing.fields.get(name)
  if (own !== undefined || depth > 8) return own
  for (const parent of thing.parent.things) {
    const inherited = ownField(parent, name, depth + 1)
    if (inherited !== undefined) return inherited
  }
  return undefined
}

/** Of an object that says nothing of this name. */
const unknownField = (on: Value, name: string, at: Node, walk: Walk): Value => {
  let found = nothing
  // A runtime may put it into an instance; but only what nothing in the code sets.
  const isInstance = walk.named && [...on.things].some(({ what }) => what === 'instance')
  const byName = on.outside || on.holder !== undefined || isInstance
  if (byName && walk.names.has(name)) {
    use(at, undefined, walk)
    return listOf(on.holder ?? 'history')
  }
  if (byName && walk.holders.has(name)) return holderOf('history')
  if (on.outside || isInstance) found = fromOutside
  if (!walk.names.has(name)) for (const { rest } of on.things) found = join(found, rest)
  return found
}

/** What stands under any of a value's keys. */
export const elementOf = (on: Value): Value => {
  let found = on.outside || on.list !== undefined ? fromOutside : nothing
  for (const thing of on.things) {
    if (thing.what !== 'array' && thing.what !== 'object') continue
    found = join(found, thing.rest)
    for (const value of thing.fields.values()) found = join(found, value)
  }
  return found
}

/** Something is put under a name; undefined, if that is not known. */
export const setField = (on: Value, name: string | undefined, value: Value, at: Node, walk: Walk): void => {
  for (const thing of on.things)
    if (name === undefined) learn(thing, 'rest', value, walk)
    else learnField(thing, name, value, walk)
  const isNamed = on.things.size === 0 && (on.outside || on.holder !== undefined) && walk.names.has(name ?? '')
  if (isNamed) use(at, undefined, walk)
  if (isNamed || on.list === 'history') use(at, 'write', walk)
}

/** All fields of one value are put into another: `{ ...value }`, `Object.assign`. */
export const copyFields = (from: Value, to: Value, at: Node, walk: Walk): void => {
  for (const thing of from.things) {
    for (const [name, value] of thing.fields) setField(to, name, value, at, walk)
    if (thing.rest !== nothing) for (const each of to.things) learn(each, 'rest', thing.rest, walk)
  }
}
