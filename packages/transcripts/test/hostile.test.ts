/** What a file can do to its reader, and may not. */
import { constants } from 'node:buffer'
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { decodeMessage, faultMessage } from 'indelible'
import { createSplitter, longestLine } from '../src/text/lines.ts'
import { lines, outline, read, said } from './reading.ts'
import { rounds } from '../../../test/rounds.ts'
import { readTranscript } from '@indelible/transcripts'

const megabytes = rounds(20, 200)

const utf16 = (text: string, order: 'le' | 'be', mark: boolean): Uint8Array => {
  const bytes = Buffer.from((mark ? '\ufeff' : '') + text, 'utf16le')
  return order === 'le' ? bytes : bytes.swap16()
}

const pi = (content = 'hi ünïcode 🙂', more = ''): string =>
  `${JSON.stringify({ type: 'session', id: 's', timestamp: 't' })}\n{"type":"message","timestamp":"t","message":{"role":"user","content":${JSON.stringify(content)}${more}}}\n`
const chat = (content: string): string => JSON.stringify([{ role: 'user', content }])

describe('transcript encodings', () => {
  it.each([
    ['lines', pi()],
    ['one value', chat('hi ünïcode 🙂')],
    ['two lines in one', JSON.stringify(JSON.parse(chat('Ċ ഊ \u0a0d')), undefined, 1)],
  ])('%s: UTF-8 and UTF-16, with and without BOM, any line ends', (_name, text) => {
    const { messages } = read(text)
    expect(messages.length).toBe(1)
    const forms = [
      `\ufeff${text}`,
      text.replaceAll('\n', '\r\n'),
      `\n\n${text}\n\n`,
      text.trimEnd(),
      Buffer.from(text),
      Buffer.from(`\ufeff${text}`),
      utf16(text, 'le', true),
      utf16(text, 'be', true),
      utf16(text, 'le', false),
      utf16(text, 'be', false),
    ]
    for (const form of forms) {
      const transcript = read(form)
      expect([transcript.messages, transcript.damage, transcript.losses]).toEqual([messages, [], []])
    }
  })
  it.each(['le', 'be'] as const)('report where a UTF-16 file (%s) ends within a character', (order) => {
    const whole = utf16(pi('ab'), order, true)
    const torn = Buffer.concat([whole, utf16('🙂', order, false).subarray(0, 3)])
    const { messages, damage } = read(torn)
    expect(messages.length).toBe(1)
    expect(damage[0]).toEqual({
      line: 3,
      offset: whole.length,
      reason: 'has bytes that are not text; they were read as U+FFFD',
    })
  })

  it('read invalid bytes as U+FFFD and list their offsets', () => {
    const good = Buffer.from(pi('ab'))
    const at = good.indexOf('"ab"') + 2
    for (const bad of [
      [0xff],
      [0xc0, 0x80],
      [0xed, 0xa0, 0x80],
      [0xf5, 0x80, 0x80, 0x80],
      [0xe2, 0x82],
      [0x80],
      [0xf0, 0x80, 0x80, 0x80],
      [0xe0, 0x9f, 0xbf],
      [0xf4, 0x90, 0x80, 0x80],
    ]) {
      const bytes = Buffer.concat([good.subarray(0, at), Buffer.from(bad), good.subarray(at)])
      const { messages, damage } = read(bytes)
      expect(outline(messages)[0]).toMatch(/^user: a\ufffd+b$/)
      expect(damage).toEqual([{ line: 2, offset: at, reason: 'has bytes that are not text; they were read as U+FFFD' }])
      expect(said(bytes, { strict: true })).toBe(
        'line 2 has bytes that are not text; they were read as U+FFFD (read as pi-session)',
      )
    }
    const whole = Buffer.from(JSON.stringify([{ role: 'user', content: 'a' }], undefined, 1))
    const in4 = Buffer.concat([
      whole.subarray(0, whole.indexOf('"a"') + 1),
      Buffer.from([0xff]),
      whole.subarray(whole.indexOf('"a"') + 1),
    ])
    expect(read(in4).damage).toEqual([
      { line: 4, offset: whole.indexOf('"a"') + 1, reason: 'has bytes that are not text; they were read as U+FFFD' },
    ])
    expect(said(in4, { strict: true })).toMatch(/^line 4 has bytes/)
    const half = utf16(pi('a-b').replace('-', '\ud83d'), 'le', true)
    expect(read(half).damage).toMatchObject([{ line: 2 }])
    expect(read(half.subarray(0, -1)).damage.map(({ line }) => line)).toEqual([2, 2])
  })
  it('give the same lines for any chunking of the bytes', () => {
    const texts = [pi('x'.repeat(30)), '', '\n', '\n\n\n', 'a', '{}\n{}', '\ufeff', '🙂\n🙂']
    const encodings = (text: string): readonly Uint8Array[] => [
      Buffer.from(text),
      utf16(text, 'le', true),
      utf16(text, 'be', true),
    ]
    fc.assert(
      fc.property(
        fc.constantFrom(...texts.flatMap(encodings)),
        fc.array(fc.integer({ min: 1, max: 9 }), { maxLength: 40 }),
        (bytes, sizes) => {
          const all = (pieces: readonly Uint8Array[]) => {
            const splitter = createSplitter()
            return [...pieces.flatMap((piece) => Array.from(splitter.push(piece))), ...splitter.end()]
          }
          const pieces: Uint8Array[] = []
          let at = 0
          for (const size of sizes) pieces.push(bytes.subarray(at, (at += size)))
          expect(all([...pieces, bytes.subarray(at)])).toEqual(all([bytes]))
        },
      ),
      { numRuns: rounds(100, 500) },
    )
  })
  it('omit and list a line above the limit without buffering it', () => {
    expect(longestLine).toBeLessThanOrEqual(constants.MAX_STRING_LENGTH)
    const splitter = createSplitter(10)
    const found = ['12345\n', '1234567', '8901', '2345\nab', 'c\n1234567', '890', '\n12345678901\n'].flatMap((piece) =>
      Array.from(splitter.push(Buffer.from(piece))),
    )
    expect([...found, ...splitter.end()]).toEqual([
      { number: 1, text: '12345' },
      { number: 2, text: '', unreadable: 'is longer than 10 bytes' },
      { number: 3, text: 'abc' },
      { number: 4, text: '1234567890' },
      { number: 5, text: '', unreadable: 'is longer than 10 bytes' },
    ])
  })
})

describe('transcript values', () => {
  it('treat `__proto__` as an ordinary key', () => {
    const text = '[{"role":"user","content":"a","__proto__":{"polluted":1},"constructor":{"prototype":2}}]'
    const { messages } = read(text)
    expect(messages[0]?.meta).toEqual({
      'openai-chat': { fields: JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":2}}') as object },
    })
    expect(({} as { polluted?: unknown }).polluted).toBe(undefined)
    const { damage, origin, notes } = read(
      `${pi()}{"type":"__proto__","id":"__proto__"}\n{"__proto__":{"type":"message"}}\n{"type":"custom","id":"__proto__","parentId":"__proto__","data":1}`,
    )
    expect([damage, Object.entries(origin.aside), notes.length]).toEqual([
      [],
      [
        ['__proto__', 1],
        ['line of no kind', 1],
      ],
      3,
    ])
  })
  it('are refused below one depth limit', () => {
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
    expect(said(deep)).toMatch(/^this is an array, not a conversation/)
    expect(said(`{"messages":[{"role":"user","content":${deep}}]}`)).toMatch(/nested deeper than 1000 levels/)
    expect(
      read(`[{"role":"user","content":"a"}]`.replace('[', `{"x":${deep},"messages":[`).replace(/\]$/, ']}')).messages
        .length,
    ).toBe(1)
    expect(read(pi('a', `,"deep":${deep}`)).damage).toMatchObject([
      { line: 2, reason: expect.stringMatching(/nested deeper than 1000 levels$/) },
    ])
    expect(said('['.repeat(200_000))).toMatch(/^line 1, column 200001: not JSON/)
  })
  it('list duplicate keys, out-of-range numbers and lone surrogates with their line', () => {
    const { messages, losses } = read(
      `${pi()}{"type":"message","timestamp":"t","timestamp":"u","message":{"role":"user","content":"a\\ud83d","n":[1e999,0.1000000000000000055]}}`,
    )
    expect(outline(messages)[1]).toBe('user: a\ufffd')
    expect(losses.map(({ line, path, reason }) => `${line} ${path.join('.')} ${reason}`)).toEqual([
      '3 timestamp occurs twice: the last one is used',
      '3 message.content has half a surrogate pair, which is no character: read as U+FFFD',
      '3 message.n.0 is 1e999, which is out of range: read as null',
      '3 message.n.1 is 0.1000000000000000055: read as 0.1',
    ])
    const whole = read('[\n{"role":"user","content":"a",\n"content":"b"}]')
    expect([outline(whole.messages), whole.losses]).toEqual([
      ['user: b'],
      [{ line: 3, path: [0, 'content'], reason: 'occurs twice: the last one is used' }],
    ])
  })
  it(`include a line of ${megabytes} MB`, () => {
    const big = Buffer.alloc(megabytes * 1_000_000, 120)
    const text = Buffer.concat([
      Buffer.from(`${pi('a')}{"type":"message","timestamp":"t","message":{"role":"user","content":"`),
      big,
      Buffer.from('"}}\n'),
      Buffer.from(lines([{ type: 'message', timestamp: 't', message: { role: 'user', content: 'after' } }])),
    ])
    const { messages, damage } = read(text)
    expect([damage, messages.length, outline(messages.slice(2))]).toEqual([[], 3, ['user: after']])
    const part = messages[1]?.content[0]
    expect(part?.type === 'text' && part.text.length).toBe(megabytes * 1_000_000)
  })
})

describe('readTranscript never throws', () => {
  const holds = (input: string | Uint8Array): void => {
    const answer = readTranscript(input)
    if (isLeft(answer)) {
      expect(faultMessage(answer.left)).not.toBe('')
      return
    }
    for (const message of answer.right.messages) expect(isRight(decodeMessage(message))).toBe(true)
    expect(Object.isFrozen(answer.right)).toBe(true)
  }
  const known = [
    pi(),
    chat('a'),
    '{"indelible":"export","version":1,"id":"x","metadata":{}}\n{"message":{"role":"user","content":[]},"page":"plan"}\n{"note":{"type":"pin","position":0}}\n{"head":{"size":2}}',
    lines([
      { timestamp: 't', type: 'session_meta', payload: { id: 's' } },
      {
        timestamp: 't',
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a' }] },
      },
      { timestamp: 't', type: 'event_msg', payload: { type: 'thread_rolled_back', num_turns: 1 } },
      { timestamp: 't', type: 'compacted', payload: { message: 'm' } },
    ]),
    lines([
      { type: 'session', version: 3, id: 's', timestamp: 't' },
      { type: 'message', id: 'a', parentId: null, timestamp: 't', message: { role: 'user', content: 'a' } },
      { type: 'compaction', id: 'b', parentId: 'a', timestamp: 't', summary: 's', firstKeptEntryId: 'a' },
      { type: 'leaf', id: 'c', parentId: 'b', timestamp: 't', targetId: 'a' },
    ]),
    lines([
      { type: 'user', uuid: 'a', parentUuid: null, sessionId: 's', message: { role: 'user', content: 'a' } },
      {
        type: 'assistant',
        uuid: 'b',
        parentUuid: 'a',
        sessionId: 's',
        message: { role: 'assistant', id: 'm', content: [{ type: 'tool_use', id: 'c', name: 'n', input: {} }] },
      },
      {
        type: 'user',
        uuid: 'c',
        parentUuid: 'b',
        sessionId: 's',
        message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: 'r' }] },
      },
    ]),
    JSON.stringify({
      history: [{ role: 'tool', content: 'a', tool_call_ids: ['c'] }],
      info: { model_stats: { tokens_sent: 1 } },
    }),
    JSON.stringify({
      id: 'c',
      choices: [{ message: { role: 'assistant', content: 'a' } }],
      usage: { prompt_tokens: 1 },
    }),
    JSON.stringify({ system: 's', messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c' }] }] }),
    JSON.stringify([{ role: 'user', parts: [{ type: 'text', text: 'a' }] }]),
  ]
  it('for damaged known files: truncated, filled, swapped, with replaced values', () => {
    const noise = fc.oneof(
      fc.constantFrom('', '\n', '"', '{', '}', ',', '\0', '1e999', '\\ud800', 'null', '[]', '-1', '"__proto__"'),
      fc.string(),
      fc.json(),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...known),
        fc.array(fc.tuple(fc.nat(), fc.nat({ max: 30 }), noise), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (text, edits, asBytes) => {
          let damaged = text
          for (const [at, length, put] of edits)
            damaged = damaged.slice(0, at % (text.length + 1)) + put + damaged.slice((at % (text.length + 1)) + length)
          holds(asBytes ? Buffer.from(damaged) : damaged)
        },
      ),
      { numRuns: rounds(150, 3000) },
    )
  })
  it('for replaced values in known files', () => {
    const value = fc.oneof(
      fc.constantFrom('null', '0', '""', '[]', '{}', '[null]', '[{}]', '{"type":"text"}', '-0', '1e400', 'true'),
      fc.json({ maxDepth: 2 }),
    )
    fc.assert(
      fc.property(fc.constantFrom(...known), fc.nat(), value, (text, nth, put) => {
        const values = [...text.matchAll(/(?<=:)(?:"[^"]*"|-?\d+|null|\[\]|\{\})/g)]
        const found = values[nth % values.length]
        if (found !== undefined) holds(text.slice(0, found.index) + put + text.slice(found.index + found[0].length))
      }),
      { numRuns: rounds(150, 3000) },
    )
  })
  it('for random bytes', () =>
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => holds(bytes)),
      { numRuns: rounds(150, 1000) },
    ))
})
