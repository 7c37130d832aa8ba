/** How views, page kinds, handles and the messages of a context behave where JavaScript compares, copies and prints. */
import assert from 'node:assert/strict'
import legacyAssert from 'node:assert'
import { createRequire } from 'node:module'
import { inspect, isDeepStrictEqual } from 'node:util'
import { dequal } from 'dequal'
import fastDeepEqual from 'fast-deep-equal'
import { castDraft, createDraft, produce } from 'immer'
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { createHistory, decodeMessage, restoreHistory, user, type Message, type View } from 'indelible'
import { deriveContext } from 'indelible/context'
import { omitRanges } from 'indelible/history'
import { conversation } from '../messages.ts'

const lodash = createRequire(import.meta.url)('lodash') as { isEqual: (a: unknown, b: unknown) => boolean }

const passes = (run: () => void): boolean => {
  try {
    run()
    return true
  } catch {
    return false
  }
}
const judges: readonly (readonly [string, (a: unknown, b: unknown) => boolean])[] = [
  ['node:assert', (a, b) => passes(() => legacyAssert.deepEqual(a, b))],
  ['node:assert/strict', (a, b) => passes(() => assert.deepEqual(a, b))],
  ['node:util', isDeepStrictEqual],
  ['lodash', lodash.isEqual],
  ['dequal', dequal],
  ['fast-deep-equal', fastDeepEqual],
  ['Vitest', (a, b) => passes(() => expect(a).toEqual(b))],
  ['Vitest, strict', (a, b) => passes(() => expect(a).toStrictEqual(b))],
]

const viewOf = (...texts: readonly string[]): View<Message> =>
  createHistory<Message>({ from: texts.map((text) => user(text)) }).view()
const contextOf = (view: View<Message>) => {
  const derived = deriveContext(view, { budget: 1000 })
  if (isLeft(derived)) throw new Error('expected a context')
  return derived.right
}

describe.each(judges)('for %s', (_name, equal) => {
  it('two views are equal if their messages and page kinds are equal', () => {
    const [a, b] = [viewOf('a', 'b'), viewOf('a', 'b')]
    expect(a).not.toBe(b)
    expect([equal(a, b), equal({ view: a }, { view: b })]).toEqual([true, true])
    expect(equal(viewOf(), viewOf())).toBe(true)
    expect(equal(a, viewOf('a', 'c'))).toBe(false)
    expect(equal(a, viewOf('a'))).toBe(false)
    expect(equal(viewOf(), viewOf('a'))).toBe(false)
  })
  it('positions do not affect equality', () => {
    const one = omitRanges(viewOf('a', 'x', 'b').slice(0), [{ from: 1, to: 2 }])
    expect([one.positionAt(1), equal(one, viewOf('a', 'b'))]).toEqual([2, true])
    expect(equal(viewOf('x', 'a', 'b').slice(1), viewOf('a', 'b'))).toBe(true)
  })
  it('page kinds affect equality', () => {
    const history = createHistory<Message>()
    history.append(user('a'), 'plan')
    expect(equal(history.view(), viewOf('a'))).toBe(false)
    expect(equal(history.view().pages, viewOf('a').pages)).toBe(false)
    expect(equal(viewOf('a', 'b').pages, viewOf('c', 'd').pages)).toBe(true)
  })
  it('earlier calls on a view do not affect equality', () => {
    const [a, b] = [viewOf('a', 'b'), viewOf('a', 'b')]
    void [a.at(0), a.slice(1), a.pages.count('plan'), [...a], a.messages]
    expect(equal(a, b)).toBe(true)
  })
  it('the messages of two contexts are equal by value', () => {
    const [a, b] = [contextOf(viewOf('a', 'b')), contextOf(viewOf('a', 'b'))]
    expect(equal(a.messages, b.messages)).toBe(true)
    expect(equal(a.messages, contextOf(viewOf('a', 'c')).messages)).toBe(false)
    expect(equal(a.residency, b.residency)).toBe(true)
  })
  it('a handle equals only itself', () => {
    const [a, b] = [createHistory<Message>(), createHistory<Message>()]
    expect([equal(a, a), equal(a, b), equal({ one: a }, { one: b })]).toEqual([true, false, false])
  })
})

describe('copies of histories and views', () => {
  it('structuredClone of a view copies messages and page kinds', () => {
    const view = createHistory<Message>({ from: conversation() }).view()
    expect(structuredClone(view)).toEqual({
      messages: conversation(),
      pages: { kinds: view.pages.toArray() },
    })
    expect(structuredClone(contextOf(view).messages)).toEqual({ items: contextOf(view).messages.toArray() })
  })
  it('JSON of a spread view is what restoreHistory reads', () => {
    const history = createHistory<Message>({ from: conversation() })
    history.append(user('tabs'), 'preference')
    const saved: unknown = JSON.parse(JSON.stringify({ ...history.view() }))
    const restored = restoreHistory<Message>(saved as { messages: unknown }, decodeMessage)
    if (isLeft(restored)) throw new Error('expected a history')
    expect(restored.right.history.view()).toEqual(history.view())
    expect(restored.right.classifiedFrom).toBe(7)
  })
  it('JSON.stringify writes a view as its messages', () => {
    const view = viewOf('a')
    expect(JSON.stringify({ view })).toBe(JSON.stringify({ view: [user('a')] }))
  })
  it('structuredClone of a handle throws', () => {
    expect(() => structuredClone(createHistory<Message>())).toThrow('could not be cloned')
  })
})

describe('methods of a view', () => {
  it('work detached from the view and are the same each time', () => {
    const view = viewOf('a', 'b', 'c')
    const { at, slice, positionAt, before, toArray, toJSON, pages } = view
    expect([0, -1].map(at)).toEqual([user('a'), user('c')])
    expect(slice(1).toArray()).toEqual([user('b'), user('c')])
    expect([positionAt(2), before(2), toArray().length, toJSON().length]).toEqual([2, 2, 3, 3])
    for (const name of ['at', 'slice', 'positionAt', 'before', 'toArray', 'toJSON', 'messages', 'pages'] as const)
      expect(view[name]).toBe(view[name])
    const { at: kindAt, count, toArray: kinds } = pages
    expect([[0, 9].map(kindAt), count('conversation'), kinds().length]).toEqual([['conversation', undefined], 3, 3])
    const { at: itemAt, toArray: items } = contextOf(view).messages
    expect([[0].map(itemAt), items().length]).toEqual([[user('a')], 3])
  })
  it('return undefined for an invalid position', () => {
    const view = viewOf('a', 'b')
    for (const at of [0.5, -0.5, NaN, 2, -3, Infinity])
      expect([view.at(at), view.pages.at(at), contextOf(view).messages.at(at)]).toEqual([
        undefined,
        undefined,
        undefined,
      ])
  })
})

describe('printing handles and views', () => {
  it('works in a template string and as a number', () => {
    const history = createHistory<Message>({ from: conversation() })
    const view = history.view()
    expect(`${history as never} ${view as never} ${view.pages as never}`).toBe('History(6) View(6) Pages(6)')
    expect(`${contextOf(view).messages as never}`).toBe('Span(6)')
    expect([Number(view), Number(history)]).toEqual([NaN, NaN])
  })
  it('shows the last messages in the console and how many come before', () => {
    const history = createHistory<number>({ from: [1, 2, 3, 4, 5] })
    expect(inspect(history.view())).toBe('View(5) [ 2 earlier, 3, 4, 5 ]')
    expect(inspect(history)).toBe('History(5) [ 2 earlier, 3, 4, 5 ]')
    expect(inspect({ history })).toBe('{ history: History(5) [ 2 earlier, 3, 4, 5 ] }')
    expect(inspect(history.view().slice(2))).toBe('View(3) [ 3, 4, 5 ]')
    expect(inspect(history.view().slice(2).pages)).toBe("Pages(3) [ 'conversation', 'conversation', 'conversation' ]")
    expect(inspect(createHistory())).toBe('History(0) []')
    expect(inspect({ a: { b: { c: { history } } } })).toContain('[Object]')
    expect(inspect({ a: { b: { history } } }, { depth: 1 })).toContain('[Object]')
    expect(inspect([[history]], { depth: 1 })).toBe('[ [ [History(5)] ] ]')
  })
})

describe('Immer', () => {
  it('edits the messages of a view into a new array that shares unchanged messages', () => {
    const history = createHistory<Message>({ from: conversation() })
    const view = history.view()
    const edited = produce(view.messages, (draft) => {
      draft.push(castDraft(user('one more')))
      const first = draft[1]
      if (first !== undefined) first.name = 'Ada'
    })
    expect(edited.map((message, at) => message === view.at(at))).toEqual([true, false, true, true, true, true, false])
    expect(edited[1]).toEqual({ ...conversation()[1], name: 'Ada' })
    expect(view.messages).toEqual(conversation())
    expect([view.toArray(), history.view().toArray(), history.len]).toEqual([conversation(), conversation(), 6])
    expect(produce(view.messages, () => {})).toBe(view.messages)
  })
  it('reports in its own words that a handle and a view are not draftable', () => {
    const history = createHistory<Message>({ from: conversation() })
    const refused = { History: history, View: history.view(), Pages: history.view().pages }
    for (const [name, value] of Object.entries(refused)) {
      const sentence = new RegExp(
        `^\\[Immer\\] produce can only be called on things that are draftable: .* Got '${name}\\(6\\)'$`,
      )
      expect(() => produce(value as object, () => {})).toThrow(sentence)
      expect(() => produce(value as object, (draft: { length?: number }) => void (draft.length = 0))).toThrow(sentence)
      expect(() => produce(() => {})(value as never)).toThrow(sentence)
      expect(() => createDraft(value as object)).toThrow(
        '[Immer] First argument to `createDraft` must be a plain object',
      )
    }
  })
})
