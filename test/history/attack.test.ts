/**
 * The second wall: what somebody can try at run time with every type erased. Each attempt throws or has no effect, and
 * every view is equal before and after.
 */
/* oxlint-disable typescript/no-explicit-any, typescript/no-this-alias, no-extend-native, no-proto, unicorn/no-array-reverse -- an attacker has no types and no manners */
import { produce } from 'immer'
import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { applyDelta, createHistory, decodeMessage, restoreHistory, user, type History, type Message } from 'indelible'
import { omitRanges } from 'indelible/history'
import { appendChunk, chunkLength } from '../../src/history/internal.ts'
import { classify } from '../../src/pages/index.ts'
import { conversation } from '../messages.ts'
import { oneIn } from '../rounds.ts'

const inspectKey = Symbol.for('nodejs.util.inspect.custom')

/** A recorded conversation, its view, and what the view must still say at the end. */
const recorded = (history = createHistory<Message>({ from: conversation() })) => {
  const view = history.view()
  return { history, view, handle: history as any, reader: view as any, before: JSON.stringify(conversation()) }
}

/** A history of messages none of which was read. */
const unparsedHistory = (messages: readonly Message[]): History<Message> => {
  const history = createHistory<Message>()
  const texts = messages.map((message) => ({
    text: JSON.stringify(message),
    page: classify(message),
    fills: () => [],
  }))
  const reader = { check: () => undefined, errorOf: () => new Error('unread') }
  for (let from = 0; from < texts.length; from += chunkLength)
    appendChunk(history, texts.slice(from, from + chunkLength), reader)
  return history
}
/** Where chunks are so small that a few messages fill them, each attack is also made on messages that were not read. */
const read = (from: readonly Message[]): History<Message> => createHistory<Message>({ from })
const makers = chunkLength === 2 ? [read, unparsedHistory] : [read]

/** Run an attack; whatever it does, the record says what it said. */
const survives = (attack: (target: ReturnType<typeof recorded>) => void): void => {
  for (const make of makers) survivesAs(recorded(make(conversation())), attack)
}
const survivesAs = (
  target: ReturnType<typeof recorded>,
  attack: (target: ReturnType<typeof recorded>) => void,
): void => {
  attack(target)
  expect(JSON.stringify(target.view)).toBe(target.before)
  expect(JSON.stringify(target.history.view().slice(0, target.view.length))).toBe(target.before)
  expect(target.history.view().toArray().slice(0, target.view.length)).toEqual(conversation())
  expect(target.view.pages.length).toBe(target.view.length)
  expect(target.history.append(user('and on it goes'))).toBe(target.history.len - 1)
}

/** An attack that must throw, and change nothing. */
const throws = (attack: (target: ReturnType<typeof recorded>) => void): void =>
  survives((target) => {
    expect(() => attack(target)).toThrow()
  })

describe('a handle exposes only append, view and len', () => {
  it('by its keys and symbols', () =>
    survives(({ history }) => expect(Reflect.ownKeys(history)).toEqual(['append', 'view', 'len'])))
  it('by its prototype, which only prints and compares', () =>
    survives(({ handle }) => {
      const prototype = Object.getPrototypeOf(handle)
      expect(Reflect.ownKeys(prototype)).toEqual([Symbol.toPrimitive, inspectKey])
      expect(Object.getPrototypeOf(prototype)).toBe(Object.prototype)
      expect(Object.isFrozen(prototype)).toBe(true)
      expect(handle.constructor).toBe(Object)
    }))
  it('by for-in and by entries', () =>
    survives(({ handle }) => {
      const seen: string[] = []
      for (const key in handle) seen.push(key)
      expect(seen).toEqual(['append', 'view', 'len'])
      expect(Object.values(handle).map((value) => typeof value)).toEqual(['function', 'function', 'number'])
    }))
  it('by the properties of its functions', () =>
    survives(({ handle }) => {
      for (const method of [handle.append, handle.view]) {
        expect(method.prototype).toBeUndefined()
        expect(() => method.caller).toThrow()
        expect(() => new method()).toThrow()
      }
    }))
  it('by inspection', () =>
    survives(({ handle }) => expect(inspect(handle, { showHidden: true, depth: 9 })).not.toContain('coding agent')))
  it('by JSON', () => survives(({ handle }) => expect(JSON.stringify(handle)).toBe('{"len":6}')))
  it('by structuredClone', () => throws(({ handle }) => structuredClone(handle)))
  it('by the getter of len, which accepts only handles', () =>
    survives(({ handle }) => {
      const get = Object.getOwnPropertyDescriptor(handle, 'len')?.get as any
      for (const ours of [handle, Object.create(handle)]) expect(get.call(ours)).toBe(6)
      expect(Object.getOwnPropertyDescriptor(createHistory(), 'len')?.get).toBe(get) // one layout for all handles
      for (const stranger of [undefined, { entries: [] }, new Proxy(handle, {})])
        expect(() => get.call(stranger)).toThrow(TypeError)
    }))
})

describe('a handle cannot be altered', () => {
  it('by assignment', () => throws(({ handle }) => (handle.append = () => 0)))
  it('by a new member', () => throws(({ handle }) => (handle.extra = 1)))
  it('by setting its length', () => throws(({ handle }) => (handle.len = 0)))
  it('by delete', () => throws(({ handle }) => delete handle.append))
  it('by defineProperty', () => throws(({ handle }) => Object.defineProperty(handle, 'view', { value: () => [] })))
  it('by setPrototypeOf', () => throws(({ handle }) => Object.setPrototypeOf(handle, { evil: true })))
  it('by its prototype', () => throws(({ handle }) => (Object.getPrototypeOf(handle).append = () => 0)))
  it('by Object.assign', () => throws(({ handle }) => Object.assign(handle, { view: () => [] })))
  it('by produce', () => throws(({ handle }) => produce(handle, (draft: any) => void (draft.len = 0))))
  it('by produce on a state that holds it', () =>
    survives(({ handle }) => {
      const next: any = produce({ handle, n: 1 }, (draft: any) => void (draft.n = 2))
      expect(next.handle).toBe(handle)
    }))
  it('by a copy: a spread has its own len', () =>
    survives(({ handle }) => {
      const copy = { ...handle }
      copy.len = 0
      copy.append = () => 0
    }))
  it('by a derived object', () =>
    survives(({ handle }) => {
      const heir = Object.create(handle)
      expect(() => (heir.append = () => 0)).toThrow()
      expect(() => (heir.len = 0)).toThrow()
    }))
  it('by a Proxy, which can only mislead its own holder', () =>
    survives(({ handle, history }) => {
      const proxy: any = new Proxy(handle, { get: (target, key) => (key === 'len' ? 0 : Reflect.get(target, key)) })
      expect(history.len).toBe(6)
      expect(() => (proxy.append = () => 0)).toThrow()
      expect(() => applyDelta(proxy, { id: 'd', expectedLen: 0, append: [] })).toThrow(TypeError)
    }))
})

describe('a view cannot be altered', () => {
  it('has only the members of a view', () =>
    survives(({ view }) => {
      expect(Reflect.ownKeys(view)).toEqual(['messages', 'pages'])
      const prototype = Object.getPrototypeOf(view) as object
      expect(Reflect.ownKeys(prototype)).toEqual(['slice', 'positionAt', 'before'])
      const shared = Object.getPrototypeOf(prototype) as object
      expect(Reflect.ownKeys(shared)).toEqual([
        'length',
        'at',
        'toArray',
        'toJSON',
        Symbol.iterator,
        Symbol.toPrimitive,
        inspectKey,
      ])
      for (const each of [prototype, shared]) expect(Object.isFrozen(each)).toBe(true)
      expect(Object.getPrototypeOf(shared)).toBe(Object.prototype)
      expect((view as any).constructor).toBe(Object)
    }))
  it('by its own two properties, whose getters accept only views', () =>
    survives(({ view, reader, history }) => {
      history.append(user('later'))
      const other = Object.getOwnPropertyDescriptors(history.view())
      for (const key of ['messages', 'pages'] as const) {
        const { get, set, configurable, enumerable } = Object.getOwnPropertyDescriptor(view, key) as PropertyDescriptor
        expect([set, configurable, enumerable]).toEqual([undefined, false, true])
        expect(get).toBe(other[key].get)
        for (const stranger of [undefined, {}, [], history, view.pages, Object.create(view), new Proxy(reader, {})])
          expect(() => get?.call(stranger)).toThrow(TypeError)
        expect(() => (reader[key] = [])).toThrow(TypeError)
        expect(() => delete reader[key]).toThrow(TypeError)
      }
      expect(() => reader.messages.push(user('x'))).toThrow(TypeError)
      expect(() => (reader.pages.kinds[0] = 'plan')).toThrow(TypeError)
      expect(reader.messages).toBe(view.messages)
    }))
  it('by its prototype', () => {
    throws(({ reader }) => (Object.getPrototypeOf(reader).at = () => undefined))
    throws(({ reader }) => Object.getPrototypeOf(reader).at.call({}, 0))
    throws(({ reader }) => Object.create(reader).at(0))
    throws(({ reader }) => (Object.getPrototypeOf(reader.pages).at = () => 'plan'))
  })
  it('by assignment', () => throws(({ reader }) => (reader.length = 0)))
  it('by an index', () => throws(({ reader }) => (reader[0] = user('x'))))
  it('by replacing at', () => throws(({ reader }) => (reader.at = () => undefined)))
  it('by replacing its iterator', () => throws(({ reader }) => (reader[Symbol.iterator] = () => [][Symbol.iterator]())))
  it('by delete, which finds no own property', () =>
    survives(({ reader }) => {
      delete reader.toArray
      delete reader.length
      expect(reader.toArray().length).toBe(6)
    }))
  it('by defineProperty', () => throws(({ reader }) => Object.defineProperty(reader, 'pages', { value: [] })))
  it('by setPrototypeOf', () => throws(({ reader }) => Object.setPrototypeOf(reader, Array.prototype)))
  it('by the methods of arrays', () => {
    for (const method of [
      'push',
      'pop',
      'shift',
      'unshift',
      'splice',
      'sort',
      'reverse',
      'fill',
      'copyWithin',
    ] as const)
      survives(({ reader }) => {
        try {
          ;((Array.prototype as any)[method] as (...given: unknown[]) => void).call(reader, 0, 1)
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError)
        }
      })
  })
  it('by its arrays', () => {
    throws(({ reader }) => reader.toArray().push(user('x')))
    throws(({ reader }) => (reader.toArray()[0] = user('x')))
    throws(({ reader }) => (reader.toArray().length = 0))
    throws(({ reader }) => reader.toArray().sort(() => -1))
    throws(({ reader }) => reader.toJSON().reverse())
  })
  it('by its page kinds', () => {
    throws(({ reader }) => (reader.pages[0] = 'plan'))
    throws(({ reader }) => (reader.pages.at = () => 'plan'))
    throws(({ reader }) => reader.pages.toArray().push('plan'))
    throws(({ reader }) => (reader.pages.toArray()[0] = 'plan'))
    survives(({ reader }) => expect(reader.pages.append).toBeUndefined())
  })
  it('by positions that are not numbers', () =>
    survives(({ reader }) => {
      for (const position of [
        'length',
        '0',
        '__proto__',
        'constructor',
        NaN,
        Infinity,
        -Infinity,
        0.5,
        1e300,
        {},
        [],
        null,
      ])
        expect([undefined, ...conversation()]).toContainEqual(reader.at(position))
      for (const bound of ['length', NaN, Infinity, -Infinity, 1.5, '2', null, {}])
        expect(reader.slice(0, bound).length).toBeLessThanOrEqual(6)
      expect(reader.slice(-1e9, 1e9).length).toBe(6)
      expect(reader.slice(0, 3).slice(0, 6).length).toBe(3)
      expect(reader.slice(0, 3).at(3)).toBeUndefined()
      expect(reader.slice(3).at(-4)).toBeUndefined()
      const shifting = (...answers: readonly number[]) => {
        let asked = 0
        return { valueOf: () => answers[Math.min(asked++, answers.length - 1)] }
      }
      for (const cut of [
        reader.slice(1, 2).slice(0, shifting(Infinity, 0.5, 0.5, 0.5, 100)),
        reader.slice(2, 3).slice(shifting(0.5, 0.5, 0.5, -2)),
        reader.slice(0.5, 1.5),
      ]) {
        expect([0, 1]).toContain(cut.length)
        expect(cut.pages.length).toBe(cut.length)
        expect(cut.at(1)).toBeUndefined()
      }
      expect(reader.slice(0, 1).at(shifting(0, 0, 4))).toEqual(conversation()[0])
    }))
})

it.each(makers)('nothing reachable from a filtered view exposes the omitted messages or a handle', (make) => {
  const history = make(Array.from({ length: 12 }, (_, at) => user(`${at}`)))
  const left = (text: string): boolean => ['3', '4', '8'].includes(text)
  const part = omitRanges(history.view(), [
    { from: 3, to: 5 },
    { from: 8, to: 9 },
  ]).slice(1, -1)
  history.append(user('later'))
  const outside = (text: string): boolean => left(text) || ['0', '11', 'later'].includes(text)

  const builtIn = new Set<unknown>([Object, Array, Function, String, Number, Boolean, Symbol].map((of) => of.prototype))
  const seen = new Set<unknown>()
  const found: string[] = []
  let calls = 0
  const open: (readonly [value: unknown, depth: number])[] = [[part, 0]]
  const visit = (value: unknown, depth: number): void => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return
    if (seen.has(value) || builtIn.has(value) || depth > 2) return
    seen.add(value)
    open.push([value, depth])
  }
  const attempt = (run: () => unknown, depth: number): void => {
    calls++
    try {
      visit(run(), depth)
    } catch {
      return // a getter that knows its own
    }
  }
  const givens: readonly (readonly unknown[])[] = [
    ...[[], [0], [-1], [-7], [3], [99], [0.5], ['0'], ['evidence'], [-99, 99], [2, 4], [{ valueOf: () => 3 }], [part]],
    [1, {}, (...all: unknown[]) => (all.forEach((each) => visit(each, 1)), '')],
  ]
  for (const [at, [value, depth]] of open.entries()) {
    const it = value as any
    if (typeof it === 'function') {
      for (const self of [undefined, part, part.pages])
        for (const given of givens) attempt(() => it.apply(self, given), depth + 1)
      continue
    }
    if (it.type === 'text' && outside(it.text)) found.push(it.text)
    if (typeof it.append === 'function') found.push('a handle')
    if (depth === 2 && at % oneIn(4) !== 0) continue
    visit(Object.getPrototypeOf(it), depth)
    for (const key of Reflect.ownKeys(it)) {
      const { get, set } = Object.getOwnPropertyDescriptor(it, key) as PropertyDescriptor
      visit(get, depth)
      visit(set, depth)
      attempt(() => it[key], depth)
    }
    for (const key of [
      'at',
      'slice',
      'positionAt',
      'before',
      'toArray',
      'toJSON',
      'count',
      'next',
      Symbol.iterator,
      Symbol.toPrimitive,
      inspectKey,
      'valueOf',
      'toString',
    ])
      attempt(() => it[key], depth)
  }
  expect(calls).toBeGreaterThan(1000)
  expect(seen.size).toBeGreaterThan(100)
  expect(found).toEqual([])
  expect(part.toArray()).toEqual(['1', '2', '5', '6', '7', '9', '10'].map((text) => user(text)))
})

describe('a recorded message cannot be altered', () => {
  it('by assignment at any depth', () => {
    throws(({ reader }) => (reader.at(0).role = 'user'))
    throws(({ reader }) => (reader.at(0).content = []))
    throws(({ reader }) => (reader.at(0).content[0].text = 'x'))
    throws(({ reader }) => reader.at(0).content.push({}))
    throws(({ reader }) => (reader.at(0).content.length = 0))
    throws(({ reader }) => delete reader.at(2).content[1].arguments)
    throws(({ reader }) => Object.defineProperty(reader.at(0), 'role', { get: () => 'user' }))
    throws(({ reader }) => Object.setPrototypeOf(reader.at(0), {}))
    throws(({ reader }) => Object.assign(reader.at(0), { role: 'user' }))
    for (const message of recorded().view) throws(() => ((message as any).extra = 1))
  })
  it('by produce, which gives a new message', () =>
    survives(({ reader }) => {
      const edited: any = produce(reader.at(0) as object, (draft: any) => void (draft.content[0].text = 'x'))
      expect(edited).not.toBe(reader.at(0))
      expect(edited.content[0].text).toBe('x')
    }))
  it('by changing the message that was given', () =>
    survives(({ handle, history }) => {
      const mine = { role: 'user', content: [{ type: 'text', text: 'mine' }], meta: { a: { b: [1] } } } as any
      handle.append(mine)
      const at = history.view().at(-1)
      mine.role = 'system'
      mine.content[0].text = 'changed'
      mine.content.push({ type: 'text', text: 'more' })
      mine.meta.a.b[0] = 2
      expect(history.view().at(-1)).toBe(at)
      expect(at).toEqual({ role: 'user', content: [{ type: 'text', text: 'mine' }], meta: { a: { b: [1] } } })
      expect(Object.isFrozen(mine)).toBe(false)
    }))
  it('by appending a frozen object whose insides are not frozen', () =>
    survives(({ handle, reader, history }) => {
      const inside = [{ type: 'text', text: 'inside' }]
      handle.append(Object.freeze({ role: 'user', content: inside }))
      inside.push({ type: 'text', text: 'late' })
      expect((history.view().at(-1) as any).content.length).toBe(1)
      void reader
    }))
  it('by a Proxy that answers differently the second time', () =>
    survives(({ handle, history }) => {
      let reads = 0
      const shifting = new Proxy(
        { role: 'user', content: [] as unknown[] },
        {
          get: (target, key) => {
            reads += 1
            return key === 'content' && reads > 1 ? [{ type: 'text', text: 'late' }] : Reflect.get(target, key)
          },
        },
      )
      handle.append(shifting)
      const text = JSON.stringify(history.view().at(-1))
      expect(JSON.stringify(history.view().at(-1))).toBe(text)
      expect(Object.isFrozen((history.view().at(-1) as any).content)).toBe(true)
    }))
  it('by a Proxy that appends while it is read', () => {
    const { handle, history } = recorded()
    const nested = new Proxy(
      { role: 'user', content: [] },
      {
        ownKeys: (target) => {
          if (history.len === 6) handle.append(user('from inside'))
          return Reflect.ownKeys(target)
        },
      },
    )
    expect(handle.append(nested)).toBe(7)
    expect(history.view().length).toBe(8)
    expect(history.view().pages.length).toBe(8)
  })
})

describe("a caller's callback receives only its argument", () => {
  it('classify', () => {
    const got: unknown[] = []
    const history = createHistory<Message>({
      classify: function (this: unknown, message) {
        got.push(this, message)
        expect(() => ((message as any).role = 'system')).toThrow()
        return 'plan'
      },
    })
    history.append(user('hi'))
    applyDelta(history, { id: 'd', expectedLen: 1, append: [user('ho')] })
    expect(got.map((value) => typeof value)).toEqual(['undefined', 'object', 'undefined', 'object'])
    expect(history.view().pages.toArray()).toEqual(['plan', 'plan'])
  })
  it('decode', () => {
    let self: unknown = 'not called'
    restoreHistory({ messages: [user('hi')] }, function (this: unknown, message) {
      self = this
      return decodeMessage(message)
    })
    expect(self).toBeUndefined()
  })
  it('decode that changes the input being restored has no effect', () => {
    const saved: { messages: unknown[]; pages: unknown[] } = { messages: [user('a'), user('b')], pages: ['plan'] }
    const answer = restoreHistory<Message>(saved, (message) => {
      saved.pages.push('gossip')
      saved.messages.push(user('late'))
      return decodeMessage(message)
    })
    expect(answer).toMatchObject({ _tag: 'Right', right: { classifiedFrom: 1, history: { len: 2 } } })
  })
  it('a delta whose length changes while checked', () => {
    const { history } = recorded()
    let asked = 0
    const delta: any = {
      id: 'd',
      append: [],
      get expectedLen() {
        return asked++ === 0 ? 6 : NaN
      },
    }
    expect(applyDelta(history, delta)).toMatchObject({ right: 'applied' })
    expect(asked).toBe(1)
  })
  it('classify that throws or returns no kind leaves the history unchanged', () => {
    let mood: unknown = 'evidence'
    const history = createHistory<Message>({
      classify: () => {
        if (mood instanceof Error) throw mood
        return mood as 'evidence'
      },
    })
    history.append(user('a'))
    mood = new RangeError('mine')
    expect(() => history.append(user('b'))).toThrow(RangeError)
    mood = 'gossip'
    expect(() => history.append(user('b'))).toThrow('"gossip" is not a page kind')
    const refused = applyDelta(history, { id: 'd', expectedLen: 1, append: [user('b')] })
    expect(refused).toMatchObject({ _tag: 'Left', left: { _tag: 'CallbackThrew', callback: 'classify' } })
    mood = 'plan'
    history.append(user('c'))
    expect(history.view().pages.toArray()).toEqual(['evidence', 'plan'])
  })
})
