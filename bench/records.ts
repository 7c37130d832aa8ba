/** Call records: what a record costs around a call, encoding beside JSON.stringify, and detection in generated code. */
import { parse } from '@babel/parser'
import { createCallLog, detectHistoryUse, encodeValue, recordCall, startCall } from '@indelible/records'
import { machine, measure, report, type Contender } from './measure.ts'

const smallest = process.argv.includes('--quick')
const calls = smallest ? 200 : 20_000
const args = ['open invoices', { from: '2026-01-01', to: '2026-06-30', limit: 50 }]

const each = async (count: number, work: (index: number) => unknown): Promise<void> => {
  for (let index = 0; index < count; index++) await work(index)
}

const contendersFor = (length: number): readonly Contender[] => [
  {
    name: 'recordCall',
    operations: calls,
    prepare: () => {
      const log = filled(length)
      return () => each(calls, () => recordCall(log, { methodName: 'search', args }, () => 1))
    },
  },
  {
    name: 'startCall and finish',
    operations: calls,
    prepare: () => {
      const log = filled(length)
      return () => each(calls, () => startCall(log, { methodName: 'search', args }).finish({ value: 1 }))
    },
  },
  {
    name: 'by hand: push of a JSON copy',
    operations: calls,
    prepare: () => {
      const list: unknown[] = []
      return () =>
        each(calls, async () => {
          const startedAt = new Date().toISOString()
          const copy = JSON.parse(JSON.stringify(args)) as unknown
          const value = await Promise.resolve(1)
          list.push({
            callId: crypto.randomUUID(),
            timestamp: new Date().toISOString(),
            speaker: 'user',
            methodName: 'search',
            args: copy,
            kwargs: {},
            outcomeSummary: { status: 'ok', ok: true, errorType: null, retriable: false },
            startedAt,
          })
          return value
        })
    },
  },
  { name: 'the call alone', operations: calls, prepare: () => () => each(calls, () => Promise.resolve(1)) },
]

const filled = (length: number) => {
  const log = createCallLog()
  for (let index = 0; index < length; index++) startCall(log, { methodName: 'search', args }).finish({ value: 1 })
  return log
}

const rows = (count: number): unknown =>
  Array.from({ length: count }, (_, index) => ({
    id: `row-${index}`,
    name: `some name ${index}`,
    score: index * 1.5,
    tags: ['a', 'b'],
    ok: index % 2 === 0,
  }))

const encoding = (value: unknown, times: number): readonly Contender[] => {
  const repeated = (work: () => unknown) => () => () => {
    for (let index = 0; index < times; index++) work()
  }
  const limits = { size: 1e9 }
  return [
    { name: 'encodeValue', operations: times, prepare: repeated(() => encodeValue(value, { limits })) },
    { name: 'encodeValue, within the default limits', operations: times, prepare: repeated(() => encodeValue(value)) },
    { name: 'JSON.stringify', operations: times, prepare: repeated(() => JSON.stringify(value)) },
    {
      name: 'JSON.parse(JSON.stringify())',
      operations: times,
      prepare: repeated(() => JSON.parse(JSON.stringify(value)) as unknown),
    },
    { name: 'structuredClone', operations: times, prepare: repeated(() => structuredClone(value)) },
  ]
}

const program = (bytes: number): string => {
  let code = ''
  for (let step = 0; code.length < bytes; step++)
    code += `export async function step${step}(context: Context): Promise<Result> {
  const rows = context.conversationHistory.filter((r: CallRecord) => r.outcomeSummary.ok).map(({ args }) => args[0] as string)
  for (const row of rows) if (row === 'x') console.log(\`row \${row}\`)
  return { total: rows.length, last: rows.at(-1) ?? null }
}
`
  return code
}

const detecting = (bytes: number): readonly Contender[] => {
  const code = program(bytes)
  const once = (work: () => unknown) => () => work
  return [
    { name: 'detectHistoryUse', operations: 1, prepare: once(() => detectHistoryUse(code)) },
    {
      name: '@babel/parser, the tree alone',
      operations: 1,
      prepare: once(() => parse(code, { sourceType: 'module', plugins: ['typescript'] })),
    },
  ]
}

const rounds = smallest ? 2 : 9
console.log(`${machine()}. Medians; in brackets, how many times the first column.`)
report('One call, around an empty body, at a log length of', [
  ['0', await measure(contendersFor(0), rounds)],
  ['100,000', await measure(contendersFor(smallest ? 1000 : 100_000), rounds)],
])
report('Encode one value of', [
  ['1 kB', await measure(encoding(rows(12), smallest ? 10 : 5000), rounds)],
  ['1 MB', await measure(encoding(rows(12_000), smallest ? 1 : 5), rounds)],
])
report('Detect the use of the history in', [
  ['1 kB of code', await measure(detecting(1000), rounds)],
  ['100 kB of code', await measure(detecting(100_000), rounds)],
])
