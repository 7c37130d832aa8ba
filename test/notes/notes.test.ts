import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createHistory, faultMessage, type Message } from 'indelible'
import {
  decodeNote,
  foldPages,
  isMark,
  placeNote,
  placeOf,
  rangeDigest,
  retractedBy,
  type Note,
} from '../../src/notes/internal.ts'
import { conversation } from '../messages.ts'
import { Outputs } from '../outputs.ts'

const digest = 'ab'.repeat(32)

const notes: readonly Note[] = [
  { type: 'page', position: 3, kind: 'plan' },
  { type: 'pin', position: 0 },
  { type: 'unpin', position: 0 },
  { type: 'summary', from: 0, to: 4, sourceDigest: digest, text: 'They talked.', model: 'm', promptDigest: digest },
  {
    type: 'receipt',
    len: 6,
    contextDigest: digest,
    model: 'm',
    parameters: { temperature: 0 },
    usage: { input: 10, output: 2, cacheRead: 8 },
  },
  { type: 'tool_started', callId: 'c1', name: 'run' },
  { type: 'application', namespace: 'com.example', content: [1, null] },
]

const moreNotes: readonly object[] = [
  { type: 'retraction', from: 0, to: 2 },
  { type: 'input', id: 'i', state: 'queued', message: { role: 'user', content: [] } },
  { type: 'input', id: 'i', state: 'failed', reason: 'no' },
  { type: 'journal', step: 's', lease: 1, said: [{ index: 0, text: 'a' }], answer: {}, results: [{}] },
  { type: 'receipt', len: 1, contextDigest: digest, details: { a: 1 }, usage: { input: 0, output: 0, cacheWrite: 1 } },
  { type: 'tool_started', callId: 'c', name: 'n', arguments: '{}' },
  { type: 'erased', was: 'summary' },
  { type: 'seal' },
]

const faultText = (input: unknown): string => {
  const decoded = decodeNote(input)
  return decoded._tag === 'Left' ? faultMessage(decoded.left) : 'fine'
}

describe('decodeNote', () => {
  it('accepts every kind of note and returns a frozen copy', () => {
    for (const note of notes) {
      const decoded = decodeNote(JSON.parse(JSON.stringify(note)))
      expect(decoded).toEqual({ _tag: 'Right', right: note })
      expect(decoded._tag === 'Right' && Object.isFrozen(decoded.right)).toBe(true)
    }
  })
  it('refuses other values and reports the path', () => {
    expect(faultText(null)).toBe('not a note: it should be an object')
    expect(faultText({ type: 'toString' })).toMatch(/^not a note: type should be one of page, pin, unpin, summary/)
    expect(faultText({ type: 'page', position: -1, kind: 'plan' })).toBe(
      'not a note: position should be a position (0, 1, 2, …)',
    )
    expect(faultText({ type: 'page', position: 1, kind: 'rule' })).toMatch(
      /^not a note: kind should be one of bootstrap, constraint/,
    )
    expect(faultText({ type: 'pin', position: 1, by: 'me' })).toBe(
      'not a note: by should be one of the fields position',
    )
    expect(faultText({ ...notes[3], to: 0 })).toBe('not a note: to should be greater than `from`')
    expect(faultText({ ...notes[3], sourceDigest: 'AB' })).toBe(
      'not a note: sourceDigest should be 64 lowercase hexadecimal digits',
    )
    expect(faultText({ ...notes[4], usage: { input: 1 } })).toMatch(
      /^not a note: usage should be an object with input, output/,
    )
    const journal = { type: 'journal', step: 's', said: [{ index: 0, text: 'so', after: 1 }] }
    expect(faultText(journal)).toBe('fine')
    for (const wrong of [{ index: 'x' }, { index: 0, other: 1 }, {}, 'so', null])
      expect([wrong, faultText({ ...journal, said: [wrong] })]).toEqual([
        wrong,
        expect.stringContaining('said should be a list of objects with index, text, part, after'),
      ])
    expect(faultText({ type: 'application', namespace: '', content: 1 })).toMatch(
      /namespace should be a string that is not empty/,
    )
    expect(faultText({ type: 'application', namespace: 'a', content: new Date() })).toMatch(
      /content should be plain JSON data/,
    )
  })
  it('reports the path of an unreadable or non-JSON value', () => {
    expect(faultText({ type: 'application', namespace: 'n', content: { a: [() => 1] } })).toContain('content.a[0]')
    const refuse = (): never => {
      throw new Error('no')
    }
    const trap = new Proxy({}, { ownKeys: refuse, getPrototypeOf: refuse, get: refuse })
    expect(faultText(trap)).toBe('not a note: it should be plain JSON data (it could not be read)')
  })
  it('reports the recorded fault for each note with a changed field', () => {
    const outputs = new Outputs()
    const odd = [undefined, null, '', 'x', digest, -1, 0, 0.5, 2 ** 53, true, [], ['a'], {}, { a: 1 }]
    for (const note of [...notes, ...moreNotes])
      for (const name of [...Object.keys(note), 'other'])
        for (const value of odd) outputs.add(decodeNote({ ...note, [name]: value }))
    const receipt = { type: 'receipt', len: 1, contextDigest: digest, model: 'm' }
    const inner = [
      ['usage', { input: 0, output: 0 }, ['input', 'output', 'cacheRead', 'cacheWrite', 'other']],
      ['head', { size: 0, root: digest }, ['size', 'root', 'other']],
    ] as const
    for (const [field, whole, names] of inner)
      for (const name of names)
        for (const value of odd) outputs.add(decodeNote({ ...receipt, [field]: { ...whole, [name]: value } }))
    for (const name of ['index', 'text', 'part', 'after', 'other'])
      for (const value of odd)
        outputs.add(decodeNote({ type: 'journal', step: 's', said: [{ index: 0 }, { index: 1, [name]: value }] }))
    outputs.expectToBe('91fdc2aee73506de')
  })
  it('never throws', () => {
    fc.assert(fc.property(fc.anything(), (value) => void decodeNote(value)))
  })
})

describe('foldPages', () => {
  it('gives each position its latest tag, a pin above it, and the tag again after an unpin', () => {
    expect(
      foldPages([
        { type: 'pin', position: 1 },
        { type: 'page', position: 2, kind: 'plan' },
        { type: 'page', position: 2, kind: 'evidence' },
        { type: 'pin', position: 3 },
        { type: 'page', position: 3, kind: 'preference' },
        { type: 'unpin', position: 3 },
        { type: 'pin', position: 4 },
        { type: 'unpin', position: 4 },
        { type: 'tool_started', callId: 'c', name: 'n' },
      ]),
    ).toEqual(
      new Map([
        [1, 'constraint'],
        [2, 'evidence'],
        [3, 'preference'],
        [4, undefined],
      ]),
    )
  })
})

describe('a note', () => {
  it('is a mark if it has positions and kinds only', () => {
    const marks = [...notes, ...(moreNotes as readonly Note[])].filter(isMark).map(({ type }) => type)
    expect([...new Set(marks)]).toEqual(['page', 'pin', 'unpin', 'retraction', 'erased', 'seal'])
  })
  it('retracts what is there when it comes', () => {
    const retraction: Note = { type: 'retraction', from: 2, to: 5 }
    expect([0, 2, 3, 5, 9].map((len) => retractedBy(retraction, len))).toEqual([
      undefined,
      undefined,
      { from: 2, to: 3 },
      { from: 2, to: 5 },
      { from: 2, to: 5 },
    ])
    expect(retractedBy({ type: 'pin', position: 1 }, 9)).toBeUndefined()
  })
  it('has the place that its record gave it', () => {
    const [a, b]: readonly Note[] = [{ type: 'seal' }, { type: 'seal' }]
    placeNote(a as Note, 3)
    expect([placeOf(a as Note), placeOf(b as Note)]).toEqual([3, 0])
  })
})

describe('rangeDigest', () => {
  it('is the SHA-256 of the entries as JSON lines, equal for a slice and its copy', () => {
    const view = createHistory<Message>({ from: conversation() }).view().slice(1, 3)
    const lines = view
      .toArray()
      .map((message) => `${JSON.stringify(message)}\n`)
      .join('')
    expect(rangeDigest(view)).toBe(createHash('sha256').update(lines).digest('hex'))
    expect(rangeDigest(view.toArray().concat())).toBe(rangeDigest(view))
  })
})
