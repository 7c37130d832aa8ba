/** The file of a replay: lossless, small, without secrets, and clear about damage. */
import { existsSync, globSync, mkdtempSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { jsonOrText } from 'indelible/internal/json'
import { providerServer, type Reply } from '../../../../test/run/provider-server.ts'
import { eventsOfLines, eventsOfStream, linesOfEvents, type StreamLines } from '../../src/answers/stream-lines.ts'
import { openReplayFile, type ReplayFile, type ReplayFileOptions } from '../../src/replay/file-recording.ts'
import { readReplay, recordedCallsOf, textOfReplay } from '../../src/replay/file.ts'
import { itShared, shared } from '../../../../test/real-transcripts.ts'
import { observedFetch, type Fetch } from '../../src/fetch.ts'
import { replayingFetch } from '../../src/replay/fetch.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-replay-'))
let files = 0
const newPath = (): string => join(folder, `answers-${++files}.json`)

const opened = (options: ReplayFileOptions, env: { readonly [name: string]: string } = {}): ReplayFile => {
  const file = openReplayFile(options, env)
  if (isLeft(file)) throw new Error(file.left)
  return file.right
}

const refusal = (options: ReplayFileOptions, env: { readonly [name: string]: string } = {}): string => {
  const file = openReplayFile(options, env)
  return isLeft(file) ? file.left : 'it opened'
}

/** A `fetch` that records into a file, and the text of that file. */
const recordingInto = (path: string): { readonly fetch: Fetch; readonly text: () => string } => {
  const { recording } = opened({ file: path }, { INDELIBLE_REPLAY: 'record' })
  if (recording === undefined) throw new Error('it does not record')
  return {
    fetch: observedFetch(recording, fetch),
    text: () => {
      const saved = recording.save()
      if (isLeft(saved)) throw new Error(saved.left)
      return readFileSync(path, 'utf8')
    },
  }
}

const weather = {
  type: 'object' as const,
  properties: { city: { type: 'string', description: 'The name of a city.' } },
}
const tools = [
  { name: 'weather', description: 'The weather of a city, now.', input_schema: weather },
  { name: 'forecast', description: 'The weather of a city, tomorrow.', input_schema: weather },
]

/** An answer in small pieces. */
const streamed = (id: string, text: string, call?: { readonly name: string; readonly input: unknown }): Reply => {
  const start = { id, type: 'message', role: 'assistant', model: 'claude-opus-5', content: [], stop_reason: null }
  const usage = { input_tokens: 600, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 40 }
  const pieces = (all: string): readonly string[] => all.match(/.{1,4}/gs) ?? []
  const block = (index: number, content: object, deltas: readonly object[]): readonly object[] => [
    { type: 'content_block_start', index, content_block: content },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
  const events = [
    { type: 'message_start', message: { ...start, stop_sequence: null, usage } },
    ...block(
      0,
      { type: 'text', text: '' },
      pieces(text).map((piece) => ({ type: 'text_delta', text: piece })),
    ),
    ...(call === undefined
      ? []
      : block(
          1,
          { type: 'tool_use', id: `toolu_${id}`, name: call.name, input: {} },
          pieces(JSON.stringify(call.input)).map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
        )),
    { type: 'message_delta', delta: { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
  return { events: events.map((event) => JSON.stringify(event)) }
}

/** A question about the weather, with a call of a tool. */
const askWeather = async (send: Fetch, url: string): Promise<string> => {
  const client = new Anthropic({ apiKey: 'none', baseURL: url, fetch: send, maxRetries: 0 })
  const settings = { model: 'claude-opus-5', max_tokens: 1024, system: 'You are brief.', tools }
  const question = { role: 'user' as const, content: 'How is the weather in Oslo?' }
  const first = await client.messages.stream({ ...settings, messages: [question] }).finalMessage()
  const [, call] = first.content
  if (call?.type !== 'tool_use') throw new Error('it has no call')
  const result = { type: 'tool_result' as const, tool_use_id: call.id, content: '{"sky":"rain","degrees":4}' }
  const messages = [
    question,
    { role: 'assistant' as const, content: first.content },
    { role: 'user' as const, content: [result] },
  ]
  const last = await client.messages.stream({ ...settings, messages }).finalMessage()
  return last.content.map((block) => (block.type === 'text' ? block.text : '')).join('')
}

const provider = await providerServer(({ body }) =>
  JSON.stringify(body['messages']).includes('tool_result')
    ? streamed('msg_02', 'It rains in Oslo, and it has four degrees. Take an umbrella with you when you leave.')
    : streamed('msg_01', 'I look up the weather in Oslo for you.', { name: 'weather', input: { city: 'Oslo' } }),
)
afterAll(() => provider.close())

describe('a replay file', () => {
  it('has two calls with two tools in at most 5.5 kB, and equal bytes when it is recorded again', async () => {
    const path = newPath()
    const first = recordingInto(path)
    expect(await askWeather(first.fetch, provider.url)).toContain('umbrella')
    const text = first.text()
    expect(text.length).toBeLessThanOrEqual(5500)
    expect(text.split('"The weather of a city, now."')).toHaveLength(2)
    expect(text.split('I look up')).toHaveLength(1) // only in pieces: the second call does not repeat it
    const again = recordingInto(path)
    await askWeather(again.fetch, provider.url)
    expect(again.text()).toBe(text)
    expect(readdirSync(folder).filter((name) => name.endsWith('.part'))).toEqual([])
  })

  it('has each request and each answer as they were', async () => {
    const path = newPath()
    const recorded = recordingInto(path)
    await askWeather(recorded.fetch, provider.url)
    recorded.text()
    const { calls, name } = opened({ file: path })
    const [first, second] = recordedCallsOf(calls, name)
    expect(second?.name).toBe(`call 2 of ${name}`)
    expect(second?.request.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(second?.request.messages[0]).toBe(first?.request.messages[0])
    expect(second?.request.tools).toEqual(tools)
    const reply = await first?.answer()
    expect(reply).toMatchObject({
      _tag: 'Reply',
      status: 200,
      body: { content: [{ type: 'text' }, { input: { city: 'Oslo' } }] },
    })
    expect(reply?._tag === 'Reply' && reply.events?.map(({ data }) => data)).toEqual(
      streamed('msg_01', 'I look up the weather in Oslo for you.', { name: 'weather', input: { city: 'Oslo' } }).events,
    )
  })

  it('keeps statuses, retry-after, texts, cut streams and failures', async () => {
    const replies: readonly Reply[] = [
      { status: 429, body: { error: { message: 'slow down' } }, headers: { 'retry-after': '7', 'x-secret': 'no' } },
      { status: 500, body: 'no JSON object' },
      { ...streamed('msg_03', 'It broke off in the middle.'), cutAfter: 700, pieces: 350, pause: 20 },
    ]
    let call = 0
    const failing = await providerServer(() => replies[call++] as Reply)
    const path = newPath()
    const recorded = recordingInto(path)
    for (let index = 0; index < replies.length; index++) {
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: String(index) }] })
      const response = await recorded.fetch(`${failing.url}/v1/messages`, { method: 'POST', body })
      await response.text().catch(() => '')
    }
    await failing.close()
    const text = recorded.text()
    expect(text).not.toContain('x-secret')
    const [slow, broken, cut] = recordedCallsOf(opened({ file: path }).calls, 'it')
    expect(await slow?.answer()).toMatchObject({
      status: 429,
      retryAfter: '7',
      body: { error: { message: 'slow down' } },
    })
    expect(await broken?.answer()).toMatchObject({ status: 500, body: '"no JSON object"' })
    expect(await cut?.answer()).toMatchObject({ status: 200, cut: expect.any(String) })
  })
})

/** The text of a file with the answer to one question, which has `secret` in each of its texts. */
const recordedWith = async (secret: string, options: Omit<ReplayFileOptions, 'file'> = {}): Promise<string> => {
  const path = newPath()
  const { recording } = opened({ ...options, file: path }, { INDELIBLE_REPLAY: 'record' })
  const answering = await providerServer(({ body }) =>
    body['stream'] === true
      ? streamed('msg_04', `The key is ${secret}.`, { name: 'weather', input: { city: secret } })
      : { body: { error: `not ${secret}` }, status: 400 },
  )
  if (recording === undefined) throw new Error('it does not record')
  const send = observedFetch(recording, fetch)
  for (const stream of [true, false]) {
    const messages = [{ role: 'user', content: `Use ${secret}, please.` }]
    const body = JSON.stringify({ model: 'm', system: secret, tools, messages, stream, metadata: { note: secret } })
    await (await send(`${answering.url}/v1/messages`, { method: 'POST', body })).text()
  }
  await answering.close()
  const saved = recording.save()
  if (isLeft(saved)) throw new Error(saved.left)
  expect(opened({ file: path }).calls).toHaveLength(2)
  return readFileSync(path, 'utf8')
}

describe('secrets in a file', () => {
  const key = `sk-ant-api03-${'Ab3dEf6hIj9kLm2n'.repeat(5)}-AAAAAA`

  it('are removed, also those that a stream has in pieces', async () => {
    const text = await recordedWith(key)
    for (let from = 0; from + 12 <= key.length; from += 4) expect(text).not.toContain(key.slice(from, from + 12))
    expect(text.match(/\[redacted [^\]]*\]/g)?.length).toBeGreaterThanOrEqual(6)
    expect(text).not.toContain('"digest"')
    // Each piece of a changed text but the first is empty.
    expect(text).toContain('"/delta/text":["",""')
  })

  it('are those of own rules and own functions, too', async () => {
    const rules = [{ name: 'customer', pattern: /\bC-\d{8}\b/ }]
    expect(await recordedWith('C-12345678', { redact: { rules } })).not.toContain('2345678')
    const own = await recordedWith('C-12345678', {
      redact: (message) => JSON.parse(JSON.stringify(message).replaceAll('C-12345678', 'somebody')) as typeof message,
    })
    expect(own.match(/The key is somebody/g)).toHaveLength(1)
  })
})

describe('a replay file that is not as it should be', () => {
  const intact = async (): Promise<string> => {
    const path = newPath()
    const recorded = recordingInto(path)
    await askWeather(recorded.fetch, provider.url)
    return recorded.text()
  }
  const refused = (text: string): string => {
    const path = newPath()
    writeFileSync(path, text)
    return refusal({ file: path })
  }

  it('is refused with its line, and with what to do', async () => {
    const text = await intact()
    const lines = text.split('\n')
    expect(refusal({ file: join(folder, 'none.json') })).toMatch(
      /there is no file .*none\.json: record it with INDELIBLE_REPLAY=record/,
    )
    expect(refusal({ file: folder })).toContain("can't be read")
    expect(refused('')).toContain('line 1: the file is empty')
    expect(refused('{"type":"user","text":"hi"}\n')).toContain('line 1: this is no replay file')
    expect(refused('{"type":"user"}\n{"type":"assistant"}\n')).toContain('this is no replay file')
    expect(refused('# Notes\n')).toContain('this is no replay file')
    expect(refused(text.replace('"version":1', '"version":2'))).toContain('version 1, not 2')
    const ours = [...lines.slice(0, 9), '<<<<<<< HEAD', ...lines.slice(9, 10), '=======', ...lines.slice(9)].join('\n')
    expect(refused(ours)).toMatch(/line 10: has the mark of a merge conflict \(<<<<<<<\); record it anew/)
    for (const end of [Math.floor(text.length / 3), Math.floor(text.length / 2), text.length - 4])
      expect(refused(text.slice(0, end))).toMatch(
        /, line \d+: the file ends in the middle; record it anew with INDELIBLE_REPLAY=record$/,
      )
    const call = lines.findIndex((line) => line.startsWith('{"call":2'))
    for (const [from, to, reason] of [
      ['"continues":1', '"continues":7', 'continues 7'],
      ['"from":2', '"from":20', 'continues after 20 messages'],
      ['"call":2', '"call":3', 'is not numbered 2'],
      [
        '"status":200,"named":true,"events":[\n{"type":"message_start","message":{"id":"msg_02"',
        '"named":true,"events":[\n{"a":{"id":"msg_02"',
        'neither a "status" nor an "error"',
      ],
      ['"role":"tool"', '"role":"sytem"', "message that can't be read"],
    ] as const) {
      expect(text).toContain(from)
      const found = refused(text.replace(from, to))
      expect(found).toContain(reason)
      if (from !== '"call":2') expect(found).toContain(`line ${call + 1}: call 2`)
    }
  })

  it('is refused or read for every part of it that is missing, and never throws', async () => {
    const lines = (await intact()).split('\n')
    for (let index = 0; index < lines.length; index++) {
      const read = readReplay(lines.toSpliced(index, 1).join('\n'), 'it')
      expect(isLeft(read) ? read.left : 'read').toMatch(/^it, line \d+: .*INDELIBLE_REPLAY=record$|^read$/)
      if (isRight(read)) for (const call of recordedCallsOf(read.right, 'it')) await call.answer()
    }
  })
})

describe('recording a file anew', () => {
  it('is refused where CI is set, and for another value of the variable', () => {
    const file = newPath()
    expect(refusal({ file }, { CI: 'true', INDELIBLE_REPLAY: 'record' })).toMatch(
      /INDELIBLE_REPLAY=record is refused where CI is set/,
    )
    expect(refusal({ file, onMiss: 'record' }, { CI: '1' })).toMatch(/onMiss: 'record' is refused where CI is set/)
    expect(refusal({ file }, { INDELIBLE_REPLAY: 'yes' })).toContain('INDELIBLE_REPLAY is "yes"')
    expect(opened({ file, onMiss: 'record' }, { CI: 'false' }).recording).toBeDefined()
    expect(existsSync(file)).toBe(false)
  })

  it('writes nothing if a provider was not reached, and if nothing was called', async () => {
    const path = newPath()
    const recorded = recordingInto(path)
    await askWeather(recorded.fetch, provider.url)
    const text = recorded.text()
    const { mtimeMs } = statSync(path)
    expect(recordingInto(path).text()).toBe(text)
    const { recording } = opened({ file: path }, { INDELIBLE_REPLAY: 'record' })
    await expect(askWeather(observedFetch(recording as never, fetch), 'http://127.0.0.1:1')).rejects.toThrow()
    const saved = recording?.save()
    expect(saved && isLeft(saved) && saved.left).toMatch(/was not written: call 1 did not reach its provider/)
    expect([readFileSync(path, 'utf8'), statSync(path).mtimeMs]).toEqual([text, mtimeMs])
  })

  it('adds what is missing, and wins over that', async () => {
    const path = newPath()
    const recorded = recordingInto(path)
    await askWeather(recorded.fetch, provider.url)
    recorded.text()
    const { recording, calls } = opened({ file: path, onMiss: 'record' })
    const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'And tomorrow?' }], stream: true })
    await (
      await observedFetch(recording as never, fetch)(`${provider.url}/v1/messages`, { method: 'POST', body })
    ).text()
    recording?.save()
    expect(opened({ file: path }).calls.slice(0, 2)).toEqual(calls)
    expect(opened({ file: path }).calls).toHaveLength(3)
    expect(opened({ file: path, onMiss: 'record' }, { INDELIBLE_REPLAY: 'record' }).calls).toEqual([])
  })

  it('takes no longer for a call that continues a thousand others', () => {
    const message = (index: number): { role: 'user'; content: { type: 'text'; text: string }[] } => ({
      role: 'user',
      content: [{ type: 'text', text: `message ${index}` }],
    })
    const messages = Array.from({ length: 1000 }, (_, index) => message(index))
    const settings = { api: 'anthropic' as const, model: 'm', parameters: {}, tools: null, system: 'Be brief.' }
    const calls = messages.map((_, index) => ({
      request: { ...settings, messages: messages.slice(0, index + 1) },
      reply: { status: 500, body: 'no' },
    }))
    const text = textOfReplay(calls)
    expect(text.length).toBeLessThan(1000 * 220)
    const read = readReplay(text, 'it')
    expect(isRight(read) && read.right.at(-1)).toEqual(calls.at(-1))
    expect(isRight(read) && new Set(read.right.flatMap(({ request }) => request.messages)).size).toBe(1000)
  })
})

describe('replayingFetch with a file', () => {
  const withVariables = async (env: { readonly [name: string]: string }, work: () => Promise<void>): Promise<void> => {
    for (const name of ['CI', 'INDELIBLE_REPLAY']) vi.stubEnv(name, env[name] ?? '')
    try {
      await work()
    } finally {
      vi.unstubAllEnvs()
    }
  }
  const rejection = async (work: Promise<unknown>): Promise<string> => {
    try {
      await work
      return 'it did not fail'
    } catch (cause) {
      return (cause as Error).message
    }
  }

  it('records, then answers, and says what to do about a missing file and another request', async () => {
    const file = newPath()
    await withVariables({}, async () => {
      const none = replayingFetch({ file })
      expect(await rejection(askWeather(none, provider.url))).toContain('record it with INDELIBLE_REPLAY=record')
      expect(await rejection(none.close())).toContain(`there is no file ${file}`)
    })
    await withVariables({ INDELIBLE_REPLAY: 'record' }, async () => {
      const recording = replayingFetch({ file })
      expect(await askWeather(recording, provider.url)).toContain('umbrella')
      await recording.close()
    })
    const before = provider.requests.length
    await withVariables({ CI: 'true' }, async () => {
      const replay = replayingFetch({ file })
      expect(await askWeather(replay, 'http://nowhere.invalid')).toContain('umbrella')
      expect(replay.summary()).toEqual({ answered: 2, missed: 0, unused: 0 })
      await replay.close()
      const partly = replayingFetch({ file })
      const other = { model: 'claude-opus-5', max_tokens: 1024, system: 'You are brief.', tools, stream: true }
      const body = JSON.stringify({ ...other, messages: [{ role: 'user', content: 'How is the weather in Rome?' }] })
      const answer = await partly('http://nowhere.invalid/v1/messages', { method: 'POST', body })
      expect(answer.status).toBe(400)
      const text = await answer.text()
      for (const one of ['weather in Oslo', 'weather in Rome', 'INDELIBLE_REPLAY=record']) expect(text).toContain(one)
      expect(await rejection(partly.close())).toContain('weather in Rome')
    })
    expect(provider.requests).toHaveLength(before)
  })

  it('adds what a file lacks, and fails for calls of it that were not made', async () => {
    const file = newPath()
    await withVariables({}, async () => {
      const first = replayingFetch({ file, onMiss: 'record' })
      await askWeather(first, provider.url)
      await first.close()
      const before = provider.requests.length
      const second = replayingFetch({ file, onMiss: 'record' })
      await askWeather(second, 'http://nowhere.invalid')
      const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'And tomorrow?' }], stream: true })
      await (await second(`${provider.url}/v1/messages`, { method: 'POST', body })).text()
      await second.close()
      expect(provider.requests).toHaveLength(before + 1)
      const third = replayingFetch({ file })
      await askWeather(third, 'http://nowhere.invalid')
      expect(await rejection(third.close())).toContain('call 3 of')
    })
  })

  it('compares requests without their secrets, and never answers with redacted arguments of a tool', async () => {
    const key = (letter: string): string => `sk-ant-api03-${letter.repeat(80)}-AAAAAA`
    const file = newPath()
    const answering = await providerServer(({ body }) =>
      streamed(
        'msg_05',
        'Noted.',
        String(body['system']).includes('call') ? { name: 'weather', input: { city: key('q') } } : undefined,
      ),
    )
    const ask = async (send: Fetch, secret: string, system: string): Promise<Response> => {
      const messages = [{ role: 'user', content: `Use ${secret}.` }]
      const body = JSON.stringify({ model: 'm', messages, stream: true, system, tools })
      return send(`${answering.url}/v1/messages`, { method: 'POST', body })
    }
    await withVariables({ INDELIBLE_REPLAY: 'record' }, async () => {
      const recording = replayingFetch({ file })
      for (const system of ['be brief', 'call it']) await (await ask(recording, key('a'), system)).text()
      await recording.close()
    })
    expect(readFileSync(file, 'utf8')).not.toContain('aaaaaaaa')
    await withVariables({}, async () => {
      const replay = replayingFetch({ file })
      expect(await (await ask(replay, key('b'), 'be brief')).text()).toContain('Note')
      const refused = await ask(replay, key('b'), 'call it')
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('were redacted')])
    })
    await answering.close()
  })

  itShared('gives back each event of every recorded stream', async () => {
    const urls: { readonly [folder: string]: string } = {
      'anthropic-messages': '/v1/messages',
      'openai-chat': '/v1/chat/completions',
      'openai-responses': '/v1/responses',
    }
    const streams = Object.entries(urls).flatMap(([folder, path]) =>
      globSync(join(shared('wire'), folder, '*.chunks.txt')).map((name) => {
        const events = readFileSync(name, 'utf8')
          .split('\n')
          .filter((line) => line.trim() !== '')
        const named = (event: string): string =>
          folder === 'openai-chat' ? '' : `event: ${/"type":\s*"([^"]+)"/.exec(event)?.[1] ?? 'message'}\n`
        const text = events.map((event) => `${named(event)}data: ${event}\n\n`).join('')
        return { path, name, text }
      }),
    )
    const file = newPath()
    const ask = async (send: Fetch, { path, name }: (typeof streams)[number]): Promise<string> => {
      const field = path.endsWith('responses') ? 'input' : 'messages'
      const body = JSON.stringify({ model: 'm', stream: true, [field]: [{ role: 'user', content: name }] })
      return (await send(`http://nowhere.invalid${path}`, { method: 'POST', body })).text()
    }
    const events = (text: string): readonly unknown[] =>
      text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => (line.startsWith('data: ') ? jsonOrText(line.slice(6)) : line))
    let at = 0
    const headers = { 'content-type': 'text/event-stream' }
    const redact = { secrets: false }
    await withVariables({ INDELIBLE_REPLAY: 'record' }, async () => {
      const recording = replayingFetch({
        file,
        redact,
        fetch: async () => new Response(streams[at++]?.text, { headers }),
      })
      for (const stream of streams) await ask(recording, stream)
      await recording.close()
    })
    await withVariables({}, async () => {
      const replay = replayingFetch({ file, redact })
      for (const stream of streams) expect(events(await ask(replay, stream))).toEqual(events(stream.text))
      await replay.close()
    })
  })
})

describe('a stream in a file', () => {
  const lossless = (events: readonly { readonly name: string | undefined; readonly data: string }[]): StreamLines => {
    const text = events
      .map(({ name, data }) => `${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`)
      .join('')
    const lines = JSON.parse(JSON.stringify(linesOfEvents(eventsOfStream(text), (data) => data))) as StreamLines
    expect(
      eventsOfLines(lines).map(({ name, data }) => ({
        name,
        data: typeof data === 'string' ? data : JSON.stringify(data),
      })),
    ).toEqual(events)
    return lines
  }

  itShared('is lossless for every recorded stream, and smaller', () => {
    const paths = globSync(join(shared('wire'), '*/*.chunks.txt'))
    expect(paths.length).toBeGreaterThan(40)
    const sizes = { lines: 0, events: 0 }
    for (const path of paths) {
      const events = readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line.trim() !== '')
      const parsed = events.map((data) => jsonOrText(data))
      const named = parsed.map((event) =>
        path.includes('openai-chat') ? undefined : String(Object(event)['type'] ?? 'none'),
      )
      const lines = lossless(
        parsed.map((event, index) => ({
          name: named[index],
          data: typeof event === 'string' ? event : JSON.stringify(event),
        })),
      )
      sizes.lines += JSON.stringify(lines).length
      sizes.events += events.join('').length
    }
    expect(sizes.lines).toBeLessThan(sizes.events / 2)
  })

  it('is lossless for any events', () => {
    const leaf = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    )
    const field = fc.constantFrom('type', 'delta', 'index', '0', 'a/b', 'c~d', '__proto__', '')
    const value = fc.oneof(leaf, fc.array(leaf, { maxLength: 2 }), fc.dictionary(field, leaf, { maxKeys: 2 }))
    const object = fc.dictionary(field, value, { maxKeys: 3 })
    const event = fc.record({
      name: fc.option(fc.constantFrom('a', 'b'), { nil: undefined }),
      data: fc.oneof(
        object.map((one) => JSON.stringify(one)),
        fc.constantFrom('[DONE]', '1', '{"type":"a"}', '{"type":"a","n":2}'),
      ),
    })
    const stepping = fc.tuple(fc.integer(), fc.integer({ min: -3, max: 3 }), fc.nat(9)).map(([from, step, count]) =>
      Array.from({ length: count }, (_, index) => ({
        name: undefined,
        data: JSON.stringify({ n: from + step * index }),
      })),
    )
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            event.map((one) => [one]),
            stepping,
          ),
        ),
        (events) => {
          lossless(
            events.flat().map(({ name, data }) => ({
              name,
              data: JSON.stringify(JSON.parse(data === '[DONE]' ? '"[DONE]"' : data)),
            })),
          )
        },
      ),
      { numRuns: 2000 },
    )
  })
})
