/** Every real file, read, and written in every format. */
import { readdirSync } from 'node:fs'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { allCodecs } from '@indelible/codecs'
import { decodeMessage, faultMessage, mend, settle, type Message, type Sequence, type Settled } from 'indelible'
import { exportLines, exportOf, readTranscript, type Transcript } from '@indelible/transcripts'
import { itShared, readShared, shared } from '../../../test/real-transcripts.ts'
import { oneIn } from '../../../test/rounds.ts'
import { read } from './reading.ts'
import type { Codec } from 'indelible/internal/codecs'

const all = Object.values(allCodecs) as readonly Codec<unknown>[]

/** Conversations of a file. */
const conversationsOf = (path: string): readonly Transcript[] => {
  const text = readShared(path)
  const first = read(text)
  const others = Array.from({ length: first.count - 1 }, (_, index) => index + 1)
  return [first, ...others.filter((pick) => pick % oneIn(6) === 0).map((pick) => read(text, { pick }))]
}

const encode = (codec: Codec<unknown>, messages: Sequence<Message>) => {
  const encoded = codec.encode(mend(messages).messages as Settled<Sequence<Message>>)
  if (isLeft(encoded)) throw new Error(`${codec.format}: ${faultMessage(encoded.left)}`)
  return encoded.right
}

/** Plain data of any size is compared as text, and value by value only where it differs. */
const expectSame = (found: unknown, expected: unknown): void => {
  if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected)
}

/** It is whole, can be a request in every format, and is the same again when it comes back from each. */
const holds = (transcript: Transcript): void => {
  expect([transcript.damage, transcript.losses]).toEqual([[], []])
  expect(transcript.messages.filter((message) => !isRight(decodeMessage(message)))).toEqual([])
  expect(isRight(settle(mend(transcript.messages).messages))).toBe(true)
  for (const codec of all) {
    const { wire } = encode(codec, transcript.messages)
    const back = codec.decode(JSON.parse(JSON.stringify(wire)))
    if (isLeft(back)) throw new Error(`${codec.format}: ${faultMessage(back.left)}`)
    expectSame(encode(codec, back.right.messages).wire, wire)
    // What has a sign of its format is found to be in it; what has none, like texts alone, is read with the same roles.
    const found = read(JSON.stringify(wire))
    if (found.format === codec.format) expectSame(found.messages, back.right.messages)
    else
      expect([found.format, found.messages.map(({ role }) => role)]).toEqual([
        codec.format === 'openai-agents' ? 'openai-responses' : 'openai-chat', // whose texts are written alike
        back.right.messages.map(({ role }) => role),
      ])
  }
  const exported = [...exportLines(exportOf(transcript))].join('')
  expect([...exportLines(exportOf(read(exported)))].join('')).toBe(exported)
}

describe('every real file converts to every format', () => {
  for (const name of [
    'coding-agent.pi-session.jsonl',
    'swe-function-calling-simple.swe-agent.json',
    'swe-marshmallow-function-calling.swe-agent.json',
    'swe-marshmallow-text.swe-agent.json',
    'tau-airline-gpt-4o.openai-chat.json',
  ])
    itShared(name, () => conversationsOf(`transcripts/${name}`).forEach(holds))

  for (const folder of ['anthropic-messages', 'openai-chat', 'openai-responses'])
    itShared(`wire/${folder}`, () => {
      let answers = 0
      for (const name of readdirSync(shared(`wire/${folder}`)).filter((name) => name.endsWith('.json'))) {
        const text = readShared(`wire/${folder}/${name}`)
        if (
          'error' in (JSON.parse(text) as object) &&
          (JSON.parse(text) as { readonly error: unknown }).error !== null
        ) {
          expect(readTranscript(text)).toMatchObject({ left: { _tag: 'UnknownFormat' } }) // a refusal to answer is no conversation
          continue
        }
        const transcript = read(text)
        expect([name, transcript.format, transcript.messages.length]).toEqual([
          name,
          folder === 'anthropic-messages' ? 'anthropic' : folder,
          1,
        ])
        expect(transcript.origin.models.length).toBe(1)
        holds(transcript)
        answers += 1
      }
      expect(answers).toBeGreaterThan(0)
    })
})

it('a body with an empty and a full list uses the full one', () => {
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] }]
  expect(read(JSON.stringify({ input: [], output, model: 'm' })).messages.length).toBe(1)
  expect(
    read(JSON.stringify({ output: [], input: [{ role: 'user', content: [{ type: 'input_text', text: 'a' }] }] }))
      .format,
  ).toBe('openai-responses')
  expect(read(JSON.stringify({ messages: [] }))).toMatchObject({ format: 'openai-chat', messages: [] })
})
