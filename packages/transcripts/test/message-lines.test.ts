/** Messages one a line, and conversations one a line. */
import { isLeft } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readTranscriptStream, readTranscript } from '@indelible/transcripts'
import { assembleTranscript } from '../src/internal.ts'
import { allCodecs } from '@indelible/codecs'
import { faultMessage, mend, type Message, type Sequence, type Settled } from 'indelible'
import { itShared, readShared } from '../../../test/real-transcripts.ts'
import { conversation } from '../../../test/messages.ts'
import { lines, outline, read, said } from './reading.ts'
import { rounds } from '../../../test/rounds.ts'
import type { Codec } from 'indelible/internal/codecs'

const wireOf = (format: string, messages: Sequence<Message>): readonly object[] => {
  const encoded = (allCodecs as unknown as { readonly [format: string]: Codec<unknown> })[format]?.encode(
    mend(messages).messages as Settled<Sequence<Message>>,
  )
  if (encoded === undefined || isLeft(encoded)) throw new Error(`not written as ${format}`)
  const { wire } = encoded.right
  return (Array.isArray(wire) ? wire : (wire as { readonly messages: readonly object[] }).messages) as readonly object[]
}

const legacy = [
  { role: 'user', content: 'go' },
  ...['f', 'g'].flatMap((name) => [
    { role: 'assistant', content: null, function_call: { name, arguments: '{}' } },
    { role: 'function', name, content: 'done' },
  ]),
]
const approvals = [
  { role: 'user', content: 'go' },
  {
    role: 'assistant',
    content: [
      { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: {} },
      { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'c1' },
    ],
  },
  { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'a1', approved: true }] },
  {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'f', output: { type: 'text', value: 'x' } }],
  },
  { role: 'assistant', content: 'done' },
]

describe('messages, one per line', () => {
  it.each<readonly [string, readonly object[]]>([
    ...['openai-chat', 'anthropic', 'ai-sdk', 'ai-sdk-ui'].map(
      (format) => [format, wireOf(format, conversation())] as const,
    ),
    ['openai-chat', legacy],
    ['ai-sdk', approvals],
    [
      'openai-chat',
      [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'ho' },
      ],
    ],
  ])('read as in an array: %s', (format, wire) => {
    const { count, damage, ...transcript } = read(lines(wire))
    expect([transcript.format, count, damage]).toEqual([format, 1, []])
    expect(transcript.messages).toEqual(read(JSON.stringify(wire)).messages)
  })
  it('are a conversation even if there is one', () => {
    expect(outline(read('{"role":"user","content":"hi"}').messages)).toEqual(['user: hi'])
    expect(read('{"role":"user","content":"hi"}\n').format).toBe('openai-chat')
    expect(read('{\n"role":"user","content":"hi"}\n', {}).messages).toHaveLength(1)
  })
  it('have the format of the first sign, which may follow plain texts', () => {
    const texts = Array.from({ length: 60 }, (_, index) => ({
      role: index % 2 === 0 ? 'user' : 'assistant',
      content: `${index}`,
    }))
    const signed = lines([
      ...texts,
      { role: 'user', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral' } }] },
    ])
    expect(read(signed)).toMatchObject({ format: 'anthropic', damage: [] })
    expect(read(signed).messages).toHaveLength(61)
    // Behind more lines than are looked at, what does not belong is damage.
    const late = read(lines([...texts, ...texts, { role: 'assistant', content: 7 }]))
    expect([late.format, late.messages.length, late.damage.map(({ line }) => line)]).toEqual([
      'openai-chat',
      120,
      [121],
    ])
  })
  it('are damage at their line if unreadable, and the others are read', () => {
    const torn = [
      ...legacy.slice(0, 3).map((message) => JSON.stringify(message)),
      '{"role":"user","con',
      '',
      '{"role":"king","content":"x"}',
      '{"event":"start"}',
      '{"role":"user","content":7}',
      ...legacy.slice(3).map((message) => JSON.stringify(message)),
    ]
    const { messages, damage } = read(torn.join('\n'))
    expect(messages).toEqual(read(JSON.stringify(legacy)).messages)
    expect(damage).toEqual([
      { line: 4, reason: 'is cut off' },
      { line: 6, reason: 'role should be one of system, developer, user, assistant, tool, function, found "king"' },
      { line: 7, reason: 'role should be one of system, developer, user, assistant, tool, function, found nothing' },
      { line: 8, reason: 'content should be a string, null or an array of parts, found 7' },
    ])
    expect(said(torn.join('\n'), { strict: true })).toBe('line 4 is cut off (read as openai-chat)')
    const first = read(['{"role":"system","con', ...legacy.map((message) => JSON.stringify(message))].join('\n'))
    expect([first.messages.length, first.damage]).toEqual([5, [{ line: 1, reason: 'is cut off' }]])
    const group = read(lines([...approvals.slice(0, 3), { role: 'tool', content: 7 }, ...approvals.slice(3)]))
    expect([group.messages.length, group.damage.map(({ line }) => line)]).toEqual([
      read(JSON.stringify(approvals)).messages.length,
      [4],
    ])
  })
  it('are reported with their line if values are lost', () => {
    expect(
      read('{"role":"user","content":"a"}\n{"role":"user","content":"b","at":12345678901234567890}').losses,
    ).toEqual([{ line: 2, path: ['at'], reason: 'is 12345678901234567890: read as 12345678901234567000' }])
  })
  it('are not detected if only some lines have a role', () => {
    expect(said('{"a":1,"b":2}\n{"role":"user","content":"x"}\n{"a":3}')).toContain(
      'this is JSON lines that begin with an object with "a", "b", not a conversation',
    )
    expect(said('{"role":"admin","content":"x"}\n{"role":"guest","content":"x"}')).toContain('not a conversation')
    expect(said('{"role":"user","name":"ada"}\n{"role":"user","name":"bob"}')).toContain('not a conversation; expected')
    expect(
      said(
        '{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}\n{"type":"function_call","call_id":"c","name":"f","arguments":""}',
      ),
    ).toContain('not a conversation')
    // A request in lines for people, broken, stays one value that is broken.
    expect(said('{"messages": [\n{"role":"user","content":"hi"}\n], oops')).toMatch(/^line 3, column 4: not JSON/)
    expect(
      said('[\n{"role":"user","content":"hi"}\n{"role":"user","content":"hi"}\n{"role":"user","content":"hi"}]'),
    ).toMatch(/^line 3, column 1: not JSON/)
  })
  itShared('of a real conversation are what they are in its array', () => {
    const runs = JSON.parse(readShared('transcripts/tau-airline-gpt-4o.openai-chat.json')) as readonly {
      readonly traj: readonly object[]
    }[]
    for (const { traj } of runs.slice(0, 10))
      expect(read(lines(traj)).messages).toEqual(read(JSON.stringify(traj)).messages)
  })
})

const talk = (...texts: readonly string[]): object => ({
  messages: texts.map((content, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content })),
})
const tuning = [
  talk('a', 'b'),
  { ...talk('c', 'd', 'e'), tools: [{ type: 'function', function: { name: 'f' } }] },
  talk('f'),
]

describe('conversations, one per line', () => {
  it("are several in one file; one is picked, with its line's other fields", () => {
    expect(read(lines(tuning))).toMatchObject({
      format: 'openai-chat',
      count: 3,
      pick: 0,
      damage: [],
      origin: { metadata: {} },
    })
    const second = read(lines(tuning), { pick: 1 })
    expect([outline(second.messages), second.pick]).toEqual([['user: c', 'assistant: d', 'user: e'], 1])
    expect(second.origin.metadata).toEqual({ tools: [{ type: 'function', function: { name: 'f' } }] })
    expect(read(lines(tuning), { pick: 2 }).origin).toEqual({ models: [], metadata: {}, aside: {} })
    expect(said(lines(tuning), { pick: 3 })).toBe('there is no conversation 3; the file has 3, numbered from 0')
  })
  it('are a plain body if there is one line', () => {
    expect(read(lines(tuning.slice(0, 1)))).toMatchObject({ format: 'openai-chat', count: 1 })
    expect(said('{"messages":[{"role":"robot","content":"x"}]}\n')).toContain('messages[0].role should be one of')
  })
  it('include every choice of a response', () => {
    const answer = {
      id: 'r',
      model: 'm',
      choices: [{ message: { role: 'assistant', content: 'x' } }, { message: { role: 'assistant', content: 'y' } }],
    }
    const file = lines([answer, { ...answer, id: 's' }])
    expect(read(file).count).toBe(4)
    const third = read(file, { pick: 2 })
    expect([outline(third.messages), third.origin.id, third.origin.models]).toEqual([['assistant: x'], 's', ['m']])
    expect(outline(read(file, { pick: 3 }).messages)).toEqual(['assistant: y'])
  })
  it('report unreadable lines as damage and do not count them', () => {
    const [a, b, c] = tuning.map((each) => JSON.stringify(each)) as [string, string, string]
    const file = [a, b.slice(0, -9), '{"note":1}', c, '{"messages":[{"role":"robot","content":"x"}]}'].join('\n')
    expect(read(file, { pick: 1 })).toMatchObject({
      count: 3,
      damage: [
        { line: 2, reason: 'is cut off' },
        { line: 3, reason: 'is an object with "note", not a conversation' },
      ],
    })
    expect(outline(read(file, { pick: 1 }).messages)).toEqual(['user: f'])
    // What is wrong in a conversation is told where it is read.
    expect(read(file, { pick: 2 }).damage.at(-1)).toEqual({
      line: 5,
      reason: 'messages[0].role should be one of system, developer, user, assistant, tool, function, found "robot"',
    })
    expect(said(file, { strict: true })).toBe('line 2 is cut off (read as openai-chat)')
    expect(read([a.slice(3), b, c].join('\n'))).toMatchObject({ count: 2, damage: [{ line: 1 }] })
  })
})

it('message lines give the same as a stream, however the bytes are cut', async () => {
  const texts = Array.from({ length: 70 }, (_, index) => ({ role: 'user', content: `${index}` }))
  const files = [
    lines(legacy),
    lines(approvals),
    lines(tuning),
    lines(texts),
    `\n${lines(legacy).slice(5)}`,
    lines(tuning).slice(5),
    `{"role":"user","content":"hi"}`,
    lines(tuning.slice(0, 1)),
    `${lines(tuning)}{"mess`,
    lines(texts).slice(3),
  ]
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...files),
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 0, max: 2 }),
      async (file, size, pick) => {
        async function* pieces(): AsyncGenerator<Uint8Array> {
          const bytes = Buffer.from(file)
          for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
        }
        const events = []
        for await (const event of readTranscriptStream(pieces(), { pick })) events.push(event)
        const [streamed, whole] = [assembleTranscript(events), readTranscript(file, { pick })]
        if (isLeft(streamed) || isLeft(whole))
          expect([streamed, whole].map((each) => isLeft(each) && faultMessage(each.left))).toEqual(
            Array(2).fill(isLeft(whole) && faultMessage(whole.left)),
          )
        else expect(streamed).toEqual(whole)
      },
    ),
    { numRuns: rounds(25, 150) },
  )
})
