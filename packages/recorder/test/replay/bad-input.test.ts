/** Input that a replay can't use: each is refused with a text that says what and where, and `close` says it again. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { createSession, memoryStore, openSession, type Message } from 'indelible'
import { replayingFetch, type ReplayingFetch } from '@indelible/recorder/replay'
import type { Fetch } from '../../src/fetch.ts'
import { folderOf } from '../../src/replay/work-folder.ts'

const folder = mkdtempSync(join(tmpdir(), 'indelible-bad-input-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  vi.unstubAllEnvs()
})
beforeEach(() => void vi.stubEnv('CI', ''))
let files = 0
const newPath = (): string => join(folder, `${++files}.json`)

const url = 'https://api.openai.com/v1/chat/completions'
const bodyOf = (content: string): string => JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })
const ask = async (fetch: Fetch, body: RequestInit['body'] = bodyOf('hi')): Promise<string> => {
  const response = await fetch(url, { method: 'POST', ...(body !== null && body !== undefined && { body }) })
  return `${response.status} ${await response.text()}`
}
const text = (text: string, role: Message['role'] = 'user'): Message => ({ role, content: [{ type: 'text', text }] })
const choices = [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }]
const call = {
  call: 1,
  api: 'openai-chat',
  model: 'm',
  messages: [text('hi')],
  status: 200,
  body: { id: 'c', choices },
}
const fileWith = (changes: object, ...others: readonly object[]): string => {
  const calls = [{ ...call, ...changes }, ...others]
  return JSON.stringify({ format: 'indelible-replay', version: 1, tools: [], calls }, undefined, 1)
}
const written = (content: string): string => {
  const file = newPath()
  writeFileSync(file, content)
  return file
}

describe('a file', () => {
  it.each([
    ['events of a negative number', { events: [[{ n: 1 }, -1, {}]] }, /line 7: call 1 has events that can't be read/],
    ['events of a huge number', { events: [[{ n: 1 }, 1e9, { '/n': 1 }]] }, /call 1 has events that can't be read/],
    ['a header of two lines', { status: 429, retryAfter: 'a\nb' }, /call 1 has a "retryAfter" that is no header/],
    ['a header that is no text', { status: 429, retryAfter: {} }, /call 1 has a "retryAfter" that is no header/],
    ['tools that are no list', { tools: { a: 1 } }, /call 1 has "tools" that are no list/],
    ['an error that is no text', { error: 5 }, /call 1 has an "error" that is no text/],
    ['no answer', { body: undefined }, /call 1 has neither a "body" nor "events"/],
    ['another number', { call: 3 }, /line 5: call 1 is not numbered 1/],
  ])('with %s is refused', async (_, changes, reason) => {
    const replay = replayingFetch({ file: written(fileWith(changes)) })
    expect(await ask(replay)).toMatch(/^400 /)
    const closed = expect(replay.close()).rejects
    await closed.toMatchObject({ message: expect.stringMatching(reason) as string, fault: { _tag: 'UnreadRecord' } })
  })

  it('of another format is refused at its first line', async () => {
    const replay = replayingFetch({ file: written('{"type":"user"}\n{"type":"assistant"}\n') })
    expect(await ask(replay)).toContain('line 1: this is no replay file')
  })

  it('that an editor or Git wrote anew is read', async () => {
    for (const content of [`\uFEFF${fileWith({})}`, fileWith({}).replaceAll('\n', '\r\n')]) {
      const replay = replayingFetch({ file: written(content) })
      expect(await ask(replay)).toMatch(/^200 .*hello/)
      await replay.close()
    }
  })

  it('without a name is a TypeError', () => {
    expect(() => replayingFetch({ file: '' })).toThrow(TypeError)
  })
})

describe('a request', () => {
  it.each(['', 'no JSON', '[]', '{"model":"m"}', '{"model":"m","messages":[{"role":"x"}]}'])(
    'of the body %j is refused, and close says so',
    async (body) => {
      const replay = replayingFetch({ file: written(fileWith({})) })
      expect(await ask(replay, body)).toMatch(/^400 /)
      await expect(replay.close()).rejects.toMatchObject({ fault: { _tag: 'NotRecorded', count: 1 } })
    },
  )

  it('may have its body in any form that fetch takes', async () => {
    const forms = [new Blob([bodyOf('hi')]), new Blob([bodyOf('hi')]).stream(), new TextEncoder().encode(bodyOf('hi'))]
    for (const body of forms) {
      const replay = replayingFetch({ file: written(fileWith({})) })
      expect(await ask(replay, body)).toMatch(/^200 .*hello/)
      await replay.close()
    }
    const replay = replayingFetch({ file: written(fileWith({})) })
    expect((await replay(new Request(url, { method: 'POST', body: bodyOf('hi') }))).status).toBe(200)
    await replay.close()
  })

  it('while close runs is refused, and reaches no provider', async () => {
    let sent = 0
    const provider: Fetch = async () => Response.json({ id: 'c', choices, sent: ++sent })
    const file = newPath()
    const recording = replayingFetch({ file, onMiss: 'record', fetch: provider })
    const [early, closed] = [ask(recording), recording.close()]
    expect(await ask(recording)).toContain('the replay is closed')
    expect(await early).toContain('the replay is closed')
    await closed
    expect([sent, existsSync(file)]).toEqual([0, false])
  })
})

describe('close', () => {
  const provider: Fetch = async () => Response.json({ id: 'c', choices })

  it('before an answer has begun says so, writes nothing, and refuses what is asked afterwards', async () => {
    const file = newPath()
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let sent = 0
    const slow: Fetch = async () => {
      sent++
      asked.resolve()
      await answered.promise
      return Response.json({ id: 'c', choices })
    }
    const recording = replayingFetch({ file, onMiss: 'record', fetch: slow })
    const early = ask(recording)
    await asked.promise
    await expect(recording.close()).rejects.toMatchObject({
      message: expect.stringContaining('call 1 had no answer yet when the replay was closed') as string,
      fault: { _tag: 'NotWritten' },
    })
    expect(await ask(recording)).toContain('the replay is closed')
    answered.resolve()
    expect(await early).toMatch(/^200 /)
    expect([sent, existsSync(file)]).toEqual([1, false])
  })

  it.each([{ INDELIBLE_REPLAY: 'record' }, {}])('keeps what another replay wrote: %j', async (env) => {
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    const file = newPath()
    const [a, b] = [1, 2].map(() => replayingFetch({ file, onMiss: 'record', fetch: provider })) as [
      ReplayingFetch,
      ReplayingFetch,
    ]
    await ask(a, bodyOf('one'))
    await ask(b, bodyOf('other'))
    await a.close()
    await expect(b.close()).rejects.toThrow('has changed since it was opened; each replay needs a file of its own')
    vi.stubEnv('INDELIBLE_REPLAY', '')
    const replay = replayingFetch({ file })
    expect(await ask(replay, bodyOf('one'))).toMatch(/^200 /)
    await replay.close()
  })
})

describe('a session without receipts', () => {
  const imported = async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 'imported' })
    await session.append(text('hi'))
    await session.append(text('hello', 'assistant'))
    return store
  }

  it('answers by its messages, once, also if it is named twice', async () => {
    const replay = replayingFetch({ store: await imported(), sessions: ['imported', 'imported'] })
    expect(await ask(replay)).toMatch(/^200 .*hello/)
    await replay.close()
    expect(replay.summary()).toEqual({ answered: 1, missed: 0, unused: 0 })
  })

  it('answers a client that groups results and texts into messages in its own way', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 'imported' })
    const result: Message = {
      role: 'tool',
      content: [{ type: 'tool_result', callId: 'c', content: text('r').content as [] }],
    }
    const called: Message = { role: 'assistant', content: [{ type: 'tool_call', id: 'c', name: 'f', arguments: '{}' }] }
    await session.append([text('hi'), called, result, text('and?'), text('hello', 'assistant')])
    const replay = replayingFetch({ store, sessions: 'imported' })
    const messages = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c', content: 'r' },
          { type: 'text', text: 'and?' },
        ],
      },
    ]
    const body = JSON.stringify({ model: 'm', max_tokens: 9, messages })
    const response = await replay('https://api.anthropic.com/v1/messages', { method: 'POST', body })
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('hello')])
  })

  it('tells who said a text', async () => {
    const store = await imported()
    const replay = replayingFetch({ store, sessions: 'imported' })
    const messages = ['hi', 'hello', 'hi'].map((content) => ({ role: 'user', content }))
    const session = await openSession(store, 'imported')
    await session.append([text('hi'), text('again', 'assistant')])
    expect(await ask(replay, JSON.stringify({ model: 'm', messages }))).toMatch(/^400 .*is not in the record/)
    const said = messages.map(({ content }, index) => ({ role: index === 1 ? 'assistant' : 'user', content }))
    expect(await ask(replay, JSON.stringify({ model: 'm', messages: said }))).toMatch(/^200 .*again/)
  })

  it('says what it does not know', async () => {
    const replay = replayingFetch({ store: await imported(), sessions: 'imported' })
    expect(await ask(replay, bodyOf('bye'))).toMatch(
      /recorded: hi.*sent: +bye.*That session has only messages: the model, the system prompt, the tools and the parameters are not compared/s,
    )
    expect(await ask(replay)).toMatch(/^200 /)
    expect(await ask(replay)).toMatch(/^400 .*recorded once.*has only messages/s)
    await expect(replay.close()).rejects.toMatchObject({ fault: { _tag: 'NotRecorded', count: 2 } })
  })
})

it('the folder of a request is looked for in at most its first eight messages', () => {
  const naming = (at: number) => {
    const messages = Array.from({ length: 12 }, (_, index) => text(index === at ? '<cwd>/home/a/b</cwd>' : 'hi'))
    return folderOf({ system: null, messages })?.path
  }
  expect([0, 5, 7].map(naming)).toEqual(['/home/a/b', '/home/a/b', '/home/a/b'])
  expect([8, 11].map(naming)).toEqual([undefined, undefined])
})
