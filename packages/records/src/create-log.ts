/** Creates call logs: histories of call records, with their settings. */
import { optionsOf } from 'indelible/internal/json'
import { createHistory, type History } from 'indelible/history'
import { callRecorders } from 'indelible/internal/notes'
import { recordCall } from './call.ts'
import { limitsOf } from './encode.ts'
import { keepSettings, sharedNames, type CallLogOptions, type LogHooks } from './log.ts'
import { historyGuidance, previewRecords } from './preview.ts'
import type { CallRecord } from './record.ts'

/**
 * Create a call log in memory. It is an ordinary history whose pages are `evidence`.
 *
 * @param options the records to start with, limits, redaction, telemetry, clock and ids
 * @example
 * const log = createCallLog()
 * await recordCall(log, { methodName: 'add', args: [1, 2] }, () => 3) // 3
 * log.view().at(-1)?.outcomeSummary.ok // true
 */
export const createCallLog = (options: CallLogOptions = {}): History<CallRecord> => {
  const own = optionsOf('createCallLog', options, { from: true, ...sharedNames })
  limitsOf('createCallLog', own.limits)
  return newLog(own)
}

/** Creates a log with hooks for a store. `run` and `turn` can write it. */
export const newLog = ({ from, ...settings }: CallLogOptions, hooks: LogHooks = {}): History<CallRecord> => {
  const log = createHistory<CallRecord>({ ...(from !== undefined && { from }), classify: () => 'evidence' })
  keepSettings(log, settings, hooks)
  callRecorders.set(log, {
    recordCall: (call, body) => recordCall(log, call, body),
    guidance: (keys) => historyGuidance(keys),
    preview: (keys) => previewRecords(log.view(), keys),
  })
  return log
}
