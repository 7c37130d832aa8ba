/** Derived contexts of real conversations: a coding session of 914 messages, 50 customer-service runs. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { expect } from 'vitest'
import { createHistory, type Message, type View } from 'indelible'
import { readTranscript } from '@indelible/transcripts'
import { deriveContext, paged, replay, window, type DerivedContext, type Replay } from 'indelible/context'
import { itShared, readShared } from '../real-transcripts.ts'
import { expectLawful } from './conversations.ts'
import { isFull, oneIn } from '../rounds.ts'

const session = (path: string, pick = 0): View<Message> => {
  const transcript = readTranscript(readShared(path), { pick })
  if (isLeft(transcript)) throw new Error(path)
  return createHistory<Message>({ from: transcript.right.messages }).view()
}

itShared('a compaction of a long coding session leaves at least 45 % of the budget, and keeps every law', () => {
  const view = session('transcripts/coding-agent.pi-session.jsonl')
  for (const budget of isFull ? [8000, 16_000] : [16_000]) {
    let previous: DerivedContext | undefined
    for (let position = 1; position < view.length; position += 1) {
      if (view.at(position)?.role !== 'assistant') continue
      const derived = deriveContext(view.slice(0, position), { budget, previous })
      if (isLeft(derived)) throw new Error(`at ${position}`)
      if (derived.right.epoch > 0)
        expect([budget, position, derived.right.tokens >= 0.45 * budget]).toEqual([budget, position, true])
      if (budget === 16_000 && position % 40 === 0) expectLawful(derived.right, view.slice(0, position))
      previous = derived.right
    }
  }
})

itShared('a window on a long coding session keeps every law', () => {
  const view = session('transcripts/coding-agent.pi-session.jsonl')
  let previous: DerivedContext | undefined
  for (let position = 40; position < view.length; position += 40) {
    const seen = view.slice(0, position)
    const derived = deriveContext(seen, { budget: 16_000, policy: window, previous })
    if (isLeft(derived)) throw new Error(`at ${position}`)
    expectLawful(derived.right, seen)
    previous = derived.right
  }
})

const isFaultless = ({ faults }: Replay): boolean => Object.values(faults).every((count) => count === 0)

itShared('paged on a long coding session: no faults, and what a prompt cache holds', () => {
  const view = session('transcripts/coding-agent.pi-session.jsonl')
  const at32 = replay(view, { budget: 32_000 })
  expect(at32).toMatchObject({ calls: 453, unfit: 0 })
  expect(isFaultless(at32)).toBe(true)
  expect(at32.cacheable).toBeGreaterThanOrEqual(0.965)
  const [early, share] = isFull ? [view, 0.125] : [view.slice(0, 300), 0.14]
  expect(replay(early, { budget: 32_000 }).cost).toBeLessThanOrEqual(
    share * replay(early, { budget: 32_000, policy: window }).cost,
  )
  expect(at32.rereads).toBeLessThanOrEqual(8)
  const cheaper = replay(view, { budget: 32_000, policy: paged({ lowWater: 0.25 }) })
  expect(isFaultless(cheaper)).toBe(true)
  expect(cheaper.cost).toBeLessThanOrEqual(0.8 * at32.cost)
  expect(cheaper.rereads).toBeLessThanOrEqual(8)
  if (!isFull) return
  const at16 = replay(view, { budget: 16_000 })
  expect(at16).toMatchObject({ calls: 453, unfit: 0 })
  expect(isFaultless(at16)).toBe(true)
  expect(at16.cacheable).toBeGreaterThanOrEqual(0.935)
  expect(at16.rereads).toBeLessThanOrEqual(9)
})

itShared(
  'no faults in runs of the customer-service file (all of them at full size), with any policy, at any budget',
  () => {
    for (let pick = 0; pick < 50; pick += oneIn(12)) {
      const view = session('transcripts/tau-airline-gpt-4o.openai-chat.json', pick)
      for (const budget of isFull || pick > 0 ? [600, 1000, 2000, 4000] : [600, 4000])
        for (const policy of [paged(), window])
          expect([pick, budget, policy.name, isFaultless(replay(view, { budget, policy }))]).toEqual([
            pick,
            budget,
            policy.name,
            true,
          ])
    }
  },
)

itShared.each(['function-calling-simple', 'marshmallow-function-calling', 'marshmallow-text'])(
  'no faults in the SWE-agent run %s',
  (name) => {
    const view = session(`transcripts/swe-${name}.swe-agent.json`)
    for (const budget of [1000, 2000, 4000, 8000, 16_000])
      for (const policy of [paged(), window])
        expect([budget, policy.name, isFaultless(replay(view, { budget, policy }))]).toEqual([
          budget,
          policy.name,
          true,
        ])
  },
)
