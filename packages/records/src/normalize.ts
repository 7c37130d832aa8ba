/**
 * Makes stored records valid: those of older or other runtimes, or of edited files. Every change
 * and omission is reported with the index and the reason.
 */
import type { History } from 'indelible/history'
import {
  NotJson,
  isObject,
  optionsOf,
  present,
  snapshot,
  type Json,
  type JsonArray,
  type JsonObject,
} from 'indelible/internal/json'
import { classOf, encodeValue } from './encode.ts'
import { tryRead } from './host-calls.ts'
import { createCallLog } from './create-log.ts'
import { snakeCase } from './keys.ts'
import { sharedNames, type CallLogOptions } from './log.ts'
import { fieldNames, isoTime, speakers, type CallRecord, type OutcomeSummary, type Speaker } from './record.ts'

/** A valid log, and the changes that made it valid. */
export interface NormalizedRecords {
  /** The log of the valid records. */
  readonly log: History<CallRecord>
  /** The changes and omissions. */
  readonly report: NormalizeReport
}

/** The report on stored records. */
export interface NormalizeReport {
  /** The report on each entry, in order. */
  readonly entries: readonly NormalizedEntry[]
  /** The number of valid entries. */
  readonly kept: number
  /** The number of changed entries. */
  readonly repaired: number
  /** The number of entries left out. */
  readonly dropped: number
  /** Why there are no entries: the stored value is not an array. */
  readonly problem?: string
}

/** The report on one entry. */
interface NormalizedEntry {
  /** The index of the entry, from 0. */
  readonly index: number
  /** Whether it was valid, changed or left out. */
  readonly fate: 'kept' | 'repaired' | 'dropped'
  /** What was changed, or why it was dropped. Empty if it was kept. */
  readonly reasons: readonly string[]
}

/**
 * Make a valid log from stored records, and report every change.
 *
 * An entry is a record if it is an object with a `callId`, a `methodName` or an `outcomeSummary`;
 * others are dropped. Keys in snake_case are renamed, missing fields are filled in, and values of the
 * wrong type are converted if there is only one way to do it. `false` and `0` are kept as values, and
 * unknown fields are unchanged. No entry makes it throw, and normalizing its own output changes nothing.
 *
 * Cost    O(stored data)
 * @param stored an array of entries, of any shape
 * @returns the log, and the report with each change, its index and its reason
 * @example
 * const { log, report } = normalizeRecords(JSON.parse(text))
 * report.entries.filter(({ fate }) => fate !== 'kept') // what to look at
 */
export const normalizeRecords = (stored: unknown, options: Omit<CallLogOptions, 'from'> = {}): NormalizedRecords => {
  const settings = optionsOf('normalizeRecords', options, sharedNames)
  const list = listOf(stored)
  const records: CallRecord[] = []
  const entries: NormalizedEntry[] = []
  for (let index = 0; index < (list?.length ?? 0); index++) {
    const reasons: string[] = []
    const record = recordAt(list ?? [], index, reasons)
    if (record !== undefined) records.push(record)
    const fate = record === undefined ? 'dropped' : reasons.length === 0 ? 'kept' : 'repaired'
    entries.push(Object.freeze({ index, fate, reasons: Object.freeze(reasons) }))
  }
  const count = (fate: NormalizedEntry['fate']): number => entries.filter((entry) => entry.fate === fate).length
  const report: NormalizeReport = {
    entries: Object.freeze(entries),
    kept: count('kept'),
    repaired: count('repaired'),
    dropped: count('dropped'),
    ...(list === undefined && { problem: `the records should be an array, found ${kindOf(stored)}` }),
  }
  return Object.freeze({ log: createCallLog({ ...settings, from: records }), report: Object.freeze(report) })
}

/** The reasons for changes to an entry. */
type Reasons = string[]

const listOf = (stored: unknown): readonly unknown[] | undefined =>
  // A Proxy may be revoked, or have traps that throw.
  tryRead(() => (Array.isArray(stored) && Number.isSafeInteger(stored.length) ? (stored as unknown[]) : undefined))

const recordAt = (list: readonly unknown[], index: number, reasons: Reasons): CallRecord | undefined => {
  const entry = plain(() => list[index], reasons)
  if (!isObject(entry)) return addReason(reasons, `is ${describeValue(entry)}; a record is an object`)
  const fields = inCamelCase(entry, recordKeys, '', reasons)
  if (!['callId', 'methodName', 'outcomeSummary'].some((key) => Object.hasOwn(fields, key)))
    return addReason(reasons, 'has no callId, methodName or outcomeSummary, so it is not a record')
  const record: CallRecord = {
    ...withoutKnown(fields),
    callId: textField(fields, 'callId', reasons) ?? fillMissing(reasons, 'callId', `unknown-${index}`),
    timestamp:
      timeField(fields, 'timestamp', reasons) ??
      fillMissing(reasons, 'timestamp', timeOf(fields['startedAt']) ?? isoTime(0)),
    speaker: speakerOf(fields, reasons),
    methodName: textField(fields, 'methodName', reasons) ?? fillMissing(reasons, 'methodName', 'unknown'),
    args: argsOf(fields, reasons),
    kwargs: kwargsOf(fields, reasons),
    outcomeSummary: summaryOf(fields, reasons),
    ...present({
      traceId: textField(fields, 'traceId', reasons),
      retryOf: textField(fields, 'retryOf', reasons),
      parentCallId: textField(fields, 'parentCallId', reasons),
      depth: wholeField(fields, 'depth', reasons),
      startedAt: timeField(fields, 'startedAt', reasons),
      durationMs: finiteField(fields, 'durationMs', reasons),
      errorType: textField(fields, 'errorType', reasons),
      errorMessage: textField(fields, 'errorMessage', reasons),
      programSource: textField(fields, 'programSource', reasons),
      artifactHit: flagField(fields, 'artifactHit', reasons),
      contentRef: textField(fields, 'contentRef', reasons),
    }),
  }
  // Without a reason, every field has its type already. With one, the record may be a level deeper than the entry was.
  return (reasons.length === 0 ? entry : plain(() => record, reasons)) as CallRecord
}

const addReason = (reasons: Reasons, reason: string): undefined => void reasons.push(reason)

const fillMissing = <T>(reasons: Reasons, field: string, value: T): T => {
  reasons.push(`${field} is missing: ${JSON.stringify(value)}`)
  return value
}

/** An entry as JSON data. */
const plain = (read: () => unknown, reasons: Reasons): Json | undefined => {
  let entry: unknown
  try {
    entry = read()
    return entry === undefined ? undefined : (snapshot(entry) as Json)
  } catch (error) {
    const encoded = encodeValue(entry, { limits: { depth: 500, string: 1e7, size: 1e7 } })
    reasons.push(
      `${error instanceof NotJson ? error.message.replace(/; only plain JSON data.*$/s, '') : 'the value could not be read'}: encoded${encoded.cut ? ', and cut' : ''}`,
    )
    return encoded.value
  }
}

/** Renames the snake_case keys of older runtimes. If a key exists in both spellings, the camelCase one counts. */
const inCamelCase = (
  fields: JsonObject,
  names: ReadonlyMap<string, string>,
  within: string,
  reasons: Reasons,
): JsonObject => {
  const renamed: string[] = []
  const result: [key: string, value: Json][] = []
  for (const [key, value] of Object.entries(fields)) {
    const name = names.get(key)
    if (name === undefined) result.push([key, value])
    else if (Object.hasOwn(fields, name)) reasons.push(`${within}${key} is left out, because ${name} is present`)
    else {
      renamed.push(`${within}${key}`)
      result.push([name, value])
    }
  }
  if (renamed.length > 0) reasons.push(`keys in snake_case: ${renamed.join(', ')}`)
  return Object.fromEntries(result)
}

/** Reads a field and reports what was wrong with it; undefined if it is absent or unusable. */
type FieldReader<T> = (fields: JsonObject, field: string, reasons: Reasons) => T | undefined

/** @param read returns the corrected value, or undefined if there is none */
const fieldAs =
  <T extends Json>(what: string, read: (value: Json) => T | undefined): FieldReader<T> =>
  (fields, field, reasons) => {
    const value = fields[field]
    if (value === undefined) return undefined
    const found = read(value)
    if (found === undefined) reasons.push(`${field} was ${describeValue(value)}: left out`)
    else if (found !== value) reasons.push(`${field} was ${describeValue(value)}, not ${what}`)
    return found
  }

/** Numbers and booleans become text, other values JSON. */
const textField = fieldAs('text', (value) => {
  if (typeof value === 'string' || value === null) return value ?? undefined
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
})

const numberField = (holds: (value: number) => boolean): FieldReader<number> =>
  fieldAs('a number', (value) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    return typeof number === 'number' && number >= 0 && holds(number) ? number : undefined
  })
const wholeField = numberField(Number.isSafeInteger)
const finiteField = numberField(Number.isFinite)

const flagField = fieldAs('true or false', (value) => (typeof value === 'boolean' ? value : flags.get(value)))

/**
 * A time from ISO text (UTC if it has no zone), or from seconds or milliseconds since 1970. Other
 * notations mean different things on different machines.
 */
const timeOf = (value: Json | undefined): string | undefined => {
  const number = typeof value === 'number' ? (Math.abs(value) < 1e11 ? value * 1000 : value) : NaN
  const parts = typeof value === 'string' ? isoText.exec(value.trim()) : null
  const time = parts === null ? number : Date.parse(`${parts[1]}T${parts[2] ?? '00:00:00'}${zoneOf(parts[3])}`)
  const year = new Date(time).getUTCFullYear() // NaN if it is no time
  return year >= 0 && year <= 9999 ? isoTime(time) : undefined
}

const timeField = fieldAs('a time in UTC with milliseconds', timeOf)

const isoText = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|UTC|[+-]\d\d:?\d\d)?)?$/i

const zoneOf = (zone = 'Z'): string => (/^(?:z|utc)$/i.test(zone) ? 'Z' : zone.replace(/^(.\d\d):?/, '$1:'))

const speakerOf = (fields: JsonObject, reasons: Reasons): Speaker => {
  const value = fields['speaker']
  const known = speakers.find((speaker) => speaker === value)
  if (known !== undefined) return known
  // The default of `recordCall`: a call inside another one is a tool's.
  const depth = Number(fields['depth'] ?? 0)
  const speaker =
    (typeof value === 'string' ? synonyms.get(value.toLowerCase()) : undefined) ?? (depth > 0 ? 'tool' : 'user')
  reasons.push(
    value === undefined ? `speaker is missing: "${speaker}"` : `speaker was ${describeValue(value)}: "${speaker}"`,
  )
  return speaker
}

const argsOf = (fields: JsonObject, reasons: Reasons): JsonArray => {
  const args = fields['args']
  if (isArray(args)) return args
  if (args === undefined || args === null) return fillMissing(reasons, 'args', [])
  reasons.push(`args was ${describeValue(args)}, not an array`)
  return [args]
}

const kwargsOf = (fields: JsonObject, reasons: Reasons): JsonObject => {
  const kwargs = fields['kwargs']
  if (isObject(kwargs)) return kwargs
  if (kwargs === undefined || kwargs === null) return fillMissing(reasons, 'kwargs', {})
  reasons.push(`kwargs was ${describeValue(kwargs)}, not an object`)
  return { value: kwargs }
}

const summaryOf = (fields: JsonObject, reasons: Reasons): OutcomeSummary => {
  const value = fields['outcomeSummary']
  if (!isObject(value)) {
    reasons.push(value === undefined ? 'outcomeSummary is missing' : `outcomeSummary was ${describeValue(value)}`)
    return { status: 'unknown', ok: false, errorType: null, retriable: false }
  }
  const summary = inCamelCase(value, summaryKeys, 'outcomeSummary.', reasons)
  const { status: _, ok: __, errorType: ___, retriable: ____, valueClass: _____, ...others } = summary
  const summaryField = (field: string): JsonObject =>
    summary[field] === undefined ? {} : { [`outcomeSummary.${field}`]: summary[field] }
  const text = (field: string): string | undefined => textField(summaryField(field), `outcomeSummary.${field}`, reasons)
  const flag = (field: string): boolean | undefined =>
    flagField(summaryField(field), `outcomeSummary.${field}`, reasons)
  const status = text('status')
  const ok = flag('ok') ?? fillMissing(reasons, 'outcomeSummary.ok', status !== undefined && goodStatus.test(status))
  const errorType = summary['errorType'] === null ? null : text('errorType')
  return {
    ...others,
    status:
      status ??
      fillMissing(reasons, 'outcomeSummary.status', summary['ok'] === undefined ? 'unknown' : ok ? 'ok' : 'error'),
    ok,
    errorType: errorType === undefined ? fillMissing(reasons, 'outcomeSummary.errorType', null) : errorType,
    retriable: flag('retriable') ?? fillMissing(reasons, 'outcomeSummary.retriable', false),
    ...present({ valueClass: text('valueClass') }),
  }
}

const withoutKnown = (fields: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => !fieldNames.has(key)))

const describeValue = (value: Json | undefined): string => {
  if (value === undefined) return 'nothing'
  if (isArray(value)) return 'an array'
  if (isObject(value)) return 'an object'
  return typeof value === 'string' && value.length > 40
    ? `${JSON.stringify(value.slice(0, 40).toWellFormed())}…`
    : JSON.stringify(value)
}

/** Describes a stored value that is not an array. */
const kindOf = (stored: unknown): string => {
  if (typeof stored !== 'object' || stored === null) return describeValue(encodeValue(stored).value)
  const name = tryRead(() => classOf(stored))
  if (name === undefined) return 'an object that throws when it is read'
  return name === 'Object' ? 'an object' : `an instance of ${name}`
}

const isArray: (value: unknown) => value is JsonArray = Array.isArray

const snakeKeys = (names: Iterable<string>): ReadonlyMap<string, string> =>
  new Map([...names].map((name) => [snakeCase(name), name] as const).filter(([snake, name]) => snake !== name))

const recordKeys = snakeKeys(fieldNames)
const summaryKeys = snakeKeys(['errorType', 'valueClass'])
const flags: ReadonlyMap<Json, boolean> = new Map<Json, boolean>([
  ['true', true],
  ['false', false],
  [1, true],
  [0, false],
])
const synonyms: ReadonlyMap<string, Speaker> = new Map([
  ['user', 'user'],
  ['human', 'user'],
  ['agent', 'agent'],
  ['assistant', 'agent'],
  ['model', 'agent'],
  ['tool', 'tool'],
  ['function', 'tool'],
])
const goodStatus = /^(?:ok|success|succeeded|completed|done)$/i
