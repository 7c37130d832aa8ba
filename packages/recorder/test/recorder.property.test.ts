/**
 * Random clients against two recorders with one store: they append, go back, change the system message, leave out the oldest messages, edit, branch, compact, call twice at once, try again after errors
 * and leave at any byte. Every call's receipt gives exactly what was sent, and every answer that came whole is recorded.
 */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { listSessions, memoryStore, openSession, type Message, type Session, type Store } from 'indelible'
import { openaiChat } from 'indelible/codecs/openai-chat'
import { detailsOf, recordingFetch, sentMessages, type RecorderNotice } from '@indelible/recorder'
import { ok } from '../../../test/task-results.ts'
import { rounds } from '../../../test/rounds.ts'

type Wire = { readonly role: string; readonly content: unknown; readonly [field: string]: unknown }

type Step =
  | { readonly do: 'say'; readonly words: string }
  | { readonly do: 'call'; readonly words: string }
  | { readonly do: 'back'; readonly to: number }
  | { readonly do: 'edit'; readonly at: number; readonly words: string }
  | { readonly do: 'again' }
  | { readonly do: 'twice'; readonly words: string }
  | { readonly do: 'fail'; readonly status: number }
  | { readonly do: 'leave'; readonly after: number }
  | { readonly do: 'rewrite' }
  | { readonly do: 'instruct'; readonly words: string }
  | { readonly do: 'shorten'; readonly by: number }
  | { readonly do: 'compact'; readonly keep: number }
  | { readonly do: 'restart' }
  | { readonly do: 'swap'; readonly waits: boolean }

const words = fc.stringMatching(/^[a-c]{1,3}$/)
const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ do: fc.constant('say' as const), words }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('call' as const), words }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('back' as const), to: fc.nat(8) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('edit' as const), at: fc.nat(8), words }) },
    { weight: 1, arbitrary: fc.constant({ do: 'again' as const }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('twice' as const), words }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('fail' as const), status: fc.constantFrom(400, 429, 503) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('leave' as const), after: fc.nat(200) }) },
    { weight: 1, arbitrary: fc.constant({ do: 'rewrite' as const }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('instruct' as const), words }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('shorten' as const), by: fc.integer({ min: 1, max: 4 }) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('compact' as const), keep: fc.nat(3) }) },
    { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('swap' as const), waits: fc.boolean() }) },
  ),
  { minLength: 1, maxLength: 25 },
)

/** What a provider says next. */
let answers = 0
let next: { readonly status?: number; readonly answer?: Wire } = {}
const provider = async (_url: unknown, init?: RequestInit): Promise<Response> => {
  const { status = 200, answer: plainly = { role: 'assistant', content: 'yes' } } = next
  const answer =
    typeof plainly.content === 'string' ? { ...plainly, content: `${plainly.content} ${++answers}` } : plainly
  const headers = { 'x-answer': JSON.stringify(answer) }
  if (status >= 400) return Response.json({ error: { message: `refused with ${status}` } }, { status })
  const { stream } = JSON.parse(String(init?.body)) as { readonly stream?: boolean }
  if (stream !== true)
    return Response.json(
      { id: 'c', model: 'm', choices: [{ index: 0, message: answer, finish_reason: 'stop' }] },
      { headers },
    )
  const { tool_calls: calls, ...rest } = answer
  const deltas = [
    rest,
    ...(Array.isArray(calls) ? calls.map((call, index) => ({ tool_calls: [{ index, ...(call as object) }] })) : []),
  ]
  const events = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  ].map((event) => `data: ${JSON.stringify({ id: 'c', model: 'm', ...event })}\n\n`)
  const bytes = new TextEncoder().encode(`${events.join('')}data: [DONE]\n\n`)
  let at = 0
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (at >= bytes.length) controller.close()
      else controller.enqueue(bytes.slice(at, (at += 7)))
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream', ...headers } })
}

/** The messages of a request, as the codec reads them. */
const decoded = (wire: readonly Wire[]): readonly Message[] => {
  const read = openaiChat.decode(wire)
  if (read._tag === 'Left') throw new Error('the client of the test writes what the codec refuses')
  return read.right.messages
}

const sessionsOf = async (store: Store): Promise<readonly Session[]> => {
  const { sessions } = await listSessions(store, { limit: 1000 })
  return Promise.all(sessions.map(({ id }) => ok(openSession(store, id))))
}

const runs = rounds(25, 500)

it(`${runs} random clients: every call records what was sent, and no answer is lost`, async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), fc.boolean(), async (script, streams, named) => {
      let time = 0
      const store = memoryStore({ now: () => ++time }) // so that no two receipts are equal
      const notices: RecorderNotice[] = []
      const started = (): ReturnType<typeof recordingFetch> =>
        recordingFetch({ store, fetch: provider, onNotice: (notice) => notices.push(notice) })
      let [fetch, other] = [started(), started()]
      let messages: Wire[] = []
      let ids = 0
      const sent: (readonly Message[])[] = []
      const output: string[] = []
      const exchanges: (readonly Message[])[] = []
      const call = async (leave?: number, by = fetch): Promise<Wire | undefined> => {
        const asked = decoded(messages)
        sent.push(asked)
        const response = await by('http://provider/v1/chat/completions', {
          method: 'POST',
          ...(named && { headers: { 'session-id': 'mine' } }),
          body: JSON.stringify({ model: 'm', messages, stream: streams }),
        })
        if (leave !== undefined && response.body !== null) {
          const reader = response.body.getReader()
          for (let read = 0; read < leave;) {
            const { done, value } = await reader.read()
            if (done) break
            read += value.length
          }
          await reader.cancel('left')
          return undefined
        }
        await response.text()
        if (!response.ok) return undefined
        const answer = JSON.parse(response.headers.get('x-answer') ?? '') as Wire
        exchanges.push([...asked, ...decoded([answer])])
        return answer
      }
      const say = async (answer: Wire): Promise<void> => {
        next = { answer }
        const said = await call()
        if (said !== undefined) {
          messages = [...messages, said]
          output.push(JSON.stringify(decoded([said])[0]?.content))
        }
      }
      for (const step of script) {
        const open = messages.at(-1)?.['tool_calls'] as readonly { readonly id: string }[] | undefined
        if (open !== undefined && step.do !== 'back')
          messages = [...messages, ...open.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'done' }))]
        if (step.do === 'say') {
          messages = [...messages, { role: 'user', content: step.words }]
          await say({ role: 'assistant', content: `you said ${step.words}` })
        } else if (step.do === 'call') {
          messages = [...messages, { role: 'user', content: step.words }]
          const id = `call_${ids++}`
          await say({
            role: 'assistant',
            content: null,
            tool_calls: [{ id, type: 'function', function: { name: 'do', arguments: `{"b":1,"a":"${step.words}"}` } }],
          })
        } else if (step.do === 'back') {
          messages = messages.slice(0, step.to)
          while (messages.at(-1)?.role === 'assistant' || messages.at(-1)?.role === 'tool')
            messages = messages.slice(0, -1)
        } else if (step.do === 'edit') {
          const at = messages.findIndex(({ role }, index) => role === 'user' && index >= step.at)
          if (at !== -1) messages = [...messages.slice(0, at), { role: 'user', content: step.words }]
        } else if (messages.length > 0 && messages.at(-1)?.role !== 'assistant') {
          if (step.do === 'again') await say({ role: 'assistant', content: 'again' })
          else if (step.do === 'fail') {
            next = { status: step.status }
            await call()
          } else if (step.do === 'leave') {
            next = { answer: { role: 'assistant', content: 'never read to its end' } }
            await call(step.after)
          }
        }
        if (step.do === 'twice') {
          const before = messages
          messages = [...before, { role: 'user', content: step.words }]
          next = { answer: { role: 'assistant', content: `twice ${step.words}` } }
          const [one, second] = await Promise.all([call(), call(undefined, other)])
          for (const said of [one, second])
            if (said !== undefined) output.push(JSON.stringify(decoded([said])[0]?.content))
          if (one !== undefined) messages = [...messages, one]
        }
        if (step.do === 'compact' && messages.at(-1)?.role === 'assistant' && open === undefined) {
          const kept = messages.slice(messages.length - step.keep).filter(({ role }) => role !== 'tool')
          messages = [...messages, { role: 'user', content: 'Give a summary.' }]
          await say({ role: 'assistant', content: 'A summary of everything that was said so far' })
          messages = [{ role: 'user', content: `Before: ${String(messages.at(-1)?.content)}.` }, ...kept]
        }
        if (step.do === 'rewrite')
          messages = messages.map((message) =>
            typeof message.content === 'string' && message.role === 'user'
              ? { content: [{ text: message.content, type: 'text' }], role: 'user' }
              : message,
          )
        if (step.do === 'instruct')
          messages = [{ role: 'system', content: step.words }, ...messages.filter(({ role }) => role !== 'system')]
        if (step.do === 'shorten') {
          const [system, rest] = [
            messages.filter(({ role }) => role === 'system'),
            messages.filter(({ role }) => role !== 'system'),
          ]
          const next = rest.findIndex(({ role }, index) => role === 'user' && index >= step.by)
          if (next !== -1) messages = [...system, ...rest.slice(next)]
        }
        if (step.do === 'swap') {
          if (step.waits) await fetch.settled()
          ;[fetch, other] = [other, fetch]
        }
        if (step.do === 'restart') {
          await fetch.settled()
          fetch = started()
        }
      }
      await Promise.all([fetch.settled(), other.settled()])
      expect(notices).toEqual([])
      const sessions = await sessionsOf(store)
      const seen = new Set<string>()
      const derived: string[] = []
      const recorded: string[] = []
      for (const session of sessions) {
        const shared = session.forkedFrom?.at ?? 0
        for (const message of [...session.view()].slice(shared))
          if (message.role === 'assistant') recorded.push(JSON.stringify(message.content))
        for (const note of session.notes())
          if (note.type === 'receipt' && !seen.has(JSON.stringify(note))) {
            seen.add(JSON.stringify(note)) // a fork has those of what it shares
            expect(detailsOf(note, session)).toBeDefined()
            derived.push(JSON.stringify(await sentMessages(store, session, note)))
          }
      }
      expect(derived.toSorted()).toEqual(sent.map((messages) => JSON.stringify(messages)).toSorted())
      for (const one of output) expect(recorded).toContain(one)
      const leaving = new Set([
        'swap',
        'back',
        'edit',
        'twice',
        'leave',
        'instruct',
        'shorten',
        ...(named ? [] : ['compact']),
      ])
      const straight = script.every((step) => !leaving.has(step.do))
      if (straight && sent.length > 0) expect(sessions).toHaveLength(1)
      // Each answer stands behind what it was an answer to. (A named conversation is one session, with retractions.)
      const records = sessions.map((session) => plain([...session.view()] as readonly Message[]))
      if (!named)
        for (const exchange of exchanges) expect(records.some((record) => record.includes(plain(exchange)))).toBe(true)
    }),
    { numRuns: runs },
  )
})

/** Messages by what they say, one after the other; a receipt has the system message that was sent. */
const plain = (messages: readonly Message[]): string =>
  messages
    .filter(({ role }) => role !== 'system')
    .map(({ role, content }) =>
      JSON.stringify([role, content], (key, value: unknown) => (key === 'meta' ? undefined : value)),
    )
    .join('\n')
