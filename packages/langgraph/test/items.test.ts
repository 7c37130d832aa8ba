/** Items of channels as messages of the record, and back. */
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { JsonPlusSerializer } from '@langchain/langgraph-checkpoint'
import { expect, it, vi } from 'vitest'
import { assistant, toolResult, user, type Message, type Session } from 'indelible'
import { jsonOf, messageOf, MessageValues, refTo, textOf } from '../src/items.ts'

const serde = new JsonPlusSerializer()
const dump = async (value: unknown): Promise<string> => new TextDecoder().decode((await serde.dumpsTyped(value))[1])

it('a LangChain message is stored as a message, and an item that would come back changed is not', async () => {
  const stored = async (value: object): Promise<Message | undefined> => messageOf(await dump(value))
  expect(await stored(new HumanMessage({ content: 'hi', id: 'h' }))).toMatchObject({ ...user('hi'), id: 'h' })
  expect(await stored(new AIMessage('there'))).toMatchObject({ role: 'assistant' })
  expect(await stored(new ToolMessage({ content: 'rain', tool_call_id: 'c' }))).toMatchObject({ role: 'tool' })
  for (const text of ['', 'text', '"text"', '5', '{}', '{"lc":1', '{"lc":1}', '{"lc":10}', '[{"lc":1}]'])
    expect([text, messageOf(text)]).toEqual([text, undefined])
  const hello = await dump(new HumanMessage('hi'))
  expect(messageOf(` ${hello}`)).toBeUndefined()
  expect(messageOf(hello.replace('"lc":1', '"lc":1.0'))).toBeDefined()
  expect(messageOf(hello.replace('"langchain_core"', '"mine"'))?.role).not.toBe('system')
})

it('an item refers to a message that has its text, with an id that only the item has', async () => {
  const hello = await dump(new HumanMessage({ content: 'hi', id: 'h' }))
  const plain = await dump(new HumanMessage('hi'))
  const message = messageOf(hello) as Message
  const withoutId = messageOf(plain) as Message
  expect(refTo(hello, message, 3)).toEqual({ m: 3 })
  expect(refTo(plain, withoutId, 0)).toEqual({ m: 0 })
  expect(refTo(hello, withoutId, 3)).toEqual({ m: 3, id: 'h' })
  expect(refTo(plain, message, 3)).toBeUndefined() // the message has an id, and the item has none
  expect(refTo(hello.replace('"h"', '"g"'), message, 3)).toBeUndefined()
  expect(refTo(await dump(new HumanMessage({ content: 'other', id: 'h' })), withoutId, 3)).toBeUndefined()
  expect(refTo(await dump(new AIMessage({ content: 'hi', id: 'h' })), withoutId, 3)).toBeUndefined()
  for (const text of [
    '',
    'no JSON',
    '5',
    'null',
    '[]',
    '{}',
    '{"kwargs":{}}',
    '{"kwargs":{"id":5}}',
    '{"kwargs":"id"}',
  ])
    expect([text, refTo(text, withoutId, 3)]).toEqual([text, undefined])
})

it('the text of an item is that of its message, computed once', async () => {
  const texts = await Promise.all([new HumanMessage('hi'), new HumanMessage({ content: 'hi', id: 'h' })].map(dump))
  const messages = [messageOf(texts[0] as string) as Message, assistant('never'), toolResult('c', 'never')]
  let reads = 0
  const session = { view: () => ((reads += 1), { at: (at: number) => messages[at] }) } as unknown as Session
  const [item, withId, whole] = [
    { ref: { m: 0 }, text: undefined },
    { ref: { m: 0, id: 'h' }, text: undefined },
    { ref: '{"a":1}', text: undefined },
  ]
  expect([item, withId].map((one) => JSON.parse(textOf(one, session)) as unknown)).toEqual(
    texts.map((text) => JSON.parse(text) as unknown),
  )
  expect([textOf(whole, session), reads]).toEqual(['{"a":1}', 2])
  expect([textOf(item, session), textOf(whole, session), reads]).toEqual([item.text, '{"a":1}', 2])
  expect(jsonOf([item, withId, whole], session, new MessageValues())).toEqual(
    [...texts, '{"a":1}'].map((text) => JSON.parse(text) as unknown),
  )
})

it('the LangChain messages of at most so many recorded messages are kept, and a recorded message is encoded once', () => {
  const messages = ['a', 'b', 'c'].map((text) => user(text))
  const session = { view: () => ({ at: (at: number) => messages[at] }) } as unknown as Session
  const values = new MessageValues(2)
  const read = (...positions: number[]) =>
    jsonOf(
      positions.map((m) => ({ ref: { m }, text: undefined })),
      session,
      values,
    ) as readonly { readonly kwargs: { readonly content: string } }[]
  const [first] = read(0)
  expect(read(0)[0]).toBe(first)
  expect(read(1, 0, 2).map(({ kwargs }) => kwargs.content)).toEqual(['b', 'a', 'c'])
  expect(values.size).toBe(2)
  const [last] = read(2)
  expect(read(2)[0]).toBe(last)
  const [withId] = jsonOf([{ ref: { m: 2, id: 'x' }, text: undefined }], session, values)
  expect(withId).toMatchObject({ kwargs: { id: 'x', content: 'c' } })
  expect(read(2)[0]).toBe(last)
  expect(last).not.toMatchObject({ kwargs: { id: 'x' } })
})

it('a message of several results, which no graph stores, is read as the first of them, and the others as they are', () => {
  const results = ['x', 'y'].flatMap((id) => toolResult(id, `result ${id}`).content)
  const messages: readonly Message[] = [user('a'), { role: 'tool', content: results }, user('b')]
  const session = { view: () => ({ at: (at: number) => messages[at] }) } as unknown as Session
  const items = messages.map((_, m) => ({ ref: { m }, text: undefined }))
  expect(jsonOf(items, session, new MessageValues())).toMatchObject(
    ['a', 'result x', 'b'].map((content) => ({ kwargs: { content } })),
  )
})

it('the messages of a list are encoded in one call, and those that are known in none', () => {
  const messages = Array.from({ length: 50 }, (_, at) => user(`message ${at}`))
  const session = { view: () => ({ at: (at: number) => messages[at] }) } as unknown as Session
  const items = messages.map((_, m) => ({ ref: { m }, text: undefined }))
  const values = new MessageValues()
  const calls = vi.spyOn(Reflect, 'ownKeys') // each call of a codec looks at Object.prototype once
  const counted = (): number => {
    calls.mockClear()
    jsonOf(items, session, values)
    return calls.mock.calls.filter(([target]) => target === Object.prototype).length
  }
  try {
    expect([counted(), counted()]).toEqual([1, 0])
  } finally {
    calls.mockRestore()
  }
})
