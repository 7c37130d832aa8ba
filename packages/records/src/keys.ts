/** The keys of records on output: camelCase, or snake_case for readers in Ruby, Python or SQL. */
import { isObject, optionsOf, type JsonObject } from 'indelible/internal/json'
import { choice } from 'indelible/internal/task'
import type { Sequence } from 'indelible/internal/sequence'
import { fieldNames, type CallRecord } from './record.ts'

/** How keys are written. */
export type KeyCase = 'camelCase' | 'snake_case'

/** Options of an output. */
export interface KeyOptions {
  /** The keys of the library's own fields. Default: `camelCase`. */
  readonly keys?: KeyCase
}

/** The chosen keys. Throws a TypeError for an unknown option. */
export const keysOf = (call: string, options: KeyOptions): KeyCase => {
  const { keys = 'camelCase' } = optionsOf(call, options, { keys: true })
  return choice(`${call}: keys`, keys, ['camelCase', 'snake_case'])
}

/**
 * The records as plain JSON, for code that reads them or a file. With `snake_case`, the library's own keys are renamed, in
 * a record and in its summary: `call_id`, `outcome_summary`, `error_type`. Your own fields, arguments and values keep
 * theirs. `normalizeRecords` reads both.
 *
 * Cost    O(records)
 * @returns an array of the records; with `camelCase` they are those of the log
 * @example
 * const context = { conversation_history: recordsToJson(log.view(), { keys: 'snake_case' }) }
 */
export const recordsToJson = (records: Sequence<CallRecord>, options: KeyOptions = {}): readonly JsonObject[] => {
  const keys = keysOf('recordsToJson', options)
  const all = [...records] as unknown as readonly JsonObject[] // a record is JSON
  return keys === 'camelCase' ? all : all.map(recordInSnakeCase)
}

const recordInSnakeCase = (record: JsonObject): JsonObject => {
  const summary = record['outcomeSummary']
  const inner = isObject(summary) ? { ...record, outcomeSummary: inSnakeCase(summary, summaryNames) } : record
  return inSnakeCase(inner, fieldNames)
}

const inSnakeCase = (fields: JsonObject, names: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [names.has(name) ? snakeCase(name) : name, value]))

const summaryNames: ReadonlySet<string> = new Set(['status', 'ok', 'errorType', 'retriable', 'valueClass'])

/** A name of ours in snake_case. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
