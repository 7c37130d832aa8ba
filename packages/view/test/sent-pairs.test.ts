/** What a call was sent, beside the record and beside the call before it: against what the pairs must add up to. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { assistant, user, type Message } from 'indelible'
import type { BlockId } from 'indelible/internal/proof'
import type { ReceiptNote } from 'indelible/internal/notes'
import type { CallRecord, ModelCall } from '../src/calls/model-calls.ts'
import {
  comparedTexts,
  pairsWithCall,
  pairsWithRecord,
  valueText,
  type ContextMessage,
  type Pair,
} from '../src/calls/sent-pairs.ts'
import { sentRequest } from '../src/calls/sent-request.ts'

const wordOf = ({ message }: ContextMessage): string => (message.content[0] as { readonly text: string }).text
const foreign = (word: string): ContextMessage => ({ message: user(word), source: { type: 'foreign' } })
const clone = (position: number, mended?: true): ContextMessage => ({
  message: user(`${position}`),
  source: { type: 'clone', position, ...(mended !== undefined && { mended }) },
})
/** A pair in short: what is left, what is right. */
const short = (pair: Pair): unknown =>
  pair.type !== 'pair'
    ? [pair.type, pair.from, pair.to]
    : [pair.left && ('message' in pair.left ? wordOf(pair.left) : pair.left.from), pair.right, ...(pair.isSame ? ['same'] : [])] // oxfmt-ignore

it('beside the call before, every message of both is there once and in order, and only what both have is the same', () => {
  const words = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 8 })
  fc.assert(
    fc.property(words, words, (before, after) => {
      const pairs = pairsWithCall(before.map(foreign), after.map(foreign))
      const left: string[] = []
      const right: number[] = []
      for (const pair of pairs) {
        expect(pair.type).not.toBe('unsent')
        if (pair.type !== 'pair') {
          expect(pair.to).toBeGreaterThan(pair.from)
          for (let index = pair.from; index < pair.to; index++) {
            left.push(after[index] as string)
            right.push(index)
          }
          continue
        }
        expect([pair.isSame, pair.left === undefined && pair.right === undefined]).toEqual([false, false])
        if (pair.left !== undefined) left.push(wordOf(pair.left as ContextMessage))
        if (pair.right !== undefined) right.push(pair.right)
      }
      expect([left, right]).toEqual([before, after.map((_, index) => index)])
    }),
  )
})

it('what both calls have at their start and end is the same, however much changed between', () => {
  const many = (word: string): readonly ContextMessage[] =>
    Array.from({ length: 600 }, (_, index) => foreign(`${word}${index}`))
  const around = (inner: readonly ContextMessage[]) => [foreign('first'), ...inner, foreign('last')]
  const pairs = pairsWithCall(around(many('a')), around(many('b'))).map(short)
  expect(pairs).toEqual([
    ['same', 0, 1],
    ...Array.from({ length: 600 }, (_, index) => [`a${index}`, index + 1]),
    ['same', 601, 602],
  ])
  expect(pairsWithCall([foreign('a'), foreign('b')], [foreign('a'), foreign('x'), foreign('y')]).map(short)).toEqual([
    ['same', 0, 1],
    ['b', 1],
    [undefined, 2],
  ])
  expect(pairsWithCall([foreign('a'), foreign('b')], []).map(short)).toEqual([
    ['a', undefined],
    ['b', undefined],
  ])
})

it('beside the record, a foreign message is beside the one that it was sent instead of', () => {
  const roleAt = (position: number): string => (position % 2 === 0 ? 'user' : 'assistant')
  const pairs = (messages: readonly ContextMessage[], len: number) => pairsWithRecord(messages, len, roleAt).map(short)
  const role = (role: Message['role'], word: string): ContextMessage => ({
    message: { role, content: [{ type: 'text', text: word }] },
    source: { type: 'foreign' },
  })
  expect(pairs([clone(0), clone(1), clone(2)], 3)).toEqual([
    [0, 0, 'same'],
    [1, 1, 'same'],
    [2, 2, 'same'],
  ])
  expect(pairs([clone(0), clone(1), clone(2), clone(3)], 4)).toEqual([['same', 0, 4]])
  expect(pairs([clone(0), clone(1, true)], 3)).toEqual([
    [0, 0, 'same'],
    [1, 1],
    ['unsent', 2, 3],
  ])
  expect(pairs([role('user', 'x'), role('assistant', 'y'), clone(2)], 3)).toEqual([
    [0, 0],
    [1, 1],
    [2, 2, 'same'],
  ])
  expect(pairs([role('user', 'x'), clone(2)], 3)).toEqual([
    [undefined, 0],
    ['unsent', 0, 2],
    [2, 1, 'same'],
  ])
  expect(pairs([role('system', 'x')], 1)).toEqual([
    [undefined, 0],
    ['unsent', 0, 1],
  ])
  expect(pairs([role('user', 'x')], 1)).toEqual([[0, 0]])
  expect(pairs([], 0)).toEqual([])
})

it('a message that was sent in another form has the position of the recorded one that says the same', async () => {
  const recorded = [user('a'), assistant('b'), user('c'), user('d')]
  const record: CallRecord = {
    info: { value: { created: 0, metadata: {} } },
    entries: recorded.map((message, position) => ({ position, row: position, at: 0, message, state: undefined })),
    notes: [],
  }
  const texts = new Map([user('a'), assistant('b'), user('else')].map((message, index) => [`${index}`.repeat(64), JSON.stringify(message)])) // oxfmt-ignore
  const [a = '', b = '', other = ''] = texts.keys()
  type Sent = readonly (string | readonly [number, number])[]
  const callOf = (sent: Sent, more: object = {}): ModelCall => {
    const details = { api: 'openai-chat', at: 1, duration: 1, sent, ...more }
    const note = {
      type: 'receipt',
      len: 4,
      contextDigest: '0'.repeat(64),
      model: 'm',
      details,
    } as unknown as ReceiptNote
    return { len: 4, answer: 4, isAnswered: false, receipt: { row: 4, index: 0, after: 3, at: 0, note } }
  }
  const blocks = async (ids: readonly BlockId[]) => ids.map((id) => Buffer.from(texts.get(id) ?? ''))
  const requestOf = (sent: Sent, before?: Sent, more?: object) =>
    sentRequest(record, { blocks, missing: 'missing' }, callOf(sent, more), before && callOf(before))
  const sourcesOf = async (sent: Sent) =>
    (await requestOf(sent))?.messages.map(({ source }) => (source.type === 'clone' ? source.position : source.type))
  expect(await sourcesOf([a, b, [2, 4]])).toEqual([0, 1, 2, 3])
  expect(await sourcesOf([[0, 1], b])).toEqual([0, 1])
  expect(await sourcesOf([other, a, other, b])).toEqual(['foreign', 0, 'foreign', 1])
  expect(await sourcesOf([b, a])).toEqual(['foreign', 0])
  const prefixOf = async (sent: Sent, before?: Sent, more?: object) => (await requestOf(sent, before, more))?.prefix
  expect(await prefixOf([a, [1, 3]])).toBe(0)
  expect(await prefixOf([a, [1, 3]], [a, [1, 3]])).toBe(3)
  expect(await prefixOf([a, [1, 4]], [a, [1, 3]])).toBe(3)
  expect(await prefixOf([a, [1, 2]], [a, [1, 3]])).toBe(2)
  expect(await prefixOf([b, [1, 3]], [a, [1, 3]])).toBe(0)
  const broke = (where: string) => ({ broke: { where, because: 'it changed' } })
  expect(await prefixOf([a, [1, 3]], [a, [1, 3]], broke('messages'))).toBe(3)
  expect(await prefixOf([a, [1, 3]], [a, [1, 3]], broke('tools'))).toBe(0)
  expect((await requestOf([a], undefined, { tools: '9'.repeat(64) }))?.request).toMatchObject({ tools: 'not JSON' })
})

it('messages and values are compared as their texts, or as JSON where only their form differs', () => {
  const message: Message = {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'think' },
      { type: 'text', text: 'say' },
      { type: 'refusal', text: 'no' },
      { type: 'tool_call', id: 'c', name: 'look', arguments: '{}' },
      { type: 'tool_result', callId: 'c', content: [{ type: 'text', text: 'found' }, { type: 'odd' }] } as never,
      { type: 'odd' } as never,
    ],
  }
  expect(comparedTexts(message, user('b'))).toEqual({
    before: 'assistant:\nthink\nsay\nno\nlook {}\nfound\n{"type":"odd"}\n{"type":"odd"}',
    after: 'user:\nb',
    isForm: false,
  })
  const refused: Message = { role: 'user', content: [{ type: 'refusal', text: 'b' }] }
  const { before, after, isForm } = comparedTexts(refused, user('b'))
  expect([isForm, before.includes('refusal'), after.includes('refusal')]).toEqual([true, true, false])
  expect([undefined, 'text', { a: 1 }].map(valueText)).toEqual(['', 'text', '{\n  "a": 1\n}'])
})
