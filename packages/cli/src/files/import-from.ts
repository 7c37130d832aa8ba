/** `indelible import --from PROGRAM`: imports the sessions that agents keep on this machine. */
import { faultMessage } from 'indelible'
import { isLeft, isObject, type JsonObject } from 'indelible/internal/json'
import type { Message } from 'indelible/message'
import type { Redactor } from 'indelible/redact'
import type { Store } from 'indelible/store'
import type { Transcript } from '@indelible/transcripts'
import { folderOf, programs, sourcesOf, type Source } from '../sources/agent-sessions.ts'
import { Misuse, Unreadable, type Call } from '../terminal/command.ts'
import { unreadable } from '../sources/input.ts'
import { importNew, sessionIdOf, type ImportResult } from './import-new.ts'
import { allSessions } from '../sources/sessions.ts'
import { redactorIn, reportRedactions } from '../sources/redaction.ts'
import { leftOutLines, tellReadLosses } from '../terminal/report.ts'
import { onStop } from '../terminal/program.ts'
import { countText } from '../terminal/screen.ts'
import { redactTranscript } from '@indelible/transcripts'

/** Import the new messages of a program's sessions; with `--watch`, until the user stops it. Throws Unreadable. */
export const importFrom = async (call: Call, store: Store): Promise<number | void> => {
  const { values, terminal } = call
  const name = String(values['from'])
  if (name !== 'all' && !programs.includes(name))
    throw new Misuse(`--from takes one of ${programs.join(', ')}, or all, not "${name}"`)
  const chosen = name === 'all' ? programs : [name]
  const read = await sourcesRead(store, chosen)
  if (values['watch'] !== true) {
    const bad: string[] = []
    let sessions = 0
    for (const program of chosen) {
      const { failed, found, unread, tables } = await importOnce(call, store, program, read, false)
      sessions += found
      const parts = [
        ...(failed > 0 ? [countText(failed, 'session')] : []),
        ...(unread > 0 ? [countText(unread, 'folder')] : []),
        ...(tables > 0 ? [countText(tables, 'table')] : []),
      ]
      if (parts.length > 0) bad.push(`${parts.join(' and ')} of ${program}`)
    }
    if (sessions === 0)
      terminal.tell(chosen.map((program) => `${program}: no sessions found in ${folderOf(program, terminal.env)}`))
    if (bad.length > 0) throw new Unreadable(`${bad.join(', ')} can't be read`)
    return
  }
  const watching = new AbortController()
  const ended = onStop(terminal, () => watching.abort())
  const folders = chosen.map((program) => folderOf(program, terminal.env))
  terminal.tell([`watching ${folders.join(', ')}; press Ctrl-C to stop`])
  try {
    while (!watching.signal.aborted) {
      for (const program of chosen) await importOnce(call, store, program, read, true)
      await pause(pollMs, watching.signal)
    }
    return 0
  } finally {
    ended()
  }
}

/** The milliseconds between checks. */
const pollMs = 1000

/** The milliseconds after a change of its file during which an answer may still grow. */
const stillGrowingMs = 10_000

/** The path and stamp of each source that was read completely. */
const sourcesRead = async (store: Store, chosen: readonly string[]): Promise<Set<string>> => {
  const read = new Set<string>()
  for await (const { metadata } of allSessions(store)) {
    const { program: of, path, stamp } = (metadata['import'] ?? {}) as JsonObject
    if (chosen.includes(String(of)) && typeof path === 'string' && typeof stamp === 'string')
      read.add(stateOf({ path, stamp }))
  }
  return read
}

const stateOf = ({ path, stamp }: Pick<Source, 'path' | 'stamp'>): string => `${stamp} ${path}`

interface Counts {
  readonly found: number
  readonly failed: number
  /** The number of folders, and of tables, that can't be read. */
  readonly unread: number
  readonly tables: number
}

const importOnce = async (
  call: Call,
  store: Store,
  program: string,
  read: Set<string>,
  isQuiet: boolean,
): Promise<Counts> => {
  const { terminal } = call
  const { sources: all, unread } = await sourcesOf(program, terminal.env)
  const sources = all.filter(({ isEmpty = false }) => !isEmpty)
  for (const reason of unread.filter((one) => !read.has(one))) {
    read.add(reason) // printed once
    terminal.tell([reason])
  }
  const news = sources.filter((source) => !read.has(stateOf(source)))
  const redactor = redactorIn(call.values)
  const bar = terminal.progress(`importing from ${program}`, news.length, 'sessions')
  let failed = 0
  let waiting = 0
  for (const [index, source] of news.entries()) {
    const isWhole = Date.now() - source.changed >= stillGrowingMs
    try {
      const { continued, isWaiting } = await importSource(call, store, program, source, isWhole, redactor)
      for (const done of continued) await tell(call, source, done)
      if (isWaiting) waiting += 1
      if (isWhole) read.add(stateOf(source))
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      failed += 1
      read.add(stateOf(source)) // reported once
      terminal.tell([error.message])
    }
    bar.at(index + 1)
  }
  bar.end()
  reportRedactions(redactor, terminal)
  const later = sources.filter((source) => source.isLater === true).length
  if (!isQuiet && sources.length > 0)
    terminal.tell([
      `${program}: ${countText(sources.length, 'session')}${later === 0 ? '' : ` (${later} in the tables of a newer version)`}, ${sources.length - news.length} unchanged`,
      ...(waiting === 0
        ? []
        : [`the last answer of ${countText(waiting, 'session')} may still grow; the next import has it`]),
    ])
  const tables = unread.filter((reason) => reason.includes(' of the table ')).length
  return { found: sources.length, failed, unread: unread.length - tables, tables }
}

/** Bring each conversation of a source up to date. */
export const importSource = async (
  { terminal }: Pick<Call, 'terminal'>,
  store: Store,
  program: string,
  source: Source,
  isWhole: boolean,
  redactor: Redactor | undefined,
): Promise<{ readonly continued: readonly ImportResult[]; readonly isWaiting: boolean }> => {
  let isWaiting = false
  const continued: ImportResult[] = []
  let count = 1
  for (let pick = 0; pick < count; pick++) {
    const read = await source.read(pick).catch((error: unknown) => {
      throw unreadable(source.path, error)
    })
    if (isLeft(read)) throw new Unreadable(`${source.path}: ${faultMessage(read.left)}`)
    // A database has a source for each of its conversations.
    if (source.isSingle !== true) count = read.right.count
    if (isWhole) terminal.tellDamage(leftOutLines(source.path, read.right.damage))
    const whole = isWhole ? read.right : withoutLastAnswer(read.right)
    isWaiting ||= whole !== read.right
    const transcript = redactor === undefined ? whole : redactTranscript(whole, redactor)
    if (transcript.messages.length === 0) continue
    const origin = { program, path: source.path, ...(isWhole && pick === 0 && { stamp: source.stamp }) }
    const id = idOf(transcript, source, source.isSingle === true ? 0 : pick)
    const done = await importNew(store, id, transcript, origin)
    if (isWhole && done.done !== 'unchanged') tellReadLosses(done.id, transcript.losses, terminal)
    continued.push(done)
  }
  return { continued, isWaiting }
}

/** The id from the conversation. */
const idOf = (transcript: Transcript, { path }: Source, pick: number): string => {
  const file = path.replace(/\.jsonl?(?:\.zst)?$/, '').split(/[/\\]/)
  const isCommon = ['events', 'wire', 'context', 'api_conversation_history'].includes(file.at(-1) ?? '')
  const name = sessionIdOf(transcript) ?? (isCommon ? file.at(-2) : file.at(-1))
  return `${name}${pick === 0 ? '' : `.${pick}`}`
}

/** A conversation without its last answer, if that may still be written. */
const withoutLastAnswer = (transcript: Transcript): Transcript => {
  const { messages, notes } = transcript
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const isOver = last === -1 || messages.slice(last + 1).some(({ role }) => role === 'user')
  if (isOver || hasEnd(messages[last] as Message)) return transcript
  return { ...transcript, messages: messages.slice(0, last), notes: notes.filter(({ position }) => position < last) }
}

/** Whether an answer says that it is complete: the reason why it ended, or when. */
const hasEnd = ({ meta = {} }: Message): boolean =>
  Object.values(meta).some((own) => {
    if (!isObject(own)) return false
    const { stop_reason, stopReason, info, parts } = own as JsonObject
    const time = isObject(info) ? info['time'] : own['time']
    return (
      typeof stop_reason === 'string' ||
      typeof stopReason === 'string' ||
      (isObject(time) && typeof time['completed'] === 'number') ||
      (Array.isArray(parts) && parts.some((part) => isObject(part) && part['type'] === 'finish'))
    )
  })

const tell = async ({ values, terminal }: Call, { path }: Source, done: ImportResult): Promise<void> => {
  if (done.done === 'unchanged') return
  if (values['json'] === true) return terminal.printJson([{ ...done, path }])
  const how = {
    stored: 'stored',
    continued: 'appended',
    branched: 'appended to a fork, because earlier messages changed',
  }[done.done]
  await terminal.print([`${done.id}: ${countText(done.messages, 'message')} ${how}, ${done.len} in all`])
}

const pause = (milliseconds: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
