/** What is known of a value in the code: whether it is the history, and what else has to be known to tell. */
import type { Node } from './node.ts'
import type { Kind } from './pattern.ts'

/** Everything that a value may be. Values only ever gain: joining them ends. */
export interface Value {
  /** The history, or a list made of it. */
  readonly list: Kind | undefined
  /** An object that has the history under its name, as the runtime gives it; or a copy of one. */
  readonly holder: Kind | undefined
  /** The texts that it may be. */
  readonly texts: ReadonlySet<string>
  /** The objects and functions of the code itself that it may be. */
  readonly things: ReadonlySet<Thing>
  /** It may come from outside of the code: then the name of a property says what it is. */
  readonly outside: boolean
}

/** An object, array, function or class that the code makes at one place. */
export interface Thing {
  readonly what: 'object' | 'array' | 'function' | 'class' | 'instance' | 'method' | 'text' | 'resolver'
  readonly fields: Map<string, Value>
  /** What stands under keys that are not known; of a `text` what it is the JSON of; of a `resolver` what it was given. */
  rest: Value
  /** Of an instance: what its class extends. */
  parent: Value
  /** Of a function: its code and the scope it was made in. Of a class: its constructor. */
  code: { readonly node: Node; readonly scope: Scope } | undefined
  /** Of a function: what `this` is. Of a method: what it is called on. */
  self: Value
  /** Of a function: what its parameters are given, by the calls in the code. */
  readonly given: Value[]
  called: boolean
  /** Of a function: what it returns, or what the promise that it returns resolves to. */
  returned: Value
  /** Of a method: its name. */
  readonly name: string
}

const none: ReadonlySet<never> = new Set()

/** Nothing that matters: a number, a text that is not known, or a name of which nothing has been seen yet. */
export interface Binding {
  /** What it has been seen to stand for. */
  value: Value
  /** The import or the function that gives it its value from outside; undefined if the code itself does. */
  readonly given: Node | undefined
}

export interface Scope {
  readonly parent: Scope | undefined
  readonly bindings: Map<string, Binding>
}

export const nothing: Value = { list: undefined, holder: undefined, texts: none, things: none, outside: false }
export const fromOutside: Value = { ...nothing, outside: true }
export const listOf = (list: Kind): Value => ({ ...nothing, list })
export const holderOf = (holder: Kind): Value => ({ ...nothing, holder, outside: true })
export const textsOf = (texts: Iterable<string>): Value => ({ ...nothing, texts: new Set(texts) })
export const thingOf = (thing: Thing): Value => ({ ...nothing, things: new Set([thing]) })

export const newThing = (what: Thing['what'], code?: Thing['code'], name = ''): Thing => ({
  what,
  fields: new Map(),
  rest: nothing,
  parent: nothing,
  code,
  self: nothing,
  given: [],
  called: false,
  returned: nothing,
  name,
})

/** Either of two values. The first one itself, if the second adds nothing to it. */
export const join = (one: Value, other: Value): Value => {
  if (one === other || other === nothing) return one
  if (one === nothing) return other
  const list = eitherKind(one.list, other.list)
  const holder = eitherKind(one.holder, other.holder)
  const texts = union(one.texts, other.texts, mostTexts)
  const things = union(one.things, other.things, mostThings)
  const outside = one.outside || other.outside
  return list === one.list &&
    holder === one.holder &&
    texts === one.texts &&
    things === one.things &&
    outside === one.outside
    ? one
    : { list, holder, texts, things, outside }
}

export const joined = (values: Iterable<Value>): Value => {
  let all = nothing
  for (const value of values) all = join(all, value)
  return all
}

/** The history, if one of them is. */
const eitherKind = (one: Kind | undefined, other: Kind | undefined): Kind | undefined =>
  one === 'history' || other === 'history' ? 'history' : (one ?? other)

/** More than these are not told apart any more. */
const mostTexts = 16
const mostThings = 64

const union = <T>(one: ReadonlySet<T>, other: ReadonlySet<T>, most: number): ReadonlySet<T> => {
  let all: Set<T> | undefined
  for (const each of other) if (!one.has(each) && (all ?? one).size < most) (all ??= new Set(one)).add(each)
  return all ?? one
}

/** The texts that two make, one after the other. */
export const concatenated = (one: Value, other: Value, between = ''): Value =>
  textsOf([...one.texts].flatMap((start) => [...other.texts].map((end) => start + between + end)).slice(0, mostTexts))

/** A copy of what a value is: changing it does not change the history. */
export const copyOf = (value: Value): Value => ({
  ...value,
  list: value.list && 'derived',
  holder: value.holder && 'derived',
})

/** What an object takes along of a value that is spread into it, besides fields that the code has made. */
export const unmade = ({ holder, outside }: Value): Value => ({ ...nothing, holder, outside })
