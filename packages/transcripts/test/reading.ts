/** What the tests of transcripts share: reading what must be read, and lines of values. */
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { faultMessage, textOf, type Message } from 'indelible'
import { type TranscriptOptions, readTranscript, type Transcript } from '@indelible/transcripts'

export const read = (input: string | Uint8Array, options: TranscriptOptions = {}): Transcript => {
  const answer = readTranscript(input, options)
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right
}

/** What the fault says. */
export const said = (input: string | Uint8Array, options: TranscriptOptions = {}): string => {
  const answer = readTranscript(input, options)
  if (isRight(answer)) throw new Error('expected a fault')
  return faultMessage(answer.left)
}

export const lines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

/** A conversation in one line a message: `user: hi`, `assistant: ▸ c1`, `tool: ◂ c1 found`. */
export const outline = (messages: readonly Message[]): readonly string[] =>
  messages.map((message) => {
    const calls = message.content.flatMap((part) =>
      part.type === 'tool_call'
        ? [`▸ ${part.id}`]
        : part.type === 'tool_result'
          ? [`◂ ${part.callId} ${textOf({ role: 'tool', content: part.content })}`]
          : part.type === 'provider'
            ? ['?']
            : [],
    )
    return `${message.role}: ${[message.role === 'tool' ? '' : textOf(message), ...calls].filter((text) => text !== '').join(' ')}`
  })
