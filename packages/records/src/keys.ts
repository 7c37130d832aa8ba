/** The keys of records on output: camelCase, or snake_case for readers in Ruby, Python or SQL. */
import { isObject, optionsOf, type Json, type JsonObject } from 'indelible/internal/json'
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
  return keys === 'camelCase' ? all : all.map(inSnakeCase)
}

const inSnakeCase = (record: JsonObject): JsonObject =>
  renamed(record, fieldNames, (name, value) =>
    name === 'outcomeSummary' && isObject(value) ? renamed(value, summaryNames, (_, kept) => kept) : value,
  )

const renamed = (
  fields: JsonObject,
  names: ReadonlySet<string>,
  change: (name: string, value: Json) => Json,
): JsonObject =>
  Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [names.has(name) ? snakeCase(name) : name, change(name, value)]),
  )

const summaryNames: ReadonlySet<string> = new Set(['status', 'ok', 'errorType', 'retriable', 'valueClass'])

/** A name of ours in snake_case. */
export const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
