/**
 * The places of text in messages and notes, compared: what erasures look for (`contentsOf`), what redaction removes, and
 * what a search finds. A new member of a message, a part or a note fails here until each of the three knows it.
 */
import { expect, it } from 'vitest'
import { createSession, decodeMessage, memoryStore, type JsonObject, type Message, type Part } from 'indelible'
import { textsOf } from '../../src/entry/internal.ts'
import { decodeNote, type Note, type PinNote } from '../../src/notes/internal.ts'
import { createRedactor } from 'indelible/redact'
import type { NewNote } from 'indelible/session'
import { contentsOf } from '../../src/store/internal.ts'

type WithAll<T> = T extends unknown ? { readonly [Name in keyof T]-?: T[Name] } : never

const meta = { app: { deep: [{ value: 'x' }] } }
const texts = [{ type: 'text', text: 'x', meta } satisfies WithAll<Extract<Part, { type: 'text' }>>] as const
const digest = 'ab'.repeat(32)

/** A part of each type, with all of its members. The compiler names the one that lacks a new member. */
const parts: { readonly [Type in Exclude<Part['type'], 'erased'>]: WithAll<Extract<Part, { type: Type }>> } = {
  text: texts[0],
  image: { type: 'image', source: { type: 'url', url: 'x', mediaType: 'x' }, meta },
  file: { type: 'file', source: { type: 'base64', data: 'x', mediaType: 'x' }, name: 'x', meta },
  tool_call: { type: 'tool_call', id: 'x', name: 'x', arguments: 'x', meta },
  tool_result: { type: 'tool_result', callId: 'x', content: texts, name: 'x', isError: true, meta },
  reasoning: { type: 'reasoning', text: 'x', summary: ['x'], signature: 'x', encrypted: 'x', meta },
  refusal: { type: 'refusal', text: 'x', meta },
  provider: { type: 'provider', provider: 'x', raw: { deep: ['x'] }, meta },
}

const message: WithAll<Message> = { role: 'user', content: texts, id: 'x', name: 'x', meta }

type NoteOf<Type extends Note['type']> = Type extends 'pin' ? PinNote : Extract<Note, { type: Type }>
const object = { content: texts, deep: 'x' } as const
const usage = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, cacheWriteHour: 1 }

/** A note of each type, with all of its members. */
const notes: { readonly [Type in Exclude<Note['type'], 'unpin'>]: WithAll<NoteOf<Type>> } = {
  page: { type: 'page', position: 0, kind: 'plan' },
  pin: { type: 'pin', position: 0 },
  summary: { type: 'summary', from: 0, to: 1, sourceDigest: digest, text: 'x', model: 'x', promptDigest: digest },
  retraction: { type: 'retraction', from: 0, to: 1 },
  receipt: { type: 'receipt', len: 1, head: { size: 1, root: digest }, contextDigest: digest, instructions: digest as never, model: 'x', parameters: object, estimated: 1, usage, details: object }, // oxfmt-ignore
  tool_started: { type: 'tool_started', callId: 'x', name: 'x', arguments: 'x' },
  journal: { type: 'journal', step: 'x', lease: 1, said: [{ index: 0, text: 'x', part: texts[0], after: 0 }], answer: object, together: true, started: ['x'], results: [parts.tool_result as never], waiting: ['x'], external: ['x'], closed: true }, // oxfmt-ignore
  input: { type: 'input', id: 'x', state: 'taken', message: object, at: 0, reason: 'x' },
  metadata: { type: 'metadata', value: object, patches: [object], before: object },
  kept_file: { type: 'kept_file', program: 'x', file: 'x', from: 0, to: 1, size: 1, digest, blocks: [{ id: digest as never, key: 'x' }] }, // oxfmt-ignore
  seal: { type: 'seal' },
  erased: { type: 'erased', was: 'x' },
  application: { type: 'application', namespace: 'x', content: object, calls: ['x'] },
}

type Place = readonly [name: string, with_: (text: string) => unknown]

/** Each string `x` in a value, by its path. */
const placesIn = (name: string, value: unknown): readonly Place[] => {
  if (value === 'x') return [[name, (text) => text]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) =>
    placesIn(`${name}.${key}`, inner).map(([path, make]): Place => [
      path,
      (text) => Array.isArray(value) ? value.map((item: unknown, at) => (String(at) === key ? make(text) : item)) : { ...value, [key]: make(text) }, // oxfmt-ignore
    ]),
  )
}

const inMessage: readonly Place[] = [
  ...placesIn('message', message),
  ...Object.entries(parts).flatMap(([type, part]) =>
    placesIn(type, part).map(([path, make]): Place => [path, (text) => ({ role: 'user', content: [make(text)] })]),
  ),
]
const inNotes = Object.entries(notes).flatMap(([type, note]) => placesIn(type, note))

const secret = 'ghp_aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG3hJ5'
const redactor = createRedactor()
const has = (value: unknown): boolean => JSON.stringify(value).includes(secret)
/** The places whose value, with the secret, meets a condition. */
const placesWith = (places: readonly Place[], isSo: (value: unknown) => boolean): readonly string[] =>
  places.filter(([, make]) => isSo(make(secret))).map(([name]) => name)

it('every sample is a message or a note', () => {
  expect(inMessage.length + inNotes.length).toBeGreaterThan(50)
  for (const [name, make] of inMessage)
    expect([name, decodeMessage(make('y'))]).toMatchObject([name, { _tag: 'Right' }])
  for (const [name, make] of inNotes) {
    const { value, patches, ...rest } = make('y') as { readonly value?: unknown; readonly patches?: unknown }
    const other = 'before' in rest && (name.startsWith('metadata.patches') ? { patches } : { value }) // never both
    expect([name, decodeNote({ ...rest, ...other })]).toMatchObject([name, { _tag: 'Right' }])
  }
})

it('erasures look for the text at every place', () => {
  const isForgotten = (value: unknown): boolean => !contentsOf(value).some(({ text }) => text.includes(secret))
  expect([...placesWith(inMessage, isForgotten), ...placesWith(inNotes, isForgotten)]).toEqual([])
})

it('redaction removes a secret from every place but ids, names of tools and speakers, and what only a provider reads', () => {
  expect(placesWith(inMessage, (value) => has(redactor.message(value as Message)))).toEqual([
    'message.id',
    'message.name',
    'file.source.data', // as text: it is base64, and the redactor looks into what it encodes
    'tool_call.id',
    'tool_call.name',
    'tool_result.callId',
    'tool_result.name',
    'reasoning.signature',
    'reasoning.encrypted',
    'provider.provider',
  ])
  expect(placesWith(inNotes, (value) => has(redactor.note(value as Note)))).toEqual([
    'tool_started.callId',
    'tool_started.name',
    'journal.step',
    'journal.started.0',
    'journal.results.0.callId',
    'journal.results.0.name',
    'journal.waiting.0',
    'journal.external.0',
    'input.id',
    'kept_file.program',
    'kept_file.blocks.0.key',
    'erased.was',
    'application.calls.0',
  ])
})

it('redaction leaves no secret in notes whose parts and messages are none, and their shape as it is', async () => {
  const badParts: readonly JsonObject[] = [
    { type: 'unknown', text: secret },
    { type: 'text', text: secret, more: secret },
    { type: 'image', source: secret },
    { type: 'image', source: { type: 'unknown', deep: [secret] } },
    { type: 'tool_result', callId: 'c', content: secret },
    { type: 'reasoning', text: secret, summary: secret },
  ]
  const badContents = [secret, [null, secret], ...badParts.map((part) => [part])]
  const notes: readonly NewNote[] = [
    ...badContents.map((content): NewNote => ({ type: 'input', id: 'i', state: 'queued', message: { role: 'user', content } })), // oxfmt-ignore
    { type: 'input', id: 'i', state: 'queued', message: { role: 'user', content: [], more: secret } },
    ...badParts.map((part): NewNote => ({ type: 'journal', step: 's', said: [{ index: 0, part }] })),
  ]
  const session = await createSession(memoryStore(), { id: 's', redact: true })
  for (const note of notes) await session.note(note)
  const shapeOf = (value: unknown): string => JSON.stringify(value).replaceAll(/"\[redacted[^"]*|"ghp_[^"]*/g, '"')
  expect(session.notes().toArray().map(shapeOf)).toEqual(notes.map(shapeOf))
  expect(has(session.notes().toArray())).toBe(false)
})

it('a search finds the text at every place but meta, ids, addresses and bytes', () => {
  const isNotFound = (value: unknown): boolean => !textsOf(value as Message).some(({ text }) => text.includes(secret))
  expect(placesWith(inMessage, isNotFound).filter((name) => !name.includes('.meta.'))).toEqual([
    'message.id',
    'message.name',
    'image.source.url',
    'image.source.mediaType',
    'file.source.data',
    'file.source.mediaType',
    'tool_call.id',
    'tool_result.callId',
    'reasoning.signature',
    'reasoning.encrypted',
    'provider.provider',
  ])
})
