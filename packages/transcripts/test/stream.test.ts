import { spawn } from 'node:child_process'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  exportLines,
  exportOf,
  readTranscriptStream,
  type TranscriptEvent,
  type TranscriptOptions,
  readTranscript,
} from '@indelible/transcripts'
import { assembleTranscript } from '../src/internal.ts'
import { conversation } from '../../../test/messages.ts'
import { areBundled, program } from '../../../test/programs.ts'
import { rounds } from '../../../test/rounds.ts'
import { itShared, readShared } from '../../../test/real-transcripts.ts'
import { lines } from './reading.ts'

const megabytes = rounds(6, 64)

/** The events of bytes that come in pieces of these sizes, the last one repeated. */
const eventsOf = async (
  text: string,
  options: TranscriptOptions = {},
  sizes: readonly number[] = [1 << 16],
): Promise<readonly TranscriptEvent[]> => {
  const bytes = Buffer.from(text)
  const buffer = Buffer.alloc(Math.max(...sizes))
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0, next = 0; at < bytes.length; next++) {
      const size = sizes[Math.min(next, sizes.length - 1)] ?? 1
      const filled = bytes.copy(buffer, 0, at, at + size)
      at += filled
      yield buffer.subarray(0, filled) // the same buffer again and again, as a file reader may
    }
  }
  const events: TranscriptEvent[] = []
  for await (const event of readTranscriptStream(pieces(), options)) events.push(event)
  return events
}

const said = (text: string, id: string, parentId: string | null) => ({
  type: 'message',
  id,
  parentId,
  timestamp: 't',
  message: { role: 'user', content: text },
})
const tree = lines([
  { type: 'session', version: 3, id: 's', timestamp: 't' },
  said('a', '1', null),
  said('b', '2', '1'),
  said('c', '3', '2'),
  { type: 'label', id: '4', parentId: '3', timestamp: 't' },
  said('d', '5', '1'),
])
const exported = [
  ...exportLines({
    id: 's',
    metadata: {},
    rows: conversation().map((message) => ({ message, page: 'plan' })),
    head: { size: 6 },
  }),
].join('')
const chat = JSON.stringify([{ role: 'user', content: 'hi' }], undefined, 2)

describe('readTranscriptStream', () => {
  it("gives a start, the file's items in order, and an end listing the dropped ones", async () => {
    const events = await eventsOf(`${tree.trimEnd()}\n{"cut`)
    expect(
      events.map((event) => ('item' in event ? `${event.type} ${event.item} line ${event.line}` : event.type)),
    ).toEqual([
      'start',
      'message 0 line 2',
      'message 1 line 3',
      'message 2 line 4',
      'note 3 line 5',
      'message 4 line 6',
      'damage',
      'end',
    ])
    expect(events.at(-1)).toMatchObject({ type: 'end', dropped: [[1, 4]], count: 1, pick: 0, origin: { version: '3' } })
  })
  it('ends with a fault if there is one', async () => {
    expect(await eventsOf('{"a":\n')).toEqual([
      { type: 'fault', fault: { _tag: 'InvalidJson', line: 2, column: 1, expected: 'a value', found: 'the end' } },
    ])
    expect(await eventsOf('')).toMatchObject([{ type: 'fault', fault: { _tag: 'InvalidJson' } }])
    expect(await eventsOf(tree, { pick: 1 })).toMatchObject([
      ...Array.from({ length: 6 }, () => ({})),
      { type: 'fault', fault: { _tag: 'NoSuchConversation' } },
    ])
    expect((await eventsOf(`${tree}nope\n${tree}`, { strict: true })).at(-1)).toMatchObject({
      type: 'fault',
      fault: { _tag: 'DamagedLine', line: 7 },
    })
  })
  it('matches readTranscript, however the bytes are cut', async () => {
    const damaged = tree.split('\n').toSpliced(2, 0, '{"type":"message","x":1,"x":2', '').join('\n')
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(tree, exported, chat, damaged, damaged.slice(10), `\ufeff\n\n${tree}`),
        fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 8 }),
        async (text, sizes) => {
          const events = await eventsOf(text, {}, sizes)
          expect(assembleTranscript(events)).toEqual(readTranscript(text))
        },
      ),
      { numRuns: rounds(25, 200) },
    )
  })
  it('stops reading when its consumer stops, and throws what the source throws', async () => {
    let closed = false
    async function* endless(): AsyncGenerator<Uint8Array> {
      try {
        yield Buffer.from(tree)
        for (let id = 9; ; id++) yield Buffer.from(lines([said('x', `${id}`, null)]))
      } finally {
        closed = true
      }
    }
    for await (const event of readTranscriptStream(endless())) if (event.type === 'message' && event.item > 50) break
    expect(closed).toBe(true)
    async function* torn(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(tree)
      throw new Error('the disk is gone')
    }
    await expect(async () => {
      for await (const event of readTranscriptStream(torn())) void event
    }).rejects.toThrow('the disk is gone')
  })
  it.each(['pi-session', 'claude-code', 'codex', 'indelible', 'messages', 'conversations'])(
    `reads ${megabytes} MB of %s within 12 MB`,
    async (format) => {
      const child = spawn(
        process.execPath,
        [
          // Collected in its own thread and in small steps: otherwise it holds more where the machine is busy.
          '--single-threaded',
          '--max-semi-space-size=1',
          `--max-old-space-size=${areBundled ? 12 : 16}`, // sources are in it, too
          program('packages/transcripts/test/stream-memory.ts'),
          format,
          String(megabytes),
        ],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      )
      let out = ''
      child.stdout.on('data', (data: Buffer) => (out += data.toString()))
      const code = await new Promise((resolve) => child.on('close', resolve))
      expect(code).toBe(0)
      const { messages, grown } = JSON.parse(out) as { readonly messages: number; readonly grown: number }
      if (format === 'conversations') expect(messages).toBe(1)
      else expect(messages).toBeGreaterThan(700 * megabytes)
      expect(grown).toBeLessThan(12)
    },
  )
  itShared('says the same as readTranscript of real files', async () => {
    for (const name of [
      'coding-agent.pi-session.jsonl',
      'tau-airline-gpt-4o.openai-chat.json',
      'swe-marshmallow-text.swe-agent.json',
    ]) {
      const text = readShared(`transcripts/${name}`)
      const transcript = readTranscript(text)
      expect(assembleTranscript(await eventsOf(text))).toEqual(transcript)
      if (transcript._tag === 'Right')
        expect(
          assembleTranscript(await eventsOf([...exportLines(exportOf(transcript.right))].join(''), {}, [4096])),
        ).toMatchObject({ right: { messages: transcript.right.messages } })
    }
  })
})
