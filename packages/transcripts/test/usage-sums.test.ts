/** The tokens and dollars of each program's calls, beside sums by hand: of what its file counts, each call is counted once. */
import { expect, it } from 'vitest'
import { usageDollars } from 'indelible/internal/prices'
import { summedCalls } from 'indelible/internal/usage'
import { readTranscript } from '@indelible/transcripts'
import { orThrow, type Message } from 'indelible'
import { callUsageOf } from '@indelible/transcripts/internal'
import { lines } from './reading.ts'

const day = '2026-10-01'
const time = (second: number): string => `${day}T10:00:${String(second).padStart(2, '0')}.000Z`
const ms = (second: number): number => Date.parse(time(second))

const claude = (type: string, uuid: string, parentUuid: string | null, message: object, more: object = {}): object => ({
  ...{ type, uuid, parentUuid, sessionId: 's', version: '2.1.332', timestamp: time(1), cwd: '/w', isSidechain: false },
  message,
  ...more,
})
const asked = (uuid: string, parent: string | null): object =>
  claude('user', uuid, parent, { role: 'user', content: uuid })
const answered = (uuid: string, parent: string, id: string, usage: object, more: object = {}, model = 'claude-opus-4-8') =>
  claude('assistant', uuid, parent, { id, type: 'message', role: 'assistant', model, content: [{ type: 'text', text: uuid }], stop_reason: 'end_turn', usage }, more) // oxfmt-ignore
const used = { input_tokens: 100, output_tokens: 200, cache_read_input_tokens: 1000, cache_creation_input_tokens: 400 }

const codexLine = (type: string, payload: object, second = 2): object => ({ timestamp: time(second), type, payload })
const codexCount = (last: object, total: number): object =>
  codexLine('event_msg', { type: 'token_count', info: { total_token_usage: { total_tokens: total }, last_token_usage: last } }) // oxfmt-ignore
const codexSaid = (role: string, text: string): object =>
  codexLine('response_item', { type: 'message', role, content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }] }) // oxfmt-ignore

const openMessage = (id: string, second: number, more: object): object => ({
  info: { id, sessionID: 's', role: 'assistant', modelID: 'claude-opus-4-8', time: { created: ms(second) }, ...more },
  parts: [{ id: `p${id}`, type: 'text', text: 'yes' }],
})
const piEntry = (id: string, parentId: string | null, type: string, more: object): object => ({
  ...{ type, id, parentId, timestamp: time(2) },
  ...more,
})
const piUsage = { input: 100, output: 50, cacheRead: 1000, cacheWrite: 200 }
const qwen = (uuid: string, parentUuid: string | null, type: string, more: object): object => ({
  ...{ uuid, parentUuid, sessionId: 'q', timestamp: time(1), type, cwd: '/w', version: '0.24.4' },
  ...more,
})
const copilot = (id: string, parentId: string | null, type: string, data: object): object => ({
  ...{ type, data, id, parentId },
  timestamp: time(1),
})

/** The source and date of the figures' meaning; the file; calls, input, output; US dollars; the calls of the answers. */
const rows: readonly (readonly [string, string, string, readonly [number, number, number], number, number])[] = [
  [
    'Claude Code: an hour in the cache, a line written again with more, a line apart, an error',
    'platform.claude.com/docs/en/build-with-claude/prompt-caching, 2026-11',
    lines([
      asked('u1', null),
      // 100 × 5 + 1000 × 0.5 + 100 × 6.25 + 300 × 10 + 200 × 25 = 9,625 per million
      answered('a1', 'u1', 'm1', { ...used, output_tokens: 1, cache_creation: { ephemeral_1h_input_tokens: 300 } }),
      answered('a1', 'u1', 'm1', { ...used, cache_creation: { ephemeral_1h_input_tokens: 300 } }),
      asked('u2', 'a1'),
      answered('a1b', 'u2', 'm1', { ...used, cache_creation: { ephemeral_1h_input_tokens: 300 } }),
      answered('e1', 'a1b', 'm2', { input_tokens: 0, output_tokens: 0 }, { isApiErrorMessage: true }, '<synthetic>'),
    ]),
    [1, 1500, 200],
    0.009625,
    1,
  ],
  [
    'Claude Code: fast mode and batch',
    'openrouter.ai/anthropic/claude-opus-5-fast and platform.claude.com/docs/en/build-with-claude/batch-processing, 2026-11',
    lines([
      asked('u1', null),
      answered('a1', 'u1', 'm1', { input_tokens: 1000, output_tokens: 100, speed: 'fast' }), // 2 × (5,000 + 2,500)
      asked('u2', 'a1'),
      answered('a2', 'u2', 'm2', { input_tokens: 1000, output_tokens: 100, service_tier: 'batch' }), // (5,000 + 2,500) / 2
    ]),
    [2, 2000, 200],
    0.01875,
    2,
  ],
  [
    'claude -p --output-format stream-json',
    'code.claude.com/docs/en/agent-sdk/typescript, 2026-11',
    lines([
      { type: 'assistant', session_id: 's', parent_tool_use_id: null, message: { id: 'm1', role: 'assistant', model: 'claude-opus-4-8', content: [{ type: 'text', text: 'a' }], usage: used } },
      { type: 'assistant', session_id: 's', parent_tool_use_id: null, message: { id: 'm1', role: 'assistant', model: 'claude-opus-4-8', content: [{ type: 'text', text: 'b' }], usage: used } },
    ]), // oxfmt-ignore
    [1, 1500, 200], // 500 + 500 + 2,500 + 5,000
    0.0085,
    1,
  ],
  [
    'Codex: a count that is written twice, a long request, a compaction',
    'openai/codex, codex-rs/protocol/src/protocol.rs; developers.openai.com/api/docs/pricing, 2026-11',
    lines([
      codexLine('session_meta', { id: 'c', timestamp: time(0) }, 0),
      codexLine('turn_context', { model: 'gpt-5.5' }),
      codexSaid('user', 'q'),
      codexSaid('assistant', 'a'),
      codexCount({ input_tokens: 1000, cached_input_tokens: 400, output_tokens: 100 }, 1), // 600 × 5 + 400 × 0.5 + 100 × 30
      codexCount({ input_tokens: 1000, cached_input_tokens: 400, output_tokens: 100 }, 1),
      codexSaid('user', 'q2'),
      codexSaid('assistant', 'a2'),
      codexCount({ input_tokens: 300_000, cached_input_tokens: 0, output_tokens: 100 }, 2), // 300,000 × 10 + 100 × 45
      codexLine('compacted', { message: 'short' }),
      codexCount({ input_tokens: 2000, cached_input_tokens: 0, output_tokens: 100 }, 3), // 2,000 × 5 + 100 × 30
    ]),
    [3, 303_000, 300],
    0.0062 + 3.0045 + 0.013,
    2,
  ],
  [
    'codex exec --json',
    'openai/codex, codex-rs/exec/src/exec_events.rs, 2026-11',
    lines([
      { type: 'thread.started', thread_id: 't' },
      { type: 'item.completed', item: { id: 'i', type: 'agent_message', text: 'a' } },
      { type: 'turn.completed', usage: { input_tokens: 100, cached_input_tokens: 60, output_tokens: 7 } },
    ]),
    [0, 100, 7], // of a turn, whose calls are not counted
    0,
    0,
  ],
  [
    'opencode: reasoning beside the output; a compaction',
    'sst/opencode, packages/opencode/src/session/message-v2.ts, 2026-11',
    JSON.stringify({
      info: { id: 's', time: { created: ms(0), updated: ms(9) } },
      messages: [
        // 100 × 5 + 1000 × 0.5 + 200 × 6.25 + (40 + 10) × 25
        openMessage('m1', 1, { tokens: { input: 100, output: 40, reasoning: 10, cache: { read: 1000, write: 200 } } }),
        openMessage('m2', 2, { summary: true, tokens: { input: 1000, output: 40, reasoning: 0, cache: { read: 0, write: 0 } } }), // 5,000 + 1,000
      ],
    }), // oxfmt-ignore
    [2, 2300, 90],
    0.0035 + 0.006,
    1,
  ],
  [
    'Gemini CLI: cached tokens are in the input, thoughts beside the output',
    'google-gemini/gemini-cli, packages/core/src/services/chatRecordingTypes.ts; ai.google.dev/gemini-api/docs/pricing, 2026-11',
    lines([
      { sessionId: 'g', projectHash: 'h', startTime: time(0), lastUpdated: time(9) },
      { id: '1', timestamp: time(1), type: 'gemini', content: 'a', model: 'gemini-2.5-pro', tokens: { input: 1000, output: 50, cached: 600, thoughts: 50, tool: 0, total: 1100 } },
    ]), // oxfmt-ignore
    [1, 1000, 100], // 400 × 1.25 + 600 × 0.125 + 100 × 10
    0.001575,
    1,
  ],
  [
    'Qwen Code',
    'QwenLM/qwen-code, packages/core/src/services/chatRecordingService.ts, 2026-11',
    lines([
      qwen('u', null, 'user', { message: { role: 'user', parts: [{ text: 'q' }] } }),
      qwen('a', 'u', 'assistant', { model: 'gemini-2.5-pro', message: { role: 'model', parts: [{ text: 'a' }] }, usageMetadata: { promptTokenCount: 1000, candidatesTokenCount: 50, thoughtsTokenCount: 50, cachedContentTokenCount: 600 } }),
    ]), // oxfmt-ignore
    [1, 1000, 100],
    0.001575,
    1,
  ],
  [
    'pi: a compaction with its own call, and an answer written again',
    'badlogic/pi-mono, packages/coding-agent/docs/session.md, 2026-11',
    lines([
      { type: 'session', version: 3, id: 'p', timestamp: time(0), cwd: '/w' },
      piEntry('1', null, 'message', { message: { role: 'user', content: 'q' } }),
      // 100 × 5 + 1000 × 0.5 + 200 × 6.25 + 50 × 25
      piEntry('2', '1', 'message', { message: { role: 'assistant', content: [{ type: 'text', text: 'a' }], model: 'claude-opus-4-8', usage: { ...piUsage, output: 1 } } }),
      piEntry('2', '1', 'message', { message: { role: 'assistant', content: [{ type: 'text', text: 'ab' }], model: 'claude-opus-4-8', usage: piUsage } }),
      piEntry('3', '2', 'compaction', { summary: 'short', firstKeptEntryId: '1', usage: { input: 1000, output: 10, cacheRead: 0, cacheWrite: 0 } }), // 5,000 + 250
    ]), // oxfmt-ignore
    [2, 2300, 60],
    0.0035 + 0.00525,
    1,
  ],
  [
    'GitHub Copilot CLI: a compaction that has a record, and one that has none',
    'github/copilot-sdk, session events, 2026-11',
    lines([
      copilot('1', null, 'session.start', { sessionId: 'x', copilotVersion: '1.0.102' }),
      copilot('2', '1', 'session.usage_record', { providerCallId: 'r1', usage: { model: 'gpt-5.5', inputTokens: 1000, cacheReadTokens: 400, cacheWriteTokens: 0, outputTokens: 100 } }),
      copilot('3', '2', 'session.compaction_complete', { requestId: 'r1', compactionTokensUsed: { model: 'gpt-5.5', inputTokens: 1000, cacheReadTokens: 400, cacheWriteTokens: 0, outputTokens: 100 } }),
      copilot('4', '3', 'session.compaction_complete', { requestId: 'r2', compactionTokensUsed: { input: 1000, cachedInput: 400, output: 100 } }),
    ]), // oxfmt-ignore
    [2, 2000, 200],
    2 * 0.0062,
    0,
  ],
  [
    'GitHub Copilot CLI: the totals of ends of the session, with a record of one of the calls and without, and another start',
    'files of version 1.0.102, 2026-11',
    lines([
      copilot('1', null, 'session.start', { sessionId: 'x', copilotVersion: '1.0.50' }),
      copilot('2', '1', 'session.shutdown', { sessionStartTime: 'a', modelMetrics: { 'gpt-5.5': { usage: { inputTokens: 1000, cacheReadTokens: 400, cacheWriteTokens: 0, outputTokens: 100 } } } }),
      copilot('3', '2', 'session.usage_record', { providerCallId: 'r1', usage: { model: 'gpt-5.5', inputTokens: 1000, cacheReadTokens: 400, cacheWriteTokens: 0, outputTokens: 100 } }),
      copilot('4', '3', 'session.shutdown', { accountingSnapshot: { sessionStartTime: 'a', modelMetrics: { 'gpt-5.5': { usage: { inputTokens: 2000, cacheReadTokens: 800, cacheWriteTokens: 0, outputTokens: 200 } } } } }),
      copilot('5', '4', 'session.shutdown', { sessionStartTime: 'b', modelMetrics: { 'gpt-5.5': { usage: { inputTokens: 2000, cacheReadTokens: 800, cacheWriteTokens: 0, outputTokens: 200 } } } }),
    ]), // oxfmt-ignore
    [3, 3000, 300],
    3 * 0.0062,
    0,
  ],
  [
    'Kimi Code: a turn, and the total of the session beside it',
    'MoonshotAI/kimi-code, packages/agent-core/src/agent, 2026-11',
    lines([
      { type: 'usage.record', time: ms(1), model: 'claude-opus-4-8', usage: { inputOther: 100, inputCacheRead: 1000, inputCacheCreation: 200, output: 50 }, usageScope: 'turn' },
      { type: 'usage.record', time: ms(1), model: 'claude-opus-4-8', usage: { inputOther: 100, inputCacheRead: 1000, inputCacheCreation: 200, output: 50 }, usageScope: 'session' },
    ]), // oxfmt-ignore
    [1, 1300, 50],
    0.0035,
    0,
  ],
  [
    'Goose: the total of the session',
    'block/goose, crates/goose/src/session/session_manager.rs, 2026-10',
    lines([
      { id: 'g', working_dir: '/w', message_count: 0, description: 'd', accumulated_input_tokens: 1000, accumulated_output_tokens: 100, model_config: { model_name: 'gpt-5.5' } },
    ]), // oxfmt-ignore
    [1, 1000, 100],
    0.008,
    0,
  ],
  [
    'Amp',
    'public readers of its threads, 2026-09',
    JSON.stringify({
      ...{ v: 1, id: 'T-1', created: ms(0) },
      messages: [
        { role: 'assistant', content: [{ type: 'text', text: 'a' }], usage: { model: 'claude-opus-4-8', inputTokens: 100, cacheReadInputTokens: 1000, cacheCreationInputTokens: 200, outputTokens: 50 } },
      ],
    }), // oxfmt-ignore
    [1, 1300, 50],
    0.0035,
    1,
  ],
  [
    'Cline',
    'cline/cline, src/core/storage/disk.ts, 2026-10',
    JSON.stringify([
      { role: 'user', content: 'q', ts: ms(0) },
      { role: 'assistant', content: 'a', ts: ms(1), modelInfo: { modelId: 'claude-opus-4-8' }, metrics: { tokens: { prompt: 100, completion: 50, cached: 1000 } } },
    ]), // oxfmt-ignore
    [1, 1100, 50], // 500 + 500 + 1,250
    0.00225,
    1,
  ],
]

const answersOf = (messages: readonly Message[]): number => {
  const keys = new Set<string | symbol>()
  for (const message of messages) {
    const found = callUsageOf(message)
    if (found !== undefined) keys.add(found.key ?? Symbol())
  }
  return keys.size
}

it.each(rows)('%s (%s)', (_, __, file, [calls, input, output], dollars, answers) => {
  const { messages, origin } = orThrow(readTranscript(file))
  const uses = summedCalls(origin)
  const sum = (of: (use: (typeof uses)[number]) => number): number => uses.reduce((total, use) => total + of(use), 0)
  const known = (model: string | undefined, usage: (typeof uses)[number]['usage'], count: number): number =>
    usage === undefined ? 0 : (usageDollars(model, usage, count) ?? 0)
  expect({
    tokens: [
      sum(({ calls = 0 }) => calls),
      sum(({ usage }) => usage?.input ?? 0),
      sum(({ usage }) => usage?.output ?? 0),
    ],
    dollars:
      Math.round(
        sum(({ model, usage, calls: count = 0, isLong }) => known(model, usage, isLong === true ? 1 : count)) * 1e6,
      ) / 1e6,
    days: uses.map((use) => use.day ?? day),
    answers: answersOf(messages),
  }).toEqual({
    tokens: [calls, input, output],
    dollars: Math.round(dollars * 1e6) / 1e6,
    days: uses.map(() => day),
    answers,
  })
})
