import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { settle } from 'indelible'
import { sourceTimeOf } from '@indelible/transcripts'
import { lines, outline, read, said } from './reading.ts'

const header = {
  sessionId: 's1',
  projectHash: 'abc',
  startTime: '2026-02-10T17:00:00Z',
  lastUpdated: '2026-02-10T17:09:00Z',
}
const asks = (id: string, content: unknown) => ({ id, timestamp: '2026-02-10T17:01:00Z', type: 'user', content })
const call = (id: string, result: unknown, status = 'success') => ({
  id,
  name: 'look',
  args: { at: id },
  result,
  status,
})
const answered = (id: string, response: object) => [{ functionResponse: { id, name: 'look', response } }]
const answers = (id: string, content: string, more: object = {}) => ({
  id,
  timestamp: '2026-02-10T17:02:00Z',
  type: 'gemini',
  content,
  model: 'gemini-3-pro',
  tokens: { input: 100, output: 10, cached: 60, thoughts: 5, tool: 0, total: 115 },
  ...more,
})
const looks = answers('m2', 'I look.', {
  thoughts: [{ subject: 'Looking', description: 'hm', timestamp: 't' }],
  toolCalls: [call('c1', answered('c1', { output: 'a cat' })), call('c2', answered('c2', { error: 'no' }), 'error')],
})

describe('a Gemini CLI session', () => {
  it.each([
    ['a result has an id and its call none', undefined, 'x'],
    ['a call has an id and its result none', 'c1', undefined],
    ['neither has an id', undefined, undefined],
  ])('pairs calls and results by name and order if %s', (_case, id, answered) => {
    const calls = ['a', 'b'].map((at) => ({
      functionCall: { ...(id && { id: `${id}${at}` }), name: 'look', args: { at } },
    }))
    const results = ['a', 'b'].map((at) => ({
      functionResponse: { ...(answered && { id: `${answered}${at}` }), name: 'look', response: { output: at } },
    }))
    const { messages } = read(
      lines([header, asks('m1', 'Look.'), { ...answers('m2', ''), content: calls }, asks('m3', results)]),
    )
    const [first, second] = messages[1]?.content.flatMap((part) => (part.type === 'tool_call' ? [part.id] : [])) ?? []
    expect(outline(messages).slice(1)).toEqual([
      `assistant: ▸ ${first} ▸ ${second}`,
      `tool: ◂ ${first} a ◂ ${second} b`,
    ])
    expect(isRight(settle(messages))).toBe(true)
  })
  it("has each result's time: its call's, else its message's", () => {
    const toolCalls = [
      { ...call('c1', answered('c1', { output: 'x' })), timestamp: '2026-02-10T17:03:00.000Z' },
      call('c2', answered('c2', { output: 'y' })),
    ]
    const { messages } = read(lines([header, asks('m1', 'Look.'), answers('m2', 'I look.', { toolCalls })]))
    expect(messages.map((message) => new Date(sourceTimeOf(message) ?? NaN).toISOString().slice(11, 16))).toEqual([
      '17:01',
      '17:02',
      '17:03',
      '17:02',
    ])
  })

  const messages = [asks('m1', 'Look.'), looks, answers('m3', 'A cat.')]
  const outlined = [
    'user: Look.',
    'assistant: I look. ▸ c1 ▸ c2',
    'tool: ◂ c1 a cat',
    'tool: ◂ c2 no',
    'assistant: A cat.',
  ]

  it('continues after a list of all messages, with each result once', () => {
    const context = asks('m0', [{ text: '<session_context>' }])
    const response = answered('c1', { output: 'a cat' })
    const first = [
      header,
      { $set: { messages: [context] } },
      asks('m1', [{ text: 'Look.' }]),
      answers('m2', 'I look.', { toolCalls: [call('c1', response)] }),
      asks('m3', response),
      answers('m4', 'A cat.'),
    ]
    const output = [
      'user: <session_context>',
      'user: Look.',
      'assistant: I look. ▸ c1',
      'tool: ◂ c1 a cat',
      'assistant: A cat.',
    ]
    const fresh = read(lines(first))
    expect(outline(fresh.messages)).toEqual(output)
    expect(isRight(settle(fresh.messages))).toBe(true)
    // As version 0.61 writes it when it was resumed: the call among the parts, its result twice.
    const functionCall = { id: 'c1', name: 'look', args: { at: 'c1' } }
    const all = [
      context,
      asks('m1', [{ text: 'Look.' }]),
      answers('m2', '', { content: [{ text: 'I look.' }, { functionCall }] }),
      asks('m2_response', response),
      asks('m3', response),
      answers('m4', '', { content: [{ text: 'A cat.' }] }),
    ]
    const resumed = read(lines([...first, header, { $set: { messages: all } }, asks('m5', [{ text: 'And now?' }])]))
    expect(outline(resumed.messages)).toEqual([...output, 'user: And now?'])
    expect(isRight(settle(resumed.messages))).toBe(true)
  })

  it('has each call once, also if in parts and list, with its own result', () => {
    const responses = [...answered('c1', { output: 'a cat' }), ...answered('c2', { output: 'a dog' })]
    const part = (id: string) => ({ functionCall: { id, name: 'look', args: { at: id } } })
    const both = answers('m2', '', {
      content: [{ text: 'I look.' }, { ...part('c1'), thoughtSignature: 'c2ln' }, part('c2')],
      toolCalls: [call('c1', responses), call('c2', responses)],
    })
    const { messages, origin } = read(lines([header, { $set: { messages: [asks('m1', 'Look.'), both] } }]))
    expect(outline(messages)).toEqual([
      'user: Look.',
      'assistant: I look. ▸ c1 ▸ c2',
      'tool: ◂ c1 a cat',
      'tool: ◂ c2 a dog',
    ])
    expect(isRight(settle(messages))).toBe(true)
    expect(messages[1]?.content[1]?.meta).toEqual({ 'gemini-cli': { status: 'success', thoughtSignature: 'c2ln' } })
    expect(origin.aside).toMatchObject({
      'call that is told with its message': 2,
      'result that is told with its call': 2,
    })
    // Another call of the same name is none of those.
    const more = answers('m2', '', { content: [part('c3')], toolCalls: [call('c1', answered('c1', { output: 'x' }))] })
    expect(outline(read(lines([header, more])).messages)).toEqual(['assistant: ▸ c3 ▸ c1', 'tool: ◂ c1 x'])
  })

  it('is read from one object on one or more lines', () => {
    for (const space of [undefined, 2]) {
      const transcript = read(JSON.stringify({ ...header, summary: 'A look', messages }, undefined, space))
      expect(transcript.format).toBe('gemini-cli')
      expect(outline(transcript.messages)).toEqual(outlined)
      expect(isRight(settle(transcript.messages))).toBe(true)
      expect(transcript.messages[1]?.content[0]).toEqual({
        type: 'reasoning',
        text: 'hm',
        meta: { 'gemini-cli': { subject: 'Looking', timestamp: 't' } },
      })
      expect(transcript.messages[3]?.content[0]).toMatchObject({ type: 'tool_result', name: 'look', isError: true })
      expect(transcript.origin).toEqual({
        id: 's1',
        title: 'A look',
        started: '2026-02-10T17:00:00Z',
        ended: '2026-02-10T17:09:00Z',
        models: ['gemini-3-pro'],
        usage: { input: 200, output: 30, cacheRead: 120 },
        calls: [expect.objectContaining({ model: 'gemini-3-pro' }), expect.anything()],
        uses: [{ model: 'gemini-3-pro', day: '2026-02-10', calls: 2, input: 200, output: 30, cacheRead: 120 }],
        metadata: { projectHash: 'abc' },
        aside: {},
      })
    }
  })
  it("is read from lines: each message's last state without removed ones", () => {
    const transcript = read(
      lines([
        header,
        messages[0],
        { ...looks, toolCalls: [] },
        looks,
        { $set: { lastUpdated: '2026-02-10T17:10:00Z' } },
        answers('m3', 'A cat.'),
        asks('m4', 'No.'),
        answers('m5', 'Yes.'),
        { $rewindTo: 'm4' },
        { id: 'i1', timestamp: 't', type: 'info', content: 'Saved.' },
        { weather: 'fine' },
      ]),
    )
    expect(outline(transcript.messages)).toEqual(outlined)
    expect(transcript.notes.map(({ position, note }) => [position, note])).toMatchObject([
      [0, { content: { weather: 'fine' } }],
      [5, { type: 'application', namespace: 'gemini-cli', content: { type: 'info' } }],
    ])
    expect(transcript.origin.aside).toEqual({
      'earlier state of a message': 1,
      'earlier state of the header': 1,
      $set: 1,
      $rewindTo: 1,
      'message that was taken back': 2,
      'line of no kind': 1,
    })
    expect([transcript.damage, transcript.origin.ended]).toEqual([[], '2026-02-10T17:10:00Z'])
    expect(read(lines([header, ...messages, { $rewindTo: 'nobody' }])).messages).toEqual([])
  })
  it('reports an unreadable message and reads the others', () => {
    const { messages: found, damage } = read(lines([header, asks('m1', 7), asks('m2', 'Go on.')]))
    expect(outline(found)).toEqual(['user: Go on.'])
    expect(damage).toEqual([{ line: 2, reason: 'content should be an array, found 7' }])
    expect(said(lines([header, asks('m1', 7)]), { strict: true })).toBe(
      'line 2 content should be an array, found 7 (read as gemini-cli)',
    )
  })
})
