/**
 * What callers hand over that is not what its type says: it must not change what is recorded, nor make it differ from
 * what is stored.
 */
/* oxlint-disable typescript/no-explicit-any, typescript/no-unsafe-declaration-merging -- such a caller has no types */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { appendText } from '../../src/history/internal.ts'
import {
  applyDelta,
  createHistory,
  createSession,
  decodeMessage,
  memoryStore,
  restoreHistory,
  user,
  type History,
  type Message,
  type View,
} from 'indelible'
import { omitRanges } from 'indelible/history'

const emptyText = '{"role":"user","content":[{"type":"text","text":""}]}'

describe('a block text restored into a stored message', () => {
  const live: readonly (readonly [string, unknown])[] = [
    ['Date', new Date(0)],
    ['Map', new Map([['a', 1]])],
    ['function', () => 'x'],
    ['Proxy', new Proxy({}, {})],
    ['array', ['x']],
    ['text object', Object('x')],
    ['number', 1],
    ['undefined', undefined],
  ]
  it.each(live)('must not be %s', (_name, text) => {
    const history = createHistory<any>()
    const answer = appendText(history, emptyText, { fills: [{ path: ['content', 0, 'text'], text: text as string }] })
    expect(answer).toMatchObject({ left: { _tag: 'UnrecordableMessage', path: ['content', 0, 'text'] } })
    expect(history.len).toBe(0)
  })
  it.each([
    ['has another text', ['role']],
    ['is not there', ['content', 1, 'text']],
    ['is a list', ['content']],
  ])('is not restored where a place %s', (_name, path) => {
    const history = createHistory<any>()
    expect(appendText(history, emptyText, { fills: [{ path, text: 'said' }] })).toMatchObject({
      left: { _tag: 'UnrecordableMessage', path, reason: 'is not an empty string, so no text can be inserted there' },
    })
    expect(history.len).toBe(0)
  })
  it('is restored even if requested twice', () => {
    const history = createHistory<any>()
    let asked = 0
    const fill = {
      path: ['content', 0, 'text'],
      get text() {
        return asked++ === 0 ? 'said' : (new Date(0) as unknown as string)
      },
    }
    expect(isLeft(appendText(history, emptyText, { fills: [fill] }))).toBe(false)
    expect(history.view().at(0)).toEqual(user('said'))
  })
})

describe('functions that write to a history', () => {
  it.each([
    ['an object like one', { append: () => 0, view: () => createHistory().view(), len: 0 }],
    ['a copy', { ...createHistory() }],
    ['an heir', Object.create(createHistory())],
    ['its view', createHistory().view()],
    ['null', null],
    ['a text', 'history'],
  ])('accept only histories of this library: %s', (_name, none: any) => {
    expect(() => appendText(none, emptyText)).toThrow('appendText needs a history from')
    expect(() => applyDelta(none, { id: 'd', expectedLen: 0, append: [] })).toThrow('applyDelta needs a history from')
  })
  it('refuse what a merged interface makes a History for the compiler, without a cast', () => {
    // oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- that is what is tested
    interface Forged extends History<Message> {}
    class Forged {}
    const forged: History<Message> = new Forged()
    expect(() => applyDelta(forged, { id: 'd', expectedLen: 0, append: [] })).toThrow(TypeError)
    expect(() => appendText(forged, emptyText)).toThrow(TypeError)
    // oxlint-disable-next-line typescript/no-unsafe-declaration-merging -- that is what is tested
    interface ForgedView extends View<Message> {}
    class ForgedView {}
    const view: View<Message> = new ForgedView()
    expect(() => omitRanges(view, [])).toThrow(TypeError)
    expect(() => createHistory<Message>({ from: view })).toThrow(TypeError)
  })
  it('name the callback and the value of an unrecordable text, and record nothing', () => {
    const thrown = new Error('mine')
    const fail = (): never => {
      throw thrown
    }
    const history = createHistory<any>({ classify: fail })
    const text = '{"a":1}'
    const faults = [
      appendText(history, '{'),
      appendText(history, '{"a":"\\ud800"}'),
      appendText(history, text, { check: () => 'no' as never }),
      appendText(history, text, { check: fail }),
      appendText(history, text),
    ]
    expect(faults.map((answer) => (isLeft(answer) ? answer.left : answer))).toEqual([
      { _tag: 'UnrecordableMessage', position: 0, path: [], reason: 'is not JSON text' },
      expect.objectContaining({ _tag: 'UnrecordableMessage', position: 0 }),
      { _tag: 'UndecodableMessage', position: 0, cause: 'no' },
      { _tag: 'CallbackThrew', callback: 'check', cause: thrown },
      { _tag: 'CallbackThrew', callback: 'classify', cause: thrown },
    ])
    expect(history.len).toBe(0)
    const options = { page: 'plan', check: () => undefined } as const
    expect(appendText(history, text, options)).toEqual({ _tag: 'Right', right: 0 })
    expect([history.view().at(0), history.view().pages.at(0)]).toEqual([{ a: 1 }, 'plan'])
  })
})

describe("Immer's draft symbol", () => {
  const state = Symbol.for('immer-state')
  const forged = { base_: { role: 'user', content: [{ type: 'text', text: 'forged' }] }, copy_: null, modified_: false }
  it('is an ordinary symbol as an own property', () => {
    const history = createHistory<any>()
    const given = { role: 'user', content: [], [state]: { ...forged, type_: 0 } }
    expect(() => history.append(given)).toThrow('has a symbol as a key')
    expect(history.len).toBe(0)
  })
  it('changes nothing if a Proxy answers it', () => {
    const history = createHistory<any>()
    history.append(
      new Proxy(user('b') as object, {
        get: (target, key) => (key === state ? forged : Reflect.get(target, key)),
      }),
    )
    expect(history.view().toArray()).toEqual([user('b')])
  })
})

describe('recording without a copy', () => {
  const own = (given: any = user('own')): any => {
    const decoded = decodeMessage(given)
    if (isLeft(decoded)) throw new Error('expected a message')
    return decoded.right
  }
  const recorded = (value: any) => {
    const history = createHistory<any>()
    history.append(value)
    return history.view().at(0)
  }
  it('happens for decoded messages, also in a session', async () => {
    const message = user('a')
    const decoded = own(message)
    expect(decoded).not.toBe(message)
    expect(own(decoded)).toBe(decoded)
    expect(recorded(decoded)).toBe(decoded)
    const session = await createSession(memoryStore(), { id: 's' })
    await session.append(decoded)
    expect(session.view().at(0)).toBe(decoded)
  })
  const frozen = (value: any): any => {
    if (typeof value === 'object' && value !== null)
      for (const inner of Object.values(Object.freeze(value))) frozen(inner)
    return value
  }
  const lookAlikes: readonly (readonly [string, (mine: any) => any])[] = [
    ['is frozen all the way down', () => frozen({ role: 'user', content: [{ type: 'text', text: 'own' }] })],
    ['is a Proxy of one', (mine) => new Proxy(mine, {})],
    ['spreads one', (mine) => ({ ...mine })],
    ['spreads one and is frozen', (mine) => Object.freeze({ ...mine })],
    ['has all its properties', (mine) => Object.create(Object.prototype, Object.getOwnPropertyDescriptors(mine))],
    ['is a clone of one', (mine) => structuredClone(mine)],
  ]
  it.each(lookAlikes)('does not happen for a value that %s', (_name, make) => {
    const mine = own()
    const given = make(mine)
    const found = recorded(given)
    expect(found).not.toBe(given)
    expect(found).not.toBe(mine)
    expect(found).toEqual(user('own'))
    expect(Object.isFrozen(found) && Object.isFrozen(found.content) && Object.isFrozen(found.content[0])).toBe(true)
  })
  it('does not happen for a derived object or a nested value', () => {
    const mine = own()
    expect(() => recorded(Object.create(mine))).toThrow('an object with a prototype of its own')
    expect(recorded({ mine }).mine).not.toBe(mine)
    expect(Object.isFrozen(recorded({ mine }).mine.content[0])).toBe(true)
  })
  it('gives no way to mark another value', () => {
    const mine = own()
    expect(Object.getPrototypeOf(mine)).toBe(Object.prototype)
    expect(Reflect.ownKeys(mine)).toEqual(['role', 'content'])
    const forged = Object.freeze({ role: 'user', content: [{ type: 'text', text: 'live' }] })
    Reflect.construct(mine.constructor, [forged])
    const found = recorded(forged)
    ;(forged.content[0] as { text: string }).text = 'changed'
    expect(found).toEqual(user('live'))
  })
  it('respects the depth limit', () => {
    let deep: any = {}
    for (let level = 2; level < 1000; level++) deep = { deep }
    const mine = own({ ...user('deep'), meta: deep })
    expect(recorded(mine)).toBe(mine)
    expect(() => recorded({ mine })).toThrow('nested deeper than 1000 levels')
  })
})

describe('delta ids', () => {
  const step = (id: string, expectedLen = 0) => ({ id, expectedLen, append: [user('a'), user('b')] })
  it('make another id at the same place a mismatch, even for equal messages', () => {
    const history = createHistory<Message>()
    expect(applyDelta(history, step('one'))).toMatchObject({ right: 'applied' })
    expect(applyDelta(history, step('one'))).toMatchObject({ right: 'duplicate' })
    const fault = { _tag: 'DeltaMismatch', position: 0, len: 2, appliedBy: 'one' }
    expect(applyDelta(history, step('two'))).toEqual({ _tag: 'Left', left: fault })
    expect(applyDelta(history, { id: 'two', expectedLen: 1, append: [user('b')] })).toEqual({
      _tag: 'Left',
      left: { ...fault, position: 1 },
    })
    expect(history.len).toBe(2)
  })
  it('find each of many deltas again', () => {
    const history = createHistory<Message>()
    for (let at = 0; at < 50; at++) {
      if (at % 7 === 0) history.append(user('between'))
      applyDelta(history, step(`s${at}`, history.len))
    }
    let applied = 0
    for (let at = 0; at < history.len; at++) {
      if (history.view().at(at)?.content[0]?.type !== 'text') continue
      const answers = Array.from({ length: 50 }, (_, id) => applyDelta(history, { ...step(`s${id}`, at) }))
      applied += answers.filter((answer) => answer._tag === 'Right').length
    }
    expect(applied).toBe(50) // each under its own id, at its own place
    expect(history.len).toBe(108)
  })
  it('are unknown to restored histories, forks and plain appends, where only `resume` accepts a duplicate', () => {
    const history = createHistory<Message>()
    applyDelta(history, step('one'))
    const restored = restoreHistory<Message>({ messages: history.view().toArray() }, (message) => ({
      _tag: 'Right',
      right: message as Message,
    }))
    if (isLeft(restored)) throw new Error('expected a history')
    const appended = createHistory<Message>({ from: [user('a'), user('b')] })
    for (const other of [restored.right.history, createHistory({ from: history.view() }), appended])
      expect([applyDelta(other, step('two')), applyDelta(other, step('two'), { resume: true })]).toMatchObject([
        { left: { _tag: 'DeltaMismatch', position: 0 } },
        { right: 'duplicate' },
      ])
  })
  it('are not stored for an empty delta', () => {
    const history = createHistory<Message>()
    expect(applyDelta(history, { id: 'empty', expectedLen: 0, append: [] })).toMatchObject({ right: 'applied' })
    expect(applyDelta(history, step('one'))).toMatchObject({ right: 'applied' })
    expect(applyDelta(history, { id: 'empty', expectedLen: 0, append: [] })).toMatchObject({ right: 'duplicate' })
  })
})
