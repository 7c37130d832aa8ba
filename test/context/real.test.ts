/** Derived contexts of real conversations: a coding session of 914 messages, 50 customer-service runs. */
import { isLeft } from 'fp-ts/lib/Either.js'
import { createHistory, readTranscript, type Message, type View } from 'indelible'
import { deriveContext, paged, window, type DerivedContext } from 'indelible/context'
import { itShared, readShared } from '../shared.ts'
import { expectLawful } from './conversations.ts'

const session = (path: string, pick = 0): View<Message> => {
  const transcript = readTranscript(readShared(path), { pick })
  if (isLeft(transcript)) throw new Error(path)
  return createHistory<Message>({ from: transcript.right.messages }).view()
}

itShared('a context before each answer of a long coding session keeps every law', () => {
  const view = session('transcripts/coding-agent.pi-session.jsonl')
  for (const policy of [paged, window]) {
    let previous: DerivedContext | undefined
    for (let position = 1; position < view.length; position += 1) {
      if (view.at(position)?.role !== 'assistant') continue
      const derived = deriveContext(view.slice(0, position), { budget: 16_000, policy, previous })
      if (isLeft(derived)) throw new Error(`at ${position}`)
      if (position % 40 === 0) expectLawful(derived.right, view.slice(0, position))
      previous = derived.right
    }
  }
})
