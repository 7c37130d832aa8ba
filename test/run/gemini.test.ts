/** Gemini's models, with Google's own client, against a provider on loopback. */
import { GoogleGenAI } from '@google/genai'
import { afterEach, describe, expect, it } from 'vitest'
import { assistant, mend, orThrow, system, textOf, toolCall, toolResult, user } from 'indelible'
import { run, tool, type Model, type ModelEvent } from 'indelible/run'
import { geminiModel, type GeminiOptions } from 'indelible/run/gemini'
import { providerServer, type ProviderServer, type Reply, type Request } from './provider-server.ts'

let server: ProviderServer | undefined
afterEach(() => server?.close())

const connected = async (reply: (request: Request) => Reply, options: Partial<GeminiOptions> = {}): Promise<Model> => {
  server = await providerServer(reply)
  const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: server.url, retryOptions: { attempts: 1 } } })
  return geminiModel(client, { model: 'gemini-x', ...options })
}

const events = (...lists: readonly (readonly object[])[]): Reply => ({
  pieces: 100,
  events: lists.map((parts, index) =>
    JSON.stringify({
      candidates: [
        { index: 0, content: { role: 'model', parts }, ...(index === lists.length - 1 && { finishReason: 'STOP' }) },
      ],
      usageMetadata: {
        promptTokenCount: 10,
        cachedContentTokenCount: 4,
        candidatesTokenCount: index,
        thoughtsTokenCount: 1,
      },
      modelVersion: 'gemini-x-001',
    }),
  ),
})

const looking = events(
  [{ text: 'Look ', thought: true }],
  [{ text: 'first.', thought: true, thoughtSignature: 'c2ln' }],
  [{ text: 'Let me ' }],
  [{ text: 'see.' }],
  [{ functionCall: { name: 'look', args: { at: 1 } }, thoughtSignature: 'c2ln' }, { functionCall: { name: 'look' } }],
  [{ executableCode: { language: 'PYTHON', code: '1' } }],
  [{ text: '', thoughtSignature: 'ZW5k' }],
)

const every = async (stream: AsyncIterable<ModelEvent>): Promise<readonly ModelEvent[]> => {
  const all: ModelEvent[] = []
  for await (const event of stream) all.push(event)
  return all
}

const eventsOf = async (model: Model, parameters = {}): Promise<readonly ModelEvent[]> => {
  const { messages } = mend([user('hi')])
  return every(model.stream({ messages, tools: [], stablePrefix: 0, parameters }, new AbortController().signal))
}

describe('the Gemini model', () => {
  it('streams text, signed reasoning, calls without ids, and code that it ran itself', async () => {
    const all = await eventsOf(await connected(() => looking))
    const told = all.map((event) => [event.type, 'text' in event ? event.text : 'block' in event ? event.block : ''])
    expect(told.slice(0, 13)).toEqual([
      ['block_start', 'reasoning'],
      ['reasoning_delta', 'Look '],
      ['block_end', 'reasoning'],
      ['block_start', 'reasoning'],
      ['reasoning_delta', 'first.'],
      ['signature_delta', 'c2ln'],
      ['block_end', 'reasoning'],
      ['block_start', 'text'],
      ['text_delta', 'Let me '],
      ['text_delta', 'see.'],
      ['block_end', 'text'],
      ['block_start', 'tool_call'],
      ['arguments_delta', '{"at":1}'],
    ])
    const finish = all.at(-1)
    expect(finish).toMatchObject({
      type: 'finish',
      reason: 'tool_calls',
      usage: { input: 10, output: 7, cacheRead: 4 },
      model: 'gemini-x-001',
      message: {
        content: [
          { type: 'reasoning', text: 'Look ' },
          { type: 'reasoning', text: 'first.', signature: 'c2ln' },
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_call', id: 'call-without-id-0', arguments: '{"at":1}' },
          { type: 'tool_call', id: 'call-without-id-1', arguments: '{}' },
          { type: 'provider' },
          { type: 'text', text: '' },
        ],
      },
    })
    const parts = all.flatMap((event) => (event.type === 'block_end' ? [event.part] : []))
    expect(parts).toEqual(finish?.type === 'finish' && finish.message.content)
  })

  it("runs tools: sends its answer back unchanged and a step's results together", async () => {
    const replies = [looking, events([{ text: 'Seen.' }])]
    const model = await connected(() => replies.shift() as Reply)
    const look = tool({
      name: 'look',
      description: 'looks',
      parameters: { type: 'object', properties: { at: { type: 'number' } } },
      run: (input) => {
        const { at } = input as { readonly at?: number }
        return `saw ${at ?? 'nothing'}`
      },
    })
    const ended = orThrow(
      await run({
        model,
        tools: [look],
        view: mend([system('be brief'), user('look twice')]).messages,
        parameters: { temperature: 0, tools: [{ googleSearch: {} }] },
      }).result()(),
    )
    expect(ended.messages.map(textOf).at(-1)).toBe('Seen.')
    const [first, second] = server?.requests ?? []
    expect(first?.body).toMatchObject({
      systemInstruction: { parts: [{ text: 'be brief' }] },
      generationConfig: { temperature: 0 },
      tools: [{ googleSearch: {} }, { functionDeclarations: [{ name: 'look', description: 'looks' }] }],
    })
    expect(second?.body['contents']).toEqual([
      { role: 'user', parts: [{ text: 'look twice' }] },
      {
        role: 'model',
        parts: [
          { text: 'Look ', thought: true },
          { text: 'first.', thought: true, thoughtSignature: 'c2ln' },
          { text: 'Let me see.' },
          { functionCall: { name: 'look', args: { at: 1 } }, thoughtSignature: 'c2ln' },
          { functionCall: { name: 'look' } },
          { executableCode: { language: 'PYTHON', code: '1' } },
          { text: '', thoughtSignature: 'ZW5k' },
        ],
      },
      {
        role: 'user',
        parts: ['saw 1', 'saw nothing'].map((output) => ({ functionResponse: { name: 'look', response: { output } } })),
      },
    ])
  })

  it('assembles arguments streamed in pieces', async () => {
    const model = await connected(() =>
      events(
        [{ functionCall: { name: 'look', willContinue: true } }],
        [
          {
            functionCall: {
              partialArgs: [{ jsonPath: '$.where.at[0]', stringValue: 'he', willContinue: true }],
              willContinue: true,
            },
          },
        ],
        [
          {
            functionCall: {
              partialArgs: [
                { jsonPath: '$.where.at[0]', stringValue: 're' },
                { jsonPath: '$.far', boolValue: true },
              ],
              willContinue: true,
            },
          },
        ],
        [{ functionCall: {} }],
      ),
    )
    const all = await eventsOf(model)
    expect(all.flatMap((event) => (event.type === 'arguments_delta' ? [event.text] : []))).toEqual([
      '{"where":{"at":["here"]},"far":true}',
    ])
    expect(all.at(-1)).toMatchObject({ message: { content: [{ type: 'tool_call', name: 'look' }] } })
  })

  it('reports why it stopped and that a prompt was blocked', async () => {
    const reasons: unknown[] = []
    for (const finishReason of ['STOP', 'MAX_TOKENS', 'SAFETY', 'OTHER']) {
      const model = await connected(() => ({
        events: [
          JSON.stringify({ candidates: [{ content: { role: 'model', parts: [{ text: 'a' }] }, finishReason }] }),
        ],
      }))
      reasons.push((await eventsOf(model)).at(-1))
      await server?.close()
    }
    expect(reasons).toMatchObject(['end_turn', 'max_tokens', 'refusal', 'other'].map((reason) => ({ reason })))
    const blocked = await connected(() => ({ events: [JSON.stringify({ promptFeedback: { blockReason: 'SAFETY' } })] }))
    expect(await eventsOf(blocked)).toMatchObject([
      {
        type: 'finish',
        reason: 'refusal',
        message: { content: [{ type: 'refusal', text: 'The prompt was blocked: SAFETY' }] },
      },
    ])
  })

  it('counts input of its own tools and reasoning, and may give no counts and no model', async () => {
    const ending = async (usageMetadata: unknown, more: object = {}): Promise<ModelEvent | undefined> => {
      const chunk = { candidates: [{ content: { parts: [{ text: '' }, { text: 'a' }] }, finishReason: 'RECITATION' }] }
      const model = await connected(() => ({ events: [JSON.stringify({ ...chunk, usageMetadata, ...more })] }))
      const last = (await eventsOf(model)).at(-1)
      await server?.close()
      return last
    }
    const counts = { promptTokenCount: 1, toolUsePromptTokenCount: 2, candidatesTokenCount: 4, thoughtsTokenCount: 8 }
    expect(await ending({ ...counts, cachedContentTokenCount: 1 }, { modelVersion: 'm-1' })).toMatchObject({
      reason: 'refusal',
      usage: { input: 3, output: 12, cacheRead: 1 },
      model: 'm-1',
    })
    const none = await ending({})
    expect(none).toMatchObject({ usage: { input: 0, output: 0, cacheRead: 0 } })
    expect(none).not.toHaveProperty('model')
    const cut = await connected(() => ({
      events: [JSON.stringify({ candidates: [{ content: { parts: [{ text: 'a' }] } }] })],
    }))
    expect((await eventsOf(cut)).map(({ type }) => type)).toEqual(['block_start', 'text_delta'])
  })

  it("continues another model's conversation, with placeholder signatures for Gemini 3 only", async () => {
    for (const [model, signature] of [
      ['gemini-3-pro', 'skip_thought_signature_validator'],
      ['gemini-2.5-pro', undefined],
    ] as const) {
      const one = await connected(() => events([{ text: 'Seen.' }]), { model })
      const { messages } = mend([user('look'), assistant(toolCall('c1', 'look', {})), toolResult('c1', 'x')])
      await every(one.stream({ messages, tools: [], stablePrefix: 0, parameters: {} }, new AbortController().signal))
      const contents = server?.requests[0]?.body['contents'] as readonly { readonly parts: readonly object[] }[]
      expect(contents[1]?.parts).toEqual([
        {
          functionCall: { id: 'c1', name: 'look', args: {} },
          ...(signature !== undefined && { thoughtSignature: signature }),
        },
      ])
      await server?.close()
    }
  })
})
