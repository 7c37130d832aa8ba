/** A history with a schema: what it rejects, the sentence, and that nothing is recorded then. */
import { runInNewContext } from 'node:vm'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import { expect, expectTypeOf, it } from 'vitest'
import * as z from 'zod'
import { right } from 'fp-ts/lib/Either.js'
import {
  applyDelta,
  createHistory,
  decodeMessage,
  orThrow,
  restoreHistory,
  user,
  type History,
  type Message,
} from 'indelible'
import { createHistory as made } from '../../src/history/index.ts'

const schema = z.object({ role: z.enum(['user', 'tool']), parts: z.array(z.object({ text: z.string() })) })
type Checked = z.infer<typeof schema>
const good: Checked = { role: 'user', parts: [{ text: 'a' }] }
const bad = { role: 'user', parts: [{ text: 'a' }, { text: 1 }] } as unknown as Checked

it('refuses a message that does not match, with its path, and records nothing', () => {
  const history = createHistory({ check: schema })
  expectTypeOf(history).toEqualTypeOf<History<Checked>>()
  expect(history.append(good)).toBe(0)
  for (const [wrong, sentence] of [
    [bad, /^parts\[1\]\.text is refused: .*string.*; see `check` of the history$/],
    [{ role: 'robot', parts: [] }, /^role is refused/],
    [7, /^the value is refused/],
  ] as const)
    expect(() => history.append(wrong as never)).toThrow(sentence)
  expect(() => history.append({ ...good, at: new Date() } as never)).toThrow('only plain JSON data can be recorded')
  expect(history.view().toArray()).toEqual([good])
  expect(history.append(good, 'plan')).toBe(1)
})

it('refuses it in a delta, which is a fault, and in what it starts with', () => {
  const history = createHistory({ check: schema })
  const delta = { id: 'd', expectedLen: 0, append: [good, bad] }
  expect(applyDelta(history, delta)).toMatchObject({
    left: { _tag: 'UnrecordableMessage', position: 1, path: ['parts', 1, 'text'] },
  })
  expect(history.len).toBe(0)
  expect(() => createHistory<Checked>({ check: schema, from: [good, bad] })).toThrow(
    /^\[1\]\.parts\[1\]\.text is refused/,
  )
  const loose = made<Checked>({ from: [good, bad] }).view()
  expect(() => createHistory<Checked>({ check: schema, from: loose })).toThrow(/^\[1\]\.parts\[1\]\.text is refused/)
  const fork = createHistory<Checked>({ check: schema, from: loose.slice(0, 1) })
  expect([fork.view().at(0) === loose.at(0), fork.len]).toEqual([true, 1])
  expect(() => fork.append(bad)).toThrow(TypeError)
})

it('records what was appended, not what the schema makes of it', () => {
  const history = createHistory<{ n: string }>({ check: z.object({ n: z.string().transform((n) => `${n}!`) }) })
  history.append({ n: 'a', more: 1 } as never)
  expect(history.view().at(0)).toEqual({ n: 'a', more: 1 })
})

it('takes a schema of its own, and refuses what is none or answers later', () => {
  const ofMessages: StandardSchemaV1<unknown, Message> = {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: (value) => {
        const decoded = decodeMessage(value)
        if (decoded._tag === 'Right') return { value: decoded.right }
        return { issues: [{ message: 'no message', path: [{ key: 'content' }, 0] }] }
      },
    },
  }
  const history = createHistory({ check: ofMessages })
  expect(history.append(user('a'))).toBe(0)
  expect(() => history.append({ role: 'user' } as never)).toThrow(/^content\[0\] is refused: no message/)
  for (const none of [null, {}, () => true, { '~standard': {} }] as never[])
    expect(() => createHistory({ check: none })).toThrow('createHistory: `check` is not a schema')
  const later = createHistory<string>({ check: z.string().refine(async () => true) as never })
  expect(() => later.append('a')).toThrow(TypeError)
  expect(later.len).toBe(0)
})

const schemaOf = (validate: (value: unknown) => unknown): StandardSchemaV1<unknown, unknown> => ({
  '~standard': { version: 1, vendor: 'test', validate: validate as never },
})

it('names `check` for its errors, also in a delta and a restore, and records nothing', () => {
  const error = new RangeError('no schema loaded')
  const raise = (): never => {
    throw error
  }
  const asynchronous = '`check` of the history is asynchronous'
  const noResult = '`check` of the history did not return the result of a Standard Schema'
  for (const [validate, sentence] of [
    [raise, error.message],
    [async () => Promise.reject(error), asynchronous], // an unhandled rejection would fail this test
    [() => runInNewContext('Promise.resolve({ value: 1 })') as unknown, asynchronous], // no promise of this realm
    [() => undefined, noResult],
    [() => null, noResult],
    [() => ({ issues: 'many' }), noResult],
  ] as const) {
    const check = schemaOf(validate)
    const history = createHistory<unknown>({ check })
    expect(() => history.append('a')).toThrow(sentence)
    const threw = { left: { _tag: 'CallbackThrew', callback: 'check' } }
    expect(applyDelta(history, { id: 'd', expectedLen: 0, append: ['a'] })).toMatchObject(threw)
    expect(restoreHistory<unknown>({ messages: ['a'] }, right, { check })).toMatchObject(threw)
    expect(history.len).toBe(0)
  }
  expect(() => createHistory<unknown>({ check: schemaOf(() => ({ issues: [] })) }).append('a')).toThrow(
    'the value is refused; see `check` of the history',
  )
})

it('in a delta, `classify` and a message that can not be read are told apart', () => {
  const raise = (): never => {
    throw new RangeError('boo')
  }
  const delta = { id: 'd', expectedLen: 0, append: ['a'] }
  const classified = createHistory<unknown>({ check: schemaOf((value) => ({ value })), classify: raise })
  expect(applyDelta(classified, delta)).toMatchObject({ left: { _tag: 'CallbackThrew', callback: 'classify' } })
  const unreadable = { ...delta, append: [new Proxy({}, { ownKeys: raise })] }
  expect(applyDelta(classified, unreadable)).toMatchObject({ left: { _tag: 'CallbackThrew', callback: 'append' } })
})

it('a restored history has the check that it is given, for the saved messages and later ones', () => {
  const restored = orThrow(
    restoreHistory<Checked>({ messages: [good] }, (value) => right(value as Checked), { check: schema }),
  )
  expect(() => restored.history.append(bad)).toThrow(/^parts\[1\]\.text is refused/)
  expect(
    restoreHistory<Checked>({ messages: [good, bad] }, (value) => right(value as Checked), { check: schema }),
  ).toMatchObject({
    left: { _tag: 'UnrecordableMessage', position: 1, path: ['parts', 1, 'text'] },
  })
  expect(() => restoreHistory({ messages: [] }, right, { check: null as never })).toThrow(
    'restoreHistory: `check` is not a schema',
  )
  expect(createHistory<Checked>({ from: restored.history.view() }).append(bad)).toBe(1) // a fork has its own, or none
})
