/** A replay against what providers counted, and the estimators that are fitted to their counts. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { assistant, createHistory, user, type Message } from 'indelible'
import { claudeTokens, countedIn, estimateTokens, openaiTokens, replay } from 'indelible/context'
import { itShared, readShared } from '../shared.ts'
import { readTranscript } from '@indelible/transcripts'

const said = (text: string): Message => assistant(text)
const conversation = [user('one two'), said('three'), user('four five'), said('six'), user('seven'), said('eight')]
const view = createHistory<Message>({ from: conversation }).view()
const upTo = (length: number): number =>
  conversation.slice(0, length).reduce((sum, message) => sum + estimateTokens(message), 0)

describe('a replay against counts', () => {
  it('is exact where the provider counts the same, with what is not in the record', () => {
    const beside = 100
    const { provider } = replay(view, {
      budget: 1e9,
      counted: (_, position) => ({
        input: upTo(position) + beside,
        cached: position === 1 ? 0 : upTo(position - 2) + beside,
      }),
    })
    expect(provider).toMatchObject({ calls: 3, misses: 0, growth: 1 })
    expect(provider?.cacheable).toBeCloseTo(provider?.served ?? 0, 12)
    expect(provider?.servedElse).toBe(provider?.served)
  })
  it('says what the provider grows more, and where its cache served nothing', () => {
    const { provider } = replay(view, {
      budget: 1e9,
      counted: (_, position) =>
        position === 3
          ? { input: 2 * upTo(3), cached: 0 }
          : { input: 2 * upTo(position), cached: position === 1 ? 0 : upTo(3) },
    })
    expect(provider).toMatchObject({ calls: 3, misses: 1, growth: 0.5 })
    expect(provider?.served).toBeCloseTo(upTo(3) / (2 * (upTo(1) + upTo(3) + upTo(5))), 12)
    expect(provider?.servedElse).toBeCloseTo(upTo(3) / (2 * (upTo(1) + upTo(5))), 12)
  })
  it('is nothing without counts, and leaves calls without one out', () => {
    expect(replay(view, { budget: 1e9 }).provider).toBe(undefined)
    expect(replay(view, { budget: 1e9, counted: countedIn }).provider).toBe(undefined)
    expect(
      replay(view, { budget: 1e9, counted: (_, at) => ({ input: at === 1 ? 9 : 0, cached: 0 }) }).provider,
    ).toMatchObject({ calls: 1, growth: 1 })
  })
})

describe('counts and estimates of recorded sessions', () => {
  itShared.each(['coding-agent.pi-session.jsonl', 'claude-code-opus-4-5.jsonl'])(
    '%s: within 2 points of what was served from cache, growth within 10 %',
    (file) => {
      const transcript = readTranscript(readShared(`transcripts/${file}`))
      if (isLeft(transcript)) throw new Error(file)
      const record = createHistory<Message>({ from: transcript.right.messages }).view()
      const { provider } = replay(record, {
        budget: 1e9,
        estimate: claudeTokens,
        counted: countedIn,
      })
      expect(Math.abs((provider?.cacheable ?? 0) - (provider?.servedElse ?? 1))).toBeLessThan(0.02)
      expect(Math.abs((provider?.growth ?? 0) - 1)).toBeLessThan(0.1)
    },
  )
  it('encrypted reasoning counts in place of its summary', () => {
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
