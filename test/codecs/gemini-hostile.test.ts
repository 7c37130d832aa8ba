/** Chunks of Gemini that are not as its reference says: nothing throws, nothing stalls, and nothing is lost without a word. */
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { decodeResponse, gemini, joinResponses } from 'indelible/codecs/gemini'
import { memoryStore, openSession, textOf } from 'indelible'
import { createRecorder } from '@indelible/recorder'
import { ok } from '../task-results.ts'
import { rounds } from '../rounds.ts'

type Piece = { readonly [field: string]: unknown }

const chunk = (...parts: readonly unknown[]) => ({ candidates: [{ content: { role: 'model', parts } }] })
const pieces = (...partialArgs: readonly Piece[]) =>
  chunk({ functionCall: { name: 'f', partialArgs, willContinue: true } })
const callIn = (response: object): Piece => {
  const { candidates } = response as { candidates: [{ content: { parts: [{ functionCall: Piece }] } }] }
  return candidates[0].content.parts[0].functionCall
}

it('joined chunks of Gemini have the fields of the response, each as the last chunk with it has it', () => {
  const usage = (tokens: number): object => ({ usageMetadata: { totalTokenCount: tokens } })
  const joined = joinResponses([{ modelVersion: 'gemini-x', ...usage(1) }, pieces(), usage(3)])
  expect(joined).toMatchObject({ modelVersion: 'gemini-x', ...usage(3) })
})

it('a response of Gemini without a role is an answer like one with it', () => {
  const answer = (role: object) => decodeResponse({ candidates: [{ content: { ...role, parts: [{ text: 'a' }] } }] })
  expect(answer({})).toMatchObject({ right: { messages: [{ role: 'assistant' }] } })
  expect(answer({})).toEqual(answer({ role: 'model' }))
})

it('a value that can not be read is a fault', () => {
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  const throwing = {
    get candidates(): never {
      throw new Error('no')
    },
  }
  for (const value of [proxy, throwing])
    for (const decode of [gemini.decode, decodeResponse])
      expect(decode(value)).toMatchObject({ left: { _tag: 'WireNotJson', format: 'gemini' } })
})

describe('Gemini: streamed argument pieces', () => {
  it('are placed at their paths', () => {
    const at = (jsonPath: string, value: Piece): Piece => ({ jsonPath, ...value })
    const joined = joinResponses([
      pieces(
        at('$.a[0].b', { stringValue: 'x' }),
        at("$.a[1]['c d']", { numberValue: 1 }),
        at('$.n', { nullValue: 0 }),
      ),
      chunk({ functionCall: { partialArgs: [at('$.a[0].b', { stringValue: 'y' })] }, thoughtSignature: 'sig' }),
    ])
    expect(callIn(joined)).toEqual({ name: 'f', args: { a: [{ b: 'xy' }, { 'c d': 1 }], n: null } })
    expect(JSON.stringify(joined)).toContain('"thoughtSignature":"sig"')
  })

  it.each([
    ['the length of a list', '$.a.length', { numberValue: 4_294_967_295 }],
    ['the length of a list, as a text', '$.a.length', { stringValue: 'x' }],
    ['a place far behind the end of a list', '$.a[9999]', { stringValue: 'x' }],
    ['a place that is no number', '$.a[-1]', { stringValue: 'x' }],
    ['a place of an object', '$[0]', { stringValue: 'x' }],
    ['a name in a list', '$.a.push', { stringValue: 'x' }],
    ['what all objects have', '$.__proto__.polluted', { stringValue: 'x' }],
    ['what all objects have, in quotes', "$['__proto__']['polluted']", { stringValue: 'x' }],
    ['a place within a text', '$.t.deep', { stringValue: 'x' }],
    ['an object, as a text', '$.a', { stringValue: 'x' }],
    ['nothing', '$', { stringValue: 'x' }],
    ['no path', '$.a!]', { stringValue: 'x' }],
    ['too deep a place', `$${'.a'.repeat(5000)}`, { stringValue: 'x' }],
    ['a path that is a number', 7, { stringValue: 'x' }],
    ['a place, with a value that is none', '$.b', { stringValue: {}, numberValue: 'x' }],
  ])('stay unassembled if they name %s', (_, jsonPath, value) => {
    const fine = [
      { jsonPath: '$.a[0]', stringValue: 'first' },
      { jsonPath: '$.t', stringValue: 'text' },
    ]
    const piece = { jsonPath, ...value }
    const joined = joinResponses([pieces(...fine, piece)])
    expect(callIn(joined)).toEqual({ name: 'f', args: { a: ['first'], t: 'text' }, partialArgs: [piece] })
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    const decoded = decodeResponse(joined)
    expect(JSON.stringify(decoded)).toContain(JSON.stringify(piece))
  })

  it('may name inherited members, which are treated as own members', () => {
    const joined = joinResponses([pieces({ jsonPath: '$.constructor.prototype.x', stringValue: 'own' })])
    expect(JSON.stringify(callIn(joined)['args'])).toBe('{"constructor":{"prototype":{"x":"own"}}}')
  })
})

describe('Gemini: stream chunks', () => {
  it('that are not objects are set aside together with other misplaced values', () => {
    const unread = [null, 7, 'x', ['list'], 'no candidate', 'no content', 'no part', { parts: 'no list' }]
    const joined = joinResponses([
      null,
      7,
      'x',
      chunk({ text: 'a' }),
      ['list'],
      { candidates: ['no candidate', { content: 'no content' }] },
      chunk('no part', { text: 'b' }),
      { candidates: { parts: 'no list' } },
    ] as never)
    expect(joined).toEqual({ ...chunk({ text: 'ab' }), unreadChunks: unread })
    const decoded = decodeResponse(joined)
    if (decoded._tag === 'Left') throw new Error(decoded.left._tag)
    expect(decoded.right.messages.map(textOf)).toEqual(['ab'])
    expect(decoded.right.messages[0]?.meta?.['gemini-response']).toEqual({ unreadChunks: unread })
  })
})

describe('Gemini: provider bytes', () => {
  const stream = [
    {
      responseId: 'r',
      modelVersion: 'v',
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'think', thought: true }, { text: 'a' }] } }],
    },
    pieces({ jsonPath: '$.a[0]', stringValue: 'x' }),
    {
      candidates: [
        {
          index: 0,
          finishReason: 'STOP',
          citationMetadata: { citations: [{ uri: 'x' }] },
          content: { parts: [{ functionCall: { partialArgs: [{ jsonPath: '$.a[0]', stringValue: 'y' }] } }] },
        },
      ],
      promptFeedback: { blockReason: 'OTHER' },
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 },
      error: null,
    },
  ]
  /** The places of all members, as paths. */
  const placesIn = (value: unknown, path: readonly string[] = []): readonly (readonly string[])[] =>
    typeof value !== 'object' || value === null
      ? [path]
      : [path, ...Object.entries(value).flatMap(([key, item]) => placesIn(item, [...path, key]))]
  const places = placesIn(stream).filter(({ length }) => length > 0)
  const changed = (value: unknown, [step, ...rest]: readonly string[], to: unknown): unknown => {
    if (step === undefined) return to
    const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Piece
    return Object.assign(copy, { [step]: changed(copy[step], rest, to) })
  }
  const hostile = fc.oneof(
    fc.constantFrom<unknown>(null, 7, -1, 1e308, '', 'x', '\ud800', true, [], {}, [[]], [null], { length: 1e9 }),
    fc.constantFrom<unknown>('$.a.length', '$.a[9999999]', '$.__proto__.polluted', `$${'[0]'.repeat(9999)}`),
    fc.constant(JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}') as unknown),
    fc.constant(JSON.parse(`${'['.repeat(3000)}${']'.repeat(3000)}`) as unknown),
    fc.jsonValue(),
  )

  it('property: with any value in place of a member, the fault is reported and the next call is recorded', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...places), hostile), { minLength: 1, maxLength: 4 }),
        fc.constantFrom('text/event-stream', 'application/json'),
        async (changes, type) => {
          let chunks: unknown = stream
          for (const [path, to] of changes)
            try {
              chunks = changed(chunks, path, to)
            } catch {
              // An earlier change took the place away.
            }
          const store = memoryStore()
          const notices: string[] = []
          const recorder = createRecorder({
            store,
            sessionOf: () => 's',
            redact: true,
            onNotice: ({ reason }) => notices.push(reason),
          })
          const call = async (body: string, as: string, said: readonly string[]): Promise<void> => {
            const observed = recorder.observe({
              method: 'POST',
              url: 'https://x.example/v1beta/models/m:streamGenerateContent',
              header: () => undefined,
            })
            const contents = said.map((text, at) => ({ role: at % 2 === 0 ? 'user' : 'model', parts: [{ text }] }))
            observed?.sent(JSON.stringify({ contents }))
            observed?.answered(200, (name) => (name === 'content-type' ? as : undefined))
            observed?.chunk(new TextEncoder().encode(body))
            observed?.end()
            await recorder.settled()
          }
          const list = Array.isArray(chunks) ? (chunks as readonly unknown[]) : [chunks]
          const body =
            type === 'application/json'
              ? JSON.stringify(chunks)
              : list.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('')
          await call(body, type, ['first'])
          await call(JSON.stringify([{ ...chunk({ text: 'fine' }), finishReason: 'x' }]), 'application/json', [
            'second',
          ])
          expect(notices).toEqual([])
          expect(recorder.summary()).toMatchObject({ calls: 2, lost: 0 })
          const session = await ok(openSession(store, 's'))
          expect(textOf(session.conversation().at(-1) ?? { role: 'user', content: [] })).toBe('fine')
          expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
          // And what joins and reads chunks gives an answer, or a fault with a place.
          const joined = joinResponses(list as readonly object[])
          for (const read of [decodeResponse(joined), gemini.decode(joined), gemini.decode(chunks)])
            if (read._tag === 'Left') expect(typeof read.left._tag).toBe('string')
        },
      ),
      { numRuns: rounds(6, 300) },
    )
  })

  it("may be a list whose strings never end or exceed a pattern's length", async () => {
    const notices: string[] = []
    const recorder = createRecorder({ store: memoryStore(), onNotice: ({ reason }) => notices.push(reason) })
    for (const body of [
      `[${JSON.stringify(chunk({ text: '\n'.repeat(5_000_000) }))}]`,
      `[{"a":"${'\\"'.repeat(200_000)}`,
    ]) {
      const url = 'https://x.example/v1beta/models/m:streamGenerateContent'
      const observed = recorder.observe({ method: 'POST', url, header: () => undefined })
      observed?.sent(JSON.stringify({ contents: [{ role: 'user', parts: [{ text: body.slice(0, 20) }] }] }))
      observed?.answered(200, (name) => (name === 'content-type' ? 'application/json' : undefined))
      observed?.chunk(new TextEncoder().encode(body))
      observed?.end()
    }
    await recorder.settled()
    expect(notices).toEqual([])
    expect(recorder.summary()).toMatchObject({ calls: 2, lost: 0 })
  })
})

it('the results of many calls are paired with a few comparisons each', () => {
  const count = 600
  const parts = (kind: string, id: string, more: object) =>
    Array.from({ length: count }, (_, index) => ({ [kind]: { id: `${id}${index}`, name: 'f', ...more } }))
  const comparisons = vi.spyOn(RegExp.prototype, 'test')
  const decoded = gemini.decode([
    { role: 'model', parts: parts('functionCall', 'call', { args: {} }) },
    { role: 'user', parts: parts('functionResponse', 'other', { response: { output: 'x' } }) },
  ])
  const made = comparisons.mock.calls.length
  comparisons.mockRestore()
  expect(decoded).toMatchObject({ right: { messages: [{ role: 'assistant' }, { role: 'tool' }] } })
  expect(made).toBeLessThan(20 * count)
})
