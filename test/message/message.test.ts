import { describe, expect, it } from 'vitest'
import {
  assistant,
  developer,
  file,
  image,
  reasoning,
  system,
  text,
  textOf,
  toolCall,
  toolCallsOf,
  toolResult,
  user,
} from 'indelible'
import { isText, isToolCall, isToolResult, provider, refusal, toolResultsOf } from 'indelible/message'
import { isRole, roles, toolResultPart } from '../../src/message/kit.ts'
import { everyPart } from '../messages.ts'

describe('message constructors', () => {
  it('read like the conversation', () => {
    expect([system('a'), developer('b'), user('c', 'd'), assistant()]).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'a' }] },
      { role: 'developer', content: [{ type: 'text', text: 'b' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'c' },
          { type: 'text', text: 'd' },
        ],
      },
      { role: 'assistant', content: [] },
    ])
  })
  it('keep text arguments as they are and write objects as JSON', () => {
    expect(toolCall('c', 'f', '{ "a":1 }')).toEqual({ type: 'tool_call', id: 'c', name: 'f', arguments: '{ "a":1 }' })
    expect(toolCall('c', 'f', { a: 1 }).arguments).toBe('{"a":1}')
  })
  it('make results from text or parts', () => {
    expect(toolResult('c', 'done')).toEqual({
      role: 'tool',
      content: [{ type: 'tool_result', callId: 'c', content: [{ type: 'text', text: 'done' }] }],
    })
    expect(toolResult('c', [image({ type: 'url', url: 'u' })], { name: 'shot', isError: false }).content).toEqual([
      {
        type: 'tool_result',
        callId: 'c',
        content: [{ type: 'image', source: { type: 'url', url: 'u' } }],
        name: 'shot',
        isError: false,
      },
    ])
    expect({ role: 'tool', content: [toolResultPart('a', 'x'), toolResultPart('b', 'y')] }.content.length).toBe(2)
  })
  it('make the other part types', () => {
    expect([
      text('t'),
      refusal('no'),
      reasoning('r'),
      reasoning('r', { signature: 's' }),
      provider('p', [1]),
      file({ type: 'url', url: 'u' }),
      file({ type: 'url', url: 'u' }, { name: 'n' }),
    ]).toEqual([
      { type: 'text', text: 't' },
      { type: 'refusal', text: 'no' },
      { type: 'reasoning', text: 'r' },
      { type: 'reasoning', text: 'r', signature: 's' },
      { type: 'provider', provider: 'p', raw: [1] },
      { type: 'file', source: { type: 'url', url: 'u' } },
      { type: 'file', source: { type: 'url', url: 'u' }, name: 'n' },
    ])
  })
  it('return frozen values and leave their arguments unchanged', () => {
    const source = { type: 'url' as const, url: 'u' }
    const made = user('a', image(source))
    expect([made, made.content, made.content[0], made.content[1]].every((value) => Object.isFrozen(value))).toBe(true)
    expect(Object.isFrozen(source)).toBe(false)
  })
})

describe('message queries', () => {
  it('tell parts apart', () => {
    const count = (guard: (part: (typeof everyPart.content)[number]) => boolean) =>
      everyPart.content.filter(guard).length
    expect([isText, isToolCall, isToolResult].map(count)).toEqual([1, 1, 1])
  })
  it('tell roles', () => {
    expect(roles.every(isRole)).toBe(true)
    expect([isRole('function'), isRole(null), isRole('constructor'), Object.isFrozen(roles)]).toEqual([
      false,
      false,
      false,
      true,
    ])
  })
  it('gather text, calls and results', () => {
    const message = assistant('a', toolCall('c1', 'f', ''), 'b', toolCall('c2', 'g', ''))
    expect([
      textOf(message),
      toolCallsOf(message).map(({ id }) => id),
      toolResultsOf(toolResult('c1', '')).length,
    ]).toEqual(['ab', ['c1', 'c2'], 1])
  })
})
