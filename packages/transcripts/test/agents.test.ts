/** The sessions of agents whose readers share `entry-lines.ts`, and exports of chats: their messages, and nothing left out. */
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { memoryStore, orThrow, settle } from 'indelible'
import { importTranscript, sourceTimeOf } from '@indelible/transcripts'
import { agentFiles, at, timestamp } from './agent-files.ts'
import { lines, outline, read, said } from './reading.ts'

const talk = ['user: Look.', 'assistant: I look. ▸ c1', 'tool: ◂ c1 a cat', 'assistant: A cat.']

it.each(Object.entries(agentFiles))(
  '%s: its messages, in order, calls and results paired, with times and tokens',
  (_name, one) => {
    const { format, file, asks = true, timed = true, used, models } = one
    const { messages, damage, losses, origin, format: found } = read(file)
    expect([found, damage, losses]).toEqual([format, [], []])
    const words = outline(messages).join('\n')
    const calls = words.includes('c1') ? talk.slice(1, 3) : []
    const whole = [...(asks ? talk.slice(0, 1) : []), ...calls, 'assistant: A cat.'].join('\n')
    expect(words.replace('I look.\nassistant: ', 'I look. ')).toBe(whole)
    expect(isRight(settle(messages))).toBe(true)
    expect(messages.map(sourceTimeOf)).toEqual(messages.map(() => (timed ? at : undefined)))
    expect(origin.usage).toEqual(used)
    if (models !== undefined) expect(origin.models).toEqual(models)
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

it("Cline 3: a result of its tools is the text that the model is sent; a list without a session's fields is no session", () => {
  const content = [{ query: '/work/a', result: '1 | x', success: true }]
  const messages = [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content }], ts: at }]
  const file = { sessionId: 's1', agent: 'lead', messages }
  const [message] = read(JSON.stringify(file)).messages
  expect(message?.content).toMatchObject([{ callId: 'c1', content: [{ type: 'text', text: JSON.stringify(content) }] }])
})

it('Aider: headings and quotes of an answer are not of the user or of Aider, and what it says in several lines is whole', () => {
  const chat = [
    '# aider chat started at 2026-10-01 10:00:00\n',
    ['> aider --message One', '#### Two', 'Three  ', '> Aider v0.86.2  \n'].join('\n'),
    '#### Look.  \n#### Again.  \n',
    'A cat:\n\n> it says miaow\n\n#### Its colour\n\nBlack.\n',
    '> Tokens: 100 sent, 7 received.  ',
  ].join('\n')
  const { messages } = read(chat)
  expect(outline(messages)).toEqual([
    'user: Look.\nAgain.',
    'assistant: A cat:\n\n> it says miaow\n\n#### Its colour\n\nBlack.',
  ])
  expect(JSON.stringify(messages)).toContain('aider --message One\\n#### Two\\nThree\\nAider v0.86.2')
  // Without the two spaces, as an editor leaves it.
  const trimmed = chat.replaceAll(/ +$/gm, '').replace('One\n#### Two\nThree', 'One')
  expect(outline(read(trimmed).messages)[0]).toBe('user: Look.\nAgain.')
})

it('messages of a source without times get the time that is given', async () => {
  const store = memoryStore()
  const transcript = read((agentFiles['Kimi CLI'] as (typeof agentFiles)[string]).file)
  await importTranscript(store, transcript, { id: 's1', time: at })
  const rows = orThrow(await store.read('s1', { from: 0, to: 4 })())
  expect(rows.map((row) => row.at)).toEqual([at, at, at, at])
  expect(() => importTranscript(store, transcript, { time: 0.5 })).toThrow('time: expected milliseconds since 1970')
})

it('an item of a chat that can not be read is kept as it is, and the others are read', () => {
  const odd = { role: 'assistant', content: [{ type: 'tool_use', id: 7, name: 'look' }], ts: at }
  const task = read(
    JSON.stringify([{ role: 'user', content: 'Look.', ts: at }, odd, { role: 'user', content: 'Well?', ts: at }]),
  )
  expect(outline(task.messages)).toEqual(['user: Look.', 'assistant: ?', 'user: Well?'])
  expect(task.messages[1]?.content).toEqual([{ type: 'provider', provider: 'cline', raw: odd }])
  expect(task.losses).toMatchObject([{ path: [1], reason: expect.stringMatching(/: kept as it is$/) as string }])
  const thread = read(
    JSON.stringify({ v: 1, id: 'T-1', messages: [5, { role: 'user', content: [{ type: 'text', text: 'Look.' }] }] }),
  )
  expect(thread.messages[0]?.content).toEqual([{ type: 'provider', provider: 'amp', raw: 5 }])
  expect(thread.losses).toMatchObject([{ path: ['messages', 0] }])
})

it.each(['Droid', 'Qwen Code', 'Copilot CLI'])('%s: entries that name no parents follow each other', (name) => {
  const { file } = agentFiles[name] as (typeof agentFiles)[string]
  const whole = read(file).messages
  for (const row of file.trimEnd().split('\n').keys()) {
    if (row === 0) continue // it shows the format
    // The parent of one entry, or of all from it on, is under another name.
    for (const to of [row + 1, Infinity]) {
      const renamed = file
        .trimEnd()
        .split('\n')
        .map((line, at) => (at >= row && at < to ? line.replace(/"parent(?:Id|Uuid)"/, '"parent"') : line))
      expect(outline(read(renamed.join('\n')).messages)).toEqual(outline(whole))
    }
  }
})

it('ChatGPT: a node that names no parent follows the node that names it as a child', () => {
  const { file } = agentFiles['ChatGPT'] as (typeof agentFiles)[string]
  const [chat] = JSON.parse(file) as [{ mapping: { [id: string]: { parent?: string; children: string[] } } }]
  const whole = outline(read(file).messages)
  for (const id of Object.keys(chat.mapping)) {
    const { parent: _, ...node } = chat.mapping[id] as { parent?: string; children: string[] }
    const cut = { ...chat, mapping: { ...chat.mapping, [id]: node } }
    expect(outline(read(JSON.stringify([cut])).messages)).toEqual(whole)
  }
})

it('stream-json: a line of an answer that can not be read is damage by itself, and the other lines are read', () => {
  const line = (content: readonly object[]) => ({
    ...{ type: 'assistant', session_id: 's1', parent_tool_use_id: null },
    message: { id: 'm1', role: 'assistant', content },
  })
  const { messages, damage } = read(
    lines([
      line([{ type: 'text', text: 'I look.' }]),
      line([{ type: 'tool_use', id: 7 }]),
      line([{ type: 'text', text: 'A cat.' }]),
    ]),
  )
  expect(outline(messages)).toEqual(['assistant: I look.A cat.'])
  expect(damage.map((damage) => damage.line)).toEqual([2])
})

it('Aider: what it says may have more lines than a call has arguments', () => {
  const output = '> line\n'.repeat(200_000)
  const { messages } = read(`# aider chat started at 2026-10-01 10:00:00\n\n${output}\n#### Look.\n\nA cat.\n`)
  expect(outline(messages)).toEqual(['user: Look.', 'assistant: A cat.'])
  expect(JSON.stringify(messages).match(/line/g)).toHaveLength(200_000)
})
