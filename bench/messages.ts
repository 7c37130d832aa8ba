/** The messages that are measured with: real ones where the machine has them, else the project's example, repeated. */
import { existsSync, readFileSync } from 'node:fs'
import { isLeft } from 'fp-ts/lib/Either.js'
import { type Message } from 'indelible'
import { readTranscript } from '@indelible/transcripts'

const read = (path: string, pick = 0): readonly Message[] => {
  const transcript = readTranscript(readFileSync(new URL(path, import.meta.url), 'utf8'), { pick })
  if (isLeft(transcript)) throw new Error(path)
  return transcript.right.messages
}

const shared = '../../shared/data/transcripts/'
const there = existsSync(new URL(shared, import.meta.url))

export const messages: readonly Message[] = there
  ? [
      ...Array.from({ length: 50 }, (_, pick) => read(`${shared}tau-airline-gpt-4o.openai-chat.json`, pick)).flat(),
      ...read(`${shared}coding-agent.pi-session.jsonl`),
    ]
  : read('../examples/coding-agent.json')

/** One long conversation. */
export const session: readonly Message[] = there ? read(`${shared}coding-agent.pi-session.jsonl`) : messages

export const source: string = there
  ? `${messages.length} real messages (tau-bench airline, pi coding session), in turn`
  : 'the example conversation, in turn'

/** The message at a position of a conversation of any length. */
export const messageAt = (position: number): Message => messages[position % messages.length] as Message
