import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, mend, openCalls, toolCall, toolResult, user, type Message } from 'indelible'
import { pairCalls, toolResultsOf } from 'indelible/message'
import { createPairing } from '../../src/message/internal.ts'
import { conversation } from '../messages.ts'

describe('openCalls', () => {
  it('returns nothing if every call was answered', () => {
    expect(openCalls(conversation())).toEqual([])
  })
  it('returns the unanswered calls by position and part, in order', () => {
    const messages = [
      assistant('x', toolCall('c1', 'f', ''), toolCall('c2', 'g', '')),
      toolResult('c2', ''),
      user('stop'),
      assistant(toolCall('c3', 'h', '')),
    ]
    const expected = [
      { id: 'c1', name: 'f', position: 0, part: 1 },
      { id: 'c3', name: 'h', position: 3, part: 0 },
    ]
    expect(openCalls(messages)).toEqual(expected)
    expect(openCalls(createHistory<Message>({ from: messages }).view())).toEqual(expected)
  })
  it('ignores a result before its call', () => {
    expect(openCalls([toolResult('c1', ''), assistant(toolCall('c1', 'f', ''))]).length).toBe(1)
  })
  it('treats a reused id as a new call', () => {
    const again = [
      assistant(toolCall('c', 'f', '')),
      toolResult('c', '1'),
      assistant(toolCall('c', 'f', '')),
      toolResult('c', '2'),
    ]
    expect(pairCalls(again).map(({ position, answer }) => [position, answer?.position])).toEqual([
      [0, 1],
      [2, 3],
    ])
    expect(openCalls(again.slice(0, 3)).map(({ position }) => position)).toEqual([2])
  })
  it('answers calls with one id in a message in order', () => {
    const twice = [
      assistant(toolCall('c', 'f', ''), toolCall('c', 'g', '')),
      toolResult('c', '1'),
      toolResult('c', '2'),
    ]
    expect(pairCalls(twice).map(({ name, answer }) => [name, answer?.position])).toEqual([
      ['f', 1],
      ['g', 2],
    ])
    expect([...mend(twice).messages].flatMap(toolResultsOf).map(({ callId }) => callId)).toEqual(['c', 'c_2'])
  })
  it('ignores a second result for a call', () => {
    expect(
      pairCalls([assistant(toolCall('c', 'f', '')), toolResult('c', '1'), toolResult('c', '2')])[0]?.answer?.position,
    ).toBe(1)
  })
  it('accepts hostile ids', () => {
    const ids = ['__proto__', 'constructor', '', 'toString']
    expect(openCalls([assistant(...ids.map((id) => toolCall(id, 'f', '')))]).map(({ id }) => id)).toEqual(ids)
  })
})

it('property: a walk pairs like a linear search of a list of calls', () => {
  const deed = fc.record({
    does: fc.constantFrom('call' as const, 'answered' as const, 'result' as const, 'result' as const, 'other' as const),
    id: fc.constantFrom('a', 'b', '__proto__'),
    next: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(deed, { maxLength: 24 }), (deeds) => {
      const walk = createPairing<number, number>()
      let calls: readonly { id: string; call: number; answer: number | undefined; adjacent: boolean; open: boolean }[] =
        []
      let [position, turn] = [0, 0]
      const endTurn = (at: number): void => {
        if (calls.some(({ open }) => open) && turn !== at)
          calls = calls.map((each) => Object.assign(each, { open: false }))
      }
      for (const [number, { does, id, next }] of deeds.entries()) {
        if (next) position += 1
        const latest = calls.findLast((each) => each.id === id)
        if (does === 'call' || does === 'answered') {
          const answer = does === 'call' ? undefined : 1000 + number
          endTurn(position)
          expect(walk.call(id, number, position, answer)?.call).toBe(latest?.call)
          turn = position
          calls = [...calls, { id, call: number, answer, adjacent: false, open: answer === undefined }]
        } else if (does === 'other') {
          endTurn(position)
          walk.other(position)
        } else {
          const first = calls.find((each) => each.id === id && each.open)
          const of = first ?? latest
          expect(walk.isLate(id)).toBe(first === undefined && latest !== undefined && latest.answer === undefined)
          const found = walk.result(id, number)
          if (of === undefined) expect(found).toEqual({ type: 'orphan' })
          else if (of.answer !== undefined)
            expect(found).toMatchObject({ type: 'second', of: { call: of.call }, first: of.answer })
          else {
            expect(found).toMatchObject({ type: first === undefined ? 'late' : 'answer', of: { call: of.call } })
            Object.assign(of, { answer: number, open: false, adjacent: first !== undefined })
          }
        }
        expect(walk.waiting()).toBe(calls.filter(({ open }) => open).length)
      }
      const told = walk.calls()
      expect(told.map(({ call, answer, adjacent }) => ({ call, answer, adjacent }))).toEqual(
        calls.map(({ call, answer, adjacent }) => ({ call, answer, adjacent })),
      )
      expect(Object.isFrozen(told)).toBe(true)
    }),
    { numRuns: 300 },
  )
})

it('an open call is frozen, as the list of them', () => {
  const open = openCalls([assistant(toolCall('c', 'look', '{}'))])
  expect([Object.isFrozen(open), open.length, open.every(Object.isFrozen)]).toEqual([true, 1, true])
})
