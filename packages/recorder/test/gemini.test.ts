/** The recorder between Google's own client, which takes no `fetch`, and a provider on loopback. */
import { GoogleGenAI, type Content, type GenerateContentResponse } from '@google/genai'
import { isLeft } from 'fp-ts/lib/Either.js'
import { afterEach, describe, expect, it } from 'vitest'
import { listSessions, memoryStore, openSession, textOf, type Message, type Session, type Store } from 'indelible'
import { gemini } from 'indelible/codecs/gemini'
import { createRecorder, detailsOf, recordingFetch, sentMessages, type Recorder } from '@indelible/recorder'
import { startProxy, type Proxy } from '../src/proxy/index.ts'
import { vertexUrl } from '../src/proxy/internal.ts'
import { ok } from '../../../test/task-results.ts'
import { providerServer, type ProviderServer, type Reply, type Request } from '../../../test/run/provider-server.ts'

let server: ProviderServer | undefined
let proxy: Proxy | undefined
afterEach(async () => {
  await proxy?.close()
  await server?.close()
})

interface Setting {
  readonly store: Store
  readonly recorder: Recorder
  readonly told: readonly string[]
  readonly client: GoogleGenAI
  /** The same without the recorder. */
  readonly plain: GoogleGenAI
  readonly url: string
}

const setting = async (reply: (request: Request) => Reply): Promise<Setting> => {
  server = await providerServer(reply)
  const store = memoryStore()
  const output: string[] = []
  const recorder = createRecorder({
    store,
    onNotice: (notice) => output.push(`${'url' in notice ? notice.url : ''} ${notice.reason}`),
  })
  proxy = await startProxy({
    host: '127.0.0.1',
    port: 0,
    token: 'token',
    upstreams: [{ name: 'gemini', url: server.url }],
    recorderOf: () => recorder,
  })
  const at = (baseUrl: string): GoogleGenAI =>
    new GoogleGenAI({ apiKey: 'secret-key', httpOptions: { baseUrl, retryOptions: { attempts: 1 } } })
  const url = proxy.urlOf('gemini')
  return { store, recorder, told: output, client: at(url), plain: at(server.url), url }
}

const model = 'gemini-x'
const usageMetadata = {
  promptTokenCount: 100,
  cachedContentTokenCount: 60,
  candidatesTokenCount: 5,
  thoughtsTokenCount: 2,
  totalTokenCount: 107,
}
const answer = (...parts: readonly object[]): Reply => ({
  body: {
    candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
    usageMetadata,
    modelVersion: 'gemini-x-001',
    responseId: 'r1',
  },
})
const chunks = (...lists: readonly (readonly object[])[]): readonly string[] =>
  lists.map((parts, index) =>
    JSON.stringify({
      candidates: [
        { content: { role: 'model', parts }, index: 0, ...(index === lists.length - 1 && { finishReason: 'STOP' }) },
      ],
      usageMetadata: { ...usageMetadata, candidatesTokenCount: index },
      modelVersion: 'gemini-x-001',
      responseId: 'r1',
    }),
  )

const sessionsOf = async (store: Store): Promise<readonly Session[]> => {
  const { sessions } = await listSessions(store)
  return Promise.all(sessions.toReversed().map(({ id }) => ok(openSession(store, id))))
}
const only = async (store: Store): Promise<Session> => {
  const [session, ...others] = await sessionsOf(store)
  expect(others.map(({ id }) => id)).toEqual([])
  return session as Session
}
const texts = (session: Session): readonly string[] =>
  [...session.conversation()].map((message) => textOf(message as Message))
const contentsOf = ({ body }: Request): readonly Content[] => body['contents'] as readonly Content[]

/** Every receipt gives the messages that were sent. */
const expectSent = async (store: Store, session: Session, requests: readonly Request[]): Promise<void> => {
  const notes = [...session.notes()].flatMap((note) => (note.type === 'receipt' ? [note] : []))
  expect(notes).toHaveLength(requests.length)
  for (const [index, note] of notes.entries()) {
    const sent = await ok(sentMessages(store, session, note))
    const decoded = gemini.decode({ contents: contentsOf(requests[index] as Request) })
    expect(isLeft(decoded) ? [] : decoded.right.messages).toEqual(sent)
  }
}

describe('recording a Gemini client', () => {
  it('leaves one session with instructions, calls without ids, results, cached usage and each break reason', async () => {
    const { store, recorder, client, told } = await setting((request) => {
      const contents = contentsOf(request)
      if (contents.length === 1)
        return answer(
          { text: 'hm', thought: true },
          { functionCall: { name: 'look', args: { at: 1 } }, thoughtSignature: 'c2ln' },
          { functionCall: { name: 'look', args: { at: 2 } } },
        )
      return answer({ text: `heard ${contents.length}`, thoughtSignature: 'c2ln' })
    })
    const contents: Content[] = [{ role: 'user', parts: [{ text: 'look twice' }] }]
    const ask = async (date: string, tools: readonly string[]): Promise<GenerateContentResponse> => {
      const given = await client.models.generateContent({
        model,
        contents,
        config: {
          systemInstruction: `be brief\n${date}`,
          temperature: 0,
          tools: [{ functionDeclarations: tools.map((name) => ({ name })) }, { googleSearch: {} }],
        },
      })
      contents.push(given.candidates?.[0]?.content as Content)
      return given
    }
    const first = await ask('monday', ['look'])
    expect(first.functionCalls).toHaveLength(2)
    contents.push({
      role: 'user',
      parts: ['one', 'two'].map((output) => ({ functionResponse: { name: 'look', response: { output } } })),
    })
    await ask('monday', ['look'])
    contents.push({ role: 'user', parts: [{ text: 'again' }] })
    await ask('tuesday', ['look'])
    contents.push({ role: 'user', parts: [{ text: 'more' }] })
    await ask('tuesday', ['look', 'hear'])
    await recorder.settled()
    expect(told).toEqual([])
    const session = await only(store)
    expect(texts(session)).toEqual(['look twice', '', 'onetwo', 'heard 3', 'again', 'heard 5', 'more', 'heard 7'])
    expect(session.view().at(1)?.meta?.['gemini-response']).toMatchObject({ usageMetadata, finishReason: 'STOP' })
    await expectSent(store, session, server?.requests ?? [])
    const receipts = [...session.notes()].flatMap((note) => (note.type === 'receipt' ? [note] : []))
    expect(receipts[0]).toMatchObject({
      model: 'gemini-x-001',
      usage: { input: 100, output: 7, cacheRead: 60 },
      parameters: { generationConfig: { temperature: 0 } },
    })
    expect(receipts.map((note) => [detailsOf(note, session)?.sent, detailsOf(note, session)?.stop])).toEqual(
      [[[0, 1]], [[0, 3]], [[0, 5]], [[0, 7]]].map((sent) => [sent, 'STOP']),
    )
    expect(recorder.summary().breaks.map(({ because }) => because)).toEqual([
      '`system` changed in line 2',
      'the tool list changed: +hear',
    ])
    expect(JSON.stringify([...session.notes()])).not.toContain('secret-key')
  })

  it('that stores each streamed chunk as a content still leaves one session', async () => {
    const parts = [
      [{ text: 'thinking', thought: true }, { text: 'half ' }],
      [{ text: 'of it, ' }, { text: 'whole' }],
      [{ functionCall: { name: 'look', args: {} } }],
      [{ text: '', thoughtSignature: 'c2ln' }],
    ]
    const { store, recorder, client, plain, told } = await setting(() => ({ events: chunks(...parts), pieces: 50 }))
    const talk = async (of: GoogleGenAI): Promise<readonly object[]> => {
      const chat = of.chats.create({ model })
      const given: object[] = []
      for (const message of ['one', 'two', 'three'])
        for await (const { sdkHttpResponse: _headers, ...chunk } of await chat.sendMessageStream({ message }))
          given.push(chunk)
      return [...given, ...chat.getHistory()]
    }
    expect(await talk(client)).toEqual(await talk(plain))
    await recorder.settled()
    expect(told).toEqual([])
    const session = await only(store)
    expect(texts(session)).toEqual([
      'one',
      'half of it, whole',
      'two',
      'half of it, whole',
      'three',
      'half of it, whole',
    ])
    expect(
      session
        .view()
        .at(1)
        ?.content.map(({ type }) => type),
    ).toEqual(['reasoning', 'text', 'tool_call', 'text'])
    await expectSent(store, session, (server?.requests ?? []).slice(0, 3))
    expect(recorder.summary()).toMatchObject({ calls: 3, failed: 0, usage: { input: 300, output: 15, cacheRead: 180 } })
  })

  it('gets provider errors unchanged, which the receipts record', async () => {
    const replies: Reply[] = [
      { status: 429, body: { error: { code: 429, message: 'quota', status: 'RESOURCE_EXHAUSTED' } } },
      { body: { promptFeedback: { blockReason: 'SAFETY' }, usageMetadata } },
      {
        events: chunks([{ text: 'half ' }], [{ text: 'more' }]),
        broken: false,
        cutAfter: (chunks([{ text: 'half ' }], [])[0] as string).length + 20,
      },
      {
        events: [
          ...chunks([{ text: 'half ' }], []).slice(0, 1),
          JSON.stringify({ error: { code: 503, message: 'overloaded' } }),
        ],
      },
      answer({ text: 'good' }),
    ]
    const { store, recorder, client, plain } = await setting(() => replies.shift() as Reply)
    expect(plain).toBeDefined()
    const ask = { model, contents: 'hi' }
    await expect(client.models.generateContent(ask)).rejects.toThrow('quota')
    expect((await client.models.generateContent(ask)).promptFeedback?.blockReason).toBe('SAFETY')
    for (let stream = 0; stream < 2; stream++)
      await expect(
        (async () => {
          for await (const _ of await client.models.generateContentStream(ask));
        })(),
      ).rejects.toThrow()
    await client.models.generateContent(ask)
    await recorder.settled()
    const all = (await sessionsOf(store)).flatMap((session) =>
      [...session.notes()].flatMap((note) => (note.type === 'receipt' ? [detailsOf(note, session)] : [])),
    )
    expect(
      all
        .toSorted((a, b) => (a?.at ?? 0) - (b?.at ?? 0))
        .map((model) => [model?.status, model?.cut === true ? 'cut' : model?.error !== undefined, model?.stop]),
    ).toEqual([
      [429, true, undefined],
      [200, false, 'blocked: SAFETY'],
      [200, 'cut', undefined],
      [200, 'cut', undefined],
      [200, false, 'STOP'],
    ])
    const messages = (await sessionsOf(store)).flatMap((session) => session.view().toArray())
    expect(
      messages.filter(({ meta }) => meta?.['indelible'] !== undefined).map((one) => textOf(one as Message)),
    ).toEqual(['half ', 'half '])
  })

  it('without alt=sse gets a list, recorded as far as it arrived', async () => {
    const events = chunks([{ text: 'one "}" ' }], [{ text: 'and \\" {' }], [{ text: ' two' }])
    const all = `[${events.join('\n,\r\n')}\n]`
    const { store, recorder, url } = await setting((request) => ({
      events,
      list: true,
      broken: false,
      ...(JSON.stringify(request.body).includes('cut') && { cutAfter: all.indexOf(events[2] as string) + 5 }),
    }))
    const ask = (text: string): Promise<string> =>
      fetch(`${url}/v1beta/models/gemini-x:streamGenerateContent?key=secret-key`, {
        method: 'POST',
        body: JSON.stringify({ contents: [{ role: 'user', parts: [{ text }] }] }),
      }).then((response) => response.text())
    expect(await ask('whole')).toBe(all)
    expect(all.startsWith(await ask('cut'))).toBe(true)
    await recorder.settled()
    const [whole, cut] = await sessionsOf(store)
    expect([texts(whole as Session), texts(cut as Session)]).toEqual([
      ['whole', 'one "}" and \\" { two'],
      ['cut', 'one "}" and \\" {'],
    ])
    expect(cut?.view().at(1)?.meta?.['indelible']).toEqual({ interrupted: true })
  })

  it('is recognized below any path prefix, on Vertex AI and in Code Assist', async () => {
    const request = { contents: { role: 'user', parts: { text: 'hi' } }, session_id: 's1' }
    const body = { candidates: [{ content: { role: 'model', parts: [{ text: 'yes' }] }, finishReason: 'STOP' }] }
    for (const [path, sent, given, name] of [
      ['/proxy/v1beta/models/gemini-2.5-pro:generateContent?key=k', request, body, 'gemini-2.5-pro'],
      [
        '/v1/projects/p/locations/us-central1/publishers/google/models/gemini-x:generateContent',
        request,
        body,
        'gemini-x',
      ],
      ['/v1/projects/p/locations/us-central1/endpoints/123:streamGenerateContent', request, [body], '123'],
      ['/v1internal:generateContent', { model: 'gemini-cli', project: 'p', request }, { response: body }, 'gemini-cli'],
    ] as const) {
      const store = memoryStore()
      const recording = recordingFetch({ store, fetch: async () => Response.json(given) })
      await (await recording(`https://example.com${path}`, { method: 'POST', body: JSON.stringify(sent) })).json()
      await recording.settled()
      const session = await only(store)
      expect(texts(session)).toEqual(['hi', 'yes'])
      expect([...session.notes()]).toMatchObject([{ type: 'receipt', model: name }])
      if (name === 'gemini-cli') expect(session.metadata()['client']).toBe('s1')
    }
    const passed = recordingFetch({ store: memoryStore(), fetch: async () => Response.json({}) })
    await passed('https://example.com/v1beta/models/gemini-x:countTokens', { method: 'POST', body: '{}' })
    expect(passed.summary()).toMatchObject({ calls: 0, passed: 1 })
  })

  it('on Vertex AI is forwarded to its region', () => {
    expect(vertexUrl('/v1/projects/p/locations/us-central1/x')).toBe('https://us-central1-aiplatform.googleapis.com')
    expect(vertexUrl('/v1/projects/p/locations/eu/x')).toBe('https://aiplatform.eu.rep.googleapis.com')
    expect(vertexUrl('/v1/projects/p/locations/global/x')).toBe('https://aiplatform.googleapis.com')
  })

  it('reports unrecordable calls without the key in the URL', async () => {
    const output: string[] = []
    const recording = recordingFetch({
      store: memoryStore(),
      fetch: async () => Response.json({}),
      onNotice: (notice) => output.push('url' in notice ? notice.url : ''),
    })
    await recording('https://example.com/v1beta/models/m:generateContent?key=secret', {
      method: 'POST',
      body: 'no',
    }).then((response) => response.text())
    await recording.settled()
    expect(output).toEqual(['https://example.com/v1beta/models/m:generateContent'])
  })
})
