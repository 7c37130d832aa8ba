import { generateText, modelMessageSchema, type ModelMessage } from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  developer,
  faultMessage,
  file,
  image,
  mend,
  reasoning,
  settle,
  system,
  toolCall,
  toolResult,
  user,
  type JsonObject,
  type Message,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { toolResultPart } from 'indelible/internal/message'
import { aiModelMessages } from '@indelible/codecs/ai-sdk'
import { expectLaw, expectLawUnderDamage, decodeOrFail, write } from '../../../test/codecs/law.ts'

const options = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** One of everything that the SDK's types allow as JSON, and much that they do not. */
const everything = [
  { role: 'system', content: 'Be brief.', providerOptions: options },
  { role: 'system', content: '' },
  { role: 'user', content: 'hi\u0000\u2028"' },
  { role: 'user', content: [] },
  { role: 'user', content: [{ type: 'text', text: 'alone' }] },
  {
    role: 'user',
    providerOptions: options,
    content: [
      { type: 'text', text: 'look', providerOptions: options },
      { type: 'image', image: 'https://example.com/a.png' },
      { type: 'image', image: 'iVBORw0KGgo=', mediaType: 'image' },
      { type: 'image', image: 'aGk=' },
      { type: 'image', image: 'data:image/gif;base64,R0lGOD', mediaType: 'image/png' },
      { type: 'image', image: { openai: 'file-1' } },
      { type: 'file', mediaType: 'application/pdf', data: 'https://example.com/a.pdf', filename: 'a.pdf' },
      {
        type: 'file',
        mediaType: 'application/pdf',
        data: { type: 'data', data: 'JVBERi0=' },
        filename: 'a.pdf',
        providerOptions: options,
      },
      { type: 'file', mediaType: 'image/*', data: { type: 'data', data: '/9j/' }, filename: 'b.jpg' },
      { type: 'file', mediaType: 'image/png', data: 'data:image/png;base64,aGk=' },
      { type: 'file', mediaType: 'audio/wav', data: 'aGk=' },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://example.com/a%20b.png' } },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'https://example.com', originalUrl: 'x' } },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: 'data:image/png;base64,aGk=' } },
      { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'ünïcode\ufeff' } },
      { type: 'file', mediaType: 'application/pdf', data: { type: 'reference', reference: { openai: 'file-1' } } },
      { type: 'video', url: 'v' },
    ],
  },
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'sig' } } },
      { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'sealed' } } },
      { type: 'reasoning', text: 'odd', providerOptions: { anthropic: { redactedData: 'sealed', signature: 's' } } },
      {
        type: 'reasoning',
        text: 'in short',
        providerOptions: { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'enc' } },
      },
      { type: 'reasoning', text: '', providerOptions: { openai: { itemId: 'rs_2', reasoningEncryptedContent: null } } },
      { type: 'reasoning', text: 'open', providerOptions: { google: { thoughtSignature: 'g' } } },
      { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
      { type: 'text', text: 'Let me look.', providerOptions: { openai: { itemId: 'msg_1', phase: 'commentary' } } },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
      { type: 'custom', kind: 'openai.compaction', providerOptions: { openai: { itemId: 'cmp_1' } } },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'f', input: { a: [1.5, null, { __proto__: null }] } },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'sh', input: 'ls\n' },
      { type: 'tool-call', toolCallId: 'c3', toolName: 'g', input: '"quoted"' },
      { type: 'tool-call', toolCallId: 'c4', toolName: 'g', input: '' },
      { type: 'tool-call', toolCallId: 'c5', toolName: 'g' },
      {
        type: 'tool-call',
        toolCallId: 'c6',
        toolName: 'g',
        input: null,
        providerOptions: { google: { thoughtSignature: 'g' } },
      },
      { type: 'tool-approval-request', approvalId: 'a1', toolCallId: 'c6', signature: 's' },
    ],
  },
  {
    role: 'tool',
    content: [{ type: 'tool-approval-response', approvalId: 'a1', approved: true }],
    providerOptions: options,
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'c1',
        toolName: 'f',
        output: { type: 'text', value: 'ok' },
        providerOptions: options,
      },
      { type: 'tool-approval-response', approvalId: 'a2', approved: false, reason: 'no' },
      {
        type: 'tool-result',
        toolCallId: 'c2',
        toolName: 'sh',
        output: { type: 'error-text', value: 'no such file', providerOptions: options },
      },
    ],
    providerOptions: options,
  },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'c3',
        toolName: 'g',
        output: { type: 'json', value: { rows: [1, '2', null] } },
      },
      { type: 'tool-result', toolCallId: 'c4', toolName: 'g', output: { type: 'error-json', value: 'text as JSON' } },
      { type: 'tool-result', toolCallId: 'c5', toolName: 'g', output: { type: 'execution-denied', reason: 'not now' } },
      {
        type: 'tool-result',
        toolCallId: 'c6',
        toolName: 'g',
        output: {
          type: 'content',
          value: [
            { type: 'text', text: 'see', providerOptions: options },
            { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
            {
              type: 'file',
              mediaType: 'application/pdf',
              data: { type: 'url', url: 'https://example.com/a.pdf' },
              filename: 'a.pdf',
            },
            { type: 'file', mediaType: 'text/plain', data: { type: 'text', text: 'inline' } },
            { type: 'file-data', mediaType: 'text/csv', data: 'aGk=', filename: 'a.csv' },
            { type: 'file-url', url: 'https://example.com/a' },
            { type: 'file-id', fileId: 'file-1' },
            { type: 'image-data', mediaType: 'image/png', data: 'aGk=' },
            { type: 'image-url', url: 'https://example.com/a.png' },
            { type: 'custom', providerOptions: options },
          ],
        },
      },
    ],
  },
  { role: 'assistant', content: 'Done.' },
  {
    role: 'assistant',
    content: [
      { type: 'tool-call', toolCallId: 's1', toolName: 'web_search', input: { q: 'x' }, providerExecuted: true },
      {
        type: 'tool-result',
        toolCallId: 's1',
        toolName: 'web_search',
        output: { type: 'json', value: [{ url: 'u' }] },
      },
      { type: 'text', text: 'Found.' },
    ],
  },
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'd1', toolName: 'f', input: {} }] },
  {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'd1', toolName: 'f', output: { type: 'execution-denied' } }],
  },
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'd2', toolName: 'f', input: {} }] },
  {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'd2', toolName: 'f', output: { type: 'later', value: 1 } }],
  },
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'd3', toolName: 'f', input: {} }] },
  {
    role: 'tool',
    content: [{ type: 'tool-result', toolCallId: 'd3', toolName: 'f', output: { type: 'content', value: [] } }],
  },
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'd4', toolName: 'f', input: {} }] },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: 'd4',
        toolName: 'f',
        output: { type: 'content', value: [{ type: 'text', text: 'one' }] },
      },
    ],
  },
  { role: 'assistant', content: '', id: 'x' },
  { role: 'assistant', content: [] },
] as const satisfies readonly JsonObject[]

const answer: Awaited<ReturnType<MockLanguageModelV4['doGenerate']>> = {
  content: [{ type: 'text', text: 'fine' }],
  finishReason: { unified: 'stop', raw: undefined },
  usage: {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  },
  warnings: [],
}

describe('ai-sdk: model messages', () => {
  it('round-trips every role, part and kind of output, including unknown ones', () => {
    expectLaw(aiModelMessages, everything)
    for (const message of everything) expectLaw(aiModelMessages, [message])
  })
  it('round-trips randomly damaged input', () => expectLawUnderDamage(aiModelMessages, everything))

  it('reads everything that the message model can express', () => {
    const messages = decodeOrFail(aiModelMessages, everything)
    expect(messages[5]?.content.slice(1, 9)).toMatchObject([
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' } },
      { type: 'image', source: { type: 'base64', mediaType: 'image', data: 'aGk=' } },
      { type: 'image', source: { type: 'base64', mediaType: 'image/gif', data: 'R0lGOD' } },
      { type: 'provider', provider: 'ai-sdk', raw: { type: 'image', image: { openai: 'file-1' } } },
      {
        type: 'file',
        source: { type: 'url', url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
        name: 'a.pdf',
      },
      { type: 'file', source: { type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' }, name: 'a.pdf' },
      { type: 'image', source: { type: 'base64', mediaType: 'image/jpeg', data: '/9j/' } },
    ])
    expect(messages[6]?.content.slice(0, 5)).toMatchObject([
      { type: 'reasoning', text: 'hm', signature: 'sig' },
      { type: 'reasoning', text: '', encrypted: 'sealed' },
      { type: 'reasoning', text: 'odd', signature: 's', encrypted: 'sealed' },
      {
        type: 'reasoning',
        text: '',
        summary: ['in short'],
        encrypted: 'enc',
        meta: { 'ai-sdk': { fields: { providerOptions: { openai: { itemId: 'rs_1' } } } } },
      },
      { type: 'reasoning', text: '', summary: [] },
    ])
    expect(messages[6]?.content.flatMap((part) => (part.type === 'tool_call' ? [part.arguments] : []))).toEqual([
      '{"a":[1.5,null,{}]}',
      'ls\n',
      '"\\"quoted\\""',
      '',
      '',
      'null',
    ])
    expect(
      messages
        .flatMap(({ content }) => content)
        .filter(({ type }) => type === 'tool_result')
        .slice(0, 5),
    ).toMatchObject([
      { callId: 'c1', name: 'f', content: [{ type: 'text', text: 'ok' }] },
      { callId: 'c2', content: [{ type: 'text', text: 'no such file' }], isError: true },
      { callId: 'c3', content: [{ type: 'text', text: '{"rows":[1,"2",null]}' }], meta: { 'ai-sdk': { as: 'json' } } },
      { callId: 'c4', content: [{ type: 'text', text: '"text as JSON"' }], isError: true },
      { callId: 'c5', content: [{ type: 'text', text: 'not now' }], isError: true },
    ])
  })

  it('keeps approval answers apart from results, so that the conversation is settled', () => {
    const asked = {
      role: 'assistant',
      content: [
        { type: 'tool-call', toolCallId: 'c', toolName: 'f', input: {} },
        { type: 'tool-approval-request', approvalId: 'a', toolCallId: 'c' },
      ],
    }
    const answer = { type: 'tool-approval-response', approvalId: 'a', approved: true }
    const result = { type: 'tool-result', toolCallId: 'c', toolName: 'f', output: { type: 'text', value: 'ok' } }
    for (const tools of [
      [
        { role: 'tool', content: [answer] },
        { role: 'tool', content: [result] },
      ],
      [{ role: 'tool', content: [answer, result, answer] }],
      [
        { role: 'tool', content: [answer, answer] },
        { role: 'tool', content: [answer], x: 1 },
        { role: 'tool', content: [result] },
        { role: 'tool', content: [answer] },
      ],
    ]) {
      const wire = [asked, ...tools, { role: 'user', content: 'and?' }]
      expectLaw(aiModelMessages, wire)
      expect(settle(decodeOrFail(aiModelMessages, wire))._tag).toBe('Right')
    }
  })

  it('reads live messages with URLs, bytes and undefined fields as their JSON form', () => {
    const live: ModelMessage[] = [
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/png', data: new Uint8Array([104, 105]) },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: new Uint8Array([104, 105]).buffer } },
          { type: 'image', image: Buffer.from('hi') },
          { type: 'image', image: new URL('https://example.com/a.png') },
          {
            type: 'file',
            mediaType: 'application/pdf',
            data: { type: 'url', url: new URL('https://example.com/a.pdf') },
          },
        ],
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'tool-call',
            toolCallId: 'c',
            toolName: 'f',
            input: { on: new Date(0), no: undefined, list: [undefined] },
            providerExecuted: undefined as never,
          },
        ],
      },
    ]
    const messages = decodeOrFail(aiModelMessages, live)
    expect(messages[0]?.content.map((part) => 'source' in part && part.source)).toEqual([
      { type: 'base64', mediaType: 'image/png', data: 'aGk=' },
      { type: 'base64', mediaType: 'image/png', data: 'aGk=' },
      { type: 'base64', mediaType: 'image', data: 'aGk=' },
      { type: 'url', url: 'https://example.com/a.png' },
      { type: 'url', url: 'https://example.com/a.pdf', mediaType: 'application/pdf' },
    ])
    expect(messages[1]?.content).toMatchObject([{ arguments: '{"on":"1970-01-01T00:00:00.000Z","list":[null]}' }])
    const { wire } = write(aiModelMessages, messages)
    expect(wire).toMatchObject([
      {
        content: [
          {},
          {},
          {},
          { image: 'https://example.com/a.png' },
          { data: { type: 'url', url: new URL('https://example.com/a.pdf') } },
        ],
      },
      {},
    ])
    expect(wire).toHaveProperty('0.content.4.data.url', expect.any(URL)) // `ai` has no text there
    expectLaw(aiModelMessages, JSON.parse(JSON.stringify(wire)))
    expect(() => modelMessageSchema.array().parse(wire)).not.toThrow()
  })

  it('writes conversations from other formats', () => {
    const { wire, losses } = write(aiModelMessages, [
      system('s'),
      user(
        'u',
        image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' }),
        image({ type: 'url', url: 'https://example.com/a.png' }),
      ),
      assistant(
        reasoning('hm', { signature: 'sig' }),
        reasoning('', { encrypted: 'sealed' }),
        reasoning('', { summary: ['in short'], encrypted: 'enc' }),
        { ...reasoning('', { encrypted: 'enc' }), meta: { 'openai-responses': { as: 'reasoning' } } },
        'a',
        toolCall('1', 'f', '{ "n": 1.0, "b": 100000000000000000000 }'),
        toolCall('2', 'g', 'not json'),
        toolCall('3', 'h', ''),
      ),
      { role: 'tool', content: [toolResultPart('1', 'one'), toolResultPart('2', 'two', { isError: true })] },
      toolResult('3', [
        { type: 'text', text: 'see' },
        { type: 'image', source: { type: 'url', url: 'https://example.com' } },
      ]),
      assistant(toolCall('4', 'h', '{}'), toolResultPart('4', ''), 'then'),
      assistant(toolCall('5', 'h', '{}'), toolCall('6', 'h', '{}'), toolResultPart('5', 'five'), 'meanwhile'),
      toolResult('6', 'six'),
      assistant(),
    ])
    expect(losses).toEqual([])
    expect(wire).toEqual([
      { role: 'system', content: 's' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'u' },
          { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
          { type: 'file', mediaType: 'image', data: 'https://example.com/a.png' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 'sig' } } },
          { type: 'reasoning', text: '', providerOptions: { anthropic: { redactedData: 'sealed' } } },
          { type: 'reasoning', text: 'in short', providerOptions: { openai: { reasoningEncryptedContent: 'enc' } } },
          { type: 'reasoning', text: '', providerOptions: { openai: { reasoningEncryptedContent: 'enc' } } },
          { type: 'text', text: 'a' },
          { type: 'tool-call', toolCallId: '1', toolName: 'f', input: { n: 1, b: 1e20 } },
          { type: 'tool-call', toolCallId: '2', toolName: 'g', input: 'not json' },
          { type: 'tool-call', toolCallId: '3', toolName: 'h', input: {} },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-result', toolCallId: '1', toolName: 'f', output: { type: 'text', value: 'one' } },
          { type: 'tool-result', toolCallId: '2', toolName: 'g', output: { type: 'error-text', value: 'two' } },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool-result',
            toolCallId: '3',
            toolName: 'h',
            output: {
              type: 'content',
              value: [
                { type: 'text', text: 'see' },
                { type: 'file', mediaType: 'image', data: { type: 'url', url: new URL('https://example.com') } },
              ],
            },
          },
        ],
      },
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: '4', toolName: 'h', input: {} }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: '4', toolName: 'h', output: { type: 'text', value: '' } }],
      },
      { role: 'assistant', content: 'then' },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: '5', toolName: 'h', input: {} },
          { type: 'tool-call', toolCallId: '6', toolName: 'h', input: {} },
          { type: 'text', text: 'meanwhile' },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: '5', toolName: 'h', output: { type: 'text', value: 'five' } }],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: '6', toolName: 'h', output: { type: 'text', value: 'six' } }],
      },
      { role: 'assistant', content: [] },
    ])
  })

  it('lists every loss with path and reason', () => {
    const parts = (...messages: Message[]): readonly string[] => {
      const { losses } = write(aiModelMessages, messages)
      return losses.map(({ position, path, reason }) => `${position} ${path.join('.')}: ${reason}`)
    }
    expect(
      parts(
        developer('d', 'e', image({ type: 'url', url: 'https://example.com' })),
        {
          ...user(refusal('n'), reasoning('r'), image({ type: 'url', url: 'a.png' }), provider('acme', 1)),
          id: 'msg_1',
          name: 'ada',
        },
        user('calls', toolCall('1', 'f', '{"n":12345678901234567890}')),
        toolResult(
          '1',
          [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
          { isError: true },
        ),
        assistant(
          refusal('no'),
          reasoning('r', { summary: ['s'] }),
          reasoning('', { summary: ['s', 't'] }),
          toolCall('2', 'f', '{"n":1e999,"s":"12345678901234567890"}'),
        ),
        toolResult(
          '2',
          [
            { type: 'image', source: { type: 'base64', mediaType: 'image/png', data: '' } },
            { type: 'provider', provider: 'acme', raw: 1 },
          ],
          { isError: true },
        ),
        {
          role: 'tool',
          content: [
            {
              type: 'text',
              text: 'said',
              meta: { anthropic: { fields: { citations: [] } }, 'ai-sdk-ui': { fields: { providerMetadata: {} } } },
            },
          ],
        },
      ),
    ).toEqual([
      '0 content.2: ai instructions can only be text',
      '0 role: ai has no developer role: written as system',
      '0 content: ai instructions are a single text: these are joined',
      '1 id: ai model messages have no id',
      '1 name: ai messages have no speaker name',
      '1 content.0: only the assistant can refuse',
      '1 content.1: only the assistant can have reasoning',
      '1 content.2.source: ai only accepts absolute URLs',
      '1 content.3: is known only to acme',
      '2 role: a user message with calls: written as assistant',
      '2 content.1.arguments: n is 12345678901234567890: read as 12345678901234567000',
      '3 content.0.content: an ai error is a single text: its texts are joined',
      '4 content.0: ai has no refusal type: written as text',
      '4 content.1.summary: ai reasoning has a single text: the summary is omitted',
      '4 content.2.summary: ai reasoning has a single text: the summaries are joined',
      '4 content.3.arguments: n is 1e999, which is out of range: read as null',
      '5 content.0.content.1: is known only to acme',
      '5 content.0.isError: ai cannot mark parts as an error; only the text shows it',
      '6 content.0.meta.anthropic: is known only to anthropic',
      '6 role: a tool message with content other than results: written as user',
    ])
  })

  it('writes a text that happens to be JSON as a text', () => {
    const call = { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'f', input: {} }] }
    const output = { type: 'text', value: '{"a":1}' }
    const result = { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'f', output }] }
    const wire = write(aiModelMessages, decodeOrFail(aiModelMessages, [call, result])).wire
    expect(wire).toMatchObject([{}, { content: [{ output }] }])
  })

  it('writes a shortened or mended output in the kind that still fits', () => {
    const json = decodeOrFail(aiModelMessages, [
      { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'f', input: { long: 'x' } }] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c', toolName: 'f', output: { type: 'json', value: { a: 1 } } }],
      },
    ])
    const shortened = JSON.parse(JSON.stringify(json).replace('{\\"a\\":1}', '{\\"a\\" …')) as Message[]
    expect(write(aiModelMessages, shortened).wire).toMatchObject([
      {},
      { content: [{ output: { type: 'text', value: '{"a" …' } }] },
    ])
    const mended = mend(json.slice(0, 1))
    expect(write(aiModelMessages, mended.messages).wire).toMatchObject([
      {},
      { role: 'tool', content: [{ toolCallId: 'c', toolName: 'f', output: { type: 'error-text' } }] },
    ])
  })

  it('reports unreadable input with its path', () => {
    const said = (wire: unknown): string => {
      const decoded = aiModelMessages.decode(wire)
      return decoded._tag === 'Left' ? faultMessage(decoded.left) : 'fine'
    }
    expect(said({})).toBe('the entry should be an array, found an empty object (read as ai-sdk)')
    expect(said([{ role: 'developer' }])).toMatch(
      /^\[0\]\.role should be one of system, user, assistant, tool, found "developer"/,
    )
    expect(said([{ role: 'user' }])).toMatch(/^\[0\]\.content should be a string or an array of parts, found nothing/)
    expect(said([{ role: 'assistant', content: [{ type: 'tool-call' }] }])).toMatch(
      /^\[0\]\.content\[0\]\.toolCallId should be a string/,
    )
    expect(said([new Map()])).toBe('[0] is an instance of Map; expected plain JSON data (read as ai-sdk)')
    expect(said([{ toJSON: () => 1 }])).toMatch(/^\[0\]\.toJSON is a function/)
    expect(
      said([
        Object.create({
          toJSON: () => {
            throw new Error('no')
          },
        }),
      ]),
    ).toMatch(/^\[0\] is an object with a prototype of its own/)
    const cycle: unknown[] = []
    cycle.push(cycle, undefined)
    expect(said(cycle)).toMatch(/is nested deeper than 1000 levels/)
  })

  it("writes messages that the SDK's validator accepts", async () => {
    const { messages } = mend([user('hi', file({ type: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' }))])
    const encoded = aiModelMessages.encode(messages)
    const request: ModelMessage[] = encoded._tag === 'Right' ? encoded.right.wire : []
    expect(() => modelMessageSchema.array().parse(request)).not.toThrow()
    const model = new MockLanguageModelV4({ doGenerate: answer })
    expect((await generateText({ model, messages: request })).text).toBe('fine')
    // @ts-expect-error only a settled sequence can become a request
    void aiModelMessages.encode([user('hi')])
  })
})
