/** Whole sessions that agents left behind: nothing of them is lost. */
import { isRight } from 'fp-ts/lib/Either.js'
import { expect } from 'vitest'
import { mend, settle } from 'indelible'
import { itShared, readShared } from '../../../test/real-transcripts.ts'
import { sourceTimeOf, type Transcript } from '@indelible/transcripts'
import { callUsageOf } from '@indelible/transcripts/internal'
import { isFull } from '../../../test/rounds.ts'
import { read } from './reading.ts'

const readAlready = new Map<string, readonly Transcript[]>()
/** Every conversation of a file, read once. */
const all = (name: string): readonly Transcript[] => {
  const found = readAlready.get(name)
  if (found !== undefined) return found
  const text = readShared(`transcripts/${name}`)
  const first = read(text)
  const transcripts = Array.from({ length: first.count }, (_, pick) => (pick === 0 ? first : read(text, { pick })))
  readAlready.set(name, transcripts)
  return transcripts
}

const count = ({ messages }: Transcript, type: string): number =>
  messages.flatMap(({ content }) => content).filter((part) => part.type === type).length

const sound = (transcript: Transcript): void => {
  expect([transcript.damage, transcript.losses]).toEqual([[], []])
  expect(isRight(settle(mend(transcript.messages).messages))).toBe(true)
  const times = transcript.messages.map(sourceTimeOf)
  expect(times.filter((time) => time === undefined).length).toBe(times[0] === undefined ? times.length : 0)
}

itShared('Claude Code 2.1.34: 133 calls, and the tokens that the provider counted', () => {
  const [session] = all('claude-code-opus-4-5.jsonl') as [Transcript]
  sound(session)
  expect([count(session, 'tool_call'), count(session, 'tool_result')]).toEqual([133, 133])
  expect(session.messages.filter(({ role }) => role === 'assistant').length).toBe(132)
  expect(session.origin.usage).toMatchObject({ input: 9_744_096, cacheRead: 9_635_762 })
})

itShared('Codex 0.98.0: 101 calls', () => {
  const [session] = all('codex-gpt-5-2.jsonl') as [Transcript]
  sound(session)
  expect([count(session, 'tool_call'), count(session, 'tool_result')]).toEqual([101, 101])
  // The last total of the file says the same.
  expect(session.origin.usage).toEqual({ input: 5_151_401, output: 28_591, cacheRead: 4_928_768 })
})

itShared('Gemini CLI: 39 calls', () => {
  const [session] = all('gemini-cli-3-pro-preview.json') as [Transcript]
  sound(session)
  expect([session.messages.length, count(session, 'tool_call'), count(session, 'tool_result')]).toEqual([63, 39, 39])
})

itShared('opencode: every part of every session', () => {
  for (const [name, sessions, calls, texts] of [
    ['opencode-gpt-5-2-codex.jsonl', 7, 150, 39] as const,
    ...(isFull ? [['opencode-claude-opus-4-6.jsonl', 10, 200, 53] as const] : []),
  ]) {
    const found = all(name)
    found.forEach(sound)
    const sum = (type: string) => found.reduce((total, session) => total + count(session, type), 0)
    expect([found.length, sum('tool_call'), sum('text')]).toEqual([sessions, calls, texts])
  }
})

itShared('Cursor: a message a line', () => {
  for (const [name, length] of [
    ['cursor-composer-1-5.jsonl', 17],
    ['cursor-opus-4-6.jsonl', 79],
  ] as const) {
    const [session] = all(name) as [Transcript]
    sound(session)
    expect(session.messages.length).toBe(length)
  }
})

itShared('the tokens of single calls add up to what each file counts', () => {
  for (const name of [
    'claude-code-opus-4-5.jsonl',
    'coding-agent.pi-session.jsonl',
    'gemini-cli-3-pro-preview.json',
    'opencode-gpt-5-2-codex.jsonl',
    ...(isFull ? ['opencode-claude-opus-4-6.jsonl'] : []),
  ])
    for (const { messages, origin } of all(name)) {
      const sum = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }
      for (const message of messages) {
        const usage = callUsageOf(message)?.usage
        for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += usage?.[key] ?? 0
      }
      const { input = 0, output = 0, cacheRead = 0, cacheWrite = 0 } = origin.usage ?? {}
      expect([name, sum]).toEqual([name, { input, output, cacheRead, cacheWrite }])
    }
})
