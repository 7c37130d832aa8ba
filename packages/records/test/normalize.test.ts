import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCallLog, normalizeRecords, recordCall, type CallRecord } from '@indelible/records'
import { rounds } from '../../../test/rounds.ts'
import { Outputs } from '../../../test/outputs.ts'

const record: CallRecord = {
  callId: 'c1',
  timestamp: '2026-01-01T00:00:00.000Z',
  speaker: 'tool',
  methodName: 'search',
  args: ['a'],
  kwargs: { limit: 1 },
  outcomeSummary: { status: 'ok', ok: true, errorType: null, retriable: false },
}

const only = (
  entry: unknown,
): { readonly record: unknown; readonly fate: string | undefined; readonly reasons: readonly string[] } => {
  const { log, report } = normalizeRecords([entry])
  const [found] = report.entries
  return { record: log.view().at(0), fate: found?.fate, reasons: found?.reasons ?? [] }
}
/** What becomes of a good record when one field is another. */
const but = (change: object) => only({ ...record, ...change })

describe('normalizeRecords keeps valid records', () => {
  it('of this version', async () => {
    const log = createCallLog()
    await recordCall(
      log,
      {
        methodName: 'f',
        traceId: 't',
        args: [{ deep: [new Date()] }],
        fields: { own: { a: null } },
        programSource: 'f()',
        artifactHit: false,
      },
      (context) =>
        context
          .recordCall({ methodName: 'g' }, () => {
            throw new Error('no')
          })
          .catch(() => 1),
    )
    const { log: again, report } = normalizeRecords(JSON.parse(JSON.stringify(log.view())))
    expect(report).toEqual({
      entries: [
        { index: 0, fate: 'kept', reasons: [] },
        { index: 1, fate: 'kept', reasons: [] },
      ],
      kept: 2,
      repaired: 0,
      dropped: 0,
    })
    expect(again.view().toArray()).toEqual(log.view().toArray())
  })
  it('with false, 0 and empty text as values', () => {
    const falsy = {
      ...record,
      callId: '',
      args: [false, 0],
      kwargs: { a: false },
      artifactHit: false,
      depth: 0,
      durationMs: 0,
      errorMessage: '',
      outcomeSummary: { status: '', ok: false, errorType: '', retriable: false },
    }
    expect(only(falsy)).toEqual({ record: falsy, fate: 'kept', reasons: [] })
  })
  it('with unknown fields', () => {
    const own = {
      ...record,
      cost: 0,
      'com.example': { a: [null] },
      outcomeSummary: { ...record.outcomeSummary, source_count: 2 },
    }
    expect(only(own)).toEqual({ record: own, fate: 'kept', reasons: [] })
    const odd = JSON.parse(`{"__proto__": {"a": 1}, ${JSON.stringify({ ...record, args: false }).slice(1)}`) as object
    expect(JSON.stringify(only(odd).record)).toContain('"__proto__":{"a":1}')
  })
})

describe('normalizeRecords of other values', () => {
  it.each<readonly [unknown, string]>([
    [undefined, 'null'],
    [null, 'null'],
    ['[]', '"[]"'],
    [{ 0: record, length: 1 }, 'an object'],
    [7, '7'],
    [new Set([record]), 'an instance of Set'],
    [createCallLog().view(), 'an object'],
  ])('gives an empty log for %j and reports it', (stored, found) => {
    const { log, report } = normalizeRecords(stored)
    expect(log.len).toBe(0)
    expect(report).toMatchObject({ entries: [], kept: 0 })
    expect(report.problem?.replace('the records should be an array, found ', '')).toEqual(found)
  })
  it('accepts a revoked proxy', () => {
    const revoked = Proxy.revocable([], {})
    revoked.revoke()
    expect(normalizeRecords(revoked.proxy).report.problem).toMatch(/found an object that throws when it is read/)
  })
  it('keeps valid entries in order and reports each other one', () => {
    const sparse = [record, 'text', null, , [record], {}, { role: 'user' }, { ...record, callId: 'c2' }] // oxlint-disable-line no-sparse-arrays
    const { log, report } = normalizeRecords(sparse)
    expect(
      log
        .view()
        .toArray()
        .map(({ callId }) => callId),
    ).toEqual(['c1', 'c2'])
    expect(report.entries.map(({ fate, reasons }) => [fate, ...reasons])).toEqual([
      ['kept'],
      ['dropped', 'is "text"; a record is an object'],
      ['dropped', 'is null; a record is an object'],
      ['dropped', 'is nothing; a record is an object'],
      ['dropped', 'is an array; a record is an object'],
      ['dropped', 'has no callId, methodName or outcomeSummary, so it is not a record'],
      ['dropped', 'has no callId, methodName or outcomeSummary, so it is not a record'],
      ['kept'],
    ])
    expect([report.kept, report.repaired, report.dropped]).toEqual([2, 0, 6])
  })
})

describe('normalizeRecords for older runtimes', () => {
  it('reads keys in snake_case', () => {
    const old = {
      call_id: 'c1',
      timestamp: '2026-02-16T10:00:00.123Z',
      speaker: 'user',
      method_name: 'ask',
      args: ['x'],
      kwargs: {},
      outcome_summary: {
        status: 'error',
        ok: false,
        error_type: 'timeout',
        retriable: true,
        value_class: 'String',
        source_count: 1,
      },
      trace_id: 't1',
      parent_call_id: null,
      depth: 0,
      duration_ms: 12.5,
      artifact_hit: false,
      program_source: 'x',
      own_field: 1,
    }
    const { record, fate, reasons } = only(old)
    expect(record).toEqual({
      callId: 'c1',
      timestamp: '2026-02-16T10:00:00.123Z',
      speaker: 'user',
      methodName: 'ask',
      args: ['x'],
      kwargs: {},
      outcomeSummary: {
        status: 'error',
        ok: false,
        errorType: 'timeout',
        retriable: true,
        valueClass: 'String',
        source_count: 1,
      },
      traceId: 't1',
      depth: 0,
      durationMs: 12.5,
      artifactHit: false,
      programSource: 'x',
      own_field: 1,
    })
    expect([fate, ...reasons]).toEqual([
      'repaired',
      'keys in snake_case: call_id, method_name, outcome_summary, trace_id, parent_call_id, duration_ms, artifact_hit, program_source',
      'keys in snake_case: outcomeSummary.error_type, outcomeSummary.value_class',
      'parentCallId was null: left out',
    ])
  })
  it('prefers the newer key if both are present', () => {
    expect(but({ call_id: 'old' })).toEqual({
      record,
      fate: 'repaired',
      reasons: ['call_id is left out, because callId is present'],
    })
    expect(but({ artifactHit: false, artifact_hit: true }).record).toEqual({ ...record, artifactHit: false })
  })
})

describe('normalizeRecords repairs', () => {
  it('fills in missing fields', () => {
    expect(only({ methodName: 'f' })).toEqual({
      record: {
        callId: 'unknown-0',
        timestamp: '1970-01-01T00:00:00.000Z',
        speaker: 'user',
        methodName: 'f',
        args: [],
        kwargs: {},
        outcomeSummary: { status: 'unknown', ok: false, errorType: null, retriable: false },
      },
      fate: 'repaired',
      reasons: [
        'callId is missing: "unknown-0"',
        'timestamp is missing: "1970-01-01T00:00:00.000Z"',
        'speaker is missing: "user"',
        'args is missing: []',
        'kwargs is missing: {}',
        'outcomeSummary is missing',
      ],
    })
  })
  it.each<readonly [string, object, object]>([
    ['a call id that is a number', { callId: 7 }, { callId: '7' }],
    ['a name that is an object', { methodName: { a: 1 } }, { methodName: '{"a":1}' }],
    ['a time in seconds', { timestamp: 1_767_225_600 }, { timestamp: '2026-01-01T00:00:00.000Z' }],
    ['a time in milliseconds', { timestamp: 1_767_225_600_123 }, { timestamp: '2026-01-01T00:00:00.123Z' }],
    ['a time without milliseconds', { timestamp: '2026-01-01T00:00:00Z' }, { timestamp: '2026-01-01T00:00:00.000Z' }],
    ['a time with a zone', { timestamp: '2026-01-01 01:30:00.5 +0130' }, { timestamp: '2026-01-01T00:00:00.500Z' }],
    ['a time without a zone is UTC', { timestamp: '2026-01-01 10:00' }, { timestamp: '2026-01-01T10:00:00.000Z' }],
    ['a date', { timestamp: '2026-01-02' }, { timestamp: '2026-01-02T00:00:00.000Z' }],
    [
      'no time at all: when it began',
      { timestamp: 'soon', startedAt: '2026-01-01T00:00:00.000Z' },
      { timestamp: '2026-01-01T00:00:00.000Z' },
    ],
    ['a speaker by another word', { speaker: 'Assistant' }, { speaker: 'agent' }],
    ['a speaker nobody knows', { speaker: 'narrator' }, { speaker: 'user' }],
    ['a speaker nobody knows, in a call', { speaker: null, depth: 2 }, { speaker: 'tool' }],
    ['args that are false', { args: false }, { args: [false] }],
    ['args that are one object', { args: { a: 1 } }, { args: [{ a: 1 }] }],
    ['kwargs that are false', { kwargs: false }, { kwargs: { value: false } }],
    ['kwargs that are a list', { kwargs: [1] }, { kwargs: { value: [1] } }],
    ['a depth that is text', { depth: '2' }, { depth: 2 }],
    ['a duration that is text', { durationMs: '1.5' }, { durationMs: 1.5 }],
    ['a flag that is text', { artifactHit: 'false' }, { artifactHit: false }],
    ['an error that is an object', { errorMessage: { code: 1 } }, { errorMessage: '{"code":1}' }],
    [
      'an outcome that is text',
      { outcomeSummary: 'ok' },
      { outcomeSummary: { status: 'unknown', ok: false, errorType: null, retriable: false } },
    ],
    [
      'an outcome of old',
      { outcomeSummary: { status: 'success' } },
      { outcomeSummary: { status: 'success', ok: true, errorType: null, retriable: false } },
    ],
    [
      'an outcome without a status',
      { outcomeSummary: { ok: 0, error_type: 'x' } },
      { outcomeSummary: { status: 'error', ok: false, errorType: 'x', retriable: false } },
    ],
    [
      'what is not JSON',
      { args: [10n, new Map()], own: new Date(0) },
      { args: ['10n', []], own: '1970-01-01T00:00:00.000Z' },
    ],
  ])('%s', (_name, change, expected) => {
    const { record: repaired, fate, reasons } = but(change)
    expect(repaired).toMatchObject(expected)
    expect([fate, reasons.length > 0]).toEqual(['repaired', true])
  })
  it.each([
    [{ depth: -1 }],
    [{ depth: 1.5 }],
    [{ depth: {} }],
    [{ durationMs: 'long' }],
    [{ durationMs: null }],
    [{ artifactHit: 'perhaps' }],
    [{ traceId: null }],
    [{ startedAt: 'yesterday' }],
  ])('drops unusable fields: %j', (change) => {
    const [field] = Object.keys(change)
    const { record: repaired, reasons } = but(change)
    expect(repaired).toEqual(record)
    expect(reasons).toEqual([expect.stringMatching(new RegExp(`^${field} was .*: left out$`))])
  })
  it('handles unreadable entries', () => {
    const hostile = {
      ...record,
      get args(): never {
        throw new Error('no')
      },
    }
    expect(only(hostile)).toMatchObject({
      fate: 'repaired',
      record: { callId: 'c1', args: ['[unreadable: Error: no]'] },
    })
    expect(
      normalizeRecords(
        new Proxy([1], {
          get: (_, key) =>
            key === 'length'
              ? 1
              : (() => {
                  throw new Error('no')
                })(),
        }),
      ).report.entries,
    ).toMatchObject([{ fate: 'dropped' }])
    expect(normalizeRecords(new Proxy([], { get: () => NaN })).report.problem).toMatch(/should be an array/)
  })
  it('handles very deep entries', () => {
    const nested = (levels: number): unknown =>
      Array.from({ length: levels }).reduce<unknown>((inner) => ({ inner }), 1)
    for (const levels of [997, 998, 999, 1000, 5000])
      expect(only({ ...record, args: nested(levels) })).toMatchObject({ fate: 'repaired', record: { callId: 'c1' } })
  })
})

const value = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withMap: true }),
  fc.constantFrom('', 'tool', 'true', false, 0, '7', null, '2026-01-01', 1.5),
)
const names = [
  'callId',
  'call_id',
  'timestamp',
  'speaker',
  'methodName',
  'method_name',
  'args',
  'kwargs',
  'outcomeSummary',
  'outcome_summary',
  'depth',
  'durationMs',
  'duration_ms',
  'artifactHit',
  'traceId',
  'startedAt',
  'errorMessage',
  'own',
]
const summary = fc.dictionary(
  fc.constantFrom('status', 'ok', 'errorType', 'error_type', 'retriable', 'valueClass', 'own'),
  value,
)
const entry = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.dictionary(fc.constantFrom(...names), value), summary, fc.boolean())
      .map(([fields, summary, with_]) => (with_ ? Object.assign(fields, { outcomeSummary: summary }) : fields)),
  },
  { weight: 1, arbitrary: value },
)

it('any value becomes a valid log, which normalizing again leaves unchanged', () => {
  const outputs = new Outputs()
  fc.assert(
    fc.property(fc.oneof(fc.array(entry, { maxLength: 6 }), value), (stored) => {
      const once = normalizeRecords(stored)
      outputs.add(once.report, once.log.view().toArray())
      const { entries, kept, repaired, dropped } = once.report
      expect(entries.map(({ index }) => index)).toEqual(
        Array.from({ length: Array.isArray(stored) ? stored.length : 0 }, (_, index) => index),
      )
      expect(kept + repaired).toBe(once.log.len)
      expect(kept + repaired + dropped).toBe(entries.length)
      for (const { fate, reasons } of entries) expect(reasons.length > 0).toBe(fate !== 'kept')
      for (const record of once.log.view()) expect(Object.values(record)).not.toContain(undefined)
      const twice = normalizeRecords(once.log.view().toArray())
      expect(twice.log.view().toArray()).toEqual(once.log.view().toArray())
      expect(twice.report.entries.every(({ fate }) => fate === 'kept')).toBe(true)
    }),
    { numRuns: rounds(150, 1000) },
  )
  outputs.expectToBe('a9049e8837aafbc3')
})
