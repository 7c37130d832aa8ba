/** Rows are encoded, read and searched as they are, whatever is added to prototypes. */
import { orThrow } from 'indelible'
import { expect, it } from 'vitest'
import {
  attachedTo,
  decodeRow,
  encodeRow,
  isRowText,
  readRow,
  takeRow,
  termsOf,
  textsOf,
  UnreadRows,
} from '../../src/entry/internal.ts'
import { createHistory } from '../../src/history/index.ts'
import { chunkLength } from '../../src/history/internal.ts'
import { assistant, image, toolCall, toolResult, user, type Message } from '../../src/message/index.ts'
import { portableSha256 as hash, type BlockId } from '../../src/proof/internal.ts'
import { changedBy } from '../pollution.ts'

const messages = [
  user('short'),
  user(`long ${'a b '.repeat(2000)}`),
  assistant(toolCall('a', 'f', { b: 1 })),
  toolResult('a', [image({ type: 'base64', mediaType: 'image/png', data: 'AAEC'.repeat(400) })]),
  user(image({ type: 'block', id: 'a'.repeat(64) as BlockId })),
]
const names = [
  ...['page', 'tag', 'blocks', 'path', 'id', 'as', 'key', 'salt', 'erased', 'stored', 'kind', 'body', 'at', 'message'],
  ...['role', 'content', 'type', 'text', 'meta', 'name', 'source', 'data', 'fills', 'check', 'classify', 'from'],
]

it('nothing that entry does reads a property of a prototype', () => {
  const encoded = messages.map((message) => orThrow(encodeRow(message, 'plan', false, hash)))
  const run = (): unknown => {
    const [read, unread] = [createHistory<Message>(), createHistory<Message>()]
    const rows = new UnreadRows(unread, (position) => new RangeError(`${position}`))
    const out: unknown[] = []
    for (const [index, message] of messages.entries()) {
      out.push(encodeRow(message, 'evidence', index === 1, hash))
      const { row, blocks } = encoded[index] as (typeof encoded)[number]
      const bytes = new Map(blocks.map((block, at) => [row.blocks?.[at] as BlockId, block]))
      const found = readRow({ kind: row.kind, body: row.body, at: 7 })
      if (found._tag === 'Left') return found
      const decoded = decodeRow(row.body)
      out.push(decoded, decoded._tag === 'Right' && isRowText(row.body, decoded.right), attachedTo(message))
      out.push(takeRow(read, found.right, bytes, hash), rows.take(found.right, bytes, hash), textsOf(message))
      out.push(termsOf({ kind: row.kind, body: row.body }, (id) => bytes.get(id)))
    }
    const plain = readRow({ kind: 'entry', body: (encoded[0] as (typeof encoded)[number]).row.body, at: 7 })
    if (plain._tag === 'Right') for (let more = 0; more < chunkLength; more++) rows.take(plain.right, new Map(), hash)
    out.push(rows.end() === undefined)
    const others = [
      { kind: 'note', body: 'x', at: 7 },
      { kind: 'entry', body: '{}', at: 7 },
      { kind: 'entry', body: '{"page":"plan","blocks":[{}],"message":{}}', at: 7 },
    ] as const
    out.push(others.map(readRow))
    for (const history of [read, unread])
      out.push(history.view().toArray(), history.view().pages.toArray(), history.view().at(1))
    return out
  }
  expect(changedBy(names, run)).toEqual([])
})
