/** Items of channels as messages of the record, and back. */
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { JsonPlusSerializer } from '@langchain/langgraph-checkpoint'
import { expect, it } from 'vitest'
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
  expect([item, withId, whole].map((one) => jsonOf(one, session, new MessageValues()))).toEqual(
    [...texts, '{"a":1}'].map((text) => JSON.parse(text) as unknown),
  )
})

it('the LangChain messages of at most so many recorded messages are kept, and a recorded message is encoded once', () => {
  const messages = ['a', 'b', 'c'].map((text) => user(text))
  const session = { view: () => ({ at: (at: number) => messages[at] }) } as unknown as Session
  const values = new MessageValues(2)
  const read = (m: number) => jsonOf({ ref: { m }, text: undefined }, session, values)
  expect(read(0)).toBe(read(0))
  expect([read(1), read(2)].map((value) => (value as { kwargs: { content: string } }).kwargs.content)).toEqual([
    'b',
    'c',
  ])
  expect(values.size).toBe(2)
  expect(read(2)).toBe(read(2))
  const withId = jsonOf({ ref: { m: 2, id: 'x' }, text: undefined }, session, values)
  expect(withId).toMatchObject({ kwargs: { id: 'x', content: 'c' } })
  expect(read(2)).not.toMatchObject({ kwargs: { id: 'x' } })
})
