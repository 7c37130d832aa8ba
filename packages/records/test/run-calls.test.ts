/** `run` and `turn` write call records. */
import { expect, it } from 'vitest'
import { assistant, createSession, memoryStore, orThrow, settle, textOf, toolCall, user, type Message } from 'indelible'
import { run, scriptedModel, tool, toolOutput, turn, type Model } from 'indelible/run'
import {
  createCallLog,
  detectHistoryUse,
  historyTelemetry,
  openCallLog,
  recordsToJson,
  type RecordEvent,
} from '@indelible/records'

const add = tool({ name: 'add', parameters: {}, run: (input) => (input as { a: number }).a + 1 })
const broken = tool({
  name: 'broken',
  parameters: {},
  run: () => {
    throw new RangeError('page 7 of 3')
  },
})
const closed = tool({ name: 'closed', parameters: {}, run: () => toolOutput('The shop is closed.', { isError: true }) })
const slow = tool({ name: 'slow', parameters: {}, timeout: 5, run: () => new Promise(() => undefined) })
const view = orThrow(settle([user('go')]))

/** A model that keeps its requests. */
const listening = (lines: readonly Message[]): { readonly model: Model; readonly requests: (readonly Message[])[] } => {
  const requests: (readonly Message[])[] = []
  const script = scriptedModel(lines)
  return {
    model: {
      ...script,
      stream: (request, signal) => (requests.push([...request.messages]), script.stream(request, signal)),
    },
    requests,
  }
}

it('a run records each call that it makes, however it ends', async () => {
  const calls = createCallLog()
  const answer = assistant(
    toolCall('a', 'add', '{"a":1}'),
    toolCall('b', 'broken', '{}'),
    toolCall('c', 'closed', '{}'),
    toolCall('d', 'nobody', '{}'),
    toolCall('e', 'add', 'no json'),
    toolCall('f', 'slow', '{}'),
  )
  const model = scriptedModel([answer, assistant('done')])
  const result = await run({ model, view, tools: [add, broken, closed, slow], calls, id: 'r1' }).result()
  expect(result.stopReason).toBe('end_turn')
  const records = calls
    .view()
    .toArray()
    .toSorted((a, b) => a.callId.localeCompare(b.callId))
  expect(
    records.map(
      ({
        callId,
        methodName,
        speaker,
        args,
        kwargs,
        outcomeSummary: { status, errorType },
        traceId,
        errorMessage,
        ...rest
      }) => [
        [callId, rest['toolCallId'], methodName, speaker, traceId],
        [args, kwargs],
        [status, errorType, errorMessage],
      ],
    ),
  ).toEqual([
    [
      ['r1:0:a', 'a', 'add', 'agent', 'r1'],
      [[], { a: 1 }],
      ['ok', null, undefined],
    ],
    [
      ['r1:0:b', 'b', 'broken', 'agent', 'r1'],
      [[], {}],
      ['error', 'RangeError', 'page 7 of 3'],
    ],
    [
      ['r1:0:c', 'c', 'closed', 'agent', 'r1'],
      [[], {}],
      ['error', null, 'The shop is closed.'],
    ],
    [
      ['r1:0:d', 'd', 'nobody', 'agent', 'r1'],
      [[], {}],
      ['error', 'UnknownTool', expect.stringContaining('no tool')],
    ],
    [
      ['r1:0:e', 'e', 'add', 'agent', 'r1'],
      [['no json'], {}],
      ['error', 'InvalidArguments', expect.stringContaining('JSON')],
    ],
    [
      ['r1:0:f', 'f', 'slow', 'agent', 'r1'],
      [[], {}],
      ['timeout', 'TimeoutError', expect.stringContaining('5 ms')],
    ],
  ])
  expect(records[0]?.outcomeSummary.valueClass).toBe('number')
  const other = await run({
    model: scriptedModel([answer, assistant('done')]),
    view,
    tools: [add, broken, closed, slow],
  }).result()
  expect(result.messages).toEqual(other.messages) // recording changes no result
})

it('an interrupted call is recorded as aborted, a call that was not run has no record', async () => {
  const calls = createCallLog()
  const started = Promise.withResolvers<void>()
  const hang = tool({
    name: 'hang',
    parameters: {},
    alone: true,
    run: () => (started.resolve(), new Promise(() => undefined)),
  })
  const model = scriptedModel([assistant(toolCall('a', 'hang', '{}'), toolCall('b', 'hang', '{}'))])
  const stream = run({ model, view, tools: [hang], calls })
  await started.promise
  stream.cancel()
  await stream.result()
  expect(
    calls
      .view()
      .toArray()
      .map(({ outcomeSummary }) => outcomeSummary.status),
  ).toEqual(['aborted'])
})

it('a turn on a stored log: its records are stored, and inner calls find their parent by the scope', async () => {
  const store = memoryStore()
  const { AsyncLocalStorage } = await import('node:async_hooks')
  const opened = await openCallLog({ store, id: 'calls', durable: true, scope: new AsyncLocalStorage() })
  const session = await createSession(store, { id: 's' })
  const model = scriptedModel([assistant(toolCall('a', 'add', '{"a":1}')), assistant('done')])
  await turn(session, 'go', { model, tools: [add], calls: opened.log }).result()
  expect(opened.pending).toBe(0)
  const again = await openCallLog({ store, id: 'calls', writer: 'reader' })
  expect(
    again.log
      .view()
      .toArray()
      .map(({ methodName }) => methodName),
  ).toEqual(['add'])
})

it('with `where` the prompt says how to read the log, within the budget, and the record has none of it', async () => {
  const calls = createCallLog()
  const events: RecordEvent[] = []
  const told = createCallLog({ telemetry: (event) => events.push(event) })
  const code = 'return context.conversation_history.filter((r) => r.call_id).length'
  const execute = tool({
    name: 'execute',
    parameters: {},
    run: (input) => {
      const context = { conversation_history: recordsToJson(told.view(), { keys: 'snake_case' }) }
      return new Function('context', (input as { code: string }).code)(context) as unknown
    },
  })
  const session = await createSession(memoryStore(), { id: 's' })
  await session.append({ role: 'system', content: [{ type: 'text', text: 'You compute.' }] })
  const lines = [assistant(toolCall('a', 'execute', JSON.stringify({ code }))), assistant('none yet')]
  const { model, requests } = listening([
    ...lines,
    assistant(toolCall('a', 'execute', JSON.stringify({ code }))),
    assistant('one'),
  ])
  const settings = {
    model,
    tools: [execute],
    budget: 20_000,
    calls: {
      log: told,
      where: 'context.conversation_history',
      keys: 'snake_case' as const,
      programSource: ({ arguments: input }: { readonly arguments: string }) =>
        (JSON.parse(input) as { code: string }).code,
    },
  }
  await turn(session, 'How many calls so far?', settings).result()
  await turn(session, 'And now?', settings).result()
  const texts = requests.map((messages) => messages.map((message) => `${message.role}: ${textOf(message)}`))
  expect(texts.map((request) => request[0])).toEqual(Array.from({ length: 4 }, () => 'system: You compute.'))
  expect(texts.map((request) => request[1]?.split('\n')[0])).toEqual(
    Array.from(
      { length: 4 },
      () =>
        'system: context.conversation_history is an array of records of the calls that were made so far, oldest first.',
    ),
  )
  expect(texts[0]?.[1]).toContain('call_id')
  expect(texts[0]?.[2]).toContain('How many calls so far?<call_history records="0">')
  expect(texts[1]?.slice(0, 3)).toEqual(texts[0]) // the cached prefix of a run stays
  expect(texts[2]?.find((text) => text.includes('And now?'))).toContain(
    '<call_history records="1">\nlatest: {"call_id":',
  )
  expect(texts[2]?.find((text) => text.includes('How many'))).toBe('user: How many calls so far?')
  expect(session.view().toArray().map(textOf).join('\n')).not.toContain('call_history')
  expect(
    textOf({
      role: 'user',
      content:
        session
          .view()
          .at(-2)
          ?.content.flatMap((part) => (part.type === 'tool_result' ? part.content : [])) ?? [],
    }),
  ).toBe('1')
  expect(events.map((event) => historyTelemetry(event))).toEqual([
    {
      historyRecordAppended: true,
      conversationHistorySize: 1,
      historyAccessDetected: true,
      historyQueryPatterns: ['filter', 'count'],
    },
    {
      historyRecordAppended: true,
      conversationHistorySize: 2,
      historyAccessDetected: true,
      historyQueryPatterns: ['filter', 'count'],
    },
  ])
  expect(historyTelemetry(events[0] as RecordEvent, detectHistoryUse(''), { keys: 'snake_case' })).toEqual({
    history_record_appended: true,
    conversation_history_size: 1,
    history_access_detected: false,
    history_query_patterns: [],
  })
  expect(calls.len).toBe(0)
})

it('refuses what is no log, and unknown options', () => {
  const start = (calls: unknown) => () => run({ model: scriptedModel([]), view, calls: calls as never })
  expect(start([])).toThrow('run: calls')
  expect(start({ log: {} })).toThrow('expected a log, from createCallLog()')
  expect(start({ log: createCallLog(), were: 'x' })).toThrow('were')
  expect(start({ log: createCallLog(), keys: 'kebab' })).toThrow('run: calls.keys')
  expect(start({ log: createCallLog(), where: 5 })).toThrow('`calls.where` is 5')
})
