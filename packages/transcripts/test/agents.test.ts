/** The sessions of agents whose readers share `entry-lines.ts`, and exports of chats: their messages, and nothing left out. */
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { settle } from 'indelible'
import { sourceTimeOf } from '@indelible/transcripts'
import { agentFiles, at, timestamp } from './agent-files.ts'
import { lines, outline, read, said } from './reading.ts'

const talk = ['user: Look.', 'assistant: I look. ▸ c1', 'tool: ◂ c1 a cat', 'assistant: A cat.']

it.each(Object.entries(agentFiles))(
  '%s: its messages, in order, calls and results paired, with times and tokens',
  (_name, one) => {
    const { format, file, asks = true, timed = true, used } = one
    const { messages, damage, losses, origin, format: found } = read(file)
    expect([found, damage, losses]).toEqual([format, [], []])
    const words = outline(messages).join('\n')
    const calls = words.includes('c1') ? talk.slice(1, 3) : []
    const whole = [...(asks ? talk.slice(0, 1) : []), ...calls, 'assistant: A cat.'].join('\n')
    expect(words.replace('I look.\nassistant: ', 'I look. ')).toBe(whole)
    expect(isRight(settle(messages))).toBe(true)
    expect(messages.map(sourceTimeOf)).toEqual(messages.map(() => (timed ? at : undefined)))
    expect(origin.usage).toEqual(used)
  },
)

it('formats that are trees name what is missing, and read a later version in its place', () => {
  const { file } = agentFiles['Qwen Code'] as (typeof agentFiles)[string]
  const [, , ...rest] = file.trimEnd().split('\n')
  expect(read(rest.slice(1).join('\n')).messages.length).toBe(2)
  const again = [...file.trimEnd().split('\n'), (file.split('\n')[1] ?? '').replace('Look.', 'Look!')].join('\n')
  const { messages, notes } = read(again)
  expect(outline(messages).slice(0, 2)).toEqual(['user: Look.', 'user: Look!'])
  expect(notes.find(({ note }) => note.type === 'retraction')?.note).toEqual({ type: 'retraction', from: 0, to: 1 })
})

it('a file with fields of a format, but without its reason, is in no format; the fault names the nearest', () => {
  const records = [
    [{ ts: 1, type: 'say', say: 'task', text: 'make it blue' }],
    [{ sessionId: 's', messageId: 0, type: 'user', message: 'hi', timestamp }],
    [{ type: 'module', path: 'a' }],
    [{ role: 'admin', name: 'x' }],
    [
      { type: 'user', name: 'x' },
      { type: 'group', name: 'y' },
    ],
  ]
  for (const list of records) expect(said(JSON.stringify(list))).toContain('not a conversation')
  expect(said(JSON.stringify([{ ts: 1, role: 'user', text: 'a' }]))).toContain(
    'nearest: cline, which also has "content"',
  )
  expect(said(lines([{ uuid: 'a', parentUuid: null, sessionId: 's', type: 'telemetry' }]))).toContain(
    'nearest: claude-code',
  )
})
