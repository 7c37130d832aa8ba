/** Summarizes how often and how the history is used, over a call log or the fields of `historyTelemetry`. */
import { describe, isObject, type Json, type JsonObject } from 'indelible/internal/json'
import {
  detectHistoryUse,
  historyPatterns,
  useOptionsOf,
  type HistoryPattern,
  type HistoryUseOptions,
} from './history-use.ts'
import { normalizeRecords, type NormalizeReport } from './normalize.ts'
import type { CallRecord } from './record.ts'

/** How often calls use the history, and how. */
export interface HistoryUsage {
  /** The number of entries. */
  readonly entries: number
  /** The number of entries with code or log fields that show whether they use the history. */
  readonly observed: number
  /** The number of those that use it. */
  readonly using: number
  /** The number of calls with each pattern, most frequent first. */
  readonly patterns: readonly { readonly pattern: HistoryPattern; readonly calls: number }[]
  /** The lines that use the history. */
  readonly evidence: readonly UsageEvidence[]
  /** The entries that are neither a record nor log fields, and why. */
  readonly skipped: readonly { readonly index: number; readonly reason: string }[]
  /** The repairs of entries that are records. */
  readonly report: NormalizeReport
}

/** A line of a program that uses the history; without a program, the use that the log fields report. */
interface UsageEvidence {
  /** The index of the entry, from 0. */
  readonly index: number
  /** The id of the call, if the entry has one. */
  readonly callId?: string
  /** The method of the call, if the entry has one. */
  readonly methodName?: string
  /** How the line uses the history. Empty if it only reads it. */
  readonly patterns: readonly HistoryPattern[]
  /** The line of the program, from 1. */
  readonly line?: number
  /** The line, trimmed. */
  readonly text?: string
}

/**
 * Summarize the use of the history. An entry is a call record (its `programSource` is scanned), an object with the
 * fields of `historyTelemetry` or `historyAttributes`, or both; snake_case keys are accepted. Accepts any JSON data.
 *
 * Cost    that of scanning all the code
 * @param entries call records, log fields, or objects that are both
 * @param options the names of the history in the code
 * @returns the summary, frozen
 * @throws TypeError if `entries` is not an array
 * @example
 * summarizeHistoryUse(log.view().toArray()).using // how many calls use the history
 */
export const summarizeHistoryUse = (entries: readonly unknown[], options: HistoryUseOptions = {}): HistoryUsage => {
  if (!Array.isArray(entries))
    throw new TypeError(`summarizeHistoryUse expects an array of records, found ${describe(entries)}`)
  useOptionsOf('summarizeHistoryUse', options)
  const { log, report } = normalizeRecords(entries)
  const records = log.view()[Symbol.iterator]()
  const counts = new Map<HistoryPattern, number>()
  const evidence: UsageEvidence[] = []
  const skipped: { readonly index: number; readonly reason: string }[] = []
  let observed = 0
  let using = 0
  for (const { index, fate, reasons } of report.entries) {
    const record = fate === 'dropped' ? undefined : (records.next().value as CallRecord | undefined)
    const fields = fieldsOf(entries[index])
    const logged = loggedUse(fields)
    const code = record?.programSource ?? textIn(fields, ['programSource', 'program_source', 'code'])
    if (logged === undefined && code === undefined) {
      if (record === undefined) skipped.push({ index, reason: reasons.join('; ') })
      continue
    }
    observed += 1
    const use = code === undefined ? undefined : detectHistoryUse(code, options)
    if (logged?.detected !== true && use?.detected !== true) continue
    using += 1
    const patterns = historyPatterns.filter(
      (pattern) => logged?.patterns.includes(pattern) === true || use?.patterns.includes(pattern) === true,
    )
    for (const pattern of patterns) counts.set(pattern, (counts.get(pattern) ?? 0) + 1)
    const callId = textIn(fields, ['callId', 'call_id'])
    const methodName = textIn(fields, ['methodName', 'method_name'])
    const call = { index, ...(callId !== undefined && { callId }), ...(methodName !== undefined && { methodName }) }
    if (use?.detected === true) for (const line of use.evidence) evidence.push(Object.freeze({ ...call, ...line }))
    else evidence.push(Object.freeze({ ...call, patterns: Object.freeze(patterns) }))
  }
  return Object.freeze({
    entries: entries.length,
    observed,
    using,
    patterns: Object.freeze(
      [...counts]
        .map(([pattern, calls]) => Object.freeze({ pattern, calls }))
        .toSorted(
          (a, b) => b.calls - a.calls || historyPatterns.indexOf(a.pattern) - historyPatterns.indexOf(b.pattern),
        ),
    ),
    evidence: Object.freeze(evidence),
    skipped: Object.freeze(skipped),
    report,
  })
}

const fieldsOf = (entry: unknown): JsonObject => {
  if (!isObject(entry)) return {}
  const attributes = entry['attributes'] // OpenTelemetry log lines have them here
  return isObject(attributes) ? { ...attributes, ...entry } : entry
}

const textIn = (fields: JsonObject, names: readonly string[]): string | undefined =>
  names.map((name) => fields[name]).find((value): value is string => typeof value === 'string')

/** The use that the log fields report; undefined if there are none. */
const loggedUse = (
  fields: JsonObject,
): { readonly detected: boolean; readonly patterns: readonly Json[] } | undefined => {
  for (const [detected, patterns] of fieldNames) {
    const found = fields[patterns]
    const value = fields[detected]
    if (typeof value === 'boolean')
      return { detected: value, patterns: Array.isArray(found) ? (found as readonly Json[]) : [] }
  }
  return undefined
}

const fieldNames = [
  ['historyAccessDetected', 'historyQueryPatterns'],
  ['history_access_detected', 'history_query_patterns'],
  ['indelible.history.access_detected', 'indelible.history.query_patterns'],
] as const
