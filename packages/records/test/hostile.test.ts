/** Host functions that throw, lie or never do their work: the body runs, and its record is there. */
import { describe, expect, it } from 'vitest'
import {
  createCallLog,
  recordCall,
  startCall,
  type Call,
  type CallContext,
  type CallLogOptions,
} from '@indelible/records'
import type { CallScope } from '../src/log.ts'

const no = (): never => {
  throw new Error('no')
}
const evil: object = new Proxy({}, { get: no, has: no, getPrototypeOf: no, ownKeys: no, getOwnPropertyDescriptor: no })
const own = <T>(value: unknown): T => value as T

const options: readonly (readonly [string, CallLogOptions])[] = [
  ['newId throws', { newId: no }],
  ['newId gives a symbol', { newId: own(() => Symbol('id')) }],
  ['newId gives an object', { newId: own(() => evil) }],
  ['newId gives the same id always', { newId: () => 'same' }],
  ['now throws', { now: no }],
  ['now gives NaN', { now: () => NaN }],
  ['now gives an endless time', { now: () => Infinity }],
  ['now gives a bigint', { now: own(() => 1n) }],
  ['getStore throws', { scope: { getStore: no, run: (_context, work) => work() } }],
  ['getStore gives a trap', { scope: { getStore: own(() => evil), run: (_context, work) => work() } }],
  ['run throws before', { scope: { getStore: () => undefined, run: no } }],
  ['run does nothing', { scope: { getStore: () => undefined, run: own(() => undefined) } }],
  ['run works twice', { scope: { getStore: () => undefined, run: (_context, work) => (work(), work()) } }],
  ['run throws after', { scope: { getStore: () => undefined, run: (_context, work) => (work(), no()) } }],
  [
    'run gives something else',
    {
      scope: own<CallScope>({ getStore: () => undefined, run: (_: CallContext, work: () => void) => (work(), 'else') }),
    },
  ],
  ['telemetry throws', { telemetry: no }],
  ['telemetry rejects', { telemetry: async () => no() }],
  ['telemetry gives a trap', { telemetry: own(() => evil) }],
  ['the content store throws', { content: { put: no, get: no, entries: 0, bytes: 0 } }],
  ['the content store gives a trap', { content: own({ put: () => evil }) }],
  ['redact throws', { redact: no }],
]

describe.each(options)('%s', (_name, options) => {
  it('still lets each call be made and recorded once', async () => {
    const log = createCallLog(options)
    let made = 0
    const answer = await recordCall(log, { methodName: 'f' }, (context) => {
      made += 1
      return context.recordCall({ methodName: 'g' }, async () => 7)
    })
    expect([answer, made, log.len]).toEqual([7, 1, 2])
    const error = new Error('of the body')
    await expect(recordCall(log, { methodName: 'h' }, () => Promise.reject(error))).rejects.toBe(error)
    expect(startCall(log, { methodName: 'i' }).finish({ value: 1 }).appended).toBe(true)
    const records = log.view().toArray()
    expect(records.map(({ methodName }) => methodName)).toEqual(['g', 'f', 'h', 'i'])
    expect(new Set(records.map(({ callId }) => callId)).size).toBe(4)
    expect(records.every(({ timestamp }) => !Number.isNaN(Date.parse(timestamp)))).toBe(true)
  })
})

const calls: readonly (readonly [string, Partial<Call>])[] = [
  ['callId', { callId: own({ toString: no }) }],
  ['callId, a trap', { callId: own(evil) }],
  ['callId, a symbol', { callId: own(Symbol('x')) }],
  ['parent', { parent: own(evil) }],
  ['parent of another shape', { parent: own({ callId: 7, depth: 'x' }) }],
  ['parent with an odd depth', { parent: own({ callId: 'p', depth: NaN }) }],
  ['traceId', { traceId: own({}) }],
  ['methodName', { methodName: own({ toString: no }) }],
  ['speaker', { speaker: own(evil) }],
  ['programSource', { programSource: own(evil) }],
  ['artifactHit', { artifactHit: own(() => true) }],
  ['args', { args: own(evil) }],
  ['kwargs', { kwargs: own(evil) }],
  ['fields', { fields: own(evil) }],
  ['signal', { signal: own(evil) }],
  ['summarize', { summarize: own(evil) }],
  ['retriable', { retriable: own(evil) }],
]

describe.each(calls)('a call with a hostile %s', (_name, hostile) => {
  it('is made and recorded', async () => {
    const log = createCallLog()
    expect(await recordCall<unknown>(log, { methodName: 'f', ...hostile }, () => 7)).toBe(7)
    const error = new Error('of the body')
    const { callId: _, ...others } = hostile
    await expect(recordCall<unknown>(log, { methodName: 'f', ...others }, () => Promise.reject(error))).rejects.toBe(
      error,
    )
    expect(log.len).toBe(2)
  })
})

it('a call whose fields all throw is made and recorded', async () => {
  const log = createCallLog()
  expect(await recordCall<unknown>(log, own(evil), () => 7)).toBe(7)
  expect(
    await recordCall<unknown>(log, { methodName: 'f' }, (context) =>
      context.recordCall(own<Call<unknown>>(evil), () => 8),
    ),
  ).toBe(8)
  expect(log.len).toBe(3)
  expect(log.view().at(1)?.parentCallId).toBe(log.view().at(2)?.callId)
})
