/** Requests that the codec writes, posted with Anthropic's own client to a server that refuses what the API refuses. */
import Anthropic, { BadRequestError } from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { faultMessage, mend, type Message } from 'indelible'
import { anthropic, type AnthropicConversation, type AnthropicEncodeOptions } from 'indelible/codecs/anthropic'
import { conversation, everyPart } from '../messages.ts'
import { itShared, readShared, realConversations } from '../real-transcripts.ts'
import { aMessage } from './any-message.ts'
import { refusal, startJudge } from './judges/anthropic.ts'
import { isFull, rounds } from '../rounds.ts'
import { readTranscript } from '@indelible/transcripts'

let judge: Awaited<ReturnType<typeof startJudge>>
let client: Anthropic
beforeAll(async () => {
  judge = await startJudge()
  client = new Anthropic({ apiKey: 'none', baseURL: judge.url, maxRetries: 0 })
})
afterAll(() => judge.stop())

/** What the server says of a request: 'accepted', or the reason of its 400. */
const post = async (wire: unknown): Promise<string> => {
  try {
    const answer = await client.messages.create({ model: 'judge', max_tokens: 1, ...(wire as AnthropicConversation) })
    return answer.content[0]?.type === 'text' ? answer.content[0].text : ''
  } catch (error) {
    if (!(error instanceof BadRequestError)) throw error
    return (error.error as { readonly error: { readonly message: string } }).error.message
  }
}

const encoded = (messages: readonly Message[], options: AnthropicEncodeOptions = {}): AnthropicConversation => {
  const answer = anthropic.encode(mend(messages).messages, {
    block: () => ({ data: 'aGk=', mediaType: 'application/pdf' }),
    ...options,
  })
  if (isLeft(answer)) throw new Error(faultMessage(answer.left))
  return answer.right.wire
}

const go = { role: 'user', content: 'go' }
const called = { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'f', input: {} }] }
const answer = { type: 'tool_result', tool_use_id: 'c1', content: 'ok' }
const answered = { role: 'user', content: [answer] }
const text = { type: 'text', text: 'a' }
const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }
const says = (...content: readonly unknown[]) => ({ role: 'assistant', content })
const asks = (...content: readonly unknown[]) => ({ role: 'user', content })

describe('the Anthropic judge', () => {
  it.each<readonly [string, readonly unknown[]]>([
    ['a question', [go]],
    ['calls and their results', [go, called, answered]],
    ['results, then what the user says', [go, called, asks(answer, text, png)]],
    [
      'thinking before a call',
      [go, says({ type: 'thinking', thinking: '', signature: 'c2ln' }, ...called.content), answered],
    ],
    [
      'instructions after the user',
      [go, { role: 'system', content: 's' }, called, answered, { role: 'system', content: [text] }],
    ],
    ['one user message after another', [go, go, says(text), says(text), go]],
    ['an empty message of the assistant at the end', [go, { role: 'assistant', content: '' }]],
  ])('accepts %s', async (_name, messages) => expect(await post({ messages })).toBe('accepted'))

  it.each<readonly [string, readonly unknown[]]>([
    ['at least one message is required', []],
    ['first message must use the "user" role', [says(text)]],
    ["role: Input should be 'user'", [go, { role: 'tool', content: 'a' }]],
    ['non-empty content', [asks(), says(text)]],
    ['non-empty content', [{ role: 'user', content: '' }, says(text)]],
    ['text content blocks must be non-empty', [asks(text, { type: 'text', text: '' })]],
    ['must contain non-whitespace text', [asks({ type: 'text', text: ' \n' })]],
    ['cannot end with trailing whitespace', [go, says({ type: 'text', text: 'a ' })]],
    ['messages.0.id: Extra inputs are not permitted', [{ ...go, id: 'm' }]],
    ['messages.0.content.0.meta: Extra inputs are not permitted', [asks({ ...text, meta: 1 })]],
    ['without `tool_result` blocks immediately after: c1', [go, called]],
    ['without `tool_result` blocks immediately after: c1', [go, called, go]],
    ['without `tool_result` blocks immediately after: c1', [go, called, go, answered]],
    ['without `tool_result` blocks immediately after: c1', [go, called, asks(text, answer)]],
    ['without `tool_result` blocks immediately after: c1', [go, says(...called.content, text), answered]],
    ['without `tool_result` blocks immediately after: c1', [go, called, { role: 'system', content: 's' }, answered]],
    ['messages.0.content.0: unexpected `tool_use_id`', [answered]],
    [
      'unexpected `tool_use_id` found in `tool_result` blocks: c2',
      [go, called, asks(answer, { ...answer, tool_use_id: 'c2' })],
    ],
    ['must have a single result', [go, called, asks(answer, answer)]],
    ['ids must be unique', [go, called, answered, called, answered]],
    ["Input tag 'tool_use'", [asks(...called.content)]],
    ["Input tag 'tool_result'", [go, says(...called.content, answer)]],
    ["Input tag 'image'", [go, says(png)]],
    [
      'tool_use.id: String should match pattern',
      [go, says({ ...called.content[0], id: 'c.1' }), asks({ ...answer, tool_use_id: 'c.1' })],
    ],
    ['tool_use.name: String should match pattern', [go, says({ ...called.content[0], name: '' }), answered]],
    ['tool_use.input: Input should be a valid dictionary', [go, says({ ...called.content[0], input: '{}' }), answered]],
    [
      'content cannot be empty if `is_error` is true',
      [go, called, asks({ type: 'tool_result', tool_use_id: 'c1', is_error: true })],
    ],
    ['all content must be type `text`', [go, called, asks({ ...answer, content: [png], is_error: true })]],
    ['cannot be `thinking`', [go, says(text, { type: 'thinking', thinking: '', signature: 'c2ln' })]],
    ['Invalid `signature`', [go, says({ type: 'thinking', thinking: '', signature: '' }, text)]],
    ['media_type', [asks({ ...png, source: { ...png.source, media_type: 'image/bmp' } })]],
    ['cannot be empty', [asks({ ...png, source: { ...png.source, data: '' } })]],
    ['Only HTTP', [asks({ ...png, source: { type: 'url', url: 'file:///a' } })]],
    ['must follow a user message', [go, says(text), { role: 'system', content: 's' }]],
    ['must be last, or before an assistant', [go, { role: 'system', content: 's' }, { role: 'system', content: 's' }]],
    ['must be last, or before an assistant', [go, { role: 'system', content: 's' }, go]],
    ['Found 5', [asks(...Array.from({ length: 5 }, () => ({ ...text, cache_control: { type: 'ephemeral' } })))]],
  ])('refuses: %s', async (reason, messages) => expect(await post({ messages })).toContain(reason))

  it('refuses empty instructions', async () => {
    expect(await post({ system: '', messages: [go] })).toContain('non-empty')
    expect(await post({ system: [png], messages: [go] })).toContain("Input tag 'image'")
  })
})

describe('a mended and encoded conversation', () => {
  it('is accepted with every part type', async () => {
    expect(await post(encoded(conversation()))).toBe('accepted')
    expect(await post(encoded([...conversation(), everyPart]))).toBe('accepted')
    expect(await post(encoded([everyPart]))).toBe('accepted')
  })

  it('is accepted for random conversations', () => {
    fc.assert(
      fc.property(fc.array(aMessage, { minLength: 1, maxLength: 12 }), fc.boolean(), (messages, exact) => {
        const wire = encoded(messages, { exact })
        if (wire.messages.length > 0) expect(refusal({ model: 'judge', max_tokens: 1, ...wire })).toBe(undefined)
      }),
      { numRuns: rounds(300, 3000) },
    )
  })

  it('is accepted with `allow` even when read from input that the API refuses', () => {
    let refused = 0
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...wires), { minLength: 1, maxLength: 10 }), (messages) => {
        const decoded = anthropic.decode({ messages })
        if (isLeft(decoded)) throw new Error(faultMessage(decoded.left))
        const wire = encoded(decoded.right.messages, { exact: false })
        if (refusal({ model: 'judge', max_tokens: 1, messages }) !== undefined) refused += 1
        if (wire.messages.length > 0) expect(refusal({ model: 'judge', max_tokens: 1, ...wire })).toBe(undefined)
      }),
      { numRuns: rounds(300, 3000) },
    )
    expect(refused).toBeGreaterThan(rounds(200, 2000))
  })

  itShared('is taken for every transcript, over HTTP', async () => {
    let taken = 0
    for (const [name, pick, { messages }] of realConversations()) {
      expect([name, pick, await post(encoded(messages))]).toEqual([name, pick, 'accepted'])
      taken += 1
    }
    expect(taken).toBeGreaterThanOrEqual(isFull ? 54 : 15)
  })

  itShared('is refused for a real session that is not mended', async () => {
    const session = readTranscript(readShared('transcripts/coding-agent.pi-session.jsonl'))
    if (!isRight(session)) throw new Error('not read')
    const { messages } = session.right
    const unmended = anthropic.encode(messages, { allow: 'unsettled' })
    expect(isRight(unmended) && (await post(unmended.right.wire))).toContain(
      'without `tool_result` blocks immediately after',
    )
  })
})

/** Wire messages that stand well together only by chance. */
const wires = [
  go,
  called,
  answered,
  says(text),
  says(...called.content, text),
  says(text, ...called.content, { ...called.content[0], id: 'c.2' }),
  says({ type: 'text', text: ' ' }, { ...called.content[0], id: 'c2', input: [] }),
  says({ type: 'thinking', thinking: 'hm', signature: '' }, { type: 'redacted_thinking', data: 'e' }),
  says(),
  { ...says(png, { type: 'text', text: 'a ' }), id: 'msg_1' },
  asks(),
  asks(answer, { ...answer, tool_use_id: 'c.2', content: '', is_error: true }),
  asks(text, answer),
  asks({ ...answer, tool_use_id: 'c2', content: [png], is_error: true }, text),
  asks(...called.content, png),
  { role: 'system', content: 's', clear_at: 'never' },
  { role: 'system', content: '' },
]
