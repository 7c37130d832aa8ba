/** The recorder between the providers' own clients and a provider on loopback. */
import { readdirSync } from 'node:fs'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import {
  createSession,
  listSessions,
  memoryStore,
  openSession,
  textOf,
  user,
  type Message,
  type Session,
  type Store,
} from 'indelible'
import { decodeResponse } from 'indelible/codecs/anthropic'
import { openaiResponses } from 'indelible/codecs/openai-responses'
import type { ReceiptNote } from 'indelible/internal/notes'
import { storeTask } from 'indelible/internal/store'
import {
  createRecorder,
  detailsOf,
  recordingFetch,
  sentMessages,
  type CallDetails,
  type Recorder,
  type RecorderNotice,
  type RecorderOptions,
  type RecordingFetch,
} from '@indelible/recorder'
import { ok } from '../../../test/task-results.ts'
import { providerServer, type ProviderServer, type Reply, type Request } from '../../../test/run/provider-server.ts'
import { anthropicEvents, chatEvents, responsesEvents, type Answer } from '../../../test/run/wire.ts'
import { toSentMessage } from '../src/conversations/receipt.ts'
import { itShared, readShared, shared } from '../../../test/real-transcripts.ts'

let server: ProviderServer | undefined
afterEach(() => server?.close())

interface Setting {
  readonly store: Store
  readonly fetch: RecordingFetch
  readonly notices: readonly RecorderNotice[]
  readonly openai: OpenAI
  readonly anthropic: Anthropic
}

const setting = async (
  reply: (request: Request) => Reply,
  options: Partial<Parameters<typeof recordingFetch>[0]> = {},
): Promise<Setting> => {
  server = await providerServer(reply)
  const store = options.store ?? memoryStore()
  const notices: RecorderNotice[] = []
  const fetch = recordingFetch({ onNotice: (notice) => notices.push(notice), ...options, store })
  return {
    store,
    fetch,
    notices,
    openai: new OpenAI({ apiKey: 'secret-key', baseURL: `${server.url}/v1`, fetch, maxRetries: 0 }),
    anthropic: new Anthropic({ apiKey: 'secret-key', baseURL: server.url, fetch, maxRetries: 0 }),
  }
}

/** Answers with the number of messages that it was sent. */
const counting = ({ body }: Request): Reply => {
  const content = `heard ${(body['messages'] as readonly unknown[]).length}`
  return {
    body: {
      id: 'chatcmpl-1',
      object: 'chat.completion',
      model: 'gpt-x',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
      usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12, prompt_tokens_details: { cached_tokens: 4 } },
    },
  }
}

type Chat = OpenAI.ChatCompletionMessageParam[]
const said = (content: string): Chat[number] => ({ role: 'user', content })

/** A client's loop: what it was answered is sent again with the next question. */
const talk = async (openai: OpenAI, messages: Chat, question: string): Promise<void> => {
  messages.push(said(question))
  const { choices } = await openai.chat.completions.create({ model: 'gpt-x', messages })
  messages.push(choices[0]?.message as Chat[number])
}

const sessionsOf = async (store: Store): Promise<readonly Session[]> => {
  const { sessions } = await listSessions(store)
  return Promise.all(sessions.toReversed().map(({ id }) => ok(openSession(store, id))))
}
const texts = (session: Session): readonly string[] =>
  [...session.conversation()].map((message) => textOf(message as Message))
const receiptsOf = (session: Session): readonly CallDetails[] =>
  [...session.notes()].flatMap((note) => (note.type === 'receipt' ? [detailsOf(note, session) as CallDetails] : []))

describe('recording a Chat Completions client', () => {
  it('leaves one session with a receipt for each call', async () => {
    const { store, fetch, openai, notices } = await setting(counting)
    const messages: Chat = [{ role: 'system', content: 'be brief' }]
    for (const question of ['one', 'two', 'three']) await talk(openai, messages, question)
    await fetch.settled()
    expect(notices).toEqual([])
    const [session, ...others] = await sessionsOf(store)
    expect(others).toEqual([])
    expect(texts(session as Session)).toEqual(['be brief', 'one', 'heard 2', 'two', 'heard 4', 'three', 'heard 6'])
    const receipts = receiptsOf(session as Session)
    expect(receipts.map(({ sent, status, stop, broke }) => ({ sent, status, stop, broke }))).toEqual(
      [2, 4, 6].map((len) => ({ sent: [[0, len]], status: 200, stop: 'stop', broke: undefined })),
    )
    expect(fetch.summary()).toMatchObject({ calls: 3, failed: 0, usage: { input: 30, output: 6, cacheRead: 12 } })
    expect(session?.metadata()).toMatchObject({ title: 'one', model: 'gpt-x' })
  })

  it('titles the session with at most 80 characters of its first line', async () => {
    const { store, fetch, openai } = await setting(counting)
    await talk(openai, [], `${'a'.repeat(100)}\nb`)
    await fetch.settled()
    await talk(openai, [], 'Mind the rules. '.repeat(5).trim())
    await talk(openai, [], 'Mind the rules. '.repeat(6).trim())
    await talk(openai, [], `${'Mind the rules. '.repeat(4)}Mind all those rules.`)
    await fetch.settled()
    expect((await sessionsOf(store)).map((session) => session.metadata()['title']).toSorted()).toEqual([
      `${'Mind the rules. '.repeat(4)}Mind all those…`,
      'Mind the rules. '.repeat(5).trim(),
      `${'Mind the rules. '.repeat(5).trim()}…`,
      `${'a'.repeat(79)}…`,
    ])
  })

  it('continues after a recorder restart and in another process', async () => {
    const store = memoryStore()
    const messages: Chat = []
    for (const question of ['one', 'two', 'three', 'four']) {
      const { fetch, openai } = await setting(counting, { store })
      await talk(openai, messages, question)
      await fetch.settled()
      await server?.close()
    }
    const sessions = await sessionsOf(store)
    expect(sessions.map(texts)).toEqual([['one', 'heard 1', 'two', 'heard 3', 'three', 'heard 5', 'four', 'heard 7']])
  })

  it('leaves a fork when it goes back, and two sessions for two that start alike', async () => {
    const { store, fetch, openai } = await setting(counting)
    const messages: Chat = []
    for (const question of ['one', 'two']) await talk(openai, messages, question)
    const other = messages.slice(0, 2)
    await talk(openai, other, 'another two')
    await talk(openai, other, 'and on')
    const alike: Chat = []
    await talk(openai, alike, 'one')
    await fetch.settled()
    const sessions = await sessionsOf(store)
    expect(sessions.map(texts)).toEqual([
      ['one', 'heard 1', 'two', 'heard 3'],
      ['one', 'heard 1', 'another two', 'heard 3', 'and on', 'heard 5'],
      ['one', 'heard 1'],
    ])
    expect(sessions[1]?.forkedFrom).toEqual({ id: sessions[0]?.id, at: 2 })
  })

  it('that names its conversation retracts messages when it goes back', async () => {
    const { store, fetch } = await setting(counting)
    const named = new OpenAI({
      apiKey: 'k',
      baseURL: `${server?.url}/v1`,
      fetch,
      defaultHeaders: { 'session-id': 'mine' },
    })
    const messages: Chat = []
    for (const question of ['one', 'two', 'three']) await talk(named, messages, question)
    const back = messages.slice(0, 2)
    await talk(named, back, 'another two')
    await fetch.settled()
    const [session, ...others] = await sessionsOf(store)
    expect(others).toEqual([])
    expect(texts(session as Session)).toEqual(['one', 'heard 1', 'another two', 'heard 3'])
    expect(session?.view().length).toBe(8)
    expect(session?.id).toMatch(/^mine-/)
    expect(receiptsOf(session as Session).at(-1)?.broke).toMatchObject({ where: 'messages', index: 2 })
  })

  it('stores common call values in one receipt, referenced by the others', async () => {
    const { store, fetch, openai } = await setting(counting)
    const messages: Chat = []
    for (const [question, temperature] of [
      ['one', 0],
      ['two', 0],
      ['three', 1],
      ['four', 0],
    ] as const) {
      messages.push(said(question))
      const { choices } = await openai.chat.completions.create({
        model: 'gpt-x',
        messages,
        temperature,
        tools: [{ type: 'function', function: { name: 'look', parameters: {} } }],
      })
      messages.push(choices[0]?.message as Chat[number])
    }
    await fetch.settled()
    const [session] = (await sessionsOf(store)) as [Session]
    const receipts = [...session.notes()].flatMap((note) => (note.type === 'receipt' ? [note] : []))
    expect(receipts.map(({ parameters, details, head }) => [parameters, details?.['like'], head])).toEqual([
      [{ temperature: 0 }, undefined, undefined],
      [undefined, 0, undefined],
      [{ temperature: 1 }, undefined, undefined],
      [undefined, 0, undefined],
    ])
    const whole = receipts.map((receipt) => detailsOf(receipt, session))
    expect(whole.map((details) => details?.parameters)).toEqual([0, 0, 1, 0].map((temperature) => ({ temperature })))
    for (const details of whole)
      expect(details).toMatchObject({ api: 'openai-chat', status: 200, stop: 'stop', tools: whole[0]?.tools })
    expect(detailsOf(receipts[1] ?? {}, { notes: () => session.notes().slice(1) })).toBeUndefined()
  })

  it('with two concurrent calls loses neither: the second answer is a fork', async () => {
    const { store, fetch, openai } = await setting(counting)
    const messages: Chat = []
    await talk(openai, messages, 'one')
    await Promise.all(['left', 'right'].map((question) => talk(openai, [...messages], question)))
    await Promise.all([1, 2].map(() => talk(openai, [...messages], 'same')))
    await fetch.settled()
    const all = (await sessionsOf(store)).map((session) => texts(session).slice(2).join(' ')).toSorted()
    expect(all).toEqual(['left heard 3', 'right heard 3', 'same heard 3', 'same heard 3'])
  })

  it('that reformats its messages continues its session, and the receipt has what was sent', async () => {
    const { store, fetch, openai, notices } = await setting(counting)
    const messages: Chat = []
    await talk(openai, messages, 'one')
    const rewritten = [
      { content: [{ text: 'one', type: 'text' as const }], role: 'user' as const },
      ...messages.slice(1),
    ]
    await talk(openai, rewritten, 'two')
    await fetch.settled()
    expect(notices).toEqual([])
    const [session, ...others] = await sessionsOf(store)
    expect(others).toEqual([])
    expect(texts(session as Session)).toEqual(['one', 'heard 1', 'two', 'heard 3'])
    for (const note of session?.notes() ?? [])
      if (note.type === 'receipt') {
        const sent = await sentMessages(store, session as Session, note)
        expect(sent.map((message) => textOf(message as Message))).toEqual(
          texts(session as Session).slice(0, sent.length),
        )
      }
  })

  it("that changes tools or system text gets each cache break's reason", async () => {
    const { fetch, openai } = await setting(counting)
    const messages: Chat = []
    const call = async (
      ...tools: readonly { name: string; description?: string; parameters?: Record<string, unknown> }[]
    ) => {
      messages.push(said('next'))
      const { choices } = await openai.chat.completions.create({
        model: 'gpt-x',
        messages,
        tools: tools.map((tool) => ({ type: 'function' as const, function: { parameters: {}, ...tool } })),
      })
      messages.push(choices[0]?.message as Chat[number])
    }
    const [read, search] = [{ name: 'read' }, { name: 'search' }]
    const described = { ...read, description: 'Reads a file.' }
    const typed = (type: string) => ({ parameters: { properties: { path: { type, description: 'A path.' } } } })
    const long = { name: 'x'.repeat(3000) }
    await call(read)
    await call(read)
    await call(read, search)
    await call(search, read)
    await call(search, described)
    await call(search, { ...described, ...typed('string') })
    await call({ ...search, ...typed('string') }, { ...described, ...typed('number') })
    await call(long)
    await call({ ...long, ...typed('string') })
    await fetch.settled()
    expect(fetch.summary().breaks.map(({ cause, because, call }) => [call, cause, because])).toEqual([
      [3, 'tools', 'the tool list changed: +search'],
      [4, 'tools', 'the order of the tools changed'],
      [5, 'tools', 'the description of read changed'],
      [6, 'tools', 'read changed'],
      [7, 'tools', 'search and 1 more changed'],
      [8, 'tools', `the tool list changed: +${'x'.repeat(63)}… -search -read`],
      [9, 'tools', `${'x'.repeat(63)}… changed`],
    ])
  })

  it('has in its summary each break of the cache, also after a restart: another model, a lost prefix, and one of a failed call once', async () => {
    let cached = 0
    const reply = ({ body }: Request): Reply => {
      if (cached === -1) return { status: 503, body: { error: { message: 'overloaded' } } }
      const { model } = body as { readonly model: string }
      const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'heard' } }]
      const usage = { prompt_tokens: 9000, completion_tokens: 2, prompt_tokens_details: { cached_tokens: cached } }
      return { body: { id: 'c', model, choices, usage } }
    }
    const first = await setting(reply)
    const messages: Chat = []
    const call = async ({ openai, fetch }: Setting, model: string, tokens: number, ...tools: readonly string[]) => {
      cached = tokens
      const sent: Chat = [...messages, said('next')]
      const definitions = tools.map((name) => ({ type: 'function' as const, function: { name, parameters: {} } }))
      const asked = { model, messages: sent, ...(tools.length > 0 && { tools: definitions }) }
      const answer = await openai.chat.completions.create(asked).catch(() => undefined)
      if (answer !== undefined) messages.push(said('next'), answer.choices[0]?.message as Chat[number])
      await fetch.settled()
    }
    await call(first, 'gpt-x', 0)
    await call(first, 'gpt-x', 8900)
    await call(first, 'gpt-y', 0)
    await call(first, 'gpt-y', 8900)
    const lost = 'nothing changed, but the prefix was no longer in the provider’s cache'
    const other = (name: string): string => `the previous call went to ${name}, and each model has its own cache`
    const breaksOf = ({ fetch }: Setting): unknown =>
      fetch.summary().breaks.map(({ cause, because, call }) => [call, cause, because])
    expect(breaksOf(first)).toEqual([[3, 'model', other('gpt-x')]])
    await server?.close()
    const next = await setting(reply, { store: first.store })
    await call(next, 'gpt-y', 0)
    await call(next, 'gpt-y', -1, 'read')
    await call(next, 'gpt-y', 0, 'read')
    await call(next, 'gpt-x', 0)
    expect(breaksOf(next)).toEqual([
      [5, 'missed', lost],
      [6, 'tools', 'the tool list changed: +read'],
      [8, 'model', `${other('gpt-y')}; the tool list changed: -read`],
    ])
  })

  it('gets errors unchanged, which the receipt records', async () => {
    let count = 0
    const { store, fetch, openai } = await setting((request) =>
      count++ === 0 ? { status: 503, body: { error: { message: 'overloaded' } } } : counting(request),
    )
    const messages: Chat = []
    await expect(talk(openai, messages, 'one')).rejects.toThrow('overloaded')
    const again: Chat = []
    await talk(openai, again, 'one')
    await fetch.settled()
    const [session, ...others] = await sessionsOf(store)
    expect(others).toEqual([])
    expect(texts(session as Session)).toEqual(['one', 'heard 1'])
    expect(receiptsOf(session as Session).map(({ status, error }) => [status, error])).toEqual([
      [503, 'overloaded'],
      [200, undefined],
    ])
    expect(fetch.summary()).toMatchObject({ calls: 2, failed: 1 })
  })

  it('that tries again has the error of its first attempt recorded', async () => {
    let count = 0
    const { store, fetch } = await setting((request) =>
      count++ === 0 ? { status: 500, body: { error: { message: 'boom' } } } : counting(request),
    )
    const openai = new OpenAI({ apiKey: 'k', baseURL: `${server?.url}/v1`, fetch, maxRetries: 1 })
    await talk(openai, [], 'one')
    await expect.poll(() => fetch.summary().calls).toBe(2)
    const [session] = await sessionsOf(store)
    expect(receiptsOf(session as Session).map(({ status, error }) => [status, error])).toEqual(
      expect.arrayContaining([
        [500, 'boom'],
        [200, undefined],
      ]),
    )
  })

  it.each([1, 2, 4, 8])('that tries again after a restart, with %d messages, continues its session', async (count) => {
    const store = memoryStore()
    const messages = Array.from({ length: count }, (_, index): Chat[number] =>
      index % 2 === 0 ? said(`question ${index}`) : { role: 'assistant', content: `answer ${index}` },
    )
    for (const status of [500, 500]) {
      const { fetch, openai } = await setting(() => ({ status, body: { error: { message: 'boom' } } }), { store })
      await openai.chat.completions.create({ model: 'gpt-x', messages }).catch(() => undefined)
      await fetch.settled()
      await server?.close()
    }
    const sessions = await sessionsOf(store)
    expect(sessions.map((session) => [session.len, receiptsOf(session).length])).toEqual([[count, 2]])
  })

  it('records the body at the time of fetch, even if its bytes are reused', async () => {
    const { store, fetch, openai } = await setting(counting)
    for (const bytesOf of [
      (bytes: Uint8Array<ArrayBuffer>) => bytes,
      ({ buffer }: Uint8Array<ArrayBuffer>) => buffer,
      ({ buffer }: Uint8Array<ArrayBuffer>) => Buffer.from(buffer),
      (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes]),
    ]) {
      const bytes = new TextEncoder().encode(JSON.stringify({ model: 'gpt-x', messages: [said('said first')] }))
      const answer = fetch(`${openai.baseURL}/chat/completions`, { method: 'POST', body: bytesOf(bytes) })
      bytes.fill(32)
      await (await answer).text()
    }
    const body = JSON.stringify({ model: 'gpt-x', messages: [said('said first')] })
    await (await fetch(new Request(`${openai.baseURL}/chat/completions`, { method: 'POST', body }))).text()
    await fetch.settled()
    for (const session of await sessionsOf(store)) expect(texts(session)[0]).toBe('said first')
    expect(fetch.summary()).toMatchObject({ calls: 5, lost: 0, failed: 0 })
  })

  it('stores no key, and no text with content: false', async () => {
    const store = memoryStore()
    const { fetch, openai } = await setting(counting, { store, content: false })
    const messages: Chat = []
    for (const question of ['my secret question', 'another secret']) await talk(openai, messages, question)
    await fetch.settled()
    const [session, ...others] = await sessionsOf(store)
    expect(others).toEqual([])
    const everything = JSON.stringify([session?.view(), session?.notes()])
    expect(session?.len).toBe(4)
    expect(everything).not.toContain('secret')
    expect(everything).not.toContain('heard')
  })

  /** All that a store has of a recorded Responses call. */
  const storedOf = async (
    options: Pick<RecorderOptions, 'redact' | 'content'>,
    request: object,
    answer: object,
  ): Promise<string> => {
    const store = memoryStore()
    const blocks: string[] = []
    const watched: Store = {
      ...store,
      append: (id, append) => {
        blocks.push(...(append.blocks ?? []).map((bytes) => new TextDecoder().decode(bytes)))
        return store.append(id, append)
      },
    }
    const fetch = recordingFetch({ ...options, store: watched, fetch: async () => Response.json(answer) })
    const body = JSON.stringify({ model: 'gpt-x', input: [{ role: 'user', content: 'hi' }], ...request })
    await (await fetch('https://example.com/v1/responses', { method: 'POST', body })).text()
    await fetch.settled()
    expect(fetch.summary()).toMatchObject({ calls: 1, lost: 0 })
    const sessions = await sessionsOf(store)
    return JSON.stringify([blocks, sessions.map((one) => [one.id, one.metadata(), one.view(), one.notes()])])
  }

  it('stores no text of instructions, tools, parameters, errors and provider fields with content: false', async () => {
    const request = {
      instructions: 'a secret',
      tools: [{ type: 'function', name: 'look', description: 'a secret', parameters: {} }],
      metadata: { team: 'a secret' },
      temperature: 0.5,
    }
    const item = {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'x', annotations: [{ type: 'url_citation', title: 'a secret' }] }],
    }
    const answered = await storedOf({ content: false }, request, { id: 'r', status: 'completed', output: [item] })
    expect(answered).not.toContain('secret')
    expect(answered).toContain('"look')
    expect(answered).toContain('"temperature":0.5')
    const failed = await storedOf({ content: false }, request, { error: { message: 'not this: a secret' } })
    expect(failed).not.toContain('secret')
  })

  it("redacts the client's name for a conversation, the model, why it stopped, and an error before it is cut", async () => {
    const redact = { rules: [{ name: 'mail', pattern: /\w+@[\w.]+/ }] }
    const message = `${'x'.repeat(495)} ann@example.com`
    const stored = await storedOf({ redact }, { prompt_cache_key: 'ann@example.com' }, { error: { message } })
    expect(stored).toContain('xxx')
    expect(stored).not.toMatch(/ann[@-]/)
    const named = { model: 'ann@example.com' }
    const asked = await storedOf({ redact }, named, { id: 'r', status: 'ann@example.com', output: [] })
    const answered = await storedOf({ redact }, {}, { id: 'r', ...named, status: 'completed', output: [] })
    expect(asked).toContain('[redacted mail')
    expect(asked + answered).not.toContain('ann@')
  })

  it('stores no key in the address of an MCP server', async () => {
    const addresses = ['https://mcp.example.com/?tavilyApiKey=hush&v=1', 'https://me:hush@mcp.example.com/?key=hush']
    const tools = addresses.map((server_url) => ({ type: 'mcp', server_label: 'm', server_url }))
    const stored = await storedOf({}, { tools }, { id: 'r', status: 'completed', output: [] })
    expect(stored).toContain('mcp.example.com')
    expect(stored).toContain('&v=1')
    expect(stored).not.toContain('hush')
  })

  it('gets its answer even if the recorder fails', async () => {
    const store = memoryStore()
    const broken: Store = {
      ...store,
      append: () =>
        store.append('is not there', {
          expected: { size: 1, root: '0'.repeat(64) },
          rows: [{ kind: 'note', body: '' }],
        }),
    }
    const { fetch, openai, notices } = await setting(counting, {
      store: broken,
      onNotice: () => {
        throw new Error('mine')
      },
    })
    const messages: Chat = []
    await talk(openai, messages, 'one')
    await talk(openai, messages, 'two')
    await fetch.settled()
    expect(messages).toHaveLength(4)
    expect(fetch.summary().lost).toBeGreaterThan(0)
    expect(notices).toEqual([])
  })

  it("does not treat thread messages as Anthropic's, but Claude on Vertex AI", async () => {
    const store = memoryStore()
    const claude = { role: 'assistant', type: 'message', model: 'claude-x', content: [{ type: 'text', text: 'yes' }] }
    const fetch = recordingFetch({ store, fetch: async () => Response.json(claude) })
    for (const path of ['v1/threads/t1/messages', 'v1/projects/p/publishers/anthropic/models/claude-x:rawPredict'])
      await (
        await fetch(`https://example.com/${path}`, {
          method: 'POST',
          body: JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] }),
        })
      ).json()
    await fetch.settled()
    expect(fetch.summary()).toMatchObject({ calls: 1, passed: 1, lost: 0 })
    expect((await sessionsOf(store)).map(texts)).toEqual([['hi', 'yes']])
  })

  it('has calls without a conversation counted', async () => {
    const { fetch, openai } = await setting(() => ({ body: { object: 'list', data: [] } }))
    await openai.embeddings.create({ model: 'e', input: 'x' })
    await fetch.settled()
    expect(fetch.summary()).toMatchObject({ calls: 0, passed: 1 })
  })
})

const chunks = (...deltas: readonly object[]): readonly string[] =>
  deltas.map((delta) => JSON.stringify({ id: 'c', model: 'gpt-x', choices: [{ index: 0, ...delta }] }))

describe('a recorded stream', () => {
  const events = chunks(
    { delta: { role: 'assistant', content: 'half ' } },
    { delta: { content: 'of it' } },
    { delta: {}, finish_reason: 'stop' },
  )

  it('arrives unchanged, piece by piece', async () => {
    const { fetch, openai, store } = await setting(() => ({ events, pieces: 7 }))
    const stream = await openai.chat.completions.create({ model: 'gpt-x', messages: [said('hi')], stream: true })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    await fetch.settled()
    expect(text).toBe('half of it')
    expect((await sessionsOf(store)).map(texts)).toEqual([['hi', 'half of it']])
  })

  it('with several choices is recorded by its first one', async () => {
    const second = { index: 1, delta: { role: 'assistant', content: 'another answer' }, finish_reason: 'stop' }
    const both = events
      .map((text) => JSON.parse(text) as { readonly choices: readonly object[] })
      .map((event) => JSON.stringify({ ...event, choices: [second, ...event.choices] }))
    const { fetch, openai, store } = await setting(() => ({ events: both }))
    const stream = await openai.chat.completions.create({ model: 'gpt-x', n: 2, messages: [said('hi')], stream: true })
    for await (const _ of stream);
    await fetch.settled()
    expect((await sessionsOf(store)).map(texts)).toEqual([['hi', 'half of it']])
  })

  it('cut by the provider is recorded as far as it came, marked', async () => {
    const { fetch, openai, store } = await setting(() => ({ events, cutAfter: events[0]?.length ?? 0 + 40 }))
    const cut = (async () => {
      const stream = await openai.chat.completions.create({ model: 'gpt-x', messages: [said('hi')], stream: true })
      for await (const _ of stream);
    })()
    await cut.catch(() => {})
    await fetch.settled()
    const [session] = await sessionsOf(store)
    expect(receiptsOf(session as Session)[0]).toMatchObject({ error: expect.any(String) as string })
    for (const message of [...(session as Session).view()].slice(1))
      expect(message.meta).toEqual({ indelible: { interrupted: true } })
  })

  const read = async ({ openai, anthropic }: Setting, api: 'anthropic' | 'chat' | 'responses'): Promise<void> => {
    const messages = [{ role: 'user', content: 'hi' } as const]
    const stream =
      api === 'anthropic'
        ? await anthropic.messages.create({ model: 'claude-x', max_tokens: 9, messages, stream: true })
        : api === 'chat'
          ? await openai.chat.completions.create({ model: 'gpt-x', messages, stream: true })
          : await openai.responses.create({ model: 'gpt-x', input: 'hi', stream: true })
    for await (const _ of stream);
  }

  const created = JSON.stringify({ type: 'response.created', response: { id: 'r', status: 'in_progress', model: 'm', output: [] } }) // oxfmt-ignore
  it.each([
    ['anthropic', { type: 'error', error: { type: 'overloaded_error', message: 'overloaded' } }, anthropicEvents],
    ['chat', { error: { message: 'overloaded', type: 'server_error' } }, chatEvents],
    [
      'responses',
      { type: 'error', message: 'overloaded', code: 'server_error' },
      (answer: Answer) => [created, ...responsesEvents(answer)],
    ],
  ] as const)(
    'with an error event is recorded as far as it came, marked, and the receipt says why (%s)',
    async (api, error, all) => {
      const said = all({ text: 'half of an answer', calls: [] })
      const at = said.findIndex((event) => event.includes('" an ans"')) + 1
      const events = [...said.slice(0, at), JSON.stringify(error), ...said.slice(at)]
      const made = await setting(() => ({ events }))
      const { fetch, store } = made
      await expect(read(made, api)).rejects.toThrow('overloaded')
      await fetch.settled()
      const [session] = await sessionsOf(store)
      expect(texts(session as Session)).toEqual(['hi', 'half of an ans'])
      expect(session?.view().at(1)?.meta?.['indelible']).toMatchObject({ interrupted: true })
      expect(receiptsOf(session as Session)).toMatchObject([{ error: 'overloaded', cut: true }])
      expect(fetch.summary()).toMatchObject({ calls: 1, failed: 1 })
    },
  )

  it.each([
    ['anthropic', anthropicEvents, [0, 4]],
    ['chat', chatEvents, [0, 2]],
    ['responses', (answer: Answer) => [created, ...responsesEvents(answer)], [0, 5]],
    ['responses', responsesEvents, [-1]], // a compatible server that sends only the end
  ] as const)('cut by the provider within a text has all received pieces (%s)', async (api, all, [from, cut]) => {
    const events = all({ text: 'half of an answer', calls: [] })
    for (const to of [cut, undefined]) {
      const made = await setting(() => ({ events: events.slice(from, to) }))
      await read(made, api)
      await made.fetch.settled()
      const [session] = await sessionsOf(made.store)
      expect(texts(session as Session)).toEqual(['hi', to === undefined ? 'half of an answer' : 'half of an ans'])
    }
  })

  it('abandoned by the client is ended at the provider and recorded as far as it came', async () => {
    const { fetch, openai, store } = await setting(() => ({ events: events.slice(0, 1), hang: true }))
    const controller = new AbortController()
    const stream = await openai.chat.completions.create(
      { model: 'gpt-x', messages: [said('hi')], stream: true },
      { signal: controller.signal },
    )
    for await (const chunk of stream) if (chunk.choices[0]?.delta.content !== undefined) break
    controller.abort()
    await fetch.settled()
    await expect.poll(async () => (await fetch.settled(), (await sessionsOf(store))[0]?.len)).toBe(2)
    const [session] = await sessionsOf(store)
    expect(texts(session as Session)).toEqual(['hi', 'half '])
    expect(receiptsOf(session as Session)[0]).toMatchObject({ cut: true })
  })
})

it('closing records open answers as far as they were read, and calls that were never read or sent', async () => {
  const half = chunks({ delta: { role: 'assistant', content: 'half ' } })
  const { fetch, openai, store } = await setting(() => ({ events: half, hang: true }))
  const ask = (content: string) =>
    openai.chat.completions.create({ model: 'gpt-x', messages: [said(content)], stream: true })
  for await (const _ of await ask('read')) {
    await ask('unread')
    await fetch.close()
    break
  }
  expect(new Set((await sessionsOf(store)).map((session) => texts(session).join()))).toEqual(
    new Set(['read,half ', 'unread']),
  )
  for (const session of await sessionsOf(store))
    expect(receiptsOf(session)).toMatchObject([{ error: 'the recorder was closed before the answer ended' }])

  const broken = recordingFetch({
    store: memoryStore(),
    fetch: () => {
      throw new Error('no network')
    },
  })
  await expect(broken('http://x/chat/completions', { method: 'POST', body: '{"messages":[]}' })).rejects.toThrow(
    'no net',
  )
  await broken.close()
  expect(broken.summary()).toMatchObject({ calls: 1, failed: 1 })
})

it('a receipt written by no recorder has no details', async () => {
  const session = await createSession(memoryStore(), { id: 's' })
  for (const details of [undefined, 'a text', {}, { sent: 1 }])
    expect(detailsOf({ details, parameters: {} } as never, session)).toBeUndefined()
})

describe('recording an Anthropic client', () => {
  const answer = (text: string): Reply => ({
    body: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'text', text }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 3, output_tokens: 2, cache_read_input_tokens: 5, cache_creation_input_tokens: 1 },
    },
  })

  it('that sends back a call whose arguments broke off stays one session, with their raw text', async () => {
    const args = '{"path":"a.txt","text":"long te'
    const replies = [
      { text: 'Writing.', calls: [{ id: 'c', name: 'write', args }] },
      { text: 'Sorry.', calls: [] },
    ]
    const { store, fetch, anthropic, notices } = await setting(() => ({
      events: anthropicEvents(replies.shift() as Answer),
    }))
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'hi' }]
    const ask = () => anthropic.messages.stream({ model: 'claude-x', max_tokens: 9, messages }).finalMessage()
    messages.push({ role: 'assistant', content: (await ask()).content })
    messages.push({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c', content: 'bad', is_error: true }],
    })
    await ask()
    await fetch.settled()
    const [session, ...others] = await sessionsOf(store)
    expect([others, notices]).toEqual([[], []])
    expect(session?.view().at(1)?.content).toEqual([
      { type: 'text', text: 'Writing.' },
      { type: 'tool_call', id: 'c', name: 'write', arguments: args },
    ])
    const [, second] = [...(session as Session).notes()].filter((note) => note.type === 'receipt')
    const sent = await sentMessages(store, session as Session, second as never)
    expect(sent[1]?.content[1]).toMatchObject({ arguments: '{"path":"a.txt"}' })
  })

  it('that moves cache breakpoints and changes its system text stays one session', async () => {
    const { store, fetch, anthropic, notices } = await setting(() => answer('good'))
    const messages: Anthropic.MessageParam[] = []
    for (const [turn, question] of ['one', 'two', 'three', 'four'].entries()) {
      messages.push({ role: 'user', content: question })
      const marked = messages.map((message, index) =>
        index === messages.length - 1
          ? {
              ...message,
              content: [{ type: 'text' as const, text: question, cache_control: { type: 'ephemeral' as const } }],
            }
          : message,
      )
      const { content } = await anthropic.messages.create({
        model: 'claude-x',
        max_tokens: 10,
        system: `rules\nmore\ndate ${turn < 2 ? 1 : 2}${turn < 3 ? '' : '\nlast'}`,
        metadata: { user_id: JSON.stringify({ device_id: 'd', session_id: 'abc' }) },
        messages: marked,
      })
      messages.push({ role: 'assistant', content })
    }
    await fetch.settled()
    expect(notices).toEqual([])
    const [session, ...others] = await sessionsOf(store)
    expect(others).toEqual([])
    expect(texts(session as Session)).toEqual(['one', 'good', 'two', 'good', 'three', 'good', 'four', 'good'])
    expect(receiptsOf(session as Session).map(({ sent, broke }) => [sent, broke?.because])).toEqual([
      [[[0, 1]], undefined],
      [[[0, 3]], undefined],
      [[[0, 5]], '`system` changed in line 3'],
      [[[0, 7]], '`system` changed: it has 1 more line'],
    ])
    expect(fetch.summary().usage).toEqual({ input: 36, output: 8, cacheRead: 20, cacheWrite: 4 })
    expect(session?.id).toMatch(/^abc-/)
  })

  itShared(
    'gets every recorded stream as without the recorder, and what is recorded is its final message',
    async () => {
      const names = readdirSync(shared('wire/anthropic-messages')).filter((name) => name.endsWith('.chunks.txt'))
      for (const name of names.filter((name) => !name.includes('message-start'))) {
        const all = readShared(`wire/anthropic-messages/${name}`)
          .split('\n')
          .filter((line) => line.trim() !== '')
        const events = all.slice(0, all.findIndex((line) => line.includes('"message_stop"')) + 1)
        const { store, fetch, anthropic, notices } = await setting(() => ({ events, pieces: 4096 }))
        const request = { model: 'claude-x', max_tokens: 1, messages: [{ role: 'user' as const, content: name }] }
        const recorded = await anthropic.beta.messages.stream(request).finalMessage()
        const plain = new Anthropic({ apiKey: 'k', baseURL: server?.url as string, maxRetries: 0 })
        const without = await plain.beta.messages.stream(request).finalMessage()
        expect([name, recorded]).toEqual([name, without])
        await fetch.settled()
        expect(notices).toEqual([])
        const [session] = await sessionsOf(store)
        const judged = await ok(async () =>
          decodeResponse({ role: 'assistant', content: JSON.parse(JSON.stringify(without.content)) as unknown }),
        )
        expect([name, session?.view().at(1)?.content]).toEqual([name, judged.messages[0]?.content])
        await server?.close()
      }
    },
  )
})

interface Last {
  readonly type: string
  readonly response?: { readonly output: readonly unknown[] }
}

/** One recording has a line that is not JSON. */
const parsed = (line: string): readonly Last[] => {
  try {
    return [JSON.parse(line) as Last]
  } catch {
    return []
  }
}

describe('recording a Responses client', () => {
  it('that continues a response by id is recognized', async () => {
    let count = 0
    const { store, fetch, openai, notices } = await setting(() => ({
      body: {
        id: `resp_${++count}`,
        object: 'response',
        status: 'completed',
        model: 'gpt-x',
        output: [
          {
            type: 'message',
            id: `m${count}`,
            role: 'assistant',
            status: 'completed',
            content: [{ type: 'output_text', text: `answer ${count}`, annotations: [] }],
          },
        ],
        usage: { input_tokens: 4, output_tokens: 2, total_tokens: 6, input_tokens_details: { cached_tokens: 1 } },
      },
    }))
    const first = await openai.responses.create({ model: 'gpt-x', input: 'one' })
    const second = await openai.responses.create({ model: 'gpt-x', input: 'two', previous_response_id: first.id })
    await openai.responses.create({ model: 'gpt-x', input: 'three', previous_response_id: second.id })
    await openai.responses.create({ model: 'gpt-x', input: 'other', previous_response_id: first.id })
    await fetch.settled()
    expect(notices).toEqual([])
    expect((await sessionsOf(store)).map(texts)).toEqual([
      ['one', 'answer 1', 'two', 'answer 2', 'three', 'answer 3'],
      ['one', 'answer 1', 'other', 'answer 4'],
    ])
  })

  it('whose provider keeps the conversation leaves one session, also after a call that failed', async () => {
    let count = 0
    const { store, fetch, openai, notices } = await setting(() =>
      ++count === 2
        ? { status: 500, body: { error: { message: 'down' } } }
        : {
            body: {
              id: `resp_${count}`,
              object: 'response',
              status: 'completed',
              model: 'gpt-x',
              output: [
                {
                  type: 'message',
                  id: `m${count}`,
                  role: 'assistant',
                  status: 'completed',
                  content: [{ type: 'output_text', text: `answer ${count}`, annotations: [] }],
                },
              ],
            },
          },
    )
    const ask = (input: string, conversation: string): Promise<unknown> =>
      openai.responses.create({
        model: 'gpt-x',
        input,
        conversation: count % 2 === 0 ? conversation : { id: conversation },
      })
    await ask('one', 'conv_1')
    await ask('two', 'conv_1').catch(() => {})
    await ask('two', 'conv_1')
    await ask('else', 'conv_2')
    await ask('three', 'conv_1')
    await fetch.settled()
    expect(notices).toEqual([])
    const sessions = await sessionsOf(store)
    expect(sessions.map(texts)).toEqual([
      ['one', 'answer 1', 'two', 'answer 3', 'three', 'answer 5'],
      ['else', 'answer 4'],
    ])
    const [session] = sessions as [Session]
    const sent = await Promise.all(
      [...session.notes()].flatMap((note) => (note.type === 'receipt' ? [ok(sentMessages(store, session, note))] : [])),
    )
    expect(sent.map((messages) => messages.map((message) => textOf(message as Message)))).toEqual([
      ['one'],
      ['one', 'answer 1', 'two'],
      ['one', 'answer 1', 'two'],
      ['one', 'answer 1', 'two', 'answer 3', 'three'],
    ])
  })

  itShared('leaves of every recorded stream the output of its last event', async () => {
    const names = readdirSync(shared('wire/openai-responses')).filter((name) => name.endsWith('.chunks.txt'))
    for (const name of names) {
      const events = readShared(`wire/openai-responses/${name}`)
        .split('\n')
        .filter((line) => line.trim() !== '')
      const last = events.flatMap(parsed).find(({ type }) => type === 'response.completed')
      if (last?.response === undefined) continue
      const { store, fetch, openai } = await setting(() => ({ events, pieces: 4096 }))
      const stream = await openai.responses.create({ model: 'gpt-x', input: name, stream: true })
      try {
        for await (const _ of stream);
      } catch {
        // One recording has an event that the client refuses.
      }
      await fetch.settled()
      const expected = await ok(async () => openaiResponses.decode(last.response?.output))
      const [session] = await sessionsOf(store)
      const answers = [...(session as Session).view()].slice(1)
      // What the body has besides its messages is in the `meta` of the first.
      expect([name, answers.map(toSentMessage)]).toEqual([name, expected.messages.map(toSentMessage)])
      await server?.close()
    }
  })
})

describe('another client', () => {
  const call = async (
    recorder: Recorder,
    key: string,
    messages: readonly object[],
    answer: string,
    name = 'mine',
  ): Promise<void> => {
    const headers: { readonly [name: string]: string } = { authorization: `Bearer ${key}`, 'session-id': name }
    const observed = recorder.observe({
      method: 'POST',
      url: 'http://x/chat/completions',
      header: (name) => headers[name],
    })
    observed?.sent(JSON.stringify({ model: 'm', messages }))
    observed?.answered(200, (name) => (name === 'content-type' ? 'application/json' : undefined))
    const message = { role: 'assistant', content: answer }
    observed?.chunk(new TextEncoder().encode(JSON.stringify({ choices: [{ finish_reason: 'stop', message }] })))
    observed?.end()
    await recorder.settled()
  }
  const [one, two] = [
    { role: 'user', content: 'one' },
    { role: 'user', content: 'two' },
  ]
  const said = { role: 'assistant', content: 'answer 1' }
  const lengths = async (store: Store): Promise<readonly number[]> => {
    const { sessions } = await listSessions(store)
    const opened = await Promise.all(sessions.map(({ id }) => ok(openSession(store, id))))
    return opened.map((session) => session.conversation().length).toSorted((a, b) => b - a)
  }

  it.each([
    ['name', ['same', 'same'], ['x', 'y']],
    ['credentials', ['x', 'y'], ['', '']],
    ['lack of a name', ['same', 'same'], ['x', '']],
  ] as const)('whose conversation begins with equal messages continues its own, by its %s', async (_, keys, names) => {
    const store = memoryStore()
    const recorder = createRecorder({ store })
    const turn = (who: 0 | 1, messages: readonly object[], answer: string): Promise<void> =>
      call(recorder, keys[who], messages, answer, names[who])
    for (const who of [0, 1] as const) await turn(who, [one], 'answer 1')
    for (const who of [0, 1] as const) await turn(who, [one, said, { role: 'user', content: `by ${who}` }], 'answer 2')
    const created = (await sessionsOf(store)).map(texts)
    expect(created).toEqual([0, 1].map((who) => ['one', 'answer 1', `by ${who}`, 'answer 2']))
  })

  it('that names a conversation retracts nothing in it, also after a recorder restart', async () => {
    const store = memoryStore()
    const first = createRecorder({ store })
    await call(first, 'victim', [one], 'answer 1')
    await call(first, 'victim', [one, said, two], 'answer 2')
    await call(first, 'attacker', [one], 'another')
    await call(first, 'attacker', [one, said, { role: 'user', content: 'else' }], 'another')
    expect(await lengths(store)).toEqual([4, 4, 2])
    await call(createRecorder({ store }), 'attacker', [one, said, { role: 'user', content: 'later' }], 'another')
    expect(await lengths(store)).toEqual([4, 4, 4, 2])
  })

  it('that quotes an answer under its name compacts nothing in it', async () => {
    const store = memoryStore()
    const summary = 'They spoke of many things, and at length.'
    const quoting = { role: 'user', content: `So far: ${summary}` }
    const recording = createRecorder({ store })
    await call(recording, 'victim', [one], 'answer 1')
    await call(recording, 'victim', [one, said, two], summary)
    await call(recording, 'attacker', [quoting], 'another')
    expect(await lengths(store)).toEqual([4, 2])
    await call(recording, 'victim', [quoting, two], 'answer 3')
    expect(await lengths(store)).toEqual([4, 2])
  })

  it('is distinguished from the client itself, which can go back in its own', async () => {
    const store = memoryStore()
    const recorder = createRecorder({ store })
    await call(recorder, 'victim', [one], 'answer 1')
    await call(recorder, 'victim', [one, said, two], 'answer 2')
    await call(recorder, 'victim', [one, said, { role: 'user', content: 'else' }], 'answer 3')
    expect(await lengths(store)).toEqual([4])
  })
})

it('no request field named like a key is stored, and no notice shows a password', async () => {
  const store = memoryStore()
  const notices: string[] = []
  const recorder = createRecorder({ store, onNotice: (notice) => notices.push(JSON.stringify(notice)) })
  const request = {
    model: 'm',
    api_key: 'SECRET-1',
    metadata: { 'X-Api-Key': 'SECRET-2', clientSecret: 'SECRET-3', max_tokens: 'kept' },
    mcp_servers: [{ url: 'u', authorization_token: 'SECRET-4', headers: { 'X-Custom': 'SECRET-5' } }],
    tools: [
      { type: 'mcp', server_label: 'label', authorization: 'SECRET-6', headers: { Any: ['SECRET-7'] } },
      { type: 'function', function: { name: 'login', parameters: { properties: { password: { type: 'string' } } } } },
    ],
    messages: [{ role: 'user', content: 'hi' }],
  }
  const observe = (url: string, body: string): void => {
    const observed = recorder.observe({ method: 'POST', url, header: () => undefined })
    observed?.sent(body)
    observed?.fail('gone')
  }
  observe('http://x/chat/completions', JSON.stringify(request))
  observe('http://user:SECRET-8@x/chat/completions?key=SECRET-9', 'no JSON')
  await recorder.settled()
  const [id = ''] = recorder.summary().sessions
  const session = await ok(openSession(store, id))
  const receipt = [...session.notes()].find((note) => note.type === 'receipt')
  const details = receipt && detailsOf(receipt, session)
  const blocks = await ok(store.getBlocks([details?.tools as never]))
  const stored = JSON.stringify([details, blocks.map((bytes) => new TextDecoder().decode(bytes))])
  expect(stored).not.toContain('SECRET')
  for (const kept of ['max_tokens', 'kept', 'label', 'password', 'login', 'type']) expect(stored).toContain(kept)
  expect(notices).toEqual([expect.stringContaining('"http://x/chat/completions"')])
  expect(notices[0]).not.toContain('SECRET')
})

it('a call is recorded even if other writers are first many times', async () => {
  const store = memoryStore()
  const other = await ok(createSession(store, { id: 'named' }))
  let left = 20
  const busy: Store = {
    ...store,
    append: (id, append) =>
      storeTask(async () => {
        if (id === 'named' && left-- > 0) await other.append(user(`other ${left}`))
        return store.append(id, append)()
      }, 'append'),
  }
  const notices: RecorderNotice[] = []
  const options = { store: busy, sessionOf: () => 'named', onNotice: (notice: RecorderNotice) => notices.push(notice) }
  const fetch = recordingFetch({ ...options, fetch: async () => Response.json({ error: { message: 'down' } }) })
  const body = JSON.stringify({ model: 'm', messages: [said('hi')] })
  await (await fetch('http://x/chat/completions', { method: 'POST', body })).text()
  await fetch.settled()
  expect(notices).toEqual([])
  expect((await sessionsOf(store)).map(texts)).toEqual([['hi']])
})

/** A call of Responses; without an id, its answer fails. */
const respond = async (recorder: Recorder, input: string, id: string | undefined, before: object = {}) => {
  const observed = recorder.observe({
    method: 'POST',
    url: 'http://x/responses',
    header: (header) => (header === 'authorization' ? crypto.randomUUID() : undefined),
  })
  observed?.sent(JSON.stringify({ model: 'm', input, ...before }))
  if (id === undefined) observed?.fail('gone')
  else {
    const content = [{ type: 'output_text', text: `to ${input}`, annotations: [] }]
    const output = [{ type: 'message', id: `m${id}`, role: 'assistant', status: 'completed', content }]
    observed?.answered(200, (header) => (header === 'content-type' ? 'application/json' : undefined))
    observed?.chunk(new TextEncoder().encode(JSON.stringify({ id, model: 'm', status: 'completed', output })))
    observed?.end()
  }
  await recorder.settled()
}
const after = (response: string): object => ({ previous_response_id: response })

it.each(['previous_response_id', 'conversation'])(
  'a retried request that names %s goes to the same session, also with another recorder',
  async (name) => {
    const store = memoryStore()
    const before = (response: string): object => ({ [name]: name === 'conversation' ? 'kept' : response })
    const recorder = createRecorder({ store })
    await respond(recorder, 'one', 'r1', name === 'conversation' ? before('') : {})
    await respond(recorder, 'two', undefined, before('r1'))
    await respond(recorder, 'two', undefined, before('r1'))
    await respond(createRecorder({ store }), 'two', 'r2', before('r1'))
    await respond(createRecorder({ store }), 'three', 'r3', before('r2'))
    expect((await sessionsOf(store)).map(texts)).toEqual([['one', 'to one', 'two', 'to two', 'three', 'to three']])
  },
)

it('a response that another recorder recorded is continued in its session', async () => {
  const store = memoryStore()
  const [a, b] = [createRecorder({ store }), createRecorder({ store })]
  await respond(a, 'one', 'r1')
  await respond(b, 'two', 'r2', after('r1'))
  await respond(a, 'three', 'r3', after('r2'))
  expect((await sessionsOf(store)).map(texts)).toEqual([['one', 'to one', 'two', 'to two', 'three', 'to three']])
})

it('a response whose place has another answer is not continued there', async () => {
  const store = memoryStore()
  let named: string | undefined = 'named'
  const recorder = createRecorder({ store, sessionOf: () => named })
  await respond(recorder, 'one', 'r1')
  await respond(recorder, 'one', 'r2') // it has gone back
  named = undefined
  await respond(recorder, 'two', 'r3', after('r1'))
  await respond(recorder, 'three', 'r4', after('r2'))
  expect((await sessionsOf(store)).map(texts).toSorted()).toEqual([
    ['one', 'to one', 'three', 'to three'],
    ['two', 'to two'],
  ])
})

it('an answer whose session lost the earlier messages meanwhile is in a fork that has them', async () => {
  const store = memoryStore()
  let named: string | undefined = 'named'
  const recorder = createRecorder({ store, sessionOf: () => named })
  await respond(recorder, 'one', 'r1')
  named = undefined
  const call = recorder.observe({ method: 'POST', url: 'http://x/responses', header: () => undefined })
  call?.sent(JSON.stringify({ model: 'm', input: 'two', ...after('r1') }))
  call?.answered(200, () => undefined)
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'to two' }] }]
  call?.chunk(new TextEncoder().encode(JSON.stringify({ id: 'r2', model: 'm', status: 'completed', output })))
  await new Promise((resolve) => setTimeout(resolve, 1)) // the first byte begins the recording
  await recorder.settled()
  named = 'named'
  await respond(recorder, 'other', 'r3') // it retracts them
  call?.end()
  await recorder.settled()
  const [session, fork] = await sessionsOf(store)
  expect([session, fork].map((one) => texts(one as Session))).toEqual([
    ['other', 'to other'],
    ['one', 'to one', 'two', 'to two'],
  ])
  const receipt = [...(fork?.notes() ?? [])].findLast((note) => note.type === 'receipt') as ReceiptNote
  const sent = await ok(sentMessages(store, fork as Session, receipt))
  expect(sent.map((message) => textOf(message as Message))).toEqual(['one', 'to one', 'two'])
})

it('an answer that arrives after another call changed its session is in a fork, with a receipt of that fork', async () => {
  const store = memoryStore()
  const recorder = createRecorder({ store, sessionOf: () => 'named' })
  const begin = async (...asked: readonly string[]): Promise<(answer: string) => Promise<void>> => {
    const call = recorder.observe({ method: 'POST', url: 'http://x/chat/completions', header: () => undefined })
    call?.sent(JSON.stringify({ model: 'm', messages: asked.map(said) }))
    call?.answered(200, () => undefined)
    call?.chunk(new TextEncoder().encode('{"model":"m","choices":[{"message":{"role":"assistant","content":"'))
    await new Promise((resolve) => setTimeout(resolve, 1)) // the first byte begins the recording
    await recorder.settled()
    return async (answer) => {
      call?.chunk(new TextEncoder().encode(`${answer}"}}]}`))
      call?.end()
      await recorder.settled()
    }
  }
  await (
    await begin('one')
  )('retracted')
  const first = await begin('one', 'two', 'three')
  const second = await begin('one', 'other', 'more', 'and more')
  await first('late')
  await second('in time')
  const found: [readonly string[], number, readonly string[]][] = []
  for (const session of await sessionsOf(store)) {
    const receipt = [...session.notes()].findLast((note) => note.type === 'receipt') as ReceiptNote
    const sent = await ok(sentMessages(store, session, receipt))
    found.push([texts(session), receipt.len, sent.map((message) => textOf(message as Message))])
  }
  expect(found).toEqual([
    [['one', 'other', 'more', 'and more', 'in time'], 7, ['one', 'other', 'more', 'and more']],
    [['one', 'two', 'three', 'late'], 3, ['one', 'two', 'three']],
  ])
})
