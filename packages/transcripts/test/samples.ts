/** One small file of every format that is read, with everything in it that the format's reader treats by itself. */
import type { Json } from 'indelible'
import { agentFiles } from './agent-files.ts'
import type { Layout } from './leaves.ts'

export interface Sample {
  readonly layout: Layout
  readonly input: Json
}

const at = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, '0')}Z`
const text = (value: string) => ({ type: 'text', text: value })

const chatMessages = [
  { role: 'system', content: 'Be brief.', name: 'rules' },
  { role: 'developer', content: [text('In French.')] },
  {
    role: 'user',
    content: [
      text('What is this?'),
      { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=', detail: 'low' } },
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'wav' } },
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' } },
    ],
  },
  {
    role: 'assistant',
    content: null,
    reasoning_content: 'hm',
    tool_calls: [
      { type: 'function', id: 'c1', function: { name: 'look', arguments: '{}' } },
      { type: 'custom', id: 'c2', custom: { name: 'patch', input: 'a' } },
    ],
  },
  { role: 'tool', tool_call_id: 'c1', content: 'a cat', name: 'look' },
  { role: 'tool', tool_call_id: 'c2', content: [text('done')] },
  { role: 'assistant', content: null, function_call: { name: 'old', arguments: '{}' } },
  { role: 'function', name: 'old', content: 'as ever' },
  { role: 'assistant', content: 'A cat.', refusal: 'No more.' },
]

const responsesItems = [
  {
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: 'Look.' },
      { type: 'input_image', image_url: 'data:image/png;base64,aGk=', detail: 'auto' },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,aGk=' },
    ],
  },
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [{ type: 'summary_text', text: 'hm' }],
    content: [{ type: 'reasoning_text', text: 'hmm' }],
    encrypted_content: 'abc',
  },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [
      { type: 'output_text', text: 'I look.', annotations: [] },
      { type: 'refusal', refusal: 'no' },
    ],
  },
  { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'look', arguments: '{}', status: 'completed' },
  { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'a' },
  { type: 'shell_call', call_id: 'c3', action: { commands: ['ls'] }, status: 'completed' },
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'cats' } },
  { type: 'function_call_output', call_id: 'c1', output: 'a cat' },
  { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'done' }] },
  {
    type: 'shell_call_output',
    call_id: 'c3',
    output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
  },
  { role: 'assistant', content: 'A cat.' },
]

const anthropicMessages = [
  {
    role: 'user',
    content: [
      text('Look.'),
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } },
      {
        type: 'document',
        title: 'a.txt',
        source: { type: 'text', media_type: 'text/plain', data: 'hi' },
        cache_control: { type: 'ephemeral' },
      },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'abc' },
      text('I look.'),
      { type: 'tool_use', id: 't1', name: 'look', input: { at: ['a', 1] } },
      { type: 'tool_use', id: 't2', name: 'look', input: {} },
    ],
  },
  {
    role: 'user',
    content: [
      { type: 'tool_result', tool_use_id: 't1', is_error: false, content: [text('a cat')] },
      { type: 'tool_result', tool_use_id: 't2', content: 'a dog' },
      text('And?'),
    ],
  },
  { role: 'assistant', content: 'Two.' },
]

const modelMessages = [
  { role: 'system', content: 'Be brief.', providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } },
  {
    role: 'user',
    content: [
      text('Look.'),
      { type: 'image', image: 'aGk=', mediaType: 'image/png' },
      { type: 'file', data: 'aGk=', mediaType: 'application/pdf', filename: 'a.pdf' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'sig' } } },
      text('I look.'),
      { type: 'tool-call', toolCallId: 't1', toolName: 'look', input: { at: 'a' } },
      { type: 'tool-call', toolCallId: 't2', toolName: 'look', input: {} },
      { type: 'tool-approval-request', approvalId: 'p1', toolCallId: 't1' },
    ],
  },
  {
    role: 'tool',
    content: [
      { type: 'tool-approval-response', approvalId: 'p1', approved: true, reason: 'fine' },
      { type: 'tool-result', toolCallId: 't1', toolName: 'look', output: { type: 'json', value: { is: 'a cat' } } },
      {
        type: 'tool-result',
        toolCallId: 't2',
        toolName: 'look',
        output: { type: 'content', value: [text('a'), { type: 'media', data: 'aGk=', mediaType: 'image/png' }] },
      },
    ],
  },
  { role: 'assistant', content: 'A cat.' },
]

const uiMessages = [
  {
    id: 'm1',
    role: 'user',
    metadata: { from: 'me' },
    parts: [
      text('Look.'),
      { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=', filename: 'a.png' },
    ],
  },
  {
    id: 'm2',
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', text: 'hm', state: 'done', providerMetadata: { anthropic: { signature: 'sig' } } },
      { type: 'text', text: 'I look.', state: 'done' },
      { type: 'tool-look', toolCallId: 't1', state: 'output-available', input: { at: 'a' }, output: { is: 'a cat' } },
      { type: 'dynamic-tool', toolName: 'old', toolCallId: 't2', state: 'output-error', input: {}, errorText: 'no' },
      { type: 'step-start' },
      { type: 'source-url', sourceId: 's1', url: 'https://example.com', title: 'a' },
      { type: 'data-chart', id: 'd1', data: { x: 1 } },
      text('A cat.'),
    ],
  },
]

const envelope = (uuid: string, parentUuid: string | null, second: number) => ({
  parentUuid,
  isSidechain: false,
  userType: 'external',
  cwd: '/work',
  sessionId: 's1',
  version: '2.1.0',
  gitBranch: 'main',
  uuid,
  timestamp: at(second),
})
const piece = (uuid: string, parent: string, second: number, id: string, block: object, usage = 5) => ({
  ...envelope(uuid, parent, second),
  type: 'assistant',
  requestId: `req_${id}`,
  message: {
    id,
    type: 'message',
    role: 'assistant',
    model: 'claude-opus-5',
    content: [block],
    stop_reason: null,
    usage: { input_tokens: 3, output_tokens: usage, cache_read_input_tokens: 7, cache_creation_input_tokens: 11 },
  },
})
const asks = (uuid: string, parent: string | null, second: number, content: unknown, more: object = {}) => ({
  ...envelope(uuid, parent, second),
  type: 'user',
  message: { role: 'user', content },
  ...more,
})

const claudeCode = [
  { type: 'summary', summary: 'Looking around', leafUuid: 'x' },
  { type: 'file-history-snapshot', messageId: 'm', snapshot: {}, isSnapshotUpdate: false },
  { type: 'custom-title', customTitle: 'A look', sessionId: 's1' },
  asks('u1', null, 1, 'Look around.'),
  piece('a1', 'u1', 2, 'msg_1', { type: 'thinking', thinking: 'hm', signature: 'sig' }, 1),
  piece('a2', 'a1', 3, 'msg_1', text('I look.'), 1),
  piece('a3', 'a2', 4, 'msg_1', { type: 'tool_use', id: 't1', name: 'Read', input: { file: 'a.ts' } }),
  { ...envelope('p1', 'a3', 5), type: 'progress', data: { type: 'hook_progress' } },
  asks('r1', 'a3', 6, [{ type: 'tool_result', tool_use_id: 't1', content: 'of t1' }], {
    toolUseResult: { stdout: 'a' },
  }),
  { ...envelope('y1', 'r1', 7), type: 'system', subtype: 'informational', content: 'note' },
  piece('a5', 'y1', 8, 'msg_2', text('Nothing here.')),
  {
    ...envelope('k1', null, 9),
    logicalParentUuid: 'a5',
    type: 'system',
    subtype: 'compact_boundary',
    content: 'Conversation compacted',
    compactMetadata: { trigger: 'auto', preTokens: 1000 },
  },
  asks('k2', 'k1', 10, 'It looked around.', { isCompactSummary: true }),
  asks('s1', null, 11, 'Search.', { isSidechain: true }),
  { ...piece('s2', 's1', 12, 'msg_s', text('Found.')), isSidechain: true },
  asks('u2', 'k2', 13, [text('Go on.')]),
  piece('a6', 'u2', 14, 'msg_3', text('So I do.')),
]

const codexLine = (second: number, type: string, payload: object) => ({ timestamp: at(second), type, payload })
const codex = [
  codexLine(1, 'session_meta', {
    id: 's1',
    timestamp: at(0),
    cwd: '/work',
    cli_version: '0.98.0',
    instructions: 'none',
    git: { branch: 'main' },
  }),
  codexLine(2, 'turn_context', { cwd: '/work', model: 'gpt-5.2' }),
  codexLine(3, 'response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look.' }] }),
  codexLine(4, 'event_msg', { type: 'user_message', message: 'Look.' }),
  codexLine(5, 'response_item', {
    type: 'reasoning',
    summary: [{ type: 'summary_text', text: 'hm' }],
    encrypted_content: 'abc',
  }),
  codexLine(6, 'response_item', { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{}' }),
  codexLine(7, 'response_item', { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'a' }),
  codexLine(8, 'response_item', { type: 'function_call_output', call_id: 'c1', output: 'a cat' }),
  codexLine(9, 'response_item', { type: 'custom_tool_call_output', call_id: 'c2', output: 'done' }),
  codexLine(10, 'event_msg', {
    type: 'token_count',
    info: { last_token_usage: { input_tokens: 10, cached_input_tokens: 5, output_tokens: 3 } },
  }),
  codexLine(11, 'compacted', { message: 'It looked.', replacement_history: [] }),
  codexLine(12, 'session_meta', { id: 's0', timestamp: at(0), cwd: '/elsewhere', cli_version: '0.97.0' }),
  codexLine(13, 'response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'No.' }] }),
  codexLine(15, 'event_msg', { type: 'thread_rolled_back', num_turns: 1 }),
  codexLine(16, 'response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Go on.' }] }),
  codexLine(17, 'response_item', {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text: 'So I do.' }],
  }),
]

const codexOfThen = [
  { id: 's1', timestamp: at(0), instructions: 'none', git: { branch: 'main' } },
  { record_type: 'state' },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Look.' }] },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'A cat.' }] },
]

const piLine = (id: string, parentId: string | null, second: number, type: string, more: object) => ({
  type,
  id,
  parentId,
  timestamp: at(second),
  ...more,
})
const piSession = [
  { type: 'session', version: 3, id: 's1', timestamp: at(0), cwd: '/work' },
  piLine('1', null, 1, 'message', { message: { role: 'user', content: 'Look.', timestamp: 1 } }),
  piLine('2', '1', 2, 'model_change', { provider: 'openai', modelId: 'gpt' }),
  piLine('3', '2', 3, 'message', {
    message: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', thinkingSignature: 'sig' },
        text('I look.'),
        { type: 'toolCall', id: 't1', name: 'read', arguments: { at: 'a' } },
      ],
      model: 'gpt',
      usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
      stopReason: 'toolUse',
    },
  }),
  piLine('4', '3', 4, 'message', {
    message: {
      role: 'toolResult',
      toolCallId: 't1',
      toolName: 'read',
      content: [text('a cat'), { type: 'image', data: 'aGk=', mimeType: 'image/png' }],
      isError: false,
      details: {},
    },
  }),
  piLine('5', '4', 5, 'message', {
    message: { role: 'bashExecution', command: 'ls', output: 'a', exitCode: 1, cancelled: false, truncated: false },
  }),
  piLine('6', '5', 6, 'message', { message: { role: 'custom', customType: 'x', content: 'hi', display: true } }),
  piLine('7', '6', 7, 'custom_message', { customType: 'x', content: [text('hi')], display: true }),
  piLine('8', '7', 8, 'compaction', { summary: 'It looked.', firstKeptEntryId: '3', tokensBefore: 100 }),
  piLine('9', '8', 9, 'branch_summary', { summary: 'Elsewhere.', fromId: '3' }),
  piLine('10', '9', 10, 'message', { message: { role: 'branchSummary', summary: 'Elsewhere.', fromId: '3' } }),
  piLine('11', '3', 11, 'session_info', { name: 'A look' }),
  piLine('12', '10', 12, 'label', { targetId: '3', label: 'here' }),
  piLine('13', '12', 13, 'leaf', { targetId: '12' }),
]

const ours = [
  { indelible: 'export', version: 1, id: 's1', metadata: { title: 'A walk' } },
  {
    message: { role: 'user', content: [text('hi')], id: 'm1', meta: { 'com.example': { a: 'b' } } },
    page: 'conversation',
  },
  {
    message: {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', summary: ['s'] },
        { type: 'tool_call', id: 't1', name: 'look', arguments: '{}' },
      ],
    },
    page: 'conversation',
  },
  { note: { type: 'pin', position: 0 } },
  {
    message: {
      role: 'tool',
      content: [
        {
          type: 'tool_result',
          callId: 't1',
          content: [{ type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } }],
        },
      ],
    },
    page: 'evidence',
  },
  { note: { type: 'application', namespace: 'com.example', content: { a: 'b' } } },
  { head: { size: 5, root: '5c1e6c6cc9b2f8e1f4ee2bd2b2f5d8b7a1d9a6c1b0e3f2d4c5b6a79880716253' } },
]

const sweAgent = {
  environment: 'main',
  trajectory: [
    { action: 'ls', observation: 'a', response: 'I look.', thought: 'hm', execution_time: 0.1, state: { cwd: '/' } },
  ],
  history: [
    { role: 'system', content: 'Be brief.', agent: 'main', message_type: 'system_prompt' },
    { role: 'user', content: [text('Look.')], agent: 'main', message_type: 'observation' },
    {
      role: 'assistant',
      content: 'I look.',
      thought: 'hm',
      action: 'ls',
      agent: 'main',
      tool_calls: [
        { type: 'function', id: 'c1', function: { name: 'bash', arguments: '{}' } },
        { type: 'function', id: 'c2', function: { name: 'bash', arguments: '{}' } },
      ],
      message_type: 'action',
    },
    { role: 'tool', content: [text('a')], agent: 'main', message_type: 'observation', tool_call_ids: ['c1', 'c2'] },
    { role: 'tool', content: [text('unasked')], agent: 'main', message_type: 'observation', tool_call_ids: [] },
    { role: 'tool', content: 'unasked, too', agent: 'main', message_type: 'observation', tool_call_ids: null },
  ],
  info: { exit_status: 'submitted', model_stats: { tokens_sent: 10, tokens_received: 2 } },
}

const geminiUser = {
  id: 'm1',
  timestamp: at(1),
  type: 'user',
  content: [{ text: 'Look.' }, { inlineData: { mimeType: 'image/png', data: 'aGk=' } }],
  displayContent: 'Look.',
}
const geminiModel = {
  id: 'm2',
  timestamp: at(2),
  type: 'gemini',
  content: 'I look.',
  model: 'gemini-3-pro',
  thoughts: [{ subject: 'Looking', description: 'hm', timestamp: at(2) }],
  tokens: { input: 10, output: 2, cached: 5, thoughts: 1, tool: 0, total: 13 },
  toolCalls: [
    {
      id: 'c1',
      name: 'look',
      args: { at: 'a' },
      result: [{ functionResponse: { id: 'c1', name: 'look', response: { output: 'a cat' } } }],
      status: 'success',
      timestamp: at(3),
      resultDisplay: 'a cat',
      displayName: 'Look',
    },
    {
      id: 'c2',
      name: 'look',
      args: {},
      result: [
        { functionResponse: { id: 'c2', name: 'look', response: { error: 'no' } } },
        { fileData: { fileUri: 'https://example.com/a.pdf', mimeType: 'application/pdf' } },
      ],
      status: 'error',
      timestamp: at(3),
    },
    { id: 'c3', name: 'look', args: {}, status: 'cancelled', result: null, timestamp: at(3) },
  ],
}
const geminiHeader = { sessionId: 's1', projectHash: 'abc', startTime: at(0), lastUpdated: at(4), kind: 'main' }
const geminiLines = [
  geminiHeader,
  geminiUser,
  { ...geminiModel, toolCalls: [] },
  geminiModel,
  { id: 'm3', timestamp: at(4), type: 'info', content: 'Saved.' },
  { $set: { lastUpdated: at(5), summary: 'A look' } },
  { id: 'm4', timestamp: at(6), type: 'user', content: 'No.' },
  { $rewindTo: 'm4' },
  { id: 'm5', timestamp: at(7), type: 'user', content: 'Go on.' },
]

const cursorLines = [
  { role: 'user', message: { content: [text('Look.')] } },
  {
    role: 'assistant',
    message: { content: [text('I look.'), { type: 'tool_use', name: 'Read', input: { path: 'a' } }] },
  },
  {
    role: 'assistant',
    message: { content: [text('So.'), { type: 'tool_use', id: 't1', name: 'Read', input: { path: 'a' } }] },
  },
]

const session = (id: string, created: number) => ({
  id,
  slug: 'a-b',
  version: '1.1.53',
  projectID: 'p1',
  directory: '/work',
  title: 'A look',
  time: { created, updated: created + 9 },
})
const said = (id: string, role: string, created: number, more: object, sessionID = 'ses_1') => ({
  id,
  sessionID,
  role,
  time: { created },
  ...more,
})
const partOf = (id: string, messageID: string, type: string, more: object, sessionID = 'ses_1') => ({
  id,
  sessionID,
  messageID,
  type,
  ...more,
})
const spent = {
  modelID: 'gpt',
  providerID: 'openai',
  cost: 0.1,
  tokens: { input: 10, output: 2, reasoning: 1, cache: { read: 5, write: 0 } },
}
const file = { type: 'file', mime: 'image/png', filename: 'a.png', url: 'data:image/png;base64,aGk=' }
const openAsks = [
  partOf('prt_1', 'msg_1', 'text', { text: 'Look.', synthetic: false }),
  partOf('prt_2', 'msg_1', 'file', { ...file, mime: 'application/pdf' }),
]
const openSteps = [
  partOf('prt_3', 'msg_2', 'step-start', { snapshot: 'abc' }),
  partOf('prt_4', 'msg_2', 'reasoning', {
    text: 'hm',
    metadata: { anthropic: { signature: 'sig' } },
    time: { start: 1 },
  }),
  partOf('prt_5', 'msg_2', 'text', { text: 'I look.', time: { start: 1 } }),
  partOf('prt_6', 'msg_2', 'tool', {
    callID: 'c1',
    tool: 'read',
    state: {
      status: 'completed',
      input: { at: 'a' },
      output: 'a cat',
      title: 'a',
      metadata: {},
      time: { start: 1, end: 2 },
      attachments: [{ id: 'prt_x', sessionID: 'ses_1', messageID: 'msg_2', ...file }],
    },
    metadata: { openai: { itemId: 'x' } },
  }),
  partOf('prt_7', 'msg_2', 'tool', {
    callID: 'c2',
    tool: 'read',
    state: { status: 'error', input: {}, error: 'no', time: { start: 1, end: 2 } },
  }),
  partOf('prt_8', 'msg_2', 'step-finish', { reason: 'tool-calls', cost: 0.1, tokens: { input: 10, output: 2 } }),
  partOf('prt_9', 'msg_2', 'step-start', {}),
  partOf('prt_a', 'msg_2', 'text', { text: 'A cat.' }),
  partOf('prt_b', 'msg_2', 'patch', { hash: 'abc', files: ['a'] }),
]
const openSummary = [
  partOf('prt_c', 'msg_3', 'compaction', { auto: true }),
  partOf('prt_d', 'msg_4', 'text', { text: 'It looked.', time: { start: 3 } }),
]
const openTurns = [
  {
    info: said('msg_1', 'user', 1, { agent: 'build', model: { providerID: 'openai', modelID: 'gpt' } }),
    parts: openAsks,
  },
  { info: said('msg_2', 'assistant', 2, { parentID: 'msg_1', ...spent }), parts: openSteps },
  { info: said('msg_3', 'user', 3, { agent: 'build' }), parts: openSummary.slice(0, 1) },
  { info: said('msg_4', 'assistant', 4, { summary: true, ...spent }), parts: openSummary.slice(1) },
]
const openDump = [
  { id: 'p1', worktree: '/work', vcs: 'git', time: { created: 1 } },
  { id: 'sh', secret: 'x', url: 'https://example.com' },
  ...openTurns.flatMap(({ parts }) => parts),
  partOf('prt_e', 'msg_5', 'text', { text: 'Elsewhere.' }, 'ses_2'),
  ...openTurns.map(({ info }) => info),
  said('msg_5', 'user', 5, {}, 'ses_2'),
  [{ id: '1', content: 'Look', status: 'done' }],
  session('ses_1', 1),
  session('ses_2', 2),
]

const agentsItems = [
  {
    type: 'message',
    role: 'user',
    content: [
      { type: 'input_text', text: 'Look.' },
      { type: 'input_image', image: 'data:image/png;base64,aGk=', detail: 'auto' },
      { type: 'input_file', file: 'https://example.com/a.pdf', filename: 'a.pdf' },
      { type: 'audio', audio: 'aGk=', format: 'wav' },
    ],
  },
  {
    type: 'reasoning',
    id: 'rs_1',
    content: [{ type: 'input_text', text: 'hm' }],
    rawContent: [{ type: 'reasoning_text', text: 'hmm' }],
    providerData: { encryptedContent: 'abc' },
  },
  {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [
      { type: 'output_text', text: 'I look.', providerData: { annotations: [] } },
      { type: 'refusal', refusal: 'no' },
    ],
    providerData: { a: 'b' },
  },
  { type: 'function_call', id: 'fc_1', callId: 'c1', name: 'look', arguments: '{}', status: 'completed' },
  { type: 'shell_call', callId: 'c2', action: { commands: ['ls'] } },
  { type: 'hosted_tool_call', name: 'web_search_call', status: 'completed' },
  {
    type: 'function_call_result',
    callId: 'c1',
    name: 'look',
    status: 'completed',
    output: { type: 'text', text: 'a cat' },
  },
  {
    type: 'shell_call_output',
    callId: 'c2',
    output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exitCode: 0 } }],
  },
  { role: 'user', content: 'Go on.' },
]

const lc = (name: string, kwargs: object) => ({
  lc: 1,
  type: 'constructor',
  id: ['langchain_core', 'messages', name],
  kwargs,
})
const lcMessages = [
  lc('SystemMessage', { content: 'Be brief.' }),
  lc('HumanMessage', {
    content: [text('Look.'), { type: 'image_url', image_url: { url: 'data:image/png;base64,aGk=', detail: 'low' } }],
    id: 'h1',
    name: 'me',
  }),
  lc('AIMessage', {
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      text('I look.'),
      { type: 'tool_use', id: 'c1', name: 'look', input: {} },
    ],
    tool_calls: [{ name: 'look', args: { at: 'a' }, id: 'c1', type: 'tool_call' }],
    additional_kwargs: {},
    usage_metadata: { input_tokens: 1, output_tokens: 2 },
    response_metadata: { model_name: 'gpt' },
  }),
  lc('ToolMessage', {
    content: 'a cat',
    tool_call_id: 'c1',
    name: 'look',
    status: 'success',
    artifact: { a: 'b' },
  }),
  { type: 'ai', content: 'A cat.' },
]

const checkpoints = [
  {
    thread_id: 't1',
    checkpoint_ns: '',
    checkpoint_id: '1',
    metadata: { step: 1, source: 'loop' },
    checkpoint: {
      v: 4,
      ts: at(1),
      channel_versions: { messages: 3 },
      channel_values: {
        topic: 'cats',
        messages: lcMessages,
      },
    },
  },
  { thread_id: 't2', checkpoint: { channel_values: { messages: [lc('HumanMessage', { content: 'hi' })] } } },
]

const usage = { prompt_tokens: 10, completion_tokens: 3, prompt_tokens_details: { cached_tokens: 5 } }

/** A file of an agent as a sample: a list of its lines, or its one value. Markdown has no leaves. */
const agentSample = (name: string, file: string): readonly (readonly [string, Sample])[] => {
  if (file.trimStart().startsWith('#')) return []
  const values = file
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Json)
  const [first = null] = values
  return [[name, values.length === 1 ? { layout: 'value', input: first } : { layout: 'lines', input: values }]]
}

/** By name: the format, and what of it. */
export const samples: { readonly [name: string]: Sample } = {
  'claude-code': { layout: 'lines', input: claudeCode },
  codex: { layout: 'lines', input: codex },
  'codex, of 2025': { layout: 'lines', input: codexOfThen },
  'pi-session': { layout: 'lines', input: piSession },
  indelible: { layout: 'lines', input: ours },
  'swe-agent': { layout: 'value', input: sweAgent },
  'gemini-cli': { layout: 'value', input: { ...geminiHeader, summary: 'A look', messages: [geminiUser, geminiModel] } },
  'gemini-cli, of later': { layout: 'lines', input: geminiLines },
  langgraph: { layout: 'lines', input: checkpoints },
  cursor: { layout: 'lines', input: cursorLines },
  opencode: { layout: 'value', input: { info: session('ses_1', 1), messages: openTurns, todos: [{ content: 'a' }] } },
  'opencode, its storage': { layout: 'values', input: openDump },
  'openai-agents': { layout: 'value', input: agentsItems },
  langchain: { layout: 'value', input: lcMessages },
  'ai-sdk-ui, a store of chats': {
    layout: 'value',
    input: [
      { id: 'c1', messages: uiMessages },
      { id: 'c2', title: 'b', messages: [{ id: 'm', role: 'user', parts: [text('hi')] }] },
    ],
  },
  'tau-bench': {
    layout: 'value',
    input: [
      { task_id: 1, reward: 0.5, traj: [{ role: 'user', content: 'hi' }] },
      { task_id: 2, info: { a: 'b' }, traj: chatMessages },
    ],
  },
  'openai-chat': { layout: 'value', input: chatMessages },
  'openai-chat, a request': {
    layout: 'value',
    input: {
      model: 'gpt',
      temperature: 1,
      messages: chatMessages,
      tools: [{ type: 'function', function: { name: 'look' } }],
    },
  },
  'openai-chat, an answer': {
    layout: 'value',
    input: {
      id: 'r1',
      model: 'gpt',
      choices: [
        {
          index: 0,
          finish_reason: 'stop',
          logprobs: { content: [{ token: 'a' }] },
          message: { role: 'assistant', content: 'A cat.' },
        },
        { index: 1, finish_reason: 'length', message: { role: 'assistant', content: 'A dog.' } },
      ],
      usage,
    },
  },
  'openai-chat, one a line': { layout: 'lines', input: chatMessages },
  'openai-chat, conversations one a line': {
    layout: 'lines',
    input: [
      { messages: chatMessages, weight: 1 },
      { messages: [{ role: 'user', content: 'hi' }], id: 'x' },
    ],
  },
  'openai-responses': { layout: 'value', input: responsesItems },
  'openai-responses, a request': {
    layout: 'value',
    input: { model: 'gpt', instructions: 'Be brief.', input: responsesItems, store: false },
  },
  'openai-responses, an answer': {
    layout: 'value',
    input: {
      id: 'r1',
      object: 'response',
      model: 'gpt',
      instructions: 'Be brief.',
      input: [],
      output: responsesItems.slice(1, 4),
      usage: { input_tokens: 1, output_tokens: 2, input_tokens_details: { cached_tokens: 0 } },
    },
  },
  anthropic: { layout: 'value', input: anthropicMessages },
  'anthropic, a request': {
    layout: 'value',
    input: {
      model: 'claude',
      max_tokens: 100,
      system: [{ ...text('Be brief.'), cache_control: { type: 'ephemeral' } }],
      messages: anthropicMessages,
    },
  },
  'anthropic, an answer': {
    layout: 'value',
    input: {
      id: 'm1',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: anthropicMessages[1]?.content as unknown as Json,
      stop_reason: 'tool_use',
      usage: { input_tokens: 1, output_tokens: 2 },
    },
  },
  'anthropic, one a line': { layout: 'lines', input: anthropicMessages },
  'ai-sdk': { layout: 'value', input: modelMessages },
  'ai-sdk, one a line': { layout: 'lines', input: modelMessages },
  'ai-sdk-ui': { layout: 'value', input: uiMessages },
  'ai-sdk-ui, one a line': { layout: 'lines', input: uiMessages },
  ...Object.fromEntries(Object.entries(agentFiles).flatMap(([name, one]) => agentSample(name, one.file))),
} as { readonly [name: string]: Sample } // what is spelled above is JSON

/** What `decode` of each codec takes. */
const geminiContents: Json = [
  { role: 'user', parts: [{ text: 'Is it raining?' }, { inlineData: { data: 'aGk=', mimeType: 'image/png' } }] },
  {
    role: 'model',
    parts: [
      { text: 'hm', thought: true, thoughtSignature: 'c2ln' },
      { functionCall: { id: 'c1', name: 'look', args: { where: 'out' } }, thoughtSignature: 'c2ln' },
      { executableCode: { language: 'PYTHON', code: '1' } },
    ],
  },
  {
    role: 'user',
    parts: [
      {
        functionResponse: {
          id: 'c1',
          name: 'look',
          response: { output: 'rain' },
          parts: [{ fileData: { fileUri: 'gs://a', mimeType: 'application/pdf' } }],
        },
      },
    ],
  },
]

export const wires: { readonly [format: string]: readonly Json[] } = {
  gemini: [
    { systemInstruction: { role: 'user', parts: [{ text: 'Be brief.' }] }, contents: geminiContents },
    {
      responseId: 'r',
      usageMetadata: { promptTokenCount: 1 },
      candidates: [
        { index: 0, finishReason: 'STOP', content: { role: 'model', parts: [{ text: 'a' }] } },
        { index: 1 },
      ],
    },
  ],
  langchain: [lcMessages],
  'openai-agents': [agentsItems],
  'openai-chat': [chatMessages],
  'openai-responses': [
    responsesItems,
    { model: 'gpt', instructions: 'Be brief.', input: responsesItems },
    { id: 'r1', model: 'gpt', output: responsesItems.slice(1), usage: { input_tokens: 1 } },
    { model: 'gpt', input: 'Look.' },
  ],
  anthropic: [
    anthropicMessages,
    { model: 'claude', system: 'Be brief.', messages: anthropicMessages },
    {
      id: 'm1',
      type: 'message',
      role: 'assistant',
      model: 'claude',
      content: anthropicMessages[1]?.content,
      usage: { input_tokens: 1 },
    },
  ],
  'ai-sdk': [modelMessages],
  'ai-sdk-ui': [uiMessages],
} as unknown as { readonly [format: string]: readonly Json[] }
