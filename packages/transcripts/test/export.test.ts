import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exportLines, exportOf } from '@indelible/transcripts'
import { user, type JsonObject } from 'indelible'
import { conversation, everyPart } from '../../../test/messages.ts'
import { itShared, readShared } from '../../../test/real-transcripts.ts'
import { lines, read } from './reading.ts'
import type { ExportedRow } from 'indelible/internal/session'

const root = 'ab'.repeat(32)
const written = (rows: readonly ExportedRow[], metadata: JsonObject = {}, id: string | undefined = 's1'): string =>
  [...exportLines({ id, metadata, rows, head: { size: rows.length, root } })].join('')

const rows: readonly ExportedRow[] = [
  ...conversation().map((message) => ({
    message,
    page: message.role === 'system' ? ('bootstrap' as const) : ('plan' as const),
  })),
  { note: { type: 'pin', position: 1 } },
  { message: everyPart, page: 'evidence' },
  { note: { type: 'application', namespace: 'com.example', content: { 2: [], 1: '\u2028', __proto__: null } } },
  { note: { type: 'receipt', len: 7, contextDigest: root, model: 'm', usage: { input: 1, output: 2 } } },
]

describe('an Indelible export', () => {
  it('has one line per row between a header and a head', () => {
    const text = written(rows.slice(0, 1), { title: 't' })
    expect(text.split('\n')).toEqual([
      '{"indelible":"export","version":1,"id":"s1","metadata":{"title":"t"}}',
      '{"message":{"role":"system","content":[{"type":"text","text":"You are a coding agent."}]},"page":"bootstrap"}',
      `{"head":{"size":1,"root":"${root}"}}`,
      '',
    ])
  })
  it('exports again to the same bytes: messages, pages, notes, order, metadata, head', () => {
    for (const text of [
      written(rows, { title: 't', deep: { b: 1, a: [1e21] } }),
      written([]),
      written(rows.slice(6, 7), {}, undefined),
    ]) {
      const transcript = read(text)
      expect([transcript.format, transcript.damage, transcript.losses]).toEqual(['indelible', [], []])
      expect([...exportLines(exportOf(transcript))].join('')).toBe(text)
    }
    const { messages, pages, notes, origin } = read(written(rows, { title: 't' }))
    expect([messages.length, pages?.length, pages?.[1], pages?.at(-1)]).toEqual([7, 7, 'plan', 'evidence'])
    expect(notes.map(({ position, note }) => [position, note.type])).toEqual([
      [6, 'pin'],
      [7, 'application'],
      [7, 'receipt'],
    ])
    expect(origin).toMatchObject({
      version: '1',
      id: 's1',
      metadata: { title: 't' },
      head: { size: rows.length, root },
    })
  })
  it('keeps every order of messages and notes, and every JSON', () => {
    const row: fc.Arbitrary<ExportedRow> = fc.oneof(
      fc.string({ unit: 'grapheme' }).map((text) => ({ message: user(text), page: 'conversation' as const })),
      fc.jsonValue().map((content) => ({
        note: {
          type: 'application' as const,
          namespace: 'n',
          content: JSON.parse(JSON.stringify(content)) as JsonObject,
        },
      })),
    )
    fc.assert(
      fc.property(fc.array(row, { maxLength: 12 }), (some) => {
        const text = written(some)
        expect([...exportLines(exportOf(read(text)))].join('')).toBe(text)
      }),
    )
  })
  it('of a foreign conversation names its origin and has no root', () => {
    const pi = [
      { type: 'session', version: 3, id: 's', timestamp: 't', cwd: '/' },
      { type: 'message', id: 'a', parentId: null, timestamp: 't', message: { role: 'user', content: 'hi' } },
      { type: 'label', id: 'b', parentId: 'a', timestamp: 't', targetId: 'a', label: 'here' },
    ]
    const text = [...exportLines(exportOf(read(lines(pi))))]
    expect(text.length).toBe(4)
    expect(JSON.parse(text[0] ?? '')).toMatchObject({
      metadata: { from: { format: 'pi-session', id: 's', version: '3', metadata: { cwd: '/' } } },
    })
    expect(text[3]).toBe('{"head":{"size":2}}\n')
    const back = read(text.join(''))
    expect([back.damage, back.messages, back.notes]).toEqual([[], read(lines(pi)).messages, read(lines(pi)).notes])
  })
  it('reports damaged rows, a wrong head, and missing rows', () => {
    const text = written(rows)
    const damage = (edit: (all: string[]) => void): readonly string[] => {
      const all = text.split('\n').slice(0, -1)
      edit(all)
      return read(all.join('\n')).damage.map(({ line, reason }) => `${line}: ${reason}`)
    }
    expect(damage((all) => all.pop())).toEqual([
      '11: is the last row, but no head follows it: the export is incomplete',
    ])
    expect(damage((all) => all.splice(3, 1))).toEqual(['11: counts 10 rows, but 9 precede it'])
    expect(damage((all) => all.push('{"note":{"type":"pin","position":1}}'))).toEqual([
      '13: follows the head, which must be the last line of an export',
    ])
    expect(damage((all) => void (all[2] = '{"message":{"role":"user"},"page":"plan"}'))).toEqual([
      '3: in its message, content should be an array of parts, found nothing',
    ])
    expect(damage((all) => void (all[2] = '{"message":{"role":"user","content":[]},"page":"gossip"}'))).toMatchObject(
      [/page should be one of bootstrap, .* found "gossip"/].map((match) => expect.stringMatching(match)),
    )
    expect(
      damage((all) => void (all[2] = '{"message":{"role":"user","content":[]},"page":"plan","more":1}'))[0],
    ).toMatch(/^3: more should be one of the fields message, page/)
    expect(damage((all) => void (all[7] = '{"note":{"type":"pin"}}'))[0]).toMatch(
      /^8: not a note: position should be a position/,
    )
    expect(damage((all) => void (all[0] = '{"indelible":"export","version":2,"metadata":{}}'))[0]).toMatch(
      /^1: version should be 1/,
    )
    expect(damage((all) => void (all[11] = '{"head":{"size":10,"root":"x"}}'))[0]).toMatch(
      /^12: head.root should be 64 lowercase hexadecimal digits/,
    )
    expect(damage((all) => void (all[11] = (all[11] ?? '').slice(0, 9)))).toEqual([
      '11: is the last row, but no head follows it: the export is incomplete',
      '12: is cut off',
    ])
  })
  itShared('of every real transcript gives the same bytes again', () => {
    for (const name of [
      'coding-agent.pi-session.jsonl',
      'tau-airline-gpt-4o.openai-chat.json',
      'swe-marshmallow-function-calling.swe-agent.json',
    ]) {
      const text = [...exportLines(exportOf(read(readShared(`transcripts/${name}`))))].join('')
      const back = read(text)
      expect(back.damage).toEqual([])
      expect([...exportLines(exportOf(back))].join('')).toBe(text)
    }
  })
})
