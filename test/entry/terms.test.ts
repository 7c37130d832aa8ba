/** The texts that a search finds in a message, and the terms of a row. */
import { expect, it } from 'vitest'
import {
  assistant,
  file,
  image,
  orThrow,
  reasoning,
  system,
  text,
  toolCall,
  toolResult,
  user,
  type Message,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { encodeRow, messageIn, termsOf, textsOf } from '../../src/entry/internal.ts'
import { kindTerm, retractionTerm, roleTerm, unreadTerm } from '../../src/entry/terms.ts'
import { blockIdOf, portableSha256, type BlockId } from '../../src/proof/internal.ts'

const id = 'a'.repeat(64) as BlockId
const long = (letter: string, length = 256): string => letter.repeat(length)

it.each<readonly [string, Message, readonly string[]]>([
  ['texts', user('a', '', 'b'), ['message: a', 'message: b']],
  ['a refusal', assistant(refusal('no')), ['message: no']],
  [
    'reasoning and its summary',
    { role: 'assistant', content: [{ type: 'reasoning', text: 'hm', summary: ['one', '', 'two'] }] },
    ['message: hm', 'message: one', 'message: two'],
  ],
  ['reasoning without a summary', assistant(reasoning('hm')), ['message: hm']],
  ['the name of a file', user(file({ type: 'url', url: 'https://x.test' }, { name: 'a.pdf' })), ['message: a.pdf']],
  ['nothing of a file without a name', user(file({ type: 'url', url: 'https://x.test' })), []],
  ['nothing of an image', user(image({ type: 'url', url: 'https://x.test/a.png' })), []],
  [
    'the name and arguments of a call',
    assistant(toolCall('c', 'look', '{"at":["a\\nb",1,null,true],"deep":{"in":"x"}}')),
    ['tool: look at: a\nb\nat: 1\nat: true\nin: x'],
  ],
  ['arguments that are no JSON', assistant(toolCall('c', 'look', '{"at": ')), ['tool: look {"at": ']],
  ['arguments that are text', assistant(toolCall('c', 'look', '"so"')), ['tool: look so']],
  [
    'the name and parts of a result',
    toolResult('c', [text('seen'), image({ type: 'url', url: 'https://x.test' }), text('')], { name: 'look' }),
    ['tool: look', 'tool: seen'],
  ],
  ['a text of the role tool', { role: 'tool', content: [text('by hand')] }, ['tool: by hand']],
  [
    'the names and strings of provider data',
    assistant(provider('x', { query: 'cats', none: null, results: [{ title: 'A' }, 'b', 2] })),
    ['message: query: cats\ntitle: A\nresults: b\nresults: 2'],
  ],
  ['nothing of provider data without strings', assistant(provider('x', [null, {}])), []],
  [
    'no long data without white space',
    assistant(provider('x', { short: long('a', 255), data: long('b'), said: `${long('c')} d` })),
    [`message: short: ${long('a', 255)}\nsaid: ${long('c')} d`],
  ],
])('the texts of a message are %s', (_, message, texts) => {
  expect(textsOf(message).map(({ of, text: output }) => `${of}: ${output}`)).toEqual(texts)
})

it('unexpected parts of a message have no texts', () => {
  const strange = { role: 'user', content: [null, 'text', 5, { type: 'new' }, { type: 'text', text: 5 }, text('a')] }
  expect(textsOf(strange as never)).toEqual([{ of: 'message', text: 'a' }])
  const result = { type: 'tool_result', callId: 'c', content: [null, { type: 'text', text: 'a' }] }
  expect(textsOf({ role: 'tool', content: [result, { ...result, content: 'none' }] } as never)).toEqual([
    { of: 'tool', text: 'a' },
  ])
  const thought = { type: 'reasoning', text: 'hm', summary: 'none' }
  expect(textsOf({ role: 'assistant', content: [thought] } as never)).toEqual([{ of: 'message', text: 'hm' }])
})

const noBlock = (): undefined => undefined
const bodyOf = (message: Message): string => orThrow(encodeRow(message, 'conversation', false, portableSha256)).row.body

it('the terms of a row are its role, the kinds of its texts and their words', () => {
  const message = assistant('Look, a cat', toolCall('c', 'find', '{"q":"cat dog"}'))
  expect(termsOf({ kind: 'entry', body: bodyOf(message) }, noBlock)).toEqual([
    roleTerm('assistant'),
    kindTerm('message'),
    'look',
    'a',
    'cat',
    kindTerm('tool'),
    'find',
    'q',
    'dog',
  ])
  expect(termsOf({ kind: 'entry', body: bodyOf(system()) }, noBlock)).toEqual([roleTerm('system')])
  expect(new Set([roleTerm('tool'), kindTerm('tool'), retractionTerm, unreadTerm]).size).toBe(4)
})

it.each<readonly [string, string, readonly string[]]>([
  ['a retraction', '{"type":"retraction","from":0,"to":1}', [retractionTerm]],
  ['another note', '{"type":"pin","position":0}', []],
  ['a note that mentions one', '{"type":"application","content":"retraction"}', []],
  ['a text', '"retraction"', []],
  ['no JSON', '{"type":"retraction"', []],
])('the terms of a note: %s', (_, body, terms) => {
  expect(termsOf({ kind: 'note', body }, noBlock)).toEqual(terms)
})

it.each([
  '',
  '{}',
  'indelible-encrypted',
  '{"page":"plan","message":{',
  '{"page":"plan","message":{"role":"nobody","content":[]}}',
  '{"page":"plan","message":{"role":"user","content":{}}}',
  '{"page":"plan","message":null}',
])('an unreadable row has no terms and no message: %s', (body) => {
  expect(termsOf({ kind: 'entry', body }, noBlock)).toEqual([])
  expect(messageIn(body, noBlock)).toBeUndefined()
})

it('a row with a missing block can only be found as unread, and attached data is never read', () => {
  const picture = image({ type: 'base64', mediaType: 'image/png', data: Buffer.alloc(900, 7).toString('base64') })
  const data = Buffer.alloc(900, 9).toString('base64')
  const message = assistant(
    'word '.repeat(1000),
    picture,
    toolCall('c', 'f', JSON.stringify({ a: data })),
    provider('x', { data }),
  )
  const { row, blocks } = orThrow(encodeRow(message, 'conversation', false, portableSha256))
  const byId = new Map(blocks.map((bytes) => [blockIdOf(bytes, portableSha256), bytes]))
  const asked: BlockId[] = []
  const found = messageIn(row.body, (wanted) => (asked.push(wanted), byId.get(wanted)))
  const [, ofPicture] = blocks
  expect(asked).not.toContain(blockIdOf(ofPicture as Uint8Array, portableSha256))
  expect(found).toEqual({
    ...message,
    content: message.content.with(1, image({ type: 'base64', mediaType: 'image/png', data: '' })),
  })
  expect(termsOf({ kind: 'entry', body: row.body }, (wanted) => byId.get(wanted))).toContain('word')
  expect(termsOf({ kind: 'entry', body: row.body }, noBlock)).toEqual([unreadTerm])
  for (const path of [[], ['none', 'text'], ['role', 'text']]) {
    const wrong = `{"page":"plan","blocks":[${JSON.stringify({ path, id, as: 'utf8' })}],"message":${JSON.stringify(user('a'))}}`
    expect(messageIn(wrong, () => Buffer.from('b'))).toBeUndefined()
    expect(termsOf({ kind: 'entry', body: wrong }, () => Buffer.from('b'))).toEqual([])
  }
})
