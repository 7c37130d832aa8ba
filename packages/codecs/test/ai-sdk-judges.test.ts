/** What `ai` itself says of our messages: its own validation, conversion and checks, on its own mock model. */
import {
  convertToModelMessages,
  generateText,
  MissingToolResultsError,
  modelMessageSchema,
  validateUIMessages,
  type ModelMessage,
} from 'ai'
import { MockLanguageModelV4 } from 'ai/test'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  image,
  mend,
  reasoning,
  text,
  toolCall,
  toolResult,
  user,
  type Message,
  type Part,
  type Sequence,
  type Settled,
} from 'indelible'
import { provider, refusal } from 'indelible/message'
import { toolResultPart, type Role } from 'indelible/internal/message'
import { aiModelMessages, aiUiMessages, type AiModelMessage, type AiUiMessage } from '@indelible/codecs/ai-sdk'
import { conversation } from '../../../test/messages.ts'
import { itShared, realConversations } from '../../../test/real-transcripts.ts'
import { expectLaw } from '../../../test/codecs/law.ts'
import { isFull, rounds } from '../../../test/rounds.ts'

const asModel = (messages: Settled<Sequence<Message>>): AiModelMessage[] => {
  const encoded = aiModelMessages.encode(messages)
  return encoded._tag === 'Right' ? encoded.right.wire : []
}

const asUi = (messages: Settled<Sequence<Message>>): AiUiMessage[] => {
  const encoded = aiUiMessages.encode(messages)
  return encoded._tag === 'Right' ? encoded.right.wire : []
}

/** What the mock model is sent: everything before it is the SDK as it is. */
const send = async (messages: ModelMessage[]): Promise<readonly unknown[]> => {
  const model = new MockLanguageModelV4({
    doGenerate: {
      content: [{ type: 'text', text: 'fine' }],
      finishReason: { unified: 'stop', raw: undefined },
      usage: {
        inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
        outputTokens: { total: 1, text: 1, reasoning: 0 },
      },
      warnings: [],
    },
  })
  expect((await generateText({ model, messages, allowSystemInMessages: true })).text).toBe('fine')
  return model.doGenerateCalls[0]?.prompt ?? []
}

/** Texts, reasoning, calls and results, one after the other: results in the order of their calls, as UI messages have them. */
const said = (messages: readonly ModelMessage[]): readonly unknown[] => {
  const all = messages.flatMap(saidIn)
  const calls = all.flatMap(([kind, id]) => (kind === 'call' ? [id] : []))
  const byCall = all
    .filter(([kind]) => kind === 'result')
    .toSorted(([, a], [, b]) => calls.indexOf(a) - calls.indexOf(b))
  return all.map((found) => (found[0] === 'result' ? byCall.shift() : found))
}

type ContentItem = readonly [kind: string, ...unknown[]]

/** An empty text says nothing. */
const saidIn = ({ role, content }: ModelMessage): readonly ContentItem[] => {
  // Where instructions are of several texts, `ai` puts nothing between them, and we a line's end.
  if (typeof content === 'string') return texts(role, role === 'system' ? content.replaceAll('\n', '') : content)
  return content.flatMap((part): readonly ContentItem[] => {
    switch (part.type) {
      case 'text':
        return texts(role, part.text)
      case 'reasoning':
        return [[part.type, part.text, part.providerOptions]]
      case 'tool-call':
        return [['call', part.toolCallId, part.toolName, part.input ?? null]] // `ai` leaves the null of a failed call away
      case 'tool-result':
        return [['result', part.toolCallId, part.toolName, part.output]]
      default:
        return [[role, part.type]]
    }
  })
}

const texts = (role: string, text: string): readonly ContentItem[] => (text === '' ? [] : [[role, text]])

/** What `ai` does not ask for and providers do: results directly after the message that calls. */
const expectAnsweredAtOnce = (messages: readonly ModelMessage[]): void => {
  const open = new Set<string>()
  for (const { role, content } of messages) {
    if (role !== 'tool') expect([...open]).toEqual([])
    if (typeof content === 'string') continue
    for (const part of content) {
      if (part.type === 'tool-call' && part.providerExecuted !== true) open.add(part.toolCallId)
      if (part.type === 'tool-result') open.delete(part.toolCallId)
    }
  }
  expect([...open]).toEqual([])
}

/** Everything that `ai` can judge of a conversation. */
const expectAccepted = async (messages: readonly Message[]): Promise<void> => {
  const mended = mend(messages).messages
  const model = asModel(mended)
  expect(() => modelMessageSchema.array().parse(model)).not.toThrow()
  expectAnsweredAtOnce(model)
  await send(model)
  const ui = asUi(mended)
  expect(await validateUIMessages({ messages: ui })).toEqual(ui)
  const converted = await convertToModelMessages(ui)
  expect(said(converted)).toEqual(said(model))
  // What `ai` made holds URL objects and undefined fields.
  const live = aiModelMessages.decode(converted)
  expect(live._tag === 'Right' && JSON.stringify(live.right.messages)).not.toMatch(/"provider"/)
  expectLaw(aiModelMessages, JSON.parse(JSON.stringify(converted)))
  expectLaw(aiUiMessages, ui)
}

describe('the ai package as a judge', () => {
  it('accepts our conversations as model and UI messages, and reads the same content from both', async () => {
    await expectAccepted(conversation())
    await expectAccepted([
      user('hi'),
      assistant(
        reasoning('hm', { signature: 's' }),
        reasoning('', { encrypted: 'sealed' }),
        'I look.',
        toolCall('1', 'f', ''),
        toolCall('2', 'g', 'not json'),
      ),
      toolResult('1', 'one'),
      toolResult('2', 'two', { isError: true }),
      assistant(toolCall('3', 'h', '[1]')),
      toolResult('3', ''),
      assistant('Done.'),
      user('thanks'),
    ])
  })
  it('rejects a call without a result', async () => {
    const damaged = [user('hi'), assistant(toolCall('1', 'f', '{}')), user('and?')]
    await expect(send(asModel(damaged as readonly Message[] as Settled<readonly Message[]>))).rejects.toThrow(
      MissingToolResultsError,
    )
    await expectAccepted(damaged)
  })

  it('accepts what we read from its UI messages and converts it to the same model messages', async () => {
    const ui: AiUiMessage[] = JSON.parse(
      JSON.stringify([
        {
          id: 'u',
          role: 'user',
          parts: [
            { type: 'text', text: 'look' },
            { type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,aGk=' },
          ],
        },
        {
          id: 'a',
          role: 'assistant',
          metadata: { model: 'm' },
          parts: [
            { type: 'step-start' },
            {
              type: 'reasoning',
              text: 'hm',
              state: 'done',
              providerMetadata: { anthropic: { signature: 's' }, google: { thoughtSignature: 'g' } },
            },
            { type: 'tool-f', toolCallId: '1', state: 'output-available', input: { a: 1 }, output: { rows: [1] } },
            {
              type: 'dynamic-tool',
              toolName: 'g',
              toolCallId: '2',
              state: 'output-error',
              input: {},
              errorText: 'no such file',
            },
            {
              type: 'tool-h',
              toolCallId: '3',
              state: 'output-denied',
              input: {},
              approval: { id: 'a', approved: false, reason: 'not now' },
            },
            {
              type: 'tool-web',
              toolCallId: '4',
              state: 'output-available',
              input: {},
              output: [1],
              providerExecuted: true,
            },
            { type: 'steering-message', id: 's', parts: [{ type: 'text', text: 'quick' }] },
            { type: 'step-start' },
            { type: 'text', text: 'Done.', state: 'done' },
          ],
        },
      ]),
    ) as AiUiMessage[]
    const decoded = aiUiMessages.decode(await validateUIMessages({ messages: ui }))
    const { messages, repairs } = mend(decoded._tag === 'Right' ? decoded.right.messages : [])
    expect(repairs).toEqual([])
    const ours = asModel(messages)
    await send(ours)
    const theirs = (await convertToModelMessages(ui)).filter(({ content }) => content.length > 0)
    const withoutApprovals = said(theirs).filter((found) => !/approval/.test(JSON.stringify(found)))
    expect(said(ours)).toEqual(withoutApprovals)
    expect(withoutApprovals.length).toBe(13)
  })

  it('accepts random damaged conversations after mending', async () => {
    const callId = fc.constantFrom('1', '2', '3', '4')
    const args = fc.oneof(fc.json(), fc.string(), fc.constant(''))
    const result = fc
      .tuple(callId, fc.string(), fc.boolean())
      .map(([id, text, isError]): Part => toolResultPart(id, text, { isError }))
    const part = fc.oneof(
      fc.string().map((value): Part => text(value)),
      fc.tuple(callId, args).map(([id, value]): Part => toolCall(id, `f${id}`, value)),
      result,
      fc
        .tuple(fc.string(), fc.option(fc.string(), { nil: undefined }))
        .map(([value, signature]): Part => reasoning(value, signature === undefined ? {} : { signature })),
      fc.constantFrom<Part>(
        refusal('no'),
        provider('acme', 1),
        image({ type: 'base64', mediaType: 'image/png', data: 'aGk=' }),
      ),
    )
    const message = fc.oneof(
      fc.record({
        role: fc.constantFrom<Role>('system', 'developer', 'user', 'assistant', 'assistant', 'tool'),
        content: fc.array(part, { maxLength: 5 }),
      }),
      fc.record({ role: fc.constant<Role>('tool'), content: fc.array(result, { minLength: 1, maxLength: 3 }) }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 8 }), (messages) => expectAccepted([user('hi'), ...messages])),
      { numRuns: rounds(80, 300) },
    )
  })

  itShared('conversations of every real transcript, once they are mended', async () => {
    let count = 0
    for (const [, , { messages }] of realConversations()) {
      await expectAccepted(messages)
      count += 1
    }
    expect(count).toBeGreaterThan(isFull ? 50 : 15)
  })
})
