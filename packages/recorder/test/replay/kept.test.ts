/** What a recorder keeps besides messages: it is redacted, left out, and erased as the messages are. */
import { expect, it } from 'vitest'
import { listSessions, memoryStore, openSession, readSession, type Session, type Store } from 'indelible'
import { eraseMessages } from 'indelible/session'
import { recordingFetch, type RecordingFetchOptions } from '@indelible/recorder'
import { replayingFetch } from '@indelible/recorder/replay'

const url = 'https://api.openai.com/v1/chat/completions'
const secret = `sk-proj-${'a1B2'.repeat(12)}`
const words = 'a sentence only the provider wrote'
const body = (content: string) => JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] })
const answer = {
  ...{ id: 'c1', object: 'chat.completion', created: 7, note: `${words} ${secret}` },
  choices: [{ index: 0, message: { role: 'assistant', content: 'yes' }, finish_reason: 'stop', logprobs: null }],
}
const failure = { error: { message: 'no', param: `${words} ${secret}` } }

const record = async (
  options: Partial<RecordingFetchOptions>,
  replies: readonly (readonly [status: number, body: object])[] = [[200, answer]],
): Promise<{ readonly store: Store; readonly session: Session }> => {
  const store = options.store ?? memoryStore()
  const left = replies.values()
  let time = 0
  const fetch = recordingFetch({
    ...options,
    store,
    now: () => ++time, // no two calls begin at the same time
    fetch: async () => {
      const [status, reply] = left.next().value as (typeof replies)[number]
      return Response.json(reply, { status, headers: { 'retry-after': '3', 'x-request-id': 'never kept' } })
    },
  })
  for (const _ of replies)
    await (await fetch(url, { method: 'POST', body: body('a question that is long enough') })).text()
  await fetch.close()
  const { sessions } = await listSessions(store)
  return { store, session: await openSession(store, sessions[0]?.id as string) }
}
const textOfAll = (session: Pick<Session, 'view' | 'notes'>): string =>
  JSON.stringify([[...session.view()], [...session.notes()]])
const replayed = async (store: Store, session: Session, more: object = {}): Promise<Response> =>
  replayingFetch({ store, sessions: session.id, ...more })(url, {
    method: 'POST',
    body: body('a question that is long enough'),
  })

it('is the whole body, and of the headers only retry-after', async () => {
  const { store, session } = await record({}, [
    [429, failure],
    [200, answer],
  ])
  expect(textOfAll(session)).not.toContain('never kept')
  const replay = replayingFetch({ store, sessions: session.id })
  const ask = () => replay(url, { method: 'POST', body: body('a question that is long enough') })
  const first = await ask()
  expect([first.status, first.headers.get('retry-after'), await first.json()]).toEqual([429, '3', failure])
  expect(await (await ask()).json()).toMatchObject(answer)
  await replay.close()
})

it('is redacted', async () => {
  const { store, session } = await record({ redact: true }, [
    [429, failure],
    [200, answer],
  ])
  expect(textOfAll(session)).toContain(words)
  expect(textOfAll(session)).not.toContain(secret)
  const response = await replayed(store, session, { redact: true })
  expect([response.status, await response.text()]).toEqual([429, expect.stringContaining('[redacted')])
})

it.each([{ content: false }, { redact: (message: never) => message }])('is absent with %j', async (options) => {
  const { session } = await record(options as never, [
    [429, failure],
    [200, answer],
  ])
  expect(textOfAll(session)).not.toContain(words)
})

it('is erased with the messages of its call, and its answer is then not replayable', async () => {
  const { store, session } = await record({}, [
    [429, failure],
    [200, answer],
  ])
  await eraseMessages(session, [1], { reason: 'r' })
  const answerless = await readSession(store, session.id)
  expect(JSON.stringify([...answerless.view()])).not.toContain(words)
  const replay = replayingFetch({ store, sessions: session.id })
  const ask = async () => (await replay(url, { method: 'POST', body: body('a question that is long enough') })).status
  expect([await ask(), await ask()]).toEqual([429, 400])
  await expect(replay.close()).rejects.toMatchObject({ fault: { _tag: 'NotReplayable', count: 1 } })
})

it('of an error is erased with what was sent', async () => {
  const { store, session } = await record({}, [[429, failure]])
  await eraseMessages(session, [0], { reason: 'r' })
  expect(textOfAll(await openSession(store, session.id))).not.toContain(words)
})

it('of two equal calls of which one is erased leaves the other its own answer', async () => {
  const second = { ...answer, choices: [{ ...answer.choices[0], message: { role: 'assistant', content: 'second' } }] }
  const { store } = await record({}, [
    [200, answer],
    [200, second],
  ])
  const { sessions } = await listSessions(store)
  const ids = sessions.map(({ id }) => id)
  for (const id of ids) {
    const session = await openSession(store, id)
    const at = [...session.view()].findIndex(({ content }) => JSON.stringify(content).includes('yes'))
    if (at !== -1) await eraseMessages(session, [at], { reason: 'r' })
  }
  const replay = replayingFetch({ store, sessions: ids })
  const ask = async () => (await replay(url, { method: 'POST', body: body('a question that is long enough') })).text()
  expect(await ask()).toContain('erased')
  expect(await ask()).toContain('second')
})

const streamUrl = {
  method: 'POST',
  body: JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
}
const pieces = ['It ', 'rai', 'ns in Oslo, and a key is ', secret.slice(0, 20), secret.slice(20), '.']
const chunkOf = (delta: object, finish_reason: string | null = null): string =>
  `data: ${JSON.stringify({ id: 'c1', object: 'chat.completion.chunk', odd: 'a field', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
const streamed = [...pieces.map((content) => chunkOf({ content })), chunkOf({}, 'stop'), 'data: [DONE]\n\n'].join('')
const recordStream = async (options: Partial<RecordingFetchOptions>, stream = streamed) => {
  const store = memoryStore()
  const headers = { 'content-type': 'text/event-stream' }
  const fetch = recordingFetch({ ...options, store, fetch: async () => new Response(stream, { headers }) })
  await (await fetch(url, streamUrl)).text()
  await fetch.close()
  const { sessions } = await listSessions(store)
  return { store, session: await openSession(store, sessions[0]?.id as string) }
}
const again = async (store: Store, sessions: string, more: object = {}) =>
  (await replayingFetch({ store, sessions, ...more })(url, streamUrl)).text()

it('are the exact events of a stream, only where these are wanted', async () => {
  const made = await recordStream({})
  expect(await again(made.store, made.session.id)).not.toBe(streamed)
  const exact = await recordStream({ answers: 'exact' })
  expect(await again(exact.store, exact.session.id)).toBe(streamed)
  // One that broke off has its complete events.
  const cut = await recordStream({ answers: 'exact' }, streamed.slice(0, streamed.indexOf('ns in Oslo')))
  expect(await again(cut.store, cut.session.id)).toBe(
    streamed.slice(0, streamed.indexOf('data: ', streamed.indexOf('rai'))),
  )
  const failed = `data: ${JSON.stringify({ error: { message: 'overloaded' } })}\n\n`
  const refused = await recordStream({ answers: 'exact' }, failed)
  expect(await again(refused.store, refused.session.id)).toBe(failed)
})

it('are no exact events where a server cut a character into halves: the answer is kept', async () => {
  const halves = [
    ...['a\ud83d', '\ude00b', String.raw`\ud83d`].map((content) => chunkOf({ content })),
    chunkOf({}, 'stop'),
  ].join('')
  const { store, session } = await recordStream({ answers: 'exact' }, halves)
  expect(textOfAll(session)).not.toContain('"events"')
  expect(await again(store, session.id)).toContain(String.raw`a😀b\\ud83d`)
  const written = chunkOf({ content: String.raw`\ud83d` })
  const whole = await recordStream({ answers: 'exact' }, written)
  expect(await again(whole.store, whole.session.id)).toBe(written)
})

it('are exact events without secrets, and none without content', async () => {
  const { store, session } = await recordStream({ answers: 'exact', redact: true })
  expect(textOfAll(session)).not.toContain(secret.slice(20))
  const text = await again(store, session.id, { redact: true })
  expect(text).toContain('[redacted')
  expect(text).toContain('"odd":"a field"')
  const without: readonly Partial<RecordingFetchOptions>[] = [{ content: false }, { redact: (message) => message }]
  for (const options of without)
    expect(textOfAll((await recordStream({ answers: 'exact', ...options })).session)).not.toContain('a field')
})

it('are erased with the message whose exact events they are', async () => {
  const { store, session } = await recordStream({ answers: 'exact' })
  expect(textOfAll(session)).toContain('ns in Oslo')
  await eraseMessages(session, [1], { reason: 'r' })
  const erased = await openSession(store, session.id)
  for (const text of ['ns in Oslo', 'a field', secret.slice(20)]) expect(textOfAll(erased)).not.toContain(text)
  expect(await again(store, session.id)).toContain('was erased')
})

it('is exact or nothing', () => {
  expect(() => recordingFetch({ store: memoryStore(), answers: 'all' as never })).toThrow(TypeError)
})
