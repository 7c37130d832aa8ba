/** Files that show signs of two formats, and lines that say less than others: what most of a file says counts. */
import { describe, expect, it } from 'vitest'
import { lines, read } from './reading.ts'

describe('a file with signs of two formats', () => {
  const call = (id: string) => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id, name: 'read_file', input: {} }],
  })
  const result = (id: string) => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'a' }] })
  // As Cline writes it: messages of Anthropic, and a part of a file that the AI SDK has, too.
  const cline = [
    { role: 'user', content: [{ type: 'text', text: 'Look.' }, { type: 'file', path: 'a.ts', content: 'x' }] }, // oxfmt-ignore
    ...['c1', 'c2', 'c3'].flatMap((id) => [call(id), result(id)]),
  ]

  it('is read as the format of most messages, and reports which message differs', () => {
    const { format, messages, losses } = read(JSON.stringify(cline))
    expect([format, losses.map(({ reason }) => reason)]).toEqual([
      'anthropic',
      ['looks like "ai-sdk"; read as "anthropic", like most messages here'],
    ])
    const kinds = messages.flatMap(({ content }) => content.map(({ type }) => type))
    expect(kinds.filter((type) => type === 'tool_call').length).toBe(3)
    expect(kinds.filter((type) => type === 'tool_result').length).toBe(3)
    expect(read(lines(cline)).format).toBe('anthropic')
  })
})

describe('Claude Code look-alikes', () => {
  const entry = (uuid: string, more: object) => ({ uuid, sessionId: 's', timestamp: '2026-01-01T00:00:00Z', ...more })
  const asks = (uuid: string, content: string, more: object = {}) =>
    entry(uuid, { type: 'user', message: { role: 'user', content }, ...more })

  it('without a parent follow the previous line', () => {
    const four = ['a', 'b', 'c', 'd'].map((id) => asks(id, id))
    expect(read(lines(four)).messages.length).toBe(4)
    const begun = [asks('a', 'a', { parentUuid: null }), asks('b', 'b', { parentUuid: null })]
    expect(read(lines(begun)).messages.length).toBe(1)
  })

  it('with Gemini contents (Qwen Code) are not read as Claude Code', () => {
    const qwen = [
      entry('a', { parentUuid: null, type: 'user', message: { role: 'user', parts: [{ text: 'hi' }] } }),
      entry('b', { parentUuid: 'a', type: 'assistant', message: { role: 'model', parts: [{ text: 'hello' }] } }),
    ]
    expect(read(lines(qwen)).format).toBe('qwen-code')
  })

  it('with a message in an unknown line type are not damage unless another line follows it', () => {
    const blob = { type: 'api-request-blob', uuid: 'x', message: { role: 'user', content: 'all of it' } }
    const alone = read(lines([asks('a', 'a', { parentUuid: null }), blob, asks('b', 'b', { parentUuid: 'a' })]))
    expect([alone.messages.length, alone.damage]).toEqual([2, []])
    expect(alone.origin.aside['api-request-blob']).toBe(1)
    const followed = read(lines([asks('a', 'a', { parentUuid: null }), { ...blob, parentUuid: 'a' }, asks('b', 'b', { parentUuid: 'x' })])) // oxfmt-ignore
    expect(followed.damage).toEqual([
      { line: 2, reason: 'is of an unknown kind, holds a message, and line 3 follows it' },
    ])
  })
})
