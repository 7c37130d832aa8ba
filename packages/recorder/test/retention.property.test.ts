/** What is recorded of many conversations, and for how long: each whole or not at all. Everything and for ever by default. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  createSession,
  forkSession,
  listSessions,
  memoryStore,
  openSession,
  textOf,
  user,
  type Message,
} from 'indelible'
import { recordingFetch } from '@indelible/recorder'
import { removeOld } from '../../cli/src/record/retention.ts'
import { ok } from '../../../test/task-results.ts'
import { rounds } from '../../../test/rounds.ts'

type Wire = { readonly [field: string]: unknown }

let answers = 0
const provider = async (url: string | URL | Request): Promise<Response> => {
  const id = `r${++answers}`
  return Response.json(
    String(url).endsWith('/responses')
      ? {
          id,
          status: 'completed',
          output: [{ type: 'message', id: `m${id}`, role: 'assistant', content: [{ type: 'output_text', text: id }] }],
        }
      : { id, choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: id } }] },
  )
}

/** How a conversation goes: by its messages, by a name, or by the ids of responses. */
const kinds = ['messages', 'named', 'responses'] as const

const conversation = fc.record({
  kind: fc.constantFrom(...kinds),
  turns: fc.integer({ min: 1, max: 3 }),
})

/** Hold conversations, a call of each in turn, and give for each the texts that are recorded of it. */
const recorded = async (
  conversations: readonly { readonly kind: (typeof kinds)[number]; readonly turns: number }[],
  sample: number | undefined,
): Promise<readonly (readonly string[])[]> => {
  const store = memoryStore()
  const notices: unknown[] = []
  const options = { store, fetch: provider, onNotice: (notice: unknown) => notices.push(notice) }
  const fetch = recordingFetch({ ...options, ...(sample !== undefined && { sample }) })
  const post = async (path: string, body: Wire, headers: Readonly<Record<string, string>> = {}): Promise<Wire> => {
    const response = await fetch(`http://x${path}`, { method: 'POST', body: JSON.stringify(body), headers })
    return (await response.json()) as Wire
  }
  const heard: Wire[][] = conversations.map(() => [{ role: 'system', content: 'Be brief.' }])
  const previous: (string | undefined)[] = []
  for (let turn = 0; turn < 3; turn++)
    for (const [index, { kind, turns }] of conversations.entries()) {
      if (turn >= turns) continue
      const content = `talk ${index} turn ${turn}`
      if (kind === 'responses') {
        const continued = previous[index]
        const { id } = await post('/responses', {
          input: content,
          ...(continued !== undefined && { previous_response_id: continued }),
        })
        previous[index] = String(id)
        continue
      }
      const messages = heard[index] as Wire[]
      messages.push({ role: 'user', content })
      const headers = kind === 'named' ? { 'session-id': `name ${index}` } : {}
      const { choices } = await post('/chat/completions', { messages }, headers)
      messages.push((choices as readonly { readonly message: Wire }[])[0]?.message as Wire)
    }
  await fetch.settled()
  expect(notices).toEqual([])
  const { sessions } = await listSessions(store, { limit: 1000 })
  const texts = await Promise.all(
    sessions.map(async ({ id }) => [...(await ok(openSession(store, id))).view()].map((one) => textOf(one as Message))),
  )
  return conversations.map((_, index) =>
    texts.flatMap((all) => all.filter((text) => text.startsWith(`talk ${index} `))).toSorted(),
  )
}

it('sampling records each conversation completely or not at all, and a larger share includes a smaller one', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(conversation, { minLength: 1, maxLength: 8 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (conversations, a, b) => {
        const whole = conversations.map(({ turns }, index) =>
          Array.from({ length: turns }, (_, turn) => `talk ${index} turn ${turn}`),
        )
        expect(await recorded(conversations, undefined)).toEqual(whole)
        expect(await recorded(conversations, 0)).toEqual(whole.map(() => []))
        const less = await recorded(conversations, Math.min(a, b))
        const more = await recorded(conversations, Math.max(a, b))
        for (const [index, all] of whole.entries()) {
          if (less[index]?.length !== 0) expect(less[index]).toEqual(all)
          if (more[index]?.length !== 0 || less[index]?.length !== 0) expect(more[index]).toEqual(all)
        }
      },
    ),
    { numRuns: rounds(6, 200) },
  )
})

it('a sample is about as large as its share, also with one common system text', async () => {
  const conversations = Array.from({ length: 120 }, () => ({ kind: 'messages' as const, turns: 2 }))
  const found = (await recorded(conversations, 0.3)).map(({ length }) => length)
  expect([...new Set(found)].toSorted()).toEqual([0, 2])
  expect(found.filter(Boolean).length).toBeGreaterThan(22)
  expect(found.filter(Boolean).length).toBeLessThan(50)
})

it.each(['named', 'responses'] as const)('a conversation is sampled as a whole: %s', async (kind) => {
  const found = await recorded(
    Array.from({ length: 20 }, () => ({ kind, turns: 3 })),
    0.5,
  )
  expect([...new Set(found.map(({ length }) => length))].toSorted()).toEqual([0, 3])
})

it('a conversation is sampled alike with every system text', async () => {
  const fetch = recordingFetch({ store: memoryStore(), fetch: provider, sample: 0.5 })
  const counts = new Set<number>()
  for (let talk = 0; talk < 12; talk++) {
    const before = fetch.summary().calls
    for (let day = 0; day < 4; day++) {
      const messages = [
        { role: 'system', content: `day ${day}` },
        { role: 'user', content: `talk ${talk}` },
      ]
      const body = JSON.stringify({ messages })
      await (await fetch('http://x/chat/completions', { method: 'POST', body })).text()
    }
    await fetch.settled()
    counts.add(fetch.summary().calls - before)
  }
  expect([...counts].toSorted()).toEqual([0, 4])
})

it('conversations of system texts alone are sampled by those', async () => {
  const fetch = recordingFetch({ store: memoryStore(), fetch: provider, sample: 0.5 })
  for (let index = 0; index < 20; index++) {
    const body = JSON.stringify({ messages: [{ role: 'system', content: `system ${index}` }] })
    await (await fetch('http://x/chat/completions', { method: 'POST', body })).text()
  }
  await fetch.settled()
  const { calls, passed } = fetch.summary()
  expect([calls > 0, passed > 0, calls + passed]).toEqual([true, true, 20])
})

it.each([
  [undefined, 1],
  [0.999, 0],
])(
  'with a sample of %s, %i calls that continue a response from before the recorder are recorded',
  async (sample, calls) => {
    const fetch = recordingFetch({ store: memoryStore(), fetch: provider, ...(sample !== undefined && { sample }) })
    const body = JSON.stringify({ input: 'go on', previous_response_id: 'earlier' })
    await (await fetch('http://x/responses', { method: 'POST', body })).text()
    await fetch.settled()
    expect(fetch.summary()).toMatchObject({ calls, passed: 1 - calls })
  },
)

it('--keep-days removes only recorded sessions that nobody appended to since', async () => {
  const day = 86_400_000
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          age: fc.nat(60),
          grown: fc.option(fc.nat(60), { nil: undefined }),
          isRecorded: fc.boolean(),
          isForked: fc.boolean(),
        }),
        { maxLength: 8 },
      ),
      fc.integer({ min: 1, max: 60 }),
      async (made, days) => {
        const today = 1000 * day
        let now = today
        const store = memoryStore({ now: () => now })
        const kept = new Map<string, readonly string[]>()
        let removed = 0
        for (const [index, { age, grown, isRecorded, isForked }] of made.entries()) {
          const id = `s${index}`
          now = today - age * day
          const metadata = isRecorded ? { recorder: 'openai-chat' } : {}
          const session = await ok(createSession(store, { id, metadata }))
          await ok(session.append(user(`said ${index}`)))
          if (grown !== undefined && grown < age) {
            now = today - grown * day
            await ok(session.append(user('more')))
          }
          if (isForked) {
            now = today
            const fork = await ok(forkSession(store, id, { id: `f${index}`, at: 1, metadata: {} }))
            kept.set(`f${index}`, [`said ${index}`])
            await ok(fork.close())
          }
          if (isRecorded && Math.min(age, grown ?? age) > days) removed++
          else
            kept.set(
              id,
              [...session.view()].map((one) => textOf(one as Message)),
            )
        }
        now = today
        expect(await removeOld(store, days)).toBe(removed)
        const { sessions } = await listSessions(store, { limit: 1000 })
        const left = new Map<string, readonly string[]>()
        for (const { id } of sessions)
          left.set(
            id,
            [...(await ok(openSession(store, id))).view()].map((one) => textOf(one as Message)),
          )
        expect(Object.fromEntries(left)).toEqual(Object.fromEntries(kept))
        expect(await removeOld(store, days)).toBe(0)
      },
    ),
    { numRuns: rounds(15, 400) },
  )
})
