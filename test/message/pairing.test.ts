import { describe, expect, it } from 'vitest'
import { assistant, createHistory, mend, openCalls, toolCall, toolResult, user, type Message } from 'indelible'
import { pairCalls, toolResultsOf } from 'indelible/message'
import { conversation } from '../messages.ts'

describe('openCalls', () => {
  it('are none in a conversation in which every call was answered', () => {
    expect(openCalls(conversation())).toEqual([])
  })
  it('name the calls that were not, by position and part, in order', () => {
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
  it('a result before its call answers nothing', () => {
    expect(openCalls([toolResult('c1', ''), assistant(toolCall('c1', 'f', ''))]).length).toBe(1)
  })
  it('an id that is used again is a call of its own', () => {
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
  it('calls of one message with one id are answered in their order', () => {
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
  it('a second result for a call answers nothing', () => {
    expect(
      pairCalls([assistant(toolCall('c', 'f', '')), toolResult('c', '1'), toolResult('c', '2')])[0]?.answer?.position,
    ).toBe(1)
  })
  it('hostile ids are ids', () => {
    const ids = ['__proto__', 'constructor', '', 'toString']
    expect(openCalls([assistant(...ids.map((id) => toolCall(id, 'f', '')))]).map(({ id }) => id)).toEqual(ids)
  })
})
