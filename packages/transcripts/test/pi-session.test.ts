import { describe, expect, it } from 'vitest'
import { rangeDigest } from '../../../src/notes/internal.ts'
import { lines, outline, read } from './reading.ts'

const header = {
  type: 'session',
  version: 3,
  id: 's',
  timestamp: '2026-01-01T00:00:00Z',
  cwd: '/work',
  parentSession: '/old.jsonl',
}
const entry = (id: string, parentId: string | null, fields: object) => ({
  id,
  parentId,
  timestamp: '2026-01-01T00:00:01Z',
  ...fields,
})
const said = (id: string, parentId: string | null, content: string, role = 'user') =>
  entry(id, parentId, {
    type: 'message',
    message: { role, content: role === 'user' ? content : [{ type: 'text', text: content }] },
  })

describe('a pi session with a tree', () => {
  it('is the path to its last entry', () => {
    const { messages, origin, damage } = read(
      lines([
        header,
        said('a', null, 'one'),
        said('b', 'a', 'two', 'assistant'),
        said('c', 'b', 'three'),
        said('d', 'c', 'four', 'assistant'),
        entry('l', 'd', { type: 'label', targetId: 'a', label: 'x' }),
        said('e', 'b', 'three again'),
        said('f', 'e', 'four again', 'assistant'),
      ]),
    )
    expect(outline(messages)).toEqual(['user: one', 'assistant: two', 'user: three again', 'assistant: four again'])
    expect(origin).toMatchObject({
      version: '3',
      id: 's',
      metadata: { cwd: '/work', parentSession: '/old.jsonl' },
      aside: { 'item of another branch': 3 },
    })
    expect(damage).toEqual([])
    expect(messages[2]?.meta).toEqual({
      'pi-session': { entry: { id: 'e', parentId: 'b', timestamp: '2026-01-01T00:00:01Z' } },
    })
  })
  it('is the path to the entry that a leaf entry names', () => {
    const all = [header, said('a', null, 'one'), said('b', 'a', 'two', 'assistant'), said('c', 'b', 'three')]
    const leaf = (targetId: string | null) =>
      outline(read(lines([...all, entry('x', 'c', { type: 'leaf', targetId })])).messages)
    expect(leaf('b')).toEqual(['user: one', 'assistant: two'])
    expect(leaf(null)).toEqual([])
    expect(
      outline(
        read(lines([...all, entry('x', 'c', { type: 'leaf', targetId: 'a' }), said('d', 'a', 'else', 'assistant')]))
          .messages,
      ),
    ).toEqual(['user: one', 'assistant: else'])
  })
  it('continues after a damaged line and reports it', () => {
    const text = lines([
      header,
      said('a', null, 'one'),
      said('b', 'a', 'two', 'assistant'),
      said('c', 'b', 'three'),
      said('d', 'c', 'four', 'assistant'),
    ])
    const { messages, damage } = read(text.replace('"two"', '"two'))
    expect(outline(messages)).toEqual(['user: one', 'user: three', 'assistant: four'])
    expect(damage.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
      '3: is cut off',
      '4: has the parent "b", which is not in the file; read as following the previous entry',
    ])
  })
  it('may have cycles, self references or reversed order', () => {
    const odd = [header, said('a', 'a', 'one'), said('b', 'c', 'two'), said('c', 'b', 'three'), said('d', 'c', 'four')]
    expect(outline(read(lines(odd)).messages)).toEqual(['user: one', 'user: two', 'user: three', 'user: four'])
  })
  it('has a later version of an entry in the place of the earlier one, which is retracted', () => {
    const { messages, notes } = read(
      lines([header, said('a', null, 'one'), said('b', 'a', 'two'), said('a', null, 'One'), said('b', 'a', 'two')]),
    )
    expect(outline(messages)).toEqual(['user: one', 'user: One', 'user: two'])
    expect(notes).toEqual([{ position: 2, note: { type: 'retraction', from: 0, to: 1 } }])
  })
  it('keeps messages hidden by a compaction, whose summary is a note for that range', () => {
    const { messages, notes } = read(
      lines([
        header,
        said('a', null, 'one'),
        said('b', 'a', 'two', 'assistant'),
        said('c', 'b', 'three'),
        entry('k', 'c', { type: 'compaction', summary: 'They counted.', firstKeptEntryId: 'c', tokensBefore: 9 }),
        said('d', 'k', 'four', 'assistant'),
      ]),
    )
    expect(outline(messages)).toEqual(['user: one', 'assistant: two', 'user: three', 'assistant: four'])
    expect(notes).toEqual([
      {
        position: 3,
        note: {
          type: 'application',
          namespace: 'pi-session',
          content: {
            type: 'compaction',
            id: 'k',
            parentId: 'c',
            timestamp: '2026-01-01T00:00:01Z',
            firstKeptEntryId: 'c',
            tokensBefore: 9,
          },
        },
      },
      {
        position: 3,
        note: {
          type: 'summary',
          from: 0,
          to: 2,
          sourceDigest: rangeDigest(messages.slice(0, 2)),
          text: 'They counted.',
        },
      },
    ])
    const first = read(
      lines([
        { ...header, version: undefined },
        { type: 'message', timestamp: 't', message: { role: 'user', content: 'a' } },
        { type: 'message', timestamp: 't', message: { role: 'user', content: 'b' } },
        { type: 'compaction', timestamp: 't', summary: 's', firstKeptEntryIndex: 2, tokensBefore: 1 },
      ]),
    )
    expect(first.notes[1]?.note).toMatchObject({ type: 'summary', from: 0, to: 1 })
    expect(
      read(
        lines([
          header,
          said('a', null, 'one'),
          entry('k', 'a', { type: 'compaction', summary: 's', firstKeptEntryId: 'a' }),
        ]),
      ).notes,
    ).toMatchObject([{ note: { type: 'application', content: { summary: 's' } } }])
  })
  it("has pi's messages as messages and every other entry as a note", () => {
    const { messages, notes, origin } = read(
      lines([
        header,
        entry('a', null, {
          type: 'custom_message',
          customType: 'x',
          content: [{ type: 'text', text: 'from an extension' }],
          display: true,
        }),
        entry('b', 'a', { type: 'branch_summary', fromId: 'z', summary: 'It failed.' }),
        entry('c', 'b', {
          type: 'message',
          message: { role: 'bashExecution', command: 'ls', output: 'a.ts', exitCode: 2, timestamp: 1 },
        }),
        entry('d', 'c', {
          type: 'message',
          message: { role: 'bashExecution', command: 'secret', output: '', excludeFromContext: true },
        }),
        entry('e', 'd', { type: 'message', message: { role: 'hookMessage', customType: 'h', content: 'from a hook' } }),
        entry('f', 'e', { type: 'session_info', name: 'Counting' }),
        entry('g', 'f', { type: 'custom', customType: 'x', data: { a: 1 } }),
        entry('h', 'g', {
          type: 'message',
          message: {
            role: 'assistant',
            content: [],
            model: 'm',
            usage: { input: 5, output: 7, cacheRead: 11, cacheWrite: 13 },
          },
        }),
      ]),
    )
    expect(outline(messages)).toEqual([
      'user: from an extension',
      'user: Summary of a branch that this conversation came back from:\n\nIt failed.',
      'user: Ran `ls`\n```\na.ts\n```\n(exit code 2)',
      'user: from a hook',
      'assistant: ',
    ])
    expect(
      notes.map(({ position, note }) => [
        position,
        note.type === 'application' && (note.content as { type: string }).type,
      ]),
    ).toEqual([
      [3, 'message'],
      [4, 'session_info'],
      [4, 'custom'],
    ])
    expect(origin).toMatchObject({
      title: 'Counting',
      models: ['m'],
      usage: { input: 29, output: 7, cacheRead: 11, cacheWrite: 13 },
    })
  })
})
