/** What must infer, and every way to rewrite a record that must not compile. The runtime half is attack.test.ts. */
import { produce } from 'immer'
import { describe, expectTypeOf, it } from 'vitest'
import {
  applyDelta,
  createHistory,
  decodeMessage,
  restoreHistory,
  toolResult,
  user,
  type History,
  type HistoryDelta,
  type Immutable,
  type Json,
  type Message,
  type PageKind,
  type Part,
  type Sequence,
  type Settled,
  type View,
} from 'indelible'
import type { Position } from '../../src/history/view.ts'
import type { Pages } from '../../src/pages/pages.ts'

interface Loose {
  text: string
  tags: string[]
  nested: { count: number }[]
  pair: [string, number]
  byName: { [name: string]: { on: boolean } }
}

declare const history: History<Message>
declare const view: View<Message>
declare const entry: Immutable<Message>
declare const loose: View<Loose>
declare const item: Immutable<Loose>
declare const pages: Pages
declare const sequence: Sequence<Message>
declare const settled: Settled<View<Message>>

describe('inferred history types', () => {
  it('an append takes a message and gives a position', () => {
    expectTypeOf<Message>().toExtend<Parameters<typeof history.append>[0]>()
    expectTypeOf(history.append).parameter(1).toEqualTypeOf<PageKind | undefined>()
    expectTypeOf(history.append(user('hi'))).toEqualTypeOf<Position>()
    expectTypeOf(history.view().positionAt(0)).toEqualTypeOf<Position | undefined>()
  })
  it('a position is a number', () => {
    expectTypeOf<Position>().toExtend<number>()
  })
  it('a view gives deeply readonly messages', () => {
    expectTypeOf(loose.at(0)).toEqualTypeOf<Immutable<Loose> | undefined>()
    expectTypeOf(item.tags).toEqualTypeOf<readonly string[]>()
    expectTypeOf(item.pair).toEqualTypeOf<readonly [string, number]>()
    expectTypeOf([...loose]).toEqualTypeOf<Immutable<Loose>[]>()
  })
  it('a recorded message is assignable to a reader of messages', () => {
    expectTypeOf(entry).toExtend<Message>()
    expectTypeOf<View<Message>>().toExtend<Sequence<Message>>()
    const again = createHistory<Message>()
    again.append(entry)
  })
  it('a recorded message can be appended again, also for a mutable message type', () => {
    createHistory<Loose>().append(item)
    applyDelta(createHistory<Loose>(), { id: 'd', expectedLen: 0, append: [item] })
  })
  it('a history of a history keeps its type', () => {
    expectTypeOf(createHistory({ from: view })).toEqualTypeOf<History<Message>>()
    expectTypeOf(createHistory({ from: loose })).toEqualTypeOf<History<Loose>>()
    expectTypeOf(createHistory({ from: [{ a: 1 }] })).toEqualTypeOf<History<{ a: number }>>()
  })
  it('any JSON type can be recorded, recursive ones too', () => {
    const of = createHistory<Json>()
    of.append({ deep: [1, { er: null }] })
    expectTypeOf(of.view().at(0)).toExtend<Json | undefined>()
  })
  it('classify sees the readonly message', () => {
    createHistory<Loose>({ classify: (message) => (message.tags.length > 0 ? 'plan' : 'conversation') })
  })
  it('restore gives the type that the decoder gives', () => {
    const restored = restoreHistory({ messages: [] }, decodeMessage)
    if (restored._tag === 'Right') expectTypeOf(restored.right.history).toEqualTypeOf<History<Message>>()
  })
  it('a view is covariant in its message type, a history is not', () => {
    interface Wide {
      readonly a: string
    }
    interface Narrow extends Wide {
      readonly b: string
    }
    expectTypeOf<View<Narrow>>().toExtend<View<Wide>>()
    expectTypeOf<History<Narrow>>().not.toExtend<History<Wide>>()
    expectTypeOf<History<Wide>>().not.toExtend<History<Narrow>>()
  })
})

describe('a history can only be appended to', () => {
  it('has no operation that removes, replaces or reorders', () => {
    // @ts-expect-error there is no push: append is the word, and it returns a position
    history.push(user('x'))
    // @ts-expect-error nothing is removed
    history.pop()
    // @ts-expect-error nothing is removed
    history.splice(0, 1)
    // @ts-expect-error nothing is cleared
    history.clear()
    // @ts-expect-error nothing is replaced
    history.set(0, user('x'))
    // @ts-expect-error a handle has no index: read through view()
    history[0] = user('x')
    // @ts-expect-error the buffer is not a member
    void history.entries
    // @ts-expect-error nor under another name
    void history.messages
    // @ts-expect-error a handle is not iterable: read through view()
    void [...history]
  })
  it('has members that cannot be reassigned', () => {
    // @ts-expect-error append is readonly
    history.append = () => 0 as Position
    // @ts-expect-error view is readonly
    history.view = () => view
    // @ts-expect-error len is what was appended, not a setting
    history.len = 0
    // @ts-expect-error len is readonly
    history.len--
    // @ts-expect-error members of a handle are not optional
    delete history.append
  })
  it('takes only messages and page kinds', () => {
    // @ts-expect-error a string is not a message: user('hi') is
    history.append('hi')
    // @ts-expect-error an unknown page kind
    history.append(user('hi'), 'important')
    // @ts-expect-error one message at a time
    history.append([user('hi')])
    // @ts-expect-error a role that no message has
    history.append({ role: 'robot', content: [] })
    // @ts-expect-error a view is no message
    history.append(view)
  })
})

describe('a view can only be read', () => {
  it('has none of the operations of an array that change it', () => {
    // @ts-expect-error a view does not grow
    view.push(user('x'))
    // @ts-expect-error nor shrink
    view.pop()
    // @ts-expect-error nor from the front
    view.shift()
    // @ts-expect-error nor there
    view.unshift(user('x'))
    // @ts-expect-error nothing is spliced
    view.splice(0, 1)
    // @ts-expect-error nothing is sorted
    view.sort()
    // @ts-expect-error nothing is reversed
    view.reverse()
    // @ts-expect-error nothing is filled
    view.fill(user('x'))
    // @ts-expect-error nothing is copied within
    view.copyWithin(0, 1)
    // @ts-expect-error whoever holds a view may only read
    view.append(user('x'))
    // @ts-expect-error a view has no index signature: use at()
    view[0] = user('x')
    // @ts-expect-error length is readonly
    view.length = 0
    // @ts-expect-error at is readonly
    view.at = () => undefined
    // @ts-expect-error pages is readonly
    view.pages = pages
  })
  it('gives arrays that cannot be changed', () => {
    // @ts-expect-error the array is readonly
    view.toArray().push(user('x'))
    // @ts-expect-error the array is readonly
    view.toArray()[0] = user('x')
    // @ts-expect-error the array is readonly
    view.toArray().length = 0
    // @ts-expect-error the array is readonly
    view.toArray().sort()
    // @ts-expect-error a readonly array is no mutable one
    const mutable: Message[] = view.toArray()
    void mutable
  })
  it('gives messages that cannot be changed', () => {
    // @ts-expect-error the role is what it was
    entry.role = 'user'
    // @ts-expect-error the content is what it was
    entry.content = []
    // @ts-expect-error parts are not added
    entry.content.push({ type: 'text', text: 'x' })
    // @ts-expect-error parts are not replaced
    entry.content[0] = { type: 'text', text: 'x' }
    const part = entry.content[0] as Part & { readonly type: 'text' }
    // @ts-expect-error text is not edited
    part.text = 'x'
    // @ts-expect-error nor dropped
    delete part.text
    // @ts-expect-error meta is not added later
    entry.meta = {}
  })
  it('makes mutable message types readonly, at every depth', () => {
    // @ts-expect-error a string field
    item.text = 'x'
    // @ts-expect-error an array field
    item.tags.push('x')
    // @ts-expect-error an element's field
    if (item.nested[0]) item.nested[0].count += 1
    // @ts-expect-error a tuple's element
    item.pair[0] = 'x'
    // @ts-expect-error a member of a dictionary
    item.byName['a'] = { on: true }
    // @ts-expect-error and what is in it
    if (item.byName['a']) item.byName['a'].on = true
    // @ts-expect-error a recorded value is not handed to code that may change it
    const mutable: Loose = item
    void mutable
  })
  it('has page kinds that cannot be changed', () => {
    // @ts-expect-error kinds are not reassigned
    pages[0] = 'plan'
    // @ts-expect-error kinds are not added
    pages.append('plan')
    // @ts-expect-error kinds are not added
    pages.push('plan')
    // @ts-expect-error the array is readonly
    pages.toArray()[0] = 'plan'
  })
  it('has iterators that cannot be replaced', () => {
    // @ts-expect-error of a view
    view[Symbol.iterator] = () => [entry][Symbol.iterator]()
    // @ts-expect-error of its page kinds
    pages[Symbol.iterator] = () => ['plan' as const][Symbol.iterator]()
    // @ts-expect-error of a sequence
    sequence[Symbol.iterator] = () => [entry][Symbol.iterator]()
    // @ts-expect-error of a settled view
    settled[Symbol.iterator] = () => [entry][Symbol.iterator]()
    expectTypeOf(view).toExtend<Iterable<Message>>()
    expectTypeOf<readonly Message[]>().toExtend<Sequence<Message>>()
  })
})

describe('forged histories and views', () => {
  const literalView = {
    length: 0,
    at: () => undefined,
    slice: () => view,
    pages,
    toArray: () => [],
    toJSON: () => [],
    [Symbol.iterator]: () => [][Symbol.iterator](),
  }
  it('not an object literal', () => {
    // @ts-expect-error the brand of a history can't be written
    const fakeHistory: History<Message> = { append: () => 0 as Position, view: () => view, len: 0 }
    // @ts-expect-error the brand of a view can't be written
    const fakeView: View<Message> = literalView
    // @ts-expect-error the brand of a position can't be written
    const fakePosition: Position = 0
    // @ts-expect-error an arithmetic result is a number, not a position in some history
    const next: Position = history.append(user('x')) + 1
    void [fakeHistory, fakeView, fakePosition, next]
  })
  it('not by adding to a position; `++` compiles, because TypeScript does not check what it assigns', () => {
    let next: Position = history.append(user('x'))
    next++
    // @ts-expect-error a sum is a number
    next += 1
    void next
  })
  it('not a spread copy', () => {
    // @ts-expect-error a copy of a handle is none: its len would stand still
    const copy: History<Message> = { ...history }
    // @ts-expect-error a handle with another append is none
    const replaced: History<Message> = { ...history, append: () => 0 as Position }
    // @ts-expect-error a copy of a view is none
    const copyOfView: View<Message> = { ...view }
    void [copy, replaced, copyOfView]
  })
  it('not an array', () => {
    // @ts-expect-error an array may be changed by whoever else holds it
    const fromArray: View<Message> = [user('x')]
    // @ts-expect-error a view may not be taken for an array
    const toArray: readonly Message[] = view
    // @ts-expect-error nor by a cast
    void (view as Message[])
    // @ts-expect-error nor may an array by a cast become a history
    void ([] as History<Message>)
    void [fromArray, toArray]
  })
  it('not a view in place of a history', () => {
    const step: HistoryDelta<Message> = { id: 's1', expectedLen: 0, append: [user('x')] }
    // @ts-expect-error a delta is applied to a history, not to a view of it
    applyDelta(view, step)
    // @ts-expect-error the delta's messages have the history's type
    applyDelta(history, { id: 's1', expectedLen: 0, append: ['x'] })
    // @ts-expect-error a delta states the length it expects
    applyDelta(history, { id: 's1', append: [] })
    // @ts-expect-error a view is no handle
    const handle: History<Message> = view
    // @ts-expect-error a handle is no view
    const reader: View<Message> = history
    // @ts-expect-error a view of other messages is no view of these
    const other: View<Message> = loose
    void [handle, reader, other]
  })
  it('not a subclass or a mapped type', () => {
    // @ts-expect-error the brand can't be implemented
    class Mine implements History<Message> {
      declare readonly append: History<Message>['append']
      declare readonly view: History<Message>['view']
      readonly len = 0
    }
    type Open<T> = { -readonly [Key in keyof T]: T[Key] }
    // @ts-expect-error a mapped copy of the type has lost the brand
    const opened: History<Message> = {} as Open<History<Message>>
    void [Mine, opened]
  })
})

describe('Immer', () => {
  it('drafts a recorded message into a new one and takes no shortcut to the record', () => {
    const edited = produce(entry, (draft) => {
      draft.content.push({ type: 'text', text: 'more' })
    })
    expectTypeOf(edited).toExtend<Message>()
    // @ts-expect-error what produce gives back is readonly again
    edited.role = 'user'
  })
})

void toolResult
