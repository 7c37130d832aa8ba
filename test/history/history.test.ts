import { produce, current } from 'immer'
import { describe, expect, it } from 'vitest'
import { createHistory, user, type History, type Message, type PageKind } from 'indelible'
import { pageKinds } from 'indelible/pages'
import { conversation } from '../messages.ts'

describe('append', () => {
  it('returns the position, counted from 0', () => {
    const history = createHistory<Message>()
    expect(conversation().map((message) => history.append(message))).toEqual([0, 1, 2, 3, 4, 5])
    expect(history.len).toBe(6)
  })
  it('classifies untagged messages and keeps a given tag', () => {
    const history = createHistory<Message>()
    history.append(user('use tabs'), 'preference')
    for (const message of conversation()) history.append(message)
    expect(history.view().pages.toArray()).toEqual([
      'preference',
      'bootstrap',
      'conversation',
      'conversation',
      'evidence',
      'evidence',
      'conversation',
    ])
  })
  it.each(pageKinds)('accepts the tag %s', (kind) => {
    const history = createHistory<Message>()
    history.append(user('x'), kind)
    expect(history.view().pages.at(0)).toBe(kind)
  })
  it.each(['Plan', '', 'constructor', null, 0, {}])('refuses %j as a tag and records nothing', (kind) => {
    const history = createHistory<Message>()
    expect(() => history.append(user('x'), kind as PageKind)).toThrow(/is not a page kind; expected one of bootstrap/)
    expect(history.len).toBe(0)
    expect(history.view().pages.length).toBe(0)
  })
  it('works detached from its handle', () => {
    const { append, view } = createHistory<Message>()
    for (const text of ['a', 'b']) append(user(text))
    expect(view().toArray()).toEqual([user('a'), user('b')])
  })
  it('records an Immer draft as its current value', () => {
    const history = createHistory<{ n: number; list: { deep: number[] }[] }>()
    produce({ n: 1, list: [{ deep: [1] }] }, (draft) => {
      draft.n = 2
      draft.list[0]?.deep.push(2)
      history.append(draft)
      draft.list.push({ deep: [] })
      history.append({ n: 3, list: draft.list })
      expect(history.view().at(0)).toEqual({ n: 2, list: [{ deep: [1, 2] }] })
      expect(history.view().at(1)).toEqual({ n: 3, list: current(draft).list })
    })
    expect(history.view().toArray()).toEqual([
      { n: 2, list: [{ deep: [1, 2] }] },
      { n: 3, list: [{ deep: [1, 2] }, { deep: [] }] },
    ])
  })
  it('refuses an Immer draft whose producer has ended', () => {
    const history = createHistory<unknown>()
    let late: object = {}
    produce({ a: 1 }, (draft) => void (late = draft))
    expect(() => history.append(late)).toThrow(TypeError)
    expect(history.len).toBe(0)
  })
  it('returns entries that Immer treats as frozen, so that produce makes new ones', () => {
    const history = createHistory<Message>({ from: conversation() })
    const first = history.view().at(0) as Message
    expect(produce(first, () => {})).toBe(first)
    expect(produce(first, (draft) => void (draft.name = 'x'))).toEqual({ ...conversation()[0], name: 'x' })
  })
  it('records strings of 50 MB', () => {
    const history = createHistory<string>()
    const long = 'ä'.repeat(50_000_000)
    history.append(long)
    expect(history.view().at(0) === long).toBe(true)
  })
})

describe('a view', () => {
  it('keeps the length of the history at its time', () => {
    const history = createHistory<Message>()
    const views = conversation().map((message) => {
      history.append(message)
      return history.view()
    })
    expect(views.map((view) => view.length)).toEqual([1, 2, 3, 4, 5, 6])
    for (const [index, view] of views.entries()) expect(view.toArray()).toEqual(conversation().slice(0, index + 1))
  })
  it('shares its messages with every other view', () => {
    const history = createHistory<Message>({ from: conversation() })
    const [first, second] = [history.view(), (history.append(user('x')), history.view())]
    expect(first.at(3)).toBe(second.at(3))
    expect(first.slice(2).at(1)).toBe(second.at(3))
  })
  it('is the same object while nothing is appended', () => {
    const history = createHistory<Message>({ from: conversation() })
    expect(history.view()).toBe(history.view())
  })
  it('iterates, also concurrently and while the history grows', () => {
    const history = createHistory<Message>({ from: conversation() })
    const view = history.view()
    let steps = 0
    for (const outer of view) {
      history.append(user('meanwhile'))
      let inner = 0
      for (const message of view) inner += message === outer ? 1 : 0
      expect(inner).toBe(1)
      steps += 1
    }
    expect(steps).toBe(6)
  })
  it('serializes its messages and its page kinds as arrays', () => {
    const view = createHistory<Message>({ from: conversation() }).view()
    expect(JSON.stringify({ messages: view, pages: view.pages })).toBe(
      JSON.stringify({ messages: conversation(), pages: view.pages.toArray() }),
    )
  })
  it('counts its page kinds', () => {
    const view = createHistory<Message>({ from: conversation() }).view()
    expect(pageKinds.map((kind) => view.pages.count(kind))).toEqual([1, 0, 0, 0, 2, 3])
    expect(view.slice(3).pages.count('evidence')).toBe(2)
  })
  it('of an empty history is empty', () => {
    const view = createHistory<Message>().view()
    expect([view.length, view.pages.length, [...view].length, view.slice().length, view.at(0), view.at(-1)]).toEqual([
      0,
      0,
      0,
      0,
      undefined,
      undefined,
    ])
  })
})

describe('createHistory', () => {
  it('copies the page kinds of a view', () => {
    const history = createHistory<Message>()
    history.append(user('never push to main'), 'constraint')
    history.append(user('hi'))
    const copy = createHistory({ from: history.view() })
    copy.append(user('only here'))
    history.append(user('only there'), 'plan')
    expect(copy.view().pages.toArray()).toEqual(['constraint', 'conversation', 'conversation'])
    expect(copy.view().at(0)).toBe(history.view().at(0))
    expect(copy.view().at(2)).toEqual(user('only here'))
    expect(history.view().at(2)).toEqual(user('only there'))
  })
  it('starts with the messages of a sliced view', () => {
    const history = createHistory<Message>({ from: conversation() })
    expect(
      createHistory({ from: history.view().slice(2, -1) })
        .view()
        .toArray(),
    ).toEqual(conversation().slice(2, -1))
  })
  it('accepts any iterable', () => {
    const generate = function* () {
      yield* conversation()
    }
    for (const from of [conversation(), new Set(conversation()), generate()])
      expect(createHistory<Message>({ from }).view().toArray()).toEqual(conversation())
  })
  it('reports the position and path of an unrecordable value', () => {
    const from = [user('a'), { role: 'user', content: [{ type: 'text', text: 1n }] }] as unknown as Message[]
    expect(() => createHistory<Message>({ from })).toThrow('[1].content[0].text is a bigint')
  })
  it('a spread view, a clone of it, and `{ messages, pages }` keep the kinds', () => {
    const history = createHistory<Message>()
    history.append(user('Always answer in French.'), 'constraint')
    history.append(user('hello'))
    const view = history.view()
    const kinds = ['constraint', 'conversation']
    for (const from of [{ ...view }, structuredClone({ ...view }), { messages: view.messages, pages: view.pages }])
      expect([...createHistory<Message>({ from }).view().pages]).toEqual(kinds)
    const first = createHistory<Message>({ from: { messages: view.messages, pages: ['plan'] } }).view()
    expect([...first.pages]).toEqual(['plan', 'conversation'])
    expect(first).toHaveLength(2)
  })
  it('page kinds that are none, or more than the messages, are refused', () => {
    const messages = [user('hello')]
    const build = (pages: unknown) => () => createHistory<Message>({ from: { messages, pages: pages as PageKind[] } })
    expect(build(['plan', 'plan'])).toThrow('`pages` has 2 page kinds, and `messages` has 1 messages')
    expect(build('plan')).toThrow('`pages` is "plan"; expected a list of page kinds, or the pages of a view')
    expect(build(['wish'])).toThrow('wish')
  })
  it('uses the given classify', () => {
    const classify = (message: { readonly important: boolean }): PageKind =>
      message.important ? 'constraint' : 'conversation'
    const history: History<{ important: boolean }> = createHistory({ classify })
    history.append({ important: true })
    history.append({ important: false })
    history.append({ important: false }, 'plan')
    expect(history.view().pages.toArray()).toEqual(['constraint', 'conversation', 'plan'])
  })
  it('records any JSON type', () => {
    const history = createHistory<string | number | null | readonly unknown[]>()
    for (const value of ['', 0, null, []]) history.append(value)
    expect(history.view().toArray()).toEqual(['', 0, null, []])
    expect(history.view().pages.count('conversation')).toBe(4)
  })
})
