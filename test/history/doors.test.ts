/**
 * Doors that were found open, each by its smallest reproduction: code that has got hold of a built-in, or hands over
 * something that is not what its type says, must not change what is recorded, nor make it differ from what is stored.
 */
/* oxlint-disable typescript/no-explicit-any, no-extend-native -- an attacker has no types and no manners */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { appendText } from '../../src/history/kit.ts'
import {
  applyDelta,
  createHistory,
  createSession,
  decodeMessage,
  memoryStore,
  openSession,
  restoreHistory,
  user,
  type Message,
} from 'indelible'

const { defineProperty, getOwnPropertyDescriptor, setPrototypeOf } = Object

/** Run with a property of a built-in replaced, and put it back. */
const patched = <T>(target: object, key: PropertyKey, patch: PropertyDescriptor, run: () => T): T => {
  const before = getOwnPropertyDescriptor(target, key)
  defineProperty(target, key, { ...patch, configurable: true })
  try {
    return run()
  } finally {
    if (before === undefined) Reflect.deleteProperty(target, key)
    else defineProperty(target, key, before)
  }
}

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

it('a Proxy below Array.prototype sees no recorded element', () => {
  const history = createHistory<any>()
  const mine = { type: 'text', text: 'mine' }
  const spy = new Proxy(Object.create(Object.prototype) as object, {
    has: () => false,
    set: (_target, key, _value, receiver) => defineProperty(receiver, key, { value: mine, configurable: true }) as any,
  })
  const trap = new Proxy(
    {},
    {
      ownKeys: () => {
        setPrototypeOf(Array.prototype, spy)
        return []
      },
    },
  )
  try {
    history.append({ role: 'user', content: [trap, { type: 'text', text: 'a' }] })
    history.append({ list: [1, 2, 3, 4, 5, 6] })
  } finally {
    setPrototypeOf(Array.prototype, Object.prototype)
  }
  expect(history.view().toArray()).toEqual([
    { role: 'user', content: [{}, { type: 'text', text: 'a' }] },
    { list: [1, 2, 3, 4, 5, 6] },
  ])
  expect(Object.isFrozen(history.view().at(0).content[1])).toBe(true)
  expect(Object.isFrozen(history.view().at(1).list)).toBe(true)
})

it('parsed messages are frozen even with a patched array iterator', () => {
  const history = createHistory<any>()
  const none = { value: () => ({ next: () => ({ done: true, value: undefined }) }) }
  patched(Array.prototype, Symbol.iterator, none, () =>
    appendText(history, '{"role":"user","content":[{"type":"text","text":"a"}]}'),
  )
  expect(() => (history.view().at(0).content[0].text = 'x')).toThrow(TypeError)
  expect(history.view().at(0)).toEqual(user('a'))
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
  it('changes nothing on Object.prototype, hidden, or answered by a Proxy', () => {
    const history = createHistory<any>()
    patched(Object.prototype, state, { value: forged }, () => history.append(user('a')))
    history.append(
      new Proxy(user('b') as object, {
        get: (target, key) => (key === state ? forged : Reflect.get(target, key)),
      }),
    )
    expect(history.view().toArray()).toEqual([user('a'), user('b')])
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
    const given = user('a')
    const decoded = own(given)
    expect(decoded).not.toBe(given)
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

it('an index setter on Array.prototype sees no read value', () => {
  const view = createHistory<Message>({ from: [user('a'), user('b')] }).view()
  const forging = {
    set(this: object) {
      defineProperty(this, 0, { value: user('forged'), enumerable: true, configurable: true })
    },
  }
  const [text, kinds, list] = patched(Array.prototype, 0, forging, () => [
    JSON.stringify(view),
    JSON.stringify(view.pages),
    view.toArray(),
  ])
  expect(JSON.parse(text)).toEqual([user('a'), user('b')])
  expect(kinds).toBe('["conversation","conversation"]')
  expect(list).toEqual([user('a'), user('b')])
})

it('a delta with another message is not a duplicate even with patched every and keys', () => {
  const history = createHistory<Message>({ from: [user('a')] })
  const other = { id: 'd', expectedLen: 0, append: [user('b')] }
  for (const [target, key, value] of [
    [Array.prototype, 'every', () => true],
    [Object, 'keys', () => []],
    [Object, 'hasOwn', () => true],
    [Array, 'isArray', () => false],
  ] as const)
    expect(patched(target, key, { value }, () => applyDelta(history, other))).toEqual({
      _tag: 'Left',
      left: { _tag: 'DeltaMismatch', position: 0, len: 1 },
    })
})

describe('a successful append is stored as it reads', () => {
  const patches: readonly (readonly [object, PropertyKey, unknown])[] = [
    [Object.prototype, 'toJSON', () => ({ role: 'user', content: [{ type: 'text', text: 'forged' }] })],
    [Array.prototype, 'toJSON', () => []],
    [String.prototype, 'toJSON', () => 'forged'],
    [JSON, 'stringify', () => '{"role":"user","content":[{"type":"text","text":"forged"}]}'],
  ]
  it.each(patches)('with %o patched at %s', async (target, key, value) => {
    const store = memoryStore()
    const created = await createSession(store, { id: 's' })()
    if (isLeft(created)) throw new Error('expected a session')
    const session = created.right
    const answer = patched(target, key, { value }, () => session.append([user('said')])())
    await answer
    const opened = await openSession(store, 's')()
    if (isLeft(opened)) throw new Error('expected a session')
    expect(opened.right.view().toArray()).toEqual(session.view().toArray())
    expect(session.view().toArray()).toEqual([user('said')])
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

describe('replacing built-ins while a chunk is sealed', () => {
  const { apply, ownKeys } = Reflect
  const builtIns: readonly object[] = [
    ...[Object, Object.prototype, Reflect, Array, Array.prototype, Function.prototype, Symbol, Number, String],
    ...[Map.prototype, Set.prototype, WeakMap.prototype, WeakSet.prototype, Proxy],
    Object.getPrototypeOf([][Symbol.iterator]()) as object,
  ]
  /** Run with every function of the built-ins replaced by one that shows what it gets and gives, and gives the answer. */
  const watched = (answer: (seen: unknown) => unknown, run: () => void): void => {
    const undo: (() => void)[] = []
    let inside = false
    for (const target of builtIns)
      for (const key of ownKeys(target)) {
        const before = getOwnPropertyDescriptor(target, key)
        if (before?.configurable !== true || typeof before.value !== 'function' || key === 'constructor') continue
        const original = before.value as () => unknown
        const spy = function (this: unknown, ...given: unknown[]) {
          const result: unknown =
            new.target === undefined ? apply(original, this, given) : Reflect.construct(original, given)
          if (inside) return result
          inside = true
          try {
            answer(this)
            for (let index = 0; index < given.length; index++) answer(given[index])
            return answer(result)
          } finally {
            inside = false
          }
        }
        undo[undo.length] = () => defineProperty(target, key, before)
        defineProperty(target, key, { __proto__: null, ...before, value: spy } as PropertyDescriptor)
      }
    try {
      run()
    } finally {
      for (let index = undo.length - 1; index >= 0; index--) undo[index]?.()
    }
  }
  const forged = { n: 'forged' }
  /** Three chunks of 128 and one message more, of which half are recorded while `attack` lasts. */
  const survives = (attack: (run: () => void, history: ReturnType<typeof createHistory<any>>) => void): void => {
    const history = createHistory<any>()
    const append = (from: number, to: number): void => {
      for (let n = from; n < to; n++) history.append({ n }, 'plan')
    }
    append(0, 120)
    const early = history.view()
    let fork = history
    attack(() => {
      append(120, 300)
      fork = createHistory({ from: history.view() })
      fork.append({ n: 300 }, 'plan')
    }, history)
    append(300, 385)
    const expected = Array.from({ length: 385 }, (_, n) => ({ n }))
    const textUpTo = (length: number): string => JSON.stringify(expected.slice(0, length))
    for (const round of [1, 2]) {
      expect([round, JSON.stringify(history.view().toArray())]).toEqual([round, textUpTo(385)])
      expect(JSON.stringify(Array.from(expected, (_, n) => history.view().at(n)))).toBe(textUpTo(385))
      expect(history.view().pages.count('plan')).toBe(385)
      expect(JSON.stringify(early.toArray())).toBe(textUpTo(120))
      expect(JSON.stringify(fork.view().toArray())).toBe(textUpTo(301))
    }
    for (const message of history.view()) expect(Object.isFrozen(message)).toBe(true)
  }
  const objectsIn = (seen: unknown, replace: (owner: object, key: PropertyKey, value: object) => void): unknown => {
    if (typeof seen !== 'object' || seen === null) return seen
    for (const key of ownKeys(seen)) {
      const value: unknown = getOwnPropertyDescriptor(seen, key)?.value
      if (typeof value === 'object' && value !== null)
        try {
          replace(seen, key, value)
        } catch {
          continue // frozen
        }
    }
    return seen
  }

  it('cannot put an accessor in place of a chunk', () =>
    survives((run) =>
      watched(
        (seen) =>
          objectsIn(seen, (owner, key, value) => {
            let reads = 0
            defineProperty(owner, key, {
              get: () => (reads++ < 3 ? value : { n: forged, messages: [forged], kinds: 'x' }),
              enumerable: true,
            })
          }),
        run,
      ),
    ))
  it('cannot put a Proxy in place of a chunk', () => {
    const lying = <T extends object>(value: T): T => {
      let reads = 0
      return new Proxy(value, {
        get: (target, key, receiver) => {
          if (reads++ > 50 && typeof key === 'string') throw new RangeError('for good')
          const found: unknown = Reflect.get(target, key, receiver)
          return typeof found === 'object' && found !== null && !Object.isFrozen(target) ? forged : found
        },
      })
    }
    survives((run) =>
      watched(
        (seen) =>
          objectsIn(seen, (owner, key, value) => {
            defineProperty(owner, key, { value: lying(value), enumerable: true, configurable: true, writable: true })
          }),
        run,
      ),
    )
  })
  it('loses nothing through a getter on a built-in prototype', () => {
    for (const key of ['constructor', 'length', 'len', 'groups', 'messages', 'kinds', 'codes', '0', '63', '127'])
      for (const prototype of [Number.prototype, String.prototype, Array.prototype, Object.prototype]) {
        const has = getOwnPropertyDescriptor(prototype, key)
        if (has !== undefined && has.configurable !== true) continue
        let asked = 0
        survives((run) =>
          patched(
            prototype,
            key,
            {
              get() {
                asked++
                throw new RangeError('taken')
              },
            },
            run,
          ),
        )
        expect([prototype, key, asked]).toEqual([prototype, key, 0])
      }
  })
})
