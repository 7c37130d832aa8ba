import { describe, expect, it } from 'vitest'
import {
  assistant,
  developer,
  file,
  image,
  mend,
  reasoning,
  system,
  text,
  textOf,
  toolCall,
  toolCallsOf,
  toolResult,
  user,
} from 'indelible'
import {
  isErased,
  isText,
  isToolCall,
  isToolResult,
  openCalls,
  provider,
  refusal,
  toolResultsOf,
} from 'indelible/message'
import {
  callsOf,
  cutAnswer,
  erasedMessage,
  indelibleMetaOf,
  isCut,
  isRole,
  messageIn,
  resultMessages,
  roles,
  toolResultPart,
  withErasedText,
  withOwnCallId,
} from '../../src/message/internal.ts'
import { everyPart } from '../messages.ts'

describe('message constructors', () => {
  it('read like the conversation', () => {
    expect([system('a'), developer('b'), user('c', 'd'), assistant()]).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'a' }] },
      { role: 'developer', content: [{ type: 'text', text: 'b' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'c' },
          { type: 'text', text: 'd' },
        ],
      },
      { role: 'assistant', content: [] },
    ])
  })
  it('keep text arguments as they are and write objects as JSON', () => {
    expect(toolCall('c', 'f', '{ "a":1 }')).toEqual({ type: 'tool_call', id: 'c', name: 'f', arguments: '{ "a":1 }' })
    expect(toolCall('c', 'f', { a: 1 }).arguments).toBe('{"a":1}')
  })
  it('make results from text or parts', () => {
    expect(toolResult('c', 'done')).toEqual({
      role: 'tool',
      content: [{ type: 'tool_result', callId: 'c', content: [{ type: 'text', text: 'done' }] }],
    })
    expect(toolResult('c', [image({ type: 'url', url: 'u' })], { name: 'shot', isError: false }).content).toEqual([
      {
        type: 'tool_result',
        callId: 'c',
        content: [{ type: 'image', source: { type: 'url', url: 'u' } }],
        name: 'shot',
        isError: false,
      },
    ])
    expect({ role: 'tool', content: [toolResultPart('a', 'x'), toolResultPart('b', 'y')] }.content.length).toBe(2)
  })
  it('make the other part types', () => {
    expect([
      text('t'),
      refusal('no'),
      reasoning('r'),
      reasoning('r', { signature: 's' }),
      provider('p', [1]),
      file({ type: 'url', url: 'u' }),
      file({ type: 'url', url: 'u' }, { name: 'n' }),
    ]).toEqual([
      { type: 'text', text: 't' },
      { type: 'refusal', text: 'no' },
      { type: 'reasoning', text: 'r' },
      { type: 'reasoning', text: 'r', signature: 's' },
      { type: 'provider', provider: 'p', raw: [1] },
      { type: 'file', source: { type: 'url', url: 'u' } },
      { type: 'file', source: { type: 'url', url: 'u' }, name: 'n' },
    ])
  })
  it('return frozen values and leave their arguments unchanged', () => {
    const source = { type: 'url' as const, url: 'u' }
    const made = user('a', image(source))
    expect([made, made.content, made.content[0], made.content[1]].every((value) => Object.isFrozen(value))).toBe(true)
    expect(Object.isFrozen(source)).toBe(false)
  })
})

describe('message queries', () => {
  it('tell parts apart', () => {
    const count = (guard: (part: (typeof everyPart.content)[number]) => boolean) =>
      everyPart.content.filter(guard).length
    expect([isText, isToolCall, isToolResult].map(count)).toEqual([1, 1, 1])
  })
  it('tell roles', () => {
    expect(roles.every(isRole)).toBe(true)
    expect([isRole('function'), isRole(null), isRole('constructor'), Object.isFrozen(roles)]).toEqual([
      false,
      false,
      false,
      true,
    ])
  })
  it('gather text, calls and results', () => {
    const message = assistant('a', toolCall('c1', 'f', ''), 'b', toolCall('c2', 'g', ''))
    expect([
      textOf(message),
      toolCallsOf(message).map(({ id }) => id),
      toolResultsOf(toolResult('c1', '')).length,
    ]).toEqual(['ab', ['c1', 'c2'], 1])
  })
})

describe('an interrupted answer', () => {
  const call = toolCall('c', 'f', '{}')
  const texts = (parts: Parameters<typeof cutAnswer>[0], marked: boolean) =>
    cutAnswer(parts, marked)?.content.map((part) => (part.type === 'text' ? part.text : part.type))

  it('keeps its parts and the text so far, but no reasoning alone', () => {
    expect(cutAnswer([text('a'), 'b\ud83d', ''], false)).toEqual(assistant('a', 'b\ufffd'))
    expect(cutAnswer([reasoning('hm'), call], false)).toEqual(assistant(reasoning('hm'), call))
    for (const parts of [[], [''], [reasoning('hm')], [reasoning('hm'), '']])
      for (const marked of [false, true]) expect(cutAnswer(parts, marked)).toBeUndefined()
  })
  it('has its mark after the last text, otherwise after the reasoning', () => {
    expect(texts(['a'], true)).toEqual(['a', ' [interrupted]'])
    expect(texts(['a '], true)).toEqual(['a ', '[interrupted]'])
    expect(texts([text('a'), call, text('b\n'), call], true)).toEqual([
      'a',
      'tool_call',
      'b\n',
      '[interrupted]',
      'tool_call',
    ])
    expect(texts([reasoning('hm'), reasoning('so'), call], true)).toEqual([
      'reasoning',
      'reasoning',
      '[interrupted]',
      'tool_call',
    ])
    expect(texts([call], true)).toEqual(['[interrupted]', 'tool_call'])
    const cut = cutAnswer(['a'], true)
    expect(cut).toEqual({ ...assistant('a', ' [interrupted]'), meta: { indelible: { interrupted: true } } })
    expect([isCut(cut as never), isCut(assistant('[interrupted]')), isCut({ ...assistant(), meta: {} })]).toEqual([
      true,
      false,
      false,
    ])
  })
})

describe('the answer of a model', () => {
  it('has the calls that wait, without those that its provider answered', () => {
    const [toolCallPart, two] = [toolCall('a', 'f', ''), toolCall('b', 'f', '')]
    const calls = callsOf(assistant('x', toolCallPart, toolResultPart('a', 'done'), two))
    expect([calls, Object.isFrozen(calls)]).toEqual([[two], true])
  })
  it('gets results in one message or in one each', () => {
    const results = [toolResultPart('a', '1'), toolResultPart('b', '2')]
    expect(resultMessages(results, true)).toEqual([{ role: 'tool', content: results }])
    expect(resultMessages(results, false)).toEqual(results.map((result) => ({ role: 'tool', content: [result] })))
    expect([resultMessages([], true), resultMessages([], false)]).toEqual([[], []])
    const [message] = resultMessages(results, true)
    expect([message, message?.content].map((value) => Object.isFrozen(value))).toEqual([true, true])
  })
  it('has call ids of its own', () => {
    const used = new Set(['a', 'a_2'])
    const other = toolCall('b', 'f', '')
    expect(withOwnCallId(other, used)).toBe(other)
    const meta = { openai: { fields: { id: 'item', kept: 1 }, more: 2 }, app: { id: 'app' }, odd: 1 }
    expect(withOwnCallId({ ...toolCall('a', 'f', ''), meta }, used)).toEqual({
      ...toolCall('a_3', 'f', ''),
      meta: { openai: { fields: { kept: 1 }, more: 2 }, app: { id: 'app' }, odd: 1, indelible: { callId: 'a' } },
    })
    expect(withOwnCallId(toolCall('a', 'f', ''), used)).toMatchObject({
      id: 'a_4',
      meta: { indelible: { callId: 'a' } },
    })
    expect([...used]).toEqual(['a', 'a_2', 'b', 'a_3', 'a_4'])
  })
  it('is read from any value, and our own data of it', () => {
    expect([messageIn(assistant('a')), messageIn({ role: 'robot' })]).toEqual([assistant('a'), undefined])
    const own = [undefined, {}, { indelible: 1 }, { indelible: { a: 1 } }]
    expect(own.map((meta) => indelibleMetaOf({ meta } as never))).toEqual([{}, {}, {}, { a: 1 }])
    expect(indelibleMetaOf({})).toEqual({})
  })
})

describe('an erased message', () => {
  const message = assistant('a', reasoning('b'), toolCall('c', 'f', '{}'), 'd', toolResultPart('c', 'e'), 'f', 'g')
  it('has its role and the ids of its calls and results, and is sent with them', () => {
    const erased = erasedMessage({ ...message, id: 'lost', meta: {} } as never)
    expect(erased).toEqual({
      role: 'assistant',
      content: [
        { type: 'erased' },
        { type: 'erased', id: 'c' },
        { type: 'erased' },
        { type: 'erased', callId: 'c' },
        { type: 'erased' },
      ],
    })
    expect(erasedMessage(erased)).toEqual(erased)
    expect(erasedMessage(user())).toEqual({ role: 'user', content: [{ type: 'erased' }] })
    expect([isErased(erased), isErased(message), isErased(user())]).toEqual([true, false, false])
    expect(withErasedText(message)).toBe(message)
    expect(withErasedText({ ...erased, id: 'm' })).toEqual({
      ...assistant('[erased]', toolCall('c', 'erased', '{}'), '[erased]', toolResultPart('c', '[erased]'), '[erased]'),
      id: 'm',
    })
    for (const part of withErasedText(erased).content) expect(Object.isFrozen(part)).toBe(true)
    const partly = { role: 'assistant', content: [{ type: 'erased' }, { type: 'text', text: 'kept' }] } as const
    expect(withErasedText(partly)).toEqual(assistant('[erased]', 'kept'))
    expect(openCalls([erasedMessage(assistant(toolCall('c', 'f', '')))])).toEqual([
      { id: 'c', name: 'erased', position: 0, part: 0 },
    ])
    expect(openCalls([erasedMessage(assistant(toolCall('c', 'f', ''))), erasedMessage(toolResult('c', ''))])).toEqual(
      [],
    )
    expect([erased, erased.content, erased.content[1]].every((value) => Object.isFrozen(value))).toBe(true)
  })
  it('between a call and its result makes the result late', () => {
    expect(
      mend([assistant(toolCall('c', 'f', '')), erasedMessage(user('x')), toolResult('c', '')]).repairs,
    ).toMatchObject([{ done: 'moved the result to its call' }])
  })
})

it('what are no messages is named', () => {
  for (const [given, found] of [
    ['text', '"text"'],
    [undefined, 'nothing'],
    [{ length: '1' }, 'an object with "length"'],
  ] as const)
    expect(() => openCalls(given as never)).toThrow(
      `expected messages: an array, or a view such as history.view(), found ${found}`,
    )
})
