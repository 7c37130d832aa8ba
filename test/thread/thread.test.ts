import { isLeft, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, faultMessage, orThrow, settle, system, user, type Message } from 'indelible'
import { run, scriptedModel } from 'indelible/run'
import {
  appendUserMessage,
  applyRunResultHistory,
  checkThread,
  decodeThread,
  encodeThread,
  replaceThreadHistory,
  toThreadHistory,
  type ThreadItem,
} from 'indelible/thread'
import type { MessageItem } from '../../src/thread/item.ts'

const said = (content: string): ThreadItem => ({ type: 'message', role: 'user', content })
const call = (callId: string): ThreadItem => ({ type: 'tool_call_item', callId, name: 'search' })
const output = (callId: string): ThreadItem => ({ type: 'tool_call_output_item', callId, output: 'found' })

const deepFreeze = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null)
    for (const key of Reflect.ownKeys(value)) deepFreeze((value as Record<PropertyKey, unknown>)[key])
  return Object.freeze(value)
}

describe('toThreadHistory', () => {
  it.each(['hello', '', '  ', '\ud83d', '<b>'])('makes one user message from a string, unchanged: %j', (text) => {
    expect(toThreadHistory(text)).toStrictEqual([{ type: 'message', role: 'user', content: text }])
  })
  it('copies an array and shares its items', () => {
    const history = [said('a'), call('c1')]
    const copy = toThreadHistory(history)
    expect(copy).toStrictEqual(history)
    expect(copy).not.toBe(history)
    expect(copy[0]).toBe(history[0])
    copy.push(said('b'))
    expect(history.length).toBe(2)
  })
  it('accepts items of any type', () => {
    const odd = [1, { who: 'me' }, new Date(0)]
    expect(toThreadHistory(odd)).toStrictEqual(odd)
  })
  it('deep: a frozen snapshot that shares nothing', () => {
    const raw = { id: 'r1', parts: [1] }
    const history: ThreadItem[] = [{ ...said('a'), rawItem: raw } as ThreadItem]
    const frozen = toThreadHistory(history, { deep: true })
    raw.parts.push(2)
    expect(frozen).toStrictEqual([{ type: 'message', role: 'user', content: 'a', rawItem: { id: 'r1', parts: [1] } }])
    expect([
      Object.isFrozen(frozen),
      Object.isFrozen(frozen[0]),
      Object.isFrozen((frozen[0] as MessageItem).rawItem),
    ]).toEqual([true, true, true])
    expect(Object.isFrozen(history[0])).toBe(false)
    expect(toThreadHistory('x', { deep: true })).toStrictEqual([said('x')])
  })
  it('deep: throws for an item that is not plain JSON and reports the path', () => {
    expect(() => toThreadHistory([{ ...said('a'), rawItem: new Map() }], { deep: true })).toThrow(
      /\[0\]\.rawItem is an instance of Map/,
    )
  })
})

describe('appendUserMessage', () => {
  it.each(['next', ''])('returns exactly one message more: %j', (content) => {
    const history = deepFreeze([said('a')])
    const longer = appendUserMessage(history, content)
    expect(longer).toStrictEqual([said('a'), said(content)])
    expect(longer[0]).toBe(history[0])
    expect(history.length).toBe(1)
    expect(Object.isFrozen(longer)).toBe(false)
  })
})

it('a text that is none, and an unknown option, are refused', () => {
  for (const text of [undefined, user('x'), 7])
    expect(() => appendUserMessage([], text as never)).toThrow(
      'appendUserMessage expects the text of the message, found',
    )
  expect(() => toThreadHistory([], { freeze: true } as never)).toThrow('toThreadHistory has no option "freeze"')
})

describe('replaceThreadHistory', () => {
  const tag = Symbol('tag')

  it('keeps every other own property and leaves the thread unchanged', () => {
    const thread = { id: 't1', history: [said('a')], title: 'T', [tag]: 1 }
    const next = replaceThreadHistory(thread, [said('b')])
    expect(next).toStrictEqual({ id: 't1', history: [said('b')], title: 'T', [tag]: 1 })
    expect(Object.keys(next)).toEqual(['id', 'history', 'title'])
    expect(thread.history).toStrictEqual([said('a')])
  })
  it('keeps prototypes, accessors and non-enumerable properties', () => {
    class Stored {
      id = 't1'
      history: ThreadItem[] = []
      get size(): number {
        return this.history.length
      }
    }
    const thread = Object.defineProperties(new Stored(), {
      hidden: { value: 7, enumerable: false },
      twice: {
        get: function (this: Stored) {
          return this.history.length * 2
        },
        enumerable: true,
      },
    })
    const next = replaceThreadHistory(thread, [said('a'), said('b')])
    expect(next).toBeInstanceOf(Stored)
    expect([next.size, (next as unknown as { twice: number }).twice]).toEqual([2, 4])
    expect(Object.getOwnPropertyDescriptor(next, 'hidden')).toEqual({
      value: 7,
      enumerable: false,
      writable: false,
      configurable: false,
    })
    expect(
      Object.getPrototypeOf(replaceThreadHistory(Object.assign(Object.create(null) as object, { history: [] }), [])),
    ).toBe(null)
  })
  it("accepts the thread's current history", () => {
    const thread = { history: [said('a')] }
    const next = replaceThreadHistory(thread, thread.history)
    expect(next).toStrictEqual(thread)
    expect(next.history).not.toBe(thread.history)
  })
  it('accepts frozen threads and returns a mutable one', () => {
    const thread = deepFreeze({ id: 't1', history: [said('a')] as readonly ThreadItem[], title: 'T' })
    const next = replaceThreadHistory(thread, [said('b')])
    next.title = 'U'
    expect(next).toStrictEqual({ id: 't1', history: [said('b')], title: 'U' })
    const open = { writable: true, enumerable: true, configurable: true }
    for (const key of ['title', 'history'])
      expect(Object.getOwnPropertyDescriptor(next, key)).toEqual({ value: Reflect.get(next, key) as unknown, ...open })
  })
  it('keeps the accessors of a frozen thread', () => {
    const thread = Object.freeze({
      history: [said('a')],
      get length(): number {
        return this.history.length
      },
    })
    const next = replaceThreadHistory(thread, [said('a'), said('b')])
    expect(next.length).toBe(2)
    expect(Object.getOwnPropertyDescriptor(next, 'length')).toMatchObject({ configurable: true, set: undefined })
  })
  it('keeps an own __proto__ key', () => {
    const thread = JSON.parse('{"__proto__": {"admin": true}, "history": []}') as { history: ThreadItem[] }
    const next = replaceThreadHistory(thread, [])
    expect(JSON.stringify(next)).toBe('{"__proto__":{"admin":true},"history":[]}')
    expect('admin' in next).toBe(false)
  })
  it('adds an own history if the prototype had one', () => {
    class Lazy {
      get history(): ThreadItem[] {
        return [said('from the prototype')]
      }
    }
    expect(replaceThreadHistory(new Lazy(), [said('own')]).history).toStrictEqual([said('own')])
  })
  it('refuses a thread without `history`, and a history that is no array', () => {
    const thread = { messages: [said('a')] }
    const expected = 'expects a thread with its items in an array `history`, found an object with "messages"'
    expect(() => replaceThreadHistory(thread as never, [])).toThrow(expected)
    expect(() => applyRunResultHistory(thread as never, { history: [] })).toThrow(expected)
    expect(() => replaceThreadHistory({ history: [] }, 'abc' as never)).toThrow('takes an array of items, found "abc"') // oxfmt-ignore
  })
  it('refuses a class that keeps its history behind a setter, where the old one would stay', () => {
    class Guarded {
      _h: ThreadItem[] = [said('old')]
      get history(): ThreadItem[] {
        return this._h
      }
      set history(items: ThreadItem[]) {
        this._h = items
      }
    }
    class Derived extends Guarded {}
    for (const thread of [new Guarded(), new Derived()]) {
      expect(() => replaceThreadHistory(thread, [said('new')])).toThrow('keeps `history` elsewhere, behind a setter')
      expect(thread.history).toStrictEqual([said('old')])
    }
  })
})

describe('applyRunResultHistory', () => {
  it('accepts the history of any object that has one', () => {
    const thread = { id: 't1', history: [said('a')] }
    const result = { finalOutput: 'done', history: deepFreeze([said('a'), said('b')]) }
    expect(applyRunResultHistory(thread, result)).toStrictEqual({ id: 't1', history: [said('a'), said('b')] })
  })
  it('keeps messages that were added while the run worked, and refuses a thread of other messages', async () => {
    const view = orThrow(settle([system('Be brief.'), user('a')]))
    const result = await run({ model: scriptedModel([assistant('b')]), view }).result()
    const next =
      (...history: readonly Message[]) =>
      () =>
        decodeThread(applyRunResultHistory({ history: encodeThread(history) }, result).history)
    const { messages } = result
    for (const before of [[], [user('a')], view, messages]) expect(next(...before)()).toEqual(right(messages))
    expect(next(user('a'), user('and c?'))()).toEqual(right([...messages, user('and c?')]))
    expect(next(...messages, user('and c?'))()).toEqual(right([...messages, user('and c?')]))
    for (const other of [[user('x')], [user('x'), user('a')], [user('x'), ...messages]])
      expect(next(...other)).toThrow('the run did not begin with message 0 of the thread')
    expect(() => applyRunResultHistory({ history: [{ role: 'user' }] as unknown[] as ThreadItem[] }, result)).toThrow(
      "can't be compared with the messages of the run: [0].type should be a string",
    )
  })
  it('replaces the history of any thread with the messages of a run that does not say what it began with', () => {
    const result = { stopReason: 'done', messages: [user('a'), assistant('b')] }
    for (const history of [[], [said('a')], [said('another')], [{ role: 'no item' } as unknown as ThreadItem]])
      expect(applyRunResultHistory({ history }, result).history).toEqual(encodeThread(result.messages))
    expect(() => applyRunResultHistory({ history: [said('another')] }, { ...result, viewLength: 1 })).toThrow(
      new TypeError(
        'applyRunResultHistory: the run did not begin with message 0 of the thread, which would be lost. If it may be lost, use replaceThreadHistory(thread, encodeThread(result.messages))',
      ),
    )
  })
  it("converts a run's messages to items", () => {
    const thread: { history: ThreadItem[] } = { history: [] }
    const next = applyRunResultHistory(thread, { stopReason: 'done', messages: [user('a'), assistant('b')] })
    expect(next.history).toStrictEqual([said('a'), { type: 'message', role: 'assistant', content: 'b' }])
  })
})

it('applyRunResultHistory names what it accepts when given something else', () => {
  for (const [given, found] of [
    [right({ messages: [], stopReason: 'done' }), 'an object with "_tag", "right"'],
    [Promise.resolve({ history: [] }), 'a task: await it first'],
    [{ history: 'x' }, 'an object with "history"'],
    [null, 'null'],
    [undefined, 'nothing'],
    [1n, '1n'],
  ])
    expect(() => applyRunResultHistory({ history: [] as ThreadItem[] }, given as never)).toThrow(
      new TypeError(
        `applyRunResultHistory expects a result with \`history\`, or a finished run's result with \`messages\` (for an Either, pass its \`right\`), found ${String(found)}`,
      ),
    )
})

describe('checkThread', () => {
  it('reports nothing for a valid history', () => {
    expect(checkThread([])).toEqual([])
    expect(checkThread([said('a'), call('c1'), call('c2'), output('c2'), output('c1')])).toEqual([])
  })
  it('reports dangling, duplicate and orphan ids in history order', () => {
    const history = deepFreeze([
      output('c0'),
      call('c1'),
      call('c1'),
      output('c1'),
      output('c1'),
      call('c2'),
      output('c3'),
    ])
    expect(checkThread(history)).toEqual([
      { _tag: 'OrphanOutput', callId: 'c0', index: 0 },
      { _tag: 'DanglingCall', callId: 'c1', index: 1 },
      { _tag: 'DuplicateCall', callId: 'c1', index: 2, first: 1 },
      { _tag: 'DuplicateOutput', callId: 'c1', index: 4, first: 3 },
      { _tag: 'DanglingCall', callId: 'c2', index: 5 },
      { _tag: 'OrphanOutput', callId: 'c3', index: 6 },
    ])
  })
  it('ignores an output before its call', () => {
    expect(checkThread([output('c1'), call('c1')]).map(({ _tag }) => _tag)).toEqual(['OrphanOutput', 'DanglingCall'])
  })
  it('returns a frozen list of frozen problems', () => {
    const problems = checkThread([call('c1'), output('c2'), { type: 'tool_call_item' }])
    expect(problems.length).toBe(3)
    expect([problems, ...problems].every(Object.isFrozen)).toBe(true)
    expect(Object.isFrozen(checkThread([]))).toBe(true)
  })
  it('skips unknown items', () => {
    expect(checkThread([null, 1, 'x', {}, { type: 'other', callId: 'c1' }])).toEqual([])
  })
  it('reports a call without an id, which decodeThread refuses', () => {
    const history = [
      { type: 'tool_call_item', name: 'x' },
      { type: 'tool_call_output_item', callId: 7 },
    ]
    const problems = checkThread(history)
    expect(problems).toEqual([0, 1].map((index) => ({ _tag: 'MissingCallId', index })))
    expect(problems.map(faultMessage)[0]).toBe('the call or output at index 0 has no `callId`')
    expect(isLeft(decodeThread(history))).toBe(true)
  })
  it('reports in sentences', () => {
    expect(checkThread([call('c1'), call('c1'), output('c1'), output('c1'), output('c2')]).map(faultMessage)).toEqual([
      'the call "c1" at index 0 has no output',
      'the call at index 1 reuses the id "c1" of the call at index 0',
      'the output at index 3 answers the call "c1", which already has an output at index 2',
      'the output at index 4 has no earlier call "c2"',
    ])
  })
})
