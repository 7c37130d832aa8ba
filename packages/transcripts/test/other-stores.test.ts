/** Cursor's transcripts, items of the OpenAI Agents SDK, and stores of chats. */
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { openCalls, settle } from 'indelible'
import { lines, outline, read, said } from './reading.ts'

it('a Cursor transcript has Anthropic-like blocks, also without ids', () => {
  const line = (role: string, ...content: readonly unknown[]) => ({ role, message: { content } })
  const text = (value: string) => ({ type: 'text', text: value })
  const { format, messages, damage } = read(
    lines([
      line('user', text('Look.')),
      line('assistant', text('I look.'), { type: 'tool_use', name: 'Read', input: { path: 'a' } }),
      { ...line('assistant', text('A cat.')), timestamp: 't' },
    ]),
  )
  expect([format, damage]).toEqual(['cursor', []])
  expect(outline(messages)).toEqual(['user: Look.', 'assistant: I look. ?', 'assistant: A cat.'])
  expect(messages[2]?.meta?.['cursor']).toEqual({ timestamp: 't' })
  const result = { type: 'tool_result', tool_use_id: 'c1', content: 'A cat.' }
  const both = read(lines([{ ...line('user', result, text('And now?')), timestamp: 't' }])).messages
  expect(outline(both)).toEqual(['tool: ◂ c1 A cat.', 'user: And now?'])
  expect(both.map(({ meta }) => meta?.['cursor'])).toEqual([{ timestamp: 't' }, undefined]) // of a line, once
})

it('OpenAI Agents items pair calls with results', () => {
  const items = [
    { type: 'message', role: 'user', content: 'Look.' },
    { type: 'reasoning', content: [{ type: 'input_text', text: 'hm' }], providerData: { encryptedContent: 'x' } },
    { type: 'function_call', callId: 'c1', name: 'look', arguments: '{}' },
    { type: 'shell_call', callId: 'c2', action: { commands: ['ls'] } },
    { type: 'function_call_result', callId: 'c1', name: 'look', status: 'completed', output: 'a cat' },
    { type: 'shell_call_output', callId: 'c2', output: [{ stdout: 'a', stderr: '', outcome: { type: 'timeout' } }] },
    { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'A cat.' }] },
    { type: 'function_call', callId: 'c3', name: 'look', arguments: '{}' },
  ]
  const { format, messages } = read(JSON.stringify(items))
  expect(format).toBe('openai-agents')
  expect(outline(messages)).toEqual([
    'user: Look.',
    'assistant: ▸ c1 ▸ c2',
    'tool: ◂ c1 a cat',
    'tool: ◂ c2 ',
    'assistant: A cat. ▸ c3',
  ])
  expect(openCalls(messages).map(({ id }) => id)).toEqual(['c3'])
  expect(isRight(settle(read(JSON.stringify(items.slice(0, -1))).messages))).toBe(true)
  expect(said(JSON.stringify([{ type: 'function_call', callId: 'c1', arguments: '{}' }]))).toContain(
    '[0].name should be a string, found nothing',
  )
})

it('a file of chats has one conversation per chat', () => {
  const ui = (id: string, text: string) => ({ id, role: 'user', parts: [{ type: 'text', text }] })
  const store = JSON.stringify([
    { id: 'chat-1', title: 'One', messages: [ui('m1', 'hi')] },
    { id: 'chat-2', title: 'Two', messages: [ui('m2', 'ho'), ui('m3', 'so')] },
  ])
  const second = read(store, { pick: 1 })
  expect([second.format, second.count, second.origin.id, second.origin.metadata['title']]).toEqual([
    'ai-sdk-ui',
    2,
    'chat-2',
    'Two',
  ])
  expect(outline(second.messages)).toEqual(['user: ho', 'user: so'])
  expect(said(store.replace('"ho"', '7'), { pick: 1 })).toContain('[1].messages[0].parts[0].text')
})
