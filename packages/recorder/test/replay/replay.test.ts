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

describe('a request', () => {
  const responses = 'https://api.openai.com/v1/responses'
  const post = async (fetch: typeof globalThis.fetch, url: string, body: object): Promise<string> => {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
    return `${response.status} ${await response.text()}`
  }

  it('that names the response which it continues gets the answer after that one', async () => {
    const store = memoryStore()
    const answer = (id: string, text: string) =>
      json({
        ...{ id, object: 'response', status: 'completed', model: 'm' },
        output: [
          {
            type: 'message',
            id: `m${id}`,
            role: 'assistant',
            content: [{ type: 'output_text', text, annotations: [] }],
          },
        ],
      })
    const asks = [
      { model: 'm', input: 'hi' },
      { model: 'm', input: 'hi' },
      { model: 'm', input: 'go on', previous_response_id: 'r2' },
      { model: 'm', input: 'go on', previous_response_id: 'r1' },
    ]
    const fetch = recordingFetch({
      store,
      fetch: answering(answer('r1', 'one'), answer('r2', 'two'), answer('r3', 'after two'), answer('r4', 'after one')),
    })
    const first: string[] = []
    for (const body of asks) {
      first.push(await post(fetch, responses, body))
      await fetch.settled()
    }
    await fetch.close()
    const replay = replayingFetch({ store, sessions: await idsOf(store) })
    const again: string[] = []
    for (const body of [asks[0], asks[1], asks[3], asks[2]]) again.push(await post(replay, responses, body as object))
    const textIn = (one: string | undefined): string | undefined => /"text":"([^"]*)"/.exec(one ?? '')?.[1]
    expect(again.map(textIn)).toEqual([first[0], first[1], first[3], first[2]].map(textIn))
    await replay.close()
  })

  it('with another secret in the result of a tool is another one', async () => {
    const store = memoryStore()
    const url = 'https://api.openai.com/v1/chat/completions'
    const bodyWith = (letters: string) => ({
      model: 'm',
      messages: [
        { role: 'user', content: 'hi' },
        ...[
          { role: 'assistant', tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }] },
        ],
        { role: 'tool', tool_call_id: 'c', content: `sk-proj-${letters.repeat(12)}` },
      ],
    })
    const fetch = recordingFetch({ store, redact: true, fetch: answering(json(completion('one'))) })
    await post(fetch, url, bodyWith('a1B2'))
    await fetch.close()
    expect(JSON.stringify(await store.read((await idsOf(store))[0] as string))).toContain('[redacted')
    const replay = replayingFetch({ store, sessions: await idsOf(store), redact: true })
    expect(await post(replay, url, bodyWith('c3D4'))).toMatch(/^400 /)
    expect(await post(replay, url, bodyWith('a1B2'))).toMatch(/^200 /)
  })

  it('for a stream gets a choice that has no message, too', async () => {
    const store = memoryStore()
    const url = 'https://api.openai.com/v1/chat/completions'
    const body = { model: 'm', n: 2, messages: [{ role: 'user', content: 'hi' }] }
    const { choices } = completion('one')
    const two = completion('one', { choices: [...choices, { index: 1, finish_reason: 'content_filter' }] })
    const fetch = recordingFetch({ store, fetch: answering(json(two)) })
    await post(fetch, url, body)
    await fetch.close()
    const replay = replayingFetch({ store, sessions: await idsOf(store) })
    expect(await post(replay, url, { ...body, stream: true })).toContain('"finish_reason":"content_filter"')
  })
})
