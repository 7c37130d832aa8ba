import { expect, it } from 'vitest'
import {
  createCallLog,
  detectHistoryUse,
  historyAttributes,
  historyTelemetry,
  recordCall,
  summarizeHistoryUse,
} from '@indelible/records'

const filtering = 'const bad = context.conversationHistory.filter((r) => !r.outcomeSummary.ok)\nreturn bad.length'
const fields = historyTelemetry(
  { historyRecordAppended: true, conversationHistorySize: 3 },
  detectHistoryUse(filtering),
)

it('summarizeHistoryUse sums records by their code', async () => {
  const log = createCallLog()
  for (const programSource of [filtering, 'return 1', filtering, 'return context.conversationHistory.map(f)'])
    await recordCall(log, { methodName: 'answer', callId: `c${log.len}`, programSource }, () => 1)
  await recordCall(log, { methodName: 'tool' }, () => 1)
  const usage = summarizeHistoryUse(log.view().toArray())
  expect(usage).toMatchObject({
    entries: 5,
    observed: 4,
    using: 3,
    patterns: [
      { pattern: 'filter', calls: 2 },
      { pattern: 'count', calls: 2 },
      { pattern: 'map', calls: 1 },
    ],
    skipped: [],
    report: { kept: 5 },
  })
  expect(usage.evidence[0]).toEqual({
    index: 0,
    callId: 'c0',
    methodName: 'answer',
    line: 1,
    patterns: ['filter'],
    text: filtering.split('\n')[0],
  })
  expect(usage.evidence.map(({ index, line }) => [index, line])).toEqual([
    [0, 1],
    [0, 2],
    [2, 1],
    [2, 2],
    [3, 1],
  ])
})

it('summarizeHistoryUse accepts log fields in every spelling, with and without records', () => {
  const snake = { history_access_detected: false, history_query_patterns: [] }
  const usage = summarizeHistoryUse([
    fields,
    snake,
    historyAttributes(fields),
    { name: 'span', attributes: historyAttributes(fields) },
    { call_id: 'c1', code: filtering, ...snake },
  ])
  expect(usage).toMatchObject({
    entries: 5,
    observed: 5,
    using: 4,
    patterns: [
      { pattern: 'filter', calls: 4 },
      { pattern: 'count', calls: 4 },
    ],
    skipped: [],
  })
  expect(usage.evidence.slice(0, 3)).toEqual([0, 2, 3].map((index) => ({ index, patterns: ['filter', 'count'] })))
  expect(usage.evidence.slice(3).map(({ index, callId, line }) => [index, callId, line])).toEqual([
    [4, 'c1', 1],
    [4, 'c1', 2],
  ])
})

it('summarizeHistoryUse skips other values with a reason', () => {
  const usage = summarizeHistoryUse([null, 'x', { msg: 'started' }, { historyAccessDetected: 'yes' }, [fields]])
  expect(usage.observed).toBe(0)
  expect(usage.skipped.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4])
  expect(usage.skipped[2]?.reason).toMatch(/it is not a record/)
  const record = { methodName: 'answer', callId: 'c1', programSource: filtering }
  expect(summarizeHistoryUse([null, record]).evidence.map(({ index }) => index)).toEqual([1, 1])
})

it('summarizeHistoryUse counts only known patterns', () => {
  expect(
    summarizeHistoryUse([{ historyAccessDetected: true, historyQueryPatterns: ['map', 'dance', 7] }]).patterns,
  ).toEqual([{ pattern: 'map', calls: 1 }])
})
