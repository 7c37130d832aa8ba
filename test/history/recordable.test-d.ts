/** Which message types a history takes: plain JSON data, and a sentence for everything else. Immer's types beside ours. */
import { produce, type Draft, type Immutable as ImmersImmutable } from 'immer'
import { describe, expectTypeOf, it } from 'vitest'
import {
  createHistory,
  decodeMessage,
  restoreHistory,
  user,
  type History,
  type Immutable,
  type Json,
  type JsonObject,
  type Message,
  type View,
} from 'indelible'
import { type Recordable } from 'indelible/history'
import type { JsonArray } from '../../src/json/json.ts'

interface Turn {
  who: string
  said: readonly string[]
  optional?: number
  leftOut: string | undefined
  nothing: null
  pair: [string, number]
  inner: { [name: string]: Turn }
  branded: string & { readonly [brand]: true }
  free: unknown
  json: Json
}
interface Tree<T> {
  value: T
  children: Tree<T>[]
  parent?: Tree<T>
}
type Event = { type: 'said'; text: string } | { type: 'called'; args: { [name: string]: Json } } | Tree<number>
interface Named {
  name: string
  message: string
}
interface Failure extends Named {
  stack?: string
  cause?: unknown
}
interface Open extends Named {
  [other: string]: Json
}
interface Branded {
  text: string
  [brand]: true
}
class Hidden {
  role = 'user'
  readonly #count = 0
  get seen(): number {
    return this.#count
  }
}
class OldHidden {
  role = 'user'
  private readonly count: number = 0
  static readonly of = (hidden: OldHidden): number => hidden.count
}
class Guarded {
  protected readonly count: number = 0
}
declare const brand: unique symbol
declare const view: View<Message>
class Mine {
  role = 'user'
  say(): string {
    return this.role
  }
}

describe('a history accepts the types', () => {
  it('of JSON data, including recursive ones, and unknown types checked at run time', () => {
    createHistory<Message>()
    createHistory<Immutable<Message>>()
    createHistory<Turn>()
    createHistory<Json>()
    createHistory<JsonArray>()
    createHistory<JsonObject>()
    createHistory<string | null>()
    createHistory<unknown>()
    createHistory<{ deep: { er: unknown }[] }>()
    createHistory<Tree<string>>()
    createHistory<Tree<Event>>()
    createHistory<Event>()
    createHistory<Named>()
    createHistory<Event | Named | string>()
    createHistory<Open>()
    createHistory<Record<string, string>>()
    createHistory<Partial<Turn>>()
    createHistory<Readonly<Record<'a' | 'b', Turn[]>>>()
    createHistory<{ text: string; [brand]?: true }>()
    expectTypeOf(createHistory({ from: view })).toEqualTypeOf<History<Message>>()
    expectTypeOf(
      createHistory({ from: [{ a: 1, b: undefined }] })
        .view()
        .at(0)?.a,
    ).toEqualTypeOf<number | undefined>()
    restoreHistory({ messages: [] }, decodeMessage)
  })
  it('of recordable type parameters', () => {
    const made = <M extends Recordable<M>>(first: M): History<M> => {
      const history = createHistory<M>()
      history.append(first)
      return history
    }
    expectTypeOf(made(user('hi'))).toEqualTypeOf<History<Message>>()
    // @ts-expect-error not every type is
    const any = <M>(): History<M> => createHistory<M>()
    void any
  })
})

describe('a history refuses the types', () => {
  it('of non-JSON values at any depth', () => {
    // @ts-expect-error 'a Date can not be recorded: write date.toISOString()'
    createHistory<Date>()
    // @ts-expect-error the same, of a property
    createHistory<{ at: Date }>()
    // @ts-expect-error 'a Map can not be recorded: …', deep inside
    createHistory<{ a: { b: Map<string, string> }[] }>()
    // @ts-expect-error 'a Set can not be recorded: write [...set]', in one of several types
    createHistory<string | { a: Set<string> }>()
    // @ts-expect-error 'a function can not be recorded: record the data that it is made from'
    createHistory<{ run: () => void }>()
    // @ts-expect-error 'a bigint can not be recorded: write it as a string', also where it may be absent
    createHistory<{ n?: bigint }>()
    // @ts-expect-error 'a symbol can not be recorded: write it as a string'
    createHistory<{ s: symbol }>()
    // @ts-expect-error 'bytes can not be recorded: write them as base64'
    createHistory<{ bytes: Uint8Array }>()
    // @ts-expect-error 'a promise can not be recorded: await it first'
    createHistory<{ later: Promise<string> }>()
    // @ts-expect-error undefined in an array has no place in JSON
    createHistory<(string | undefined)[]>()
    // @ts-expect-error 'undefined can not be recorded here: write null, or leave the property out'
    createHistory<undefined>()
    // @ts-expect-error a class with methods
    createHistory<Mine>()
    // @ts-expect-error a view is no message
    createHistory<View<Message>>()
    // @ts-expect-error what it starts with is looked at as well
    createHistory({ from: [{ at: new Date() }] })
    // @ts-expect-error and what a decoder gives
    restoreHistory({ messages: [] }, () => ({ _tag: 'Right', right: new Date() }) as const)
  })
  it("with a sentence as the compiler's message", () => {
    expectTypeOf<Recordable<Date>>().toEqualTypeOf<'a Date can not be recorded: write date.toISOString()'>()
    expectTypeOf<Recordable<{ at: Date }>>().toEqualTypeOf<{
      readonly at: 'a Date can not be recorded: write date.toISOString()'
    }>()
    expectTypeOf<Recordable<Message>>().toEqualTypeOf<unknown>()
  })
  it('of iterables other than arrays', () => {
    type Sentence = 'an iterable can not be recorded: write [...values]'
    expectTypeOf<Recordable<Iterable<string>>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<Generator<number>>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<View<Message>>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<{ of: Iterable<string> }>>().toEqualTypeOf<{ readonly of: Sentence }>()
    // @ts-expect-error 'an iterable can not be recorded: …'
    createHistory<Iterable<string>>()
    // @ts-expect-error the same, deep inside
    createHistory<{ a: { of?: Iterable<string> }[] }>()
  })
  it('object and {}, which describe no properties', () => {
    type Sentence = 'object and {} can not be recorded: name the properties, or write JsonObject'
    expectTypeOf<Recordable<object>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<{}>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<{ a: object }>>().toEqualTypeOf<{ readonly a: Sentence }>()
    // @ts-expect-error 'object and {} can not be recorded: …'
    createHistory<object>()
    // @ts-expect-error the same
    createHistory<{}>()
    // @ts-expect-error one of several types
    createHistory<Named | { a: {}[] }>()
  })
  it('with an index signature of symbols', () => {
    // @ts-expect-error 'a symbol key can not be recorded: …'
    createHistory<Record<symbol, string>>()
    // @ts-expect-error 'a symbol key can not be recorded: …'
    createHistory<{ role: string; [key: symbol]: unknown }>()
  })
  it('with a required symbol key', () => {
    expectTypeOf<Recordable<Branded>>().toEqualTypeOf<{
      readonly text: string
      readonly [brand]: 'a symbol key can not be recorded: write a string key'
    }>()
    // @ts-expect-error 'a symbol key can not be recorded: …'
    createHistory<Branded>()
    // @ts-expect-error the same, deep inside
    createHistory<Tree<Branded>>()
  })
  it('of classes with private or protected members', () => {
    type Sentence = 'a class with private or protected members can not be recorded: write a plain object'
    expectTypeOf<Recordable<Hidden>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<OldHidden>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<Guarded>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<Mine>>().toEqualTypeOf<{
      readonly role: string
      readonly say: 'a function can not be recorded: record the data that it is made from'
    }>()
    // @ts-expect-error a #private member
    createHistory<Hidden>()
    // @ts-expect-error a private member
    createHistory<{ list: OldHidden[] }>()
    // @ts-expect-error a protected member
    createHistory<Guarded>()
    // @ts-expect-error the class itself
    createHistory<typeof Guarded>()
  })
  it('of errors and of interfaces that an error satisfies', () => {
    type Sentence = 'an Error can not be recorded: write { name: error.name, message: error.message }'
    expectTypeOf<Recordable<Error>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<AggregateError>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<Failure>>().toEqualTypeOf<Sentence>()
    expectTypeOf<Recordable<{ error?: TypeError }>>().toEqualTypeOf<{ readonly error?: Sentence | undefined }>()
    // @ts-expect-error 'an Error can not be recorded: …'
    createHistory<Error>()
    // @ts-expect-error the same, deep inside
    createHistory<{ failed: Failure[] }>()
  })
})

describe('Immer types', () => {
  const entry = view.at(0) as Immutable<Message>
  const message = user('hi')
  it('has an Immutable type assignable in both directions', () => {
    const theirs: ImmersImmutable<Message> = entry
    const ours: Immutable<Message> = theirs
    const plain: Message = theirs
    const fromPlain: ImmersImmutable<Message> = message
    const json: Json = null as unknown as ImmersImmutable<Json>
    const back: ImmersImmutable<Json> = json
    void [ours, plain, fromPlain, back]
  })
  it('drafts a recorded message into a new one', () => {
    const renamed: Message = produce(entry, (draft) => {
      draft.name = 'Ada'
      draft.content.push({ type: 'text', text: 'more' })
      draft.meta = { app: { list: [1, null, { deep: 'er' }] } }
    })
    const recorded: Immutable<Message> = produce(message, (draft) => void (draft.name = 'Ada'))
    const asMessage: Message = null as unknown as Draft<Message>
    createHistory<Message>().append(renamed)
    createHistory<Message>().append(recorded)
    void asMessage
  })
  it('drafts it curried, with the type on the recipe', () => {
    const rename: (message: Message, name: string) => Message = produce((draft: Draft<Message>, name: string) => {
      draft.name = name
    })
    const named: Message = rename(entry, 'Ada')
    void named
  })
  it('drafts it curried, with the type on the producer', () => {
    const rename: (message: Message) => Message = produce((draft) => {
      draft.name = 'Ada'
    })
    const again = produce<Message>((draft) => {
      draft.name = 'Ada'
    })
    const named: Message = rename(entry)
    const twice: Message = again(named)
    void twice
  })
})
