import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { applyDelta, createHistory, faultMessage, user, type History, type HistoryDelta, type Message } from 'indelible'
import { type HistoryFault } from 'indelible/history'
import { conversation } from '../messages.ts'

const delta = (expectedLen: number, ...append: readonly Message[]): HistoryDelta<Message> => ({
  id: `d${expectedLen}`,
  expectedLen,
  append,
})

const faultOf = (history: History<Message>, value: unknown): HistoryFault => {
  const answer = applyDelta(history, value as HistoryDelta<Message>)
  if (!isLeft(answer)) throw new Error(`expected a fault, got ${answer.right}`)
  return answer.left
}

describe('applyDelta', () => {
  it('appends at the expected length', () => {
    const history = createHistory<Message>()
    expect(applyDelta(history, delta(0, user('a'), user('b')))).toEqual(right('applied'))
    expect(applyDelta(history, delta(2, user('c')))).toEqual(right('applied'))
    expect(history.view().toArray()).toEqual([user('a'), user('b'), user('c')])
  })
  it('returns duplicate when the same messages are already present, whatever follows them', () => {
    const history = createHistory<Message>()
    const [first, second] = [delta(0, user('a'), user('b')), delta(2, user('c'))]
    applyDelta(history, first)
    expect(applyDelta(history, first)).toEqual(right('duplicate'))
    applyDelta(history, second)
    expect(applyDelta(history, first)).toEqual(right('duplicate'))
    expect(applyDelta(history, second)).toEqual(right('duplicate'))
    expect(history.len).toBe(3)
  })
  it('treats messages that are equal as JSON as the same', () => {
    const history = createHistory<Message>({ from: [{ role: 'user', content: [], meta: { a: { x: 1, y: 2 } } }] })
    const same = delta(0, { meta: { a: { y: 2, x: 1 } }, content: [], role: 'user' })
    expect(applyDelta(history, same, { resume: true })).toEqual(right('duplicate'))
    const fault = faultOf(history, same)
    expect(fault).toEqual({ _tag: 'DeltaMismatch', position: 0, len: 1, equal: true })
    expect(faultMessage(fault)).toMatch(/position 0 already holds an equal message, .*pass \{ resume: true \}/)
  })
  it('an empty delta changes nothing', () => {
    const history = createHistory<Message>({ from: conversation() })
    expect(applyDelta(history, delta(6))).toEqual(right('applied'))
    expect(applyDelta(history, delta(2))).toEqual(right('duplicate'))
    expect(history.len).toBe(6)
  })
  it('reports the position where a gap begins', () => {
    const history = createHistory<Message>({ from: [user('a')] })
    const fault = faultOf(history, delta(3, user('d')))
    expect(fault).toEqual({ _tag: 'DeltaGap', position: 1, expectedLen: 3 })
    expect(faultMessage(fault)).toMatch(/starts at position 3, but the history ends before position 1/)
    expect(history.len).toBe(1)
  })
  it('reports the first differing position', () => {
    const history = createHistory<Message>({ from: conversation() })
    const fault = faultOf(history, delta(1, ...conversation().slice(1, 3), user('other')))
    expect(fault).toEqual({ _tag: 'DeltaMismatch', position: 3, len: 6 })
    expect(faultMessage(fault)).toMatch(/position 3 already holds another message/)
  })
  it('reports the end when only part of the delta is present', () => {
    const history = createHistory<Message>({ from: [user('a'), user('b')] })
    const fault = faultOf(history, delta(1, user('b'), user('c')))
    expect(fault).toEqual({ _tag: 'DeltaMismatch', position: 2, len: 2 })
    expect(faultMessage(fault)).toMatch(/ends at 2, in the middle of the delta/)
    expect(history.len).toBe(2)
  })
  it('appends none of its messages when one of them cannot be recorded', () => {
    const history = createHistory<Message>({ from: [user('a')] })
    const bad = { role: 'user', content: [{ type: 'text', text: NaN }] } as unknown as Message
    const fault = faultOf(history, delta(1, user('b'), bad, user('c')))
    expect(fault).toEqual({ _tag: 'UnrecordableMessage', position: 2, path: ['content', 0, 'text'], reason: 'is NaN' })
    expect(faultMessage(fault)).toMatch(/position 2 can't be recorded: content\[0\].text is NaN/)
    expect(history.view().toArray()).toEqual([user('a')])
  })
  it.each<readonly [unknown, string]>([
    [null, 'delta should be an object'],
    [{ expectedLen: 0, append: [] }, 'delta.id should be a string'],
    [{ id: 'd', expectedLen: -1, append: [] }, 'delta.expectedLen should be a whole number'],
    [{ id: 'd', expectedLen: 0.5, append: [] }, 'delta.expectedLen should be a whole number'],
    [{ id: 'd', expectedLen: '0', append: [] }, 'delta.expectedLen should be a whole number'],
    [{ id: 'd', expectedLen: 0, append: user('x') }, 'delta.append should be an array'],
  ])('refuses %j', (value, message) => {
    const history = createHistory<Message>()
    expect(faultMessage(faultOf(history, value))).toMatch(message)
    expect(history.len).toBe(0)
  })
  it('throws for an object that only looks like a history', () => {
    const fake = { append: () => 0, view: () => [], len: 0 } as unknown as History<Message>
    expect(() => applyDelta(fake, delta(0, user('x')))).toThrow(/from createHistory or restoreHistory/)
  })
  it('returns faults as values', () => {
    const history = createHistory<Message>()
    expect(applyDelta(history, delta(1))).toEqual(left({ _tag: 'DeltaGap', position: 0, expectedLen: 1 }))
  })
})
