import { ModelItem } from '@openai/agents-core/types'
import type { AgentInputItem } from '@openai/agents-core'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  developer,
  faultMessage,
  file,
  image,
  mend,
  openCalls,
  reasoning,
  settle,
  system,
  text,
  toolCall,
  toolResult,
  user,
  type JsonObject,
  type Message,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { openaiAgents } from '@indelible/codecs/openai-agents'
import { openaiResponses } from 'indelible/codecs/openai-responses'
import { expectLaw, expectLawUnderDamage, decodeOrFail, write } from '../../../test/codecs/law.ts'
import { oneIn } from '../../../test/rounds.ts'

const data = { extra: { deep: [1, null] } }
const everything: readonly JsonObject[] = [
  { type: 'message', role: 'system', content: 'Be brief.' },
  { role: 'system', content: 'No type.', id: 's' },
  { type: 'message', role: 'developer', content: 'Later word.' },
  { type: 'message', role: 'user', content: 'hi', providerData: data },
  { type: 'message', role: 'user', content: '' },
  { type: 'message', role: 'user', content: [] },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'one part' }] },
  {
    type: 'message',
    role: 'user',
    id: 'u',
    content: [
      { type: 'input_text', text: 'look', promptCacheBreakpoint: { mode: 'explicit' } },
      { type: 'input_image', image: 'data:image/png;base64,aGk=', detail: 'high' },
      { type: 'input_image', image: { id: 'file-1' } },
      { type: 'input_image', image: 'aGk=' },
      { type: 'input_file', file: 'https://example.com/a.pdf', filename: 'a.pdf' },
      { type: 'input_file', file: { url: 'https://example.com/a.pdf' } },
      { type: 'audio', audio: 'aGk=', format: 'wav', transcript: null },
    ],
  },
  { type: 'reasoning', id: 'rs', content: [{ type: 'input_text', text: 'short', providerData: data }] },
  { type: 'reasoning', content: [], rawContent: [{ type: 'reasoning_text', text: 'long' }], providerData: { a: 1 } },
  {
    type: 'message',
    id: 'm1',
    role: 'assistant',
    status: 'completed',
    phase: 'commentary',
    content: [
      { type: 'output_text', text: 'I look.', providerData: { annotations: [] } },
      { type: 'refusal', refusal: 'but not there' },
      { type: 'image', image: 'aGk=' },
      { type: 'output_text', text: 'So.' },
    ],
  },
  { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'plain' }] },
  { type: 'message', role: 'assistant', status: 'incomplete', content: [] },
  { role: 'assistant', content: 'as text' },
  { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'audio', audio: { id: 'a' } }] },
  { type: 'function_call', id: 'fc', callId: 'c1', name: 'look', arguments: '{"a":1}', status: 'completed' },
  {
    type: 'function_call',
    callId: 'c2',
    name: 'look',
    namespace: 'eyes',
    arguments: 'not json',
    caller: { type: 'direct' },
  },
  { type: 'computer_call', callId: 'c3', status: 'completed', action: { type: 'click', x: 1, y: 2, button: 'left' } },
  { type: 'computer_call', callId: 'c4', status: 'completed', actions: [{ type: 'wait' }] },
  { type: 'shell_call', callId: 'c5', status: 'completed', action: { commands: ['ls'], timeoutMs: 10 } },
  { type: 'apply_patch_call', callId: 'c6', status: 'completed', operation: { type: 'delete_file', path: 'a' } },
  { type: 'hosted_tool_call', name: 'web_search_call', status: 'completed', output: 'x', providerData: data },
  {
    type: 'function_call_result',
    callId: 'c1',
    name: 'look',
    status: 'completed',
    output: { type: 'text', text: 'a' },
  },
  { type: 'function_call_result', callId: 'c2', name: 'look', status: 'completed', output: 'a cat' },
  {
    type: 'function_call_result',
    callId: 'c2',
    name: 'look',
    status: 'incomplete',
    output: [
      { type: 'input_text', text: 'a cat' },
      { type: 'image', image: { data: 'aGk=', mediaType: 'image/png' }, detail: 'low' },
      { type: 'input_image', image: 'https://example.com/a.png' },
    ],
  },
  {
    type: 'computer_call_result',
    callId: 'c3',
    output: { type: 'computer_screenshot', data: 'data:image/png;base64,aGk=' },
  },
  { type: 'computer_call_result', callId: 'c4', output: { type: 'computer_screenshot', data: 'aGk=' } },
  {
    type: 'shell_call_output',
    callId: 'c5',
    maxOutputLength: 10,
    output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exitCode: 0 } }],
  },
  { type: 'apply_patch_call_output', callId: 'c6', status: 'failed', output: 'no such file' },
  { type: 'apply_patch_call_output', callId: 'c6', status: 'completed' },
  { type: 'tool_search_call', id: 'ts', arguments: { query: 'q' }, status: 'completed' },
  { type: 'program', id: 'p', callId: 'c7', code: '1', fingerprint: 'f' },
  { type: 'compaction', id: 'cmp', encrypted_content: 'x' },
  { type: 'unknown', providerData: { later: true } },
]

describe('the OpenAI Agents codec', () => {
  it('round-trips every item of the protocol, including unknown ones', () => {
    expectLaw(openaiAgents, everything)
    for (const item of everything) expectLaw(openaiAgents, [item])
    for (const [at, item] of everything.entries())
      for (let next = at % oneIn(3); next < everything.length; next += oneIn(3))
        expectLaw(openaiAgents, [item, everything[next], item])
  })
  it('round-trips randomly damaged input', () => expectLawUnderDamage(openaiAgents, everything))

  it('pairs calls with results and recognizes waiting calls', () => {
    const call = (callId: string): JsonObject => ({ type: 'function_call', callId, name: 'f', arguments: '{}' })
    const result = (callId: string): JsonObject => ({ type: 'function_call_result', callId, name: 'f', output: 'r' })
    const messages = decodeOrFail(openaiAgents, [call('1'), call('2'), result('1'), result('2'), call('3')])
    expect(messages.map(({ role }) => role)).toEqual(['assistant', 'tool', 'tool', 'assistant'])
    expect(openCalls(messages).map(({ id }) => id)).toEqual(['3'])
    expect(settle(messages.slice(0, 3))._tag).toBe('Right')
  })

  it('writes any conversation as items that the SDK accepts', () => {
    const { messages } = mend([
      system('Be brief.'),
      developer('one', 'two'),
      user('look', image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' })),
      user(file({ type: 'url', url: 'https://example.com/a.pdf' }, { name: 'a.pdf' })),
      assistant(reasoning('hm'), 'I look.', toolCall('1', 'look', { a: 1 }), refusal('no'), provider('x', 1)),
      toolResult('1', 'a cat', { isError: true }),
      assistant('A cat.'),
    ])
    const { wire, losses } = write(openaiAgents, messages)
    for (const item of wire as readonly unknown[]) expect(ModelItem.safeParse(item)).toMatchObject({ success: true })
    expect(wire).toMatchObject([
      { role: 'system', content: 'Be brief.' },
      { role: 'system', content: 'one\ntwo' },
      { role: 'user', content: [{ type: 'input_text' }, { type: 'input_image' }] },
      { role: 'user', content: [{ type: 'input_file', filename: 'a.pdf' }] },
      { role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'function_call', callId: '1', name: 'look', arguments: '{"a":1}' },
      { role: 'assistant', content: [{ type: 'refusal' }] },
      { type: 'function_call_result', callId: '1', name: 'look', output: 'a cat' },
      { role: 'assistant', content: [{ type: 'output_text', text: 'A cat.' }] },
    ])
    expect(losses.map(({ position, path }) => `${position} ${path.join('.')}`)).toEqual([
      '1 role',
      '1 content',
      '4 content.0',
      '4 content.4',
      '5 content.0.isError',
    ])
  })

  it('writes a patch result as its single text', () => {
    const patch = everything.find(({ type }) => type === 'apply_patch_call')
    const [call] = decodeOrFail(openaiAgents, [patch])
    const { wire } = write(openaiAgents, [call as Message, toolResult('c6', [text('one'), text('two')])])
    expect(wire).toMatchObject([patch, { type: 'apply_patch_call_output', callId: 'c6', output: 'onetwo' }])
  })

  it('is refused by the Responses codec, which names this one', () => {
    const call = { type: 'function_call', callId: 'c', name: 'f', arguments: '{}' }
    for (const item of [call, { ...call, call_id: 'c' }, { type: 'reasoning', content: [] }]) {
      const decoded = openaiResponses.decode([{ role: 'user', content: 'hi' }, item])
      expect(decoded._tag === 'Left' && faultMessage(decoded.left)).toMatch(
        /^\[1\] should be an OpenAI Responses item; for Agents SDK items use openaiAgents from @indelible\/codecs/,
      )
    }
  })

  it('writes open calls where the wire allows them, and refuses other unsettled input', () => {
    const open = [user('hi'), assistant(toolCall('1', 'f', {}))]
    const stored = openaiAgents.encode(open, { allow: 'open-calls' })
    expect(stored._tag === 'Right' && stored.right.wire.length).toBe(2)
    const orphan = openaiAgents.encode([...open, toolResult('2', 'x')], { allow: 'open-calls' })
    expect(orphan._tag === 'Left' && faultMessage(orphan.left)).toContain('which is not in the conversation')
    expect(openaiAgents.encode([...open, toolResult('2', 'x')], { allow: 'unsettled' })._tag).toBe('Right')
    const items: AgentInputItem[] = stored._tag === 'Right' ? stored.right.wire : []
    expect(items.length).toBe(2)
    // @ts-expect-error only a settled sequence becomes a request
    void openaiAgents.encode(open)
  })

  it('reports unreadable input with its path', () => {
    const said = (wire: unknown): string => {
      const decoded = openaiAgents.decode(wire)
      return decoded._tag === 'Left' ? faultMessage(decoded.left) : 'fine'
    }
    expect(said({})).toMatch(/^the entry should be an array/)
    expect(said([{}])).toMatch(/^\[0\]\.type should be the type of an item/)
    expect(said([{ role: 'tool', content: '' }])).toMatch(
      /^\[0\]\.role should be one of system, developer, user, assistant/,
    )
    expect(said([{ type: 'function_call', callId: 'c', arguments: '{}' }])).toMatch(/^\[0\]\.name should be a string/)
  })
})
