/** Derived contexts of all recorded conversations: every guarantee, and that a context is the same however it was come to. */
import { readdirSync } from 'node:fs'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { expect } from 'vitest'
import { createHistory, type Message, type View } from 'indelible'
import { readTranscript } from '@indelible/transcripts'
import { deriveContext, recall, type DerivedContext } from 'indelible/context'
import { isSpoken, isSubstantive } from '../../src/context/internal.ts'
import { itShared, shared, readShared } from '../real-transcripts.ts'
import { expectLawful } from './conversations.ts'
import { isFull } from '../rounds.ts'

const conversationsIn = (file: string): readonly View<Message>[] => {
  const views: View<Message>[] = []
  const bytes = readShared(`transcripts/${file}`)
  for (let pick = 0; pick < (file.startsWith('tau') ? (isFull ? 50 : 5) : 1); pick++) {
    const transcript = readTranscript(bytes, { pick })
    if (isLeft(transcript)) throw new Error(file)
    views.push(createHistory<Message>({ from: transcript.right.messages }).view())
  }
  return views
}

const isReadable = (context: DerivedContext, position: number): boolean => context.residency.at(position) !== 'pointer'

itShared('contexts of all recorded conversations keep every guarantee', () => {
  let [contexts, compactions] = [0, 0]
  for (const file of readdirSync(shared('transcripts')))
    for (const view of conversationsIn(file))
      for (const budget of isFull ? [4000, 8000, 16_000, 32_000] : [4000, 16_000]) {
        const messages = view.toArray()
        const first = messages.findIndex(isSpoken)
        const every = isFull ? 7 : Math.max(1, Math.ceil(view.length / 40))
        let previous: DerivedContext | undefined
        for (let length = 1; length < view.length; length++) {
          if (view.at(length)?.role !== 'assistant') continue
          const seen = view.slice(0, length)
          const derived = deriveContext(seen, { budget, previous })
          if (isLeft(derived)) throw new Error(`${file} at ${length}`)
          const context = derived.right
          contexts += 1
          const where = `${file} at ${length} with ${budget}`
          if (
            previous?.epoch === context.epoch &&
            view.at(length - 1)?.role !== 'assistant' &&
            view.at(previous.length - 1)?.role !== 'assistant'
          )
            expect(context.stablePrefix, where).toBe(previous.messages.length)
          else compactions += 1
          if (first >= 0 && first < length) expect(isReadable(context, first), where).toBe(true)
          if (length % every === 0) {
            expectLawful(context, seen)
            const now = messages.slice(0, length)
            for (const asked of [now.findLastIndex(isSpoken), now.findLastIndex(isSubstantive)])
              if (asked >= 0) expect(isReadable(context, asked), where).toBe(true)
            const anew = deriveContext(seen, { budget })
            expect(isRight(anew) && anew.right.digest, where).toBe(context.digest)
            for (const { from } of context.dropped) expect(isRight(recall(seen, { position: from })), where).toBe(true)
          }
          previous = context
        }
      }
  expect(contexts).toBeGreaterThan(1000)
  expect(compactions).toBeGreaterThan(200)
})
