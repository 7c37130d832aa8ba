/**
 * Random clients are recorded, then do the same again with the record in the provider's place: each request gets the answer
 * that it had, whether they append, ask in parallel, try again, edit what they sent, or give up.
 */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { listSessions, memoryStore } from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { replayingFetch } from '@indelible/recorder/replay'
import { rounds } from '../../../../test/rounds.ts'

type Fetch = typeof globalThis.fetch
interface Sent {
  readonly role: string
  readonly content: string
}

const url = 'https://api.openai.com/v1/chat/completions'
const texts = fc.constantFrom('a', 'b', 'go on')
const step = fc.record({
  client: fc.integer({ min: 0, max: 2 }),
  kind: fc.constantFrom('append' as const, 'parallel' as const, 'retry' as const, 'edit' as const, 'abort' as const),
  text: texts,
  other: texts,
  back: fc.nat({ max: 6 }),
  stream: fc.boolean(),
})
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** A provider whose every answer is another one, and which refuses some requests. */
const provider = (): { readonly fetch: Fetch; refuses: boolean } => {
  let count = 0
  const own = {
    refuses: false,
    fetch: async (_: unknown, init?: RequestInit): Promise<Response> => {
      const id = ++count
      if (own.refuses) {
        own.refuses = false
        const headers = { 'content-type': 'application/json', 'retry-after': String(id) }
        return new Response(JSON.stringify({ error: { message: `busy ${id}` } }), { status: 429, headers })
      }
      const { stream } = JSON.parse(init?.body as string) as { readonly stream?: boolean }
      const content = `answer number ${id}, and some more words`
      if (stream !== true)
        return Response.json({
          id: `c${id}`,
          choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }],
        })
      const chunk = (delta: object, finish_reason: string | null) =>
        `data: ${JSON.stringify({ id: `c${id}`, choices: [{ index: 0, delta, finish_reason }] })}\n\n`
      const all = [
        ...content.split(/(?<= )/).map((text) => chunk({ content: text }, null)),
        chunk({}, 'stop'),
        'data: [DONE]\n\n',
      ]
      return new Response(all.join(''), { headers: { 'content-type': 'text/event-stream' } })
    },
  }
  return own as never
}

/** What a request got: the status, the header, and the text of the answer. */
const send = async (fetch: Fetch, messages: readonly Sent[], stream: boolean): Promise<string> => {
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ model: 'm', messages, ...(stream && { stream }) }),
  })
  const text = await response.text()
  const whole =
    stream && response.ok
      ? text
          .split('\n\n')
          .flatMap((event) => (event.startsWith('data: {') ? [JSON.parse(event.slice(6)) as Chunk] : []))
          .map(({ choices }) => choices[0]?.delta.content ?? '')
          .join('')
      : response.ok
        ? (JSON.parse(text) as Whole).choices[0]?.message.content
        : (JSON.parse(text) as { readonly error: { readonly message: string } }).error.message
  return `${response.status} ${response.headers.get('retry-after') ?? ''} ${whole}`
}
interface Chunk {
  readonly choices: readonly { readonly delta: { readonly content?: string } }[]
}
interface Whole {
  readonly choices: readonly { readonly message: { readonly content: string } }[]
}

/** What the clients got. @param refuse makes the next request fail */
const play = async (steps: readonly Step[], fetch: Fetch, refuse: () => void): Promise<readonly string[]> => {
  const got: string[] = []
  const clients: Sent[][] = [[], [], []]
  const ask = async (of: Sent[], stream: boolean): Promise<void> => {
    const answer = await send(fetch, of, stream)
    got.push(answer)
    of.push({ role: 'assistant', content: answer.replace(/^\d+ \d* /, '') })
  }
  for (const { client, kind, text, other, back, stream } of steps) {
    const of = clients[client] as Sent[]
    if (kind === 'edit') of.splice(Math.max(0, of.length - back))
    if (of.at(-1)?.role === 'user') of.pop()
    of.push({ role: 'user', content: text })
    if (kind === 'parallel') {
      const beside = [...of.slice(0, -1), { role: 'user', content: other }]
      got.push(...(await Promise.all([send(fetch, of, stream), send(fetch, beside, stream), send(fetch, of, false)])))
      continue
    }
    if (kind === 'retry') {
      refuse()
      got.push(await send(fetch, of, stream))
    }
    if (kind === 'abort') {
      const response = await fetch(url, {
        method: 'POST',
        body: JSON.stringify({ model: 'm', messages: of, stream: true }),
      })
      const reader = response.body?.getReader()
      const first = await reader?.read()
      await reader?.cancel()
      got.push(`${response.status} ${(first?.value?.length ?? 0) > 0}`)
      continue
    }
    await ask(of, stream)
  }
  return got
}

it('gives each of random clients its own answers', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
      const store = memoryStore()
      const source = provider()
      let time = 0
      const recording = recordingFetch({ store, fetch: source.fetch, now: () => ++time })
      const first = await play(steps, recording, () => (source.refuses = true))
      await recording.close()
      expect(recording.summary().lost).toBe(0)
      const sessions = (await listSessions(store)).sessions.map(({ id }) => id)
      const replay = replayingFetch({ store, sessions })
      expect(await play(steps, replay, () => {})).toEqual(first)
      await replay.close()
      expect(replay.summary()).toMatchObject({ missed: 0, unused: 0 })
    }),
    { numRuns: rounds(60, 10_000) },
  )
})
