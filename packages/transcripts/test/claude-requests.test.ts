/** Claude Code's lines about its requests, as evidence of why tokens were sent again. */
import * as fc from 'fast-check'
import { memoryStore } from 'indelible'
import { explainCalls, type UsageCause } from 'indelible/internal/usage'
import { explainUsage, type ExplainedCall } from 'indelible/usage'
import { describe, expect, it } from 'vitest'
import { importTranscript } from '@indelible/transcripts'
import { spentIn } from '@indelible/transcripts/internal'
import { anthropic, events, simulateRequests, type Step } from '../../../test/usage/simulated-cache.ts'
import { read } from './reading.ts'

type Line = { readonly [field: string]: unknown }

interface Made {
  readonly model?: string
  readonly read: number
  readonly written: number
  readonly fresh?: number
  readonly output?: number
  readonly began?: number
  readonly at?: number
  /** The names of what is sent. */
  readonly tools?: string
  readonly system?: string
  readonly effort?: string
  readonly messages?: readonly string[]
  /** Lines before the answer. */
  readonly before?: readonly Line[]
  /** Changes to the lines. */
  readonly request?: Line | null
  readonly answer?: Line
  readonly message?: Line
}

const start = 1_767_225_600_000

/** A session file of Claude Code, with a request line for each call. */
const fileOf = (calls: readonly Made[]): string => {
  const lines: Line[] = []
  let parentUuid: string | null = null
  let hashes: readonly string[] = []
  const shapes = new Set<string>()
  const base = { sessionId: 'made', version: '2.1.330', cwd: '/', userType: 'external', isSidechain: false }
  for (const [index, call] of calls.entries()) {
    const { tools = 'Bash', system = 'You build.', effort = 'medium', messages = [], before = [] } = call
    const { began = start + index * 10_000, at = began + 1000 } = call
    const timestamp = new Date(began).toISOString()
    const user = `user-${index}`
    const add = (line: Line): void => void lines.push({ ...base, timestamp, ...line })
    add({ type: 'user', uuid: user, parentUuid, message: { role: 'user', content: `Go on ${index}` } })
    for (const line of before) add('uuid' in line ? { ...line, parentUuid: user } : line)
    const shapeHash = `${tools} ${system}`
    if (!shapes.has(shapeHash) && call.request !== null)
      add({ type: 'api-request-shape', shapeHash, shape: { system: [{ text: system }], tools: [{ name: tools }] } })
    shapes.add(shapeHash)
    const differs = messages.findIndex((hash, place) => hash !== hashes[place])
    const keep = differs < 0 ? Math.min(messages.length, hashes.length) : differs
    if (call.request !== null)
      add({
        ...{ type: 'api-request', id: `request-${index}`, shapeHash, keep, tail: messages.slice(keep) },
        ...(keep > 0 && { base: `request-${index - 1}` }),
        params: { model: 'claude', thinking: { type: 'adaptive' }, output_config: { effort } },
        ...call.request,
      })
    hashes = messages
    parentUuid = `answer-${index}`
    add({
      ...{ type: 'assistant', uuid: parentUuid, parentUuid: user, requestRef: `request-${index}` },
      timestamp: new Date(at).toISOString(),
      message: {
        ...{
          id: `msg_made_${index}_0000000`,
          type: 'message',
          role: 'assistant',
          model: call.model ?? 'claude-opus-4-5',
        },
        content: [{ type: 'text', text: 'Yes.' }],
        usage: {
          input_tokens: call.fresh ?? 3,
          output_tokens: call.output ?? 5,
          cache_read_input_tokens: call.read,
          cache_creation_input_tokens: call.written,
        },
        ...call.message,
      },
      ...call.answer,
    })
  }
  return lines.map((line) => JSON.stringify(line)).join('\n')
}

const explain = (calls: readonly Made[]): readonly ExplainedCall[] => explainCalls(spentIn(read(fileOf(calls))))

/** The largest part of the last call's input that was sent again. */
const lossIn = (calls: readonly Made[]) =>
  explain(calls)
    .at(-1)
    ?.parts.filter(({ cause }) => !['read', 'new', 'ends', 'answer'].includes(cause))
    .map(({ cause, known, because = '' }) => [cause, known, because])

const first: Made = { read: 0, written: 9000, messages: ['a', 'b'] }
const lost: Made = { read: 0, written: 9100, messages: ['a', 'b', 'c'] }
const microcompact: Line = { type: 'system', uuid: 'micro', subtype: 'microcompact_boundary', content: 'Cleared' }
const prompt = (uuid: string, more: Line): Line => ({
  ...{ type: 'attachment', uuid },
  attachment: { type: 'prompt_snapshot', systemPrompt: ['You build.'], ...more },
})

describe('the request lines of Claude Code', () => {
  it.each<readonly [what: string, now: Made, cause: UsageCause, known: string, because: RegExp]>([
    ['other tools', { ...lost, tools: 'Bash, Web' }, 'tools', 'proved', /^the tools changed$/],
    ['another system text', { ...lost, system: 'You test.' }, 'system', 'proved', /^the system text changed$/],
    ['another effort', { ...lost, effort: 'high' }, 'effort', 'proved', /^the level of thinking changed$/],
    ['a changed message', { ...lost, messages: ['a', 'x', 'c'] }, 'messages', 'proved', /^message 2 of the request changed$/],
    ['tools and messages', { ...lost, tools: 'Web', messages: ['x'] }, 'tools', 'proved', /tools/],
    ['no change', lost, 'missed', 'proved', /nothing changed/],
    ['no change and a pause', { ...lost, began: start + 301_000 }, 'expired', 'proved', /5 minutes/],
    ['a changed message and a pause', { ...lost, began: start + 301_000, messages: ['a', 'x'] }, 'expired', 'proved', /5 minutes/],
    ['other tools and a pause', { ...lost, began: start + 301_000, tools: 'Web' }, 'tools', 'proved', /tools/],
    ['a cleared conversation', { ...lost, messages: ['a', 'x'], before: [microcompact] }, 'compaction', 'proved', /compacted/],
    ['the provider says it', { ...lost, request: null, message: { diagnostics: { cache_miss_reason: { type: 'tools_changed' } } } }, 'tools', 'reported', /as the provider reports/],
    ['the provider says more', { ...lost, messages: ['a', 'x'], message: { diagnostics: { cache_miss_reason: { type: 'system_changed' } } } }, 'system', 'reported', /as the provider reports/],
    ['the provider says the same', { ...lost, messages: ['a', 'x'], message: { diagnostics: { cache_miss_reason: { type: 'messages_changed' } } } }, 'messages', 'proved', /message 2/],
    ['the provider says the model', { ...lost, message: { diagnostics: { cache_miss_reason: { type: 'model_changed' } } } }, 'model', 'reported', /the model changed/],
    ['the provider does not know', { ...lost, request: null, message: { diagnostics: { cache_miss_reason: { type: 'unavailable' } } } }, 'unknown', 'unknown', /^$/],
    ['no request line', { ...lost, request: null }, 'unknown', 'unknown', /^$/],
    ['another version', { ...lost, request: null, answer: { version: '2.1.331' } }, 'system', 'likely', /system/],
    ['another version that sends the same', { ...lost, answer: { version: '2.1.331' } }, 'missed', 'proved', /nothing changed/],
    ['a base that is not in the file', { ...lost, request: { base: 'gone', keep: 2, tail: ['c'] } }, 'unknown', 'unknown', /^$/],
    ['a shape that is not in the file', { ...lost, request: { shapeHash: 'gone' } }, 'unknown', 'unknown', /^$/],
    ['a line that counts too many', { ...lost, request: { keep: 1e9 } }, 'unknown', 'unknown', /^$/],
    ['a line that is broken', { ...lost, request: { keep: -1, tail: 'x' } }, 'unknown', 'unknown', /^$/],
    ['hashes that are no text', { ...lost, request: { tail: [{ toString: null }, null] } }, 'unknown', 'unknown', /^$/],
    ['a line of a sub-agent', { ...lost, request: { agentId: 'other', tail: ['x'] } }, 'unknown', 'unknown', /^$/],
    ['an answer that names no request', { ...lost, tools: 'Web', answer: { requestRef: undefined } }, 'tools', 'proved', /tools/],
    ['an answer that names an unknown request', { ...lost, tools: 'Web', answer: { requestRef: 'none' } }, 'unknown', 'unknown', /^$/],
  ])('%s', (_, now, cause, known, because) => {
    expect(lossIn([first, now])).toEqual([[cause, known, expect.stringMatching(because)]])
  }) // oxfmt-ignore

  it('shows a change of the prompt where there are no request lines', () => {
    const known = (line: Line): Made => ({ ...first, request: null, before: [line] })
    const now = (line: Line): Made => ({ ...lost, request: null, before: [line] })
    const tools = { tools: [{ name: 'Bash' }] }
    expect(lossIn([known(prompt('p', {})), now(prompt('q', tools))])?.[0]?.[0]).toBe('unknown')
    expect(lossIn([known(prompt('p', tools)), now(prompt('q', tools))])?.[0]?.[0]).toBe('unknown')
    expect(lossIn([known(prompt('p', tools)), now(prompt('q', { tools: [] }))])?.[0]).toEqual(['tools', 'likely', 'the tools changed'])
    const other = prompt('q', { ...tools, systemPrompt: ['You test.'] })
    expect(lossIn([known(prompt('p', tools)), now(other)])?.[0]).toEqual(['system', 'likely', 'the system text changed'])
  }) // oxfmt-ignore

  it('shows a change of the effort where there are no request lines', () => {
    const made = (of: Made, effort?: string): Made => ({ ...of, request: null, answer: { effort } })
    expect(lossIn([made(first, 'low'), made(lost, 'high')])?.[0]).toEqual(['effort', 'likely', 'the level of thinking changed'])
    expect(lossIn([made(first), made(lost, 'high')])?.[0]?.[0]).toBe('unknown')
    expect(lossIn([made(first, 'high'), made(lost, 'high')])?.[0]?.[0]).toBe('unknown')
  }) // oxfmt-ignore

  it('compares with the request of the last answer, across requests without one, and knows when each was sent', () => {
    const failed = { type: 'api-request', id: 'failed', shapeHash: 'Bash You build.', base: 'request-0', keep: 1, tail: ['y'] }
    const calls = explain([first, { ...lost, before: [failed], request: { base: 'failed', keep: 1, tail: ['b', 'c'] } }])
    expect(calls.at(-1)?.parts[0]?.cause).toBe('missed')
    expect(calls.at(-1)?.pause).toBe(9000)
  }) // oxfmt-ignore

  it('a rewritten last message is no change where almost all was read', () => {
    const [, now] = explain([first, { read: 8500, written: 600, messages: ['a', 'x'] }])
    expect([now?.change, now?.parts.map(({ cause }) => cause)]).toEqual([
      undefined,
      ['read', 'messages', 'ends', 'new', 'answer'],
    ])
    expect(explain([first, { ...lost, messages: ['a', 'x'] }])[1]?.change?.cause).toBe('messages')
  })

  const steps = fc.array(
    fc.record<Step>({
      event: fc.oneof({ weight: 2, arbitrary: fc.constant('plain' as const) }, fc.constantFrom(...events)),
      fresh: fc.integer({ min: 10, max: 8000 }),
      output: fc.integer({ min: 1, max: 2000 }),
      wait: fc.integer({ min: 0, max: 200_000 }),
    }),
    { minLength: 1, maxLength: 10 },
  )

  it('name each planted cause as a recording does, in the file and in the imported session', () =>
    fc.assert(
      fc.asyncProperty(steps, async (session) => {
        let [effort, tools] = ['effort 0', 'tools 0']
        const requests = simulateRequests(session, anthropic)
        const made = requests.map(({ call, sent }, index): Made => {
          const [top = '', ...others] = sent
          if (top.startsWith('effort')) effort = top
          else tools = top
          const system = others.find((name) => name.startsWith('system')) ?? ''
          const { usage, model, began, at } = call
          const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0 } = usage ?? {}
          return {
            ...{ model, read: cacheRead, written: cacheWrite, fresh: input - cacheRead - cacheWrite, output },
            ...{ effort, tools, system, messages: others.filter((name) => name !== system) },
            ...{ began: began as number, at: at as number },
            ...(session[index]?.event === 'compaction' && index > 0 && { before: [{ ...microcompact, uuid: `m${index}` }] }),
          }
        }) // oxfmt-ignore
        const partsOf = (calls: readonly ExplainedCall[]) =>
          calls.map(({ parts }) => parts.map(({ cause, tokens, known }) => [cause, tokens, known]))
        const transcript = read(fileOf(made))
        const explained = explainCalls(spentIn(transcript))
        expect(partsOf(explained)).toEqual(partsOf(explainCalls(requests.map(({ call }) => call))))
        const store = memoryStore()
        await importTranscript(store, transcript)
        expect((await explainUsage(store, 'made')).explained).toEqual(explained)
      }),
      { numRuns: 300 },
    ))
})
