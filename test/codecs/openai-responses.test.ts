import { readdirSync } from 'node:fs'
import { inflateSync } from 'node:zlib'
import type { ResponseInput, ResponseInputItem } from 'openai/resources/responses/responses'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  developer,
  faultMessage,
  file,
  image,
  interruptedResults,
  mend,
  openCalls,
  reasoning,
  settle,
  system,
  toolCall,
  toolResult,
  user,
  type JsonObject,
  type Message,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { toolResultPart } from '../../src/message/internal.ts'
import type { BlockId } from '../../src/proof/internal.ts'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { openaiResponses } from 'indelible/codecs/openai-responses'
import { itShared, readShared, shared } from '../real-transcripts.ts'
import { expectLaw, expectLawUnderDamage, expectLawOfParts, decodeOrFail, write } from './law.ts'
import { withSmallStack } from '../small-stack.ts'

/** One of everything that the SDK's types allow: what it says here is checked to be so. */
const allowed = [
  { role: 'developer', content: 'Be brief.' },
  { type: 'message', role: 'system', content: [{ type: 'input_text', text: 'Be kind.' }] },
  {
    role: 'user',
    content: [
      { type: 'input_text', text: 'look', prompt_cache_breakpoint: { mode: 'explicit' } },
      { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'low' },
      { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'auto' },
      { type: 'input_image', file_id: 'file-1', detail: 'auto' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,aGk=', filename: 'a.pdf' },
      { type: 'input_file', file_url: 'https://example.com/a.pdf', detail: 'high' },
      { type: 'input_file', file_id: 'file-2' },
      { type: 'input_file', file_data: 'aGk=', filename: 'raw.pdf' },
    ],
  },
  { type: 'message', role: 'user', content: 'a\u0000\u2028"', status: 'completed' },
  { id: 'ref_1', type: 'item_reference' },
  { id: 'ref_2' },
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [
      { type: 'summary_text', text: 'in short' },
      { type: 'summary_text', text: 'and more' },
    ],
    content: [{ type: 'reasoning_text', text: 'because' }],
    encrypted_content: 'gAAAA',
    status: 'completed',
  },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    phase: 'commentary',
    content: [
      {
        type: 'output_text',
        text: 'see',
        logprobs: [{ token: 'see', bytes: [115], logprob: -0.1, top_logprobs: [] }],
        annotations: [
          { type: 'url_citation', start_index: 0, end_index: 3, title: 't', url: 'u' },
          { type: 'file_path', file_id: 'f', index: 1 },
        ],
      },
      { type: 'output_text', text: '', annotations: [] },
      { type: 'refusal', refusal: 'but no' },
    ],
  },
  { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: null },
  {
    type: 'function_call',
    id: 'fc_1',
    call_id: 'c1',
    name: 'f',
    arguments: '{ "a" : 1}',
    status: 'completed',
    namespace: 'n',
  },
  { type: 'function_call', call_id: 'c2', name: 'g', arguments: 'not json' },
  { type: 'custom_tool_call', id: 'ct_1', call_id: 'c3', name: 'sh', input: 'ls\n' },
  {
    type: 'computer_call',
    id: 'cu_1',
    call_id: 'c4',
    action: { type: 'click', button: 'left', x: 1, y: 2 },
    pending_safety_checks: [{ id: 's', code: 'c' }],
    status: 'completed',
  },
  {
    type: 'computer_call',
    id: 'cu_2',
    call_id: 'c5',
    actions: [{ type: 'screenshot' }],
    pending_safety_checks: [],
    status: 'completed',
  },
  {
    type: 'local_shell_call',
    id: 'lsh_1',
    call_id: 'c6',
    action: { type: 'exec', command: ['ls'], env: {} },
    status: 'completed',
  },
  {
    type: 'shell_call',
    id: 'sh_1',
    call_id: 'c7',
    action: { commands: ['ls'], timeout_ms: null, max_output_length: 10 },
    status: 'completed',
    environment: null,
  },
  {
    type: 'apply_patch_call',
    id: 'apc_1',
    call_id: 'c8',
    operation: { type: 'delete_file', path: 'a' },
    status: 'completed',
  },
  {
    type: 'tool_search_call',
    id: 'tsc_1',
    call_id: 'c9',
    execution: 'client',
    arguments: { goal: 'x' },
    status: 'completed',
  },
  { type: 'mcp_approval_request', id: 'mcpr_1', name: 'drop', server_label: 'db', arguments: '{"t":1}' },
  { type: 'mcp_approval_request', id: 'mcpr_2', name: 'drop', server_label: 'db', arguments: '{}' },
  { type: 'function_call_output', call_id: 'c1', output: 'ok', id: 'fco_1', status: 'completed' },
  {
    type: 'function_call_output',
    call_id: 'c2',
    output: [
      { type: 'input_text', text: 'see' },
      { type: 'input_image', image_url: 'u' },
      { type: 'input_file', file_id: 'file-3' },
    ],
  },
  { type: 'custom_tool_call_output', call_id: 'c3', output: [{ type: 'input_text', text: 'a\n' }] },
  {
    type: 'computer_call_output',
    call_id: 'c4',
    output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,aGk=' },
    acknowledged_safety_checks: [{ id: 's' }],
  },
  { type: 'computer_call_output', call_id: 'c5', output: { type: 'computer_screenshot', file_id: 'file-4' } },
  { type: 'local_shell_call_output', id: 'lsh_1', output: '{"stdout":"a"}' },
  {
    type: 'shell_call_output',
    call_id: 'c7',
    max_output_length: 10,
    output: [
      { stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } },
      { stdout: '', stderr: 'b', outcome: { type: 'timeout' } },
    ],
  },
  { type: 'apply_patch_call_output', call_id: 'c8', status: 'failed', output: 'no such file' },
  {
    type: 'tool_search_output',
    call_id: 'c9',
    execution: 'client',
    tools: [{ type: 'function', name: 'h', parameters: {}, strict: true }],
  },
  { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
  { type: 'mcp_approval_response', approval_request_id: 'mcpr_2', approve: false, reason: 'too much' },
  {
    type: 'web_search_call',
    id: 'ws_1',
    status: 'completed',
    action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'u' }] },
  },
  {
    type: 'file_search_call',
    id: 'fs_1',
    status: 'completed',
    queries: ['q'],
    results: [{ file_id: 'f', text: 't', score: 0.5 }],
  },
  {
    type: 'code_interpreter_call',
    id: 'ci_1',
    status: 'completed',
    code: '1',
    container_id: 'cntr_1',
    outputs: [{ type: 'logs', logs: '1' }],
  },
  { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'aGk=' },
  { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'db', tools: [{ name: 'drop', input_schema: {} }] },
  {
    type: 'mcp_call',
    id: 'mcp_1',
    server_label: 'db',
    name: 'drop',
    arguments: '{}',
    output: 'done',
    approval_request_id: 'mcpr_1',
  },
  { type: 'tool_search_call', id: 'tsc_2', call_id: null, execution: 'server', arguments: {}, status: 'completed' },
  { type: 'tool_search_output', id: 'tso_2', call_id: null, execution: 'server', tools: [], status: 'completed' },
  {
    type: 'shell_call',
    id: 'sh_2',
    call_id: 'c10',
    action: { commands: ['ls'] },
    environment: { type: 'container_reference', container_id: 'cntr_1' },
    status: 'completed',
  },
  { type: 'shell_call_output', id: 'sho_2', call_id: 'c10', output: [] },
  { type: 'program', id: 'prg_1', call_id: 'c11', code: 'f()', fingerprint: 'x' },
  { type: 'function_call', call_id: 'c12', name: 'f', arguments: '{}', caller: { type: 'program', caller_id: 'c11' } },
  { type: 'function_call_output', call_id: 'c12', output: '', caller: { type: 'program', caller_id: 'c11' } },
  { type: 'program_output', id: 'prgo_1', call_id: 'c11', result: '', status: 'completed' },
  { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' },
  { type: 'compaction_trigger' },
  { type: 'additional_tools', role: 'developer', tools: [] },
  { type: 'configuration_update', reasoning: { effort: 'low' } },
  { role: 'assistant', content: 'so', phase: 'final_answer' },
] satisfies ResponseInput

/** And what they do not allow, but servers, older and later versions do. */
const beyond = [
  { role: 'user', content: [] },
  {
    role: 'user',
    content: [
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'mp3', x: 1 } },
      { type: 'video', video: 1 },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'input_file', file_data: 'data:audio/wav;base64,aGk=' },
      { type: 'text', text: 'a' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'output_text', text: 'no id' },
      { type: 'new_block', x: 1 },
      { type: 'input_image', image_url: 'u' },
    ],
  },
  { type: 'message', id: 'msg_2', role: 'assistant', content: [{ type: 'new_block', x: 1 }] },
  { type: 'message', id: 'msg_3', role: 'assistant', content: [], status: 'incomplete' },
  { type: 'message', id: 'msg_4', role: 'critic', content: 'x' },
  {
    type: 'reasoning',
    content: [
      { type: 'reasoning_text', text: 'a' },
      { type: 'reasoning_text', text: 'b', x: 1 },
    ],
    summary: [{ type: 'new' }],
  },
  { type: 'function_call', id: 'fc_9', call_id: 'x'.repeat(70), name: 'a.b', arguments: '' },
  { type: 'function_call', call_id: '', name: 'f', arguments: '' },
  { type: 'shell_call', call_id: 'd1', action: 'a later shape' },
  { type: 'local_shell_call', id: 'lsh_2', call_id: 'd2', action: { __proto__x: 1, deep: [null, -0.5] } },
  { type: 'apply_patch_call', call_id: 'd3', operation: { type: 'rename_file' } },
  { type: 'function_call_output', call_id: 'x'.repeat(70), output: 'long' },
  { type: 'function_call_output', call_id: '', output: [] },
  { type: 'local_shell_call_output', call_id: 'd2', output: { later: 1 } },
  { type: 'apply_patch_call_output', call_id: 'd3', status: 'skipped', output: null },
  { type: 'function_call_output', call_id: 'nobody asked', output: null },
  { type: 'function_call_output', call_id: 'nobody asked' },
  { type: 'shell_call_output', call_id: 'nobody asked', output: 'a later shape' },
  { type: 'function_call_output', name: 'pushed', output: 'without a call' },
  { type: 'mcp_approval_response', approval_request_id: 'm', approve: 'later' },
  { type: 'new_item', anything: [1] },
] satisfies readonly JsonObject[]

const everything: readonly JsonObject[] = [...(allowed as readonly JsonObject[]), ...beyond]

describe('the OpenAI Responses codec', () => {
  it('round-trips every item and part, including unknown ones', () => {
    expectLaw(openaiResponses, everything)
    expectLawOfParts(openaiResponses, everything)
    for (const item of everything) expectLaw(openaiResponses, [item])
  })
  it('round-trips randomly damaged input', () => expectLawUnderDamage(openaiResponses, everything))

  it('reads consecutive assistant items as one message, and each result and other item as its own', () => {
    const messages = decodeOrFail(openaiResponses, allowed)
    expect(messages.map(({ role, content }) => `${role}: ${content.map(({ type }) => type).join(' ')}`)).toEqual([
      'developer: text',
      'system: text',
      'user: text image image provider file file provider provider',
      'user: text',
      `assistant: provider provider reasoning text text refusal reasoning${' tool_call'.repeat(11)}`,
      ...Array.from({ length: 11 }, () => 'tool: tool_result'),
      // A shell in a container of OpenAI's has answered by itself.
      `assistant:${' provider'.repeat(8)} tool_call tool_result provider tool_call`,
      'tool: tool_result',
      'assistant: provider provider',
      ...Array.from({ length: 3 }, () => 'developer: provider'), // what only clients write
      'assistant: text',
    ])
    expect(settle(messages)._tag).toBe('Right')
  })

  it('reads everything that the message model can express', () => {
    const content = decodeOrFail(openaiResponses, allowed)[4]?.content ?? []
    expect(content.slice(2, 5)).toMatchObject([
      {
        type: 'reasoning',
        text: 'because',
        summary: ['in short', 'and more'],
        encrypted: 'gAAAA',
        meta: { 'openai-responses': { fields: { id: 'rs_1', status: 'completed' }, as: 'reasoning' } },
      },
      {
        type: 'text',
        text: 'see',
        meta: {
          'openai-responses': {
            fields: { item: { id: 'msg_1', status: 'completed', phase: 'commentary' } },
            as: 'message',
          },
        },
      },
      { type: 'text', text: '', meta: { 'openai-responses': { as: 'more' } } },
    ])
    expect(content.slice(7).map((part) => part.type === 'tool_call' && [part.id, part.name, part.arguments])).toEqual([
      ['c1', 'f', '{ "a" : 1}'],
      ['c2', 'g', 'not json'],
      ['c3', 'sh', 'ls\n'],
      ['c4', 'computer', '{"type":"click","button":"left","x":1,"y":2}'],
      ['c5', 'computer', '[{"type":"screenshot"}]'],
      ['c6', 'local_shell', '{"type":"exec","command":["ls"],"env":{}}'],
      ['c7', 'shell', '{"commands":["ls"],"timeout_ms":null,"max_output_length":10}'],
      ['c8', 'apply_patch', '{"type":"delete_file","path":"a"}'],
      ['c9', 'tool_search', '{"goal":"x"}'],
      ['mcpr_1', 'drop', '{"t":1}'],
      ['mcpr_2', 'drop', '{}'],
    ])
    const results = decodeOrFail(openaiResponses, allowed)
      .slice(5, 16)
      .map(({ content: [result] }) => (result?.type === 'tool_result' ? result : undefined))
    expect(results.map((result) => result?.callId)).toEqual([
      'c1',
      'c2',
      'c3',
      'c4',
      'c5',
      'c6',
      'c7',
      'c8',
      'c9',
      'mcpr_1',
      'mcpr_2',
    ])
    expect(results.flatMap((result) => (result?.isError === true ? [[result.callId, result.content]] : []))).toEqual([
      ['c8', [{ type: 'text', text: 'no such file' }]],
      ['mcpr_2', [{ type: 'text', text: 'too much' }]],
    ])
  })

  it("reads a plain user text, a response's output, and a request's instructions and input", () => {
    expect(decodeOrFail(openaiResponses, 'hi')).toEqual([user('hi')])
    expect(
      decodeOrFail(openaiResponses, {
        object: 'response',
        instructions: 'repeated',
        output: [{ role: 'assistant', content: 'yes' }],
      }),
    ).toEqual(decodeOrFail(openaiResponses, [{ role: 'assistant', content: 'yes' }]))
    expect(decodeOrFail(openaiResponses, { model: 'm', instructions: 'Be brief.', input: 'hi' })).toEqual([
      system('Be brief.'),
      user('hi'),
    ])
    expect(
      decodeOrFail(openaiResponses, { instructions: null, input: [{ type: 'message', role: 'user', content: 'hi' }] }),
    ).toEqual([user('hi')])
    expect(
      write(openaiResponses, decodeOrFail(openaiResponses, { instructions: 'Be brief.', input: 'hi' })).wire,
    ).toEqual([
      { type: 'message', role: 'system', content: 'Be brief.' },
      { type: 'message', role: 'user', content: 'hi' },
    ])
    expect(openaiResponses.decode({ input: [{ type: 'message', role: 'user', content: 'cut \ud83d' }] })).toMatchObject(
      { right: { losses: [{ position: 0, path: ['content'] }] } },
    )
  })

  it('writes conversations from other formats: one item per call, result and assistant text', () => {
    const messages: Message[] = [
      system('s'),
      developer('d'),
      user(
        'u',
        image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' }),
        file({ type: 'url', url: 'https://example.com/a.pdf' }, { name: 'a.pdf' }),
      ),
      assistant('a', 'b', toolCall('1', 'f', '{}'), toolCall('2', 'g', 'not json')),
      {
        role: 'tool',
        content: [
          toolResultPart('1', 'one'),
          toolResultPart('2', [{ type: 'text', text: 'two' }, image({ type: 'url', url: 'u' })]),
        ],
      },
      user('x'),
      assistant(toolCall('3', 'h', '{}'), toolResultPart('3', 'by the provider'), 'then', refusal('no')),
      assistant(),
      user(),
    ]
    const { wire, losses } = write(openaiResponses, messages)
    expect(losses).toEqual([])
    expect(wire).toEqual([
      { type: 'message', role: 'system', content: 's' },
      { type: 'message', role: 'developer', content: 'd' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'u' },
          { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'auto' },
          { type: 'input_file', file_url: 'https://example.com/a.pdf', filename: 'a.pdf' },
        ],
      },
      { type: 'message', role: 'assistant', content: 'a' },
      { type: 'message', role: 'assistant', content: 'b' },
      { type: 'function_call', call_id: '1', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: '2', name: 'g', arguments: 'not json' },
      { type: 'function_call_output', call_id: '1', output: 'one' },
      {
        type: 'function_call_output',
        call_id: '2',
        output: [
          { type: 'input_text', text: 'two' },
          { type: 'input_image', image_url: 'u', detail: 'auto' },
        ],
      },
      { type: 'message', role: 'user', content: 'x' },
      { type: 'function_call', call_id: '3', name: 'h', arguments: '{}' },
      { type: 'function_call_output', call_id: '3', output: 'by the provider' },
      { type: 'message', role: 'assistant', content: 'then' },
      {
        type: 'message',
        id: 'msg_indelible_6_3',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'refusal', refusal: 'no' }],
      },
      { type: 'message', role: 'assistant', content: '' },
      { type: 'message', role: 'user', content: '' },
    ])
    expectLaw(openaiResponses, wire)
  })

  it('lists every loss with path and reason', () => {
    const messages: Message[] = [
      {
        ...assistant(reasoning('hm', { signature: 's' }), image({ type: 'url', url: 'u' }), provider('acme', 1)),
        id: 'msg_1',
        name: 'bob',
      },
      user(
        refusal('n'),
        file({ type: 'base64', mediaType: 'audio/wav', data: '' }),
        provider('acme', 1),
        toolCall('1', 'f', '{}'),
      ),
      { role: 'tool', content: [toolResultPart('1', 'x', { isError: true }), { type: 'text', text: 'said' }] },
      {
        ...system('s'),
        meta: { anthropic: { fields: { cache_control: {} } }, 'openai-chat': { as: 'x' }, 'com.example': 1 },
      },
    ]
    const { wire, losses } = write(openaiResponses, messages)
    expect(losses.map(({ position, path, reason }) => `${position} ${path.join('.')}: ${reason}`)).toEqual([
      '0 id: Responses items have their own ids',
      '0 name: Responses messages have no name',
      '0 content.0: Responses only accepts its own reasoning',
      '0 content.1: Responses has no assistant image',
      '0 content.2: is known only to acme',
      '1 content.0: only the assistant can refuse',
      '1 content.1: Responses does not accept audio',
      '1 content.2: is known only to acme',
      '1 content.3: a call in a user message: written as assistant',
      '2 content.0.isError: a function_call_output cannot be marked as an error; only the text shows it',
      '2 role: a tool message with content other than results: written as user',
      '3 meta.anthropic: is known only to anthropic',
    ])
    expect(wire).toEqual([
      { type: 'function_call', call_id: '1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: '1', output: 'x' },
      { type: 'message', role: 'user', content: 'said' },
      { type: 'message', role: 'system', content: 's' },
    ])
  })

  it("writes a mended result in the call's own kind", () => {
    const asked = decodeOrFail(
      openaiResponses,
      allowed.filter(
        ({ type }) => type === 'function_call' || type?.endsWith('_call') === true || type === 'mcp_approval_request',
      ),
    )
    expect(openCalls(asked).length).toBe(13)
    for (const messages of [
      mend(asked).messages,
      [...asked, ...interruptedResults(openCalls(asked), 'No result was recorded for this call.')],
    ]) {
      const { wire, losses } = write(openaiResponses, messages)
      const reason = 'No result was recorded for this call.'
      expect(
        (wire as JsonObject[]).filter(
          ({ type }) => String(type).endsWith('_output') || type === 'mcp_approval_response',
        ),
      ).toEqual([
        { type: 'function_call_output', call_id: 'c1', output: reason },
        { type: 'function_call_output', call_id: 'c2', output: reason },
        { type: 'custom_tool_call_output', call_id: 'c3', output: reason },
        {
          type: 'computer_call_output',
          call_id: 'c4',
          output: { type: 'computer_screenshot', image_url: expect.stringMatching(/^data:image\/png;base64,/) },
        },
        {
          type: 'computer_call_output',
          call_id: 'c5',
          output: { type: 'computer_screenshot', image_url: expect.stringMatching(/^data:image\/png;base64,/) },
        },
        { type: 'local_shell_call_output', call_id: 'c6', output: reason },
        {
          type: 'shell_call_output',
          call_id: 'c7',
          output: [{ stdout: '', stderr: reason, outcome: { type: 'exit', exit_code: 1 } }],
        },
        { type: 'apply_patch_call_output', call_id: 'c8', status: 'failed', output: reason },
        { type: 'tool_search_output', call_id: 'c9', execution: 'client', tools: [] },
        { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: false, reason },
        { type: 'mcp_approval_response', approval_request_id: 'mcpr_2', approve: false, reason },
        {
          type: 'shell_call_output',
          call_id: 'c10',
          output: [{ stdout: '', stderr: reason, outcome: { type: 'exit', exit_code: 1 } }],
        },
        { type: 'function_call_output', call_id: 'c12', output: reason, caller: { type: 'program', caller_id: 'c11' } },
      ])
      expect(losses.map(({ path, reason }) => `${path.slice(2).join('.')}: ${reason}`)).toEqual([
        'isError: a function_call_output cannot be marked as an error; only the text shows it',
        'isError: a function_call_output cannot be marked as an error; only the text shows it',
        'isError: a custom_tool_call_output cannot be marked as an error; only the text shows it',
        'content.0: the result of a computer call is a single screenshot',
        'content.0: the result of a computer call is a single screenshot',
        'isError: a local_shell_call_output cannot be marked as an error; only the text shows it',
        'content: a tool search result must be tools: written as an empty list',
        'isError: a function_call_output cannot be marked as an error; only the text shows it',
      ])
    }
  })
  it("writes an unanswered computer call's screenshot as a black 64 × 64 image", () => {
    const { wire } = write(
      openaiResponses,
      mend(decodeOrFail(openaiResponses, [allowed.find(({ type }) => type === 'computer_call')])).messages,
    )
    const { output } = (wire as { readonly output: { readonly image_url: string } }[])[1] ?? {
      output: { image_url: '' },
    }
    const png = Buffer.from(output.image_url.replace('data:image/png;base64,', ''), 'base64')
    expect([png.readUInt32BE(16), png.readUInt32BE(20)]).toEqual([64, 64])
    const at = png.indexOf('IDAT')
    expect([...inflateSync(png.subarray(at + 4, at + 4 + png.readUInt32BE(at - 4)))]).toEqual(
      Array.from({ length: 64 * 9 }, () => 0),
    )
  })

  it('keeps an item valid when a text is shortened, a part omitted, or arguments are not JSON', () => {
    const [shell] = decodeOrFail(openaiResponses, [allowed.find(({ type }) => type === 'shell_call')])[0]?.content ?? []
    const [output] = decodeOrFail(openaiResponses, [allowed.find(({ id }) => id === 'msg_1')])
    const [first, , last] = output?.content ?? []
    if (shell?.type !== 'tool_call' || first?.type !== 'text' || last === undefined) throw new Error('not read')
    expect(write(openaiResponses, [assistant({ ...first, text: 'se…' }, last)]).wire).toMatchObject([
      { id: 'msg_1', phase: 'commentary', content: [{ text: 'se…' }, { type: 'refusal' }] },
    ])
    expect(write(openaiResponses, [assistant(last)]).wire).toEqual([
      {
        type: 'message',
        id: 'msg_indelible_0_0',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'refusal', refusal: 'but no' }],
      },
    ])
    const { wire, losses } = write(openaiResponses, [
      assistant({ ...shell, arguments: '{"commands":["l…' }),
      toolResult('c7', 'x'),
    ])
    expect(wire).toEqual([
      { type: 'function_call', call_id: 'c7', name: 'shell', arguments: '{"commands":["l…' },
      { type: 'function_call_output', call_id: 'c7', output: 'x' },
    ])
    expect(losses).toEqual([
      {
        position: 0,
        path: ['content', 0, 'arguments'],
        reason: 'is not valid input for a shell_call: written as a function call',
      },
    ])
  })

  it('writes call ids and names that the API accepts, the same for the result and distinct for others', () => {
    const long = 'x'.repeat(64)
    const ids = [`${long}1`, `${long}2`, '', 'functions.read:0', `${long}🙂`]
    const { wire, losses } = write(openaiResponses, [
      assistant(...ids.map((id) => toolCall(id, id === '' ? 'my.tool' : 'f', '{}'))),
      ...ids.map((id) => toolResult(id, '')),
    ])
    const written = (wire as { readonly call_id: string }[]).map(({ call_id }) => call_id)
    expect(written.slice(0, 5)).toEqual(written.slice(5))
    expect(new Set(written).size).toBe(5)
    expect(written.every((id) => id.length > 0 && id.length <= 64 && id.isWellFormed())).toBe(true)
    expect(written[3]).toBe('functions.read:0')
    expect(losses.map(({ path }) => path.join('.'))).toEqual([
      'content.0.id',
      'content.1.id',
      'content.2.id',
      'content.2.name',
      'content.4.id',
    ])
    expect((wire as { readonly name: string }[])[2]?.name).toBe('my_tool')
  })

  it('inlines given block contents and names the missing block', () => {
    const id = 'a'.repeat(64) as BlockId
    const { messages } = mend([user(image({ type: 'block', id }))])
    const missing = openaiResponses.encode(messages)
    expect(missing._tag === 'Left' && faultMessage(missing.left)).toMatch(
      /^content\[0\]\.source of the message at position 0 is the stored block a{64}; encode\(\) needs its content/,
    )
    const result = openaiResponses.encode(messages, { block: () => ({ data: 'aGk=', mediaType: 'image/png' }) })
    expect(result).toMatchObject({ right: { wire: [{ content: [{ image_url: 'data:image/png;base64,aGk=' }] }] } })
  })

  it('ignores foreign data under its own meta name', () => {
    const meta = (kept: JsonObject) => ({ meta: { 'openai-responses': kept } })
    for (const kept of [
      { as: 'no kind' },
      { fields: { item: 'x', part: [] } },
      { as: 'more', fields: { item: 1, part: 2 } },
      { as: 'message', fields: 1 },
    ])
      for (const part of [{ type: 'text', text: 'a' }, refusal('b'), provider('openai-responses', 1)] as const)
        expect((write(openaiResponses, [assistant({ ...part, ...meta(kept) })]).wire as unknown[]).length).toBe(1)
    expect(
      write(openaiResponses, [
        assistant(toolCall('1', 'f', '{}')),
        { role: 'tool', content: [{ ...toolResultPart('1', 'x'), ...meta({ as: 'no kind' }) }] },
      ]).wire,
    ).toMatchObject([{ type: 'function_call' }, { type: 'function_call_output' }])
  })

  it("writes a message's own fields once, where a result divides it into two items", () => {
    const { wire } = write(openaiResponses, [
      assistant(toolCall('1', 'f', '{}')),
      {
        role: 'user',
        content: [{ type: 'text', text: 'a' }, toolResultPart('1', 'x'), { type: 'text', text: 'b' }],
        meta: { 'openai-responses': { fields: { id: 'msg_1' } } },
      },
    ])
    const [, first, result, second] = wire as readonly object[]
    expect([first, result]).toMatchObject([{ role: 'user', id: 'msg_1' }, { call_id: '1' }])
    expect(second).toEqual({ type: 'message', role: 'user', content: 'b' })
  })

  it('reads and writes a message with more parts than a call may have arguments, and as many calls', () => {
    const parts = Array.from({ length: 16_000 }, () => ({ type: 'output_text', text: '', annotations: [] }))
    const calls = Array.from({ length: 16_000 }, (_, index) => ({
      type: 'function_call',
      call_id: `c${index}`,
      name: 'f',
      arguments: '',
    }))
    const wire = [{ type: 'message', role: 'assistant', content: parts }, ...calls]
    const [messages, back] = withSmallStack(calls, () => {
      const decoded = openaiResponses.decode(wire)
      const messages = decoded._tag === 'Right' ? decoded.right.messages : []
      return [messages, write(openaiResponses, messages).wire as unknown[]]
    })
    expect([messages.length, messages[0]?.content.length, back.length]).toEqual([1, 32_000, 16_001])
  })

  it('reports unreadable input with its path', () => {
    const said = (wire: unknown): string => {
      const decoded = openaiResponses.decode(wire)
      return decoded._tag === 'Left' ? faultMessage(decoded.left) : 'fine'
    }
    expect(said({})).toBe(
      'the entry should be a list of items, or a body with output or input, found an empty object (read as openai-responses)',
    )
    expect(said(null)).toMatch(/^the entry should be a list of items/)
    expect(said({ input: 1 })).toMatch(/^input should be a string or a list of items, found 1/)
    expect(said({ instructions: 1, input: '' })).toMatch(/^instructions should be a string, found 1/)
    expect(said({ output: [{ role: 'tool', content: '' }] })).toMatch(
      /^output\[0\]\.role should be one of system, developer, user, assistant, found "tool"/,
    )
    expect(said([{ role: 'assistant', content: null }])).toMatch(
      /^\[0\]\.content should be a string or an array of parts, found null/,
    )
    expect(said([{ x: 1 }])).toMatch(/^\[0\]\.type should be the type of an item, found nothing/)
    expect(said([{ type: 'function_call', call_id: 'c', name: 'f' }])).toMatch(
      /^\[0\]\.arguments should be a string, found nothing/,
    )
    expect(said([{ role: 'user', content: [1] }])).toMatch(/^\[0\]\.content\[0\] should be an object, found 1/)
    expect(said([new Date()])).toBe('[0] is an instance of Date; expected plain JSON data (read as openai-responses)')
    expect(
      said(
        new Proxy(
          {},
          {
            ownKeys: () => {
              throw new Error('no')
            },
          },
        ),
      ),
    ).toMatch(/expected plain JSON data/)
  })

  it('produces the types of the SDK', () => {
    const { messages } = mend([user('hi')])
    const encoded = openaiResponses.encode(messages)
    const request: ResponseInput = encoded._tag === 'Right' ? encoded.right.wire : []
    const items: ResponseInputItem[] = request
    expect(items).toEqual([{ type: 'message', role: 'user', content: 'hi' }])
    // @ts-expect-error only a settled sequence can become a request
    void openaiResponses.encode([user('hi')])
  })

  itShared('gives back every recorded answer; a recorded refusal is a fault', () => {
    const names = readdirSync(shared('wire/openai-responses')).filter((name) => name.endsWith('.json'))
    const bodies = names.map(
      (name) => JSON.parse(readShared(`wire/openai-responses/${name}`)) as { readonly output?: readonly JsonObject[] },
    )
    let refused = 0
    for (const body of bodies) {
      if (body.output === undefined) {
        expect(openaiResponses.decode(body)._tag).toBe('Left')
        refused += 1
        continue
      }
      expectLaw(openaiResponses, body.output)
      expect(decodeOrFail(openaiResponses, body)).toEqual(decodeOrFail(openaiResponses, body.output))
    }
    expect([bodies.length, refused]).toEqual([20, 2])
    // As a conversation goes on: everything that was said goes back, and each call that was left open is answered.
    const turns = bodies.flatMap(({ output = [] }) => output)
    const { messages, repairs } = mend(decodeOrFail(openaiResponses, [{ role: 'user', content: 'go' }, ...turns]))
    const wire = write(openaiResponses, messages).wire as readonly JsonObject[]
    for (const item of turns) expect(wire).toContainEqual(item)
    expect(repairs.map(({ problem }) => problem._tag)).toEqual(Array.from({ length: 7 }, () => 'UnansweredCall'))
    expect(wire.length).toBe(1 + turns.length + repairs.length)
  })
  itShared('takes every real conversation of chat, and gives all of it back to chat', () => {
    const runs = JSON.parse(readShared('transcripts/tau-airline-gpt-4o.openai-chat.json')) as {
      readonly traj: readonly JsonObject[]
    }[]
    for (const { traj } of runs) {
      const { messages } = mend(decodeOrFail(openaiChat, traj))
      const there = write(openaiResponses, messages).wire
      const back = write(openaiChat, decodeOrFail(openaiResponses, there)).wire as readonly JsonObject[]
      const said = (wire: readonly unknown[]) =>
        (wire as readonly JsonObject[]).map(({ role, content, tool_calls = null, tool_call_id = null }) => ({
          role,
          content,
          tool_calls,
          tool_call_id,
        }))
      expect(said(back)).toEqual(said(write(openaiChat, messages).wire as readonly unknown[]))
    }
  })
})
