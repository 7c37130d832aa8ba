/** Somebody appends what a page shows of a waiting answer: its calls are answered once, by the run that continues it. */
import { expect, it } from 'vitest'
import { assistant, createSession, memoryStore, openSession, text, textOf, toolCall, user } from 'indelible'
import { toolResultsOf } from 'indelible/message'
import { resume, scriptedModel, tool, turn } from 'indelible/run'

it.each(['approve', 'deny'] as const)('a copy of a waiting answer is no answer: %s', async (decision) => {
  const store = memoryStore()
  const ran: string[] = []
  const tools = (['look', 'pay'] as const).map((name) =>
    tool({
      name,
      parameters: { type: 'object' },
      needsApproval: name === 'pay',
      run: () => (ran.push(name), `${name} done`),
    }),
  )
  const answer = assistant('I pay it.', toolCall('c0', 'look', '{}'), toolCall('c1', 'pay', '{"sum":5}'))
  const runResult = await turn(await createSession(store, { id: 's' }), 'Pay.', {
    model: scriptedModel([answer]),
    tools,
  }).result()
  const tokens = runResult.open?.calls.map(({ approval }) => approval) ?? []
  await (await openSession(store, 's')).append(answer)

  const session = await openSession(store, 's')
  const decisions = decision === 'approve' ? { approve: tokens } : { deny: tokens }
  const ended = await resume(session, { model: scriptedModel([assistant('Done.')]), tools, ...decisions }).result()
  expect([ended.stopReason, ran]).toEqual(['end_turn', decision === 'approve' ? ['look', 'pay'] : ['look']])
  const conversation = session.conversation().toArray()
  expect(conversation.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'assistant'])
  expect(conversation.flatMap(toolResultsOf).map(({ callId }) => callId)).toEqual(['c0', 'c1'])
  expect(
    session
      .view()
      .toArray()
      .filter((message) => textOf(message) === 'I pay it.'),
  ).toHaveLength(2) // the record has both
})

it('another message after a waiting answer is left where it is', async () => {
  const store = memoryStore()
  const pay = tool({ name: 'pay', parameters: { type: 'object' }, needsApproval: true, run: () => 'paid' })
  const model = scriptedModel([assistant(toolCall('c1', 'pay', '{}'))])
  const runResult = await turn(await createSession(store, { id: 's' }), 'Pay.', { model, tools: [pay] }).result()
  const session = await openSession(store, 's')
  await session.append([user('The blue card.'), { role: 'assistant', content: [text('Sure.')] }])
  const approve = runResult.open?.calls.map(({ approval }) => approval) ?? []
  const ended = await resume(session, { model: scriptedModel([assistant('Done.')]), tools: [pay], approve }).result()
  expect(ended.stopReason).toBe('end_turn')
  expect(session.conversation().toArray().map(textOf)).toContain('Sure.')
})
