/** One walk over a program: what it has learnt, and the uses it has found. */
import type { Node } from './node.ts'
import { patternsOf, type HistoryPattern, type Kind, type Method } from './pattern.ts'
import type { Binding, Scope } from './value.ts'
import { fromOutside, join, listOf, newThing, nothing, type Thing, type Value } from './value.ts'

/** A place that reads the history, or (with a pattern) does something with it. */
export interface Use {
  readonly offset: number
  readonly pattern: HistoryPattern | undefined
}

export interface Walk {
  /** What the history is called. */
  readonly names: ReadonlySet<string>
  /** What an object is called that has it. */
  readonly holders: ReadonlySet<string>
  readonly scopes: Map<Node, Scope>
  readonly things: Map<string, Map<Node, Thing>>
  uses: Use[]
  /** Whether this pass has learnt anything. */
  learnt: boolean
  /** Whether names of parameters count yet. First it has to be known which functions the code itself calls. */
  named: boolean
  /** The function that is being walked, what `this` is in it, and what `super` calls. */
  inside: Thing | undefined
  self: Value
  parent: Value
  inLoopTest: boolean
}

export const use = (node: Node, pattern: HistoryPattern | undefined, walk: Walk): void => {
  walk.uses.push({ offset: node.start, pattern: pattern === 'count' && walk.inLoopTest ? 'iterate' : pattern })
}

/** A method is called on the history, or on a list made of it. */
export const useMethod = (node: Node, method: Method, on: Kind, walk: Walk): Value => {
  for (const pattern of patternsOf(method, on)) use(node, pattern, walk)
  const gives = method.gives === 'same' ? on : method.gives
  return gives === undefined ? fromOutside : listOf(gives)
}

/** The thing that is made at a node; the same one in each pass. */
export const thingAt = (node: Node, what: Thing['what'], walk: Walk, code?: Thing['code'], name?: string): Thing => {
  let things = walk.things.get(what)
  if (things === undefined) walk.things.set(what, (things = new Map()))
  let thing = things.get(node)
  if (thing === undefined) things.set(node, (thing = newThing(what, code, name)))
  return thing
}

export const learnName = (binding: Binding | undefined, value: Value, walk: Walk): void => {
  if (binding === undefined) return
  const all = join(binding.value, value)
  if (all === binding.value) return
  binding.value = all
  walk.learnt = true
}

export const learn = (thing: Thing, what: 'rest' | 'self' | 'parent' | 'returned', value: Value, walk: Walk): void => {
  const all = join(thing[what], value)
  if (all === thing[what]) return
  thing[what] = all
  walk.learnt = true
}

export const learnField = (thing: Thing, name: string, value: Value, walk: Walk): void => {
  const known = thing.fields.get(name)
  const all = join(known ?? nothing, value)
  for (const each of value.things) if (each.what === 'function' && thing.what !== 'array') learnSelf(each, thing, walk)
  if (all === known) return
  thing.fields.set(name, all)
  walk.learnt = true
}

const learnSelf = (made: Thing, thing: Thing, walk: Walk): void => {
  learn(made, 'self', { ...nothing, things: new Set([thing]) }, walk)
}

/** A function is called: by the code, or by a method it is given to. */
export const learnCall = (made: Thing, given: readonly Value[], walk: Walk): void => {
  if (!made.called) {
    made.called = true
    walk.learnt = true
  }
  for (const [index, value] of given.entries()) {
    const known = made.given[index]
    const all = join(known ?? nothing, value)
    if (all === known) continue
    made.given[index] = all
    walk.learnt = true
  }
}
