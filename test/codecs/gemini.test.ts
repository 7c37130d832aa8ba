import { CallReader } from '../../src/codecs/gemini/calls.ts'
import { MediaProcessing, type Content, type GenerateContentParameters, type Part as GenaiPart } from '@google/genai'
import * as fc from 'fast-check'
import { isLeft, isRight, left } from 'fp-ts/lib/Either.js'
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
import { codecs } from 'indelible/codecs'
import { provider, refusal, type ReasoningPart } from 'indelible/message'
import { toolResultPart } from '../../src/message/internal.ts'
import { decodeResponse, gemini, type GeminiConversation, type GeminiEncodeOptions } from 'indelible/codecs/gemini'
import { aMessage } from './any-message.ts'
import { expectLaw, expectLawUnderDamage, expectLawOfParts, decodeOrFail, write } from './law.ts'
import { rounds } from '../rounds.ts'
import { readTranscript } from '@indelible/transcripts'
import type { Codec } from '../../src/codecs/codec.ts'

const thoughtSignature = 'CiQBVKhc7mVE'

/** One of every field of a part, with each form its content takes. The types say that none is missing. */
const parts = {
  text: [
    { text: 'look' },
    { text: '', thoughtSignature },
    { text: '' },
    { text: 'ünïcode 🙂', thought: false, partMetadata: { a: 1 } },
  ],
  thought: [{ text: 'hm', thought: true }, { thought: true }],
  thoughtSignature: [{ text: 'hm', thought: true, thoughtSignature }, { thoughtSignature }],
  inlineData: [
    { inlineData: { data: 'aGk=', mimeType: 'image/png' } },
    { inlineData: { data: 'aGk=', mimeType: 'application/pdf', displayName: 'a.pdf' } },
    { inlineData: { data: 'aGk=', mimeType: 'image/png', displayName: 'a.png' }, thoughtSignature },
    { inlineData: { data: 'aGk=' } },
  ],
  fileData: [
    { fileData: { fileUri: 'gs://a/b.mp4', mimeType: 'video/mp4', displayName: 'b' } },
    { fileData: { fileUri: 'https://example.com/a.png', mimeType: 'image/png' } },
    { fileData: { fileUri: 'https://youtu.be/x' } },
  ],
  videoMetadata: [
    { fileData: { fileUri: 'gs://a/b.mp4' }, videoMetadata: { startOffset: '1s', endOffset: '2s', fps: 2 } },
  ],
  mediaResolution: [{ inlineData: { data: 'aGk=', mimeType: 'image/png' }, mediaResolution: { numTokens: 3 } }],
  mediaProcessing: [{ inlineData: { data: 'aGk=', mimeType: 'image/png' }, mediaProcessing: MediaProcessing.STATIC }],
  functionCall: [
    { functionCall: { name: 'f', args: { a: [1, { b: null }], ['__proto__']: 1, mime_type: 'x' } }, thoughtSignature },
    { functionCall: { name: 'g' } },
    { functionCall: { id: '', name: 'default_api:f.g-h', args: {} } },
    { functionCall: { id: 'c1', name: 'no name', args: {} } },
    { functionCall: { name: 'p', partialArgs: [{ jsonPath: '$.a', stringValue: 'x' }], willContinue: true } },
    { functionCall: {} },
  ],
  functionResponse: [
    { functionResponse: { name: 'f', response: { output: 'ok' } } },
    { functionResponse: { name: 'g', response: { error: 'no such file' } } },
    { functionResponse: { id: 'c1', name: 'no name', response: { result: 'r' } } },
    { functionResponse: { name: 'f', response: { output: { a: 1 }, ['__proto__']: { x: 1 } }, willContinue: false } },
    { functionResponse: { name: 'f', response: {} } },
    { functionResponse: { name: 'f' } },
    {
      functionResponse: {
        name: 'f',
        response: { output: 'see' },
        parts: [
          { inlineData: { data: 'aGk=', mimeType: 'image/png', displayName: 'shot' } },
          { fileData: { fileUri: 'gs://a', mimeType: 'application/pdf' } },
          {},
        ],
      },
    },
    { functionResponse: { id: 'x', response: { output: 'nameless' } } },
  ],
  executableCode: [{ executableCode: { code: 'print(1)', id: 'e1' }, thoughtSignature }],
  codeExecutionResult: [{ codeExecutionResult: { output: '1\n', id: 'e1' } }],
  toolCall: [{ toolCall: { id: 't', args: { queries: ['q'] } } }],
  toolResponse: [{ toolResponse: { id: 't', response: {} } }],
  audioTranscription: [{ inlineData: { data: 'aGk=', mimeType: 'audio/wav' }, audioTranscription: {} }],
  partMetadata: [{ text: 'a', partMetadata: { mimeType: 'x', mime_type: 'y' } }],
  speechMetadata: [{ text: 'a', speechMetadata: {} }],
} satisfies { readonly [field in keyof Required<GenaiPart>]: readonly GenaiPart[] }

const everyPart: readonly GenaiPart[] = Object.values(parts).flat()

const call = (name: string, id?: string, args: JsonObject = {}): JsonObject => ({
  functionCall: { ...(id !== undefined && { id }), name, args },
})
const answer = (name: string, output: string, id?: string): JsonObject => ({
  functionResponse: { ...(id !== undefined && { id }), name, response: { output } },
})
const says = (...said: readonly JsonObject[]): JsonObject => ({ role: 'model', parts: said })
const asks = (...said: readonly JsonObject[]): JsonObject => ({ role: 'user', parts: said })
const text = (output: string): JsonObject => ({ text: output })

const samples: readonly JsonObject[] = [
  { contents: [asks(text('hi'))] },
  { systemInstruction: { parts: [text('be brief')] }, contents: [{ parts: [text('hi')] }] },
  { systemInstruction: { role: 'user', parts: [text('be brief'), text('and kind')] }, contents: [] },
  {
    contents: [
      asks(text('weather and time?')),
      says(
        { text: 'hm', thought: true, thoughtSignature },
        { ...call('weather'), thoughtSignature },
        call('time'),
        call('weather'),
      ),
      asks(answer('weather', 'sun'), answer('weather', 'rain'), answer('time', 'noon'), text('go on')),
      says(text('sun and rain')),
    ],
  },
  { contents: [asks(text('a')), says(call('f', 'c1')), asks(answer('f', 'x', 'c1')), says(text('b'), text('c'))] },
  {
    contents: [
      asks(text('a')),
      says(text('a chunk')),
      says(text(' and another')),
      says(call('f')),
      asks(answer('f', 'x')),
    ],
  },
  { contents: [asks(text('a')), says(call('f')), { role: 'function', parts: [answer('f', 'x')] }, says()] },
  {
    contents: [
      asks(text('a')),
      says(call('f'), call('g')),
      asks(answer('g', '1')),
      asks(answer('f', '2')),
      asks(text('b')),
    ],
  },
  { contents: [says(text('first')), says(text('second')), asks(call('f'), text('a'), answer('f', '1'))] },
  { contents: [{ role: 'model' }, { parts: [] }, {}, says(answer('f', 'x')), says(text('a'))] },
  {
    system_instruction: { parts: { text: 'be brief' } },
    contents: {
      role: 'user',
      parts: [
        { inline_data: { mime_type: 'image/png', data: 'aGk=' } },
        { function_response: { name: 'f', response: { mime_type: 1 }, will_continue: true } },
        { inline_data: { mimeType: 'image/png', data: 'aGk=' } },
        { text: 'x', thought_signature: thoughtSignature, partMetadata: {} },
      ],
    },
  },
  { systemInstruction: 'be brief', contents: 'hi' },
  { systemInstruction: ['be', { text: 'brief' }], contents: ['hi', { text: 'there' }, says(text('yes')), 'and'] },
  { systemInstruction: { text: 'be brief' }, contents: { text: 'hi' } },
  { contents: [{ role: 'user', parts: everyPart as unknown as JsonObject[] }] },
  { contents: [asks(text('a')), { role: 'model', parts: everyPart as unknown as JsonObject[] }] },
]

/** A body with nothing beside the conversation: damage there is a loss, and no part of the law. */
const conversations: Codec<unknown> = {
  format: gemini.format,
  decode: (wire) => {
    const decoded = gemini.decode(wire)
    return isRight(decoded) && decoded.right.losses.length > 0
      ? left({ _tag: 'UnexpectedWire', format: 'gemini', path: [], expected: 'a conversation', found: 'more' })
      : decoded
  },
  encode: gemini.encode,
}

const encoded = (messages: readonly Message[], options: GeminiEncodeOptions = {}): GeminiConversation => {
  const made = gemini.encode(mend(messages).messages, {
    block: () => ({ data: 'aGk=', mediaType: 'application/pdf' }),
    ...options,
  })
  if (isLeft(made)) throw new Error(faultMessage(made.left))
  return made.right.wire
}

describe('the Gemini codec', () => {
  it.each(everyPart.map((part) => [JSON.stringify(part).slice(0, 60), part] as const))(
    'round-trips the part %s in every role',
    (_name, part) => {
      for (const role of ['user', 'model']) expectLaw(gemini, { contents: [asks(text('a')), { role, parts: [part] }] })
    },
  )

  it.each(samples.map((sample, index) => [index, sample] as const))('round-trips sample %i', (_index, sample) => {
    expectLaw(gemini, sample)
    expectLawOfParts(gemini, sample)
  })

  it('round-trips randomly damaged input', () => {
    for (const sample of samples) expectLawUnderDamage(conversations, sample, rounds(30, 4000))
  })

  it('freezes fields that a call lacked in the second of two model contents', () =>
    expectLaw(gemini, {
      contents: [
        { role: 'model', parts: [{ functionCall: {} }] },
        { role: 'model', parts: [{ functionCall: { name: 'f' } }] },
      ],
    }))

  it("round-trips random contents of the client's types", () => {
    const words = fc.string({ maxLength: 5 })
    const part: fc.Arbitrary<GenaiPart> = fc.oneof(
      fc.constantFrom(...everyPart),
      fc.record({ text: words }, { requiredKeys: [] }),
      fc.record(
        { text: words, thought: fc.boolean(), thoughtSignature: words, partMetadata: fc.dictionary(words, words) },
        { requiredKeys: ['text'] },
      ),
      fc.record({
        functionCall: fc.record(
          { id: words, name: fc.constantFrom('f', 'g'), args: fc.dictionary(words, fc.jsonValue({ maxDepth: 1 })) },
          { requiredKeys: [] },
        ),
      }),
      fc.record({
        functionResponse: fc.record(
          { id: words, name: fc.constantFrom('f', 'g'), response: fc.dictionary(words, fc.jsonValue({ maxDepth: 1 })) },
          { requiredKeys: [] },
        ),
      }),
    )
    const content: fc.Arbitrary<Content> = fc.record(
      { role: fc.constantFrom('user', 'model'), parts: fc.array(part, { maxLength: 4 }) },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(
        fc.record(
          { systemInstruction: content, contents: fc.array(content, { maxLength: 8 }) },
          { requiredKeys: ['contents'] },
        ),
        (wire) => expectLaw(gemini, JSON.parse(JSON.stringify(wire))),
      ),
      { numRuns: rounds(80, 20_000) },
    )
  })

  it('pairs calls and results without ids by name and order, and writes no ids for them', () => {
    const messages = decodeOrFail(gemini, samples[3])
    expect(settle(messages)).toMatchObject({ _tag: 'Right' })
    const ids = messages.flatMap(({ content }) =>
      content.flatMap((part) =>
        part.type === 'tool_call'
          ? [[part.name, part.id]]
          : part.type === 'tool_result'
            ? [[part.name, part.callId]]
            : [],
      ),
    )
    expect(ids).toEqual([
      ['weather', 'call-without-id-0'],
      ['time', 'call-without-id-1'],
      ['weather', 'call-without-id-2'],
      ['weather', 'call-without-id-0'],
      ['weather', 'call-without-id-2'],
      ['time', 'call-without-id-1'],
    ])
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user', 'assistant'])
    const run = encoded([
      user('a'),
      assistant(...[toolCall('call-without-id-0', 'f', {})]),
      toolResult('call-without-id-0', 'x'),
    ])
    expect(run.contents.slice(1)).toEqual([says(call('f')), asks(answer('f', 'x'))])
  })

  it('reads a result without an id for a call that has one', () => {
    const messages = decodeOrFail(gemini, [asks(text('a')), says(call('f', 'c1')), asks(answer('f', 'x'))])
    expect(settle(messages)).toMatchObject({ _tag: 'Right' })
    expectLaw(gemini, { contents: [asks(text('a')), says(call('f', 'c1')), asks(answer('f', 'x'))] })
  })

  it('reads consecutive model contents as one message', () => {
    const [, messages] = decodeOrFail(gemini, [asks(text('a')), says(text('one')), says(text(' two')), says(call('f'))])
    expect(messages?.content.map(({ type }) => type)).toEqual(['text', 'text', 'tool_call'])
  })

  it("reads a response's first candidate, and keeps grounding, usage and finish reason in meta", () => {
    const groundingMetadata = { webSearchQueries: ['q'], groundingChunks: [{ web: { uri: 'u', title: 't' } }] }
    const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 2, cachedContentTokenCount: 1 }
    const decoded = decodeResponse(
      {
        responseId: 'r1',
        modelVersion: 'gemini-x',
        usageMetadata,
        candidates: [
          { index: 0, finishReason: 'STOP', groundingMetadata, content: says(text('a'), call('f')) },
          { index: 1, content: says(text('b')) },
        ],
      },
      { after: [assistant(...[toolCall('call-without-id-4', 'g', {})])] },
    )
    expect(decoded).toMatchObject({
      right: {
        losses: [],
        messages: [
          {
            role: 'assistant',
            id: 'r1',
            content: [
              { type: 'text', text: 'a' },
              { type: 'tool_call', id: 'call-without-id-5' },
            ],
            meta: {
              'gemini-response': {
                modelVersion: 'gemini-x',
                usageMetadata,
                finishReason: 'STOP',
                groundingMetadata,
                candidates: [{ index: 1, content: says(text('b')) }],
              },
            },
          },
        ],
      },
    })
    const empty = decodeResponse({ candidates: [{ index: 0, content: says(text('a'), text('')) }] })
    expect(empty).toMatchObject({ right: { messages: [{ content: [{ text: 'a' }, { text: '' }] }] } })
    expect(JSON.stringify(empty)).not.toContain('exact') // the API may end an answer with an empty text
    expect(decodeResponse({ promptFeedback: { blockReason: 'SAFETY' } })).toMatchObject({ right: { messages: [] } })
    expect(decodeResponse({ candidates: [{ index: 0, finishReason: 'SAFETY' }] })).toMatchObject({
      right: { messages: [{ role: 'assistant', content: [] }] },
    })
    expect(gemini.decode({ candidates: [{ content: says(text('a')) }] })).toMatchObject({
      right: { messages: [{ role: 'assistant' }] },
    })
  })

  it("writes contents that Google's client accepts", () => {
    const { systemInstruction, contents } = encoded([system('a'), user('b')])
    const request: GenerateContentParameters = {
      model: 'gemini-x',
      contents,
      config: { ...(systemInstruction !== undefined && { systemInstruction }) },
    }
    expect(request.contents).toBe(contents)
  })

  it('reports unreadable input with its path', () => {
    const fault = (wire: unknown): string => {
      const decoded = gemini.decode(wire)
      return isLeft(decoded) ? faultMessage(decoded.left) : 'read'
    }
    expect(fault([{ role: 'assistant', parts: [] }])).toContain('"user" or "model"')
    expect(fault({ contents: [{ parts: [1] }] })).toContain('contents[0].parts[0]')
    expect(fault({ contents: [{ parts: 1 }] })).toContain('contents[0].parts')
    expect(fault({})).toContain('contents')
  })

  it('lists the reasoning fields that it cannot carry', () => {
    const [thought] = decodeOrFail(gemini, { contents: [says({ text: 'hm', thought: true, thoughtSignature })] })
    const part = { ...(thought?.content[0] as ReasoningPart), encrypted: 'of another', summary: ['thinks'] }
    const messages = [user('hi'), { ...(thought as Message), content: [part] } as Message]
    const lost = write(gemini, messages).losses.map(({ path }) => path.at(-1))
    expect(lost).toEqual(['encrypted', 'summary'])
    expect(write(gemini, [user('hi'), thought as Message]).losses).toEqual([])
  })

  it('writes conversations from other formats in terms that the API accepts', () => {
    const messages: readonly Message[] = [
      assistant('hello'),
      developer('rules'),
      user(
        ...[
          'look',
          image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' }),
          file({ type: 'url', url: 'https://example.com/a.pdf', mediaType: 'application/pdf' }),
        ],
      ),
      assistant(
        ...[
          reasoning('secret', { signature: 'sig' }),
          toolCall('toolu_1', 'my tool', '{"a":1}'),
          toolCall('toolu_2', 'g', 'not json'),
        ],
      ),
      toolResult('toolu_1', 'one'),
      { role: 'tool', content: [toolResultPart('toolu_2', 'broken', { isError: true })] },
      assistant(...[refusal('no'), provider('anthropic', { type: 'x' }), toolCall('toolu_3', 'g', {})]),
      system('be brief'),
      user(''),
    ]
    const { wire, losses } = write(gemini, mend(messages).messages)
    expect(wire).toEqual({
      systemInstruction: { parts: [text('be brief')] },
      contents: [
        asks(text('(start)')),
        says(text('hello')),
        asks(text('rules')),
        asks(
          text('look'),
          { inlineData: { data: 'aGk=', mimeType: 'image/png' } },
          { fileData: { fileUri: 'https://example.com/a.pdf', mimeType: 'application/pdf' } },
        ),
        says(call('my_tool', 'toolu_1', { a: 1 }), call('g', 'toolu_2', { arguments: 'not json' })),
        asks(answer('my_tool', 'one', 'toolu_1'), {
          functionResponse: { id: 'toolu_2', name: 'g', response: { error: 'broken' } },
        }),
        says(text('no'), call('g', 'toolu_3')),
        asks({ functionResponse: { id: 'toolu_3', name: 'g', response: { error: expect.any(String) as string } } }),
      ],
    })
    expect(losses.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining([
        "Gemini has no developer role: written as the user's",
        'Gemini only accepts its own reasoning',
        'Gemini has no refusal type: written as text',
        'is known only to anthropic',
        'Gemini does not accept empty text',
        'Gemini accepts instructions only before the conversation: moved there',
        'must consist of 1 to 128 letters, digits, _, ., : and -: written as my_tool',
      ]),
    )
  })

  it("adds the placeholder signature to another model's calls if asked", () => {
    const { contents } = encoded(
      [
        user('a'),
        assistant(...[toolCall('c1', 'f', {}), toolCall('c2', 'f', {})]),
        toolResult('c1', 'x'),
        toolResult('c2', 'y'),
      ],
      { skipSignatures: true },
    )
    expect(contents[1]?.parts.map((part) => part.thoughtSignature)).toEqual([
      'skip_thought_signature_validator',
      undefined,
    ])
    const own = decodeOrFail(gemini, samples[3])
    expect(encoded(own, { skipSignatures: true })).toEqual(samples[3])
  })

  it('is encoded by the other formats without its reasoning', () => {
    const messages = decodeOrFail(gemini, samples[3])
    for (const [name, codec] of Object.entries(codecs)) {
      const { wire } = write(codec, messages)
      if (name !== 'gemini') expect(JSON.stringify(wire)).toContain('noon')
    }
    expect(JSON.stringify(write(codecs.anthropic, messages).wire)).not.toContain(thoughtSignature)
  })

  it('never writes two model turns in a row or an empty content', () => {
    fc.assert(
      fc.property(fc.array(aMessage, { minLength: 1, maxLength: 12 }), (messages) => {
        const { contents } = encoded(messages)
        for (const [index, { role, parts }] of contents.entries()) {
          expect(parts.length).toBeGreaterThan(0)
          if (index === 0) expect(role).toBe('user')
          else if (role === 'model') expect(contents[index - 1]?.role).toBe('user')
          const calls = parts.filter((part) => part.functionCall !== undefined).length
          const answers = contents[index + 1]?.parts.filter((part) => part.functionResponse !== undefined).length ?? 0
          if (role === 'model') expect(answers).toBe(calls)
        }
      }),
      { numRuns: rounds(50, 5000) },
    )
  })

  it('is detected in files: requests, lists of contents, and responses', () => {
    for (const found of [
      samples[1],
      [asks(text('a')), says(text('b'))],
      { candidates: [{ content: says(text('b')) }], modelVersion: 'm', usageMetadata: { promptTokenCount: 4 } },
    ]) {
      const transcript = readTranscript(JSON.stringify(found))
      expect(transcript).toMatchObject({ right: { format: 'gemini' } })
    }
  })
})

it('a result without an id answers the first waiting call with its name of the last turn, or a call of its own', () => {
  const reader = new CallReader(2)
  const calls = [
    [undefined, 'f'],
    ['own', 'f'],
    [undefined, 'g'],
  ] as const
  expect(calls.map(([id, name]) => reader.call(id, name))).toEqual(['call-without-id-2', 'own', 'call-without-id-3'])
  expect(['g', 'f', 'f', 'f'].map((name) => reader.result(undefined, name))).toEqual([
    'call-without-id-3',
    'call-without-id-2',
    'own',
    'call-without-id-4',
  ])
  expect([reader.call('a', 'f'), reader.result('a', 'f'), reader.result(undefined, 'f')]).toEqual([
    'a',
    'a',
    'call-without-id-5',
  ])
  reader.call('b', 'f')
  reader.turn()
  expect(reader.result(undefined, 'f')).toBe('call-without-id-6')
})

it.each([
  ['a result has an id and its call none', {}, { id: 'x' }],
  ['a call has an id and its result none', { id: 'c1' }, {}],
])('Gemini contents pair by name and order if %s, and are written back as they were', (_case, ofCall, ofResult) => {
  const wire = [
    { role: 'user', parts: [{ text: 'Look.' }] },
    { role: 'model', parts: [{ functionCall: { ...ofCall, name: 'look', args: {} } }] },
    { role: 'user', parts: [{ functionResponse: { ...ofResult, name: 'look', response: { output: 'a cat' } } }] },
  ]
  const messages = decodeOrFail(codecs.gemini as Codec<unknown>, wire)
  const settled = settle(messages)
  expect(isRight(settled)).toBe(true)
  if (isRight(settled))
    expect(codecs.gemini.encode(settled.right)).toMatchObject({ right: { wire: { contents: wire } } })
})
