/** `indelible import FILE…`: imports recorded conversations as sessions. */
import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { isLeft } from 'indelible/internal/json'
import { type SessionInfo } from 'indelible/session'
import type { Store } from 'indelible/store'
import type { Transcript } from '@indelible/transcripts'
import { Misuse, Unreadable, type Call, type Command } from '../terminal/command.ts'
import { conversationsOf, nameOf, pathOf, pickOf, type Conversations } from '../sources/input.ts'
import { faultText, headForTerminal, storeOption, withStore } from '../sources/place.ts'
import { redactorIn, reportRedactions } from '../sources/redaction.ts'
import { sessionFields } from '../sources/sessions.ts'
import { leftOutLines, tellReadLosses } from '../terminal/report.ts'
import { countText } from '../terminal/screen.ts'
import { importTranscript, redactTranscript } from '@indelible/transcripts'

export const importFiles: Command = {
  name: 'import',
  synopsis: 'import FILE…',
  purpose: 'store recorded conversations as sessions',
  usage: ['import [options] FILE…'],
  about: `Stores every conversation of the files as a session: its messages, page kinds
and notes become rows of one log under one Merkle tree. A store that does not
exist is created. FILE may have any format that "show" reads; - reads standard
input. Importing an export of Indelible gives the same record and the same head.

A FILE that can't be imported is reported; the others are imported, and the exit
code is 1. Damaged lines of a FILE are reported and skipped; the rest is
imported, and the exit code is 1. The session gets the id from the file. If the
store already has a session with that id, it is not changed and the exit code is
1: choose another id with --id. If the file has no id, or several conversations,
the file name becomes the id, with a number if it is taken (chat-2).

"indelible keep" keeps the sessions of all programs on this machine.`,
  options: {
    id: { value: 'NAME', help: 'the id of the new session, if FILE has one conversation' },
    pick: { value: 'N', help: 'import only conversation N of the file (default: all)' },
    redact: {
      help: 'remove text that looks like an API key, a token, or a password in an address, and report how many',
    },
    json: { help: 'one JSON object for each session, for programs' },
    ...storeOption,
  },
  examples: ['indelible import session.jsonl'],
  run: async (call) => {
    const { values, positionals, terminal } = call
    if (positionals.length === 0)
      throw new Misuse('import needs a FILE: the conversation to read, or - for standard input')
    const only = values['pick'] === undefined ? undefined : pickOf(values)
    const openFile = async (path: string): Promise<OpenedFile> => {
      const conversations = await conversationsOf(path, terminal)
      return { path, conversations, first: await conversations.at(only ?? 0) } // an invalid --pick creates no store
    }
    if (positionals.length > 1 && values['id'] !== undefined)
      throw new Misuse('--id names one session, and there are several files')
    const several = positionals.length > 1
    const failures: string[] = []
    /** Process one file. If it can't be read, the other files are still processed. */
    const tryFile = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error
        failures.push(error.message)
        if (several) terminal.tell([error.message])
        return undefined
      }
    }
    const redactor = redactorIn(values)
    const redactIfAsked = (transcript: Transcript): Transcript =>
      redactor === undefined ? transcript : redactTranscript(transcript, redactor)
    // Before the store: unreadable FILEs must not create one.
    const left = [...positionals]
    let begun: OpenedFile | undefined
    while (begun === undefined && left.length > 0) begun = await tryFile(() => openFile(left.shift() as string))
    if (begun !== undefined)
      await withStore(call, { make: true }, async (store) => {
        for (let next: OpenedFile | undefined = begun; next !== undefined || left.length > 0; next = undefined)
          await tryFile(async () => {
            const { path, conversations, first } = next ?? (await openFile(left.shift() as string))
            const all = only === undefined && conversations.count > 1
            if (all && values['id'] !== undefined)
              throw new Misuse('--id names one session, but FILE has several conversations: choose one with --pick')
            if (all) await importAll(call, store, path, conversations, redactIfAsked)
            else await importOne(call, store, path, redactIfAsked(first), false)
          })
        reportRedactions(redactor, terminal)
      })
    const [failure] = failures
    if (failure === undefined) return
    const { length } = failures
    throw new Unreadable(
      several
        ? `${length} of ${positionals.length} files ${length === 1 ? 'was' : 'were'} not imported, or only partly`
        : failure,
    )
  },
}

/** A FILE whose first conversation was read. */
interface OpenedFile {
  readonly path: string
  readonly conversations: Conversations
  readonly first: Transcript
}

/** The number of conversations stored in parallel: commits at the same time share a disk sync. */
const filesAtOnce = 32

const importAll = async (
  call: Call,
  store: Store,
  path: string,
  { count, at }: Conversations,
  redactIfAsked: (transcript: Transcript) => Transcript,
): Promise<void> => {
  const bar = call.terminal.progress(`storing ${nameOf(path)}`, count, 'conversations')
  // Lines are printed in order.
  let printed: Promise<unknown> = Promise.resolve()
  const waiting = new Set<Promise<unknown>>()
  const failures: unknown[] = []
  for (let pick = 0; pick < count && failures.length === 0; pick++) {
    const transcript = redactIfAsked(await at(pick))
    const stored = importOne(call, store, path, transcript, true, printed)
    printed = Promise.allSettled([printed, stored])
    const ended = stored.catch((error: unknown) => failures.push(error)).finally(() => waiting.delete(ended))
    waiting.add(ended)
    if (waiting.size >= filesAtOnce) await Promise.race(waiting)
    bar.at(pick)
  }
  await Promise.all(waiting)
  bar.end()
  if (failures.length > 0) throw failures[0]
}

const importOne = async (
  { values, terminal }: Call,
  store: Store,
  path: string,
  transcript: Transcript,
  several: boolean,
  before?: Promise<unknown>,
): Promise<void> => {
  const input = typeof values['id'] === 'string' ? values['id'] : several ? undefined : sessionIdOf(transcript)
  const rows = transcript.messages.length + transcript.notes.length
  const importAs = async (id: string): Promise<SessionInfo> => {
    const bar = several ? undefined : terminal.progress(`storing ${id}`, rows, 'rows')
    const imported = await importTranscript(store, transcript, {
      id,
      ...(bar && { progress: bar.at }),
      ...(path !== '-' && { time: Math.round(statSync(terminal.path(path)).mtimeMs) }),
    })()
    bar?.end()
    // Another process took the free id: try the next one, unless the user chose the id.
    if (isLeft(imported) && imported.left._tag === 'LogExists' && input === undefined)
      return importAs(await freeId(store, transcript, path, several))
    if (!isLeft(imported)) return imported.right
    throw new Unreadable(`${pathOf(path)}: ${faultText(imported.left)}`)
  }
  const [damaged] = transcript.damage
  if (damaged !== undefined && transcript.messages.length === 0) {
    terminal.tellDamage(leftOutLines(nameOf(path), transcript.damage))
    throw new Unreadable(`${pathOf(path)}: none of its messages can be read; nothing was stored`)
  }
  const info = await importAs(input ?? (await freeId(store, transcript, path, several)))
  await before
  terminal.tellDamage(leftOutLines(nameOf(path), transcript.damage))
  tellReadLosses(info.id, transcript.losses, terminal)
  if (values['json'] === true) return terminal.printJson([sessionFields(info)])
  await terminal.print([
    `${info.id}: ${countText(info.len, 'message')} of ${nameOf(path)} (${transcript.format}), head ${headForTerminal(info.head, terminal)}`,
  ])
}

/** The id of a conversation in its source. A sub-agent's file has its parent session's id, and its own beside it. */
const sessionIdOf = ({ origin: { id, metadata } }: Transcript): string | undefined =>
  id !== undefined && typeof metadata['agentId'] === 'string' ? `${id}.agent-${metadata['agentId']}` : id

/** A free id: the name of the file, with a number if the name is taken. */
const freeId = async (store: Store, { pick }: Transcript, path: string, several: boolean): Promise<string> => {
  const name = (
    path === '-'
      ? 'conversation'
      : basename(path).replace(/\.(?:openai-chat|pi-session|swe-agent)?\.?(?:jsonl?|ndjson)$/i, '')
  ).replaceAll(/\p{Cc}/gu, '')
  const wanted = (several ? `${name}-${pick}` : name).slice(0, 60) || 'conversation'
  for (let number = 1; ; number++) {
    const id = number === 1 ? wanted : `${wanted}-${number}`
    const there = await store.info(id)()
    if (isLeft(there)) return id // any other problem than a missing store is reported by the import
  }
}
