/** The cost of calls as hosts name them and serve them, with sums computed by hand from each source's list prices. */
import { expect, it } from 'vitest'
import { pricesOf } from 'indelible/context'
import { usageDollars } from '../../src/prices/internal.ts'

const million = 1_000_000
const usage = { input: million, output: million }

it.each<
  readonly [program: string, model: string, usage: Parameters<typeof usageDollars>[1], dollars: number | undefined]
>([
  // platform.claude.com, Claude Opus 5 (2026-11-28): input 5, output 25, 5m write 6.25, 1h write 10, cache read 0.50
  ['Claude Code', 'claude-opus-5', usage, 30],
  ['Claude Code', 'claude-opus-5[1m]', usage, 30],
  ['Claude Code, five minutes', 'claude-opus-5', { input: million, output: 0, cacheWrite: million }, 6.25],
  [
    'Claude Code, one hour',
    'claude-opus-5',
    { input: million, output: 0, cacheWrite: million, cacheWriteHour: million },
    10,
  ],
  [
    'Claude Code, both',
    'claude-opus-5',
    { input: 3 * million, output: 0, cacheRead: million, cacheWrite: 2 * million, cacheWriteHour: million },
    0.5 + 6.25 + 10,
  ],
  // vercel.com/ai-gateway/models/claude-opus-5-fast (2026-11-28): input 10, output 50
  ['Claude Code, fast mode', 'claude-opus-5 (fast)', usage, 60],
  ['OpenRouter', 'anthropic/claude-opus-5-fast-20260723', usage, 60],
  ['Claude Code, fast mode of another model', 'claude-opus-5-5 (fast)', usage, undefined],
  // platform.claude.com, Batch API (2026-11-28): half of input and output
  ['Anthropic, batch', 'claude-opus-5 (batch)', usage, 15],
  ['Bedrock', 'us.anthropic.claude-opus-4-5-20251101-v1:0', usage, 30],
  [
    'Bedrock',
    'arn:aws:bedrock:us-east-1:1:inference-profile/global.anthropic.claude-opus-4-5-20251101-v1:0',
    usage,
    30,
  ],
  ['Vertex AI', 'claude-opus-4-5@20251101', usage, 30],
  ['Vertex AI', 'publishers/anthropic/models/claude-opus-4-5', usage, 30],
  ['OpenRouter', 'anthropic/claude-opus-4.5', usage, 30],
  ['OpenRouter', 'openrouter/anthropic/claude-opus-4.5:nitro', usage, 30],
  ['OpenRouter, free', 'anthropic/claude-opus-4.5:free', usage, undefined],
  // GitHub's table at 024f6b0: GPT-5.6 Sol 5 / 30 / 0.5, cache writes 6.25
  ['Codex, cache writes', 'gpt-5.6-sol', { input: 200_000, output: 0, cacheWrite: 200_000 }, 1.25],
  // OpenAI, GPT-5 (2026-11-27): 1.25 / 10; flex and batch are half of it
  ['OpenAI, flex', 'gpt-5 (flex)', usage, 5.625],
  ['OpenAI, priority', 'gpt-5 (priority)', usage, undefined],
  ['an unknown model', 'claude-opus-9', usage, undefined],
])('%s: %s', (_, model, used, dollars) => {
  const found = usageDollars(model, used)
  if (dollars === undefined) expect(found).toBeUndefined()
  else expect(found).toBeCloseTo(dollars, 9)
})

it('plain names keep the entries of the table', () => {
  expect(pricesOf('anthropic/claude-opus-4.5')).toBe(pricesOf('claude-opus-4-5'))
})
