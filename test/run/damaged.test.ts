/** A record that is damaged in its middle stops no run: a mended copy is sent, and the repairs are reported. */
import { isLeft } from 'fp-ts/lib/Either.js'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createHistory,
  createSession,
  memoryStore,
  mend,
  openaiChat,
  settle,
  system,
  textOf,
  toolCall,
  toolResult,
  user,
  type Message,
} from 'indelible'
import { deriveContext } from 'indelible/context'
import { resume, run, scriptedModel, sessionHandler, tool, turn, type Model, type RunEvent } from 'indelible/run'
import { rounds } from '../rounds.ts'

const runs = rounds(40, 400)
const f = tool({ name: 'f', parameters: {}, run: () => 'x' })
const call = assistant(toolCall('c1', 'f', '{}'))

const damaged: Readonly<Record<string, readonly Message[]>> = {
  'a call without a result': [user('a'), call, user('never mind'), assistant('ok')],
  'a late result': [user('a'), call, user('hm'), toolResult('c1', 'late'), assistant('ok')],
  'a repeated id': [user('a'), call, toolResult('c1', '1'), call, toolResult('c1', '2'), assistant('ok')],
  'an orphan result': [user('a'), toolResult('c0', 'r'), assistant('ok')],
  'a window that begins with a result': [toolResult('c0', 'r'), assistant('ok'), user('b'), assistant('c')],
  'a result twice': [user('a'), call, toolResult('c1', '1'), toolResult('c1', '2'), assistant('ok')],
  'a result before its call': [user('a'), toolResult('c1', '1'), call, assistant('ok')],
}

/** A model that keeps its requests, and refuses those that a provider refuses. */
const strict = (answers: readonly Message[]): { readonly model: Model; readonly requests: (readonly Message[])[] } => {
  const requests: (readonly Message[])[] = []
  const script = scriptedModel(answers)
  const stream: Model['stream'] = (request, signal) => {
    requests.push([...request.messages])
    if (isLeft(settle(request.messages))) throw new Error('400: the conversation is not settled')
    if (isLeft(openaiChat.encode(request.messages))) throw new Error('400: it can not be written')
    return script.stream(request, signal)
  }
  return { model: { ...script, stream }, requests }
}

const eventsOf = async (stream: AsyncIterable<RunEvent>): Promise<readonly RunEvent[]> => {
  const events: RunEvent[] = []
  for await (const event of stream) events.push(event)
  return events
}

describe.each(Object.entries(damaged))('%s in the middle', (_, messages) => {
  const context: Parameters<typeof turn>[2]['context'] = (view, previous, modelCall) =>
    deriveContext(view, { budget: 50_000, previous, ...modelCall })
  it.each([
    ['turn', {}],
    ['turn with a budget', { budget: 50_000 }],
    ['turn with a context of its own', { context }],
  ])('%s answers, and the record keeps its messages', async (_how, options) => {
    const session = await createSession(memoryStore(), { id: 's', messages })
    const { model, requests } = strict([assistant(toolCall('c1', 'f', '{}')), assistant('fine')])
    const stream = turn(session, 'hi', { model, tools: [f], ...options })
    const events = await eventsOf(stream)
    expect((await stream.result()).stopReason).toBe('end_turn')
    expect(requests.length).toBe(2)
    expect(session.view().toArray().slice(0, messages.length)).toEqual(messages)
    expect(textOf(session.view().at(-1) as Message)).toBe('fine')
    const repairs = mend([...messages, user('hi')]).repairs
    expect(repairs.length).toBeGreaterThan(0)
    expect(events.filter(({ type }) => type === 'mended')).toEqual([{ seq: 0, type: 'mended', step: 0, repairs }])
    const receipts = [...session.notes()].filter((note) => note.type === 'receipt')
    const mended = expect.objectContaining({ repairs: repairs.length }) as unknown
    expect(receipts.map(({ details }) => details?.['mended'])).toEqual([mended, mended])
  })

  it('resume and a run on the session answer, too', async () => {
    const session = await createSession(memoryStore(), { id: 's', messages: [...messages, user('hi')] })
    const { model } = strict([assistant('fine')])
    expect((await resume(session, { model, tools: [f] }).result()).stopReason).toBe('end_turn')
    await session.append(user('and now?'))
    const again = strict([assistant('done')])
    const handlers = [sessionHandler(session)]
    await run({ model: again.model, view: session.conversation(), handlers }).result()
    expect(session.view().toArray().slice(-4).map(textOf)).toEqual(['hi', 'fine', 'and now?', 'done'])
    expect(again.requests[0]?.length).toBe(mend(session.conversation()).messages.length - 1)
  })
})

it('the positions of repairs are those of the record, also after a retraction', async () => {
  const session = await createSession(memoryStore(), { id: 's', messages: [user('x'), assistant('y')] })
  await session.note({ type: 'retraction', from: 0, to: 2 })
  await session.append([user('a'), call, user('b')])
  const stream = turn(session, 'hi', { model: scriptedModel([assistant('fine')]) })
  const mended = (await eventsOf(stream)).find(({ type }) => type === 'mended')
  expect(mended?.type === 'mended' && mended.repairs.map(({ problem }) => problem.position)).toEqual([3])
})

it('a request extends the one before: its stable prefix is equal, whatever is repaired', async () => {
  const prefixes: number[] = []
  const { model, requests } = strict([
    assistant(toolCall('c1', 'f', '{}')),
    assistant(toolCall('c1', 'f', '{}')),
    assistant('done'),
  ])
  const noting: Model = {
    ...model,
    stream: (request, signal) => (prefixes.push(request.stablePrefix), model.stream(request, signal)),
  }
  const view = createHistory<Message>({ from: [...(damaged['a late result'] ?? []), user('go')] }).view()
  await run({ model: noting, view, tools: [f] }).result()
  for (const [index, prefix] of prefixes.entries())
    expect(requests[index]?.slice(0, prefix)).toEqual(requests[index - 1]?.slice(0, prefix) ?? [])
  expect(prefixes).toEqual([0, requests[0]?.length, requests[1]?.length])
})

it('only a record without anything to answer is a fault', async () => {
  const session = await createSession(memoryStore(), { id: 's', messages: [toolResult('c0', 'r')] })
  const outcome = await resume(session, { model: scriptedModel([assistant('fine')]) }).result()()
  expect(isLeft(outcome) && outcome.left._tag).toBe('NothingToAnswer')
})

it(`${runs} random records, damaged anywhere: each turn is answered`, async () => {
  const id = fc.constantFrom('c1', 'c2', 'c3')
  const message = fc.oneof(
    fc.constantFrom(user('u'), assistant('a'), system('s')),
    id.map((one) => assistant(toolCall(one, 'f', '{}'))),
    fc.tuple(id, id).map(([one, two]) => assistant('both', toolCall(one, 'f', '{}'), toolCall(two, 'f', '{}'))),
    id.map((one) => toolResult(one, 'r')),
  )
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { maxLength: 12 }),
      fc.constantFrom(undefined, 20_000),
      async (messages, budget) => {
        const session = await createSession(memoryStore(), { id: 's', messages })
        for (const question of ['one', 'two']) {
          const { model } = strict([assistant(toolCall('c1', 'f', '{}')), assistant('fine')])
          const options = budget === undefined ? {} : { budget }
          const { stopReason } = await turn(session, question, { model, tools: [f], ...options }).result()
          expect(stopReason).toBe('end_turn')
        }
      },
    ),
    { numRuns: runs },
  )
})
