/** Answers from recorded sessions, through the official clients. */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { listSessions, memoryStore, type Store } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { replayingFetch } from '@indelible/recorder/replay'

/** A `fetch` that answers with these bodies, one after the other. */
const answering = (...answers: readonly (() => Response)[]): typeof globalThis.fetch => {
  let at = 0
  return async () => (answers[at++] as (typeof answers)[number])()
}
const json =
  (body: unknown, status = 200, headers: { readonly [name: string]: string } = {}) =>
  () =>
    new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })

const completion = (content: string, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 17,
  model: 'gpt-5.2-2026',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, refusal: null, annotations: [] },
      finish_reason: 'stop',
      logprobs: null,
    },
  ],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7, prompt_tokens_details: { cached_tokens: 0 } },
  system_fingerprint: 'fp',
  ...more,
})

const idsOf = async (store: Store): Promise<readonly string[]> =>
  (await listSessions(store)).sessions.map(({ id }) => id)

const ask = (client: OpenAI, content: string, more: object = {}) =>
  client.chat.completions.create({
    model: 'gpt-5.2',
    messages: [{ role: 'user', content }],
    ...more,
  } as never) as Promise<OpenAI.ChatCompletion>

describe('a replayed Chat Completion', () => {
  it('is equal to the recorded one, and the second equal request gets the second answer', async () => {
    const store = memoryStore()
    const fetch = recordingFetch({ store, fetch: answering(json(completion('one')), json(completion('two'))) })
    const openai = new OpenAI({ fetch, apiKey: 'k' })
    const first = await ask(openai, 'hi')
    const second = await ask(openai, 'hi')
    await fetch.close()
    const replay = replayingFetch({ store, sessions: await idsOf(store) })
    const again = new OpenAI({ fetch: replay, apiKey: 'other' })
    expect(await ask(again, 'hi')).toEqual(first)
    expect(await ask(again, 'hi')).toEqual(second)
    expect(replay.summary()).toEqual({ answered: 2, missed: 0, unused: 0 })
    await replay.close()
  })

  it('that is not in the record is HTTP 400, once, and names the line', async () => {
    const store = memoryStore()
    const fetch = recordingFetch({ store, fetch: answering(json(completion('one'))) })
    await ask(new OpenAI({ fetch, apiKey: 'k' }), 'first line\nsecond line')
    await fetch.close()
    const replay = replayingFetch({ store, sessions: await idsOf(store) })
    const again = new OpenAI({ fetch: replay, apiKey: 'other' })
    const failed = await ask(again, 'first line\nanother line').catch((error: unknown) => error as Error)
    expect(failed).toMatchObject({ status: 400 })
    expect((failed as Error).message).toContain('line 2')
    expect((failed as Error).message).toContain('another line')
    await expect(replay.close()).rejects.toMatchObject({ fault: { _tag: 'NotRecorded', count: 1 } })
    expect(replay.summary()).toEqual({ answered: 0, missed: 1, unused: 1 })
  })

  it('can be an error, with its body and when to try again', async () => {
    const store = memoryStore()
    const busy = json({ error: { message: 'slow down', type: 'rate', code: 'r1', param: null } }, 429, {
      'retry-after': '0',
    })
    const fetch = recordingFetch({ store, fetch: answering(busy, json(completion('one'))) })
    const first = await ask(new OpenAI({ fetch, apiKey: 'k', maxRetries: 1 }), 'hi')
    await fetch.close()
    const sessions = await idsOf(store)
    const replay = replayingFetch({ store, sessions })
    expect(await ask(new OpenAI({ fetch: replay, apiKey: 'k', maxRetries: 1 }), 'hi')).toEqual(first)
    await replay.close()
    const once = replayingFetch({ store, sessions })
    const failed = await ask(new OpenAI({ fetch: once, apiKey: 'k', maxRetries: 0 }), 'hi').catch(
      (error: unknown) => error,
    )
    expect(failed).toMatchObject({ status: 429, code: 'r1', message: '429 slow down' })
    expect((failed as { headers: Headers }).headers.get('retry-after')).toBe('0')
  })

  it('refuses any other URL', async () => {
    const replay = replayingFetch({ store: memoryStore(), sessions: 'none' })
    const response = await replay('https://example.org/v1/models')
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([400, 'false'])
    expect(await response.text()).toContain('contacts no server')
  })
})

describe('a replayed Anthropic message', () => {
  it('streams the recorded message', async () => {
    const store = memoryStore()
    const body = {
      ...{
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'claude-x-1',
        stop_reason: 'tool_use',
        stop_sequence: null,
      },
      content: [
        { type: 'text', text: 'I look.' },
        { type: 'tool_use', id: 'toolu_1', name: 'read', input: { path: 'a.txt', text: 'x'.repeat(99) } },
      ],
      usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
    }
    const fetch = recordingFetch({ store, fetch: answering(json(body)) })
    const request = { model: 'claude-x', max_tokens: 9, messages: [{ role: 'user' as const, content: 'hi' }] }
    await new Anthropic({ fetch, apiKey: 'k' }).messages.create(request)
    await fetch.close()
    const replay = replayingFetch({ store, sessions: await idsOf(store) })
    const final = await new Anthropic({ fetch: replay, apiKey: 'k' }).messages.stream(request).finalMessage()
    expect(final).toMatchObject(body)
    await replay.close()
  })
})
