/** Tools that others run, and approvals with other arguments. */
import { describe, expect, it } from 'vitest'
import {
  assistant,
  createSession,
  image,
  memoryStore,
  openSession,
  text,
  toolCall,
  user,
  type Message,
} from 'indelible'
import { inputsOf, resume, run, scriptedModel, tool, toolOutput, turn } from 'indelible/run'

const locate = tool({ name: 'locate', description: 'Where the user is.', parameters: { type: 'object' } })
const ran: unknown[] = []
const pay = tool({ name: 'pay', parameters: {}, needsApproval: true, run: (input) => (ran.push(input), 'paid') })
const tools = [locate, pay]
const resultsIn = (messages: Iterable<Message>) =>
  [...messages].flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool_result' ? [part] : [])))

describe('a tool without `run`', () => {
  it('ends the step as waiting; its result arrives later, in another process', async () => {
    const store = memoryStore()
    const session = await createSession(store, { id: 's' })
    const model = scriptedModel([
      assistant(toolCall('a', 'locate', {}), toolCall('b', 'pay', { sum: 5 })),
      assistant('done'),
    ])
    const runResult = await turn(session, 'Where am I?', { model, tools, id: 'i' }).result()
    expect([runResult.stopReason, runResult.open?.calls.map(({ id }) => id), inputsOf(session)[0]?.state]).toEqual([
      'approval',
      ['a', 'b'],
      'waiting',
    ])
    const [where, payment] = (runResult.open?.calls ?? []).map(({ approval }) => approval) as [string, string]
    await session.close()
    const later = await openSession(store, 's')
    // An approval does not run what has no function here.
    const still = await resume(later, { model, tools, approve: [where] }).result()
    expect([still.stopReason, still.open?.calls.map(({ id }) => id)]).toEqual(['approval', ['a', 'b']])
    const half = await resume(later, {
      model,
      tools,
      results: [{ approval: where, output: { city: 'Oslo' } }],
    }).result()
    expect([half.stopReason, half.open?.calls.map(({ id }) => id)]).toEqual(['approval', ['b']])
    const all = await resume(later, { model, tools, approve: [{ approval: payment, arguments: { sum: 3 } }] }).result()
    expect(all.stopReason).toBe('end_turn')
    expect(ran).toEqual([{ sum: 3 }])
    expect(resultsIn(later.view())).toEqual([
      {
        type: 'tool_result',
        callId: 'a',
        content: [text('{"city":"Oslo"}')],
        name: 'locate',
        meta: { indelible: { answered: where } },
      },
      {
        type: 'tool_result',
        callId: 'b',
        content: [text('paid')],
        name: 'pay',
        meta: { indelible: { arguments: { sum: 3 }, approval: { id: payment, approved: true } } },
      },
    ])
    expect(inputsOf(later)[0]?.state).toBe('answered')
  })

  it('can be denied, or give up for another message; without a session, `open` has the step', async () => {
    const model = () => scriptedModel([assistant(toolCall('a', 'locate', {})), assistant('done')])
    const view = [user('go')]
    const runResult = await run({ model: model(), view, tools }).result()
    const open = runResult.open
    if (open === undefined) throw new Error('it should wait')
    const approval = open.calls[0]?.approval ?? ''
    const answers = scriptedModel([assistant('done')])
    const photo = toolOutput([image({ type: 'url', url: 'https://example.org/a.png' })])
    const given = await run({ model: answers, view, tools, open, results: [{ approval, output: photo }] }).result()
    expect(resultsIn(given.messages)[0]?.content[0]?.type).toBe('image')
    const again = await run({ model: model(), view: [user('go!')], tools }).result()
    const denied = await run({
      model: scriptedModel([assistant('done')]),
      view: [user('go!')],
      tools,
      open: again.open as never,
      deny: again.open?.calls.map((call) => call.approval) ?? [],
    }).result()
    expect(resultsIn(denied.messages)[0]).toMatchObject({ isError: true })
    const session = await createSession(memoryStore(), { id: 's' })
    await turn(session, 'go', { model: model(), tools }).result()
    await turn(session, 'never mind', { model: scriptedModel([assistant('fine')]), tools }).result()
    expect(
      session
        .view()
        .toArray()
        .map(({ role }) => role),
    ).toEqual(['user', 'assistant', 'tool', 'user', 'assistant'])
  })

  it('wrong arguments do not wait, and what is no token is refused', async () => {
    const model = scriptedModel([assistant(toolCall('a', 'locate', 'no json')), assistant('done')])
    const result = await run({ model, view: [user('go')], tools }).result()
    expect([result.stopReason, resultsIn(result.messages)[0]?.isError]).toEqual(['end_turn', true])
    const session = await createSession(memoryStore(), { id: 's' })
    expect(() => resume(session, { model, tools, results: [{ approval: 'a', output: 1 }] })).toThrow(
      'results takes the token',
    )
    expect(() => run({ model, view: [], tools, results: [{ approval: 'approval_x', output: 1 }] })).toThrow(
      'decisions about the calls of `open`',
    )
  })
})
