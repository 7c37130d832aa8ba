/** The thread of `indelible record` that parses and stores calls, so that the forwarding thread never waits. */
// oxlint-disable unicorn/require-post-message-target-origin -- a thread's port has no origin
import { parentPort, workerData } from 'node:worker_threads'
import { FrameReader, framesIn } from '@indelible/recorder/internal/proxy'
import { Misuse, Unreadable, wholeNumber, type Call } from '../terminal/command.ts'
import { terminalOf } from '../terminal/output.ts'
import { scopeOf, withStore } from '../sources/place.ts'
import { noteRecordedHere } from './recorded-here.ts'
import { Recorders, type ScopeSummary } from './recorders.ts'
import { recordLeftSpools, spoolPathPrefix } from './spools.ts'

/** The data that starts the thread. */
export interface ThreadStart {
  readonly values: Call['values']
  readonly env: Call['terminal']['env']
}

export type ToThread =
  | { readonly records: Uint8Array; readonly segment?: { readonly fd: number; readonly key: Uint8Array | undefined } }
  | { readonly end: true }

export type FromThread =
  | { readonly ready: { readonly scope: string; readonly near: string | undefined } }
  | { readonly failed: { readonly message: string; readonly misuse: boolean; readonly exitCode: number } }
  | { readonly tell: string }
  | { readonly reads: string | undefined }
  | { readonly taken: number }
  | { readonly over: readonly number[] }
  | { readonly summaries: readonly ScopeSummary[] }

const { values, env } = workerData as ThreadStart
const tell = (report: FromThread): void => parentPort?.postMessage(report)
const discardOutput = { write: () => undefined }
const terminal = terminalOf({
  stdin: process.stdin,
  stdout: discardOutput,
  stderr: { write: (text) => tell({ tell: text }) },
  env,
  cwd: '.',
  onInterrupt: () => () => {},
})
const call: Call = { values, positionals: [], terminal }

/** Finished calls, reported together. */
let finishedCalls: number[] = []
const isOver = (frame: number): void => {
  if (finishedCalls.push(frame) > 1) return
  setImmediate(() => {
    tell({ over: finishedCalls })
    finishedCalls = []
  })
}

try {
  await withStore(call, { make: true }, async (store) => {
    const ended = Promise.withResolvers<void>()
    const reader: FrameReader = new FrameReader((scope) => recorders.of(scope), isOver)
    const recorders: Recorders = new Recorders(store, call, {
      sample: Number(values['sample'] ?? 100),
      days: wholeNumber('--keep-days', values['keep-days'], undefined),
      now: reader.now,
      marks: true,
    })
    // Calls of a killed recorder come first, because new calls may continue them.
    const left = (async () => {
      for (const reason of await recordLeftSpools(store, call, (reads) => tell({ reads })))
        terminal.tell([`indelible: ${reason}`])
      recorders.begin()
    })()
    const receiveMessage = async (request: ToThread): Promise<void> => {
      await left
      if ('end' in request) return ended.resolve()
      for (const frame of framesIn(request.records)) reader.take(frame, request.segment)
      tell({ taken: request.records.length })
    }
    parentPort?.on('message', (request: ToThread) => void receiveMessage(request))
    const timer = setInterval(() => recorders.removeOld(), 3_600_000)
    tell({ ready: { scope: store.scope, near: await spoolPathPrefix(values, terminal) } })
    await ended.promise
    clearInterval(timer)
    await recorders.settled()
    recorders.tellRedacted()
    tell({ over: finishedCalls })
    const summaries = recorders.summaries()
    for (const { scope, sessions } of summaries)
      await noteRecordedHere(scope === undefined ? store : scopeOf(store, scope), sessions, env)
    tell({ summaries })
  })
  parentPort?.close()
} catch (cause) {
  if (!(cause instanceof Misuse || cause instanceof Unreadable)) throw cause
  const exitCode = cause instanceof Unreadable ? cause.exitCode : 2
  tell({ failed: { message: cause.message, misuse: cause instanceof Misuse, exitCode } })
  parentPort?.close()
}
