/** `indelible import FILE…`: recorded conversations become sessions. */
import { basename } from 'node:path'
import { isRight } from 'fp-ts/lib/Either.js'
import { describeSession, importTranscript, type SessionInfo } from '../session/index.ts'
import type { Store } from '../store/index.ts'
import type { Transcript } from '../transcript/index.ts'
import { Misuse, type Call, type Command } from './command.ts'
import { nameOf, pickOf, transcriptsOf } from './input.ts'
import { answer, headText, storeHelp, storeOption, withStore } from './place.ts'
import { counted } from './screen.ts'

export const importFiles: Command = {
  name: 'import',
  synopsis: 'import FILE…',
  purpose: 'store recorded conversations as sessions',
  help: `Usage: indelible import [options] FILE…

Stores every conversation of the files as a session: messages, page kinds and
notes, one row each under one Merkle tree. The store is made if it is not there.
Files are in any format that "show" reads; - reads standard input. An export of
Indelible gives the record that it was made from, with the same head.

A session is called as the file says that its conversation is; where there is
such a session already, it is left as it is, and the exit code is 1: --id gives
another name. If the file says none, or holds several conversations, sessions
are called like the file, with a number where that is taken (chat-2).

Options:
  --id NAME      the id of the new session, if FILE holds one conversation
  --pick N       only this conversation, in a file of several (default: all)
  --json         one JSON object for each session, for programs
${storeHelp}
  -h, --help     print this help

Example:
  indelible import session.jsonl
`,
  options: { id: { type: 'string' }, pick: { type: 'string' }, json: { type: 'boolean' }, ...storeOption },
  run: async (call) => {
    const { values, positionals, terminal } = call
    if (positionals.length === 0) throw new Misuse('import needs a FILE: the conversation to read, or - for standard input')
    const only = values['pick'] === undefined ? undefined : pickOf(values)
    await withStore(call, { make: true }, async (store) => {
      for (const path of positionals) {
        const read = await transcriptsOf(path, terminal)
        const first = await read({ pick: only ?? 0 })
        const several = only === undefined && first.count > 1
        if ((several || positionals.length > 1) && values['id'] !== undefined) throw new Misuse('--id names one session, and there are several conversations: choose one with --pick')
        for (let pick = first.pick; pick < (several ? first.count : first.pick + 1); pick++) {
          const transcript = pick === first.pick ? first : await read({ pick })
          await importOne(call, store, path, transcript, several)
        }
      }
    })
  },
}

const importOne = async ({ values, terminal }: Call, store: Store, path: string, transcript: Transcript, several: boolean): Promise<void> => {
  const id = typeof values['id'] === 'string' ? values['id'] : await freeId(store, transcript, path, several)
  const rows = transcript.messages.length + transcript.notes.length
  const bar = terminal.progress(`storing ${id}`, rows, 'rows')
  const info = await answer(importTranscript(store, transcript, { id, progress: bar.at }))
  bar.end()
  if (values['json'] === true) return terminal.print([JSON.stringify(described(info))])
  await terminal.print([`${id}: ${counted(info.len, 'message')} of ${nameOf(path)} (${transcript.format}), head ${headText(info.head)}`])
  if (transcript.damage.length > 0) terminal.tell([`${nameOf(path)}: ${counted(transcript.damage.length, 'damaged line')}; "indelible check" names them`])
}

/** What is known of a session, for programs. */
export const described = ({ id, len, head, created, metadata, forkedFrom }: SessionInfo): object => ({
  id,
  len,
  head: headText(head),
  created: new Date(created).toISOString(),
  ...(forkedFrom && { forkedFrom }),
  metadata,
})

/** The id that the conversation brings along, or the name of its file, with a number if that is taken. */
const freeId = async (store: Store, { origin, pick }: Transcript, path: string, several: boolean): Promise<string> => {
  if (origin.id !== undefined && !several) return origin.id
  const name = (path === '-' ? 'conversation' : basename(path).replace(/\.(?:openai-chat|pi-session|swe-agent)?\.?(?:jsonl?|ndjson)$/i, '')).replaceAll(/\p{Cc}/gu, '')
  const wanted = (several ? `${name}-${pick}` : name).slice(0, 60) || 'conversation'
  for (let number = 1; ; number++) {
    const id = number === 1 ? wanted : `${wanted}-${number}`
    const there = await describeSession(store, id)()
    if (!isRight(there) && (there.left._tag === 'NoSuchLog' || there.left._tag === 'UnfinishedSession')) return id
    if (!isRight(there) && there.left._tag !== 'NotASession') return id // the import says what is wrong
  }
}
