import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  faultMessage,
  interruptedResults,
  mend,
  openCalls,
  settle,
  text,
  toolCall,
  toolResult,
  user,
  type Message,
} from 'indelible'
import { toolResultsOf, type PairingProblem } from 'indelible/message'
import { toolResultPart } from '../../src/message/internal.ts'
import { conversation } from '../messages.ts'
import { itShared, readShared } from '../real-transcripts.ts'
import { isFull, oneIn, rounds } from '../rounds.ts'
import { readTranscript } from '@indelible/transcripts'
import { Outputs } from '../outputs.ts'

const call = (id: string) => toolCall(id, 'f', '{}')
const problems = (messages: readonly Message[]): readonly PairingProblem[] => {
  const answer = settle(messages)
  return isLeft(answer) ? answer.left.problems : []
}
const tags = (messages: readonly Message[]) =>
  problems(messages).map(({ _tag, id, position, part }) => `${_tag} ${id} ${position}.${part}`)

describe('settle', () => {
  it.each<readonly [string, readonly Message[]]>([
    ['nothing', []],
    ['a conversation without calls', [user('a'), assistant('b')]],
    ['results of parallel calls, one message each', conversation()],
    [
      'results in another order than the calls',
      [assistant(call('a'), call('b')), toolResult('b', ''), toolResult('a', '')],
    ],
    [
      'all results in one message, as Anthropic has them',
      [
        assistant(call('a'), call('b')),
        { role: 'user', content: [toolResultPart('a', ''), toolResultPart('b', ''), text('go on')] },
      ],
    ],
    [
      'a result in the message of its call, as provider-run tools have it',
      [
        {
          role: 'assistant',
          content: [call('a'), toolResultPart('a', ''), text('so'), call('b'), toolResultPart('b', '')],
        },
      ],
    ],
    [
      'text between the calls of one message',
      [assistant('x', call('a'), 'y', call('b'), 'z'), toolResult('a', ''), toolResult('b', '')],
    ],
  ])('accepts %s unchanged', (_name, messages) => {
    expect(settle(messages)).toEqual({ _tag: 'Right', right: messages })
    expect(isRight(settle(messages)) && mend(messages).messages).toBe(messages)
    expect(mend(messages).repairs).toEqual([])
  })
  it.each<readonly [string, readonly Message[], readonly string[]]>([
    ['an unanswered call', [assistant(call('a')), user('x')], ['UnansweredCall a 0.0']],
    [
      'an unanswered call at the end',
      [user('x'), assistant('y', call('a'), call('b')), toolResult('a', '')],
      ['UnansweredCall b 1.2'],
    ],
    ['an orphan result', [user('x'), toolResult('a', '')], ['OrphanResult a 1.0']],
    [
      'a duplicate result',
      [assistant(call('a')), toolResult('a', '1'), toolResult('a', '2')],
      ['DuplicateResult a 2.0'],
    ],
    [
      'a duplicate call id',
      [assistant(call('a')), toolResult('a', ''), assistant(call('a')), toolResult('a', '')],
      ['DuplicateCallId a 2.0'],
    ],
    [
      'a duplicate call id in one message',
      [assistant(call('a'), call('a')), toolResult('a', '')],
      ['DuplicateCallId a 0.1', 'UnansweredCall a 0.1'],
    ],
    [
      'a duplicate call id in one message, each with its result',
      [assistant(call('a'), call('a')), toolResult('a', '1'), toolResult('a', '2')],
      ['DuplicateCallId a 0.1'],
    ],
    [
      'a result before its call',
      [toolResult('a', ''), assistant(call('a'))],
      ['ResultBeforeCall a 0.0', 'UnansweredCall a 1.0'],
    ],
    [
      'a result after somebody else spoke',
      [assistant(call('a')), user('x'), toolResult('a', '')],
      ['ResultNotAdjacent a 2.0'],
    ],
    [
      'a result after text in its own message',
      [assistant(call('a')), { role: 'user', content: [text('x'), toolResultPart('a', '')] }],
      ['ResultNotAdjacent a 1.1'],
    ],
    [
      'a result after an empty message',
      [assistant(call('a')), user(), toolResult('a', '')],
      ['ResultNotAdjacent a 2.0'],
    ],
    [
      'calls in two messages and then their results',
      [assistant(call('a')), assistant(call('b')), toolResult('a', ''), toolResult('b', '')],
      ['ResultNotAdjacent a 2.0'],
    ],
  ])('names %s', (_name, messages, expected) => {
    expect(tags(messages)).toEqual(expected)
  })
  it('describes problems in sentences', () => {
    const answer = settle([assistant(call('a'), call('b')), user('x'), toolResult('b', '')])
    expect(isLeft(answer) && faultMessage(answer.left)).toBe(
      'the conversation is not settled: the call "a" at position 0 has no result, and 1 more; append what is missing, or send the copy that mend() derives',
    )
    const result = settle([assistant(call('a'))])
    expect(isLeft(result) && faultMessage(result.left)).toContain('the call "a" at position 0 has no result; append')
    expect(faultMessage({ _tag: 'Unsettled', problems: [] })).toContain('no problem is listed')
  })
})

describe('mend', () => {
  it('adds an error result for each unanswered call', () => {
    const { messages, repairs } = mend([assistant(call('a'), call('b')), toolResult('b', 'ok'), user('x')])
    expect([...messages]).toEqual([
      assistant(call('a'), call('b')),
      toolResult('a', 'No result was recorded for this call.', { isError: true }),
      toolResult('b', 'ok'),
      user('x'),
    ])
    expect(repairs).toEqual([
      { problem: { _tag: 'UnansweredCall', id: 'a', position: 0, part: 0 }, done: 'inserted an error result' },
    ])
  })
  it('moves a late result to its call without loss', () => {
    const late = toolResult('a', 'late', { name: 'f' })
    const { messages } = mend([assistant(call('a')), user('x'), late])
    expect([...messages]).toEqual([assistant(call('a')), late, user('x')])
    expect(Object.isFrozen(messages.at(1))).toBe(true)
  })
  it('drops results without a call and keeps the parts beside them', () => {
    const mixed: Message = { role: 'user', content: [toolResultPart('gone', ''), text('but this')] }
    expect([...mend([mixed, toolResult('gone', '')]).messages]).toEqual([{ role: 'user', content: [text('but this')] }])
  })
  it('gives a call with a used id a new id, and its result too', () => {
    const { messages } = mend([
      assistant(call('a')),
      toolResult('a', '1'),
      assistant(call('a'), call('a_2')),
      toolResult('a', '2'),
      toolResult('a_2', '3'),
    ])
    expect([...messages]).toEqual([
      assistant(call('a')),
      toolResult('a', '1'),
      assistant(call('a_3'), call('a_2')),
      toolResult('a_3', '2'),
      toolResult('a_2', '3'),
    ])
    expect(mend([assistant(call('a_2'), call('a'), call('a'))]).messages.at(0)).toEqual(
      assistant(call('a_2'), call('a'), call('a_3')),
    )
  })
  it('leaves the record unchanged', () => {
    const history = createHistory<Message>({ from: [assistant(call('a')), user('x')] })
    const before = JSON.stringify(history.view())
    expect(mend(history.view()).messages.length).toBe(3)
    expect(JSON.stringify(history.view())).toBe(before)
  })
  it('settles a record with open calls when interrupted results are appended', () => {
    const history = createHistory<Message>({
      from: [user('x'), assistant(call('a'), call('b')), toolResult('b', 'ok')],
    })
    for (const message of interruptedResults(openCalls(history.view()), 'interrupted')) history.append(message)
    expect(isRight(settle(history.view()))).toBe(true)
    expect(history.view().at(-1)).toEqual(toolResult('a', 'interrupted', { name: 'f', isError: true }))
  })
  it('settles any conversation without loss, and changes nothing the second time', () => {
    const id = fc.constantFrom('a', 'b', 'c', 'd', '__proto__')
    const part = fc.oneof(
      id.map(call),
      id.map((each) => toolResultPart(each, `to ${each}`)),
      fc.string().map(text),
    )
    const message = fc.record({
      role: fc.constantFrom('user' as const, 'assistant' as const, 'tool' as const),
      content: fc.array(part, { maxLength: 4 }),
    })
    const outputs = new Outputs()
    fc.assert(
      fc.property(fc.array(message, { maxLength: 12 }), (messages) => {
        const { messages: mended, repairs } = mend(messages)
        outputs.add([...mended], repairs, settle(messages))
        expect(problems([...mended])).toEqual([])
        expect(mend(mended).messages).toBe(mended)
        expect(repairs.map(({ problem }) => problem)).toEqual(problems(messages))
        const said = (of: Iterable<Message>) =>
          [...of].flatMap(({ content }) => content.filter(({ type }) => type === 'text'))
        expect(said(mended)).toEqual(said(messages))
        const calls = (of: Iterable<Message>) =>
          [...of].flatMap(({ content }) => content.filter(({ type }) => type === 'tool_call')).length
        expect(calls(mended)).toBe(calls(messages))
        const results = [...mended].flatMap(toolResultsOf)
        expect(results.length).toBe(calls(messages))
        expect(results.filter(({ isError }) => isError).length).toBe(
          problems(messages).filter(({ _tag }) => _tag === 'UnansweredCall').length,
        )
      }),
      { numRuns: rounds(100, 500) },
    )
    outputs.expectToBe('2cec9060f0f58145')
  })
  it('handles very many messages, and 10,000 parallel calls, in one pass', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => call(`c${index}`))
    const messages = [
      assistant(...many),
      ...many.slice(1).map(({ id }) => toolResult(id, '')),
      ...Array.from({ length: rounds(40_000, 90_000) }, () => user('x')),
    ]
    expect(problems(messages).length).toBe(1)
    expect(mend(messages).messages.length).toBe(messages.length + 1)
  })
})

describe('mend on real transcripts', () => {
  itShared('the pi session has its 18 unanswered calls, and is settled by mend', () => {
    const transcript = readTranscript(readShared('transcripts/coding-agent.pi-session.jsonl'))
    if (isLeft(transcript)) throw new Error(faultMessage(transcript.left))
    const found = problems(transcript.right.messages)
    expect(found.map(({ _tag, position }) => [_tag, position])).toEqual([
      ...Array.from({ length: 16 }, () => ['UnansweredCall', 30]),
      ['UnansweredCall', 216],
      ['UnansweredCall', 737],
    ])
    expect(problems([...mend(transcript.right.messages).messages])).toEqual([])
  })
  itShared('the tau-bench conversations are settled, but for call ids that the model used twice', () => {
    const file = readShared('transcripts/tau-airline-gpt-4o.openai-chat.json')
    const found: string[] = []
    let damaged = 0
    for (let pick = 0; pick < 50; pick += oneIn(5)) {
      const transcript = readTranscript(file, { pick })
      if (isLeft(transcript)) throw new Error(faultMessage(transcript.left))
      const here = problems(transcript.right.messages).map(({ _tag }) => _tag)
      found.push(...here)
      damaged += here.length > 0 ? 1 : 0
      expect(problems([...mend(transcript.right.messages).messages])).toEqual([])
    }
    expect([...new Set(found)]).toEqual(['DuplicateCallId'])
    if (isFull) expect([found.length, damaged]).toEqual([17, 11])
  })
})

describe('mended messages share unchanged parts', () => {
  /** Every object that a value is made of. */
  const objectsOf = (value: unknown, found: Set<unknown> = new Set()): Set<unknown> => {
    if (typeof value !== 'object' || value === null || found.has(value)) return found
    found.add(value)
    for (const inner of Object.values(value)) objectsOf(inner, found)
    return found
  }
  it('only changed parts and their containers are new', () => {
    const history = createHistory<Message>()
    for (let turn = 0; turn < 100; turn++) {
      history.append({
        role: 'assistant',
        content: [text(`turn ${turn}`), call('c'), call(`d${turn}`), text('and')],
        meta: { app: { list: [1, { deep: [2] }] } },
      })
      history.append(toolResult('c', 'one'))
      history.append(toolResult(`d${turn}`, 'two'))
    }
    const recorded = objectsOf(history.view().toArray())
    const mendedView = mend(history.view())
    const { messages, repairs } = mendedView
    expect(repairs).toHaveLength(99)
    expect([mendedView, repairs, ...repairs, ...repairs.map(({ problem }) => problem)].every(Object.isFrozen)).toBe(
      true,
    )
    expect(isRight(settle(messages))).toBe(true)
    const mended = objectsOf(messages)
    const fresh = [...mended].filter((value) => !recorded.has(value))
    // Of 99 turns: the message, its content and one call; the result's message, content and part. And the list itself.
    expect(fresh).toHaveLength(99 * 6 + 1)
    expect(fresh.every((value) => Object.isFrozen(value))).toBe(true)
    expect(mended.size).toBeGreaterThan(2000)
    for (let position = 0; position < 300; position += 3) {
      const [before, after] = [history.view().at(position), messages.at(position)]
      expect(after?.meta).toBe(before?.meta)
      expect(after?.content[0]).toBe(before?.content[0])
      expect(after?.content[3]).toBe(before?.content[3])
    }
  })
  it('and nothing of an unrecorded conversation gets frozen', () => {
    const part = { type: 'text' as const, text: 'mine', meta: { app: {} } }
    const mine: Message[] = [
      {
        role: 'assistant',
        content: [part, toolCall('c', 'f', '{}'), toolCall('c', 'f', '{}')],
        meta: { app: { a: 1 } },
      },
    ]
    const { messages } = mend(mine)
    expect(messages.at(0)?.content[0]).toBe(part)
    expect([part, part.meta, mine[0], mine[0]?.content, mine[0]?.meta].map((value) => Object.isFrozen(value))).toEqual(
      Array.from({ length: 5 }, () => false),
    )
  })
})
