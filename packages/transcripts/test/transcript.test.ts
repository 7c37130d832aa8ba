import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { decodeMessage, faultMessage, mend, openCalls, orThrow, settle, textOf, user } from 'indelible'
import { itShared, readShared } from '../../../test/real-transcripts.ts'
import { lines, read, said } from './reading.ts'
import { rounds } from '../../../test/rounds.ts'
import { exportLines, readTranscript } from '@indelible/transcripts'
import { thawed } from '../../../test/thawed.ts'

const chat = [
  { role: 'system', content: 'Be brief.' },
  {
    role: 'user',
    name: 'ada',
    content: [
      { type: 'text', text: 'hi' },
      { type: 'image_url', image_url: { url: 'u', detail: 'low' } },
      { type: 'input_audio', input_audio: {} },
    ],
  },
  {
    role: 'assistant',
    content: null,
    refusal: null,
    tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{ "a": 1}' } }],
  },
  { role: 'tool', tool_call_id: 'c1', name: 'f', content: 'ok' },
  { role: 'assistant', content: '', refusal: 'no', extra: { kept: true } },
]

const pi = [
  { type: 'session', id: 's', timestamp: 't', cwd: '/' },
  { type: 'message', timestamp: 't', message: { role: 'user', content: [{ type: 'text', text: 'hi' }], timestamp: 1 } },
  { type: 'model_change', timestamp: 't', provider: 'p', modelId: 'm' },
  {
    type: 'message',
    timestamp: 't',
    message: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', thinkingSignature: 's' },
        { type: 'toolCall', id: 'c1', name: 'f', arguments: { a: 1 } },
      ],
      model: 'm',
    },
  },
  {
    type: 'message',
    timestamp: 't',
    message: {
      role: 'toolResult',
      toolCallId: 'c1',
      toolName: 'f',
      content: [{ type: 'image', data: 'aGk=', mimeType: 'image/png' }],
      isError: true,
    },
  },
]

describe('readTranscript', () => {
  it('treats entries in `messages` as OpenAI Responses items only if they have roles', () => {
    const ofAnother = [{ id: '1', type: 'user', content: 'hi' }]
    expect(readTranscript(JSON.stringify({ sessionId: 's', messages: ofAnother }))).toMatchObject({
      left: { _tag: 'UnknownFormat' },
    })
    expect(readTranscript(JSON.stringify([{ content: 'of nobody' }]))).toMatchObject({
      left: { _tag: 'UnknownFormat' },
    })
    const items = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] },
    ]
    const { format, messages, origin } = read(JSON.stringify({ thread: 't', messages: items }))
    expect([format, messages.map(textOf), origin.metadata]).toEqual([
      'openai-responses',
      read(JSON.stringify(items)).messages.map(textOf),
      { thread: 't' },
    ])
  })
  it('reads an array of OpenAI chat messages, and an object that has one', () => {
    const { format, messages, count } = read(JSON.stringify(chat))
    expect([format, count]).toEqual(['openai-chat', 1])
    expect(messages).toEqual([
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
      {
        role: 'user',
        name: 'ada',
        content: [
          { type: 'text', text: 'hi' },
          {
            type: 'image',
            source: { type: 'url', url: 'u' },
            meta: { 'openai-chat': { fields: { image_url: { detail: 'low' } } } },
          },
          { type: 'provider', provider: 'openai-chat', raw: { type: 'input_audio', input_audio: {} } },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'tool_call', id: 'c1', name: 'f', arguments: '{ "a": 1}' }],
        meta: { 'openai-chat': { fields: { refusal: null } } },
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool_result',
            callId: 'c1',
            name: 'f',
            content: [{ type: 'text', text: 'ok' }],
            meta: { 'openai-chat': { fields: { name: 'f' } } },
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: '' },
          { type: 'refusal', text: 'no', meta: { 'openai-chat': { as: 'field' } } },
        ],
        meta: { 'openai-chat': { fields: { extra: { kept: true } } } },
      },
    ])
    expect(read(JSON.stringify({ model: 'm', messages: chat })).messages).toEqual(messages)
  })
  it('reads messages with a system text beside them as Anthropic ones, also if nothing else shows that', () => {
    const messages = [{ role: 'user', content: 'hi' }]
    const formats = [{ messages }, { system: 'Be brief.', messages }].map((body) => read(JSON.stringify(body)).format)
    expect(formats).toEqual(['openai-chat', 'anthropic'])
  })
  it('reads one of several conversations of a tau-bench file', () => {
    const runs = [[chat[0]], [chat[0], chat[3]]].map((traj, task_id) => ({ task_id, trial: 0, reward: 1, traj }))
    expect(read(JSON.stringify(runs))).toMatchObject({ format: 'tau-bench', count: 2, pick: 0 })
    expect(read(JSON.stringify(runs), { pick: 1 }).messages.length).toBe(2)
    expect(said(JSON.stringify(runs), { pick: 2 })).toBe('there is no conversation 2; the file has 2, numbered from 0')
  })
  it('reads a SWE-agent trajectory with results matched by id and thoughts', () => {
    const history = [
      { role: 'system', content: 's', agent: 'main', message_type: 'system_prompt' },
      {
        role: 'assistant',
        content: 't',
        thought: 't',
        action: 'ls',
        agent: 'main',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'bash', arguments: '{"command":"ls"}' } }],
        message_type: 'action',
      },
      { role: 'tool', content: 'a.py', agent: 'main', message_type: 'observation', tool_call_ids: ['c1'] },
    ]
    const { format, messages, origin } = read(
      JSON.stringify({
        history,
        trajectory: [{ action: 'ls' }],
        info: { model_stats: { tokens_sent: 10, tokens_received: 2 } },
        environment: 'e',
      }),
    )
    expect(format).toBe('swe-agent')
    expect(messages[2]?.content).toMatchObject([
      { type: 'tool_result', callId: 'c1', content: [{ type: 'text', text: 'a.py' }] },
    ])
    expect(messages[1]?.meta).toEqual({
      'openai-chat': { fields: { thought: 't', action: 'ls', agent: 'main', message_type: 'action' } },
    })
    expect(origin).toEqual({
      models: [],
      usage: { input: 10, output: 2 },
      calls: [{ model: '', usage: { input: 10, output: 2, cacheRead: 0, cacheWrite: 0 }, calls: 1 }],
      metadata: { info: { model_stats: { tokens_sent: 10, tokens_received: 2 } }, environment: 'e' },
      aside: { 'step of the trajectory': 1 },
    })
    expect(said(JSON.stringify({ history: [{ role: 'robot' }] }))).toContain('history[0].role should be one of')
  })
  it('reads a pi session, with any line ends and a byte order mark', () => {
    const { format, messages } = read(lines(pi))
    expect(format).toBe('pi-session')
    expect(messages).toEqual([
      {
        role: 'user',
        content: [{ type: 'text', text: 'hi' }],
        meta: { 'pi-session': { timestamp: 1, entry: { timestamp: 't' } } },
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', signature: 's' },
          { type: 'tool_call', id: 'c1', name: 'f', arguments: '{"a":1}' },
        ],
        meta: { 'pi-session': { model: 'm', entry: { timestamp: 't' } } },
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool_result',
            callId: 'c1',
            name: 'f',
            isError: true,
            content: [{ type: 'image', source: { type: 'base64', data: 'aGk=', mediaType: 'image/png' } }],
          },
        ],
        meta: { 'pi-session': { entry: { timestamp: 't' } } },
      },
    ])
    expect(read(`\ufeff${lines(pi).replaceAll('\n', '\r\n\r\n')}`).messages).toEqual(messages)
    expect(read(lines(pi.slice(0, 1))).messages).toEqual([])
  })
  it('reads an empty array as an empty conversation', () => expect(read('[]').messages).toEqual([]))

  it.each<readonly [string, string]>([
    ['', 'the text is empty; expected a conversation'],
    ['{"a":', 'line 1, column 6: not JSON: expected a value, found the end'],
    ['[\n  {"role": "user"}\n  {}\n]', 'line 3, column 3: not JSON: expected , or ], found "{"'],
    ['<html>', 'line 1, column 1: not JSON: expected a value, found "<"'],
    ['3', 'this is 3, not a conversation; expected messages of OpenAI, Anthropic, Gemini or the AI SDK'],
    ['3', 'or an export of ChatGPT, Claude.ai or Indelible'],
    ['{}', 'this is an empty object, not a conversation'],
    ['[1]', 'this is an array, not a conversation'],
    [
      '[{"role":"user","content":[{"type":"tool_use"}]}]',
      '[0].content[0].id should be a string, found nothing (read as anthropic)',
    ],
    [
      '[{"role":"user","content":"a"},{"role":"robot"}]',
      '[1].role should be one of system, developer, user, assistant, tool, function, found "robot" (read as openai-chat)',
    ],
    [
      '[{"role":"user","content":"a"},{"role":"tool","content":"a"}]',
      '[1].tool_call_id should be a string, found nothing',
    ],
    [
      '[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"c"}]}]',
      '[1].content[0].name should be a string, found nothing (read as anthropic)',
    ],
    ['[{"role":"user","content":7}]', '[0].content should be a string, null or an array of parts, found 7'],
    ['{"choices":[{"message":{"role":"assistant","content":7}}]}', 'choices[0].message.content should be a string'],
    ['{"type":"other","payload":{}}\n{}', 'this is JSON lines that begin with an object with "type"'],
    ['{"type":"response_item"}\n{}', 'this is JSON lines that begin with an object with "type"'],
    ['{"type":"other"}\n{}', 'this is JSON lines that begin with an object with "type", not a conversation'],
  ])('reports what is wrong with %j', (text, message) => expect(said(text)).toContain(message))

  it('reports where a message is nested too deep', () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000)
    expect(said(`{"messages":[{"role":"user","content":${deep}}]}`)).toContain('messages[0].content[0][0]')
  })

  it('reads around a damaged line and lists it; with strict it is a fault', () => {
    const damaged: readonly (readonly [line: string, reason: string])[] = [
      ['{"type":"message"', 'is cut off'],
      ['{"type":"message",}', 'is not JSON at column 19: expected a key in double quotes, found "}"'],
      [
        '{"type":"message","message":{"role":"bash"}}',
        'message.role should be one of user, assistant, toolResult, bashExecution, custom, hookMessage, branchSummary, found "bash"',
      ],
      ['{"type":"message"}', 'message should be an object, found nothing'],
      [
        '{"type":"invention","message":{"role":"user","content":"a"}}',
        'type should be a known kind of line, because it holds a message, found "invention"',
      ],
      ['17', 'is 17, not an entry'],
      ['\u0000\u0000', 'has 2 NUL characters at its start, where an append was interrupted'],
      [`{"type":"custom","data":${'['.repeat(1500)}${']'.repeat(1500)}}`, 'is nested deeper than 1000 levels'],
    ]
    for (const [line, reason] of damaged) {
      const [header, first, ...rest] = lines(pi).split('\n') as [string, string, ...string[]]
      const text = [header, first, line, ...rest].join('\n')
      const { messages, damage } = read(text)
      expect(messages).toEqual(read(lines(pi)).messages)
      expect(damage.map((found) => [found.line, found.reason.replace(/^data\S* /, '')])).toEqual([[3, reason]])
      const strict = readTranscript(text, { strict: true })
      expect(isLeft(strict) && faultMessage(strict.left)).toMatch(/^line 3 .* \(read as pi-session\)$/s)
    }
    const cut = read(lines(pi).slice(0, -3))
    expect([cut.messages.length, cut.damage]).toEqual([2, [{ line: 5, reason: 'is cut off' }]])
    const headless = read(lines(pi).slice(10))
    expect([headless.messages.length, headless.damage.length]).toEqual([3, 1])
  })
  it('never throws for any input', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.array(fc.json()).map((values) => values.join('\n')),
        ),
        (text) => {
          const answer = readTranscript(text)
          if (isLeft(answer)) expect(faultMessage(answer.left)).not.toBe('')
        },
      ),
      { numRuns: rounds(100, 500) },
    )
  })
})

describe('readTranscript on real transcripts', () => {
  itShared('every tau-bench conversation becomes messages, with every call answered', () => {
    const text = readShared('transcripts/tau-airline-gpt-4o.openai-chat.json')
    let messages = 0
    for (let pick = 0; pick < 50; pick++) {
      const found = read(text, { pick })
      expect(found.count).toBe(50)
      expect(found.messages.every((message) => isRight(decodeMessage(message)))).toBe(true)
      messages += found.messages.length
    }
    expect(messages).toBe(1384)
  })
  itShared('the pi session has 914 messages, 391 calls, and 18 without a result', () => {
    const { messages } = read(readShared('transcripts/coding-agent.pi-session.jsonl'))
    expect(messages.length).toBe(914)
    expect(messages.every((message) => isRight(decodeMessage(message)))).toBe(true)
    expect(messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_call')).length).toBe(391)
    expect(openCalls(messages).map(({ position }) => position)).toEqual([
      ...Array.from({ length: 16 }, () => 30),
      216,
      737,
    ])
    expect(isRight(settle(messages))).toBe(false)
    const mended = mend(messages)
    expect(isRight(settle(mended.messages))).toBe(true)
    expect(mended.repairs.filter(({ done }) => done === 'inserted an error result').length).toBe(18)
  })
  itShared('says where the pi session comes from', () => {
    const { origin, notes, damage, losses } = read(readShared('transcripts/coding-agent.pi-session.jsonl'))
    expect(origin).toMatchObject({
      version: '1',
      id: 'd703a1a9-1b7b-4fb1-b512-c9738b1fe617',
      started: '2025-11-20T23:33:50.805Z',
      metadata: { cwd: '/Users/badlogic/workspaces/pi-mono' },
    })
    expect(origin.models[0]).toBe('gpt-5.1-codex')
    expect(origin.usage?.output).toBeGreaterThan(1000)
    expect([notes.length, damage, losses]).toEqual([104, [], []])
  })
  itShared('SWE-agent trajectories of both styles', () => {
    const called = read(readShared('transcripts/swe-marshmallow-function-calling.swe-agent.json'))
    expect([called.format, called.messages.length]).toEqual(['swe-agent', 28])
    // The model gave two of its ids to six calls, which is what the demonstration was recorded with.
    const settled = settle(called.messages)
    expect(isLeft(settled) && settled.left.problems.map(({ _tag, position }) => [_tag, position])).toEqual(
      [14, 18, 22, 24].map((position) => ['DuplicateCallId', position]),
    )
    expect(called.messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_call')).length).toBe(13)
    expect(Object.keys(called.origin.metadata)).toEqual(['info', 'replay_config', 'environment'])
    const plain = read(readShared('transcripts/swe-marshmallow-text.swe-agent.json'))
    expect(plain.messages.map(({ role }) => role).join(' ')).toMatch(/^system user( assistant user)+ assistant$/)
    expect(read(readShared('transcripts/swe-function-calling-simple.swe-agent.json')).messages.length).toBe(12)
  })
})

it('a body is read by the first of its lists that is a conversation', () => {
  const input = [{ type: 'message', role: 'user', content: 'hi' }]
  for (const messages of [[5], [{ of: 'nobody' }], []])
    expect(readTranscript(JSON.stringify({ messages, input }))).toMatchObject({
      right: { format: 'openai-responses', messages: [{ role: 'user' }] },
    })
})

it('a transcript is frozen, all the way down, with its pages if it is one of ours', () => {
  const ours = [...exportLines({ id: 's', metadata: {}, rows: [{ message: user('a'), page: 'plan', at: 1 }], head: { size: 1 } } as never)].join('') // oxfmt-ignore
  const transcript = orThrow(readTranscript(ours))
  expect(transcript.pages).toEqual(['plan'])
  for (const text of [ours, '[{"role":"user","content":"a"}]']) {
    const read = orThrow(readTranscript(text))
    expect(thawed(read, 'transcript')).toBeUndefined()
  }
})
