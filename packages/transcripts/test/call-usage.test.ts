/** The tokens of a call, as the files of programs count them beside its answer. */
import { describe, expect, it } from 'vitest'
import { assistant, user, type Message } from 'indelible'
import type { Json } from 'indelible'
import { callUsageOf } from '@indelible/transcripts/internal'

const answered = (meta: { readonly [name: string]: Json }): Message => ({ ...assistant('done'), meta })
const usage = { input: 1000, output: 70, cacheRead: 600, cacheWrite: 300 }

describe('token usage of an imported call', () => {
  it.each<readonly [string, { readonly [name: string]: Json }]>([
    [
      'Claude Code',
      {
        'anthropic-response': {
          model: 'm',
          usage: {
            input_tokens: 100,
            cache_read_input_tokens: 600,
            cache_creation_input_tokens: 300,
            output_tokens: 70,
          },
        },
      },
    ],
    ['pi', { 'pi-session': { model: 'm', usage: { input: 100, output: 70, cacheRead: 600, cacheWrite: 300 } } }],
    [
      'opencode',
      { opencode: { info: { modelID: 'm', tokens: { input: 100, output: 70, cache: { read: 600, write: 300 } } } } },
    ],
  ])('is read from files of %s', (_, meta) => expect(callUsageOf(answered(meta))).toEqual({ model: 'm', usage }))
  it('is read from Gemini CLI files, whose thoughts are part of the answer', () =>
    expect(
      callUsageOf(
        answered({ 'gemini-cli': { model: 'm', tokens: { input: 1000, cached: 600, output: 50, thoughts: 20 } } }),
      ),
    ).toEqual({ model: 'm', usage: { ...usage, cacheWrite: 0 } }))
  it('is absent if nothing or only zeros were counted', () => {
    for (const meta of [
      {},
      { 'pi-session': { model: 'm' } },
      { 'pi-session': { usage: { input: 1, output: 1 } } },
      { 'pi-session': 'text' },
      { 'pi-session': { model: 'm', usage: { input: 'many', output: -1 } } },
      { 'anthropic-response': { model: 'm', usage: { input_tokens: 0, output_tokens: 0 } } },
      { codex: { timestamp: '2026-01-01' } },
    ])
      expect(callUsageOf(answered(meta))).toBeUndefined()
    expect(callUsageOf(user('hello'))).toBeUndefined()
    expect(callUsageOf(assistant('hello'))).toBeUndefined()
  })
})
