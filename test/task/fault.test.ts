/** Faults: as errors, as sentences, and those of a caller's function. */
import { left, right } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { callbackFaultText, consequenceOf, isConsequence } from '../../src/task/fault.ts'
import { callCallback, FaultError, sentencesOf } from '../../src/task/index.ts'
import { thrownFault } from '../../src/task/task.ts'

it("a callback's exception is a fault with its name, and another answer is its value", () => {
  const cause = new Error('not today')
  const thrown = callCallback('onLosses', () => {
    throw cause
  })
  expect(thrown).toEqual(left({ _tag: 'CallbackThrew', callback: 'onLosses', cause }))
  for (const value of [1, undefined, cause]) expect(callCallback('onLosses', () => value)).toEqual(right(value))
  expect(callbackFaultText({ _tag: 'CallbackThrew', callback: 'onLosses', cause })).toBe(
    'the function passed as `onLosses` threw: not today; nothing was changed',
  )
})

it.each<readonly [string, unknown, unknown]>([
  ['an error', { _tag: 'Io', cause: 'the disk is full' }, 'the disk is full'],
  ['a cause of no value', { _tag: 'Io', cause: null }, null],
  ['none', { _tag: 'Io' }, undefined],
  ['a fault that is a text', 'text', undefined],
  ['a fault that is null', null, undefined],
])('a FaultError has the cause of its fault: %s', (_, fault, cause) => {
  const error = new FaultError(fault, 'it failed')
  expect([error.name, error.message, error.fault, error.cause]).toEqual(['FaultError', 'it failed', fault, cause])
  expect(Object.hasOwn(error, 'cause')).toBe(cause !== undefined)
})

it('a consequence is a copy of a fault, and only the copy is one', () => {
  const fault = { _tag: 'Io', operation: 'append' }
  const copy = consequenceOf(fault)
  expect(copy).toEqual(fault)
  expect([copy === fault, isConsequence(copy), isConsequence(fault), isConsequence({ ...copy })]).toEqual([
    false,
    true,
    false,
    false,
  ])
  for (const other of [null, undefined, 'Io', 5]) expect(isConsequence(other)).toBe(false)
})

it('a thrown FaultError is a fault again, and any other error stays thrown', () => {
  expect(thrownFault(new FaultError({ _tag: 'Io' }, 'it failed'))).toEqual(left({ _tag: 'Io' }))
  for (const error of [new Error('other'), 'text', { fault: { _tag: 'Io' } }]) {
    let thrown: unknown
    try {
      thrownFault(error)
    } catch (caught) {
      thrown = caught
    }
    expect(thrown).toBe(error)
  }
})

it('each fault of a table has its sentence', () => {
  const sentence = sentencesOf<{ readonly _tag: 'Full'; readonly path: string }>({
    Full: ({ path }) => `${path} is full`,
  })
  expect(sentence({ _tag: 'Full', path: '/a' })).toBe('/a is full')
  expect(sentence({ _tag: 'Other', path: '/a' } as never)).toBe('Other (path "/a")')
})
