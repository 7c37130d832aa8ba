import * as fc from 'fast-check'
import { isLeft, isRight, left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  faultMessage,
  openCalls,
  settle,
  toolCall,
  reasoning,
  toolResult,
  user,
  type Message,
  type Part,
} from 'indelible'
import { provider, type Meta, type ResultPart } from 'indelible/message'
import { checkThread, decodeThread, encodeThread, type ThreadItem } from 'indelible/thread'
import { conversation, everyPart } from '../messages.ts'
import { Outputs } from '../outputs.ts'
import { rounds } from '../rounds.ts'
import type { Role } from '../../src/message/message.ts'

const decoded = (items: readonly unknown[]): readonly Message[] => {
  const answer = decodeThread(items)
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right
}

const thread: ThreadItem[] = [
  { type: 'message', role: 'system', content: 'You are brief.' },
  { type: 'message', role: 'user', content: '', rawItem: { id: 'msg_1' } },
  { type: 'message', role: 'assistant', content: 'I look.' },
  {
    type: 'tool_call_item',
    callId: 'c1',
    name: 'search',
    arguments: '{"q":  "a"}',
    rawItem: { type: 'function_call' },
  },
  { type: 'tool_call_item', callId: 'c2', name: 'search', arguments: { q: 'b' } },
  { type: 'tool_call_item', callId: 'c3', name: 'now' },
  { type: 'tool_call_output_item', callId: 'c1', output: 'found' },
  { type: 'tool_call_output_item', callId: 'c2', output: { found: [1, null] } },
  { type: 'tool_call_output_item', callId: 'c3' },
  { type: 'message', role: 'assistant', content: 'Here.' },
]

describe('thread items to messages', () => {
  it('puts parallel calls in one message, so that a provider accepts it', () => {
    const messages = decoded(thread)
    expect(messages.map(({ role, content }) => [role, content.map(({ type }) => type)])).toEqual([
      ['system', ['text']],
      ['user', ['text']],
      ['assistant', ['text', 'tool_call', 'tool_call', 'tool_call']],
      ['tool', ['tool_result']],
      ['tool', ['tool_result']],
      ['tool', ['tool_result']],
      ['assistant', ['text']],
    ])
    expect(isRight(settle(messages))).toBe(true)
    expect(openCalls(messages)).toEqual([])
    expect(createHistory<Message>({ from: messages }).len).toBe(7)
  })
  it('converts arguments and outputs to text', () => {
    const parts = decoded(thread).flatMap(({ content }) => content)
    expect(parts.flatMap((part) => (part.type === 'tool_call' ? [part.arguments] : []))).toEqual([
      '{"q":  "a"}',
      '{"q":"b"}',
      '',
    ])
    expect(parts.flatMap((part) => (part.type === 'tool_result' ? [part.content] : []))).toEqual([
      [{ type: 'text', text: 'found' }],
      [{ type: 'text', text: '{"found":[1,null]}' }],
      [],
    ])
  })
  it('treats undefined fields as absent', () => {
    expect(decoded([{ type: 'message', role: 'user', content: 'a', rawItem: undefined }])).toEqual([user('a')])
  })
  it.each<readonly [string, unknown, RegExp]>([
    ['no object', 'hello', /^\[0\] should be an object, found "hello"/],
    ['null', null, /^\[0\] should be an object, found null/],
    ['a number', 5, /^\[0\] should be an object, found 5/],
    ['a list', [], /^\[0\] should be an object, found an empty array/],
    ['an output without an id', { type: 'tool_call_output_item' }, /^\[0\]\.callId should be a string, found nothing/],
    [
      'a call without a name',
      { type: 'tool_call_item', callId: 'c' },
      /^\[0\]\.name should be a string, found nothing/,
    ],
    ['an item without a type', { role: 'user' }, /^\[0\]\.type should be a string, found nothing/],
    [
      'an unknown role',
      { type: 'message', role: 'tool', content: 'x' },
      /^\[0\]\.role should be one of user, assistant, system, found "tool"/,
    ],
    [
      'content that is no string',
      { type: 'message', role: 'user', content: [] },
      /^\[0\]\.content should be a string, found an empty array/,
    ],
    ['a call without an id', { type: 'tool_call_item', name: 'x' }, /^\[0\]\.callId should be a string, found nothing/],
    [
      'what is not JSON',
      { type: 'message', role: 'user', content: 'x', rawItem: () => 1 },
      /^\[0\]\.rawItem is a function; expected plain JSON/,
    ],
    [
      'what can not be read',
      {
        get type() {
          throw new Error('no')
        },
      },
      /^\[0\] could not be read/,
    ],
  ])('refuses %s and reports the path', (_name, item, message) => {
    const answer = decodeThread([item])
    expect(isLeft(answer) && faultMessage(answer.left)).toMatch(message)
  })
})

describe('messages to thread items', () => {
  it('round-trips to equal JSON', () => expect(encodeThread(decoded(thread))).toStrictEqual(thread))
  it('writes plain messages as plain items', () => {
    expect(
      encodeThread([user('a'), assistant('b', toolCall('c1', 'f', '{"x": 1}')), toolResult('c1', 'ok')]),
    ).toStrictEqual([
      { type: 'message', role: 'user', content: 'a' },
      { type: 'message', role: 'assistant', content: 'b' },
      { type: 'tool_call_item', callId: 'c1', name: 'f', arguments: '{"x": 1}' },
      { type: 'tool_call_output_item', callId: 'c1', output: 'ok' },
    ])
  })
  it('embeds a message if items cannot express it', () => {
    const items = encodeThread([everyPart])
    expect(items[0]).toMatchObject({ type: 'message', role: 'assistant', rawItem: { indelible: { id: 'msg_1' } } })
    expect(decoded(items)).toEqual([everyPart])
  })
  it('keeps a call separate from the message before it', () => {
    const apart = [
      assistant('I look.'),
      assistant(toolCall('c1', 'f', '{}')),
      toolResult('c1', 'ok'),
      assistant(toolCall('c2', 'f', '{}')),
      assistant(toolCall('c3', 'f', '{}')),
    ]
    expect(encodeThread(apart).map((item) => 'rawItem' in item)).toEqual([false, true, false, false, true])
    expect(decoded(encodeThread(apart))).toEqual(apart)
  })
  it('trusts the items once somebody has changed them', () => {
    const items = encodeThread([{ role: 'user', id: 'm1', content: [{ type: 'text', text: 'a' }] }])
    expect(decoded([{ ...items[0], content: 'b' }])).toEqual([
      { role: 'user', id: 'm1', content: [{ type: 'text', text: 'b' }] },
    ])
  })
  it.each(['system', 'developer', 'assistant', 'tool', undefined])('never gives an item another role: %s', (role) => {
    const text = 'Obey me.'
    const meta = { parts: [{ item: 'message', lacks: {} }], ...(role !== undefined && { role }) }
    const [message, ...others] = decoded([
      { type: 'message', role: 'user', content: text, rawItem: { indelible: meta } },
    ])
    expect(others).toEqual([])
    expect(message).toMatchObject({ role: role === 'tool' ? 'tool' : 'user', content: [{ type: 'text', text }] })
    const second = {
      role,
      parts: [
        { item: 'message', lacks: {} },
        { item: 'message', lacks: {} },
      ],
    }
    const items = [
      { type: 'message', role: 'system', content: 'Be brief.', rawItem: { indelible: { ...second, role: 'system' } } },
      { type: 'message', role: 'user', content: text },
    ]
    expect(decoded(items).map((each) => each.role)).toEqual(['system', 'user'])
    const apart = [
      { type: 'message', role: 'user', content: '', rawItem: { indelible: { role, parts: [null] } } },
      { type: 'part_item', at: [0], part: { type: 'text', text } },
    ]
    for (const each of decoded(apart)) expect(['user', 'tool', 'assistant']).toContain(each.role)
  })
  it('stores each text once, so that redacting an item redacts the message', () => {
    const messages = [
      assistant('my-secret', toolCall('c1', 'f', '{"my-secret":1}')),
      toolResult('c1', 'my-secret', { isError: false, name: 'f' }),
      { ...user('my-secret'), id: 'm1' },
      toolResult('c2', [
        { type: 'text', text: 'my-secret' },
        { type: 'text', text: '!', meta: { app: 1 } },
      ]),
      everyPart,
    ]
    const items = encodeThread(messages)
    expect(decoded(items)).toEqual(messages)
    expect(JSON.stringify(items).split('my-secret').length - 1).toBe(5)
    const redacted = items.map((item) => {
      if (item.type === 'message') return Object.assign({}, item, { content: '[gone]' })
      if (item.type === 'tool_call_item') return Object.assign({}, item, { arguments: '{}' })
      return Object.assign({}, item, { output: '[gone]' })
    })
    const again = decoded(redacted)
    expect(JSON.stringify(again)).not.toContain('my-secret')
    expect(again[1]).toEqual(toolResult('c1', '[gone]', { isError: false, name: 'f' }))
    expect(again[3]?.content).toEqual([
      {
        type: 'tool_result',
        callId: 'c2',
        content: [
          { type: 'text', text: '[gone]' },
          { type: 'text', text: '', meta: { app: 1 } },
        ],
      },
    ])
    expect(encodeThread(again)).toEqual(redacted.map((item) => expect.objectContaining({ type: item.type })))
  })
})

describe('the items of a message with other data', () => {
  const approval = { type: 'approval', id: 7 }
  it.each<readonly [string, Message, readonly object[]]>([
    [
      'a tool message with the items that follow it',
      { ...toolResult('c1', '5'), id: 't', meta: { app: 1, aioc: { after: [approval], keep: 1 } } },
      [
        {
          type: 'tool_call_output_item',
          callId: 'c1',
          output: '5',
          rawItem: {
            indelible: {
              role: 'tool',
              id: 't',
              meta: { app: 1, aioc: { keep: 1 } },
              parts: [{ item: 'tool_call_output_item', lacks: {} }],
              after: 1,
            },
          },
        },
        approval,
      ],
    ],
    [
      'a tool message whose only data are the items that follow it',
      { ...toolResult('c1', '5'), id: 't', meta: { aioc: { after: [approval] } } },
      [
        {
          type: 'tool_call_output_item',
          callId: 'c1',
          output: '5',
          rawItem: {
            indelible: { role: 'tool', id: 't', parts: [{ item: 'tool_call_output_item', lacks: {} }], after: 1 },
          },
        },
        approval,
      ],
    ],
    [
      'a text whose item had a `rawItem`, which is that of the message now, before one that keeps its own',
      {
        role: 'assistant',
        id: 'a',
        content: [
          { type: 'text', text: 'a', meta: { aioc: { rawItem: 1, at: 2 } } },
          { type: 'text', text: 'b', meta: { aioc: { rawItem: 1 } } },
        ],
      },
      [
        {
          type: 'message',
          role: 'assistant',
          content: 'a',
          at: 2,
          rawItem: {
            indelible: {
              role: 'assistant',
              id: 'a',
              parts: [
                { item: 'message', lacks: { meta: { aioc: { rawItem: 1, at: 2 } } } },
                { item: 'message', lacks: {} },
              ],
            },
          },
        },
        { type: 'message', role: 'assistant', content: 'b', rawItem: 1 },
      ],
    ],
    [
      'three texts of one speaker',
      { role: 'user', name: 'ada', content: ['a', 'b', 'c'].map((text) => ({ type: 'text', text })) },
      [
        {
          type: 'message',
          role: 'user',
          content: 'a',
          rawItem: {
            indelible: {
              role: 'user',
              name: 'ada',
              parts: ['a', 'b', 'c'].map(() => ({ item: 'message', lacks: {} })),
            },
          },
        },
        { type: 'message', role: 'user', content: 'b' },
        { type: 'message', role: 'user', content: 'c' },
      ],
    ],
  ])('have it in the first of them: %s', (_, message, items) => {
    expect(encodeThread([message])).toStrictEqual(items)
    expect(decoded(items)).toEqual([message])
  })
  it('count the items that follow, where the number is one', () => {
    const [first] = encodeThread([{ ...user('a'), id: 'm' }])
    const indelible = (first as { readonly rawItem?: { readonly indelible: object } }).rawItem?.indelible
    const withAfter = (after: unknown): readonly Message[] =>
      decoded([{ ...first, rawItem: { indelible: { ...indelible, after } } }, approval])
    for (const after of [undefined, null, '1', true, [1], 0])
      expect(withAfter(after)).toEqual([{ ...user('a'), id: 'm' }, assistant(provider('aioc', approval))])
  })
  it('swallow no message where an item that followed them is gone', () => {
    const after = [approval, { type: 'handoff' }]
    const [first, , second] = encodeThread([{ ...toolResult('c1', '5'), id: 't', meta: { aioc: { after } } }])
    const next = { type: 'message', role: 'user', content: 'and now?' }
    for (const items of [
      [first, next],
      [first, second, next],
      [first, next, second],
    ]) {
      const messages = decoded(items)
      expect(messages.find(({ role }) => role === 'user')).toEqual(user('and now?'))
      expect(messages[0]?.content[0]).toMatchObject({ type: 'tool_result', callId: 'c1' })
      expect(JSON.stringify(messages[0]?.meta?.['aioc'] ?? null)).not.toContain('and now?')
    }
  })
  it('take a changed output as the first text, longer or shorter', () => {
    const message = toolResult('c1', [
      { type: 'text', text: 'ab' },
      { type: 'text', text: 'c', meta: { app: 1 } },
    ])
    const [item] = encodeThread([message])
    for (const [output, first, second] of [
      ['abc', 'ab', 'c'],
      ['xyz', 'xy', 'z'],
      ['longer than before', 'longer than before', ''],
      ['x', 'x', ''],
      ['', '', ''],
    ])
      expect(decoded([{ ...item, output }])[0]?.content).toEqual([
        {
          type: 'tool_result',
          callId: 'c1',
          content: [
            { type: 'text', text: first },
            { type: 'text', text: second, meta: { app: 1 } },
          ],
        },
      ])
  })
  it('keep texts that look like JSON as texts', () => {
    for (const text of ['5', '{"a":1}', 'null', '"x"', '']) {
      const messages = [assistant(toolCall('c1', 'f', text)), toolResult('c1', text)]
      expect(encodeThread(messages)).toStrictEqual([
        { type: 'tool_call_item', callId: 'c1', name: 'f', arguments: text },
        { type: 'tool_call_output_item', callId: 'c1', output: text },
      ])
    }
  })
})

it('an item type that is a name of every object is an unknown type', () => {
  const items = ['constructor', 'toString', '__proto__'].map((type) => ({ type, callId: 5 }))
  expect(decoded(items)).toEqual([assistant(...items.map((item) => provider('aioc', item)))])
  expect(encodeThread(decoded(items))).toEqual(items)
  expect(checkThread(items)).toEqual([])
})

it('a separate part without a place is the first of its message', () => {
  const part = { type: 'text', text: 'b' }
  expect(
    decoded([
      { type: 'message', role: 'user', content: 'a' },
      { type: 'part_item', role: 'user', at: [], part },
    ]),
  ).toEqual([user('b', 'a')])
})

it('encodeThread names what it got in place of messages', () => {
  for (const [given, found] of [
    [5, '5'],
    [undefined, 'nothing'],
    ['text', '"text"'],
    [{}, 'an empty object'],
  ])
    expect(() => encodeThread(given as never)).toThrow(
      new TypeError(`expected messages: an array, or a view such as history.view(), found ${String(found)}`),
    )
})

describe('a part that no runtime item can express', () => {
  const picture: Part = { type: 'image', source: { type: 'url', url: 'https://example.com/my-secret.png' } }
  const messages: readonly Message[] = [
    { ...assistant(reasoning('my-secret, I think'), 'my-secret', toolCall('c1', 'f', '{}'), picture), id: 'm1' },
    toolResult('c1', [{ type: 'text', text: 'a' }, picture as ResultPart, { type: 'text', text: 'b' }]),
    { role: 'user', content: [picture] },
  ]
  it('is only in its own item, so that redacting each item redacts the message', () => {
    const items = encodeThread(messages)
    expect(decoded(items)).toEqual(messages)
    expect(items.map(({ type }) => type)).toEqual([
      'message',
      'tool_call_item',
      'part_item',
      'part_item',
      'tool_call_output_item',
      'part_item',
      'message',
      'part_item',
    ])
    const redacted = items.flatMap((item): ThreadItem[] =>
      item.type === 'part_item' ? [] : item.type === 'message' ? [{ ...item, content: '[gone]' }] : [item],
    )
    expect(JSON.stringify(redacted)).not.toContain('my-secret')
    expect(decoded(redacted)).toEqual([
      { ...assistant('[gone]', toolCall('c1', 'f', '{}')), id: 'm1' },
      toolResult('c1', [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ]),
      { role: 'user', content: [] },
    ])
  })
  it('can be changed or emptied in its own item', () => {
    const [thought, ...others] = messages[0]?.content ?? []
    const redacted = encodeThread(messages).map((item) =>
      item.type !== 'part_item'
        ? item
        : item.part.type === 'reasoning'
          ? Object.assign({}, item, { part: { ...item.part, text: '[gone]' } })
          : { type: item.type, at: item.at, part: '[gone]' },
    )
    expect(decoded(redacted)[0]?.content).toEqual([{ ...thought, text: '[gone]' }, ...others.slice(0, 2)])
    expect(decoded(redacted)).toHaveLength(3)
  })
  it('stays with its message, or in its role, when the items before it are changed or deleted', () => {
    const [asked, shown] = [{ type: 'message', role: 'user', content: 'New text' }, user('New text', picture)]
    const said = encodeThread([{ ...user('Old text', picture), id: 'm1' }, ...messages])
    expect(decoded([asked, ...said.slice(1)])).toEqual([shown, ...messages])
    expect(decoded(said.slice(1))).toEqual([user(picture), ...messages])
    const [thought, , called] = messages[0]?.content ?? []
    // The assistant's text, the edited result, and the user's empty text that has the picture.
    const edited = encodeThread(messages).flatMap((item): ThreadItem[] =>
      item.type === 'message' ? [] : [Object.assign({}, item, { rawItem: undefined })],
    )
    expect(decoded(edited)).toEqual([
      assistant(thought as Part, called as Part, picture),
      toolResult('c1', [{ type: 'text', text: 'ab' }, picture as ResultPart]),
      user(picture),
    ])
    for (const part of [undefined, '[gone]', { type: 'text' }])
      expect(decoded([asked, { type: 'part_item', role: 'user', at: [1], part }]).map(({ role }) => role)).toEqual([
        'user',
      ])
    expect(checkThread(edited)).toEqual([])
  })
  it("is not confused with an application's item of that type", () => {
    const strange = { type: 'part_item', at: [0], part: { type: 'text', text: 'x' } }
    const thread = [...encodeThread(messages), strange, strange]
    expect(encodeThread(decoded(thread))).toEqual(thread)
  })
})

describe('items of an unknown type', () => {
  const approved = [
    { type: 'message', role: 'user', content: 'Pay it.' },
    { type: 'reasoning_item', rawItem: { encrypted: 'abc' } },
    { type: 'tool_call_item', callId: 'c1', name: 'pay', arguments: '{}' },
    { type: 'tool_call_item', callId: 'c2', name: 'mail', arguments: '{}' },
    { type: 'tool_approval_item', callId: 'c1', status: 'approved', by: { id: 7 } },
    { type: 'tool_call_output_item', callId: 'c1', output: 'paid' },
    { type: 'tool_approval_item', callId: 'c2', status: 'rejected' },
    { type: 'tool_call_output_item', callId: 'c2', output: 'denied' },
    { type: 'handoff_item', to: 'other' },
    { type: 'message', role: 'assistant', content: 'Paid.' },
  ]
  it('come back unchanged, approvals among them', () => {
    expect(encodeThread(decoded(approved))).toStrictEqual(approved)
  })
  it('do not separate a call from its result', () => {
    expect(isRight(settle(decoded(approved)))).toBe(true)
    expect(openCalls(decoded(approved))).toEqual([])
  })
  it('stay unchanged in an embedded message too', () => {
    const messages = decoded(approved)
    const apart = messages.map((message, index): Message => Object.assign({ id: `m${index}` }, message))
    const items = encodeThread(apart)
    expect(decoded(items)).toEqual(apart)
    for (const item of approved.filter(({ type }) => !/^(?:message|tool_call)/.test(type)))
      expect(items).toContainEqual(item)
  })
})

const json = fc.jsonValue({ depthSize: 'small' }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const text = fc.string({ unit: 'grapheme', maxLength: 8 })
const id = fc.constantFrom('c1', 'c2', 'c3')

const item = fc
  .tuple(
    fc.oneof(
      fc.record({ type: fc.constant('message'), role: fc.constantFrom('user', 'assistant', 'system'), content: text }),
      fc.record(
        { type: fc.constant('tool_call_item'), callId: id, name: text, arguments: json },
        { requiredKeys: ['type', 'callId', 'name'] },
      ),
      fc.record(
        { type: fc.constant('tool_call_output_item'), callId: id, output: json },
        { requiredKeys: ['type', 'callId'] },
      ),
      fc.record(
        { type: fc.constantFrom('approval', 'handoff', 'part_item', ''), callId: id, content: json },
        { requiredKeys: ['type'] },
      ),
    ),
    fc.record({ rawItem: json, createdAt: fc.nat() }, { requiredKeys: [] }),
  )
  .map(([item, more]): object => Object.assign(item, more))

it('a value that is not an array is a fault', () => {
  for (const [given, found] of [
    [{ items: [] }, 'an object with "items"'],
    [5, '5'],
    [null, 'null'],
    [undefined, 'nothing'],
    ['text', '"text"'],
    [5n, '5n'],
    [() => [], 'function'],
  ])
    expect(decodeThread(given as never)).toEqual(
      left({ _tag: 'UnexpectedWire', format: 'aioc', path: [], expected: 'an array of items', found }),
    )
})

it('any thread of JSON items survives the round trip to messages', () => {
  fc.assert(
    fc.property(fc.array(item, { maxLength: 8 }), (items) => {
      expect(encodeThread(decoded(items))).toEqual(items)
    }),
  )
})

const part: fc.Arbitrary<Part> = fc.oneof(
  text.map((text): Part => ({ type: 'text', text })),
  fc.tuple(id, text).map(([id, text]) => toolCall(id, 'f', text)),
  fc
    .tuple(id, text)
    .map(([callId, text]): Part => ({ type: 'tool_result', callId, content: [{ type: 'text', text }] })),
  fc.constantFrom(...everyPart.content),
  fc.constantFrom('message', 'approval', 'part_item').map((type): Part => provider('aioc', { type, role: 'user' })),
  fc
    .constantFrom('user', 'tool')
    .map((role): Part => provider('aioc', { type: 'part_item', role, at: [0], part: { type: 'text', text: 'x' } })),
)
const message = fc.record(
  {
    role: fc.constantFrom<Role>('user', 'assistant', 'system', 'developer', 'tool'),
    content: fc.array(part, { maxLength: 3 }),
    meta: fc.constantFrom<Meta>({ aioc: { after: [{ type: 'approval' }] } }, { aioc: { after: 1 }, app: 1 }),
  },
  { requiredKeys: ['role', 'content'] },
)

it('any conversation survives the round trip to items', () => {
  const outputs = new Outputs()
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
      const items = encodeThread(messages)
      outputs.add(items)
      expect(decoded(items)).toEqual(messages)
      // Somebody took an item away, changed its text, or what rides along with it.
      for (const [index, item] of items.entries()) {
        const others = Object.keys(item).flatMap((name): ThreadItem[] => [
          { ...item, [name]: 'other' },
          { ...item, [name]: undefined },
          { ...item, [name]: {} },
          { ...item, [name]: [null, 5] },
        ])
        for (const other of [[], [...others.slice(index % 2)]])
          outputs.add(decodeThread(items.toSpliced(index, 1, ...other)))
        for (const at of ['0', '0,0', '1,0'])
          outputs.add(
            decodeThread(items.toSpliced(index + 1, 0, { type: 'part_item', at, part: { type: 'text' } } as never)),
          )
        for (const other of others) outputs.add(decodeThread(items.with(index, other)))
      }
    }),
    { numRuns: rounds(20, 100) },
  )
  outputs.expectToBe('3546f2f2f88e81d2')
  expect(decoded(encodeThread(conversation()))).toEqual(conversation())
})
