/** The lines of `show` below a session's timeline: unfinished runs, failed model calls, and where to look at calls. */
import { isObject } from 'indelible/internal/json'
import type { Note } from 'indelible/internal/notes'
import { pending, type ReadonlySession, type SealedSession, type Session } from 'indelible/session'
import { callUsageOf } from '@indelible/transcripts/internal'
import type { Lease } from 'indelible/store'
import { countText, fitColumns, groupedNumber, oneLine, shellWord } from '../terminal/screen.ts'
import type { OpenStep } from 'indelible/internal/session'

/** The lines for a session, some in warning colors. Empty if it has no calls and nothing is wrong. */
export function* stateLines(
  session: Session | ReadonlySession | SealedSession,
  lease: Lease | undefined,
  columns: number,
  paint: (style: 'red' | 'yellow' | 'dim', text: string) => string,
): Generator<string> {
  const notes = [...session.notes()] as readonly Note[]
  yield* failureLines(notes, columns, paint)
  // Not each file that counts tokens counts those of single calls.
  const hasCalls = notes.some(({ type }) => type === 'receipt') || session.view().toArray().some(callUsageOf)
  if (hasCalls) yield paint('dim', `what its model calls cost: "indelible show ${shellWord(session.id)} --calls"`)
  if (session.state !== 'open') return
  const { steps, started: calls } = pending(session)
  if (lease !== undefined)
    yield paint(
      'yellow',
      `at work: ${JSON.stringify(oneLine(lease.holder))} holds the session for another ${Math.ceil(lease.remaining / 1000)} s${lease.stopRequested ? ', and was asked to stop' : ''}`,
    )
  if (steps.length === 0 && calls.length === 0) return
  if (lease === undefined)
    yield paint(
      'red',
      `unfinished run: no process is working on it; not in the conversation yet: ${steps.length > 0 ? countText(steps.length, 'step') : countText(calls.length, 'started call')}`,
    )
  for (const step of steps) yield fitColumns(`  ${stepText(step)}`, columns)
  for (const { name, arguments: args } of calls)
    yield fitColumns(
      `  ${oneLine(name)} ${oneLine(args ?? '')} was started and has no result; it may have had side effects`,
      columns,
    )
  if (lease !== undefined) return
  yield paint(
    'dim',
    `  "resume" of indelible/run and the next turn continue from here; "indelible append ${shellWord(session.id)} TEXT --interrupted" records the finished parts`,
  )
}

const stepText = ({ answer, said: content, started, results, waiting }: OpenStep): string => {
  const characters = content.reduce((sum, part) => sum + (typeof part === 'string' ? part.length : 0), 0)
  return [
    answer === undefined ? `an incomplete answer of ${groupedNumber(characters)} characters` : 'a complete answer',
    ...(started.size > 0 ? [`${countText(started.size, 'call')} started, ${countText(results.size, 'result')}`] : []),
    ...(waiting.size > 0
      ? [`${countText(waiting.size, 'call')} waiting for approval: "resume" with approve or deny`]
      : []),
  ].join('; ')
}

function* failureLines(
  notes: readonly Note[],
  columns: number,
  paint: (style: 'red', text: string) => string,
): Generator<string> {
  const receipts = notes.flatMap((note) => (note.type === 'receipt' ? [note] : []))
  const failures = receipts.flatMap(({ details }) => {
    const { error, status } = details ?? {}
    const code = typeof status === 'number' && status >= 400 ? `HTTP ${status}` : undefined
    const reason = typeof error === 'string' ? error : isObject(error) ? JSON.stringify(error) : undefined
    return code === undefined && reason === undefined ? [] : [[code, reason].filter(Boolean).join(': ')]
  })
  const last = failures.at(-1)
  if (last === undefined) return
  const all = failures.length === receipts.length
  yield fitColumns(
    paint(
      'red',
      `model calls: ${all ? (receipts.length === 1 ? 'the only one' : `all ${groupedNumber(receipts.length)}`) : `${groupedNumber(failures.length)} of ${groupedNumber(receipts.length)}`} failed`,
    ) + `; the last: ${oneLine(last)}`,
    columns,
  )
}
