/** What both codecs of OpenAI write is sent, by OpenAI's own SDK, to a server that refuses what OpenAI refuses. */
import { readdirSync } from 'node:fs'
import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import type { ResponseInput } from 'openai/resources/responses/responses'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  image,
  interruptedResults,
  mend,
  openCalls,
  reasoning,
  text,
  toolCall,
  type JsonObject,
  type Message,
  type Sequence,
  type Settled,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { toolResultPart } from '../../src/message/internal.ts'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { openaiResponses } from 'indelible/codecs/openai-responses'
import { itShared, readShared, realConversations, shared } from '../real-transcripts.ts'
import { judgeChat, judgeResponses, openaiServer } from './judges/openai.ts'
import { decodeOrFail } from './law.ts'
import { isFull, rounds } from '../rounds.ts'

let server: Awaited<ReturnType<typeof openaiServer>>
let client: OpenAI
beforeAll(async () => {
  server = await openaiServer()
  client = new OpenAI({ apiKey: 'none', baseURL: server.baseURL, maxRetries: 0 })
})
afterAll(() => server.close())

const sendChat = (messages: ChatCompletionMessageParam[]) =>
  client.chat.completions.create({ model: 'judge', messages })
const sendResponses = (input: ResponseInput) => client.responses.create({ model: 'judge', input })

/** Send a conversation to both, as the codecs write it. Fails if one of them is refused. */
const send = async (messages: Settled<Sequence<Message>>): Promise<void> => {
  const [chat, items] = [openaiChat.encode(messages), openaiResponses.encode(messages)]
  if (isLeft(chat) || isLeft(items)) throw new Error('not written')
  expect((await sendChat(chat.right.wire)).object).toBe('chat.completion')
  expect((await sendResponses(items.right.wire)).object).toBe('response')
}

const call = { type: 'function', id: 'c1', function: { name: 'f', arguments: '{}' } }
const calls = { role: 'assistant', content: null, tool_calls: [call] }
const answer = { role: 'tool', tool_call_id: 'c1', content: 'x' }
const asked = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' }
const answered = { type: 'function_call_output', call_id: 'c1', output: 'x' }
const thought = { type: 'reasoning', id: 'rs_1', summary: [] }
const said = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'a', annotations: [] }],
}
const hi = { role: 'user', content: 'hi' }

describe('the OpenAI judge', () => {
  it('accepts valid requests', async () => {
    expect(judgeChat({ messages: [hi, calls, answer, { role: 'assistant', content: '' }, hi] })).toBeUndefined()
    expect(
      judgeResponses({ input: [hi, thought, said, { ...thought, id: 'rs_2' }, asked, answered, hi] }),
    ).toBeUndefined()
    expect((await sendChat([{ role: 'user', content: 'hi' }])).choices[0]?.message.content).toBe('ok')
    expect((await client.responses.create({ model: 'judge', input: 'hi' })).status).toBe('completed')
  })
  it.each<readonly [string, readonly JsonObject[], RegExp]>([
    ['nothing', [], /empty array/],
    ['a robot', [{ role: 'robot', content: '' }], /Supported values are/],
    ['an unanswered call', [calls], /did not have response messages: c1/],
    ['a call that is answered after somebody spoke', [calls, hi, answer], /did not have response messages: c1/],
    [
      'a call that is answered in part',
      [{ ...calls, tool_calls: [call, { ...call, id: 'c2' }] }, answer, hi],
      /did not have response messages: c2/,
    ],
    ['an answer to nothing', [hi, answer], /must be a response to a preceding message/],
    [
      'an answer to an earlier call',
      [calls, answer, { ...calls, tool_calls: [{ ...call, id: 'c2' }] }, answer],
      /'c1' not found in 'tool_calls' of previous message/,
    ],
    ['two answers', [calls, answer, answer], /Duplicate value for 'tool_call_id' of 'c1'/],
    [
      'a call id used twice',
      [{ ...calls, tool_calls: [call, call] }, answer],
      /Duplicate value for 'tool_call_id' of 'c1'/,
    ],
    ['no calls', [{ role: 'assistant', content: 'x', tool_calls: [] }], /tool_calls': empty array/],
    ['nothing said and nothing called', [{ role: 'assistant', content: null }], /expected a string, got null/],
    ['a long call id', [{ ...calls, tool_calls: [{ ...call, id: 'x'.repeat(41) }] }], /maximum length 40/],
    [
      'a name with a dot',
      [{ ...calls, tool_calls: [{ ...call, function: { name: 'a.b', arguments: '{}' } }] }],
      /does not match pattern/,
    ],
    [
      'an object for arguments',
      [{ ...calls, tool_calls: [{ ...call, function: { name: 'f', arguments: {} } }] }],
      /expected a string/,
    ],
    [
      'an image of a tool',
      [calls, { ...answer, content: [{ type: 'image_url', image_url: { url: 'u' } }] }],
      /Image URLs are only allowed for messages with role 'user'/,
    ],
    [
      'an image of the assistant',
      [{ role: 'assistant', content: [{ type: 'image_url', image_url: { url: 'u' } }] }],
      /Image URLs are only allowed/,
    ],
    ['content without parts', [{ role: 'user', content: [] }], /empty array/],
    ['a name with a space', [{ ...hi, name: 'a b' }], /does not match pattern/],
  ])('refuses in Chat Completions: %s', async (_name, messages, reason) => {
    expect(judgeChat({ messages })?.message).toMatch(reason)
    await expect(sendChat(messages as unknown as ChatCompletionMessageParam[])).rejects.toThrow(reason)
  })
  it.each<readonly [string, readonly JsonObject[], RegExp]>([
    ['a robot', [{ role: 'robot', content: '' }], /Supported values are/],
    ['an item of no type', [{ type: 'no_type' }], /Supported values are/],
    ['an unanswered call', [hi, asked], /No tool output found for function call c1/],
    [
      'a call that is answered after somebody spoke',
      [asked, hi, answered],
      /No tool output found for function call c1/,
    ],
    [
      'an unanswered custom call',
      [{ type: 'custom_tool_call', call_id: 'c1', name: 'f', input: '' }],
      /No tool output found for custom tool call c1/,
    ],
    [
      'an unanswered shell call',
      [{ type: 'shell_call', call_id: 'c1', action: {} }],
      /No tool output found for shell call c1/,
    ],
    [
      'an unanswered approval',
      [{ type: 'mcp_approval_request', id: 'm', name: 'f', arguments: '' }],
      /No tool output found for mcp approval request m/,
    ],
    ['an output without a call', [hi, answered], /No tool call found for function call output with call_id c1/],
    ['an output before its call', [answered, asked], /No tool call found for function call output with call_id c1/],
    [
      'an output of another kind',
      [{ type: 'custom_tool_call', call_id: 'c1', name: 'f', input: '' }, answered],
      /No tool call found for function call output with call_id c1/,
    ],
    ['two outputs', [asked, answered, answered], /Duplicate function_call_output for c1/],
    ['a call id used twice', [asked, asked, answered], /Duplicate call_id c1/],
    ['a long call id', [{ ...asked, call_id: 'x'.repeat(65) }], /maximum length 64/],
    ['a call id of nothing', [{ ...asked, call_id: '' }], /minimum length 1/],
    ['a name with a dot', [{ ...asked, name: 'a.b' }], /does not match pattern/],
    [
      'reasoning at the end',
      [hi, thought],
      /'rs_1' of type 'reasoning' was provided without its required following item/,
    ],
    ['reasoning before a user', [thought, hi], /without its required following item/],
    [
      'reasoning before reasoning',
      [thought, { ...thought, id: 'rs_2' }, said],
      /'rs_1' of type 'reasoning' was provided without/,
    ],
    ['an item twice', [said, said], /Duplicate item found with id msg_1/],
    ['an id of another kind', [{ ...said, id: 'item_1' }], /begins with 'msg'/],
    ['an id with a dot', [{ type: 'compaction', id: 'a.b' }], /letters, numbers, underscores, or dashes/],
    [
      'input of the assistant',
      [{ role: 'assistant', content: [{ type: 'input_text', text: 'a' }] }],
      /Supported values are: 'output_text' and 'refusal'/,
    ],
    ['an image that is nowhere', [{ role: 'user', content: [{ type: 'input_image' }] }], /Missing required parameter/],
    [
      'a computer without a screenshot',
      [
        { type: 'computer_call', call_id: 'c1', action: {} },
        { type: 'computer_call_output', call_id: 'c1', output: { type: 'computer_screenshot' } },
      ],
      /Missing required parameter/,
    ],
  ])('refuses in Responses: %s', async (_name, input, reason) => {
    expect(judgeResponses({ input })?.message).toMatch(reason)
    await expect(sendResponses(input as unknown as ResponseInput)).rejects.toThrow(reason)
  })
})

describe('the OpenAI judge accepts encoded conversations', () => {
  it('that are random, damaged and mended', () => {
    const id = fc.constantFrom('a', 'b', '', '__proto__', 'x'.repeat(70), `${'x'.repeat(70)}y`, 'f.g:0')
    const any = fc.oneof(
      fc.string().map(text),
      fc.constant(provider('acme', 1)),
      fc.constant(image({ type: 'url', url: 'u' })),
    )
    const result = fc.tuple(id, fc.string()).map(([callId, answer]) => toolResultPart(callId, answer))
    const spoken = fc.oneof(
      any,
      fc.tuple(id, fc.constantFrom('f', 'a.b', '')).map(([callId, name]) => toolCall(callId, name, '{')),
      result,
      fc.constantFrom(reasoning('hm', { signature: 's' }), refusal('no')),
    )
    const message = fc.oneof(
      fc.record({ role: fc.constant('assistant' as const), content: fc.array(spoken, { maxLength: 4 }) }),
      fc.record({ role: fc.constant('user' as const), content: fc.array(fc.oneof(any, result), { maxLength: 4 }) }),
      fc.record({ role: fc.constant('tool' as const), content: fc.array(result, { maxLength: 4 }) }),
    )
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 10 }), (messages) => {
        const mended = mend(messages).messages
        const [chat, items] = [openaiChat.encode(mended), openaiResponses.encode(mended)]
        if (isLeft(chat) || isLeft(items)) throw new Error('not written')
        if (chat.right.wire.length > 0) expect(judgeChat({ messages: chat.right.wire })).toBeUndefined()
        expect(judgeResponses({ input: items.right.wire })).toBeUndefined()
      }),
      { numRuns: rounds(250, 2000) },
    )
  })
  it('with calls of every kind and any of their answers', () => {
    const items = [
      { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_image', image_url: 'u' }] },
      { type: 'custom_tool_call', id: 'ctc_1', call_id: 'c2', name: 'f', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: 'x' },
      { type: 'computer_call', id: 'cu_1', call_id: 'c3', action: { type: 'wait' }, pending_safety_checks: [] },
      { type: 'computer_call_output', call_id: 'c3', output: { type: 'computer_screenshot', file_id: 'file-1' } },
      { type: 'local_shell_call', id: 'lsh_1', call_id: 'c4', action: { type: 'exec', command: [], env: {} } },
      { type: 'local_shell_call_output', call_id: 'c4', output: 'x' },
      { type: 'shell_call', id: 'sh_1', call_id: 'c5', action: { commands: [] } },
      { type: 'shell_call_output', call_id: 'c5', output: [] },
      {
        type: 'shell_call',
        id: 'sh_2',
        call_id: 'c6',
        action: { commands: [] },
        environment: { type: 'container_reference', container_id: 'x' },
      },
      { type: 'shell_call_output', call_id: 'c6', output: [] },
      { type: 'apply_patch_call', id: 'apc_1', call_id: 'c7', operation: { type: 'delete_file', path: 'x' } },
      { type: 'apply_patch_call_output', call_id: 'c7', status: 'completed' },
      { type: 'tool_search_call', id: 'tsc_1', call_id: 'c8', execution: 'client', arguments: {} },
      { type: 'tool_search_output', call_id: 'c8', execution: 'client', tools: [] },
      { type: 'mcp_approval_request', id: 'mcpr_1', name: 'f', server_label: 'x', arguments: '{}' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      said,
      hi,
    ] satisfies readonly JsonObject[]
    fc.assert(
      fc.property(fc.shuffledSubarray(items), (some) => {
        const mended = mend(decodeOrFail(openaiResponses, some)).messages
        const [chat, back] = [openaiChat.encode(mended), openaiResponses.encode(mended)]
        if (isLeft(chat) || isLeft(back)) throw new Error('not written')
        if (chat.right.wire.length > 0) expect(judgeChat({ messages: chat.right.wire })).toBeUndefined()
        expect(judgeResponses({ input: back.right.wire })).toBeUndefined()
      }),
      { numRuns: rounds(250, 2000) },
    )
  })
  itShared('of every transcript, mended', async () => {
    let sent = 0
    for (const [, , { messages }] of realConversations()) {
      await send(mend(messages).messages)
      sent += 1
    }
    expect(sent).toBeGreaterThanOrEqual(isFull ? 51 : 15)
  })
  itShared('of every recorded answer, once the open calls are answered', async () => {
    for (const name of readdirSync(shared('wire/openai-responses')).filter((each) => each.endsWith('.json'))) {
      const body = JSON.parse(readShared(`wire/openai-responses/${name}`)) as JsonObject
      if (body['output'] === undefined) continue
      const messages = [...decodeOrFail(openaiResponses, 'go'), ...decodeOrFail(openaiResponses, body)]
      await send(mend([...messages, ...interruptedResults(openCalls(messages), 'interrupted')]).messages)
    }
  })
})
