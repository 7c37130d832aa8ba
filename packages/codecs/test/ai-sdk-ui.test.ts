import { validateUIMessages, type UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  developer,
  faultMessage,
  file,
  image,
  interruptedResults,
  mend,
  openCalls,
  reasoning,
  settle,
  system,
  toolCall,
  toolResult,
  user,
  type JsonObject,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { toolResultPart } from 'indelible/internal/message'
import { aiModelMessages, aiUiMessages } from '@indelible/codecs/ai-sdk'
import { expectLaw, expectLawUnderDamage, decodeOrFail, write } from '../../../test/codecs/law.ts'
import { oneIn } from '../../../test/rounds.ts'
import { withSmallStack } from '../../../test/small-stack.ts'
import type { Codec } from 'indelible/internal/codecs'

const options = { anthropic: { cacheControl: { type: 'ephemeral' } } }
const tool = { type: 'tool-f', toolCallId: 'c', input: { a: 1 } }
const approval = { id: 'a', requestReason: 'writes' }

/** Every state of a tool part, of a tool that is known and of one that is not. */
const toolParts = [
  { state: 'input-streaming', rawInput: '{"a', inputEncoding: 'json' },
  { state: 'input-streaming', input: { a: 1 } },
  { state: 'input-streaming', input: undefined },
  { state: 'input-available', title: 'F', toolMetadata: { from: 'mcp' }, callProviderMetadata: options },
  { state: 'input-available', input: 'ls\n' },
  { state: 'approval-requested', approval },
  { state: 'approval-responded', approval: { ...approval, approved: true } },
  { state: 'approval-responded', approval: { ...approval, approved: false, reason: 'not now' } },
  { state: 'output-available', output: 'text', preliminary: true },
  {
    state: 'output-available',
    output: { rows: [1, '2', null] },
    approval: { ...approval, approved: true },
    resultProviderMetadata: options,
  },
  { state: 'output-available', output: null },
  { state: 'output-available' },
  { state: 'output-available', output: '{"a":1}', providerExecuted: true },
  { state: 'output-error', errorText: 'no such file', rawInput: 'x', input: undefined },
  {
    state: 'output-error',
    errorText: 'no',
    providerExecuted: true,
    callProviderMetadata: options,
    resultProviderMetadata: options,
  },
  { state: 'output-denied', approval: { ...approval, approved: false, reason: 'no' } },
  { state: 'output-denied', approval: { ...approval, approved: false } },
  { state: 'to-come', output: 1 },
].flatMap((state) => [
  { ...tool, ...state },
  { ...tool, ...state, type: 'dynamic-tool', toolName: 'f', dynamic: false },
])

const everything = JSON.parse(
  JSON.stringify([
    {
      id: 's',
      role: 'system',
      parts: [
        { type: 'text', text: 'Be brief.', providerMetadata: options },
        { type: 'text', text: '' },
      ],
    },
    {
      id: 'u',
      role: 'user',
      metadata: { sent: 'today', deep: [1, { __proto__: null }] },
      parts: [
        { type: 'text', text: 'look\u0000\u2028' },
        { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=', filename: 'a.png' },
        { type: 'file', mediaType: 'image/*', url: 'https://example.com/a' },
        {
          type: 'file',
          mediaType: 'application/pdf',
          url: 'https://example.com/a.pdf',
          filename: 'a.pdf',
          providerMetadata: options,
        },
        { type: 'file', mediaType: 'application/pdf', url: '', providerReference: { openai: 'file-1' } },
        { type: 'data-place', id: 'd', data: { city: 'Rome' } },
      ],
    },
    { id: 'u2', role: 'user', parts: [] },
    {
      id: 'a',
      role: 'assistant',
      metadata: { model: 'm' },
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'hm', state: 'done', providerMetadata: { anthropic: { signature: 'sig' } } },
        {
          type: 'reasoning',
          id: 'r',
          text: '',
          state: 'streaming',
          providerMetadata: { openai: { itemId: 'rs', reasoningEncryptedContent: 'enc' } },
        },
        { type: 'reasoning-file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=' },
        { type: 'text', text: 'Let me look.', state: 'done', citations: [{ source: {} }] },
        { type: 'text', text: 'so', state: 'streaming' },
        { type: 'text', text: 'so', providerMetadata: options },
        { type: 'source-url', sourceId: '1', url: 'https://example.com', title: 'x' },
        { type: 'source-document', sourceId: '2', mediaType: 'text/plain', title: 'x' },
        { type: 'custom', kind: 'openai.compaction', providerMetadata: { openai: { itemId: 'cmp_1' } } },
        { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=' },
        ...toolParts.map((part, index) => Object.assign({}, part, { toolCallId: `c${index}` })),
        { type: 'step-start' },
        { type: 'step-start' },
        { type: 'text', text: 'then', state: 'done' },
        { type: 'steering-message', id: 'steer', parts: [{ type: 'text', text: 'no, wait' }], sent: 1 },
        { type: 'step-start' },
        { ...tool, state: 'output-available', output: 'again' },
        { type: 'data-progress', data: 1 },
        { type: 'step-start' },
      ],
    },
    { id: 'a2', role: 'assistant', parts: [{ type: 'text', text: 'more', state: 'done' }] },
    {
      role: 'assistant',
      parts: [
        { type: 'step-start', later: true },
        { type: 'text', text: 'more', state: 'done' },
      ],
    },
    { id: 'a4', role: 'assistant', parts: [] },
    { id: 'a5', role: 'assistant', parts: [{ type: 'step-start' }] },
    {
      id: 'a6',
      role: 'assistant',
      parts: [
        { type: 'steering-message', id: 'steer', parts: [] },
        { type: 'text', text: 'x', state: 'done' },
      ],
    },
    {
      id: 'a7',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'text', text: 'x', state: 'done' },
        { type: 'steering-message', id: 'steer', parts: [] },
        { type: 'step-start' },
      ],
    },
    {
      id: 'a8',
      role: 'assistant',
      parts: [{ type: 'step-start' }, { type: 'step-start' }, { type: 'step-start' }],
      createdAt: '2026',
    },
  ]),
) as readonly JsonObject[]

/** More than a call takes arguments. */
const many = <T>(make: (index: number) => T): readonly T[] => Array.from({ length: 16_000 }, (_, index) => make(index))

describe('ai-sdk: UI messages', () => {
  it('round-trips every role, part and state, including unknown ones', () => {
    expectLaw(aiUiMessages, everything)
    for (const message of everything) expectLaw(aiUiMessages, [message])
    for (const part of toolParts) {
      const [wire] = JSON.parse(
        JSON.stringify([{ id: 'a', role: 'assistant', parts: [part, { type: 'text', text: '' }] }]),
      ) as [JsonObject]
      expectLaw(aiUiMessages, [wire])
      expectLaw(aiUiMessages, [wire, wire])
      for (const [at, other] of toolParts.entries())
        if ((at + toolParts.indexOf(part)) % oneIn(3) === 0)
          expectLaw(aiUiMessages, JSON.parse(JSON.stringify([{ id: 'a', role: 'assistant', parts: [part, other] }])))
    }
  })
  it('round-trips randomly damaged input', () => expectLawUnderDamage(aiUiMessages, everything))

  it('reads each step as one assistant message and its results', () => {
    const messages = decodeOrFail(aiUiMessages, [
      {
        id: 'a',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { type: 'text', text: 'Let me look.', state: 'done' },
          { type: 'tool-f', toolCallId: '1', state: 'output-available', input: { a: 1 }, output: 'one' },
          { type: 'dynamic-tool', toolName: 'g', toolCallId: '2', state: 'output-error', input: {}, errorText: 'no' },
          {
            type: 'tool-web',
            toolCallId: '3',
            state: 'output-available',
            input: {},
            output: [1],
            providerExecuted: true,
          },
          { type: 'step-start' },
          { type: 'text', text: 'Found.', state: 'done' },
        ],
      },
    ])
    expect(messages).toEqual([
      {
        role: 'assistant',
        id: 'a',
        content: [
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_call', id: '1', name: 'f', arguments: '{"a":1}' },
          { type: 'tool_call', id: '2', name: 'g', arguments: '{}', meta: { 'ai-sdk-ui': { as: 'dynamic-tool' } } },
          {
            type: 'tool_call',
            id: '3',
            name: 'web',
            arguments: '{}',
            meta: { 'ai-sdk-ui': { fields: { providerExecuted: true } } },
          },
          {
            type: 'tool_result',
            callId: '3',
            name: 'web',
            content: [{ type: 'text', text: '[1]' }],
            meta: { 'ai-sdk-ui': { as: 'json' } },
          },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool_result', callId: '1', name: 'f', content: [{ type: 'text', text: 'one' }] },
          { type: 'tool_result', callId: '2', name: 'g', content: [{ type: 'text', text: 'no' }], isError: true },
        ],
      },
      { role: 'assistant', content: [{ type: 'text', text: 'Found.' }] },
    ])
    expect(settle(messages)._tag).toBe('Right')
  })

  it.each<readonly [string, Codec<unknown[]>, readonly unknown[]]>([
    [
      'a turn',
      aiUiMessages,
      [
        {
          id: 'a',
          role: 'assistant',
          parts: many((index) => ({
            type: 'tool-f',
            toolCallId: `${index}`,
            state: 'output-available',
            input: {},
            output: '',
          })),
        },
      ],
    ],
    [
      'a run of tool messages',
      aiModelMessages,
      [
        { role: 'assistant', content: '' },
        ...many(() => ({ role: 'tool', content: [{ type: 'tool-approval-response' }] })),
      ],
    ],
    [
      'a tool message',
      aiModelMessages,
      [
        { role: 'assistant', content: '' },
        { role: 'tool', content: many(() => ({ type: 'tool-approval-response' })) },
      ],
    ],
  ])('reads and writes %s of any length', (_name, codec, wire) => {
    const encoded = withSmallStack(
      many(() => 0),
      () => {
        const decoded = codec.decode(wire)
        return codec.encode(mend(decoded._tag === 'Right' ? decoded.right.messages : []).messages)
      },
    )
    expect(encoded._tag === 'Right' && JSON.stringify(encoded.right.wire).length).toBe(JSON.stringify(wire).length)
  })

  it('decides by its state whether a tool part is answered; refused counts as answered', () => {
    const wire = (part: JsonObject) =>
      JSON.parse(JSON.stringify([{ id: 'a', role: 'assistant', parts: [part] }])) as unknown
    const open = toolParts
      .filter((part) => openCalls(decodeOrFail(aiUiMessages, wire(part as JsonObject))).length > 0)
      .map(({ state }) => state)
    expect([...new Set(open)]).toEqual([
      'input-streaming',
      'input-available',
      'approval-requested',
      'approval-responded',
    ])
    expect(open.length).toBe(14)
    expect(
      decodeOrFail(
        aiUiMessages,
        wire({ ...tool, state: 'approval-responded', approval: { id: 'a', approved: false } }),
      ).at(-1),
    ).toMatchObject({
      role: 'tool',
      content: [{ isError: true, content: [{ text: 'Tool call execution denied.' }] }],
    })
  })

  it('writes the answer of a call that was left waiting', () => {
    const waiting = toolParts.filter(({ state }) => /^(?:input|approval-requested)/.test(state))
    const messages = decodeOrFail(
      aiUiMessages,
      JSON.parse(
        JSON.stringify([
          {
            id: 'a',
            role: 'assistant',
            parts: waiting.map((part, index) => Object.assign({}, part, { toolCallId: `c${index}` })),
          },
        ]),
      ),
    )
    const { wire, losses } = write(aiUiMessages, [
      ...messages,
      ...interruptedResults(openCalls(messages), 'interrupted'),
    ])
    const [{ parts }] = wire as [UIMessage]
    expect(parts.every((part) => 'state' in part && part.state === 'output-error')).toBe(true)
    expect(JSON.stringify(parts)).not.toMatch(/approval|rawInput|inputEncoding/)
    expect(losses.map(({ reason }) => reason)).toEqual(
      Array.from({ length: 2 }, () => 'answers a call that was never approved: the approval is omitted'),
    )
    return validateUIMessages({ messages: wire })
  })

  it('writes the steps of a turn as one message', () => {
    const { wire, losses } = write(aiUiMessages, [
      system('s'),
      user(
        'u',
        image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' }),
        file({ type: 'url', url: 'https://example.com/a.pdf', mediaType: 'application/pdf' }, { name: 'a.pdf' }),
      ),
      {
        ...assistant(
          reasoning('hm', { signature: 'sig' }),
          'a',
          toolCall('1', 'f', '{"a":1}'),
          toolCall('2', 'g', 'not json'),
        ),
        id: 'msg_1',
      },
      { role: 'tool', content: [toolResultPart('1', 'one'), toolResultPart('2', 'two', { isError: true })] },
      assistant(toolCall('3', 'h', ''), toolResultPart('3', ''), 'then'),
      assistant(),
      user(),
      assistant('bye'),
    ])
    expect(losses).toEqual([])
    expect(wire).toEqual([
      { id: 'msg-0', role: 'system', parts: [{ type: 'text', text: 's' }] },
      {
        id: 'msg-1',
        role: 'user',
        parts: [
          { type: 'text', text: 'u' },
          { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=' },
          { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf', filename: 'a.pdf' },
        ],
      },
      {
        id: 'msg_1',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          { type: 'reasoning', text: 'hm', state: 'done', providerMetadata: { anthropic: { signature: 'sig' } } },
          { type: 'text', text: 'a', state: 'done' },
          { type: 'tool-f', toolCallId: '1', state: 'output-available', input: { a: 1 }, output: 'one' },
          { type: 'tool-g', toolCallId: '2', state: 'output-error', input: 'not json', errorText: 'two' },
          { type: 'step-start' },
          { type: 'tool-h', toolCallId: '3', state: 'output-available', input: {}, output: '' },
          { type: 'step-start' },
          { type: 'text', text: 'then', state: 'done' },
          { type: 'step-start' },
        ],
      },
      { id: 'msg-6', role: 'user', parts: [{ type: 'text', text: '' }] },
      { id: 'msg-7', role: 'assistant', parts: [{ type: 'step-start' }, { type: 'text', text: 'bye', state: 'done' }] },
    ])
  })

  it('lists every loss with path and reason', () => {
    const { wire, losses } = write(aiUiMessages, [
      developer('d'),
      { ...user(refusal('n'), reasoning('r'), provider('acme', 1)), name: 'ada' },
      {
        ...assistant(
          refusal('no'),
          reasoning('r', { summary: ['s'] }),
          provider('acme', 1),
          toolCall('1', 'f', '{"n":12345678901234567890}'),
        ),
        id: '1',
      },
      {
        ...toolResult('1', [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
          { type: 'image', source: { type: 'url', url: 'u' } },
        ]),
        id: '2',
      },
      {
        ...assistant('x'),
        id: '3',
        meta: { anthropic: { fields: { stop_reason: 'x' } }, 'ai-sdk': { fields: { providerOptions: options } } },
      },
      { role: 'tool', content: [{ type: 'text', text: 'said' }] },
      user(toolCall('2', 'f', '{}')),
      toolResult('2', 'ok'),
      toolResult('3', 'orphan'),
    ])
    expect(losses.map(({ position, path, reason }) => `${position} ${path.join('.')}: ${reason}`)).toEqual([
      '0 role: ai has no developer role: written as system',
      '1 name: ai messages have no speaker name',
      '1 content.0: only the assistant can refuse',
      '1 content.1: only the assistant can have reasoning',
      '1 content.2: is known only to acme',
      '2 content.0: ai has no refusal type: written as text',
      '2 content.1.summary: ai reasoning has a single text: the summary is omitted',
      '2 content.2: is known only to acme',
      '2 content.3.arguments: n is 12345678901234567890: read as 12345678901234567000',
      '3 content.0.content.2: an ai-sdk-ui result is text or JSON: it cannot hold image parts',
      '3 content.0.content: an ai-sdk-ui result is a single text: its texts are joined',
      '3 id: the message has no other content in ai-sdk-ui',
      '4 meta.anthropic: is known only to anthropic',
      '4 meta.ai-sdk: message-level options: ai-sdk-ui only has options per part',
      '4 id: is part of a turn, which in ai-sdk-ui is one message with its first id',
      '5 role: a tool message with content other than results: written as user',
      '6 role: a user message with calls: written as assistant',
      '8 content.0: does not answer a call of its turn',
    ])
    expect((wire as JsonObject[]).map(({ role }) => role)).toEqual(['system', 'assistant', 'user', 'assistant'])
  })

  it('writes waiting calls in the state they were read in, where the wire allows it', () => {
    const left = new Set(['input-streaming', 'input-available', 'approval-requested', 'approval-responded'])
    const parts = toolParts.filter(({ state }) => left.has(state))
    const wire = JSON.parse(
      JSON.stringify([
        {
          id: 'a',
          role: 'assistant',
          parts: parts.map((part, index) => Object.assign({}, part, { toolCallId: `${index}` })),
        },
      ]),
    ) as unknown
    const messages = decodeOrFail(aiUiMessages, wire)
    const encoded = aiUiMessages.encode(messages, { allow: 'open-calls' })
    expect(encoded._tag === 'Right' && encoded.right).toEqual({ wire, losses: [] })
    const damaged = aiUiMessages.encode([...messages, toolResult('x', 'of nothing')], { allow: 'open-calls' })
    expect(damaged._tag === 'Left' && damaged.left).toMatchObject({
      _tag: 'Unsettled',
      problems: [{ _tag: 'OrphanResult' }],
    })
  })

  it('reports unreadable input with its path', () => {
    const said = (wire: unknown): string => {
      const decoded = aiUiMessages.decode(wire)
      return decoded._tag === 'Left' ? faultMessage(decoded.left) : 'fine'
    }
    expect(said({})).toBe('the entry should be an array, found an empty object (read as ai-sdk-ui)')
    expect(said([{ role: 'data' }])).toMatch(/^\[0\]\.role should be one of system, user, assistant, found "data"/)
    expect(said([{ role: 'user' }])).toMatch(/^\[0\]\.parts should be an array, found nothing/)
    expect(said([{ role: 'assistant', parts: [{ type: 'tool-f', state: 'input-available' }] }])).toMatch(
      /^\[0\]\.parts\[0\]\.toolCallId should be a string/,
    )
    expect(said([{ role: 'assistant', parts: [{ type: 'text', text: 1 }] }])).toMatch(
      /^\[0\]\.parts\[0\]\.text should be a string, found 1/,
    )
  })

  it('converts shared part types to and from model messages', () => {
    const ui = [
      { id: 's', role: 'system', parts: [{ type: 'text', text: 'Be brief.', providerMetadata: options }] },
      {
        id: 'a',
        role: 'assistant',
        parts: [
          { type: 'step-start' },
          {
            type: 'reasoning',
            text: 'hm',
            state: 'done',
            providerMetadata: { anthropic: { signature: 'sig' }, google: { thoughtSignature: 'g' } },
          },
          { type: 'custom', kind: 'openai.compaction', providerMetadata: { openai: { itemId: 'cmp_1' } } },
          { type: 'reasoning-file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=' },
          {
            type: 'tool-web',
            toolCallId: '1',
            state: 'output-available',
            input: {},
            output: { a: 1 },
            providerExecuted: true,
            callProviderMetadata: options,
            resultProviderMetadata: options,
          },
        ],
      },
    ]
    const asModel = write(aiModelMessages, decodeOrFail(aiUiMessages, ui))
    expect(asModel.losses.map(({ path }) => path.join('.'))).toEqual(['id', 'id'])
    expect(asModel.wire).toEqual([
      { role: 'system', content: 'Be brief.', providerOptions: options },
      {
        role: 'assistant',
        content: [
          {
            type: 'reasoning',
            text: 'hm',
            providerOptions: { anthropic: { signature: 'sig' }, google: { thoughtSignature: 'g' } },
          },
          { type: 'custom', kind: 'openai.compaction', providerOptions: { openai: { itemId: 'cmp_1' } } },
          { type: 'reasoning-file', mediaType: 'image/png', data: 'data:image/png;base64,aGk=' },
          {
            type: 'tool-call',
            toolCallId: '1',
            toolName: 'web',
            input: {},
            providerExecuted: true,
            providerOptions: options,
          },
          {
            type: 'tool-result',
            toolCallId: '1',
            toolName: 'web',
            output: { type: 'json', value: { a: 1 } },
            providerOptions: options,
          },
        ],
      },
    ])
    const back = write(aiUiMessages, decodeOrFail(aiModelMessages, asModel.wire))
    expect(back.losses.map(({ position, path }) => `${position} ${path.join('.')}`)).toEqual([])
    expect(back.wire).toEqual(ui.map((message, index) => Object.assign({}, message, { id: `msg-${index}` })))
  })

  it('keeps message-level options of a system message only, where they have a part to be on', () => {
    const user = { role: 'user', content: [{ type: 'text', text: 'hi' }], providerOptions: options }
    const { wire, losses } = write(aiUiMessages, [
      ...decodeOrFail(aiModelMessages, [user]),
      { role: 'system', content: [], meta: { 'ai-sdk': { fields: { providerOptions: options } } } },
    ])
    expect(wire).toEqual([
      { id: 'msg-0', role: 'user', parts: [{ type: 'text', text: 'hi' }] },
      { id: 'msg-1', role: 'system', parts: [{ type: 'text', text: '' }] },
    ])
    expect(losses.map(({ position, path }) => `${position} ${path.join('.')}`)).toEqual(['0 meta.ai-sdk'])
  })

  it("writes messages that the SDK's validator accepts", async () => {
    const { messages } = mend([
      user('hi', file({ type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' })),
      assistant('yes', toolCall('1', 'f', '{}')),
    ])
    const encoded = aiUiMessages.encode(messages)
    const stored: UIMessage[] = encoded._tag === 'Right' ? encoded.right.wire : []
    expect(await validateUIMessages({ messages: stored })).toEqual(stored)
    // @ts-expect-error only a settled sequence can be written
    void aiUiMessages.encode([user('hi')])
  })
})

it('a message to the assistant after its last step is the last message, without an empty step behind it', () => {
  const steering = { type: 'steering-message', id: 'steer', parts: [{ type: 'text', text: 'no, wait' }] }
  const wire = [{ id: 'a', role: 'assistant', parts: [{ type: 'step-start' }, { type: 'text', text: 'Looking.', state: 'done' }, steering] }] // oxfmt-ignore
  expectLaw(aiUiMessages, wire)
  expect(decodeOrFail(aiUiMessages, wire).map(({ role }) => role)).toEqual(['assistant', 'user'])
})
