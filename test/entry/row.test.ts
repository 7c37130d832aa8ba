/** Messages as rows: what is taken out of them, which texts are rows, and what may stand for an erased one. */
import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  createHistory,
  file,
  image,
  memoryStore,
  orThrow,
  text,
  toolCall,
  toolResult,
  user,
  type Message,
} from 'indelible'
import {
  stubFault,
  attachedTo,
  decodeRow,
  encodeRow,
  erasedBody,
  isPlaceholder,
  isRowText,
  missingBlocks,
  messageIn,
  NamedBlocks,
  placeholderOf,
  readRow,
  takeRow,
  UnreadRows,
  termsOf,
  textsOf,
  wordsIn,
} from '../../src/entry/internal.ts'
import { chunkLength } from '../../src/history/internal.ts'
import { pageKinds } from 'indelible/pages'
import { aMessage } from '../codecs/any-message.ts'
import { Outputs } from '../outputs.ts'
import { rowLeaf, type BlockId } from '../../src/proof/internal.ts'

const hash = (bytes: Uint8Array): Uint8Array => createHash('sha256').update(bytes).digest()
const idOf = (bytes: Uint8Array): BlockId => Buffer.from(hash(bytes)).toString('hex') as BlockId

const base64 = (bytes: number): string => Buffer.alloc(bytes, 7).toString('base64')
const attached = 'a'.repeat(64) as BlockId
const long: Message = {
  role: 'user',
  id: 'm',
  content: [
    text('ä'.repeat(4096)),
    text('b'.repeat(4095)),
    image({ type: 'base64', mediaType: 'image/png', data: base64(768) }),
    image({ type: 'base64', mediaType: 'image/png', data: base64(765) }),
    file({ type: 'block', id: attached, mediaType: 'application/pdf' }),
    toolCall('c', 'f', 'x y '.repeat(1024)),
    toolResult('c', [text('c '.repeat(2048)), text('ä'.repeat(4096))]).content[0] as never,
  ],
}

it('a block that many rows name is checked, copied and decoded once', () => {
  const message = user('a long text '.repeat(1000))
  const { row, blocks } = orThrow(encodeRow(message, 'conversation', false, hash))
  const id = idOf(blocks[0] as Uint8Array)
  let [read, hashed] = [0, 0]
  const bytes = new Map([[id, blocks[0] as Uint8Array]])
  const get = bytes.get.bind(bytes)
  bytes.get = (key) => {
    read += 1
    return get(key)
  }
  const counting = (given: Uint8Array): Uint8Array => {
    if (given.length > 1000) hashed += 1
    return hash(given)
  }
  const history = createHistory<Message>()
  const unread = new UnreadRows(history, (position, reason) => new RangeError(`${position}: ${reason}`))
  const content = { ...row, at: 5 }
  for (let count = 0; count < 300; count++) orThrow(unread.take(orThrow(readRow(content)), bytes, counting))
  expect(unread.end()).toBeUndefined()
  const eager = createHistory<Message>()
  const named = new NamedBlocks()
  for (let count = 0; count < 300; count++) orThrow(takeRow(eager, orThrow(readRow(content)), bytes, counting, named))
  expect([read, hashed]).toEqual([2, 2])
  for (const view of [history.view(), eager.view()])
    expect(new Set([...view].map((one) => JSON.stringify(one)))).toEqual(new Set([JSON.stringify(message)]))
})

it('a row stores texts from 4,096 characters and base64 from 1,024 as blocks, and decodes back', () => {
  const { row, blocks, attachments } = orThrow(encodeRow(long, 'evidence', true, hash))
  const decoded = orThrow(decodeRow(row.body))
  expect(decoded.blocks.map(({ path, as }) => `${path.join('.')} ${as}`)).toEqual([
    'content.0.text utf8',
    'content.2.source.data base64',
    'content.5.arguments utf8',
    'content.6.content.0.text utf8',
    'content.6.content.1.text utf8',
  ])
  expect([decoded.page, decoded.tagged, isRowText(row.body, decoded)]).toEqual(['evidence', true, true])
  expect(blocks.map(idOf)).toEqual(decoded.blocks.map(({ id }) => id))
  const [first, second, third, fourth] = decoded.blocks.map(({ id }) => id)
  expect([row.kind, row.blocks, attachments]).toEqual([
    'entry',
    [first, second, third, fourth, first, attached],
    [attached],
  ])
  const history = createHistory<Message>()
  const bytes = new Map(blocks.map((block) => [idOf(block), block]))
  const content = { ...row, at: 5, salt: 'ab'.repeat(16) }
  expect(orThrow(takeRow(history, orThrow(readRow(content)), bytes, hash))).toEqual(rowLeaf(content, hash))
  expect([history.view().toArray(), history.view().pages.toArray()]).toEqual([[long], ['evidence']])
  // Each block is looked at, also the first and the last one.
  for (const [id, block] of bytes) {
    const other = new Map(bytes).set(id, Buffer.concat([block, block]))
    expect(takeRow(history, orThrow(readRow(content)), other, hash)).toMatchObject({
      left: `block ${id} is not what was appended`,
    })
  }
  expect(history.len).toBe(1)
  // Data that is no text where the row says so.
  const binary = Buffer.from([0xff, 0xfe])
  const body = row.body.replace(first as string, idOf(binary))
  expect(
    takeRow(history, orThrow(readRow({ ...content, body })), new Map(bytes).set(idOf(binary), binary), hash),
  ).toMatchObject({
    left: 'a block of the row does not decode to its text',
  })
})

it('unread rows are the hashed ones, whatever happens to their blocks', () => {
  const { row, blocks } = orThrow(encodeRow(long, 'evidence', true, hash))
  const history = createHistory<Message>()
  const unread = new UnreadRows(history, (position, reason) => new RangeError(`${position}: ${reason}`))
  const content = { ...row, at: 5 }
  const bytes = new Map(blocks.map((block) => [idOf(block), new Uint8Array(block)]))
  for (const [id, block] of bytes) {
    const other = new Map(bytes).set(id, Buffer.concat([block, block]))
    expect(unread.take(orThrow(readRow(content)), other, hash)).toMatchObject({
      left: `block ${id} is not what was appended`,
    })
  }
  const decoded = orThrow(readRow(content))
  for (let position = 0; position < 2 * chunkLength; position++)
    expect(orThrow(unread.take(decoded, bytes, hash))).toEqual(rowLeaf(content, hash))
  expect(history.len).toBe(chunkLength)
  for (const block of bytes.values()) block.fill(0)
  bytes.clear()
  expect(unread.end()).toBe(undefined)
  expect(unread.end()).toBe(undefined)
  expect(history.len).toBe(2 * chunkLength)
  for (const message of history.view()) expect(message).toEqual(long)
  expect(history.view().pages.count('evidence')).toBe(2 * chunkLength)
})

it('a message with one text in a block keeps it, whatever happens to the bytes that it was read from', () => {
  const message = user('ä'.repeat(4096))
  const { row, blocks } = orThrow(encodeRow(message, 'evidence', true, hash))
  const history = createHistory<Message>()
  const unread = new UnreadRows(history, (position, reason) => new RangeError(`${position}: ${reason}`))
  const bytes = new Map(blocks.map((block) => [idOf(block), new Uint8Array(block)]))
  expect(bytes.size).toBe(1)
  orThrow(unread.take(orThrow(readRow({ ...row, at: 5 })), bytes, hash))
  for (const block of bytes.values()) block.fill(0x61)
  expect(unread.end()).toBe(undefined)
  expect(history.view().at(0)).toEqual(message)
})

it('a chunk retains nothing of later rows, not even their blocks', async () => {
  const history = createHistory<Message>()
  const unread = new UnreadRows(history, () => new Error('unread'))
  const { row } = orThrow(encodeRow(user('short'), 'evidence', true, hash))
  const take = (count: number): WeakRef<object> => {
    const bytes = new Map<BlockId, Uint8Array>()
    for (let position = 0; position < count; position++)
      orThrow(unread.take(orThrow(readRow({ ...row, at: 5 })), bytes, hash))
    return new WeakRef(bytes)
  }
  const blocks = [take(chunkLength), take(1)]
  expect(history.len).toBe(chunkLength)
  setFlagsFromString('--expose-gc')
  await new Promise((resolve) => setImmediate(resolve)) // until then a WeakRef keeps what it was made of
  ;(runInNewContext('gc') as () => void)()
  expect(blocks.map((each) => each.deref())).toEqual([undefined, undefined])
})

it('a non-text block is found at the end of the rows or on the first read of its chunk', () => {
  const binary = Buffer.from([0xff, 0xfe])
  const body = `{"page":"plan","blocks":[{"path":["content",0,"text"],"id":"${idOf(binary)}","as":"utf8"}],"message":${JSON.stringify(user(''))}}`
  const bytes = new Map([[idOf(binary), binary]])
  for (const more of [0, chunkLength]) {
    const history = createHistory<Message>()
    const unread = new UnreadRows(history, (position, reason) => new RangeError(`${position}: ${reason}`))
    for (const each of [body, ...Array.from({ length: more }, () => body.replace(/"blocks":\[.*?\}\],/, ''))])
      orThrow(unread.take(orThrow(readRow({ kind: 'entry', body: each, at: 1 })), bytes, hash))
    const reason = expect.stringContaining('lacks a text that is stored in a block') as unknown
    expect(unread.end()).toEqual(more === 0 ? { position: 0, reason } : undefined)
    if (more > 0) expect(() => history.view().at(1)).toThrow(/^0: .*lacks a text that is stored in a block/)
  }
})

it('short values stay in the body as appended', () => {
  const message = user('short')
  const { row, blocks, attachments } = orThrow(encodeRow(message, 'plan', false, hash))
  expect([row, blocks, attachments]).toEqual([
    { kind: 'entry', body: `{"page":"plan","message":${JSON.stringify(message)}}`, blocks: [] },
    [],
    [],
  ])
  expect(decodeRow(row.body)).toMatchObject({ right: { page: 'plan', tagged: false, blocks: [] } })
  const placeholder = placeholderOf(user('a'), { ids: [attached], reason: 'gone' })
  expect(encodeRow(placeholder, 'plan', false, hash)).toMatchObject({
    left: { _tag: 'UnexpectedShape', path: ['meta', 'indelible', 'missing'] },
  })
})

it.each([
  '',
  '{}',
  '"message":',
  '{"page":"plan","message":{}]',
  '{"page":"nothing","message":{}}',
  '{"message":{}}',
  '{"page":"plan",,"message":{}}',
  '{"page":"plan","blocks":{},"message":{}}',
  '{"page":"plan","blocks":[null],"message":{}}',
  '{"page":"plan","blocks":["text"],"message":{}}',
  ...[
    { path: 'text' },
    { path: [null] },
    { path: ['a', true] },
    { id: 'b'.repeat(63) },
    { id: 5 },
    { as: 'utf16' },
    { key: 5 },
    { key: null },
  ].map((wrong) => {
    const block = { path: ['content', 0, 'text'], id: attached, as: 'utf8', key: 'k', ...wrong }
    return `{"page":"plan","blocks":[${JSON.stringify(block)}],"message":{}}`
  }),
])('%s is not a row', (body) => {
  expect(decodeRow(body)).toEqual({ _tag: 'Left', left: 'is not a stored message' })
})

it('a row with extra fields can be read and is recognized', () => {
  for (const body of [
    '{"page":"plan","blocks":[],"message":{}}',
    '{"page":"plan","more":1,"blocks":[],"message":{}}',
  ]) {
    const decoded = orThrow(decodeRow(body))
    expect([decoded.page, decoded.text, isRowText(body, decoded)]).toEqual(['plan', '{}', false])
  }
})

it.each<readonly [string, readonly unknown[], readonly unknown[]]>([
  [
    'message',
    [
      { role: 'user', content: [] },
      {
        role: 'tool',
        content: [
          { type: 'erased', callId: 'c' },
          { type: 'erased', id: 'c' },
        ],
      },
    ],
    [
      null,
      [],
      { role: 'nobody', content: [] },
      { role: 'user', content: {} },
      { role: 'user', content: [], id: 'm' },
      { role: 'user', content: [{ type: 'erased' }, { type: 'text', text: 'a' }] },
      { role: 'user', content: ['erased'] },
      { role: 'user', content: [{ type: 'erased', id: 1 }] },
      { role: 'user', content: [{ type: 'erased', callId: 1 }] },
      { role: 'user', content: [{ type: 'erased', id: 'c', more: '' }] },
    ],
  ],
  [
    'note',
    [
      { type: 'erased', was: 'summary' },
      { type: 'erased', was: 'a'.repeat(40) },
    ],
    [
      null,
      { type: 'erased' },
      { type: 'erased', was: 5 },
      { type: 'erased', was: 'a'.repeat(41) },
      { type: 'erased', was: 'A b' },
      { type: 'summary', was: 'summary' },
      { type: 'erased', was: 'summary', more: 1 },
    ],
  ],
])('an erased %s is replaced by exactly the stub that an erasure writes', (kind, stubs, others) => {
  const judged = (value: unknown): string | undefined =>
    kind === 'note'
      ? stubFault('note', JSON.stringify(value))
      : stubFault('entry', `{"page":"plan","message":${JSON.stringify(value)}}`)
  expect(stubs.map(judged)).toEqual(stubs.map(() => undefined))
  expect(others.map(judged)).toEqual(others.map(() => `has more than the stub of an erased ${kind}`))
  expect(stubFault(kind === 'note' ? 'note' : 'entry', 'no JSON')).toBeDefined()
  const block = { path: ['content'], id: attached, as: 'utf8' }
  const withBlock = `{"page":"plan","blocks":[${JSON.stringify(block)}],"message":{"role":"user","content":[]}}`
  expect(stubFault('entry', withBlock)).toBeDefined()
})

it('values beside a long text stay as they are: null, numbers, booleans, empty ones', () => {
  const data = {
    none: null,
    number: -0.5,
    yes: true,
    no: false,
    empty: '',
    list: [],
    object: {},
    deep: [[null, { a: 1 }]],
  }
  const message: Message = { ...user('ä'.repeat(4096)), meta: { app: data } }
  const { row, blocks } = orThrow(encodeRow(message, 'plan', false, hash))
  const [block = new Uint8Array()] = blocks
  expect(blocks).toEqual([Buffer.from('ä'.repeat(4096))].map((bytes) => new Uint8Array(bytes)))
  expect(row.body).toBe(
    `{"page":"plan","blocks":[{"path":["content",0,"text"],"id":"${idOf(block)}","as":"utf8"}],"message":${JSON.stringify({ ...user(''), meta: { app: data } })}}`,
  )
  const history = createHistory<Message>()
  orThrow(takeRow(history, orThrow(readRow({ ...row, at: 5 })), new Map([[idOf(block), block]]), hash))
  expect(history.view().toArray()).toEqual([message])
})

it.each<readonly [string, object, string]>([
  ['a note', { kind: 'note' }, 'is not a stored message'],
  ['another kind', { kind: undefined }, 'is not a stored message'],
  ['a body that is bytes', { body: new Uint8Array(2) }, 'is not a stored message'],
  ['a body that is an array', { body: ['{"page":"plan","message":{}}'] }, 'is not a stored message'],
  ['no body', { body: undefined }, 'is not a stored message'],
  ['a stored text that is not encrypted', { stored: '{"page":"plan","message":{}}' }, 'was never encrypted'],
  ['an empty stored text', { stored: '' }, 'was never encrypted'],
  ['a stored value that is no text', { stored: 5 }, 'was never encrypted'],
  ['a stored null', { stored: null }, 'was never encrypted'],
  ['an erased row that has a text', { erased: 'ab'.repeat(32) }, 'was erased, and says more than what stands for an erased message'], // oxfmt-ignore
])('readRow refuses %s', (_, wrong, reason) => {
  const row = { ...orThrow(encodeRow(user('a'), 'plan', false, hash)).row, at: 5 }
  const decoded = orThrow(readRow(row))
  expect([Object.isFrozen(decoded), { ...decoded }]).toEqual([
    true,
    {
      page: 'plan',
      tagged: false,
      text: JSON.stringify(user('a')),
      blocks: [],
      content: { kind: 'entry', body: row.body, at: 5 },
    },
  ])
  expect(readRow({ ...row, ...wrong })).toEqual({ _tag: 'Left', left: reason })
})

it('a mark without a letter hides no word after it', () => {
  expect([...wordsIn('\u0301東京')].map(({ text: word }) => word)).toEqual(['東', '京'])
})

it('every message yields the recorded search terms', () => {
  const outputs = new Outputs()
  fc.assert(
    fc.property(aMessage, fc.string({ unit: 'grapheme' }), fc.constantFrom(...pageKinds), (message, output, page) => {
      const whole = {
        ...message,
        content: [...message.content, text(`${output} Grüße, Straße 東京です ${'x'.repeat(70)}`)],
      }
      const encoded = orThrow(encodeRow(whole, page, output.length % 2 === 0, hash))
      const blocks = new Map(encoded.blocks.map((block) => [idOf(block), block]))
      const row = { kind: 'entry' as const, body: encoded.row.body }
      outputs.add(
        encoded.row,
        textsOf(whole),
        termsOf(row, (id) => blocks.get(id)),
        [...wordsIn(output)],
        attachedTo(whole),
      )
      outputs.add(erasedBody(whole, { page, tagged: false }), isPlaceholder(whole), decodeRow(encoded.row.body))
    }),
  )
  for (const body of ['{"type":"retraction","from":0}', '{"type":"pin"}', '"retraction"', '{"retraction"'])
    outputs.add(termsOf({ kind: 'note', body }, () => undefined))
  const { row } = orThrow(encodeRow(long, 'evidence', true, hash))
  outputs.add(
    termsOf({ kind: 'entry', body: row.body }, () => undefined),
    messageIn(row.body, () => undefined) ?? 'none',
  )
  outputs.expectToBe('a87adc676738235a')
})

it('missing blocks are read from the other store or named', async () => {
  const [here, there] = [memoryStore(), memoryStore()]
  const bytes = ['a', 'b', 'c'].map((one) => Buffer.from(one))
  const ids = bytes.map(idOf)
  await here.putBlocks(bytes.slice(0, 1))
  await there.putBlocks(bytes.slice(0, 2))
  const taken = orThrow(await missingBlocks(here, ids.slice(0, 2), there))
  expect(taken.map((one) => Buffer.from(one).toString())).toEqual(['b'])
  for (const [wanted, from, missing] of [
    [ids, there, ids.slice(2)],
    [ids, undefined, ids.slice(1)],
    [ids, here, ids.slice(1)],
  ] as const)
    expect(await missingBlocks(here, wanted, from)).toMatchObject({ left: { _tag: 'MissingBlock', ids: missing } })
  for (const none of [[], ids.slice(0, 1)]) expect(orThrow(await missingBlocks(here, none, undefined))).toEqual([])
})
