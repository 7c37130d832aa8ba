/** A replay against what providers counted, and the estimators that are fitted to their counts. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, user, type Message, type View } from 'indelible'
import { estimateTokens, type Estimator } from 'indelible/context'
import { replay } from '../../packages/cli/src/compare/replay.ts'
import {
  countedIn,
  providerComparison,
  type AgainstProvider,
  type ProviderCount,
} from '../../bench/provider-comparison.ts'
import { claudeTokens, openaiTokens } from '../../bench/provider-tokens.ts'
import { isFull } from '../rounds.ts'
import { itShared, readShared } from '../real-transcripts.ts'
import { readTranscript } from '@indelible/transcripts'

const against = (
  record: View<Message>,
  countOf: (answer: Message, position: number) => ProviderCount | undefined,
  estimate: Estimator = estimateTokens,
): AgainstProvider | undefined => {
  const comparison = providerComparison(countOf)
  replay(record, { budget: 1e9, estimate, onAnswer: comparison.add })
  return comparison.sum()
}

const assistantText = (text: string): Message => assistant(text)
const conversation = [
  user('one two'),
  assistantText('three'),
  user('four five'),
  assistantText('six'),
  user('seven'),
  assistantText('eight'),
]
const view = createHistory<Message>({ from: conversation }).view()
const upTo = (length: number): number =>
  conversation.slice(0, length).reduce((sum, message) => sum + estimateTokens(message), 0)

describe('a replay against provider counts', () => {
  it('is exact where the provider counts the same, including tokens outside the record', () => {
    const beside = 100
    const provider = against(view, (_, position) => ({
      input: upTo(position) + beside,
      cached: position === 1 ? 0 : upTo(position - 2) + beside,
    }))
    expect(provider).toMatchObject({ calls: 3, misses: 0, growth: 1 })
    expect(provider?.cacheable).toBeCloseTo(provider?.served ?? 0, 12)
    expect(provider?.servedElse).toBe(provider?.served)
  })
  it('reports extra growth at the provider and calls without cache hits', () => {
    const provider = against(view, (_, position) =>
      position === 3
        ? { input: 2 * upTo(3), cached: 0 }
        : { input: 2 * upTo(position), cached: position === 1 ? 0 : upTo(3) },
    )
    expect(provider).toMatchObject({ calls: 3, misses: 1, growth: 0.5 })
    expect(provider?.served).toBeCloseTo(upTo(3) / (2 * (upTo(1) + upTo(3) + upTo(5))), 12)
    expect(provider?.servedElse).toBeCloseTo(upTo(3) / (2 * (upTo(1) + upTo(5))), 12)
  })
  it('is undefined without counts and skips calls without one', () => {
    expect(against(view, () => undefined)).toBe(undefined)
    expect(against(view, countedIn)).toBe(undefined)
    expect(against(view, (_, at) => ({ input: at === 1 ? 9 : 0, cached: 0 }))).toMatchObject({ calls: 1, growth: 1 })
  })
})

describe('counts and estimates of recorded sessions', () => {
  itShared.each(['coding-agent.pi-session.jsonl', 'claude-code-opus-4-5.jsonl'])(
    '%s: within 2 points of what was served from cache, growth within 10 %',
    (file) => {
      const transcript = readTranscript(readShared(`transcripts/${file}`))
      if (isLeft(transcript)) throw new Error(file)
      const whole = createHistory<Message>({ from: transcript.right.messages }).view()
      const record = isFull ? whole : whole.slice(0, 500)
      const provider = against(record, countedIn, claudeTokens)
      expect(Math.abs((provider?.cacheable ?? 0) - (provider?.servedElse ?? 1))).toBeLessThan(0.02)
      expect(Math.abs((provider?.growth ?? 0) - 1)).toBeLessThan(0.1)
    },
  )
  it('encrypted reasoning counts instead of its summary', () => {
    const plain = assistant('done')
    const thought: Message = {
      ...plain,
      content: [{ type: 'reasoning', text: '', summary: ['about it'], encrypted: 'x'.repeat(950) }, ...plain.content],
    }
    expect(openaiTokens(plain)).toBe(estimateTokens(plain))
    expect(openaiTokens(thought)).toBe(estimateTokens(plain) + 100)
    expect(claudeTokens(thought)).toBe(claudeTokens(plain))
  })
})
