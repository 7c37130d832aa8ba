/** The sessions of agents, and exports of chats: each the same conversation, as its program writes it. */
import { lines } from './reading.ts'

export const timestamp: string = '2026-10-01T10:00:00.000Z'
export const at: number = Date.parse(timestamp)

const qwen = (uuid: string, parentUuid: string | null, type: string, more: object) => ({
  ...{ uuid, parentUuid, sessionId: 'q1', timestamp, type, cwd: '/work', version: '0.24.4' },
  ...more,
})
const copilot = (id: string, parentId: string | null, type: string, data: object) => ({
  type,
  data,
  id,
  timestamp,
  parentId,
})
const usage = { model: 'gpt-5.2', inputTokens: 100, outputTokens: 7, cacheReadTokens: 60, cacheWriteTokens: 0 }
const droid = (id: string, parentId: string | null, role: string, content: unknown) => ({
  ...{ type: 'message', id, timestamp, parentId },
  message: { role, content },
})
const gooseMessages = [
  { role: 'user', created: at / 1000, content: [{ type: 'text', text: 'Look.' }] },
  {
    ...{ role: 'assistant', created: at / 1000 },
    content: [
      { type: 'text', text: 'I look.' },
      { type: 'toolRequest', id: 'c1', toolCall: { status: 'success', value: { name: 'look', arguments: {} } } },
    ],
  },
  {
    ...{ role: 'user', created: at / 1000 },
    content: [
      { type: 'toolResponse', id: 'c1', toolResult: { status: 'success', value: [{ type: 'text', text: 'a cat' }] } },
    ],
  },
  { role: 'assistant', created: at / 1000, content: [{ type: 'text', text: 'A cat.' }] },
]
const loop = (event: object) => ({ type: 'context.append_loop_event', event, time: at })
const kimiEvent = (event: object) => ({ ...event, time: at, kind: 'event' })
const blocks = {
  call: [
    { type: 'text', text: 'I look.' },
    { type: 'tool_use', id: 'c1', name: 'look', input: {} },
  ],
  result: [{ type: 'tool_result', tool_use_id: 'c1', content: 'a cat' }],
  answer: [{ type: 'text', text: 'A cat.' }],
}
const ask = [{ type: 'text', text: 'Look.' }]
const crushRow = (id: string, role: string, parts: readonly object[]) => ({
  ...{ id, role, session_id: 's1', model: 'm1', created_at: at / 1000 },
  parts,
})

/** By format: a file, and whether it holds what the user asked, times and token counts. */
export const agentFiles: {
  readonly [name: string]: {
    readonly format: string
    readonly file: string
    readonly asks?: false
    readonly timed?: false
    readonly used?: object
    readonly models?: readonly string[]
  }
} = {
  'Qwen Code': {
    format: 'qwen-code',
    file: lines([
      qwen('u0', null, 'system', { subtype: 'ui_telemetry', systemPayload: {} }),
      qwen('u1', 'u0', 'user', { message: { role: 'user', parts: [{ text: 'Look.' }] } }),
      qwen('u2', 'u1', 'assistant', {
        model: 'qwen3-coder',
        message: {
          role: 'model',
          parts: [{ text: 'I look.' }, { functionCall: { id: 'c1', name: 'look', args: {} } }],
        },
        usageMetadata: {
          promptTokenCount: 100,
          candidatesTokenCount: 5,
          thoughtsTokenCount: 2,
          cachedContentTokenCount: 60,
        },
      }),
      qwen('u3', 'u2', 'tool_result', {
        message: {
          role: 'user',
          parts: [{ functionResponse: { id: 'c1', name: 'look', response: { output: 'a cat' } } }],
        },
      }),
      qwen('u4', 'u3', 'assistant', { message: { role: 'model', parts: [{ text: 'A cat.' }] } }),
    ]),
    used: { input: 100, output: 7, cacheRead: 60 },
  },
  'Copilot CLI': {
    format: 'copilot-cli',
    file: lines([
      copilot('e1', null, 'session.start', { sessionId: 's1', copilotVersion: '1.0.102', context: { cwd: '/work' } }),
      copilot('e2', 'e1', 'user.message', { content: 'Look.', transformedContent: '<now/>Look.' }),
      copilot('e3', 'e2', 'session.usage_record', { usage }),
      copilot('e4', 'e3', 'assistant.message', {
        ...{ messageId: 'm1', content: 'I look.', model: 'gpt-5.2' },
        toolRequests: [{ toolCallId: 'c1', name: 'look', arguments: {}, type: 'function' }],
      }),
      copilot('e5', 'e4', 'tool.execution_start', { toolCallId: 'c1', toolName: 'look', arguments: {} }),
      copilot('e6', 'e5', 'tool.execution_complete', { toolCallId: 'c1', success: true, result: { content: 'a cat' } }),
      copilot('e7', 'e6', 'assistant.message', { messageId: 'm2', content: 'A cat.', toolRequests: [] }),
      copilot('e8', 'e7', 'assistant.turn_end', { turnId: '1' }),
    ]),
    used: { input: 100, output: 7, cacheRead: 60 },
  },
  Droid: {
    format: 'droid',
    file: lines([
      { type: 'session_start', id: 's1', title: 'Looking', version: 2, cwd: '/work' },
      droid('m1', null, 'user', ask),
      droid('m2', 'm1', 'assistant', blocks.call),
      droid('m3', 'm2', 'user', blocks.result),
      droid('m4', 'm3', 'assistant', blocks.answer),
    ]),
  },
  'Droid, without its header': {
    format: 'droid',
    file: lines([
      droid('d8691d2d-97fc-4e8e-b5f9-47434a0a0b26', null, 'user', ask),
      droid('2a29b642-6aed-4dce-b8da-22fab84d7d49', 'd8691d2d-97fc-4e8e-b5f9-47434a0a0b26', 'assistant', blocks.call),
      droid('8f29e414-7747-4806-83f1-f70c03b40095', '2a29b642-6aed-4dce-b8da-22fab84d7d49', 'user', blocks.result),
      droid('fcbcb235-bf53-4b19-8e1d-a72633e5a7e9', '8f29e414-7747-4806-83f1-f70c03b40095', 'assistant', blocks.answer),
      { type: 'agent_turn_outcome', turnId: 'd8691d2d', reason: 'completed', resultKind: 'text' },
    ]),
  },
  'Goose, lines': {
    format: 'goose',
    file: lines([
      { working_dir: '/work', description: 'Looking', message_count: 4, input_tokens: 100, output_tokens: 7 },
      ...gooseMessages,
    ]),
    used: { input: 100, output: 7 },
  },
  'Goose, the rows of its database': {
    format: 'goose',
    file: JSON.stringify({ id: 's1', description: 'Looking', working_dir: '/work', messages: gooseMessages }),
  },
  'Kimi CLI': {
    format: 'kimi',
    file: lines([
      { role: '_checkpoint', id: 0 },
      { role: 'user', content: 'Look.' },
      {
        ...{ role: 'assistant', content: [{ type: 'text', text: 'I look.' }] },
        tool_calls: [{ type: 'function', id: 'c1', function: { name: 'look', arguments: '{}' } }],
      },
      { role: '_usage', token_count: 42 },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: 'a cat' }] },
      { role: 'assistant', content: 'A cat.' },
    ]),
    timed: false,
  },
  'Kimi Code': {
    format: 'kimi',
    file: lines([
      { type: 'metadata', protocol_version: '1.4', created_at: at },
      { type: 'turn.prompt', input: [{ type: 'text', text: 'Look.' }], time: at },
      { type: 'context.append_message', message: { role: 'user', content: ask, toolCalls: [] }, time: at },
      loop({ type: 'step.begin', uuid: 's1' }),
      loop({ type: 'content.part', part: { type: 'text', text: 'I look.' } }),
      loop({ type: 'tool.call', toolCallId: 'c1', name: 'look', args: {} }),
      loop({ type: 'tool.result', toolCallId: 'c1', result: { output: 'a cat' } }),
      loop({ type: 'step.end', uuid: 's1' }),
      {
        type: 'usage.record',
        model: 'kimi-k3',
        usage: { inputOther: 40, inputCacheRead: 60, output: 7 },
        usageScope: 'turn',
        time: at,
      },
      loop({ type: 'step.begin', uuid: 's2' }),
      loop({ type: 'content.part', part: { type: 'text', text: 'A cat.' } }),
    ]),
    used: { input: 100, output: 7, cacheRead: 60 },
  },
  'Kimi Code 2': {
    format: 'kimi',
    file: lines([
      { type: 'metadata', protocol_version: '1.5', created_at: at },
      { type: 'runtime.set_binding', workspaceId: 'w', runtimeId: 'local', agentId: 'main', time: at },
      { type: 'context.append_message', message: { role: 'user', content: ask, toolCalls: [] }, time: at },
      kimiEvent({ type: 'agent.message.appended', message: { message: { role: 'user', content: ask } } }),
      loop({ type: 'step.begin', uuid: 's1' }),
      { type: 'llm.request', provider: 'kimi', model: 'kimi-k3', modelAlias: 'mine', time: at },
      loop({ type: 'content.part', part: { type: 'text', text: 'I look.' } }),
      loop({ type: 'tool.call', toolCallId: 'c1', name: 'look', args: {} }),
      loop({ type: 'tool.result', toolCallId: 'c1', result: { output: 'a cat' } }),
      {
        ...{ type: 'usage.record', model: 'mine', usageScope: 'turn', time: at },
        usage: { inputOther: 40, inputCacheRead: 60, output: 7 },
      },
      loop({ type: 'step.begin', uuid: 's2' }),
      loop({ type: 'content.part', part: { type: 'text', text: 'A cat.' } }),
      kimiEvent({ type: 'agent.turn.ended', turnId: 0, outcome: 'done' }),
    ]),
    used: { input: 100, output: 7, cacheRead: 60 },
    models: ['kimi-k3'],
  },
  Crush: {
    format: 'crush',
    file: JSON.stringify({
      ...{ id: 's1', title: 'Looking', prompt_tokens: 100, completion_tokens: 7 },
      messages: [
        crushRow('m1', 'user', [{ type: 'text', data: { text: 'Look.' } }]),
        crushRow('m2', 'assistant', [
          { type: 'text', data: { text: 'I look.' } },
          { type: 'tool_call', data: { id: 'c1', name: 'look', input: '{}', finished: true } },
          { type: 'finish', data: { reason: 'tool_use' } },
        ]),
        crushRow('m3', 'tool', [
          { type: 'tool_result', data: { tool_call_id: 'c1', name: 'look', content: 'a cat', is_error: false } },
        ]),
        crushRow('m4', 'assistant', [{ type: 'text', data: { text: 'A cat.' } }]),
      ],
    }),
    used: { input: 100, output: 7 },
  },
  Amp: {
    format: 'amp',
    file: JSON.stringify({
      ...{ v: 3, id: 'T-1', created: at, title: 'Looking' },
      messages: [
        { role: 'user', content: ask },
        {
          role: 'assistant',
          content: blocks.call,
          usage: { model: 'm', inputTokens: 40, cacheReadInputTokens: 60, outputTokens: 7 },
        },
        { role: 'user', content: [{ type: 'tool_result', toolUseID: 'c1', run: { status: 'done', result: 'a cat' } }] },
        { role: 'assistant', content: blocks.answer },
      ],
    }),
    timed: false,
    used: { input: 100, output: 7, cacheRead: 60 },
  },
  'Cline, Roo Code and Kilo Code': {
    format: 'cline',
    file: JSON.stringify([
      { role: 'user', content: ask, ts: at },
      { role: 'assistant', content: blocks.call, ts: at },
      { role: 'user', content: blocks.result, ts: at },
      { role: 'assistant', content: blocks.answer, ts: at },
    ]),
  },
  'Cline 3': {
    format: 'cline',
    file: JSON.stringify({
      ...{ version: 1, updated_at: timestamp, agent: 'lead', sessionId: 's1', system_prompt: 'You are Cline.' },
      origin: { source: 'cli', version: '3.0.65' },
      messages: [
        { id: 'm1', role: 'user', content: ask, ts: at },
        {
          ...{ id: 'm2', role: 'assistant', content: blocks.call, ts: at, modelInfo: { id: 'gpt-5.2', provider: 'p' } },
          metrics: { inputTokens: 100, outputTokens: 7, cacheReadTokens: 60, cacheWriteTokens: 0 },
        },
        { id: 'm3', role: 'user', content: blocks.result, ts: at },
        { id: 'm4', role: 'assistant', content: blocks.answer, ts: at },
      ],
    }),
    used: { input: 100, output: 7, cacheRead: 60 },
    models: ['gpt-5.2'],
  },
  ChatGPT: {
    format: 'chatgpt',
    file: JSON.stringify([
      {
        ...{ title: 'Looking', create_time: at / 1000, conversation_id: 's1', current_node: 'd' },
        mapping: {
          a: { id: 'a', message: null, parent: null, children: ['b'] },
          b: {
            id: 'b',
            parent: 'a',
            children: ['c', 'd'],
            message: {
              id: 'b',
              create_time: at / 1000,
              author: { role: 'user' },
              content: { content_type: 'text', parts: ['Look.'] },
            },
          },
          c: {
            id: 'c',
            parent: 'b',
            children: [],
            message: { id: 'c', author: { role: 'assistant' }, content: { content_type: 'text', parts: ['A dog.'] } },
          },
          d: {
            id: 'd',
            parent: 'b',
            children: [],
            message: {
              id: 'd',
              create_time: at / 1000,
              author: { role: 'assistant' },
              content: { content_type: 'text', parts: ['A cat.'] },
              metadata: { model_slug: 'gpt-5' },
            },
          },
        },
      },
    ]),
  },
  'Claude.ai': {
    format: 'claude-ai',
    file: JSON.stringify([
      {
        ...{ uuid: 's1', name: 'Looking', created_at: timestamp, updated_at: timestamp },
        chat_messages: [
          { uuid: 'm1', sender: 'human', text: 'Look.', content: ask, created_at: timestamp },
          {
            uuid: 'm2',
            sender: 'assistant',
            text: 'A cat.',
            content: [{ type: 'text', text: 'A cat.' }],
            created_at: timestamp,
          },
        ],
      },
    ]),
  },
  Aider: {
    format: 'aider',
    file: '\n# aider chat started at 2026-10-01 10:00:00\n\n> Aider v0.90.0  \n> Main model: m1 with diff edit format  \n\n#### Look.  \n\nA cat.\n\n> Tokens: 100 sent, 7 received.  \n',
    timed: false,
  },
  'codex exec --json': {
    format: 'codex-exec',
    file: lines([
      { type: 'thread.started', thread_id: 's1' },
      { type: 'turn.started' },
      { type: 'item.completed', item: { id: 'i0', type: 'agent_message', text: 'I look.' } },
      {
        type: 'item.started',
        item: { id: 'c1', type: 'command_execution', command: 'look', aggregated_output: '', status: 'in_progress' },
      },
      {
        type: 'item.completed',
        item: {
          id: 'c1',
          type: 'command_execution',
          command: 'look',
          aggregated_output: 'a cat',
          exit_code: 0,
          status: 'completed',
        },
      },
      { type: 'item.completed', item: { id: 'i2', type: 'agent_message', text: 'A cat.' } },
      { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 7 } },
    ]),
    ...{ asks: false, timed: false, used: { input: 100, output: 7, cacheRead: 60 } },
  },
  'claude -p --output-format stream-json': {
    format: 'claude-stream',
    file: lines([
      { type: 'system', subtype: 'init', session_id: 's1', cwd: '/work', model: 'm1', tools: [] },
      ...blocks.call.map((block, index) => ({
        ...{ type: 'assistant', parent_tool_use_id: null, session_id: 's1', uuid: `a${index}` },
        message: {
          ...{ id: 'msg1', type: 'message', role: 'assistant', model: 'm1', content: [block], stop_reason: null },
          usage: { input_tokens: 40, cache_read_input_tokens: 60, output_tokens: 7 },
        },
      })),
      { type: 'user', parent_tool_use_id: null, session_id: 's1', message: { role: 'user', content: blocks.result } },
      {
        ...{ type: 'assistant', parent_tool_use_id: null, session_id: 's1', uuid: 'a2' },
        message: {
          id: 'msg2',
          type: 'message',
          role: 'assistant',
          model: 'm1',
          content: blocks.answer,
          stop_reason: 'end_turn',
        },
      },
      { type: 'result', subtype: 'success', session_id: 's1', num_turns: 2, total_cost_usd: 0.01, result: 'A cat.' },
    ]),
    ...{ asks: false, timed: false, used: { input: 100, output: 7, cacheRead: 60 } },
  },
  'Codex before August 2025': {
    format: 'codex',
    file: JSON.stringify({
      session: { id: 's1', timestamp, instructions: '' },
      items: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look.' }] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I look.' }] },
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: 'a cat' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A cat.' }] },
      ],
    }),
    timed: false,
  },
}
