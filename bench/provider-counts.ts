/**
 * Replay against what providers counted: recorded sessions of pi, Claude Code and Codex hold the provider's own counts for
 * each call. At an unlimited budget the share that a cache could hold should be within 2 points of what was served from it,
 * and the growth of tokens from call to call within 10 %.
 *
 * `node provider-counts.ts`
 */
import { readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { createHistory, type Message } from 'indelible'
import { estimateTokens, type Estimator } from 'indelible/context'
import { replay } from '../packages/cli/src/compare/replay.ts'
import { machine } from './measure.ts'
import { countedIn, providerComparison, type ProviderCount } from './provider-comparison.ts'
import { claudeTokens, openaiTokens } from './provider-tokens.ts'
import { readTranscript } from '@indelible/transcripts'

const shared = '../../shared/data/transcripts/'

/** Codex writes its counts as events of their own: one after the items of each answer, some of them twice. */
const codexCounts = (
  path: URL,
  messages: readonly Message[],
): ((answer: Message, position: number) => ProviderCount | undefined) => {
  const counts: ProviderCount[] = []
  let total = -1
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line === '') continue
    const { payload } = JSON.parse(line) as {
      payload?: { type?: string; info?: Record<string, Record<string, number>> | null }
    }
    const info = payload?.type === 'token_count' ? payload.info : undefined
    const sum = info?.['total_token_usage']?.['input_tokens'] ?? total
    if (sum === total) continue
    total = sum
    const { input_tokens: input = 0, cached_input_tokens: cached = 0 } = info?.['last_token_usage'] ?? {}
    counts.push({ input, cached })
  }
  const answers = messages.flatMap(({ role }, position) => (role === 'assistant' ? [position] : []))
  if (answers.length !== counts.length) throw new Error(`${answers.length} answers and ${counts.length} counts`)
  return (_, position) => counts[answers.indexOf(position)]
}

const row = (file: string, estimator: string, estimate: Estimator): void => {
  const path = new URL(`${shared}${file}`, import.meta.url)
  const transcript = readTranscript(readFileSync(path))
  if (isLeft(transcript)) throw new Error(file)
  const { messages } = transcript.right
  const comparison = providerComparison(file.startsWith('codex') ? codexCounts(path, messages) : countedIn)
  replay(createHistory<Message>({ from: messages }).view(), { budget: 1e9, estimate, onAnswer: comparison.add })
  const provider = comparison.sum()
  if (provider === undefined) throw new Error(`${file} has no counts`)
  const { calls, served, misses, servedElse, cacheable, growth } = provider
  const percent = (share: number): string => `${(share * 100).toFixed(1)} %`
  console.log(
    `| ${file} | ${estimator} | ${calls} | ${percent(served)} | ${misses} | ${percent(servedElse)} | ${percent(cacheable)} | ${((cacheable - servedElse) * 100).toFixed(1)} points | ${((growth - 1) * 100).toFixed(1)} % |`,
  )
}

console.log(`${machine()}\n`)
console.log(
  '| file | tokens by | calls | served from cache | calls without | served, these left out | cacheable | error | error of growth |',
)
console.log('|---|---|---:|---:|---:|---:|---:|---:|---:|')
for (const [file, own, name] of [
  ['coding-agent.pi-session.jsonl', claudeTokens, 'claudeTokens'],
  ['claude-code-opus-4-5.jsonl', claudeTokens, 'claudeTokens'],
  ['codex-gpt-5-2.jsonl', openaiTokens, 'openaiTokens'],
] as const) {
  row(file, 'estimateTokens', estimateTokens)
  row(file, name, own)
}
