/** Which messages count as equal. */
import { expect, it } from 'vitest'
import { Matching } from '../../src/replay/matching.ts'
import type { Message } from 'indelible'

const item = (type: string, id: string, name: string): Message => ({
  role: 'developer',
  content: [
    { type: 'provider', provider: 'openai-responses', raw: { type, id, tools: [{ type: 'custom', id: 't', name }] } },
  ],
})

it('the id that Codex makes up for its list of tools is not compared; its tools, and ids of other items, are', () => {
  const identity = (message: Message) => new Matching([]).identity(message, undefined)
  const first = identity(item('additional_tools', 'at_1', 'exec'))
  expect(identity(item('additional_tools', 'at_2', 'exec'))).toBe(first)
  expect(identity(item('additional_tools', 'at_1', 'other'))).not.toBe(first)
  expect(identity(item('computer_call', 'c_1', 'exec'))).not.toBe(identity(item('computer_call', 'c_2', 'exec')))
})
