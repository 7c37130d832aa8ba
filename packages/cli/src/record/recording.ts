/** Records the calls of `indelible record` in a separate thread, with a spool that survives a kill. */
import { renameSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { extname, resolve } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Recorder } from '@indelible/recorder'
import { carriesConversation } from '@indelible/recorder/internal'
import { Frames, failedSuffix, Spool, type SpoolKeys } from '@indelible/recorder/internal/proxy'
import { Misuse, Unreadable, type Call } from '../terminal/command.ts'
import type { FromThread, ThreadStart, ToThread } from './record-thread.ts'
import { limitedReporter, type ScopeSummary } from './recorders.ts'
import { spoolKeys } from './spools.ts'

/** Records the calls of a command. */
export interface Recording {
  /** Observes a request in the scope that it names. */
  readonly recorderOf: (request: IncomingMessage) => Pick<Recorder, 'observe'>
  /** Resolves when everything is recorded. Call it after the last request. */
  readonly settled: () => Promise<readonly ScopeSummary[]>
}

/** Begin recording. Throws Misuse or Unreadable if the store can't be opened. */
export const beginRecording = async (call: Call): Promise<Recording> => {
  const { values, positionals, terminal } = call
  const tell = limitedReporter(terminal)
  const isSpooled = values['redact'] !== true && values['no-content'] !== true
  const keys = isSpooled ? spoolKeys(call) : undefined
  const header = typeof values['scope-header'] === 'string' ? values['scope-header'].toLowerCase() : undefined
  const file = `./record-thread${extname(import.meta.url)}`
  const start: ThreadStart = { values, env: { ...terminal.env } }
  const worker = new Worker(new URL(file, import.meta.url), { workerData: start })
  const ready = Promise.withResolvers<{ readonly scope: string; readonly near: string | undefined }>()
  const ended = Promise.withResolvers<readonly ScopeSummary[]>()
  let isAlive = true
  /** Whether the thread has ended. */
  let isOver = false
  let passed = 0
  let frames: Frames | undefined
  /** The file of a killed recorder that the thread is reading. */
  let reads: string | undefined
  worker.on('message', (report: FromThread) => {
    if ('taken' in report) return frames?.taken(report.taken)
    if ('over' in report) for (const session of report.over) frames?.over(session)
    if ('reads' in report) ({ reads } = report)
    if ('tell' in report) terminal.tell([report.tell.replace(/\n$/, '')])
    if ('ready' in report) ready.resolve(report.ready)
    if ('summaries' in report) {
      isOver = true
      ended.resolve(report.summaries)
    }
    if ('failed' in report) {
      isOver = true
      const { message, misuse, exitCode } = report.failed
      ready.reject(misuse ? new Misuse(message) : new Unreadable(message, exitCode))
    }
  })
  let reason = 'for an unknown reason'
  worker.on('error', (cause: Error) => {
    ready.reject(cause)
    reason = cause.message
  })
  worker.on('exit', () => {
    isAlive = false
    frames?.ended()
    ready.reject(new Error(reason))
    ended.resolve([])
    if (isOver) return
    tell(
      `the thread that records has ended (${reason}): nothing is recorded any more${isSpooled ? ' until the next start' : ''}`,
    )
    if (reads === undefined) return
    try {
      renameSync(reads, `${reads}${failedSuffix}`)
    } catch {
      tell(`${reads} made it fail: move this file away, or the next recorder fails too`)
    }
  })
  const { scope, near } = await ready.promise
  const spool = isSpooled ? openSpool(near, keys, tell) : undefined
  const known = (frames = new Frames({
    spool,
    folder: positionals.length === 0 ? undefined : resolve(terminal.path('.')),
    post: (records, segment) => {
      const request: ToThread = { records, ...(segment && { segment: { fd: segment.fd, key: segment.key } }) }
      worker.postMessage(request, [records.buffer as ArrayBuffer])
    },
  }))
  return {
    recorderOf: ({ headers }) => ({
      observe: (request) => {
        if (carriesConversation(request)) {
          const [named] = header === undefined ? [] : [headers[header]].flat()
          return known.observe(named || scope, request)
        }
        passed++
        return undefined
      },
    }),
    settled: async () => {
      known.flush()
      if (isAlive) worker.postMessage({ end: true } satisfies ToThread) // oxlint-disable-line unicorn/require-post-message-target-origin -- a thread has none
      const summaries = await ended.promise
      spool?.close()
      const beside = { ...emptySummary, passed, lost: known.open + known.unanswered, unanswered: known.unanswered }
      return [...summaries, beside]
    },
  }
}

/** The spool of this process; undefined if it can't be created. */
const openSpool = (
  near: string | undefined,
  keys: SpoolKeys | undefined,
  tell: (line: string) => void,
): Spool | undefined => {
  try {
    if (near === undefined) throw new Error("the user's data folder can't be written")
    return new Spool({ near, keys, onNotice: tell })
  } catch (cause) {
    tell(`there is no spool, so a kill loses calls whose answers are not recorded: ${(cause as Error).message}`)
    return undefined
  }
}

const emptySummary: ScopeSummary = {
  sessions: [],
  moreSessions: 0,
  calls: 0,
  failed: 0,
  silent: 0,
  passed: 0,
  lost: 0,
  unanswered: 0,
  usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  breaks: [],
  moreBreaks: 0,
  causes: new Map(),
  models: new Map(),
  dollars: 0,
  unpriced: 0,
}
